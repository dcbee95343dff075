//! `reenact bundle`: Replay Bundles, verified, looked into and unpacked. `reenact share` makes them.
//!
//! Reading archives is shared here: start at [`complete_snapshot`].

mod extract;
mod inspect;
mod outcome;
mod verify;

use std::path::Path;

use reenact_formats::replay_bundle::LIMIT_CODE;
use reenact_formats::rer::ARTIFACT_FILE;
use reenact_json::Shown;
use reenact_verify::disk::{self, RecordPath};
use reenact_verify::replay_bundle::{self, BundleSnapshot, MemberCopies};
use reenact_verify::{FormatId, Keys, Options, Report, UnreadableTarget};

use crate::output::CommandError;

/// Check Replay Bundles, look into them, and unpack them
#[derive(clap::Args)]
#[command(disable_help_subcommand = true)]
pub(super) struct BundleArgs {
    #[command(subcommand)]
    command: BundleCommand,
}

#[derive(clap::Subcommand)]
enum BundleCommand {
    Verify(verify::BundleVerifyArgs),
    Inspect(inspect::BundleInspectArgs),
    Extract(extract::BundleExtractArgs),
}

impl BundleArgs {
    /// Runs the subcommand.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        match &self.command {
            BundleCommand::Verify(verify) => verify.run(),
            BundleCommand::Inspect(inspect) => inspect.run(),
            BundleCommand::Extract(extract) => extract.run(),
        }
    }
}

/// Reads what should be a Replay Bundle: an archive, a folder laid out like one, or standard input for `-`.
///
/// Each member is also copied to the writer that `copies` returns for its name.
fn snapshot(path: &Path, copies: MemberCopies<'_>) -> Result<BundleSnapshot, UnreadableTarget> {
    if path.as_os_str() == "-" {
        disk::snapshot_of_standard_input(copies)
    } else {
        disk::snapshot(path, copies)
    }
}

/// Reads a bundle as [`snapshot`] does, and verifies it.
///
/// The report may say that checks failed.
///
/// # Errors
///
/// If the bundle cannot be read to its end, or is a record of another format. Exceeding a limit is
/// `impossible` rather than `refused`: the content was not judged.
fn complete_snapshot(
    path: &Path,
    copies: MemberCopies<'_>,
) -> Result<(BundleSnapshot, Report), CommandError> {
    let snapshot = snapshot(path, copies)
        .map_err(|error| CommandError::impossible(format!("{error} ({})", error.code)))?;
    let report = replay_bundle::verify(&snapshot);
    let name = path.to_string_lossy();
    if !report.pass()
        && let Some(format) = other_format(path)
    {
        let message = format!("{}: this is {format}, not a Replay Bundle", Shown::whole(&name));
        return Err(CommandError::refused(message + "; try `reenact verify`"));
    }
    if snapshot.fault().is_none() {
        return Ok((snapshot, report));
    }
    let reasons = joined_reasons(&report);
    let message = format!("{}: {reasons}", Shown::whole(&name));
    // A bundle over a limit was not read to its end, so that there is no verdict on it.
    Err(if reasons.contains(LIMIT_CODE) {
        CommandError::impossible(message)
    } else {
        CommandError::refused(message)
    })
}

/// Returns a path as the place of one record: a folder is one bundle, not a folder of records.
fn record_location(path: &Path) -> RecordPath {
    if path.is_dir() { RecordPath::Bundle(path.into()) } else { RecordPath::File(path.into()) }
}

/// Returns true if the path may hold a record of another format and can be read a second time to find out.
fn may_be_other_format(path: &Path) -> bool {
    if path.is_dir() { path.join(ARTIFACT_FILE).is_file() } else { path.is_file() }
}

/// Returns the name of the format if the path holds a record of another format than a Replay Bundle.
fn other_format(path: &Path) -> Option<String> {
    if path.as_os_str() == "-" || !may_be_other_format(path) {
        return None;
    }
    let report = disk::open(&record_location(path)).ok()?.verify(&Keys::default(), &Options::default());
    let is_other = report.format_id().is_some_and(|id| id != FormatId::ReplayBundle);
    is_other.then_some(report.format)
}

/// Joins the reasons of a report, without those that only say that nothing was left to check.
fn joined_reasons(report: &Report) -> String {
    let reasons = report.reasons.iter().filter(|reason| !reason.contains(": nothing to check"));
    reasons.map(String::as_str).collect::<Vec<_>>().join("; ")
}
