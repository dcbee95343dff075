//! The first piece of an answer, if it is there already: then it leaves together with the answer's head, and its client is woken
//! once.

use std::future::poll_fn;
use std::task::{Context, Poll};

/// Looks once at what is at hand; otherwise twice, with a turn for the connection to the vendor in between. `None` if nothing is
/// there.
pub(super) async fn look<T>(
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
        // The connection to the vendor has its turn now, and hands over what it has.
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}
