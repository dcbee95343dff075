//! Verifier: checks offline that a record of a run is what it claims to be.
//!
//! Every hash is recomputed from bytes, every check runs, none is skipped because another failed, and each one that fails
//! has a reason that a person can read. The library takes bytes and returns reports: it knows no file, clock, thread,
//! network or randomness. The feature `disk` adds paths and threads, for the commands. Each format is a Cargo feature.
//!
//! ```
//! use reenact_verify::{Keys, Options, verify};
//!
//! let report = verify(b"{}", &Keys::default(), &Options::default());
//! assert!(!report.pass());
//! assert_eq!(report.format, "unknown");
//! ```
//!
//! [`verify`] takes anything and never fails. [`verify_or_err`] returns a [`Verified`] value, or [`NotVerified`] with
//! the report: code that needs a verified artifact asks for a type that only the verifier can make.
//!
//! | module | contents |
//! |---|---|
//! | [`report`], [`check`], [`Verdict`] | the result: checks, reasons, verdict, notes, signer, details by format |
//! | [`keys`] | keys by which signatures are checked, and the trust in each |
//! | [`audit`] | verdicts on the rules of the envelope |
//! | [`rer`], [`rpk`], [`model_io`], [`replay_jsonl`], [`replay_bundle`] | the checks of each format |
//! | `checker` | the table of formats: one row names the functions that verify a format |
//! | [`members`], `archive` | records that are folders or archives |
//! | [`demand`] | requirements beyond the checks, such as a trusted signer |
//! | [`render`] | a report as text for people |
//! | [`disk`] | paths, folders and threads |
//!
//! Start reading at [`rer`]: the seven checks, and the reader that feeds them.

#![cfg_attr(not(feature = "formats"), allow(dead_code, reason = "some parts serve some formats alone"))]

mod archive;
pub mod audit;
mod capped;
pub mod check;
mod checker;
pub mod demand;
#[cfg(feature = "disk")]
pub mod disk;
pub mod keys;
pub mod members;
#[cfg(feature = "model-io")]
pub mod model_io;
#[cfg(feature = "disk")]
mod read_ahead;
pub mod render;
#[cfg(feature = "replay-bundle")]
pub mod replay_bundle;
#[cfg(feature = "replay-jsonl")]
pub mod replay_jsonl;
pub mod report;
#[cfg(feature = "rer")]
pub mod rer;
#[cfg(feature = "rpk")]
pub mod rpk;
mod verdict;
mod verified;
mod workers;

use std::io::Cursor;

use reenact_formats::format::RecognitionRule;
use reenact_formats::{recognise, recognise_without_proof};
use reenact_json::Limits;
use reenact_pack::Container;

use archive::OpenedArchive;
use checker::{BrokenContainer, checker, unrecognised_report};

pub use audit::Audit;
pub use check::{Check, CheckId};
pub use checker::RECOGNISED;
pub use demand::Demands;
pub use keys::{Keys, Trust};
pub use members::{BrokenArchive, BundleMembers};
pub use reenact_formats::key::KeyError;
pub use reenact_formats::{FormatId, Unrecognised};
pub use report::{
    RecordSigner, Report, ReportDetails, RunIdentity, TargetOutcome, UnreadableTarget, Violation,
};
#[cfg(feature = "rer")]
pub use rer::{ArtifactView, verify_or_err};
pub use verdict::{MissingKey, Verdict};
pub use verified::{NotVerified, Verified};
pub use workers::Workers;

/// Options of a verification. The default lets the content decide on the format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Format whose checks are run, whatever the content looks like; `None` lets the content decide.
    pub format: Option<FormatId>,
    /// Limits on the JSON that is read.
    pub limits: Limits,
    /// Current time in nanoseconds since 1970, for the note on expired envelopes; `None` leaves the note out. The verifier has no
    /// clock of its own.
    pub now: Option<i128>,
}

/// Verifies any bytes at all. Never fails and never panics: content that cannot be read gets a report that says so.
pub fn verify(bytes: &[u8], keys: &Keys, options: &Options) -> Report {
    verify_with(bytes, keys, options, &Workers::sequential())
}

/// Verifies as [`verify`] does, large records on the threads of `workers`.
pub fn verify_with(bytes: &[u8], keys: &Keys, options: &Options, workers: &Workers<'_>) -> Report {
    report_on_bytes(bytes, keys, options, workers).bounded()
}

/// Returns the report on a document of a format that carries no proof, and that was taken for one that does; `None` for all others.
///
/// Such a document has members of the other format, but no version of it: one reason says more than every rule that it breaks.
fn without_proof(bytes: &[u8], options: &Options, report: &Report) -> Option<Report> {
    if options.format.is_some() || report.pass() || !report.format.ends_with("/?") {
        return None;
    }
    recognise_without_proof(bytes, &options.limits).map(|why| unrecognised_report(&why))
}

/// Returns the report on any bytes, with lists of any length.
fn report_on_bytes(bytes: &[u8], keys: &Keys, options: &Options, workers: &Workers<'_>) -> Report {
    // Lines are never looked for in an archive.
    let is_lines = options.format.is_some_and(|id| matches!(id.row().recognition, RecognitionRule::Lines(_)));
    if let Some(container) = Container::detect(bytes).filter(|_| !is_lines) {
        return match archive::open(container, Cursor::new(bytes), options) {
            #[cfg(feature = "replay-bundle")]
            Ok(OpenedArchive::ReplayBundle(report)) => *report,
            Ok(OpenedArchive::Members(members)) => verify_members_with(&members, keys, options, workers),
            Ok(OpenedArchive::Broken(broken)) => broken_archive_report(&broken, options),
            // Reading from memory does not fail.
            Err(error) => unrecognised_report(&Unrecognised::Archive(error.to_string())),
        };
    }
    match options.format.map_or_else(|| recognise(bytes, &options.limits), Ok) {
        Ok(id) => match checker(id) {
            Some(checker) => {
                let report = (checker.document)(bytes, keys, options, workers);
                without_proof(bytes, options, &report).unwrap_or(report)
            }
            None => unrecognised_report(&Unrecognised::NotJudged(id.name())),
        },
        Err(why) => {
            let known = recognise_without_proof(bytes, &options.limits);
            unrecognised_report(&known.unwrap_or(why))
        }
    }
}

/// Verifies the members of a folder or an archive.
pub fn verify_members(members: &BundleMembers, keys: &Keys, options: &Options) -> Report {
    verify_members_with(members, keys, options, &Workers::sequential())
}

/// Verifies as [`verify_members`] does, large records on the threads of `workers`.
pub fn verify_members_with(
    members: &BundleMembers,
    keys: &Keys,
    options: &Options,
    workers: &Workers<'_>,
) -> Report {
    match options.format.or_else(|| members.format()) {
        Some(id) => match checker(id) {
            Some(checker) => (checker.members)(members, keys, options, workers).bounded(),
            None => unrecognised_report(&Unrecognised::NotJudged(id.name())),
        },
        None => unrecognised_report(&Unrecognised::OtherMembers),
    }
}

/// Returns the report on an archive that cannot be read to its end, by the format that its first members show, if they do.
pub fn broken_archive_report(broken: &BrokenArchive, options: &Options) -> Report {
    let BrokenArchive { members, error } = broken;
    let of_format = |id| checker(id)?.broken_report;
    let report_on = match options.format.and_then(of_format) {
        Some(report_on) => Some(report_on),
        None => members
            .intended_format()
            .filter(|id| options.format.is_none() || *id == FormatId::RerBundle)
            .and_then(of_format),
    };
    match report_on {
        Some(report_on) => report_on(&BrokenContainer::Archive(error)).bounded(),
        None => unrecognised_report(&Unrecognised::Archive(error.to_string())),
    }
}

/// Returns the report on a folder with an entry that does not belong there; `format` is the one that the folder seems to have.
#[cfg(feature = "disk")]
pub(crate) fn broken_folder_report(format: Option<FormatId>, fault: &str) -> Report {
    let of_format = |id| checker(id)?.broken_report;
    match format.and_then(of_format).or_else(|| of_format(FormatId::RerBundle)) {
        Some(report_on) => report_on(&BrokenContainer::Folder(fault)).bounded(),
        None => unrecognised_report(&Unrecognised::OtherMembers),
    }
}

/// Runs the examples of the README as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
