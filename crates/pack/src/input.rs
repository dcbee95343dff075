//! Buffered input with typed errors and a count of its bytes.
//!
//! [`ChunkStream`] is `BufRead` with [`PackError`]: every layer (file, gunzip, zip entry) implements it, and an
//! [`ArchiveMember`](crate::ArchiveMember) reads a bounded part of one.

use crate::error::{ArchiveSection, PackError};
use crate::limits::ArchiveLimit;
use std::io::{self, BufRead, Read, Seek, SeekFrom};

/// Size of every buffer of this crate, in bytes. An archive of any size needs a handful of them.
pub(crate) const BUFFER_BYTES: usize = 64 << 10;

/// Source of bytes that lends them a chunk at a time.
pub(crate) trait ChunkStream {
    /// Returns the buffered bytes, at least one; empty only at the end. Repeated calls without `advance` return the same bytes.
    fn chunk(&mut self) -> Result<&[u8], PackError>;
    /// Consumes `count` bytes from the front of the chunk.
    fn advance(&mut self, count: usize);
}

/// Returns the smaller of the two numbers of bytes.
pub(crate) fn at_most(remaining: u64, length: usize) -> usize {
    usize::try_from(remaining).map_or(length, |left| left.min(length))
}

/// Widens a length.
pub(crate) fn to_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Reads until `out` is full or the stream ends; returns the number of bytes read.
pub(crate) fn read_full(stream: &mut dyn ChunkStream, out: &mut [u8]) -> Result<usize, PackError> {
    let mut done = 0;
    while done < out.len() {
        let chunk = stream.chunk()?;
        if chunk.is_empty() {
            break;
        }
        let step = chunk.len().min(out.len() - done);
        out[done..done + step].copy_from_slice(&chunk[..step]);
        stream.advance(step);
        done += step;
    }
    Ok(done)
}

/// Reads exactly `N` bytes; the archive is truncated at `section` if there are fewer.
pub(crate) fn read_array<const N: usize>(
    stream: &mut dyn ChunkStream,
    section: ArchiveSection,
) -> Result<[u8; N], PackError> {
    let mut out = [0; N];
    if read_full(stream, &mut out)? < N { Err(PackError::truncated(section)) } else { Ok(out) }
}

/// Reads exactly `length` bytes into a vector that grows as they arrive: the length is a claim of the archive, and memory is
/// not allocated for it.
pub(crate) fn read_vec(
    stream: &mut dyn ChunkStream,
    length: u64,
    section: ArchiveSection,
) -> Result<Vec<u8>, PackError> {
    let mut out = Vec::new();
    while to_u64(out.len()) < length {
        let chunk = stream.chunk()?;
        if chunk.is_empty() {
            return Err(PackError::truncated(section));
        }
        let step = at_most(length - to_u64(out.len()), chunk.len());
        out.extend_from_slice(&chunk[..step]);
        stream.advance(step);
    }
    Ok(out)
}

/// Adapter for a reader that has its own buffer and its own bounds.
pub(crate) struct BufReadStream<R>(pub(crate) R);

impl<R: BufRead> ChunkStream for BufReadStream<R> {
    fn chunk(&mut self) -> Result<&[u8], PackError> {
        // Retry interrupted calls first and use the result of another call: the borrow checker allows no return from the loop.
        while let Err(error) = self.0.fill_buf() {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error.into());
            }
        }
        Ok(self.0.fill_buf()?)
    }

    fn advance(&mut self, count: usize) {
        self.0.consume(count);
    }
}

/// Bytes of the archive file, buffered, counted and bounded.
pub(crate) struct ArchiveInput<R> {
    reader: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    fetched: u64,
    max_bytes: u64,
}

impl<R: Read> ArchiveInput<R> {
    /// Creates an input of at most `max` bytes of a reader; more are an error.
    pub(crate) fn new(reader: R, max_bytes: u64) -> ArchiveInput<R> {
        ArchiveInput {
            reader,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            start: 0,
            end: 0,
            fetched: 0,
            max_bytes,
        }
    }

    /// Returns the number of bytes consumed so far.
    pub(crate) fn consumed(&self) -> u64 {
        self.fetched - to_u64(self.end - self.start)
    }
}

impl<R: Read + Seek> ArchiveInput<R> {
    /// Moves to an offset from the start of the archive. The count of consumed bytes goes on.
    pub(crate) fn seek(&mut self, position: u64) -> Result<(), PackError> {
        self.reader.seek(SeekFrom::Start(position))?;
        (self.start, self.end) = (0, 0);
        Ok(())
    }

    /// Returns the size of the archive in bytes. The position is undefined afterwards: seek next.
    pub(crate) fn length(&mut self) -> Result<u64, PackError> {
        Ok(self.reader.seek(SeekFrom::End(0))?)
    }
}

impl<R: Read> ChunkStream for ArchiveInput<R> {
    fn chunk(&mut self) -> Result<&[u8], PackError> {
        while self.start == self.end {
            let got = match self.reader.read(&mut self.buffer) {
                Ok(got) => got.min(self.buffer.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            (self.start, self.end) = (0, got);
            self.fetched = self.fetched.saturating_add(to_u64(got));
            ArchiveLimit::SourceBytes.check(self.fetched, self.max_bytes)?;
            if got == 0 {
                break;
            }
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn advance(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }
}
