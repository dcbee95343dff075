//! The syntax of timestamps. Their values are never judged: a clock proves nothing, the chain orders events (§10.2).

/// `YYYY-MM-DDTHH:MM:SS.f+Z`: fractional seconds and the letter Z, as §4.1 asks of events.
pub fn is_event_timestamp(text: &[u8]) -> bool {
    let Some((seconds, fraction)) = text.split_at_checked(19) else { return false };
    let [b'.', digits @ .., b'Z'] = fraction else { return false };
    fits(seconds, b"dddd-dd-ddTdd:dd:dd") && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// A date and time of RFC 3339 §5.6, in any offset. Ranges are checked digit by digit, not the length of the month.
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
        [b'+' | b'-', offset @ ..] => fits(offset, b"dd:dd") && two(offset, 0) <= 23 && two(offset, 3) <= 59,
        _ => false,
    };
    offset_fits
        && fits(seconds, b"dddd-dd-ddTdd:dd:dd")
        && (1..=12).contains(&two(seconds, 5))
        && (1..=31).contains(&two(seconds, 8))
        && two(seconds, 11) <= 23
        && two(seconds, 14) <= 59
        && two(seconds, 17) <= 60
}

/// Whether the text has the pattern's length, a digit for each `d`, and the same byte elsewhere.
fn fits(text: &[u8], pattern: &[u8]) -> bool {
    text.len() == pattern.len()
        && text
            .iter()
            .zip(pattern)
            .all(|(byte, mark)| if *mark == b'd' { byte.is_ascii_digit() } else { byte == mark })
}

/// Two digits as a number.
fn two(text: &[u8], at: usize) -> u8 {
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
