//! Bundles whose files are copied while they are read: archives from a file or from memory, and folders.
//!
//! [`open`](super::open) keeps only digests of files. A caller that unpacks a bundle also wants what is in them, of the very
//! bytes that are verified. Start reading at [`unpack`].

use std::fs::{self, File};
use std::io::{self, BufReader, Seek};
use std::path::Path;

use reenact_pack::Container;

use super::content::RecordContent;
use super::{RecordPath, unreadable_target};
use crate::members::{BundleMembers, MemberCopies};
use crate::report::UnreadableTarget;

/// Reads an archive to its end; each file that is no document is also copied to the writer that `copies` returns for its name.
///
/// A folder is read without copies: it is unpacked already. What is no archive is empty [`RecordContent::Bytes`].
///
/// # Errors
/// Fails if the path cannot be read. Faults of an archive are part of the result.
pub fn unpack(path: &Path, copies: MemberCopies<'_>) -> Result<RecordContent, UnreadableTarget> {
    let failed = |error: io::Error| unreadable_target(path, &error);
    if fs::metadata(path).map_err(failed)?.is_dir() {
        return super::open(&RecordPath::Bundle(path.to_owned()));
    }
    let mut file = File::open(path).map_err(failed)?;
    let first = super::replay_stream::read_prefix(&mut file).map_err(failed)?;
    file.rewind().map_err(failed)?;
    Ok(match Container::detect(&first) {
        Some(container) => content(BundleMembers::unpack_copying(container, BufReader::new(file), copies)),
        None => RecordContent::Bytes(Vec::new()),
    })
}

/// Reads an archive from memory, as [`unpack`] does from a file.
pub fn unpack_bytes(archive: &[u8], copies: MemberCopies<'_>) -> RecordContent {
    BundleMembers::unpack_bytes(archive, copies).map_or(RecordContent::Bytes(Vec::new()), content)
}

fn content(unpacked: Result<BundleMembers, Box<crate::BrokenArchive>>) -> RecordContent {
    unpacked.map_or_else(RecordContent::Broken, RecordContent::Members)
}
