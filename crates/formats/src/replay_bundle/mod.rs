//! Replay Bundles, version 1: a manifest and the files of a run, in one reproducible archive.
//!
//! The archive is a tar of plain files inside one gzip member. What the real tool writes is read, and written again byte for
//! byte; §n in comments is the published text.

pub mod cassette;
pub mod draft;
pub mod manifest;
mod text;
pub mod writer;

pub use draft::{Held, NewManifest};
pub use manifest::{CoverageView, FileView, ManifestView};
pub use writer::{NewFile, Source, WriteError, archive, write};

use reenact_json::{Digest, Limits as JsonLimits};
use reenact_pack::{Limits, Rules};

use crate::Profile;
use crate::format::{FolderLayout, Format, FormatId, Signs, Support};
use crate::rer::ARTIFACT_FILE;

pub use crate::format::MANIFEST_FILE as MANIFEST;

/// The row of Replay Bundles: a manifest, and nothing of what an RER bundle needs beside it.
pub static FORMAT: Format = Format {
    id: FormatId::ReplayBundle,
    name: "replay-bundle",
    report_name: "replay-bundle",
    support: Support::Full,
    dialect: FormatId::ReplayBundle,
    profile: Profile::Jcs,
    signs: Signs::Files,
    folder: Some(FolderLayout {
        needs: &[MANIFEST],
        reads: &[MANIFEST],
        companions: &[],
        without: &[ARTIFACT_FILE],
        documents: &[(MANIFEST, 256 << 20)],
        manifest_names: &["schema_version", "assay_version", "replay_coverage", "trace_digest"],
        is_whole: true,
    }),
    main_file: MANIFEST,
    endings: &[],
};

/// What was used: config and trace.
pub const FILES: &str = "files/";
/// What came out: the run, its summary, reports.
pub const OUTPUTS: &str = "outputs/";
/// Recorded answers.
pub const CASSETTES: &str = "cassettes/";
/// The folders of the canonical layout (§3.3).
pub const FOLDERS: [&str; 3] = [CASSETTES, FILES, OUTPUTS];

/// The version of the manifest that is read and written here (§3.1).
pub const VERSION: u32 = 1;
/// The largest manifest, in bytes. This limit and the following are the real tool's; the published text has none.
pub const LARGEST_MANIFEST: u64 = 10 << 20;
/// The deepest nesting of a manifest.
pub const DEEPEST_MANIFEST: u32 = 64;
/// The longest name, in bytes.
pub const LONGEST_NAME: u64 = 256;
/// The longest name that is written: what a plain tar header holds.
pub const LONGEST_WRITTEN_NAME: usize = 100;
/// The code of everything that is over a limit.
pub const LIMIT_CODE: &str = "E_REPLAY_LIMIT_EXCEEDED";

/// How much of an archive is read.
pub fn limits() -> Limits {
    Limits {
        source_bytes: 100 << 20,
        members: 100_000,
        name_bytes: LONGEST_NAME,
        member_bytes: 500 << 20,
        total_bytes: 1 << 30,
        // The total is small enough to bound the work by itself, and logs of repeated lines shrink a lot.
        ratio: None,
        ..Limits::default()
    }
}

/// The rules that an archive is read by: plain files only, one gzip member, nothing after it.
pub fn rules() -> Rules {
    Rules { limits: limits(), ..Rules::plain() }
}

/// How much of a manifest is read.
pub fn manifest_limits() -> JsonLimits {
    let bytes = usize::try_from(LARGEST_MANIFEST).unwrap_or(usize::MAX);
    JsonLimits { depth: DEEPEST_MANIFEST, bytes }
}

/// A digest as manifests spell it: 64 lower-case hexadecimal digits, with `sha256:` before them or without.
pub fn read_digest(text: &str) -> Option<Digest> {
    Digest::from_hex(text.strip_prefix("sha256:").unwrap_or(text))
}

/// Whether a name is in one of the three folders of the layout.
pub fn is_in_layout(name: &str) -> bool {
    FOLDERS.iter().any(|folder| name.len() > folder.len() && name.starts_with(folder))
}

/// What kind of content a name promises, as the real tool writes it.
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
