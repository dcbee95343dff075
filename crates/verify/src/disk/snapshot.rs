//! Replay Bundles on a disk: an archive, or a folder laid out like one.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;

use reenact_pack::{Entry, PackError};

use super::folder::{self, FolderEntry};
use super::unreadable;
use crate::replay_bundle::{Copies, Fault, Snapshot};
use crate::report::Unreadable;

/// Takes a snapshot of the Replay Bundle at a path, whatever it looks like: of a folder all files in it, of anything else
/// the members of the archive that it should be. Members of an archive are copied to where `copies` says.
pub fn snapshot(path: &Path, copies: Copies<'_>) -> Result<Snapshot, Unreadable> {
    let failed = |error: io::Error| unreadable(path, &error);
    if fs::metadata(path).map_err(failed)?.is_dir() {
        return folder(path);
    }
    let file = File::open(path).map_err(failed)?;
    Snapshot::read_copying(BufReader::new(file), copies).map_err(|error| failed(error.into()))
}

/// Takes a snapshot of the Replay Bundle that comes through standard input.
pub fn snapshot_of_standard_input(copies: Copies<'_>) -> Result<Snapshot, Unreadable> {
    let failed = |error: PackError| unreadable(Path::new("-"), &error.into());
    Snapshot::read_copying(io::stdin().lock(), copies).map_err(failed)
}

/// Takes a snapshot of a folder. Links and other things that are no files make it a broken one.
pub(super) fn folder(path: &Path) -> Result<Snapshot, Unreadable> {
    let mut snapshot = Snapshot::default();
    folder::visit(path, |FolderEntry { path, name, kind, is_named }| {
        if !is_named {
            snapshot.refuse_name(name);
            return Ok(false);
        }
        if !kind.is_file() {
            let entry = if kind.is_symlink() { Entry::SymbolicLink } else { Entry::Device };
            snapshot.refuse(Fault::Pack(PackError::Forbidden { member: name, entry }));
            return Ok(false);
        }
        let failed = |error| unreadable(&path, &error);
        let mut file = File::open(&path).map_err(failed)?;
        snapshot.take_file(&name, &mut file).map_err(failed)
    })?;
    Ok(snapshot)
}
