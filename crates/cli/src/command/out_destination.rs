//! The place of a file that a command makes: a path, or `-` for standard output.
//!
//! Where the file itself goes to standard output, the report on it goes to standard error. Start reading at [`OutDestination`].

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use reenact_formats::FormatId;
use reenact_json::Shown;

use super::record::shell_quoted;
use crate::output::{self, CommandError};

/// Value of `--out`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OutDestination {
    /// A file or a folder.
    Path(PathBuf),
    /// Standard output.
    StandardOutput,
}

impl OutDestination {
    /// Returns the place that a path means: `-` is standard output, and `./-` a file of that name.
    pub(super) fn of(path: &Path) -> Self {
        match path.as_os_str() == "-" {
            true => Self::StandardOutput,
            false => Self::Path(path.to_owned()),
        }
    }

    /// Returns true for standard output.
    pub(super) fn is_standard_output(&self) -> bool {
        *self == Self::StandardOutput
    }

    /// Refuses a place that cannot hold a record of the format, before any work is done: the name of a folder for one file,
    /// standard output for a folder, a terminal for an archive.
    ///
    /// # Errors
    ///
    /// If it cannot.
    pub(super) fn require_fitting(&self, format: FormatId) -> Result<(), CommandError> {
        let name = format.name();
        match self {
            Self::Path(path) => {
                // Formats that can be a folder take such a name, or refuse it themselves.
                let is_one_file = !matches!(format, FormatId::ReplayJsonl | FormatId::ModelIo);
                if is_one_file && path.as_os_str().as_encoded_bytes().ends_with(b"/") {
                    let path = path.to_string_lossy();
                    return Err(CommandError::impossible(format!(
                        "{}: {name} is one file; give its name without the slash",
                        Shown::whole(&path)
                    )));
                }
                Ok(())
            }
            Self::StandardOutput if format == FormatId::ReplayJsonl => {
                Err(CommandError::impossible(format!(
                    "--out -: {name} is a folder of several files, and standard output takes one: name a folder"
                )))
            }
            Self::StandardOutput
                if matches!(format, FormatId::RerBundle | FormatId::ReplayBundle)
                    && io::stdout().is_terminal() =>
            {
                Err(CommandError::impossible(
                    "--out -: that is an archive, and standard output is a terminal: send it to a file",
                ))
            }
            Self::StandardOutput => Ok(()),
        }
    }

    /// Returns the place in words for a report.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Path(path) => Shown::whole(&path.to_string_lossy()).to_string(),
            Self::StandardOutput => "standard output".into(),
        }
    }

    /// Returns the name of the file for a command to type next.
    pub(super) fn word(&self) -> String {
        match self {
            Self::Path(path) => shell_quoted(&path.to_string_lossy()),
            Self::StandardOutput => "FILE".into(),
        }
    }

    /// Prints a report of whole lines: to standard output, or to standard error if the file went there.
    ///
    /// # Errors
    ///
    /// If standard output cannot be written.
    pub(super) fn print_report(&self, report: &str) -> Result<(), CommandError> {
        match self {
            Self::Path(_) => output::print(report),
            Self::StandardOutput => {
                output::print_error_line(report.trim_end_matches('\n'));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_is_standard_output_and_nothing_else_is() {
        assert!(OutDestination::of(Path::new("-")).is_standard_output());
        for name in ["./-", "-/", "--", "a"] {
            assert!(!OutDestination::of(Path::new(name)).is_standard_output(), "{name}");
        }
    }
}
