//! Replay Bundles: seven checks over a manifest and the files that it lists.
//!
//! A [`BundleSnapshot`] reads the members one by one, in the order of the archive, and keeps of each
//! its digest, its size, and whether it seems to hold a secret. [`verify`] then checks the snapshot. A
//! bundle therefore needs little memory whatever its size, and nothing is read twice.
//!
//! | module | content |
//! |---|---|
//! | `snapshot` | reading an archive or a folder |
//! | `window`, `leak` | hashing a member and searching it for secrets in one pass |
//! | `checks` | the seven checks |
//! | `shape` | the types of the manifest's members |
//! | `digests` | the digests of config, trace, policy and baseline |

mod checks;
mod digests;
mod leak;
mod shape;
mod snapshot;
mod window;

pub use crate::members::MemberCopies;
pub use checks::verify;
pub use leak::{Leak, masked};
#[cfg(feature = "disk")]
pub(crate) use snapshot::CopyingReader;
pub use snapshot::{BundleSnapshot, MemberFacts, SnapshotFault};

use reenact_formats::FormatId;
use reenact_formats::format::MANIFEST_FILE;

use crate::check::CheckId;
use crate::checker::{BrokenContainer, Checker};

/// Row of Replay Bundles in the table of checkers.
pub(crate) static CHECKER: Checker = Checker {
    id: FormatId::ReplayBundle,
    document: |_, _, _, _| verify(&BundleSnapshot::from_fault(SnapshotFault::NoArchive)),
    // An archive is verified while it is read. Members that arrive here were not searched for secrets.
    members: |members, _, _, _| {
        let is_one = members.document(MANIFEST_FILE).is_some();
        verify(&BundleSnapshot::from_fault(if is_one {
            SnapshotFault::NotScanned
        } else {
            SnapshotFault::NoManifest
        }))
    },
    broken_report: Some(|broken| match broken {
        BrokenContainer::Archive(error) => {
            verify(&BundleSnapshot::from_fault(SnapshotFault::Pack((*error).clone())))
        }
        #[cfg(feature = "disk")]
        BrokenContainer::Folder(_) => verify(&BundleSnapshot::from_fault(SnapshotFault::Folder)),
    }),
};

/// Check 1: the archive is whole, plain and within the limits.
pub const ARCHIVE: CheckId =
    CheckId::new("archive", "it is one plain archive within the limits, whole to its last byte");
/// Check 2: the manifest is JSON of version 1.
pub const MANIFEST: CheckId =
    CheckId::new("manifest", "the manifest is JSON of version 1 and says who wrote it");
/// Check 3: every name stays inside the bundle.
pub const PATHS: CheckId =
    CheckId::new("paths", "every name stays inside the bundle and names what is there");
/// Check 4: every file is listed and has its hash. Void if the manifest lists no files.
pub const FILES: CheckId = CheckId::new("files", "every file is listed, and is the one that was hashed");
/// Check 5: config, trace, policy and baseline have their digests. Void if the manifest has none.
pub const DIGESTS: CheckId =
    CheckId::new("digests", "config, trace, policy and baseline are those that the manifest names");
/// Check 6: there is a config, a trace or a summary.
pub const CONTENTS: CheckId = CheckId::new("contents", "there is a config, a trace or a summary");
/// Check 7: no file and no cassette seems to hold a secret.
pub const SECRETS: CheckId = CheckId::new("secrets", "no file and no cassette seems to hold a secret");

/// Beginning of the notes on secrets among the results and in the manifest, which do not fail a check.
pub const SECRET_NOTE: &str = "before you share it: ";

/// The seven checks.
pub const CHECKS: [CheckId; 7] = [ARCHIVE, MANIFEST, PATHS, FILES, DIGESTS, CONTENTS, SECRETS];
