//! Extra fields of zip entries: ignored, unless they would change the entry.

use crate::error::Malformation;

/// Id of the field with 64-bit sizes and offset (APPNOTE §4.5.3).
const ZIP64: u16 = 0x0001;
/// Ids of the fields for encryption.
const ENCRYPTION: [u16; 4] = [0x0014, 0x0015, 0x0017, 0x9901];
/// Id of the field with another name for the entry (APPNOTE §4.6.9).
const UNICODE_PATH: u16 = 0x7075;
/// Ids of the fields of Unix tools with link targets, devices and sparse maps.
const UNIX: [u16; 2] = [0x000d, 0x756e];

/// Refuses fields that are cut short, and fields that change name, size, content or type of the entry.
pub(super) fn check(mut extra: &[u8]) -> Result<(), Malformation> {
    while !extra.is_empty() {
        let (head, rest) = extra.split_first_chunk::<4>().ok_or(Malformation::ZipRecord)?;
        let (id, length) = (super::u16_at(head, 0), usize::from(super::u16_at(head, 2)));
        match id {
            ZIP64 => return Err(Malformation::Zip64),
            id if ENCRYPTION.contains(&id) => return Err(Malformation::ZipEncrypted),
            id if id == UNICODE_PATH || UNIX.contains(&id) => return Err(Malformation::ZipExtra(id)),
            _ => {}
        }
        extra = rest.get(length..).ok_or(Malformation::ZipRecord)?;
    }
    Ok(())
}
