//! The end record: where a zip begins to be read.

use super::{END, ZIP64_LOCATOR, u16_at, u32_at};
use crate::error::{Malformation, PackError, Stage};
use crate::input::{Input, count, vector};
use std::io::{Read, Seek};

const LENGTH: usize = 22;
const LONGEST_COMMENT: usize = 0xffff;

/// What the end record says, once it is known to be the only one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) entries: u16,
    /// Where the directory begins; it reaches to the end record.
    pub(super) directory: u64,
    pub(super) directory_end: u64,
}

impl End {
    /// Finds and reads the end record of an archive of `length` bytes.
    pub(super) fn find<R: Read + Seek>(input: &mut Input<R>, length: u64) -> Result<End, PackError> {
        let start = length.saturating_sub(count(LENGTH + LONGEST_COMMENT));
        input.seek(start)?;
        let tail = vector(input, length - start, Stage::ZipEnd)?;
        let at = position(&tail)?;
        let mut record = [0; LENGTH];
        record.copy_from_slice(&tail[at..at + LENGTH]);
        let before = tail[..at].last_chunk::<20>().map(|locator| u32_at(locator, 0));
        if before == Some(ZIP64_LOCATOR) {
            return Err(PackError::malformed(Malformation::Zip64));
        }
        End::parse(&record, start + count(at))
    }

    fn parse(record: &[u8; LENGTH], at: u64) -> Result<End, PackError> {
        let (disk, directory_disk) = (u16_at(record, 4), u16_at(record, 6));
        let (here, entries) = (u16_at(record, 8), u16_at(record, 10));
        let (size, directory) = (u32_at(record, 12), u32_at(record, 16));
        if entries == u16::MAX || size == u32::MAX || directory == u32::MAX {
            return Err(PackError::malformed(Malformation::Zip64));
        }
        if disk != 0 || directory_disk != 0 || here != entries {
            return Err(PackError::malformed(Malformation::ZipVolumes));
        }
        if u64::from(directory) + u64::from(size) != at {
            return Err(PackError::malformed(Malformation::ZipGap));
        }
        Ok(End { entries, directory: u64::from(directory), directory_end: at })
    }
}

/// Where in the tail the end record is: its comment must reach to the end of the file and hold no other end record.
fn position(tail: &[u8]) -> Result<usize, PackError> {
    let signature = END.to_le_bytes();
    let mut last = None;
    for at in (0..tail.len().saturating_sub(3)).rev() {
        if !tail[at..].starts_with(&signature) {
            continue;
        }
        let Some(record) = tail[at..].first_chunk::<LENGTH>() else {
            last.get_or_insert(PackError::truncated(Stage::ZipEnd));
            continue;
        };
        let (stated, actual) = (usize::from(u16_at(record, 20)), tail.len() - at - LENGTH);
        if stated == actual {
            let comment = &tail[at + LENGTH..];
            let doubled = comment.windows(4).any(|window| window == signature);
            return if doubled { Err(PackError::malformed(Malformation::ZipComment)) } else { Ok(at) };
        }
        last.get_or_insert(if stated < actual {
            PackError::TrailingData { stage: Stage::ZipEnd }
        } else {
            PackError::truncated(Stage::ZipEnd)
        });
    }
    Err(last.unwrap_or(PackError::malformed(Malformation::NoZipEnd)))
}
