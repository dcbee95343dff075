//! Spellings of dates and times in texts.
//!
//! Start reading at [`moment_at`].

use reenact_json::civil::{CivilDate, days_in_month};

use super::moment::{Moment, MomentDate, SECOND};

/// Offsets of zones that a text may name, at most, in minutes.
const MAX_OFFSET_MINUTES: i64 = 15 * 60;

/// Returns the moment that a whole text spells; `None` if the text is none, or more than one.
pub(crate) fn whole_moment(text: &str) -> Option<Moment> {
    let (length, moment) = moment_at(text.as_bytes(), 0)?;
    (length == text.len()).then_some(moment)
}

/// Returns the spelling of a moment: digits, names and halves of the day are placeholders, and blanks in a row are one, since days of one
/// digit are padded.
pub(crate) fn spelling(text: &str) -> String {
    let mut spelling = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let same = |of: fn(&char) -> bool| rest.chars().take_while(of).map(char::len_utf8).sum::<usize>();
        let (placeholder, length) = match first {
            '0'..='9' => ("0", same(char::is_ascii_digit)),
            'A'..='Z' | 'a'..='z' => {
                let length = same(char::is_ascii_alphabetic);
                match &rest[..length] {
                    "AM" | "PM" | "am" | "pm" => ("H", length),
                    // `May` is both the whole name and the short one.
                    name if name.len() >= 3 => ("N", length),
                    name => (name, length),
                }
            }
            other => (&rest[..other.len_utf8()], other.len_utf8()),
        };
        if placeholder != " " || !spelling.ends_with(' ') {
            spelling.push_str(placeholder);
        }
        rest = &rest[length..];
    }
    spelling
}

/// Returns the moment that is spelled at a byte of a text, and its length in bytes. The byte must begin a word.
///
/// The longest spelling counts: of `2026-11-17 12:30:05` all of it, not the day alone.
pub(crate) fn moment_at(text: &[u8], at: usize) -> Option<(usize, Moment)> {
    let mut reader = SpellingReader { text, at };
    let moment = match text.get(at)? {
        b'0'..=b'9' => reader.numeric().or_else(|| {
            reader.at = at;
            reader.day_month_year()
        }),
        b'A'..=b'Z' => reader.in_words(),
        _ => None,
    }?;
    let end = reader.at;
    (!is_cut(text, end)).then_some((end - at, moment))
}

/// Returns true if what ends here is part of a longer number or word.
fn is_cut(text: &[u8], end: usize) -> bool {
    text.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric())
}

/// Reader of spellings; on a failure its place is undefined.
struct SpellingReader<'t> {
    text: &'t [u8],
    at: usize,
}

/// Separators between a date and a time.
const DATE_TIME_SEPARATORS: [&[u8]; 6] = [b"T", b" ", b", ", b" at ", b"_", b"-"];

impl SpellingReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Takes these bytes if they come next.
    fn take(&mut self, bytes: &[u8]) -> bool {
        let is_next = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(bytes));
        if is_next {
            self.at += bytes.len();
        }
        is_next
    }

    /// Returns the length of the digits that come next.
    fn digit_count(&self) -> usize {
        self.text[self.at.min(self.text.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    /// Takes a number of `least` to `most` digits that is not part of a longer one.
    fn number(&mut self, least: usize, most: usize) -> Option<i64> {
        let count = self.digit_count();
        if !(least..=most).contains(&count) {
            return None;
        }
        self.digits(count)
    }

    /// Takes exactly this many digits, at most 19.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let digits = self.text.get(self.at..self.at + count)?;
        let mut number: i64 = 0;
        for digit in digits {
            number = number
                .checked_mul(10)?
                .checked_add(i64::from(digit.checked_sub(b'0').filter(|d| *d < 10)?))?;
        }
        self.at += count;
        Some(number)
    }

    /// Reads what begins with a digit: dates and times of numbers, and seconds since 1970.
    fn numeric(&mut self) -> Option<Moment> {
        let start = self.at;
        let count = self.digit_count();
        match count {
            4 => {
                let year = self.number(4, 4)?;
                let separator = self.peek().filter(|byte| matches!(byte, b'-' | b'/' | b'.'))?;
                self.at += 1;
                let month = self.number(1, 2)?;
                self.take(&[separator]).then_some(())?;
                let day = self.number(1, 2)?;
                let days = [day_number(year, month, day), None];
                days[0]?;
                Some(self.with_time(MomentDate::Days(days)))
            }
            8 => {
                let (year, month, day) = (self.digits(4)?, self.digits(2)?, self.digits(2)?);
                let days = [day_number(year, month, day), None];
                days[0]?;
                Some(self.with_time(MomentDate::Days(days)))
            }
            10 | 13 | 16 | 19 => self.epoch(count),
            1 | 2 => {
                let first = self.number(1, 2)?;
                match self.peek()? {
                    b':' => {
                        self.at = start;
                        self.time_with_seconds()
                    }
                    separator @ (b'/' | b'.' | b'-') => {
                        self.at += 1;
                        let second = self.number(1, 2)?;
                        self.take(&[separator]).then_some(())?;
                        let year = self.number(4, 4)?;
                        let days = [day_number(year, first, second), day_number(year, second, first)];
                        days[0].or(days[1])?;
                        Some(self.with_time(MomentDate::Days(days)))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Reads seconds, milliseconds, microseconds or nanoseconds since 1970, by the number of digits.
    fn epoch(&mut self, count: usize) -> Option<Moment> {
        let mut unit = match count {
            10 => SECOND,
            13 => 1_000_000,
            16 => 1_000,
            _ => 1,
        };
        let mut at = i128::from(self.digits(count)?) * unit;
        if count == 10
            && self.peek() == Some(b'.')
            && let Some((fraction, length)) = self.fraction()
        {
            at += fraction;
            unit = length;
        }
        Some(Moment { date: MomentDate::Epoch(at, unit), time: None, offset: None })
    }

    /// Takes a dot and the digits behind it, as nanoseconds, and returns the length of the last digit's unit as well.
    fn fraction(&mut self) -> Option<(i128, i128)> {
        let start = self.at;
        self.at += 1;
        let count = self.digit_count();
        if count == 0 {
            self.at = start;
            return None;
        }
        let kept = count.min(9);
        let number = i128::from(self.digits(kept)?);
        self.at += count - kept;
        let unit = 10_i128.pow(u32::try_from(9 - kept).ok()?);
        Some((number * unit, unit))
    }

    /// Reads a time of any day, which must have seconds: `14:30` alone is an appointment as often as a clock.
    fn time_with_seconds(&mut self) -> Option<Moment> {
        let (at, unit) = self.time_of_day()?;
        (unit <= SECOND).then_some(())?;
        Some(Moment { date: MomentDate::Any, time: Some((at, unit)), offset: self.offset() })
    }

    /// Takes `HH:MM`, `HH:MM:SS` or `HH:MM:SS.fff`, with `AM` or `PM` behind. Returns nanoseconds and the unit.
    fn time_of_day(&mut self) -> Option<(i128, i128)> {
        let hour = self.number(1, 2)?;
        self.take(b":").then_some(())?;
        let minute = self.number(2, 2)?;
        let (mut second, mut fraction, mut unit) = (0, 0, 60 * SECOND);
        if self.peek() == Some(b':') && self.text.get(self.at + 1).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
            second = self.number(2, 2)?;
            unit = SECOND;
            if matches!(self.peek(), Some(b'.' | b','))
                && let Some((nanoseconds, length)) = self.fraction()
            {
                (fraction, unit) = (nanoseconds, length);
            }
        }
        let hour = match self.half_of_day() {
            None => hour,
            Some(_) if !(1..=12).contains(&hour) => return None,
            Some(is_afternoon) => hour % 12 + if is_afternoon { 12 } else { 0 },
        };
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        Some((i128::from(hour * 3600 + minute * 60 + second) * SECOND + fraction, unit))
    }

    /// Takes `AM` or `PM`, and returns true for `PM`.
    fn half_of_day(&mut self) -> Option<bool> {
        let start = self.at;
        // Browsers put a narrow blank before it.
        let _ = self.take(b" ") || self.take("\u{202F}".as_bytes());
        for (name, is_afternoon) in [(b"AM", false), (b"PM", true), (b"am", false), (b"pm", true)] {
            let begins = self.take(name);
            if begins && !self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric()) {
                return Some(is_afternoon);
            }
            if begins {
                break;
            }
        }
        self.at = start;
        None
    }

    /// Takes `Z`, `+01:00` or `+0100`, and returns the minutes.
    fn offset(&mut self) -> Option<i64> {
        let start = self.at;
        if self.take(b"Z") {
            return Some(0);
        }
        let _ = self.take(b" ");
        let found = (|| {
            let sign = match self.peek()? {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            self.at += 1;
            let hours = self.digits(2)?;
            let _ = self.take(b":");
            let minutes = self.digits(2)?;
            let offset = hours * 60 + minutes;
            let is_longer = self.peek().is_some_and(|byte| byte.is_ascii_digit());
            (offset <= MAX_OFFSET_MINUTES && minutes < 60 && !is_longer).then_some(sign * offset)
        })();
        if found.is_none() {
            self.at = start;
        }
        found
    }

    /// Returns a moment on a date that was read, with the time that follows, if one does.
    fn with_time(&mut self, date: MomentDate) -> Moment {
        let end = self.at;
        for separator in DATE_TIME_SEPARATORS {
            if !self.take(separator) {
                continue;
            }
            if let Some(time) = self.time_of_day().or_else(|| {
                self.at = end + separator.len();
                self.plain_time(separator)
            }) {
                let offset = self.offset();
                // A word that only begins like a time, such as a hash, is none.
                if !is_cut(self.text, self.at) {
                    return Moment { date, time: Some(time), offset };
                }
            }
            self.at = end;
        }
        Moment { date, time: None, offset: None }
    }

    /// Takes `HHMMSS` or `HH-MM-SS`, as names of files have it.
    fn plain_time(&mut self, separator: &[u8]) -> Option<(i128, i128)> {
        if !matches!(separator, b"T" | b"_" | b"-" | b" ") {
            return None;
        }
        let (hour, minute, second) = match self.digit_count() {
            6 => (self.digits(2)?, self.digits(2)?, self.digits(2)?),
            2 => {
                let hour = self.digits(2)?;
                self.take(b"-").then_some(())?;
                let minute = self.number(2, 2)?;
                self.take(b"-").then_some(())?;
                (hour, minute, self.number(2, 2)?)
            }
            _ => return None,
        };
        let is_time = hour < 24 && minute < 60 && second <= 60;
        is_time.then_some((i128::from(hour * 3600 + minute * 60 + second) * SECOND, SECOND))
    }

    /// Reads `17 November 2026` and `17 Nov 2026`.
    fn day_month_year(&mut self) -> Option<Moment> {
        let day = self.number(1, 2)?;
        self.take(b" ").then_some(())?;
        let month = self.month()?;
        let _ = self.take(b",");
        self.take(b" ").then_some(())?;
        let year = self.number(4, 4)?;
        let days = [day_number(year, month, day), None];
        days[0]?;
        Some(self.with_time(MomentDate::Days(days)))
    }

    /// Reads what begins with a capital: `Tuesday, November 17, 2026`, `Tue Nov 17 12:30:05 UTC 2026`, `Nov 17 12:30`.
    fn in_words(&mut self) -> Option<Moment> {
        let has_weekday = self.name_of(&WEEKDAYS).is_some();
        if has_weekday {
            let _ = self.take(b",");
            self.take(b" ").then_some(())?;
            if self.peek()?.is_ascii_digit() {
                let start = self.at;
                return self.day_month_year().or_else(|| {
                    self.at = start;
                    self.numeric().filter(|moment| matches!(moment.date, MomentDate::Days(_)))
                });
            }
        }
        let month = self.month()?;
        self.take(b" ").then_some(())?;
        if !has_weekday && self.digit_count() == 4 {
            let year = self.number(4, 4)?;
            let first = day_number(year, month, 1)?;
            let (year, month) = (i32::try_from(year).ok()?, i32::try_from(month).ok()?);
            let date = MomentDate::Month(first, days_in_month(year, month));
            return Some(Moment { date, time: None, offset: None });
        }
        let _ = self.take(b" ");
        let day = self.number(1, 2)?;
        let end = self.at;
        let year_follows = self.take(b", ") || self.take(b" ");
        if year_follows && self.digit_count() == 4 {
            let year = self.number(4, 4)?;
            let days = [day_number(year, month, day), None];
            days[0]?;
            return Some(self.with_time(MomentDate::Days(days)));
        }
        let (month, day) = (i32::try_from(month).ok()?, i32::try_from(day).ok()?);
        self.at = end;
        self.take(b" ").then_some(())?;
        let time = self.time_of_day()?;
        let end = self.at;
        // `date` and `git log` write the year at the end, with or without a zone before it.
        let _ = self.take(b" ");
        let zone = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_uppercase()).count();
        let is_zone = (2..=5).contains(&zone) && self.text.get(self.at + zone) == Some(&b' ');
        if is_zone {
            self.at += zone + 1;
        }
        if self.digit_count() == 4
            && let Some(year) = self.number(4, 4)
            && let Some(days) = day_number(year, i64::from(month), i64::from(day))
        {
            let offset = self.offset();
            return Some(Moment { date: MomentDate::Days([Some(days), None]), time: Some(time), offset });
        }
        self.at = end;
        Some(Moment { date: MomentDate::WithoutYear(month, day), time: Some(time), offset: None })
    }

    /// Takes the name of a month, whole or its first three letters.
    fn month(&mut self) -> Option<i64> {
        self.name_of(&MONTHS).and_then(|index| i64::try_from(index + 1).ok())
    }

    /// Takes one of these names, whole or its first three letters, and returns its position.
    fn name_of(&mut self, names: &[&str]) -> Option<usize> {
        let letters = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let word = &self.text[self.at..self.at + letters];
        let found = names.iter().position(|name| word == name.as_bytes() || word == &name.as_bytes()[..3])?;
        self.at += letters;
        Some(found)
    }
}

/// Names of the days of the week.
pub(crate) const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
/// Names of the months.
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Returns the days from 1970-01-01 to a date; `None` if there is no such date.
pub(super) fn day_number(year: i64, month: i64, day: i64) -> Option<i64> {
    let narrow = |number: i64| i32::try_from(number).ok();
    let date = CivilDate { year: narrow(year)?, month: narrow(month)?, day: narrow(day)? };
    date.is_valid().then(|| date.days())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padded_days_are_spelled_as_others() {
        for (one, other) in [
            ("Thu Nov  5 20:53:21 UTC 2026", "Thu Nov 19 20:53:21 UTC 2026"),
            ("Nov  5 20:53", "Nov 19 20:53"),
            ("11/5/2026, 2:35:01 PM", "11/19/2026, 11:05:59 AM"),
            ("May 5, 2026", "November 19, 2026"),
        ] {
            assert!(whole_moment(one).is_some() && whole_moment(other).is_some());
            assert_eq!(spelling(one), spelling(other));
        }
        assert_ne!(spelling("2026-11-05"), spelling("2026/11/05"));
        assert_ne!(spelling("2026-11-05T10:00:00Z"), spelling("2026-11-05 10:00:00"));
    }

    #[test]
    fn texts_that_are_no_moments() {
        for text in [
            "2026-13-01",
            "2026-02-30",
            "2026",
            "14:30",
            "25:00:00",
            "12:61:00",
            "20261340",
            "123456789",
            "12345678901",
            "31/02/2026",
            "Mayor 17, 2026",
            "November",
            "Tuesday",
            "Nov 17",
            "1.2.3",
            "10.0.0.1",
            "3.1415926535",
            "2026-11-17x",
        ] {
            assert_eq!(whole_moment(text), None, "{text}");
        }
        // The longest spelling counts, and ends where the spelling does.
        fn length(text: &str) -> Option<&str> {
            moment_at(text.as_bytes(), 0).map(|(length, _)| &text[..length])
        }
        assert_eq!(length("2026-11-17 and more"), Some("2026-11-17"));
        assert_eq!(length("2026-11-17 12:30:05, and"), Some("2026-11-17 12:30:05"));
        assert_eq!(length("Tue Nov 17 2026 12:30:05 GMT+0100 (CET)"), Some("Tue Nov 17 2026 12:30:05"));
        assert_eq!(length("2026-11-17T12:30:05.123Z\""), Some("2026-11-17T12:30:05.123Z"));
        assert_eq!(length("2026-11-17."), Some("2026-11-17"));
        // A hash behind a day may begin like a time.
        assert_eq!(length("2026-11-17 123005ab fix"), Some("2026-11-17"));
        assert_eq!(length("2026-11-17 12:30:05x"), Some("2026-11-17"));
        assert_eq!(length("2026-11-17T123005ab"), None);
    }
}
