//! What this machine allows, why not, and what to do. Found out by doing it, not by reading settings.

use crate::enforcement::Enforcement;
use crate::plan::{Plan, SandboxError};

#[cfg(not(target_os = "linux"))]
pub(crate) const NOT_LINUX: &str = "the sandbox needs Linux namespaces; on this system nothing is enforced";

/// What a sandbox would enforce here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// What would hold for a child started now from this place.
    pub enforcement: Enforcement,
    /// What to do to get more; empty when there is nothing to do.
    pub advice: Vec<String>,
}

impl Probe {
    /// What an error of [`Plan::spawn`] means, in the same words.
    #[must_use]
    pub fn from_error(error: &SandboxError) -> Self {
        #[cfg(target_os = "linux")]
        let advice = crate::linux::advice::for_error(error, std::path::Path::new("/proc"));
        #[cfg(not(target_os = "linux"))]
        let advice = Vec::new();
        Self { enforcement: Enforcement::none(error.to_string()), advice }
    }
}

/// Build the sandbox up to the last step, look at it, and let it go. Nothing is executed in it.
///
/// The host's `main` must call [`crate::trampoline::main_if_asked`].
#[must_use]
pub fn probe() -> Probe {
    match try_it() {
        Ok(enforcement) => Probe { enforcement, advice: Vec::new() },
        Err(error) => Probe::from_error(&error),
    }
}

fn try_it() -> Result<Enforcement, SandboxError> {
    let (mut command, handshake) = Plan::new("true").prepare()?;
    let mut child = command.spawn().map_err(SandboxError::Spawn)?;
    drop(command);
    // The handshake ends here without a start, so the trampoline leaves.
    let found = handshake.wait().map(|ready| ready.enforcement);
    if found.is_err() {
        let _ = child.kill();
    }
    let _ = child.wait();
    found
}
