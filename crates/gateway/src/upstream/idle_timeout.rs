//! Timeout for a vendor that is silent while its answer is awaited.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Timeout for the silence of a vendor. A piece does not touch the timer; the timer is compared with the start
/// of the silence when it fires.
pub(crate) struct IdleTimeout {
    /// Longest silence.
    limit: Duration,
    /// Start of the current silence; `None` if nothing is awaited.
    waiting_since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl IdleTimeout {
    /// Makes a timeout after `idle`.
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, waiting_since: None, timer: None }
    }

    /// Ends the current silence, because bytes came.
    pub(crate) fn reset(&mut self) {
        self.waiting_since = None;
    }

    /// Ready when the silence has lasted for the limit. The first call after a reset starts the silence.
    pub(crate) fn poll_elapsed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        // A time beyond the clock's range never comes.
        let Some(end) = since.checked_add(self.limit) else { return Poll::Pending };
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
