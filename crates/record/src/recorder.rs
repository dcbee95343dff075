//! The recorder of one run, from its first event to its seal.
//!
//! The states of a run are types: [`Recorder<Recording>`](Recorder) takes events, [`Recorder<Ended>`](Recorder) can
//! only be sealed. Start reading at [`Recorder`]; events themselves are written by an [`EventWriter`].

use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use reenact_formats::key::PublicKey;
use reenact_formats::rer::EventType;
use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::envelope::permission::{Envelope, EnvelopeEnforcement};
pub use reenact_formats::rer::payload::RunStatus;
use reenact_formats::rer::payload::{RunEnded, Source};
use reenact_formats::rer::seal::Signer;

use crate::actor::Actor;
use crate::artifact::{self, SealedArtifact};
use crate::error::{RecordError, ResumeError};
use crate::event_writer::{EventWriter, SharedRun};
use crate::journal::{Journal, JournalDigest};
use crate::mask::Masks;
use crate::policy_engine::PolicyEngine;
use crate::record_env::RecordEnv;
use crate::resume::{self, ResumedJournal};
use crate::run_id::RunId;
use crate::run_state::{RunCounts, RunState};
use crate::run_store::RunStore;
use crate::spool;
use crate::start::{self, ArtifactTarget, JournalHead, RunStart, RunStartedEvent};
use crate::withhold::Withholding;

/// State of a [`Recorder`] whose run takes events.
#[derive(Debug)]
pub struct Recording(());

/// State of a [`Recorder`] whose run is over: only the seal is left to do.
#[derive(Debug)]
pub struct Ended(());

/// Records one run. Its state is part of its type: events can be written only while [`Recording`], and only an [`Ended`] run
/// can be sealed.
///
/// ```
/// use reenact_keys::SecretKey;
/// use reenact_record::{CallKind, RawAnswer, RawRequest, Recorder, RunEnd, RunId, RunStart, RunStatus, RunStore};
///
/// # let dir = std::env::temp_dir().join(format!("reenact-doc-{}", std::process::id()));
/// # let store = RunStore::new(dir.join(".reenact"));
/// let key = SecretKey::generate()?;
/// let recorder = Recorder::begin(&store, &RunStart::new(RunId::generate()?), &key)?;
///
/// let writer = recorder.event_writer();
/// let request = writer.mask_request(&RawRequest {
///     provider: "openai",
///     method: "POST",
///     path: "/v1/chat/completions",
///     headers: &[("authorization", b"Bearer correct-horse-battery")],
///     body: br#"{"model":"gpt-5","messages":[]}"#,
/// });
/// let step = writer.record_call(CallKind::Model, &request, Some("gpt-5"), None, &"0".repeat(64))?;
/// // … the request goes out, the answer comes back …
/// writer.record_return(&step, RawAnswer { status: Some(200), body: b"{}", complete: true, ..RawAnswer::default() })?;
///
/// let ended = recorder.end(&RunEnd { status: RunStatus::Completed, reason: "exit", exit_code: Some(0) })?;
/// let sealed = ended.seal(&key)?;
/// assert_eq!(sealed.counts.model_calls, 1);
/// assert!(sealed.path.is_file());
/// # std::fs::remove_dir_all(dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// An event after the end does not compile:
///
/// ```compile_fail,E0599
/// # use reenact_keys::SecretKey;
/// # use reenact_record::{Recorder, RunEnd, RunId, RunStart, RunStatus, RunStore};
/// # let key = SecretKey::generate()?;
/// let recorder = Recorder::begin(&RunStore::new(".reenact"), &RunStart::new(RunId::generate()?), &key)?;
/// let ended = recorder.end(&RunEnd { status: RunStatus::Completed, reason: "exit", exit_code: Some(0) })?;
/// ended.event_writer().record_gap("too", "late")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Nor does a seal before it:
///
/// ```compile_fail,E0599
/// # use reenact_keys::SecretKey;
/// # use reenact_record::{Recorder, RunId, RunStart, RunStore};
/// # let key = SecretKey::generate()?;
/// let recorder = Recorder::begin(&RunStore::new(".reenact"), &RunStart::new(RunId::generate()?), &key)?;
/// recorder.seal(&key)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Recorder<State> {
    inner: RecorderInner,
    state: PhantomData<State>,
}

/// Everything that a recorder carries from one state to the next.
struct RecorderInner {
    shared: Arc<SharedRun>,
    run_id: RunId,
    folder: PathBuf,
    envelope: Vec<u8>,
    /// Permissions of the envelope; `None` in a resumed run, which only records what has happened already.
    permissions: Option<Envelope>,
    /// Policy engine that all [`Actor`]s of the run share, made for the first of them.
    policy: OnceLock<Option<Arc<Mutex<PolicyEngine>>>>,
    signer: PublicKey,
    target: ArtifactTarget,
    /// Bytes that were truncated from the journal when the run was resumed.
    truncated_bytes: u64,
    /// Digest of the whole journal, once the run has ended.
    journal_digest: Option<JournalDigest>,
}

impl RecorderInner {
    fn from_resumed(
        folder: &RunStore,
        resumed: ResumedJournal,
        masks: Masks,
        signer: &dyn Signer,
        env: &RecordEnv,
    ) -> Self {
        let ResumedJournal { head, state: ledger, trailing_bytes: surplus } = resumed;
        let place = ArtifactTarget { path: folder.artifact_path(head.run_id), replace: false };
        Self {
            shared: Arc::new(SharedRun { masks, state: Mutex::new(ledger), clock: Arc::clone(&env.clock) }),
            run_id: head.run_id,
            folder: folder.run_path(head.run_id),
            envelope: head.envelope,
            permissions: None,
            policy: OnceLock::new(),
            signer: signer.public_key(),
            target: head.target.unwrap_or(place),
            truncated_bytes: surplus,
            journal_digest: None,
        }
    }
}

/// Outcome of a run, as its last event states it. The recorder adds the totals, which it counts itself.
#[derive(Debug, Clone, Copy)]
pub struct RunEnd<'a> {
    /// Status of the run, such as completed or failed.
    pub status: RunStatus,
    /// Reason in words, such as `exit` or `signal 9`. Secrets in it are masked.
    pub reason: &'a str,
    /// Exit code of the command, if it had one.
    pub exit_code: Option<i32>,
}

impl Recorder<Recording> {
    /// Begins a run: creates its folder, signs its envelope and writes its first event.
    ///
    /// # Errors
    /// [`RecordError::Expired`] if the envelope is enforced and has expired, [`RecordError::SecretInEnvelope`] if a
    /// rule of the masks matches the envelope, [`RecordError::Exists`] if the artifact's file is there already and may
    /// not be replaced, and all errors of the file system. Nothing is left behind if the envelope or the artifact's
    /// path is refused.
    pub fn begin(folder: &RunStore, start: &RunStart<'_>, signer: &dyn Signer) -> Result<Self, RecordError> {
        Self::begin_in(folder, start, signer, &RecordEnv::default())
    }

    /// Begins a run as [`Recorder::begin`] does, with another clock, other randomness or another storage.
    pub fn begin_in(
        folder: &RunStore,
        start: &RunStart<'_>,
        signer: &dyn Signer,
        env: &RecordEnv,
    ) -> Result<Self, RecordError> {
        let masks = Masks::new(start.redaction.pack());
        masks.add_environment_secrets(start.environment, &start.redaction.known_env);
        let envelope = start::run_envelope(start, &masks, signer)?;
        if let Some(out) = &start.target {
            // An artifact's path that cannot be written is an error now, not after hours of recording.
            artifact::check_target(out)?;
        }
        let permissions = &envelope.permissions;
        let is_expired =
            |expiry: i128| i128::try_from(env.clock.now().as_nanos()).is_ok_and(|now| now >= expiry);
        if permissions.enforcement == EnvelopeEnforcement::Enforced
            && permissions.expiry.is_some_and(is_expired)
        {
            return Err(RecordError::Expired);
        }
        let started = RunStartedEvent::new(start.command, &envelope, &masks);
        let head = JournalHead::new(start, &envelope, &masks, signer)?.to_line()?;
        let run_folder = folder.create_run(start.run_id)?;
        let journal = Journal::create(&folder.journal_path(start.run_id), &head, env)?;
        let mut state = RunState::new(journal);
        state.withholding = Withholding::new(start.redaction.withhold.clone());
        state.append(EventType::RunStarted, |payload| started.write(payload))?;
        let out = start
            .target
            .clone()
            .unwrap_or_else(|| ArtifactTarget { path: folder.artifact_path(start.run_id), replace: false });
        let run = RecorderInner {
            shared: Arc::new(SharedRun { masks, state: Mutex::new(state), clock: Arc::clone(&env.clock) }),
            run_id: start.run_id,
            folder: run_folder,
            envelope: envelope.text,
            permissions: Some(envelope.permissions),
            policy: OnceLock::new(),
            signer: signer.public_key(),
            target: out,
            truncated_bytes: 0,
            journal_digest: None,
        };
        Ok(Self { inner: run, state: PhantomData })
    }

    /// Resumes a run whose recorder was killed: reads and checks its journal, truncates a last line that is torn or
    /// wrong, and continues behind it. `keep` returns how many bytes of events to keep, if a write-ahead log knows
    /// better than the journal; it is called while the journal is locked, so that no other recorder can write
    /// meanwhile.
    ///
    /// Secrets that were known are not in the journal. Before events of the time before the kill are written again,
    /// make those secrets known by [`EventWriter::restore_secret`]. A run without any event gets its first one now,
    /// without its command, which the journal's first line does not hold.
    ///
    /// # Errors
    /// [`ResumeError::Busy`] if another recorder has the run, [`ResumeError::Changed`] if a line before the last one is
    /// wrong, [`ResumeError::Ended`] if the run has ended (see [`Recorder::resume_ended`]), [`ResumeError::Keep`] if no
    /// event ends after `keep` bytes.
    pub fn resume(
        folder: &RunStore,
        run_id: RunId,
        signer: &dyn Signer,
        keep: impl FnOnce() -> Option<u64>,
    ) -> Result<Self, ResumeError> {
        Self::resume_in(folder, run_id, signer, keep, &RecordEnv::default())
    }

    /// Resumes a run as [`Recorder::resume`] does, with another clock, other randomness or another storage.
    pub fn resume_in(
        folder: &RunStore,
        run_id: RunId,
        signer: &dyn Signer,
        keep: impl FnOnce() -> Option<u64>,
        env: &RecordEnv,
    ) -> Result<Self, ResumeError> {
        let masks = resume::read_masks(folder, run_id);
        let mut resumed = resume::read_journal(folder, run_id, signer, keep, &masks, env)?;
        if resumed.state.has_ended() {
            return Err(ResumeError::Ended);
        }
        let envelope = start::sealable_envelope(resumed.head.envelope.clone(), signer)?;
        spool::remove_leftovers(&folder.run_path(run_id));
        let state = &mut resumed.state;
        if resumed.trailing_bytes > 0 {
            state.journal.truncate()?;
        }
        if state.journal.events() == 0 {
            let started = RunStartedEvent::new(&[], &envelope, &masks);
            state.append(EventType::RunStarted, |payload| started.write(payload))?;
        }
        let run = RecorderInner::from_resumed(folder, resumed, masks, signer, env);
        Ok(Self { inner: run, state: PhantomData })
    }

    /// Returns the number of bytes that were truncated from the journal when the run was resumed: a torn or wrong last
    /// line, and the events behind those that were to be kept. 0 in a run that began here.
    pub fn truncated_bytes(&self) -> u64 {
        self.inner.truncated_bytes
    }

    /// Returns the masked ids of all tool calls that the journal held when the run was resumed. A recovery uses them to
    /// tell the calls that are recorded from those that are not.
    pub fn resumed_tool_calls(&self) -> Vec<String> {
        self.inner.shared.lock_state().resumed_tool_ids().to_vec()
    }

    /// Returns a policy engine over a run that has just begun; `None` if its envelope is not enforced. Each call
    /// returns a new engine with an empty history: ask for one, and keep it.
    pub fn policy_engine(&self) -> Option<PolicyEngine> {
        let permissions = self.inner.permissions.as_ref()?;
        (permissions.enforcement == EnvelopeEnforcement::Enforced)
            .then(|| PolicyEngine::new(permissions.clone()))
    }

    /// Returns a handle to act with, under the envelope if it is enforced. All actors of a run share one policy engine;
    /// decisions of the engines that [`Recorder::policy_engine`] returns do not count in it.
    pub fn actor(&self) -> Actor {
        let policy =
            self.inner.policy.get_or_init(|| self.policy_engine().map(|warden| Arc::new(Mutex::new(warden))));
        Actor::new(self.event_writer(), policy.clone())
    }

    /// Returns a handle that writes events into this run. Handles are cheap, and may be used on any thread.
    pub fn event_writer(&self) -> EventWriter {
        EventWriter::new(Arc::clone(&self.inner.shared))
    }

    /// Ends the run: writes a capture gap for each step that is still open, then the last event, and flushes the
    /// journal to the disk.
    ///
    /// # Errors
    /// Any error of the journal. The run is not sealable then; its journal stays, and can be resumed.
    pub fn end(self, end: &RunEnd<'_>) -> Result<Recorder<Ended>, RecordError> {
        let mut run = self.inner;
        let reason = run.shared.masks.text(end.reason);
        {
            let mut state = run.shared.lock_state();
            let spent = state.total_spend().map(Money::rounded_up_to_micro);
            state.end_run(|counts, payload| {
                let ended = RunEnded {
                    exit_code: end.exit_code.map(i64::from),
                    reason: &reason,
                    source: Source::Observed,
                    status: end.status,
                    total_model_calls: counts.model_calls,
                    total_spend_usd: spent,
                    total_tool_calls: counts.tool_calls,
                };
                ended.write(payload);
            })?;
            run.journal_digest = Some(state.journal.finish()?);
        }
        Ok(Recorder { inner: run, state: PhantomData })
    }
}

impl Recorder<Ended> {
    /// Resumes a run that has ended, and whose recorder was killed before the run was sealed.
    ///
    /// # Errors
    /// [`ResumeError::NotEnded`] if the journal has no last event: resume it by [`Recorder::resume`] and end it first.
    pub fn resume_ended(folder: &RunStore, run_id: RunId, signer: &dyn Signer) -> Result<Self, ResumeError> {
        let masks = resume::read_masks(folder, run_id);
        let env = RecordEnv::default();
        let mut resumed = resume::read_journal(folder, run_id, signer, || None, &masks, &env)?;
        if !resumed.state.has_ended() {
            return Err(ResumeError::NotEnded);
        }
        let journal = &mut resumed.state.journal;
        if resumed.trailing_bytes > 0 {
            journal.truncate()?;
        }
        let written = Some(journal.finish()?);
        let run = RecorderInner {
            journal_digest: written,
            ..RecorderInner::from_resumed(folder, resumed, masks, signer, &env)
        };
        Ok(Self { inner: run, state: PhantomData })
    }

    /// Returns the place where [`Recorder::seal`] writes the artifact.
    pub fn target(&self) -> &ArtifactTarget {
        &self.inner.target
    }

    /// Seals the run into the file that [`RunStart::target`] named, or into its default place, and leaves the journal
    /// where it is. The signer must be the one that the run began under.
    ///
    /// # Errors
    /// [`RecordError::OtherSigner`] for another key, [`RecordError::JournalChanged`] if the journal on the disk is not
    /// what was written, [`RecordError::Exists`] if there is a file that may not be replaced. Sealing can be tried
    /// again after an error.
    pub fn seal(&self, signer: &dyn Signer) -> Result<SealedArtifact, RecordError> {
        self.seal_to(signer, &self.inner.target)
    }

    /// Seals the run into another file, for example on a disk that has more room. Errors are those of
    /// [`Recorder::seal`].
    pub fn seal_to(&self, signer: &dyn Signer, out: &ArtifactTarget) -> Result<SealedArtifact, RecordError> {
        if signer.public_key() != self.inner.signer {
            return Err(RecordError::OtherSigner);
        }
        let mut state = self.inner.shared.lock_state();
        let counts = state.counts();
        let written = self.inner.journal_digest.ok_or(RecordError::Ended)?;
        let draft = artifact::SealInput {
            run_id: self.inner.run_id,
            envelope: &self.inner.envelope,
            journal_digest: written,
            counts,
        };
        artifact::seal(&mut state.journal, &draft, signer, out)
    }
}

impl<State> Recorder<State> {
    /// Returns the run's id.
    pub fn run_id(&self) -> RunId {
        self.inner.run_id
    }

    /// Returns the path of the run's folder.
    pub fn folder(&self) -> &std::path::Path {
        &self.inner.folder
    }

    /// Returns the counts of the run so far.
    pub fn counts(&self) -> RunCounts {
        self.inner.shared.lock_state().counts()
    }
}
