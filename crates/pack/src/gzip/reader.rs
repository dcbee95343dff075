//! Gunzip as a stream: header, inflate, CRC and length, and nothing after them.
//!
//! The framing is read here and not by a library, because what we need to refuse is in the framing: a second member, bytes after
//! the trailer, reserved flags.

use crate::error::{Checked, Malformation, PackError, Stage};
use crate::inflate::{Inflater, Stop};
use crate::input::{Input, Stream, count, exact};
use crate::limits::{Limit, Limits};
use crate::rules::Rules;
use flate2::Crc;
use std::io::{self, Read};

// RFC 1952 §2.3.1.
const FHCRC: u8 = 2;
const FEXTRA: u8 = 4;
const FNAME: u8 = 8;
const FCOMMENT: u8 = 16;
const RESERVED: u8 = 0xe0;

/// The decompressed bytes of a gzip file.
pub(crate) struct Gunzip<R> {
    input: Input<R>,
    limits: Limits,
    /// Another gzip member may follow the first.
    many: bool,
    state: State,
    inflater: Inflater,
    /// CRC and length of the present gzip member.
    crc: Crc,
    length: u64,
    /// Bytes out of all members.
    total: u64,
    /// How much of what the inflater made was taken.
    taken: usize,
    /// What ended it. There is nothing behind it.
    fault: Option<PackError>,
}

#[derive(PartialEq, Eq)]
enum State {
    Header,
    Data,
    Ended,
}

impl<R: Read> Gunzip<R> {
    pub(crate) fn new(reader: R, rules: &Rules) -> Gunzip<R> {
        Gunzip {
            input: Input::new(reader, rules.limits.source_bytes),
            limits: rules.limits.clone(),
            many: rules.many_gzip_members,
            state: State::Header,
            inflater: Inflater::new(),
            crc: Crc::new(),
            length: 0,
            total: 0,
            taken: 0,
            fault: None,
        }
    }

    /// Compressed bytes used so far.
    pub(crate) fn consumed(&self) -> u64 {
        self.input.consumed()
    }

    /// Makes the next bytes, or finds the end of the file. A fault stays: what lies behind it is nothing.
    fn refill(&mut self) -> Result<(), PackError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        self.taken = 0;
        self.inflater.turn();
        self.make().inspect_err(|fault| {
            self.fault = Some(fault.clone());
            self.inflater.turn();
        })
    }

    fn make(&mut self) -> Result<(), PackError> {
        while self.state != State::Ended {
            if self.state == State::Header {
                if !self.inflater.made().is_empty() {
                    break;
                }
                header(&mut self.input)?;
                self.inflater.clear();
                (self.crc, self.length) = (Crc::new(), 0);
                self.state = State::Data;
            }
            let step = self.inflater.step(self.input.chunk()?)?;
            let made = self.inflater.made();
            let made = &made[made.len() - step.made..];
            self.input.advance(step.used);
            self.crc.update(made);
            self.length = self.length.saturating_add(count(made.len()));
            self.total = self.total.saturating_add(count(made.len()));
            if step.stop != Stop::Input {
                self.limits.hold_ratio(self.input.consumed(), self.total)?;
            }
            Limit::TotalBytes.hold(self.total, self.limits.total_bytes)?;
            match step.stop {
                Stop::Room => break,
                Stop::End => self.trailer()?,
                Stop::Input if step.is_stuck() => return Err(PackError::truncated(Stage::Gzip)),
                Stop::Input => {}
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
        } else if self.many {
            State::Header
        } else {
            return Err(PackError::TrailingData { stage: Stage::Gzip });
        };
        Ok(())
    }
}

impl<R: Read> Stream for Gunzip<R> {
    fn chunk(&mut self) -> Result<&[u8], PackError> {
        if self.taken == self.inflater.made().len() {
            self.refill()?;
        }
        Ok(&self.inflater.made()[self.taken..])
    }

    fn advance(&mut self, count: usize) {
        self.taken = self.inflater.made().len().min(self.taken + count);
    }
}

/// As a reader of its own. Errors are [`PackError`]s inside `io::Error`.
impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let chunk = self.chunk()?;
        let step = chunk.len().min(out.len());
        out[..step].copy_from_slice(&chunk[..step]);
        self.advance(step);
        Ok(step)
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
