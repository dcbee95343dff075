//! Timestamps as instants, parsed fast: there is one on every line.

use reenact_json::Value;
use reenact_json::civil::{self, CivilDate};

use crate::rer::time;

/// Returns the instant of a timestamp, in nanoseconds since 1970. As the reference does, a space in place of the `T`
/// is accepted, and any UTC offset.
pub fn instant(value: Value<'_>) -> Option<i128> {
    if let Some(seconds) = value.borrowed_string_bytes().and_then(parse_utc_seconds) {
        return Some(i128::from(seconds) * 1_000_000_000);
    }
    let text = value.string()?;
    match text.as_bytes().get(10) {
        Some(b' ') => time::instant(&text.replacen(' ', "T", 1)),
        _ => time::instant(&text),
    }
}

/// Parser of timestamps that caches the last one. Each timestamp is looked at more than once, and neighbouring lines
/// often bear the same one.
#[derive(Debug, Clone, Default)]
pub struct TimestampCache {
    text: Vec<u8>,
    instant: Option<i128>,
}

impl TimestampCache {
    /// Longest literal that is cached, in bytes: a line may hold a timestamp of many megabytes.
    const MAX_CACHED_BYTES: usize = 64;

    /// Returns the instant of a timestamp, as [`instant`] does.
    #[inline]
    pub fn instant(&mut self, value: Value<'_>) -> Option<i128> {
        if value.text().len() > Self::MAX_CACHED_BYTES {
            return instant(value);
        }
        if self.text != value.text() {
            self.instant = instant(value);
            self.text.clear();
            self.text.extend_from_slice(value.text());
        }
        self.instant
    }
}

/// Parses `YYYY-MM-DDTHH:MM:SSZ` on days 1 to 28, which every month has, as seconds since 1970. `None` means only
/// that the slow path must decide.
fn parse_utc_seconds(text: &[u8]) -> Option<i64> {
    let text: &[u8; 20] = text.try_into().ok()?;
    const PATTERN: &[u8; 20] = b"0000-00-00T00:00:00Z";
    let mut fits = true;
    for (byte, mark) in text.iter().zip(PATTERN) {
        fits &= if *mark == b'0' { byte.is_ascii_digit() } else { byte == mark };
    }
    let two = |at: usize| i32::from(text[at] & 15) * 10 + i32::from(text[at + 1] & 15);
    let date = CivilDate { year: two(0) * 100 + two(2), month: two(5), day: two(8) };
    let (hour, minute, second) = (two(11), two(14), two(17));
    if !(fits
        && (1..=12).contains(&date.month)
        && (1..=28).contains(&date.day)
        && hour < 24
        && minute < 60
        && second < 60)
    {
        return None;
    }
    Some(date.days() * civil::SECONDS_PER_DAY + i64::from(hour * 3_600 + minute * 60 + second))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use reenact_json::Limits;

    fn of(text: &str) -> Option<i128> {
        let quoted = format!("\"{text}\"");
        instant(Value::parse(quoted.as_bytes(), &Limits::default()).unwrap())
    }

    #[test]
    fn what_the_reference_takes() {
        let moment = of("2026-01-13T10:00:00Z");
        assert_eq!(moment, Some(1_768_298_400_000_000_000));
        for same in ["2026-01-13 10:00:00Z", "2026-01-13T12:00:00.000+02:00", "2026-01-13T10:00:00+00:00"] {
            assert_eq!(of(same), moment, "{same}");
        }
        for none in ["yesterday", "", "2026-02-30T00:00:00Z", "2026-01-13", "2026-01-13T10:00:00"] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn a_time_is_read_again_only_where_it_differs() {
        let mut clock = TimestampCache::default();
        for text in
            ["2026-01-13T10:00:00Z", "2026-01-13T10:00:00Z", "yesterday", "yesterday", "2026-01-13 10:00:00Z"]
        {
            let quoted = format!("\"{text}\"");
            let value = Value::parse(quoted.as_bytes(), &Limits::default()).unwrap();
            assert_eq!(clock.instant(value), of(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_short_cut_agrees(
            year in 0..10_000_u32, month in 0..14_u32, day in 0..33_u32,
            hour in 0..25_u32, minute in 0..61_u32, second in 0..62_u32,
        ) {
            let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
            prop_assert_eq!(of(&text), time::instant(&text));
        }
    }
}
