//! [`TaskContext`]: where developer commands run, and how they run cargo.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::TaskFailure;

/// Root of the repository, and the cargo that started us.
///
/// Every command runs in the root, with the terminal's own input and output.
pub(crate) struct TaskContext {
    /// Root of the repository.
    root: PathBuf,
    /// Path of cargo.
    cargo: OsString,
    /// `CARGO_TARGET_DIR` as the caller's directory meant it: commands run in the root, where a
    /// relative path would differ.
    target_folder: Option<PathBuf>,
    /// Agents that the step `agents` is limited to; empty for all.
    agents: Vec<String>,
}

impl TaskContext {
    /// Reads the environment of this process.
    pub(crate) fn new() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self {
            root: here.parent().unwrap_or(here).to_path_buf(),
            cargo: env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            target_folder: env::var_os("CARGO_TARGET_DIR").and_then(|dir| std::path::absolute(dir).ok()),
            agents: Vec::new(),
        }
    }

    /// Limits the step `agents` to these; empty for all.
    pub(crate) fn with_agents(self, agents: Vec<String>) -> Self {
        Self { agents, ..self }
    }

    /// Returns the agents that the step `agents` is limited to; empty for all.
    pub(crate) fn agents(&self) -> &[String] {
        &self.agents
    }

    /// Returns the path of cargo, for commands that start it in another way.
    pub(crate) fn cargo_program(&self) -> &OsStr {
        &self.cargo
    }

    /// Returns the root of the repository.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Prints the command line, and runs cargo with words that contain no space.
    ///
    /// # Errors
    /// If cargo cannot be started, or does not succeed.
    pub(crate) fn cargo(&self, words: &str) -> Result<(), TaskFailure> {
        self.cargo_with(words, &[])
    }

    /// Runs cargo as [`TaskContext::cargo`] does, with variables in its environment. The printed
    /// line can be pasted into a shell.
    pub(crate) fn cargo_with(&self, words: &str, variables: &[(&str, &str)]) -> Result<(), TaskFailure> {
        let mut line: String = variables.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
        line.push_str("cargo");
        for word in words.split_whitespace() {
            line.push(' ');
            line.push_str(&shell_quoted(word));
        }
        println!("$ {line}");
        let status = self.command(words).envs(variables.iter().copied()).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(TaskFailure::CommandFailed { line, status }),
            Err(error) => Err(TaskFailure::NotStarted { line, error }),
        }
    }

    /// Returns the target folder of the workspace.
    pub(crate) fn target_folder(&self) -> PathBuf {
        self.target_folder.clone().unwrap_or_else(|| self.root.join("target"))
    }

    /// Returns the standard output of cargo; prints no command line.
    ///
    /// # Errors
    /// If cargo cannot be started, or does not succeed.
    pub(crate) fn cargo_output(&self, words: &str) -> Result<String, TaskFailure> {
        let line = format!("cargo {words}");
        let output = self.command(words).stderr(Stdio::inherit()).output();
        match output {
            Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            Ok(output) => Err(TaskFailure::CommandFailed { line, status: output.status }),
            Err(error) => Err(TaskFailure::NotStarted { line, error }),
        }
    }

    /// Returns true if `cargo <tool> --version` works, that is, if the tool is installed.
    pub(crate) fn has_cargo_tool(&self, tool: &str) -> bool {
        let quiet = self.command(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        quiet.is_ok_and(|status| status.success())
    }

    /// Installs `cargo-<tool>` from the registry, with its own lock file, unless it is there.
    ///
    /// # Errors
    /// The failure of `cargo install`.
    pub(crate) fn ensure_cargo_tool(&self, tool: &str) -> Result<(), TaskFailure> {
        if self.has_cargo_tool(tool) {
            return Ok(());
        }
        println!("cargo-{tool} is not installed: installing it");
        self.cargo(&format!("install cargo-{tool} --locked"))
    }

    /// Returns a cargo command in the root.
    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(&self.cargo);
        command.args(words.split_whitespace()).current_dir(&self.root);
        if let Some(target) = &self.target_folder {
            command.env("CARGO_TARGET_DIR", target);
        }
        command
    }
}

/// Quotes a word for a shell, if it needs that.
fn shell_quoted(word: &str) -> std::borrow::Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@".contains(c);
    if word.chars().all(is_plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_read_otherwise_is_quoted() {
        assert_eq!(shell_quoted("--test-threads"), "--test-threads");
        assert_eq!(shell_quoted("package(a)+package(b)"), "'package(a)+package(b)'");
        assert_eq!(shell_quoted("it's"), r"'it'\''s'");
    }
}
