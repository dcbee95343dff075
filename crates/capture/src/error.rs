//! Events that could not be recorded.

use reenact_record::RecordError;

/// Events that are missing from the record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{count} events could not be recorded: {first}")]
pub struct Unrecorded {
    /// Number of missing events.
    pub count: u64,
    /// Error of the first of them.
    pub first: RecordError,
}
