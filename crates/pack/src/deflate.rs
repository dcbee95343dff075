//! Raw deflate that is the same every time: one level, and input cut at fixed places.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::{self, Write};

/// The default of gzip, and what the real Replay Bundle tool uses.
const LEVEL: Compression = Compression::new(6);

/// An encoder's output may depend on where its input was cut, so it is cut here, and not by whoever writes.
const CUT: usize = 32 << 10;

/// Compresses what is written into a sink.
pub(crate) struct Deflater<W: Write> {
    encoder: DeflateEncoder<W>,
    pending: Vec<u8>,
}

impl<W: Write> Deflater<W> {
    pub(crate) fn new(sink: W) -> Deflater<W> {
        Deflater { encoder: DeflateEncoder::new(sink, LEVEL), pending: Vec::with_capacity(CUT) }
    }

    /// Ends the stream; gives the sink back and how many bytes went into it.
    pub(crate) fn finish(mut self) -> io::Result<(W, u64)> {
        self.encoder.write_all(&self.pending)?;
        self.encoder.try_finish()?;
        let length = self.encoder.total_out();
        Ok((self.encoder.finish()?, length))
    }
}

impl<W: Write> Write for Deflater<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let step = bytes.len().min(CUT - self.pending.len());
        self.pending.extend_from_slice(&bytes[..step]);
        if self.pending.len() == CUT {
            self.encoder.write_all(&self.pending)?;
            self.pending.clear();
        }
        Ok(step)
    }

    /// Keeps what is pending: a flush in the middle would change the compressed bytes.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
