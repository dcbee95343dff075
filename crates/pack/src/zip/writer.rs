//! Writes a zip that is the same every time: the first day DOS knows, mode 0644, no extra fields, one compression level.

use super::{CENTRAL, DEFLATED, END, LOCAL, STORED, UTF8};
use crate::copy::copy_exactly;
use crate::deflate::Deflater;
use crate::error::PackError;
use crate::input::count;
use crate::limits::{Limit, Limits};
use crate::name;
use crate::names::Names;
use crate::rules::Rules;
use flate2::Crc;
use std::io::{Read, Seek, SeekFrom, Write};

/// 1980-01-01 00:00: the earliest time a zip can state.
const DATE: u16 = 0x0021;
/// Unix, and version 2.0 of the format, which has deflate.
const MADE_BY: u16 = 3 << 8 | NEEDED;
const NEEDED: u16 = 20;
/// A regular file of mode 0644.
const ATTRIBUTES: u32 = 0o100_644 << 16;
/// Values that do not mean "see the 64-bit record".
const MOST_BYTES: u64 = u32::MAX as u64 - 1;
const MOST_ENTRIES: u64 = u16::MAX as u64 - 1;

/// How an entry is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZipMethod {
    /// As it is.
    Stored,
    /// Compressed.
    Deflated,
}

/// A zip in the making. Entries come out in the order they are added.
///
/// The sink must be able to seek: sizes and CRC go into the local header after the content is known, because a zip whose headers
/// already tell the truth is read the same by all. After an error the archive is broken and must be thrown away.
#[derive(Debug)]
pub struct ZipWriter<W: Write + Seek> {
    sink: W,
    rules: Rules,
    names: Names,
    directory: Vec<u8>,
    position: u64,
    total: u64,
}

struct Entry<'a> {
    name: &'a str,
    method: u16,
    crc: u32,
    packed: u32,
    size: u32,
}

impl<W: Write + Seek> ZipWriter<W> {
    /// Starts an archive, at the sink's start, that a reader with the same limits will accept.
    pub fn new(sink: W, limits: Limits) -> ZipWriter<W> {
        let rules = Rules { limits, ..Rules::plain() };
        ZipWriter { sink, rules, names: Names::default(), directory: Vec::new(), position: 0, total: 0 }
    }

    /// Adds a file of exactly `size` bytes. An empty one is stored whatever the method.
    ///
    /// # Errors
    /// A name that a reader would refuse, a limit, content of another size, or a failure of the sink.
    pub fn add(
        &mut self,
        name: &str,
        size: u64,
        method: ZipMethod,
        content: impl Read,
    ) -> Result<(), PackError> {
        let limits = &self.rules.limits;
        name::accepted(name.as_bytes(), false, false, &self.rules)?;
        let longest = limits.name_bytes.min(u64::from(u16::MAX));
        Limit::NameBytes.hold(count(name.len()), longest).map_err(|e| e.within(name))?;
        let largest = limits.member_bytes.min(MOST_BYTES);
        Limit::MemberBytes.hold(size, largest).map_err(|e| e.within(name))?;
        self.total = self.total.saturating_add(size);
        Limit::TotalBytes.hold(self.total, limits.total_bytes)?;
        Limit::Members.hold(self.names.count() + 1, limits.members.min(MOST_ENTRIES))?;
        self.names.admit(name, false, limits)?;

        let offset = small(self.position)?;
        let deflated = method == ZipMethod::Deflated && size > 0;
        let method = if deflated { DEFLATED } else { STORED };
        let mut entry = Entry { name, method, crc: 0, packed: 0, size: small(size)? };
        let header = entry.local();
        self.sink.write_all(&header)?;
        let (crc, packed) = self.content(name, size, deflated, content)?;
        (entry.crc, entry.packed) = (crc, small(packed)?);

        let end = self.position.saturating_add(count(header.len())).saturating_add(packed);
        self.sink.seek(SeekFrom::Start(self.position))?;
        self.sink.write_all(&entry.local())?;
        self.sink.seek(SeekFrom::Start(end))?;
        self.position = end;
        self.directory.extend_from_slice(&entry.central(offset));
        Ok(())
    }

    /// Writes the directory and the end record, and gives the sink back.
    ///
    /// # Errors
    /// A failure of the sink, or a directory that begins or ends after 4 GiB.
    pub fn finish(mut self) -> Result<W, PackError> {
        let entries = u16::try_from(self.names.count()).unwrap_or(u16::MAX);
        let mut end = Vec::with_capacity(22);
        end.extend_from_slice(&END.to_le_bytes());
        end.extend_from_slice(&[0; 4]);
        end.extend_from_slice(&entries.to_le_bytes());
        end.extend_from_slice(&entries.to_le_bytes());
        end.extend_from_slice(&small(count(self.directory.len()))?.to_le_bytes());
        end.extend_from_slice(&small(self.position)?.to_le_bytes());
        end.extend_from_slice(&[0; 2]);
        self.sink.write_all(&self.directory)?;
        self.sink.write_all(&end)?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    /// Writes the content; gives its CRC and how many bytes it became.
    fn content(
        &mut self,
        name: &str,
        size: u64,
        deflated: bool,
        content: impl Read,
    ) -> Result<(u32, u64), PackError> {
        let mut crc = Crc::new();
        if !deflated {
            copy_exactly(name, size, content, &mut self.sink, |chunk| crc.update(chunk))?;
            return Ok((crc.sum(), size));
        }
        let mut deflater = Deflater::new(&mut self.sink);
        copy_exactly(name, size, content, &mut deflater, |chunk| crc.update(chunk))?;
        let (_, packed) = deflater.finish()?;
        Ok((crc.sum(), packed))
    }
}

impl Entry<'_> {
    /// What the local header and the directory have in common: from "version needed" to the length of the name.
    fn fields(&self) -> Vec<u8> {
        let flags = if self.name.is_ascii() { 0 } else { UTF8 };
        let name_length = u16::try_from(self.name.len()).unwrap_or(u16::MAX);
        let mut out = Vec::new();
        for value in [NEEDED, flags, self.method, 0, DATE] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        for value in [self.crc, self.packed, self.size] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        out.extend_from_slice(&name_length.to_le_bytes());
        out
    }

    fn local(&self) -> Vec<u8> {
        let extra_length = [0; 2];
        [&LOCAL.to_le_bytes()[..], &self.fields(), &extra_length, self.name.as_bytes()].concat()
    }

    fn central(&self, offset: u32) -> Vec<u8> {
        // Lengths of extra field and comment, disk, internal attributes.
        let nothing = [0; 8];
        [
            &CENTRAL.to_le_bytes()[..],
            &MADE_BY.to_le_bytes(),
            &self.fields(),
            &nothing,
            &ATTRIBUTES.to_le_bytes(),
            &offset.to_le_bytes(),
            self.name.as_bytes(),
        ]
        .concat()
    }
}

/// A size or offset that needs no 64-bit record.
fn small(value: u64) -> Result<u32, PackError> {
    Limit::SourceBytes.hold(value, MOST_BYTES)?;
    Ok(u32::try_from(value).unwrap_or(u32::MAX))
}
