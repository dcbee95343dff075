//! A text as it reads, and where each of its bytes came from.
//!
//! A secret may be spelled with escapes, or be cut into pieces that lie apart. It is looked for in what the pieces say together;
//! what is masked are the places in the source.

use crate::escape;
use core::ops::Range;
use memchr::memchr;

/// What a source says, put together from pieces of it.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) text: Vec<u8>,
    runs: Vec<Run>,
}

/// Bytes of the text that came from one place.
struct Run {
    /// Where it begins in the text.
    at: usize,
    /// Where it begins in the source.
    source: usize,
    /// Of an escape, how long it is in the source: it is taken whole or not at all. Zero for bytes that stand for themselves.
    escape: usize,
}

/// The source of what is in no source.
const NOWHERE: usize = usize::MAX;

impl Reading {
    /// Forgets all, and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.runs.clear();
    }

    /// Appends bytes that stand for themselves.
    pub(crate) fn plain(&mut self, bytes: &[u8], source: usize) {
        if !bytes.is_empty() {
            self.runs.push(Run { at: self.text.len(), source, escape: 0 });
            self.text.extend_from_slice(bytes);
        }
    }

    /// Appends what an escape of that length stands for.
    pub(crate) fn escaped(&mut self, bytes: &[u8], source: usize, length: usize) {
        self.runs.push(Run { at: self.text.len(), source, escape: length });
        self.text.extend_from_slice(bytes);
    }

    /// Appends a byte that is not in the source, and that no secret has.
    pub(crate) fn separator(&mut self) {
        self.runs.push(Run { at: self.text.len(), source: NOWHERE, escape: 0 });
        self.text.push(0);
    }

    /// The places in the source that a span of the text came from, in order; neighbours are one.
    pub(crate) fn places(&self, span: &Range<usize>) -> Vec<Range<usize>> {
        let mut places: Vec<Range<usize>> = Vec::new();
        let first = self.runs.partition_point(|run| run.at <= span.start).saturating_sub(1);
        for (at, run) in self.runs.iter().enumerate().skip(first) {
            if run.at >= span.end {
                break;
            }
            if run.source == NOWHERE {
                continue;
            }
            let end = self.runs.get(at + 1).map_or(self.text.len(), |next| next.at);
            let (from, to) = (span.start.max(run.at), span.end.min(end));
            let place = match run.escape {
                0 => run.source + (from - run.at)..run.source + (to - run.at),
                length => run.source..run.source + length,
            };
            match places.last_mut() {
                Some(last) if last.end == place.start => last.end = place.end,
                _ if place.is_empty() => {}
                _ => places.push(place),
            }
        }
        places
    }
}

/// A text with the escapes of JSON resolved, wherever they stand: as a reader of its strings would see it. `None` if there are none.
pub(crate) fn unescaped(text: &[u8]) -> Option<Reading> {
    memchr(b'\\', text).is_some().then(|| {
        let mut reading = Reading { text: Vec::with_capacity(text.len()), runs: Vec::new() };
        escape::resolve(text, 0, &mut reading);
        reading
    })
}

/// A text with the percent signs of a URL resolved.
pub(crate) fn from_url(text: &[u8]) -> Reading {
    let mut reading = Reading { text: Vec::with_capacity(text.len()), runs: Vec::new() };
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| memchr(b'%', rest)) {
        let percent = from + at;
        let Some(byte) = escape::percent(text, percent) else {
            reading.plain(&text[from..=percent], from);
            from = percent + 1;
            continue;
        };
        reading.plain(&text[from..percent], from);
        reading.escaped(&[byte], percent, 3);
        from = percent + 3;
    }
    reading.plain(text.get(from..).unwrap_or_default(), from);
    reading
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "places are compared with lists of one")]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_pieces() {
        let mut reading = Reading::default();
        reading.plain(b"abc", 10);
        reading.escaped(b"d", 13, 6);
        reading.plain(b"ef", 19);
        reading.plain(b"gh", 40);
        assert_eq!(reading.text, b"abcdefgh");
        assert_eq!(reading.places(&(0..3)), [10..13]);
        assert_eq!(reading.places(&(1..5)), [11..20]);
        assert_eq!(reading.places(&(3..4)), [13..19]);
        assert_eq!(reading.places(&(5..7)), [20..21, 40..41]);
        assert_eq!(reading.places(&(0..8)), [10..21, 40..42]);
        reading.separator();
        reading.plain(b"i", 50);
        assert_eq!(reading.places(&(7..10)), [41..42, 50..51]);
    }

    #[test]
    fn percent_signs_are_resolved_where_they_are_some() {
        let reading = from_url(b"a%2Fb%zz%2f%");
        assert_eq!(reading.text, b"a/b%zz/%");
        assert_eq!(reading.places(&(1..2)), [1..4]);
        assert_eq!(reading.places(&(0..8)), [0..12]);
        assert_eq!(reading.places(&(6..7)), [8..11]);
    }

    #[test]
    fn what_has_no_escape_reads_as_it_is() {
        assert!(unescaped(b"plain \" text").is_none());
    }
}
