//! The recorder's clock: the wall's time when it starts, and from then on a clock that nobody can set.

use core::time::Duration;
use std::time::{Instant, SystemTime};

use reenact_json::civil;

/// What tells the time of events.
pub trait Clock: Send + Sync {
    /// The time since 1970-01-01T00:00:00Z.
    fn now(&self) -> Duration;
}

/// The machine's clock. It never goes back, even if someone sets the wall clock back meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    wall: Duration,
    anchor: Instant,
}

impl SystemClock {
    /// Reads the wall clock, once.
    pub fn start() -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { wall, anchor: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.wall.saturating_add(self.anchor.elapsed())
    }
}

/// The last second that has four digits for its year.
const LAST_SECOND: u64 = 253_402_300_799;

/// A moment as events carry it: RFC 3339 in UTC, to the microsecond (RER §4.1). There is one for each event, so it is put
/// together by hand.
pub fn timestamp(moment: Duration) -> String {
    let seconds = moment.as_secs().min(LAST_SECOND);
    let mut text = *b"9999-12-31T23:59:59.000000Z";
    if let Some(date_time) = i64::try_from(seconds).ok().and_then(civil::date_time) {
        text[..civil::DATE_TIME].copy_from_slice(&date_time);
    }
    civil::put_digits(moment.subsec_micros(), &mut text[civil::DATE_TIME + 1..26]);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use reenact_formats::rer::time;

    #[test]
    fn known_moments() {
        for (seconds, micros, expected) in [
            (0, 0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400, 1, "2000-02-29T00:00:00.000001Z"),
            (1_794_772_946, 250_000, "2026-11-15T20:02:26.250000Z"),
            (LAST_SECOND, 999_999, "9999-12-31T23:59:59.999999Z"),
            (u64::MAX, 5, "9999-12-31T23:59:59.000005Z"),
        ] {
            let moment = Duration::new(seconds, micros * 1000 + 999);
            assert_eq!(timestamp(moment), expected);
        }
    }

    #[test]
    fn it_does_not_go_back() {
        let clock = SystemClock::start();
        let first = clock.now();
        assert!(clock.now() >= first);
        assert!(first >= Duration::from_secs(1_700_000_000));
    }

    proptest! {
        #[test]
        fn the_verifier_reads_what_is_written(seconds in 0..=LAST_SECOND, micros in 0_u32..1_000_000) {
            let text = timestamp(Duration::new(seconds, micros * 1000));
            prop_assert!(time::is_event_timestamp(text.as_bytes()));
            let nanoseconds = i128::from(seconds) * 1_000_000_000 + i128::from(micros) * 1000;
            prop_assert_eq!(time::instant(&text), Some(nanoseconds));
        }
    }
}
