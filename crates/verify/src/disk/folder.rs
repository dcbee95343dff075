//! The files below a folder, in one order and up to one depth. Links are not followed.
//!
//! All code that walks folders goes through this module, so that every command sees the same files.

use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use super::unreadable_target;
use crate::report::UnreadableTarget;

/// Deepest nesting of folders. Links are not followed, so only a mount can make a folder contain
/// itself.
const MAX_FOLDER_DEPTH: usize = 64;

/// Returns the entries of a folder, sorted by name, with their types.
///
/// # Errors
/// Fails if the folder cannot be read or is nested deeper than [`MAX_FOLDER_DEPTH`].
pub(super) fn sorted_entries(folder: &Path, depth: usize) -> io::Result<Vec<(PathBuf, fs::FileType)>> {
    if depth > MAX_FOLDER_DEPTH {
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

/// Entry below a folder that is not itself a folder.
pub(super) struct FolderEntry {
    /// Path for opening the entry.
    pub(super) path: PathBuf,
    /// Name relative to the top folder, with `/` as separator.
    pub(super) name: String,
    /// File, link, pipe or other type.
    pub(super) kind: FileType,
    /// False if the name is not UTF-8. Two such names could look the same, and one file would hide the
    /// other.
    pub(super) is_utf8: bool,
}

/// Passes every entry below a folder to `visit` until the callback returns false.
///
/// # Errors
/// Fails if a folder cannot be read, or with the error of the callback.
pub(super) fn visit(
    folder: &Path,
    mut visit: impl FnMut(FolderEntry) -> Result<bool, UnreadableTarget>,
) -> Result<(), UnreadableTarget> {
    let mut pending = vec![(folder.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = pending.pop() {
        for (path, kind) in
            sorted_entries(&folder, depth).map_err(|error| unreadable_target(&folder, &error))?
        {
            let own = path.file_name().unwrap_or_default();
            let (name, is_named) = (format!("{prefix}{}", own.to_string_lossy()), own.to_str().is_some());
            if kind.is_dir() && is_named {
                pending.push((path, format!("{name}/"), depth + 1));
            } else if !visit(FolderEntry { path, name, kind, is_utf8: is_named })? {
                return Ok(());
            }
        }
    }
    Ok(())
}
