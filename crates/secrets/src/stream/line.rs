//! The lines of a stream that carry data: `data:` of server-sent events, and JSON a line.

use core::ops::Range;
use memchr::{memchr, memchr2};

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// Data of an event: where it lies.
    Data(Range<usize>),
    /// Nothing: an event ends here.
    End,
}

/// How far the first line of JSON a line may reach: bodies of one line are not looked through to their end.
const FIRST_LINE: usize = 64 << 10;

/// Whether a text is a stream of events, by how it begins.
pub(crate) fn is_stream(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let start = text.iter().take_while(|byte| matches!(byte, b'\n' | b'\r' | b' ')).count();
    let text = text.get(start..).unwrap_or_default();
    match text.first() {
        Some(b'{') => {
            let head = text.get(..text.len().min(FIRST_LINE)).unwrap_or_default();
            let end = memchr(b'\n', head).unwrap_or(head.len());
            let next = text.get(end..).unwrap_or_default().trim_ascii_start();
            end < head.len() && head[..end].trim_ascii_end().ends_with(b"}") && next.starts_with(b"{")
        }
        Some(b'd' | b'e' | b'i' | b'r' | b':') => {
            let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
            fields.iter().any(|field| text.starts_with(field))
        }
        _ => false,
    }
}

/// The lines with data, and the ends of events. A line ends with LF, CR or both.
pub(super) fn each(text: &[u8], mut take: impl FnMut(Line)) {
    let mut from = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    while from < text.len() {
        let rest = text.get(from..).unwrap_or_default();
        let line = rest.get(..memchr2(b'\n', b'\r', rest).unwrap_or(rest.len())).unwrap_or_default();
        let end = from + line.len();
        if let Some(data) = line.strip_prefix(b"data:") {
            let blank = usize::from(data.starts_with(b" "));
            take(Line::Data(from + 5 + blank..end));
        } else if line.is_empty() {
            take(Line::End);
        } else if line.starts_with(b"{") {
            take(Line::Data(from..end));
            take(Line::End);
        }
        let is_both = text.get(end..end + 2) == Some(b"\r\n");
        from = end + if is_both { 2 } else { 1 };
    }
    take(Line::End);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_stream() {
        for text in [
            "data: x",
            "\n\nevent: a\ndata: b",
            ": ping\n\n",
            "\u{feff}id: 1",
            "{\"a\":1}\r\n{\"b\":2}",
            "retry: 9",
        ] {
            assert!(is_stream(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "{}",
            "{\"a\":1}\n",
            "{\n  \"a\": 1\n}\n{",
            "dataset",
            "[1]\n[2]",
            "hello\ndata: x",
            "{\"a\":1}\n\n x",
        ] {
            assert!(!is_stream(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn lines_end_in_three_ways() {
        let text = b": c\r\ndata: a\r\ndata:b\n\nevent: e\rdata\r\rdata:  c";
        let mut lines = Vec::new();
        each(text, |line| {
            lines.push(match line {
                Line::Data(span) => String::from_utf8(text[span].to_vec()).unwrap(),
                Line::End => "|".into(),
            });
        });
        assert_eq!(lines, ["a", "b", "|", "|", " c", "|"]);
    }
}
