//! Decoding of JSON escapes and of percent-encoding.

use crate::mapped_text::MappedText;
use memchr::memchr;

/// Returns true if the escape at a backslash stands for a byte that could be part of a secret:
/// `\u0073` for `s`, `\/` for `/`.
///
/// Characters that writers escape for the sake of HTML (`&`, `<`, `>`) are in no secret, so they do
/// not count.
pub(crate) fn hides_secret_byte(text: &[u8], backslash: usize) -> bool {
    match text.get(backslash + 1) {
        Some(b'/') => true,
        Some(b'u') => {
            let unit = text.get(backslash + 2..backslash + 6).and_then(hex_unit);
            unit.is_some_and(|unit| (0x21..0x7f).contains(&unit) && ![0x26, 0x3c, 0x3e].contains(&unit))
        }
        _ => false,
    }
}

/// Appends the content of a JSON string with its escapes decoded. A backslash that begins no escape
/// stands for itself.
///
/// `offset` is where `text` begins in the source.
pub(crate) fn unescape_into(text: &[u8], offset: usize, reading: &mut MappedText) {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| memchr(b'\\', rest)) {
        let backslash = from + at;
        let mut buffer = [0; 4];
        let Some((length, decoded)) = parse_escape(text, backslash, &mut buffer) else {
            reading.push_plain(&text[from..=backslash], offset + from);
            from = backslash + 1;
            continue;
        };
        reading.push_plain(&text[from..backslash], offset + from);
        reading.push_escaped(decoded, offset + backslash, length);
        from = backslash + length;
    }
    reading.push_plain(text.get(from..).unwrap_or_default(), offset + from);
}

/// Decodes the escapes of a text up to [`MAX_NESTING`] times: all spellings of a secret get one
/// form, and so one number.
pub(crate) fn fully_unescaped(text: Vec<u8>) -> Vec<u8> {
    let mut text = text;
    for _ in 0..MAX_NESTING {
        if !text.contains(&b'\\') {
            break;
        }
        let mut reading = MappedText::default();
        unescape_into(&text, 0, &mut reading);
        text = reading.text;
    }
    text
}

/// Largest depth of JSON strings inside JSON strings that is decoded.
pub(crate) const MAX_NESTING: usize = 3;

/// Returns the length of the escape at a backslash, and the bytes that it stands for; `None` if it
/// is no escape.
fn parse_escape<'b>(text: &[u8], backslash: usize, buffer: &'b mut [u8; 4]) -> Option<(usize, &'b [u8])> {
    let (length, character) = match text.get(backslash + 1)? {
        byte @ (b'"' | b'\\' | b'/') => (2, char::from(*byte)),
        b'n' => (2, '\n'),
        b'r' => (2, '\r'),
        b't' => (2, '\t'),
        b'b' => (2, '\u{8}'),
        b'f' => (2, '\u{c}'),
        b'u' => {
            let first = hex_unit(text.get(backslash + 2..backslash + 6)?)?;
            let second = || match text.get(backslash + 6..backslash + 12)? {
                [b'\\', b'u', digits @ ..] => hex_unit(digits),
                _ => None,
            };
            let units = [first, second().filter(|_| (0xd800..0xdc00).contains(&first)).unwrap_or(0)];
            match char::decode_utf16(units).next()? {
                Ok(character) => (if character.len_utf16() == 2 { 12 } else { 6 }, character),
                Err(_) => (6, char::REPLACEMENT_CHARACTER),
            }
        }
        _ => return None,
    };
    let decoded: &[u8] = character.encode_utf8(buffer).as_bytes();
    Some((length, decoded))
}

/// Parses four hexadecimal digits, a UTF-16 unit.
fn hex_unit(digits: &[u8]) -> Option<u16> {
    let digits: &[u8; 4] = digits.try_into().ok()?;
    digits.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some((unit << 4) | u16::try_from(digit).ok()?)
    })
}

/// Returns the byte that a percent sign with two hexadecimal digits at `at` stands for.
pub(crate) fn percent_byte(text: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    match (text.get(at), digit(at + 1), digit(at + 2)) {
        (Some(b'%'), Some(high), Some(low)) => u8::try_from(high << 4 | low).ok(),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "places are compared with lists of one")]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved_and_others_stand() {
        let mut reading = MappedText::default();
        unescape_into(br#"a\u0073\/\"\\\n\ud83d\ude00\ud83d\x\u12"#, 100, &mut reading);
        assert_eq!(String::from_utf8(reading.text.clone()).unwrap(), "as/\"\\\n😀\u{fffd}\\x\\u12");
        assert_eq!(reading.source_spans(&(1..2)), [101..107]);
        // A character is masked whole.
        assert_eq!(reading.source_spans(&(7..8)), [115..127]);
    }

    #[test]
    fn what_hides_something() {
        for (text, expected) in [
            (&br"\u0073"[..], true),
            (br"\u002B", true),
            (br"\u002b", true),
            (br"\/", true),
            (br"\u003c", false),
            (br"\u0026", false),
            (br"\u00e9", false),
            (br"\u0020", false),
            (br"\u007f", false),
            (br"\n", false),
            (br"\u00", false),
            (br"\", false),
        ] {
            assert_eq!(hides_secret_byte(text, 0), expected, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn one_spelling_for_all() {
        for spelled in [&br"sk-a/b"[..], br"s\u006b-a\/b", br"s\\u006b-a\\/b", br"s\\\\u006b-a/b"] {
            assert_eq!(fully_unescaped(spelled.to_vec()), b"sk-a/b");
        }
    }
}
