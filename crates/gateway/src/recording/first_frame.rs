//! The first frame of an answer, if it is there already: then it leaves together with the head, and its client is woken once.

use std::future::poll_fn;
use std::task::{Context, Poll};

/// Polls once if frames are at hand; otherwise twice, with a poll of the vendor's connection in between. `None` if nothing is
/// there.
pub(super) async fn poll_first_frame<T>(
    is_at_hand: bool,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Option<T> {
    let mut has_looked = is_at_hand;
    poll_fn(|cx| {
        if let Poll::Ready(ahead) = poll(cx) {
            return Poll::Ready(Some(ahead));
        }
        if std::mem::replace(&mut has_looked, true) {
            return Poll::Ready(None);
        }
        // The connection's task is polled now, and hands over what it has.
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}
