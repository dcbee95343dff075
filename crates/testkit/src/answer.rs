//! An answer as bytes: its head, its body piece by piece, where it waits, and how it ends.

use bytes::Bytes;

/// A content encoding.
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
    /// All four.
    pub const ALL: [Encoding; 4] = [Self::Gzip, Self::Deflate, Self::Brotli, Self::Zstd];

    /// As headers name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// One thing that a vendor does while it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Sends these bytes. In a chunked HTTP/1.1 body they are one chunk.
    Send(Bytes),
    /// Sees to it that all before is on the socket, then waits until the test opens the gate of this name.
    Wait(String),
}

impl Step {
    /// Sends these bytes.
    pub fn send(bytes: impl Into<Bytes>) -> Self {
        Self::Send(bytes.into())
    }

    /// Waits at the gate of this name.
    pub fn wait(gate: impl Into<String>) -> Self {
        Self::Wait(gate.into())
    }
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ending {
    /// As it should.
    #[default]
    Whole,
    /// The connection is closed (HTTP/2: the stream is reset) once all before is on the socket.
    Closed,
    /// The connection is reset (RST) once all before is on the socket.
    Reset,
}

/// An answer over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status; `None` hangs up without an answer.
    pub status: Option<u16>,
    /// In this order. A length is added where it is known and none is given; nothing else is.
    pub headers: Vec<(String, String)>,
    /// The body, before it is encoded.
    pub steps: Vec<Step>,
    /// Sent after the body. HTTP/1.1 clients get them only if they say `te: trailers`.
    pub trailers: Vec<(String, String)>,
    /// How it ends.
    pub ending: Ending,
    /// Applied one after the other; named in `content-encoding`. A stream can be decoded up to each of its pieces.
    pub encodings: Vec<Encoding>,
}

impl Answer {
    /// An answer without a body.
    pub fn empty(status: u16) -> Self {
        Self {
            status: Some(status),
            headers: Vec::new(),
            steps: Vec::new(),
            trailers: Vec::new(),
            ending: Ending::Whole,
            encodings: Vec::new(),
        }
    }

    /// The connection ends (HTTP/2: the stream does) without an answer: what a client sees of a vendor that falls over.
    pub fn hang_up() -> Self {
        Self { status: None, ..Self::empty(0) }
    }

    /// A JSON document.
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self { steps: vec![Step::send(body)], ..Self::empty(status) }
            .header("content-type", "application/json")
    }

    /// A stream of events, one piece each.
    pub fn events<B: Into<Bytes>>(events: impl IntoIterator<Item = B>) -> Self {
        Self { steps: events.into_iter().map(Step::send).collect(), ..Self::empty(200) }
            .header("content-type", "text/event-stream; charset=utf-8")
            .header("cache-control", "no-cache")
    }

    /// With one more header.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// With one more trailer.
    pub fn trailer(mut self, name: &str, value: impl Into<String>) -> Self {
        self.trailers.push((name.to_owned(), value.into()));
        self
    }

    /// With its body encoded, after the encodings that it has.
    pub fn encoded(mut self, encoding: Encoding) -> Self {
        self.encodings.push(encoding);
        self
    }

    /// Waits at a gate before the piece of this number, from 0; a number past the last one means the end.
    pub fn wait_before(mut self, piece: usize, gate: impl Into<String>) -> Self {
        let pieces = self.steps.iter().enumerate().filter(|(_, step)| matches!(step, Step::Send(_)));
        let at = pieces.map(|(at, _)| at).nth(piece).unwrap_or(self.steps.len());
        self.steps.insert(at, Step::wait(gate));
        self
    }

    /// Waits before every piece, at gates named `<prefix>0`, `<prefix>1`, … .
    pub fn gated(mut self, prefix: &str) -> Self {
        let pieces = self.steps.iter().filter(|step| matches!(step, Step::Send(_))).count();
        // From the end, so that the numbers of the pieces before stay right.
        for piece in (0..pieces).rev() {
            self = self.wait_before(piece, format!("{prefix}{piece}"));
        }
        self
    }

    /// Closes the connection in the middle of a piece: after `pieces` whole ones and half of the next.
    pub fn cut_after(mut self, pieces: usize) -> Self {
        let mut left = pieces;
        let mut kept = Vec::new();
        for step in self.steps {
            match step {
                Step::Send(bytes) if left == 0 => {
                    kept.push(Step::Send(bytes.slice(..bytes.len() / 2)));
                    break;
                }
                Step::Send(_) => left -= 1,
                Step::Wait(_) => {}
            }
            kept.push(step);
        }
        self.steps = kept;
        self.ending = Ending::Closed;
        self
    }

    /// Ends in another way.
    pub fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    /// Its body before encoding, as far as it is sent.
    pub fn body(&self) -> Vec<u8> {
        let sends = self.steps.iter().filter_map(|step| match step {
            Step::Send(bytes) => Some(bytes.as_ref()),
            Step::Wait(_) => None,
        });
        sends.flatten().copied().collect()
    }

    /// Whether it announces a stream of events.
    pub fn is_stream(&self) -> bool {
        let mut types = self.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        types.any(|(_, value)| reenact_wire::exchange::is_stream(value))
    }
}

/// An answer below HTTP: exact bytes, head included. For what no well-made server would send.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Raw {
    /// What to send, and where to wait.
    pub steps: Vec<Step>,
    /// [`Ending::Whole`] keeps the connection open for the next request.
    pub ending: Ending,
}

impl Raw {
    /// Sends these bytes and closes.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self { steps: vec![Step::send(bytes)], ending: Ending::Closed }
    }

    /// Sends more.
    pub fn then(mut self, bytes: impl Into<Bytes>) -> Self {
        self.steps.push(Step::send(bytes));
        self
    }

    /// Waits at a gate.
    pub fn wait(mut self, gate: impl Into<String>) -> Self {
        self.steps.push(Step::wait(gate));
        self
    }

    /// Ends in another way.
    pub fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_inside_the_next_piece() {
        let answer = Answer::events(["one", "two!", "three"]).wait_before(1, "gate").cut_after(1);
        assert_eq!(answer.steps, [Step::send("one"), Step::wait("gate"), Step::send("tw")]);
        assert_eq!(answer.ending, Ending::Closed);
        let late = Answer::events(["one"]).cut_after(5);
        assert_eq!((late.body(), late.ending), (b"one".to_vec(), Ending::Closed));
    }

    #[test]
    fn gates_stand_before_their_pieces() {
        let answer = Answer::events(["a", "b"]).gated("g").wait_before(9, "end");
        let steps = [Step::wait("g0"), Step::send("a"), Step::wait("g1"), Step::send("b"), Step::wait("end")];
        assert_eq!(answer.steps, steps);
    }
}
