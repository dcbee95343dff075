//! Member of an archive while a visitor reads it, and the totals of an archive.

use crate::error::{ArchiveSection, PackError};
use crate::input::{ChunkStream, at_most, to_u64};
use crate::limits::ArchiveLimit;
use std::io::{self, Read};

/// File in an archive: its name, its declared size, and its content as a reader.
///
/// The content never exceeds the declared size, and ending short of it is an error. An error stays: a visitor that ignores it
/// cannot make the archive pass. Content that the visitor leaves unread is read and checked after it returns.
pub struct ArchiveMember<'a> {
    name: &'a str,
    size: u64,
    remaining: u64,
    content: &'a mut dyn ChunkStream,
    fault: Option<PackError>,
}

/// Counts of one archive, returned by its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArchiveTotals {
    /// Number of files visited, without folders.
    pub files: u64,
    /// Bytes of content of those files.
    pub content_bytes: u64,
    /// Bytes of the archive file.
    pub source_bytes: u64,
}

impl<'a> ArchiveMember<'a> {
    pub(crate) fn new(name: &'a str, size: u64, content: &'a mut dyn ChunkStream) -> ArchiveMember<'a> {
        ArchiveMember { name, size, remaining: size, content, fault: None }
    }

    /// Returns the name: a relative path with slashes that has none of the faults of [`crate::NameFault`].
    #[must_use]
    pub fn name(&self) -> &str {
        self.name
    }

    /// Returns the declared size in bytes. It is within the limits, and true if the content can be read to its end.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads the rest of the content, if it is at most `max` bytes. Memory grows with the bytes that arrive, not with the declared
    /// size.
    ///
    /// # Errors
    /// [`PackError::Limit`], before a byte is read, if more than `max` bytes are declared; else the first fault of the content.
    pub fn read_whole(&mut self, max: u64) -> Result<Vec<u8>, PackError> {
        ArchiveLimit::MemberBytes.check(self.remaining, max).map_err(|e| e.in_member(self.name))?;
        let mut out = Vec::new();
        self.read_chunks(|chunk| out.extend_from_slice(chunk))?;
        Ok(out)
    }

    /// Calls `on_chunk` with the rest of the content, chunk by chunk, without a copy: for hashing.
    ///
    /// # Errors
    /// The first fault of the content.
    pub fn read_chunks(&mut self, mut on_chunk: impl FnMut(&[u8])) -> Result<(), PackError> {
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Ok(());
            }
            on_chunk(chunk);
            let length = chunk.len();
            self.advance(length);
        }
    }

    /// Reads the rest of the content and returns the error that occurred, now or earlier.
    pub(crate) fn finish(mut self) -> Result<(), PackError> {
        self.read_chunks(|_| {})
    }

    fn chunk(&mut self) -> Result<&[u8], PackError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        if self.remaining == 0 {
            return Ok(&[]);
        }
        let found = match self.content.chunk() {
            Ok([]) => Err(PackError::truncated(ArchiveSection::Content)),
            found => found,
        };
        match found {
            Ok(chunk) => Ok(&chunk[..at_most(self.remaining, chunk.len())]),
            Err(fault) => {
                let fault = fault.in_member(self.name);
                self.fault = Some(fault.clone());
                Err(fault)
            }
        }
    }

    fn advance(&mut self, length: usize) {
        self.content.advance(length);
        self.remaining = self.remaining.saturating_sub(to_u64(length));
    }
}

/// Errors are [`PackError`]s inside `io::Error`; `PackError::from` restores them.
impl Read for ArchiveMember<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        let chunk = self.chunk()?;
        let step = chunk.len().min(out.len());
        out[..step].copy_from_slice(&chunk[..step]);
        self.advance(step);
        Ok(step)
    }
}

impl std::fmt::Debug for ArchiveMember<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArchiveMember")
            .field("name", &self.name)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
