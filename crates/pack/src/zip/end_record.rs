//! End record of a zip, with which reading begins.

use super::{END_SIGNATURE, ZIP64_LOCATOR_SIGNATURE, u16_at, u32_at};
use crate::error::{ArchiveSection, Malformation, PackError};
use crate::input::{ArchiveInput, read_vec, to_u64};
use std::io::{Read, Seek};

/// Length of the end record without its comment, in bytes.
const RECORD_BYTES: usize = 22;
/// Longest comment that a 16-bit length can state, in bytes.
const MAX_COMMENT_BYTES: usize = 0xffff;

/// Fields of the end record, which is known to be the only one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ZipEndRecord {
    pub(super) entries: u16,
    /// Offset of the directory in bytes; it reaches up to the end record.
    pub(super) directory_start: u64,
    pub(super) directory_end: u64,
}

impl ZipEndRecord {
    /// Finds and parses the end record of an archive of `length` bytes.
    pub(super) fn find<R: Read + Seek>(
        input: &mut ArchiveInput<R>,
        length: u64,
    ) -> Result<ZipEndRecord, PackError> {
        let start = length.saturating_sub(to_u64(RECORD_BYTES + MAX_COMMENT_BYTES));
        input.seek(start)?;
        let tail = read_vec(input, length - start, ArchiveSection::ZipEnd)?;
        let at = end_record_offset(&tail)?;
        let mut record = [0; RECORD_BYTES];
        record.copy_from_slice(&tail[at..at + RECORD_BYTES]);
        let before = tail[..at].last_chunk::<20>().map(|locator| u32_at(locator, 0));
        if before == Some(ZIP64_LOCATOR_SIGNATURE) {
            return Err(PackError::malformed(Malformation::Zip64));
        }
        ZipEndRecord::parse(&record, start + to_u64(at))
    }

    /// Parses the record at offset `at`, and checks that the directory ends there.
    fn parse(record: &[u8; RECORD_BYTES], at: u64) -> Result<ZipEndRecord, PackError> {
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
        Ok(ZipEndRecord { entries, directory_start: u64::from(directory), directory_end: at })
    }
}

/// Returns the offset of the end record in the tail of the file. Its comment must reach to the end of the file and contain no
/// other end record.
fn end_record_offset(tail: &[u8]) -> Result<usize, PackError> {
    let signature = END_SIGNATURE.to_le_bytes();
    let mut last = None;
    for at in (0..tail.len().saturating_sub(3)).rev() {
        if !tail[at..].starts_with(&signature) {
            continue;
        }
        let Some(record) = tail[at..].first_chunk::<RECORD_BYTES>() else {
            last.get_or_insert(PackError::truncated(ArchiveSection::ZipEnd));
            continue;
        };
        let (stated, actual) = (usize::from(u16_at(record, 20)), tail.len() - at - RECORD_BYTES);
        if stated == actual {
            let comment = &tail[at + RECORD_BYTES..];
            let doubled = comment.windows(4).any(|window| window == signature);
            return if doubled { Err(PackError::malformed(Malformation::ZipComment)) } else { Ok(at) };
        }
        last.get_or_insert(if stated < actual {
            PackError::TrailingData { section: ArchiveSection::ZipEnd }
        } else {
            PackError::truncated(ArchiveSection::ZipEnd)
        });
    }
    Err(last.unwrap_or(PackError::malformed(Malformation::NoZipEnd)))
}
