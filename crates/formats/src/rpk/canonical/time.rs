//! Normalized points in time: UTC with microseconds, where the text names its offset.
//!
//! The accepted texts are exactly those of CPython 3.11 and later (`datetime.fromisoformat`), since the hash of a
//! file depends on it. This code therefore follows that parser's way through the text, odd turns included, and not a
//! grammar.

use reenact_json::civil::{self, CivilDate, is_leap_year};

/// Error: a time that UTC cannot express within the years 1 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RpkTimeOutOfRange;

/// Returns the normalized time. A text that is not a time, or names no offset, only loses the white space around it.
pub(super) fn normalized(text: &str) -> Result<String, RpkTimeOutOfRange> {
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&c));
    let parsed = match trimmed.strip_suffix('Z') {
        Some(local) => parse(&format!("{local}+00:00")),
        None => parse(trimmed),
    };
    let Some(ParsedTime { date, micros, offset: Some(offset) }) = parsed else {
        return Ok(trimmed.to_owned());
    };
    let utc = date.days() * MICROS_PER_DAY + micros - offset;
    let (seconds, micros) = (utc.div_euclid(MICROS_PER_SECOND), utc.rem_euclid(MICROS_PER_SECOND));
    date_from_days(utc.div_euclid(MICROS_PER_DAY)).ok_or(RpkTimeOutOfRange)?;
    let date_time = civil::date_time(seconds).ok_or(RpkTimeOutOfRange)?;
    Ok(format!("{}.{micros:06}Z", String::from_utf8_lossy(&date_time)))
}

/// Returns true if a text certainly is normalized, as most times in a file are, since they were written so. `false`
/// means only that the slow path must decide.
pub(super) fn is_normalized(text: &[u8]) -> bool {
    const SHAPE: &[u8; 27] = b"0000-00-00T00:00:00.000000Z";
    let is_shaped = text.len() == SHAPE.len()
        && text.iter().zip(SHAPE).all(
            |(byte, shape)| {
                if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape }
            },
        );
    let number = |at: usize, count: usize| NulTerminated(text).digits(at, count).unwrap_or(i32::MAX);
    is_shaped
        && is_date(CivilDate { year: number(0, 4), month: number(5, 2), day: number(8, 2) })
        && number(11, 2) <= 23
        && number(14, 2) <= 59
        && number(17, 2) <= 59
}

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Parsed text: a local date and time of day in microseconds, and the offset from UTC in microseconds, if there is
/// one.
struct ParsedTime {
    date: CivilDate,
    micros: i64,
    offset: Option<i64>,
}

/// Bytes with a NUL behind the last one, as CPython sees them.
#[derive(Clone, Copy)]
struct NulTerminated<'a>(&'a [u8]);

impl NulTerminated<'_> {
    fn byte(self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    /// Parses `count` digits at `at`.
    fn digits(self, at: usize, count: usize) -> Option<i32> {
        (at..at + count).try_fold(0, |number, at| {
            let digit = self.byte(at);
            digit.is_ascii_digit().then(|| number * 10 + i32::from(digit - b'0'))
        })
    }
}

fn parse(text: &str) -> Option<ParsedTime> {
    if text.chars().take(7).count() < 7 {
        return None;
    }
    let text = NulTerminated(text.as_bytes());
    let end = text.0.len();
    let separator = date_end(text)?;
    let date = parse_date(text, separator)?;
    if end.saturating_sub(separator) <= 1 {
        return Some(ParsedTime { date, micros: 0, offset: None });
    }
    let width = match text.byte(separator) {
        0..0x80 => 1,
        lead if lead & 0xF0 == 0xE0 => 3,
        lead if lead & 0xF0 == 0xF0 => 4,
        _ => 2,
    };
    let start = separator + width;
    let (time, offset) = parse_time_and_offset(text, start, end)?;
    if time.hour > 23 || time.minute > 59 || time.second > 59 {
        return None;
    }
    Some(ParsedTime { date, micros: time.micros(), offset })
}

/// Returns the offset where the date ends.
fn date_end(text: NulTerminated<'_>) -> Option<usize> {
    let end = text.0.len();
    if end == 7 {
        return Some(7);
    }
    match (text.byte(4), text.byte(5)) {
        (b'-', b'W') if end < 8 => None,
        (b'-', b'W') if end > 8 && text.byte(8) == b'-' => match end {
            9 => None,
            // A dash before two digits is the sign of an offset; before one digit it belongs to the day of the week.
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

fn parse_date(text: NulTerminated<'_>, end: usize) -> Option<CivilDate> {
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
        return date_from_iso_week(year, week, day);
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

/// Returns the date that many days after 1970-01-01, if it lies within the years 1 to 9999.
fn date_from_days(days: i64) -> Option<CivilDate> {
    CivilDate::from_days(days).filter(|date| date.year > 0)
}

/// Returns the date of a day in an ISO week.
fn date_from_iso_week(year: i32, week: i32, day: i32) -> Option<CivilDate> {
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
    date_from_days(monday + i64::from((week - 1) * 7 + day - 1))
}

/// Hours, minutes, seconds and microseconds.
#[derive(Default)]
struct TimeOfDay {
    hour: i32,
    minute: i32,
    second: i32,
    fraction: i32,
}

impl TimeOfDay {
    fn seconds(&self) -> i64 {
        i64::from(self.hour * 3600 + self.minute * 60 + self.second)
    }

    fn micros(&self) -> i64 {
        self.seconds() * MICROS_PER_SECOND + i64::from(self.fraction)
    }
}

fn parse_time_and_offset(
    text: NulTerminated<'_>,
    start: usize,
    end: usize,
) -> Option<(TimeOfDay, Option<i64>)> {
    // CPython looks at one byte at least.
    let is_zone = |at: &usize| matches!(text.byte(*at), b'+' | b'-' | b'Z');
    let zone = (start..end.max(start + 1)).find(is_zone).unwrap_or(end.max(start + 1));
    let (clock, has_more) = parse_time_of_day(text, start, zone)?;
    if zone >= end {
        return (!has_more).then_some((clock, None));
    }
    if text.byte(zone) == b'Z' {
        return (text.byte(zone + 1) == 0).then_some((clock, Some(0)));
    }
    let (offset, has_more) = self::parse_time_of_day(text, zone + 1, end)?;
    // An offset of zero whole seconds is UTC, whatever its fraction.
    let micros = if offset.seconds() == 0 { 0 } else { offset.micros() };
    let is_good = !has_more && micros < MICROS_PER_DAY;
    is_good.then(|| (clock, Some(if text.byte(zone) == b'-' { -micros } else { micros })))
}

/// Parses `HH[:MM[:SS[.f]]]`, or the same without colons; returns also true if something is left behind it.
fn parse_time_of_day(text: NulTerminated<'_>, start: usize, end: usize) -> Option<(TimeOfDay, bool)> {
    let mut clock = TimeOfDay::default();
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
            // Unchanged.
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
            assert_eq!(normalized(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-00:01"] {
            assert_eq!(normalized(text), Err(RpkTimeOutOfRange), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_spelling_is_its_own(text in "[0-9W]{4}-?[0-9W]{1,3}-?[0-9]{0,2}[T ]?[0-9:.,]{0,12}[-+Z]?[0-9:]{0,6}Z?") {
            if let Ok(normal) = super::normalized(&text) {
                prop_assert_eq!(super::normalized(&normal), Ok(normal.clone()));
            }
        }

        #[test]
        fn the_short_cut_agrees(text in "[0-2][0-9]{3}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]\\.[0-9]{6}Z") {
            if is_normalized(text.as_bytes()) {
                prop_assert_eq!(super::normalized(&text), Ok(text.clone()));
            } else {
                // The text is then not a time at all.
                prop_assert!(parse(&text.replace('Z', "+00:00")).is_none(), "{}", text);
            }
        }

        #[test]
        fn any_text_is_answered(text in any::<String>()) {
            let _ = super::normalized(&text);
        }
    }
}
