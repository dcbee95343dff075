//! Errors of recording and of resuming a run.

use std::io;
use std::path::Path;

use reenact_formats::rer::RerStructureFault;
use reenact_formats::rer::seal::SealError;
use reenact_json::Shown;

use crate::exchange::StepId;
use crate::randomness::RandomnessError;
use crate::run_id::RunId;
use crate::run_store::RunStoreError;

/// Reason why something was not recorded. Each message says what to do, if something can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The folder of runs cannot be used.
    #[error(transparent)]
    RunStore(#[from] RunStoreError),
    /// The run was resumed: it records what has happened already, and nothing new may happen in it.
    #[error("a resumed run only records what has happened: begin a new run to act")]
    Resumed,
    /// The run has ended: nothing can be added to it.
    #[error("the run has ended")]
    Ended,
    /// The step does not wait for this event: a return without a call, a second return, or a return of another kind.
    #[error("step {step} is not waiting for this answer")]
    NotOpen {
        /// Id of the step.
        step: StepId,
    },
    /// The envelope of the run has expired.
    #[error("the envelope has expired: nothing may happen under it any more")]
    Expired,
    /// The journal could not be written. It stays closed, because events behind the failure could not be bound to those
    /// before.
    #[error("{}: the journal cannot be written: {text}", Shown::whole(.path))]
    Journal {
        /// Path of the journal.
        path: String,
        /// Kind of the error.
        kind: io::ErrorKind,
        /// Message of the operating system.
        text: String,
    },
    /// The journal is as long as an artifact can be.
    #[error("the run is too long for one artifact: its journal has {bytes} bytes")]
    Full {
        /// Length of its events in bytes.
        bytes: u64,
    },
    /// The journal on the disk is not what was written there.
    #[error("{}: someone changed the journal while the run was recorded; the run is refused for good, and nothing of it will be signed", Shown::whole(.path))]
    JournalChanged {
        /// Path of the journal.
        path: String,
    },
    /// An event or an envelope cannot be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The envelope is not of the published shape.
    #[error("the envelope: {0}")]
    Envelope(RerStructureFault),
    /// The envelope holds a secret, which every reader of the artifact would see.
    #[error("the envelope holds a secret (rule {rule}); take it out")]
    SecretInEnvelope {
        /// Name of the rule that found the secret.
        rule: std::borrow::Cow<'static, str>,
    },
    /// The envelope would leave no room for events.
    #[error("the envelope has {bytes} bytes: that is too long")]
    EnvelopeTooLong {
        /// Length of the envelope in bytes.
        bytes: usize,
    },
    /// The base URL of a route could hold a secret, and would be recorded in the envelope.
    #[error("the upstream of `{}` must be an http or https URL without user, password, query or fragment", Shown::new(.name))]
    Upstream {
        /// Name of the route.
        name: String,
    },
    /// The run began under another key.
    #[error("the run began under another key; seal it with that one")]
    OtherSigner,
    /// There is no randomness for the salt of an event.
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
    /// The bytes that were read back are not the artifact that was sealed.
    #[error("{}: is not what was sealed; the journal of the run stays", Shown::whole(.path))]
    NotReadBack {
        /// Path that the artifact was written to.
        path: String,
    },
    /// A file of that name exists; it was not changed.
    #[error("{}: is there already; give another name", Shown::whole(.path))]
    Exists {
        /// Path of the file.
        path: String,
    },
    /// The operating system returned an error.
    #[error("{}: {text}", Shown::whole(.path))]
    Io {
        /// Path of the file or folder.
        path: String,
        /// Kind of the error.
        kind: io::ErrorKind,
        /// Message of the operating system.
        text: String,
    },
}

impl RecordError {
    /// Wraps an error of the file system; an existing file becomes [`RecordError::Exists`].
    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        let path = path.to_string_lossy().into_owned();
        match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists { path },
            kind => Self::Io { path, kind, text: error.to_string() },
        }
    }

    /// Wraps an error of writing the journal.
    pub(crate) fn journal(path: &Path, error: &io::Error) -> Self {
        let path = path.to_string_lossy().into_owned();
        Self::Journal { path, kind: error.kind(), text: error.to_string() }
    }
}

/// Reason why a run cannot be resumed. Its journal is unchanged, unless truncating it failed midway.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// There is no such journal.
    #[error("{}: there is no journal", Shown::whole(.path))]
    NoJournal {
        /// Path at which it would be.
        path: String,
    },
    /// The journal is a folder, a pipe or a device.
    #[error("{}: is not a file; move it away", Shown::whole(.path))]
    NotAFile {
        /// Path of the thing.
        path: String,
    },
    /// The recorder of the run refused it for good, because someone had changed its journal.
    #[error("{}", RunStoreError::Refused { run_id: *.run_id })]
    Refused {
        /// Id of the run.
        run_id: RunId,
    },
    /// Another recorder has the run: two writers would mix their events.
    #[error("another reenact is recording this run ({run_id})")]
    Busy {
        /// Id of the run.
        run_id: RunId,
    },
    /// The recorder was killed before it had written the first line.
    #[error("{}: the journal breaks off in its first line: nothing was recorded", Shown::whole(.path))]
    TornHead {
        /// Path of the journal.
        path: String,
    },
    /// The first line is no valid head, or is that of another run.
    #[error("{}: the first line does not name this run; it cannot be sealed", Shown::whole(.path))]
    Head {
        /// Path of the journal.
        path: String,
    },
    /// A line is not as it was written, and is not the last one.
    #[error("{}: someone changed the journal, at line {line}; the run cannot be sealed", Shown::whole(.path))]
    Changed {
        /// Path of the journal.
        path: String,
        /// Number of the first wrong line, 1-based; the head is line 1.
        line: u64,
    },
    /// The journal is not what the log of its recorder says that was written. The run is refused for good from now on.
    #[error(
        "{}: someone changed the journal: it is not what its recorder wrote; the run is refused for good, and nothing of it will be signed",
        Shown::whole(.path)
    )]
    NotAsWritten {
        /// Path of the journal.
        path: String,
    },
    /// The run has ended, and can be sealed: [`crate::RecorderBuilder::resume_ended`].
    #[error("the run has ended; what is left is to seal it")]
    Ended,
    /// The run has not ended: resume it by [`crate::RecorderBuilder::resume`], and end it.
    #[error("the run has not ended; end it first")]
    NotEnded,
    /// The artifact does not end with the last event of the journal.
    #[error("{}: the journal does not end as the artifact does; it stays", Shown::whole(.path))]
    OtherEnd {
        /// Path of the journal.
        path: String,
    },
    /// Any error that can also happen while recording.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl From<RunStoreError> for ResumeError {
    fn from(error: RunStoreError) -> Self {
        Self::Record(error.into())
    }
}
