//! Standard input and output of an agent that is recorded: what was piped in is kept, what was piped out is hashed. Of an agent that
//! is replayed, what it pipes out is hashed again.
//!
//! A terminal is left alone: nothing stands between it and the agent. Of a regular file the agent has the descriptor itself;
//! the bytes that it read or wrote are looked up afterwards. Between a pipe and the agent stands a pipe of ours, and a thread
//! for each direction. Start reading at [`StdioCapture`].

#[cfg(unix)]
mod input;
#[cfg(unix)]
mod output;
mod replayed;
#[cfg(unix)]
mod wait;

use std::process::Command;

use reenact_json::Digest;
use reenact_record::EventWriter;

pub(crate) use self::replayed::{ReplayedOutput, RunningReplayedOutput};

/// Longest input that is recorded, in bytes. More is passed on all the same.
#[cfg(unix)]
const MAX_INPUT_BYTES: usize = 10_000_000;

/// Returns true if bytes come to our standard input from a pipe or a file.
#[cfg(unix)]
pub(crate) fn is_piped_in() -> bool {
    use rustix::fs::FileType;
    let kind = rustix::fs::fstat(rustix::stdio::stdin()).map(|found| FileType::from_raw_mode(found.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::Socket | FileType::RegularFile))
}

/// What became of the streams of an agent that has ended.
#[derive(Debug, Default)]
pub(crate) struct StdioOutcome {
    /// SHA-256 of what the agent wrote to its standard output; `None` if that was a terminal, or could not be told from other
    /// things in the same place.
    pub(crate) stdout_sha256: Option<Digest>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

/// Streams of an agent that is about to start.
pub(crate) struct StdioCapture {
    #[cfg(unix)]
    input: input::InputCapture,
    #[cfg(unix)]
    output: output::OutputCapture,
}

/// Streams of an agent that runs.
pub(crate) struct RunningStdio {
    #[cfg(unix)]
    input: input::RunningInput,
    #[cfg(unix)]
    output: output::RunningOutput,
}

impl StdioCapture {
    /// Looks at our own streams, and gives the command pipes in place of those that are pipes.
    pub(crate) fn prepare(command: &mut Command) -> Self {
        #[cfg(not(unix))]
        let _ = command;
        Self {
            #[cfg(unix)]
            input: input::InputCapture::prepare(command),
            #[cfg(unix)]
            output: output::OutputCapture::prepare(command),
        }
    }

    /// Begins to pass bytes on. The command must have been spawned and dropped: it holds the agent's ends of our pipes.
    pub(crate) fn start(self, writer: EventWriter) -> RunningStdio {
        #[cfg(not(unix))]
        let _ = writer;
        RunningStdio {
            #[cfg(unix)]
            input: self.input.start(writer),
            #[cfg(unix)]
            output: self.output.start(),
        }
    }
}

impl RunningStdio {
    /// Passes on what the agent left in its output, records its input, and returns the outcome. The agent must have ended.
    ///
    /// A process that the agent left behind finds its input at the end. What it writes to the agent's output is passed on for
    /// [`GRACE`](output::GRACE) at most.
    pub(crate) fn finish(self) -> StdioOutcome {
        let mut outcome = StdioOutcome::default();
        #[cfg(unix)]
        {
            outcome.stdout_sha256 = self.output.finish(&mut outcome.notes);
            self.input.finish(&mut outcome.notes);
        }
        outcome
    }
}
