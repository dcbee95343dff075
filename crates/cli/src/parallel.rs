//! Work on all cores: many targets at once, or one large artifact in batches. Results come in the order of the work.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use reenact_json::SyntaxError;
use reenact_verify::model_io;
use reenact_verify::rer::{Findings, Job, Survey};

/// How many threads this machine runs at once.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Does `work` on each item, on several threads, and hands the results to `take` in the order of the items, each as soon
/// as it and all before it are there. Stops early if `take` fails.
pub(crate) fn in_order<I: Sync, T: Send, E>(
    items: &[I],
    threads: usize,
    work: impl Fn(&I) -> T + Sync,
    mut take: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
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
                take(due, result)?;
                due += 1;
            }
        }
        Ok(())
    })
}

/// Runs the jobs of a Model IO session on several threads; gives their findings in order.
pub(crate) fn all(jobs: &[model_io::Job<'_, '_>], threads: usize) -> Vec<model_io::Finding> {
    let mut findings = Vec::with_capacity(jobs.len());
    let taken: Result<(), core::convert::Infallible> =
        in_order(jobs, threads, model_io::Job::run, |_, finding| {
            findings.push(finding);
            Ok(())
        });
    match taken {
        Ok(()) => findings,
    }
}

/// Runs the jobs of a survey on several threads; gives their findings in order. `seen` is told how many more bytes were
/// read.
pub(crate) fn jobs<'a>(
    survey: &mut Survey<'a>,
    threads: usize,
    seen: impl Fn(usize) + Sync,
) -> Result<Findings<'a>, SyntaxError> {
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
