//! The tokio runtime of commands that talk over sockets.

use crate::output::Ending;

/// A runtime for a gateway. This thread alone: what it does is short, and whoever wakes another thread waits for it.
pub(crate) fn new() -> Result<tokio::runtime::Runtime, Ending> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Ending::impossible(format!("no threads to work with: {error}")))
}
