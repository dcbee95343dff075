//! The table of formats, one row each.
//!
//! A new format is a folder with its row and a line in [`FORMATS`]. A row says the format's name, the rule by which
//! content is recognised ([`mod@crate::recognise`]), the files of a record and the canonical form of its values.
//! Crates that do more with a format keep tables of their own, keyed by [`FormatId`] and tested against this one.
//!
//! Start reading at [`FORMATS`], then [`Format`].

use reenact_json::ValueKind;

use crate::{Profile, import_only, model_io, replay_bundle, replay_jsonl, rer, rpk};

/// Identifier of a format: its position in [`FORMATS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum FormatId {
    /// An RER artifact: one JSON document.
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
    /// Recording by the kernel of Model IO: prompts and results of one session.
    RecordingSession,
    /// Timeline of one session in a single JSON file.
    SessionTimeline,
    /// REPLAY.jsonl in its dialect of `type` and `ts`.
    TypedReplay,
}

/// Every format, in the order of [`FormatId`], which is also the order in help texts.
pub static FORMATS: [&Format; 9] = [
    &rer::ARTIFACT,
    &rer::BUNDLE,
    &rpk::FORMAT,
    &model_io::FORMAT,
    &replay_jsonl::FORMAT,
    &replay_bundle::FORMAT,
    &import_only::RECORDING_SESSION,
    &import_only::SESSION_TIMELINE,
    &import_only::TYPED_REPLAY,
];

/// One row of [`FORMATS`].
#[derive(Debug)]
pub struct Format {
    /// Position of the row in the table.
    pub id: FormatId,
    /// Name that commands take and imported records carry.
    pub name: &'static str,
    /// Beginning of `format` in reports, before the slash and the version; empty if no verifier judges the format.
    pub report_name: &'static str,
    /// Commands that read the format.
    pub support: Support,
    /// Format whose vocabulary the payloads use: the row itself, or for a container, such as an RER bundle, and for an older form of a
    /// format the row that defines the words.
    pub dialect: FormatId,
    /// Canonical form of the format's values.
    pub profile: Profile,
    /// Rule by which a text is recognised.
    pub recognition: RecognitionRule,
    /// Files by which a folder or an archive is recognised; `None` if the format is always one file.
    pub folder: Option<FolderLayout>,
    /// Name of the file that holds the record, where the record is one of several files.
    pub main_file: &'static str,
    /// File name endings that claim the format, each with its dot; an entry without a dot is a whole file name.
    pub endings: &'static [&'static str],
}

/// Extent to which a format is supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The verifier and all commands read the format.
    Full,
    /// Only conversion reads the format, and nothing writes it.
    ImportOnly,
}

/// Rule by which a text is recognised as being of a format.
#[derive(Debug, Clone, Copy)]
pub enum RecognitionRule {
    /// Some members of the outermost object. The weights of those that are present add up, so a truncated object is
    /// still recognised.
    WeightedMembers {
        /// Member names, each with its weight.
        names: &'static [(&'static str, usize)],
        /// Member names with a prefix: one point more if the member's string begins with it.
        prefixes: &'static [(&'static str, &'static str)],
        /// Sum of points that is enough.
        threshold: usize,
    },
    /// All of these members of the outermost object, each of its kind. The object must be whole.
    AllMembers(&'static [(&'static str, ValueKind)]),
    /// A function that looks at the first lines of the text.
    Lines(fn(&[u8]) -> bool),
    /// The names of the files in a folder or an archive; a text alone is never of this format.
    Files,
}

/// Files of a record that is a folder or an archive.
#[derive(Debug, Clone, Copy)]
pub struct FolderLayout {
    /// Files that must be present; the main one is first.
    pub required_files: &'static [&'static str],
    /// Files that the events are read from, where no manifest lists all files.
    pub event_files: &'static [&'static str],
    /// Further files of the record, in a folder that may hold other things too.
    pub companions: &'static [&'static str],
    /// Files that must not be present.
    pub forbidden_files: &'static [&'static str],
    /// Files that are read whole, each with the largest size that is read, in bytes.
    pub documents: &'static [(&'static str, u64)],
    /// Member names that only this format's manifest has.
    pub manifest_member_names: &'static [&'static str],
    /// True if the whole folder is the record; false if unrelated files may lie beside it.
    pub owns_folder: bool,
}

/// Error: no verified format has that name. The message lists the names that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such format; there is: {}", FormatId::verified().map(FormatId::name).collect::<Vec<_>>().join(", "))]
pub struct UnknownFormat;

/// Name of the manifest, in RER bundles and in Replay Bundles.
pub const MANIFEST_FILE: &str = "manifest.json";

impl FormatId {
    /// Returns the row of this format.
    pub fn row(self) -> &'static Format {
        FORMATS[self as usize]
    }

    /// Returns the name that commands take and imported records carry.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the format of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        FORMATS.iter().find(|row| row.name == name).map(|row| row.id)
    }

    /// Returns the verified format of that name.
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`] if there is none, or if only conversion reads the format of that name.
    pub fn of_verified_name(name: &str) -> Result<Self, UnknownFormat> {
        Self::verified().find(|id| id.name() == name).ok_or(UnknownFormat)
    }

    /// Returns the formats that the verifier judges.
    pub fn verified() -> impl Iterator<Item = Self> {
        FORMATS.iter().filter(|row| row.support == Support::Full).map(|row| row.id)
    }

    /// Returns the formats that a record can be converted to: the verified ones that are not the container of another
    /// format.
    pub fn targets() -> impl Iterator<Item = Self> {
        Self::verified().filter(|id| id.row().dialect == *id)
    }

    /// Returns the format that a report is about, given the report's `format`, such as `rer-artifact/0.2`.
    pub fn of_report(format: &str) -> Option<Self> {
        let name = format.split_once('/').map_or(format, |(name, _)| name);
        FORMATS.iter().find(|row| !name.is_empty() && row.report_name == name).map(|row| row.id)
    }

    /// Returns the format that a file name claims. Only a hint: content decides, see [`mod@crate::recognise`].
    pub fn of_file_name(name: &str) -> Option<Self> {
        let claims =
            |ending: &&str| if ending.starts_with('.') { name.ends_with(ending) } else { name == *ending };
        FORMATS.iter().find(|row| row.endings.iter().any(claims)).map(|row| row.id)
    }

    /// Returns the format of a folder or an archive that as a whole is one record.
    ///
    /// `has` returns true if a file of that name is present.
    pub fn of_files(has: impl Fn(&str) -> bool) -> Option<Self> {
        Self::find_folder(
            |folder| folder.owns_folder && folder.required_files.iter().all(|name| has(name)),
            &has,
        )
    }

    /// Returns the format of a folder that holds at least the main file of one, even if other required files are
    /// missing.
    pub fn of_main_file(has: impl Fn(&str) -> bool) -> Option<Self> {
        Self::find_folder(|folder| folder.required_files.first().is_some_and(|main| has(main)), &has)
    }

    fn find_folder(is_it: impl Fn(&FolderLayout) -> bool, has: impl Fn(&str) -> bool) -> Option<Self> {
        let is_found = |row: &&&Format| {
            row.folder
                .is_some_and(|folder| is_it(&folder) && !folder.forbidden_files.iter().any(|name| has(name)))
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
