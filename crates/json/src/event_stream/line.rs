//! Lines of an event stream and their fields, for streams that are complete in memory.

use core::ops::Range;
use memchr::{memchr, memchr2};

/// UTF-8 byte order mark, which may stand before the first line and is no part of it.
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// Longest first line by which JSON lines are recognised, in bytes. A body of one long line is not searched to its end.
const MAX_FIRST_LINE_BYTES: usize = 64 << 10;

/// Line of a complete stream, as [`for_each_stream_line`] reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamLine {
    /// Data of an event: its byte range in the text, without the name of the field.
    Data(Range<usize>),
    /// End of an event: a blank line, the end of a JSON line, or the end of the text.
    End,
}

/// Returns true if a text begins like server-sent events or like JSON lines. JSON lines need two objects, so that a single
/// document is no stream.
pub fn is_stream(text: &[u8]) -> bool {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let start = text.iter().take_while(|byte| matches!(byte, b'\n' | b'\r' | b' ')).count();
    let text = text.get(start..).unwrap_or_default();
    match text.first() {
        Some(b'{') => {
            let head = text.get(..text.len().min(MAX_FIRST_LINE_BYTES)).unwrap_or_default();
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

/// Calls `on_line` with each line that carries data, and at each end of an event, the end of the text included. A `data` field
/// without a colon carries nothing.
pub fn for_each_stream_line(text: &[u8], mut on_line: impl FnMut(StreamLine)) {
    for line in lines(text) {
        let bytes = text.get(line.clone()).unwrap_or_default();
        if bytes.is_empty() {
            on_line(StreamLine::End);
        } else if bytes.starts_with(b"{") {
            on_line(StreamLine::Data(line));
            on_line(StreamLine::End);
        } else if bytes.starts_with(b"data:") {
            let (_, value) = split_field(bytes);
            on_line(StreamLine::Data(line.end - value.len()..line.end));
        }
    }
    on_line(StreamLine::End);
}

/// Name of the field that carries the data of an event.
pub(super) const DATA_FIELD: &[u8] = b"data";

/// Iterates over the byte ranges of the lines, without their terminators (CR, LF or CRLF) and without a byte order mark.
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

/// Splits a line into name and value of its field (HTML, section 9.2.6). The name of a comment is empty.
pub(super) fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
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
        for_each_stream_line(text, |line| {
            lines.push(match line {
                StreamLine::Data(span) => String::from_utf8(text[span].to_vec()).unwrap(),
                StreamLine::End => "|".into(),
            });
        });
        assert_eq!(lines, ["a", "b", "|", "|", " c", "|"]);
    }
}
