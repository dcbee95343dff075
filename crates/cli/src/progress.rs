//! The progress bar of a long verification, in bytes.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Byte counter over all verifying threads, with a bar on standard error if that is a terminal.
pub(crate) struct VerifyProgress {
    /// Bytes to verify.
    total: u64,
    /// Bytes verified so far.
    done: AtomicU64,
    /// Bar of indicatif; hidden until [`Self::DRAW_DELAY`] has passed.
    bar: ProgressBar,
    /// Time at which the verification began.
    started: Instant,
    /// True if standard error is a terminal.
    is_drawn: bool,
}

impl VerifyProgress {
    /// Time before the bar appears. Most verifications are over sooner, and a bar that flashes up is noise.
    const DRAW_DELAY: Duration = Duration::from_millis(400);

    /// Creates the counter for `total` bytes. The bar stays hidden until [`Self::DRAW_DELAY`] has passed.
    pub(crate) fn new(total: u64) -> Self {
        let is_drawn = std::io::stderr().is_terminal();
        let bar = ProgressBar::hidden();
        bar.set_length(total);
        Self { total, done: AtomicU64::new(0), bar, started: Instant::now(), is_drawn }
    }

    /// Adds verified bytes, and redraws the bar. Any thread may call this.
    pub(crate) fn add(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if !self.is_drawn || self.started.elapsed() < Self::DRAW_DELAY {
            return;
        }
        if self.bar.is_hidden() {
            let template = "verifying {wide_bar} {bytes} of {total_bytes}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                self.bar.set_style(style);
            }
            self.bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        }
        self.bar.set_position(done.min(self.total));
    }

    /// Removes the bar from the terminal.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
