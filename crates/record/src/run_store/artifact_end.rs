//! The end of an artifact, which names its run. Nothing is verified here, and nothing before the end is read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::run_id::RunId;

/// Bytes at the end of an artifact that are looked at. In canonical form `run_id` is the last member but two, and those are short.
const TAIL_BYTES: u64 = 4 << 10;

/// Returns true if a file is there that ends as the artifact of this run does.
pub(super) fn names_run(path: &Path, id: RunId) -> bool {
    let member = format!(",\"run_id\":\"{id}\",\"runtime\":{{");
    // What is read need not begin at a character.
    let is_there = |tail: Vec<u8>| tail.windows(member.len()).any(|found| found == member.as_bytes());
    read_tail(path).is_ok_and(is_there)
}

fn read_tail(path: &Path) -> io::Result<Vec<u8>> {
    // Anything else, such as a pipe, is not opened.
    if !path.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail)?;
    Ok(tail)
}
