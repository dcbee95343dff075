//! Resuming a run whose recorder was killed: its journal is read, checked line by line, and continued.
//!
//! Each line is compared with the line that this program would write in its place, so a resumed run seals like any
//! other. Only one line is in memory at a time, with its re-encoded copy: a journal of any length takes the memory of
//! its longest event. A line that does not begin like an event, such as the zeros that a file system may leave after a
//! crash, is skipped without being buffered. With a log, each event is compared with the log's marks. Start
//! reading at `read_journal`.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use base64ct::{Base64, Encoding};
use reenact_formats::rer::EventType;
use reenact_formats::rer::seal::Signer;
use reenact_json::{Digest, Value};
use reenact_secrets::RulePack;

use crate::error::{RecordError, ResumeError};
use crate::journal::{self, ChainEnd, Journal};
use crate::journal_ends::{self, EVENT_PREFIX};
use crate::mask::Masks;
use crate::observation::JournalPosition;
use crate::outcome::MaskedRunEnd;
use crate::record_env::RecordEnv;
use crate::refusal;
use crate::run_id::RunId;
use crate::run_state::RunState;
use crate::run_store::RunStore;
use crate::start::JournalHead;
use crate::storage::{OpenMode, StoredFile, StoredFileReader};
use crate::wal::{LoggedJournal, LostEvents};
use crate::withhold::Withholding;

/// Journal that was checked, locked, and can be continued.
pub(crate) struct ResumedJournal {
    pub(crate) head: JournalHead,
    pub(crate) state: RunState,
    /// Bytes at the end of the file, behind the events that are kept.
    pub(crate) trailing_bytes: u64,
    /// Outcome in the event that ends the run, if there is one. That event is not among those that are kept.
    pub(crate) end: Option<MaskedRunEnd>,
    /// Length of that event in bytes; 0 if there is none.
    end_bytes: u64,
    /// True if a write-ahead log says how much of the journal to keep.
    pub(crate) has_log: bool,
    /// Events that the journal once had, by the log, and that are gone; `None` if there are none.
    pub(crate) lost: Option<LostEvents>,
}

/// Size of the read buffer, in bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// Returns the masks of a run, by the first line of its journal; the standard masks if that line cannot be read.
pub(crate) fn read_masks(store: &RunStore, run_id: RunId) -> Masks {
    // Errors are not lost: `read_journal` meets them again and reports them.
    let path = store.journal_path(run_id);
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let file = is_file.then(|| File::open(path).ok()).flatten();
    let head = file.and_then(|mut file| journal_ends::read_head(&mut file).ok().flatten());
    Masks::new(head.map_or_else(RulePack::standard, |head| head.redaction.pack()))
}

/// Reads a run's journal, and locks it. The file is not changed: truncating its end is left to the caller.
///
/// `log` returns what a write-ahead log knows of the journal; it is called after the lock was taken. A journal that
/// contradicts the log is refused for good. One that is shorter is continued from a mark of the log.
pub(crate) fn read_journal(
    store: &RunStore,
    run_id: RunId,
    signer: &dyn Signer,
    log: impl FnOnce() -> Option<LoggedJournal>,
    masks: &Masks,
    env: &RecordEnv,
) -> Result<ResumedJournal, ResumeError> {
    store.check_run(run_id)?;
    if store.is_refused(run_id) {
        return Err(ResumeError::Refused { run_id });
    }
    let path = store.journal_path(run_id);
    let failed = |error: io::Error| ResumeError::Record(RecordError::io(&path, &error));
    let file = open_locked(&path, run_id, env)?;
    let log = log().unwrap_or_default();
    let read = JournalReading { path: &path, run_id, signer, masks, env, log: &log };
    let resumed = read.run(file.reopen().map_err(failed)?, log.last().map(|mark| mark.position.bytes));
    let resumed = match resumed {
        Err(ResumeError::NotAsWritten { path: shown }) => {
            let written = log.last().and_then(|mark| mark.position.head);
            refusal::write(&path, &*env.storage, run_id, written);
            return Err(ResumeError::NotAsWritten { path: shown });
        }
        resumed => resumed?,
    };
    let (Some(last), end) = (log.last(), resumed.state.journal.position()) else { return Ok(resumed) };
    if end.bytes + resumed.end_bytes >= last.position.bytes {
        let mut resumed = resumed;
        resumed.lost = log.lost();
        resumed.state.resumed_job = Some(last.job);
        return Ok(resumed);
    }
    // The journal is shorter than the log says.
    let Some((base, lost)) = log.base_of(end) else { return Ok(resumed) };
    let mut resumed = match base.position.bytes < end.bytes {
        // The log has all that follows this mark: it is written again.
        true => read.run(file, Some(base.position.bytes))?,
        false => resumed,
    };
    let position = resumed.state.journal.position();
    // Written before the journal is touched, so that a recovery that is killed can be repeated.
    log.write_cut(base.job, position, lost).map_err(failed)?;
    resumed.lost = lost;
    resumed.state.resumed_job = Some(base.job);
    Ok(resumed)
}

/// Everything that one reading of a journal needs beside the file.
struct JournalReading<'r> {
    path: &'r Path,
    run_id: RunId,
    signer: &'r dyn Signer,
    masks: &'r Masks,
    env: &'r RecordEnv,
    log: &'r LoggedJournal,
}

impl JournalReading<'_> {
    /// Reads the journal from its beginning, and keeps its events up to `keep` bytes; all whole ones if that is `None`, or
    /// if there are fewer.
    fn run(&self, file: Box<dyn StoredFile>, keep: Option<u64>) -> Result<ResumedJournal, ResumeError> {
        let Self { path, masks, env, log, .. } = *self;
        let shown = || path.to_string_lossy().into_owned();
        let failed = |error: io::Error| ResumeError::Record(RecordError::io(path, &error));
        let mut reader =
            BufReader::with_capacity(BUFFER_BYTES, StoredFileReader::new(file.reopen().map_err(failed)?, 0));

        let mut line = Vec::new();
        (&mut reader).take(JournalHead::MAX_BYTES).read_until(b'\n', &mut line).map_err(failed)?;
        let start = line.len() as u64;
        if !line.ends_with(b"\n") {
            return Err(if start < JournalHead::MAX_BYTES {
                ResumeError::TornHead { path: shown() }
            } else {
                ResumeError::Head { path: shown() }
            });
        }
        if log.head().is_some_and(|head| head != Digest::of(&line)) {
            return Err(ResumeError::NotAsWritten { path: shown() });
        }
        let head = line.strip_suffix(b"\n").and_then(JournalHead::read);
        let head = head.filter(|head| head.run_id == self.run_id);
        let head = head.filter(|head| head.redaction.rules == masks.pack().custom_rules());
        let head = head.ok_or_else(|| ResumeError::Head { path: shown() })?;
        if head.key_id != self.signer.public_key().id().to_string() {
            return Err(RecordError::OtherSigner.into());
        }
        let length = file.length().map_err(failed)?;
        let bytes = length.saturating_sub(start);
        if bytes > journal::MAX_JOURNAL_BYTES + journal::RESERVE_BYTES {
            return Err(RecordError::Full { bytes }.into());
        }

        masks.reserve_marks(&line);
        let journal = Journal::from_file(file, path, &line, env);
        let mut state = RunState::new(journal);
        state.withholding = Withholding::new(head.redaction.withhold.clone());
        let mut events = JournalReplay {
            state,
            chain_end: ChainEnd::new(),
            read_bytes: 0,
            log,
            masks,
            head: &head,
            keep_bytes: keep,
            end: None,
            end_bytes: 0,
        };
        let mut lines = JournalLines { reader, line, has_zeros: false };
        let mut wrong = None;
        for number in 2.. {
            let found = lines.next_line().map_err(failed)?;
            if found == JournalLine::Eof {
                break;
            }
            if let Some(line) = wrong {
                // Only the last line may be wrong: it is the one that was being written.
                return Err(ResumeError::Changed { path: shown(), line });
            }
            match (found == JournalLine::Line).then(|| events.resume_line(&lines.line)).flatten() {
                Some(ResumedLine::Event) => {}
                Some(ResumedLine::OtherEnvelope) => return Err(ResumeError::Head { path: shown() }),
                Some(ResumedLine::NotAsWritten) => return Err(ResumeError::NotAsWritten { path: shown() }),
                // Zeros are pages that the disk never got when the machine stopped: the events behind them are bound to
                // what is lost.
                None if lines.has_zeros => break,
                None => wrong = Some(number),
            }
        }
        let JournalReplay { state, end, end_bytes, .. } = events;
        let journal_bytes = state.journal.bytes();
        // The recorder removes its log before it writes the end of the run: an end before the log's is another's.
        if end.is_some() && keep.is_some_and(|keep| journal_bytes + end_bytes < keep) {
            return Err(ResumeError::NotAsWritten { path: shown() });
        }
        let trailing_bytes = length.saturating_sub(start + journal_bytes);
        Ok(ResumedJournal {
            trailing_bytes,
            head,
            state,
            end,
            end_bytes,
            has_log: keep.is_some(),
            lost: None,
        })
    }
}

/// Opens a journal that is a regular file of this user, and locks out every other writer.
pub(crate) fn open_locked(
    path: &Path,
    run_id: RunId,
    env: &RecordEnv,
) -> Result<Box<dyn StoredFile>, ResumeError> {
    let shown = || path.to_string_lossy().into_owned();
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => ResumeError::NoJournal { path: shown() },
        _ => ResumeError::Record(RecordError::io(path, &error)),
    };
    let found = path.symlink_metadata().map_err(failed)?;
    RunStore::check_journal(path, &found)?;
    if !found.is_file() {
        return Err(ResumeError::NotAFile { path: shown() });
    }
    let file = env.storage.open(path, OpenMode::Existing).map_err(failed)?;
    // On a file system without locks, the user has to see to it that there is one writer.
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Err(ResumeError::Busy { run_id });
    }
    // The file that was opened must be the one that was checked: its name may have been given to another file
    // meanwhile.
    if !file.is_linked_at(path) {
        return Err(ResumeError::Record(RecordError::JournalChanged { path: shown() }));
    }
    Ok(file)
}

/// Result of replaying a line that is correct.
enum ResumedLine {
    /// The event was replayed, or lies behind the bytes to keep.
    Event,
    /// The event is the first one, and names another envelope than the head.
    OtherEnvelope,
    /// The event is not the one that the log says was written there.
    NotAsWritten,
}

/// Replay of the events that are in the journal into a [`RunState`].
struct JournalReplay<'r> {
    state: RunState,
    /// End of the chain over the whole file, also behind the bytes to keep.
    chain_end: ChainEnd,
    /// Bytes of the events in that chain.
    read_bytes: u64,
    log: &'r LoggedJournal,
    masks: &'r Masks,
    head: &'r JournalHead,
    keep_bytes: Option<u64>,
    /// Outcome in the event that ends the run, once that was met. Nothing may follow it.
    end: Option<MaskedRunEnd>,
    /// Length of that event in bytes.
    end_bytes: u64,
}

impl JournalReplay<'_> {
    /// Replays a line, given with its line feed; `None` if the line is wrong.
    fn resume_line(&mut self, line: &[u8]) -> Option<ResumedLine> {
        let (event_type, payload) = self.chain_end.advance(line.strip_suffix(b"\n")?)?;
        let begin = self.read_bytes;
        self.read_bytes += line.len() as u64;
        let end = JournalPosition { bytes: self.read_bytes, head: self.chain_end.head() };
        if self.log.contradicts(begin, end) {
            return Some(ResumedLine::NotAsWritten);
        }
        if self.keep_bytes.is_some_and(|keep| self.state.journal.bytes() >= keep) {
            return Some(ResumedLine::Event);
        }
        if self.end.is_some() {
            return None;
        }
        if event_type == EventType::RunEnded.name() {
            let end = payload.and_then(MaskedRunEnd::from_payload);
            self.end = Some(end.filter(|_| self.state.may_end() && self.state.journal.events() > 0)?);
            self.end_bytes = line.len() as u64;
            return Some(ResumedLine::Event);
        }
        self.state.resume_event(&event_type, payload)?;
        if event_type == EventType::RunStarted.name() {
            let envelope = Digest::of(&self.head.envelope);
            let hash = payload?.member("envelope_hash").and_then(|hash| hash.string_bytes());
            if !hash.is_some_and(|hash| envelope.is_hex(&hash)) {
                return Some(ResumedLine::OtherEnvelope);
            }
        }
        self.state.journal.resume_event(line, &self.chain_end);
        self.masks.reserve_marks(line);
        let Some(payload) = payload else { return Some(ResumedLine::Event) };
        let bodies = [
            payload.member("http").and_then(|http| http.member("body")),
            payload.member("delivered"),
            payload.member("body"),
        ];
        for body in bodies.into_iter().flatten() {
            self.reserve_body_marks(body);
        }
        Some(ResumedLine::Event)
    }

    /// Reserves the marks in a body that is recorded in base64, where a search through the line does not see them.
    fn reserve_body_marks(&self, body: Value<'_>) {
        let encoded = body.member("base64").and_then(|encoded| encoded.string());
        if let Some(bytes) = encoded.and_then(|encoded| Base64::decode_vec(&encoded).ok()) {
            self.masks.reserve_marks(&bytes);
        }
    }
}

/// Kind of the next line in a file.
#[derive(Debug, PartialEq, Eq)]
enum JournalLine {
    /// A line that begins like an event; its line feed may be missing.
    Line,
    /// Some other line, which was skipped.
    Other,
    Eof,
}

/// Reader of lines, one at a time, into a reused buffer.
struct JournalLines<R> {
    reader: R,
    line: Vec<u8>,
    /// True if the last line holds zero bytes, which no event does.
    has_zeros: bool,
}

impl<R: BufRead> JournalLines<R> {
    fn next_line(&mut self) -> io::Result<JournalLine> {
        let line = &mut self.line;
        line.clear();
        line.shrink_to(journal::SCRATCH_BYTES);
        (&mut self.reader).take(EVENT_PREFIX.len() as u64).read_until(b'\n', line)?;
        if line.is_empty() {
            return Ok(JournalLine::Eof);
        }
        if line != EVENT_PREFIX {
            self.has_zeros = line.contains(&0);
            if !line.ends_with(b"\n") {
                self.skip_line()?;
            }
            return Ok(JournalLine::Other);
        }
        self.reader.read_until(b'\n', line)?;
        self.has_zeros = line.contains(&0);
        Ok(JournalLine::Line)
    }

    /// Skips the rest of a line without buffering it.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let found = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                found => found?,
            };
            let end = found.iter().position(|byte| *byte == b'\n');
            let passed = found.get(..end.map_or(found.len(), |end| end + 1)).unwrap_or_default();
            self.has_zeros |= passed.contains(&0);
            let passed = passed.len();
            self.reader.consume(passed);
            if end.is_some() || passed == 0 {
                return Ok(());
            }
        }
    }
}
