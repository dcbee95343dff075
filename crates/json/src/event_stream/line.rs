//! Lines of a stream and their fields.

use core::ops::Range;
use memchr::{memchr, memchr2};

/// Mark that may stand before the first line, and is no part of it.
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// Longest first line by which JSON lines are recognised, in bytes: a body of one line is not looked through to its end.
const MAX_FIRST_LINE: usize = 64 << 10;

/// A line of a stream that is there as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamLine {
    /// Data of an event: its place in the text, without the field's name.
    Data(Range<usize>),
    /// End of an event: a blank line, the end of a JSON line, or the end of the text.
    End,
}

/// Returns true if a text begins as server-sent events or as JSON lines do.
pub fn is_stream(text: &[u8]) -> bool {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let start = text.iter().take_while(|byte| matches!(byte, b'\n' | b'\r' | b' ')).count();
    let text = text.get(start..).unwrap_or_default();
    match text.first() {
        Some(b'{') => {
            let head = text.get(..text.len().min(MAX_FIRST_LINE)).unwrap_or_default();
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

/// Calls `take` with the lines that carry data, and with the ends of events. A `data` field without a colon carries nothing.
pub fn stream_lines(text: &[u8], mut take: impl FnMut(StreamLine)) {
    for line in lines(text) {
        let bytes = text.get(line.clone()).unwrap_or_default();
        if bytes.is_empty() {
            take(StreamLine::End);
        } else if bytes.starts_with(b"{") {
            take(StreamLine::Data(line));
            take(StreamLine::End);
        } else if bytes.starts_with(b"data:") {
            let (_, value) = field(bytes);
            take(StreamLine::Data(line.end - value.len()..line.end));
        }
    }
    take(StreamLine::End);
}

/// Name of the field that carries data.
pub(super) const DATA: &[u8] = b"data";

/// Places of the lines, which end with CR, LF or CRLF, without their ends and without a byte order mark.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut from = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    core::iter::from_fn(move || {
        let rest = text.get(from..).filter(|rest| !rest.is_empty())?;
        let length = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = from..from + length;
        let is_both = rest.get(length..length + 2) == Some(b"\r\n");
        from = line.end + if is_both { 2 } else { 1 };
        Some(line)
    })
}

/// Splits a line into its field's name and value (HTML, section 9.2.6). The name of a comment is empty.
pub(super) fn field(line: &[u8]) -> (&[u8], &[u8]) {
    let (name, value) = line.split_at(memchr(b':', line).unwrap_or(line.len()));
    let value = value.strip_prefix(b":").unwrap_or(value);
    (name, value.strip_prefix(b" ").unwrap_or(value))
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
        stream_lines(text, |line| {
            lines.push(match line {
                StreamLine::Data(span) => String::from_utf8(text[span].to_vec()).unwrap(),
                StreamLine::End => "|".into(),
            });
        });
        assert_eq!(lines, ["a", "b", "|", "|", " c", "|"]);
    }
}
