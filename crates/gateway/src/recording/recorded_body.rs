//! Vendor's answer on its way to the client, with a copy for the record: a tee.
//!
//! Each piece is in the log before it is handed on. Only the last one waits for more: the client must not learn
//! that the answer is over before its end is in the log, or in the journal if there is no log. Start reading at
//! [`RecordedBody::poll_frame`].

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use reenact_capture::observation::EndCause;
use reenact_capture::{Capture, ExchangeHandle, ExchangeRecorder, JobWritten};

use super::body_batcher::{BodyBatcher, FrameBatch};
use super::first_frame;
use super::observations::{header_list, upstream_end};
use crate::client_body::AnswerAborted;
use crate::client_socket::{ClientSocketState, InFlight};

/// Vendor's answer that is recorded while it passes.
pub(crate) struct RecordedBody {
    /// Body of the vendor's answer.
    upstream: BodyBatcher,
    /// Exchange that records the answer.
    exchange: ExchangeHandle,
    capture: Arc<Capture>,
    socket: Arc<ClientSocketState>,
    /// Number of flushes when the last piece was handed out.
    flushes: u64,
    state: RecordedBodyState,
    /// Pieces that are in the log and were not handed out yet.
    ready: VecDeque<Frame<Bytes>>,
    /// Wait before more is read, while the recorder thread does not keep up with a long body.
    backpressure: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    _in_flight: InFlight,
}

/// Progress of the answer.
enum RecordedBodyState {
    /// More of the answer is to come.
    Streaming,
    /// The answer is over and is being recorded. `last` is the piece that is still held back.
    Closing { writing: Option<JobWritten>, last: Option<Frame<Bytes>> },
    /// The answer broke off. Pieces must be flushed, then the connection is closed.
    Aborting { writing: Option<JobWritten> },
    /// Nothing is left to send.
    Done,
}

impl RecordedBody {
    /// Makes the body of an answer whose head was taken.
    pub(super) fn new(
        upstream: BodyBatcher,
        exchange: ExchangeHandle,
        capture: Arc<Capture>,
        socket: Arc<ClientSocketState>,
        in_flight: InFlight,
    ) -> Self {
        let flushes = socket.flushes();
        let (state, ready, backpressure) = (RecordedBodyState::Streaming, VecDeque::new(), None);
        Self {
            upstream,
            exchange,
            capture,
            socket,
            flushes,
            state,
            ready,
            backpressure,
            _in_flight: in_flight,
        }
    }

    /// Polls for the first piece, so that it can leave together with the head.
    pub(super) async fn with_first_frame(mut self) -> Self {
        first_frame::poll_first_frame(self.upstream.is_polled_directly(), |cx| self.poll_batch(cx)).await;
        self.exchange.with(ExchangeRecorder::flush_to_log);
        // The socket may have been flushed meanwhile without this answer's head, which must leave too.
        self.flushes = self.socket.flushes();
        self
    }

    /// Records the end of an answer without a body, before its head is handed on.
    pub(super) async fn finish_empty(mut self) -> Self {
        if let Some(writing) = self.exchange.with(|exchange| exchange.finish(EndCause::Eof)) {
            writing.await;
        }
        self.state = RecordedBodyState::Done;
        self
    }

    /// Logs a batch and makes it ready to be handed on.
    fn take(&mut self, batch: FrameBatch) {
        let FrameBatch { mut frames, end } = batch;
        let mut is_done = false;
        self.exchange.with(|exchange| {
            for frame in &frames {
                if let Some(piece) = frame.data_ref() {
                    is_done |= exchange.take_piece(piece);
                } else if let Some(trailers) = frame.trailers_ref() {
                    exchange.take_trailers(header_list(trailers));
                }
            }
        });
        match end {
            None => {
                let behind = self.exchange.with(|exchange| {
                    exchange.flush_to_log();
                    exchange.backpressure()
                });
                if is_done {
                    self.capture.mark_stream_done(&self.exchange.share());
                }
                self.backpressure = behind
                    .map(|caught_up| -> Pin<Box<dyn Future<Output = ()> + Send>> { Box::pin(caught_up) });
            }
            Some(Ok(())) => {
                let writing = self.exchange.with(|exchange| exchange.finish(EndCause::Eof));
                self.state = RecordedBodyState::Closing { writing, last: frames.pop() };
            }
            Some(Err(failure)) => {
                let writing = self.exchange.with(|exchange| exchange.finish(upstream_end(&failure)));
                self.state = RecordedBodyState::Aborting { writing };
            }
        }
        self.ready.extend(frames);
    }

    /// Polls for the next batch, and logs it.
    fn poll_batch(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(behind) = &mut self.backpressure {
            ready!(behind.as_mut().poll(cx));
            self.backpressure = None;
        }
        let batch = ready!(self.upstream.poll_next(cx));
        self.take(batch);
        Poll::Ready(())
    }
}

/// Hands out logged pieces. The last one follows when the end is recorded; before an abort the last piece is
/// flushed.
impl Body for RecordedBody {
    type Data = Bytes;
    type Error = AnswerAborted;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerAborted>>> {
        let this = self.get_mut();
        loop {
            if let Some(frame) = this.ready.pop_front() {
                this.flushes = this.socket.flushes();
                return Poll::Ready(Some(Ok(frame)));
            }
            match &mut this.state {
                RecordedBodyState::Streaming => ready!(this.poll_batch(cx)),
                RecordedBodyState::Closing { writing, last } => {
                    ready!(poll_written(writing, cx));
                    let last = last.take();
                    this.state = RecordedBodyState::Done;
                    return Poll::Ready(last.map(Ok));
                }
                RecordedBodyState::Aborting { writing } => {
                    ready!(poll_written(writing, cx));
                    ready!(this.socket.poll_flushed_after(this.flushes, cx));
                    this.state = RecordedBodyState::Done;
                    return Poll::Ready(Some(Err(AnswerAborted)));
                }
                RecordedBodyState::Done => return Poll::Ready(None),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, RecordedBodyState::Done)
    }

    fn size_hint(&self) -> SizeHint {
        let last = match &self.state {
            RecordedBodyState::Closing { last, .. } => last.as_ref(),
            _ => None,
        };
        let here = self.ready.iter().chain(last).filter_map(Frame::data_ref);
        let here: u64 = here.map(|piece| piece.len() as u64).sum();
        let rest = self.upstream.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(here));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(here));
        }
        hint
    }
}

/// Ready when the job is written, or if there is none to wait for.
fn poll_written(writing: &mut Option<JobWritten>, cx: &mut Context<'_>) -> Poll<()> {
    if let Some(task) = writing {
        ready!(Pin::new(task).poll(cx));
        *writing = None;
    }
    Poll::Ready(())
}
