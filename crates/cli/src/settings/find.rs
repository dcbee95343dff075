//! Where a project's file is, and what it holds.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::NAME;

/// Nobody writes more by hand.
const LARGEST: u64 = 1 << 20;

/// The file in a folder, or in the nearest folder around it within the project.
pub(super) fn nearest(start: &Path) -> Option<PathBuf> {
    let is_project = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    let project = start.ancestors().find(is_project);
    let folders =
        start.ancestors().take_while(|folder| project.is_none_or(|project| folder.starts_with(project)));
    let folders = folders.take(if project.is_some() { usize::MAX } else { 1 });
    folders.map(|folder| folder.join(NAME)).find(|file| file.symlink_metadata().is_ok())
}

/// The text of a file; why it has none.
pub(super) fn text(file: &Path) -> Result<String, String> {
    let found = file.metadata().map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is not a file".into());
    }
    let mut bytes = Vec::new();
    let open = File::open(file).map_err(|error| error.to_string())?;
    open.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err("it is too large: at most 1 MiB".into());
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".into())
}
