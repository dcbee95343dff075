//! The job of a gateway: to record, or to replay.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reenact_capture::{DEFAULT_MAX_BODY_BYTES, Durability, Pen, Policy, Wal};

use crate::answers::Answers;
use crate::route::Route;
use crate::upstream::Environment;

/// Job of a gateway.
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
    /// Writer of the run's events.
    pub pen: Pen,
    /// Write-ahead log; `None` where there is no place for it: then everything waits until it is in the journal.
    pub log: Option<Wal>,
    /// Failures that the record survives.
    pub durability: Durability,
    /// Envelope that is enforced; `None` if the run is only watched.
    pub policy: Option<Policy>,
    /// Routes to vendors.
    pub routes: Vec<Route>,
    /// Proxies and certificates on the way.
    pub environment: Environment,
    /// Limits of size and time.
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
    /// Source of the answers.
    pub answers: Arc<dyn Answers>,
    /// Pace of the pieces of an answer.
    pub pace: Pace,
    /// The routes under which it was recorded. Their upstreams are not used.
    pub routes: Vec<Route>,
    /// Limits of size.
    pub limits: Limits,
}

/// Pace of the pieces of a recorded answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// Each as soon as the one before has left.
    #[default]
    Instant,
    /// At their recorded times, counted from the request.
    Recorded,
}

/// Limits of size and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest body of a request; more is refused with 413.
    pub request_bytes: usize,
    /// Longest answer that is recorded, in bytes, as it came and decoded. More is passed on and not recorded.
    pub answer_bytes: usize,
    /// Longest time for a connection to a vendor.
    pub connect: Duration,
    /// Longest silence of a vendor, before the answer and between two pieces of it.
    pub idle: Duration,
    /// Time after the end of a run for which an answer that was held back is still read: its last bytes tell the cost.
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
