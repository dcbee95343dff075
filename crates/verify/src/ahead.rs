//! A reader that reads ahead of who reads from it, on a thread of its own: the one waits for the disk, or unpacks, while the
//! other hashes.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// How much is handed over at once.
const ROOM: usize = 256 << 10;
/// How many times that may wait to be read.
const WAITING: usize = 4;

/// What another thread reads. When this is gone, nothing reads any more.
pub(crate) struct Ahead {
    /// Pieces in order; an empty one is the end. `None` after the end.
    pieces: Option<Receiver<io::Result<Piece>>>,
    /// Pieces that were read go back, to be filled again.
    back: Option<SyncSender<Piece>>,
    piece: Piece,
    at: usize,
    thread: Option<JoinHandle<()>>,
}

/// Some bytes, in a room that is used again and again.
#[derive(Default)]
struct Piece {
    room: Vec<u8>,
    length: usize,
}

impl Piece {
    /// Reads until it is full, or the reader ends or fails.
    fn fill(&mut self, reader: &mut impl Read) -> io::Result<()> {
        self.room.resize(ROOM, 0);
        self.length = 0;
        while let Some(left) = self.room.get_mut(self.length..).filter(|left| !left.is_empty()) {
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

impl Ahead {
    /// Reads from `reader` on a new thread. Fails if there can be none.
    pub(crate) fn new(reader: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, pieces) = sync_channel(WAITING);
        let (back, emptied) = sync_channel(WAITING + 2);
        let thread = thread::Builder::new().spawn(move || read_all(reader, &sender, &emptied))?;
        Ok(Self {
            pieces: Some(pieces),
            back: Some(back),
            piece: Piece::default(),
            at: 0,
            thread: Some(thread),
        })
    }
}

/// Reads to the end, to the first error, or until nobody wants more.
fn read_all(mut reader: impl Read, sender: &SyncSender<io::Result<Piece>>, emptied: &Receiver<Piece>) {
    loop {
        let mut piece = emptied.try_recv().unwrap_or_default();
        let read = piece.fill(&mut reader);
        let is_end = piece.length == 0;
        // What was read before an error comes before it.
        if (!is_end || read.is_ok()) && sender.send(Ok(piece)).is_err() {
            return;
        }
        if let Err(error) = read {
            // Whoever went away does not need to know.
            let _ = sender.send(Err(error));
            return;
        }
        if is_end {
            return;
        }
    }
}

impl BufRead for Ahead {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.piece.length
            && let Some(pieces) = &self.pieces
        {
            // A thread that ended without saying so did not reach the end.
            let piece = pieces.recv().map_err(|_| io::Error::other("reading stopped before the end"))??;
            let emptied = core::mem::replace(&mut self.piece, piece);
            if let Some(back) = &self.back
                && !emptied.room.is_empty()
            {
                // There is room for all, and at the end nobody takes them.
                let _ = back.try_send(emptied);
            }
            self.at = 0;
            if self.piece.length == 0 {
                self.pieces = None;
            }
        }
        Ok(self.piece.room.get(self.at..self.piece.length).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.at = self.piece.length.min(self.at + count);
    }
}

impl Read for Ahead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // The thread sees that nobody wants more when it next hands something over.
        (self.pieces, self.back) = (None, None);
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

    /// Gives bytes a few at a time, and then fails or ends.
    struct Source {
        left: usize,
        then: Option<io::ErrorKind>,
        reads: Arc<AtomicUsize>,
    }

    impl Read for Source {
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

    fn source(left: usize, then: Option<io::ErrorKind>) -> Source {
        Source { left, then, reads: Arc::default() }
    }

    fn expected(length: usize) -> Vec<u8> {
        (0..length).map(|at| (length - at).to_le_bytes()[0]).collect()
    }

    #[test]
    fn everything_comes_in_order() {
        for length in [0, 1, ROOM - 1, ROOM, ROOM + 1, 10 * ROOM + 5] {
            let mut all = Vec::new();
            let mut ahead = Ahead::new(source(length, None)).unwrap();
            ahead.read_to_end(&mut all).unwrap();
            assert_eq!(all, expected(length));
            assert_eq!(ahead.read(&mut [0; 9]).unwrap(), 0, "the end stays the end");
        }
    }

    #[test]
    fn an_error_comes_after_what_was_read() {
        for length in [0, 1, ROOM, 3 * ROOM + 5] {
            let mut all = Vec::new();
            let mut ahead = Ahead::new(source(length, Some(io::ErrorKind::PermissionDenied))).unwrap();
            let error = ahead.read_to_end(&mut all).unwrap_err();
            assert_eq!((error.kind(), all), (io::ErrorKind::PermissionDenied, expected(length)));
            assert_eq!(ahead.read(&mut [0; 9]).unwrap_err().to_string(), "reading stopped before the end");
        }
    }

    #[test]
    fn nothing_reads_after_it_is_gone() {
        let endless = source(usize::MAX, None);
        let reads = Arc::clone(&endless.reads);
        let mut ahead = Ahead::new(endless).unwrap();
        ahead.read_exact(&mut [0; 100]).unwrap();
        drop(ahead);
        assert_eq!(Arc::strong_count(&reads), 1, "the reader was dropped, and its thread is gone");
    }
}
