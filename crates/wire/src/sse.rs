//! Server-sent events, read without loss.
//!
//! A stream arrives in pieces that end anywhere, even inside a character or between CR and LF. The reader keeps every byte:
//! the raw text of its events, one after the other, is the stream, and what is left at the end is told as what it is.

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
    /// Up to where `pending` was looked through for its end.
    looked: usize,
}

impl SseReader {
    /// Begins a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece; gives the events that it completes.
    pub fn push(&mut self, piece: &[u8]) -> Vec<SseEvent> {
        self.pending.extend_from_slice(piece);
        self.complete_events(false)
    }

    /// Ends the stream; gives what is left of it, if anything is.
    pub fn finish(mut self) -> Vec<SseEvent> {
        let mut events = self.complete_events(true);
        if !self.pending.is_empty() {
            events.push(event(self.pending, false));
        }
        events
    }

    /// Cuts off the events that are complete. What is left moves to the front once, however many they are.
    fn complete_events(&mut self, at_end: bool) -> Vec<SseEvent> {
        let mut events = Vec::new();
        let mut start = 0;
        while let Some(end) = self.end_of_event(at_end) {
            events.push(event(self.pending[start..end].to_vec(), true));
            start = end;
            self.looked = end;
        }
        self.pending.drain(..start);
        self.looked -= start;
        events
    }

    /// Where the event ends that was looked at last: behind the blank line. A CR at the very end may be half of a CRLF, so that it takes
    /// another byte, or the end of the stream, to tell.
    fn end_of_event(&mut self, at_end: bool) -> Option<usize> {
        let bytes = &self.pending;
        let mut line_start = self.looked;
        while let Some(length) =
            bytes.get(line_start..)?.iter().position(|byte| matches!(byte, b'\r' | b'\n'))
        {
            let newline = line_start + length;
            let next = match (bytes[newline], bytes.get(newline + 1)) {
                (b'\r', Some(b'\n')) => newline + 2,
                (b'\r', None) if !at_end => return None,
                _ => newline + 1,
            };
            if length == 0 {
                return Some(next);
            }
            line_start = next;
            self.looked = next;
        }
        None
    }
}

/// Reads the fields of an event (HTML, section 9.2.6).
fn event(raw: Vec<u8>, complete: bool) -> SseEvent {
    let text = String::from_utf8_lossy(&raw);
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let mut name = String::new();
    let mut data: Option<String> = None;
    for line in lines(text) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut name),
            "data" => match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => data = Some(value.to_owned()),
            },
            // A comment has no field, ids and retry times say nothing about the answer, others are to be ignored.
            _ => {}
        }
    }
    SseEvent { name, data, complete, raw }
}

/// Lines that end with CR, LF or CRLF.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(['\r', '\n']).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = &rest[end..];
        rest = rest.strip_prefix("\r\n").or(rest.strip_prefix(['\r', '\n'])).unwrap_or(rest);
        Some(line)
    })
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
