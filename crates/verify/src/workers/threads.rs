//! Work on several threads: many targets at once, or one large record in batches. Results come in the order of the work.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// How many threads this machine runs at once.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Does `work` on each item, on several threads, and hands the results to `take` in the order of the items, each as soon
/// as it and all before it are there.
pub(crate) fn in_order<I: Sync, T: Send>(
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
    // Results of large items must not pile up behind one slow item.
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

/// Does `work` on each item, on several threads; gives the results in order.
#[cfg(feature = "model-io")]
pub(super) fn all<I: Sync, T: Send>(items: &[I], threads: usize, work: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let mut results = Vec::with_capacity(items.len());
    in_order(items, threads, work, |_, result| results.push(result));
    results
}

/// Runs the jobs of a survey on several threads; gives their findings in order. `seen` is told how many more bytes were
/// read.
#[cfg(feature = "rer")]
pub(super) fn survey<'a>(
    survey: &mut crate::rer::Survey<'a>,
    threads: usize,
    seen: &(dyn Fn(usize) + Sync),
) -> Result<crate::rer::Findings<'a>, reenact_json::SyntaxError> {
    use std::sync::Mutex;

    use crate::rer::{Findings, Job};

    let (work, jobs) = mpsc::sync_channel::<(usize, Job<'_>)>(threads * 2);
    let jobs = Mutex::new(jobs);
    let findings = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    // The lock is held while waiting for a job, never while doing one.
                    let received = jobs.lock().map(|jobs| jobs.recv());
                    let Ok(Ok((at, job))) = received else { return };
                    let finding = job.run();
                    if let Ok(mut findings) = findings.lock() {
                        findings.insert(at, finding);
                    }
                }
            });
        }
        let (mut at, mut offset) = (0, 0);
        let result = loop {
            match survey.next_job() {
                Ok(Some(job)) => {
                    seen(survey.offset() - offset);
                    offset = survey.offset();
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
    let mut all = Findings::default();
    for (_, finding) in findings.into_inner().unwrap_or_default() {
        all.absorb(finding);
    }
    Ok(all)
}
