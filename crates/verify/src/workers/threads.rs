//! Work on several threads, with the results in the order of the work.
//!
//! [`map_in_order`] takes a list of independent items (targets, jobs of a session); [`run_batches`]
//! takes batches that one reader produces while the others are being checked. Both use bounded
//! channels, so a slow consumer stops the producer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Returns the number of threads that this machine runs at once, at least 1.
pub(crate) fn available_cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Applies `work` to each item on several threads and passes the results to `take` in the order of the
/// items.
///
/// A result is passed on as soon as all before it are there. With one thread or fewer, everything runs
/// on the caller's thread.
pub(crate) fn map_in_order<I: Sync, T: Send>(
    items: &[I],
    threads: usize,
    work: impl Fn(&I) -> T + Sync,
    mut take: impl FnMut(usize, T),
) {
    if threads <= 1 {
        items.iter().enumerate().for_each(|(at, item)| take(at, work(item)));
        return;
    }
    let next = AtomicUsize::new(0);
    // The bound keeps results from piling up behind one slow item.
    let (sender, receiver) = mpsc::sync_channel(threads * 4);
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    if sender.send((at, work(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut due = 0;
        for (at, result) in receiver {
            waiting.insert(at, result);
            while let Some(result) = waiting.remove(&due) {
                take(due, result);
                due += 1;
            }
        }
    });
}

/// Applies `work` to each item on several threads and returns the results in the order of the items.
#[cfg(feature = "model-io")]
pub(super) fn map_all<I: Sync, T: Send>(
    items: &[I],
    threads: usize,
    work: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    let mut results = Vec::with_capacity(items.len());
    map_in_order(items, threads, work, |_, result| results.push(result));
    results
}

/// Checks the batches of an artifact on several threads and merges their findings in order.
///
/// The calling thread reads the batches and hands them out. `on_progress` is called with the number of
/// bytes read since its last call.
#[cfg(feature = "rer")]
pub(super) fn run_batches<'a>(
    reader: &mut crate::rer::RerBatchReader<'a>,
    threads: usize,
    on_progress: &(dyn Fn(usize) + Sync),
) -> Result<crate::rer::RerFindings<'a>, reenact_json::SyntaxError> {
    use std::sync::Mutex;

    use crate::rer::{RerEventBatch, RerFindings};

    let (work, jobs) = mpsc::sync_channel::<(usize, RerEventBatch<'_>)>(threads * 2);
    let jobs = Mutex::new(jobs);
    let findings = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    // The lock is held while waiting for a batch, never while checking one.
                    let received = jobs.lock().map(|jobs| jobs.recv());
                    let Ok(Ok((at, job))) = received else { return };
                    let finding = job.check();
                    if let Ok(mut findings) = findings.lock() {
                        findings.insert(at, finding);
                    }
                }
            });
        }
        let (mut at, mut offset) = (0, 0);
        let result = loop {
            match reader.next_batch() {
                Ok(Some(job)) => {
                    on_progress(reader.offset() - offset);
                    offset = reader.offset();
                    if work.send((at, job)).is_err() {
                        break Ok(());
                    }
                    at += 1;
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        drop(work);
        result
    })?;
    let mut all = RerFindings::default();
    for (_, finding) in findings.into_inner().unwrap_or_default() {
        all.append(finding);
    }
    Ok(all)
}
