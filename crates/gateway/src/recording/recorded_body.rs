//! A vendor's answer on its way to the client, with a copy for the record: a tee.
//!
//! Each piece is in the log before it is handed on. Only the last one waits for more: the client must not know that the answer
//! is over before its end is in the log, or in the journal where there is no log.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use reenact_capture::observation::EndCause;
use reenact_capture::{Capture, ExchangeHandle, ExchangeRecorder, Written};

use super::body_batcher::{BodyBatcher, FrameBatch};
use super::first_frame;
use super::observed::{failed, header_list};
use crate::client_socket::{ClientSocketState, InFlight};
use crate::outgoing::Cut;

/// A vendor's answer that is recorded while it passes.
pub(crate) struct RecordedBody {
    upstream: BodyBatcher,
    exchange: ExchangeHandle,
    capture: Arc<Capture>,
    socket: Arc<ClientSocketState>,
    /// Number of flushes when the last piece was handed out.
    flushes: u64,
    state: State,
    /// Pieces that are in the log and were not asked for yet.
    ready: VecDeque<Frame<Bytes>>,
    /// The wait before more is asked for, while the record does not keep up with a long body.
    behind: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    _in_flight: InFlight,
}

enum State {
    Flowing,
    /// The answer is over and is being recorded.
    Closing {
        writing: Option<Written>,
        last: Option<Frame<Bytes>>,
    },
    /// The answer broke off: pieces must be flushed, then the connection breaks off too.
    Cutting {
        writing: Option<Written>,
    },
    Over,
}

impl RecordedBody {
    pub(super) fn new(
        upstream: BodyBatcher,
        exchange: ExchangeHandle,
        capture: Arc<Capture>,
        socket: Arc<ClientSocketState>,
        in_flight: InFlight,
    ) -> Self {
        let flushes = socket.flushes();
        let (state, ready, behind) = (State::Flowing, VecDeque::new(), None);
        Self { upstream, exchange, capture, socket, flushes, state, ready, behind, _in_flight: in_flight }
    }

    /// Polls for the first piece, so that it can leave together with the head.
    pub(super) async fn look_ahead(mut self) -> Self {
        first_frame::poll_first_frame(self.upstream.is_at_hand(), |cx| self.poll_flowing(cx)).await;
        self.exchange.with(ExchangeRecorder::log);
        // The socket may have been flushed meanwhile, with nothing on it: the head must leave yet.
        self.flushes = self.socket.flushes();
        self
    }

    /// Records the end of an answer without a body, before it is handed on.
    pub(super) async fn without_body(mut self) -> Self {
        if let Some(writing) = self.exchange.with(|exchange| exchange.finish(EndCause::Eof)) {
            writing.await;
        }
        self.state = State::Over;
        self
    }

    /// Logs a batch and makes it ready to be handed on.
    fn take(&mut self, burst: FrameBatch) {
        let FrameBatch { mut frames, end } = burst;
        let mut is_done = false;
        self.exchange.with(|exchange| {
            for frame in &frames {
                if let Some(piece) = frame.data_ref() {
                    is_done |= exchange.piece(piece);
                } else if let Some(trailers) = frame.trailers_ref() {
                    exchange.trailers(header_list(trailers));
                }
            }
        });
        match end {
            None => {
                let behind = self.exchange.with(|exchange| {
                    exchange.log();
                    exchange.backpressure()
                });
                if is_done {
                    self.capture.stream_done(&self.exchange.share());
                }
                self.behind = behind
                    .map(|caught_up| -> Pin<Box<dyn Future<Output = ()> + Send>> { Box::pin(caught_up) });
            }
            Some(Ok(())) => {
                let writing = self.exchange.with(|exchange| exchange.finish(EndCause::Eof));
                self.state = State::Closing { writing, last: frames.pop() };
            }
            Some(Err(failure)) => {
                let writing = self.exchange.with(|exchange| exchange.finish(failed(&failure)));
                self.state = State::Cutting { writing };
            }
        }
        self.ready.extend(frames);
    }

    /// Takes the next batch.
    fn poll_flowing(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(behind) = &mut self.behind {
            ready!(behind.as_mut().poll(cx));
            self.behind = None;
        }
        let burst = ready!(self.upstream.poll_next(cx));
        self.take(burst);
        Poll::Ready(())
    }
}

impl Body for RecordedBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let this = self.get_mut();
        loop {
            if let Some(frame) = this.ready.pop_front() {
                this.flushes = this.socket.flushes();
                return Poll::Ready(Some(Ok(frame)));
            }
            match &mut this.state {
                State::Flowing => ready!(this.poll_flowing(cx)),
                State::Closing { writing, last } => {
                    ready!(poll_written(writing, cx));
                    let last = last.take();
                    this.state = State::Over;
                    return Poll::Ready(last.map(Ok));
                }
                State::Cutting { writing } => {
                    ready!(poll_written(writing, cx));
                    ready!(this.socket.poll_flushed_after(this.flushes, cx));
                    this.state = State::Over;
                    return Poll::Ready(Some(Err(Cut)));
                }
                State::Over => return Poll::Ready(None),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, State::Over)
    }

    fn size_hint(&self) -> SizeHint {
        let last = match &self.state {
            State::Closing { last, .. } => last.as_ref(),
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

fn poll_written(writing: &mut Option<Written>, cx: &mut Context<'_>) -> Poll<()> {
    if let Some(task) = writing {
        ready!(Pin::new(task).poll(cx));
        *writing = None;
    }
    Poll::Ready(())
}
