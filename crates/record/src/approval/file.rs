//! Files that others may have put there: read up to a bound, and only if they are files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use reenact_keys::ownership;

/// No question and no answer is longer, in bytes.
pub const LARGEST: usize = reenact_formats::rer::approval::LARGEST;

/// Why a file was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// There is none.
    #[error("is not there")]
    Missing,
    /// A link could lead anywhere.
    #[error("is a link, and links are not followed")]
    Link,
    /// A folder, a pipe, a device.
    #[error("is not a file")]
    NotAFile,
    /// Somebody else put it there.
    #[error("belongs to another user")]
    Foreign,
    /// Longer than anything that belongs there.
    #[error("is longer than {LARGEST} bytes")]
    TooLong,
    /// The operating system refused.
    #[error("cannot be read ({0})")]
    Io(io::ErrorKind),
}

/// Reads a file of our own.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Unreadable> {
    let file = open(path)?;
    let found = file.metadata().map_err(|error| Unreadable::Io(error.kind()))?;
    if !found.is_file() {
        return Err(Unreadable::NotAFile);
    }
    if !ownership::is_ours(&found) {
        return Err(Unreadable::Foreign);
    }
    let mut bytes = Vec::new();
    file.take(LARGEST as u64 + 1).read_to_end(&mut bytes).map_err(|error| Unreadable::Io(error.kind()))?;
    if bytes.len() > LARGEST { Err(Unreadable::TooLong) } else { Ok(bytes) }
}

#[cfg(unix)]
fn open(path: &Path) -> Result<File, Unreadable> {
    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;
    // A pipe without a writer would keep us waiting.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => Ok(File::from(file)),
        Err(Errno::LOOP) => Err(Unreadable::Link),
        Err(Errno::NOENT) => Err(Unreadable::Missing),
        // A socket.
        Err(Errno::NXIO) => Err(Unreadable::NotAFile),
        Err(error) => Err(Unreadable::Io(io::Error::from(error).kind())),
    }
}

#[cfg(not(unix))]
fn open(path: &Path) -> Result<File, Unreadable> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Unreadable::Missing,
        kind => Unreadable::Io(kind),
    };
    let found = path.symlink_metadata().map_err(failed)?;
    if found.is_symlink() {
        return Err(Unreadable::Link);
    }
    if !found.is_file() {
        return Err(Unreadable::NotAFile);
    }
    File::open(path).map_err(failed)
}
