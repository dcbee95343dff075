//! What a recorder takes from the world around it, as values: a test gives its own.

use std::sync::Arc;

use crate::clock::{Clock, SystemClock};
use crate::randomness::{Randomness, SystemRandomness};
use crate::storage::{Disk, Storage};

/// What a recorder takes from the world around it.
#[derive(Clone)]
pub struct Surroundings {
    /// Tells the time of events.
    pub clock: Arc<dyn Clock>,
    /// Gives salts.
    pub randomness: Arc<dyn Randomness>,
    /// Keeps what is written.
    pub storage: Arc<dyn Storage>,
}

impl Default for Surroundings {
    /// The machine's clock, randomness and disk.
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock::start()),
            randomness: Arc::new(SystemRandomness),
            storage: Arc::new(Disk),
        }
    }
}
