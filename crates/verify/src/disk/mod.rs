//! Paths to bytes and to verdicts, for commands. The only module here that touches a file system; libraries leave it out.
//!
//! | module | what it holds |
//! |---|---|
//! | [`targets`] | arguments to outcomes and an exit code: start reading here |
//! | [`place`] | what an argument stands for |
//! | [`content`] | what was read from a place, and its judging |
//! | [`keys`] | key files |
//! | `folder` | the one reader of folders |

pub mod content;
mod folder;
pub mod keys;
pub mod place;
pub mod record;
mod snapshot;
mod stream;
pub mod targets;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Limits, Shown};

use crate::report::Unreadable;

pub use content::{Content, digest_of, open, open_standard_input, open_with};
pub use keys::{KeyFileError, KeyFolder, hmac_key_file, key_file, key_folder, private_key_warning};
pub use place::{Argument, Place, empty_folder, is_passed_over, look_up, passed_over};
pub use record::{FolderFault, FolderScope, record_files};
pub use snapshot::{snapshot, snapshot_of_standard_input};

/// The code of what is not there.
pub const NOT_FOUND: &str = "E_NOT_FOUND";

/// The SHA-256 of a file, read from its start to its end.
pub fn file_digest(path: &Path) -> Result<Digest, Unreadable> {
    let failed = |error| unreadable(path, &error);
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

/// Reads a file whole, as long as it is not larger than any document may be.
pub fn read(path: &Path) -> Result<Vec<u8>, Unreadable> {
    let failed = |error| unreadable(path, &error);
    let file = File::open(path).map_err(failed)?;
    let expected = file.metadata().map_or(0, |found| found.len());
    read_bounded(file, expected).map_err(failed)
}

/// Reads standard input to its end.
pub fn read_standard_input() -> Result<Vec<u8>, Unreadable> {
    read_bounded(io::stdin().lock(), 0).map_err(|error| unreadable(Path::new("-"), &error))
}

pub(crate) fn read_bounded(reader: impl Read, expected: u64) -> io::Result<Vec<u8>> {
    let limit = Limits::LARGEST as u64;
    let too_large =
        || io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes"));
    if expected > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    reader.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() > Limits::LARGEST { Err(too_large()) } else { Ok(bytes) }
}

/// What an operating system's refusal means, with a code that programs may branch on.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Unreadable {
    let name = path.to_string_lossy();
    let name = if name.is_empty() { "\"\"".into() } else { Shown::whole(&name).to_string() };
    let (code, message) = match error.kind() {
        io::ErrorKind::NotFound => (NOT_FOUND, format!("{name}: there is no such file or folder")),
        io::ErrorKind::PermissionDenied => ("E_NOT_READABLE", format!("{name}: you may not read this")),
        io::ErrorKind::FileTooLarge => ("E_TOO_LARGE", format!("{name}: {error}")),
        _ => ("E_NOT_READABLE", format!("{name}: {error}")),
    };
    Unreadable { code, message }
}

/// Reads a receipt.
pub fn receipt(path: &Path) -> Result<Vec<u8>, Unreadable> {
    stream::receipt(path).map_err(|error| unreadable(path, &error))
}
