//! The write-ahead log: raw observations, written before the bytes in them are passed on.
//!
//! Masking, hashing and chaining take longer than a byte should wait. So an observation is first appended here, by one
//! system call, and its bytes are passed on; the journal follows. A kill in between loses nothing: [`read`] returns the
//! observations.
//!
//! The log holds secrets that the journal masks. It therefore lies in memory only (a tmpfs, closed to other users), and
//! observations that are journaled are wiped. A machine without such a file system has no log; front ends then wait for
//! the journal. Start reading at [`Wal::append`].

use std::fs::{self, DirBuilder, File};
use std::io::{self, IoSlice, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::durable::Readers;
use crate::exchange::StepId;
use crate::lock::locked;
use crate::observation::{JournalPosition, Observation};
use crate::run_id::RunId;
use crate::storage::{OpenMode, Storage, StoredFile, append_all};
use crate::wal::frame::HEAD_BYTES;

mod frame;
mod logged_journal;
mod logged_run;
mod orphans;
mod wal_dir;

pub(crate) use logged_journal::LostEvents;
pub use logged_journal::{JournalMark, LoggedJournal};
pub use logged_run::LoggedRun;
pub use orphans::remove_orphans;
pub(crate) use orphans::{has_recorder, is_refused, mark_refused};
pub use wal_dir::WalDir;

/// Bytes after which a new segment begins, so that an old one can be dropped when everything that began in it is
/// journaled.
const SEGMENT_BYTES: u64 = 16 << 20;

/// Bytes of a segment that holds nothing but its first mark, with the number of events and the hash of the last one.
const EMPTY_SEGMENT_BYTES: usize = HEAD_BYTES + 8 + 1 + 4 * 8 + 32;

/// Bytes that stay allocated when a segment is wiped, to be overwritten. New pages would cost the next write more than
/// the write itself.
const RETAINED_BYTES: usize = 64 << 10;

static ZEROS: [u8; RETAINED_BYTES] = [0; RETAINED_BYTES];

/// Extension of segments, and of the file with the known secrets.
const EXTENSION: &str = "wal";

/// Returns the name of a segment's file.
fn segment_name(number: u64) -> String {
    format!("{number:08}.{EXTENSION}")
}

/// Returns the number of a segment by its path; `None` for other files.
fn segment_number(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

/// Returns the paths of the segments in the folder of a log, and of the file with the known secrets, in no order.
fn segment_paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<io::Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == EXTENSION));
    Ok(paths)
}

/// Name of the file with the known secrets.
const SECRETS_FILE: &str = "known.wal";

/// Write-ahead log of one run. Methods may be called from any thread.
pub struct Wal {
    storage: Arc<dyn Storage>,
    folder: PathBuf,
    writer: Mutex<WalWriter>,
}

/// Open segments of a log, under the lock of the [`Wal`].
struct WalWriter {
    storage: Arc<dyn Storage>,
    segments: Vec<WalSegment>,
    /// File about the run, kept open: its lock tells other recorders that this log is in use.
    _run_file: Box<dyn StoredFile>,
    next_segment: u64,
    /// Frames that are being built, without their long parts.
    scratch: Vec<u8>,
    /// True after a failure. Nothing is written any more then, since frames behind half a frame cannot be read.
    has_failed: bool,
    max_segment_bytes: u64,
    /// Number of the last job in the journal, and the end of the journal then. Every segment begins with this mark.
    journaled: (u64, JournalPosition),
}

/// File of a log. Recovery reads segments in the order of their numbers.
struct WalSegment {
    path: PathBuf,
    file: Box<dyn StoredFile>,
    bytes: u64,
    /// Ids of exchanges and notes that began in this segment and are not journaled.
    open_ids: Vec<u64>,
}

impl Wal {
    /// Creates the log of a run whose journal ends at `position`.
    pub fn create(
        storage: Arc<dyn Storage>,
        dir: &WalDir,
        run_id: RunId,
        run: &LoggedRun,
        position: JournalPosition,
    ) -> io::Result<Self> {
        let folder = dir.run_path(run_id);
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder)?;
        let path = folder.join(logged_run::FILE_NAME);
        let mut run_file = storage.open(&path, OpenMode::New(Readers::Owner))?;
        // Locked before it says anything: a log of which nothing is known is left alone.
        while run_file.lock().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
        append_all(&mut *run_file, &mut [IoSlice::new(&run.to_json())])?;
        let mut log = WalWriter {
            storage: Arc::clone(&storage),
            segments: Vec::new(),
            _run_file: run_file,
            next_segment: 0,
            scratch: Vec::new(),
            has_failed: false,
            max_segment_bytes: SEGMENT_BYTES,
            journaled: (0, position),
        };
        log.open_segment(&folder)?;
        Ok(Self { storage, folder, writer: Mutex::new(log) })
    }

    /// Appends an observation about the exchange or note `id`. The operating system has it when this returns.
    ///
    /// # Errors
    /// Any error of the file system. The log is closed then: later calls return [`io::ErrorKind::BrokenPipe`].
    pub fn append(&self, id: u64, entry: &Observation<'_>) -> io::Result<()> {
        self.lock().append(&self.folder, &[(id, entry)])
    }

    /// Appends observations about `id` by one system call.
    pub fn append_each(&self, id: u64, entries: &[Observation<'_>]) -> io::Result<()> {
        let entries: Vec<(u64, &Observation<'_>)> = entries.iter().map(|entry| (id, entry)).collect();
        self.lock().append(&self.folder, &entries)
    }

    /// Returns true after a failure. Nothing is written any more then.
    pub fn has_failed(&self) -> bool {
        self.lock().has_failed
    }

    /// Marks all jobs up to `job` as journaled, with the journal's end at `position`. `steps` are the steps that
    /// exchanges got in the journal since the last mark.
    pub fn mark_journaled(
        &self,
        job: u64,
        position: JournalPosition,
        steps: &[(u64, StepId)],
    ) -> io::Result<()> {
        let mut log = self.lock();
        // Marks with a step repeat the old position: if the log is torn among them, the jobs after it must not count as
        // journaled.
        let (job_before, before) = log.journaled;
        let mark = |(id, step): &(u64, StepId)| {
            (*id, Observation::Journaled { job: job_before, position: before, step: Some(*step) })
        };
        let mut marks: Vec<(u64, Observation<'_>)> = steps.iter().map(mark).collect();
        marks.push((0, Observation::Journaled { job, position, step: None }));
        let marks: Vec<(u64, &Observation<'_>)> = marks.iter().map(|(id, entry)| (*id, entry)).collect();
        let written = log.append(&self.folder, &marks);
        // Set after writing: a segment that begins on the way must not claim more than the segment before it.
        log.journaled = (job, position);
        written
    }

    /// Keeps a secret for as long as the log exists, since a recovery must mask it too.
    pub fn append_secret(&self, rule: &str, value: &[u8]) -> io::Result<()> {
        let mut log = self.lock();
        log.scratch.clear();
        let known = Observation::KnownSecret { rule: rule.into(), value: value.into() };
        let bulk = frame::write(&mut log.scratch, 0, &known)?;
        let written = self.storage.open(&self.folder.join(SECRETS_FILE), OpenMode::NewOrExisting).and_then(
            |mut file| append_all(&mut *file, &mut [IoSlice::new(&log.scratch), IoSlice::new(bulk)]),
        );
        // Frames behind half a frame cannot be read, and a recovery cannot mask a secret that it does not know.
        log.has_failed |= written.is_err();
        written
    }

    /// Releases exchanges and notes that are over and journaled. Segments in which nothing is open are dropped.
    pub fn release(&self, ids: &[u64]) {
        let mut log = self.lock();
        for segment in &mut log.segments {
            segment.open_ids.retain(|open| !ids.contains(open));
        }
        if !log.has_failed {
            log.drop_released();
        }
    }

    /// Removes the log, once everything is journaled or the log has failed.
    pub fn remove(&self) -> io::Result<()> {
        let mut log = self.lock();
        log.has_failed = true;
        log.segments.clear();
        // Renamed first, in one step: a log that lost only its newer segments would be recovered as if it were
        // complete.
        let gone = wal_dir::removal_path(&self.folder);
        match self.storage.rename(&self.folder, &gone) {
            Ok(()) => self.storage.remove_folder(&gone),
            Err(_) => self.storage.remove_folder(&self.folder),
        }
    }

    /// Locks the writer.
    fn lock(&self) -> MutexGuard<'_, WalWriter> {
        // A panic in the middle of a write leaves `has_failed` set.
        locked(&self.writer)
    }
}

impl WalWriter {
    fn append(&mut self, folder: &Path, entries: &[(u64, &Observation<'_>)]) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::from(io::ErrorKind::BrokenPipe));
        }
        let is_full = self.segments.last().is_none_or(|last| last.bytes >= self.max_segment_bytes);
        let written = if is_full { self.open_segment(folder) } else { Ok(()) };
        written.and_then(|()| self.write(entries)).inspect_err(|_| self.has_failed = true)
    }

    /// Begins a new segment, and drops the old ones in which nothing is open.
    fn open_segment(&mut self, folder: &Path) -> io::Result<()> {
        let path = folder.join(segment_name(self.next_segment));
        let file = self.storage.open(&path, OpenMode::Rewritable)?;
        self.next_segment += 1;
        self.segments.push(WalSegment { path, file, bytes: 0, open_ids: Vec::new() });
        self.begin_segment()?;
        self.drop_released();
        Ok(())
    }

    /// Writes the mark that every segment begins with.
    fn begin_segment(&mut self) -> io::Result<()> {
        let (job, position) = self.journaled;
        self.write(&[(0, &Observation::Journaled { job, position, step: None })])
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
        segment.open_ids.extend(entries.iter().filter(|(_, entry)| entry.is_required()).map(|(id, _)| *id));
        Ok(())
    }

    /// Drops the oldest segments in which nothing is open, and wipes the current one if nothing is open in it.
    fn drop_released(&mut self) {
        let over = self.segments.iter().take_while(|segment| segment.open_ids.is_empty()).count();
        for segment in self.segments.drain(..over.min(self.segments.len().saturating_sub(1))) {
            // A segment that cannot be removed is read by a recovery, which finds that all of it is journaled.
            let _ = self.storage.remove(&segment.path);
        }
        if over > 0
            && let [only] = self.segments.as_mut_slice()
            && only.open_ids.is_empty()
            && only.bytes > EMPTY_SEGMENT_BYTES as u64
        {
            let emptied = only.wipe(self.journaled, &mut self.scratch);
            self.has_failed |= emptied.is_err();
        }
    }
}

impl WalSegment {
    /// Wipes the segment but for a new first mark. A reader finds all of the old content or none of it, at any moment:
    /// zeros are no frame.
    fn wipe(&mut self, (job, position): (u64, JournalPosition), scratch: &mut Vec<u8>) -> io::Result<()> {
        scratch.clear();
        frame::write(scratch, 0, &Observation::Journaled { job, position, step: None })?;
        let used = usize::try_from(self.bytes).unwrap_or(RETAINED_BYTES);
        let wiped = ZEROS.get(scratch.len()..used.min(RETAINED_BYTES)).unwrap_or_default();
        self.file.set_write_offset(0)?;
        append_all(&mut *self.file, &mut [IoSlice::new(scratch), IoSlice::new(wiped)])?;
        if used > RETAINED_BYTES {
            self.file.set_length(RETAINED_BYTES as u64)?;
        }
        self.bytes = scratch.len() as u64;
        self.file.set_write_offset(self.bytes)
    }
}

/// Reads the log of a run, in the order in which it was written, and passes each observation and its id to `take`.
/// Returns false if there is no log. A torn frame ends its segment: no bytes behind it were passed on.
pub fn read(dir: &WalDir, run_id: RunId, mut take: impl FnMut(u64, Observation<'_>)) -> io::Result<bool> {
    let folder = dir.run_path(run_id);
    let mut segments = match segment_paths(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        segments => segments?,
    };
    // Known secrets first, then the segments by their numbers.
    segments.sort_by_key(|path| (!path.ends_with(SECRETS_FILE), path.clone()));
    let mut body = Vec::new();
    for path in segments {
        let mut file = io::BufReader::new(File::open(&path)?);
        let mut left = file.get_ref().metadata()?.len();
        loop {
            let mut head = [0; HEAD_BYTES];
            if left < HEAD_BYTES as u64 {
                break;
            }
            file.read_exact(&mut head)?;
            left -= HEAD_BYTES as u64;
            let (length, sum) = frame::read_head(head);
            // A frame is never empty: a length of 0 is where wiped bytes begin.
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

/// Removes the log of a run, once it is recovered. No error if there is none.
pub fn remove_run(dir: &WalDir, run_id: RunId) -> io::Result<()> {
    let folder = dir.run_path(run_id);
    // Renamed first, as in [`Wal::remove`].
    let gone = wal_dir::removal_path(&folder);
    let folder = if fs::rename(&folder, &gone).is_ok() { gone } else { folder };
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
