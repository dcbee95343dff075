//! The files of a folder that is one record, read whole, for commands that open or convert it.

use std::path::Path;

use reenact_formats::format::MANIFEST_FILE;
use reenact_formats::{FORMATS, FormatId};
use reenact_json::{Limits, Shown};

use super::folder::{self, FolderEntry};
use super::read;
use crate::report::Unreadable;

/// Which files are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderScope {
    /// Those that the record's events are read from.
    Events,
    /// All that belong to the record.
    Record,
}

/// Why the files of a folder cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FolderFault {
    /// A document of the record is a link, which could lead anywhere.
    #[error("{}: this is a link, and links are not followed; nothing was read", Shown::whole(.0))]
    Link(String),
    /// Something else than a file lies there. Holds its name inside the folder.
    #[error("{}: this is no file of a record; nothing was read", Shown::whole(.0))]
    NotAFile(String),
    /// More than any record holds.
    #[error("the folder is larger than any record that can be read")]
    TooLarge,
    /// It cannot be read.
    #[error("{0} ({code})", code = .0.code)]
    Unreadable(#[from] Unreadable),
}

/// As many files as an archive may hold.
const MOST_FILES: usize = 100_000;

/// Returns true if a folder holds a file of that name. A link of that name could lead anywhere, and is refused.
pub fn holds(folder: &Path, name: &str) -> Result<bool, FolderFault> {
    let path = folder.join(name);
    let Ok(found) = path.symlink_metadata() else { return Ok(false) };
    if found.is_symlink() {
        return Err(FolderFault::Link(path.to_string_lossy().into_owned()));
    }
    Ok(found.is_file())
}

/// The format of a folder by its main file.
pub fn format_of(folder: &Path) -> Result<Option<FormatId>, FolderFault> {
    let mut held = Vec::new();
    for name in FORMATS.iter().filter_map(|row| row.folder?.needs.first()) {
        if holds(folder, name)? {
            held.push(*name);
        }
    }
    Ok(FormatId::of_main_file(|name| held.contains(&name)))
}

/// The files of a folder that is one record, in the order of their names. Links are not followed.
pub fn record_files(path: &Path, scope: FolderScope) -> Result<Vec<(String, Vec<u8>)>, FolderFault> {
    let Some(files) = format_of(path)?.and_then(|id| id.row().folder) else { return Ok(Vec::new()) };
    let takes_all = match scope {
        FolderScope::Events => holds(path, MANIFEST_FILE)?,
        FolderScope::Record => files.is_whole,
    };
    if takes_all {
        return all(path);
    }
    let companions = if scope == FolderScope::Record { files.companions } else { &[] };
    let mut found = Vec::new();
    for name in files.reads.iter().chain(companions) {
        if holds(path, name)? {
            found.push(((*name).to_owned(), read(&path.join(name))?));
        }
    }
    found.sort();
    Ok(found)
}

/// Every file below a folder.
fn all(path: &Path) -> Result<Vec<(String, Vec<u8>)>, FolderFault> {
    let (mut found, mut bytes, mut fault) = (Vec::new(), 0_usize, None);
    folder::visit(path, |FolderEntry { path, name, kind, is_named }| {
        if !kind.is_file() || !is_named {
            fault = Some(FolderFault::NotAFile(name));
            return Ok(false);
        }
        let content = read(&path)?;
        bytes = bytes.saturating_add(content.len());
        if bytes > Limits::LARGEST || found.len() >= MOST_FILES {
            fault = Some(FolderFault::TooLarge);
            return Ok(false);
        }
        found.push((name, content));
        Ok(true)
    })?;
    found.sort();
    fault.map_or(Ok(found), Err)
}
