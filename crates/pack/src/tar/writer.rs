//! Reproducible writers of tar archives: no times, no owners, no folders, names checked as the reader checks them.

use super::header::{
    BLOCK, CHECKSUM, GID, GNU_MAGIC, MAGIC, MODE, MTIME, NAME, POSIX_MAGIC, PREFIX, SIZE, TYPE, UID, checksum,
};
use super::number::FIRST_NON_OCTAL_SIZE;
use crate::copy::copy_exactly;
use crate::error::PackError;
use crate::gzip::GzipWriter;
use crate::input::to_u64;
use crate::limits::{ArchiveLimit, ArchiveLimits};
use crate::member_names::MemberNames;
use crate::name_rules;
use crate::rules::ArchiveRules;
use std::io::{Read, Write};

/// Form of the headers that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TarStyle {
    /// Headers like those of the real Replay Bundle tool: GNU magic, type NUL, names of at most 100 bytes.
    Gnu,
    /// POSIX ustar, type `0`: names of at most 100 bytes, or up to 256 where a slash splits them into 155 and 100.
    Ustar,
}

/// Writer of a tar. Members keep the order in which they are added, which is up to the caller's format.
///
/// The sink gets small writes: wrap a file in a `BufWriter`. After an error the archive is broken and must be discarded.
/// Without [`TarWriter::finish`] it has no end blocks.
#[derive(Debug)]
pub struct TarWriter<W: Write> {
    sink: W,
    style: TarStyle,
    rules: ArchiveRules,
    names: MemberNames,
    position: u64,
}

impl<W: Write> TarWriter<W> {
    /// Creates a writer whose archive a reader with the same limits accepts.
    pub fn new(sink: W, style: TarStyle, limits: ArchiveLimits) -> TarWriter<W> {
        let rules = ArchiveRules { limits, ..ArchiveRules::plain() };
        TarWriter { sink, style, rules, names: MemberNames::default(), position: 0 }
    }

    /// Adds a file of exactly `size` bytes.
    ///
    /// # Errors
    /// A name that a reader would refuse or the header cannot hold, a limit, content of another size, or a failure of the sink.
    pub fn add(&mut self, name: &str, size: u64, content: impl Read) -> Result<(), PackError> {
        let limits = &self.rules.limits;
        name_rules::parse_name(name.as_bytes(), false, false, &self.rules)?;
        ArchiveLimit::MemberBytes
            .check(size, limits.member_bytes.min(FIRST_NON_OCTAL_SIZE - 1))
            .map_err(|e| e.in_member(name))?;
        let block = header_block(name, size, self.style)?;
        let padding = (to_u64(BLOCK) - size % to_u64(BLOCK)) % to_u64(BLOCK);
        let end = self.position.saturating_add(to_u64(BLOCK)).saturating_add(size);
        ArchiveLimit::TotalBytes.check(end, limits.total_bytes).map_err(|e| e.in_member(name))?;
        self.names.admit(name, false, limits)?;
        self.sink.write_all(&block)?;
        copy_exactly(name, size, content, &mut self.sink, |_| {})?;
        self.sink.write_all(&[0; BLOCK][..usize::try_from(padding).unwrap_or_default()])?;
        self.position = end.saturating_add(padding);
        Ok(())
    }

    /// Writes the two zero blocks and returns the sink.
    ///
    /// # Errors
    /// A failure of the sink.
    pub fn finish(mut self) -> Result<W, PackError> {
        self.sink.write_all(&[0; 2 * BLOCK])?;
        Ok(self.sink)
    }
}

/// Writer of a tar inside gzip: a [`TarWriter`], compressed at one fixed level into one gzip member without time or name.
pub struct TarGzWriter<W: Write> {
    tar: TarWriter<GzipWriter<W>>,
}

impl<W: Write> TarGzWriter<W> {
    /// Creates a writer whose archive a reader with the same limits accepts.
    ///
    /// # Errors
    /// A failure of the sink, which gets the gzip header.
    pub fn new(sink: W, style: TarStyle, limits: ArchiveLimits) -> Result<TarGzWriter<W>, PackError> {
        Ok(TarGzWriter { tar: TarWriter::new(GzipWriter::new(sink)?, style, limits) })
    }

    /// Adds a file of exactly `size` bytes.
    ///
    /// # Errors
    /// Those of [`TarWriter::add`].
    pub fn add(&mut self, name: &str, size: u64, content: impl Read) -> Result<(), PackError> {
        self.tar.add(name, size, content)
    }

    /// Writes the end of the tar and of the gzip member, and returns the sink.
    ///
    /// # Errors
    /// A failure of the sink.
    pub fn finish(self) -> Result<W, PackError> {
        Ok(self.tar.finish()?.finish()?)
    }
}

/// Returns the header block of a file.
///
/// # Errors
/// [`PackError::Limit`] for a name that the style cannot express.
fn header_block(name: &str, size: u64, style: TarStyle) -> Result<[u8; BLOCK], PackError> {
    let (prefix, rest, max) = match style {
        TarStyle::Gnu => ("", name, to_u64(NAME.len())),
        TarStyle::Ustar => {
            let (prefix, rest) = split_prefix(name);
            (prefix, rest, to_u64(PREFIX.len() + 1 + NAME.len()))
        }
    };
    if rest.len() > NAME.len() {
        return Err(PackError::Limit { limit: ArchiveLimit::NameBytes, max, member: None }.in_member(name));
    }
    let mut block = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(NAME.start, rest.as_bytes());
    put(MODE.start, b"0000644\0");
    put(UID.start, b"0000000\0");
    put(GID.start, b"0000000\0");
    put(SIZE, format!("{size:011o}\0").as_bytes());
    put(MTIME.start, b"00000000000\0");
    match style {
        TarStyle::Gnu => put(MAGIC.start, GNU_MAGIC),
        TarStyle::Ustar => {
            put(MAGIC.start, POSIX_MAGIC);
            put(TYPE, b"0");
            put(PREFIX.start, prefix.as_bytes());
        }
    }
    let sum = checksum(&block);
    block[CHECKSUM].copy_from_slice(format!("{sum:07o}\0").as_bytes());
    Ok(block)
}

/// Splits a name into prefix and name: the longest prefix that fits, if the name alone does not. A name that cannot be split
/// is returned whole.
fn split_prefix(name: &str) -> (&str, &str) {
    if name.len() <= NAME.len() {
        return ("", name);
    }
    let slash = name.bytes().take(PREFIX.len() + 1).rposition(|b| b == b'/');
    slash.map_or(("", name), |at| (&name[..at], &name[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_split_at_a_slash() {
        let long = |folder: usize, file: usize| format!("{}/{}", "d".repeat(folder), "f".repeat(file));
        for (folder, file, fits) in
            [(1, 98, true), (1, 100, true), (155, 100, true), (156, 99, false), (1, 101, false)]
        {
            let name = long(folder, file);
            let gnu = header_block(&name, 0, TarStyle::Gnu);
            assert_eq!(gnu.is_ok(), name.len() <= 100, "{folder} {file}");
            assert_eq!(header_block(&name, 0, TarStyle::Ustar).is_ok(), fits, "{folder} {file}");
        }
        let over =
            PackError::Limit { limit: ArchiveLimit::NameBytes, max: 100, member: Some("x".repeat(101)) };
        assert_eq!(header_block(&"x".repeat(101), 0, TarStyle::Gnu), Err(over));
    }
}
