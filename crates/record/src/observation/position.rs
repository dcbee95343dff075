//! Positions in a journal, as the log remembers them.

use reenact_json::Digest;

/// Position in a journal behind one of its events.
///
/// The hash of that event covers all events before, so that a journal with another content is told apart, also one of the
/// same length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalPosition {
    /// Bytes of events before this position, line feeds included.
    pub bytes: u64,
    /// Number of events before this position, and the hash of the last one; `None` in logs of version 0.1, and before
    /// the first event.
    pub head: Option<(u64, Digest)>,
}
