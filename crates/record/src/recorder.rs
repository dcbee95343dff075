//! The recorder of one run, from its first event to its seal.

use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use reenact_formats::key::PublicKey;
use reenact_formats::rer::EventType;
use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::envelope::permission::{Enforcement, Envelope};
pub use reenact_formats::rer::payload::RunStatus;
use reenact_formats::rer::payload::{RunEnded, Source};
use reenact_formats::rer::seal::Signer;

use crate::actor::Actor;
use crate::artifact::{self, Sealed};
use crate::error::{RecordError, ResumeError};
use crate::folder::Folder;
use crate::journal::{Journal, Written};
use crate::ledger::{Counts, Ledger};
use crate::mask::Masks;
use crate::pen::{Pen, Shared};
use crate::resume::{self, Resumed};
use crate::run_id::RunId;
use crate::spool;
use crate::start::{self, Head, Out, RunStart, Started};
use crate::surroundings::Surroundings;
use crate::warden::Warden;
use crate::withhold::Withholding;

/// The run goes on.
#[derive(Debug)]
pub struct Recording(());

/// The run is over; what is left is to seal it.
#[derive(Debug)]
pub struct Ended(());

/// Records one run. What can be done with it is told by its state: events only while [`Recording`], the seal only when
/// [`Ended`].
///
/// ```
/// use reenact_keys::SecretKey;
/// use reenact_record::{End, Exchange, Folder, RawAnswer, RawRequest, Recorder, RunId, RunStart, RunStatus};
///
/// # let place = std::env::temp_dir().join(format!("reenact-doc-{}", std::process::id()));
/// # let folder = Folder::new(place.join(".reenact"));
/// let key = SecretKey::generate()?;
/// let recorder = Recorder::begin(&folder, &RunStart::new(RunId::generate()?), &key)?;
///
/// let pen = recorder.pen();
/// let request = pen.mask_request(&RawRequest {
///     provider: "openai",
///     method: "POST",
///     path: "/v1/chat/completions",
///     headers: &[("authorization", b"Bearer correct-horse-battery")],
///     body: br#"{"model":"gpt-5","messages":[]}"#,
/// });
/// let step = pen.called(Exchange::Model, &request, Some("gpt-5"), None, &"0".repeat(64))?;
/// // … the request goes out, the answer comes back …
/// pen.returned(&step, RawAnswer { status: Some(200), body: b"{}", complete: true, ..RawAnswer::default() })?;
///
/// let ended = recorder.end(&End { status: RunStatus::Completed, reason: "exit", exit_code: Some(0) })?;
/// let sealed = ended.seal(&key)?;
/// assert_eq!(sealed.counts.model_calls, 1);
/// assert!(sealed.path.is_file());
/// # std::fs::remove_dir_all(place)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// An event after the end does not compile:
///
/// ```compile_fail,E0599
/// # use reenact_keys::SecretKey;
/// # use reenact_record::{End, Folder, Recorder, RunId, RunStart, RunStatus};
/// # let key = SecretKey::generate()?;
/// let recorder = Recorder::begin(&Folder::new(".reenact"), &RunStart::new(RunId::generate()?), &key)?;
/// let ended = recorder.end(&End { status: RunStatus::Completed, reason: "exit", exit_code: Some(0) })?;
/// ended.pen().gap("too", "late")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Nor does a seal before it:
///
/// ```compile_fail,E0599
/// # use reenact_keys::SecretKey;
/// # use reenact_record::{Folder, Recorder, RunId, RunStart};
/// # let key = SecretKey::generate()?;
/// let recorder = Recorder::begin(&Folder::new(".reenact"), &RunStart::new(RunId::generate()?), &key)?;
/// recorder.seal(&key)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Recorder<State> {
    run: Run,
    state: PhantomData<State>,
}

/// What a recorder keeps from one state to the next.
struct Run {
    shared: Arc<Shared>,
    run_id: RunId,
    folder: PathBuf,
    envelope: Vec<u8>,
    /// What it permits; `None` in a run that was taken up again, in which nothing happens any more.
    permissions: Option<Envelope>,
    /// Who decides on what actors do.
    warden: OnceLock<Option<Arc<Mutex<Warden>>>>,
    signer: PublicKey,
    out: Out,
    /// How many bytes were cut off when the run was taken up again.
    cut: u64,
    /// Of the whole journal, once the run has ended.
    written: Option<Written>,
}

impl Run {
    fn resumed(
        folder: &Folder,
        resumed: Resumed,
        masks: Masks,
        signer: &dyn Signer,
        surroundings: &Surroundings,
    ) -> Self {
        let Resumed { head, ledger, surplus } = resumed;
        let place = Out { path: folder.artifact(head.run_id), replace: false };
        Self {
            shared: Arc::new(Shared {
                masks,
                ledger: Mutex::new(ledger),
                clock: Arc::clone(&surroundings.clock),
            }),
            run_id: head.run_id,
            folder: folder.run(head.run_id),
            envelope: head.envelope,
            permissions: None,
            warden: OnceLock::new(),
            signer: signer.public_key(),
            out: head.out.unwrap_or(place),
            cut: surplus,
            written: None,
        }
    }
}

/// What there is to say at the end of a run. The totals are counted by the recorder.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// How it ended.
    pub status: RunStatus,
    /// Why, such as `exit` or `signal 9`.
    pub reason: &'a str,
    /// The command's exit code, if it had one.
    pub exit_code: Option<i32>,
}

impl Recorder<Recording> {
    /// Begins a run: makes its folder, signs its envelope, writes its first event.
    pub fn begin(folder: &Folder, start: &RunStart<'_>, signer: &dyn Signer) -> Result<Self, RecordError> {
        Self::begin_in(folder, start, signer, &Surroundings::default())
    }

    /// The same with another clock and other randomness.
    pub fn begin_in(
        folder: &Folder,
        start: &RunStart<'_>,
        signer: &dyn Signer,
        surroundings: &Surroundings,
    ) -> Result<Self, RecordError> {
        let masks = Masks::new(start.redaction.pack());
        masks.know_environment(start.environment, &start.redaction.known_env);
        let envelope = start::envelope(start, &masks, signer)?;
        if let Some(out) = &start.out {
            // Nobody wants to hear of it only when the run is over.
            artifact::check(out)?;
        }
        let permissions = &envelope.permissions;
        let is_expired =
            |expiry: i128| i128::try_from(surroundings.clock.now().as_nanos()).is_ok_and(|now| now >= expiry);
        if permissions.enforcement == Enforcement::Enforced && permissions.expiry.is_some_and(is_expired) {
            return Err(RecordError::Expired);
        }
        let started = Started::new(start.command, &envelope, &masks);
        let head = Head::new(start, &envelope, &masks, signer)?.line()?;
        let run_folder = folder.create_run(start.run_id)?;
        let journal = Journal::create(&folder.journal(start.run_id), &head, surroundings)?;
        let mut ledger = Ledger::new(journal);
        ledger.withholding = Withholding::new(start.redaction.withhold.clone());
        ledger.append(EventType::RunStarted, |payload| started.write(payload))?;
        let out =
            start.out.clone().unwrap_or_else(|| Out { path: folder.artifact(start.run_id), replace: false });
        let run = Run {
            shared: Arc::new(Shared {
                masks,
                ledger: Mutex::new(ledger),
                clock: Arc::clone(&surroundings.clock),
            }),
            run_id: start.run_id,
            folder: run_folder,
            envelope: envelope.text,
            permissions: Some(envelope.permissions),
            warden: OnceLock::new(),
            signer: signer.public_key(),
            out,
            cut: 0,
            written: None,
        };
        Ok(Self { run, state: PhantomData })
    }

    /// Takes up a run again whose recorder was killed: reads and judges its journal, cuts off a last line that is torn or wrong,
    /// and goes on behind it. `keep` says how many bytes of events are to be kept of those that are there, where a
    /// write-ahead log knows it better; it is asked when nobody else can write to the journal any more.
    ///
    /// What is known to be secret is not in the journal: whoever goes on with what came before the kill makes it known
    /// first, by [`Pen::know_again`].
    ///
    /// A run of which there is no event yet gets its first one now; with which command it was begun nobody knows.
    pub fn resume(
        folder: &Folder,
        run_id: RunId,
        signer: &dyn Signer,
        keep: impl FnOnce() -> Option<u64>,
    ) -> Result<Self, ResumeError> {
        Self::resume_in(folder, run_id, signer, keep, &Surroundings::default())
    }

    /// The same with another clock and other randomness.
    pub fn resume_in(
        folder: &Folder,
        run_id: RunId,
        signer: &dyn Signer,
        keep: impl FnOnce() -> Option<u64>,
        surroundings: &Surroundings,
    ) -> Result<Self, ResumeError> {
        let masks = resume::masks(folder, run_id);
        let mut resumed = resume::read(folder, run_id, signer, keep, &masks, surroundings)?;
        if resumed.ledger.has_ended() {
            return Err(ResumeError::Ended);
        }
        let envelope = start::sealable(resumed.head.envelope.clone(), signer)?;
        spool::sweep(&folder.run(run_id));
        let ledger = &mut resumed.ledger;
        if resumed.surplus > 0 {
            ledger.journal.cut()?;
        }
        if ledger.journal.events() == 0 {
            let started = Started::new(&[], &envelope, &masks);
            ledger.append(EventType::RunStarted, |payload| started.write(payload))?;
        }
        let run = Run::resumed(folder, resumed, masks, signer, surroundings);
        Ok(Self { run, state: PhantomData })
    }

    /// How many bytes were cut off the journal when the run was taken up again: a line that was torn or wrong, and what lay
    /// behind what was to be kept.
    pub fn cut(&self) -> u64 {
        self.run.cut
    }

    /// Ids of all calls of tools, masked, that the journal of a run held when it was taken up again.
    pub fn resumed_tool_calls(&self) -> Vec<String> {
        self.run.shared.ledger().resumed_tools().to_vec()
    }

    /// Who decides on what may happen, over a run that has just begun; `None` if its envelope is not enforced.
    pub fn warden(&self) -> Option<Warden> {
        let permissions = self.run.permissions.as_ref()?;
        (permissions.enforcement == Enforcement::Enforced).then(|| Warden::new(permissions.clone()))
    }

    /// Something to act with, under the envelope if it is enforced. All of a run's count together; what others decide on with
    /// [`Recorder::warden`] does not count here.
    pub fn actor(&self) -> Actor {
        let warden = self.run.warden.get_or_init(|| self.warden().map(|warden| Arc::new(Mutex::new(warden))));
        Actor::new(self.pen(), warden.clone())
    }

    /// Something to write with.
    pub fn pen(&self) -> Pen {
        Pen::new(Arc::clone(&self.run.shared))
    }

    /// Ends the run: no event comes after this one. Steps that are still under way are noted as gaps.
    pub fn end(self, end: &End<'_>) -> Result<Recorder<Ended>, RecordError> {
        let mut run = self.run;
        let reason = run.shared.masks.text(end.reason);
        {
            let mut ledger = run.shared.ledger();
            let spent = ledger.spent().map(Money::micro_rounded_up);
            ledger.end(|counts, payload| {
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
            run.written = Some(ledger.journal.finish()?);
        }
        Ok(Recorder { run, state: PhantomData })
    }
}

impl Recorder<Ended> {
    /// Takes up a run again that has ended, and whose recorder was killed before it was sealed.
    pub fn resume_ended(folder: &Folder, run_id: RunId, signer: &dyn Signer) -> Result<Self, ResumeError> {
        let masks = resume::masks(folder, run_id);
        let surroundings = Surroundings::default();
        let mut resumed = resume::read(folder, run_id, signer, || None, &masks, &surroundings)?;
        if !resumed.ledger.has_ended() {
            return Err(ResumeError::NotEnded);
        }
        let journal = &mut resumed.ledger.journal;
        if resumed.surplus > 0 {
            journal.cut()?;
        }
        let written = Some(journal.finish()?);
        let run = Run { written, ..Run::resumed(folder, resumed, masks, signer, &surroundings) };
        Ok(Self { run, state: PhantomData })
    }

    /// Where [`Recorder::seal`] puts the artifact.
    pub fn out(&self) -> &Out {
        &self.run.out
    }

    /// Seals the run where [`RunStart::out`] said, and leaves its journal where it is. The signer is the one that it began
    /// under.
    pub fn seal(&self, signer: &dyn Signer) -> Result<Sealed, RecordError> {
        self.seal_to(signer, &self.run.out)
    }

    /// Seals the run elsewhere, such as where there is more room.
    pub fn seal_to(&self, signer: &dyn Signer, out: &Out) -> Result<Sealed, RecordError> {
        if signer.public_key() != self.run.signer {
            return Err(RecordError::OtherSigner);
        }
        let mut ledger = self.run.shared.ledger();
        let counts = ledger.counts();
        let written = self.run.written.ok_or(RecordError::Ended)?;
        let draft =
            artifact::Draft { run_id: self.run.run_id, envelope: &self.run.envelope, written, counts };
        artifact::seal(&mut ledger.journal, &draft, signer, out)
    }
}

impl<State> Recorder<State> {
    /// The run's id.
    pub fn run_id(&self) -> RunId {
        self.run.run_id
    }

    /// The run's folder.
    pub fn folder(&self) -> &std::path::Path {
        &self.run.folder
    }

    /// What the run consists of so far.
    pub fn counts(&self) -> Counts {
        self.run.shared.ledger().counts()
    }
}
