//! Bytes in, through one fixed buffer, with typed errors and a count.
//!
//! `Stream` is `BufRead` with our own error: every layer (file, gunzip, zip entry) is one, and a member is a window on one.

use crate::error::{PackError, Stage};
use crate::limits::Limit;
use std::io::{self, BufRead, Read, Seek, SeekFrom};

/// The size of every buffer here. Memory is a handful of these for an archive of any size.
pub(crate) const BUFFER: usize = 64 << 10;

/// A run of bytes, a chunk at a time.
pub(crate) trait Stream {
    /// The bytes at hand, at least one; none only at the end. Repeated calls without `advance` give the same bytes.
    fn chunk(&mut self) -> Result<&[u8], PackError>;
    /// Drops bytes from the front of the chunk.
    fn advance(&mut self, count: usize);
}

/// The most bytes of `left` that a chunk of `length` can give.
pub(crate) fn within(left: u64, length: usize) -> usize {
    usize::try_from(left).map_or(length, |left| left.min(length))
}

/// A length as a count of bytes.
pub(crate) fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Reads until `out` is full or the stream ends; says how much it got.
pub(crate) fn fill(stream: &mut dyn Stream, out: &mut [u8]) -> Result<usize, PackError> {
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

/// Exactly `N` bytes.
pub(crate) fn exact<const N: usize>(stream: &mut dyn Stream, stage: Stage) -> Result<[u8; N], PackError> {
    let mut out = [0; N];
    if fill(stream, &mut out)? < N { Err(PackError::truncated(stage)) } else { Ok(out) }
}

/// `length` bytes in a vector that grows as they arrive: the length is a claim, and is not allocated for.
pub(crate) fn vector(stream: &mut dyn Stream, length: u64, stage: Stage) -> Result<Vec<u8>, PackError> {
    let mut out = Vec::new();
    while count(out.len()) < length {
        let chunk = stream.chunk()?;
        if chunk.is_empty() {
            return Err(PackError::truncated(stage));
        }
        let step = within(length - count(out.len()), chunk.len());
        out.extend_from_slice(&chunk[..step]);
        stream.advance(step);
    }
    Ok(out)
}

/// A reader that has a buffer of its own, and bounds as well.
pub(crate) struct Buffered<R>(pub(crate) R);

impl<R: BufRead> Stream for Buffered<R> {
    fn chunk(&mut self) -> Result<&[u8], PackError> {
        // An interrupted call is made again, and only then is its result looked at: it may not be borrowed twice.
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

/// The archive's own bytes.
pub(crate) struct Input<R> {
    reader: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    fetched: u64,
    max: u64,
}

impl<R: Read> Input<R> {
    /// At most `max` bytes of a reader.
    pub(crate) fn new(reader: R, max: u64) -> Input<R> {
        Input { reader, buffer: vec![0; BUFFER].into_boxed_slice(), start: 0, end: 0, fetched: 0, max }
    }

    /// Bytes handed on so far.
    pub(crate) fn consumed(&self) -> u64 {
        self.fetched - count(self.end - self.start)
    }
}

impl<R: Read + Seek> Input<R> {
    /// Goes to a position from the start of the archive.
    pub(crate) fn seek(&mut self, position: u64) -> Result<(), PackError> {
        self.reader.seek(SeekFrom::Start(position))?;
        (self.start, self.end) = (0, 0);
        Ok(())
    }

    /// The archive's size.
    pub(crate) fn length(&mut self) -> Result<u64, PackError> {
        Ok(self.reader.seek(SeekFrom::End(0))?)
    }
}

impl<R: Read> Stream for Input<R> {
    fn chunk(&mut self) -> Result<&[u8], PackError> {
        while self.start == self.end {
            let got = match self.reader.read(&mut self.buffer) {
                Ok(got) => got.min(self.buffer.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            (self.start, self.end) = (0, got);
            self.fetched = self.fetched.saturating_add(count(got));
            Limit::SourceBytes.hold(self.fetched, self.max)?;
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
