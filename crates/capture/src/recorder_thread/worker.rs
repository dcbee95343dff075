//! Loop of the recorder thread: takes jobs off the queue and writes them in batches.
//!
//! Start reading at [`Worker::run`].

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

use reenact_record::{Durability, Observation, RecordError};

use super::{RecorderShared, lock};
use crate::event_builder::EventBuilder;
use crate::queue::{QueuedJob, batch_len, byte_sizes};

/// Pause between two looks at the queue while jobs come: 1 ms. The log has the jobs, so they can wait; waking
/// the thread for each would cost front ends more than the look costs the thread.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Number of looks at an empty queue after which the thread sleeps until it is woken.
const MAX_IDLE_POLLS: u32 = 200;

/// State of the thread's loop. Dropping it closes the queue, however the thread ends, so that no front end
/// waits for ever.
pub(super) struct Worker<'s> {
    shared: &'s RecorderShared,
    /// Jobs that were taken off the queue.
    jobs: VecDeque<QueuedJob>,
}

impl<'s> Worker<'s> {
    /// Makes a worker for the queue of `shared`.
    pub(super) fn new(shared: &'s RecorderShared) -> Self {
        Self { shared, jobs: VecDeque::new() }
    }

    /// Waits until jobs were taken off the queue; returns false when no more will come.
    fn wait_for_jobs(&mut self) -> bool {
        if !self.jobs.is_empty() {
            return true;
        }
        let RecorderShared { queue, jobs_available: has_come, poll_now: hurry, .. } = self.shared;
        let mut queue = lock(queue);
        let mut naps = 0;
        loop {
            if !queue.is_empty() {
                queue.take_all(&mut self.jobs);
                return true;
            }
            if queue.is_closed {
                return false;
            }
            if naps == MAX_IDLE_POLLS {
                queue.is_idle = true;
                let come = has_come.wait_while(queue, |queue| queue.is_idle && !queue.is_closed);
                queue = come.unwrap_or_else(PoisonError::into_inner);
                queue.is_idle = false;
                naps = 0;
            }
            let napped = hurry.wait_timeout_while(queue, POLL_INTERVAL, |queue| !queue.is_urgent());
            (queue, _) = napped.unwrap_or_else(PoisonError::into_inner);
            naps += 1;
        }
    }

    /// Writes jobs until the queue is closed and empty.
    pub(super) fn run(&mut self, mut builder: EventBuilder) {
        lower_priority();
        // The log has had the secrets known at its start from its beginning.
        let mut known = self.shared.writer.secret_count();
        while self.wait_for_jobs() {
            let batch = batch_len(&self.jobs);
            self.write_batch(batch, &mut builder, &mut known);
        }
    }

    /// Writes the first `batch` jobs into the journal, then completes the waits for them and marks them in the
    /// log.
    ///
    /// If the record must survive the machine, one sync of the journal serves the whole batch. `known` is the
    /// number of secrets that the log has.
    fn write_batch(&mut self, batch: usize, builder: &mut EventBuilder, known: &mut usize) {
        let shared = self.shared;
        let (mut bytes, mut piece_bytes) = (0, 0);
        let (mut last, mut steps, mut over, mut waiting) = (None, Vec::new(), Vec::new(), Vec::new());
        for QueuedJob { id, number, at, observation, parsed: parsed_body, is_logged, on_written: written } in
            self.jobs.drain(..batch)
        {
            let sizes = byte_sizes(&observation);
            (bytes, piece_bytes) = (bytes + sizes.0, piece_bytes + sizes.1);
            last = number.or(last);
            if number.is_some() && !matches!(observation, Observation::Request(_)) {
                over.push(id);
            }
            if !is_logged && !shared.is_journal_lost() {
                // The log failed, and all jobs in it are in the journal. Recovery would take the log for newer
                // than the journal.
                shared.remove_log();
            }
            let step =
                builder.take(id, Some(at), observation, parsed_body, |error| shared.note_failure(error));
            steps.extend(step.map(|step| (id, step)));
            waiting.extend(written);
        }
        if let Some(last) = last {
            if shared.durability == Durability::Machine
                && let Err(error) = shared.writer.sync()
            {
                shared.note_failure(error);
            }
            for written in waiting {
                // The receiver is gone if its client disconnected.
                let _ = written.send(());
            }
            // Jobs that a lost journal did not take stay in the log, from where they can be recovered.
            if let Some(log) = shared.log.as_ref().filter(|_| !shared.is_journal_lost()) {
                // First the secrets, then the marks that drop observations: recovery must mask these values,
                // too.
                *known = shared.writer.log_secrets(log, *known).unwrap_or(*known);
                // The log is given up after a failure; from then on front ends wait for the journal.
                let _ = log.mark_journaled(last, shared.writer.journal_position(), &steps);
                log.release(&over);
            }
        }
        let mut queue = lock(&shared.queue);
        queue.bytes -= bytes;
        queue.body_bytes -= piece_bytes;
        if !queue.is_full() || !queue.is_behind() {
            shared.space_available.notify_waiters();
        }
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.shared.queue);
        queue.is_closed = true;
        let mut rest = VecDeque::new();
        queue.take_all(&mut rest);
        for _ in self.jobs.drain(..).chain(rest).filter(|job| job.number.is_some()) {
            self.shared.note_failure(RecordError::Ended);
        }
        self.shared.space_available.notify_waiters();
    }
}

/// Lowers the priority of this thread below those that serve clients. On Linux `nice` applies to one thread,
/// not to the process.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    // `nice` may fail without permission; the default priority is fine.
    let _ = rustix::process::nice(10);
}
