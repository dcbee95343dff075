//! Overlay files of a launch, in a folder of the run that is removed when the agent has ended.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use reenact_agents::OverlayFile;
use reenact_keys::durable;

use crate::output::CommandError;

/// Folder of overlay files; removed on drop, because the files hold the gateway's token and what the user has set.
pub(crate) struct Overlay {
    folder: Option<PathBuf>,
}

impl Overlay {
    /// Writes files below a new folder that only the user can enter. Without files there is no folder.
    pub(super) fn write(folder: &Path, files: &[OverlayFile]) -> Result<Self, CommandError> {
        if files.is_empty() {
            return Ok(Self { folder: None });
        }
        let failed = |path: &Path, error: &std::io::Error| CommandError::unwritable(path, error);
        if let Some(parent) = folder.parent() {
            durable::create_private_folder(parent).map_err(|error| failed(parent, &error))?;
        }
        durable::create_new_private_folder(folder).map_err(|error| failed(folder, &error))?;
        let overlay = Self { folder: Some(folder.to_owned()) };
        for file in files {
            if let Some(parent) = file.path.parent() {
                durable::create_private_folder(parent).map_err(|error| failed(parent, &error))?;
            }
            create(file).map_err(|error| failed(&file.path, &error))?;
        }
        Ok(overlay)
    }
}

fn create(file: &OverlayFile) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if file.is_program { 0o700 } else { 0o600 });
    options.open(&file.path)?.write_all(file.content.as_bytes())
}

impl Drop for Overlay {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = fs::remove_dir_all(folder);
        }
    }
}
