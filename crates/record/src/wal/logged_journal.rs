//! [`LoggedJournal`]: what a log knows of the journal, to compare the journal with when a run is resumed.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use reenact_json::Digest;

use super::logged_run::{self, LoggedRun};
use super::{WalDir, frame};
use crate::observation::{JournalPosition, Observation};
use crate::run_id::RunId;

/// Marks of a log, by which a journal is found to be what its recorder wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggedJournal {
    /// Folder of the log; `None` for a log that is no folder, in tests.
    folder: Option<PathBuf>,
    /// Hash of the first line of the journal, with its line feed.
    head: Option<Digest>,
    /// Marks that still hold, by ascending position.
    marks: Vec<JournalMark>,
    /// Events that a recovery before found to be lost, from the position of the last mark on.
    lost: Option<LostEvents>,
}

/// Number of events that were in a journal and are in no log; `None` if it is unknown.
pub(crate) type LostEvents = Option<u64>;

/// Mark of a log: all jobs up to `job` are in the journal before `position`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalMark {
    /// Number of the job.
    pub job: u64,
    /// Position in the journal.
    pub position: JournalPosition,
    /// True if the log has all jobs after this one, so that the journal can be continued from here.
    pub is_complete: bool,
}

impl LoggedJournal {
    /// Returns what the log of a run says of the journal's first line. The marks are added by the log's reader.
    pub fn open(dir: &WalDir, run_id: RunId) -> Self {
        let folder = dir.run_path(run_id);
        let head = LoggedRun::read(&folder.join(logged_run::FILE_NAME)).and_then(|run| run.journal_head);
        Self { folder: Some(folder), head, ..Self::default() }
    }

    /// Adds the next mark of the log.
    pub fn add_mark(&mut self, job: u64, position: JournalPosition) {
        // A mark that is repeated says the same again.
        self.marks.retain(|mark| mark.position.bytes < position.bytes);
        self.marks.push(JournalMark { job, position, is_complete: false });
    }

    /// Adds the mark of a recovery that found the journal shorter than the marks before say.
    pub fn add_cut(&mut self, job: u64, position: JournalPosition, lost: Option<u64>) {
        self.add_mark(job, position);
        // Nothing was lost if the count says so; a count that is unknown is a loss.
        self.lost = (lost != Some(0)).then_some(lost);
    }

    /// Marks as complete the marks whose later jobs are all in the log: those from job `complete_from` on.
    pub fn set_complete_from(&mut self, complete_from: u64) {
        for mark in &mut self.marks {
            mark.is_complete = mark.job >= complete_from;
        }
        if let Some(last) = self.marks.last_mut() {
            last.is_complete = true;
        }
    }

    /// Returns the last mark; `None` if the log has none.
    pub fn last(&self) -> Option<JournalMark> {
        self.marks.last().copied()
    }

    /// Returns the hash of the journal's first line.
    pub(crate) fn head(&self) -> Option<Digest> {
        self.head
    }

    /// Returns the events that an earlier recovery found to be lost.
    pub(crate) fn lost(&self) -> Option<LostEvents> {
        self.lost
    }

    /// Returns true if a mark contradicts an event that ends at `end`: the mark lies inside of the event, or names another
    /// hash. `begin` is the number of bytes of events before that event.
    pub(crate) fn contradicts(&self, begin: u64, end: JournalPosition) -> bool {
        let first = self.marks.partition_point(|mark| mark.position.bytes <= begin);
        self.marks.iter().skip(first).take_while(|mark| mark.position.bytes <= end.bytes).any(|mark| {
            let is_inside = mark.position.bytes < end.bytes;
            is_inside || mark.position.head.is_some_and(|head| end.head != Some(head))
        })
    }

    /// Returns the mark from which a journal that ends at `end`, before the last mark, is continued, and the events that
    /// are lost. The journal is kept up to the mark, or up to `end` if the mark lies behind.
    pub(crate) fn base_of(&self, end: JournalPosition) -> Option<(JournalMark, Option<LostEvents>)> {
        let complete = || self.marks.iter().filter(|mark| mark.is_complete);
        if let Some(before) = complete().rfind(|mark| mark.position.bytes <= end.bytes) {
            return Some((*before, None));
        }
        let behind = complete().find(|mark| mark.position.bytes > end.bytes)?;
        let events = end.head.map_or(0, |(events, _)| events);
        let lost = behind.position.head.map(|(written, _)| written.saturating_sub(events));
        let before = self.lost.map_or(Some(0), |lost| lost);
        Some((*behind, Some(lost.zip(before).map(|(lost, before)| lost + before))))
    }

    /// Writes into the log that a recovery goes on from `position`, with the jobs after `job`. A second recovery begins
    /// there again.
    ///
    /// # Errors
    /// Any error of the file system.
    pub(crate) fn write_cut(
        &self,
        job: u64,
        position: JournalPosition,
        lost: Option<LostEvents>,
    ) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let cut = Observation::JournalCut { job, position, lost: lost.unwrap_or(Some(0)) };
        let mut bytes = Vec::new();
        frame::write(&mut bytes, 0, &cut)?;
        // A segment of its own: the last one may end in half a frame, behind which nothing is read.
        let last = super::segment_paths(folder)?.iter().filter_map(|path| super::segment_number(path)).max();
        let path = folder.join(super::segment_name(last.map_or(0, |last| last + 1)));
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&path)?.write_all(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(bytes: u64, events: u64) -> JournalPosition {
        JournalPosition { bytes, head: Some((events, Digest::of(&events.to_le_bytes()))) }
    }

    fn marks(complete_from: u64) -> LoggedJournal {
        let mut log = LoggedJournal::default();
        for (job, at) in
            [(1, position(100, 1)), (1, position(100, 1)), (3, position(300, 3)), (6, position(600, 6))]
        {
            log.add_mark(job, at);
        }
        log.set_complete_from(complete_from);
        log
    }

    #[test]
    fn a_journal_is_compared_at_each_mark() {
        let log = marks(0);
        assert!(!log.contradicts(0, position(100, 1)));
        assert!(log.contradicts(0, position(100, 2)), "another event ends there");
        assert!(log.contradicts(0, position(101, 1)), "no event ends there");
        assert!(!log.contradicts(100, position(299, 2)));
        assert!(log.contradicts(299, position(301, 3)));
        assert!(!log.contradicts(600, position(700, 9)), "nothing is known of what follows");
        // A log of version 0.1 knows only where an event ends.
        let mut old = LoggedJournal::default();
        old.add_mark(1, JournalPosition { bytes: 100, head: None });
        assert!(!old.contradicts(0, position(100, 2)));
        assert!(old.contradicts(0, position(101, 1)));
    }

    #[test]
    fn what_the_log_has_is_written_again_and_the_rest_is_lost() {
        let base = |log: &LoggedJournal, end| log.base_of(end).map(|(mark, lost)| (mark.job, lost));
        let log = marks(1);
        assert_eq!(base(&log, position(100, 1)), Some((1, None)));
        assert_eq!(base(&log, position(599, 5)), Some((3, None)));
        assert_eq!(base(&log, JournalPosition { bytes: 0, head: None }), Some((1, Some(Some(1)))));
        // The log no longer has the jobs 2 to 6.
        let log = marks(6);
        assert_eq!(base(&log, position(400, 4)), Some((6, Some(Some(2)))));
        assert_eq!(base(&log, position(99, 0)), Some((6, Some(Some(6)))));
        let mut old = LoggedJournal::default();
        old.add_mark(1, JournalPosition { bytes: 100, head: None });
        old.set_complete_from(1);
        assert_eq!(base(&old, position(50, 1)), Some((1, Some(None))));
    }

    #[test]
    fn a_cut_takes_the_place_of_the_marks_behind_it() {
        let mut log = marks(6);
        log.add_cut(6, position(400, 4), Some(2));
        log.set_complete_from(6);
        assert_eq!(log.lost(), Some(Some(2)));
        assert_eq!(log.last().map(|mark| (mark.job, mark.position)), Some((6, position(400, 4))));
        assert!(!log.contradicts(400, position(700, 6)), "the mark behind is gone");
        // A second loss adds to the first.
        assert_eq!(log.base_of(position(200, 2)).map(|(_, lost)| lost), Some(Some(Some(4))));
        log.add_cut(6, position(400, 4), Some(0));
        assert_eq!(log.lost(), None);
    }
}
