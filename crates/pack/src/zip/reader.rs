//! Reader of zip archives: the directory first, then all bytes once, from the first to the last.

use super::content::ZipContent;
use super::end_record::ZipEndRecord;
use super::{directory, local_header};
use crate::error::{Malformation, PackError};
use crate::inflate::Inflater;
use crate::input::ArchiveInput;
use crate::limits::ArchiveLimit;
use crate::member::{ArchiveMember, ArchiveTotals};
use crate::rules::ArchiveRules;
use std::io::{Read, Seek};

/// Reads a zip and calls `visit` with each file, in the order of their content.
///
/// Names, limits and types of all entries are checked before the first visit. The visited members count only if this returns
/// `Ok`.
///
/// # Errors
/// The first fault of the archive, or the visitor's own error.
pub fn read_zip<R, E, F>(reader: R, rules: &ArchiveRules, mut visit: F) -> Result<ArchiveTotals, E>
where
    R: Read + Seek,
    E: From<PackError>,
    F: FnMut(&mut ArchiveMember<'_>) -> Result<(), E>,
{
    // No bound here: the tail is read twice, and the length of the file is checked below.
    let mut input = ArchiveInput::new(reader, u64::MAX);
    let length = input.length()?;
    ArchiveLimit::SourceBytes.check(length, rules.limits.source_bytes)?;
    let end = ZipEndRecord::find(&mut input, length)?;
    let entries = directory::read_entries(&mut input, &end, rules)?;

    input.seek(0)?;
    let mut inflater = Inflater::new();
    let mut position = 0;
    let mut tally = ArchiveTotals { source_bytes: length, ..ArchiveTotals::default() };
    for (at, entry) in entries.iter().enumerate() {
        let next = entries.get(at + 1).map_or(end.directory_start, |next| u64::from(next.offset));
        let check_position = |position: u64, expected: u64| match position.cmp(&expected) {
            std::cmp::Ordering::Less => Err(Malformation::ZipGap),
            std::cmp::Ordering::Greater => Err(Malformation::ZipOverlap),
            std::cmp::Ordering::Equal => Ok(()),
        };
        let within = |error: PackError| error.in_member(&entry.name);
        let malformed = |fault| within(PackError::malformed(fault));

        check_position(position, u64::from(entry.offset)).map_err(malformed)?;
        position += local_header::check_header(&mut input, entry).map_err(within)?;
        position += u64::from(entry.compressed_size);
        if position > next {
            return Err(malformed(Malformation::ZipOverlap).into());
        }
        let mut body = ZipContent::new(&mut input, entry, &mut inflater);
        if !entry.is_folder {
            let mut member = ArchiveMember::new(&entry.name, u64::from(entry.size), &mut body);
            visit(&mut member)?;
            member.finish()?;
            tally.files += 1;
            tally.content_bytes += u64::from(entry.size);
        }
        body.finish().map_err(within)?;
        position += local_header::check_descriptor(&mut input, entry, next - position).map_err(within)?;
        check_position(position, next).map_err(malformed)?;
    }
    if entries.is_empty() && end.directory_start != 0 {
        return Err(PackError::malformed(Malformation::ZipGap).into());
    }
    Ok(tally)
}
