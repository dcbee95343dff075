//! The journal: a file of chained events, one a line. The operating system has a line when the call that appended it
//! returns.
//!
//! Events are masked by `mask`, encoded by `payload` and linked here. A failed write closes the journal for good,
//! because nothing may follow half a line. Start reading at [`Journal::append_as`]; `resume` reads a journal back in by
//! [`ChainEnd`].

use core::time::Duration;
use std::borrow::Cow;
use std::io::{self, IoSlice, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reenact_formats::rer::seal::{EventFrame, EventHashChain, NewEvent};
use reenact_formats::rer::{EventType, RerEventView, RerVersion, time};
use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Limits, Value};

use crate::clock::{self, Clock};
use crate::durable::{self, Readers};
use crate::error::RecordError;
use crate::journal::long_payload::{HashingOverflow, WritingOverflow};
use crate::journal_follower::{JournalFollower, JournalGrowthSender};
use crate::observation::JournalPosition;
use crate::payload::{self, MaskedPayloadWriter, Overflow};
use crate::record_env::RecordEnv;
use crate::salt::Salts;
use crate::storage::{OpenMode, Storage, StoredFile, StoredFileReader, append_all};

mod long_payload;

/// Version of the RER format that is written.
pub(crate) const VERSION: RerVersion = RerVersion::V02;

/// Longest journal in bytes of events: with its frame it must still be a document that a verifier reads, so 16 MiB are
/// left.
pub(crate) const MAX_JOURNAL_BYTES: u64 = (Limits::MAX_BYTES - (16 << 20)) as u64;

/// Bytes beyond [`MAX_JOURNAL_BYTES`] that the end of a run may use.
pub(crate) const RESERVE_BYTES: u64 = 1 << 20;

/// Interval at which [`Journal::ensure_same_file`] looks at the file's name.
const LOCATION_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Capacity of the buffers that is kept from one event to the next, in bytes.
pub(crate) const SCRATCH_BYTES: usize = 1 << 20;

/// Journal of one run, open for appending. It has the chain so far, so that no event is read back to append the next
/// one.
///
/// An error of writing is final: `first_error` is set, and all later calls return it.
pub(crate) struct Journal {
    storage: Arc<dyn Storage>,
    file: Box<dyn StoredFile>,
    path: PathBuf,
    /// Hash links of the chain so far.
    links: EventHashChain,
    /// Index of the next event, which is the number of events so far.
    next_index: u64,
    /// The same number, for the masks.
    event_count: Arc<AtomicU64>,
    /// Hash of all events that were written. A change of the file does not change it, so [`Journal::read_back`] finds
    /// the change.
    running_hash: Hasher,
    /// Bytes of events so far, line feeds included.
    bytes: u64,
    /// Offset of the first event, behind the head. Counts and hashes begin there.
    events_offset: u64,
    /// Hash of the head, which the log compares it by.
    head_digest: Digest,
    clock: Arc<dyn Clock>,
    /// Time of the last event. Later events never have an earlier one.
    latest_time: Duration,
    /// Event time at which the file was last found under its name.
    last_location_check: Duration,
    /// Time of the events that are appended next; `None` for the time at which each is appended.
    event_time: Option<Duration>,
    /// Source of the salt in each payload.
    salts: Salts,
    /// Buffer for a payload, reused.
    payload: Vec<u8>,
    /// Buffer for a line, reused.
    line: Vec<u8>,
    /// Longest journal in bytes of events; smaller in tests.
    max_bytes: u64,
    /// First error of writing. Every later call returns it again.
    first_error: Option<RecordError>,
    /// True if the folders that lead to the file are flushed to the disk.
    is_name_synced: bool,
    /// Follower of the file, told of each event.
    growth: Option<JournalGrowthSender>,
}

/// Space that an event may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JournalSpace {
    /// The common space, for all events but the last ones.
    Common,
    /// Also the reserve, for the events that end a run and for the gap that says that the journal is full.
    Reserve,
}

impl Journal {
    /// Creates a journal in a new file, and writes its head. The file is locked for as long as it is open.
    pub(crate) fn create(path: &Path, head: &[u8], env: &RecordEnv) -> Result<Self, RecordError> {
        let mut file = env
            .storage
            .open(path, OpenMode::New(Readers::Owner))
            .map_err(|error| RecordError::io(path, &error))?;
        // A process that only looks whether the run is being recorded holds the lock for a moment, so this waits. On a
        // file system without locks the run is recorded all the same.
        while file.lock().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
        append_all(&mut *file, &mut [IoSlice::new(head)])
            .map_err(|error| RecordError::journal(path, &error))?;
        Ok(Self::from_file(file, path, head, env))
    }

    /// Returns a journal without events over an open file that begins with `head`.
    pub(crate) fn from_file(file: Box<dyn StoredFile>, path: &Path, head: &[u8], env: &RecordEnv) -> Self {
        Self {
            storage: Arc::clone(&env.storage),
            file,
            path: path.to_owned(),
            links: EventHashChain::new(VERSION),
            next_index: 0,
            event_count: Arc::default(),
            running_hash: Hasher::new(),
            bytes: 0,
            events_offset: head.len() as u64,
            head_digest: Digest::of(head),
            clock: Arc::clone(&env.clock),
            latest_time: Duration::ZERO,
            last_location_check: Duration::ZERO,
            event_time: None,
            salts: Salts::new(Arc::clone(&env.randomness)),
            payload: Vec::new(),
            line: Vec::new(),
            max_bytes: MAX_JOURNAL_BYTES,
            first_error: None,
            is_name_synced: false,
            growth: None,
        }
    }

    /// Takes over an event that is in the file already, as if it were appended now. `end` is the end of the chain with
    /// that event.
    pub(crate) fn resume_event(&mut self, line: &[u8], end: &ChainEnd) {
        self.links = end.links.clone();
        self.next_index = end.next_index;
        self.event_count.store(self.next_index, Ordering::Release);
        self.latest_time = end.latest_time;
        self.running_hash.put(line);
        self.bytes += line.len() as u64;
    }

    /// Truncates the file behind the last event, and flushes it to the disk.
    pub(crate) fn truncate(&mut self) -> Result<(), RecordError> {
        let end = self.events_offset + self.bytes;
        self.file
            .set_length(end)
            .and_then(|()| self.file.sync_all())
            .map_err(|error| RecordError::journal(&self.path, &error))
    }

    /// Sets the time of the events that are appended from now on; `None` for the time at which each is appended.
    pub(crate) fn set_event_time(&mut self, moment: Option<Duration>) {
        self.event_time = moment;
    }

    /// Returns the storage that the file is in.
    pub(crate) fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.storage)
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the bytes of events so far, without the head.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of events so far.
    pub(crate) fn events(&self) -> u64 {
        self.next_index
    }

    /// Returns the number of events, as it changes.
    pub(crate) fn event_count(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.event_count)
    }

    /// Returns a follower of the events, from the first one on. One that was made before gets no more.
    pub(crate) fn follow(&mut self, max_line_bytes: usize) -> io::Result<JournalFollower> {
        let file = self.file.reopen()?;
        let (follower, growth) = JournalFollower::new(file, self.events_offset, self.bytes, max_line_bytes);
        self.growth = Some(growth);
        Ok(follower)
    }

    /// Returns a reader of the events that were written, from the first one on.
    pub(crate) fn events_reader(&self) -> io::Result<impl Read + use<>> {
        Ok(StoredFileReader::new(self.file.reopen()?, self.events_offset).take(self.bytes))
    }

    /// Returns the end of the events so far, for the log.
    pub(crate) fn position(&self) -> JournalPosition {
        JournalPosition { bytes: self.bytes, head: self.links.head().map(|head| (self.next_index, head)) }
    }

    /// Returns the hash of the head.
    pub(crate) fn head_digest(&self) -> Digest {
        self.head_digest
    }

    /// Returns the hash links of the chain, which the seal is made of.
    pub(crate) fn links(&self) -> &EventHashChain {
        &self.links
    }

    /// Returns the first error of writing, if there was one.
    pub(crate) fn check_open(&self) -> Result<(), RecordError> {
        self.first_error.clone().map_or(Ok(()), Err)
    }

    /// Appends an event, with its payload. See [`Journal::append_as`].
    pub(crate) fn append(
        &mut self,
        event_type: EventType,
        space: JournalSpace,
        members: impl Fn(&mut MaskedPayloadWriter<'_>),
    ) -> Result<(), RecordError> {
        self.append_as(event_type, space, false, members)
    }

    /// Appends an event. If `withheld`, only the hash of its payload is written. `members` writes the payload, and is
    /// called twice for one that is too long to be held in memory: first to be hashed, then to be written.
    ///
    /// When this returns `Ok`, the operating system has the line: the recorder may be killed.
    pub(crate) fn append_as(
        &mut self,
        event_type: EventType,
        space: JournalSpace,
        withheld: bool,
        members: impl Fn(&mut MaskedPayloadWriter<'_>),
    ) -> Result<(), RecordError> {
        self.check_open()?;
        let salt = self.salts.next()?;
        self.payload.clear();
        self.line.clear();
        let mut hashed = HashingOverflow { payload_hash: Hasher::new(), bytes: 0, result: Ok(()) };
        let is_canonical = payload::write(&mut self.payload, &mut hashed, &salt, &members);
        let long = (hashed.bytes > 0).then(|| {
            hashed.drain(&mut self.payload);
            (hashed.payload_hash.finish(), hashed.bytes)
        });
        hashed.result.map_err(|error| RecordError::io(&self.path, &error))?;
        // Time does not go back in a record, whatever the clock says.
        self.latest_time = self.latest_time.max(self.event_time.unwrap_or_else(|| self.clock.now()));
        self.ensure_same_file()?;
        let timestamp = clock::timestamp(self.latest_time);
        let event = NewEvent {
            step_index: self.next_index,
            event_type: event_type.name(),
            timestamp: &timestamp,
            payload: Some(&self.payload),
            redacted: withheld,
        };
        let mut links = self.links.clone();
        match long {
            None => {
                // Numbers beyond 2^53 and decimals may have another canonical text: only then is the payload parsed and
                // written again.
                match is_canonical {
                    true => links.append_canonical(&event, &mut self.line)?,
                    false => links.append(&event, &mut self.line)?,
                };
                self.write_line(space)?;
            }
            Some((digest, _)) if withheld => {
                links.append_withheld(&event, digest, &mut self.line)?;
                self.write_line(space)?;
            }
            Some((digest, bytes)) => {
                let EventFrame { before, mut after } = links.append_framed(&event, digest)?;
                after.push(b'\n');
                self.check_space((before.len() + after.len()) as u64 + bytes, space)?;
                self.write_long_line(&before, digest, &after, |buffer, overflow| {
                    payload::write(buffer, overflow, &salt, &members);
                })?;
            }
        }
        self.links = links;
        self.next_index += 1;
        self.event_count.store(self.next_index, Ordering::Release);
        if let Some(growth) = &self.growth {
            growth.set_bytes(self.bytes);
        }
        self.payload.shrink_to(SCRATCH_BYTES);
        self.line.shrink_to(SCRATCH_BYTES);
        Ok(())
    }

    /// Appends the line in `self.line`.
    fn write_line(&mut self, space: JournalSpace) -> Result<(), RecordError> {
        self.line.push(b'\n');
        self.check_space(self.line.len() as u64, space)?;
        let written = append_all(&mut *self.file, &mut [IoSlice::new(&self.line)]);
        // Part of the line may be in the file: an error closes the journal.
        self.close_on_error(written)?;
        self.running_hash.put(&self.line);
        self.bytes += self.line.len() as u64;
        Ok(())
    }

    /// Checks that a line of `length` bytes may follow.
    fn check_space(&self, length: u64, space: JournalSpace) -> Result<(), RecordError> {
        let reserve = if space == JournalSpace::Reserve { RESERVE_BYTES } else { 0 };
        let fits = self.bytes + length <= self.max_bytes + reserve;
        if fits { Ok(()) } else { Err(RecordError::Full { bytes: self.bytes }) }
    }

    /// Appends a line whose payload comes in pieces. After a failure part of the line is in the file, so the journal is
    /// closed.
    fn write_long_line(
        &mut self,
        before: &[u8],
        digest: Digest,
        after: &[u8],
        payload: impl FnOnce(&mut Vec<u8>, &mut WritingOverflow<'_>),
    ) -> Result<(), RecordError> {
        let mut buffer = std::mem::take(&mut self.payload);
        let mut line = WritingOverflow {
            file: &mut *self.file,
            journal_hash: &mut self.running_hash,
            bytes: 0,
            payload_hash: Hasher::new(),
            result: Ok(()),
        };
        buffer.clear();
        line.put(before);
        payload(&mut buffer, &mut line);
        line.drain(&mut buffer);
        line.put(after);
        let WritingOverflow { bytes, payload_hash: mut hasher, result: failed, .. } = line;
        self.payload = buffer;
        // The payload was made twice, for its hash and for the file. Both must be the same.
        let same = hasher.finish() == digest;
        let written =
            failed.and_then(|()| if same { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) });
        self.close_on_error(written)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Flushes the events and the names of the folders to the disk. An error closes the journal: the state of the disk
    /// is unknown then, and a second `fsync` would not tell.
    pub(crate) fn sync(&mut self) -> Result<(), RecordError> {
        self.check_open()?;
        let synced = self.file.sync_data().and_then(|()| self.sync_names());
        self.close_on_error(synced)
    }

    /// Flushes everything to the disk, and returns the length and hash that [`Journal::read_back`] must find. A file
    /// that was removed is restored first.
    pub(crate) fn finish(&mut self) -> Result<JournalDigest, RecordError> {
        self.check_open()?;
        if self.path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let rescued = self.restore_removed();
            self.close_on_error(rescued)?;
        }
        let synced = self.file.sync_all().and_then(|()| self.sync_names());
        self.close_on_error(synced)?;
        Ok(JournalDigest { digest: self.running_hash.finish(), bytes: self.bytes })
    }

    /// Checks now and then that the file is still under its name. A file that was removed still takes all writes, and
    /// is gone with this process: it is written again. If that fails, or if another file has the name, the journal is
    /// closed.
    fn ensure_same_file(&mut self) -> Result<(), RecordError> {
        let was_looked_at = self.last_location_check;
        if self.latest_time.saturating_sub(was_looked_at) < LOCATION_CHECK_INTERVAL {
            return Ok(());
        }
        self.last_location_check = self.latest_time;
        // At the first event the file was opened just before.
        if was_looked_at.is_zero() || self.file.is_linked_at(&self.path) {
            return Ok(());
        }
        match self.path.symlink_metadata() {
            Ok(_) => {
                let changed = RecordError::JournalChanged { path: self.path.to_string_lossy().into_owned() };
                self.first_error = Some(changed.clone());
                Err(changed)
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                let rescued = self.restore_removed();
                self.close_on_error(rescued)
            }
            // An error other than "not found" does not mean that the file is gone.
            Err(_) => Ok(()),
        }
    }

    /// Closes the journal if `done` is an error.
    fn close_on_error(&mut self, done: io::Result<()>) -> Result<(), RecordError> {
        done.map_err(|error| {
            let error = RecordError::journal(&self.path, &error);
            self.first_error = Some(error.clone());
            error
        })
    }

    /// Flushes the folders that lead to the file, once, so that its name survives a crash.
    fn sync_names(&mut self) -> io::Result<()> {
        if !self.is_name_synced {
            // The file, the run's folder, `runs`, and the folder of runs.
            let mut names = self.path.ancestors().take(4);
            names.try_for_each(|name| durable::sync_parent_folder(&*self.storage, name))?;
            self.is_name_synced = true;
        }
        Ok(())
    }

    /// Writes a removed journal again, in its old place, from the file that is still open. Somebody may have cleaned up
    /// the project's folder.
    fn restore_removed(&mut self) -> io::Result<()> {
        // A link could lead anywhere; none was allowed when the run began either.
        if self.path.ancestors().skip(1).take(3).any(Path::is_symlink) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if let Some(folder) = self.path.parent() {
            durable::create_private_folder(folder)?;
        }
        let mut file = self.storage.open(&self.path, OpenMode::New(Readers::Owner))?;
        while file.lock().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
        let mut reader = StoredFileReader::new(self.file.reopen()?, 0).take(self.events_offset + self.bytes);
        let mut buffer = vec![0; 256 << 10];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(length) => {
                    let piece = buffer.get(..length).unwrap_or_default();
                    append_all(&mut *file, &mut [IoSlice::new(piece)])?;
                }
            }
        }
        if let Some(growth) = &self.growth {
            growth.replace_file(file.reopen()?);
        }
        self.file = file;
        self.is_name_synced = false;
        Ok(())
    }

    /// Removes the file, and flushes that to the disk. If its name is gone already, or belongs to another file by now,
    /// nothing is removed.
    pub(crate) fn remove(&mut self) -> io::Result<()> {
        if !self.file.is_linked_at(&self.path) {
            return Ok(());
        }
        self.storage.remove(&self.path)?;
        durable::sync_parent_folder(&*self.storage, &self.path)
    }

    /// Reads the journal back, in pieces, with commas instead of line feeds between the events, as the artifact has
    /// them.
    ///
    /// # Errors
    /// [`RecordError::JournalChanged`] if the file is not what was written. The pieces that `take` got are worthless
    /// then.
    pub(crate) fn read_back(
        &mut self,
        written: &JournalDigest,
        mut take: impl FnMut(&[u8]) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        let failed = |error| RecordError::io(&self.path, &error);
        let changed = || RecordError::JournalChanged { path: self.path.to_string_lossy().into_owned() };
        if !self.file.is_linked_at(&self.path) {
            return Err(changed());
        }
        let mut at = self.events_offset;
        let mut hasher = Hasher::new();
        let mut left = written.bytes;
        let mut buffer = vec![0; 256 << 10];
        loop {
            let length = match self.file.read_at(at, &mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                length => length.map_err(failed)?,
            };
            let piece = buffer.get_mut(..length).unwrap_or_default();
            if piece.is_empty() {
                break;
            }
            at += length as u64;
            left = left.checked_sub(length as u64).ok_or_else(changed)?;
            hasher.put(piece);
            // An event has no line feed of its own: canonical JSON escapes it.
            for byte in piece.iter_mut().filter(|byte| **byte == b'\n') {
                *byte = b',';
            }
            // No comma follows the last event.
            let complete = length - usize::from(left == 0);
            take(piece.get(..complete).unwrap_or_default())?;
        }
        if left == 0 && hasher.finish() == written.digest { Ok(()) } else { Err(changed()) }
    }
}

/// End of a chain of events in a file: everything that the next event is bound to.
#[derive(Clone)]
pub(crate) struct ChainEnd {
    links: EventHashChain,
    next_index: u64,
    latest_time: Duration,
    /// The event as it would be written here; the line in the file must be the same.
    reencoded: Vec<u8>,
}

impl ChainEnd {
    /// Returns the end of an empty chain.
    pub(crate) fn new() -> Self {
        Self {
            links: EventHashChain::new(VERSION),
            next_index: 0,
            latest_time: Duration::ZERO,
            reencoded: Vec::new(),
        }
    }

    /// Returns the number of events, and the hash of the last one; `None` before the first event.
    pub(crate) fn head(&self) -> Option<(u64, Digest)> {
        self.links.head().map(|head| (self.next_index, head))
    }

    /// Advances by a line, given without its line feed, and returns the event's type and its payload, if that is not
    /// withheld. Returns `None`, and does not move, if the line is not exactly what would be written for that event in
    /// this place: hashes, canonical form, order and time included.
    pub(crate) fn advance<'l>(&mut self, line: &'l [u8]) -> Option<(Cow<'l, str>, Option<Value<'l>>)> {
        let event = RerEventView::of(Value::parse(line, &Limits::default()).ok()?);
        let (event_type, payload) = (event.event_type?.string()?, event.payload);
        let timestamp = event.timestamp?.string()?;
        let moment = timestamp_instant(&timestamp).filter(|moment| *moment >= self.latest_time)?;
        let same = NewEvent {
            step_index: self.next_index,
            event_type: &event_type,
            timestamp: &timestamp,
            payload: payload.map(|payload| payload.text()),
            redacted: false,
        };
        let mut links = self.links.clone();
        self.reencoded.clear();
        match payload {
            Some(_) => links.append(&same, &mut self.reencoded).ok()?,
            None => {
                let hash = Digest::from_hex(&event.payload_hash?.string()?)?;
                links.append_withheld(&same, hash, &mut self.reencoded).ok()?
            }
        };
        if self.reencoded != line {
            return None;
        }
        self.reencoded.shrink_to(SCRATCH_BYTES);
        self.links = links;
        self.next_index += 1;
        self.latest_time = moment;
        Some((event_type, payload))
    }
}

/// Returns the time of a timestamp, if it has the form in which this program writes timestamps.
fn timestamp_instant(timestamp: &str) -> Option<Duration> {
    let nanoseconds = u128::try_from(time::instant(timestamp)?).ok()?;
    Some(Duration::from_nanos_u128(nanoseconds)).filter(|moment| clock::timestamp(*moment) == timestamp)
}

/// Length and hash of a journal's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JournalDigest {
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
}

#[cfg(test)]
mod tests;
