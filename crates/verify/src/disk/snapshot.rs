//! Replay Bundles on disk: an archive, or a folder with the same layout.

use std::fs::{self, File};
use std::io::{self, BufReader, Write as _};
use std::path::Path;

use reenact_pack::{PackError, UnsupportedMember};

use super::folder::{self, FolderEntry};
use super::unreadable_target;
use crate::replay_bundle::{BundleSnapshot, CopyingReader, MemberCopies, SnapshotFault};
use crate::report::UnreadableTarget;

/// Reads the Replay Bundle at a path: all files of a folder, or the members of an archive.
///
/// Each of them is copied to the writer that `copies` returns.
///
/// # Errors
/// Fails if the path cannot be read. Faults of the bundle are part of the snapshot.
pub fn snapshot(path: &Path, copies: MemberCopies<'_>) -> Result<BundleSnapshot, UnreadableTarget> {
    let failed = |error: io::Error| unreadable_target(path, &error);
    if fs::metadata(path).map_err(failed)?.is_dir() {
        return snapshot_of_folder(path, copies);
    }
    let file = File::open(path).map_err(failed)?;
    BundleSnapshot::read_copying(BufReader::new(file), copies).map_err(|error| failed(error.into()))
}

/// Reads a folder as a Replay Bundle. Links and other entries that are not files become its fault.
pub(super) fn snapshot_of_folder(
    path: &Path,
    copies: MemberCopies<'_>,
) -> Result<BundleSnapshot, UnreadableTarget> {
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
        match copies(&name).map_err(failed)? {
            None => snapshot.add_file(&name, &mut file).map_err(failed),
            Some(copy) => {
                let mut copied = CopyingReader { inner: &mut file, copy };
                let is_added = snapshot.add_file(&name, &mut copied).map_err(failed)?;
                copied.copy.flush().map_err(failed)?;
                Ok(is_added)
            }
        }
    })?;
    Ok(snapshot)
}
