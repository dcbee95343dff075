//! 512-byte header of a tar member: its name, type and size, and the check that it is plain.
//!
//! POSIX.1-2017 pax §"ustar Interchange Format", and the GNU form, which has the same fields up to byte 345 and times and sparse
//! maps where ustar has its prefix.

use super::number;
use crate::error::{ChecksumKind, Malformation, PackError, UnsupportedMember, shortened};
use crate::rules::TarRules;
use std::ops::Range;

/// Block size of a tar, in bytes.
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
/// Fields of a GNU header that only sparse and multi-volume members use. Access and change time come before them.
const GNU_SPECIAL: Range<usize> = 369..500;
/// Bytes that are unused in both forms.
const UNUSED: Range<usize> = 500..512;
/// All bytes from the prefix on.
const TAIL: Range<usize> = 345..512;
pub(super) const POSIX_MAGIC: &[u8; 8] = b"ustar\x0000";
pub(super) const GNU_MAGIC: &[u8; 8] = b"ustar  \0";

/// Header of a member that is not refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TarHeader {
    pub(crate) kind: TarMemberKind,
    /// Name as it stands, with its prefix.
    pub(crate) name: Vec<u8>,
    pub(crate) size: u64,
}

/// Types of members that are not refused outright.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TarMemberKind {
    File,
    Folder,
    Pax,
    LongName,
}

/// Returns true if the stated checksum is the sum of all bytes, with the checksum field itself as spaces.
pub(crate) fn has_valid_checksum(block: &[u8; BLOCK]) -> bool {
    number::padded_octal(&block[CHECKSUM]) == Some(u64::from(checksum(block)))
}

/// Computes the checksum of a header, with the checksum field as spaces.
pub(super) fn checksum(block: &[u8; BLOCK]) -> u32 {
    let sum = |bytes: &[u8]| bytes.iter().map(|b| u32::from(*b)).sum::<u32>();
    sum(&block[..CHECKSUM.start]) + 8 * u32::from(b' ') + sum(&block[CHECKSUM.end..])
}

impl TarHeader {
    /// Parses a header, which must not be a zero block.
    ///
    /// # Errors
    /// A wrong checksum, a field that is malformed, or a type or form that the rules refuse.
    pub(crate) fn parse(block: &[u8; BLOCK], rules: &TarRules) -> Result<TarHeader, PackError> {
        let shown = shortened(block[NAME].split(|b| *b == 0).next().unwrap_or_default());
        if !has_valid_checksum(block) {
            return Err(PackError::Checksum { checksum: ChecksumKind::TarHeader, member: Some(shown) });
        }
        let malformed = |fault| PackError::Malformed { fault, member: Some(shown.clone()) };
        let forbidden = |member_type| PackError::Forbidden { member: shown.clone(), member_type };

        let kind = member_kind(block[TYPE]).map_err(forbidden)?;
        match kind {
            TarMemberKind::Pax if !rules.extensions => return Err(forbidden(UnsupportedMember::Pax)),
            TarMemberKind::LongName if !rules.extensions => {
                return Err(forbidden(UnsupportedMember::LongName));
            }
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
            let prefix = nul_terminated(&block[PREFIX]).ok_or_else(|| malformed(Malformation::TarFields))?;
            if !prefix.is_empty() {
                name.extend_from_slice(prefix);
                name.push(b'/');
            }
        } else if &block[MAGIC] == GNU_MAGIC && rules.prefix {
            if !is_zero(&block[GNU_SPECIAL]) {
                return Err(forbidden(UnsupportedMember::Sparse));
            }
        } else if !is_zero(&block[TAIL]) {
            return Err(forbidden(UnsupportedMember::Prefix));
        }
        name.extend_from_slice(
            nul_terminated(&block[NAME]).ok_or_else(|| malformed(Malformation::TarFields))?,
        );

        // Before ustar had a type for folders, a slash at the end of the name marked them.
        let kind =
            if kind == TarMemberKind::File && name.ends_with(b"/") { TarMemberKind::Folder } else { kind };
        if kind == TarMemberKind::Folder && size != 0 {
            return Err(malformed(Malformation::FolderContent));
        }
        Ok(TarHeader { kind, name, size })
    }
}

/// Returns the accepted type for a type flag, or the reason for refusal.
fn member_kind(flag: u8) -> Result<TarMemberKind, UnsupportedMember> {
    Err(match flag {
        0 | b'0' => return Ok(TarMemberKind::File),
        b'5' => return Ok(TarMemberKind::Folder),
        b'x' => return Ok(TarMemberKind::Pax),
        b'L' => return Ok(TarMemberKind::LongName),
        b'1' => UnsupportedMember::HardLink,
        b'2' => UnsupportedMember::SymbolicLink,
        b'3' | b'4' => UnsupportedMember::Device,
        b'6' => UnsupportedMember::Pipe,
        b'g' => UnsupportedMember::PaxGlobal,
        b'K' => UnsupportedMember::LongLink,
        b'S' => UnsupportedMember::Sparse,
        b'M' | b'V' => UnsupportedMember::Volume,
        other => UnsupportedMember::TarType(other),
    })
}

/// Returns a field up to its first NUL; `None` if other bytes are hidden behind that NUL.
fn nul_terminated(field: &[u8]) -> Option<&[u8]> {
    let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
    let (text, rest) = field.split_at(end);
    is_zero(rest).then_some(text)
}

pub(super) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| *b == 0)
}
