//! The pager: long output for a person at a terminal, a screen at a time.
//!
//! `PAGER` is the user's own variable, and run through the shell as git does; without it `less` is started if it is there. A pipe and a
//! file get all of the text, and so does a terminal that cannot show screens. Start reading at [`print()`].

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use crate::output::{self, CommandError};

/// Options of `less`: leave at once if all fits on the screen, show colours, and leave the screen as it is.
const LESS_OPTIONS: &str = "FRX";

/// Prints text through the pager, if standard output is a terminal, else as it is.
///
/// # Errors
///
/// Those of [`output::print`]. A pager that is left before the end of the text is no error.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    let can_page = io::stdout().is_terminal() && std::env::var_os("TERM").is_some_and(|name| name != "dumb");
    let _deaf = match can_page {
        true => ignore_interrupts(),
        false => return output::print(text),
    };
    let Some(mut pager) = start() else { return output::print(text) };
    if let Some(mut input) = pager.stdin.take() {
        let plain;
        let shown = match anstream::AutoStream::choice(&io::stdout()) {
            anstream::ColorChoice::Never => {
                plain = anstream::adapter::strip_str(text).to_string();
                plain.as_str()
            }
            _ => text,
        };
        // Whoever leaves the pager has seen enough.
        let _ = input.write_all(shown.as_bytes());
    }
    match pager.wait() {
        // The shell found no such program; it has said so.
        Ok(status) if matches!(status.code(), Some(126 | 127)) => output::print(text),
        _ => Ok(()),
    }
}

/// Starts the pager; `None` if there is none, or the user wants none.
fn start() -> Option<Child> {
    let mut command = match std::env::var_os("PAGER") {
        None => {
            let mut less = Command::new("less");
            less.arg(format!("-{LESS_OPTIONS}"));
            less
        }
        Some(words) if is_none(&words) => return None,
        Some(words) => through_shell(&words),
    };
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS_OPTIONS);
    }
    command.stdin(Stdio::piped()).spawn().ok()
}

/// Returns true for values of `PAGER` that mean no pager.
fn is_none(words: &OsString) -> bool {
    words.to_str().is_some_and(|words| matches!(words.trim(), "" | "cat"))
}

#[cfg(unix)]
fn through_shell(words: &OsString) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(words);
    shell
}

#[cfg(not(unix))]
fn through_shell(words: &OsString) -> Command {
    Command::new(words)
}

/// Keeps this process alive when Ctrl-C is typed, until the pager ends: the pager takes the key as a command of its own, and would be left
/// on the terminal without us.
#[cfg(unix)]
fn ignore_interrupts() -> Option<impl Sized> {
    use tokio::signal::unix::{SignalKind, signal};

    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().ok()?;
    let interrupts = {
        let _entered = runtime.enter();
        signal(SignalKind::interrupt()).ok()?
    };
    Some((runtime, interrupts))
}

#[cfg(not(unix))]
fn ignore_interrupts() -> Option<()> {
    None
}
