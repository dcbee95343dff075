//! One member while it passes by.

use crate::error::{PackError, Stage};
use crate::input::{Stream, count, within};
use crate::limits::Limit;
use std::io::{self, Read};

/// A file in an archive: its name, its declared size, and its content as a reader.
///
/// The content never exceeds the declared size, and ending short of it is an error. A fault stays: a visitor that overlooks it
/// cannot make the archive pass. What the visitor leaves unread is read and checked after it.
pub struct Member<'a> {
    name: &'a str,
    size: u64,
    left: u64,
    body: &'a mut dyn Stream,
    fault: Option<PackError>,
}

/// What an archive held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Files visited; folders passed over are not counted.
    pub files: u64,
    /// Bytes in those files.
    pub content_bytes: u64,
    /// Bytes of the archive itself.
    pub source_bytes: u64,
}

impl<'a> Member<'a> {
    pub(crate) fn new(name: &'a str, size: u64, body: &'a mut dyn Stream) -> Member<'a> {
        Member { name, size, left: size, body, fault: None }
    }

    /// The name: relative, with slashes, free of what [`crate::NameFault`] lists.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name
    }

    /// The declared size, which is within the limits and, if the content can be read to its end, true.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The rest of the content, if it is at most `max` bytes. Memory grows with what is there, not with what is declared.
    ///
    /// # Errors
    /// [`PackError::Limit`] before anything is read when more than `max` bytes are declared; else what is wrong with the content.
    pub fn read_whole(&mut self, max: u64) -> Result<Vec<u8>, PackError> {
        Limit::MemberBytes.hold(self.left, max).map_err(|e| e.within(self.name))?;
        let mut out = Vec::new();
        self.read_chunks(|chunk| out.extend_from_slice(chunk))?;
        Ok(out)
    }

    /// Shows the rest of the content in chunks, without copying: what hashing wants.
    ///
    /// # Errors
    /// What is wrong with the content.
    pub fn read_chunks(&mut self, mut show: impl FnMut(&[u8])) -> Result<(), PackError> {
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Ok(());
            }
            show(chunk);
            let length = chunk.len();
            self.advance(length);
        }
    }

    /// Reads what was left and gives the fault that was found, if any.
    pub(crate) fn finish(mut self) -> Result<(), PackError> {
        self.read_chunks(|_| {})
    }

    fn chunk(&mut self) -> Result<&[u8], PackError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        if self.left == 0 {
            return Ok(&[]);
        }
        let found = match self.body.chunk() {
            Ok([]) => Err(PackError::truncated(Stage::Content)),
            found => found,
        };
        match found {
            Ok(chunk) => Ok(&chunk[..within(self.left, chunk.len())]),
            Err(fault) => {
                let fault = fault.within(self.name);
                self.fault = Some(fault.clone());
                Err(fault)
            }
        }
    }

    fn advance(&mut self, length: usize) {
        self.body.advance(length);
        self.left = self.left.saturating_sub(count(length));
    }
}

/// Errors are [`PackError`]s inside `io::Error`; `PackError::from` takes them out again.
impl Read for Member<'_> {
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

impl std::fmt::Debug for Member<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member").field("name", &self.name).field("size", &self.size).finish_non_exhaustive()
    }
}
