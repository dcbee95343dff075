//! Batches of frames from a vendor's answer.
//!
//! Several frames often arrive together, and each would be one write to the log and one to the client's socket;
//! a batch is one of each. A shared connection (HTTP/2) delivers one frame whenever its own task is polled.
//! After each frame that task is given one more poll, and a frame that does not come then is not waited for.

use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::upstream::{UpstreamBody, UpstreamFailure};

/// Largest number of frames in a batch.
const MAX_BATCH_FRAMES: usize = 64;

/// Bytes after which a batch is not extended: 256 KiB.
const MAX_BATCH_BYTES: usize = 256 << 10;

/// Batcher for the frames of one answer.
pub(super) struct BodyBatcher {
    /// Body that brings the frames.
    upstream: UpstreamBody,
    /// Frames of the next batch.
    frames: Vec<Frame<Bytes>>,
    /// Bytes of data in `frames`.
    bytes: usize,
    /// True if a shared connection is given a poll to bring more. False for the first batch, which must not be
    /// delayed.
    may_yield: bool,
    /// True if the connection was given that poll, and has brought nothing so far.
    has_yielded: bool,
}

/// Frames that arrived together.
pub(super) struct FrameBatch {
    /// Frames in order; empty only at the end of the answer.
    pub(super) frames: Vec<Frame<Bytes>>,
    /// End of the answer, or its failure, if it has come.
    pub(super) end: Option<Result<(), UpstreamFailure>>,
}

impl BodyBatcher {
    /// Makes a batcher for a body.
    pub(super) fn new(upstream: UpstreamBody) -> Self {
        Self { upstream, frames: Vec::new(), bytes: 0, may_yield: false, has_yielded: false }
    }

    /// Returns true if the next poll reads from the connection itself, without another task.
    pub(super) fn is_polled_directly(&self) -> bool {
        !self.upstream.is_shared()
    }

    /// Returns the length of the rest of the body, as far as it is known.
    pub(super) fn size_hint(&self) -> SizeHint {
        self.upstream.size_hint()
    }

    /// Waits for the next batch. Must not be called after the end.
    pub(super) async fn next(&mut self) -> FrameBatch {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for the next batch. Must not be called after the end.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<FrameBatch> {
        while self.frames.len() < MAX_BATCH_FRAMES && self.bytes < MAX_BATCH_BYTES {
            match self.upstream.poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.upstream.reset_idle_timeout();
                    self.has_yielded = false;
                    self.bytes += frame.data_ref().map_or(0, Bytes::len);
                    self.frames.push(frame);
                    if self.upstream.is_over() {
                        return Poll::Ready(self.take_batch(Some(Ok(()))));
                    }
                }
                Poll::Ready(None) => return Poll::Ready(self.take_batch(Some(Ok(())))),
                Poll::Ready(Some(Err(_))) => {
                    return Poll::Ready(self.take_batch(Some(Err(UpstreamFailure::Closed))));
                }
                Poll::Pending if self.frames.is_empty() => {
                    ready!(self.upstream.poll_idle_timeout(cx));
                    return Poll::Ready(self.take_batch(Some(Err(UpstreamFailure::IdleTimeout))));
                }
                Poll::Pending if self.may_yield && !self.has_yielded && self.upstream.is_shared() => {
                    // The wake-up puts this task behind the connection's task, which then delivers its next
                    // frame.
                    self.has_yielded = true;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Pending => break,
            }
        }
        Poll::Ready(self.take_batch(None))
    }

    /// Takes the frames collected so far, and resets the state for the next batch.
    fn take_batch(&mut self, end: Option<Result<(), UpstreamFailure>>) -> FrameBatch {
        (self.bytes, self.may_yield, self.has_yielded) = (0, true, false);
        FrameBatch { frames: std::mem::take(&mut self.frames), end }
    }
}
