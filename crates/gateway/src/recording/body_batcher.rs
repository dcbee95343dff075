//! What a vendor sends, as it comes.
//!
//! Often more than one piece comes at once, and each of them would be a write to the log and one to the client's socket. So what
//! came together is taken together. A connection that others share hands over one piece at a time, when it has its turn: after each
//! of them it is given one more, and a piece that does not come then is not waited for.

use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::upstream::{Coming, Failure};

/// No more than this is taken at once.
const MOST_FRAMES: usize = 64;
const MOST_BYTES: usize = 256 << 10;

/// The body of an answer on its way from its vendor.
pub(super) struct Flow {
    upstream: Coming,
    frames: Vec<Frame<Bytes>>,
    bytes: usize,
    /// Whether a shared connection is given a turn to bring more. Not before the first piece has gone: nothing is waited for
    /// more than that.
    is_patient: bool,
    /// It was given one, in vain so far.
    has_turned: bool,
}

/// What came together.
pub(super) struct Burst {
    /// Empty only at the end.
    pub(super) frames: Vec<Frame<Bytes>>,
    /// How it ended, if it has.
    pub(super) end: Option<Result<(), Failure>>,
}

impl Flow {
    pub(super) fn new(upstream: Coming) -> Self {
        Self { upstream, frames: Vec::new(), bytes: 0, is_patient: false, has_turned: false }
    }

    /// Whether what has come can be had without a turn of others.
    pub(super) fn is_at_hand(&self) -> bool {
        !self.upstream.is_shared()
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
            match self.upstream.poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.upstream.end_silence();
                    self.has_turned = false;
                    self.bytes += frame.data_ref().map_or(0, Bytes::len);
                    self.frames.push(frame);
                    if self.upstream.is_over() {
                        return Poll::Ready(self.take(Some(Ok(()))));
                    }
                }
                Poll::Ready(None) => return Poll::Ready(self.take(Some(Ok(())))),
                Poll::Ready(Some(Err(_))) => return Poll::Ready(self.take(Some(Err(Failure::Closed)))),
                Poll::Pending if self.frames.is_empty() => {
                    ready!(self.upstream.poll_too_long(cx));
                    return Poll::Ready(self.take(Some(Err(Failure::IdleTimeout))));
                }
                Poll::Pending if self.is_patient && !self.has_turned && self.upstream.is_shared() => {
                    // The connection to the vendor has its turn now, and hands over what it has.
                    self.has_turned = true;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Pending => break,
            }
        }
        Poll::Ready(self.take(None))
    }

    fn take(&mut self, end: Option<Result<(), Failure>>) -> Burst {
        (self.bytes, self.is_patient, self.has_turned) = (0, true, false);
        Burst { frames: std::mem::take(&mut self.frames), end }
    }
}
