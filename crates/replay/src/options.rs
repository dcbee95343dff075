//! Options of a replay: how far requests may differ, and the clocks by which times are judged.

use core::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::form::rules::MatchRules;
use crate::match_level::MatchLevel;

/// Clock of a replay.
pub type ReplayClock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Options of a replay.
#[derive(Clone)]
pub struct MatchOptions {
    /// Last level at which an answer is served.
    pub last_level: MatchLevel,
    /// True if a run in which results of tools differ counts as reproduced.
    pub accepts_tools: bool,
    /// Members that do not count, and words that an agent makes up.
    pub rules: MatchRules,
    /// Clock, by which the time of the replay is told.
    pub clock: ReplayClock,
    /// Minutes by which the agent's local time is ahead of UTC; `None` if nobody knows.
    pub utc_offset: Option<i32>,
}

impl Default for MatchOptions {
    /// Serves up to [`MatchLevel::Tools`], by the rules of the interfaces alone, with the system's clock.
    fn default() -> Self {
        Self {
            last_level: MatchLevel::Tools,
            accepts_tools: false,
            rules: MatchRules::of_protocols(),
            clock: Arc::new(SystemTime::now),
            utc_offset: None,
        }
    }
}

impl MatchOptions {
    /// Returns the time of the clock, in nanoseconds since 1970-01-01.
    pub(crate) fn now(&self) -> i128 {
        let nanoseconds =
            |duration: std::time::Duration| i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX);
        match (self.clock)().duration_since(UNIX_EPOCH) {
            Ok(since) => nanoseconds(since),
            Err(before) => -nanoseconds(before.duration()),
        }
    }
}

impl fmt::Debug for MatchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchOptions")
            .field("last_level", &self.last_level)
            .field("utc_offset", &self.utc_offset)
            .finish_non_exhaustive()
    }
}
