//! Gunzip as a stream: header, inflate, CRC and length, and nothing after them.
//!
//! The framing is read here and not by a library, because what we need to refuse is in the framing: a second member, bytes after
//! the trailer, reserved flags.

use crate::error::{Checked, Malformation, PackError, Stage};
use crate::inflate::Inflater;
use crate::input::{BUFFER, Input, Stream, count, exact};
use crate::limits::Limit;
use crate::rules::Rules;
use flate2::Crc;
use std::io::Read;

// RFC 1952 §2.3.1.
const FHCRC: u8 = 2;
const FEXTRA: u8 = 4;
const FNAME: u8 = 8;
const FCOMMENT: u8 = 16;
const RESERVED: u8 = 0xe0;

/// The decompressed bytes of a gzip file.
pub(crate) struct Gunzip<'a, R> {
    input: Input<R>,
    rules: &'a Rules,
    state: State,
    inflater: Inflater,
    /// CRC and length of the present gzip member.
    crc: Crc,
    length: u64,
    /// Bytes out of all members.
    total: u64,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

#[derive(PartialEq, Eq)]
enum State {
    Header,
    Data,
    Ended,
}

impl<'a, R: Read> Gunzip<'a, R> {
    pub(crate) fn new(reader: R, rules: &'a Rules) -> Gunzip<'a, R> {
        Gunzip {
            input: Input::new(reader, rules.limits.source_bytes),
            rules,
            state: State::Header,
            inflater: Inflater::new(),
            crc: Crc::new(),
            length: 0,
            total: 0,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
        }
    }

    /// Compressed bytes used so far.
    pub(crate) fn consumed(&self) -> u64 {
        self.input.consumed()
    }

    /// Fills the empty buffer, or finds the end of the file.
    fn refill(&mut self) -> Result<(), PackError> {
        (self.start, self.end) = (0, 0);
        while self.end < self.buffer.len() && self.state != State::Ended {
            if self.state == State::Header {
                header(&mut self.input)?;
                (self.inflater, self.crc, self.length) = (Inflater::new(), Crc::new(), 0);
                self.state = State::Data;
            }
            let packed = self.input.chunk()?;
            let at_end = packed.is_empty();
            let step = self.inflater.step(packed, &mut self.buffer[self.end..])?;
            if at_end && step.made == 0 && !step.ended {
                return Err(PackError::truncated(Stage::Gzip));
            }
            self.input.advance(step.used);
            self.crc.update(&self.buffer[self.end..self.end + step.made]);
            self.end += step.made;
            self.length = self.length.saturating_add(count(step.made));
            self.total = self.total.saturating_add(count(step.made));
            self.rules.limits.hold_ratio(self.input.consumed(), self.total)?;
            Limit::TotalBytes.hold(self.total, self.rules.limits.total_bytes)?;
            if step.ended {
                self.trailer()?;
            }
        }
        Ok(())
    }

    fn trailer(&mut self) -> Result<(), PackError> {
        let crc = u32::from_le_bytes(exact(&mut self.input, Stage::Gzip)?);
        let length = u32::from_le_bytes(exact(&mut self.input, Stage::Gzip)?);
        if crc != self.crc.sum() {
            return Err(PackError::Checksum { checked: Checked::GzipCrc, member: None });
        }
        if u64::from(length) != self.length % (1 << 32) {
            return Err(PackError::Checksum { checked: Checked::GzipLength, member: None });
        }
        self.state = if self.input.chunk()?.is_empty() {
            State::Ended
        } else if self.rules.many_gzip_members {
            State::Header
        } else {
            return Err(PackError::TrailingData { stage: Stage::Gzip });
        };
        Ok(())
    }
}

impl<R: Read> Stream for Gunzip<'_, R> {
    fn chunk(&mut self) -> Result<&[u8], PackError> {
        if self.start == self.end {
            self.refill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn advance(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }
}

/// Reads past a header. Its name, comment and times say nothing that we use.
fn header(input: &mut impl Stream) -> Result<(), PackError> {
    let mut summed = Summed { stream: input, crc: Crc::new() };
    let fixed: [u8; 10] = exact(&mut summed, Stage::GzipHeader)?;
    let flags = fixed[3];
    if fixed[..3] != [0x1f, 0x8b, 8] || flags & RESERVED != 0 {
        return Err(PackError::malformed(Malformation::GzipHeader));
    }
    if flags & FEXTRA != 0 {
        let length = u16::from_le_bytes(exact(&mut summed, Stage::GzipHeader)?);
        for _ in 0..length {
            exact::<1>(&mut summed, Stage::GzipHeader)?;
        }
    }
    for flag in [FNAME, FCOMMENT] {
        if flags & flag != 0 {
            while exact::<1>(&mut summed, Stage::GzipHeader)? != [0] {}
        }
    }
    let computed = summed.crc.sum().to_le_bytes();
    if flags & FHCRC != 0 && exact::<2>(&mut summed, Stage::GzipHeader)? != computed[..2] {
        return Err(PackError::Checksum { checked: Checked::GzipHeader, member: None });
    }
    Ok(())
}

/// A stream whose bytes are summed as they are taken.
struct Summed<'a, S> {
    stream: &'a mut S,
    crc: Crc,
}

impl<S: Stream> Stream for Summed<'_, S> {
    fn chunk(&mut self) -> Result<&[u8], PackError> {
        // One byte at a time, so that what `advance` takes is known: headers are short.
        let chunk = self.stream.chunk()?;
        Ok(&chunk[..chunk.len().min(1)])
    }

    fn advance(&mut self, count: usize) {
        if let Ok(chunk) = self.stream.chunk() {
            self.crc.update(&chunk[..count.min(chunk.len())]);
        }
        self.stream.advance(count);
    }
}
