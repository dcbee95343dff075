//! Timestamps as RER events have them: in UTC, with a fraction and the letter Z.

use reenact_formats::rer::time::{instant, is_event_timestamp};
use reenact_json::civil;

/// Returns an RFC 3339 time in the form that events need; `None` if it is no time in the years 0 to 9999, UTC.
pub(crate) fn event_timestamp(text: &str) -> Option<String> {
    let nanoseconds = instant(text)?;
    if is_event_timestamp(text.as_bytes()) {
        return Some(text.to_owned());
    }
    timestamp_of_nanoseconds(nanoseconds)
}

/// Returns the timestamp of a number of nanoseconds since 1970-01-01, with 3 to 9 digits of fraction; `None`
/// beyond the year 9999.
pub(crate) fn timestamp_of_nanoseconds(nanoseconds: i128) -> Option<String> {
    let (seconds, fraction) = (nanoseconds.div_euclid(1_000_000_000), nanoseconds.rem_euclid(1_000_000_000));
    let date_time = civil::date_time(i64::try_from(seconds).ok()?)?;
    let mut fraction = format!("{fraction:09}");
    while fraction.len() > 3 && fraction.ends_with('0') {
        fraction.pop();
    }
    Some(format!("{}.{fraction}Z", String::from_utf8_lossy(&date_time)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn in_utc_with_a_fraction() {
        for (text, expected) in [
            ("2026-02-21T18:30:00Z", Some("2026-02-21T18:30:00.000Z")),
            ("2026-02-21T18:30:00.5Z", Some("2026-02-21T18:30:00.5Z")),
            ("2026-02-21t18:30:00.123456789+02:00", Some("2026-02-21T16:30:00.123456789Z")),
            ("2024-02-29T23:59:59.1-00:30", Some("2024-03-01T00:29:59.100Z")),
            ("1970-01-01T00:00:00+00:01", Some("1969-12-31T23:59:00.000Z")),
            ("yesterday", None),
            ("2026-02-30T00:00:00Z", None),
            ("9999-12-31T23:59:59-00:01", None),
        ] {
            assert_eq!(event_timestamp(text).as_deref(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_moment_stays(nanoseconds in -62_135_596_800_000_000_000_i128..253_402_300_799_000_000_000) {
            let text = timestamp_of_nanoseconds(nanoseconds).unwrap();
            prop_assert!(is_event_timestamp(text.as_bytes()));
            prop_assert_eq!(instant(&text), Some(nanoseconds));
        }
    }
}
