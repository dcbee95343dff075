//! An entry's content as a stream. The last chunk is handed out only after size and CRC have been checked.

use super::directory::Entry;
use super::local::disagreement;
use super::{DEFLATED, STORED};
use crate::error::{Checked, Field, PackError, Stage};
use crate::inflate::Inflater;
use crate::input::{BUFFER, Input, Stream, count, within};
use flate2::Crc;
use std::io::Read;

pub(super) struct Body<'a, R> {
    input: &'a mut Input<R>,
    entry: &'a Entry,
    /// `None` for stored content.
    inflater: Option<Inflater>,
    ended: bool,
    packed_left: u64,
    size_left: u64,
    crc: Crc,
    /// Borrowed, so that a hundred thousand small entries do not each make their own.
    buffer: &'a mut [u8],
    start: usize,
    end: usize,
}

pub(super) fn buffer() -> Box<[u8]> {
    vec![0; BUFFER].into_boxed_slice()
}

impl<'a, R: Read> Body<'a, R> {
    pub(super) fn new(input: &'a mut Input<R>, entry: &'a Entry, buffer: &'a mut [u8]) -> Body<'a, R> {
        Body {
            input,
            entry,
            inflater: (entry.method == DEFLATED).then(Inflater::new),
            ended: entry.method == STORED,
            packed_left: u64::from(entry.packed),
            size_left: u64::from(entry.size),
            crc: Crc::new(),
            buffer,
            start: 0,
            end: 0,
        }
    }

    /// Checks content of no bytes, which nobody had to read, and leaves the input behind it.
    pub(super) fn finish(mut self) -> Result<(), PackError> {
        if self.entry.size == 0 { self.verify() } else { Ok(()) }
    }

    fn refill(&mut self) -> Result<(), PackError> {
        (self.start, self.end) = (0, 0);
        while self.end < self.buffer.len() && self.size_left > 0 {
            let room = self.end..self.end + within(self.size_left, self.buffer.len() - self.end);
            let made = match &mut self.inflater {
                Some(_) => self.inflate(room.clone())?,
                None => self.copy(room.clone())?,
            };
            self.crc.update(&self.buffer[room.start..room.start + made]);
            self.end += made;
            self.size_left -= count(made);
        }
        if self.size_left == 0 { self.verify() } else { Ok(()) }
    }

    fn copy(&mut self, room: std::ops::Range<usize>) -> Result<usize, PackError> {
        let chunk = self.input.chunk()?;
        let step = within(self.packed_left, chunk.len()).min(room.len());
        if step == 0 {
            return Err(PackError::truncated(Stage::Content));
        }
        self.buffer[room.start..room.start + step].copy_from_slice(&chunk[..step]);
        self.input.advance(step);
        self.packed_left -= count(step);
        Ok(step)
    }

    /// Fills some of the room, which is at least one byte.
    fn inflate(&mut self, room: std::ops::Range<usize>) -> Result<usize, PackError> {
        let Some(inflater) = &mut self.inflater else { return Ok(0) };
        loop {
            let chunk = self.input.chunk()?;
            let chunk = &chunk[..within(self.packed_left, chunk.len())];
            let dry = chunk.is_empty();
            let step = inflater.step(chunk, &mut self.buffer[room.clone()])?;
            self.input.advance(step.used);
            self.packed_left -= count(step.used);
            self.ended |= step.ended;
            if step.made > 0 {
                return Ok(step.made);
            }
            if step.ended {
                return Err(disagreement(self.entry, Field::Size));
            }
            if dry {
                return Err(PackError::truncated(Stage::Content));
            }
        }
    }

    /// All content is out: nothing compressed may be left, and the CRC must fit.
    fn verify(&mut self) -> Result<(), PackError> {
        while let Some(inflater) = &mut self.inflater
            && !self.ended
        {
            let chunk = self.input.chunk()?;
            let chunk = &chunk[..within(self.packed_left, chunk.len())];
            let dry = chunk.is_empty();
            let step = inflater.step(chunk, &mut [0])?;
            self.input.advance(step.used);
            self.packed_left -= count(step.used);
            self.ended = step.ended;
            if step.made > 0 {
                return Err(disagreement(self.entry, Field::Size));
            }
            if dry && !step.ended {
                return Err(PackError::truncated(Stage::Content));
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
        if self.start == self.end && self.size_left > 0 {
            self.refill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn advance(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }
}
