//! Replay Bundles: seven checks over a manifest and the files that it lists.
//!
//! A [`Snapshot`] takes the members one by one, in the order in which they come, and keeps of each its digest, its size and
//! whether it seems to hold a secret; [`verify`] judges what was taken. So a bundle needs little memory whatever its size, and
//! nothing is read twice.

mod digests;
mod judge;
mod leak;
mod shape;
mod snapshot;
mod window;

pub use crate::members::Copies;
pub use judge::verify;
pub use leak::{Leak, masked};
pub use snapshot::{Fault, MemberFacts, Snapshot};

use reenact_formats::FormatId;
use reenact_formats::format::MANIFEST_FILE;

use crate::checker::{Broken, Checker};

/// What judges Replay Bundles.
pub(crate) static CHECKER: Checker = Checker {
    id: FormatId::ReplayBundle,
    document: |_, _, _, _| verify(&Snapshot::broken(Fault::NoArchive)),
    // An archive of one was judged while it was read: these members are not.
    members: |members, _, _, _| {
        let is_one = members.document(MANIFEST_FILE).is_some();
        verify(&Snapshot::broken(if is_one { Fault::NotLookedThrough } else { Fault::NoManifest }))
    },
    broken: Some(|broken| match broken {
        Broken::Archive(error) => verify(&Snapshot::broken(Fault::Pack((*error).clone()))),
        #[cfg(feature = "disk")]
        Broken::Folder(_) => verify(&Snapshot::broken(Fault::Folder)),
    }),
};

/// Check 1.
pub const ARCHIVE: &str = "archive";
/// Check 2.
pub const MANIFEST: &str = "manifest";
/// Check 3.
pub const PATHS: &str = "paths";
/// Check 4.
pub const FILES: &str = "files";
/// Check 5.
pub const DIGESTS: &str = "digests";
/// Check 6.
pub const CONTENTS: &str = "contents";
/// Check 7.
pub const SECRETS: &str = "secrets";

/// All of them, with what each asks.
pub const CHECKS: [(&str, &str); 7] = [
    (ARCHIVE, "it is one plain archive within the limits, whole to its last byte"),
    (MANIFEST, "the manifest is JSON of version 1 and says who wrote it"),
    (PATHS, "every name stays inside the bundle and names what is there"),
    (FILES, "every file is listed, and is the one that was hashed"),
    (DIGESTS, "config, trace, policy and baseline are those that the manifest names"),
    (CONTENTS, "there is a config, a trace or a summary"),
    (SECRETS, "no file and no cassette seems to hold a secret"),
];
