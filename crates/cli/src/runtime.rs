//! The tokio runtime of commands that talk over sockets.

use crate::output::Ending;

/// A runtime for a gateway. One thread: what it does is short, and whoever wakes another thread waits for it.
pub(crate) fn new() -> Result<tokio::runtime::Runtime, Ending> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Ending::impossible(format!("no threads to work with: {error}")))
}
