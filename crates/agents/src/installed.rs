//! Where an agent is installed, and its version as its files tell it. Nothing is run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::local::{LocalEnvironment, parse_json, read_settings};
use crate::row::AgentRow;

/// Installed program of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledAgent {
    /// Path as `PATH` finds it.
    pub path: PathBuf,
    /// Version, if its files tell.
    pub version: Option<String>,
}

/// Returns the first program of an agent that `PATH` finds.
pub fn find(row: &AgentRow, local: &LocalEnvironment) -> Option<InstalledAgent> {
    let path = row.recognise.programs.iter().find_map(|name| local.program(name))?;
    let version = version(row, &path);
    Some(InstalledAgent { path, version })
}

/// Returns the version of the program at a path: of the package around it, or of a folder or file that is named by one.
pub fn version(row: &AgentRow, path: &Path) -> Option<String> {
    let real = fs::canonicalize(path).ok()?;
    let package = real.ancestors().skip(1).take(6).find_map(|folder| node_version(row, folder));
    package
        .or_else(|| python_version(row, &real))
        .or_else(|| real.file_name()?.to_str().filter(|name| is_version(name)).map(str::to_owned))
}

/// Returns the version of the package in a folder, if it is one of the row.
fn node_version(row: &AgentRow, folder: &Path) -> Option<String> {
    let package = parse_json(&read_settings(&folder.join("package.json"))?)?;
    let name = package.get("name")?.as_str()?;
    row.recognise
        .packages
        .iter()
        .any(|known| known == name)
        .then(|| package.get("version")?.as_str().map(str::to_owned))?
        .filter(|version| is_version(version))
}

/// Returns the version of a package beside a Python program: `lib/python3.x/site-packages/NAME-VERSION.dist-info`.
fn python_version(row: &AgentRow, program: &Path) -> Option<String> {
    let libraries = fs::read_dir(program.parent()?.parent()?.join("lib")).ok()?;
    let folders = libraries.flatten().take(64).map(|folder| folder.path().join("site-packages"));
    let mut names = folders
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .flatten()
        .take(20_000)
        .map(|entry| entry.file_name());
    names.find_map(|name| {
        let name = name.to_str()?.strip_suffix(".dist-info")?.to_owned();
        let (package, version) = name.split_once('-')?;
        let is_it = row.recognise.packages.iter().any(|known| known.replace('-', "_") == package);
        (is_it && is_version(version)).then(|| version.to_owned())
    })
}

/// Returns true for a text such as `1.2.3-beta.1`.
fn is_version(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-+_".contains(c);
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_digit())
        && text.contains('.')
        && text.chars().all(is_plain)
}
