//! Writes a tar that is the same every time: no times, no owners, no folders, names checked as the reader checks them.

use super::header::{
    BLOCK, CHECKSUM, GID, GNU_MAGIC, MAGIC, MODE, MTIME, NAME, POSIX_MAGIC, PREFIX, SIZE, TYPE, UID, checksum,
};
use super::number::OCTAL_END;
use crate::copy::copy_exactly;
use crate::error::PackError;
use crate::gzip::GzipWriter;
use crate::input::count;
use crate::limits::{Limit, Limits};
use crate::name;
use crate::names::Names;
use crate::rules::Rules;
use std::io::{Read, Write};

/// How headers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TarStyle {
    /// As the real Replay Bundle tool writes them: GNU magic, type NUL, names of at most 100 bytes.
    Gnu,
    /// POSIX ustar, type `0`: names of at most 100 bytes, or up to 256 where a slash splits them into 155 and 100.
    Ustar,
}

/// A tar in the making. Members come out in the order they are added; the order is the caller's format.
///
/// The sink gets small writes: a file wants a `BufWriter`. After an error the archive is broken and must be thrown away.
/// Without [`TarWriter::finish`] it has no end.
#[derive(Debug)]
pub struct TarWriter<W: Write> {
    sink: W,
    style: TarStyle,
    rules: Rules,
    names: Names,
    position: u64,
}

impl<W: Write> TarWriter<W> {
    /// Starts an archive that a reader with the same limits will accept.
    pub fn new(sink: W, style: TarStyle, limits: Limits) -> TarWriter<W> {
        let rules = Rules { limits, ..Rules::plain() };
        TarWriter { sink, style, rules, names: Names::default(), position: 0 }
    }

    /// Adds a file of exactly `size` bytes.
    ///
    /// # Errors
    /// A name that a reader would refuse or the header cannot hold, a limit, content of another size, or a failure of the sink.
    pub fn add(&mut self, name: &str, size: u64, content: impl Read) -> Result<(), PackError> {
        let limits = &self.rules.limits;
        name::accepted(name.as_bytes(), false, false, &self.rules)?;
        Limit::MemberBytes.hold(size, limits.member_bytes.min(OCTAL_END - 1)).map_err(|e| e.within(name))?;
        let block = block(name, size, self.style)?;
        let padding = (count(BLOCK) - size % count(BLOCK)) % count(BLOCK);
        let end = self.position.saturating_add(count(BLOCK)).saturating_add(size);
        Limit::TotalBytes.hold(end, limits.total_bytes).map_err(|e| e.within(name))?;
        self.names.admit(name, false, limits)?;
        self.sink.write_all(&block)?;
        copy_exactly(name, size, content, &mut self.sink, |_| {})?;
        self.sink.write_all(&[0; BLOCK][..usize::try_from(padding).unwrap_or_default()])?;
        self.position = end.saturating_add(padding);
        Ok(())
    }

    /// Writes the two zero blocks and gives the sink back.
    ///
    /// # Errors
    /// A failure of the sink.
    pub fn finish(mut self) -> Result<W, PackError> {
        self.sink.write_all(&[0; 2 * BLOCK])?;
        Ok(self.sink)
    }
}

/// A tar inside gzip in the making: [`TarWriter`], compressed at one fixed level into one gzip member without time or name.
pub struct TarGzWriter<W: Write> {
    tar: TarWriter<GzipWriter<W>>,
}

impl<W: Write> TarGzWriter<W> {
    /// Starts an archive that a reader with the same limits will accept.
    ///
    /// # Errors
    /// A failure of the sink, which gets the gzip header.
    pub fn new(sink: W, style: TarStyle, limits: Limits) -> Result<TarGzWriter<W>, PackError> {
        Ok(TarGzWriter { tar: TarWriter::new(GzipWriter::new(sink)?, style, limits) })
    }

    /// Adds a file of exactly `size` bytes.
    ///
    /// # Errors
    /// As [`TarWriter::add`].
    pub fn add(&mut self, name: &str, size: u64, content: impl Read) -> Result<(), PackError> {
        self.tar.add(name, size, content)
    }

    /// Writes the end of the tar and of the gzip member, and gives the sink back.
    ///
    /// # Errors
    /// A failure of the sink.
    pub fn finish(self) -> Result<W, PackError> {
        Ok(self.tar.finish()?.finish()?)
    }
}

fn block(name: &str, size: u64, style: TarStyle) -> Result<[u8; BLOCK], PackError> {
    let (prefix, rest, max) = match style {
        TarStyle::Gnu => ("", name, count(NAME.len())),
        TarStyle::Ustar => {
            let (prefix, rest) = split(name);
            (prefix, rest, count(PREFIX.len() + 1 + NAME.len()))
        }
    };
    if rest.len() > NAME.len() {
        return Err(PackError::Limit { limit: Limit::NameBytes, max, member: None }.within(name));
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

/// Prefix and name: the longest prefix that fits, where the name alone does not. What fits nowhere comes back whole.
fn split(name: &str) -> (&str, &str) {
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
            let gnu = block(&name, 0, TarStyle::Gnu);
            assert_eq!(gnu.is_ok(), name.len() <= 100, "{folder} {file}");
            assert_eq!(block(&name, 0, TarStyle::Ustar).is_ok(), fits, "{folder} {file}");
        }
        let over = PackError::Limit { limit: Limit::NameBytes, max: 100, member: Some("x".repeat(101)) };
        assert_eq!(block(&"x".repeat(101), 0, TarStyle::Gnu), Err(over));
    }
}
