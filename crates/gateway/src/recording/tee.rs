//! A vendor's answer on its way to the client, and a copy of it on its way into the record.
//!
//! Pieces are handed on as they come. Only the last one waits: until the answer is in the log or in the journal, the client
//! must not know that it is over.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use super::ahead;
use super::exchange::{Exchange, Handle, Settled};
use super::job::Ended;
use super::scribe::Written;
use crate::line::{Busy, LineState};
use crate::outgoing::Cut;
use crate::upstream::Failure;

/// A vendor's answer that is recorded while it passes.
pub(crate) struct Tee {
    upstream: Incoming,
    exchange: Handle,
    settled: Arc<Settled>,
    line: Arc<LineState>,
    /// Everything up to here has been handed out.
    mark: u64,
    silence: Silence,
    state: State,
    /// A piece that was there before it was asked for.
    ahead: Option<Frame<Bytes>>,
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
        upstream: Incoming,
        exchange: Handle,
        settled: Arc<Settled>,
        line: Arc<LineState>,
        busy: Busy,
        idle: Duration,
    ) -> Self {
        let mark = line.mark();
        exchange.with(Exchange::may_part);
        let (silence, state, ahead, behind) = (Silence::new(idle), State::Flowing, None, None);
        Self { upstream, exchange, settled, line, mark, silence, state, ahead, behind, _busy: busy }
    }

    /// Looks whether the first piece is there already.
    pub(super) async fn look_ahead(mut self) -> Self {
        self.ahead = ahead::look(|cx| self.poll_flowing(cx)).await.flatten();
        self.exchange.with(Exchange::log_head);
        // The line may have been flushed meanwhile, with nothing on it: the head must leave yet.
        self.mark = self.line.mark();
        self
    }

    /// The answer has no body: it is over before it is handed on.
    pub(super) async fn without_body(mut self) -> Self {
        if let Some(writing) = self.exchange.with(|exchange| exchange.finish(Ended::Eof)) {
            // A scribe that is gone has said so.
            let _ = writing.await;
        }
        self.state = State::Over;
        self
    }

    fn piece(&mut self, piece: &[u8]) {
        let (settles, behind) = self.exchange.with(|exchange| (exchange.piece(piece), exchange.is_behind()));
        if settles {
            self.settled.add(&self.exchange.share());
        }
        self.behind = behind.map(|scribe| -> Pin<Box<dyn Future<Output = ()> + Send>> {
            Box::pin(async move { scribe.caught_up().await })
        });
    }

    fn close(&mut self, last: Option<Frame<Bytes>>) {
        self.state =
            State::Closing { writing: self.exchange.with(|exchange| exchange.finish(Ended::Eof)), last };
    }

    fn cut(&mut self, failure: Failure) {
        self.state =
            State::Cutting { writing: self.exchange.with(|exchange| exchange.finish(failure.into())) };
    }

    /// The next frame while the answer flows; `None` when the state has changed.
    fn poll_flowing(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame<Bytes>>> {
        if let Some(behind) = &mut self.behind {
            ready!(behind.as_mut().poll(cx));
            self.behind = None;
        }
        let Poll::Ready(next) = Pin::new(&mut self.upstream).poll_frame(cx) else {
            ready!(self.silence.poll_too_long(cx));
            self.cut(Failure::IdleTimeout);
            return Poll::Ready(None);
        };
        self.silence.end();
        match next {
            None => self.close(None),
            Some(Err(_)) => self.cut(Failure::Closed),
            Some(Ok(frame)) => {
                if let Some(piece) = frame.data_ref() {
                    self.piece(piece);
                    if !self.upstream.is_end_stream() {
                        self.mark = self.line.mark();
                        return Poll::Ready(Some(frame));
                    }
                } else if let Some(trailers) = frame.trailers_ref() {
                    self.exchange.with(|exchange| exchange.trailers(trailers.clone()));
                }
                self.close(Some(frame));
            }
        }
        Poll::Ready(None)
    }
}

impl Body for Tee {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let this = self.get_mut();
        if let Some(ahead) = this.ahead.take() {
            return Poll::Ready(Some(Ok(ahead)));
        }
        loop {
            match &mut this.state {
                State::Flowing => {
                    if let Some(frame) = ready!(this.poll_flowing(cx)) {
                        return Poll::Ready(Some(Ok(frame)));
                    }
                }
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
        let here = match &self.state {
            State::Closing { last, .. } => last.as_ref(),
            _ => self.ahead.as_ref(),
        };
        let here = here.and_then(Frame::data_ref).map_or(0, Bytes::len) as u64;
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
        // A scribe that is gone has said so.
        let _ = ready!(Pin::new(task).poll(cx));
        *writing = None;
    }
    Poll::Ready(())
}

/// How long a vendor has said nothing while someone waited. The timer is not touched by each piece: it is looked at when it
/// rings.
struct Silence {
    idle: Duration,
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Silence {
    fn new(idle: Duration) -> Self {
        Self { idle, since: None, timer: None }
    }

    fn end(&mut self) {
        self.since = None;
    }

    /// Ready when it has lasted too long.
    fn poll_too_long(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let since = *self.since.get_or_insert_with(Instant::now);
        // Who waits for centuries waits for ever.
        let Some(end) = since.checked_add(self.idle) else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        loop {
            ready!(timer.as_mut().poll(cx));
            if Instant::now() >= end {
                return Poll::Ready(());
            }
            timer.as_mut().reset(end);
        }
    }
}
