//! Why an archive was refused. One enum, with the exact reason nested inside, so that a test and a caller can name it.
//!
//! Names in errors come from the archive. They are cut to 200 characters and `Display` prints them escaped; a caller that
//! takes the field itself must escape it.

use crate::limits::Limit;
use crate::name::NameFault;
use std::io;

/// Why an archive cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// More of something than the limits allow.
    #[error("{limit} is over the limit of {max}{}", of(member))]
    Limit {
        /// Which limit.
        limit: Limit,
        /// The largest value that would have passed.
        max: u64,
        /// The member it happened in, where there is one.
        member: Option<String>,
    },
    /// The bytes end before the structure does.
    #[error("the archive ends inside {stage}{}", of(member))]
    Truncated {
        /// What was being read.
        stage: Stage,
        /// The member it happened in, where there is one.
        member: Option<String>,
    },
    /// Bytes that are not the format, or a form of it that is not accepted.
    #[error("{fault}{}", of(member))]
    Malformed {
        /// What was wrong.
        fault: Malformation,
        /// The member it happened in, where there is one.
        member: Option<String>,
    },
    /// A name that could reach outside a folder or mislead a reader.
    #[error("unsafe member name {}: {fault}", shown(name))]
    UnsafeName {
        /// The name; bytes that are not UTF-8 are replaced.
        name: String,
        /// What is wrong with it.
        fault: NameFault,
    },
    /// A member that is not a plain file, or a header form that the rules refuse.
    #[error("member {} is {entry}, which is not accepted", shown(member))]
    Forbidden {
        /// The member's name as far as it is known.
        member: String,
        /// What it is.
        entry: Entry,
    },
    /// The same name twice.
    #[error("two members are named {}", shown(name))]
    Duplicate {
        /// The name.
        name: String,
    },
    /// Two names that one file on a disk without case would answer to.
    #[error("the names {} and {} differ only by case", shown(name), shown(other))]
    CaseCollision {
        /// The later name.
        name: String,
        /// The earlier name.
        other: String,
    },
    /// A name that is a file and is also the folder of another.
    #[error("{} is a file, so {} cannot be inside it", shown(file), shown(inside))]
    FileAndFolder {
        /// The file.
        file: String,
        /// The member (or folder) whose path goes through the file.
        inside: String,
    },
    /// Two places of the archive state different values for one thing.
    #[error("the archive disagrees with itself about {field} of member {}", shown(member))]
    Disagreement {
        /// The member.
        member: String,
        /// What is stated twice.
        field: Field,
    },
    /// Bytes after the structure ended.
    #[error("there is data after {stage}")]
    TrailingData {
        /// What had ended.
        stage: Stage,
    },
    /// A checksum that does not fit the bytes.
    #[error("the checksum of {checked} does not match{}", of(member))]
    Checksum {
        /// What was summed.
        checked: Checked,
        /// The member it happened in, where there is one.
        member: Option<String>,
    },
    /// The underlying reader or writer failed.
    #[error("input or output failed: {text}")]
    Io {
        /// The kind of failure.
        kind: io::ErrorKind,
        /// What the system said.
        text: String,
    },
}

/// Where in an archive something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stage {
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

/// What is wrong with bytes that are not an accepted form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformation {
    /// A size field that is no number, is negative, or is written in a form that is not accepted.
    #[error("the size in a tar header is not an acceptable number")]
    TarSize,
    /// A tar header with content in fields that a plain member leaves empty.
    #[error("a tar header has content in fields that must be empty")]
    TarFields,
    /// A folder or an extension that states a size it cannot have.
    #[error("a folder has content")]
    FolderContent,
    /// A second PAX header or long name for one member.
    #[error("one member has several extension headers that name it")]
    RepeatedExtension,
    /// A PAX header or long name that no member follows.
    #[error("an extension header is not followed by a member")]
    DanglingExtension,
    /// A GNU long name that is not one NUL-terminated name.
    #[error("a GNU long name is malformed")]
    LongName,
    /// A PAX header that is malformed or asks for what is not accepted.
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
    /// No end record: this is not a zip.
    #[error("there is no end record of a zip")]
    NoZipEnd,
    /// The comment holds what another reader would take for the end record.
    #[error("the zip comment contains an end record")]
    ZipComment,
    /// A zip in several volumes.
    #[error("the zip is one of several volumes")]
    ZipVolumes,
    /// A 64-bit zip: its sizes stand in two places.
    #[error("64-bit zip structures are not accepted")]
    Zip64,
    /// A record without its signature, or with lengths that do not add up.
    #[error("a record of the zip is malformed")]
    ZipRecord,
    /// The end record counts other entries than the directory has.
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

/// What is wrong with a PAX header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PaxFault {
    /// A record that is not `length key=value` and a newline.
    #[error("a record is malformed")]
    Record,
    /// One key twice.
    #[error("{0:?} is given twice")]
    Repeated(String),
    /// A key that changes what a member is, or that nobody is known to write.
    #[error("{0:?} is not accepted")]
    Key(String),
    /// A value that the key cannot have.
    #[error("{0:?} has an unacceptable value")]
    Value(String),
}

/// What a member is, when it is not a plain file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Entry {
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

/// What an archive states in two places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Field {
    /// The name.
    #[error("the name")]
    Name,
    /// The size, declared or compressed.
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
    /// Whether it is a file or a folder.
    #[error("the file type")]
    Type,
}

/// What a checksum covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Checked {
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

fn of(member: &Option<String>) -> String {
    member.as_ref().map_or_else(String::new, |name| format!(" (member {})", shown(name)))
}

/// A name in quotes, with every character that could act on a terminal or deceive a reader escaped. `Debug` lets through
/// four letters that nobody sees: the Hangul fillers.
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

/// A name from an archive as an error carries it: at most 200 characters, with bytes that are not UTF-8 replaced.
pub(crate) fn quoted(name: &[u8]) -> String {
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

    pub(crate) fn truncated(stage: Stage) -> PackError {
        PackError::Truncated { stage, member: None }
    }

    /// The same error, naming the member it happened in unless it already names one.
    pub(crate) fn within(mut self, name: &str) -> PackError {
        if let PackError::Limit { member, .. }
        | PackError::Truncated { member, .. }
        | PackError::Malformed { member, .. }
        | PackError::Checksum { member, .. } = &mut self
            && member.is_none()
        {
            *member = Some(quoted(name.as_bytes()));
        }
        self
    }
}

/// An error that a [`crate::Member`] gave through `Read` comes back as itself.
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
        assert_eq!(quoted(b"a"), "a");
        assert_eq!(quoted("é".repeat(200).as_bytes()), "é".repeat(200));
        assert_eq!(quoted("é".repeat(201).as_bytes()), format!("{}…", "é".repeat(200)));
        assert_eq!(quoted(&[b'x'; 5000]).chars().count(), 201);
        assert_eq!(quoted(&[0xff, b'a']), "\u{fffd}a");
        let error = PackError::Duplicate { name: "\u{1b}[31m\u{202e}".to_owned() };
        assert_eq!(error.to_string(), "two members are named \"\\u{1b}[31m\\u{202e}\"");
    }

    #[test]
    fn errors_survive_the_way_through_io() {
        let error = PackError::truncated(Stage::Content).within("a");
        assert_eq!(PackError::from(io::Error::from(error.clone())), error);
    }
}
