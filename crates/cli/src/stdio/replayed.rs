//! Standard output of an agent that is replayed: hashed as it was when it was recorded, so that the two can be compared.
//!
//! Nothing is put between the agent and its output unless the record has a digest to compare with. Start reading at
//! [`ReplayedOutput::prepare`].

use std::process::Command;

use reenact_json::Digest;

#[cfg(unix)]
use super::output::{OutputCapture, OutputPlace, RunningOutput};

/// Standard output of an agent that is about to be replayed.
pub(crate) struct ReplayedOutput {
    #[cfg(unix)]
    output: OutputCapture,
}

/// Standard output of an agent that is being replayed.
pub(crate) struct RunningReplayedOutput {
    #[cfg(unix)]
    output: RunningOutput,
}

impl ReplayedOutput {
    /// Looks at our own output, and gives the command a pipe if that is one. With `to_stderr` the agent's output goes to standard
    /// error, through a pipe as when it was recorded.
    pub(crate) fn prepare(command: &mut Command, to_stderr: bool) -> Self {
        #[cfg(not(unix))]
        let _ = (command, to_stderr);
        Self {
            #[cfg(unix)]
            output: match to_stderr {
                true => OutputCapture::pipe(command, OutputPlace::Stderr).unwrap_or(OutputCapture::Inherited),
                false => OutputCapture::prepare(command),
            },
        }
    }

    /// Begins to pass bytes on. The command must have been spawned and dropped.
    pub(crate) fn start(self) -> RunningReplayedOutput {
        RunningReplayedOutput {
            #[cfg(unix)]
            output: self.output.start(),
        }
    }
}

impl RunningReplayedOutput {
    /// Passes on what the agent left in its output, and returns the SHA-256 of all; `None` if it was not piped. The agent must have
    /// ended.
    pub(crate) fn finish(self, notes: &mut Vec<String>) -> Option<Digest> {
        #[cfg(not(unix))]
        let _ = notes;
        #[cfg(unix)]
        return self.output.finish(notes);
        #[cfg(not(unix))]
        return None;
    }
}
