//! Why something that was run did not succeed.

use std::fmt;
use std::io;
use std::process::ExitStatus;

/// Why a command, or the step made of it, failed. The text says what to do when there is one thing to do.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The workspace does not compile: every later step would only say it again, so the run stops here.
    Build { line: String },
    /// A command ran and did not succeed. Its own output has said why.
    Ended { line: String, status: ExitStatus },
    /// A command could not be started.
    NotStarted { line: String, error: io::Error },
    /// A tool is not installed.
    Missing { tool: &'static str, install: &'static str },
    /// Fuzz runs failed. Their own output has said how.
    Fuzz { failed: usize },
    /// Tests that exist did not run.
    LeftOut { tests: Vec<String> },
}

impl Failure {
    /// The same failure, as that of a build.
    pub(crate) fn of_build(self) -> Self {
        match self {
            Self::Ended { line, .. } => Self::Build { line },
            other => other,
        }
    }

    /// Whether the steps after this one are pointless.
    pub(crate) fn stops_the_run(&self) -> bool {
        matches!(self, Self::Build { .. })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Build { line } => write!(f, "the workspace does not build: `{line}`"),
            Self::Ended { line, status } => write!(f, "`{line}`: {status}"),
            Self::NotStarted { line, error } => write!(f, "`{line}` could not be started: {error}"),
            Self::Missing { tool, install } => {
                write!(f, "{tool} is not installed; install it with `{install}`")
            }
            Self::Fuzz { failed } => write!(f, "{failed} of the fuzz runs failed"),
            Self::LeftOut { tests } => write!(f, "{} tests did not run: {}", tests.len(), tests.join(", ")),
        }
    }
}
