//! What a vendor sends, as it comes.
//!
//! Often more than one piece comes at once, and each of them would be a write to the log and one to the client's socket. So what
//! came together is taken together. The connection to the vendor hands over one piece at a time, when it has its turn: after each
//! of them it is given one more, and a piece that does not come then is not waited for.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use crate::line::LineState;
use crate::upstream::Failure;

/// Within its turn the task of a client's line in HTTP/1 asks up to 16 times for more (hyper's dispatcher). One that asks more often than
/// this has had another turn, though it is not the line's task any more and does not count them.
const MOST_ASKED: u32 = 20;

/// No more than this is taken at once.
const MOST_FRAMES: usize = 64;
const MOST_BYTES: usize = 256 << 10;

/// The body of an answer on its way from its vendor.
pub(super) struct Flow {
    upstream: Incoming,
    silence: Silence,
    /// Whose task asks, where it may ask more than once in a turn.
    line: Option<Arc<LineState>>,
    frames: Vec<Frame<Bytes>>,
    bytes: usize,
    /// Whether the connection to the vendor is given a turn to bring more. Not before the first piece has gone: nothing is
    /// waited for more than that.
    is_patient: bool,
    /// In which turn it was asked in vain, and how often.
    asked: Option<(Option<u64>, u32)>,
}

/// What came together.
pub(super) struct Burst {
    /// Empty only at the end.
    pub(super) frames: Vec<Frame<Bytes>>,
    /// How it ended, if it has.
    pub(super) end: Option<Result<(), Failure>>,
}

impl Flow {
    /// A vendor that says nothing for `idle` while it is waited for has fallen silent.
    pub(super) fn new(upstream: Incoming, idle: Duration, line: Option<Arc<LineState>>) -> Self {
        let (silence, frames) = (Silence::new(idle), Vec::new());
        Self { upstream, silence, line, frames, bytes: 0, is_patient: false, asked: None }
    }

    /// The rest of it, as far as that is known.
    pub(super) fn size_hint(&self) -> SizeHint {
        self.upstream.size_hint()
    }

    /// The next that comes. Not to be asked again after its end.
    pub(super) async fn next(&mut self) -> Burst {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The next that comes. Not to be asked again after its end.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Burst> {
        while self.frames.len() < MOST_FRAMES && self.bytes < MOST_BYTES {
            match Pin::new(&mut self.upstream).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.silence.end();
                    self.asked = None;
                    self.bytes += frame.data_ref().map_or(0, Bytes::len);
                    self.frames.push(frame);
                    if self.upstream.is_end_stream() {
                        return Poll::Ready(self.take(Some(Ok(()))));
                    }
                }
                Poll::Ready(None) => return Poll::Ready(self.take(Some(Ok(())))),
                Poll::Ready(Some(Err(_))) => return Poll::Ready(self.take(Some(Err(Failure::Closed)))),
                Poll::Pending if self.frames.is_empty() => {
                    ready!(self.silence.poll_too_long(cx));
                    return Poll::Ready(self.take(Some(Err(Failure::IdleTimeout))));
                }
                Poll::Pending if self.is_patient && !self.has_turned() => {
                    // The connection to the vendor has its turn now, and hands over what it has.
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Pending => break,
            }
        }
        Poll::Ready(self.take(None))
    }

    /// Whether the connection to the vendor has had a turn since it was asked for more in vain.
    fn has_turned(&mut self) -> bool {
        let turns = self.line.as_ref().map(|line| line.turns());
        let (since, times) = self.asked.get_or_insert((turns, 0));
        *times += 1;
        let most = if turns.is_some() { MOST_ASKED } else { 1 };
        *since != turns || *times > most
    }

    fn take(&mut self, end: Option<Result<(), Failure>>) -> Burst {
        (self.bytes, self.is_patient, self.asked) = (0, true, None);
        Burst { frames: std::mem::take(&mut self.frames), end }
    }
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
