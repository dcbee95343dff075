//! The recorder thread: writes observations into the journal, in the order in which they were made.
//!
//! Front ends do not wait for the thread. Everything they give it is in the write-ahead log first, from where it is recovered
//! after a kill. Only on a machine without a place for such a log do they wait, before a request goes out and before an answer
//! ends; and where the record must survive the machine, until the disk has it, many waits by one flush.

mod worker;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use reenact_record::observation::ExchangeEnd;
use reenact_record::wal::Wal;
use reenact_record::{Durability, Observation, Pen, RecordError};
use tokio::sync::Notify;

use self::worker::Worker;
use crate::error::Unrecorded;
use crate::event_builder::EventBuilder;
use crate::queue::{BATCH, Queue, Queued, QueuedJob, Written};
use crate::reading::Reading;

/// Handle of the thread.
pub(crate) struct RecorderThread {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// State that the thread shares with front ends.
struct Shared {
    queue: Mutex<Queue>,
    has_come: Condvar,
    /// Ends the thread's nap.
    hurry: Condvar,
    /// Notified when requests or long bodies may go on.
    room: Notify,
    log: Option<Wal>,
    durability: Durability,
    pen: Pen,
    /// True once the journal cannot be written.
    is_journal_lost: AtomicBool,
    unrecorded: Mutex<Option<Unrecorded>>,
}

impl RecorderThread {
    /// Starts the thread.
    pub(crate) fn start(
        pen: Pen,
        log: Option<Wal>,
        durability: Durability,
        builder: EventBuilder,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            has_come: Condvar::new(),
            hurry: Condvar::new(),
            room: Notify::new(),
            log,
            durability,
            pen,
            is_journal_lost: AtomicBool::new(false),
            unrecorded: Mutex::default(),
        });
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("recorder".into())
            .spawn(move || Worker::of(&of_thread).work(builder))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Waits until a request may be queued.
    pub(crate) async fn room(&self) {
        self.shared.wait_while(Queue::is_full).await;
    }

    /// Waits until more of a long body may be queued.
    pub(crate) async fn caught_up(&self) {
        self.shared.wait_while(Queue::is_behind).await;
    }

    /// Returns true while long bodies must wait.
    pub(crate) fn is_behind(&self) -> bool {
        lock(&self.shared.queue).is_behind()
    }

    /// Logs and queues a request or a note. Returns its number, and the wait before anything may follow from it.
    pub(crate) fn job(&self, observation: Observation<'static>) -> Queued {
        let mut queue = lock(&self.shared.queue);
        if queue.is_closed {
            drop(queue);
            self.shared.failed(RecordError::Ended);
            return (0, None);
        }
        let queued = self.shared.put(&mut queue, observation, None, self.shared.pen.now());
        self.shared.wake(queue, queued.1.is_some());
        queued
    }

    /// Logs what came of an exchange, by one write, and queues it. It may be handed on when this returns.
    pub(crate) fn observe(&self, exchange: u64, observations: &mut Vec<Observation<'static>>) {
        let mut queue = lock(&self.shared.queue);
        self.shared.append(exchange, observations);
        self.shared.push_pieces(&mut queue, exchange, observations);
        if queue.is_idle && queue.bytes > BATCH {
            self.shared.wake(queue, false);
        }
    }

    /// Logs and queues the end of an exchange, behind what came of it and was not logged yet. Returns the wait before its
    /// client may know that it is over.
    pub(crate) fn end(
        &self,
        exchange: u64,
        observations: &mut Vec<Observation<'static>>,
        end: ExchangeEnd<'static>,
        reading: Option<Reading>,
    ) -> Option<Written> {
        let mut queue = lock(&self.shared.queue);
        if queue.is_closed {
            drop(queue);
            self.shared.failed(RecordError::Ended);
            return None;
        }
        let number = queue.next_number();
        observations.push(Observation::End(ExchangeEnd { job: number, ..end }));
        let is_logged = self.shared.append(exchange, observations);
        let end = observations.pop();
        self.shared.push_pieces(&mut queue, exchange, observations);
        let (written, waits) = self.shared.wait_for(is_logged);
        if let Some(observation) = end {
            let (number, at) = (Some(number), self.shared.pen.now());
            queue.push(QueuedJob { id: exchange, number, at, observation, reading, is_logged, written });
        }
        self.shared.wake(queue, waits.is_some());
        waits
    }

    /// Calls `decide` with the time, and queues the observations that it returns. Nothing else is queued in between, so that
    /// order and times of the record are those of the decisions. `None` if nothing is queued any more.
    pub(crate) fn decide<R>(
        &self,
        decide: impl FnOnce(Duration) -> (R, Vec<(Observation<'static>, Option<Reading>)>),
    ) -> Option<(R, Vec<Queued>)> {
        let mut queue = lock(&self.shared.queue);
        if queue.is_closed {
            return None;
        }
        let at = self.shared.pen.now();
        let (decided, jobs) = decide(at);
        let put = |(observation, reading)| self.shared.put(&mut queue, observation, reading, at);
        let queued: Vec<Queued> = jobs.into_iter().map(put).collect();
        if !queued.is_empty() {
            self.shared.wake(queue, queued.iter().any(|(_, waits)| waits.is_some()));
        }
        Some((decided, queued))
    }

    /// Returns the writer of events, whose masks and clock others use.
    pub(crate) fn pen(&self) -> &Pen {
        &self.shared.pen
    }

    /// Returns true if anything could not be recorded. Under an envelope nothing may happen any more.
    pub(crate) fn has_lost_something(&self) -> bool {
        lock(&self.shared.unrecorded).is_some()
    }

    /// Returns true if the log cannot be written any more, so that front ends wait for the journal. Valid before the end only.
    pub(crate) fn has_lost_its_log(&self) -> bool {
        self.shared.log.as_ref().is_some_and(Wal::has_failed)
    }

    /// Returns the events that could not be recorded so far.
    pub(crate) fn unrecorded(&self) -> Option<Unrecorded> {
        lock(&self.shared.unrecorded).clone()
    }

    /// Closes the queue, and waits until all of it is written.
    pub(crate) fn finish(&self) {
        lock(&self.shared.queue).is_closed = true;
        self.shared.has_come.notify_all();
        self.shared.hurry.notify_all();
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

impl Shared {
    async fn wait_while(&self, must_wait: impl Fn(&Queue) -> bool) {
        loop {
            let notified = self.room.notified();
            if !must_wait(&lock(&self.queue)) {
                return;
            }
            self.hurry.notify_all();
            notified.await;
        }
    }

    /// Writes observations into the log. Returns false if there is no log that takes them.
    fn append(&self, id: u64, observations: &[Observation<'_>]) -> bool {
        // Under the lock of the queue: the log has its order.
        self.log.as_ref().is_some_and(|log| log.append_each(id, observations).is_ok())
    }

    /// Returns the two ends of the wait for a job, where being in the log is not enough.
    fn wait_for(&self, is_logged: bool) -> (Option<tokio::sync::oneshot::Sender<()>>, Option<Written>) {
        if is_logged && self.durability == Durability::Process {
            return (None, None);
        }
        let (written, waits) = Written::channel();
        (Some(written), Some(waits))
    }

    fn put(
        &self,
        queue: &mut Queue,
        observation: Observation<'static>,
        reading: Option<Reading>,
        at: Duration,
    ) -> Queued {
        let id = queue.next_number();
        let is_logged = self.append(id, std::slice::from_ref(&observation));
        let (written, waits) = self.wait_for(is_logged);
        queue.push(QueuedJob { id, number: Some(id), at, observation, reading, is_logged, written });
        (id, waits)
    }

    /// Queues what came of an exchange. Nobody waits for it: the journal has it with the end.
    fn push_pieces(&self, queue: &mut Queue, id: u64, observations: &mut Vec<Observation<'static>>) {
        if queue.is_closed {
            return observations.clear();
        }
        for observation in observations.drain(..) {
            let (reading, written) = (None, None);
            let at = Duration::ZERO;
            queue.push(QueuedJob { id, number: None, at, observation, reading, is_logged: true, written });
        }
    }

    /// Wakes the thread if it is idle, or if it is waited for.
    fn wake(&self, mut queue: MutexGuard<'_, Queue>, is_waited_for: bool) {
        let is_idle = std::mem::take(&mut queue.is_idle);
        drop(queue);
        if is_idle {
            self.has_come.notify_one();
        }
        if is_waited_for {
            self.hurry.notify_one();
        }
    }

    fn is_journal_lost(&self) -> bool {
        self.is_journal_lost.load(Ordering::Acquire)
    }

    fn remove_log(&self) {
        if let Some(log) = &self.log {
            // A log that stays lies in memory only.
            let _ = log.remove();
        }
    }

    fn failed(&self, first: RecordError) {
        if matches!(first, RecordError::Journal { .. }) {
            self.is_journal_lost.store(true, Ordering::Release);
        }
        let mut unrecorded = lock(&self.unrecorded);
        unrecorded.get_or_insert(Unrecorded { count: 0, first }).count += 1;
    }
}

/// Locks. All values behind these locks are whole after a panic elsewhere: each change is one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
