//! The work of the recorder thread: jobs taken off the queue, written in batches.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

use reenact_record::{Durability, Observation, RecordError};

use super::{Shared, lock};
use crate::event_builder::EventBuilder;
use crate::queue::{QueuedJob, batch, sizes};

/// Time between two looks at the queue while jobs come. The log has them, so they can wait; waking the thread would cost each
/// front end more than a look costs the thread.
const NAP: Duration = Duration::from_millis(1);

/// Number of looks in vain after which the thread sleeps until it is woken.
const NAPS: u32 = 200;

/// The thread's own state. Closes the queue when it is dropped, however the thread ends, so that nobody waits for ever.
pub(super) struct Worker<'s> {
    shared: &'s Shared,
    /// Jobs that were taken off the queue.
    taken: VecDeque<QueuedJob>,
}

impl<'s> Worker<'s> {
    /// Takes jobs off the queue of `shared`.
    pub(super) fn of(shared: &'s Shared) -> Self {
        Self { shared, taken: VecDeque::new() }
    }

    /// Waits until jobs are taken off the queue; returns false when no more will come.
    fn has_jobs(&mut self) -> bool {
        if !self.taken.is_empty() {
            return true;
        }
        let Shared { queue, has_come, hurry, .. } = self.shared;
        let mut queue = lock(queue);
        let mut naps = 0;
        loop {
            if !queue.is_empty() {
                queue.take_all(&mut self.taken);
                return true;
            }
            if queue.is_closed {
                return false;
            }
            if naps == NAPS {
                queue.is_idle = true;
                let come = has_come.wait_while(queue, |queue| queue.is_idle && !queue.is_closed);
                queue = come.unwrap_or_else(PoisonError::into_inner);
                queue.is_idle = false;
                naps = 0;
            }
            let napped = hurry.wait_timeout_while(queue, NAP, |queue| !queue.is_urgent());
            (queue, _) = napped.unwrap_or_else(PoisonError::into_inner);
            naps += 1;
        }
    }

    /// Writes jobs until the queue is closed and empty.
    pub(super) fn work(&mut self, mut builder: EventBuilder) {
        lower_priority();
        // The log has had those that were known before since it began.
        let mut known = self.shared.pen.known();
        while self.has_jobs() {
            let batch = batch(&self.taken);
            self.write(batch, &mut builder, &mut known);
        }
    }

    /// Writes the first `batch` jobs, and tells the log.
    fn write(&mut self, batch: usize, builder: &mut EventBuilder, known: &mut usize) {
        let shared = self.shared;
        let (mut bytes, mut piece_bytes) = (0, 0);
        let (mut last, mut steps, mut over, mut waiting) = (None, Vec::new(), Vec::new(), Vec::new());
        for QueuedJob { id, number, at, observation, reading, is_logged, written } in
            self.taken.drain(..batch)
        {
            let sizes = sizes(&observation);
            (bytes, piece_bytes) = (bytes + sizes.0, piece_bytes + sizes.1);
            last = number.or(last);
            if number.is_some() && !matches!(observation, Observation::Request(_)) {
                over.push(id);
            }
            if !is_logged && !shared.is_journal_lost() {
                // The log failed, and all jobs in it are in the journal. It would be taken for the newer of the two.
                shared.remove_log();
            }
            let step = builder.take(id, Some(at), observation, reading, |error| shared.failed(error));
            steps.extend(step.map(|step| (id, step)));
            waiting.extend(written);
        }
        if let Some(last) = last {
            if shared.durability == Durability::Machine
                && let Err(error) = shared.pen.sync()
            {
                shared.failed(error);
            }
            for written in waiting {
                // A client that left does not wait.
                let _ = written.send(());
            }
            // Jobs that a lost journal did not take stay in the log, from where they can be recovered.
            if let Some(log) = shared.log.as_ref().filter(|_| !shared.is_journal_lost()) {
                // Before anything is dropped that shows them: recovery must mask these values, too.
                *known = shared.pen.log_known(log, *known).unwrap_or(*known);
                // A log that fails is given up: from then on front ends wait for the journal.
                let _ = log.journaled(last, shared.pen.counts().bytes, &steps);
                log.over(&over);
            }
        }
        let mut queue = lock(&shared.queue);
        queue.bytes -= bytes;
        queue.piece_bytes -= piece_bytes;
        if !queue.is_full() || !queue.is_behind() {
            shared.room.notify_waiters();
        }
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.shared.queue);
        queue.is_closed = true;
        let mut rest = VecDeque::new();
        queue.take_all(&mut rest);
        for _ in self.taken.drain(..).chain(rest).filter(|job| job.number.is_some()) {
            self.shared.failed(RecordError::Ended);
        }
        self.shared.room.notify_waiters();
    }
}

/// Gives way to the threads that serve. On Linux `nice` is about one thread, not about the process.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    // `nice` may fail without permission; the default priority is fine.
    let _ = rustix::process::nice(10);
}
