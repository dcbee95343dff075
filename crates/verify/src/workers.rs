//! The threads that judge one record: a survey hands out batches, and findings come in the order of the batches.
//!
//! Without the feature `disk` there are no threads, and everything runs in order on the caller's.

#[cfg(feature = "disk")]
mod threads;

#[cfg(feature = "rer")]
use reenact_json::SyntaxError;

#[cfg(feature = "model-io")]
use crate::model_io;
#[cfg(feature = "rer")]
use crate::rer;

#[cfg(feature = "disk")]
pub(crate) use threads::{cores, in_order};

/// How many threads judge one record, and who is told how many more bytes they have read.
#[derive(Clone, Copy)]
pub struct Workers<'p> {
    #[cfg(feature = "disk")]
    threads: usize,
    #[cfg(feature = "disk")]
    seen: &'p (dyn Fn(usize) + Sync),
    #[cfg(not(feature = "disk"))]
    one: core::marker::PhantomData<&'p ()>,
}

/// A document of less than this is judged sooner than threads are started.
#[cfg(feature = "disk")]
const WORTH_THREADS: usize = 1 << 20;

impl Workers<'static> {
    /// The caller's own thread.
    #[cfg(feature = "disk")]
    pub fn one() -> Self {
        Self { threads: 1, seen: &|_| {} }
    }

    /// The caller's own thread.
    #[cfg(not(feature = "disk"))]
    pub fn one() -> Self {
        Self { one: core::marker::PhantomData }
    }
}

impl<'p> Workers<'p> {
    /// That many threads; `seen` is told how many more bytes of a document were read.
    #[cfg(feature = "disk")]
    pub fn new(threads: usize, seen: &'p (dyn Fn(usize) + Sync)) -> Self {
        Self { threads, seen }
    }

    /// As many as a document of that size is worth.
    #[cfg(feature = "disk")]
    pub(crate) fn for_document(self, bytes: usize) -> Self {
        if bytes < WORTH_THREADS { Self { threads: 1, ..self } } else { self }
    }

    /// Runs the jobs of an artifact's survey; gives their findings in order.
    #[cfg(feature = "rer")]
    pub(crate) fn survey<'a>(&self, survey: &mut rer::Survey<'a>) -> Result<rer::Findings<'a>, SyntaxError> {
        #[cfg(feature = "disk")]
        if self.threads > 1 {
            return threads::survey(survey, self.threads, self.seen);
        }
        rer::in_order(survey)
    }

    /// Runs the jobs of a session; gives their findings in order.
    #[cfg(feature = "model-io")]
    pub(crate) fn session(&self, jobs: &[model_io::Job<'_, '_>]) -> Vec<model_io::Finding> {
        #[cfg(feature = "disk")]
        if self.threads > 1 {
            return threads::all(jobs, self.threads, model_io::Job::run);
        }
        model_io::in_order(jobs)
    }
}
