//! Error for events that could not be recorded.

use reenact_record::RecordError;

/// Number of events that are missing from the record, with the first error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{count} event{} could not be recorded: {first}", if *count == 1 { "" } else { "s" })]
pub struct Unrecorded {
    /// Number of missing events.
    pub count: u64,
    /// Error of the first missing event.
    pub first: RecordError,
}
