//! Replay Bundles on disk: an archive, or a folder with the same layout.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;

use reenact_pack::{PackError, UnsupportedMember};

use super::folder::{self, FolderEntry};
use super::unreadable_target;
use crate::replay_bundle::{BundleSnapshot, MemberCopies, SnapshotFault};
use crate::report::UnreadableTarget;

/// Reads the Replay Bundle at a path: all files of a folder, or the members of an archive.
///
/// Members of an archive are copied to the writers that `copies` returns; files of a folder are not.
///
/// # Errors
/// Fails if the path cannot be read. Faults of the bundle are part of the snapshot.
pub fn snapshot(path: &Path, copies: MemberCopies<'_>) -> Result<BundleSnapshot, UnreadableTarget> {
    let failed = |error: io::Error| unreadable_target(path, &error);
    if fs::metadata(path).map_err(failed)?.is_dir() {
        return snapshot_of_folder(path);
    }
    let file = File::open(path).map_err(failed)?;
    BundleSnapshot::read_copying(BufReader::new(file), copies).map_err(|error| failed(error.into()))
}

/// Reads a folder as a Replay Bundle. Links and other entries that are not files become its fault.
pub(super) fn snapshot_of_folder(path: &Path) -> Result<BundleSnapshot, UnreadableTarget> {
    let mut snapshot = BundleSnapshot::default();
    folder::visit(path, |FolderEntry { path, name, kind, is_utf8: is_named }| {
        if !is_named {
            snapshot.set_name_fault(name);
            return Ok(false);
        }
        if !kind.is_file() {
            let member_type =
                if kind.is_symlink() { UnsupportedMember::SymbolicLink } else { UnsupportedMember::Device };
            snapshot.set_fault(SnapshotFault::Pack(PackError::Forbidden { member: name, member_type }));
            return Ok(false);
        }
        let failed = |error| unreadable_target(&path, &error);
        let mut file = File::open(&path).map_err(failed)?;
        snapshot.add_file(&name, &mut file).map_err(failed)
    })?;
    Ok(snapshot)
}
