//! The queue between front ends and the recorder thread: its order is the order of the log and of the journal.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use reenact_record::Observation;
use tokio::sync::oneshot;

use crate::reading::Reading;

/// Requests wait while more bytes than this are queued.
const MAX_BYTES: usize = 64 << 20;

/// Long bodies wait while more bytes of bodies than this are queued.
const MAX_PIECE_BYTES: usize = 8 << 20;

/// Bytes that the recorder thread writes at one go. Pieces of bodies wake an idle thread only when so many are queued.
pub(crate) const BATCH: usize = 256 << 10;

/// Observations that the recorder thread has not taken yet.
#[derive(Default)]
pub(crate) struct Queue {
    jobs: VecDeque<QueuedJob>,
    /// Bytes of all that is queued, or taken and not written yet.
    pub(crate) bytes: usize,
    /// Bytes of bodies among them.
    pub(crate) piece_bytes: usize,
    /// Number of queued jobs that someone waits for.
    waiting: usize,
    /// Number of the last job.
    last: u64,
    /// True while the thread sleeps until it is woken.
    pub(crate) is_idle: bool,
    pub(crate) is_closed: bool,
}

/// One observation in the queue.
pub(crate) struct QueuedJob {
    /// Exchange or note that it belongs to: the number of the job that began it.
    pub(crate) id: u64,
    /// Its own number, if it writes events: a request, an end, a note.
    pub(crate) number: Option<u64>,
    /// Time at which it was queued, since 1970.
    pub(crate) at: Duration,
    pub(crate) observation: Observation<'static>,
    /// The bodies in it, where they were read before.
    pub(crate) reading: Option<Reading>,
    /// True if the log has it.
    pub(crate) is_logged: bool,
    /// Notified when it is written, where someone waits for that.
    pub(crate) written: Option<oneshot::Sender<()>>,
}

impl Queue {
    /// Returns true while requests must wait.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > MAX_BYTES && !self.is_closed
    }

    /// Returns true while long bodies must wait.
    pub(crate) fn is_behind(&self) -> bool {
        self.piece_bytes > MAX_PIECE_BYTES && !self.is_closed
    }

    /// Returns true if someone waits for the thread.
    pub(crate) fn is_urgent(&self) -> bool {
        self.is_closed || self.is_full() || self.is_behind() || self.waiting > 0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Returns the number of the next job.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(crate) fn push(&mut self, job: QueuedJob) {
        let (bytes, piece_bytes) = sizes(&job.observation);
        self.bytes += bytes;
        self.piece_bytes += piece_bytes;
        self.waiting += usize::from(job.written.is_some());
        self.jobs.push_back(job);
    }

    /// Takes all jobs off the queue, in exchange for an empty list whose memory is used again. They count in `bytes` until the
    /// caller subtracts them.
    pub(crate) fn take_all(&mut self, empty: &mut VecDeque<QueuedJob>) {
        self.waiting = 0;
        std::mem::swap(&mut self.jobs, empty);
    }
}

/// Returns the number of jobs at the front that are written at one go: as many as [`BATCH`] holds, and at least one.
pub(crate) fn batch(jobs: &VecDeque<QueuedJob>) -> usize {
    let mut bytes = 0;
    let fits = |job: &&QueuedJob| {
        bytes += job.observation.size();
        bytes <= BATCH
    };
    jobs.iter().take_while(fits).count().max(1).min(jobs.len())
}

/// Returns the bytes of an observation, and those of a body among them.
pub(crate) fn sizes(observation: &Observation<'_>) -> (usize, usize) {
    let bytes = observation.size();
    (bytes, if matches!(observation, Observation::Piece { .. }) { bytes } else { 0 })
}

/// Ready when a job is written, as durably as the run asks for.
pub struct Written(oneshot::Receiver<()>);

impl Written {
    /// Returns the two ends of a wait.
    pub(crate) fn channel() -> (oneshot::Sender<()>, Self) {
        let (sender, receiver) = oneshot::channel();
        (sender, Self(receiver))
    }
}

impl Future for Written {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // The channel is closed only after the thread stored its error, so the receive error is dropped.
        let _ = ready!(Pin::new(&mut self.0).poll(cx));
        Poll::Ready(())
    }
}

/// The number of a job, and the wait for it where one is needed.
pub(crate) type Queued = (u64, Option<Written>);

#[cfg(test)]
mod tests {
    use super::*;

    fn job(number: Option<u64>, length: usize) -> QueuedJob {
        let (bytes, at) = (bytes::Bytes::from(vec![0; length]).into(), Duration::ZERO);
        let observation = Observation::Piece { at, bytes };
        QueuedJob { id: 1, number, at, observation, reading: None, is_logged: true, written: None }
    }

    #[test]
    fn batches_keep_the_order_and_take_at_least_one() {
        let mut queue = Queue::default();
        for (number, length) in [(1, 10), (2, BATCH), (3, 2 * BATCH), (4, 10)] {
            queue.push(job(Some(number), length));
        }
        let (mut jobs, mut batches) = (VecDeque::new(), Vec::new());
        queue.take_all(&mut jobs);
        while !jobs.is_empty() {
            let batch = batch(&jobs);
            batches.push(jobs.drain(..batch).filter_map(|job| job.number).collect::<Vec<_>>());
        }
        assert!(queue.is_empty());
        assert_eq!(batches, [vec![1], vec![2], vec![3], vec![4]]);
        assert_eq!(queue.bytes, 4 * 128 + 20 + 3 * BATCH, "they count until they are written");
        assert_eq!(queue.piece_bytes, queue.bytes);
    }

    #[test]
    fn who_must_wait_for_what() {
        let mut queue = Queue::default();
        queue.push(job(None, MAX_PIECE_BYTES));
        assert!((queue.is_behind(), queue.is_full(), queue.is_urgent()) == (true, false, true));
        queue.push(job(None, MAX_BYTES));
        assert!(queue.is_full());
        queue.is_closed = true;
        assert!((queue.is_behind(), queue.is_full(), queue.is_urgent()) == (false, false, true));
    }
}
