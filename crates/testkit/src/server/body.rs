//! The body of an answer, sent step by step.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::HeaderMap;

use super::ledger::{Page, SentEnd};
use super::line::Line;
use crate::answer::{Ending, Step};

/// The script cuts the answer here; hyper aborts the connection, or the stream of HTTP/2.
#[derive(Debug, thiserror::Error)]
#[error("the script ends the answer here")]
pub(crate) struct CutHere;

/// What the head says of the body's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// What it is.
    Known,
    /// Nothing.
    Open,
    /// What the script claims.
    Claimed,
}

/// HTTP/2 takes a piece that is larger than its window, and would forget what does not fit when the answer is cut. Of the next
/// piece it takes nothing until all before has fitted: so the last byte before a gate or a cut goes alone.
fn last_bytes_apart(steps: Vec<Step>, ending: Ending) -> Vec<Step> {
    let mut apart = Vec::new();
    let mut steps = steps.into_iter().peekable();
    while let Some(step) = steps.next() {
        let is_last = match steps.peek() {
            Some(next) => matches!(next, Step::Wait(_)),
            None => ending != Ending::Whole,
        };
        match step {
            Step::Send(mut bytes) if is_last && bytes.len() > 1 => {
                let last = bytes.split_off(bytes.len() - 1);
                apart.extend([Step::Send(bytes), Step::Send(last)]);
            }
            step => apart.push(step),
        }
    }
    apart
}

/// What is left to send.
struct Rest {
    steps: VecDeque<Step>,
    trailers: Option<HeaderMap>,
    ending: Ending,
    page: Page,
    line: Arc<Line>,
    /// Whether the end waits until all is out: where the head promises more than comes, HTTP drops the rest.
    ends_out: bool,
    /// How many flushes there had been when the last piece was handed over.
    mark: u64,
    /// Whether that piece was a nudge.
    is_nudged: bool,
}

impl Rest {
    async fn next(mut self) -> (Self, Option<Result<Frame<Bytes>, CutHere>>) {
        loop {
            match self.steps.front() {
                Some(Step::Send(bytes)) => {
                    let bytes = bytes.clone();
                    self.steps.pop_front();
                    self.page.sent(&bytes);
                    self.note_end();
                    return (self, Some(Ok(Frame::data(bytes))));
                }
                None if self.ending == Ending::Whole && !self.ends_out => {
                    let trailers = self.trailers.take().map(|trailers| Ok(Frame::trailers(trailers)));
                    return (self, trailers);
                }
                // A piece that is handed over makes HTTP write all before it, even if there is nothing in it.
                Some(Step::Wait(_)) | None if !self.is_nudged => {
                    self.mark = self.line.flushes();
                    self.is_nudged = true;
                    return (self, Some(Ok(Frame::data(Bytes::new()))));
                }
                Some(Step::Wait(gate)) => {
                    self.line.flushed_since(self.mark).await;
                    self.page.pass(gate).await;
                    self.is_nudged = false;
                    self.steps.pop_front();
                    self.note_end();
                }
                None => break,
            }
        }
        self.line.flushed_since(self.mark).await;
        if self.ending == Ending::Whole {
            return (self, None);
        }
        if self.ending == Ending::Reset {
            self.line.reset();
        }
        (self, Some(Err(CutHere)))
    }

    /// Once nothing is left, the end is the script's own: who knows the length asks no further.
    fn note_end(&mut self) {
        if self.steps.is_empty() {
            self.page.ending(match self.ending {
                Ending::Whole => SentEnd::Whole,
                Ending::Closed | Ending::Reset => SentEnd::Cut,
            });
        }
    }
}

type Next = Pin<Box<dyn Future<Output = (Rest, Option<Result<Frame<Bytes>, CutHere>>)> + Send>>;

/// A body that follows its script.
pub(crate) struct Scripted {
    next: Option<Next>,
    length: Option<u64>,
}

impl Scripted {
    /// A body of these steps.
    pub(crate) fn new(
        steps: Vec<Step>,
        trailers: Option<HeaderMap>,
        ending: Ending,
        page: Page,
        line: Arc<Line>,
        length: Length,
        is_http2: bool,
    ) -> Self {
        let steps = if is_http2 { last_bytes_apart(steps, ending) } else { steps };
        let sum = steps.iter().map(|step| match step {
            Step::Send(bytes) => bytes.len() as u64,
            Step::Wait(_) => 0,
        });
        let known = (length == Length::Known).then(|| sum.sum());
        let (mark, ends_out) = (line.flushes(), length == Length::Claimed);
        let mut rest =
            Rest { steps: steps.into(), trailers, ending, page, line, ends_out, mark, is_nudged: false };
        rest.note_end();
        Self { next: Some(Box::pin(rest.next())), length: known }
    }
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = CutHere;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutHere>>> {
        let Some(next) = &mut self.next else { return Poll::Ready(None) };
        let (rest, frame) = ready!(next.as_mut().poll(cx));
        self.next = frame.as_ref().is_some_and(Result::is_ok).then(|| -> Next { Box::pin(rest.next()) });
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.length == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_byte_before_a_gate_or_a_cut_goes_alone() {
        let steps =
            vec![Step::send("one"), Step::send("two"), Step::wait("g"), Step::send("3"), Step::send("end")];
        let [one, tw, o, g, three] =
            [Step::send("one"), Step::send("tw"), Step::send("o"), Step::wait("g"), Step::send("3")];
        let until_gate = [one, tw, o, g, three].to_vec();
        let whole = [until_gate.clone(), vec![Step::send("end")]].concat();
        assert_eq!(last_bytes_apart(steps.clone(), Ending::Whole), whole);
        let cut = [until_gate, vec![Step::send("en"), Step::send("d")]].concat();
        assert_eq!(last_bytes_apart(steps, Ending::Closed), cut);
    }
}
