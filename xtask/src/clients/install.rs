//! Clients, installed from their registries into folders of ours.
//!
//! A folder gets a stamp when all is in it: it is not installed again until what is asked for changes, and half of an
//! installation is none.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::failed;
use crate::command;
use crate::failure::Failure;

const NO_PYTHON: Failure = Failure::Missing {
    tool: "Python 3.10 or later, with venv",
    install: "apt-get install python3 python3-venv",
};
const NO_NODE: Failure =
    Failure::Missing { tool: "Node 20 or later, with npm", install: "apt-get install nodejs npm" };

/// Installs packages into a virtual environment of this folder.
pub(super) fn python(root: &Path, folder: &Path, packages: &[&str]) -> Result<(), Failure> {
    const FITS: [&str; 2] =
        ["-c", "import sys, venv, ensurepip; print(sys.version); sys.exit(sys.version_info < (3, 10))"];
    let version = || command::answer(Command::new("python3").args(FITS), root);
    let version = found(version, root, &["python3", "python3-venv"])?.ok_or(NO_PYTHON)?;
    once(folder, &format!("{}\n{version}\n", packages.join("\n")), || {
        command::run(Command::new("python3").args(["-m", "venv"]).arg(folder), root)?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        command::run(pip.args(packages), root)
    })
}

/// Installs packages as those of a project in this folder.
pub(super) fn node(root: &Path, folder: &Path, packages: &[&str]) -> Result<(), Failure> {
    let version = || {
        command::is_there("npm").then_some(())?;
        command::answer(Command::new("node").arg("--version"), root).filter(|text| is_new_enough(text))
    };
    let version = found(version, root, &["nodejs", "npm"])?.ok_or(NO_NODE)?;
    once(folder, &format!("{}\n{version}\n", packages.join("\n")), || {
        let project = folder.join("package.json");
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        fs::write(&project, "{\"private\":true}\n").map_err(|error| failed(&project, error))?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--save-exact", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]);
        command::run(npm.arg(folder).args(packages), root)
    })
}

/// What `version` finds; where that is nothing, after the system's packages were installed, if we may.
fn found(
    version: impl Fn() -> Option<String>,
    root: &Path,
    packages: &[&str],
) -> Result<Option<String>, Failure> {
    let found = version();
    if found.is_some() || !command::is_there("apt-get") || !command::is_root(root) {
        return Ok(found);
    }
    command::run(Command::new("apt-get").args(["update", "-qq"]), root)?;
    let mut install = Command::new("apt-get");
    install.args(["install", "--yes", "--no-install-recommends", "-qq"]).args(packages);
    command::run(install.env("DEBIAN_FRONTEND", "noninteractive"), root)?;
    Ok(version())
}

/// Fills a folder, unless its stamp says that this very thing was done.
fn once(folder: &Path, stamp: &str, fill: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let file = folder.join("installed.txt");
    if fs::read_to_string(&file).is_ok_and(|found| found == stamp) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| failed(folder, error))?;
    }
    fill()?;
    fs::write(&file, stamp).map_err(|error| failed(&file, error))
}

/// A text such as `v20.20.2`, of 20 or later.
fn is_new_enough(text: &str) -> bool {
    let major = text.strip_prefix('v').and_then(|text| text.split('.').next()?.parse().ok());
    major.is_some_and(|major: u32| major >= 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_testkit::fixture::TestDir;

    #[test]
    fn versions() {
        assert!(is_new_enough("v20.20.2") && is_new_enough("v100"));
        assert!(!is_new_enough("v18.20.4") && !is_new_enough("20.1.0") && !is_new_enough("none"));
    }

    #[test]
    fn what_was_installed_is_not_installed_again() {
        let parent = TestDir::new();
        let folder = parent.join("installed");
        let installed = |stamp: &str| {
            let mut filled = false;
            once(&folder, stamp, || {
                filled = true;
                fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))
            })
            .unwrap();
            filled
        };
        assert_eq!(
            [installed("a"), installed("a"), installed("b"), installed("b")],
            [true, false, true, false]
        );
        // Half of it is none.
        once(&folder, "c", || Err(NO_NODE)).unwrap_err();
        assert!(installed("b"));
    }
}
