//! Content of a zip entry as a stream. The last chunk is returned only after size and CRC have been checked.

use super::directory::ZipEntry;
use super::local_header::disagreement;
use super::{DEFLATED, STORED};
use crate::error::{ArchiveSection, ChecksumKind, PackError, RepeatedField};
use crate::inflate::{InflateStop, Inflater};
use crate::input::{ArchiveInput, ChunkStream, at_most, to_u64};
use flate2::Crc;
use std::io::Read;

/// Stream of the decompressed content of one entry.
pub(super) struct ZipContent<'a, R> {
    input: &'a mut ArchiveInput<R>,
    entry: &'a ZipEntry,
    /// Inflater, borrowed so that a hundred thousand small entries do not each allocate one. Stored content is copied through its
    /// window.
    inflater: &'a mut Inflater,
    /// True once the deflate stream has ended; always true for stored content.
    is_inflated: bool,
    compressed_remaining: u64,
    size_remaining: u64,
    crc: Crc,
    /// Bytes of the inflater's output that were consumed.
    output_taken: usize,
}

impl<'a, R: Read> ZipContent<'a, R> {
    pub(super) fn new(
        input: &'a mut ArchiveInput<R>,
        entry: &'a ZipEntry,
        inflater: &'a mut Inflater,
    ) -> ZipContent<'a, R> {
        inflater.reset();
        ZipContent {
            input,
            entry,
            inflater,
            is_inflated: entry.method == STORED,
            compressed_remaining: u64::from(entry.compressed_size),
            size_remaining: u64::from(entry.size),
            crc: Crc::new(),
            output_taken: 0,
        }
    }

    /// Checks an entry of no bytes, which the visitor need not have read, and leaves the input behind it.
    pub(super) fn finish(mut self) -> Result<(), PackError> {
        if self.entry.size == 0 { self.verify() } else { Ok(()) }
    }

    /// Fills the output of the inflater, and verifies the content after its last byte.
    fn refill(&mut self) -> Result<(), PackError> {
        self.output_taken = 0;
        self.inflater.discard_output();
        let mut is_full = false;
        while self.size_remaining > 0 && !is_full {
            let (made, stop) =
                if self.entry.method == DEFLATED { self.inflate()? } else { self.copy_stored()? };
            let all = self.inflater.output();
            self.crc.update(&all[all.len() - made..]);
            self.size_remaining = self
                .size_remaining
                .checked_sub(to_u64(made))
                .ok_or_else(|| disagreement(self.entry, RepeatedField::Size))?;
            if stop == InflateStop::StreamEnd && self.size_remaining > 0 {
                return Err(disagreement(self.entry, RepeatedField::Size));
            }
            is_full = stop == InflateStop::OutputFull;
        }
        if self.size_remaining == 0 { self.verify() } else { Ok(()) }
    }

    /// Copies stored bytes; returns their number.
    fn copy_stored(&mut self) -> Result<(usize, InflateStop), PackError> {
        let chunk = self.input.chunk()?;
        let chunk = &chunk[..at_most(self.compressed_remaining.min(self.size_remaining), chunk.len())];
        if chunk.is_empty() {
            return Err(PackError::truncated(ArchiveSection::Content));
        }
        let copied = self.inflater.copy_stored(chunk);
        let is_full = copied < chunk.len();
        self.input.advance(copied);
        self.compressed_remaining -= to_u64(copied);
        Ok((copied, if is_full { InflateStop::OutputFull } else { InflateStop::NeedsInput }))
    }

    /// Produces some bytes or consumes some; returns the number of bytes produced.
    fn inflate(&mut self) -> Result<(usize, InflateStop), PackError> {
        let chunk = self.input.chunk()?;
        let step = self.inflater.inflate(&chunk[..at_most(self.compressed_remaining, chunk.len())])?;
        self.input.advance(step.consumed);
        self.compressed_remaining -= to_u64(step.consumed);
        self.is_inflated = step.stop == InflateStop::StreamEnd;
        if step.stop == InflateStop::NeedsInput && step.made_no_progress() {
            return Err(PackError::truncated(ArchiveSection::Content));
        }
        Ok((step.produced, step.stop))
    }

    /// Checks the end of the content: no compressed byte may be left, and the CRC must match.
    fn verify(&mut self) -> Result<(), PackError> {
        while !self.is_inflated {
            self.inflater.allow_one_more_byte();
            if self.inflate()?.0 > 0 {
                return Err(disagreement(self.entry, RepeatedField::Size));
            }
        }
        if self.compressed_remaining > 0 {
            return Err(disagreement(self.entry, RepeatedField::Size));
        }
        if self.crc.sum() != self.entry.crc {
            return Err(PackError::Checksum { checksum: ChecksumKind::Zip, member: None });
        }
        Ok(())
    }
}

impl<R: Read> ChunkStream for ZipContent<'_, R> {
    fn chunk(&mut self) -> Result<&[u8], PackError> {
        if self.output_taken == self.inflater.output().len() && self.size_remaining > 0 {
            self.refill()?;
        }
        Ok(&self.inflater.output()[self.output_taken..])
    }

    fn advance(&mut self, count: usize) {
        self.output_taken = self.inflater.output().len().min(self.output_taken + count);
    }
}
