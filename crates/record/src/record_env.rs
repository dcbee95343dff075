//! The recorder's environment as values, so that a test can replace the clock, the randomness or the disk.

use std::sync::Arc;

use crate::clock::{Clock, SystemClock};
use crate::randomness::{Randomness, SystemRandomness};
use crate::storage::{Disk, Storage};

/// Clock, randomness and storage of a recorder. [`RecordEnv::default`] is the real machine.
///
/// ```
/// use reenact_record::RecordEnv;
///
/// let env = RecordEnv::default();
/// assert!(env.clock.now().as_secs() > 1_700_000_000);
/// ```
#[derive(Clone)]
pub struct RecordEnv {
    /// Clock that stamps the events.
    pub clock: Arc<dyn Clock>,
    /// Source of the salts in payloads.
    pub randomness: Arc<dyn Randomness>,
    /// File system that the journal and the artifact are written to.
    pub storage: Arc<dyn Storage>,
}

impl Default for RecordEnv {
    /// Returns the machine's clock, randomness and disk.
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock::start()),
            randomness: Arc::new(SystemRandomness),
            storage: Arc::new(Disk),
        }
    }
}
