//! The files of a folder that is one record, read as a whole, for commands that open or convert it.
//!
//! The verifier does not use this module, since it needs less memory. Start reading at
//! [`record_files`].

use std::path::Path;

use reenact_formats::format::MANIFEST_FILE;
use reenact_formats::{FORMATS, FormatId};
use reenact_json::{Limits, Shown};

use super::folder::{self, FolderEntry};
use super::read;
use crate::report::UnreadableTarget;

/// Selection of the files to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderScope {
    /// Files from which the events of the record are read.
    Events,
    /// All files that belong to the record.
    Record,
}

/// Reason why the files of a folder cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FolderFault {
    /// A document of the record is a symbolic link, which could lead anywhere. Holds its path.
    #[error("{}: this is a link, and links are not followed; nothing was read", Shown::whole(.0))]
    Link(String),
    /// An entry is not a regular file. Holds its name relative to the folder.
    #[error("{}: this is no file of a record; nothing was read", Shown::whole(.0))]
    NotAFile(String),
    /// The files together exceed the size or the number that any record may have.
    #[error("the folder is larger than any record that can be read")]
    TooLarge,
    /// A file or folder cannot be read.
    #[error("{0} ({code})", code = .0.code)]
    Unreadable(#[from] UnreadableTarget),
}

/// Largest number of files, the same as in an archive.
const MAX_FILES: usize = 100_000;

/// Returns true if a folder holds a regular file of that name.
///
/// # Errors
/// Fails if the name is a symbolic link, which could lead anywhere.
pub fn holds_file(folder: &Path, name: &str) -> Result<bool, FolderFault> {
    let path = folder.join(name);
    let Ok(found) = path.symlink_metadata() else { return Ok(false) };
    if found.is_symlink() {
        return Err(FolderFault::Link(path.to_string_lossy().into_owned()));
    }
    Ok(found.is_file())
}

/// Returns the format of a folder by its main file.
///
/// # Errors
/// Fails if the main file of any format is a symbolic link.
pub fn format_of(folder: &Path) -> Result<Option<FormatId>, FolderFault> {
    let mut names = Vec::new();
    for name in FORMATS.iter().filter_map(|row| row.folder?.required_files.first()) {
        if holds_file(folder, name)? {
            names.push(*name);
        }
    }
    Ok(FormatId::of_main_file(|name| names.contains(&name)))
}

/// Returns the files of a folder that is one record, sorted by name. Empty if the folder is of no
/// format.
///
/// # Errors
/// See [`FolderFault`].
pub fn record_files(path: &Path, scope: FolderScope) -> Result<Vec<(String, Vec<u8>)>, FolderFault> {
    let Some(files) = format_of(path)?.and_then(|id| id.row().folder) else { return Ok(Vec::new()) };
    let takes_all = match scope {
        FolderScope::Events => holds_file(path, MANIFEST_FILE)?,
        FolderScope::Record => files.owns_folder,
    };
    if takes_all {
        return all_files(path);
    }
    let companions = if scope == FolderScope::Record { files.companions } else { &[] };
    let mut found = Vec::new();
    for name in files.event_files.iter().chain(companions) {
        if holds_file(path, name)? {
            found.push(((*name).to_owned(), read(&path.join(name))?));
        }
    }
    found.sort();
    Ok(found)
}

/// Returns every file below a folder, sorted by name.
fn all_files(path: &Path) -> Result<Vec<(String, Vec<u8>)>, FolderFault> {
    let (mut found, mut bytes, mut fault) = (Vec::new(), 0_usize, None);
    folder::visit(path, |FolderEntry { path, name, kind, is_utf8: is_named }| {
        if !kind.is_file() || !is_named {
            fault = Some(FolderFault::NotAFile(name));
            return Ok(false);
        }
        let content = read(&path)?;
        bytes = bytes.saturating_add(content.len());
        if bytes > Limits::MAX_BYTES || found.len() >= MAX_FILES {
            fault = Some(FolderFault::TooLarge);
            return Ok(false);
        }
        found.push((name, content));
        Ok(true)
    })?;
    found.sort();
    fault.map_or(Ok(found), Err)
}
