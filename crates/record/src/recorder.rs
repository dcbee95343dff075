//! The recorder of one run, from its first event to its seal.
//!
//! The states of a run are types: [`Recorder<Recording>`](Recorder) takes events, [`Recorder<Ended>`](Recorder) can
//! only be sealed. Start reading at [`Recorder`]; events themselves are written by an [`EventWriter`].

use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use reenact_formats::key::PublicKey;
use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::envelope::permission::{Envelope, EnvelopeEnforcement};
pub use reenact_formats::rer::payload::RunStatus;
use reenact_formats::rer::payload::{EventSource, RunEnded, RunRecovered};
use reenact_formats::rer::seal::Signer;

use crate::actor::Actor;
use crate::artifact::{self, SealedArtifact};
use crate::error::RecordError;
use crate::event_writer::{EventWriter, SharedRun};
use crate::outcome::{MaskedFiles, MaskedRunEnd, RunEnd};
use crate::policy_engine::{PolicyEngine, PolicyMode};
use crate::record_env::RecordEnv;
use crate::recorder_builder::RecorderBuilder;
use crate::refusal;
use crate::run_id::RunId;
use crate::run_state::{RunCounts, RunState};
use crate::run_store::{RunFile, RunStore};
use crate::start::ArtifactTarget;

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
/// use reenact_record::{CallKind, ExchangeCall, RawAnswer, RawRequest, Recorder};
/// use reenact_record::{RunEnd, RunId, RunStart, RunStatus, RunStore};
///
/// # let dir = std::env::temp_dir().join(format!("reenact-doc-{}", std::process::id()));
/// # let store = RunStore::new(dir.join("reenact"));
/// let key = SecretKey::generate()?;
/// let recorder = Recorder::builder(&store, &key).begin(&RunStart::new(RunId::generate()?))?;
///
/// let writer = recorder.event_writer();
/// let request = writer.mask_request(&RawRequest {
///     provider: "openai",
///     method: "POST",
///     path: "/v1/chat/completions",
///     headers: &[("authorization", b"Bearer correct-horse-battery")],
///     body: br#"{"model":"gpt-5","messages":[]}"#,
/// });
/// let call = ExchangeCall { model: Some("gpt-5"), ..ExchangeCall::new(CallKind::Model, &request) };
/// let step = writer.record_call(&call, None)?;
/// // … the request goes out, the answer comes back …
/// writer.record_return(&step, RawAnswer { status: Some(200), body: b"{}", complete: true, ..RawAnswer::default() })?;
///
/// let ended = recorder.end(&RunEnd { exit_code: Some(0), ..RunEnd::new(RunStatus::Completed, "exit") })?;
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
/// let recorder = Recorder::builder(&RunStore::new("reenact"), &key).begin(&RunStart::new(RunId::generate()?))?;
/// let ended = recorder.end(&RunEnd { exit_code: Some(0), ..RunEnd::new(RunStatus::Completed, "exit") })?;
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
/// let recorder = Recorder::builder(&RunStore::new("reenact"), &key).begin(&RunStart::new(RunId::generate()?))?;
/// recorder.seal(&key)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Recorder<State> {
    pub(crate) inner: RecorderInner,
    pub(crate) state: PhantomData<State>,
}

/// Everything that a recorder carries from one state to the next.
pub(crate) struct RecorderInner {
    pub(crate) shared: Arc<SharedRun>,
    pub(crate) run_id: RunId,
    pub(crate) folder: PathBuf,
    pub(crate) envelope: Vec<u8>,
    /// Permissions of the envelope; `None` in a resumed run, which only records what has happened already.
    pub(crate) permissions: Option<Envelope>,
    pub(crate) policy_mode: PolicyMode,
    /// Policy engine that all [`Actor`]s of the run share, made for the first of them.
    pub(crate) policy: OnceLock<Option<Arc<Mutex<PolicyEngine>>>>,
    pub(crate) signer: PublicKey,
    pub(crate) target: ArtifactTarget,
    /// File beside the journal that says where the artifact is; `None` in a resumed run that has none.
    pub(crate) run_file: Option<RunFile>,
    /// Bytes that were truncated from the journal when the run was resumed.
    pub(crate) truncated_bytes: u64,
    /// Event that says that the run was recovered; `None` in a run that began here.
    pub(crate) recovered: Option<RunRecovered>,
}

impl Recorder<Recording> {
    /// Returns a builder for a recorder that keeps its runs in `store` and signs with `signer`.
    pub fn builder<'a>(store: &'a RunStore, signer: &'a dyn Signer) -> RecorderBuilder<'a> {
        RecorderBuilder { store, signer, env: RecordEnv::default() }
    }

    /// Returns the number of bytes that were truncated from the journal when the run was resumed: a torn or wrong last
    /// line, and the events behind those that were to be kept. 0 in a run that began here.
    pub fn truncated_bytes(&self) -> u64 {
        self.inner.truncated_bytes
    }

    /// Returns the number of events that the journal once had, by its log, and that are gone; `None` if none is known to
    /// be, and in a run that began here.
    pub fn lost_events(&self) -> Option<u64> {
        self.inner.recovered.as_ref().and_then(|recovered| recovered.lost)
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
            .then(|| PolicyEngine::new(permissions.clone()).with_mode(self.inner.policy_mode))
    }

    /// Returns a handle to act with, under the envelope if it is enforced. All actors of a run share one policy engine;
    /// decisions of the engines that [`Recorder::policy_engine`] returns do not count in it.
    ///
    /// # Errors
    /// [`RecordError::Resumed`] in a resumed run: it records what has happened already, and its policy engine, with the history of
    /// the run, went with the recorder that was killed.
    pub fn actor(&self) -> Result<Actor, RecordError> {
        if self.inner.permissions.is_none() {
            return Err(RecordError::Resumed);
        }
        let new_engine = || self.policy_engine().map(|engine| Arc::new(Mutex::new(engine)));
        let policy = self.inner.policy.get_or_init(new_engine);
        Ok(Actor::new(self.event_writer(), policy.clone()))
    }

    /// Returns a handle that writes events into this run. Handles are cheap, and may be used on any thread.
    pub fn event_writer(&self) -> EventWriter {
        EventWriter::new(Arc::clone(&self.inner.shared))
    }

    /// Ends the run: writes a capture gap for each step that is still open, then the last event, and flushes the
    /// journal to the disk. A resumed run says before that it was recovered.
    ///
    /// # Errors
    /// Any error of the journal. The run is not sealable then; its journal stays, and can be resumed, except after
    /// [`RecordError::JournalChanged`].
    pub fn end(self, end: &RunEnd<'_>) -> Result<Recorder<Ended>, RecordError> {
        let end = MaskedRunEnd::new(end, &self.inner.shared.masks);
        self.inner.end(&end)
    }
}

impl RecorderInner {
    /// Ends the run. See [`Recorder::end`].
    pub(crate) fn end(self, end: &MaskedRunEnd) -> Result<Recorder<Ended>, RecordError> {
        let ended = self.shared.lock_state().write_end(end, self.recovered.clone());
        self.refuse_if_changed(&ended);
        ended?;
        Ok(Recorder { inner: self, state: PhantomData })
    }

    /// Leaves the mark that this run is refused for good, if someone changed its journal.
    fn refuse_if_changed<T>(&self, result: &Result<T, RecordError>) {
        if matches!(result, Err(RecordError::JournalChanged { .. })) {
            let state = self.shared.lock_state();
            let journal = &state.journal;
            refusal::write(journal.path(), &*journal.storage(), self.run_id, journal.position().head);
        }
    }
}

impl RunState {
    /// Writes the events that end the run, and flushes the journal to the disk.
    pub(crate) fn write_end(
        &mut self,
        end: &MaskedRunEnd,
        recovered: Option<RunRecovered>,
    ) -> Result<(), RecordError> {
        let spent = self.total_spend().map(Money::rounded_up_to_micro);
        let is_partial = self.is_spend_partial();
        self.end_run(recovered, |counts, payload| {
            let ended = RunEnded {
                exit_code: end.exit_code,
                files: end.files.as_ref().map(MaskedFiles::payload),
                reason: &end.reason,
                source: EventSource::Observed,
                spend_partial: is_partial.then_some(true),
                status: end.status,
                stdout_sha256: end.stdout_sha256,
                total_model_calls: counts.model_calls,
                total_spend_usd: spent,
                total_tool_calls: counts.tool_calls,
            };
            ended.write(payload);
        })?;
        self.journal_digest = Some(self.journal.finish()?);
        Ok(())
    }
}

impl Recorder<Ended> {
    /// Returns the place where [`Recorder::seal`] writes the artifact.
    pub fn target(&self) -> &ArtifactTarget {
        &self.inner.target
    }

    /// Seals the run into the file that [`RunStart::target`](crate::RunStart::target) named, or into its default place, and leaves the journal
    /// where it is: [`Recorder::remove_journal`] removes it once the artifact is verified. The signer must be the one that the run began under.
    ///
    /// # Errors
    /// [`RecordError::OtherSigner`] for another key, [`RecordError::JournalChanged`] if the journal on the disk is not
    /// what was written, [`RecordError::Exists`] if there is a file that may not be replaced. Sealing can be tried
    /// again after an error other than a changed journal, which refuses the run for good.
    pub fn seal(&self, signer: &dyn Signer) -> Result<SealedArtifact, RecordError> {
        self.seal_to(signer, &self.inner.target)
    }

    /// Seals the run into another file, for example on a disk that has more room. Errors are those of
    /// [`Recorder::seal`].
    pub fn seal_to(
        &self,
        signer: &dyn Signer,
        target: &ArtifactTarget,
    ) -> Result<SealedArtifact, RecordError> {
        if signer.public_key() != self.inner.signer {
            return Err(RecordError::OtherSigner);
        }
        let sealed = self.try_seal(signer, target);
        self.inner.refuse_if_changed(&sealed);
        if let (Ok(sealed), Some(run_file)) = (&sealed, &self.inner.run_file) {
            run_file.note_artifact(&self.inner.folder, &sealed.path, &self.inner.shared.masks);
        }
        sealed
    }

    /// Seals the run, if its journal is what was written.
    fn try_seal(&self, signer: &dyn Signer, target: &ArtifactTarget) -> Result<SealedArtifact, RecordError> {
        let mut state = self.inner.shared.lock_state();
        let counts = state.counts();
        let written = state.journal_digest.ok_or(RecordError::Ended)?;
        let draft = artifact::SealInput {
            run_id: self.inner.run_id,
            envelope: &self.inner.envelope,
            journal_digest: written,
            counts,
        };
        artifact::seal(&mut state.journal, &draft, signer, target)
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
