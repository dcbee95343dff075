//! The central directory: every entry, checked and named, before any content is read.

use super::end::End;
use super::{CENTRAL, DEFLATED, DESCRIBED, EFFORT, ENCRYPTED, STORED, UTF8, extra, u16_at, u32_at};
use crate::error::{Entry as Kind, Field, Malformation, PackError, Stage, quoted};
use crate::input::{Input, exact, vector};
use crate::limits::Limit;
use crate::name::{self, NameFault};
use crate::names::Names;
use crate::rules::Rules;
use std::io::{Read, Seek};

/// An entry as the directory describes it.
#[derive(Debug)]
pub(super) struct Entry {
    /// The name as it is used.
    pub(super) name: String,
    /// The folder's name has its slash only in the archive.
    pub(super) folder: bool,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) packed: u32,
    pub(super) size: u32,
    pub(super) offset: u32,
}

/// All entries, in the order of their content.
pub(super) fn entries<R: Read + Seek>(
    input: &mut Input<R>,
    end: &End,
    rules: &Rules,
) -> Result<Vec<Entry>, PackError> {
    Limit::Members.hold(u64::from(end.entries), rules.limits.members)?;
    input.seek(end.directory)?;
    let mut left = end.directory_end - end.directory;
    let mut names = Names::default();
    let mut entries: Vec<Entry> = Vec::new();
    let (mut packed, mut unpacked) = (0u64, 0u64);
    for _ in 0..end.entries {
        let entry = entry(input, &mut left, rules)?;
        names.admit(&entry.name, entry.folder, &rules.limits)?;
        packed += u64::from(entry.packed);
        unpacked += u64::from(entry.size);
        hold(&entry, packed, unpacked, rules).map_err(|e| e.within(&entry.name))?;
        entries.push(entry);
    }
    if left != 0 {
        return Err(PackError::malformed(Malformation::ZipCount));
    }
    entries.sort_by_key(|entry| entry.offset);
    Ok(entries)
}

/// The limits, by what is declared; that the content keeps to it is checked when it is read.
fn hold(entry: &Entry, packed: u64, unpacked: u64, rules: &Rules) -> Result<(), PackError> {
    Limit::MemberBytes.hold(u64::from(entry.size), rules.limits.member_bytes)?;
    Limit::TotalBytes.hold(unpacked, rules.limits.total_bytes)?;
    rules.limits.hold_ratio(u64::from(entry.packed), u64::from(entry.size))?;
    rules.limits.hold_ratio(packed, unpacked)
}

fn entry<R: Read>(input: &mut Input<R>, left: &mut u64, rules: &Rules) -> Result<Entry, PackError> {
    let mut take = |bytes: u64| {
        *left = left.checked_sub(bytes).ok_or(PackError::malformed(Malformation::ZipCount))?;
        Ok::<u64, PackError>(bytes)
    };
    take(46)?;
    let record: [u8; 46] = exact(input, Stage::ZipDirectory)?;
    if u32_at(&record, 0) != CENTRAL {
        return Err(PackError::malformed(Malformation::ZipRecord));
    }
    let lengths = [28, 30, 32].map(|at| u64::from(u16_at(&record, at)));
    let raw = vector(input, take(lengths[0])?, Stage::ZipDirectory)?;
    let extras = vector(input, take(lengths[1])?, Stage::ZipDirectory)?;
    vector(input, take(lengths[2])?, Stage::ZipDirectory)?;

    let shown = quoted(&raw);
    let malformed = |fault| PackError::Malformed { fault, member: Some(shown.clone()) };
    let (flags, method) = (u16_at(&record, 8), u16_at(&record, 10));
    form(flags, method).and_then(|()| extra::check(&extras)).map_err(malformed)?;
    if u16_at(&record, 34) != 0 {
        return Err(malformed(Malformation::ZipVolumes));
    }
    // Without the flag the bytes are in the code page of whoever wrote them.
    if flags & UTF8 == 0 && !raw.is_ascii() {
        return Err(PackError::UnsafeName { name: shown, fault: NameFault::NotUtf8 });
    }
    let folder = raw.ends_with(b"/");
    file_type(u32_at(&record, 38), folder, &shown)?;
    if folder && !rules.skip_folders {
        return Err(PackError::Forbidden { member: shown, entry: Kind::Folder });
    }
    let [crc, packed, size, offset] = [16, 20, 24, 42].map(|at| u32_at(&record, at));
    if [packed, size, offset].contains(&u32::MAX) {
        return Err(malformed(Malformation::Zip64));
    }
    if folder && size != 0 {
        return Err(malformed(Malformation::FolderContent));
    }
    if method == STORED && packed != size {
        return Err(PackError::Disagreement { member: shown, field: Field::Size });
    }
    let name = name::accepted(&raw, folder, false, rules)?.unwrap_or_default();
    Ok(Entry { name, folder, flags, method, crc, packed, size, offset })
}

fn form(flags: u16, method: u16) -> Result<(), Malformation> {
    if flags & ENCRYPTED != 0 {
        return Err(Malformation::ZipEncrypted);
    }
    if flags & !(EFFORT | DESCRIBED | UTF8) != 0 {
        return Err(Malformation::ZipFlags(flags));
    }
    if method != STORED && method != DEFLATED {
        return Err(Malformation::ZipMethod(method));
    }
    Ok(())
}

/// What the external attributes say the entry is. Half of them are Unix modes, half are DOS attributes, and the byte that
/// says which is not believed by every reader: so neither half may say something else than the name does.
fn file_type(attributes: u32, folder: bool, shown: &str) -> Result<(), PackError> {
    let forbidden = |entry| Err(PackError::Forbidden { member: shown.to_owned(), entry });
    let dos_folder = attributes & 0x10 != 0;
    let unix_folder = match (attributes >> 16) & 0o170_000 {
        0 => folder,
        0o100_000 => false,
        0o040_000 => true,
        0o120_000 => return forbidden(Kind::SymbolicLink),
        0o020_000 | 0o060_000 => return forbidden(Kind::Device),
        0o010_000 | 0o140_000 => return forbidden(Kind::Pipe),
        other => return forbidden(Kind::UnixType(other)),
    };
    if unix_folder != folder || (dos_folder && !folder) {
        return Err(PackError::Disagreement { member: shown.to_owned(), field: Field::Type });
    }
    Ok(())
}
