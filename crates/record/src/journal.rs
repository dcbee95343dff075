//! The journal: chained events, one a line, each on its way to the disk before anyone is told that it was recorded.

use core::time::Duration;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reenact_formats::rer::Version;
use reenact_formats::rer::seal::{Links, NewEvent};
use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Limits};

use crate::clock::{self, Clock};
use crate::error::RecordError;
use crate::event::EventType;
use crate::payload::{self, Payload};
use crate::randomness::Salts;
use crate::surroundings::Surroundings;

/// The version of all that we write.
pub(crate) const VERSION: Version = Version::V02;

/// No journal is longer: with its frame it must still be a document that can be read.
const LONGEST: u64 = (Limits::LARGEST - (16 << 20)) as u64;

/// What the end of a run may take beyond that.
const RESERVE: u64 = 1 << 20;

/// Room for one event that is kept from event to event.
const SCRATCH: usize = 1 << 20;

pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    links: Links,
    next_index: u64,
    /// Of everything that was written. Whoever changes the file does not change this.
    hash: Hasher,
    bytes: u64,
    clock: Arc<dyn Clock>,
    latest: Duration,
    salts: Salts,
    payload: Vec<u8>,
    line: Vec<u8>,
    /// How long it may become.
    longest: u64,
    /// The first error of writing, given again to all that comes after it.
    failed: Option<RecordError>,
}

/// Whether an event may take of the room that is kept for the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Common,
    Reserve,
}

impl Journal {
    /// Begins a journal in a file that is not there yet.
    pub(crate) fn create(path: &Path, surroundings: &Surroundings) -> Result<Self, RecordError> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|error| RecordError::io(path, &error))?;
        Ok(Self::over(file, path, surroundings))
    }

    pub(crate) fn over(file: File, path: &Path, surroundings: &Surroundings) -> Self {
        Self {
            file,
            path: path.to_owned(),
            links: Links::new(VERSION),
            next_index: 0,
            hash: Hasher::new(),
            bytes: 0,
            clock: Arc::clone(&surroundings.clock),
            latest: Duration::ZERO,
            salts: Salts::new(Arc::clone(&surroundings.randomness)),
            payload: Vec::new(),
            line: Vec::new(),
            longest: LONGEST,
            failed: None,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn events(&self) -> u64 {
        self.next_index
    }

    pub(crate) fn links(&self) -> &Links {
        &self.links
    }

    /// The first error of writing, if there was one.
    pub(crate) fn health(&self) -> Result<(), RecordError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Writes an event. When this returns, the operating system has it: the recorder may be killed.
    pub(crate) fn append(
        &mut self,
        event_type: EventType,
        room: Room,
        members: impl FnOnce(&mut Payload<'_>),
    ) -> Result<(), RecordError> {
        self.health()?;
        let salt = self.salts.next()?;
        self.payload.clear();
        self.line.clear();
        payload::write(&mut self.payload, &salt, members);
        // Time does not go back, whatever the clock says.
        self.latest = self.latest.max(self.clock.now());
        let timestamp = clock::timestamp(self.latest);
        let event = NewEvent {
            step_index: self.next_index,
            event_type: event_type.name(),
            timestamp: &timestamp,
            payload: Some(&self.payload),
            redacted: false,
        };
        let mut links = self.links.clone();
        links.append(&event, &mut self.line)?;
        self.line.push(b'\n');
        let reserve = if room == Room::Reserve { RESERVE } else { 0 };
        if self.bytes + self.line.len() as u64 > self.longest + reserve {
            return Err(RecordError::Full { bytes: self.bytes });
        }
        if let Err(error) = self.file.write_all(&self.line) {
            // Half a line may be there: nothing may follow it.
            let error = RecordError::journal(&self.path, &error);
            self.failed = Some(error.clone());
            return Err(error);
        }
        self.links = links;
        self.next_index += 1;
        self.hash.put(&self.line);
        self.bytes += self.line.len() as u64;
        self.payload.shrink_to(SCRATCH);
        self.line.shrink_to(SCRATCH);
        Ok(())
    }

    /// Closes the running hash; gives what must be read back.
    pub(crate) fn finish(&mut self) -> Result<Written, RecordError> {
        self.health()?;
        self.file.sync_all().map_err(|error| {
            let error = RecordError::journal(&self.path, &error);
            self.failed = Some(error.clone());
            error
        })?;
        Ok(Written { digest: self.hash.finish(), bytes: self.bytes })
    }

    /// Reads the journal back, piece by piece, with commas between the events instead of line feeds. An error if it is not
    /// what was written; then what was given out is to be thrown away.
    pub(crate) fn read_back(
        &mut self,
        written: &Written,
        mut take: impl FnMut(&[u8]) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        let failed = |error| RecordError::io(&self.path, &error);
        let changed = || RecordError::JournalChanged { path: self.path.to_string_lossy().into_owned() };
        if !self.has_its_name() {
            return Err(changed());
        }
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut hasher = Hasher::new();
        let mut left = written.bytes;
        let mut buffer = vec![0; 256 << 10];
        loop {
            let length = match file.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                length => length.map_err(failed)?,
            };
            let piece = buffer.get_mut(..length).unwrap_or_default();
            if piece.is_empty() {
                break;
            }
            left = left.checked_sub(length as u64).ok_or_else(changed)?;
            hasher.put(piece);
            // The chain's events hold no line feed of their own: canonical JSON spells it as an escape.
            for byte in piece.iter_mut().filter(|byte| **byte == b'\n') {
                *byte = b',';
            }
            // The last line feed stands between nothing.
            let kept = length - usize::from(left == 0);
            take(piece.get(..kept).unwrap_or_default())?;
        }
        if left == 0 && hasher.finish() == written.digest { Ok(()) } else { Err(changed()) }
    }

    /// Whether the journal's name still leads to the file that we wrote.
    fn has_its_name(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let identity = |found: std::fs::Metadata| (found.dev(), found.ino());
            let named = self.path.symlink_metadata().map(identity).ok();
            named.is_some() && named == self.file.metadata().map(identity).ok()
        }
        #[cfg(not(unix))]
        self.path.is_file()
    }
}

/// What was written in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;
    use reenact_formats::rer::time;

    /// A journal in a file of its own, gone when it is dropped.
    struct Fresh(PathBuf);

    impl Fresh {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("reenact-journal-{}-{name}", std::process::id()));
            let _ = std::fs::remove_file(&path);
            Self(path)
        }
    }

    impl Drop for Fresh {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn gap(payload: &mut Payload<'_>) {
        payload.salt();
    }

    /// A clock that someone turns back.
    struct Erratic(std::sync::Mutex<Vec<u64>>);

    impl Clock for Erratic {
        fn now(&self) -> Duration {
            Duration::from_secs(self.0.lock().unwrap().pop().unwrap())
        }
    }

    #[test]
    fn time_does_not_go_back() {
        let fresh = Fresh::new("clock");
        let clock = Arc::new(Erratic(std::sync::Mutex::new(vec![4, 2, 3])));
        let surroundings = Surroundings { clock, ..Surroundings::default() };
        let mut journal = Journal::create(&fresh.0, &surroundings).unwrap();
        for _ in 0..3 {
            journal.append(EventType::CaptureGap, Room::Common, gap).unwrap();
        }
        let text = std::fs::read_to_string(&fresh.0).unwrap();
        let seconds: Vec<&str> = text
            .lines()
            .map(|line| line.rsplit("T00:00:").next().unwrap().split('.').next().unwrap())
            .collect();
        assert_eq!(seconds, ["03", "03", "04"]);
        for line in text.lines() {
            let timestamp = line.rsplit("\"timestamp\":\"").next().unwrap().trim_end_matches("\"}");
            assert!(time::is_event_timestamp(timestamp.as_bytes()), "{timestamp}");
        }
    }

    /// Every write to this device fails, as on a disk without room.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_write_that_fails_closes_the_journal() {
        let path = Path::new("/dev/full");
        let file = OpenOptions::new().read(true).append(true).open(path).unwrap();
        let mut journal = Journal::over(file, path, &Surroundings::default());
        let first = journal.append(EventType::CaptureGap, Room::Common, gap).unwrap_err();
        assert!(
            matches!(&first, RecordError::Journal { kind: io::ErrorKind::StorageFull, path, .. } if path == "/dev/full"),
            "{first:?}"
        );
        // The first error is told again, though the disk may have room by now.
        journal.file = OpenOptions::new().append(true).open("/dev/null").unwrap();
        assert_eq!(journal.append(EventType::CaptureGap, Room::Common, gap), Err(first.clone()));
        assert_eq!((journal.events(), journal.bytes()), (0, 0));
        assert_eq!(journal.finish(), Err(first.clone()));
        let mut ledger = Ledger::new(journal);
        assert_eq!(ledger.append(EventType::CaptureGap, gap), Err(first.clone()));
        assert_eq!(ledger.end(|_, payload| payload.salt()), Err(first));
    }

    #[test]
    fn a_journal_that_is_full_says_so_once_and_can_end() {
        let fresh = Fresh::new("full");
        let mut journal = Journal::create(&fresh.0, &Surroundings::default()).unwrap();
        journal.append(EventType::RunStarted, Room::Common, gap).unwrap();
        let bytes = journal.bytes();
        journal.longest = bytes;
        let mut ledger = Ledger::new(journal);
        assert_eq!(ledger.append(EventType::ErrorRaised, gap), Err(RecordError::Full { bytes }));
        let with_gap = ledger.counts();
        assert_eq!((with_gap.events, with_gap.gaps, with_gap.errors), (2, 1, 0));
        let bytes = with_gap.bytes;
        assert_eq!(ledger.append(EventType::ErrorRaised, gap), Err(RecordError::Full { bytes }));
        assert_eq!(ledger.counts(), with_gap);
        ledger.end(|_, payload| payload.salt()).unwrap();
        assert_eq!(ledger.counts().events, 3);
    }

    #[test]
    fn what_is_read_back_is_what_was_written() {
        let fresh = Fresh::new("back");
        let mut journal = Journal::create(&fresh.0, &Surroundings::default()).unwrap();
        for _ in 0..2_000 {
            journal.append(EventType::CaptureGap, Room::Common, gap).unwrap();
        }
        let written = journal.finish().unwrap();
        let text = std::fs::read_to_string(&fresh.0).unwrap();
        assert!(text.len() > 512 << 10, "more than one piece");
        let mut events = Vec::new();
        journal
            .read_back(&written, |piece| {
                events.extend_from_slice(piece);
                Ok(())
            })
            .unwrap();
        assert_eq!(String::from_utf8(events).unwrap(), text.trim_end().replace('\n', ","));
    }
}
