//! Queue between front ends and the recorder thread. Its order is the order of the log and of the journal.
//!
//! Limits in bytes give backpressure: requests wait for [`JobQueue::is_full`], long bodies for
//! [`JobQueue::is_behind`].

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use reenact_record::Observation;
use tokio::sync::oneshot;

use crate::parsed_body::ParsedBody;

/// Requests wait while more bytes than this are queued: 64 MiB.
const MAX_QUEUED_BYTES: usize = 64 << 20;

/// Long bodies wait while more bytes of bodies than this are queued: 8 MiB.
const MAX_QUEUED_BODY_BYTES: usize = 8 << 20;

/// Bytes that the recorder thread writes in one batch. Pieces of bodies wake an idle thread only when this many
/// are queued.
pub(crate) const BATCH_BYTES: usize = 256 << 10;

/// Observations that the recorder thread has not taken yet.
#[derive(Default)]
pub(crate) struct JobQueue {
    jobs: VecDeque<QueuedJob>,
    /// Bytes of all jobs that are queued, or taken and not written yet.
    pub(crate) bytes: usize,
    /// Bytes of bodies among `bytes`.
    pub(crate) body_bytes: usize,
    /// Number of queued jobs whose completion is awaited.
    waited_for: usize,
    /// Number of the last job; numbers begin at 1.
    last_number: u64,
    /// True while the thread sleeps until it is woken.
    pub(crate) is_idle: bool,
    /// True once no more jobs are taken.
    pub(crate) is_closed: bool,
}

/// One observation in the queue.
pub(crate) struct QueuedJob {
    /// Exchange or note that the observation belongs to: the number of the job that began it.
    pub(crate) id: u64,
    /// Number of the job itself, if it writes events: a request, an end, or a note.
    pub(crate) number: Option<u64>,
    /// Time at which the job was queued, since 1970.
    pub(crate) at: Duration,
    pub(crate) observation: Observation<'static>,
    /// Parsed body of the observation, if the policy gate parsed it before.
    pub(crate) parsed: Option<ParsedBody>,
    /// True if the log has the observation.
    pub(crate) is_logged: bool,
    /// Notified when the job is written; `None` if the completion is not awaited.
    pub(crate) on_written: Option<oneshot::Sender<()>>,
}

impl JobQueue {
    /// Returns true while requests must wait.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > MAX_QUEUED_BYTES && !self.is_closed
    }

    /// Returns true while long bodies must wait.
    pub(crate) fn is_behind(&self) -> bool {
        self.body_bytes > MAX_QUEUED_BODY_BYTES && !self.is_closed
    }

    /// Returns true if a front end waits for the thread, or the queue is closed.
    pub(crate) fn is_urgent(&self) -> bool {
        self.is_closed || self.is_full() || self.is_behind() || self.waited_for > 0
    }

    /// Returns true if no job is queued.
    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Returns the number of the next job, and counts it as used.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Appends a job.
    pub(crate) fn push(&mut self, job: QueuedJob) {
        let (bytes, piece_bytes) = byte_sizes(&job.observation);
        self.bytes += bytes;
        self.body_bytes += piece_bytes;
        self.waited_for += usize::from(job.on_written.is_some());
        self.jobs.push_back(job);
    }

    /// Takes all jobs off the queue, in exchange for an empty list whose memory is used again. The jobs count
    /// in `bytes` until the caller subtracts them.
    pub(crate) fn take_all(&mut self, empty: &mut VecDeque<QueuedJob>) {
        self.waited_for = 0;
        std::mem::swap(&mut self.jobs, empty);
    }
}

/// Returns the number of jobs at the front that are written in one batch: as many as [`BATCH_BYTES`] holds, and
/// at least one.
pub(crate) fn batch_len(jobs: &VecDeque<QueuedJob>) -> usize {
    let mut bytes = 0;
    let fits = |job: &&QueuedJob| {
        bytes += job.observation.memory_bytes();
        bytes <= BATCH_BYTES
    };
    jobs.iter().take_while(fits).count().max(1).min(jobs.len())
}

/// Returns the size of an observation in bytes, and the same size again if it is a piece of a body, else 0.
pub(crate) fn byte_sizes(observation: &Observation<'_>) -> (usize, usize) {
    let bytes = observation.memory_bytes();
    (bytes, if matches!(observation, Observation::Piece { .. }) { bytes } else { 0 })
}

/// Future that completes when a job is written, as durably as the run asks for.
pub struct JobWritten(oneshot::Receiver<()>);

impl JobWritten {
    /// Returns the sender that completes the future, and the future.
    pub(crate) fn channel() -> (oneshot::Sender<()>, Self) {
        let (sender, receiver) = oneshot::channel();
        (sender, Self(receiver))
    }
}

impl Future for JobWritten {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // The channel is closed only after the thread stored its error, so the receive error is dropped.
        let _ = ready!(Pin::new(&mut self.0).poll(cx));
        Poll::Ready(())
    }
}

/// Number of a queued job, and its completion if a wait is needed.
pub(crate) type JobTicket = (u64, Option<JobWritten>);

#[cfg(test)]
mod tests {
    use super::*;

    fn job(number: Option<u64>, length: usize) -> QueuedJob {
        let (bytes, at) = (bytes::Bytes::from(vec![0; length]).into(), Duration::ZERO);
        let observation = Observation::Piece { at, bytes };
        QueuedJob { id: 1, number, at, observation, parsed: None, is_logged: true, on_written: None }
    }

    #[test]
    fn batches_keep_the_order_and_take_at_least_one() {
        let mut queue = JobQueue::default();
        for (number, length) in [(1, 10), (2, BATCH_BYTES), (3, 2 * BATCH_BYTES), (4, 10)] {
            queue.push(job(Some(number), length));
        }
        let (mut jobs, mut batches) = (VecDeque::new(), Vec::new());
        queue.take_all(&mut jobs);
        while !jobs.is_empty() {
            let batch = batch_len(&jobs);
            batches.push(jobs.drain(..batch).filter_map(|job| job.number).collect::<Vec<_>>());
        }
        assert!(queue.is_empty());
        assert_eq!(batches, [vec![1], vec![2], vec![3], vec![4]]);
        assert_eq!(queue.bytes, 4 * 128 + 20 + 3 * BATCH_BYTES, "they count until they are written");
        assert_eq!(queue.body_bytes, queue.bytes);
    }

    #[test]
    fn who_must_wait_for_what() {
        let mut queue = JobQueue::default();
        queue.push(job(None, MAX_QUEUED_BODY_BYTES));
        assert!((queue.is_behind(), queue.is_full(), queue.is_urgent()) == (true, false, true));
        queue.push(job(None, MAX_QUEUED_BYTES));
        assert!(queue.is_full());
        queue.is_closed = true;
        assert!((queue.is_behind(), queue.is_full(), queue.is_urgent()) == (false, false, true));
    }
}
