//! The scribe: one thread that writes down what passed, in the order in which it passed.
//!
//! Nobody waits for it. What it is given is in the write-ahead log first, from where it can be recovered if we are killed. Only
//! where there is no place for such a log is it waited for, before a request goes out and before an answer ends; and where
//! the record is to survive the machine: then until the disk has it, all that waits by one call.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use reenact_record::wal::{self, ApprovalNews, Ending, Entry, Wal};
use reenact_record::warden::Action;
use reenact_record::{Durability, EndedBy, Pen, RecordError};
use tokio::sync::{Notify, oneshot};

use super::job::{Answered, Approval, Asked, Decided, Ended, Job, News, Part};
use super::notebook::{Notebook, pairs};
use crate::error::Unrecorded;

/// Ready when something is written down.
pub(super) type Written = oneshot::Receiver<()>;

/// The number of a job, and what must be waited for.
pub(super) type Taken = (u64, Option<Written>);

/// When more than this waits in memory, requests wait until the scribe has caught up.
const MOST: usize = 64 << 20;

/// When more than this of long bodies waits in memory, their vendors wait.
const MOST_PARTS: usize = 8 << 20;

/// What is in the log can wait, and those who come and go at this moment need the processor more. To wake the scribe costs each of
/// them more than it costs the scribe to look for itself.
const NAP: Duration = Duration::from_millis(1);

/// After so many naps in which nothing came it sleeps until it is woken.
const NAPS: u32 = 200;

/// How much is written at one go. The log is told once what of it is in the journal.
const BATCH: usize = 256 << 10;

/// Gives orders to the thread.
pub(crate) struct Scribe {
    desk: Arc<Desk>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread shares with those who give it orders.
struct Desk {
    queue: Mutex<Queue>,
    has_come: Condvar,
    /// Ends the scribe's nap.
    hurry: Condvar,
    /// Tells those who wait with a request that there is room.
    room: Notify,
    log: Option<Wal>,
    durability: Durability,
    /// For its clock.
    pen: Pen,
    /// Whether the journal cannot be written any more.
    is_lost: AtomicBool,
    unrecorded: Mutex<Option<Unrecorded>>,
}

#[derive(Default)]
struct Queue {
    orders: VecDeque<Order>,
    bytes: usize,
    /// How many of them are of long bodies.
    parts: usize,
    last: u64,
    /// The scribe has nothing to do and must be woken.
    is_idle: bool,
    is_closed: bool,
}

impl Queue {
    /// Whether more waits than should.
    fn is_full(&self) -> bool {
        self.bytes > MOST && !self.is_closed
    }

    /// Whether more of long bodies waits than should.
    fn is_behind(&self) -> bool {
        self.parts > MOST_PARTS && !self.is_closed
    }

    /// Whether someone waits.
    fn is_urgent(&self) -> bool {
        self.is_closed
            || self.is_full()
            || self.is_behind()
            || self.orders.iter().any(|order| order.written.is_some())
    }
}

struct Order {
    number: u64,
    job: Job,
    /// When it was given, since 1970.
    at: Duration,
    /// Whether it is in the log.
    is_logged: bool,
    written: Option<oneshot::Sender<()>>,
}

impl Scribe {
    /// Begins to write.
    pub(super) fn new(
        pen: Pen,
        log: Option<Wal>,
        durability: Durability,
        most: usize,
    ) -> std::io::Result<Self> {
        let desk = Arc::new(Desk {
            queue: Mutex::default(),
            has_come: Condvar::new(),
            hurry: Condvar::new(),
            room: Notify::new(),
            log,
            durability,
            pen: pen.clone(),
            is_lost: AtomicBool::new(false),
            unrecorded: Mutex::default(),
        });
        let (at_desk, notebook) = (Arc::clone(&desk), Notebook::new(pen, most));
        let thread = thread::Builder::new().name("scribe".into()).spawn(move || at_desk.work(notebook))?;
        Ok(Self { desk, thread: Mutex::new(Some(thread)) })
    }

    /// Waits until there is room for a request.
    pub(super) async fn room(&self) {
        loop {
            let told = self.desk.room.notified();
            if !lock(&self.desk.queue).is_full() {
                return;
            }
            self.desk.hurry.notify_all();
            told.await;
        }
    }

    /// Takes a request; gives the number of its exchange, and what must be waited for before it goes out.
    pub(super) fn asked(&self, asked: Asked) -> (u64, Option<Written>) {
        self.desk.take(Job::Request(asked))
    }

    /// Takes a part of a long body. It is in the log, piece by piece.
    pub(super) fn part(&self, part: Part) {
        self.desk.take(Job::Part(part));
    }

    /// Whether more of long bodies waits than should.
    pub(super) fn is_behind(&self) -> bool {
        lock(&self.desk.queue).is_behind()
    }

    /// Waits until the next part of a long body may come.
    pub(super) async fn caught_up(&self) {
        loop {
            let told = self.desk.room.notified();
            if !self.is_behind() {
                return;
            }
            self.desk.hurry.notify_all();
            told.await;
        }
    }

    /// Takes an answer; gives what must be waited for before its client may know that it is over.
    pub(super) fn answered(&self, answered: Answered) -> Option<Written> {
        self.desk.take(Job::Answer(answered)).1
    }

    /// Has something decided at a moment, and takes what follows from it; nothing else is taken in between, so that the order
    /// and the times of the record are those of the decisions. `None` if nothing is taken any more.
    pub(super) fn decide<R>(
        &self,
        decide: impl FnOnce(Duration) -> (R, Vec<Job>),
    ) -> Option<(R, Vec<Taken>)> {
        self.desk.decide(decide)
    }

    /// What it writes with, for others to mask by.
    pub(super) fn pen(&self) -> &Pen {
        &self.desk.pen
    }

    /// Takes what an agent tells of itself; gives what must be waited for.
    pub(super) fn reported(&self, text: Bytes) -> Option<Written> {
        self.desk.take(Job::Reported(text)).1
    }

    /// Whether something could not be recorded, for whatever reason: under an envelope nothing may happen any more.
    pub(super) fn has_lost_something(&self) -> bool {
        lock(&self.desk.unrecorded).is_some()
    }

    /// Takes a note on something that was not seen.
    pub(super) fn gap(&self, what: &str, why: &str) {
        self.desk.take(Job::Gap { what: what.to_owned(), why: why.to_owned() });
    }

    /// Something of an answer has come and is about to be handed on.
    pub(super) fn comes(&self, exchange: u64, entries: &[Entry<'_>]) {
        if let Some(log) = &self.desk.log {
            // A log that fails is not waited for: from then on the journal is.
            let _ = log.append_each(exchange, entries);
        }
    }

    /// Whether the log could not be written any more, so that the journal is waited for. To be asked before the end.
    pub(crate) fn has_lost_its_log(&self) -> bool {
        self.desk.log.as_ref().is_some_and(Wal::has_failed)
    }

    /// Whether the journal cannot be written any more. Whoever needs every action recorded lets no more of them pass.
    pub(crate) fn is_journal_lost(&self) -> bool {
        self.desk.is_journal_lost()
    }

    /// What could not be recorded so far.
    pub(crate) fn unrecorded(&self) -> Option<Unrecorded> {
        lock(&self.desk.unrecorded).clone()
    }

    /// Ends when everything that was taken is written. Nothing is taken any more.
    pub(crate) fn finish(&self) {
        lock(&self.desk.queue).is_closed = true;
        self.desk.has_come.notify_all();
        self.desk.hurry.notify_all();
        let Some(thread) = lock(&self.thread).take() else { return };
        // A thread that ended early has left its word in `unrecorded`, and its work in the log.
        if thread.join().is_ok() && !self.is_journal_lost() {
            self.desk.remove_log();
        }
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Desk {
    fn take(&self, job: Job) -> Taken {
        let mut queue = lock(&self.queue);
        if queue.is_closed {
            drop(queue);
            self.failed(RecordError::Ended);
            return (0, None);
        }
        let taken = self.put(&mut queue, job, self.pen.now());
        self.call(queue, taken.1.is_some());
        taken
    }

    fn decide<R>(&self, decide: impl FnOnce(Duration) -> (R, Vec<Job>)) -> Option<(R, Vec<Taken>)> {
        let mut queue = lock(&self.queue);
        if queue.is_closed {
            return None;
        }
        let at = self.pen.now();
        let (decided, jobs) = decide(at);
        let taken: Vec<Taken> = jobs.into_iter().map(|job| self.put(&mut queue, job, at)).collect();
        if !taken.is_empty() {
            self.call(queue, taken.iter().any(|(_, waits)| waits.is_some()));
        }
        Some((decided, taken))
    }

    /// Calls the scribe if it is idle, or if it is waited for.
    fn call(&self, mut queue: MutexGuard<'_, Queue>, is_waited_for: bool) {
        let is_idle = std::mem::take(&mut queue.is_idle);
        drop(queue);
        if is_idle {
            self.has_come.notify_one();
        }
        if is_waited_for {
            self.hurry.notify_one();
        }
    }

    fn put(&self, queue: &mut Queue, job: Job, at: Duration) -> Taken {
        queue.last += 1;
        let number = queue.last;
        // Under the lock: the log has the order of the queue.
        let is_logged = self.log.as_ref().is_some_and(|log| ahead(log, number, &job).is_ok());
        // For a part nobody waits: it is in the journal with the whole.
        let is_part = matches!(job, Job::Part(_));
        let is_enough = is_part || is_logged && self.durability == Durability::Process;
        let (written, waits) = if is_enough {
            (None, None)
        } else {
            let (written, waits) = oneshot::channel();
            (Some(written), Some(waits))
        };
        queue.bytes += job.size();
        queue.parts += if is_part { job.size() } else { 0 };
        queue.orders.push_back(Order { number, job, at, is_logged, written });
        (number, waits)
    }

    /// What waits, as far as it is to be written at one go; `None` when nothing will come any more.
    fn next(&self) -> Option<Vec<Order>> {
        let mut queue = lock(&self.queue);
        let mut naps = 0;
        loop {
            let mut bytes = 0;
            let fits = |order: &&Order| {
                bytes += order.job.size();
                bytes <= BATCH
            };
            let count = queue.orders.iter().take_while(fits).count().max(1).min(queue.orders.len());
            if count > 0 {
                return Some(queue.orders.drain(..count).collect());
            }
            if queue.is_closed {
                return None;
            }
            if naps == NAPS {
                queue.is_idle = true;
                let come =
                    self.has_come.wait_while(queue, |queue| queue.orders.is_empty() && !queue.is_closed);
                queue = come.unwrap_or_else(PoisonError::into_inner);
                queue.is_idle = false;
                naps = 0;
            }
            let napped = self.hurry.wait_timeout_while(queue, NAP, |queue| !queue.is_urgent());
            (queue, _) = napped.unwrap_or_else(PoisonError::into_inner);
            naps += 1;
        }
    }

    fn work(&self, mut notebook: Notebook) {
        let _closes = Closes(self);
        stand_back();
        // Those that were known before are in the log since it began.
        let mut known = notebook.pen().known();
        while let Some(orders) = self.next() {
            let (mut size, mut parts, mut last, mut steps, mut over) = (0, 0, 0, Vec::new(), Vec::new());
            let mut waiting = Vec::new();
            for Order { number, job, at, is_logged, written } in orders {
                size += job.size();
                parts += if matches!(job, Job::Part(_)) { job.size() } else { 0 };
                last = number;
                over.extend(ends(number, &job));
                if !is_logged && !self.is_journal_lost() {
                    // The log has failed, and everything that it has is in the journal; it would be taken for the newer of
                    // the two.
                    self.remove_log();
                }
                let step = notebook.write(number, Some(at), job, |error| self.failed(error));
                steps.extend(step.map(|step| (number, step)));
                waiting.extend(written);
            }
            if self.durability == Durability::Machine
                && let Err(error) = notebook.pen().sync()
            {
                self.failed(error);
            }
            for written in waiting {
                // Who does not wait any more has left.
                let _ = written.send(());
            }
            // What a lost journal does not take stays in the log, from where it can be recovered.
            if let Some(log) = self.log.as_ref().filter(|_| !self.is_journal_lost()) {
                // Before anything can be dropped that shows it: a credential is masked in what is recovered, too.
                known = notebook.pen().log_known(log, known).unwrap_or(known);
                // A log that fails is left behind: from then on the journal is waited for.
                let _ = log.journaled(last, notebook.bytes(), &steps);
                log.over(&over);
            }
            let mut queue = lock(&self.queue);
            queue.bytes -= size;
            queue.parts -= parts;
            if !queue.is_full() || !queue.is_behind() {
                self.room.notify_waiters();
            }
        }
    }

    /// Whether the journal can not be written any more.
    fn is_journal_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    fn remove_log(&self) {
        if let Some(log) = &self.log {
            // What stays lies in memory only.
            let _ = log.remove();
        }
    }

    fn failed(&self, first: RecordError) {
        if matches!(first, RecordError::Journal { .. }) {
            self.is_lost.store(true, Ordering::Release);
        }
        let mut unrecorded = lock(&self.unrecorded);
        unrecorded.get_or_insert(Unrecorded { count: 0, first }).count += 1;
    }
}

/// What passes comes first: this thread has the processor when nobody else wants it. On Linux this is about one thread, not
/// about the process.
fn stand_back() {
    #[cfg(target_os = "linux")]
    // Who is not allowed to stand back stays where they are.
    let _ = rustix::process::nice(10);
}

/// However the thread ends, nobody waits for it for ever.
struct Closes<'d>(&'d Desk);

impl Drop for Closes<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        queue.is_closed = true;
        for _ in queue.orders.drain(..) {
            self.0.failed(RecordError::Ended);
        }
        self.0.room.notify_waiters();
    }
}

/// What is over with a job.
fn ends(number: u64, job: &Job) -> Option<u64> {
    match job {
        Job::Request(_) | Job::Part(_) => None,
        Job::Answer(answered) => Some(answered.exchange),
        _ => Some(number),
    }
}

/// Writes a job ahead.
fn ahead(log: &Wal, number: u64, job: &Job) -> std::io::Result<()> {
    match job {
        Job::Request(asked) => log.append(
            number,
            &Entry::Request {
                provider: &asked.provider,
                method: &asked.method,
                path: &asked.path,
                headers: pairs(&asked.headers),
                has_trailers: asked.has_trailers,
                decided: asked.decided.as_ref().map(Decided::entry),
                body: &asked.body,
            },
        ),
        Job::Answer(answered) => {
            let error = match &answered.ended {
                Ended::Upstream { error_type, message, .. } => Some((error_type.as_str(), message.as_str())),
                _ => None,
            };
            let ending = Ending {
                job: number,
                by: answered.ended.by(),
                is_settled: answered.ended == Ended::Settled,
                is_too_long: answered.is_too_long,
                latency: answered.latency,
                error,
            };
            // What was not handed on yet goes with the end.
            let mut entries =
                answered.logged.missing(answered.head.as_ref(), &answered.body, &answered.reads);
            entries.push(Entry::End(ending));
            log.append_each(answered.exchange, &entries)
        }
        Job::Part(_) if log.has_failed() => Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe)),
        // Its pieces are there.
        Job::Part(_) => Ok(()),
        Job::Gap { what, why } => log.append(number, &Entry::Gap { what, why }),
        Job::Reported(text) => log.append(number, &Entry::Reported { text }),
        Job::Decision(decision) => {
            let entry = wal::Decision {
                at: decision.at,
                is_tool: decision.action == Action::Tool,
                name: &decision.name,
                denial: decision.denial.as_ref().map(|(rule, reason)| (rule.as_str(), reason.as_str())),
                approval_id: decision.approval_id.as_deref(),
                call: decision.call.as_ref().map(|(id, input)| (id.as_str(), input.as_str())),
            };
            log.append(number, &Entry::Decision(entry))
        }
        Job::ToolResult { at, result } => {
            let (tool_call_id, output) = (result.id.as_str(), result.output.as_str());
            log.append(
                number,
                &Entry::ToolResult { at: *at, tool_call_id, output, is_error: result.is_error },
            )
        }
        Job::Approval(Approval { at, approval_id, news }) => {
            let types: Vec<&str> = match news {
                News::Requested { signer_types, .. } => signer_types.iter().map(|it| it.name()).collect(),
                _ => Vec::new(),
            };
            let types = types.join(" ");
            let news = match news {
                News::Requested { action, name, input_hash, rule, .. } => ApprovalNews::Requested {
                    is_tool: *action == Action::Tool,
                    name,
                    input_hash,
                    rule,
                    signer_types: &types,
                },
                News::Granted { token } => ApprovalNews::Granted(token),
                News::Denied { reason } => ApprovalNews::Denied(reason),
                News::Refused { code, why } => ApprovalNews::Refused(code, why),
            };
            log.append(number, &Entry::Approval { at: *at, approval_id, news })
        }
    }
}

/// How an exchange ended, from the log.
pub(super) fn ended(ending: &Ending<'_>) -> Ended {
    match (ending.by, ending.error) {
        (by, Some((error_type, message))) => {
            Ended::Upstream { by, error_type: error_type.to_owned(), message: message.to_owned() }
        }
        (EndedBy::Client, None) => Ended::Client,
        (_, None) if ending.is_settled => Ended::Settled,
        (_, None) => Ended::Eof,
    }
}

/// What the locks here guard is whole after a panic elsewhere: each change is one step.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
