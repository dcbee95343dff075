//! Installation of clients and agents from their registries into folders below the target folder.
//!
//! A folder gets a stamp when the installation is complete. It is installed again only when the
//! packages, their lock file or the interpreter change, and half of an installation does not count.
//! Downloads are kept by pip and npm themselves, for all checkouts of a user.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use reenact_json::Digest;

use crate::command;
use crate::failure::TaskFailure;

/// Packages to install.
#[derive(Clone, Copy)]
pub(crate) enum Packages<'a> {
    /// Packages by name and version. Their dependencies are those that they ask for.
    Listed(&'a [&'a str]),
    /// Lock file with every package and its digest: requirements of pip, or the `package-lock.json`
    /// of npm with its `package.json` beside it.
    Locked(&'a Path),
}

impl Packages<'_> {
    /// Returns a text that changes when something else is to be installed.
    fn stamp(self) -> Result<String, TaskFailure> {
        match self {
            Packages::Listed(packages) => Ok(packages.join("\n")),
            Packages::Locked(file) => {
                let lock = fs::read(file).map_err(|error| failed(file, error))?;
                Ok(format!("lock file {}", Digest::of(&lock)))
            }
        }
    }
}

/// Wraps an error of the file system.
pub(crate) fn failed(path: &Path, error: io::Error) -> TaskFailure {
    let error = io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    TaskFailure::NotStarted { line: "the installation".into(), error }
}

const NO_PYTHON: TaskFailure = TaskFailure::Missing {
    tool: "Python 3.10 or later, with venv",
    install: "apt-get install python3 python3-venv",
};
const NO_NODE: TaskFailure =
    TaskFailure::Missing { tool: "Node 20 or later, with npm", install: "apt-get install nodejs npm" };

/// Installs packages into a virtual environment in this folder.
///
/// # Errors
/// If there is no Python of 3.10 or later with `venv`, or if pip fails.
pub(crate) fn python(root: &Path, folder: &Path, packages: Packages<'_>) -> Result<(), TaskFailure> {
    /// Prints the version, and fails if it is too old or if a module is missing.
    const FITS: [&str; 2] =
        ["-c", "import sys, venv, ensurepip; print(sys.version); sys.exit(sys.version_info < (3, 10))"];
    let version = || command::stdout_of(Command::new("python3").args(FITS), root);
    let version = version_or_install(version, root, &["python3", "python3-venv"])?.ok_or(NO_PYTHON)?;
    install_once(folder, &format!("{}\n{version}\n", packages.stamp()?), || {
        command::run(Command::new("python3").args(["-m", "venv"]).arg(folder), root)?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        match packages {
            Packages::Listed(packages) => pip.args(packages),
            Packages::Locked(file) => pip.args(["--require-hashes", "--requirement"]).arg(file),
        };
        command::run(&mut pip, root)
    })
}

/// Installs packages as dependencies of a project in this folder.
///
/// # Errors
/// If there is no Node of 20 or later with npm, or if npm fails.
pub(crate) fn node(root: &Path, folder: &Path, packages: Packages<'_>) -> Result<(), TaskFailure> {
    let version = || {
        command::is_installed("npm").then_some(())?;
        command::stdout_of(Command::new("node").arg("--version"), root).filter(|text| is_new_enough(text))
    };
    let version = version_or_install(version, root, &["nodejs", "npm"])?.ok_or(NO_NODE)?;
    install_once(folder, &format!("{}\n{version}\n", packages.stamp()?), || {
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let mut npm = Command::new("npm");
        match packages {
            Packages::Listed(packages) => {
                let project = folder.join("package.json");
                fs::write(&project, "{\"private\":true}\n").map_err(|error| failed(&project, error))?;
                npm.args(["install", "--save-exact"]).args(packages);
            }
            Packages::Locked(file) => {
                for file in [file.to_path_buf(), file.with_file_name("package.json")] {
                    let copy = folder.join(file.file_name().unwrap_or_default());
                    fs::copy(&file, copy).map_err(|error| failed(&file, error))?;
                }
                // Not `npm ci`, which refuses a lock file without the packages of machines that its
                // registry did not have. The digests of the lock file count here, too.
                npm.args(["install", "--no-save", "--ignore-scripts"]);
            }
        }
        npm.args(["--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(folder);
        command::run(&mut npm, root)
    })
}

/// Returns the version that `version` finds. If there is none and we are root, installs system
/// packages first.
///
/// # Errors
/// If the packages cannot be installed.
pub(crate) fn version_or_install(
    version: impl Fn() -> Option<String>,
    root: &Path,
    packages: &[&str],
) -> Result<Option<String>, TaskFailure> {
    let found = version();
    if found.is_some() || !command::is_installed("apt-get") || !command::is_root(root) {
        return Ok(found);
    }
    command::run(Command::new("apt-get").args(["update", "-qq"]), root)?;
    let mut install = Command::new("apt-get");
    install.args(["install", "--yes", "--no-install-recommends", "-qq"]).args(packages);
    command::run(install.env("DEBIAN_FRONTEND", "noninteractive"), root)?;
    Ok(version())
}

/// Fills a folder, unless its stamp is this one already.
fn install_once(
    folder: &Path,
    stamp: &str,
    fill: impl FnOnce() -> Result<(), TaskFailure>,
) -> Result<(), TaskFailure> {
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

/// Returns true for a version such as `v20.20.2`, of 20 or later.
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
            install_once(&folder, stamp, || {
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
        // Half of an installation does not count.
        install_once(&folder, "c", || Err(NO_NODE)).unwrap_err();
        assert!(installed("b"));
    }
}
