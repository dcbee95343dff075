//! Syntax of timestamps. Their values are never judged: a clock proves nothing, the chain orders events (§10.2).

use reenact_json::civil::CivilDate;

/// Returns true for `YYYY-MM-DDTHH:MM:SS.f+Z`: fractional seconds and the letter Z, as §4.1 asks of events.
pub fn is_event_timestamp(text: &[u8]) -> bool {
    let Some((seconds, fraction)) = text.split_at_checked(19) else { return false };
    let [b'.', digits @ .., b'Z'] = fraction else { return false };
    matches_pattern(seconds, b"dddd-dd-ddTdd:dd:dd")
        && !digits.is_empty()
        && digits.iter().all(u8::is_ascii_digit)
}

/// Returns true for a date and time of RFC 3339 §5.6, in any offset. Ranges of the numbers are checked, but not the
/// length of the month.
pub fn is_rfc3339(text: &[u8]) -> bool {
    let text = text.to_ascii_uppercase();
    let Some((seconds, rest)) = text.split_at_checked(19) else { return false };
    let rest = match rest {
        [b'.', digits @ ..] => {
            let end = digits.iter().position(|digit| !digit.is_ascii_digit()).unwrap_or(digits.len());
            if end == 0 {
                return false;
            }
            &digits[end..]
        }
        rest => rest,
    };
    let offset_fits = match rest {
        b"Z" => true,
        [b'+' | b'-', offset @ ..] => {
            matches_pattern(offset, b"dd:dd") && two_digits(offset, 0) <= 23 && two_digits(offset, 3) <= 59
        }
        _ => false,
    };
    offset_fits
        && matches_pattern(seconds, b"dddd-dd-ddTdd:dd:dd")
        && (1..=12).contains(&two_digits(seconds, 5))
        && (1..=31).contains(&two_digits(seconds, 8))
        && two_digits(seconds, 11) <= 23
        && two_digits(seconds, 14) <= 59
        && two_digits(seconds, 17) <= 60
}

/// Parses an RFC 3339 text as nanoseconds since 1970; `None` if the text is not one, or names a day that does not
/// exist.
///
/// A leap second counts as the second after it; fractions finer than a nanosecond are truncated.
pub fn instant(text: &str) -> Option<i128> {
    if !is_rfc3339(text.as_bytes()) {
        return None;
    }
    let bytes = text.as_bytes();
    let year = text.get(..4)?.parse().ok()?;
    let date = CivilDate { year, month: two_digits(bytes, 5).into(), day: two_digits(bytes, 8).into() };
    if !date.is_valid() {
        return None;
    }
    let seconds = 3600 * i128::from(two_digits(bytes, 11))
        + 60 * i128::from(two_digits(bytes, 14))
        + i128::from(two_digits(bytes, 17));
    let rest = bytes.get(19..)?;
    let fraction: Vec<u8> = rest.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).copied().collect();
    let fraction = if rest.first() == Some(&b'.') { fraction } else { Vec::new() };
    let nanoseconds = fraction
        .iter()
        .chain([b'0'; 9].iter())
        .take(9)
        .fold(0, |sum, digit| sum * 10 + i128::from(digit - b'0'));
    let offset = match rest.get(if fraction.is_empty() { 0 } else { fraction.len() + 1 }..)? {
        [sign @ (b'+' | b'-'), offset @ ..] => {
            let minutes = 60 * i128::from(two_digits(offset, 0)) + i128::from(two_digits(offset, 3));
            if *sign == b'+' { minutes } else { -minutes }
        }
        _ => 0,
    };
    Some((i128::from(date.days()) * 86_400 + seconds - offset * 60) * 1_000_000_000 + nanoseconds)
}

/// Returns true if the text has the pattern's length, a digit for each `d`, and the same byte elsewhere.
fn matches_pattern(text: &[u8], pattern: &[u8]) -> bool {
    text.len() == pattern.len()
        && text
            .iter()
            .zip(pattern)
            .all(|(byte, mark)| if *mark == b'd' { byte.is_ascii_digit() } else { byte == mark })
}

/// Returns two digits as a number.
fn two_digits(text: &[u8], at: usize) -> u8 {
    let digit = |at: usize| text.get(at).map_or(0, |digit| digit.wrapping_sub(b'0'));
    digit(at).wrapping_mul(10).wrapping_add(digit(at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_timestamps() {
        for good in ["2026-05-13T12:34:56.789Z", "2026-05-13T12:34:56.7Z", "0000-99-99T99:99:99.123456789Z"] {
            assert!(is_event_timestamp(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "2026-05-13T12:34:56Z",
            "2026-05-13T12:34:56.Z",
            "2026-05-13T12:34:56.7",
            "2026-05-13T12:34:56.7z",
            "2026-05-13 12:34:56.7Z",
            "2026-05-13T12:34:56.7+00:00",
            "2026-05-13T12:34:56.7Z\n",
            "2026-05-13T12:34:56.7éZ",
            "２026-05-13T12:34:56.7Z",
        ] {
            assert!(!is_event_timestamp(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn instants() {
        const SECOND: i128 = 1_000_000_000;
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00.000000001Z", 1),
            ("1969-12-31T23:59:59.5Z", -SECOND / 2),
            ("2000-02-29T00:00:00Z", 951_782_400 * SECOND),
            ("2026-11-15T20:02:26Z", 1_794_772_946 * SECOND),
            ("2026-11-15T22:02:26.25+02:00", 1_794_772_946 * SECOND + SECOND / 4),
            ("2026-11-15T14:32:26-05:30", 1_794_772_946 * SECOND),
            ("2016-12-31T23:59:60Z", 1_483_228_800 * SECOND),
            ("0001-01-01T00:00:00Z", -62_135_596_800 * SECOND),
        ] {
            assert_eq!(instant(text), Some(expected), "{text}");
        }
        for none in ["2026-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "1900-02-29T00:00:00Z", "now", ""] {
            assert_eq!(instant(none), None, "{none}");
        }
    }

    #[test]
    fn rfc3339() {
        for good in [
            "2026-05-13T12:34:56Z",
            "2026-05-13t12:34:56.5z",
            "2026-02-31T23:59:60+23:59",
            "2026-05-13T12:34:56.123-00:00",
        ] {
            assert!(is_rfc3339(good.as_bytes()), "{good}");
        }
        for bad in [
            "tomorrow",
            "2026-05-13",
            "2026-13-13T12:34:56Z",
            "2026-00-13T12:34:56Z",
            "2026-05-32T12:34:56Z",
            "2026-05-13T24:00:00Z",
            "2026-05-13T12:60:00Z",
            "2026-05-13T12:00:61Z",
            "2026-05-13T12:34:56",
            "2026-05-13T12:34:56.Z",
            "2026-05-13T12:34:56+24:00",
            "2026-05-13T12:34:56+0000",
            "2026-05-13 12:34:56Z",
        ] {
            assert!(!is_rfc3339(bad.as_bytes()), "{bad}");
        }
    }
}
