//! The formats: a row each, in one table.
//!
//! A new format is a folder with its row and a line in [`FORMATS`]. The rows say what a format is called, how its content is
//! recognised ([`mod@crate::recognise`]), which files it has and how its values are spelled. Crates that do more with a format keep
//! tables of their own, keyed by [`FormatId`] and tested against this one.

use reenact_json::Kind;

use crate::{Profile, foreign, model_io, replay_bundle, replay_jsonl, rer, rpk};

/// A format by its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum FormatId {
    /// An RER artifact.
    #[default]
    Rer,
    /// An RER bundle: a folder or an archive.
    RerBundle,
    /// An `.rpk` artifact.
    Rpk,
    /// A Model IO session: a file, or a pack as a folder or an archive.
    ModelIo,
    /// A REPLAY.jsonl, alone or with its receipt and summary.
    ReplayJsonl,
    /// A Replay Bundle: a folder or an archive.
    ReplayBundle,
    /// What the recorder of Model IO's kernel writes: prompts and results of one session.
    RecordingSession,
    /// One JSON file with a timeline of what a session did.
    SessionTimeline,
    /// REPLAY.jsonl in its dialect of `type` and `ts`.
    TypedReplay,
}

/// Every format, in the order of [`FormatId`] and of help.
pub static FORMATS: [&Format; 9] = [
    &rer::ARTIFACT,
    &rer::BUNDLE,
    &rpk::FORMAT,
    &model_io::FORMAT,
    &replay_jsonl::FORMAT,
    &replay_bundle::FORMAT,
    &foreign::RECORDING_SESSION,
    &foreign::SESSION_TIMELINE,
    &foreign::TYPED_REPLAY,
];

/// A row of the table.
#[derive(Debug)]
pub struct Format {
    /// Its place in the table.
    pub id: FormatId,
    /// The name that commands and imported records use.
    pub name: &'static str,
    /// What `format` begins with in reports, before the version; empty if no verifier judges it.
    pub report_name: &'static str,
    /// Who reads it.
    pub support: Support,
    /// The format whose words its payloads are in: another row for containers and for relatives of a format.
    pub dialect: FormatId,
    /// The canonical form of its values.
    pub profile: Profile,
    /// How a text is recognised.
    pub signs: Signs,
    /// How a folder or an archive is recognised, where it may be one.
    pub folder: Option<FolderLayout>,
    /// The file that holds the record, where it is one of several.
    pub main_file: &'static str,
    /// Endings of file names that claim the format, with their dot; an entry without one is a whole name.
    pub endings: &'static [&'static str],
}

/// Who reads a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The verifier and all commands.
    Full,
    /// Conversion alone, which never writes it.
    ImportOnly,
}

/// Signs by which a text is recognised.
#[derive(Debug, Clone, Copy)]
pub enum Signs {
    /// Outermost members of an object, which may be torn: the weights of those that are there add up.
    Members {
        /// Names, each with its weight.
        names: &'static [(&'static str, usize)],
        /// Names whose string begins with a prefix: one more.
        prefixes: &'static [(&'static str, &'static str)],
        /// The sum that is enough.
        enough: usize,
    },
    /// Outermost members that are all there, each of its kind, in an object that is whole.
    Whole(&'static [(&'static str, Kind)]),
    /// Lines, of which the first tell.
    Lines(fn(&[u8]) -> bool),
    /// Its files alone: it is no text.
    Files,
}

/// The files of a record that is a folder or an archive.
#[derive(Debug, Clone, Copy)]
pub struct FolderLayout {
    /// Documents that must be there, the main one first.
    pub needs: &'static [&'static str],
    /// Files that the events are read from, where there is no manifest that lists all.
    pub reads: &'static [&'static str],
    /// Files that belong to the record beside those, where anything else may lie.
    pub companions: &'static [&'static str],
    /// Documents that must not be there.
    pub without: &'static [&'static str],
    /// Documents that are read whole, each with the most bytes that are.
    pub documents: &'static [(&'static str, u64)],
    /// Members that only its manifest has.
    pub manifest_names: &'static [&'static str],
    /// True if the folder as a whole is the record; false if anything may lie beside it.
    pub is_whole: bool,
}

/// No verified format has that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such format; there is: {}", FormatId::verified().map(FormatId::name).collect::<Vec<_>>().join(", "))]
pub struct UnknownFormat;

/// The manifest of both kinds of bundles.
pub const MANIFEST_FILE: &str = "manifest.json";

impl FormatId {
    /// The row of this format.
    pub fn row(self) -> &'static Format {
        FORMATS[self as usize]
    }

    /// The name that commands and imported records use.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The format of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        FORMATS.iter().find(|row| row.name == name).map(|row| row.id)
    }

    /// The verified format of that name.
    pub fn of_verified_name(name: &str) -> Result<Self, UnknownFormat> {
        Self::verified().find(|id| id.name() == name).ok_or(UnknownFormat)
    }

    /// The formats that the verifier judges.
    pub fn verified() -> impl Iterator<Item = Self> {
        FORMATS.iter().filter(|row| row.support == Support::Full).map(|row| row.id)
    }

    /// The formats that a record can be converted to: the verified ones that are no container of another.
    pub fn targets() -> impl Iterator<Item = Self> {
        Self::verified().filter(|id| id.row().dialect == *id)
    }

    /// The format that a report is about, by its `format`.
    pub fn of_report(format: &str) -> Option<Self> {
        let name = format.split_once('/').map_or(format, |(name, _)| name);
        FORMATS.iter().find(|row| !name.is_empty() && row.report_name == name).map(|row| row.id)
    }

    /// The format that the name of a file claims.
    pub fn of_file_name(name: &str) -> Option<Self> {
        let claims =
            |ending: &&str| if ending.starts_with('.') { name.ends_with(ending) } else { name == *ending };
        FORMATS.iter().find(|row| row.endings.iter().any(claims)).map(|row| row.id)
    }

    /// The format of a folder or an archive that as a whole is one record; `has` tells whether it holds a document.
    pub fn of_files(has: impl Fn(&str) -> bool) -> Option<Self> {
        Self::find_folder(|folder| folder.is_whole && folder.needs.iter().all(|name| has(name)), &has)
    }

    /// The format of a folder that holds at least the main file of one, and perhaps less than a whole record needs.
    pub fn of_main_file(has: impl Fn(&str) -> bool) -> Option<Self> {
        Self::find_folder(|folder| folder.needs.first().is_some_and(|main| has(main)), &has)
    }

    fn find_folder(is_it: impl Fn(&FolderLayout) -> bool, has: impl Fn(&str) -> bool) -> Option<Self> {
        let is_found = |row: &&&Format| {
            row.folder.is_some_and(|folder| is_it(&folder) && !folder.without.iter().any(|name| has(name)))
        };
        FORMATS.iter().find(is_found).map(|row| row.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_stands_once_and_is_found_by_its_names() {
        for row in FORMATS {
            assert!(core::ptr::eq(row.id.row(), row), "{}", row.name);
            assert_eq!(FormatId::of_name(row.name), Some(row.id));
            assert_eq!(row.dialect.row().dialect, row.dialect, "{}", row.name);
            if row.support == Support::Full {
                let report = format!("{}/1.0", row.report_name);
                assert_eq!(FormatId::of_report(&report), Some(row.id));
                assert_eq!(FormatId::of_report(row.report_name), Some(row.id));
            } else {
                assert_eq!(row.report_name, "", "{}", row.name);
            }
        }
        assert_eq!(FormatId::of_name("rer-artifact"), None);
        assert_eq!(FormatId::of_report("unknown"), None);
        assert_eq!(FormatId::of_report(""), None);
    }

    #[test]
    fn folders_by_their_files() {
        for (files, whole, main) in [
            (
                &["artifact.json", "manifest.json", "model_io.json"][..],
                Some(FormatId::RerBundle),
                Some(FormatId::RerBundle),
            ),
            (
                &["manifest.json", "run.json", "model_io.json"],
                Some(FormatId::ReplayBundle),
                Some(FormatId::ReplayBundle),
            ),
            (&["run.json", "model_io.json"], Some(FormatId::ModelIo), Some(FormatId::ModelIo)),
            (&["model_io.json", "REPLAY.jsonl"], None, Some(FormatId::ModelIo)),
            (&["artifact.json"], None, Some(FormatId::RerBundle)),
            (&["REPLAY.jsonl", "RECEIPT.json"], None, Some(FormatId::ReplayJsonl)),
            (&["run.json"], None, None),
        ] {
            let has = |name: &str| files.contains(&name);
            assert_eq!(FormatId::of_files(has), whole, "{files:?}");
            assert_eq!(FormatId::of_main_file(has), main, "{files:?}");
        }
    }

    #[test]
    fn names_that_claim_a_format() {
        assert_eq!(FormatId::of_file_name("a.rer.json"), Some(FormatId::Rer));
        assert_eq!(FormatId::of_file_name("a.rer.zip"), Some(FormatId::RerBundle));
        assert_eq!(FormatId::of_file_name("REPLAY.jsonl"), Some(FormatId::ReplayJsonl));
        assert_eq!(FormatId::of_file_name("MY_REPLAY.jsonl"), None);
        assert_eq!(FormatId::of_file_name("manifest.json"), None);
    }
}
