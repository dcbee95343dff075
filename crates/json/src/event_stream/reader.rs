//! Incremental reader of server-sent events that loses no byte.
//!
//! A stream arrives in pieces that end anywhere, even inside a character or between CR and LF. The reader reports every byte:
//! the raw texts of its events, concatenated, are the stream, and a rest at the end is an event that is not complete. Start at
//! [`SseReader::push`].

use super::line::{DATA_FIELD, lines, split_field};
use memchr::memchr2;

/// One event of a stream, or the incomplete rest at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// Every byte of the event, with the blank line that ends it.
    pub raw: Vec<u8>,
    /// Value of the `event` field; empty if there is none.
    pub name: String,
    /// Values of the `data` fields, joined by line feeds. `None` without such a field, as for a comment or a lone id.
    pub data: Option<String>,
    /// True if the blank line came. A stream that was cut ends with an incomplete event, on which no client acts.
    pub is_complete: bool,
}

/// Incremental reader of one stream.
#[derive(Debug, Default)]
pub struct SseReader {
    /// Bytes of the event that is not complete yet; empty if the last piece ended with an event.
    pending: Vec<u8>,
    /// Offset in `pending` of the line that has no end yet, and the number of its bytes that were searched for one.
    line_start: usize,
    line_scanned: usize,
}

impl SseReader {
    /// Creates a reader at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece and returns the events that it completes.
    pub fn push(&mut self, piece: &[u8]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        self.for_each_event(piece, |event| events.push(event.to_event(true)));
        events
    }

    /// Takes the next piece and calls `on_event` with each event that it completes, without copying the event.
    pub fn for_each_event(&mut self, piece: &[u8], on_event: impl FnMut(RawSseEvent<'_>)) {
        if self.pending.is_empty() {
            // Most pieces hold whole events, which need not be buffered.
            let progress = visit_events(piece, 0, 0, false, on_event);
            self.pending.extend_from_slice(&piece[progress.events_end..]);
            self.save_progress(&progress);
        } else {
            self.pending.extend_from_slice(piece);
            self.take_complete_events(false, on_event);
        }
    }

    /// Ends the stream and returns the events that only its end completes, then the incomplete rest, if there is one.
    pub fn finish(mut self) -> Vec<SseEvent> {
        let mut events = Vec::new();
        self.take_complete_events(true, |event| events.push(event.to_event(true)));
        if !self.pending.is_empty() {
            events.push(RawSseEvent(&self.pending).to_event(false));
        }
        events
    }

    /// Reports the complete events of the buffer and removes them. The rest moves to the front once, however many they are.
    fn take_complete_events(&mut self, at_end: bool, on_event: impl FnMut(RawSseEvent<'_>)) {
        let progress = visit_events(&self.pending, self.line_start, self.line_scanned, at_end, on_event);
        self.pending.drain(..progress.events_end);
        self.save_progress(&progress);
    }

    fn save_progress(&mut self, progress: &LineProgress) {
        (self.line_start, self.line_scanned) =
            (progress.line_start - progress.events_end, progress.line_scanned);
    }
}

/// Position up to which a buffer was searched.
struct LineProgress {
    /// Offset behind the last complete event.
    events_end: usize,
    /// Offset of the line that has no end yet.
    line_start: usize,
    /// Bytes of that line that were searched for its end. A long line may come in many pieces; none is searched twice.
    line_scanned: usize,
}

/// Calls `on_event` with each complete event of `bytes`. No line before offset `line` is blank, and the first `looked` bytes
/// of that line contain no line end. `at_end` is true if no byte follows.
fn visit_events(
    bytes: &[u8],
    line: usize,
    looked: usize,
    at_end: bool,
    mut on_event: impl FnMut(RawSseEvent<'_>),
) -> LineProgress {
    let mut progress = LineProgress { events_end: 0, line_start: line, line_scanned: looked };
    while let Some(further) = memchr2(b'\r', b'\n', &bytes[progress.line_start + progress.line_scanned..]) {
        let length = progress.line_scanned + further;
        let newline = progress.line_start + length;
        let next = match (bytes[newline], bytes.get(newline + 1)) {
            (b'\r', Some(b'\n')) => newline + 2,
            // A CR may be half of a CRLF: the next byte, or the end of the stream, decides.
            (b'\r', None) if !at_end => {
                progress.line_scanned = length;
                return progress;
            }
            _ => newline + 1,
        };
        (progress.line_start, progress.line_scanned) = (next, 0);
        if length == 0 {
            on_event(RawSseEvent(&bytes[progress.events_end..next]));
            progress.events_end = next;
        }
    }
    progress.line_scanned = bytes.len() - progress.line_start;
    progress
}

/// Bytes of one event, with the blank line that ends it. Its fields are parsed on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawSseEvent<'s>(&'s [u8]);

impl<'s> RawSseEvent<'s> {
    /// Returns the value of the last `event` field; empty if there is none.
    pub fn name(self) -> &'s [u8] {
        self.fields().filter(|(field, _)| *field == b"event").last().map_or(b"", |(_, name)| name)
    }

    /// Iterates over the values of the `data` fields.
    pub fn data(self) -> impl Iterator<Item = &'s [u8]> {
        self.fields().filter(|(field, _)| *field == DATA_FIELD).map(|(_, data)| data)
    }

    /// Copies the event and parses its fields (HTML, section 9.2.6). Ids and retry times say nothing about the answer; comments
    /// and unknown fields are to be ignored.
    fn to_event(self, complete: bool) -> SseEvent {
        let name = String::from_utf8_lossy(self.name()).into_owned();
        let mut data: Option<String> = None;
        for line in self.data() {
            let line = String::from_utf8_lossy(line);
            match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(&line);
                }
                None => data = Some(line.into_owned()),
            }
        }
        SseEvent { name, data, is_complete: complete, raw: self.0.to_vec() }
    }

    /// Iterates over the names and values of the event's lines.
    fn fields(self) -> impl Iterator<Item = (&'s [u8], &'s [u8])> {
        let text = self.0;
        lines(text).map(move |line| split_field(text.get(line).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(stream: &[u8], pieces: &[usize]) -> Vec<SseEvent> {
        let mut reader = SseReader::new();
        let mut events = Vec::new();
        let mut from = 0;
        for piece in pieces {
            let to = (from + piece).min(stream.len());
            events.extend(reader.push(&stream[from..to]));
            from = to;
        }
        events.extend(reader.push(&stream[from..]));
        events.extend(reader.finish());
        events
    }

    fn parsed(stream: &str) -> Vec<(String, Option<String>, bool)> {
        read(stream.as_bytes(), &[])
            .into_iter()
            .map(|event| (event.name, event.data, event.is_complete))
            .collect()
    }

    #[test]
    fn fields() {
        assert_eq!(
            parsed("event: delta\ndata: {\"a\":1}\n\n: ping\n\ndata:x\ndata:  y\nid: 7\n\ndata\n\n"),
            [
                ("delta".into(), Some("{\"a\":1}".into()), true),
                (String::new(), None, true),
                (String::new(), Some("x\n y".into()), true),
                (String::new(), Some(String::new()), true),
            ]
        );
    }

    #[test]
    fn a_cut_stream_keeps_its_tail() {
        let events = read(b"data: 1\n\ndata: 2\n", &[]);
        assert_eq!(events.len(), 2);
        assert_eq!((events[1].data.as_deref(), events[1].is_complete), (Some("2"), false));
        assert!(read(b"", &[]).is_empty());
    }

    #[test]
    fn every_line_end_counts() {
        for end in ["\n", "\r", "\r\n"] {
            let stream = "event: a\ndata: b\n\ndata: c\n\n".replace('\n', end);
            let expected = [("a".into(), Some("b".into()), true), (String::new(), Some("c".into()), true)];
            assert_eq!(parsed(&stream), expected, "{end:?}");
        }
    }

    #[test]
    fn a_mark_at_the_start_is_no_part_of_the_field() {
        assert_eq!(parsed("\u{FEFF}data: x\n\n"), [(String::new(), Some("x".into()), true)]);
    }

    /// Quadratic time, as by moving the rest of the stream for each event, would not finish.
    #[test]
    fn a_long_stream_in_one_piece() {
        let stream = "data: {\"delta\":\"some words of an answer\"}\n\n".repeat(200_000);
        let events = read(stream.as_bytes(), &[]);
        assert_eq!(events.len(), 200_000);
        assert!(events.iter().all(|event| event.is_complete && event.raw.len() == 43));
    }

    /// Quadratic time, as by searching a line again for each of its pieces, would not finish.
    #[test]
    fn a_long_line_in_many_pieces() {
        let stream = format!("data: {}\n\n", "x".repeat(4 << 20));
        let events = read(stream.as_bytes(), &[16; 1 << 18]);
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].raw, stream.as_bytes());
    }

    proptest! {
        /// The same events come out wherever the stream is cut, and no byte is lost.
        #[test]
        fn pieces_do_not_matter(
            stream in "(data: [a-zé漢😀]{0,6}|event: [a-z]{0,4}|: c|\r|\n|\r\n|[a-z]{1,3}){0,24}",
            pieces in prop::collection::vec(0_usize..5, 0..40),
        ) {
            let whole = read(stream.as_bytes(), &[]);
            let cut = read(stream.as_bytes(), &pieces);
            prop_assert_eq!(&whole, &cut);
            let bytes: Vec<u8> = whole.into_iter().flat_map(|event| event.raw).collect();
            prop_assert_eq!(bytes, stream.into_bytes());
        }
    }
}
