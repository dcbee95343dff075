//! The files below a folder, in one order and by one rule of depth. Links are not followed.

use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use super::unreadable;
use crate::report::Unreadable;

/// A folder inside itself cannot be, since links are not followed; a mount might be.
const DEEPEST_FOLDER: usize = 64;

/// The entries of a folder by name.
pub(super) fn entries(folder: &Path, depth: usize) -> io::Result<Vec<(PathBuf, fs::FileType)>> {
    if depth > DEEPEST_FOLDER {
        return Err(io::Error::other("folders are nested too deep"));
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        entries.push((entry.path(), entry.file_type()?));
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(entries)
}

/// Something below a folder that is no folder.
pub(super) struct FolderEntry {
    pub(super) path: PathBuf,
    /// Its name inside the folder, with slashes.
    pub(super) name: String,
    pub(super) kind: FileType,
    /// False if the name is not UTF-8: two such names could look the same, and one file would hide the other.
    pub(super) is_named: bool,
}

/// Hands all that lies below a folder to `visit`, until that says no.
pub(super) fn visit(
    folder: &Path,
    mut visit: impl FnMut(FolderEntry) -> Result<bool, Unreadable>,
) -> Result<(), Unreadable> {
    let mut pending = vec![(folder.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = pending.pop() {
        for (path, kind) in entries(&folder, depth).map_err(|error| unreadable(&folder, &error))? {
            let own = path.file_name().unwrap_or_default();
            let (name, is_named) = (format!("{prefix}{}", own.to_string_lossy()), own.to_str().is_some());
            if kind.is_dir() && is_named {
                pending.push((path, format!("{name}/"), depth + 1));
            } else if !visit(FolderEntry { path, name, kind, is_named })? {
                return Ok(());
            }
        }
    }
    Ok(())
}
