//! The write-ahead log: observations as they are, before the bytes in them pass on.
//!
//! Masking, hashing and chaining take longer than a byte should wait. So an observation is first written here, by one call to
//! the operating system, and its bytes pass on; the journal follows. A kill in between loses nothing: [`read`] returns the
//! observations.
//!
//! The log holds secrets that the journal masks. It therefore lies in memory only (a tmpfs, closed to others), and observations
//! that are in the journal are wiped. A machine without such memory has no log; front ends then wait for the journal.

use std::fs::{self, DirBuilder, File};
use std::io::{self, IoSlice, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::exchange::StepId;
use crate::lock::locked;
use crate::observation::Observation;
use crate::run_id::RunId;
use crate::storage::{Disk, Opening, Storage, Stored, append_all};
use crate::wal::frame::HEAD;

mod frame;
mod place;

pub use place::Place;

/// Bytes after which a segment is closed, so that it can be dropped when all that began in it is over.
const SEGMENT: u64 = 16 << 20;

/// Bytes of a segment that holds nothing but its first mark.
const EMPTY: usize = HEAD + 8 + 1 + 3 * 8;

/// Bytes that stay allocated when a segment is emptied: they are wiped, and written over. New pages would cost the next write
/// more than the write itself.
const ROOM: usize = 64 << 10;

static WIPED: [u8; ROOM] = [0; ROOM];

/// Name of the file with the values that are known to be secret.
const KNOWN: &str = "known.wal";

/// The log of one run.
pub struct Wal {
    storage: Arc<dyn Storage>,
    folder: PathBuf,
    log: Mutex<Log>,
}

struct Log {
    storage: Arc<dyn Storage>,
    segments: Vec<Segment>,
    next: u64,
    /// Frames being built, without their long parts.
    scratch: Vec<u8>,
    /// True after a failure: nothing is written any more, since frames behind half a frame cannot be read.
    has_failed: bool,
    longest: u64,
    /// Last job in the journal, and the bytes of events that the journal had then. Every segment begins with this mark.
    journaled: (u64, u64),
}

struct Segment {
    path: PathBuf,
    file: Box<dyn Stored>,
    bytes: u64,
    /// Exchanges and notes that began in this segment and are not in the journal.
    open: Vec<u64>,
}

impl Wal {
    /// Begins the log of a run whose journal has that many bytes of events.
    pub fn create(place: &Place, run_id: RunId, bytes: u64) -> io::Result<Self> {
        Self::create_in(Arc::new(Disk), place, run_id, bytes)
    }

    /// Begins the log in another storage.
    pub fn create_in(
        storage: Arc<dyn Storage>,
        place: &Place,
        run_id: RunId,
        bytes: u64,
    ) -> io::Result<Self> {
        place.sweep();
        let folder = place.run(run_id);
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder)?;
        let mut log = Log {
            storage: Arc::clone(&storage),
            segments: Vec::new(),
            next: 0,
            scratch: Vec::new(),
            has_failed: false,
            longest: SEGMENT,
            journaled: (0, bytes),
        };
        log.open_segment(&folder)?;
        Ok(Self { storage, folder, log: Mutex::new(log) })
    }

    /// Writes an observation about `id`. The operating system has it when this returns. After an error nothing more is written.
    pub fn append(&self, id: u64, entry: &Observation<'_>) -> io::Result<()> {
        self.log().append(&self.folder, &[(id, entry)])
    }

    /// Writes observations about `id` by one call.
    pub fn append_each(&self, id: u64, entries: &[Observation<'_>]) -> io::Result<()> {
        let entries: Vec<(u64, &Observation<'_>)> = entries.iter().map(|entry| (id, entry)).collect();
        self.log().append(&self.folder, &entries)
    }

    /// Returns true after a failure. Nothing is written any more then.
    pub fn has_failed(&self) -> bool {
        self.log().has_failed
    }

    /// Marks all jobs up to `job` as written into the journal, which has `bytes` of events; `steps` are the steps that exchanges
    /// got there.
    pub fn journaled(&self, job: u64, bytes: u64, steps: &[(u64, StepId)]) -> io::Result<()> {
        let mut log = self.log();
        // Marks with a step repeat the old position: a log that ends among them must not count the rest as written.
        let (job_before, bytes_before) = log.journaled;
        let mark = |(id, step): &(u64, StepId)| {
            (*id, Observation::Journaled { job: job_before, bytes: bytes_before, step: Some(*step) })
        };
        let mut marks: Vec<(u64, Observation<'_>)> = steps.iter().map(mark).collect();
        marks.push((0, Observation::Journaled { job, bytes, step: None }));
        let marks: Vec<(u64, &Observation<'_>)> = marks.iter().map(|(id, entry)| (*id, entry)).collect();
        let written = log.append(&self.folder, &marks);
        // Not before: a segment that begins on the way must not know more than the one before it.
        log.journaled = (job, bytes);
        written
    }

    /// Keeps a secret for as long as the log is there, since recovery must mask it too.
    pub fn know(&self, rule: &str, value: &[u8]) -> io::Result<()> {
        let mut log = self.log();
        log.scratch.clear();
        let known = Observation::Known { rule: rule.into(), value: value.into() };
        let bulk = frame::write(&mut log.scratch, 0, &known)?;
        let written = self.storage.open(&self.folder.join(KNOWN), Opening::Either).and_then(|mut file| {
            append_all(&mut *file, &mut [IoSlice::new(&log.scratch), IoSlice::new(bulk)])
        });
        // Frames behind half a frame cannot be read, and a value that is not known cannot be masked.
        log.has_failed |= written.is_err();
        written
    }

    /// Tells that these exchanges and notes are over and in the journal. Segments in which nothing is open are dropped.
    pub fn over(&self, ids: &[u64]) {
        let mut log = self.log();
        for segment in &mut log.segments {
            segment.open.retain(|open| !ids.contains(open));
        }
        if !log.has_failed {
            log.drop_what_is_over();
        }
    }

    /// Removes the log, once everything is in the journal or the log has failed.
    pub fn remove(&self) -> io::Result<()> {
        let mut log = self.log();
        log.has_failed = true;
        log.segments.clear();
        // By one rename: of a log that lost only its newer part, too much would be recovered.
        let gone = place::gone(&self.folder);
        match self.storage.rename(&self.folder, &gone) {
            Ok(()) => self.storage.remove_folder(&gone),
            Err(_) => self.storage.remove_folder(&self.folder),
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        // A log that a panic left half-written is marked as failed.
        locked(&self.log)
    }
}

impl Log {
    fn append(&mut self, folder: &Path, entries: &[(u64, &Observation<'_>)]) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::from(io::ErrorKind::BrokenPipe));
        }
        let is_full = self.segments.last().is_none_or(|last| last.bytes >= self.longest);
        let written = if is_full { self.open_segment(folder) } else { Ok(()) };
        written.and_then(|()| self.write(entries)).inspect_err(|_| self.has_failed = true)
    }

    fn open_segment(&mut self, folder: &Path) -> io::Result<()> {
        let path = folder.join(format!("{:08}.wal", self.next));
        let file = self.storage.open(&path, Opening::Rewritable)?;
        self.next += 1;
        self.segments.push(Segment { path, file, bytes: 0, open: Vec::new() });
        self.begin_segment()?;
        self.drop_what_is_over();
        Ok(())
    }

    fn begin_segment(&mut self) -> io::Result<()> {
        let (job, bytes) = self.journaled;
        self.write(&[(0, &Observation::Journaled { job, bytes, step: None })])
    }

    fn write(&mut self, entries: &[(u64, &Observation<'_>)]) -> io::Result<()> {
        let Some(segment) = self.segments.last_mut() else {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        };
        self.scratch.clear();
        let mut frames = Vec::with_capacity(entries.len());
        for (id, entry) in entries {
            let bulk = frame::write(&mut self.scratch, *id, entry)?;
            frames.push((self.scratch.len(), bulk));
        }
        let (mut parts, mut rest, mut start) = (Vec::with_capacity(2 * frames.len()), &*self.scratch, 0);
        for (end, bulk) in frames {
            let (frame, after) = rest.split_at_checked(end - start).unwrap_or((rest, &[]));
            (rest, start) = (after, end);
            segment.bytes += (frame.len() + bulk.len()) as u64;
            parts.extend([IoSlice::new(frame), IoSlice::new(bulk)]);
        }
        append_all(&mut *segment.file, &mut parts)?;
        segment.open.extend(entries.iter().filter(|(_, entry)| entry.begins()).map(|(id, _)| *id));
        Ok(())
    }

    /// Drops the oldest segments in which nothing is open, and empties the current one.
    fn drop_what_is_over(&mut self) {
        let over = self.segments.iter().take_while(|segment| segment.open.is_empty()).count();
        for segment in self.segments.drain(..over.min(self.segments.len().saturating_sub(1))) {
            // A segment that stays is read by recovery, and found to be over.
            let _ = self.storage.remove(&segment.path);
        }
        if over > 0
            && let [only] = self.segments.as_mut_slice()
            && only.open.is_empty()
            && only.bytes > EMPTY as u64
        {
            let emptied = only.empty(self.journaled, &mut self.scratch);
            self.has_failed |= emptied.is_err();
        }
    }
}

impl Segment {
    /// Wipes the segment but for a new first mark. A reader at any moment finds all of the old content or none: wiped bytes are
    /// no frame.
    fn empty(&mut self, (job, bytes): (u64, u64), scratch: &mut Vec<u8>) -> io::Result<()> {
        scratch.clear();
        frame::write(scratch, 0, &Observation::Journaled { job, bytes, step: None })?;
        let used = usize::try_from(self.bytes).unwrap_or(ROOM);
        let wiped = WIPED.get(scratch.len()..used.min(ROOM)).unwrap_or_default();
        self.file.continue_at(0)?;
        append_all(&mut *self.file, &mut [IoSlice::new(scratch), IoSlice::new(wiped)])?;
        if used > ROOM {
            self.file.set_length(ROOM as u64)?;
        }
        self.bytes = scratch.len() as u64;
        self.file.continue_at(self.bytes)
    }
}

/// Reads the log of a run in the order in which it was written; returns false if there is none. A torn frame ends its segment:
/// no bytes behind it had passed on.
pub fn read(place: &Place, run_id: RunId, mut take: impl FnMut(u64, Observation<'_>)) -> io::Result<bool> {
    let folder = place.run(run_id);
    let mut segments: Vec<PathBuf> = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        entries => entries?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?,
    };
    segments.retain(|path| path.extension().is_some_and(|extension| extension == "wal"));
    // By their numbers, behind the known secrets.
    segments.sort_by_key(|path| (!path.ends_with(KNOWN), path.clone()));
    let mut body = Vec::new();
    for path in segments {
        let mut file = io::BufReader::new(File::open(&path)?);
        let mut left = file.get_ref().metadata()?.len();
        loop {
            let mut head = [0; HEAD];
            if left < HEAD as u64 {
                break;
            }
            file.read_exact(&mut head)?;
            left -= HEAD as u64;
            let (length, sum) = frame::read_head(head);
            // No frame is empty: wiped bytes begin here.
            if length == 0 || u64::from(length) > left {
                break;
            }
            left -= u64::from(length);
            body.resize(length as usize, 0);
            file.read_exact(&mut body)?;
            let Some((id, entry)) = frame::read(&body, sum) else { break };
            take(id, entry);
        }
    }
    Ok(true)
}

/// Removes the rest of a run's log, once it is recovered.
pub fn forget(place: &Place, run_id: RunId) -> io::Result<()> {
    match fs::remove_dir_all(place.run(run_id)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
