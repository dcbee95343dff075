//! The verifier's table: what judges each format, keyed by the row in `formats`.
//!
//! A format's module holds its checker, and its Cargo feature brings the line here. What no line knows is not judged.

use reenact_formats::{FormatId, Unrecognised};
use reenact_pack::PackError;

use crate::{Keys, Members, Options, Report, Workers};

/// What judges one format.
pub(crate) struct Checker {
    pub(crate) id: FormatId,
    /// Judges the bytes of one file that is no archive.
    pub(crate) document: fn(&[u8], &Keys, &Options, &Workers<'_>) -> Report,
    /// Judges what a folder or an archive holds.
    pub(crate) members: fn(&Members, &Keys, &Options, &Workers<'_>) -> Report,
    /// Judges a folder or an archive that cannot be read to its end; `None` of formats that are neither.
    pub(crate) broken: Option<fn(&Broken<'_>) -> Report>,
}

/// A folder or an archive that cannot be read to its end.
#[derive(Debug)]
pub(crate) enum Broken<'a> {
    /// An archive, and what is wrong with it.
    Archive(&'a PackError),
    /// A folder, and what does not belong there.
    #[cfg(feature = "disk")]
    Folder(&'a str),
}

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

/// What judges a format, if this build does.
pub(crate) fn checker(id: FormatId) -> Option<&'static Checker> {
    CHECKERS.iter().find(|checker| checker.id == id).copied()
}

/// The report on content that is of no format, or of one that this build does not judge.
pub(crate) fn unrecognised(why: &Unrecognised) -> Report {
    let mut report =
        Report::new("unknown".into(), &[("recognised", "the content is of a format known here")]);
    report.fail("recognised", why);
    report.verdict = "this is not a record that can be verified here".into();
    report
}

/// The report on a folder or an archive of a format that is one file.
#[cfg(any(feature = "rpk", feature = "replay-jsonl"))]
pub(crate) fn no_members(_: &Members, _: &Keys, _: &Options, _: &Workers<'_>) -> Report {
    unrecognised(&Unrecognised::OtherMembers)
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
            let is_whole = checker.id.row().folder.is_some_and(|folder| folder.is_whole);
            assert_eq!(checker.broken.is_some(), is_whole, "{}", checker.id.name());
        }
    }
}
