//! [`StoredRun`]: what became of a run, by the files in its folder.

use std::fs::{File, TryLockError};
use std::io;
use std::path::PathBuf;

use super::error::path_text;
use super::{RunFile, RunFileFault, RunStore, RunStoreError};
use crate::run_id::RunId;

/// State of a run in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredRun {
    /// A recorder or a recovery has the journal at this moment.
    Recording,
    /// The artifact is there.
    Sealed {
        /// Path of the artifact, in the folder of the run or elsewhere.
        artifact: PathBuf,
    },
    /// There is a journal, and no artifact.
    Unsealed,
    /// The journal was changed, and nothing of the run will be signed.
    Refused,
    /// The artifact was written elsewhere, and is not there any more.
    Moved {
        /// Path that the artifact was written to.
        artifact: PathBuf,
    },
    /// There is neither an artifact nor a journal.
    Empty,
}

impl RunStore {
    /// Returns what `run.json` says of a run.
    ///
    /// # Errors
    /// If there is none, or it is not one of this run that this program wrote. The run itself may be fine.
    pub fn run_file(&self, id: RunId) -> Result<RunFile, RunFileFault> {
        RunFile::read(&self.run_path(id), id)
    }

    /// Returns the state of a run. Only names and locks are looked at, not what an artifact holds. While there is
    /// a journal, an artifact elsewhere must name the run.
    ///
    /// # Errors
    /// [`RunStoreError::Link`] if there is a link in the place of the artifact.
    pub fn state(&self, id: RunId) -> Result<StoredRun, RunStoreError> {
        let artifact = self.artifact_path(id);
        match artifact.symlink_metadata() {
            Ok(found) if found.is_file() => return Ok(StoredRun::Sealed { artifact }),
            Ok(found) if found.is_symlink() => {
                return Err(RunStoreError::Link { path: path_text(&artifact) });
            }
            _ => {}
        }
        if self.is_refused(id) {
            return Ok(StoredRun::Refused);
        }
        match File::open(self.journal_path(id)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(self.state_without_journal(id)),
            Err(_) => Ok(StoredRun::Unsealed),
            Ok(mut journal) => Ok(match journal.try_lock_shared() {
                Err(TryLockError::WouldBlock) => StoredRun::Recording,
                _ => match Self::sealed_elsewhere(&mut journal, id) {
                    Some(artifact) => StoredRun::Sealed { artifact },
                    None => StoredRun::Unsealed,
                },
            }),
        }
    }

    /// Returns the state of a run whose folder has neither an artifact nor a journal.
    fn state_without_journal(&self, id: RunId) -> StoredRun {
        match self.run_file(id).ok().and_then(|run| run.artifact) {
            Some(artifact) if artifact.is_file() => StoredRun::Sealed { artifact },
            Some(artifact) => StoredRun::Moved { artifact },
            None => StoredRun::Empty,
        }
    }

    /// Returns the path of the artifact of a run, which may lie elsewhere: whoever reads it there must see whether it is
    /// that of this run.
    ///
    /// # Errors
    /// [`RunStoreError::NotSealed`], [`RunStoreError::BeingRecorded`], [`RunStoreError::Refused`], [`RunStoreError::Moved`]
    /// and [`RunStoreError::Empty`] say why there is none; [`RunStoreError::Link`] if there is a link.
    pub fn sealed_artifact(&self, id: RunId) -> Result<PathBuf, RunStoreError> {
        Err(match self.state(id)? {
            StoredRun::Sealed { artifact } => return Ok(artifact),
            StoredRun::Recording => RunStoreError::BeingRecorded { run_id: id },
            StoredRun::Unsealed => RunStoreError::NotSealed { run_id: id },
            StoredRun::Refused => RunStoreError::Refused { run_id: id },
            StoredRun::Moved { artifact } => RunStoreError::Moved { run_id: id, path: path_text(&artifact) },
            StoredRun::Empty => RunStoreError::Empty { run_id: id },
        })
    }
}
