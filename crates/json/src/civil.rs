//! Dates of the proleptic Gregorian calendar, counted in days since 1970-01-01, and their ISO 8601 text.
//!
//! Only the arithmetic that all formats share is here: each format has its own rule for the text of a time. Start at
//! [`CivilDate`].

/// Calendar date. Months and days count from 1; the fields may hold a day that does not exist ([`CivilDate::is_valid`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CivilDate {
    /// Astronomical year: 0 is 1 BC.
    pub year: i32,
    /// Month of the year, 1 to 12.
    pub month: i32,
    /// Day of the month, 1 to 31.
    pub day: i32,
}

/// Seconds of a day, without leap seconds.
pub const SECONDS_PER_DAY: i64 = 86_400;

/// Days from 0000-03-01 to 1970-01-01. Years that begin in March have their leap day at their end.
const DAYS_FROM_MARCH_OF_YEAR_ZERO: i64 = 719_468;
/// Days of 400 years, after which the calendar repeats.
const DAYS_PER_ERA: i64 = 146_097;

impl CivilDate {
    /// Returns true if the month is 1 to 12 and has that day.
    pub fn is_valid(self) -> bool {
        (1..=12).contains(&self.month) && (1..=days_in_month(self.year, self.month)).contains(&self.day)
    }

    /// Returns the days since 1970-01-01, negative before it.
    pub fn days(self) -> i64 {
        let (year, month, day) = (i64::from(self.year), i64::from(self.month), i64::from(self.day));
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * month + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * DAYS_PER_ERA + day_of_era - DAYS_FROM_MARCH_OF_YEAR_ZERO
    }

    /// Returns the date that many days after 1970-01-01; `None` outside the years 0 to 9999.
    pub fn from_days(days: i64) -> Option<Self> {
        let days = days.checked_add(DAYS_FROM_MARCH_OF_YEAR_ZERO)?;
        let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / (DAYS_PER_ERA - 1)) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        let narrow = |number: i64| i32::try_from(number).ok();
        let date = Self { year: narrow(year)?, month: narrow(month)?, day: narrow(day)? };
        (0..=9999).contains(&date.year).then_some(date)
    }
}

/// Returns true if the year has a 29 February.
pub fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Returns the number of days of a month from 1 to 12.
pub fn days_in_month(year: i32, month: i32) -> i32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Length of `YYYY-MM-DDTHH:MM:SS`, in bytes.
pub const DATE_TIME_BYTES: usize = 19;

/// Returns `YYYY-MM-DDTHH:MM:SS`, in UTC, of the moment that many seconds after 1970-01-01; `None` outside the years 0 to 9999.
pub fn date_time(seconds: i64) -> Option<[u8; DATE_TIME_BYTES]> {
    let date = CivilDate::from_days(seconds.div_euclid(SECONDS_PER_DAY))?;
    let second = i32::try_from(seconds.rem_euclid(SECONDS_PER_DAY)).ok()?;
    let mut text = *b"0000-00-00T00:00:00";
    for (number, range) in [
        (date.year, 0..4),
        (date.month, 5..7),
        (date.day, 8..10),
        (second / 3600, 11..13),
        (second / 60 % 60, 14..16),
        (second % 60, 17..19),
    ] {
        put_digits(number.unsigned_abs(), &mut text[range]);
    }
    Some(text)
}

/// Fills `out` with the last decimal digits of a number, with leading zeros.
pub fn put_digits(number: u32, out: &mut [u8]) {
    let mut left = number;
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(seconds: i64) -> Option<String> {
        date_time(seconds).map(|text| String::from_utf8(text.to_vec()).unwrap())
    }

    #[test]
    fn known_moments() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00"),
            (-1, "1969-12-31T23:59:59"),
            (951_782_400, "2000-02-29T00:00:00"),
            (1_794_772_946, "2026-11-15T20:02:26"),
            (-62_167_219_200, "0000-01-01T00:00:00"),
            (253_402_300_799, "9999-12-31T23:59:59"),
        ] {
            assert_eq!(text(seconds).as_deref(), Some(expected));
        }
        for none in [-62_167_219_201, 253_402_300_800, i64::MIN, i64::MAX] {
            assert_eq!(text(none), None, "{none}");
        }
    }

    #[test]
    fn months_and_leap_years() {
        for (year, month, day, is_valid) in [
            (2024, 2, 29, true),
            (2026, 2, 29, false),
            (1900, 2, 29, false),
            (2000, 2, 29, true),
            (2026, 4, 31, false),
            (2026, 12, 31, true),
            (2026, 13, 1, false),
            (2026, 0, 1, false),
            (2026, 1, 0, false),
        ] {
            assert_eq!(CivilDate { year, month, day }.is_valid(), is_valid, "{year}-{month}-{day}");
        }
    }

    proptest! {
        #[test]
        fn days_and_dates_are_inverse(days in -719_528..=2_932_896_i64) {
            let date = CivilDate::from_days(days).unwrap();
            prop_assert!(date.is_valid());
            prop_assert_eq!(date.days(), days);
            // The day after is the next day of the month, or the first of the next.
            if let Some(next) = CivilDate::from_days(days + 1) {
                prop_assert!(next > date && (next.day == date.day + 1 || next.day == 1));
            }
        }
    }
}
