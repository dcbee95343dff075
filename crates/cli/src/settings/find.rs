//! Search for the settings file of a project, and reading it within a limit.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::FILE_NAME;

/// Largest settings file, in bytes. People write these files by hand, so a larger one is a mistake or an attack.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Returns the settings file in `start` or in the nearest folder around it within the project; `None` if there is none.
///
/// A link counts as a file here; [`read_text`] decides what lies behind it.
pub(super) fn nearest_file(start: &Path) -> Option<PathBuf> {
    let is_project = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    let project = start.ancestors().find(is_project);
    let folders =
        start.ancestors().take_while(|folder| project.is_none_or(|project| folder.starts_with(project)));
    let folders = folders.take(if project.is_some() { usize::MAX } else { 1 });
    folders.map(|folder| folder.join(FILE_NAME)).find(|file| file.symlink_metadata().is_ok())
}

/// Reads a settings file as UTF-8.
///
/// # Errors
///
/// A message if the file cannot be read, is not a regular file, is larger than [`MAX_FILE_BYTES`], or is not UTF-8.
pub(super) fn read_text(file: &Path) -> Result<String, String> {
    let found = file.metadata().map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is not a file".into());
    }
    let mut bytes = Vec::new();
    let open = File::open(file).map_err(|error| error.to_string())?;
    open.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err("it is too large: at most 1 MiB".into());
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".into())
}
