//! Replay Bundles on a disk: an archive, or a folder laid out like one.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;

use reenact_pack::{Entry, PackError};

use crate::disk::{entries, unreadable};
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
pub fn standard_input(copies: Copies<'_>) -> Result<Snapshot, Unreadable> {
    let failed = |error: PackError| unreadable(Path::new("-"), &error.into());
    Snapshot::read_copying(io::stdin().lock(), copies).map_err(failed)
}

/// Takes a snapshot of a folder. Links and other things that are no files make it a broken one.
pub(crate) fn folder(path: &Path) -> Result<Snapshot, Unreadable> {
    let mut snapshot = Snapshot::default();
    let mut pending = vec![(path.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = pending.pop() {
        for (path, kind) in entries(&folder, depth).map_err(|error| unreadable(&folder, &error))? {
            let own = path.file_name().unwrap_or_default();
            let name = format!("{prefix}{}", own.to_string_lossy());
            if own.to_str().is_none() {
                snapshot.refuse_name(name);
                return Ok(snapshot);
            }
            if kind.is_dir() {
                pending.push((path, format!("{name}/"), depth + 1));
            } else if kind.is_file() {
                let failed = |error| unreadable(&path, &error);
                let mut file = File::open(&path).map_err(failed)?;
                if !snapshot.take_file(&name, &mut file).map_err(failed)? {
                    return Ok(snapshot);
                }
            } else {
                let entry = if kind.is_symlink() { Entry::SymbolicLink } else { Entry::Device };
                snapshot.refuse(Fault::Pack(PackError::Forbidden { member: name, entry }));
                return Ok(snapshot);
            }
        }
    }
    Ok(snapshot)
}
