//! Moments that dates and times in texts may mean.
//!
//! A spelling without a zone may be local time or UTC, `11/12/2026` may be November or December, and `Nov 17 12:30` has no
//! year. A moment lies within a [`TimeWindow`] if one reading of it does. Start reading at [`could_be`].

use reenact_json::civil::{CivilDate, SECONDS_PER_DAY};

/// Nanoseconds of a second.
pub(super) const SECOND: i128 = 1_000_000_000;
/// Nanoseconds of a day.
const DAY: i128 = SECONDS_PER_DAY as i128 * SECOND;
/// Time between two moments, with the local times in which people and programs may have written it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimeWindow {
    /// First moment, in nanoseconds since 1970-01-01.
    pub(crate) start: i128,
    /// Last moment, in nanoseconds since 1970-01-01.
    pub(crate) end: i128,
    /// Minutes by which local time is ahead of UTC; `None` if nobody knows.
    pub(crate) utc_offset: Option<i32>,
}

impl TimeWindow {
    /// Returns true if some moment from `start` on, shorter than `length`, lies within the window.
    fn overlaps(&self, start: i128, length: i128) -> bool {
        start <= self.end && start + length > self.start
    }

    /// Returns the offsets that a time without a zone may have, in nanoseconds: UTC, and local time.
    fn offsets(&self) -> impl Iterator<Item = i128> {
        let local = self.utc_offset.map(|minutes| i128::from(minutes) * 60 * SECOND);
        core::iter::once(0).chain(local.filter(|offset| *offset != 0))
    }
}

/// Date or time in a text, as it is spelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(super) date: MomentDate,
    /// Nanoseconds since midnight, and the length of the smallest unit that is spelled; `None` for a whole day.
    pub(super) time: Option<(i128, i128)>,
    /// Minutes that the text names as the offset from UTC.
    pub(super) offset: Option<i64>,
}

/// Day of a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MomentDate {
    /// Days that the text may mean, in a fixed order of readings; `None` where a reading is no date.
    Days([Option<i64>; 2]),
    /// First day of a month, and the number of its days.
    Month(i64, i32),
    /// Month and day without a year.
    WithoutYear(i32, i32),
    /// A time of any day.
    Any,
    /// Moment in nanoseconds since 1970-01-01, and the length of its unit.
    Epoch(i128, i128),
}

impl Moment {
    /// Returns true if the moment is a whole day, or longer.
    pub(crate) fn is_day(&self) -> bool {
        self.time.is_none() && !matches!(self.date, MomentDate::Epoch(..))
    }

    /// Returns, for each way to read the moment, whether it lies within a window.
    fn readings(&self, window: &TimeWindow) -> [bool; 2] {
        let on_day = |day: i64| {
            let (time, length) = self.time.unwrap_or((0, DAY));
            let at = i128::from(day) * DAY + time;
            match self.offset {
                Some(minutes) => window.overlaps(at - i128::from(minutes) * 60 * SECOND, length),
                None => window.offsets().any(|offset| window.overlaps(at - offset, length)),
            }
        };
        // Days that begin or end within the window anywhere on Earth.
        let days = || {
            let day = |moment: i128| i64::try_from(moment.div_euclid(DAY)).unwrap_or_default();
            let last = day(window.end) + 1;
            let first = (day(window.start) - 1).max(last - MAX_DAYS);
            first..=last
        };
        match self.date {
            MomentDate::Epoch(at, length) => [window.overlaps(at, length), false],
            MomentDate::Days(readings) => readings.map(|day| day.is_some_and(on_day)),
            MomentDate::Month(first, days) => [(first..first + i64::from(days)).any(on_day), false],
            MomentDate::WithoutYear(month, day) => {
                let is_it = |days: i64| {
                    CivilDate::from_days(days).is_some_and(|date| date.month == month && date.day == day)
                };
                [days().any(|day| is_it(day) && on_day(day)), false]
            }
            MomentDate::Any => [days().any(on_day), false],
        }
    }
}

/// Longest window, in days, whose days are looked through for a date without a year, or a time without a date. In a longer one
/// only the last of its days count.
const MAX_DAYS: i64 = 400;

/// Returns true if one reading of two texts, spelled alike, lies in both windows.
pub(crate) fn could_be(
    recorded: &Moment,
    recorded_window: &TimeWindow,
    asked: &Moment,
    asked_window: &TimeWindow,
) -> bool {
    let (recorded, asked) = (recorded.readings(recorded_window), asked.readings(asked_window));
    recorded.iter().zip(asked).any(|(recorded, asked)| *recorded && asked)
}

#[cfg(test)]
mod tests {
    use super::super::spelling::{day_number, whole_moment};
    use super::*;

    /// Returns the window between two moments of one day, UTC, with local time two hours ahead.
    fn window(day: i64, from: (i128, i128), to: (i128, i128)) -> TimeWindow {
        let at = |(hour, minute): (i128, i128)| i128::from(day) * DAY + (hour * 60 + minute) * 60 * SECOND;
        TimeWindow { start: at(from), end: at(to), utc_offset: Some(120) }
    }

    fn recorded() -> TimeWindow {
        window(day_number(2026, 11, 17).unwrap(), (12, 30), (12, 40))
    }

    fn asked() -> TimeWindow {
        window(day_number(2026, 11, 20).unwrap(), (9, 5), (9, 6))
    }

    fn is_excused(from: &str, to: &str) -> bool {
        let (Some(from), Some(to)) = (whole_moment(from), whole_moment(to)) else {
            panic!("{from}: {:?}, {to}: {:?}", whole_moment(from), whole_moment(to))
        };
        could_be(&from, &recorded(), &to, &asked())
    }

    #[test]
    fn every_spelling_moves_with_its_run() {
        for (from, to) in [
            ("2026-11-17", "2026-11-20"),
            ("2026/11/17", "2026/11/20"),
            ("20261117", "20261120"),
            ("11/17/2026", "11/20/2026"),
            ("17/11/2026", "20/11/2026"),
            ("17.11.2026", "20.11.2026"),
            ("Tuesday, November 17, 2026", "Friday, November 20, 2026"),
            ("Tue Nov 17 2026", "Fri Nov 20 2026"),
            ("November 17, 2026", "November 20, 2026"),
            ("17 November 2026", "20 November 2026"),
            ("Tue, 17 Nov 2026 12:35:00", "Fri, 20 Nov 2026 09:05:10"),
            ("2026-11-17T12:35:01Z", "2026-11-20T09:05:59Z"),
            ("2026-11-17T12:35:01.123Z", "2026-11-20T09:05:59.987Z"),
            ("2026-11-17T14:35:01+02:00", "2026-11-20T11:05:59+02:00"),
            ("2026-11-17 14:35:01", "2026-11-20 11:05:59"),
            ("2026-11-17 14:35:01 +0200", "2026-11-20 11:05:59 +0200"),
            ("2026-11-17 12:35", "2026-11-20 09:05"),
            ("2026-11-17_12-35-01", "2026-11-20_09-05-59"),
            ("20261117T123501", "20261120T090559"),
            ("20261117-123501", "20261120-090559"),
            ("11/17/2026, 2:35:01 PM", "11/20/2026, 11:05:59 AM"),
            ("Tue Nov 17 12:35:01 UTC 2026", "Fri Nov 20 09:05:59 UTC 2026"),
            ("Tue Nov 17 12:35:01 2026 +0000", "Fri Nov 20 09:05:59 2026 +0000"),
            ("Tue Nov 17 2026 14:35:01", "Fri Nov 20 2026 11:05:59"),
            ("Nov 17 12:35", "Nov 20 09:05"),
            ("12:35:01", "09:05:59"),
            ("14:35:01.5", "11:05:59.25"),
            ("1794918900", "1795165505"),
            ("1794918900123", "1795165505987"),
            ("1794918900.123", "1795165505.987"),
            ("1794918900123456", "1795165505987654"),
        ] {
            assert!(is_excused(from, to), "{from} → {to}");
            // Not the other way round: each lies in its own run alone.
            assert!(!is_excused(to, from), "{to} → {from}");
        }
    }

    #[test]
    fn what_lies_outside_of_its_run_does_not_move() {
        for (from, to) in [
            // The day of the run for another day, and another day for the day of the replay.
            ("2026-11-17", "2026-11-21"),
            ("2026-11-16", "2026-11-20"),
            ("2027-05-12", "2027-05-13"),
            // The right day at the wrong hour.
            ("2026-11-17T12:45:00Z", "2026-11-20T09:05:10Z"),
            ("2026-11-17T12:35:00Z", "2026-11-20T09:15:10Z"),
            ("2026-11-17T14:35:00+01:00", "2026-11-20T10:05:10+01:00"),
            ("Nov 17 16:30", "Nov 20 09:05"),
            ("1763350000", "1795165505"),
            ("2:35:01 AM", "9:05:59 AM"),
        ] {
            assert!(!is_excused(from, to), "{from} → {to}");
        }
    }

    #[test]
    fn a_month_is_that_of_the_run() {
        let in_december = window(day_number(2026, 12, 3).unwrap(), (9, 5), (9, 6));
        let month = |text: &str| whole_moment(text).unwrap();
        let moves = |from: &str, to: &str| could_be(&month(from), &recorded(), &month(to), &in_december);
        assert!(moves("November 2026", "December 2026") && moves("Nov 2026", "Dec 2026"));
        assert!(!moves("October 2026", "December 2026") && !moves("November 2026", "November 2026"));
        assert!(!moves("November 2026", "December 2027"));
        assert!(month("November 2026").is_day());
    }

    #[test]
    fn a_day_is_the_day_of_one_clock() {
        // Half past eleven in the evening, UTC, is the next day two hours east, and no other day.
        let late = window(day_number(2026, 11, 17).unwrap(), (23, 30), (23, 31));
        let day = |text: &str| whole_moment(text).unwrap().readings(&late)[0];
        assert_eq!(
            ["2026-11-16", "2026-11-17", "2026-11-18", "2026-11-19"].map(day),
            [false, true, true, false]
        );
        let in_utc = TimeWindow { utc_offset: None, ..late };
        assert!(!whole_moment("2026-11-18").unwrap().readings(&in_utc)[0]);
    }
}
