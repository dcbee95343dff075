//! Reproducible gzip: no time, no name, no operating system.

use crate::deflate::Deflater;
use crate::input::to_u64;
use flate2::Crc;
use std::io::{self, Write};

/// Header of every file: magic, deflate, no flags, no time, no hint, unknown system (RFC 1952 §2.3).
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Writer of one gzip member.
pub(crate) struct GzipWriter<W: Write> {
    deflater: Deflater<W>,
    crc: Crc,
    length: u64,
}

impl<W: Write> GzipWriter<W> {
    /// Writes the header to `sink`.
    pub(crate) fn new(mut sink: W) -> io::Result<GzipWriter<W>> {
        sink.write_all(&HEADER)?;
        Ok(GzipWriter { deflater: Deflater::new(sink), crc: Crc::new(), length: 0 })
    }

    /// Writes the rest of the data and the trailer, and returns the sink.
    pub(crate) fn finish(self) -> io::Result<W> {
        let (mut sink, _) = self.deflater.finish()?;
        sink.write_all(&self.crc.sum().to_le_bytes())?;
        // ISIZE is the length modulo 2^32 (RFC 1952 §2.3.1).
        sink.write_all(&self.length.to_le_bytes()[..4])?;
        Ok(sink)
    }
}

impl<W: Write> Write for GzipWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let step = self.deflater.write(bytes)?;
        self.crc.update(&bytes[..step]);
        self.length = self.length.wrapping_add(to_u64(step));
        Ok(step)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.deflater.flush()
    }
}
