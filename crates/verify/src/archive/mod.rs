//! Which record an archive is, read once where that is possible.

#[cfg(feature = "replay-bundle")]
mod bundle;

use std::io::{Read, Seek};

use reenact_pack::{Container, PackError};

use crate::Options;
#[cfg(feature = "replay-bundle")]
use crate::Report;
use crate::members::{BrokenArchive, Members};

#[cfg(feature = "replay-bundle")]
pub(crate) use bundle::note_on;
#[cfg(feature = "disk")]
pub(crate) use bundle::{open_gunzipped, open_pipe};

/// What an archive turned out to be.
pub(crate) enum Opened {
    /// A Replay Bundle, judged while it was read.
    #[cfg(feature = "replay-bundle")]
    ReplayBundle(Box<Report>),
    /// Anything else.
    Members(Members),
    /// Anything else, and not readable to its end.
    Broken(Box<BrokenArchive>),
}

/// Reads an archive. The error is a failure of the reader itself.
#[cfg(feature = "replay-bundle")]
pub(crate) fn open<R: Read + Seek>(
    container: Container,
    archive: R,
    options: &Options,
) -> Result<Opened, PackError> {
    bundle::open_while(container, archive, options, |_| false)
}

/// Reads an archive.
#[cfg(not(feature = "replay-bundle"))]
pub(crate) fn open<R: Read + Seek>(
    container: Container,
    archive: R,
    _: &Options,
) -> Result<Opened, PackError> {
    Ok(unpacked(Members::unpack(container, archive)))
}

fn unpacked(read: Result<Members, Box<BrokenArchive>>) -> Opened {
    read.map_or_else(Opened::Broken, Opened::Members)
}
