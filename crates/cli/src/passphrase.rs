//! Passphrases of approver keys: typed at the terminal, or read from `--passphrase-file`.
//!
//! Every buffer that held a passphrase is wiped when it is dropped, and is allocated at its full size,
//! because a buffer that grows leaves copies of its content behind. Start reading at [`ask`].

use std::fs::File;
use std::io::Read;
use std::path::Path;

use reenact_json::Shown;
use reenact_keys::{Passphrase, ownership};
use zeroize::Zeroizing;

use crate::output::{self, CommandError};
use crate::terminal::Terminal;

/// Returns the passphrase of an existing key: from `file` if there is one, otherwise typed at the terminal.
///
/// # Errors
///
/// If the file cannot be read, there is no terminal, or the text is no passphrase (8 to 1024 bytes).
pub(crate) fn ask(file: Option<&Path>, name: &str) -> Result<Passphrase, CommandError> {
    match file {
        Some(file) => read_file(file),
        None => prompt(&mut open_terminal()?, &format!("Passphrase of {name}: ")),
    }
}

/// Returns the passphrase for a new key. A person types it twice, a file is read once.
///
/// # Errors
///
/// Those of [`ask`], and two different passphrases.
pub(crate) fn ask_new(file: Option<&Path>, name: &str) -> Result<Passphrase, CommandError> {
    let Some(file) = file else {
        let mut terminal = open_terminal()?;
        let first = prompt(&mut terminal, &format!("New passphrase for {name}: "))?;
        let second = prompt(&mut terminal, "The same again: ")?;
        if !first.is_same(&second) {
            return Err(CommandError::impossible("the two passphrases are not the same; nothing was made"));
        }
        return Ok(first);
    };
    read_file(file)
}

/// Opens the controlling terminal, or says which option replaces it.
fn open_terminal() -> Result<Terminal, CommandError> {
    Terminal::open().ok_or_else(|| {
        CommandError::impossible(
            "there is no terminal to ask for the passphrase on; give --passphrase-file FILE",
        )
    })
}

/// Prompts for a passphrase, without echo. Ctrl-C and Ctrl-D are errors, since there is no passphrase then.
fn prompt(terminal: &mut Terminal, prompt: &str) -> Result<Passphrase, CommandError> {
    let typed = terminal
        .secret(prompt)
        .map_err(|error| CommandError::impossible(format!("the terminal cannot be read: {error}")))?
        .ok_or_else(|| CommandError::impossible("no passphrase was given"))?;
    Passphrase::new(typed).map_err(|error| CommandError::impossible(error.to_string()))
}

/// Reads a passphrase file. All of its bytes are the passphrase, except one line ending, which editors add.
///
/// Prints a notice if the file is readable by other users.
fn read_file(path: &Path) -> Result<Passphrase, CommandError> {
    let shown = || Shown::whole(&path.to_string_lossy()).to_string();
    let failed = |error: std::io::Error| CommandError::impossible(format!("{}: {error}", shown()));
    let file = File::open(path).map_err(failed)?;
    if is_readable_by_others(&file).map_err(failed)? {
        let shown = shown();
        output::print_notice(&format!(
            "{shown}: others can read this passphrase; close it with: chmod 600 {shown}"
        ));
    }
    // A buffer that grows would leave a copy behind. More than 1100 bytes is no passphrase, and is refused below.
    let mut text = Zeroizing::new(Vec::with_capacity(2048));
    file.take(1100).read_to_end(&mut text).map_err(failed)?;
    for end in [b'\n', b'\r'] {
        if text.last() == Some(&end) {
            text.pop();
        }
    }
    Passphrase::new(text).map_err(|error| CommandError::impossible(format!("{}: {error}", shown())))
}

/// Returns true for a regular file whose mode lets other users read it; a pipe or a terminal has no such mode.
fn is_readable_by_others(file: &File) -> std::io::Result<bool> {
    let found = file.metadata()?;
    Ok(found.is_file() && ownership::mode_open_to_others(&found).is_some())
}
