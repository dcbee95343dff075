//! The recorder's clock: the wall clock at the start, and a monotonic clock from then on.

use core::time::Duration;
use std::time::{Instant, SystemTime};

use reenact_json::civil;

/// Clock that stamps the events of a run. Tests bring their own.
pub trait Clock: Send + Sync {
    /// Returns the time since 1970-01-01T00:00:00Z.
    fn now(&self) -> Duration;
}

/// The machine's clock. Its time never goes back, even if the wall clock is set back during a run.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    wall: Duration,
    anchor: Instant,
}

impl SystemClock {
    /// Returns a clock that starts at the present wall-clock time, which is read only this once.
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

/// Last second of the year 9999; later times cannot be written with a four-digit year.
const LAST_SECOND: u64 = 253_402_300_799;

/// Formats a time since 1970 as events carry it: RFC 3339 in UTC, with microseconds (RER §4.1). Times after the year
/// 9999 become its last second. Formatted by hand, since there is one for each event.
pub fn timestamp(moment: Duration) -> String {
    let seconds = moment.as_secs().min(LAST_SECOND);
    let mut text = *b"9999-12-31T23:59:59.000000Z";
    if let Some(date_time) = i64::try_from(seconds).ok().and_then(civil::date_time) {
        text[..civil::DATE_TIME_BYTES].copy_from_slice(&date_time);
    }
    civil::put_digits(moment.subsec_micros(), &mut text[civil::DATE_TIME_BYTES + 1..26]);
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
