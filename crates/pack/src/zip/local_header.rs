//! Local header before the content of an entry, and data descriptor behind it. Both repeat fields of the directory, and both
//! must agree with it.

use super::directory::ZipEntry;
use super::{DESCRIPTOR_SIGNATURE, FLAG_DESCRIPTOR, LOCAL_SIGNATURE, extra_fields, u16_at, u32_at};
use crate::error::{ArchiveSection, Malformation, PackError, RepeatedField, shortened};
use crate::input::{ArchiveInput, read_array, read_vec};
use std::io::Read;

/// Reads the local header, checks it against the entry, and returns its length in bytes.
pub(super) fn check_header<R: Read>(input: &mut ArchiveInput<R>, entry: &ZipEntry) -> Result<u64, PackError> {
    let record: [u8; 30] = read_array(input, ArchiveSection::ZipLocal)?;
    if u32_at(&record, 0) != LOCAL_SIGNATURE {
        return Err(PackError::malformed(Malformation::ZipRecord));
    }
    let lengths = [26, 28].map(|at| u64::from(u16_at(&record, at)));
    let raw = read_vec(input, lengths[0], ArchiveSection::ZipLocal)?;
    let extras = read_vec(input, lengths[1], ArchiveSection::ZipLocal)?;
    extra_fields::check(&extras).map_err(PackError::malformed)?;

    let agree = |agrees: bool, field| if agrees { Ok(()) } else { Err(disagreement(entry, field)) };
    let name = if entry.is_folder { raw.strip_suffix(b"/") } else { Some(&raw[..]) };
    agree(name == Some(entry.name.as_bytes()), RepeatedField::Name)?;
    agree(u16_at(&record, 6) == entry.flags, RepeatedField::Flags)?;
    agree(u16_at(&record, 8) == entry.method, RepeatedField::Method)?;
    // A writer with a descriptor leaves unknown fields zero here: Info-ZIP the CRC alone, others all three.
    let unknown = |value: u32| entry.flags & FLAG_DESCRIPTOR != 0 && value == 0;
    let [crc, packed, size] = [14, 18, 22].map(|at| u32_at(&record, at));
    agree(crc == entry.crc || unknown(crc), RepeatedField::Crc)?;
    agree(packed == entry.compressed_size || unknown(packed), RepeatedField::Size)?;
    agree(size == entry.size || unknown(size), RepeatedField::Size)?;
    Ok(30 + lengths[0] + lengths[1])
}

/// Reads the data descriptor, if the entry has one, in the `available_bytes` before the next entry, and returns its length.
/// The signature of a descriptor is optional, so that the length tells if there is one.
pub(super) fn check_descriptor<R: Read>(
    input: &mut ArchiveInput<R>,
    entry: &ZipEntry,
    available_bytes: u64,
) -> Result<u64, PackError> {
    if entry.flags & FLAG_DESCRIPTOR == 0 {
        return Ok(0);
    }
    let signed = match available_bytes {
        12 => false,
        16 => true,
        _ => return Err(PackError::malformed(Malformation::ZipGap)),
    };
    if signed && u32::from_le_bytes(read_array(input, ArchiveSection::ZipLocal)?) != DESCRIPTOR_SIGNATURE {
        return Err(PackError::malformed(Malformation::ZipRecord));
    }
    let record: [u8; 12] = read_array(input, ArchiveSection::ZipLocal)?;
    if u32_at(&record, 0) != entry.crc {
        return Err(disagreement(entry, RepeatedField::Crc));
    }
    if u32_at(&record, 4) != entry.compressed_size || u32_at(&record, 8) != entry.size {
        return Err(disagreement(entry, RepeatedField::Size));
    }
    Ok(available_bytes)
}

/// Returns the error for a field in which the two halves differ.
pub(super) fn disagreement(entry: &ZipEntry, field: RepeatedField) -> PackError {
    PackError::Disagreement { member: shortened(entry.name.as_bytes()), field }
}
