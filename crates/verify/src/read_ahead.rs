//! [`ReadAhead`]: a reader that reads ahead on a thread of its own.
//!
//! One thread waits for the disk, or decompresses, while the other one hashes. Chunks go back to the
//! reading thread when they are consumed, so only a few buffers are ever allocated.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Size of one chunk, in bytes.
const CHUNK_BYTES: usize = 256 << 10;
/// Number of filled chunks that may wait to be consumed. The reading thread blocks when the queue is
/// full.
const MAX_QUEUED_CHUNKS: usize = 4;

/// Buffered reader over the data that a background thread reads.
///
/// Dropping it stops the thread and waits for its end.
pub(crate) struct ReadAhead {
    /// Queue of filled chunks in order; an empty chunk marks EOF. `None` after EOF.
    filled: Option<Receiver<io::Result<ReadAheadChunk>>>,
    /// Queue on which consumed chunks return to the reading thread.
    emptied: Option<SyncSender<ReadAheadChunk>>,
    /// Chunk that is being consumed.
    chunk: ReadAheadChunk,
    /// Offset of the next unread byte in `chunk`.
    position: usize,
    /// Handle of the reading thread, joined on drop.
    thread: Option<JoinHandle<()>>,
}

/// Buffer of [`CHUNK_BYTES`] bytes that is reused.
#[derive(Default)]
struct ReadAheadChunk {
    /// Storage; only the first `length` bytes are valid.
    bytes: Vec<u8>,
    /// Number of valid bytes.
    length: usize,
}

impl ReadAheadChunk {
    /// Reads until the chunk is full, or the reader reaches EOF or fails. Interrupted reads are
    /// retried.
    fn fill(&mut self, reader: &mut impl Read) -> io::Result<()> {
        self.bytes.resize(CHUNK_BYTES, 0);
        self.length = 0;
        while let Some(left) = self.bytes.get_mut(self.length..).filter(|left| !left.is_empty()) {
            match reader.read(left) {
                Ok(0) => break,
                Ok(count) => self.length += count.min(left.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl ReadAhead {
    /// Starts a thread that reads from `reader`.
    ///
    /// # Errors
    /// Fails if no thread can be started.
    pub(crate) fn new(reader: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, pieces) = sync_channel(MAX_QUEUED_CHUNKS);
        let (back, emptied) = sync_channel(MAX_QUEUED_CHUNKS + 2);
        let thread = thread::Builder::new().spawn(move || read_chunks(reader, &sender, &emptied))?;
        Ok(Self {
            filled: Some(pieces),
            emptied: Some(back),
            chunk: ReadAheadChunk::default(),
            position: 0,
            thread: Some(thread),
        })
    }
}

/// Reads to EOF, to the first error, or until the receiver is dropped.
fn read_chunks(
    mut reader: impl Read,
    sender: &SyncSender<io::Result<ReadAheadChunk>>,
    emptied: &Receiver<ReadAheadChunk>,
) {
    loop {
        let mut piece = emptied.try_recv().unwrap_or_default();
        let read = piece.fill(&mut reader);
        let is_end = piece.length == 0;
        // Bytes read before an error are delivered before the error.
        if (!is_end || read.is_ok()) && sender.send(Ok(piece)).is_err() {
            return;
        }
        if let Err(error) = read {
            // A send error means that the receiver was dropped, so the read error is dropped, too.
            let _ = sender.send(Err(error));
            return;
        }
        if is_end {
            return;
        }
    }
}

impl BufRead for ReadAhead {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.position == self.chunk.length
            && let Some(pieces) = &self.filled
        {
            // A closed channel without the EOF chunk means that the thread stopped early, after an
            // error.
            let piece = pieces.recv().map_err(|_| io::Error::other("reading stopped before the end"))??;
            let emptied = core::mem::replace(&mut self.chunk, piece);
            if let Some(back) = &self.emptied
                && !emptied.bytes.is_empty()
            {
                // The queue has room for every chunk; after EOF the thread is gone and the chunk is
                // dropped.
                let _ = back.try_send(emptied);
            }
            self.position = 0;
            if self.chunk.length == 0 {
                self.filled = None;
            }
        }
        Ok(self.chunk.bytes.get(self.position..self.chunk.length).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.position = self.chunk.length.min(self.position + count);
    }
}

impl Read for ReadAhead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        // Closing the channels makes the thread's next send fail, which ends it.
        (self.filled, self.emptied) = (None, None);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Reader that returns at most 70,001 bytes at a time, and then fails or reaches EOF.
    struct TestReader {
        left: usize,
        then: Option<io::ErrorKind>,
        reads: Arc<AtomicUsize>,
    }

    impl Read for TestReader {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.reads.fetch_add(1, Ordering::SeqCst);
            if self.left == 0 {
                return self.then.map_or(Ok(0), |kind| Err(kind.into()));
            }
            let count = self.left.min(out.len()).min(70_001);
            out[..count]
                .iter_mut()
                .enumerate()
                .for_each(|(at, byte)| *byte = (self.left - at).to_le_bytes()[0]);
            self.left -= count;
            Ok(count)
        }
    }

    fn source(left: usize, then: Option<io::ErrorKind>) -> TestReader {
        TestReader { left, then, reads: Arc::default() }
    }

    fn expected(length: usize) -> Vec<u8> {
        (0..length).map(|at| (length - at).to_le_bytes()[0]).collect()
    }

    #[test]
    fn everything_comes_in_order() {
        for length in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 10 * CHUNK_BYTES + 5] {
            let mut all = Vec::new();
            let mut ahead = ReadAhead::new(source(length, None)).unwrap();
            ahead.read_to_end(&mut all).unwrap();
            assert_eq!(all, expected(length));
            assert_eq!(ahead.read(&mut [0; 9]).unwrap(), 0, "the end stays the end");
        }
    }

    #[test]
    fn an_error_comes_after_what_was_read() {
        for length in [0, 1, CHUNK_BYTES, 3 * CHUNK_BYTES + 5] {
            let mut all = Vec::new();
            let mut ahead = ReadAhead::new(source(length, Some(io::ErrorKind::PermissionDenied))).unwrap();
            let error = ahead.read_to_end(&mut all).unwrap_err();
            assert_eq!((error.kind(), all), (io::ErrorKind::PermissionDenied, expected(length)));
            assert_eq!(ahead.read(&mut [0; 9]).unwrap_err().to_string(), "reading stopped before the end");
        }
    }

    #[test]
    fn nothing_reads_after_it_is_gone() {
        let endless = source(usize::MAX, None);
        let reads = Arc::clone(&endless.reads);
        let mut ahead = ReadAhead::new(endless).unwrap();
        ahead.read_exact(&mut [0; 100]).unwrap();
        drop(ahead);
        assert_eq!(Arc::strong_count(&reads), 1, "the reader was dropped, and its thread is gone");
    }
}
