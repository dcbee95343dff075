//! The journal: chained events, one a line, each on its way to the disk before anyone is told that it was recorded.

use core::time::Duration;
use std::borrow::Cow;
use std::io::{self, IoSlice, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reenact_formats::rer::seal::{EventFrame, Links, NewEvent};
use reenact_formats::rer::{EventType, EventView, Version, time};
use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Limits, Value};

use crate::clock::{self, Clock};
use crate::durable::{self, Readers};
use crate::error::RecordError;
use crate::journal::long::{Hashed, Writing};
use crate::payload::{self, Overflow, Payload};
use crate::salt::Salts;
use crate::storage::{Opening, Reading, Storage, Stored, append_all};
use crate::surroundings::Surroundings;

mod long;

/// The version of all that we write.
pub(crate) const VERSION: Version = Version::V02;

/// No journal is longer: with its frame it must still be a document that can be read.
pub(crate) const LONGEST: u64 = (Limits::LARGEST - (16 << 20)) as u64;

/// What the end of a run may take beyond that.
pub(crate) const RESERVE: u64 = 1 << 20;

/// How often it is looked whether the journal is still where it was.
const LOOK: Duration = Duration::from_millis(100);

/// Room for one event that is kept from event to event.
pub(crate) const SCRATCH: usize = 1 << 20;

pub(crate) struct Journal {
    storage: Arc<dyn Storage>,
    file: Box<dyn Stored>,
    path: PathBuf,
    links: Links,
    next_index: u64,
    /// Of all events that were written. Whoever changes the file does not change this.
    hash: Hasher,
    bytes: u64,
    /// Where the events begin, behind the head. All counting and hashing begins there too.
    start: u64,
    clock: Arc<dyn Clock>,
    latest: Duration,
    /// When it was last found in its place.
    looked: Duration,
    /// When what is written next did happen; `None` for now.
    moment: Option<Duration>,
    salts: Salts,
    payload: Vec<u8>,
    line: Vec<u8>,
    /// How long it may become.
    longest: u64,
    /// The first error of writing, given again to all that comes after it.
    failed: Option<RecordError>,
    /// Whether the disk has the names of the folders that lead to it.
    is_name_synced: bool,
}

/// Whether an event may take of the room that is kept for the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Common,
    Reserve,
}

impl Journal {
    /// Begins a journal in a file that is not there yet, with a line that names its run.
    pub(crate) fn create(path: &Path, head: &[u8], surroundings: &Surroundings) -> Result<Self, RecordError> {
        let mut file = surroundings
            .storage
            .open(path, Opening::New(Readers::Owner))
            .map_err(|error| RecordError::io(path, &error))?;
        // Whoever looks whether the run is under way holds the lock for a moment, and finds nothing yet to go on with. Where
        // files cannot be locked, runs are recorded all the same.
        while file.lock().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
        append_all(&mut *file, &mut [IoSlice::new(head)])
            .map_err(|error| RecordError::journal(path, &error))?;
        Ok(Self::over(file, path, head.len() as u64, surroundings))
    }

    /// A journal without events in a file that is open, of which the first bytes are not ours to read.
    pub(crate) fn over(file: Box<dyn Stored>, path: &Path, start: u64, surroundings: &Surroundings) -> Self {
        Self {
            storage: Arc::clone(&surroundings.storage),
            file,
            path: path.to_owned(),
            links: Links::new(VERSION),
            next_index: 0,
            hash: Hasher::new(),
            bytes: 0,
            start,
            clock: Arc::clone(&surroundings.clock),
            latest: Duration::ZERO,
            looked: Duration::ZERO,
            moment: None,
            salts: Salts::new(Arc::clone(&surroundings.randomness)),
            payload: Vec::new(),
            line: Vec::new(),
            longest: LONGEST,
            failed: None,
            is_name_synced: false,
        }
    }

    /// Takes up an event that is in the file already, as if it were written now. `end` is the chain with it.
    pub(crate) fn take_up(&mut self, line: &[u8], end: &ChainEnd) {
        self.links = end.links.clone();
        self.next_index = end.next_index;
        self.latest = end.latest;
        self.hash.put(line);
        self.bytes += line.len() as u64;
    }

    /// Cuts off what stands behind the events, for good.
    pub(crate) fn cut(&mut self) -> Result<(), RecordError> {
        let end = self.start + self.bytes;
        self.file
            .set_length(end)
            .and_then(|()| self.file.sync_all())
            .map_err(|error| RecordError::journal(&self.path, &error))
    }

    /// Says when what is written from now on did happen; `None` for the moment in which it is written.
    pub(crate) fn happened(&mut self, moment: Option<Duration>) {
        self.moment = moment;
    }

    /// Where it is kept.
    pub(crate) fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.storage)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
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
        members: impl Fn(&mut Payload<'_>),
    ) -> Result<(), RecordError> {
        self.append_as(event_type, room, false, members)
    }

    /// The same, its payload withheld if that is said: then only the payload's hash is written. A payload that is too long to be
    /// held is written twice, first to be hashed.
    pub(crate) fn append_as(
        &mut self,
        event_type: EventType,
        room: Room,
        withheld: bool,
        members: impl Fn(&mut Payload<'_>),
    ) -> Result<(), RecordError> {
        self.health()?;
        let salt = self.salts.next()?;
        self.payload.clear();
        self.line.clear();
        let mut hashed = Hashed { hasher: Hasher::new(), bytes: 0, failed: Ok(()) };
        let is_canonical = payload::write(&mut self.payload, &mut hashed, &salt, &members);
        let long = (hashed.bytes > 0).then(|| {
            hashed.take(&mut self.payload);
            (hashed.hasher.finish(), hashed.bytes)
        });
        hashed.failed.map_err(|error| RecordError::io(&self.path, &error))?;
        // Time does not go back, whatever the clock says.
        self.latest = self.latest.max(self.moment.unwrap_or_else(|| self.clock.now()));
        self.stay()?;
        let timestamp = clock::timestamp(self.latest);
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
                // Only a number whose canonical text may be another one has the payload read again.
                match is_canonical {
                    true => links.append_canonical(&event, &mut self.line)?,
                    false => links.append(&event, &mut self.line)?,
                };
                self.write_line(room)?;
            }
            Some((digest, _)) if withheld => {
                links.append_withheld(&event, digest, &mut self.line)?;
                self.write_line(room)?;
            }
            Some((digest, bytes)) => {
                let EventFrame { before, mut after } = links.append_around(&event, digest)?;
                after.push(b'\n');
                self.has_room((before.len() + after.len()) as u64 + bytes, room)?;
                self.write_long(&before, digest, &after, |held, overflow| {
                    payload::write(held, overflow, &salt, &members);
                })?;
            }
        }
        self.links = links;
        self.next_index += 1;
        self.payload.shrink_to(SCRATCH);
        self.line.shrink_to(SCRATCH);
        Ok(())
    }

    /// Writes the line that was made.
    fn write_line(&mut self, room: Room) -> Result<(), RecordError> {
        self.line.push(b'\n');
        self.has_room(self.line.len() as u64, room)?;
        let written = append_all(&mut *self.file, &mut [IoSlice::new(&self.line)]);
        // Half a line may be there: nothing may follow it.
        self.lost_by(written)?;
        self.hash.put(&self.line);
        self.bytes += self.line.len() as u64;
        Ok(())
    }

    /// Whether a line of that length may follow.
    fn has_room(&self, length: u64, room: Room) -> Result<(), RecordError> {
        let reserve = if room == Room::Reserve { RESERVE } else { 0 };
        let fits = self.bytes + length <= self.longest + reserve;
        if fits { Ok(()) } else { Err(RecordError::Full { bytes: self.bytes }) }
    }

    /// Writes a line whose payload comes in pieces. What was written of it when something fails may not be followed by anything.
    fn write_long(
        &mut self,
        before: &[u8],
        digest: Digest,
        after: &[u8],
        payload: impl FnOnce(&mut Vec<u8>, &mut Writing<'_>),
    ) -> Result<(), RecordError> {
        let mut held = std::mem::take(&mut self.payload);
        let mut line = Writing {
            file: &mut *self.file,
            hash: &mut self.hash,
            bytes: 0,
            hasher: Hasher::new(),
            failed: Ok(()),
        };
        held.clear();
        line.put(before);
        payload(&mut held, &mut line);
        line.take(&mut held);
        line.put(after);
        let Writing { bytes, mut hasher, failed, .. } = line;
        self.payload = held;
        // What was read twice must have been the same both times.
        let same = hasher.finish() == digest;
        let written =
            failed.and_then(|()| if same { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) });
        self.lost_by(written)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Returns when the disk has all that was written, and the names that lead to it. An error closes the journal: what the disk
    /// has then nobody knows, and asking again would not tell.
    pub(crate) fn sync(&mut self) -> Result<(), RecordError> {
        self.health()?;
        let synced = self.file.sync_data().and_then(|()| self.sync_names());
        self.lost_by(synced)
    }

    /// Closes the running hash; gives what must be read back.
    pub(crate) fn finish(&mut self) -> Result<Written, RecordError> {
        self.health()?;
        if self.path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let rescued = self.rescue();
            self.lost_by(rescued)?;
        }
        let synced = self.file.sync_all().and_then(|()| self.sync_names());
        self.lost_by(synced)?;
        Ok(Written { digest: self.hash.finish(), bytes: self.bytes })
    }

    /// Looks now and then whether the journal is still in its place. A file that was removed takes all that is written into it, and
    /// is gone when this process is: it is written anew. Where that cannot be, and where something else is in its place, the
    /// journal has ended.
    fn stay(&mut self) -> Result<(), RecordError> {
        let was_looked_at = self.looked;
        if self.latest.saturating_sub(was_looked_at) < LOOK {
            return Ok(());
        }
        self.looked = self.latest;
        // Before its first event it was opened there.
        if was_looked_at.is_zero() || self.file.is_at(&self.path) {
            return Ok(());
        }
        match self.path.symlink_metadata() {
            Ok(_) => {
                let changed = RecordError::JournalChanged { path: self.path.to_string_lossy().into_owned() };
                self.failed = Some(changed.clone());
                Err(changed)
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                let rescued = self.rescue();
                self.lost_by(rescued)
            }
            // What cannot be looked at may well be there.
            Err(_) => Ok(()),
        }
    }

    /// An error of the disk is the journal's end.
    fn lost_by(&mut self, done: io::Result<()>) -> Result<(), RecordError> {
        done.map_err(|error| {
            let error = RecordError::journal(&self.path, &error);
            self.failed = Some(error.clone());
            error
        })
    }

    /// Has the disk keep the names that lead to the file, once.
    fn sync_names(&mut self) -> io::Result<()> {
        if !self.is_name_synced {
            // The file, its run's folder, the folder of runs, and ours.
            let mut names = self.path.ancestors().take(4);
            names.try_for_each(|name| durable::sync_name(&*self.storage, name))?;
            self.is_name_synced = true;
        }
        Ok(())
    }

    /// Someone removed the journal, as by cleaning up the project's folder: what it held is still in the open file, and is
    /// written anew where it was.
    fn rescue(&mut self) -> io::Result<()> {
        // As when the run began: a link could lead anywhere.
        if self.path.ancestors().skip(1).take(3).any(Path::is_symlink) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if let Some(folder) = self.path.parent() {
            durable::create_private_folder(folder)?;
        }
        let mut file = self.storage.open(&self.path, Opening::New(Readers::Owner))?;
        while file.lock().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
        let mut reader = Reading::new(self.file.again()?, 0).take(self.start + self.bytes);
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
        self.file = file;
        self.is_name_synced = false;
        Ok(())
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
        if !self.file.is_at(&self.path) {
            return Err(changed());
        }
        let mut at = self.start;
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
}

/// Where a chain of events ends that is in a file: what the next one must be bound to.
#[derive(Clone)]
pub(crate) struct ChainEnd {
    links: Links,
    next_index: u64,
    latest: Duration,
    /// An event as it would be written. What lies in the file must be the same.
    again: Vec<u8>,
}

impl ChainEnd {
    pub(crate) fn new() -> Self {
        Self { links: Links::new(VERSION), next_index: 0, latest: Duration::ZERO, again: Vec::new() }
    }

    /// Moves on by a line, without its line feed; gives the event's type and payload, if that is not withheld. `None`, and
    /// nothing has moved, if the line is not what we would write for that event in this place: hashes, canonical form, order and
    /// time included.
    pub(crate) fn advance<'l>(&mut self, line: &'l [u8]) -> Option<(Cow<'l, str>, Option<Value<'l>>)> {
        let event = EventView::of(Value::parse(line, &Limits::default()).ok()?);
        let (event_type, payload) = (event.event_type?.string()?, event.payload);
        let timestamp = event.timestamp?.string()?;
        let moment = moment(&timestamp).filter(|moment| *moment >= self.latest)?;
        let same = NewEvent {
            step_index: self.next_index,
            event_type: &event_type,
            timestamp: &timestamp,
            payload: payload.map(|payload| payload.text()),
            redacted: false,
        };
        let mut links = self.links.clone();
        self.again.clear();
        match payload {
            Some(_) => links.append(&same, &mut self.again).ok()?,
            None => {
                let hash = Digest::from_hex(&event.payload_hash?.string()?)?;
                links.append_withheld(&same, hash, &mut self.again).ok()?
            }
        };
        if self.again != line {
            return None;
        }
        self.again.shrink_to(SCRATCH);
        self.links = links;
        self.next_index += 1;
        self.latest = moment;
        Some((event_type, payload))
    }
}

/// The moment that a timestamp of ours names.
fn moment(timestamp: &str) -> Option<Duration> {
    let nanoseconds = u128::try_from(time::instant(timestamp)?).ok()?;
    Some(Duration::from_nanos_u128(nanoseconds)).filter(|moment| clock::timestamp(*moment) == timestamp)
}

/// What was written in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
}

#[cfg(test)]
mod tests;
