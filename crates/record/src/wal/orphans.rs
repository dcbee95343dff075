//! Orphaned logs: those of runs that are sealed, refused or gone, whose recorder or recovery was killed before it had
//! removed them. They hold secrets, so they do not stay.
//!
//! A log is removed only if it is certain that nobody needs it: it is in a folder of this user alone, has the name of a
//! run, no process holds its lock, and its run is over. Start reading at [`remove_orphans`].

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use super::logged_run::{self, LoggedRun};
use super::wal_dir::{self, REMOVED_EXTENSION, WalDir};
use crate::run_id::RunId;
use crate::run_store::RunStore;

/// Extension of the mark beside the logs that a run is refused for good.
const REFUSED_EXTENSION: &str = "refused";

/// Removes the logs of all runs that are over, wherever they were recorded, and returns the ids of those that were
/// recorded in `store`.
///
/// A log of version 0.1 does not say where its run is: it is removed if `store` has the run, and the run is over.
pub fn remove_orphans(store: &RunStore) -> Vec<RunId> {
    let mut removed: Vec<RunId> =
        WalDir::existing().iter().flat_map(|dir| remove_orphans_in(dir, store)).collect();
    removed.sort();
    removed.dedup();
    removed
}

/// Removes the orphaned logs in one folder. Errors are ignored: another recorder may do the same at this moment.
pub(super) fn remove_orphans_in(dir: &WalDir, store: &RunStore) -> Vec<RunId> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(dir.path()).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        // The folder may hold anything; only what bears a run's name as this program writes it is a log.
        let Some((run_id, kind)) = name.to_str().and_then(parse_name) else { continue };
        let Ok(found) = path.symlink_metadata() else { continue };
        match kind {
            // A refused run stays refused for as long as its folder is there.
            EntryKind::Refused if LoggedRun::read(&path).is_some_and(|run| run.is_gone()) => {
                let _ = fs::remove_file(&path);
            }
            EntryKind::Log | EntryKind::BeingRemoved if wal_dir::is_private(&found) => {
                let is_of_store = is_of_store(&path, run_id, store);
                if remove_if_orphaned(&path, run_id, kind, store) && is_of_store {
                    removed.push(run_id);
                }
            }
            // A link, a file, or a folder that others can enter is not ours to remove.
            _ => {}
        }
    }
    removed
}

/// Kind of an entry in the folder of logs, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    /// Log of a run.
    Log,
    /// Log whose removal has begun.
    BeingRemoved,
    /// Mark of a refused run.
    Refused,
}

/// Parses the name of an entry; `None` for a name that this program does not write.
fn parse_name(name: &str) -> Option<(RunId, EntryKind)> {
    let (id, kind) = match name.split_once('.') {
        None => (name, EntryKind::Log),
        Some((id, REMOVED_EXTENSION)) => (id, EntryKind::BeingRemoved),
        Some((id, REFUSED_EXTENSION)) => (id, EntryKind::Refused),
        Some(_) => return None,
    };
    Some((id.parse().ok()?, kind))
}

/// Returns true if a log belongs to a run of `store`.
fn is_of_store(log: &Path, run_id: RunId, store: &RunStore) -> bool {
    let run = LoggedRun::read(&log.join(logged_run::FILE_NAME));
    match run.as_ref().and_then(|run| run.store_path(run_id)) {
        Some(path) => std::path::absolute(store.path()).is_ok_and(|store| store == path),
        None => store.run_path(run_id).symlink_metadata().is_ok_and(|found| found.is_dir()),
    }
}

/// Removes a log if its run is over, and returns true if it was removed.
fn remove_if_orphaned(path: &Path, run_id: RunId, kind: EntryKind, store: &RunStore) -> bool {
    if kind == EntryKind::BeingRemoved {
        return fs::remove_dir_all(path).is_ok();
    }
    let run_file = path.join(logged_run::FILE_NAME);
    let is_over = match LoggedRun::read(&run_file) {
        Some(run) => {
            // The recorder holds this lock for as long as it lives, even when the folder of its run is gone.
            let Ok(lock) = File::open(&run_file) else { return false };
            if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
                return false;
            }
            let own = run.store_path(run_id).map(RunStore::new);
            run.is_gone() || own.is_some_and(|own| own.is_over(run_id))
        }
        None => store.is_over(run_id),
    };
    if !is_over {
        return false;
    }
    // Renamed first: half a log must never be taken for a whole one.
    let gone = wal_dir::removal_path(path);
    fs::rename(path, &gone).is_ok() && fs::remove_dir_all(&gone).is_ok()
}

/// Returns true if a process records a run: it holds the lock of the run's log for as long as it lives.
pub(crate) fn has_recorder(run_id: RunId) -> bool {
    WalDir::existing().iter().any(|dir| {
        let lock = File::open(dir.run_path(run_id).join(logged_run::FILE_NAME));
        lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    })
}

/// Leaves a mark beside the logs that a run is refused for good. An error is ignored: this is the second such mark.
pub(crate) fn mark_refused(run_id: RunId, folder: &Path) {
    let Some(dir) = WalDir::find() else { return };
    let text = LoggedRun::of_folder(folder).to_json();
    let _ = crate::durable::create(&refused_path(&dir, run_id), &text, crate::durable::Readers::Owner);
}

/// Returns true if there is such a mark of the run in this folder.
pub(crate) fn is_refused(run_id: RunId, folder: &Path) -> bool {
    let marked = |dir: &WalDir| LoggedRun::read(&refused_path(dir, run_id));
    let is_same = |run: &LoggedRun| std::path::absolute(folder).is_ok_and(|folder| folder == run.folder);
    WalDir::existing().iter().filter_map(marked).any(|run| is_same(&run))
}

fn refused_path(dir: &WalDir, run_id: RunId) -> PathBuf {
    dir.path().join(format!("{run_id}.{REFUSED_EXTENSION}"))
}
