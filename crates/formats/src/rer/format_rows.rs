//! Rows of RER in the table of formats: artifacts, and the bundles that carry them.

use crate::Profile;
use crate::format::{FolderLayout, Format, FormatId, MANIFEST_FILE, RecognitionRule, Support};

/// File name of the artifact in a bundle (§9.1).
pub const ARTIFACT_FILE: &str = "artifact.json";
/// File name of the runtime's public key in a bundle, as 32 raw bytes.
pub const KEY_FILE: &str = "key.bin";
/// File name of the runtime's public key in a bundle, as a JWK.
pub const JWK_FILE: &str = "key.jwk";

/// Row of artifacts. They are recognised by their version, or by any two of these members, even if truncated.
pub static ARTIFACT: Format = Format {
    id: FormatId::Rer,
    name: "rer",
    report_name: "rer-artifact",
    support: Support::Full,
    dialect: FormatId::Rer,
    profile: Profile::Jcs,
    recognition: RecognitionRule::WeightedMembers {
        names: &[
            ("artifact_version", 1),
            ("envelope_hash", 1),
            ("log_head_hash", 1),
            ("runtime_signature", 1),
        ],
        prefixes: &[("artifact_version", "rer-artifact/")],
        threshold: 2,
    },
    folder: None,
    main_file: ARTIFACT_FILE,
    endings: &[".rer.json"],
};

/// Row of bundles, recognised by their files alone.
pub static BUNDLE: Format = Format {
    id: FormatId::RerBundle,
    name: "rer-bundle",
    report_name: "rer-bundle",
    support: Support::Full,
    dialect: FormatId::Rer,
    profile: Profile::Jcs,
    recognition: RecognitionRule::Files,
    folder: Some(FolderLayout {
        required_files: &[ARTIFACT_FILE, MANIFEST_FILE],
        event_files: &[ARTIFACT_FILE],
        companions: &[],
        forbidden_files: &[],
        documents: &[
            (ARTIFACT_FILE, 1 << 30),
            (MANIFEST_FILE, 256 << 20),
            (KEY_FILE, 1 << 10),
            (JWK_FILE, 1 << 20),
        ],
        manifest_member_names: &["artifact_hash", "bundle_hash", "runtime_key_hash", "total_event_count"],
        owns_folder: true,
    }),
    main_file: ARTIFACT_FILE,
    endings: &[".rer.tar.gz", ".rer.tar", ".rer.zip"],
};
