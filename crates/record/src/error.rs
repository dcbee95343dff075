//! Why something was not recorded.

use std::io;
use std::path::Path;

use reenact_formats::rer::StructureFault;
use reenact_formats::rer::seal::SealError;
use reenact_json::Shown;

use crate::exchange::StepId;
use crate::folder::FolderError;
use crate::randomness::NoRandomness;
use crate::run_id::RunId;

/// Why something was not recorded. Each text says what to do, where something can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The folder of runs.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The run has ended: nothing can be added to it.
    #[error("the run has ended")]
    Ended,
    /// A return without a call, a second return of the same call, or one of another kind.
    #[error("step {step} is not waiting for this answer")]
    NotOpen {
        /// The step.
        step: StepId,
    },
    /// The envelope under which the run would be has expired.
    #[error("the envelope has expired: nothing may happen under it any more")]
    Expired,
    /// The journal could not be written. It stays closed: what would follow could not be told from what was lost.
    #[error("{}: the journal cannot be written: {text}", Shown::whole(.path))]
    Journal {
        /// The journal.
        path: String,
        /// The kind of refusal.
        kind: io::ErrorKind,
        /// The system's own words.
        text: String,
    },
    /// The journal is as long as an artifact can be.
    #[error("the run is too long for one artifact: its journal has {bytes} bytes")]
    Full {
        /// How long it is.
        bytes: u64,
    },
    /// What is on the disk is not what was written there.
    #[error("{}: someone changed the journal; the run cannot be sealed", Shown::whole(.path))]
    JournalChanged {
        /// The journal.
        path: String,
    },
    /// An event or an envelope that cannot be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// An envelope that is not of the published shape.
    #[error("the envelope: {0}")]
    Envelope(StructureFault),
    /// Whoever reads the artifact would read the secret.
    #[error("the envelope holds a secret (rule {rule}); take it out")]
    SecretInEnvelope {
        /// Name of the rule that found it.
        rule: std::borrow::Cow<'static, str>,
    },
    /// There would be no room for events.
    #[error("the envelope has {bytes} bytes: that is too long")]
    EnvelopeTooLong {
        /// How long it is.
        bytes: usize,
    },
    /// It would be written down.
    #[error("the upstream of `{}` must be an http or https URL without user, password, query or fragment", Shown::new(.name))]
    Upstream {
        /// The route.
        name: String,
    },
    /// A match key that is no SHA-256.
    #[error("a match key has 64 lower-case hexadecimal digits")]
    MatchKey,
    /// The envelope was signed with another key when the run began.
    #[error("the run began under another key; seal it with that one")]
    OtherSigner,
    /// No salt, no event.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
    /// A file of that name is there already; it was left alone.
    #[error("{}: is there already; give another name", Shown::whole(.path))]
    Exists {
        /// The file.
        path: String,
    },
    /// The operating system refused.
    #[error("{}: {text}", Shown::whole(.path))]
    Io {
        /// What it was about.
        path: String,
        /// The kind of refusal.
        kind: io::ErrorKind,
        /// The system's own words.
        text: String,
    },
}

impl RecordError {
    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        let path = path.to_string_lossy().into_owned();
        match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists { path },
            kind => Self::Io { path, kind, text: error.to_string() },
        }
    }

    pub(crate) fn journal(path: &Path, error: &io::Error) -> Self {
        let path = path.to_string_lossy().into_owned();
        Self::Journal { path, kind: error.kind(), text: error.to_string() }
    }
}

/// Why a run cannot be taken up again. Its journal is as it was then, unless the operating system refused midway.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// There is no such journal.
    #[error("{}: there is no journal", Shown::whole(.path))]
    NoJournal {
        /// Where it would be.
        path: String,
    },
    /// A folder, a pipe, a device.
    #[error("{}: is not a file; move it away", Shown::whole(.path))]
    NotAFile {
        /// What is there.
        path: String,
    },
    /// Two writers would make one journal of two runs.
    #[error("another reenact is recording this run ({run_id})")]
    Busy {
        /// The run.
        run_id: RunId,
    },
    /// The recorder was killed before it had written the first line.
    #[error("{}: the journal breaks off in its first line: nothing was recorded", Shown::whole(.path))]
    TornHead {
        /// The journal.
        path: String,
    },
    /// The first line is not one that we write, or is that of another run.
    #[error("{}: the first line does not name this run; it cannot be sealed", Shown::whole(.path))]
    Head {
        /// The journal.
        path: String,
    },
    /// A line that we did not write so, and others behind it.
    #[error("{}: someone changed the journal, at line {line}; the run cannot be sealed", Shown::whole(.path))]
    Changed {
        /// The journal.
        path: String,
        /// The first line that is wrong, from 1; the head is the first.
        line: u64,
    },
    /// No line that is whole and right ends there.
    #[error("{}: no event ends after {keep} bytes of events", Shown::whole(.path))]
    Keep {
        /// The journal.
        path: String,
        /// How many bytes were to be kept.
        keep: u64,
    },
    /// It can be sealed as it is: [`crate::Recorder::resume_ended`].
    #[error("the run has ended; what is left is to seal it")]
    Ended,
    /// It can be gone on with, and ended: [`crate::Recorder::resume`].
    #[error("the run has not ended; end it first")]
    NotEnded,
    /// What can also go wrong elsewhere.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl From<FolderError> for ResumeError {
    fn from(error: FolderError) -> Self {
        Self::Record(error.into())
    }
}
