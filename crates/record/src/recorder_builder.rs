//! [`RecorderBuilder`]: begins a run, or resumes one whose recorder was killed.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock};

use reenact_formats::rer::EventType;
use reenact_formats::rer::envelope::permission::EnvelopeEnforcement;
use reenact_formats::rer::payload::{EventSource, RecoverySource, RunRecovered};
use reenact_formats::rer::seal::Signer;

use crate::artifact;
use crate::clock::Clock;
use crate::error::{RecordError, ResumeError};
use crate::event_writer::SharedRun;
use crate::journal::Journal;
use crate::mask::Masks;
use crate::policy_engine::PolicyMode;
use crate::randomness::Randomness;
use crate::record_env::RecordEnv;
use crate::recorder::{Ended, Recorder, RecorderInner, Recording};
use crate::resume::{self, ResumedJournal};
use crate::run_id::RunId;
use crate::run_state::RunState;
use crate::run_store::{RunFile, RunStore};
use crate::spool;
use crate::start::{self, ArtifactTarget, JournalHead, RunStart};
use crate::storage::Storage;
use crate::surroundings::RunStartedEvent;
use crate::wal::LoggedJournal;
use crate::withhold::Withholding;

/// Builder of a [`Recorder`]; [`Recorder::builder`] makes one.
///
/// The clock, the randomness and the storage are the machine's unless a test replaces them.
///
/// ```
/// use std::sync::Arc;
///
/// use reenact_keys::SecretKey;
/// use reenact_record::clock::SystemClock;
/// use reenact_record::{Recorder, RunId, RunStart, RunStore};
///
/// # let dir = std::env::temp_dir().join(format!("reenact-builder-{}", std::process::id()));
/// let (store, key) = (RunStore::new(dir.join("runs")), SecretKey::generate()?);
/// let start = RunStart::new(RunId::generate()?);
/// let recorder = Recorder::builder(&store, &key).clock(Arc::new(SystemClock::start())).begin(&start)?;
/// assert_eq!(recorder.truncated_bytes(), 0);
/// # drop(recorder);
/// # std::fs::remove_dir_all(dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder records nothing until `begin` or `resume` is called"]
pub struct RecorderBuilder<'a> {
    pub(crate) store: &'a RunStore,
    pub(crate) signer: &'a dyn Signer,
    pub(crate) env: RecordEnv,
}

impl RecorderBuilder<'_> {
    /// Replaces clock, randomness and storage at once.
    pub fn env(self, env: RecordEnv) -> Self {
        Self { env, ..self }
    }

    /// Replaces the clock that stamps the events.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.env.clock = clock;
        self
    }

    /// Replaces the source of the salts in payloads.
    pub fn randomness(mut self, randomness: Arc<dyn Randomness>) -> Self {
        self.env.randomness = randomness;
        self
    }

    /// Replaces the file system that the journal and the artifact are written to.
    pub fn storage(mut self, storage: Arc<dyn Storage>) -> Self {
        self.env.storage = storage;
        self
    }

    /// Begins a run: creates its folder, signs its envelope and writes its first event.
    ///
    /// # Errors
    /// [`RecordError::Expired`] if the envelope is enforced and has expired, [`RecordError::SecretInEnvelope`] if a
    /// rule of the masks matches the envelope, [`RecordError::Exists`] if the artifact's file is there already and may
    /// not be replaced, and all errors of the file system. Nothing is left behind if the envelope or the artifact's
    /// path is refused.
    pub fn begin(self, start: &RunStart<'_>) -> Result<Recorder<Recording>, RecordError> {
        let Self { store, signer, env } = self;
        let masks = Masks::new(start.redaction.pack());
        masks.add_environment_secrets(start.environment, &start.redaction.known_env);
        let envelope = start::run_envelope(start, &masks, signer)?;
        if let Some(target) = &start.target {
            // An artifact's path that cannot be written is an error now, not after hours of recording.
            artifact::check_target(target)?;
        }
        let permissions = &envelope.permissions;
        let is_expired =
            |expiry: i128| i128::try_from(env.clock.now().as_nanos()).is_ok_and(|now| now >= expiry);
        if permissions.enforcement == EnvelopeEnforcement::Enforced
            && start.policy_mode == PolicyMode::Enforce
            && permissions.expiry.is_some_and(is_expired)
        {
            return Err(RecordError::Expired);
        }
        let started = RunStartedEvent::new(start, &envelope, &masks);
        let head = JournalHead::new(start, &envelope, &masks, signer)?.to_line()?;
        let folder = store.create_run(start.run_id)?;
        let run_file = RunFile::new(start, &masks);
        run_file.write(&folder).map_err(|error| RecordError::io(&folder, &error))?;
        let journal = Journal::create(&store.journal_path(start.run_id), &head, &env)?;
        masks.follow_events(journal.event_count());
        let mut state = RunState::new(journal);
        state.withholding = Withholding::new(start.redaction.withhold.clone());
        state.append(EventType::RunStarted, |payload| started.write(payload))?;
        let default_target = || ArtifactTarget { path: store.artifact_path(start.run_id), replace: false };
        let inner = RecorderInner {
            shared: Arc::new(SharedRun { masks, state: Mutex::new(state), clock: env.clock }),
            run_id: start.run_id,
            folder,
            envelope: envelope.text,
            permissions: Some(envelope.permissions),
            policy_mode: start.policy_mode,
            policy: OnceLock::new(),
            signer: signer.public_key(),
            target: start.target.clone().unwrap_or_else(default_target),
            run_file: Some(run_file),
            truncated_bytes: 0,
            recovered: None,
        };
        Ok(Recorder { inner, state: PhantomData })
    }

    /// Resumes a run whose recorder was killed: reads and checks its journal, truncates a last line that is torn or
    /// wrong, and continues behind it. `log` returns what a write-ahead log knows of the journal, if there is one; it is
    /// called while the journal is locked, so that no other recorder can write meanwhile. The journal is compared with
    /// the marks of the log, and kept up to the last one. A journal that is shorter is continued from the last mark
    /// that it has, or else with a gap for the events that are lost.
    ///
    /// Secrets that were known are not in the journal. Before events of the time before the kill are written again,
    /// make those secrets known by [`EventWriter::restore_secret`](crate::EventWriter::restore_secret). A run without any event
    /// gets its first one now, without its command, which the journal's first line does not hold.
    ///
    /// # Errors
    /// [`ResumeError::Busy`] if another recorder has the run, [`ResumeError::Changed`] if a line before the last one is
    /// wrong, [`ResumeError::Ended`] if the run has ended (see [`RecorderBuilder::resume_ended`]),
    /// [`ResumeError::NotAsWritten`] if the journal contradicts the log: the run is refused for good then.
    pub fn resume(
        self,
        run_id: RunId,
        log: impl FnOnce() -> Option<LoggedJournal>,
    ) -> Result<Recorder<Recording>, ResumeError> {
        let masks = resume::read_masks(self.store, run_id);
        let mut resumed = resume::read_journal(self.store, run_id, self.signer, log, &masks, &self.env)?;
        if resumed.end.is_some() {
            return Err(ResumeError::Ended);
        }
        let envelope = start::sealable_envelope(resumed.head.envelope.clone(), self.signer)?;
        spool::remove_leftovers(&self.store.run_path(run_id));
        let state = &mut resumed.state;
        if resumed.trailing_bytes > 0 {
            state.journal.truncate()?;
        }
        let kept = state.journal.events();
        if kept == 0 {
            let started = RunStartedEvent::recovered(&envelope, resumed.head.policy_mode, &masks);
            state.append(EventType::RunStarted, |payload| started.write(payload))?;
        }
        if let Some(lost) = resumed.lost {
            state.append_lost_events(kept, lost)?;
        }
        Ok(Recorder { inner: self.resumed(resumed, masks), state: PhantomData })
    }

    /// Resumes a run that has ended, and whose recorder was killed before the run was sealed. The last event is written
    /// anew, with the same outcome, behind the one that says that the run was recovered: nobody but the recorder that is gone could
    /// vouch for the journal.
    ///
    /// # Errors
    /// [`ResumeError::NotEnded`] if the journal has no last event: resume it by [`RecorderBuilder::resume`] and end it first.
    pub fn resume_ended(self, run_id: RunId) -> Result<Recorder<Ended>, ResumeError> {
        let masks = resume::read_masks(self.store, run_id);
        let mut resumed = resume::read_journal(self.store, run_id, self.signer, || None, &masks, &self.env)?;
        let end = resumed.end.take().ok_or(ResumeError::NotEnded)?;
        resumed.state.journal.truncate()?;
        Ok(self.resumed(resumed, masks).end(&end)?)
    }

    /// Returns the state of a recorder that goes on with a journal.
    fn resumed(self, resumed: ResumedJournal, masks: Masks) -> RecorderInner {
        let ResumedJournal { head, state, trailing_bytes, has_log, lost, .. } = resumed;
        let from = if has_log { RecoverySource::Log } else { RecoverySource::Journal };
        // Secrets that a recovery learns were known before, to a recorder that is gone: all are searched for.
        masks.follow_events(state.journal.event_count());
        let recovered = RunRecovered { from, lost: lost.flatten(), source: EventSource::Observed };
        let default_target =
            || ArtifactTarget { path: self.store.artifact_path(head.run_id), replace: false };
        RecorderInner {
            shared: Arc::new(SharedRun { masks, state: Mutex::new(state), clock: self.env.clock }),
            run_id: head.run_id,
            folder: self.store.run_path(head.run_id),
            envelope: head.envelope,
            permissions: None,
            policy_mode: head.policy_mode,
            policy: OnceLock::new(),
            signer: self.signer.public_key(),
            target: head.target.unwrap_or_else(default_target),
            run_file: self.store.run_file(head.run_id).ok(),
            truncated_bytes: trailing_bytes,
            recovered: Some(recovered),
        }
    }
}
