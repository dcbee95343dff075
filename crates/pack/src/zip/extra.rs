//! Extra fields: remarks of other tools, as long as they stay remarks.

use crate::error::Malformation;

/// 64-bit sizes and offset (APPNOTE §4.5.3).
const ZIP64: u16 = 0x0001;
/// Encryption, in its several forms.
const ENCRYPTION: [u16; 4] = [0x0014, 0x0015, 0x0017, 0x9901];
/// Another name for the entry (APPNOTE §4.6.9).
const UNICODE_PATH: u16 = 0x7075;
/// Link targets, devices and sparse maps of Unix tools.
const UNIX: [u16; 2] = [0x000d, 0x756e];

/// Refuses fields that are cut short or that change what the entry is.
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
