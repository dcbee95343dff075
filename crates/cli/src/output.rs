//! What goes to the terminal, and how a command ends.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use reenact_json::Shown;
use reenact_json::shown::is_unsafe;
use reenact_verify::render::Tone;

/// How a command ends when it does not simply return its exit code.
#[derive(Debug)]
pub(crate) enum Ending {
    /// Standard output was closed by its reader.
    ClosedPipe,
    /// Something could not be done, or the answer is no; the message goes to standard error.
    Failed {
        /// 1 or 2.
        code: u8,
        /// One line or more, safe to print.
        message: String,
    },
}

impl Ending {
    /// Done, and the answer is no.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::Failed { code: 1, message: message.into() }
    }

    /// It could not be done.
    pub(crate) fn impossible(message: impl Into<String>) -> Self {
        Self::Failed { code: 2, message: message.into() }
    }

    /// A file could not be written where it was asked for.
    pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Self {
        let name = path.to_string_lossy();
        let why = match error.kind() {
            io::ErrorKind::AlreadyExists => "there is such a file already; give another name".to_owned(),
            io::ErrorKind::NotFound => "there is no such folder; make it first".to_owned(),
            _ => error.to_string(),
        };
        Self::impossible(format!("{}: {why}", Shown::whole(&name)))
    }
}

impl From<reenact_keys::TrustFileError> for Ending {
    fn from(error: reenact_keys::TrustFileError) -> Self {
        Self::impossible(error.to_string())
    }
}

impl From<io::Error> for Ending {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::impossible(format!("the output could not be written: {error}")),
        }
    }
}

/// Writes to standard output now, with colour only where a terminal shows it.
pub(crate) fn print(text: &str) -> Result<(), Ending> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Writes bytes to standard output as they are.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Ending> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}

/// Says something beside the result. If standard error is closed too, nobody wants to hear it.
pub(crate) fn complain(message: &str) {
    let _ = writeln!(anstream::stderr().lock(), "reenact: {message}");
}

/// Another handle to standard error, for a child's output.
pub(crate) fn standard_error() -> io::Result<std::fs::File> {
    #[cfg(unix)]
    return std::os::fd::AsFd::as_fd(&io::stderr()).try_clone_to_owned().map(std::fs::File::from);
    #[cfg(windows)]
    return std::os::windows::io::AsHandle::as_handle(&io::stderr())
        .try_clone_to_owned()
        .map(std::fs::File::from);
}

/// Help, or a complaint about arguments. These quote what was typed, which may hold anything.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // `record` has the exit codes of the command that it runs, so a mistake of its own needs one that says whose it is.
    let is_recording = std::env::args_os().nth(1).is_some_and(|word| word == "record");
    let code = match u8::try_from(error.exit_code()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) if is_recording => ExitCode::from(crate::command::RECORDING_FAILED),
        code => ExitCode::from(code.unwrap_or(2)),
    };
    let typed = std::env::args_os().any(|word| word.to_string_lossy().chars().any(is_unsafe));
    if !typed {
        // If nobody is there to read it, nobody misses it.
        let _ = error.print();
        return code;
    }
    let lines: Vec<String> =
        error.to_string().lines().map(|line| Shown::whole(line).to_string().replace("\\\\", "\\")).collect();
    let _ = writeln!(io::stderr().lock(), "{}", lines.join("\n"));
    code
}

/// The colours of reports. The words say the same without them.
pub(crate) fn paint(tone: Tone, text: &str) -> String {
    let style = match tone {
        Tone::Good => AnsiColor::Green.on_default().bold(),
        Tone::Bad => AnsiColor::Red.on_default().bold(),
        Tone::Quiet => Style::new().dimmed(),
        Tone::Title => Style::new().bold(),
    };
    format!("{style}{text}{style:#}")
}
