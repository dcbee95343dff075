//! The tokio runtime of the commands that run a gateway: `record` and `replay`.

use crate::output::CommandError;

/// Builds a runtime that runs everything on the calling thread.
///
/// The gateway's tasks are short, so that a hand-over to another thread would cost more than the work itself.
///
/// # Errors
///
/// If the system refuses the resources of the I/O driver.
pub(crate) fn new() -> Result<tokio::runtime::Runtime, CommandError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::impossible(format!("no threads to work with: {error}")))
}
