//! The rows of RER in the table of formats: artifacts, and the bundles that carry them.

use crate::Profile;
use crate::format::{FolderLayout, Format, FormatId, MANIFEST_FILE, Signs, Support};

/// The artifact of a bundle (§9.1).
pub const ARTIFACT_FILE: &str = "artifact.json";
/// The runtime's public key in a bundle, 32 raw bytes.
pub const KEY_FILE: &str = "key.bin";
/// The runtime's public key in a bundle, as a JWK.
pub const JWK_FILE: &str = "key.jwk";

/// The row of artifacts: known by their version, or by any two of these members even when they are torn.
pub static ARTIFACT: Format = Format {
    id: FormatId::Rer,
    name: "rer",
    report_name: "rer-artifact",
    support: Support::Full,
    dialect: FormatId::Rer,
    profile: Profile::Jcs,
    signs: Signs::Members {
        names: &[
            ("artifact_version", 1),
            ("envelope_hash", 1),
            ("log_head_hash", 1),
            ("runtime_signature", 1),
        ],
        prefixes: &[("artifact_version", "rer-artifact/")],
        enough: 2,
    },
    folder: None,
    main_file: ARTIFACT_FILE,
    endings: &[".rer.json"],
};

/// The row of bundles.
pub static BUNDLE: Format = Format {
    id: FormatId::RerBundle,
    name: "rer-bundle",
    report_name: "rer-bundle",
    support: Support::Full,
    dialect: FormatId::Rer,
    profile: Profile::Jcs,
    signs: Signs::Files,
    folder: Some(FolderLayout {
        needs: &[ARTIFACT_FILE, MANIFEST_FILE],
        reads: &[ARTIFACT_FILE],
        companions: &[],
        without: &[],
        documents: &[
            (ARTIFACT_FILE, 1 << 30),
            (MANIFEST_FILE, 256 << 20),
            (KEY_FILE, 1 << 10),
            (JWK_FILE, 1 << 20),
        ],
        manifest_names: &["artifact_hash", "bundle_hash", "runtime_key_hash", "total_event_count"],
        is_whole: true,
    }),
    main_file: ARTIFACT_FILE,
    endings: &[".rer.tar.gz", ".rer.tar", ".rer.zip"],
};
