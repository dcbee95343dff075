//! The recorder's clock: the wall's time when it starts, and from then on a clock that nobody can set.

use core::time::Duration;
use std::time::{Instant, SystemTime};

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
    let (year, month, day) = date(seconds / 86_400);
    let mut text = *b"0000-00-00T00:00:00.000000Z";
    for (number, place) in [
        (year, 0..4),
        (month, 5..7),
        (day, 8..10),
        (seconds / 3600 % 24, 11..13),
        (seconds / 60 % 60, 14..16),
        (seconds % 60, 17..19),
        (moment.subsec_micros().into(), 20..26),
    ] {
        let mut left = number;
        for digit in text.get_mut(place).unwrap_or_default().iter_mut().rev() {
            *digit = b'0' + (left % 10) as u8;
            left /= 10;
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The date that many days after 1970-01-01, in the Gregorian calendar.
fn date(days: u64) -> (u64, u64, u64) {
    // Years that begin in March have their leap day at their end; 719 468 days lie before 1970 from 0000-03-01.
    let days = days + 719_468;
    let (era, in_era) = (days / 146_097, days % 146_097);
    let year_of_era = (in_era - in_era / 1_460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * in_year + 2) / 153;
    let day = in_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
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
