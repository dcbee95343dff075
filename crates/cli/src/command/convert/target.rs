//! Where a converted record goes: all of it, or nothing; never in the place of something else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use reenact_json::{Digest, Shown};
use reenact_keys::durable::{self, Readers};
use reenact_run::convert::{Converted, File};
use reenact_run::open_files;
use reenact_verify::{Keys, Options, Report, safe};

use crate::output::Ending;

/// A name that is taken is found out before any work is done.
pub(super) fn must_be_free(out: &Path) -> Result<(), Ending> {
    if out.symlink_metadata().is_ok() {
        return Err(failed(out, &io::ErrorKind::AlreadyExists.into()));
    }
    Ok(())
}

/// The verdict on what was made.
pub(super) fn judge(converted: &Converted, keys: &Keys) -> Report {
    let options = Options::default();
    match converted.files.as_slice() {
        [file] if !converted.is_folder => safe(&file.bytes, keys, &options),
        files => {
            let files = files.iter().map(|file| (file.name.clone(), file.bytes.clone())).collect();
            open_files(files, keys, &options).report
        }
    }
}

/// Writes what was made; gives the digest of its main file.
pub(super) fn write(out: &Path, converted: &Converted) -> Result<Digest, Ending> {
    let digest = converted.files.first().map_or(Digest::of(b""), |file| Digest::of(&file.bytes));
    match converted.files.as_slice() {
        [file] if !converted.is_folder => {
            durable::create(out, &file.bytes, Readers::Owner).map_err(|error| failed(out, &error))?;
        }
        files => folder(out, files)?,
    }
    Ok(digest)
}

/// Writes a folder under another name beside it, and gives it its own when all is there.
fn folder(out: &Path, files: &[File]) -> Result<(), Ending> {
    for file in files {
        // These may be somebody's words: a name that is more than a name is refused.
        if !is_plain(&file.name) {
            let name = Shown::new(&file.name);
            return Err(Ending::impossible(format!(
                "\"{name}\" cannot be the name of a file; nothing was written"
            )));
        }
    }
    let name = out.file_name().ok_or_else(|| failed(out, &io::ErrorKind::InvalidInput.into()))?;
    let temporary = out.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
    fs::create_dir(&temporary).map_err(|error| failed(out, &error))?;
    let written = Temporary(temporary);
    for file in files {
        durable::create(&written.0.join(&file.name), &file.bytes, Readers::Owner)
            .map_err(|error| failed(out, &error))?;
    }
    must_be_free(out)?;
    fs::rename(&written.0, out).map_err(|error| failed(out, &error))
}

/// A folder that is gone when it is dropped, unless it was renamed.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // Nothing is there any more after a rename; and nothing can be done if it stays.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether a name is nothing but a name: no path, and not hidden.
pub(super) fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.bytes().all(is_plain)
}

fn failed(out: &Path, error: &io::Error) -> Ending {
    let name = out.to_string_lossy();
    let why = match error.kind() {
        io::ErrorKind::AlreadyExists => "there is something of that name already; give another name".into(),
        io::ErrorKind::NotFound => "there is no such folder; make it first".into(),
        _ => error.to_string(),
    };
    Ending::impossible(format!("{}: {why}", Shown::whole(&name)))
}
