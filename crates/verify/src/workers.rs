//! Worker threads that verify one large record.
//!
//! A record is split into batches, which are checked in any order; their findings are merged in the
//! order of the batches, so the report does not depend on the number of threads. Without the feature
//! `disk` there are no threads, and everything runs on the caller's. Start reading at [`Workers`].

#[cfg(feature = "disk")]
mod threads;

#[cfg(feature = "rer")]
use reenact_json::SyntaxError;

#[cfg(feature = "model-io")]
use crate::model_io;
#[cfg(feature = "rer")]
use crate::rer;

#[cfg(feature = "disk")]
pub(crate) use threads::{available_cores, map_in_order};

/// Number of threads for one record, and a callback for progress.
///
/// The report does not depend on the number of threads.
#[derive(Clone, Copy)]
pub struct Workers<'p> {
    /// Number of threads; 1 means the caller's own thread.
    #[cfg(feature = "disk")]
    threads: usize,
    /// Called with the number of bytes read since its last call; possibly from another thread.
    #[cfg(feature = "disk")]
    on_progress: &'p (dyn Fn(usize) + Sync),
    /// Keeps the lifetime parameter in use without threads.
    #[cfg(not(feature = "disk"))]
    one: core::marker::PhantomData<&'p ()>,
}

/// Smallest document that is worth starting threads for, in bytes.
#[cfg(feature = "disk")]
const MIN_THREADED_BYTES: usize = 1 << 20;

impl Workers<'static> {
    /// Returns workers that use only the caller's thread and report no progress.
    #[cfg(feature = "disk")]
    pub fn sequential() -> Self {
        Self { threads: 1, on_progress: &|_| {} }
    }

    /// Returns workers that use only the caller's thread.
    #[cfg(not(feature = "disk"))]
    pub fn sequential() -> Self {
        Self { one: core::marker::PhantomData }
    }
}

impl<'p> Workers<'p> {
    /// Returns workers with this many threads. `on_progress` is called with the number of bytes of the
    /// document that were read since its last call.
    #[cfg(feature = "disk")]
    pub fn new(threads: usize, on_progress: &'p (dyn Fn(usize) + Sync)) -> Self {
        Self { threads, on_progress }
    }

    /// Returns these workers, or a single thread if a document of `bytes` bytes is too small for more.
    #[cfg(feature = "disk")]
    pub(crate) fn for_document(self, bytes: usize) -> Self {
        if bytes < MIN_THREADED_BYTES { Self { threads: 1, ..self } } else { self }
    }

    /// Checks all batches of an artifact and merges their findings in the order of the events.
    ///
    /// # Errors
    /// Returns the syntax error that ended the reading; nothing of the document counts then.
    #[cfg(feature = "rer")]
    pub(crate) fn run_batches<'a>(
        &self,
        reader: &mut rer::RerBatchReader<'a>,
    ) -> Result<rer::RerFindings<'a>, SyntaxError> {
        #[cfg(feature = "disk")]
        if self.threads > 1 {
            return threads::run_batches(reader, self.threads, self.on_progress);
        }
        rer::check_in_order(reader)
    }

    /// Runs the jobs of a session and returns their findings in the order of the jobs.
    #[cfg(feature = "model-io")]
    pub(crate) fn run_jobs(&self, jobs: &[model_io::ModelIoJob<'_, '_>]) -> Vec<model_io::ModelIoFindings> {
        #[cfg(feature = "disk")]
        if self.threads > 1 {
            return threads::map_all(jobs, self.threads, model_io::ModelIoJob::run);
        }
        model_io::run_in_order(jobs)
    }
}
