//! Server-sent events, read without loss.
//!
//! A stream arrives in pieces that end anywhere, even inside a character or between CR and LF. The reader keeps every byte:
//! the raw text of its events, one after the other, is the stream, and what is left at the end is told as what it is.

use super::line::{DATA, field, lines};
use memchr::memchr2;

/// One event of a stream, or what is left of one at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// Every byte of it, with the blank line that ends it.
    pub raw: Vec<u8>,
    /// The `event` field; empty if there is none.
    pub name: String,
    /// The `data` fields, joined by line feeds. `None` if there is none: a comment, or a lone id.
    pub data: Option<String>,
    /// Whether the blank line came. A stream that was cut ends with an event that is not complete, and which no client
    /// acts on.
    pub complete: bool,
}

/// Reads a stream piece by piece.
#[derive(Debug, Default)]
pub struct SseReader {
    /// Bytes of the event that is not complete yet.
    pending: Vec<u8>,
    /// Where its last line begins, and how much of that line is known to hold no end.
    line: usize,
    looked: usize,
}

impl SseReader {
    /// Begins a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece; gives the events that it completes.
    pub fn push(&mut self, piece: &[u8]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        self.each(piece, |event| events.push(event.read(true)));
        events
    }

    /// Takes the next piece; shows the events that it completes, without a copy of them.
    pub fn each(&mut self, piece: &[u8], show: impl FnMut(RawEvent<'_>)) {
        if self.pending.is_empty() {
            // Most pieces hold whole events, and nothing of them is kept.
            let shown = show_events(piece, 0, 0, false, show);
            self.pending.extend_from_slice(&piece[shown.end..]);
            self.keep(&shown);
        } else {
            self.pending.extend_from_slice(piece);
            self.complete_events(false, show);
        }
    }

    /// Ends the stream; gives what is left of it, if anything is.
    pub fn finish(mut self) -> Vec<SseEvent> {
        let mut events = Vec::new();
        self.complete_events(true, |event| events.push(event.read(true)));
        if !self.pending.is_empty() {
            events.push(RawEvent(&self.pending).read(false));
        }
        events
    }

    /// Cuts off the events that are complete. What is left moves to the front once, however many they are.
    fn complete_events(&mut self, at_end: bool, show: impl FnMut(RawEvent<'_>)) {
        let shown = show_events(&self.pending, self.line, self.looked, at_end, show);
        self.pending.drain(..shown.end);
        self.keep(&shown);
    }

    fn keep(&mut self, shown: &Shown) {
        (self.line, self.looked) = (shown.line - shown.end, shown.looked);
    }
}

/// How far a stream was looked through.
struct Shown {
    /// Behind the last event that is complete.
    end: usize,
    /// At the beginning of the line whose end is not there.
    line: usize,
    /// How much of that line was looked through for it. A line may be long, and come in many pieces.
    looked: usize,
}

/// Shows the events that are complete. No line before `line` is blank, and that one has no end in what was `looked` through.
fn show_events(
    bytes: &[u8],
    line: usize,
    looked: usize,
    at_end: bool,
    mut show: impl FnMut(RawEvent<'_>),
) -> Shown {
    let mut shown = Shown { end: 0, line, looked };
    while let Some(further) = memchr2(b'\r', b'\n', &bytes[shown.line + shown.looked..]) {
        let length = shown.looked + further;
        let newline = shown.line + length;
        let next = match (bytes[newline], bytes.get(newline + 1)) {
            (b'\r', Some(b'\n')) => newline + 2,
            // It may be half of a CRLF: it takes another byte, or the end of the stream, to tell.
            (b'\r', None) if !at_end => {
                shown.looked = length;
                return shown;
            }
            _ => newline + 1,
        };
        (shown.line, shown.looked) = (next, 0);
        if length == 0 {
            show(RawEvent(&bytes[shown.end..next]));
            shown.end = next;
        }
    }
    shown.looked = bytes.len() - shown.line;
    shown
}

/// An event as it came, with the blank line that ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawEvent<'s>(&'s [u8]);

impl<'s> RawEvent<'s> {
    /// The `event` field; empty if there is none.
    pub fn name(self) -> &'s [u8] {
        self.fields().filter(|(field, _)| *field == b"event").last().map_or(b"", |(_, name)| name)
    }

    /// The `data` fields, one by one.
    pub fn data(self) -> impl Iterator<Item = &'s [u8]> {
        self.fields().filter(|(field, _)| *field == DATA).map(|(_, data)| data)
    }

    /// Reads its fields (HTML, section 9.2.6). A comment has no field, ids and retry times say nothing about the answer, others are
    /// to be ignored.
    fn read(self, complete: bool) -> SseEvent {
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
        SseEvent { name, data, complete, raw: self.0.to_vec() }
    }

    /// Names and values of its lines.
    fn fields(self) -> impl Iterator<Item = (&'s [u8], &'s [u8])> {
        let text = self.0;
        lines(text).map(move |line| field(text.get(line).unwrap_or_default()))
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

    fn seen(stream: &str) -> Vec<(String, Option<String>, bool)> {
        read(stream.as_bytes(), &[])
            .into_iter()
            .map(|event| (event.name, event.data, event.complete))
            .collect()
    }

    #[test]
    fn fields() {
        assert_eq!(
            seen("event: delta\ndata: {\"a\":1}\n\n: ping\n\ndata:x\ndata:  y\nid: 7\n\ndata\n\n"),
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
        assert_eq!((events[1].data.as_deref(), events[1].complete), (Some("2"), false));
        assert!(read(b"", &[]).is_empty());
    }

    #[test]
    fn every_line_end_counts() {
        for end in ["\n", "\r", "\r\n"] {
            let stream = "event: a\ndata: b\n\ndata: c\n\n".replace('\n', end);
            let expected = [("a".into(), Some("b".into()), true), (String::new(), Some("c".into()), true)];
            assert_eq!(seen(&stream), expected, "{end:?}");
        }
    }

    #[test]
    fn a_mark_at_the_start_is_no_part_of_the_field() {
        assert_eq!(seen("\u{FEFF}data: x\n\n"), [(String::new(), Some("x".into()), true)]);
    }

    /// A reader that moves the rest of the stream for each event would not come back.
    #[test]
    fn a_long_stream_in_one_piece() {
        let stream = "data: {\"delta\":\"some words of an answer\"}\n\n".repeat(200_000);
        let events = read(stream.as_bytes(), &[]);
        assert_eq!(events.len(), 200_000);
        assert!(events.iter().all(|event| event.complete && event.raw.len() == 43));
    }

    /// A reader that looks through a line again for each of its pieces would not come back.
    #[test]
    fn a_long_line_in_many_pieces() {
        let stream = format!("data: {}\n\n", "x".repeat(4 << 20));
        let events = read(stream.as_bytes(), &[16; 1 << 18]);
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].raw, stream.as_bytes());
    }

    proptest! {
        /// However the stream is cut, the same events come out, and no byte is lost.
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
