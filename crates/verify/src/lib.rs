//! The judge: is this record of a run what it says it is?
//!
//! Every hash is recomputed from bytes, every check runs, none is skipped because another failed, and each one that does
//! not hold has a reason that a person can read. The library takes bytes and gives verdicts: it knows no file, clock,
//! thread, network or randomness (the feature `disk` adds paths and threads, for the commands). Each format is a Cargo feature.
//!
//! ```
//! use reenact_verify::{Keys, Options, safe};
//!
//! let report = safe(b"{}", &Keys::default(), &Options::default());
//! assert!(!report.pass());
//! assert_eq!(report.format, "unknown");
//! ```
//!
//! [`safe`] takes anything and never fails. [`strict`] gives a [`Verified`] value, or the report that says why not: code
//! that needs a checked artifact asks for a type that only the check can make.

#![cfg_attr(not(feature = "formats"), allow(dead_code, reason = "some parts serve some formats alone"))]

mod archive;
pub mod audit;
mod capped;
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
mod verified;
mod workers;

use std::io::Cursor;

use reenact_formats::format::RecognitionRule;
use reenact_formats::recognise;
use reenact_json::Limits;
use reenact_pack::Container;

use archive::OpenedArchive;
use checker::{BrokenContainer, checker, unrecognised_report};

pub use audit::Audit;
pub use demand::Demands;
pub use keys::{Keys, Trust};
pub use members::{BrokenArchive, BundleMembers};
pub use reenact_formats::{FormatId, Unrecognised};
pub use report::{RecordSigner, Report, RunIdentity, TargetOutcome, UnreadableTarget};
#[cfg(feature = "rer")]
pub use rer::{ArtifactView, verify_or_err};
pub use verified::Verified;
pub use workers::Workers;

/// How to verify.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Judge by this format's checks whatever the content looks like; `None` lets the content decide.
    pub format: Option<FormatId>,
    /// How much JSON to read.
    pub limits: Limits,
    /// What time it is, in nanoseconds since 1970, for the note on expired envelopes; `None` leaves it out. A verifier has
    /// no clock of its own.
    pub now: Option<i128>,
}

/// Judges any bytes at all. Never fails and never panics: what cannot be read gets a report that says so.
pub fn verify(bytes: &[u8], keys: &Keys, options: &Options) -> Report {
    verify_with(bytes, keys, options, &Workers::sequential())
}

/// As [`safe`]; `workers` judge large records.
pub fn verify_with(bytes: &[u8], keys: &Keys, options: &Options, workers: &Workers<'_>) -> Report {
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
            Some(checker) => (checker.document)(bytes, keys, options, workers),
            None => unrecognised_report(&Unrecognised::NotJudged(id.name())),
        },
        Err(why) => unrecognised_report(&why),
    }
}

/// Judges what a folder or an archive holds.
pub fn verify_members(members: &BundleMembers, keys: &Keys, options: &Options) -> Report {
    verify_members_with(members, keys, options, &Workers::sequential())
}

/// As [`safe_members`]; `workers` judge large records.
pub fn verify_members_with(
    members: &BundleMembers,
    keys: &Keys,
    options: &Options,
    workers: &Workers<'_>,
) -> Report {
    match options.format.or_else(|| members.format()) {
        Some(id) => match checker(id) {
            Some(checker) => (checker.members)(members, keys, options, workers),
            None => unrecognised_report(&Unrecognised::NotJudged(id.name())),
        },
        None => unrecognised_report(&Unrecognised::OtherMembers),
    }
}

/// The report on an archive that cannot be read to its end: by what it showed before, if it showed enough.
pub fn broken_archive_report(broken: &BrokenArchive, options: &Options) -> Report {
    let BrokenArchive { members: seen, error } = broken;
    let of_format = |id| checker(id)?.broken;
    let judge = match options.format.and_then(of_format) {
        Some(judge) => Some(judge),
        None => seen
            .intended_format()
            .filter(|id| options.format.is_none() || *id == FormatId::RerBundle)
            .and_then(of_format),
    };
    match judge {
        Some(judge) => judge(&BrokenContainer::Archive(error)),
        None => unrecognised_report(&Unrecognised::Archive(error.to_string())),
    }
}

/// The report on a folder with something in it that does not belong there; `format` is what the folder seems to be.
#[cfg(feature = "disk")]
pub(crate) fn broken_folder_report(format: Option<FormatId>, fault: &str) -> Report {
    let of_format = |id| checker(id)?.broken;
    match format.and_then(of_format).or_else(|| of_format(FormatId::RerBundle)) {
        Some(judge) => judge(&BrokenContainer::Folder(fault)),
        None => unrecognised_report(&Unrecognised::OtherMembers),
    }
}
