//! Node, which runs the module as a browser would.

use std::path::Path;
use std::process::Command;

use crate::command;
use crate::failure::TaskFailure;

/// Oldest major version of Node that is known to run our scripts: that of Debian 12.
const OLDEST: u32 = 18;

const MISSING: TaskFailure =
    TaskFailure::Missing { tool: "Node 18 or later", install: "apt-get install nodejs" };

/// Returns the name of a Node that is new enough. If there is none at all and we are root, it is
/// installed.
///
/// # Errors
/// [`TaskFailure::Missing`] if there is no Node, or only one that is too old.
pub(super) fn find(root: &Path) -> Result<&'static str, TaskFailure> {
    if version(root).is_none() && command::is_installed("apt-get") && command::is_root(root) {
        println!("Node is not installed: installing it");
        command::run(Command::new("apt-get").arg("update"), root)?;
        let install = ["install", "--yes", "--no-install-recommends", "nodejs"];
        command::run(Command::new("apt-get").args(install).env("DEBIAN_FRONTEND", "noninteractive"), root)?;
    }
    match version(root) {
        Some(version) if version >= OLDEST => Ok("node"),
        _ => Err(MISSING),
    }
}

/// Returns the major version of the installed Node.
fn version(root: &Path) -> Option<u32> {
    major(&command::stdout_of(Command::new("node").arg("--version"), root)?)
}

/// Returns the first number of a version such as `v20.20.2`.
fn major(text: &str) -> Option<u32> {
    text.strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn majors() {
        assert_eq!(major("v20.20.2"), Some(20));
        assert_eq!(major("v100"), Some(100));
        assert_eq!(major("20.20.2"), None);
        assert_eq!(major("no"), None);
    }
}
