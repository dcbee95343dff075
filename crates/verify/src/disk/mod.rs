//! Paths to bytes and to verdicts, for commands.
//!
//! This is the only module of the crate that touches the file system. Libraries leave it out by turning
//! the feature `disk` off.
//!
//! | module | content |
//! |---|---|
//! | [`targets`] | arguments of a command to outcomes and an exit code: start reading here |
//! | [`argument`] | what one argument stands for: a file, a bundle, a folder of records |
//! | [`content`] | reading and verifying one file or folder |
//! | [`record_folder`] | all files of a folder that is one record, for commands that open or convert it |
//! | [`keys`] | key files |
//! | `replay_stream` | REPLAY.jsonl files, verified while they are read |
//! | `snapshot` | Replay Bundles from a file, a folder or standard input |
//! | `unpacked` | bundles whose files are copied while they are read |
//! | `folder` | the one function that walks folders |

pub mod argument;
pub mod content;
mod folder;
pub mod keys;
pub mod record_folder;
mod replay_stream;
mod snapshot;
pub mod targets;
mod unpacked;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Limits, Shown};

use crate::report::UnreadableTarget;

pub use argument::{
    PathArgument, RecordPath, empty_folder_report, is_unrelated_file, look_up, skipped_summary,
};
pub use content::{RecordContent, file_digest_entry, open, open_standard_input, open_with};
pub use keys::{KeyFileError, KeyFolder, hmac_key_file, key_file, key_folder, private_key_warning};
pub use record_folder::{FolderFault, FolderScope, record_files};
pub use snapshot::snapshot;
pub use unpacked::{unpack, unpack_bytes};

/// Error code of a path that does not exist.
pub const NOT_FOUND: &str = "E_NOT_FOUND";

/// Returns the SHA-256 of a file of any size.
///
/// # Errors
/// Fails if the file cannot be opened or read.
pub fn file_digest(path: &Path) -> Result<Digest, UnreadableTarget> {
    let failed = |error| unreadable_target(path, &error);
    let mut file = File::open(path).map_err(failed)?;
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(hasher.finish()),
            count => hasher.put(&buffer[..count]),
        }
    }
}

/// Reads a whole file of at most [`Limits::MAX_BYTES`] bytes, or of [`MAX_PIPE_BYTES`] if the path is a pipe or a device.
///
/// # Errors
/// Fails if the file cannot be read, or with the code `E_TOO_LARGE` if it is larger.
pub fn read(path: &Path) -> Result<Vec<u8>, UnreadableTarget> {
    let failed = |error| unreadable_target(path, &error);
    let file = File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if found.is_file() { read_file(file, found.len()) } else { read_pipe(file) }.map_err(failed)
}

/// Reads standard input to its end, at most [`MAX_PIPE_BYTES`] bytes.
///
/// # Errors
/// Fails if the input cannot be read, or with the code `E_TOO_LARGE` if it is larger.
pub fn read_standard_input() -> Result<Vec<u8>, UnreadableTarget> {
    read_pipe(io::stdin().lock()).map_err(|error| unreadable_target(Path::new("-"), &error))
}

/// Largest input that is kept in memory if it comes from a pipe or a device, in bytes. These may never end, while a file has a
/// size that its owner sees.
pub const MAX_PIPE_BYTES: usize = 256 << 20;

/// Reads a file with this size to EOF, at most [`Limits::MAX_BYTES`] bytes.
pub(crate) fn read_file(file: File, size_bytes: u64) -> io::Result<Vec<u8>> {
    let limit = Limits::MAX_BYTES as u64;
    let too_large =
        || io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes"));
    if size_bytes > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size_bytes).unwrap_or(0));
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() > Limits::MAX_BYTES { Err(too_large()) } else { Ok(bytes) }
}

/// Reads a pipe or a device to EOF, at most [`MAX_PIPE_BYTES`] bytes.
pub(crate) fn read_pipe(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_PIPE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_PIPE_BYTES { Err(pipe_too_large(MAX_PIPE_BYTES)) } else { Ok(bytes) }
}

/// Returns the error for more than `max_bytes` from a pipe or a device.
pub(crate) fn pipe_too_large(max_bytes: usize) -> io::Error {
    let text = format!(
        "it is larger than {max_bytes} bytes, the most that is read from what is not a file: save it to a file, and give that"
    );
    io::Error::new(io::ErrorKind::FileTooLarge, text)
}

/// Translates an I/O error on a path into a message for people and a code for programs.
pub(crate) fn unreadable_target(path: &Path, error: &io::Error) -> UnreadableTarget {
    let name = path.to_string_lossy();
    let name = if name.is_empty() { "\"\"".into() } else { Shown::whole(&name).to_string() };
    let (code, message) = match error.kind() {
        io::ErrorKind::NotFound => (NOT_FOUND, format!("{name}: there is no such file or folder")),
        io::ErrorKind::PermissionDenied => ("E_NOT_READABLE", format!("{name}: you may not read this")),
        io::ErrorKind::FileTooLarge => ("E_TOO_LARGE", format!("{name}: {error}")),
        _ => ("E_NOT_READABLE", format!("{name}: {error}")),
    };
    UnreadableTarget { code, message }
}

/// Reads a RECEIPT.json. Of one that is too large, only as much is read as shows that.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn read_receipt(path: &Path) -> Result<Vec<u8>, UnreadableTarget> {
    replay_stream::read_receipt(path).map_err(|error| unreadable_target(path, &error))
}
