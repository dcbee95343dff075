//! What a gateway is there for: to record, or to replay.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reenact_capture::{DEFAULT_MAX_BODY_BYTES, Durability, Pen, Policy, Wal};

use crate::answers::Answers;
use crate::route::Route;
use crate::upstream::Environment;

/// What a gateway does with requests.
#[derive(Debug)]
pub enum Work {
    /// Passes them on to vendors, and records both sides.
    Record(Box<Recording>),
    /// Answers them from a recorded run. Nothing goes out.
    Replay(Replaying),
}

impl Work {
    pub(crate) fn routes(&self) -> &[Route] {
        match self {
            Self::Record(recording) => &recording.routes,
            Self::Replay(replaying) => &replaying.routes,
        }
    }
}

/// All that recording needs.
pub struct Recording {
    /// What writes into the run.
    pub pen: Pen,
    /// What passes is written here before it passes on; `None` where there is no place for it: then everything waits until it
    /// is in the journal.
    pub log: Option<Wal>,
    /// What the record survives.
    pub durability: Durability,
    /// What is enforced; `None` if the run is only watched.
    pub policy: Option<Policy>,
    /// Where requests go.
    pub routes: Vec<Route>,
    /// How to get there.
    pub environment: Environment,
    /// How much and how long.
    pub limits: Limits,
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("routes", &self.routes)
            .field("environment", &self.environment)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// All that replaying needs.
#[derive(Debug)]
pub struct Replaying {
    /// Who answers.
    pub answers: Arc<dyn Answers>,
    /// When the pieces of an answer come.
    pub pace: Pace,
    /// The routes under which it was recorded. Their upstreams are not used.
    pub routes: Vec<Route>,
    /// How much.
    pub limits: Limits,
}

/// When the pieces of a recorded answer come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// Each as soon as the one before has left.
    #[default]
    Instant,
    /// When they came in the recorded run, counted from the request.
    Recorded,
}

/// How much a gateway takes, and how long it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest body of a request; more is refused with 413.
    pub request_bytes: usize,
    /// How much of an answer is recorded, as it came and decoded. More is passed on and not recorded.
    pub answer_bytes: usize,
    /// How long a connection to a vendor may take.
    pub connect: Duration,
    /// How long a vendor may be silent: before the answer, and between two pieces of it.
    pub idle: Duration,
    /// How long after the end of a run the rest of an answer is still taken down that was held back from its client: what it
    /// cost stands in its last bytes.
    pub linger: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_bytes: 512 << 20,
            answer_bytes: DEFAULT_MAX_BODY_BYTES,
            connect: Duration::from_secs(30),
            idle: Duration::from_secs(600),
            linger: Duration::from_secs(2),
        }
    }
}

/// Up to this many bytes are read and compared where they arrive; more, where nobody waits for the processor.
pub(crate) const SMALL: usize = 64 << 10;
