//! Central directory of a zip: all entries are checked, with their names, before any content is read.

use super::end_record::ZipEndRecord;
use super::{
    CENTRAL_SIGNATURE, DEFLATED, FLAG_DEFLATE_EFFORT, FLAG_DESCRIPTOR, FLAG_ENCRYPTED, FLAG_UTF8, STORED,
    extra_fields, u16_at, u32_at,
};
use crate::error::{ArchiveSection, Malformation, PackError, RepeatedField, UnsupportedMember, shortened};
use crate::input::{ArchiveInput, read_array, read_vec};
use crate::limits::ArchiveLimit;
use crate::member_names::MemberNames;
use crate::name_rules::{self, NameFault};
use crate::rules::ArchiveRules;
use std::io::{Read, Seek};

/// Entry as the directory describes it.
#[derive(Debug)]
pub(super) struct ZipEntry {
    /// Name as it is used, without the slash of a folder.
    pub(super) name: String,
    /// True for a folder, whose name ends with a slash in the archive.
    pub(super) is_folder: bool,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) compressed_size: u32,
    pub(super) size: u32,
    /// Offset of the local header, in bytes from the start of the archive.
    pub(super) offset: u32,
}

/// Reads and checks all entries; returns them in the order of their content.
pub(super) fn read_entries<R: Read + Seek>(
    input: &mut ArchiveInput<R>,
    end: &ZipEndRecord,
    rules: &ArchiveRules,
) -> Result<Vec<ZipEntry>, PackError> {
    ArchiveLimit::Members.check(u64::from(end.entries), rules.limits.members)?;
    input.seek(end.directory_start)?;
    let mut left = end.directory_end - end.directory_start;
    let mut names = MemberNames::default();
    let mut entries: Vec<ZipEntry> = Vec::new();
    let (mut packed, mut unpacked) = (0u64, 0u64);
    for _ in 0..end.entries {
        let entry = read_entry(input, &mut left, rules)?;
        names.admit(&entry.name, entry.is_folder, &rules.limits)?;
        packed += u64::from(entry.compressed_size);
        unpacked += u64::from(entry.size);
        check_limits(&entry, packed, unpacked, rules).map_err(|e| e.in_member(&entry.name))?;
        entries.push(entry);
    }
    if left != 0 {
        return Err(PackError::malformed(Malformation::ZipCount));
    }
    entries.sort_by_key(|entry| entry.offset);
    Ok(entries)
}

/// Checks the declared sizes against the limits. The content is held to its declared size when it is read.
fn check_limits(entry: &ZipEntry, packed: u64, unpacked: u64, rules: &ArchiveRules) -> Result<(), PackError> {
    ArchiveLimit::MemberBytes.check(u64::from(entry.size), rules.limits.member_bytes)?;
    ArchiveLimit::TotalBytes.check(unpacked, rules.limits.total_bytes)?;
    rules.limits.check_ratio(u64::from(entry.compressed_size), u64::from(entry.size))?;
    rules.limits.check_ratio(packed, unpacked)
}

/// Reads and checks one record; `left` is the number of bytes left in the directory.
fn read_entry<R: Read>(
    input: &mut ArchiveInput<R>,
    left: &mut u64,
    rules: &ArchiveRules,
) -> Result<ZipEntry, PackError> {
    let mut take = |bytes: u64| {
        *left = left.checked_sub(bytes).ok_or(PackError::malformed(Malformation::ZipCount))?;
        Ok::<u64, PackError>(bytes)
    };
    take(46)?;
    let record: [u8; 46] = read_array(input, ArchiveSection::ZipDirectory)?;
    if u32_at(&record, 0) != CENTRAL_SIGNATURE {
        return Err(PackError::malformed(Malformation::ZipRecord));
    }
    let lengths = [28, 30, 32].map(|at| u64::from(u16_at(&record, at)));
    let raw = read_vec(input, take(lengths[0])?, ArchiveSection::ZipDirectory)?;
    let extras = read_vec(input, take(lengths[1])?, ArchiveSection::ZipDirectory)?;
    read_vec(input, take(lengths[2])?, ArchiveSection::ZipDirectory)?;

    let shown = shortened(&raw);
    let malformed = |fault| PackError::Malformed { fault, member: Some(shown.clone()) };
    let (flags, method) = (u16_at(&record, 8), u16_at(&record, 10));
    check_flags_and_method(flags, method).and_then(|()| extra_fields::check(&extras)).map_err(malformed)?;
    if u16_at(&record, 34) != 0 {
        return Err(malformed(Malformation::ZipVolumes));
    }
    // Without the flag the bytes are in the code page of the writer.
    if flags & FLAG_UTF8 == 0 && !raw.is_ascii() {
        return Err(PackError::UnsafeName { name: shown, fault: NameFault::NotUtf8 });
    }
    let folder = raw.ends_with(b"/");
    check_file_type(u32_at(&record, 38), folder, &shown)?;
    if folder && !rules.skip_folders {
        return Err(PackError::Forbidden { member: shown, member_type: UnsupportedMember::Folder });
    }
    let [crc, packed, size, offset] = [16, 20, 24, 42].map(|at| u32_at(&record, at));
    if [packed, size, offset].contains(&u32::MAX) {
        return Err(malformed(Malformation::Zip64));
    }
    if folder && size != 0 {
        return Err(malformed(Malformation::FolderContent));
    }
    if method == STORED && packed != size {
        return Err(PackError::Disagreement { member: shown, field: RepeatedField::Size });
    }
    let name = name_rules::parse_name(&raw, folder, false, rules)?.unwrap_or_default();
    Ok(ZipEntry { name, is_folder: folder, flags, method, crc, compressed_size: packed, size, offset })
}

/// Refuses encryption, unknown flags and unknown compression methods.
fn check_flags_and_method(flags: u16, method: u16) -> Result<(), Malformation> {
    if flags & FLAG_ENCRYPTED != 0 {
        return Err(Malformation::ZipEncrypted);
    }
    if flags & !(FLAG_DEFLATE_EFFORT | FLAG_DESCRIPTOR | FLAG_UTF8) != 0 {
        return Err(Malformation::ZipFlags(flags));
    }
    if method != STORED && method != DEFLATED {
        return Err(Malformation::ZipMethod(method));
    }
    Ok(())
}

/// Checks the external attributes against the name. One half of them is a Unix mode, the other DOS attributes, and not every
/// reader trusts the byte that says which of them counts: so neither half may contradict the name.
fn check_file_type(attributes: u32, folder: bool, shown: &str) -> Result<(), PackError> {
    let forbidden = |member_type| Err(PackError::Forbidden { member: shown.to_owned(), member_type });
    let dos_folder = attributes & 0x10 != 0;
    let unix_folder = match (attributes >> 16) & 0o170_000 {
        0 => folder,
        0o100_000 => false,
        0o040_000 => true,
        0o120_000 => return forbidden(UnsupportedMember::SymbolicLink),
        0o020_000 | 0o060_000 => return forbidden(UnsupportedMember::Device),
        0o010_000 | 0o140_000 => return forbidden(UnsupportedMember::Pipe),
        other => return forbidden(UnsupportedMember::UnixType(other)),
    };
    if unix_folder != folder || (dos_folder && !folder) {
        return Err(PackError::Disagreement { member: shown.to_owned(), field: RepeatedField::Type });
    }
    Ok(())
}
