//! `reenact bundle`: one file that carries a run to others.

mod create;
mod extract;
mod inspect;
mod verify;

use std::path::Path;

use reenact_formats::replay_bundle::LIMIT_CODE;
use reenact_formats::rer::ARTIFACT_FILE;
use reenact_json::Shown;
use reenact_verify::disk::{self, Place};
use reenact_verify::replay_bundle::{self, Copies, Snapshot};
use reenact_verify::{FormatId, Keys, Options, Report, Unreadable};

use crate::output::Ending;

/// Pack a run into a bundle; check Replay Bundles, look into them, and unpack them
#[derive(clap::Args)]
#[command(disable_help_subcommand = true)]
pub(super) struct Bundle {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Create(create::Create),
    Verify(verify::Verify),
    Inspect(inspect::Inspect),
    Extract(extract::Extract),
}

impl Bundle {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        match &self.command {
            Command::Create(create) => create.run(),
            Command::Verify(verify) => verify.run(),
            Command::Inspect(inspect) => inspect.run(),
            Command::Extract(extract) => extract.run(),
        }
    }
}

/// Reads what should be a bundle: a file, a folder laid out like one, or standard input.
fn snapshot(path: &Path, copies: Copies<'_>) -> Result<Snapshot, Unreadable> {
    if path.as_os_str() == "-" {
        disk::snapshot_of_standard_input(copies)
    } else {
        disk::snapshot(path, copies)
    }
}

/// As [`snapshot`], for commands that need one: what could not be read to its end is refused.
fn whole_snapshot(path: &Path, copies: Copies<'_>) -> Result<(Snapshot, Report), Ending> {
    let snapshot =
        snapshot(path, copies).map_err(|error| Ending::impossible(format!("{error} ({})", error.code)))?;
    let report = replay_bundle::verify(&snapshot);
    let name = path.to_string_lossy();
    if !report.pass()
        && let Some(format) = other_format(path)
    {
        let message = format!("{}: this is {format}, not a Replay Bundle", Shown::whole(&name));
        return Err(Ending::refused(message + "; try `reenact verify`"));
    }
    if snapshot.fault().is_none() {
        return Ok((snapshot, report));
    }
    let told = told(&report);
    let message = format!("{}: {told}", Shown::whole(&name));
    // Over a limit there is no answer: nobody read it.
    Err(if told.contains(LIMIT_CODE) { Ending::impossible(message) } else { Ending::refused(message) })
}

/// A path that is one record, whatever lies there.
fn place(path: &Path) -> Place {
    if path.is_dir() { Place::Bundle(path.into()) } else { Place::File(path.into()) }
}

/// Whether what lies there may be another record, and can be read once more to see. Of a folder the names tell.
fn may_be_other(path: &Path) -> bool {
    if path.is_dir() { path.join(ARTIFACT_FILE).is_file() } else { path.is_file() }
}

/// The format of what was taken for a Replay Bundle and is another record.
fn other_format(path: &Path) -> Option<String> {
    if path.as_os_str() == "-" || !may_be_other(path) {
        return None;
    }
    let report = disk::open(&place(path)).ok()?.judge(&Keys::default(), &Options::default());
    let is_other = report.id().is_some_and(|id| id != FormatId::ReplayBundle);
    is_other.then_some(report.format)
}

/// The reasons of a report that say something.
fn told(report: &Report) -> String {
    let reasons = report.reasons.iter().filter(|reason| !reason.contains(": nothing to check"));
    reasons.map(String::as_str).collect::<Vec<_>>().join("; ")
}
