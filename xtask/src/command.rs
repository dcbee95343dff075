//! Other programs: run with their command line printed, run for their output, or run with a
//! timeout.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::TaskFailure;

/// Prints the command line, and runs the command in `folder`.
///
/// # Errors
/// If the command cannot be started, or does not succeed.
pub(crate) fn run(command: &mut Command, folder: &Path) -> Result<(), TaskFailure> {
    let line = shell_line(command);
    println!("$ {line}");
    check_status(line, command.current_dir(folder).status())
}

/// Runs a command as [`run`] does, and kills it after `limit`, which shows in its status.
///
/// For commands that wait for a server: a machine without network should not hang here.
pub(crate) fn run_within(limit: Duration, command: &mut Command, folder: &Path) -> Result<(), TaskFailure> {
    let line = shell_line(command);
    println!("$ {line}");
    check_status(line, status_within(limit, command.current_dir(folder)))
}

/// Polls the child until it ends or the limit is over.
fn status_within(limit: Duration, command: &mut Command) -> io::Result<ExitStatus> {
    let end = Instant::now() + limit;
    let mut child = command.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= end {
            println!("no answer within {} s", limit.as_secs());
            child.kill()?;
            return child.wait();
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the standard output of a command, trimmed, if it succeeds.
pub(crate) fn stdout_of(command: &mut Command, folder: &Path) -> Option<String> {
    let output = command.current_dir(folder).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns true if there is a program of this name that knows `--version`.
pub(crate) fn is_installed(program: &str) -> bool {
    let quiet = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// Returns true if we are root, and may install packages.
pub(crate) fn is_root(folder: &Path) -> bool {
    stdout_of(Command::new("id").arg("-u"), folder).as_deref() == Some("0")
}

/// Converts an exit status to a result.
fn check_status(line: String, status: io::Result<ExitStatus>) -> Result<(), TaskFailure> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(TaskFailure::CommandFailed { line, status }),
        Err(error) => Err(TaskFailure::NotStarted { line, error }),
    }
}

/// Returns the command line as one would type it, with the variables that it sets.
fn shell_line(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            words.push(format!("{}={}", name.display(), value.display()));
        }
    }
    words.push(command.get_program().display().to_string());
    words.extend(command.get_args().map(|word| word.display().to_string()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_as_one_would_type_it() {
        let mut command = Command::new("node");
        command.args(["--test", "a.mjs"]).env("MODULE", "m.wasm").env_remove("HOME");
        assert_eq!(shell_line(&command), "MODULE=m.wasm node --test a.mjs");
    }
}
