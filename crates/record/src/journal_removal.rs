//! The end of a journal: removed once the artifact that was made of it was read back and verified.
//!
//! Nothing here verifies: no code that records links the code that judges. The caller proves that it has read the artifact
//! back by its digest, and answers for the verdict. Start reading at [`Recorder::remove_journal`].

use std::fs::File;
use std::io;

use reenact_json::Digest;

use crate::artifact::SealedArtifact;
use crate::error::{RecordError, ResumeError};
use crate::journal_ends;
use crate::record_env::RecordEnv;
use crate::recorder::{Ended, Recorder};
use crate::resume;
use crate::run_id::RunId;
use crate::run_store::RunStore;

impl Recorder<Ended> {
    /// Removes the journal of a run whose artifact was read back from its file and verified. `read_back` is the digest of the
    /// bytes that were verified.
    ///
    /// Until this returns, the journal is locked, and a crash leaves the journal, the artifact or both.
    ///
    /// # Errors
    /// [`RecordError::NotReadBack`] if these bytes are not what [`Recorder::seal`] wrote for this run: the journal stays.
    /// [`RecordError::Io`] if the file cannot be removed.
    pub fn remove_journal(self, sealed: &SealedArtifact, read_back: Digest) -> Result<(), RecordError> {
        if sealed.run_id != self.inner.run_id || sealed.digest != read_back {
            return Err(RecordError::NotReadBack { path: sealed.path.to_string_lossy().into_owned() });
        }
        let mut state = self.inner.shared.lock_state();
        let removed = state.journal.remove();
        removed.map_err(|error| RecordError::io(state.journal.path(), &error))
    }
}

impl RunStore {
    /// Returns the ids of the runs that are sealed and still have a journal that nobody writes: their recorders were killed
    /// between the seal and [`Recorder::remove_journal`], or did not verify what they had sealed.
    ///
    /// # Errors
    /// Those of [`RunStore::run_ids`].
    pub fn leftover_journals(&self) -> Result<Vec<RunId>, crate::RunStoreError> {
        let mut ids = self.run_ids()?;
        ids.retain(|id| {
            let has_journal = self.journal_path(*id).symlink_metadata().is_ok_and(|found| found.is_file());
            has_journal && !self.is_refused(*id) && self.sealed_artifact(*id).is_ok()
        });
        Ok(ids)
    }

    /// Removes the journal that a killed recorder left beside the artifact of a run. The artifact must have been read back
    /// and verified; `log_head` is the hash of its last event.
    ///
    /// # Errors
    /// [`ResumeError::Busy`] if another process has the journal, [`ResumeError::OtherEnd`] if the artifact does not end with
    /// the last event of the journal: it stays then.
    pub fn remove_leftover_journal(&self, run_id: RunId, log_head: Digest) -> Result<(), ResumeError> {
        self.check_run(run_id)?;
        let env = RecordEnv::default();
        let path = self.journal_path(run_id);
        let failed = |error: io::Error| ResumeError::Record(RecordError::io(&path, &error));
        let locked = resume::open_locked(&path, run_id, &env)?;
        let last = journal_ends::last_event_hash(&mut File::open(&path).map_err(failed)?).map_err(failed)?;
        if last != Some(log_head) {
            return Err(ResumeError::OtherEnd { path: path.to_string_lossy().into_owned() });
        }
        env.storage.remove(&path).map_err(failed)?;
        drop(locked);
        crate::durable::sync_parent_folder(&*env.storage, &path).map_err(failed)
    }
}
