//! Settings of a gateway: recording or replay, and their limits. Start reading at [`GatewayMode`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reenact_capture::{DEFAULT_MAX_BODY_BYTES, Durability, EnforcedPolicy, EventWriter, Wal};

use crate::answers::{AnswerSource, ForkSource};
use crate::route::VendorRoute;
use crate::upstream::NetworkEnvironment;

/// Mode of a gateway.
#[derive(Debug)]
pub enum GatewayMode {
    /// Passes requests on to vendors, and records both sides.
    Record(Box<RecordingConfig>),
    /// Answers requests from a recorded run. Nothing goes out.
    Replay(ReplayConfig),
}

impl GatewayMode {
    /// Returns the routes of either mode.
    pub(crate) fn routes(&self) -> &[VendorRoute] {
        match self {
            Self::Record(recording) => &recording.routes,
            Self::Replay(replaying) => &replaying.routes,
        }
    }
}

/// Settings for recording.
pub struct RecordingConfig {
    /// Writer of the run's events.
    pub writer: EventWriter,
    /// Write-ahead log; `None` on a machine without a place for it. Then everything waits until it is in the
    /// journal.
    pub log: Option<Wal>,
    /// Failures that the record survives: those of the process, or those of the machine.
    pub durability: Durability,
    /// Envelope to enforce; `None` to record only.
    pub policy: Option<EnforcedPolicy>,
    /// Routes to vendors.
    pub routes: Vec<VendorRoute>,
    /// Proxies and certificates for the connections to vendors.
    pub environment: NetworkEnvironment,
    /// Limits of size and time.
    pub limits: GatewayLimits,
    /// Recorded answers, for a run that goes on from another one. Its policy must be `None`.
    pub fork: Option<Arc<dyn ForkSource>>,
}

impl fmt::Debug for RecordingConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingConfig")
            .field("routes", &self.routes)
            .field("environment", &self.environment)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Settings for replay.
#[derive(Debug)]
pub struct ReplayConfig {
    /// Source of the answers.
    pub answers: Arc<dyn AnswerSource>,
    /// Timing of an answer's pieces.
    pub pace: ReplayPace,
    /// Routes under which the run was recorded. Their upstream addresses are not used.
    pub routes: Vec<VendorRoute>,
    /// Limits of size; those of time do not apply.
    pub limits: GatewayLimits,
}

/// Timing of the pieces of a replayed answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplayPace {
    /// Each piece is sent as soon as the one before was flushed.
    #[default]
    Instant,
    /// Each piece is sent at its recorded time, counted from the request.
    Recorded,
}

/// Limits of size and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayLimits {
    /// Longest body of a request, in bytes; longer ones are refused with 413.
    pub max_request_bytes: usize,
    /// Longest answer that is recorded, in bytes, as it came and again when decoded. The rest is passed on and
    /// not recorded.
    pub max_answer_bytes: usize,
    /// Longest time for a client to begin its first request, to send the head of one, and between two pieces of its body.
    pub client_timeout: Duration,
    /// Longest time to connect to a vendor, including proxy and TLS.
    pub connect_timeout: Duration,
    /// Longest time without a byte from the vendor, before the answer and between two of its pieces.
    pub idle_timeout: Duration,
    /// Time after the end of a run for which a withheld answer is still read: its last bytes tell the cost.
    pub linger: Duration,
    /// Longest time for which a stream is read on that its client abandoned, under a limit on spending.
    pub abandoned_time: Duration,
    /// Largest number of bytes that are read on then.
    pub abandoned_bytes: usize,
}

impl Default for GatewayLimits {
    fn default() -> Self {
        Self {
            max_request_bytes: 512 << 20,
            max_answer_bytes: DEFAULT_MAX_BODY_BYTES,
            client_timeout: Duration::from_secs(120),
            connect_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(600),
            linger: Duration::from_secs(2),
            // Enough for the end of an answer; one that is given up in its midst is not paid for to its end.
            abandoned_time: Duration::from_secs(10),
            abandoned_bytes: 4 << 20,
        }
    }
}

/// Longest request body, in bytes, that is decoded and looked up on the thread that serves the client: 64 KiB.
/// Longer ones go to a blocking thread.
pub(crate) const INLINE_BODY_BYTES: usize = 64 << 10;
