//! Where a developer command runs, and how it runs others.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// The root of the repository and the cargo that started us. Every command runs in the root, with the terminal's own
/// input and output.
pub(crate) struct Context {
    root: PathBuf,
    cargo: OsString,
    /// `CARGO_TARGET_DIR` as the caller's directory meant it: commands run in the root, where a relative one would differ.
    target: Option<PathBuf>,
}

impl Context {
    pub(crate) fn new() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self {
            root: here.parent().unwrap_or(here).to_path_buf(),
            cargo: env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            target: env::var_os("CARGO_TARGET_DIR").and_then(|dir| std::path::absolute(dir).ok()),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Runs cargo with words that contain no space, after printing the line.
    pub(crate) fn cargo(&self, words: &str) -> Result<(), Failure> {
        self.cargo_with(words, &[])
    }

    /// As `cargo`, with variables in its environment. The printed line can be pasted into a shell.
    pub(crate) fn cargo_with(&self, words: &str, variables: &[(&str, &str)]) -> Result<(), Failure> {
        let mut line: String = variables.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
        line.push_str("cargo");
        for word in words.split_whitespace() {
            line.push(' ');
            line.push_str(&quoted(word));
        }
        println!("$ {line}");
        let status = self.command(words).envs(variables.iter().copied()).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::Ended { line, status }),
            Err(error) => Err(Failure::NotStarted { line, error }),
        }
    }

    /// Where the workspace builds.
    pub(crate) fn target(&self) -> PathBuf {
        self.target.clone().unwrap_or_else(|| self.root.join("target"))
    }

    /// What cargo prints, without a word about it.
    pub(crate) fn cargo_says(&self, words: &str) -> Result<String, Failure> {
        let line = format!("cargo {words}");
        let output = self.command(words).stderr(Stdio::inherit()).output();
        match output {
            Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            Ok(output) => Err(Failure::Ended { line, status: output.status }),
            Err(error) => Err(Failure::NotStarted { line, error }),
        }
    }

    /// Whether `cargo <tool> --version` works, that is, whether the tool is installed.
    pub(crate) fn has(&self, tool: &str) -> bool {
        let quiet = self.command(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        quiet.is_ok_and(|status| status.success())
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(&self.cargo);
        command.args(words.split_whitespace()).current_dir(&self.root);
        if let Some(target) = &self.target {
            command.env("CARGO_TARGET_DIR", target);
        }
        command
    }
}

/// A word that a shell takes for what it is.
fn quoted(word: &str) -> std::borrow::Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@".contains(c);
    if word.chars().all(is_plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_read_otherwise_is_quoted() {
        assert_eq!(quoted("--test-threads"), "--test-threads");
        assert_eq!(quoted("package(a)+package(b)"), "'package(a)+package(b)'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
