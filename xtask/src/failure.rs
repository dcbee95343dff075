//! [`TaskFailure`]: reasons why a command or a step failed.

use std::fmt;
use std::io;
use std::process::ExitStatus;

/// Reason why a command, or the step made of it, failed. The text says what to do if there is one
/// thing to do.
#[derive(Debug)]
pub(crate) enum TaskFailure {
    /// The workspace does not compile. Every later step would only repeat that, so the run stops
    /// here.
    Build { line: String },
    /// A command ran and did not succeed; its own output has said why. `line` is its command line.
    CommandFailed { line: String, status: ExitStatus },
    /// A command could not be started.
    NotStarted { line: String, error: io::Error },
    /// A tool is not installed; `install` is the command that installs it.
    Missing { tool: &'static str, install: &'static str },
    /// Fuzz runs failed; their own output has said how.
    Fuzz { failed: usize },
    /// Tests exist that did not run.
    TestsNotRun { tests: Vec<String> },
    /// Agents failed twice; the output of their tests has said why.
    Agents { failed: Vec<String> },
    /// The command line names no agent that there is.
    NoSuchAgent { known: Vec<String> },
}

impl TaskFailure {
    /// Converts the failure of a command to that of a build.
    pub(crate) fn into_build_failure(self) -> Self {
        match self {
            Self::CommandFailed { line, .. } => Self::Build { line },
            other => other,
        }
    }

    /// Returns true if the steps after this one are pointless.
    pub(crate) fn stops_the_run(&self) -> bool {
        matches!(self, Self::Build { .. })
    }
}

impl fmt::Display for TaskFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Build { line } => write!(f, "the workspace does not build: `{line}`"),
            Self::CommandFailed { line, status } => write!(f, "`{line}`: {status}"),
            Self::NotStarted { line, error } => write!(f, "`{line}` could not be started: {error}"),
            Self::Missing { tool, install } => {
                write!(f, "{tool} is not installed; install it with `{install}`")
            }
            Self::Fuzz { failed } => write!(f, "{failed} of the fuzz runs failed"),
            Self::Agents { failed } => {
                write!(f, "{} agents failed twice, or did not run: {}", failed.len(), failed.join(", "))
            }
            Self::NoSuchAgent { known } => {
                write!(f, "there is no such agent; there are: {}", known.join(", "))
            }
            Self::TestsNotRun { tests } => {
                write!(f, "{} tests did not run: {}", tests.len(), tests.join(", "))
            }
        }
    }
}
