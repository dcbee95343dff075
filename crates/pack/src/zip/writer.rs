//! Reproducible writer of zip archives: the earliest DOS date, mode 0644, no extra fields, one compression level.

use super::{CENTRAL_SIGNATURE, DEFLATED, END_SIGNATURE, FLAG_UTF8, LOCAL_SIGNATURE, STORED};
use crate::copy::copy_exactly;
use crate::deflate::Deflater;
use crate::error::PackError;
use crate::input::to_u64;
use crate::limits::{ArchiveLimit, ArchiveLimits};
use crate::member_names::MemberNames;
use crate::name_rules;
use crate::rules::ArchiveRules;
use flate2::Crc;
use std::io::{Read, Seek, SeekFrom, Write};

/// 1980-01-01, the earliest date that a zip can state.
const DOS_EPOCH_DATE: u16 = 0x0021;
/// Version 2.0 of the format, which has deflate, made on Unix.
const VERSION_MADE_BY: u16 = 3 << 8 | VERSION_NEEDED;
const VERSION_NEEDED: u16 = 20;
/// A regular file of mode 0644.
const FILE_ATTRIBUTES: u32 = 0o100_644 << 16;
/// Largest size and offset in bytes that do not mean "see the 64-bit record".
const MAX_32_BIT_BYTES: u64 = u32::MAX as u64 - 1;
/// Largest number of entries that does not mean "see the 64-bit record".
const MAX_16_BIT_ENTRIES: u64 = u16::MAX as u64 - 1;

/// Compression of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZipMethod {
    /// No compression.
    Stored,
    /// Deflate.
    Deflated,
}

/// Writer of a zip. Entries keep the order in which they are added.
///
/// The sink must be able to seek: sizes and CRC go into the local header after the content is known, because all readers agree
/// on a zip whose local headers are complete. After an error the archive is broken and must be discarded.
#[derive(Debug)]
pub struct ZipWriter<W: Write + Seek> {
    sink: W,
    rules: ArchiveRules,
    names: MemberNames,
    directory: Vec<u8>,
    position: u64,
    total: u64,
}

/// Entry that is being written.
struct NewZipEntry<'a> {
    name: &'a str,
    method: u16,
    crc: u32,
    compressed_size: u32,
    size: u32,
}

impl<W: Write + Seek> ZipWriter<W> {
    /// Creates a writer, at the start of the sink, whose archive a reader with the same limits accepts.
    pub fn new(sink: W, limits: ArchiveLimits) -> ZipWriter<W> {
        let rules = ArchiveRules { limits, ..ArchiveRules::plain() };
        ZipWriter { sink, rules, names: MemberNames::default(), directory: Vec::new(), position: 0, total: 0 }
    }

    /// Adds a file of exactly `size` bytes. An empty file is stored, whatever the method.
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
        name_rules::parse_name(name.as_bytes(), false, false, &self.rules)?;
        let max_name_bytes = limits.name_bytes.min(u64::from(u16::MAX));
        ArchiveLimit::NameBytes.check(to_u64(name.len()), max_name_bytes).map_err(|e| e.in_member(name))?;
        let max_member_bytes = limits.member_bytes.min(MAX_32_BIT_BYTES);
        ArchiveLimit::MemberBytes.check(size, max_member_bytes).map_err(|e| e.in_member(name))?;
        self.total = self.total.saturating_add(size);
        ArchiveLimit::TotalBytes.check(self.total, limits.total_bytes)?;
        ArchiveLimit::Members.check(self.names.count() + 1, limits.members.min(MAX_16_BIT_ENTRIES))?;
        self.names.admit(name, false, limits)?;

        let offset = to_zip32(self.position)?;
        let deflated = method == ZipMethod::Deflated && size > 0;
        let method = if deflated { DEFLATED } else { STORED };
        let mut entry = NewZipEntry { name, method, crc: 0, compressed_size: 0, size: to_zip32(size)? };
        let header = entry.local_header();
        self.sink.write_all(&header)?;
        let (crc, packed) = self.write_content(name, size, deflated, content)?;
        (entry.crc, entry.compressed_size) = (crc, to_zip32(packed)?);

        let end = self.position.saturating_add(to_u64(header.len())).saturating_add(packed);
        self.sink.seek(SeekFrom::Start(self.position))?;
        self.sink.write_all(&entry.local_header())?;
        self.sink.seek(SeekFrom::Start(end))?;
        self.position = end;
        self.directory.extend_from_slice(&entry.directory_record(offset));
        Ok(())
    }

    /// Writes the directory and the end record, flushes, and returns the sink.
    ///
    /// # Errors
    /// A failure of the sink, or a directory that begins or ends after 4 GiB.
    pub fn finish(mut self) -> Result<W, PackError> {
        let entries = u16::try_from(self.names.count()).unwrap_or(u16::MAX);
        let mut end = Vec::with_capacity(22);
        end.extend_from_slice(&END_SIGNATURE.to_le_bytes());
        end.extend_from_slice(&[0; 4]);
        end.extend_from_slice(&entries.to_le_bytes());
        end.extend_from_slice(&entries.to_le_bytes());
        end.extend_from_slice(&to_zip32(to_u64(self.directory.len()))?.to_le_bytes());
        end.extend_from_slice(&to_zip32(self.position)?.to_le_bytes());
        end.extend_from_slice(&[0; 2]);
        self.sink.write_all(&self.directory)?;
        self.sink.write_all(&end)?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    /// Writes the content; returns its CRC and its compressed size in bytes.
    fn write_content(
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

impl NewZipEntry<'_> {
    /// Returns the bytes that the local header and the directory have in common: from "version needed" to the length of the name.
    fn common_fields(&self) -> Vec<u8> {
        let flags = if self.name.is_ascii() { 0 } else { FLAG_UTF8 };
        let name_length = u16::try_from(self.name.len()).unwrap_or(u16::MAX);
        let mut out = Vec::new();
        for value in [VERSION_NEEDED, flags, self.method, 0, DOS_EPOCH_DATE] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        for value in [self.crc, self.compressed_size, self.size] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        out.extend_from_slice(&name_length.to_le_bytes());
        out
    }

    /// Returns the local header with the name.
    fn local_header(&self) -> Vec<u8> {
        let extra_length = [0; 2];
        [&LOCAL_SIGNATURE.to_le_bytes()[..], &self.common_fields(), &extra_length, self.name.as_bytes()]
            .concat()
    }

    /// Returns the record of the central directory with the name.
    fn directory_record(&self, offset: u32) -> Vec<u8> {
        // Zero: lengths of extra field and comment, disk number, internal attributes.
        let nothing = [0; 8];
        [
            &CENTRAL_SIGNATURE.to_le_bytes()[..],
            &VERSION_MADE_BY.to_le_bytes(),
            &self.common_fields(),
            &nothing,
            &FILE_ATTRIBUTES.to_le_bytes(),
            &offset.to_le_bytes(),
            self.name.as_bytes(),
        ]
        .concat()
    }
}

/// Narrows a size or offset; one that would need a 64-bit record is refused.
fn to_zip32(value: u64) -> Result<u32, PackError> {
    ArchiveLimit::SourceBytes.check(value, MAX_32_BIT_BYTES)?;
    Ok(u32::try_from(value).unwrap_or(u32::MAX))
}
