//! [`ScriptedBody`]: the body of an answer, sent step by step.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::HeaderMap;

use super::exchange_log::{AnswerLog, SentEnd};
use super::tracked_socket::ConnectionState;
use crate::answer::{AnswerEnding, ScriptStep};

/// Error at which the script cuts the answer; hyper then aborts the connection, or the stream of
/// HTTP/2.
#[derive(Debug, thiserror::Error)]
#[error("the script ends the answer here")]
pub(crate) struct ScriptCut;

/// Statement of the head about the body's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyLength {
    /// The true length.
    Known,
    /// No length.
    Unstated,
    /// The length that the script claims.
    Claimed,
}

/// Splits the last byte before a gate or a cut off into a step of its own, for HTTP/2.
///
/// hyper takes a piece that is larger than the HTTP/2 window, and would drop what does not fit when
/// the answer is cut. It does not take the next piece before all of the last one has fitted, so the
/// last byte goes alone.
fn split_last_bytes(steps: Vec<ScriptStep>, ending: AnswerEnding) -> Vec<ScriptStep> {
    let mut apart = Vec::new();
    let mut steps = steps.into_iter().peekable();
    while let Some(step) = steps.next() {
        let is_last = match steps.peek() {
            Some(next) => matches!(next, ScriptStep::Wait(_)),
            None => ending != AnswerEnding::Whole,
        };
        match step {
            ScriptStep::Send(mut bytes) if is_last && bytes.len() > 1 => {
                let last = bytes.split_off(bytes.len() - 1);
                apart.extend([ScriptStep::Send(bytes), ScriptStep::Send(last)]);
            }
            step => apart.push(step),
        }
    }
    apart
}

/// Remaining part of a body.
struct PendingBody {
    /// Steps that are left.
    steps: VecDeque<ScriptStep>,
    /// Trailers to send after the last step.
    trailers: Option<HeaderMap>,
    /// End of the answer.
    ending: AnswerEnding,
    answer_log: AnswerLog,
    line: Arc<ConnectionState>,
    /// True if the end waits until all bytes are flushed: if the head claims more than is sent,
    /// hyper drops what it has buffered.
    flushes_before_end: bool,
    /// Number of flushes of the connection before the last piece was handed to hyper.
    flushes_before_piece: u64,
    /// True if that piece was an empty one, which only makes hyper flush.
    is_flush_requested: bool,
}

impl PendingBody {
    /// Runs the steps up to the next frame.
    async fn next(mut self) -> (Self, Option<Result<Frame<Bytes>, ScriptCut>>) {
        loop {
            match self.steps.front() {
                Some(ScriptStep::Send(bytes)) => {
                    let bytes = bytes.clone();
                    self.steps.pop_front();
                    self.answer_log.append_sent(&bytes);
                    self.record_end();
                    return (self, Some(Ok(Frame::data(bytes))));
                }
                None if self.ending == AnswerEnding::Whole && !self.flushes_before_end => {
                    let trailers = self.trailers.take().map(|trailers| Ok(Frame::trailers(trailers)));
                    return (self, trailers);
                }
                // A frame makes hyper write everything before it, even if the frame is empty.
                Some(ScriptStep::Wait(_)) | None if !self.is_flush_requested => {
                    self.flushes_before_piece = self.line.flushes();
                    self.is_flush_requested = true;
                    return (self, Some(Ok(Frame::data(Bytes::new()))));
                }
                Some(ScriptStep::Wait(gate)) => {
                    self.line.wait_flushed_since(self.flushes_before_piece).await;
                    self.answer_log.pass(gate).await;
                    self.is_flush_requested = false;
                    self.steps.pop_front();
                    self.record_end();
                }
                None => break,
            }
        }
        self.line.wait_flushed_since(self.flushes_before_piece).await;
        if self.ending == AnswerEnding::Whole {
            return (self, None);
        }
        if self.ending == AnswerEnding::Reset {
            self.line.reset_on_close();
        }
        (self, Some(Err(ScriptCut)))
    }

    /// Records the end once no step is left. hyper does not poll a body of known length any
    /// further.
    fn record_end(&mut self) {
        if self.steps.is_empty() {
            self.answer_log.set_end(match self.ending {
                AnswerEnding::Whole => SentEnd::Whole,
                AnswerEnding::Closed | AnswerEnding::Reset => SentEnd::Cut,
            });
        }
    }
}

/// Future of the next frame, which gives the remaining part back.
type NextFrame = Pin<Box<dyn Future<Output = (PendingBody, Option<Result<Frame<Bytes>, ScriptCut>>)> + Send>>;

/// Body that follows the steps of a script.
pub(crate) struct ScriptedBody {
    /// Future of the next frame; `None` after the last one.
    next: Option<NextFrame>,
    /// Length in bytes, if the head states it.
    length: Option<u64>,
}

impl ScriptedBody {
    /// Creates a body of these steps.
    pub(crate) fn new(
        steps: Vec<ScriptStep>,
        trailers: Option<HeaderMap>,
        ending: AnswerEnding,
        answer_log: AnswerLog,
        line: Arc<ConnectionState>,
        length: BodyLength,
        is_http2: bool,
    ) -> Self {
        let steps = if is_http2 { split_last_bytes(steps, ending) } else { steps };
        let sum = steps.iter().map(|step| match step {
            ScriptStep::Send(bytes) => bytes.len() as u64,
            ScriptStep::Wait(_) => 0,
        });
        let known = (length == BodyLength::Known).then(|| sum.sum());
        let (mark, ends_out) = (line.flushes(), length == BodyLength::Claimed);
        let mut rest = PendingBody {
            steps: steps.into(),
            trailers,
            ending,
            answer_log,
            line,
            flushes_before_end: ends_out,
            flushes_before_piece: mark,
            is_flush_requested: false,
        };
        rest.record_end();
        Self { next: Some(Box::pin(rest.next())), length: known }
    }
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = ScriptCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ScriptCut>>> {
        let Some(next) = &mut self.next else { return Poll::Ready(None) };
        let (rest, frame) = ready!(next.as_mut().poll(cx));
        self.next = frame.as_ref().is_some_and(Result::is_ok).then(|| -> NextFrame { Box::pin(rest.next()) });
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
        let steps = vec![
            ScriptStep::send("one"),
            ScriptStep::send("two"),
            ScriptStep::wait("g"),
            ScriptStep::send("3"),
            ScriptStep::send("end"),
        ];
        let [one, tw, o, g, three] = [
            ScriptStep::send("one"),
            ScriptStep::send("tw"),
            ScriptStep::send("o"),
            ScriptStep::wait("g"),
            ScriptStep::send("3"),
        ];
        let until_gate = [one, tw, o, g, three].to_vec();
        let whole = [until_gate.clone(), vec![ScriptStep::send("end")]].concat();
        assert_eq!(split_last_bytes(steps.clone(), AnswerEnding::Whole), whole);
        let cut = [until_gate, vec![ScriptStep::send("en"), ScriptStep::send("d")]].concat();
        assert_eq!(split_last_bytes(steps, AnswerEnding::Closed), cut);
    }
}
