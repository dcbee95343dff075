//! The commands, one a file or a folder, and the table of their arguments.
//!
//! | purpose | commands |
//! |---|---|
//! | record a run | `record`, `demo` |
//! | look at a run | no command, `verify`, `show`, `replay`, `runs` |
//! | give a run to others | `share`, `convert`, `redact`, `bundle`, `migrate` |
//! | permissions | `policy` |
//! | keys; this machine and prices | `keys`, `doctor` |
//! | formats by hand | `canon`, `hash` |
//! | the commands themselves | `help`, `completions`, `man` |
//!
//! A command is a struct of clap arguments with a method `run`, which returns the exit code. The doc comments
//! on these structs and their fields are the help text that users see, and `tests/cases` quotes it. To add a
//! command, add a file, a variant and a line in [`run`]; one that is seldom needed is hidden.

mod bundle;
mod canon;
mod completions;
mod convert;
mod demo;
mod doctor;
mod hash;
mod help;
mod keys;
mod man;
mod migrate;
mod out_destination;
mod overview;
mod policy;
mod record;
mod redact;
mod renamed;
mod replay;
mod runs;
mod share;
mod show;
#[cfg(test)]
mod tests;
mod verify;

use clap::{Parser, Subcommand};
use reenact_formats::Profile;
use reenact_json::Shown;
use reenact_verify::disk;

use crate::output::CommandError;

pub(crate) use record::{EXIT_RECORDING_FAILED, shell_quoted};
pub(crate) use renamed::suggest_name;

/// The flight recorder for AI agents: record a run once, prove what it was, run it back.
#[derive(Parser)]
#[command(
    name = "reenact",
    version,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    max_term_width = 110,
    after_help = "`reenact` alone tells the last run and what to do next; `reenact help --all` lists every command."
)]
pub(crate) struct ReenactArgs {
    #[command(subcommand)]
    command: Option<ReenactCommand>,

    #[command(flatten)]
    overview: overview::OverviewArgs,
}

#[derive(Subcommand)]
enum ReenactCommand {
    Record(record::RecordArgs),
    Replay(replay::ReplayArgs),
    Show(show::ShowArgs),
    Verify(verify::VerifyArgs),
    Share(share::ShareArgs),
    Convert(convert::ConvertArgs),
    Runs(runs::RunsArgs),
    Policy(policy::PolicyArgs),
    Keys(keys::KeysArgs),
    Demo(demo::DemoArgs),
    Doctor(doctor::DoctorArgs),
    Help(help::HelpArgs),
    Completions(completions::CompletionsArgs),
    // Seldom needed: only `help --all` lists these.
    #[command(hide = true)]
    Redact(redact::RedactArgs),
    #[command(hide = true)]
    Bundle(bundle::BundleArgs),
    #[command(hide = true)]
    Migrate(migrate::MigrateArgs),
    #[command(hide = true)]
    Canon(canon::CanonArgs),
    #[command(hide = true)]
    Hash(hash::HashArgs),
    #[command(hide = true)]
    Man(man::ManArgs),
    #[command(hide = true)]
    DemoAgent(demo::DemoAgentArgs),
}

/// Runs the command that was parsed, or the overview if there is none, and returns its exit code.
///
/// # Errors
///
/// A message with the exit code 1 or 2; see [`CommandError`].
pub(crate) fn run(arguments: ReenactArgs) -> Result<u8, CommandError> {
    let Some(command) = arguments.command else { return arguments.overview.run() };
    match command {
        ReenactCommand::Demo(demo) => demo.run(),
        ReenactCommand::DemoAgent(agent) => agent.run(),
        ReenactCommand::Record(record) => record.run(),
        ReenactCommand::Show(show) => show.run(),
        ReenactCommand::Replay(replay) => replay.run(),
        ReenactCommand::Runs(runs) => runs.run(),
        ReenactCommand::Doctor(doctor) => doctor.run(),
        ReenactCommand::Verify(verify) => verify.run(),
        ReenactCommand::Canon(canon) => canon.run(),
        ReenactCommand::Hash(hash) => hash.run(),
        ReenactCommand::Help(help) => help.run(),
        ReenactCommand::Completions(completions) => completions.run(),
        ReenactCommand::Man(man) => man.run(),
        ReenactCommand::Keys(keys) => keys.run(),
        ReenactCommand::Policy(policy) => policy.run(),
        ReenactCommand::Share(share) => share.run(),
        ReenactCommand::Bundle(bundle) => bundle.run(),
        ReenactCommand::Convert(convert) => convert.run(),
        ReenactCommand::Migrate(migrate) => migrate.run(),
        ReenactCommand::Redact(redact) => redact.run(),
    }
}

/// Parses the name of a canonicalization profile, for clap.
fn profile(name: &str) -> Result<Profile, String> {
    name.parse().map_err(|error: reenact_formats::profile::UnknownProfile| error.to_string())
}

/// Reads the one document that a command works on: a file, or standard input for `-`.
fn read_document(file: &std::path::Path) -> Result<Vec<u8>, CommandError> {
    let read = if file.as_os_str() == "-" { disk::read_standard_input() } else { disk::read(file) };
    read.map_err(|error| CommandError::impossible(format!("{error} ({})", error.code)))
}

/// Returns the error for a document that was read and is not acceptable: exit code 1, with the name of the file.
fn document_refused(file: &std::path::Path, why: impl std::fmt::Display) -> CommandError {
    let name = if file.as_os_str() == "-" { "standard input".into() } else { file.to_string_lossy() };
    CommandError::refused(format!("{}: {why}", Shown::whole(&name)))
}
