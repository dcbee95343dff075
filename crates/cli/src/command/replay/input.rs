//! The recorded standard input, given to the agent again.

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

use reenact_run::Run;

use crate::output;

/// Recorded standard input of a run.
pub(super) struct ReplayedInput(Vec<u8>);

impl ReplayedInput {
    /// Returns the input of a run, if the record holds all of it. An input that is only in part there is not given: the agent
    /// then has our own, and a notice says so.
    pub(super) fn of(run: &Run) -> Option<Self> {
        let input = run.standard_input()?;
        if !input.is_complete {
            output::print_notice(
                "the record holds only a part of the run's standard input: the command gets that of this replay",
            );
            return None;
        }
        Some(Self(input.bytes.into_owned()))
    }

    /// Returns the bytes, masked as they were recorded.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the end of a pipe from which the input can be read. A thread writes it until the reader is gone.
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        let (theirs, mut ours) = io::pipe()?;
        let bytes = self.0.clone();
        // Whether the agent reads all of its input is its own affair.
        std::thread::spawn(move || ours.write_all(&bytes));
        Ok(theirs.into())
    }
}
