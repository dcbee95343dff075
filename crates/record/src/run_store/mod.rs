//! The state folder with the runs of a user, `runs/<run_id>/`, closed to other users.
//!
//! Every folder on the way is checked before it is used: it must be a real folder of this user that others cannot write
//! to. Otherwise others could put their runs in the place of the user's. Start reading at [`RunStore`].

mod artifact_end;
mod error;
mod removal;
mod run_file;
mod stored_run;

use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use reenact_keys::durable;
use reenact_keys::ownership;

pub use self::error::RunStoreError;
use self::error::path_text;
pub use self::run_file::{RunFile, RunFileFault};
pub use self::stored_run::StoredRun;

use crate::journal_ends;
use crate::refusal;
use crate::run_id::RunId;
use crate::wal;

/// Folder of runs and replays, such as `~/.local/state/reenact`. It need not exist until a run is recorded.
///
/// ```
/// use reenact_record::{RunId, RunStore};
///
/// let store = RunStore::new("/nowhere/reenact");
/// let id: RunId = "01890a5d-ac96-774b-bcce-b302099a8057".parse()?;
/// assert!(store.journal_path(id).ends_with("runs/01890a5d-ac96-774b-bcce-b302099a8057/journal.jsonl"));
/// assert_eq!(store.run_ids(), Ok(Vec::new()));
/// # Ok::<(), reenact_record::run_id::InvalidRunId>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStore {
    path: PathBuf,
}

impl RunStore {
    /// Name of the folder in a project in which runs were kept once. It is read, and never written.
    pub const NAME: &str = ".reenact";

    /// Returns the store at this path. Nothing is read or created.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a run's folder, which need not exist.
    pub fn run_path(&self, id: RunId) -> PathBuf {
        self.runs_path().join(id.to_string())
    }

    /// Returns the path of a run's journal, which need not exist.
    pub fn journal_path(&self, id: RunId) -> PathBuf {
        self.run_path(id).join("journal.jsonl")
    }

    /// Returns the default path of a run's artifact, which need not exist.
    pub fn artifact_path(&self, id: RunId) -> PathBuf {
        self.run_path(id).join("artifact.rer.json")
    }

    /// Returns true if a run was refused for good, because someone had changed its journal.
    ///
    /// The mark in the folder of the run can be taken away by whoever can write there. There is a second one beside the
    /// logs, until the machine starts anew.
    pub fn is_refused(&self, id: RunId) -> bool {
        let folder = self.run_path(id);
        folder.join(refusal::FILE_NAME).symlink_metadata().is_ok() || wal::is_refused(id, &folder)
    }

    /// Returns true if a run needs no log any more: nobody records it, and it is sealed, refused, or has no journal.
    pub(crate) fn is_over(&self, id: RunId) -> bool {
        let (folder, journal) = (self.run_path(id), self.journal_path(id));
        if !folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return false;
        }
        let mut file = match File::open(&journal) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return true,
            Err(_) => return false,
            Ok(file) => file,
        };
        let is_sealed = self.artifact_path(id).symlink_metadata().is_ok_and(|found| found.is_file());
        let is_done = is_sealed || self.is_refused(id) || Self::sealed_elsewhere(&mut file, id).is_some();
        // The lock is asked for last: a recovery of a run that is not done must not find it taken.
        is_done && file.try_lock_shared().is_ok()
    }

    /// Returns the file that the artifact of a journal's run was to be written to, if the run has ended and the file names it.
    ///
    /// Another run may have written its own artifact there in the meantime: as long as the journal exists, this one can be sealed.
    fn sealed_elsewhere(journal: &mut File, id: RunId) -> Option<PathBuf> {
        let target = journal_ends::read_head(journal).ok().flatten().and_then(|head| head.target)?;
        let has_ended = journal_ends::has_run_ended(journal).unwrap_or(false);
        (has_ended && artifact_end::names_run(&target.path, id)).then_some(target.path)
    }

    /// Returns the ids of all runs, oldest first; empty if the folder does not exist. Entries that are no runs are
    /// skipped.
    ///
    /// # Errors
    /// Fails if another user owns the folder or can write to it, and with any error of the file system.
    pub fn run_ids(&self) -> Result<Vec<RunId>, RunStoreError> {
        let runs = self.runs_path();
        for folder in [&self.path, &runs] {
            if !check_folder(folder)? {
                return Ok(Vec::new());
            }
        }
        let failed = |error| RunStoreError::io(&runs, &error);
        let mut ids = Vec::new();
        for entry in fs::read_dir(&runs).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let id = entry.file_name().to_str().and_then(|name| name.parse::<RunId>().ok());
            let is_folder = entry.file_type().is_ok_and(|found| found.is_dir());
            ids.extend(id.filter(|_| is_folder));
        }
        ids.sort();
        Ok(ids)
    }

    /// Returns the ids of the runs that are neither sealed nor being recorded, oldest first: their recorders were
    /// killed, or could not write the artifact. A run that was sealed into another file is not among them, as long as
    /// that file exists and names it, nor is one that its recorder refused.
    pub fn unsealed_runs(&self) -> Result<Vec<RunId>, RunStoreError> {
        let mut ids = self.run_ids()?;
        ids.retain(|id| self.is_unsealed(*id));
        Ok(ids)
    }

    /// Returns true for a run with a journal that is neither locked nor sealed.
    fn is_unsealed(&self, id: RunId) -> bool {
        let journal = self.journal_path(id);
        let has_journal = journal.symlink_metadata().is_ok_and(|found| found.is_file());
        if !has_journal || self.artifact_path(id).symlink_metadata().is_ok() || self.is_refused(id) {
            return false;
        }
        // An unreadable journal counts as not sealed; resuming the run reports the error.
        let Ok(mut file) = File::open(journal) else { return true };
        if matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            return false;
        }
        Self::sealed_elsewhere(&mut file, id).is_none()
    }

    /// Returns the id of the key that a run began under, by the first line of its journal; `None` if that line does not
    /// have it. The line is not checked otherwise.
    pub fn key_id(&self, id: RunId) -> io::Result<Option<String>> {
        journal_ends::read_key_id(&mut File::open(self.journal_path(id))?)
    }

    /// Checks the folders that a run lies in.
    pub(crate) fn check_run(&self, id: RunId) -> Result<(), RunStoreError> {
        for folder in [&self.path, &self.runs_path(), &self.run_path(id)] {
            if !check_folder(folder)? {
                return Err(RunStoreError::NotFound { run_id: id });
            }
        }
        Ok(())
    }

    /// Checks that a journal is no link, and belongs to this user.
    pub(crate) fn check_journal(path: &Path, found: &Metadata) -> Result<(), RunStoreError> {
        if found.is_symlink() {
            return Err(RunStoreError::Link { path: path_text(path) });
        }
        if !ownership::is_ours(found) {
            return Err(RunStoreError::Foreign { path: path_text(path) });
        }
        Ok(())
    }

    /// Creates the folder of runs, and those above it, closed to other users.
    pub fn create(&self) -> Result<(), RunStoreError> {
        self.create_inner(&self.runs_path())
    }

    /// Creates the folder of replay records, and returns the path for the record of a new replay.
    pub fn create_replay_path(&self, id: RunId) -> Result<PathBuf, RunStoreError> {
        let replays = self.path.join("replays");
        self.create_inner(&replays)?;
        Ok(replays.join(format!("{id}.json")))
    }

    /// Creates the folder of bundles, and returns the path for the bundle of a run, with a suffix such as `.tar.gz`.
    pub fn create_bundle_path(&self, id: RunId, suffix: &str) -> Result<PathBuf, RunStoreError> {
        let bundles = self.path.join("bundles");
        self.create_inner(&bundles)?;
        Ok(bundles.join(format!("{id}{suffix}")))
    }

    /// Creates this folder and a folder in it, closed to other users.
    fn create_inner(&self, inner: &Path) -> Result<(), RunStoreError> {
        for folder in [self.path.as_path(), inner] {
            // An existing folder is checked first: creating it again would follow a link.
            if !check_folder(folder)? {
                durable::create_private_folder(folder).map_err(|error| RunStoreError::io(folder, &error))?;
                check_folder(folder)?;
            }
            close_to_others(folder).map_err(|error| RunStoreError::io(folder, &error))?;
        }
        Ok(())
    }

    /// Creates the folder of a new run, and those above it.
    ///
    /// # Errors
    /// [`RunStoreError::Exists`] if the run has a folder already.
    pub(crate) fn create_run(&self, id: RunId) -> Result<PathBuf, RunStoreError> {
        self.create()?;
        let path = self.run_path(id);
        match durable::create_new_private_folder(&path) {
            Ok(()) => Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(RunStoreError::Exists { path: path_text(&path) })
            }
            Err(error) => Err(RunStoreError::io(&path, &error)),
        }
    }

    fn runs_path(&self) -> PathBuf {
        self.path.join("runs")
    }
}

/// Returns true if the folder exists and false if nothing does.
///
/// # Errors
/// Fails for a link, for anything but a folder, and if another user owns the folder or can write to it.
pub(crate) fn check_folder(path: &Path) -> Result<bool, RunStoreError> {
    let found = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found.map_err(|error| RunStoreError::io(path, &error))?,
    };
    if found.is_symlink() {
        return Err(RunStoreError::Link { path: path_text(path) });
    }
    if !found.is_dir() {
        return Err(RunStoreError::NotAFolder { path: path_text(path) });
    }
    if !ownership::is_ours(&found) {
        return Err(RunStoreError::Foreign { path: path_text(path) });
    }
    match ownership::mode_written_by_others(&found) {
        Some(mode) => Err(RunStoreError::OpenToOthers { path: path_text(path), mode }),
        None => Ok(true),
    }
}

/// Closes a folder to other users that was created by other means, such as by copying.
fn close_to_others(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if ownership::mode(&path.symlink_metadata()?) != Some(0o700) {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
