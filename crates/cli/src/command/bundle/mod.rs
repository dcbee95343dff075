//! `reenact bundle`: bundles of both kinds, verified, looked into and unpacked. `reenact share` makes them.
//!
//! What differs between the kinds is a row in [`BUNDLE_KINDS`]: start there.

mod extract;
mod inspect;
mod outcome;
mod rer;
mod source;
mod verify;

use std::path::Path;

use reenact_formats::replay_bundle::LIMIT_CODE;
use reenact_formats::rer::ARTIFACT_FILE;
use reenact_json::Shown;
use reenact_verify::disk::{self, RecordPath};
use reenact_verify::replay_bundle::{self, BundleSnapshot, MemberCopies};
use reenact_verify::{FormatId, Keys, Options, Report, UnreadableTarget};

use crate::output::CommandError;
use extract::{ExtractTempDir, UnpackedBundle};
use inspect::InspectRequest;
use source::BundleSource;

/// Check bundles, look into them, and unpack them
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

/// Kind of bundle, with what is done to look into one and to unpack one.
struct BundleKind {
    format: FormatId,
    /// Prints what the bundle says and holds. The exit code is 1 if a check fails, or a demand is not met.
    inspect: fn(&BundleSource<'_>, &InspectRequest) -> Result<u8, CommandError>,
    /// Writes the files of the bundle into the new folder, verifying them on the way.
    unpack: fn(&BundleSource<'_>, &Keys, &ExtractTempDir) -> Result<UnpackedBundle, CommandError>,
}

/// All kinds of bundles. A source that is none of them is read as the first, whose reader says why it is none.
static BUNDLE_KINDS: [BundleKind; 2] = [
    BundleKind {
        format: FormatId::ReplayBundle,
        inspect: inspect::replay_bundle,
        unpack: extract::replay_bundle,
    },
    BundleKind { format: FormatId::RerBundle, inspect: rer::inspect::print, unpack: rer::extract::unpack },
];

impl BundleKind {
    /// Returns the kind that the content of a source shows.
    fn of(source: &BundleSource<'_>) -> &'static Self {
        let format = source.format();
        BUNDLE_KINDS.iter().find(|kind| Some(kind.format) == format).unwrap_or(&BUNDLE_KINDS[0])
    }
}

/// Converts the error of a source that cannot be read.
fn unreadable(error: UnreadableTarget) -> CommandError {
    CommandError::impossible(format!("{error} ({})", error.code))
}

/// Reads a source as a Replay Bundle, and verifies it. Each member is also copied to the writer that `copies` returns for its name.
///
/// The report may say that checks failed.
///
/// # Errors
///
/// If the bundle cannot be read to its end, or is a record of another format. Exceeding a limit is
/// `impossible` rather than `refused`: the content was not judged.
fn complete_snapshot(
    source: &BundleSource<'_>,
    copies: MemberCopies<'_>,
) -> Result<(BundleSnapshot, Report), CommandError> {
    let snapshot = source.replay_bundle(copies).map_err(unreadable)?;
    let report = replay_bundle::verify(&snapshot);
    let name = source.path.to_string_lossy();
    if !report.pass()
        && let Some(format) = other_format(source.path)
    {
        let message = format!("{}: this is {format}, not a bundle", Shown::whole(&name));
        return Err(CommandError::refused(message + "; try `reenact show`"));
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
