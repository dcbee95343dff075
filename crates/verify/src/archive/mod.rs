//! Archives: which format one is, found in as few passes as possible.
//!
//! A Replay Bundle is verified while it is read; every other archive becomes
//! [`BundleMembers`](crate::BundleMembers). Start reading at [`open`].

#[cfg(feature = "replay-bundle")]
mod bundle;

use std::io::{Read, Seek};

use reenact_pack::{Container, PackError};

use crate::Options;
#[cfg(feature = "replay-bundle")]
use crate::Report;
use crate::members::{BrokenArchive, BundleMembers};

#[cfg(feature = "replay-bundle")]
pub(crate) use bundle::lost_artifact_note;
#[cfg(feature = "disk")]
pub(crate) use bundle::{open_gunzipped, open_pipe};

/// Result of reading an archive.
pub(crate) enum OpenedArchive {
    /// Report on a Replay Bundle, which was verified while it was read.
    #[cfg(feature = "replay-bundle")]
    ReplayBundle(Box<Report>),
    /// Members of an archive of any other format.
    Members(BundleMembers),
    /// Archive of any other format that could not be read to its end.
    Broken(Box<BrokenArchive>),
}

/// Reads an archive to its end and decides which format it is.
///
/// # Errors
/// Returns an error only if the reader itself fails. Faults of the archive are part of the result.
#[cfg(feature = "replay-bundle")]
pub(crate) fn open<R: Read + Seek>(
    container: Container,
    archive: R,
    options: &Options,
) -> Result<OpenedArchive, PackError> {
    bundle::open_unless_decided(container, archive, options, |_| false)
}

/// Reads an archive to its end. Without the feature `replay-bundle`, every archive becomes members.
#[cfg(not(feature = "replay-bundle"))]
pub(crate) fn open<R: Read + Seek>(
    container: Container,
    archive: R,
    _: &Options,
) -> Result<OpenedArchive, PackError> {
    Ok(from_unpacked(BundleMembers::unpack(container, archive)))
}

/// Turns the result of [`BundleMembers::unpack`] into an [`OpenedArchive`].
fn from_unpacked(read: Result<BundleMembers, Box<BrokenArchive>>) -> OpenedArchive {
    read.map_or_else(OpenedArchive::Broken, OpenedArchive::Members)
}
