//! The progress of a long verification: how many of its bytes are done.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Counts bytes on all threads; draws on a terminal, once it is worth it.
pub(crate) struct Progress {
    total: u64,
    done: AtomicU64,
    bar: ProgressBar,
    started: Instant,
    wanted: bool,
}

impl Progress {
    /// Below this nobody wants to see a bar.
    const PATIENCE: Duration = Duration::from_millis(400);

    /// A bar over `total` bytes.
    pub(crate) fn new(total: u64) -> Self {
        let wanted = std::io::stderr().is_terminal();
        let bar = ProgressBar::hidden();
        bar.set_length(total);
        Self { total, done: AtomicU64::new(0), bar, started: Instant::now(), wanted }
    }

    /// Some more bytes are done.
    pub(crate) fn add(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if !self.wanted || self.started.elapsed() < Self::PATIENCE {
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

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
