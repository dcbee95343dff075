//! Gunzip as a stream: header, inflate, CRC and length, and no byte after them.
//!
//! The framing is read here and not by a library, because the forms to be refused are in the framing: a second member, bytes
//! after the trailer, reserved flags.

use crate::error::{ArchiveSection, ChecksumKind, Malformation, PackError};
use crate::inflate::{InflateStop, Inflater};
use crate::input::{ArchiveInput, ChunkStream, read_array, to_u64};
use crate::limits::{ArchiveLimit, ArchiveLimits};
use crate::rules::ArchiveRules;
use flate2::Crc;
use std::io::{self, Read};

// RFC 1952 §2.3.1.
const FHCRC: u8 = 2;
const FEXTRA: u8 = 4;
const FNAME: u8 = 8;
const FCOMMENT: u8 = 16;
const RESERVED: u8 = 0xe0;

/// Decompressed bytes of a gzip file, as a [`ChunkStream`] and a [`Read`].
pub(crate) struct GunzipReader<R> {
    input: ArchiveInput<R>,
    limits: ArchiveLimits,
    /// True if another gzip member may follow the first.
    allow_more_members: bool,
    state: GunzipState,
    inflater: Inflater,
    /// CRC and length in bytes of the current gzip member.
    crc: Crc,
    member_bytes: u64,
    /// Decompressed bytes of all gzip members so far.
    total_bytes: u64,
    /// Bytes of the inflater's output that were consumed.
    output_taken: usize,
    /// Error that ended the stream. It is returned again on each further call.
    fault: Option<PackError>,
}

/// Part of a gzip member that comes next.
#[derive(PartialEq, Eq)]
enum GunzipState {
    Header,
    Data,
    Ended,
}

impl<R: Read> GunzipReader<R> {
    pub(crate) fn new(reader: R, rules: &ArchiveRules) -> GunzipReader<R> {
        GunzipReader {
            input: ArchiveInput::new(reader, rules.limits.source_bytes),
            limits: rules.limits.clone(),
            allow_more_members: rules.many_gzip_members,
            state: GunzipState::Header,
            inflater: Inflater::new(),
            crc: Crc::new(),
            member_bytes: 0,
            total_bytes: 0,
            output_taken: 0,
            fault: None,
        }
    }

    /// Returns the number of compressed bytes consumed so far.
    pub(crate) fn consumed(&self) -> u64 {
        self.input.consumed()
    }

    /// Inflates the next output, which is empty at the end of the file. An error stays, and no output follows it.
    fn refill(&mut self) -> Result<(), PackError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        self.output_taken = 0;
        self.inflater.discard_output();
        self.inflate_more().inspect_err(|fault| {
            self.fault = Some(fault.clone());
            self.inflater.discard_output();
        })
    }

    /// Inflates until the output is full or the file ends, past trailers and headers of gzip members.
    fn inflate_more(&mut self) -> Result<(), PackError> {
        while self.state != GunzipState::Ended {
            if self.state == GunzipState::Header {
                if !self.inflater.output().is_empty() {
                    break;
                }
                skip_header(&mut self.input)?;
                self.inflater.reset();
                (self.crc, self.member_bytes) = (Crc::new(), 0);
                self.state = GunzipState::Data;
            }
            let step = self.inflater.inflate(self.input.chunk()?)?;
            let made = self.inflater.output();
            let made = &made[made.len() - step.produced..];
            self.input.advance(step.consumed);
            self.crc.update(made);
            self.member_bytes = self.member_bytes.saturating_add(to_u64(made.len()));
            self.total_bytes = self.total_bytes.saturating_add(to_u64(made.len()));
            if step.stop != InflateStop::NeedsInput {
                self.limits.check_ratio(self.input.consumed(), self.total_bytes)?;
            }
            ArchiveLimit::TotalBytes.check(self.total_bytes, self.limits.total_bytes)?;
            match step.stop {
                InflateStop::OutputFull => break,
                InflateStop::StreamEnd => self.check_trailer()?,
                InflateStop::NeedsInput if step.made_no_progress() => {
                    return Err(PackError::truncated(ArchiveSection::Gzip));
                }
                InflateStop::NeedsInput => {}
            }
        }
        Ok(())
    }

    /// Checks CRC and length of a gzip member, and the bytes behind it: the end of the file, or another member if allowed.
    fn check_trailer(&mut self) -> Result<(), PackError> {
        let crc = u32::from_le_bytes(read_array(&mut self.input, ArchiveSection::Gzip)?);
        let length = u32::from_le_bytes(read_array(&mut self.input, ArchiveSection::Gzip)?);
        if crc != self.crc.sum() {
            return Err(PackError::Checksum { checksum: ChecksumKind::GzipCrc, member: None });
        }
        if u64::from(length) != self.member_bytes % (1 << 32) {
            return Err(PackError::Checksum { checksum: ChecksumKind::GzipLength, member: None });
        }
        self.state = if self.input.chunk()?.is_empty() {
            GunzipState::Ended
        } else if self.allow_more_members {
            GunzipState::Header
        } else {
            return Err(PackError::TrailingData { section: ArchiveSection::Gzip });
        };
        Ok(())
    }
}

impl<R: Read> ChunkStream for GunzipReader<R> {
    fn chunk(&mut self) -> Result<&[u8], PackError> {
        if self.output_taken == self.inflater.output().len() {
            self.refill()?;
        }
        Ok(&self.inflater.output()[self.output_taken..])
    }

    fn advance(&mut self, count: usize) {
        self.output_taken = self.inflater.output().len().min(self.output_taken + count);
    }
}

/// Errors are [`PackError`]s inside `io::Error`; `PackError::from` restores them.
impl<R: Read> Read for GunzipReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let chunk = self.chunk()?;
        let step = chunk.len().min(out.len());
        out[..step].copy_from_slice(&chunk[..step]);
        self.advance(step);
        Ok(step)
    }
}

/// Checks and skips a gzip header. Its name, comment and time are not used.
fn skip_header(input: &mut impl ChunkStream) -> Result<(), PackError> {
    let mut summed = CrcStream { stream: input, crc: Crc::new() };
    let fixed: [u8; 10] = read_array(&mut summed, ArchiveSection::GzipHeader)?;
    let flags = fixed[3];
    if fixed[..3] != [0x1f, 0x8b, 8] || flags & RESERVED != 0 {
        return Err(PackError::malformed(Malformation::GzipHeader));
    }
    if flags & FEXTRA != 0 {
        let length = u16::from_le_bytes(read_array(&mut summed, ArchiveSection::GzipHeader)?);
        for _ in 0..length {
            read_array::<1>(&mut summed, ArchiveSection::GzipHeader)?;
        }
    }
    for flag in [FNAME, FCOMMENT] {
        if flags & flag != 0 {
            while read_array::<1>(&mut summed, ArchiveSection::GzipHeader)? != [0] {}
        }
    }
    let computed = summed.crc.sum().to_le_bytes();
    if flags & FHCRC != 0 && read_array::<2>(&mut summed, ArchiveSection::GzipHeader)? != computed[..2] {
        return Err(PackError::Checksum { checksum: ChecksumKind::GzipHeader, member: None });
    }
    Ok(())
}

/// Stream that computes the CRC of the bytes that are consumed.
struct CrcStream<'a, S> {
    stream: &'a mut S,
    crc: Crc,
}

impl<S: ChunkStream> ChunkStream for CrcStream<'_, S> {
    fn chunk(&mut self) -> Result<&[u8], PackError> {
        // One byte at a time, so that the CRC covers exactly the consumed bytes: headers are short.
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
