//! Recorder thread: writes observations into the journal, in the order in which they were made.
//!
//! Front ends normally do not wait for the thread: each observation is in the write-ahead log first, from where
//! it is recovered after a kill. On a machine without a place for such a log they wait for the journal, before
//! a request goes out and before an answer ends. If the record must survive the machine, they wait for the
//! disk; one flush serves many of them. Start reading at [`RecorderThread::enqueue`], then `worker`.

mod worker;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use reenact_record::observation::ExchangeEnd;
use reenact_record::wal::Wal;
use reenact_record::{Durability, EventWriter, Observation, RecordError};
use tokio::sync::Notify;

use self::worker::Worker;
use crate::error::Unrecorded;
use crate::event_builder::EventBuilder;
use crate::parsed_body::ParsedBody;
use crate::queue::{BATCH_BYTES, JobQueue, JobTicket, JobWritten, QueuedJob};

/// Handle of the thread. Dropping it closes the queue and waits for the thread.
pub(crate) struct RecorderThread {
    /// State shared with the thread.
    shared: Arc<RecorderShared>,
    /// `None` once the thread was joined.
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// State that the thread shares with front ends.
struct RecorderShared {
    /// Queue of jobs; its lock also orders writes to the log.
    queue: Mutex<JobQueue>,
    /// Notified when an idle thread must look at the queue.
    jobs_available: Condvar,
    /// Notified to end the thread's pause between two looks at the queue.
    poll_now: Condvar,
    /// Notified when requests or long bodies may go on.
    space_available: Notify,
    /// `None` on a machine without a place for a log.
    log: Option<Wal>,
    durability: Durability,
    writer: EventWriter,
    /// True once the journal cannot be written.
    is_journal_lost: AtomicBool,
    /// Count of events that could not be recorded, with the first error.
    unrecorded: Mutex<Option<Unrecorded>>,
}

impl RecorderThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// Fails if the operating system starts no thread.
    pub(crate) fn start(
        writer: EventWriter,
        log: Option<Wal>,
        durability: Durability,
        builder: EventBuilder,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(RecorderShared {
            queue: Mutex::default(),
            jobs_available: Condvar::new(),
            poll_now: Condvar::new(),
            space_available: Notify::new(),
            log,
            durability,
            writer,
            is_journal_lost: AtomicBool::new(false),
            unrecorded: Mutex::default(),
        });
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("recorder".into())
            .spawn(move || Worker::new(&of_thread).run(builder))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Waits until a request may be queued.
    pub(crate) async fn wait_for_space(&self) {
        self.shared.wait_while(JobQueue::is_full).await;
    }

    /// Waits until more of a long body may be queued.
    pub(crate) async fn wait_until_caught_up(&self) {
        self.shared.wait_while(JobQueue::is_behind).await;
    }

    /// Returns true while long bodies must wait.
    pub(crate) fn is_behind(&self) -> bool {
        lock(&self.shared.queue).is_behind()
    }

    /// Logs and queues a request or a note. Returns its number, and the completion to wait for before anything
    /// may follow from it.
    pub(crate) fn enqueue(&self, observation: Observation<'static>) -> JobTicket {
        let mut queue = lock(&self.shared.queue);
        if queue.is_closed {
            drop(queue);
            self.shared.note_failure(RecordError::Ended);
            return (0, None);
        }
        let queued = self.shared.push_job(&mut queue, observation, None, self.shared.writer.now());
        self.shared.wake(queue, queued.1.is_some());
        queued
    }

    /// Logs parts of an answer by one write, and queues them. They may be handed on when this returns.
    pub(crate) fn enqueue_pieces(&self, exchange: u64, observations: &mut Vec<Observation<'static>>) {
        let mut queue = lock(&self.shared.queue);
        self.shared.append_to_log(exchange, observations);
        self.shared.push_pieces(&mut queue, exchange, observations);
        if queue.is_idle && queue.bytes > BATCH_BYTES {
            self.shared.wake(queue, false);
        }
    }

    /// Logs and queues the end of an exchange, after those parts of the answer that were not logged yet.
    /// Returns the completion to wait for before the client may learn that the answer is over.
    pub(crate) fn enqueue_end(
        &self,
        exchange: u64,
        observations: &mut Vec<Observation<'static>>,
        end: ExchangeEnd<'static>,
        parsed_body: Option<ParsedBody>,
    ) -> Option<JobWritten> {
        let mut queue = lock(&self.shared.queue);
        if queue.is_closed {
            drop(queue);
            self.shared.note_failure(RecordError::Ended);
            return None;
        }
        let number = queue.next_number();
        observations.push(Observation::End(ExchangeEnd { job: number, ..end }));
        let is_logged = self.shared.append_to_log(exchange, observations);
        let end = observations.pop();
        self.shared.push_pieces(&mut queue, exchange, observations);
        let (written, waits) = self.shared.completion_channel(is_logged);
        if let Some(observation) = end {
            let (number, at) = (Some(number), self.shared.writer.now());
            queue.push(QueuedJob {
                id: exchange,
                number,
                at,
                observation,
                parsed: parsed_body,
                is_logged,
                on_written: written,
            });
        }
        self.shared.wake(queue, waits.is_some());
        waits
    }

    /// Calls `decide` with the time, and queues the observations that it returns. Nothing else is queued in
    /// between, so that order and times of the record are those of the decisions. Returns `None` if the queue
    /// is closed.
    pub(crate) fn decide<R>(
        &self,
        decide: impl FnOnce(Duration) -> (R, Vec<(Observation<'static>, Option<ParsedBody>)>),
    ) -> Option<(R, Vec<JobTicket>)> {
        let mut queue = lock(&self.shared.queue);
        if queue.is_closed {
            return None;
        }
        let at = self.shared.writer.now();
        let (decided, jobs) = decide(at);
        let put = |(observation, parsed_body)| self.shared.push_job(&mut queue, observation, parsed_body, at);
        let queued: Vec<JobTicket> = jobs.into_iter().map(put).collect();
        if !queued.is_empty() {
            self.shared.wake(queue, queued.iter().any(|(_, waits)| waits.is_some()));
        }
        Some((decided, queued))
    }

    /// Returns the event writer, for its masks and its clock.
    pub(crate) fn writer(&self) -> &EventWriter {
        &self.shared.writer
    }

    /// Returns true if any event could not be recorded. Under an envelope every further action is then refused.
    pub(crate) fn has_unrecorded(&self) -> bool {
        lock(&self.shared.unrecorded).is_some()
    }

    /// Returns true if the log cannot be written any more, so that front ends wait for the journal. Valid
    /// before [`Self::finish`] only.
    pub(crate) fn has_lost_its_log(&self) -> bool {
        self.shared.log.as_ref().is_some_and(Wal::has_failed)
    }

    /// Returns the events that could not be recorded so far.
    pub(crate) fn unrecorded(&self) -> Option<Unrecorded> {
        lock(&self.shared.unrecorded).clone()
    }

    /// Closes the queue, and waits until all of it is written. Then the log is removed, unless the journal was
    /// lost.
    pub(crate) fn finish(&self) {
        lock(&self.shared.queue).is_closed = true;
        self.shared.jobs_available.notify_all();
        self.shared.poll_now.notify_all();
        let Some(thread) = lock(&self.thread).take() else { return };
        // A thread that panicked left its error in `unrecorded`, and its jobs in the log.
        if thread.join().is_ok() && !self.shared.is_journal_lost() {
            self.shared.remove_log();
        }
    }
}

impl Drop for RecorderThread {
    fn drop(&mut self) {
        self.finish();
    }
}

impl RecorderShared {
    /// Waits until `must_wait` is false, and hurries the thread meanwhile.
    async fn wait_while(&self, must_wait: impl Fn(&JobQueue) -> bool) {
        loop {
            let notified = self.space_available.notified();
            if !must_wait(&lock(&self.queue)) {
                return;
            }
            self.poll_now.notify_all();
            notified.await;
        }
    }

    /// Writes observations into the log. Returns false if there is no log, or it fails.
    fn append_to_log(&self, id: u64, observations: &[Observation<'_>]) -> bool {
        // The caller holds the lock of the queue, so the log has the queue's order.
        self.log.as_ref().is_some_and(|log| log.append_each(id, observations).is_ok())
    }

    /// Returns sender and receiver of a job's completion, or none if being in the log is durable enough.
    fn completion_channel(
        &self,
        is_logged: bool,
    ) -> (Option<tokio::sync::oneshot::Sender<()>>, Option<JobWritten>) {
        if is_logged && self.durability == Durability::Process {
            return (None, None);
        }
        let (written, waits) = JobWritten::channel();
        (Some(written), Some(waits))
    }

    /// Numbers, logs and queues one observation.
    fn push_job(
        &self,
        queue: &mut JobQueue,
        observation: Observation<'static>,
        parsed_body: Option<ParsedBody>,
        at: Duration,
    ) -> JobTicket {
        let id = queue.next_number();
        let is_logged = self.append_to_log(id, std::slice::from_ref(&observation));
        let (written, waits) = self.completion_channel(is_logged);
        queue.push(QueuedJob {
            id,
            number: Some(id),
            at,
            observation,
            parsed: parsed_body,
            is_logged,
            on_written: written,
        });
        (id, waits)
    }

    /// Queues parts of an answer. No completion: the journal gets them with the end of the exchange.
    fn push_pieces(&self, queue: &mut JobQueue, id: u64, observations: &mut Vec<Observation<'static>>) {
        if queue.is_closed {
            return observations.clear();
        }
        for observation in observations.drain(..) {
            let (parsed_body, written) = (None, None);
            let at = Duration::ZERO;
            queue.push(QueuedJob {
                id,
                number: None,
                at,
                observation,
                parsed: parsed_body,
                is_logged: true,
                on_written: written,
            });
        }
    }

    /// Wakes the thread if it is idle, and ends its pause if its work is awaited.
    fn wake(&self, mut queue: MutexGuard<'_, JobQueue>, is_waited_for: bool) {
        let is_idle = std::mem::take(&mut queue.is_idle);
        drop(queue);
        if is_idle {
            self.jobs_available.notify_one();
        }
        if is_waited_for {
            self.poll_now.notify_one();
        }
    }

    /// Returns true once the journal cannot be written.
    fn is_journal_lost(&self) -> bool {
        self.is_journal_lost.load(Ordering::Acquire)
    }

    /// Removes the log, whose jobs are all in the journal.
    fn remove_log(&self) {
        if let Some(log) = &self.log {
            // A log that cannot be removed is in memory only.
            let _ = log.remove();
        }
    }

    /// Counts an event as unrecorded. An error of the journal, or a change of its file, marks the journal as lost: the log
    /// then keeps what the journal did not take.
    fn note_failure(&self, first: RecordError) {
        if matches!(first, RecordError::Journal { .. } | RecordError::JournalChanged { .. }) {
            self.is_journal_lost.store(true, Ordering::Release);
        }
        let mut unrecorded = lock(&self.unrecorded);
        unrecorded.get_or_insert(Unrecorded { count: 0, first }).count += 1;
    }
}

/// Locks a mutex, even a poisoned one. The values behind these locks are changed in single steps, so they are
/// valid after a panic elsewhere.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
