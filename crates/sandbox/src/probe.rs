//! Probe of this machine: builds a sandbox to see if it works, and gives advice if it does not. Settings are read for the
//! advice only.

use crate::command::{SandboxCommand, SandboxError};
use crate::report::SandboxReport;
use std::net::{Ipv4Addr, TcpListener};

#[cfg(not(target_os = "linux"))]
pub(crate) const NOT_LINUX: &str = "the sandbox needs Linux namespaces; on this system nothing is enforced";

/// Result of [`probe`], or of a failed [`SandboxCommand::spawn`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxProbe {
    /// Report that a child would have if it were started now, from this process.
    pub report: SandboxReport,
    /// Actions that would make the sandbox work, one sentence each; empty if there are none.
    pub advice: Vec<String>,
}

impl SandboxProbe {
    /// Turns an error of [`SandboxCommand::spawn`] into the same kind of result.
    #[must_use]
    pub fn from_error(error: &SandboxError) -> Self {
        #[cfg(target_os = "linux")]
        let advice = crate::linux::advice::for_error(error, std::path::Path::new("/proc"));
        #[cfg(not(target_os = "linux"))]
        let advice = Vec::new();
        Self { report: SandboxReport::not_enforced(error.to_string()), advice }
    }
}

/// Builds a sandbox up to the last step, and discards it; behind Landlock if the kernel gives no namespaces. No command is
/// executed in it.
///
/// The host's `main` must call [`crate::trampoline::run_if_trampoline`].
#[must_use]
pub fn probe() -> SandboxProbe {
    let refused = match build_and_discard(SandboxCommand::new("true")) {
        Ok(report) => return SandboxProbe { report, advice: Vec::new() },
        Err(error) => SandboxProbe::from_error(&error),
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(SandboxError::Spawn);
    let report = listener
        .and_then(|listener| build_and_discard(SandboxCommand::new("true").behind_landlock(listener)));
    match report {
        // The advice is about namespaces, which close more.
        Ok(report) => SandboxProbe { report, advice: refused.advice },
        Err(_) => refused,
    }
}

fn build_and_discard(command: SandboxCommand) -> Result<SandboxReport, SandboxError> {
    let (mut command, handshake) = command.prepare()?;
    let mut child = command.spawn().map_err(SandboxError::Spawn)?;
    drop(command);
    // The channel is closed here without a start, so that the trampoline exits.
    let report = handshake.wait().map(|ready| ready.report);
    if report.is_err() {
        let _ = child.kill();
    }
    let _ = child.wait();
    report
}
