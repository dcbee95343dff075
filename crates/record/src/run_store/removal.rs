//! Removing runs: their folders in the store, and nothing outside of it.
//!
//! A run that a recorder or a recovery has is not removed. Links are removed as links: nothing that they lead to is touched.
//! Start reading at [`RunStore::remove_run`].

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use super::error::path_text;
use super::{RunStore, RunStoreError, check_folder};
use crate::run_id::RunId;
use crate::wal;

/// Extension of a run's folder that is being removed. No run's id has a dot, so that it is never taken for a run.
const REMOVED_EXTENSION: &str = "gone";

/// Depth to which folders are measured; those of runs are one or two deep.
const MAX_DEPTH: usize = 16;

impl RunStore {
    /// Returns the size of everything in the folder of a run, in bytes. Links are not followed.
    pub fn run_bytes(&self, id: RunId) -> u64 {
        bytes_below(&self.run_path(id), MAX_DEPTH)
    }

    /// Removes a run with all that its folder holds, and returns its size in bytes. An artifact that was written elsewhere
    /// stays there. The log of the run is left to [`wal::remove_orphans`].
    ///
    /// # Errors
    /// [`RunStoreError::BeingRecorded`] if a recorder or a recovery has the run, [`RunStoreError::NotFound`] if there is no such
    /// run, and those of folders that others could have put in its place.
    pub fn remove_run(&self, id: RunId) -> Result<u64, RunStoreError> {
        self.check_run(id)?;
        let folder = self.run_path(id);
        // Held until the folder has lost its name, so that no recovery begins meanwhile.
        let _lock = self.lock_to_remove(id)?;
        let bytes = bytes_below(&folder, MAX_DEPTH);
        // Renamed first: half a run must never be taken for a whole one.
        let gone = folder.with_extension(REMOVED_EXTENSION);
        let failed = |error: io::Error| RunStoreError::io(&folder, &error);
        remove_any(&gone).map_err(failed)?;
        fs::rename(&folder, &gone).map_err(failed)?;
        remove_any(&gone).map_err(failed)?;
        Ok(bytes)
    }

    /// Removes what a killed process left of runs that it was removing, and returns its size in bytes.
    ///
    /// # Errors
    /// Those of folders that others could have put in the place of the store, and of the file system.
    pub fn remove_remains(&self) -> Result<u64, RunStoreError> {
        let runs = self.runs_path();
        if !(check_folder(&self.path)? && check_folder(&runs)?) {
            return Ok(0);
        }
        let failed = |error: io::Error| RunStoreError::io(&runs, &error);
        let mut bytes = 0;
        for entry in fs::read_dir(&runs).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let id = name
                .to_str()
                .and_then(|name| name.strip_suffix(REMOVED_EXTENSION)?.strip_suffix('.'))
                .map(str::parse::<RunId>);
            if matches!(id, Some(Ok(_))) {
                let path = runs.join(name);
                bytes += bytes_below(&path, MAX_DEPTH);
                remove_any(&path).map_err(failed)?;
            }
        }
        Ok(bytes)
    }

    /// Locks the journal of a run, if there is one, and checks that no recorder has the run.
    fn lock_to_remove(&self, id: RunId) -> Result<Option<File>, RunStoreError> {
        let path = self.journal_path(id);
        let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
        let journal = match is_file.then(|| File::open(&path)) {
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => {
                return Err(RunStoreError::Io {
                    path: path_text(&path),
                    kind: error.kind(),
                    text: error.to_string(),
                });
            }
            Some(Ok(journal)) => Some(journal),
            _ => None,
        };
        let is_locked = |file: &File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        // A recorder also holds the lock of its log, even if somebody removed its journal.
        if journal.as_ref().is_some_and(is_locked) || wal::has_recorder(id) {
            return Err(RunStoreError::BeingRecorded { run_id: id });
        }
        Ok(journal)
    }
}

/// Removes a folder with its content, or whatever has the name; nothing if there is nothing.
fn remove_any(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        // This follows no links, also not those that somebody puts there meanwhile.
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    }
}

/// Returns the sum of the sizes of all files below a path, links counted as links.
fn bytes_below(path: &Path, depth: usize) -> u64 {
    let Ok(found) = path.symlink_metadata() else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    let Some(depth) = depth.checked_sub(1) else { return 0 };
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| bytes_below(&entry.path(), depth)).fold(0, u64::saturating_add)
}
