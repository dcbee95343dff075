//! An entry's content as a stream. The last chunk is handed out only after size and CRC have been checked.

use super::directory::Entry;
use super::local::disagreement;
use super::{DEFLATED, STORED};
use crate::error::{Checked, Field, PackError, Stage};
use crate::inflate::{Inflater, Stop};
use crate::input::{Input, Stream, count, within};
use flate2::Crc;
use std::io::Read;

pub(super) struct Body<'a, R> {
    input: &'a mut Input<R>,
    entry: &'a Entry,
    /// Borrowed, so that a hundred thousand small entries do not each make their own. Stored content only passes through.
    inflater: &'a mut Inflater,
    /// Nothing is to be inflated any more.
    ended: bool,
    packed_left: u64,
    size_left: u64,
    crc: Crc,
    /// How much of what was made was taken.
    taken: usize,
}

impl<'a, R: Read> Body<'a, R> {
    pub(super) fn new(input: &'a mut Input<R>, entry: &'a Entry, inflater: &'a mut Inflater) -> Body<'a, R> {
        inflater.clear();
        Body {
            input,
            entry,
            inflater,
            ended: entry.method == STORED,
            packed_left: u64::from(entry.packed),
            size_left: u64::from(entry.size),
            crc: Crc::new(),
            taken: 0,
        }
    }

    /// Checks content of no bytes, which nobody had to read, and leaves the input behind it.
    pub(super) fn finish(mut self) -> Result<(), PackError> {
        if self.entry.size == 0 { self.verify() } else { Ok(()) }
    }

    fn refill(&mut self) -> Result<(), PackError> {
        self.taken = 0;
        self.inflater.turn();
        let mut is_full = false;
        while self.size_left > 0 && !is_full {
            let (made, stop) = if self.entry.method == DEFLATED { self.inflate()? } else { self.copy()? };
            let all = self.inflater.made();
            self.crc.update(&all[all.len() - made..]);
            self.size_left = self
                .size_left
                .checked_sub(count(made))
                .ok_or_else(|| disagreement(self.entry, Field::Size))?;
            if stop == Stop::End && self.size_left > 0 {
                return Err(disagreement(self.entry, Field::Size));
            }
            is_full = stop == Stop::Room;
        }
        if self.size_left == 0 { self.verify() } else { Ok(()) }
    }

    fn copy(&mut self) -> Result<(usize, Stop), PackError> {
        let chunk = self.input.chunk()?;
        let chunk = &chunk[..within(self.packed_left.min(self.size_left), chunk.len())];
        if chunk.is_empty() {
            return Err(PackError::truncated(Stage::Content));
        }
        let copied = self.inflater.copy(chunk);
        let is_full = copied < chunk.len();
        self.input.advance(copied);
        self.packed_left -= count(copied);
        Ok((copied, if is_full { Stop::Room } else { Stop::Input }))
    }

    /// Makes some bytes, or uses some.
    fn inflate(&mut self) -> Result<(usize, Stop), PackError> {
        let chunk = self.input.chunk()?;
        let step = self.inflater.step(&chunk[..within(self.packed_left, chunk.len())])?;
        self.input.advance(step.used);
        self.packed_left -= count(step.used);
        self.ended = step.stop == Stop::End;
        if step.stop == Stop::Input && step.is_stuck() {
            return Err(PackError::truncated(Stage::Content));
        }
        Ok((step.made, step.stop))
    }

    /// All content is out: nothing compressed may be left, and the CRC must fit.
    fn verify(&mut self) -> Result<(), PackError> {
        while !self.ended {
            self.inflater.stretch();
            if self.inflate()?.0 > 0 {
                return Err(disagreement(self.entry, Field::Size));
            }
        }
        if self.packed_left > 0 {
            return Err(disagreement(self.entry, Field::Size));
        }
        if self.crc.sum() != self.entry.crc {
            return Err(PackError::Checksum { checked: Checked::Zip, member: None });
        }
        Ok(())
    }
}

impl<R: Read> Stream for Body<'_, R> {
    fn chunk(&mut self) -> Result<&[u8], PackError> {
        if self.taken == self.inflater.made().len() && self.size_left > 0 {
            self.refill()?;
        }
        Ok(&self.inflater.made()[self.taken..])
    }

    fn advance(&mut self, count: usize) {
        self.taken = self.inflater.made().len().min(self.taken + count);
    }
}
