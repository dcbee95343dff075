//! Reproducible raw deflate: one level, and input cut into chunks of a fixed size.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::{self, Write};

/// Compression level: the default of gzip, and the one that the real Replay Bundle tool uses.
const LEVEL: Compression = Compression::new(6);

/// Size of the chunks that the encoder gets, in bytes. Its output may depend on how its input was cut, so the cuts are made
/// here and not by the caller.
const CHUNK_BYTES: usize = 32 << 10;

/// Writer that compresses its input into a sink.
pub(crate) struct Deflater<W: Write> {
    encoder: DeflateEncoder<W>,
    pending: Vec<u8>,
}

impl<W: Write> Deflater<W> {
    pub(crate) fn new(sink: W) -> Deflater<W> {
        Deflater { encoder: DeflateEncoder::new(sink, LEVEL), pending: Vec::with_capacity(CHUNK_BYTES) }
    }

    /// Ends the stream. Returns the sink and the number of compressed bytes.
    pub(crate) fn finish(mut self) -> io::Result<(W, u64)> {
        self.encoder.write_all(&self.pending)?;
        self.encoder.try_finish()?;
        let length = self.encoder.total_out();
        Ok((self.encoder.finish()?, length))
    }
}

impl<W: Write> Write for Deflater<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let step = bytes.len().min(CHUNK_BYTES - self.pending.len());
        self.pending.extend_from_slice(&bytes[..step]);
        if self.pending.len() == CHUNK_BYTES {
            self.encoder.write_all(&self.pending)?;
            self.pending.clear();
        }
        Ok(step)
    }

    /// Does nothing: a flush in the middle of the stream would change the compressed bytes.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
