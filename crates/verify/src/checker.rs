//! Table of checkers: one row for each format that this build can verify.
//!
//! Keyed by the row of the same format in `reenact_formats::FORMATS`. A format's module owns its
//! [`Checker`], and the Cargo feature of the format adds its line to [`CHECKERS`]. Content of a format
//! without a line is reported as unrecognised, never as passed.

use reenact_formats::{FormatId, Unrecognised};
use reenact_pack::PackError;

use crate::check::CheckId;
use crate::{BundleMembers, Keys, Options, Report, Workers};

/// Entry points of the verifier of one format.
///
/// Each function returns a complete [`Report`] for any input: bytes that are not of the format fail its
/// checks.
pub(crate) struct Checker {
    /// Format that this row verifies.
    pub(crate) id: FormatId,
    /// Verifies the bytes of one file that is not an archive.
    pub(crate) document: fn(&[u8], &Keys, &Options, &Workers<'_>) -> Report,
    /// Verifies the members of a folder or an archive.
    pub(crate) members: fn(&BundleMembers, &Keys, &Options, &Workers<'_>) -> Report,
    /// Reports on a folder or an archive that could not be read to its end. `None` for formats that are
    /// single files.
    pub(crate) broken_report: Option<fn(&BrokenContainer<'_>) -> Report>,
}

/// Reason why a folder or an archive could not be read to its end.
#[derive(Debug)]
pub(crate) enum BrokenContainer<'a> {
    /// Error of the archive reader.
    Archive(&'a PackError),
    /// Description of the entry that does not belong into the folder.
    #[cfg(feature = "disk")]
    Folder(&'a str),
}

/// Checkers of this build, in the order of the formats table.
static CHECKERS: &[&Checker] = &[
    #[cfg(feature = "rer")]
    &crate::rer::ARTIFACT,
    #[cfg(feature = "rer")]
    &crate::rer::bundle::BUNDLE,
    #[cfg(feature = "rpk")]
    &crate::rpk::CHECKER,
    #[cfg(feature = "model-io")]
    &crate::model_io::CHECKER,
    #[cfg(feature = "replay-jsonl")]
    &crate::replay_jsonl::CHECKER,
    #[cfg(feature = "replay-bundle")]
    &crate::replay_bundle::CHECKER,
];

/// Returns the checker of a format, or `None` if this build has none.
pub(crate) fn checker(id: FormatId) -> Option<&'static Checker> {
    CHECKERS.iter().find(|checker| checker.id == id).copied()
}

/// Check of content that is of no known format: it always fails.
pub const RECOGNISED: CheckId = CheckId::new("recognised", "the content is of a format known here");

/// Returns the report on content of no format, or of one that this build cannot verify. Its only check,
/// `recognised`, fails.
pub(crate) fn unrecognised_report(why: &Unrecognised) -> Report {
    let mut report = Report::new("unknown".into(), &[RECOGNISED]);
    report.fail(RECOGNISED, why);
    report.summary = "this is not a record that can be verified here".into();
    report
}

/// Returns the report on a folder or an archive for formats that are single files.
#[cfg(any(feature = "rpk", feature = "replay-jsonl"))]
pub(crate) fn refuse_members(_: &BundleMembers, _: &Keys, _: &Options, _: &Workers<'_>) -> Report {
    unrecognised_report(&Unrecognised::OtherMembers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(
        feature = "rer",
        feature = "rpk",
        feature = "model-io",
        feature = "replay-jsonl",
        feature = "replay-bundle"
    ))]
    #[test]
    fn every_verified_format_has_a_checker() {
        for id in FormatId::verified() {
            assert!(checker(id).is_some(), "{}", id.name());
        }
        assert_eq!(CHECKERS.len(), FormatId::verified().count());
    }

    #[test]
    fn folders_and_archives_can_be_broken() {
        for checker in CHECKERS {
            let is_whole = checker.id.row().folder.is_some_and(|folder| folder.owns_folder);
            assert_eq!(checker.broken_report.is_some(), is_whole, "{}", checker.id.name());
        }
    }
}
