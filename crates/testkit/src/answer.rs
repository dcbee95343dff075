//! Answers as bytes: a head, a body in pieces, gates at which it waits, and its end.
//!
//! [`ScriptedAnswer`] is an answer over HTTP, [`RawBytesAnswer`] one below HTTP.

use bytes::Bytes;

/// Content encoding of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// RFC 1952.
    Gzip,
    /// RFC 1950, which is what HTTP means by `deflate`.
    Deflate,
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
}

impl Encoding {
    /// All four encodings.
    pub const ALL: [Encoding; 4] = [Self::Gzip, Self::Deflate, Self::Brotli, Self::Zstd];

    /// Returns the name in `content-encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// Step of a vendor while it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptStep {
    /// Sends these bytes. In a chunked HTTP/1.1 body they are one chunk.
    Send(Bytes),
    /// Flushes all bytes before it to the socket, then waits until the test opens the gate of this
    /// name.
    Wait(String),
}

impl ScriptStep {
    /// Creates a step that sends these bytes.
    pub fn send(bytes: impl Into<Bytes>) -> Self {
        Self::Send(bytes.into())
    }

    /// Creates a step that waits at the gate of this name.
    pub fn wait(gate: impl Into<String>) -> Self {
        Self::Wait(gate.into())
    }
}

/// End of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerEnding {
    /// Complete, as HTTP wants it.
    #[default]
    Whole,
    /// The connection is closed (HTTP/2: the stream is reset) after all bytes before were flushed.
    Closed,
    /// The connection is reset (RST) after all bytes before were flushed.
    Reset,
}

/// Answer over HTTP.
///
/// Constructors give the usual answers; the builder methods change one thing each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedAnswer {
    /// Status code; `None` closes the connection without an answer.
    pub status: Option<u16>,
    /// Headers in this order. `content-length` is added if the length is known and no such header
    /// is given; nothing else is added.
    pub headers: Vec<(String, String)>,
    /// Body before encoding, step by step.
    pub steps: Vec<ScriptStep>,
    /// Trailers, sent after the body. HTTP/1.1 clients get them only if they send `te: trailers`.
    pub trailers: Vec<(String, String)>,
    /// End of the answer.
    pub ending: AnswerEnding,
    /// Encodings, applied one after the other and named in `content-encoding`. A stream can be
    /// decoded up to each of its pieces.
    pub encodings: Vec<Encoding>,
}

impl ScriptedAnswer {
    /// Creates an answer without a body.
    pub fn empty(status: u16) -> Self {
        Self {
            status: Some(status),
            headers: Vec::new(),
            steps: Vec::new(),
            trailers: Vec::new(),
            ending: AnswerEnding::Whole,
            encodings: Vec::new(),
        }
    }

    /// Creates an answer that closes the connection (HTTP/2: resets the stream) before any head,
    /// like a vendor that crashes.
    pub fn hang_up() -> Self {
        Self { status: None, ..Self::empty(0) }
    }

    /// Creates an answer with a JSON document as its body.
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self { steps: vec![ScriptStep::send(body)], ..Self::empty(status) }
            .header("content-type", "application/json")
    }

    /// Creates a stream of server-sent events, one piece each, with status 200.
    pub fn events<B: Into<Bytes>>(events: impl IntoIterator<Item = B>) -> Self {
        Self { steps: events.into_iter().map(ScriptStep::send).collect(), ..Self::empty(200) }
            .header("content-type", "text/event-stream; charset=utf-8")
            .header("cache-control", "no-cache")
    }

    /// Appends a header.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Appends a trailer.
    pub fn trailer(mut self, name: &str, value: impl Into<String>) -> Self {
        self.trailers.push((name.to_owned(), value.into()));
        self
    }

    /// Appends an encoding.
    pub fn encoded(mut self, encoding: Encoding) -> Self {
        self.encodings.push(encoding);
        self
    }

    /// Inserts a gate before the piece of this index, counted from 0; an index past the last piece
    /// means the end.
    pub fn wait_before(mut self, piece: usize, gate: impl Into<String>) -> Self {
        let pieces = self.steps.iter().enumerate().filter(|(_, step)| matches!(step, ScriptStep::Send(_)));
        let at = pieces.map(|(at, _)| at).nth(piece).unwrap_or(self.steps.len());
        self.steps.insert(at, ScriptStep::wait(gate));
        self
    }

    /// Inserts a gate before every piece, named `<prefix>0`, `<prefix>1`, … .
    pub fn gated(mut self, prefix: &str) -> Self {
        let pieces = self.steps.iter().filter(|step| matches!(step, ScriptStep::Send(_))).count();
        // From the end, so that the indices of the pieces before stay valid.
        for piece in (0..pieces).rev() {
            self = self.wait_before(piece, format!("{prefix}{piece}"));
        }
        self
    }

    /// Truncates the answer inside a piece: after `pieces` whole ones and half of the next, the
    /// connection is closed.
    pub fn cut_after(mut self, pieces: usize) -> Self {
        let mut left = pieces;
        let mut steps = Vec::new();
        for step in self.steps {
            match step {
                ScriptStep::Send(bytes) if left == 0 => {
                    steps.push(ScriptStep::Send(bytes.slice(..bytes.len() / 2)));
                    break;
                }
                ScriptStep::Send(_) => left -= 1,
                ScriptStep::Wait(_) => {}
            }
            steps.push(step);
        }
        self.steps = steps;
        self.ending = AnswerEnding::Closed;
        self
    }

    /// Sets the end of the answer.
    pub fn ending(mut self, ending: AnswerEnding) -> Self {
        self.ending = ending;
        self
    }

    /// Returns the body before encoding, as far as it is sent.
    pub fn body(&self) -> Vec<u8> {
        let sends = self.steps.iter().filter_map(|step| match step {
            ScriptStep::Send(bytes) => Some(bytes.as_ref()),
            ScriptStep::Wait(_) => None,
        });
        sends.flatten().copied().collect()
    }

    /// Returns true if the content type is that of server-sent events.
    pub fn is_stream(&self) -> bool {
        let mut types = self.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        types.any(|(_, value)| reenact_wire::exchange::is_stream(value))
    }
}

/// Answer below HTTP: exact bytes, head included. For what no well-made server would send.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawBytesAnswer {
    /// Bytes to send, and gates to wait at.
    pub steps: Vec<ScriptStep>,
    /// End of the answer. [`AnswerEnding::Whole`] keeps the connection open for the next request.
    pub ending: AnswerEnding,
}

impl RawBytesAnswer {
    /// Creates an answer that sends these bytes and closes the connection.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self { steps: vec![ScriptStep::send(bytes)], ending: AnswerEnding::Closed }
    }

    /// Appends bytes.
    pub fn then(mut self, bytes: impl Into<Bytes>) -> Self {
        self.steps.push(ScriptStep::send(bytes));
        self
    }

    /// Appends a gate.
    pub fn wait(mut self, gate: impl Into<String>) -> Self {
        self.steps.push(ScriptStep::wait(gate));
        self
    }

    /// Sets the end of the answer.
    pub fn ending(mut self, ending: AnswerEnding) -> Self {
        self.ending = ending;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_inside_the_next_piece() {
        let answer = ScriptedAnswer::events(["one", "two!", "three"]).wait_before(1, "gate").cut_after(1);
        assert_eq!(answer.steps, [ScriptStep::send("one"), ScriptStep::wait("gate"), ScriptStep::send("tw")]);
        assert_eq!(answer.ending, AnswerEnding::Closed);
        let late = ScriptedAnswer::events(["one"]).cut_after(5);
        assert_eq!((late.body(), late.ending), (b"one".to_vec(), AnswerEnding::Closed));
    }

    #[test]
    fn gates_stand_before_their_pieces() {
        let answer = ScriptedAnswer::events(["a", "b"]).gated("g").wait_before(9, "end");
        let steps = [
            ScriptStep::wait("g0"),
            ScriptStep::send("a"),
            ScriptStep::wait("g1"),
            ScriptStep::send("b"),
            ScriptStep::wait("end"),
        ];
        assert_eq!(answer.steps, steps);
    }
}
