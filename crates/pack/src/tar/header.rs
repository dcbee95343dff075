//! The 512-byte header of a tar member: which member it is, and that it is plain.
//!
//! POSIX.1-2017 pax §"ustar Interchange Format", and the GNU form, which has the same fields up to byte 345 and times and sparse
//! maps where ustar has its prefix.

use super::number;
use crate::error::{Checked, Entry, Malformation, PackError, quoted};
use crate::rules::TarRules;
use std::ops::Range;

/// The unit of a tar.
pub(crate) const BLOCK: usize = 512;

pub(super) const NAME: Range<usize> = 0..100;
pub(super) const MODE: Range<usize> = 100..108;
pub(super) const UID: Range<usize> = 108..116;
pub(super) const GID: Range<usize> = 116..124;
pub(super) const SIZE: usize = 124;
pub(super) const MTIME: Range<usize> = 136..148;
pub(super) const CHECKSUM: Range<usize> = 148..156;
pub(super) const TYPE: usize = 156;
const LINK: Range<usize> = 157..257;
pub(super) const MAGIC: Range<usize> = 257..265;
pub(super) const PREFIX: Range<usize> = 345..500;
/// In a GNU header: access and change time, then what only sparse and multi-volume members use.
const GNU_SPECIAL: Range<usize> = 369..500;
/// Unused in both forms.
const UNUSED: Range<usize> = 500..512;
/// Everything from the prefix on.
const TAIL: Range<usize> = 345..512;
pub(super) const POSIX_MAGIC: &[u8; 8] = b"ustar\x0000";
pub(super) const GNU_MAGIC: &[u8; 8] = b"ustar  \0";

/// What a header announces.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// The name as it stands, prefix and all.
    pub(crate) name: Vec<u8>,
    pub(crate) size: u64,
}

/// The kinds of members that are not refused outright.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Pax,
    LongName,
}

/// The sum of all bytes, with the checksum itself as spaces, is what the header says.
pub(crate) fn has_checksum(block: &[u8; BLOCK]) -> bool {
    number::padded_octal(&block[CHECKSUM]) == Some(u64::from(checksum(block)))
}

pub(super) fn checksum(block: &[u8; BLOCK]) -> u32 {
    let sum = |bytes: &[u8]| bytes.iter().map(|b| u32::from(*b)).sum::<u32>();
    sum(&block[..CHECKSUM.start]) + 8 * u32::from(b' ') + sum(&block[CHECKSUM.end..])
}

impl Header {
    /// Reads a header that is not a zero block.
    pub(crate) fn parse(block: &[u8; BLOCK], rules: &TarRules) -> Result<Header, PackError> {
        let shown = quoted(block[NAME].split(|b| *b == 0).next().unwrap_or_default());
        if !has_checksum(block) {
            return Err(PackError::Checksum { checked: Checked::TarHeader, member: Some(shown) });
        }
        let malformed = |fault| PackError::Malformed { fault, member: Some(shown.clone()) };
        let forbidden = |entry| PackError::Forbidden { member: shown.clone(), entry };

        let kind = kind(block[TYPE]).map_err(forbidden)?;
        match kind {
            Kind::Pax if !rules.extensions => return Err(forbidden(Entry::Pax)),
            Kind::LongName if !rules.extensions => return Err(forbidden(Entry::LongName)),
            _ => {}
        }
        let mut field = [0; 12];
        field.copy_from_slice(&block[SIZE..SIZE + 12]);
        let size = if rules.loose_sizes { number::loose_size(&field) } else { number::strict_size(&field) };
        let size = size.ok_or_else(|| malformed(Malformation::TarSize))?;

        if !is_zero(&block[LINK]) || !is_zero(&block[UNUSED]) {
            return Err(malformed(Malformation::TarFields));
        }
        let mut name = Vec::new();
        if &block[MAGIC] == POSIX_MAGIC && rules.prefix {
            let prefix = text(&block[PREFIX]).ok_or_else(|| malformed(Malformation::TarFields))?;
            if !prefix.is_empty() {
                name.extend_from_slice(prefix);
                name.push(b'/');
            }
        } else if &block[MAGIC] == GNU_MAGIC && rules.prefix {
            if !is_zero(&block[GNU_SPECIAL]) {
                return Err(forbidden(Entry::Sparse));
            }
        } else if !is_zero(&block[TAIL]) {
            return Err(forbidden(Entry::Prefix));
        }
        name.extend_from_slice(text(&block[NAME]).ok_or_else(|| malformed(Malformation::TarFields))?);

        // Before ustar had folders, a name with a slash at its end was one.
        let kind = if kind == Kind::File && name.ends_with(b"/") { Kind::Folder } else { kind };
        if kind == Kind::Folder && size != 0 {
            return Err(malformed(Malformation::FolderContent));
        }
        Ok(Header { kind, name, size })
    }
}

fn kind(flag: u8) -> Result<Kind, Entry> {
    Err(match flag {
        0 | b'0' => return Ok(Kind::File),
        b'5' => return Ok(Kind::Folder),
        b'x' => return Ok(Kind::Pax),
        b'L' => return Ok(Kind::LongName),
        b'1' => Entry::HardLink,
        b'2' => Entry::SymbolicLink,
        b'3' | b'4' => Entry::Device,
        b'6' => Entry::Pipe,
        b'g' => Entry::PaxGlobal,
        b'K' => Entry::LongLink,
        b'S' => Entry::Sparse,
        b'M' | b'V' => Entry::Volume,
        other => Entry::TarType(other),
    })
}

/// A field up to its first NUL; `None` if something hides behind that NUL.
fn text(field: &[u8]) -> Option<&[u8]> {
    let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
    let (text, rest) = field.split_at(end);
    is_zero(rest).then_some(text)
}

pub(super) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| *b == 0)
}
