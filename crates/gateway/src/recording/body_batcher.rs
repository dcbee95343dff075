//! The frames of a vendor's answer, taken in batches.
//!
//! Several frames often come at once, and each of them would be a write to the log and one to the client's socket; a batch is
//! one of each. A shared connection (HTTP/2) hands over one frame whenever its own task is polled: after each frame it is given
//! one more poll, and a frame that does not come then is not waited for.

use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::upstream::{Coming, Failure};

/// Largest number of frames in a batch.
const MAX_FRAMES: usize = 64;

/// Bytes after which a batch is not extended.
const MAX_BYTES: usize = 256 << 10;

/// Batches the frames of one answer.
pub(super) struct BodyBatcher {
    upstream: Coming,
    frames: Vec<Frame<Bytes>>,
    bytes: usize,
    /// True if a shared connection is given a poll to bring more. False for the first batch, which everyone waits for.
    is_patient: bool,
    /// True if it was given one, in vain so far.
    has_turned: bool,
}

/// Frames that came together.
pub(super) struct FrameBatch {
    /// Empty only at the end.
    pub(super) frames: Vec<Frame<Bytes>>,
    /// End of the answer, if it has come.
    pub(super) end: Option<Result<(), Failure>>,
}

impl BodyBatcher {
    pub(super) fn new(upstream: Coming) -> Self {
        Self { upstream, frames: Vec::new(), bytes: 0, is_patient: false, has_turned: false }
    }

    /// Returns true if frames can be had without a poll of another task.
    pub(super) fn is_at_hand(&self) -> bool {
        !self.upstream.is_shared()
    }

    /// Returns the length of the rest, as far as it is known.
    pub(super) fn size_hint(&self) -> SizeHint {
        self.upstream.size_hint()
    }

    /// Waits for the next batch. Must not be called after the end.
    pub(super) async fn next(&mut self) -> FrameBatch {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for the next batch. Must not be called after the end.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<FrameBatch> {
        while self.frames.len() < MAX_FRAMES && self.bytes < MAX_BYTES {
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
                    // The connection's task is polled now, and hands over what it has.
                    self.has_turned = true;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Pending => break,
            }
        }
        Poll::Ready(self.take(None))
    }

    fn take(&mut self, end: Option<Result<(), Failure>>) -> FrameBatch {
        (self.bytes, self.is_patient, self.has_turned) = (0, true, false);
        FrameBatch { frames: std::mem::take(&mut self.frames), end }
    }
}
