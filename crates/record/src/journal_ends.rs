//! The two ends of a journal: its first line, and the last event. Nothing between them is read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use reenact_formats::rer::EventType;
use reenact_json::Digest;

use crate::start::JournalHead;

/// Prefix of every event in canonical form.
pub(crate) const EVENT_PREFIX: &[u8] = b"{\"event_hash\":\"";

/// Number of hexadecimal digits in the event hash that follows [`EVENT_PREFIX`].
const HASH_DIGITS: usize = 64;

/// Returns true if the last line of a journal is the event that ends a run. The line is not checked otherwise.
pub(crate) fn has_run_ended(file: &mut File) -> io::Result<bool> {
    let line = last_line(file)?;
    let behind = line.strip_prefix(EVENT_PREFIX).and_then(|rest| rest.get(HASH_DIGITS..)).unwrap_or_default();
    let behind = behind.strip_prefix(b"\",\"event_type\":\"").unwrap_or_default();
    Ok(behind.strip_prefix(EventType::RunEnded.name().as_bytes()).is_some_and(|rest| rest.starts_with(b"\"")))
}

/// Returns the hash that the last line of a journal carries; `None` if that is no whole event.
pub(crate) fn last_event_hash(file: &mut File) -> io::Result<Option<Digest>> {
    let line = last_line(file)?;
    let hash = line.strip_prefix(EVENT_PREFIX).and_then(|rest| rest.get(..HASH_DIGITS));
    Ok(hash.and_then(|hash| str::from_utf8(hash).ok()).and_then(Digest::from_hex))
}

/// Returns the last line of a journal without its line feed; empty if it is torn, or longer than an event that ends a run.
fn last_line(file: &mut File) -> io::Result<Vec<u8>> {
    // The last event names the files that changed. A run with a longer one counts as not ended here.
    const TAIL_BYTES: u64 = 4 << 20;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut last = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut last)?;
    let Some(b'\n') = last.pop() else { return Ok(Vec::new()) };
    Ok(last.rsplit(|byte| *byte == b'\n').next().unwrap_or_default().to_vec())
}

/// Reads the first line of a journal; `None` if it is no valid head.
pub(crate) fn read_head(file: &mut File) -> io::Result<Option<JournalHead>> {
    Ok(first_line(file)?.strip_suffix(b"\n").and_then(JournalHead::read))
}

/// Reads the key's id out of the first line of a journal, whatever else is wrong with that line.
pub(crate) fn read_key_id(file: &mut File) -> io::Result<Option<String>> {
    Ok(JournalHead::read_key_id(&first_line(file)?))
}

fn first_line(file: &mut File) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    BufReader::new(file).take(JournalHead::MAX_BYTES).read_until(b'\n', &mut line)?;
    Ok(line)
}
