//! Poll for the first frame of an answer. If it is there already it leaves together with the head, and the
//! client is woken once.

use std::future::poll_fn;
use std::task::{Context, Poll};

/// Polls for a frame without waiting; `None` if there is none.
///
/// If frames are polled directly one poll is enough. Otherwise a second poll follows, with a poll of the
/// vendor's connection in between.
pub(super) async fn poll_first_frame<T>(
    is_polled_directly: bool,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Option<T> {
    let mut has_yielded = is_polled_directly;
    poll_fn(|cx| {
        if let Poll::Ready(ahead) = poll(cx) {
            return Poll::Ready(Some(ahead));
        }
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(None);
        }
        // The wake-up puts this task behind the connection's task, which then delivers its next frame.
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}
