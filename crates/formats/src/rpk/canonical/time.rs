//! The one spelling of a point in time: UTC with microseconds, where the text says which offset it is in.
//!
//! What counts as such a text is what CPython 3.11 and later read (`datetime.fromisoformat`), to the byte: the hash of a file
//! depends on it. So this follows that parser's way through the text, odd turns included, and not a grammar.

use reenact_json::civil::{self, CivilDate, is_leap_year};

/// A time that UTC cannot express within the years 1 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutOfRange;

/// The spelling of a time; text that is none, or names no offset, only loses the white space around it.
pub(super) fn normal(text: &str) -> Result<String, OutOfRange> {
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&c));
    let parsed = match trimmed.strip_suffix('Z') {
        Some(local) => parse(&format!("{local}+00:00")),
        None => parse(trimmed),
    };
    let Some(Moment { date, micros, offset: Some(offset) }) = parsed else { return Ok(trimmed.to_owned()) };
    let utc = date.days() * DAY + micros - offset;
    let (seconds, micros) = (utc.div_euclid(SECOND), utc.rem_euclid(SECOND));
    date_of(utc.div_euclid(DAY)).ok_or(OutOfRange)?;
    let date_time = civil::date_time(seconds).ok_or(OutOfRange)?;
    Ok(format!("{}.{micros:06}Z", String::from_utf8_lossy(&date_time)))
}

/// Whether a text is surely its own spelling, as most times in a file are: it was written so. `false` means only that it takes a
/// closer look.
pub(super) fn is_normal(text: &[u8]) -> bool {
    const SHAPE: &[u8; 27] = b"0000-00-00T00:00:00.000000Z";
    let is_shaped = text.len() == SHAPE.len()
        && text.iter().zip(SHAPE).all(
            |(byte, shape)| {
                if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape }
            },
        );
    let number = |at: usize, count: usize| Text(text).digits(at, count).unwrap_or(i32::MAX);
    is_shaped
        && is_date(CivilDate { year: number(0, 4), month: number(5, 2), day: number(8, 2) })
        && number(11, 2) <= 23
        && number(14, 2) <= 59
        && number(17, 2) <= 59
}

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// What a text says: a local date and time, and its offset from UTC, if any, in microseconds.
struct Moment {
    date: CivilDate,
    micros: i64,
    offset: Option<i64>,
}

/// Bytes with a NUL behind the last one, as the original sees them.
#[derive(Clone, Copy)]
struct Text<'a>(&'a [u8]);

impl Text<'_> {
    fn byte(self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    /// The number that `count` digits spell.
    fn digits(self, at: usize, count: usize) -> Option<i32> {
        (at..at + count).try_fold(0, |number, at| {
            let digit = self.byte(at);
            digit.is_ascii_digit().then(|| number * 10 + i32::from(digit - b'0'))
        })
    }
}

fn parse(text: &str) -> Option<Moment> {
    if text.chars().take(7).count() < 7 {
        return None;
    }
    let text = Text(text.as_bytes());
    let end = text.0.len();
    let separator = separator(text)?;
    let date = date(text, separator)?;
    if end.saturating_sub(separator) <= 1 {
        return Some(Moment { date, micros: 0, offset: None });
    }
    let width = match text.byte(separator) {
        0..0x80 => 1,
        lead if lead & 0xF0 == 0xE0 => 3,
        lead if lead & 0xF0 == 0xF0 => 4,
        _ => 2,
    };
    let start = separator + width;
    let (time, offset) = time(text, start, end)?;
    if time.hour > 23 || time.minute > 59 || time.second > 59 {
        return None;
    }
    Some(Moment { date, micros: time.micros(), offset })
}

/// Where the date ends.
fn separator(text: Text<'_>) -> Option<usize> {
    let end = text.0.len();
    if end == 7 {
        return Some(7);
    }
    match (text.byte(4), text.byte(5)) {
        (b'-', b'W') if end < 8 => None,
        (b'-', b'W') if end > 8 && text.byte(8) == b'-' => match end {
            9 => None,
            // Either the sign of an offset or a day of the week: two digits are no day.
            11.. if text.byte(10).is_ascii_digit() => Some(8),
            _ => Some(10),
        },
        (b'-', b'W') => Some(8),
        (b'-', _) => Some(10),
        (b'W', _) => {
            let digits_end = (7..end).find(|at| !text.byte(*at).is_ascii_digit()).unwrap_or(end.max(7));
            Some(match digits_end {
                short @ ..9 => short,
                even if even.is_multiple_of(2) => 7,
                _ => 8,
            })
        }
        _ => Some(8),
    }
}

fn date(text: Text<'_>, end: usize) -> Option<CivilDate> {
    let year = text.digits(0, 4)?;
    let mut at = 4;
    let is_separated = text.byte(at) == b'-';
    at += usize::from(is_separated);
    let dash = |at: &mut usize| {
        let is_there = !is_separated || text.byte(*at) == b'-';
        *at += usize::from(is_separated);
        is_there.then_some(())
    };
    if text.byte(at) == b'W' {
        let week = text.digits(at + 1, 2)?;
        at += 3;
        let mut day = 1;
        if at < end {
            dash(&mut at)?;
            day = text.digits(at, 1)?;
        }
        return date_of_week(year, week, day);
    }
    let month = text.digits(at, 2)?;
    at += 2;
    dash(&mut at)?;
    let day = text.digits(at, 2)?;
    (at + 2 == end).then_some(())?;
    let date = CivilDate { year, month, day };
    is_date(date).then_some(date)
}

fn is_date(date: CivilDate) -> bool {
    (1..=9999).contains(&date.year) && date.is_valid()
}

/// The date that many days after 1970-01-01, if it lies within the years 1 to 9999.
fn date_of(days: i64) -> Option<CivilDate> {
    CivilDate::from_days(days).filter(|date| date.year > 0)
}

/// The date of a day in an ISO week.
fn date_of_week(year: i32, week: i32, day: i32) -> Option<CivilDate> {
    if !(1..=9999).contains(&year) || !(1..=7).contains(&day) {
        return None;
    }
    let first = CivilDate { year, month: 1, day: 1 }.days();
    // 1970-01-01 was a Thursday: 0 is Monday.
    let weekday = (first + 3).rem_euclid(7);
    let has_53 = weekday == 3 || weekday == 2 && is_leap_year(year);
    let is_week = (1..=52).contains(&week) || week == 53 && has_53;
    if !is_week {
        return None;
    }
    // The week with the year's first Thursday is its first.
    let monday = if weekday > 3 { first - weekday + 7 } else { first - weekday };
    date_of(monday + i64::from((week - 1) * 7 + day - 1))
}

/// What stands for hours, minutes, seconds and their fraction.
#[derive(Default)]
struct Clock {
    hour: i32,
    minute: i32,
    second: i32,
    fraction: i32,
}

impl Clock {
    fn seconds(&self) -> i64 {
        i64::from(self.hour * 3600 + self.minute * 60 + self.second)
    }

    fn micros(&self) -> i64 {
        self.seconds() * SECOND + i64::from(self.fraction)
    }
}

fn time(text: Text<'_>, start: usize, end: usize) -> Option<(Clock, Option<i64>)> {
    // The original looks at one byte at least.
    let is_zone = |at: &usize| matches!(text.byte(*at), b'+' | b'-' | b'Z');
    let zone = (start..end.max(start + 1)).find(is_zone).unwrap_or(end.max(start + 1));
    let (clock, has_more) = clock(text, start, zone)?;
    if zone >= end {
        return (!has_more).then_some((clock, None));
    }
    if text.byte(zone) == b'Z' {
        return (text.byte(zone + 1) == 0).then_some((clock, Some(0)));
    }
    let (offset, has_more) = self::clock(text, zone + 1, end)?;
    // Offsets of no whole second are UTC, whatever their fraction.
    let micros = if offset.seconds() == 0 { 0 } else { offset.micros() };
    let is_good = !has_more && micros < DAY;
    is_good.then(|| (clock, Some(if text.byte(zone) == b'-' { -micros } else { micros })))
}

/// `HH[:MM[:SS[.f]]]` or the same without colons; also whether something is left behind it.
fn clock(text: Text<'_>, start: usize, end: usize) -> Option<(Clock, bool)> {
    let mut clock = Clock::default();
    let mut at = start;
    let mut has_colons = true;
    for index in 0..3 {
        *[&mut clock.hour, &mut clock.minute, &mut clock.second][index] = text.digits(at, 2)?;
        let next = text.byte(at + 2);
        at += 3;
        if index == 0 {
            has_colons = next == b':';
        }
        match next {
            _ if at >= end => return Some((clock, next != 0)),
            b':' if has_colons => {}
            b'.' | b',' => break,
            _ if !has_colons => at -= 1,
            _ => return None,
        }
    }
    let count = (end - at).min(6);
    clock.fraction = (count..6).fold(text.digits(at, count)?, |fraction, _| fraction * 10);
    at += count;
    while text.byte(at).is_ascii_digit() {
        at += 1;
    }
    Some((clock, text.byte(at) != 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_times() {
        for (text, expected) in [
            ("", ""),
            (" x \u{1f}", "x"),
            ("2026-02-21T14:00:00Z", "2026-02-21T14:00:00.000000Z"),
            ("2026-02-21t14:00:00+05:30", "2026-02-21T08:30:00.000000Z"),
            ("2026-02-21 14:00:00.5Z", "2026-02-21T14:00:00.500000Z"),
            ("2026-02-21T14:00:00,1234567Z", "2026-02-21T14:00:00.123456Z"),
            ("20260221T140000Z", "2026-02-21T14:00:00.000000Z"),
            ("2026-W08-6T14Z", "2026-02-21T14:00:00.000000Z"),
            ("2020W537T00Z", "2021-01-03T00:00:00.000000Z"),
            ("2026-02-21T14.5Z", "2026-02-21T14:00:00.500000Z"),
            ("2026-02-21T14:00:00 Z", "2026-02-21T14:00:00.000000Z"),
            ("2026-02-21T14:00:00+00:00:00.5", "2026-02-21T14:00:00.000000Z"),
            ("0001-01-01T00:00:00-01:00", "0001-01-01T01:00:00.000000Z"),
            // Left as they are.
            ("2026-02-21T14:00:00", "2026-02-21T14:00:00"),
            ("2026-02-21", "2026-02-21"),
            ("2026-02-21T14:00:00z", "2026-02-21T14:00:00z"),
            ("2026-02-29T14:00:00Z", "2026-02-29T14:00:00Z"),
            ("2026-02-21T24:00:00Z", "2026-02-21T24:00:00Z"),
            ("2026-02-21T14:00:60Z", "2026-02-21T14:00:60Z"),
            ("2026-02-21T14:00:00+24:00", "2026-02-21T14:00:00+24:00"),
            ("2026-052T14:00:00Z", "2026-052T14:00:00Z"),
            ("2026-W54-1T00Z", "2026-W54-1T00Z"),
        ] {
            assert_eq!(normal(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-00:01"] {
            assert_eq!(normal(text), Err(OutOfRange), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_spelling_is_its_own(text in "[0-9W]{4}-?[0-9W]{1,3}-?[0-9]{0,2}[T ]?[0-9:.,]{0,12}[-+Z]?[0-9:]{0,6}Z?") {
            if let Ok(normal) = super::normal(&text) {
                prop_assert_eq!(super::normal(&normal), Ok(normal.clone()));
            }
        }

        #[test]
        fn the_short_cut_agrees(text in "[0-2][0-9]{3}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]\\.[0-9]{6}Z") {
            if is_normal(text.as_bytes()) {
                prop_assert_eq!(super::normal(&text), Ok(text.clone()));
            } else {
                // Then it is no time at all.
                prop_assert!(parse(&text.replace('Z', "+00:00")).is_none(), "{}", text);
            }
        }

        #[test]
        fn any_text_is_answered(text in any::<String>()) {
            let _ = super::normal(&text);
        }
    }
}
