//! Replay Bundles, version 1: a manifest and the files of a run, in one reproducible archive.
//!
//! The archive is a tar of plain files inside one gzip member. Archives of the real tool are read, and written again
//! byte for byte; §n in comments is the published specification.
//!
//! | module | what it holds |
//! |---|---|
//! | [`manifest`] | views of a manifest |
//! | [`cassette`] | recorded HTTP exchanges |
//! | [`new_manifest`] | the members of a manifest to write |
//! | [`writer`] | the writer of bundles |
//! | [`mod@rewrite`] | a bundle made of a bundle |
//!
//! Start reading at [`manifest`].

pub mod cassette;
pub mod manifest;
mod manifest_writer;
pub mod new_manifest;
pub mod rewrite;
pub mod writer;

pub use manifest::{CoverageView, FileView, ManifestView};
pub use new_manifest::{DocumentInclusion, NewManifest};
pub use rewrite::{AddedBundleFile, BundleDocument, BundleRewriteError, RewrittenBundle, rewrite};
pub use writer::{NewBundleFile, ReopenableSource, ReplayBundleWriteError, archive, write};

use reenact_json::{Digest, Limits};
use reenact_pack::{ArchiveLimits, ArchiveRules};

use crate::Profile;
use crate::format::{FolderLayout, Format, FormatId, RecognitionRule, Support};
use crate::rer::ARTIFACT_FILE;

pub use crate::format::MANIFEST_FILE as MANIFEST;

/// Row of Replay Bundles: a manifest, and no `artifact.json`, which would make it an RER bundle.
pub static FORMAT: Format = Format {
    id: FormatId::ReplayBundle,
    name: "replay-bundle",
    report_name: "replay-bundle",
    support: Support::Full,
    dialect: FormatId::ReplayBundle,
    profile: Profile::Jcs,
    recognition: RecognitionRule::Files,
    folder: Some(FolderLayout {
        required_files: &[MANIFEST],
        event_files: &[MANIFEST],
        companions: &[],
        forbidden_files: &[ARTIFACT_FILE],
        documents: &[(MANIFEST, 256 << 20)],
        manifest_member_names: &["schema_version", "assay_version", "replay_coverage", "trace_digest"],
        owns_folder: true,
    }),
    main_file: MANIFEST,
    endings: &[],
};

/// Folder of the inputs: configuration and trace.
pub const FILES_FOLDER: &str = "files/";
/// Folder of the results: the run, its summary, reports.
pub const OUTPUTS_FOLDER: &str = "outputs/";
/// Folder of recorded answers.
pub const CASSETTES_FOLDER: &str = "cassettes/";
/// Folders of the canonical layout (§3.3).
pub const FOLDERS: [&str; 3] = [CASSETTES_FOLDER, FILES_FOLDER, OUTPUTS_FOLDER];

/// Version of the manifest that is read and written here (§3.1).
pub const VERSION: u32 = 1;
/// Largest manifest, in bytes. This limit and the following are the real tool's; the published specification has
/// none.
pub const MAX_MANIFEST_BYTES: u64 = 10 << 20;
/// Deepest nesting of a manifest, in levels.
pub const MAX_MANIFEST_DEPTH: u32 = 64;
/// Longest file name, in bytes.
pub const MAX_NAME_BYTES: u64 = 256;
/// Longest file name that is written, in bytes: as much as a plain tar header holds.
pub const MAX_WRITTEN_NAME_BYTES: usize = 100;
/// Error code of everything that is over a limit.
pub const LIMIT_CODE: &str = "E_REPLAY_LIMIT_EXCEEDED";

/// Returns the limits of an archive that is read.
pub fn archive_limits() -> ArchiveLimits {
    ArchiveLimits {
        source_bytes: 100 << 20,
        members: 100_000,
        name_bytes: MAX_NAME_BYTES,
        member_bytes: 500 << 20,
        total_bytes: 1 << 30,
        // The total alone is small enough to bound the work, and logs of repeated lines compress very well.
        expansion: None,
        ..ArchiveLimits::default()
    }
}

/// Returns the rules that an archive is read by: plain files only, one gzip member, nothing after it.
pub fn archive_rules() -> ArchiveRules {
    ArchiveRules { limits: archive_limits(), ..ArchiveRules::plain() }
}

/// Returns the limits of a manifest that is read.
pub fn manifest_limits() -> Limits {
    let bytes = usize::try_from(MAX_MANIFEST_BYTES).unwrap_or(usize::MAX);
    Limits { max_depth: MAX_MANIFEST_DEPTH, max_bytes: bytes }
}

/// Parses a digest as manifests spell it: 64 lower-case hexadecimal digits, with or without `sha256:` before them.
pub fn read_digest(text: &str) -> Option<Digest> {
    Digest::from_hex(text.strip_prefix("sha256:").unwrap_or(text))
}

/// Returns true if a name lies in one of the three folders of the layout.
pub fn is_in_layout(name: &str) -> bool {
    FOLDERS.iter().any(|folder| name.len() > folder.len() && name.starts_with(folder))
}

/// Returns the media type for a file name's ending, as the real tool writes it.
pub fn content_type(name: &str) -> Option<&'static str> {
    match name.rsplit('/').next()?.rsplit_once('.')?.1 {
        "json" => Some("application/json"),
        "jsonl" => Some("application/x-ndjson"),
        "xml" => Some("application/xml"),
        "yaml" | "yml" => Some("application/x-yaml"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_in_two_spellings() {
        let digest = Digest::of(b"x");
        assert_eq!(read_digest(&format!("sha256:{digest}")), Some(digest));
        assert_eq!(read_digest(&digest.to_string()), Some(digest));
        assert_eq!(read_digest(&format!("sha256:sha256:{digest}")), None);
        assert_eq!(read_digest(&digest.to_string().to_uppercase()), None);
        assert_eq!(read_digest("sha256:unknown"), None);
    }

    #[test]
    fn names_of_the_layout() {
        for (name, is_in) in [
            ("files/a", true),
            ("outputs/x/y.json", true),
            ("cassettes/", false),
            ("files", false),
            ("traces/run.jsonl", false),
            ("manifest.json", false),
        ] {
            assert_eq!(is_in_layout(name), is_in, "{name}");
        }
        assert_eq!(content_type("files/a.b/trace"), None);
        assert_eq!(content_type("files/trace.jsonl"), Some("application/x-ndjson"));
        assert_eq!(content_type("files/eval.yml"), Some("application/x-yaml"));
        assert_eq!(content_type("files/EVAL.YML"), None);
    }
}
