//! How long a vendor has said nothing.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// How long a vendor has said nothing while someone waited. The timer is not touched by each piece: it is looked at when it
/// rings.
pub(crate) struct Silence {
    idle: Duration,
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Silence {
    pub(super) fn new(idle: Duration) -> Self {
        Self { idle, since: None, timer: None }
    }

    /// Something came.
    pub(crate) fn end(&mut self) {
        self.since = None;
    }

    /// Ready when it has lasted too long.
    pub(crate) fn poll_too_long(&mut self, cx: &mut Context<'_>) -> Poll<()> {
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
