//! The output of a conversion: written whole or not at all, and over a file that is there only where that was asked for.
//!
//! One file is created durably under its name. A folder is filled under a temporary name and renamed at the end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use reenact_json::{Digest, Shown};
use reenact_keys::durable::{self, Readers};
use reenact_run::convert::{Converted, RecordFile};
use reenact_run::open_files;
use reenact_verify::{Keys, Options, Report, verify};

use crate::command::out_destination::OutDestination;
use crate::output::{self, CommandError};

/// Refuses an output path that exists, before any work is done.
pub(super) fn require_absent(out: &Path) -> Result<(), CommandError> {
    // A slash at the end would hide a file of that name.
    let named: PathBuf = out.components().collect();
    if !OutDestination::of(out).is_standard_output() && named.symlink_metadata().is_ok() {
        return Err(write_error(out, &io::ErrorKind::AlreadyExists.into()));
    }
    Ok(())
}

/// Verifies the converted files in memory, and returns the report. A folder is verified as the record that it will be.
pub(super) fn verify_output(converted: &Converted, keys: &Keys) -> Report {
    let options = Options::default();
    match converted.files.as_slice() {
        [file] if !converted.is_folder => verify(&file.bytes, keys, &options),
        files => {
            let files = files.iter().map(|file| (file.name.clone(), file.bytes.clone())).collect();
            open_files(files, keys, &options).report
        }
    }
}

/// Writes the converted files, and returns the SHA-256 of the main one. A file that is there is left alone unless `replaces`;
/// a folder is in any case.
pub(super) fn write(out: &Path, converted: &Converted, replaces: bool) -> Result<Digest, CommandError> {
    let digest = converted.files.first().map_or(Digest::of(b""), |file| Digest::of(&file.bytes));
    match converted.files.as_slice() {
        [file] if !converted.is_folder && OutDestination::of(out).is_standard_output() => {
            output::print_bytes(&file.bytes)?;
        }
        _ if OutDestination::of(out).is_standard_output() => {
            return Err(CommandError::impossible(
                "--out -: this record is a folder of several files, and standard output takes one: name a folder",
            ));
        }
        [file] if !converted.is_folder => {
            let write = if replaces { durable::replace } else { durable::create };
            write(out, &file.bytes, Readers::Owner).map_err(|error| write_error(out, &error))?;
        }
        files => write_folder(out, files)?,
    }
    Ok(digest)
}

/// Writes a folder under a temporary name, and renames it when all files are there.
///
/// # Errors
///
/// If a file name is no plain name: names come from the record, and must not become paths.
fn write_folder(out: &Path, files: &[RecordFile]) -> Result<(), CommandError> {
    for file in files {
        // Names come from the record: one that is a path or hidden is refused.
        if !is_plain_name(&file.name) {
            let name = Shown::new(&file.name);
            return Err(CommandError::impossible(format!(
                "\"{name}\" cannot be the name of a file; nothing was written"
            )));
        }
    }
    let name = out.file_name().ok_or_else(|| write_error(out, &io::ErrorKind::InvalidInput.into()))?;
    let temporary = out.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
    fs::create_dir(&temporary).map_err(|error| write_error(out, &error))?;
    let written = ConvertTempDir(temporary);
    for file in files {
        durable::create(&written.0.join(&file.name), &file.bytes, Readers::Owner)
            .map_err(|error| write_error(out, &error))?;
    }
    require_absent(out)?;
    fs::rename(&written.0, out).map_err(|error| write_error(out, &error))
}

/// Folder that is removed when it is dropped, unless it was renamed.
struct ConvertTempDir(PathBuf);

impl Drop for ConvertTempDir {
    fn drop(&mut self) {
        // After a rename there is nothing to remove. Another failure cannot be helped here.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns true for 1 to 100 ASCII letters, digits, `.`, `_` and `-` that do not begin with a dot.
pub(super) fn is_plain_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.bytes().all(is_plain)
}

/// Returns the error of an output that could not be written, with advice for the two common cases.
fn write_error(out: &Path, error: &io::Error) -> CommandError {
    let name = out.to_string_lossy();
    let why = match error.kind() {
        io::ErrorKind::AlreadyExists => "there is something of that name already; give another name".into(),
        io::ErrorKind::NotFound => "there is no such folder; make it first".into(),
        _ => output::write_failure(error),
    };
    CommandError::impossible(format!("{}: {why}", Shown::whole(&name)))
}
