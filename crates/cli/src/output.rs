//! Standard output, standard error, and the error type of all commands.
//!
//! A result goes to standard output, a notice beside it to standard error with the prefix `reenact: `. Colour
//! appears only where a terminal shows it. Text that comes from a record or from an argument must be made
//! printable with [`Shown`] before it gets here: nothing in this module escapes it, but for [`print_usage`].

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use reenact_json::Shown;
use reenact_json::shown::is_unsafe;
use reenact_verify::render::Tone;

/// Reason for which a command ends without an exit code of its own.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The reader of standard output closed the pipe (`EPIPE`), as `head` does; nothing is left to print.
    ClosedPipe,
    /// The command could not do its work, or the answer is no. `main` prints the message to standard error.
    Failed {
        /// Exit code: 1 or 2; 125 to 127 for `record`, 126 and 127 for `replay --pass-exit`.
        code: u8,
        /// One line or more, without the prefix `reenact: `, and safe to print.
        message: String,
    },
}

impl CommandError {
    /// Returns the error of a command that did its work and whose answer is no: exit code 1.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::Failed { code: 1, message: message.into() }
    }

    /// Returns the error of a command that could not do its work: exit code 2.
    pub(crate) fn impossible(message: impl Into<String>) -> Self {
        Self::Failed { code: 2, message: message.into() }
    }

    /// Returns the message for people, which is empty if nobody reads it any more.
    pub(crate) fn into_message(self) -> String {
        match self {
            Self::Failed { message, .. } => message,
            Self::ClosedPipe => String::new(),
        }
    }

    /// Returns the error of a file that could not be created at `path`, with exit code 2.
    ///
    /// A name that is taken and a folder that is missing get advice instead of the system's words: they are
    /// the two common cases.
    pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Self {
        let name = path.to_string_lossy();
        let why = match error.kind() {
            io::ErrorKind::AlreadyExists => "there is such a file already; give another name".to_owned(),
            io::ErrorKind::NotFound => "there is no such folder; make it first".to_owned(),
            _ => write_failure(error),
        };
        Self::impossible(format!("{}: {why}", Shown::whole(&name)))
    }
}

/// Returns the reason why a file could not be written: in plain words for the common cases, else the system's own.
pub(crate) fn write_failure(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::IsADirectory => "that is a folder; name a file".into(),
        io::ErrorKind::NotADirectory => "a part of that path is a file, not a folder".into(),
        io::ErrorKind::PermissionDenied => "you may not write there".into(),
        io::ErrorKind::StorageFull => "the disk is full".into(),
        io::ErrorKind::ReadOnlyFilesystem => "that disk cannot be written to".into(),
        io::ErrorKind::InvalidFilename => "that name is too long".into(),
        _ => error.to_string(),
    }
}

impl From<reenact_keys::TrustFileError> for CommandError {
    /// Returns the message of a trust store that cannot be read or written, with exit code 2.
    fn from(error: reenact_keys::TrustFileError) -> Self {
        Self::impossible(error.to_string())
    }
}

impl From<io::Error> for CommandError {
    /// Converts a failed write to standard output: a closed pipe is no failure worth a message.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::impossible(format!("the output could not be written: {error}")),
        }
    }
}

/// Writes text to standard output and flushes it. Colours are removed unless a terminal shows them.
///
/// # Errors
///
/// [`CommandError::ClosedPipe`] if the reader is gone, an `impossible` error otherwise, such as for a full disk.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Writes bytes to standard output unchanged, and flushes them. The errors are those of [`print()`].
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}

/// Writes a line beside the result to standard error, with the prefix `reenact: `.
///
/// A failure is ignored: if standard error is closed, there is no other place for the line.
pub(crate) fn print_notice(message: &str) {
    let _ = writeln!(anstream::stderr().lock(), "reenact: {message}");
}

/// Writes a line for programs to standard error, where standard output is another's. A failure is ignored, as for a notice.
pub(crate) fn print_error_line(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Returns a duplicate of the standard error handle, to which a child's output is redirected.
pub(crate) fn stderr_handle() -> io::Result<std::fs::File> {
    #[cfg(unix)]
    return std::os::fd::AsFd::as_fd(&io::stderr()).try_clone_to_owned().map(std::fs::File::from);
    #[cfg(windows)]
    return std::os::windows::io::AsHandle::as_handle(&io::stderr())
        .try_clone_to_owned()
        .map(std::fs::File::from);
}

/// Prints clap's help, version or complaint about arguments, and returns the exit code.
///
/// Complaints quote the arguments, which may hold escape sequences. If any argument has an unsafe character,
/// the text is escaped line by line and goes to standard error without colours.
pub(crate) fn print_usage(error: &clap::Error) -> ExitCode {
    // `record` passes on the exit code of the agent, so wrong arguments end with 125, which tells them from
    // the agent's own failure.
    let is_recording = std::env::args_os().nth(1).is_some_and(|word| word == "record");
    let code = match u8::try_from(error.exit_code()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) if is_recording => ExitCode::from(crate::command::EXIT_RECORDING_FAILED),
        code => ExitCode::from(code.unwrap_or(2)),
    };
    let typed = std::env::args_os().any(|word| word.to_string_lossy().chars().any(is_unsafe));
    if !typed {
        // A closed pipe is fine: help that is not read does not matter.
        let _ = error.print();
        return code;
    }
    let lines: Vec<String> =
        error.to_string().lines().map(|line| Shown::whole(line).to_string().replace("\\\\", "\\")).collect();
    let _ = writeln!(io::stderr().lock(), "{}", lines.join("\n"));
    code
}

/// Returns text in the colour of its tone. Colour adds no information: the words say the same without it.
pub(crate) fn paint(tone: Tone, text: &str) -> String {
    let style = match tone {
        Tone::Good => AnsiColor::Green.on_default().bold(),
        Tone::Bad => AnsiColor::Red.on_default().bold(),
        Tone::Doubtful => AnsiColor::Yellow.on_default().bold(),
        Tone::Quiet => Style::new().dimmed(),
        Tone::Title => Style::new().bold(),
    };
    format!("{style}{text}{style:#}")
}
