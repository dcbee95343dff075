//! Bounded reading of files that others may have put there: only regular files of this user, up to a maximum length.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use reenact_keys::ownership;

/// Longest question or answer, in bytes.
pub const MAX_APPROVAL_FILE_BYTES: usize = reenact_formats::rer::approval::MAX_TOKEN_BYTES;

/// Reason why a file was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApprovalFileFault {
    /// The file does not exist.
    #[error("is not there")]
    Missing,
    /// The file is a link, which could lead anywhere.
    #[error("is a link, and links are not followed")]
    Link,
    /// A folder, a pipe, a socket or a device.
    #[error("is not a file")]
    NotAFile,
    /// The file belongs to another user.
    #[error("belongs to another user")]
    Foreign,
    /// The file is longer than [`MAX_APPROVAL_FILE_BYTES`].
    #[error("is longer than {MAX_APPROVAL_FILE_BYTES} bytes")]
    TooLong,
    /// The operating system returned an error of this kind.
    #[error("cannot be read ({0})")]
    Io(io::ErrorKind),
}

/// Reads a regular file of this user.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, ApprovalFileFault> {
    let file = open(path)?;
    let found = file.metadata().map_err(|error| ApprovalFileFault::Io(error.kind()))?;
    if !found.is_file() {
        return Err(ApprovalFileFault::NotAFile);
    }
    if !ownership::is_ours(&found) {
        return Err(ApprovalFileFault::Foreign);
    }
    let mut bytes = Vec::new();
    file.take(MAX_APPROVAL_FILE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| ApprovalFileFault::Io(error.kind()))?;
    if bytes.len() > MAX_APPROVAL_FILE_BYTES { Err(ApprovalFileFault::TooLong) } else { Ok(bytes) }
}

#[cfg(unix)]
fn open(path: &Path) -> Result<File, ApprovalFileFault> {
    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;
    // Without `NONBLOCK`, opening a pipe that has no writer would block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => Ok(File::from(file)),
        Err(Errno::LOOP) => Err(ApprovalFileFault::Link),
        Err(Errno::NOENT) => Err(ApprovalFileFault::Missing),
        // Opening a socket fails with `ENXIO`.
        Err(Errno::NXIO) => Err(ApprovalFileFault::NotAFile),
        Err(error) => Err(ApprovalFileFault::Io(io::Error::from(error).kind())),
    }
}

#[cfg(not(unix))]
fn open(path: &Path) -> Result<File, ApprovalFileFault> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => ApprovalFileFault::Missing,
        kind => ApprovalFileFault::Io(kind),
    };
    let found = path.symlink_metadata().map_err(failed)?;
    if found.is_symlink() {
        return Err(ApprovalFileFault::Link);
    }
    if !found.is_file() {
        return Err(ApprovalFileFault::NotAFile);
    }
    File::open(path).map_err(failed)
}
