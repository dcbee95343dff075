//! Taking up a run again whose recorder was killed: its journal is read, judged line by line, and gone on with.
//!
//! Only one line is in memory at a time, and beside it the same line as we would write it: what a journal of any length takes
//! is what its longest event took when it was recorded. A line that does not begin as an event does is passed over and never
//! held at all, such as the zeros that a file system may leave behind.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use base64ct::{Base64, Encoding};
use reenact_formats::rer::EventType;
use reenact_formats::rer::seal::Signer;
use reenact_json::{Digest, Value};
use reenact_secrets::Pack;

use crate::error::{RecordError, ResumeError};
use crate::folder::Folder;
use crate::journal::{self, ChainEnd, Journal};
use crate::ledger::Ledger;
use crate::mask::Masks;
use crate::run_id::RunId;
use crate::start::Head;
use crate::storage::{Opening, Reading, Stored};
use crate::surroundings::Surroundings;
use crate::withhold::Withholding;

/// A journal that can be gone on with.
pub(crate) struct Resumed {
    pub(crate) head: Head,
    pub(crate) ledger: Ledger,
    /// How many bytes of the file are behind what is kept.
    pub(crate) surplus: u64,
}

/// How every event begins in canonical form.
const EVENT: &[u8] = b"{\"event_hash\":\"";

/// How many digits of a hash follow.
const DIGITS: usize = 64;

/// What is read from the file at once.
const BUFFER: usize = 256 << 10;

/// The masks of a run, as the first line of its journal has them.
pub(crate) fn masks(folder: &Folder, run_id: RunId) -> Masks {
    // What is wrong with the file, whoever reads the rest of it says.
    let path = folder.journal(run_id);
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let file = is_file.then(|| File::open(path).ok()).flatten();
    let head = file.and_then(|mut file| head(&mut file).ok().flatten());
    Masks::new(head.map_or_else(Pack::standard, |head| head.redaction.pack()))
}

/// Reads a run's journal and locks it. The file is as it was: cutting it is for whoever goes on.
pub(crate) fn read(
    folder: &Folder,
    run_id: RunId,
    signer: &dyn Signer,
    keep: impl FnOnce() -> Option<u64>,
    masks: &Masks,
    surroundings: &Surroundings,
) -> Result<Resumed, ResumeError> {
    folder.check_run(run_id)?;
    let path = folder.journal(run_id);
    let shown = || path.to_string_lossy().into_owned();
    let failed = |error: io::Error| ResumeError::Record(RecordError::io(&path, &error));
    let file = open(&path, run_id, surroundings)?;
    let keep = keep();
    let mut reader = BufReader::with_capacity(BUFFER, Reading::new(file.again().map_err(failed)?, 0));

    let mut line = Vec::new();
    (&mut reader).take(Head::LONGEST).read_until(b'\n', &mut line).map_err(failed)?;
    let start = line.len() as u64;
    let Some(b'\n') = line.pop() else {
        return Err(if start < Head::LONGEST {
            ResumeError::TornHead { path: shown() }
        } else {
            ResumeError::Head { path: shown() }
        });
    };
    let head = Head::read(&line).filter(|head| head.run_id == run_id);
    let head = head.filter(|head| head.redaction.rules == masks.pack().custom());
    let head = head.ok_or_else(|| ResumeError::Head { path: shown() })?;
    if head.key_id != signer.public_key().id().to_string() {
        return Err(RecordError::OtherSigner.into());
    }
    let length = file.length().map_err(failed)?;
    let bytes = length.saturating_sub(start);
    if bytes > journal::LONGEST + journal::RESERVE {
        return Err(RecordError::Full { bytes }.into());
    }

    masks.reserve(&line);
    let journal = Journal::over(file, &path, start, surroundings);
    let mut ledger = Ledger::new(journal);
    ledger.withholding = Withholding::new(head.redaction.withhold.clone());
    let mut events = Events { ledger, end: ChainEnd::new(), masks, head: &head, keep };
    let mut lines = Lines { reader, line, has_zeros: false };
    let mut wrong = None;
    for number in 2.. {
        let found = lines.next().map_err(failed)?;
        if found == Found::Nothing {
            break;
        }
        if let Some(line) = wrong {
            // Only the last line may be wrong: it is the one that was being written.
            return Err(ResumeError::Changed { path: shown(), line });
        }
        match (found == Found::Line).then(|| events.take_up(&lines.line)).flatten() {
            Some(Taken::Event) => {}
            Some(Taken::OtherEnvelope) => return Err(ResumeError::Head { path: shown() }),
            // Bytes that the disk never got, when the machine went down: what stands behind them is bound to what is lost.
            None if lines.has_zeros => break,
            None => wrong = Some(number),
        }
    }
    let ledger = events.ledger;
    let kept = ledger.journal.bytes();
    if let Some(keep) = keep.filter(|keep| *keep != kept) {
        return Err(ResumeError::Keep { path: shown(), keep });
    }
    Ok(Resumed { surplus: length.saturating_sub(start + kept), head, ledger })
}

/// Opens a journal that is a file of our own, and keeps every other writer away from it.
fn open(path: &Path, run_id: RunId, surroundings: &Surroundings) -> Result<Box<dyn Stored>, ResumeError> {
    let shown = || path.to_string_lossy().into_owned();
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => ResumeError::NoJournal { path: shown() },
        _ => ResumeError::Record(RecordError::io(path, &error)),
    };
    let found = path.symlink_metadata().map_err(failed)?;
    Folder::check_journal(path, &found)?;
    if !found.is_file() {
        return Err(ResumeError::NotAFile { path: shown() });
    }
    let file = surroundings.storage.open(path, Opening::Existing).map_err(failed)?;
    // Where files cannot be locked, that there is one writer only is for the user to see to.
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Err(ResumeError::Busy { run_id });
    }
    // What was opened is what was judged: the name may have been given to another file meanwhile.
    if !file.is_at(path) {
        return Err(ResumeError::Record(RecordError::JournalChanged { path: shown() }));
    }
    Ok(file)
}

/// What became of a line that is right.
enum Taken {
    /// It was taken up, or lies behind what is to be kept.
    Event,
    /// It is the first event, and names another envelope than the head.
    OtherEnvelope,
}

/// What was read so far.
struct Events<'r> {
    ledger: Ledger,
    /// It moves on through all of the file, also behind what is kept.
    end: ChainEnd,
    masks: &'r Masks,
    head: &'r Head,
    keep: Option<u64>,
}

impl Events<'_> {
    /// Takes up a line, with its line feed; `None` if it is not right.
    fn take_up(&mut self, line: &[u8]) -> Option<Taken> {
        let (event_type, payload) = self.end.advance(line.strip_suffix(b"\n")?)?;
        if self.keep.is_some_and(|keep| self.ledger.journal.bytes() >= keep) {
            return Some(Taken::Event);
        }
        self.ledger.take_up(&event_type, payload)?;
        if event_type == EventType::RunStarted.name() {
            let envelope = Digest::of(&self.head.envelope);
            let said = payload?.member("envelope_hash").and_then(|hash| hash.string_bytes());
            if !said.is_some_and(|said| envelope.is_hex(&said)) {
                return Some(Taken::OtherEnvelope);
            }
        }
        self.ledger.journal.take_up(line, &self.end);
        self.masks.reserve(line);
        let Some(payload) = payload else { return Some(Taken::Event) };
        let bodies =
            [payload.member("http").and_then(|http| http.member("body")), payload.member("delivered")];
        for body in bodies.into_iter().flatten() {
            self.reserve_in(body);
        }
        Some(Taken::Event)
    }

    /// Marks in a body that is no text do not show in the line.
    fn reserve_in(&self, body: Value<'_>) {
        let encoded = body.member("base64").and_then(|encoded| encoded.string());
        if let Some(bytes) = encoded.and_then(|encoded| Base64::decode_vec(&encoded).ok()) {
            self.masks.reserve(&bytes);
        }
    }
}

/// What comes next in a file.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// A line that begins as an event does, perhaps without its line feed.
    Line,
    /// Something else, which was passed over.
    Other,
    Nothing,
}

/// Lines, one at a time, in room that is used again.
struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    /// Whether the last one holds zero bytes, which no event does.
    has_zeros: bool,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> io::Result<Found> {
        let line = &mut self.line;
        line.clear();
        line.shrink_to(journal::SCRATCH);
        (&mut self.reader).take(EVENT.len() as u64).read_until(b'\n', line)?;
        if line.is_empty() {
            return Ok(Found::Nothing);
        }
        if line != EVENT {
            self.has_zeros = line.contains(&0);
            if !line.ends_with(b"\n") {
                self.pass_over()?;
            }
            return Ok(Found::Other);
        }
        self.reader.read_until(b'\n', line)?;
        self.has_zeros = line.contains(&0);
        Ok(Found::Line)
    }

    /// Passes over the rest of a line.
    fn pass_over(&mut self) -> io::Result<()> {
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

/// Whether the last line of a journal says that the run has ended. It is not judged.
pub(crate) fn ends(file: &mut File) -> io::Result<bool> {
    // The last event has a short payload, unless someone gave a long reason; then nobody can tell so quickly.
    const LAST: u64 = 64 << 10;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST)))?;
    let mut last = Vec::new();
    file.take(LAST).read_to_end(&mut last)?;
    let Some(b'\n') = last.pop() else { return Ok(false) };
    let line = last.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let behind = line.strip_prefix(EVENT).and_then(|rest| rest.get(DIGITS..)).unwrap_or_default();
    let behind = behind.strip_prefix(b"\",\"event_type\":\"").unwrap_or_default();
    Ok(behind.strip_prefix(EventType::RunEnded.name().as_bytes()).is_some_and(|rest| rest.starts_with(b"\"")))
}

/// What the first line of a journal says, if it says anything.
pub(crate) fn head(file: &mut File) -> io::Result<Option<Head>> {
    Ok(first_line(file)?.strip_suffix(b"\n").and_then(Head::read))
}

/// Id of the key that the first line of a journal names, whatever else is wrong with that line.
pub(crate) fn key_id(file: &mut File) -> io::Result<Option<String>> {
    Ok(Head::read_key_id(&first_line(file)?))
}

fn first_line(file: &mut File) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    BufReader::new(file).take(Head::LONGEST).read_until(b'\n', &mut line)?;
    Ok(line)
}
