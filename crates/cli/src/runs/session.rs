//! Finding the record of a session by the id of the session: a REPLAY.jsonl in the current folder, or in a folder in it.
//!
//! The id that counts is the one in the file, not the name of the folder. Only the beginning of each file is read, no link is followed, and
//! only so many folders are looked into. Start reading at [`find`].

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use reenact_formats::replay_jsonl::REPLAY;
use reenact_json::{Limits, Shown, Value};
use reenact_verify::disk::record_folder;

/// Most folders that are looked into.
const MAX_FOLDERS: usize = 1_000;

/// Most bytes that are read of a file: the session begins in its first lines.
const MAX_HEAD_BYTES: u64 = 64 << 10;

/// Most lines that are read of a file.
const MAX_HEAD_LINES: usize = 16;

/// Longest id of a session, in bytes.
const MAX_ID_BYTES: usize = 128;

/// Returns the record of the session of that id; `None` if there is none, or the text cannot be such an id.
///
/// # Errors
///
/// A message if several records are of that session.
pub(crate) fn find(id: &str) -> Option<Result<PathBuf, String>> {
    if !is_id(id) {
        return None;
    }
    let here = is_of(Path::new(REPLAY), id).then(|| PathBuf::from(REPLAY));
    let below = folders().into_iter().filter(|folder| is_of(&folder.join(REPLAY), id));
    let found: Vec<PathBuf> = here.into_iter().chain(below.map(|folder| record_in(&folder))).collect();
    match found.as_slice() {
        [] => None,
        [only] => Some(Ok(only.clone())),
        several => {
            let names: Vec<String> =
                several.iter().map(|path| Shown::whole(&path.to_string_lossy()).to_string()).collect();
            Some(Err(format!(
                "several records are of the session {id}: {}; give one of the paths",
                names.join(", ")
            )))
        }
    }
}

/// Returns true if a text can be the id of a session that is looked for.
pub(super) fn is_id(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    !text.is_empty() && text.len() <= MAX_ID_BYTES && !text.starts_with('.') && text.bytes().all(is_part)
}

/// Returns the folders in the current one, by name.
fn folders() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(".") else { return Vec::new() };
    let entries = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.file_name().into()).collect();
    folders.sort();
    folders.truncate(MAX_FOLDERS);
    folders
}

/// Returns the record in a folder: the folder, with the receipt, if it is one record, else the file alone.
fn record_in(folder: &Path) -> PathBuf {
    match record_folder::format_of(folder) {
        Ok(Some(_)) => folder.to_owned(),
        _ => folder.join(REPLAY),
    }
}

/// Returns true if a file begins as the replay of that session.
fn is_of(path: &Path, id: &str) -> bool {
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let Some(file) = is_file.then(|| File::open(path).ok()).flatten() else { return false };
    let mut head = Vec::new();
    if file.take(MAX_HEAD_BYTES).read_to_end(&mut head).is_err() {
        return false;
    }
    let starts = |line: &[u8]| {
        let line = Value::parse(line, &Limits::default()).ok()?;
        let [event, session] = line.select_members(["event", "session_id"]);
        (event?.is_string("SessionStart") && session?.is_string(id)).then_some(())
    };
    head.split(|byte| *byte == b'\n').take(MAX_HEAD_LINES).any(|line| starts(line).is_some())
}
