//! Passphrases: from a person at the terminal, or from a file where nobody sits.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use reenact_json::Shown;
use reenact_keys::{Passphrase, ownership};
use zeroize::Zeroizing;

use crate::output::{self, Ending};
use crate::terminal::Terminal;

/// The passphrase of a key that is there.
pub(crate) fn ask(file: Option<&Path>, name: &str) -> Result<Passphrase, Ending> {
    match file {
        Some(file) => read(file),
        None => typed(&mut terminal()?, &format!("Passphrase of {name}: ")),
    }
}

/// The passphrase of a new key: a person types it twice.
pub(crate) fn choose(file: Option<&Path>, name: &str) -> Result<Passphrase, Ending> {
    let Some(file) = file else {
        let mut terminal = terminal()?;
        let first = typed(&mut terminal, &format!("New passphrase for {name}: "))?;
        let second = typed(&mut terminal, "The same again: ")?;
        if !first.is_same(&second) {
            return Err(Ending::impossible("the two passphrases are not the same; nothing was made"));
        }
        return Ok(first);
    };
    read(file)
}

fn terminal() -> Result<Terminal, Ending> {
    Terminal::open().ok_or_else(|| {
        Ending::impossible("there is no terminal to ask for the passphrase on; give --passphrase-file FILE")
    })
}

fn typed(terminal: &mut Terminal, prompt: &str) -> Result<Passphrase, Ending> {
    let typed = terminal
        .secret(prompt)
        .map_err(|error| Ending::impossible(format!("the terminal cannot be read: {error}")))?
        .ok_or_else(|| Ending::impossible("no passphrase was given"))?;
    Passphrase::new(typed).map_err(|error| Ending::impossible(error.to_string()))
}

/// All of a file is the passphrase, but one line feed at its end, which is the editor's.
fn read(path: &Path) -> Result<Passphrase, Ending> {
    let shown = || Shown::whole(&path.to_string_lossy()).to_string();
    let failed = |error: std::io::Error| Ending::impossible(format!("{}: {error}", shown()));
    let file = File::open(path).map_err(failed)?;
    if is_open_to_others(&file).map_err(failed)? {
        let shown = shown();
        output::complain(&format!(
            "{shown}: others can read this passphrase; close it with: chmod 600 {shown}"
        ));
    }
    // Room for all of it: a buffer that grows leaves a copy behind.
    let mut text = Zeroizing::new(Vec::with_capacity(2048));
    file.take(1100).read_to_end(&mut text).map_err(failed)?;
    for end in [b'\n', b'\r'] {
        if text.last() == Some(&end) {
            text.pop();
        }
    }
    Passphrase::new(text).map_err(|error| Ending::impossible(format!("{}: {error}", shown())))
}

fn is_open_to_others(file: &File) -> std::io::Result<bool> {
    let found = file.metadata()?;
    Ok(found.is_file() && ownership::mode_open_to_others(&found).is_some())
}
