//! A bundle as it was given: a path, or the content of standard input, which is read once. Start reading at [`BundleSource`].

use std::path::Path;

use reenact_verify::disk::{self, RecordContent};
use reenact_verify::replay_bundle::{BundleSnapshot, MemberCopies};
use reenact_verify::{FormatId, Keys, Options, UnreadableTarget};

use super::record_location;

/// Bundle as it was given.
pub(super) struct BundleSource<'p> {
    /// The argument: a path, or `-`.
    pub(super) path: &'p Path,
    /// Content of standard input, for `-`.
    standard_input: Option<Vec<u8>>,
}

impl<'p> BundleSource<'p> {
    /// Takes a path as it is, and reads standard input for `-`. It holds at most [`disk::MAX_PIPE_BYTES`], more than a Replay Bundle may
    /// have.
    ///
    /// # Errors
    ///
    /// If standard input cannot be read, or is larger.
    pub(super) fn open(path: &'p Path) -> Result<Self, UnreadableTarget> {
        let standard_input = (path.as_os_str() == "-").then(disk::read_standard_input).transpose()?;
        Ok(Self { path, standard_input })
    }

    /// Returns the format that the content shows; `None` if it cannot be read, or shows none. Only names of members decide between
    /// the two kinds of bundles, so that a broken one is known as well.
    pub(super) fn format(&self) -> Option<FormatId> {
        let content = match &self.standard_input {
            Some(bytes) => disk::unpack_bytes(bytes, &mut |_| Ok(None)),
            None if self.path.is_dir() || self.path.is_file() => {
                disk::open(&record_location(self.path)).ok()?
            }
            None => return None,
        };
        match content {
            RecordContent::Members(members) => members.format(),
            content => content.verify(&Keys::default(), &Options::default()).format_id(),
        }
    }

    /// Reads the source as a Replay Bundle. Each member is also copied to the writer that `copies` returns for its name.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub(super) fn replay_bundle(&self, copies: MemberCopies<'_>) -> Result<BundleSnapshot, UnreadableTarget> {
        match &self.standard_input {
            Some(bytes) => BundleSnapshot::read_copying(bytes.as_slice(), copies)
                .map_err(|error| UnreadableTarget { code: "E_NOT_READABLE", message: format!("-: {error}") }),
            None => disk::snapshot(self.path, copies),
        }
    }

    /// Reads the source as any other bundle; files that are no documents are copied.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub(super) fn members(&self, copies: MemberCopies<'_>) -> Result<RecordContent, UnreadableTarget> {
        match &self.standard_input {
            Some(bytes) => Ok(disk::unpack_bytes(bytes, copies)),
            None => disk::unpack(self.path, copies),
        }
    }
}
