//! A vendor's answer on its way to the client, and a copy of it on its way into the record.
//!
//! Pieces are handed on as they come. Only the last one waits: until the answer is in the log or in the journal, the client
//! must not know that it is over.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use reenact_capture::observation::EndCause;
use reenact_capture::{Capture, ExchangeHandle, ExchangeRecorder, Written};

use super::ahead;
use super::flow::{Burst, Flow};
use super::observed::{failed, header_list};
use crate::line::{Busy, LineState};
use crate::outgoing::Cut;

/// A vendor's answer that is recorded while it passes.
pub(crate) struct Tee {
    upstream: Flow,
    exchange: ExchangeHandle,
    capture: Arc<Capture>,
    line: Arc<LineState>,
    /// Everything up to here has been handed out.
    mark: u64,
    state: State,
    /// What came and is in the log, and was not asked for yet.
    ready: VecDeque<Frame<Bytes>>,
    /// What must be waited for before more is asked for: a record that does not keep up with a long body.
    behind: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    _busy: Busy,
}

enum State {
    Flowing,
    /// The answer is over and is being written down.
    Closing {
        writing: Option<Written>,
        last: Option<Frame<Bytes>>,
    },
    /// The answer broke off: what came must leave, then the connection breaks off too.
    Cutting {
        writing: Option<Written>,
    },
    Over,
}

impl Tee {
    pub(super) fn new(
        upstream: Flow,
        exchange: ExchangeHandle,
        capture: Arc<Capture>,
        line: Arc<LineState>,
        busy: Busy,
    ) -> Self {
        let mark = line.mark();
        let (state, ready, behind) = (State::Flowing, VecDeque::new(), None);
        Self { upstream, exchange, capture, line, mark, state, ready, behind, _busy: busy }
    }

    /// Looks whether the first piece is there already.
    pub(super) async fn look_ahead(mut self) -> Self {
        ahead::look(self.upstream.is_at_hand(), |cx| self.poll_flowing(cx)).await;
        self.exchange.with(ExchangeRecorder::log);
        // The line may have been flushed meanwhile, with nothing on it: the head must leave yet.
        self.mark = self.line.mark();
        self
    }

    /// The answer has no body: it is over before it is handed on.
    pub(super) async fn without_body(mut self) -> Self {
        if let Some(writing) = self.exchange.with(|exchange| exchange.finish(EndCause::Eof)) {
            writing.await;
        }
        self.state = State::Over;
        self
    }

    /// Takes what came.
    fn take(&mut self, burst: Burst) {
        let Burst { mut frames, end } = burst;
        let mut settles = false;
        self.exchange.with(|exchange| {
            for frame in &frames {
                if let Some(piece) = frame.data_ref() {
                    settles |= exchange.piece(piece);
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
                if settles {
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

    /// Takes what comes next, while the answer flows.
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

impl Body for Tee {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let this = self.get_mut();
        loop {
            if let Some(frame) = this.ready.pop_front() {
                this.mark = this.line.mark();
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
                    ready!(this.line.poll_left(this.mark, cx));
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
