//! The commands, one a file, and the table of their arguments.

mod approve;
mod bundle;
mod canon;
mod convert;
mod demo;
mod doctor;
mod envelope;
mod hash;
mod keys;
mod migrate;
mod prices;
mod record;
mod recover;
mod redact;
mod replay;
mod show;
mod verify;

use clap::{Parser, Subcommand};
use reenact_formats::Profile;
use reenact_json::Shown;
use reenact_verify::disk;

use crate::output::Ending;

pub(crate) use record::FAILED as RECORDING_FAILED;

/// The flight recorder for AI agents: record a run once, prove what it was, run it back.
#[derive(Parser)]
#[command(name = "reenact", version, disable_help_subcommand = true, max_term_width = 110)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Demo),
    #[command(hide = true)]
    DemoAgent(demo::DemoAgent),
    Record(record::Record),
    Show(show::Show),
    Replay(replay::Replay),
    Approve(approve::Approve),
    Recover(recover::Recover),
    Verify(verify::Verify),
    Bundle(bundle::Bundle),
    Convert(convert::Convert),
    Redact(redact::Redact),
    Migrate(migrate::Migrate),
    Canon(canon::Canon),
    Hash(hash::Hash),
    Envelope(envelope::EnvelopeCommand),
    Prices(prices::Prices),
    Keys(keys::Keys),
    Doctor(doctor::Doctor),
}

/// Runs a command; returns its exit code.
pub(crate) fn run(arguments: Arguments) -> Result<u8, Ending> {
    match arguments.command {
        Command::Demo(demo) => demo.run(),
        Command::DemoAgent(agent) => agent.run(),
        Command::Record(record) => record.run(),
        Command::Show(show) => show.run(),
        Command::Replay(replay) => replay.run(),
        Command::Approve(approve) => approve.run(),
        Command::Recover(recover) => recover.run(),
        Command::Doctor(doctor) => doctor.run(),
        Command::Verify(verify) => verify.run(),
        Command::Canon(canon) => canon.run(),
        Command::Hash(hash) => hash.run(),
        Command::Keys(keys) => keys.run(),
        Command::Envelope(envelope) => envelope.run(),
        Command::Prices(prices) => prices.run(),
        Command::Bundle(bundle) => bundle.run(),
        Command::Convert(convert) => convert.run(),
        Command::Migrate(migrate) => migrate.run(),
        Command::Redact(redact) => redact.run(),
    }
}

/// A profile by its name, for clap.
fn profile(name: &str) -> Result<Profile, String> {
    name.parse().map_err(|error: reenact_formats::profile::UnknownProfile| error.to_string())
}

/// Reads the one document that a command works on: a file, or standard input.
fn document(file: &std::path::Path) -> Result<Vec<u8>, Ending> {
    let read = if file.as_os_str() == "-" { disk::read_standard_input() } else { disk::read(file) };
    read.map_err(|error| Ending::impossible(format!("{error} ({})", error.code)))
}

/// The complaint about a document: its name, and what is wrong with it.
fn refused(file: &std::path::Path, why: impl std::fmt::Display) -> Ending {
    let name = if file.as_os_str() == "-" { "standard input".into() } else { file.to_string_lossy() };
    Ending::refused(format!("{}: {why}", Shown::whole(&name)))
}
