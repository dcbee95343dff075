//! The tokio runtime of commands that talk over sockets.

use crate::output::Ending;

/// A runtime for a gateway. Two threads: one connection that is being recorded does not hold up the others.
pub(crate) fn new() -> Result<tokio::runtime::Runtime, Ending> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Ending::impossible(format!("no threads to work with: {error}")))
}
