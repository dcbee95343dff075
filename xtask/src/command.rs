//! Commands other than cargo's own: run aloud, asked, or run for a limited time.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// Runs a command in `folder`, after printing its line.
pub(crate) fn run(command: &mut Command, folder: &Path) -> Result<(), Failure> {
    let line = line(command);
    println!("$ {line}");
    judged(line, command.current_dir(folder).status())
}

/// As `run`, but ends the command after `limit`; that it was ended shows in its status.
pub(crate) fn run_within(limit: Duration, command: &mut Command, folder: &Path) -> Result<(), Failure> {
    let line = line(command);
    println!("$ {line}");
    judged(line, status_within(limit, command.current_dir(folder)))
}

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

/// What a command prints, if it succeeds.
pub(crate) fn answer(command: &mut Command, folder: &Path) -> Option<String> {
    let output = command.current_dir(folder).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether there is a program of that name.
pub(crate) fn is_there(program: &str) -> bool {
    let quiet = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// Whether we may change the system.
pub(crate) fn is_root(folder: &Path) -> bool {
    answer(Command::new("id").arg("-u"), folder).as_deref() == Some("0")
}

fn judged(line: String, status: io::Result<ExitStatus>) -> Result<(), Failure> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Ended { line, status }),
        Err(error) => Err(Failure::NotStarted { line, error }),
    }
}

/// The command as one would type it.
fn line(command: &Command) -> String {
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
        assert_eq!(line(&command), "MODULE=m.wasm node --test a.mjs");
    }
}
