//! Reads a zip: its directory first, then all its bytes once, from the first to the last.

use super::body::Body;
use super::end::End;
use super::{directory, local};
use crate::error::{Malformation, PackError};
use crate::inflate::Inflater;
use crate::input::Input;
use crate::limits::Limit;
use crate::member::{Member, Tally};
use crate::rules::Rules;
use std::io::{Read, Seek};

/// Reads a zip and shows each file to `visit`, in the order of their content.
///
/// Names, limits and types of all entries are checked before the first visit. What the visitor saw counts only if this
/// returns `Ok`.
///
/// # Errors
/// The first thing wrong with the archive, or the visitor's own error.
pub fn read_zip<R, E, F>(reader: R, rules: &Rules, mut visit: F) -> Result<Tally, E>
where
    R: Read + Seek,
    E: From<PackError>,
    F: FnMut(&mut Member<'_>) -> Result<(), E>,
{
    // Bounded by its length below; and the tail is read twice.
    let mut input = Input::new(reader, u64::MAX);
    let length = input.length()?;
    Limit::SourceBytes.hold(length, rules.limits.source_bytes)?;
    let end = End::find(&mut input, length)?;
    let entries = directory::entries(&mut input, &end, rules)?;

    input.seek(0)?;
    let mut inflater = Inflater::new();
    let mut position = 0;
    let mut tally = Tally { source_bytes: length, ..Tally::default() };
    for (at, entry) in entries.iter().enumerate() {
        let next = entries.get(at + 1).map_or(end.directory, |next| u64::from(next.offset));
        let place = |position: u64, expected: u64| match position.cmp(&expected) {
            std::cmp::Ordering::Less => Err(Malformation::ZipGap),
            std::cmp::Ordering::Greater => Err(Malformation::ZipOverlap),
            std::cmp::Ordering::Equal => Ok(()),
        };
        let within = |error: PackError| error.within(&entry.name);
        let malformed = |fault| within(PackError::malformed(fault));

        place(position, u64::from(entry.offset)).map_err(malformed)?;
        position += local::header(&mut input, entry).map_err(within)?;
        position += u64::from(entry.packed);
        if position > next {
            return Err(malformed(Malformation::ZipOverlap).into());
        }
        let mut body = Body::new(&mut input, entry, &mut inflater);
        if !entry.folder {
            let mut member = Member::new(&entry.name, u64::from(entry.size), &mut body);
            visit(&mut member)?;
            member.finish()?;
            tally.files += 1;
            tally.content_bytes += u64::from(entry.size);
        }
        body.finish().map_err(within)?;
        position += local::descriptor(&mut input, entry, next - position).map_err(within)?;
        place(position, next).map_err(malformed)?;
    }
    if entries.is_empty() && end.directory != 0 {
        return Err(PackError::malformed(Malformation::ZipGap).into());
    }
    Ok(tally)
}
