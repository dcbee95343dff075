//! Follower of a journal: reads the events of a run while the recorder writes them.
//!
//! The recorder only counts the bytes of whole lines and wakes the follower; it never waits for one. A follower reads the
//! file itself, so that a slow one costs no memory. Start reading at [`JournalFollower::next_line`].

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::lock::locked;
use crate::storage::StoredFile;

/// Bytes that are read at a time.
const READ_BYTES: usize = 256 << 10;

/// Reader of a journal that grows. [`EventWriter::follow_journal`](crate::EventWriter::follow_journal) makes it.
pub struct JournalFollower {
    growth: Arc<JournalGrowth>,
    file: Box<dyn StoredFile>,
    /// Offset of the first event in the file.
    events_offset: u64,
    /// Bytes of events that were read from the file.
    read_bytes: u64,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were returned, or belong to a line that is skipped.
    used: usize,
    /// True while the rest of a line that is too long is skipped.
    is_skipping: bool,
    max_line_bytes: usize,
}

/// Line of a journal, without its line feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowedLine<'l> {
    /// Text of the line; of one that is too long, its beginning.
    pub text: &'l [u8],
    /// True if the text is all of the line.
    pub is_whole: bool,
}

/// Progress of a journal, shared by the journal and its followers.
#[derive(Default)]
struct JournalGrowth {
    state: Mutex<GrowthState>,
    grown: Condvar,
}

#[derive(Default)]
struct GrowthState {
    /// Bytes of events in the file, all of whole lines.
    bytes: u64,
    /// File in the place of one that was removed and written again.
    replaced: Option<Box<dyn StoredFile>>,
    /// True once nothing more is written.
    is_closed: bool,
}

/// The journal's end of a [`JournalFollower`]. Dropping it tells the follower that nothing more will come.
pub(crate) struct JournalGrowthSender(Arc<JournalGrowth>);

impl JournalGrowthSender {
    /// Tells the follower how many bytes of events the file has.
    pub(crate) fn set_bytes(&self, bytes: u64) {
        locked(&self.0.state).bytes = bytes;
        self.0.grown.notify_all();
    }

    /// Gives the follower the file that the journal is written to from now on.
    pub(crate) fn replace_file(&self, file: Box<dyn StoredFile>) {
        locked(&self.0.state).replaced = Some(file);
    }
}

impl JournalGrowth {
    fn close(&self) {
        locked(&self.state).is_closed = true;
        self.grown.notify_all();
    }
}

impl Drop for JournalGrowthSender {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Handle by which another thread ends a [`JournalFollower`].
#[derive(Clone)]
pub struct FollowerStop(Arc<JournalGrowth>);

impl FollowerStop {
    /// Lets the follower return the lines that are written by now, and no more.
    pub fn stop(&self) {
        self.0.close();
    }
}

impl JournalFollower {
    /// Makes a follower of a journal that has `bytes` bytes of events from `events_offset` on, and the journal's end of it.
    pub(crate) fn new(
        file: Box<dyn StoredFile>,
        events_offset: u64,
        bytes: u64,
        max_line_bytes: usize,
    ) -> (Self, JournalGrowthSender) {
        let growth = Arc::new(JournalGrowth::default());
        let sender = JournalGrowthSender(Arc::clone(&growth));
        sender.set_bytes(bytes);
        let (read_bytes, buffer, used, is_skipping) = (0, Vec::new(), 0, false);
        (Self { growth, file, events_offset, read_bytes, buffer, used, is_skipping, max_line_bytes }, sender)
    }

    /// Returns a handle by which another thread ends this follower.
    pub fn stop_handle(&self) -> FollowerStop {
        FollowerStop(Arc::clone(&self.growth))
    }

    /// Waits for the next event, and returns its line; `None` once the journal is closed and all of it was returned.
    ///
    /// # Errors
    /// If the file cannot be read, or is shorter than what was written.
    pub fn next_line(&mut self) -> io::Result<Option<FollowedLine<'_>>> {
        let mut searched = self.used;
        loop {
            let rest = self.buffer.get(searched..).unwrap_or_default();
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n').map(|at| searched + at) {
                let start = std::mem::replace(&mut self.used, end + 1);
                if std::mem::take(&mut self.is_skipping) {
                    searched = self.used;
                    continue;
                }
                let text = self.buffer.get(start..end).unwrap_or_default();
                return Ok(Some(FollowedLine { text, is_whole: true }));
            }
            searched = self.buffer.len();
            if self.is_skipping {
                self.used = searched;
            }
            self.buffer.drain(..self.used);
            searched -= std::mem::take(&mut self.used);
            if self.buffer.len() > self.max_line_bytes {
                self.is_skipping = true;
                self.used = self.buffer.len();
                let text = self.buffer.get(..self.max_line_bytes).unwrap_or_default();
                return Ok(Some(FollowedLine { text, is_whole: false }));
            }
            if !self.read_more()? {
                return Ok(None);
            }
        }
    }

    /// Waits until there is more to read, and appends a piece of it to the buffer. Returns false if there never will be.
    fn read_more(&mut self) -> io::Result<bool> {
        let state = locked(&self.growth.state);
        let is_waiting = |state: &mut GrowthState| state.bytes <= self.read_bytes && !state.is_closed;
        let mut state =
            self.growth.grown.wait_while(state, is_waiting).unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = state.replaced.take() {
            self.file = file;
        }
        let left = usize::try_from(state.bytes.saturating_sub(self.read_bytes)).unwrap_or(usize::MAX);
        drop(state);
        if left == 0 {
            return Ok(false);
        }
        let before = self.buffer.len();
        self.buffer.resize(before + left.min(READ_BYTES), 0);
        let piece = self.buffer.get_mut(before..).unwrap_or_default();
        let length = loop {
            match self.file.read_at(self.events_offset + self.read_bytes, piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                length => break length,
            }
        };
        let length = length.inspect_err(|_| self.buffer.truncate(before))?;
        self.buffer.truncate(before + length);
        self.read_bytes += length as u64;
        if length == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(true) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Disk, OpenMode, Storage as _, append_all};
    use std::io::Write as _;

    /// Journal file, with the ends of a follower.
    struct Followed {
        file: std::fs::File,
        follower: JournalFollower,
        sender: Option<JournalGrowthSender>,
        bytes: u64,
        folder: tempfile::TempDir,
    }

    impl Followed {
        fn new(max_line_bytes: usize) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("journal");
            let mut file = std::fs::File::create(&path).unwrap();
            file.write_all(b"head\n").unwrap();
            let stored = Disk.open(&path, OpenMode::Existing).unwrap();
            let (follower, sender) = JournalFollower::new(stored, 5, 0, max_line_bytes);
            Self { file, follower, sender: Some(sender), bytes: 0, folder }
        }

        fn write(&mut self, text: &str) {
            self.file.write_all(text.as_bytes()).unwrap();
            self.bytes += text.len() as u64;
            self.sender.as_ref().unwrap().set_bytes(self.bytes);
        }

        fn next(&mut self) -> Option<(String, bool)> {
            let line = self.follower.next_line().unwrap();
            line.map(|line| (String::from_utf8_lossy(line.text).into_owned(), line.is_whole))
        }
    }

    #[test]
    fn lines_come_as_they_are_written_until_the_end() {
        let mut journal = Followed::new(8);
        journal.write("a\nbb\n");
        assert_eq!(journal.next(), Some(("a".into(), true)));
        assert_eq!(journal.next(), Some(("bb".into(), true)));
        journal.write("\nc\n");
        assert_eq!(journal.next(), Some((String::new(), true)));
        // Half a line is in the file, and not in the count.
        journal.file.write_all(b"half").unwrap();
        journal.follower.stop_handle().stop();
        assert_eq!(journal.next(), Some(("c".into(), true)));
        assert_eq!(journal.next(), None);
        assert_eq!(journal.next(), None);
    }

    /// The journal appends to the same open file, whose offset both handles share.
    #[test]
    fn a_follower_reads_while_another_thread_appends() {
        const LINES: u64 = 20_000;
        let folder = tempfile::tempdir().unwrap();
        let mut file =
            Disk.open(&folder.path().join("journal"), OpenMode::New(crate::durable::Readers::Owner)).unwrap();
        let (mut follower, sender) = JournalFollower::new(file.reopen().unwrap(), 0, 0, 100);
        let writer = std::thread::spawn(move || {
            let mut bytes = 0;
            for at in 0..LINES {
                let line = format!("{at}\n");
                append_all(&mut *file, &mut [io::IoSlice::new(line.as_bytes())]).unwrap();
                bytes += line.len() as u64;
                sender.set_bytes(bytes);
            }
        });
        for at in 0..LINES {
            let text = at.to_string();
            let line = follower.next_line().unwrap();
            assert_eq!(line, Some(FollowedLine { text: text.as_bytes(), is_whole: true }));
        }
        assert_eq!(follower.next_line().unwrap(), None);
        writer.join().unwrap();
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_and_the_next_is_whole() {
        let mut journal = Followed::new(4);
        let long = "x".repeat(3 * READ_BYTES);
        journal.write(&format!("a\n{long}\nb\n12345\n1234\n"));
        drop(journal.sender.take());
        let lines = std::iter::from_fn(|| journal.next()).collect::<Vec<_>>();
        let whole = |text: &str| (text.to_owned(), true);
        assert_eq!(
            lines,
            [whole("a"), ("xxxx".into(), false), whole("b"), whole("12345"), whole("1234")],
            "a line that was read as a whole before its length mattered is returned"
        );
    }

    #[test]
    fn a_file_that_was_written_again_is_read_on_and_one_that_was_cut_is_an_error() {
        let mut journal = Followed::new(8);
        journal.write("a\n");
        assert_eq!(journal.next(), Some(("a".into(), true)));
        let again = journal.folder.path().join("again");
        std::fs::write(&again, "head\na\nb\n").unwrap();
        let sender = journal.sender.as_ref().unwrap();
        sender.replace_file(Disk.open(&again, OpenMode::Existing).unwrap());
        sender.set_bytes(4);
        assert_eq!(journal.next(), Some(("b".into(), true)));
        sender_of(&journal).set_bytes(9);
        assert_eq!(journal.follower.next_line().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    fn sender_of(journal: &Followed) -> &JournalGrowthSender {
        journal.sender.as_ref().unwrap()
    }
}
