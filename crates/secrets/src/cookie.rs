//! Cookies in texts: `Cookie: a=1; b=2`, `Set-Cookie: a=1; Path=/`, `--cookie a=1`, `document.cookie = "a=1"`.

use crate::assignment::ByteCursor;
use crate::byte_class::DOTTED;
use crate::header::cookie_value_spans;
use crate::mask_mark::MARK_PREFIX;
use crate::value::{is_mixed, is_placeholder_value};
use core::ops::Range;

/// Name of the rule.
pub(crate) const RULE: &str = "cookie";
/// Word that the automaton looks for, in either case.
pub(crate) const WORD: &str = "cookie";
/// Beginnings of names that end in the word, in small letters. Part of the published text of a pack.
pub(crate) const NAME_BEGINNINGS: [&str; 4] = ["", "set-", "--", "document."];

/// Longest list of cookies, in bytes.
const MAX_COOKIES_BYTES: usize = 8192;
/// Shortest value, in bytes.
const MIN_VALUE_BYTES: usize = 8;
/// Shortest value, in bytes, of small letters alone.
const MIN_WORD_BYTES: usize = 20;

/// Returns the values of the cookies that the word at `word` announces.
pub(crate) fn find(bytes: &[u8], word: Range<usize>) -> Vec<Range<usize>> {
    pairs_span(bytes, &word).map_or_else(Vec::new, |(span, is_set)| values_in(bytes, span, is_set))
}

/// Returns the span of `a=1; b=2` behind the word, and true if only the first pair is a cookie.
fn pairs_span(bytes: &[u8], word: &Range<usize>) -> Option<(Range<usize>, bool)> {
    // The mark of a masked cookie holds the word as well.
    if bytes.get(..word.start)?.ends_with(MARK_PREFIX.as_bytes()) {
        return None;
    }
    let behind = DOTTED.run_length_before(bytes, word.start, 12);
    let before = bytes.get(word.start - behind..word.start)?.to_ascii_lowercase();
    // The letters of an escape, as in `\nCookie`, belong to no name.
    let before = match bytes.get(..word.start - behind)? {
        [.., b'\\'] => before.get(1..).unwrap_or_default(),
        _ => &before,
    };
    NAME_BEGINNINGS.iter().find(|beginning| beginning.as_bytes() == before)?;
    let is_set = before == b"set-";
    let mut cursor = ByteCursor { bytes, offset: word.end };
    let quote = cursor.quote();
    let blanks = cursor.skip_blanks(8);
    let is_option = before == b"--";
    let is_assigned = cursor.eat(b":") || cursor.eat(b"=") || (quote.is_some() && cursor.eat(b","));
    if !(is_assigned || is_option && blanks > 0) {
        return None;
    }
    cursor.skip_blanks(8);
    let quoted = cursor.quote();
    let ahead = bytes.get(cursor.offset..)?;
    let ends = |byte: &u8| match quoted {
        Some((_, quote)) => *byte == quote || matches!(byte, b'\\' | b'\n' | b'\r'),
        None => matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b'\n' | b'\r'),
    };
    let length = ahead.iter().take(MAX_COOKIES_BYTES).take_while(|byte| !ends(byte)).count();
    Some((cursor.offset..cursor.offset + length, is_set))
}

/// Returns the values in `a=1; b=2` that may be secret; without a `=` there is none.
pub(crate) fn values_in(bytes: &[u8], span: Range<usize>, is_set: bool) -> Vec<Range<usize>> {
    let Some(text) = bytes.get(span.clone()) else { return Vec::new() };
    let values = cookie_value_spans(text, is_set).into_iter();
    let values = values.filter_map(|value| {
        let is_pair = value.start > 0 && text.get(..value.start)?.trim_ascii_end().ends_with(b"=");
        let value =
            value.start..value.start + text.get(value)?.iter().take_while(|byte| **byte != b' ').count();
        (is_pair && is_plausible(text.get(value.clone())?)).then_some(value)
    });
    values.map(|value| span.start + value.start..span.start + value.end).collect()
}

/// Returns true if a cookie's value may open a session: neither a setting nor a stand-in.
fn is_plausible(value: &[u8]) -> bool {
    value.len() >= MIN_VALUE_BYTES
        && value.iter().all(u8::is_ascii_graphic)
        && !is_placeholder_value(value)
        && (is_mixed(value) || value.iter().any(u8::is_ascii_digit) || value.len() >= MIN_WORD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<&str> {
        let at = text.to_ascii_lowercase().find(WORD).unwrap();
        find(text.as_bytes(), at..at + WORD.len()).into_iter().map(|span| &text[span]).collect()
    }

    #[test]
    fn lists_of_cookies() {
        for (text, expected) in [
            ("Cookie: sid=4fc1b2a9e0; theme=dark; t=Zm9vYmFy", vec!["4fc1b2a9e0", "Zm9vYmFy"]),
            ("set-cookie: sid=4fc1b2a9e0; Path=/a1234567", vec!["4fc1b2a9e0"]),
            (r#"{"Cookie": "sid=4fc1b2a9e0"}"#, vec!["4fc1b2a9e0"]),
            (r#"{"x":"{\"cookie\":\"sid=4fc1b2a9e0\"}"}"#, vec!["4fc1b2a9e0"]),
            (r#"["cookie","sid=4fc1b2a9e0"]"#, vec!["4fc1b2a9e0"]),
            (r"Host: h\r\nCookie: sid=4fc1b2a9e0\r\n", vec!["4fc1b2a9e0"]),
            ("curl -H 'Cookie: sid=4fc1b2a9e0' h", vec!["4fc1b2a9e0"]),
            ("curl --cookie sid=4fc1b2a9e0 h", vec!["4fc1b2a9e0"]),
            ("document.cookie = 'sid=4fc1b2a9e0; path=/'", vec!["4fc1b2a9e0"]),
        ] {
            assert_eq!(values(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_cookie() {
        for text in [
            "Cookie: a small file, version 1.2.3.4.5",
            "cookie = parse_cookie(header1234)",
            "Cookie: name=value",
            "Cookie: sid=<session-id-1>",
            "cookie_name: sid=4fc1b2a9e0",
            "mycookie: sid=4fc1b2a9e0",
            "curl --cookie jar.txt",
            "[masked:cookie:1] https://example.org?a=4fc1b2a9e0",
        ] {
            assert_eq!(values(text), Vec::<&str>::new(), "{text}");
        }
    }
}
