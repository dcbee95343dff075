//! Overlay files of a launch, in a folder that is removed when the agent has ended.
//!
//! The process that has the folder holds a lock in it, by which a folder that a killed process left is known: see
//! [`remove_leftovers`].

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use reenact_agents::{OverlayFile, OverlayLink};
use reenact_keys::durable;
use reenact_record::{RunId, RunStore};

use crate::output::CommandError;

/// Name of the folder in that of a run.
const RUN_FOLDER: &str = "overlay";
/// Beginning of the name of a replay's folder in the state folder; its id follows.
const REPLAY_PREFIX: &str = "overlay-";
/// File in the folder that is locked as long as the folder is in use.
const LOCK_FILE: &str = "lock";

/// Folder of overlay files; removed on drop, because the files hold the gateway's token and what the user has set.
pub(crate) struct Overlay {
    folder: Option<PathBuf>,
    /// Lock of the folder, held until its removal.
    lock: Option<File>,
}

/// Returns the folder for overlay files of a run, by the run's own folder.
pub(crate) fn folder_of_run(run: &Path) -> PathBuf {
    run.join(RUN_FOLDER)
}

/// Returns a folder for overlay files of a replay, in the state folder.
pub(crate) fn folder_of_replay(state: &Path, id: RunId) -> PathBuf {
    state.join(format!("{REPLAY_PREFIX}{id}"))
}

/// Removes the overlay files that killed recorders and replays have left. Errors are ignored: another process may do the same at
/// this moment.
pub(crate) fn remove_leftovers(store: &RunStore) {
    // This also checks that nobody else can put folders there.
    let Ok(runs) = store.run_ids() else { return };
    let of_runs = runs.into_iter().map(|id| folder_of_run(&store.run_path(id)));
    let is_replays =
        |name: &str| name.strip_prefix(REPLAY_PREFIX).is_some_and(|id| id.parse::<RunId>().is_ok());
    let entries = fs::read_dir(store.path()).into_iter().flatten().flatten();
    let of_replays =
        entries.filter(|entry| entry.file_name().to_str().is_some_and(is_replays)).map(|entry| entry.path());
    of_runs.chain(of_replays).filter(|folder| is_left(folder)).for_each(|folder| {
        let _ = fs::remove_dir_all(folder);
    });
}

/// Returns true for a folder whose process is gone. One without a lock is empty: its process is about to lock it.
fn is_left(folder: &Path) -> bool {
    let is_folder = folder.symlink_metadata().is_ok_and(|found| found.is_dir());
    is_folder && File::open(folder.join(LOCK_FILE)).is_ok_and(|lock| lock.try_lock().is_ok())
}

/// Locks a folder that was just made. The file gets its name when it is locked, so that nobody finds it without its lock.
fn lock(folder: &Path) -> std::io::Result<File> {
    let pending = folder.join("lock.new");
    let lock = fs::OpenOptions::new().write(true).create_new(true).open(&pending)?;
    lock.lock()?;
    fs::rename(pending, folder.join(LOCK_FILE))?;
    Ok(lock)
}

impl Overlay {
    /// Writes files and makes links below a new folder that only the user can enter. Without files there is no folder.
    pub(super) fn write(
        folder: &Path,
        files: &[OverlayFile],
        links: &[OverlayLink],
    ) -> Result<Self, CommandError> {
        if files.is_empty() {
            return Ok(Self { folder: None, lock: None });
        }
        let failed = |path: &Path, error: &std::io::Error| CommandError::unwritable(path, error);
        if let Some(parent) = folder.parent() {
            durable::create_private_folder(parent).map_err(|error| failed(parent, &error))?;
        }
        durable::create_new_private_folder(folder).map_err(|error| failed(folder, &error))?;
        let mut overlay = Self { folder: Some(folder.to_owned()), lock: None };
        overlay.lock = Some(lock(folder).map_err(|error| failed(folder, &error))?);
        for file in files {
            if let Some(parent) = file.path.parent() {
                durable::create_private_folder(parent).map_err(|error| failed(parent, &error))?;
            }
            create(file).map_err(|error| failed(&file.path, &error))?;
        }
        for link in links {
            create_link(link).map_err(|error| failed(&link.path, &error))?;
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

/// Makes a link, where the system has them for anyone; elsewhere a file is copied, and a folder left out.
fn create_link(link: &OverlayLink) -> std::io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(&link.target, &link.path);
    #[cfg(not(unix))]
    return if link.target.is_file() { fs::copy(&link.target, &link.path).map(drop) } else { Ok(()) };
}

impl Drop for Overlay {
    fn drop(&mut self) {
        // Some systems remove no file that is open.
        self.lock = None;
        if let Some(folder) = &self.folder {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use reenact_testkit::fixture::TestDir;

    use super::*;

    #[test]
    fn folders_of_processes_that_are_gone_are_removed() {
        let folder = TestDir::new();
        let store = RunStore::new(folder.path().join("state"));
        store.create().unwrap();
        let run = store.run_path(RunId::generate().unwrap());
        durable::create_new_private_folder(&run).unwrap();
        let places = [folder_of_run(&run), folder_of_replay(store.path(), RunId::generate().unwrap())];
        let written = |place: &PathBuf| {
            let path = place.join("settings.json");
            let file = OverlayFile { path, content: "secret".into(), is_program: false };
            Overlay::write(place, &[file], &[]).unwrap()
        };
        let mut overlays: Vec<Overlay> = places.iter().map(written).collect();
        remove_leftovers(&store);
        assert!(places.iter().all(|place| place.join("settings.json").exists()));
        // A killed process loses its lock, and removes nothing.
        overlays.iter_mut().for_each(|overlay| {
            overlay.lock = None;
            overlay.folder = None;
        });
        let other = store.path().join("overlay-of-mine");
        fs::create_dir(&other).unwrap();
        fs::write(other.join(LOCK_FILE), "").unwrap();
        remove_leftovers(&store);
        assert!(places.iter().all(|place| !place.exists()) && run.exists() && other.exists());
    }
}
