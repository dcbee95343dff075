//! [`MappedText`]: decoded text that maps back to the bytes it was decoded from.
//!
//! A secret may be spelled with escapes, or be cut into pieces that lie apart. The search runs over
//! the decoded and joined text; masks are applied to the spans of the source.

use crate::escape;
use core::ops::Range;
use memchr::memchr;

/// Text that was put together from pieces of a source.
#[derive(Default)]
pub(crate) struct MappedText {
    /// Decoded bytes.
    pub(crate) text: Vec<u8>,
    /// Origins of the decoded bytes, in order; each reaches to the start of the next.
    runs: Vec<MappedRun>,
}

/// Bytes of the text that come from one place of the source.
struct MappedRun {
    /// Offset of the run in the text.
    text_start: usize,
    /// Offset of the run in the source, or [`NO_SOURCE`].
    source_start: usize,
    /// Length in the source of an escape, which is masked whole or not at all; 0 for bytes that
    /// stand for themselves.
    escape_length: usize,
}

/// Source offset of bytes that are in no source.
const NO_SOURCE: usize = usize::MAX;

impl MappedText {
    /// Empties the text and keeps its allocations.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.runs.clear();
    }

    /// Appends bytes that stand for themselves, found at `source`.
    pub(crate) fn push_plain(&mut self, bytes: &[u8], source: usize) {
        if !bytes.is_empty() {
            self.runs.push(MappedRun { text_start: self.text.len(), source_start: source, escape_length: 0 });
            self.text.extend_from_slice(bytes);
        }
    }

    /// Appends the bytes that an escape of `length` bytes at `source` stands for.
    pub(crate) fn push_escaped(&mut self, bytes: &[u8], source: usize, length: usize) {
        self.runs.push(MappedRun {
            text_start: self.text.len(),
            source_start: source,
            escape_length: length,
        });
        self.text.extend_from_slice(bytes);
    }

    /// Appends a NUL that is not in the source. No secret contains it, so no finding spans it.
    pub(crate) fn push_separator(&mut self) {
        self.runs.push(MappedRun { text_start: self.text.len(), source_start: NO_SOURCE, escape_length: 0 });
        self.text.push(0);
    }

    /// Returns the source spans of a span of the text, in order; adjacent ones are joined.
    pub(crate) fn source_spans(&self, span: &Range<usize>) -> Vec<Range<usize>> {
        let mut spans: Vec<Range<usize>> = Vec::new();
        let first = self.runs.partition_point(|run| run.text_start <= span.start).saturating_sub(1);
        for (at, run) in self.runs.iter().enumerate().skip(first) {
            if run.text_start >= span.end {
                break;
            }
            if run.source_start == NO_SOURCE {
                continue;
            }
            let end = self.runs.get(at + 1).map_or(self.text.len(), |next| next.text_start);
            let (from, to) = (span.start.max(run.text_start), span.end.min(end));
            let source_span = match run.escape_length {
                0 => run.source_start + (from - run.text_start)..run.source_start + (to - run.text_start),
                length => run.source_start..run.source_start + length,
            };
            match spans.last_mut() {
                Some(last) if last.end == source_span.start => last.end = source_span.end,
                _ if source_span.is_empty() => {}
                _ => spans.push(source_span),
            }
        }
        spans
    }
}

/// Decodes the JSON escapes of a text wherever they stand, inside of strings or not. `None` if the
/// text has no backslash.
pub(crate) fn unescape_json(text: &[u8]) -> Option<MappedText> {
    memchr(b'\\', text).is_some().then(|| {
        let mut reading = MappedText { text: Vec::with_capacity(text.len()), runs: Vec::new() };
        escape::unescape_into(text, 0, &mut reading);
        reading
    })
}

/// Decodes the percent-encoding of a text. An ampersand ends a field, and so stands as a line's end: what is read as a list in one
/// field does not go on in the next.
pub(crate) fn decode_percent(text: &[u8]) -> MappedText {
    decode_fields(text, |byte| (byte == b'&').then_some(b'\n'))
}

/// Decodes the percent-encoding of a text in which every value of a field is a line of its own, as `text=password%3A+…` has it: a
/// value may begin with the name of a secret. A plus is a blank.
pub(crate) fn decode_values(text: &[u8]) -> MappedText {
    decode_fields(text, |byte| match byte {
        b'&' | b'=' => Some(b'\n'),
        b'+' => Some(b' '),
        _ => None,
    })
}

/// Decodes a form (`a=1&b=two+words`): percent-encoding, and a blank for each plus. `None` if the text is no form or has no
/// plus.
pub(crate) fn decode_form(text: &[u8]) -> Option<MappedText> {
    // Every byte that is not in a form ends the look at once, as the first one of JSON does.
    let is_form = text.iter().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'{' | b'<'));
    if !is_form || memchr(b'+', text).is_none() || memchr(b'=', text).is_none() {
        return None;
    }
    Some(decode_fields(text, |byte| match byte {
        b'&' => Some(b'\n'),
        b'+' => Some(b' '),
        _ => None,
    }))
}

/// Decodes the percent-encoding of a text, and replaces the bytes for which `stand_in` gives another one.
fn decode_fields(text: &[u8], stand_in: impl Fn(u8) -> Option<u8>) -> MappedText {
    let mut reading = MappedText { text: Vec::with_capacity(text.len()), runs: Vec::new() };
    let mut from = 0;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let decoded = match byte {
            b'%' => escape::percent_byte(text, at).map(|byte| (byte, 3)),
            _ => stand_in(byte).map(|byte| (byte, 1)),
        };
        let Some((decoded, length)) = decoded else {
            at += 1;
            continue;
        };
        reading.push_plain(text.get(from..at).unwrap_or_default(), from);
        reading.push_escaped(&[decoded], at, length);
        at += length;
        from = at;
    }
    reading.push_plain(text.get(from..).unwrap_or_default(), from);
    reading
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "places are compared with lists of one")]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_pieces() {
        let mut reading = MappedText::default();
        reading.push_plain(b"abc", 10);
        reading.push_escaped(b"d", 13, 6);
        reading.push_plain(b"ef", 19);
        reading.push_plain(b"gh", 40);
        assert_eq!(reading.text, b"abcdefgh");
        assert_eq!(reading.source_spans(&(0..3)), [10..13]);
        assert_eq!(reading.source_spans(&(1..5)), [11..20]);
        assert_eq!(reading.source_spans(&(3..4)), [13..19]);
        assert_eq!(reading.source_spans(&(5..7)), [20..21, 40..41]);
        assert_eq!(reading.source_spans(&(0..8)), [10..21, 40..42]);
        reading.push_separator();
        reading.push_plain(b"i", 50);
        assert_eq!(reading.source_spans(&(7..10)), [41..42, 50..51]);
    }

    #[test]
    fn percent_signs_are_resolved_where_they_are_some() {
        assert_eq!(decode_percent(b"a=%2F&b").text, b"a=/\nb");
        assert_eq!(decode_values(b"a=%3D+c&b%26").text, b"a\n= c\nb&");
        let reading = decode_percent(b"a%2Fb%zz%2f%");
        assert_eq!(reading.text, b"a/b%zz/%");
        assert_eq!(reading.source_spans(&(1..2)), [1..4]);
        assert_eq!(reading.source_spans(&(0..8)), [0..12]);
        assert_eq!(reading.source_spans(&(6..7)), [8..11]);
    }

    #[test]
    fn a_plus_is_a_blank_in_a_form_alone() {
        let reading = decode_form(b"a=b+c%2Bd%&e=+").unwrap();
        assert_eq!(reading.text, b"a=b c+d%\ne= ");
        assert_eq!(reading.source_spans(&(3..6)), [3..8]);
        for text in [&b"a=b%20c"[..], b"1+1", b"a=1 + 2", br#"{"a":"b=c+d"}"#] {
            assert!(decode_form(text).is_none());
        }
    }

    #[test]
    fn what_has_no_escape_reads_as_it_is() {
        assert!(unescape_json(b"plain \" text").is_none());
    }
}
