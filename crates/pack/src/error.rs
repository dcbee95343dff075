//! Errors of archives: one enum, [`PackError`], with the exact reason nested inside, so that tests and callers can match it.
//!
//! Names in errors come from the archive. They are cut to 200 characters, and `Display` prints them escaped; a caller that
//! prints the field itself must escape it.

use crate::limits::ArchiveLimit;
use crate::name_rules::NameFault;
use std::io;

/// Reason why an archive cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// A size or a count is larger than the limits allow.
    #[error("{limit} is over the limit of {max}{}", of_member(member))]
    Limit {
        /// Limit that was exceeded.
        limit: ArchiveLimit,
        /// Largest value that would have passed, in the unit of the limit.
        max: u64,
        /// Name of the member in which it happened, if there is one.
        member: Option<String>,
    },
    /// The archive ends before its structure does.
    #[error("the archive ends inside {section}{}", of_member(member))]
    Truncated {
        /// Part of the archive that was being read.
        section: ArchiveSection,
        /// Name of the member in which it happened, if there is one.
        member: Option<String>,
    },
    /// Bytes that break the format, or a form of it that is not accepted.
    #[error("{fault}{}", of_member(member))]
    Malformed {
        /// Exact reason.
        fault: Malformation,
        /// Name of the member in which it happened, if there is one.
        member: Option<String>,
    },
    /// A name that could reach outside of a folder or mislead a reader.
    #[error("unsafe member name {}: {fault}", shown(name))]
    UnsafeName {
        /// Name from the archive; bytes that are not UTF-8 are replaced.
        name: String,
        /// Reason why the name is not safe.
        fault: NameFault,
    },
    /// A member that is not a plain file, or a header form that the rules refuse.
    #[error("member {} is {member_type}, which is not accepted", shown(member))]
    Forbidden {
        /// Name of the member, as far as it is known.
        member: String,
        /// Type of the member, or form of its header.
        member_type: UnsupportedMember,
    },
    /// Two members with the same name.
    #[error("two members are named {}", shown(name))]
    Duplicate {
        /// Name that occurs twice.
        name: String,
    },
    /// Two names that differ only by case, and are one file on a case-insensitive file system.
    #[error("the names {} and {} differ only by case", shown(name), shown(other))]
    CaseCollision {
        /// Name of the later member.
        name: String,
        /// Name of the earlier member.
        other: String,
    },
    /// A file that is also the folder of another member.
    #[error("{} is a file, so {} cannot be inside it", shown(file), shown(inside))]
    FileAndFolder {
        /// Name of the file.
        file: String,
        /// Name of the member (or folder) whose path goes through the file.
        inside: String,
    },
    /// Two places of the archive state different values for one field.
    #[error("the archive disagrees with itself about {field} of member {}", shown(member))]
    Disagreement {
        /// Name of the member.
        member: String,
        /// Field that is stated twice.
        field: RepeatedField,
    },
    /// Bytes after the end of the archive's structure.
    #[error("there is data after {section}")]
    TrailingData {
        /// Part of the archive that had ended.
        section: ArchiveSection,
    },
    /// A checksum that does not match the bytes.
    #[error("the checksum of {checksum} does not match{}", of_member(member))]
    Checksum {
        /// Checksum that is wrong.
        checksum: ChecksumKind,
        /// Name of the member in which it happened, if there is one.
        member: Option<String>,
    },
    /// The underlying reader or writer failed.
    #[error("input or output failed: {text}")]
    Io {
        /// Kind of failure.
        kind: io::ErrorKind,
        /// Message of the operating system.
        text: String,
    },
}

/// Part of an archive at which an error occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveSection {
    /// A 512-byte tar header.
    #[error("a tar header")]
    TarHeader,
    /// A PAX header's or long name's body.
    #[error("a tar extension header")]
    TarExtension,
    /// The two zero blocks that end a tar.
    #[error("the end blocks of a tar")]
    TarEnd,
    /// A member's content, with a tar's padding after it.
    #[error("a member's content")]
    Content,
    /// A gzip header.
    #[error("a gzip header")]
    GzipHeader,
    /// A gzip stream: compressed data and its trailer.
    #[error("a gzip stream")]
    Gzip,
    /// A zip's central directory.
    #[error("a zip's central directory")]
    ZipDirectory,
    /// A zip's local header or data descriptor.
    #[error("a zip's local header")]
    ZipLocal,
    /// A zip's end record with its comment.
    #[error("a zip's end record")]
    ZipEnd,
}

/// Exact reason of [`PackError::Malformed`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformation {
    /// A size field of a tar that is no number, is negative, or is written in a form that is not accepted.
    #[error("the size in a tar header is not an acceptable number")]
    TarSize,
    /// A tar header with content in fields that a plain member leaves empty.
    #[error("a tar header has content in fields that must be empty")]
    TarFields,
    /// A folder that states a size other than zero.
    #[error("a folder has content")]
    FolderContent,
    /// A second PAX header or long name for one member.
    #[error("one member has several extension headers that name it")]
    RepeatedExtension,
    /// A PAX header or long name that is not followed by a member.
    #[error("an extension header is not followed by a member")]
    DanglingExtension,
    /// A GNU long name that is not one NUL-terminated name.
    #[error("a GNU long name is malformed")]
    LongName,
    /// A PAX header that is malformed or has a key or value that is not accepted.
    #[error("PAX header: {0}")]
    Pax(PaxFault),
    /// Padding after a member that is not zero: bytes that no member owns.
    #[error("the padding after a member is not zero")]
    Padding,
    /// Not gzip, not deflate inside, or reserved flags.
    #[error("the gzip header is malformed")]
    GzipHeader,
    /// Compressed data that cannot be inflated.
    #[error("the compressed data is malformed")]
    Deflate,
    /// No end record, so that this is no zip.
    #[error("there is no end record of a zip")]
    NoZipEnd,
    /// A zip comment with the signature of an end record in it, which another reader might take for the end record.
    #[error("the zip comment contains an end record")]
    ZipComment,
    /// A zip in several volumes.
    #[error("the zip is one of several volumes")]
    ZipVolumes,
    /// A 64-bit zip, which states its sizes in two places.
    #[error("64-bit zip structures are not accepted")]
    Zip64,
    /// A record without its signature, or with lengths that do not add up.
    #[error("a record of the zip is malformed")]
    ZipRecord,
    /// The end record states another number of entries than the directory has.
    #[error("the zip's directory does not have the stated number of entries")]
    ZipCount,
    /// Bytes that no entry owns.
    #[error("the zip contains bytes that belong to no entry")]
    ZipGap,
    /// Two entries share bytes.
    #[error("entries of the zip overlap")]
    ZipOverlap,
    /// Encrypted content.
    #[error("the content is encrypted")]
    ZipEncrypted,
    /// A compression method other than stored and deflate.
    #[error("compression method {0} is not accepted")]
    ZipMethod(u16),
    /// Flags with a meaning that is not accepted.
    #[error("general purpose flags {0:#06x} are not accepted")]
    ZipFlags(u16),
    /// An extra field that changes a name, a size or the content.
    #[error("extra field {0:#06x} is not accepted")]
    ZipExtra(u16),
}

/// Reason why a PAX header is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PaxFault {
    /// A record that is not `length key=value` and a newline.
    #[error("a record is malformed")]
    Record,
    /// A key that occurs twice.
    #[error("{0:?} is given twice")]
    Repeated(String),
    /// A key that changes the type of a member, or that no known tool writes.
    #[error("{0:?} is not accepted")]
    Key(String),
    /// A value that is not valid for its key.
    #[error("{0:?} has an unacceptable value")]
    Value(String),
}

/// Type of a member, or form of its header, that is not a plain file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnsupportedMember {
    /// A folder.
    #[error("a folder")]
    Folder,
    /// A symbolic link.
    #[error("a symbolic link")]
    SymbolicLink,
    /// A hard link.
    #[error("a hard link")]
    HardLink,
    /// A character or block device.
    #[error("a device")]
    Device,
    /// A FIFO or a socket.
    #[error("a pipe")]
    Pipe,
    /// A sparse file.
    #[error("a sparse file")]
    Sparse,
    /// A part of a file that began in another volume, or a volume's label.
    #[error("part of a multi-volume archive")]
    Volume,
    /// A PAX header for one member.
    #[error("a PAX header")]
    Pax,
    /// A PAX header for all that follow.
    #[error("a global PAX header")]
    PaxGlobal,
    /// A GNU long name.
    #[error("a GNU long name")]
    LongName,
    /// A GNU long link target.
    #[error("a GNU long link target")]
    LongLink,
    /// A name split over the prefix field.
    #[error("a file with a name prefix")]
    Prefix,
    /// A tar type flag with no accepted meaning.
    #[error("of tar type {0:#04x}")]
    TarType(u8),
    /// A file type in a zip's external attributes with no accepted meaning.
    #[error("of Unix file type {0:#o}")]
    UnixType(u32),
}

/// Field that an archive states in two places, which must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepeatedField {
    /// The name.
    #[error("the name")]
    Name,
    /// The size, uncompressed or compressed.
    #[error("the size")]
    Size,
    /// The CRC.
    #[error("the CRC")]
    Crc,
    /// The compression method.
    #[error("the compression method")]
    Method,
    /// The general purpose flags.
    #[error("the flags")]
    Flags,
    /// The file type: file or folder.
    #[error("the file type")]
    Type,
}

/// Checksum of an archive, by the bytes that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChecksumKind {
    /// A tar header.
    #[error("a tar header")]
    TarHeader,
    /// A gzip header (the optional FHCRC).
    #[error("a gzip header")]
    GzipHeader,
    /// The CRC-32 of a gzip member.
    #[error("a gzip stream")]
    GzipCrc,
    /// The length of a gzip member modulo 2^32.
    #[error("a gzip stream's length")]
    GzipLength,
    /// The CRC-32 of a zip entry.
    #[error("a member's content")]
    Zip,
}

/// Returns the end of a message: ` (member "name")`, or nothing.
fn of_member(member: &Option<String>) -> String {
    member.as_ref().map_or_else(String::new, |name| format!(" (member {})", shown(name)))
}

/// Returns a name in quotes, with every character escaped that could act on a terminal or deceive a reader. `Debug` alone
/// leaves four invisible letters unescaped: the Hangul fillers.
fn shown(name: &str) -> String {
    let mut out = String::new();
    for c in format!("{name:?}").chars() {
        match c {
            '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Returns a name from an archive as errors carry it: at most 200 characters, with bytes that are not UTF-8 replaced.
pub(crate) fn shortened(name: &[u8]) -> String {
    const CHARACTERS: usize = 200;
    let text = String::from_utf8_lossy(&name[..name.len().min(4 * CHARACTERS)]);
    let mut cut: String = text.chars().take(CHARACTERS).collect();
    if cut.len() < name.len() && (text.chars().nth(CHARACTERS).is_some() || name.len() > 4 * CHARACTERS) {
        cut.push('…');
    }
    cut
}

impl PackError {
    pub(crate) fn malformed(fault: Malformation) -> PackError {
        PackError::Malformed { fault, member: None }
    }

    pub(crate) fn truncated(section: ArchiveSection) -> PackError {
        PackError::Truncated { section, member: None }
    }

    /// Adds the name of the member in which the error occurred, unless the error names one already.
    pub(crate) fn in_member(mut self, name: &str) -> PackError {
        if let PackError::Limit { member, .. }
        | PackError::Truncated { member, .. }
        | PackError::Malformed { member, .. }
        | PackError::Checksum { member, .. } = &mut self
            && member.is_none()
        {
            *member = Some(shortened(name.as_bytes()));
        }
        self
    }
}

/// Restores a [`PackError`] that an [`crate::ArchiveMember`] returned through `Read`; other errors become [`PackError::Io`].
impl From<io::Error> for PackError {
    fn from(error: io::Error) -> PackError {
        let known = error.get_ref().and_then(|inner| inner.downcast_ref::<PackError>()).cloned();
        known.unwrap_or_else(|| PackError::Io { kind: error.kind(), text: error.to_string() })
    }
}

impl From<PackError> for io::Error {
    fn from(error: PackError) -> io::Error {
        let kind = match &error {
            PackError::Io { kind, .. } => *kind,
            PackError::Truncated { .. } => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_errors_are_short_and_escaped() {
        assert_eq!(shortened(b"a"), "a");
        assert_eq!(shortened("é".repeat(200).as_bytes()), "é".repeat(200));
        assert_eq!(shortened("é".repeat(201).as_bytes()), format!("{}…", "é".repeat(200)));
        assert_eq!(shortened(&[b'x'; 5000]).chars().count(), 201);
        assert_eq!(shortened(&[0xff, b'a']), "\u{fffd}a");
        let error = PackError::Duplicate { name: "\u{1b}[31m\u{202e}".to_owned() };
        assert_eq!(error.to_string(), "two members are named \"\\u{1b}[31m\\u{202e}\"");
    }

    #[test]
    fn errors_survive_the_way_through_io() {
        let error = PackError::truncated(ArchiveSection::Content).in_member("a");
        assert_eq!(PackError::from(io::Error::from(error.clone())), error);
    }
}
