//! Archives built byte by byte, without any check, so that they can be wrong in every way.

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use reenact_pack::{ArchiveMember, ArchiveRules, Malformation, PackError};
use reenact_pack::{gunzip, read_gunzipped_tar, read_tar, read_tar_gz, read_zip};
use std::io::{BufReader, Cursor, Write};

pub(crate) type Members = Vec<(String, Vec<u8>)>;

/// Returns all members of the tar, or the error.
pub(crate) fn members_of_tar(bytes: &[u8], rules: &ArchiveRules) -> Result<Members, PackError> {
    let mut members = Members::new();
    read_tar(bytes, rules, |member| {
        let name = member.name().to_owned();
        members.push((name, member.read_whole(u64::MAX)?));
        Ok::<(), PackError>(())
    })?;
    Ok(members)
}

/// Returns all members, or the error. Asserts that `read_tar_gz` and `gunzip` with `read_gunzipped_tar` agree.
pub(crate) fn members_of_tar_gz(bytes: &[u8], rules: &ArchiveRules) -> Result<Members, PackError> {
    let take = |members: &mut Members, member: &mut ArchiveMember<'_>| {
        let name = member.name().to_owned();
        members.push((name, member.read_whole(u64::MAX)?));
        Ok::<(), PackError>(())
    };
    let mut members = Members::new();
    let read = read_tar_gz(bytes, rules, |member| take(&mut members, member)).map(|_| members);
    let mut apart = Members::new();
    let tar = BufReader::new(gunzip(bytes, rules));
    let read_apart = read_gunzipped_tar(tar, rules, |member| take(&mut apart, member)).map(|_| apart);
    assert_eq!(read_apart, read);
    read
}

pub(crate) fn members_of_zip(bytes: &[u8], rules: &ArchiveRules) -> Result<Members, PackError> {
    let mut members = Members::new();
    read_zip(Cursor::new(bytes), rules, |member| {
        let name = member.name().to_owned();
        members.push((name, member.read_whole(u64::MAX)?));
        Ok::<(), PackError>(())
    })?;
    Ok(members)
}

pub(crate) fn malformed(fault: Malformation, member: &str) -> PackError {
    PackError::Malformed { fault, member: (!member.is_empty()).then(|| member.to_owned()) }
}

/// Returns a ustar header with a valid checksum.
pub(crate) fn header(kind: u8, name: &[u8], size: u64) -> [u8; 512] {
    let mut block = [0; 512];
    block[..name.len()].copy_from_slice(name);
    block[100..108].copy_from_slice(b"0000644\0");
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    set_checksum(&mut block);
    block
}

/// Sets the checksum, in the form that most tools write.
pub(crate) fn set_checksum(block: &mut [u8; 512]) {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|b| u32::from(*b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// Replaces some bytes of a header and sets its checksum again.
pub(crate) fn patched(mut block: [u8; 512], at: usize, bytes: &[u8]) -> [u8; 512] {
    block[at..at + bytes.len()].copy_from_slice(bytes);
    set_checksum(&mut block);
    block
}

/// Returns header, content and padding.
pub(crate) fn entry(kind: u8, name: &[u8], content: &[u8]) -> Vec<u8> {
    with_content(header(kind, name, content.len() as u64), content)
}

pub(crate) fn with_content(block: [u8; 512], content: &[u8]) -> Vec<u8> {
    let mut out = block.to_vec();
    out.extend_from_slice(content);
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

pub(crate) fn file(name: &str, content: &[u8]) -> Vec<u8> {
    entry(b'0', name.as_bytes(), content)
}

/// Returns a PAX header of `key=value` texts.
pub(crate) fn pax(pairs: &[&[u8]]) -> Vec<u8> {
    let mut body = Vec::new();
    for pair in pairs {
        let length = |digits: usize| digits + 1 + pair.len() + 1;
        let digits = (1..).find(|digits| length(*digits).to_string().len() == *digits).unwrap();
        body.extend_from_slice(length(digits).to_string().as_bytes());
        body.extend_from_slice(&[b" ", *pair, b"\n"].concat());
    }
    entry(b'x', b"PaxHeaders/x", &body)
}

/// Returns the entries and the two end blocks.
pub(crate) fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut out = entries.concat();
    out.resize(out.len() + 1024, 0);
    out
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(9));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Returns bytes that do not compress, the same every time.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect()
}

/// One half of a zip entry: the fields of the local header, or of the directory.
#[derive(Clone)]
pub(crate) struct ZipHeaderFields {
    pub(crate) name: Vec<u8>,
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) crc: u32,
    pub(crate) compressed_size: u32,
    pub(crate) size: u32,
    pub(crate) extra: Vec<u8>,
}

/// Zip entry whose two halves may disagree.
#[derive(Clone)]
pub(crate) struct ZipEntry {
    pub(crate) local: ZipHeaderFields,
    pub(crate) central: ZipHeaderFields,
    pub(crate) data: Vec<u8>,
    pub(crate) descriptor: Vec<u8>,
    pub(crate) attributes: u32,
    pub(crate) comment: Vec<u8>,
    /// Added to the offset in the directory.
    pub(crate) offset_error: i64,
}

impl ZipEntry {
    pub(crate) fn stored(name: &str, content: &[u8]) -> ZipEntry {
        ZipEntry::new(name, content, 0, content.to_vec())
    }

    pub(crate) fn deflated(name: &str, content: &[u8]) -> ZipEntry {
        ZipEntry::new(name, content, 8, deflate(content))
    }

    fn new(name: &str, content: &[u8], method: u16, data: Vec<u8>) -> ZipEntry {
        let half = ZipHeaderFields {
            name: name.as_bytes().to_vec(),
            flags: 0,
            method,
            crc: crc(content),
            compressed_size: data.len() as u32,
            size: content.len() as u32,
            extra: Vec::new(),
        };
        ZipEntry {
            local: half.clone(),
            central: half,
            data,
            descriptor: Vec::new(),
            attributes: 0o100_644 << 16,
            comment: Vec::new(),
            offset_error: 0,
        }
    }

    /// Makes the same change to both halves.
    pub(crate) fn change_both(mut self, change: impl Fn(&mut ZipHeaderFields)) -> ZipEntry {
        change(&mut self.local);
        change(&mut self.central);
        self
    }

    pub(crate) fn change(mut self, change: impl FnOnce(&mut ZipEntry)) -> ZipEntry {
        change(&mut self);
        self
    }

    /// Turns the entry into that of a writer that cannot seek: zeros before the content, the values after it, with or without a
    /// signature.
    pub(crate) fn with_descriptor(mut self, signed: bool) -> ZipEntry {
        self = self.change_both(|half| half.flags |= 8);
        (self.local.crc, self.local.compressed_size, self.local.size) = (0, 0, 0);
        if signed {
            self.descriptor.extend_from_slice(b"PK\x07\x08");
        }
        for value in [self.central.crc, self.central.compressed_size, self.central.size] {
            self.descriptor.extend_from_slice(&value.to_le_bytes());
        }
        self
    }
}

/// Zip with its end record, which a test may then break.
pub(crate) struct ZipBuilder {
    pub(crate) entries: Vec<ZipEntry>,
    /// Bytes before the first entry, between content and directory, and between directory and end record.
    pub(crate) gaps: [Vec<u8>; 3],
    pub(crate) comment: Vec<u8>,
    pub(crate) count: Option<u16>,
}

impl ZipBuilder {
    pub(crate) fn of(entries: &[ZipEntry]) -> ZipBuilder {
        ZipBuilder { entries: entries.to_vec(), gaps: Default::default(), comment: Vec::new(), count: None }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = self.gaps[0].clone();
        let mut directory = Vec::new();
        for entry in &self.entries {
            let offset = u32::try_from(out.len() as i64 + entry.offset_error).unwrap();
            out.extend_from_slice(b"PK\x03\x04");
            write_header_fields(&mut out, &entry.local);
            out.extend_from_slice(&entry.local.name);
            out.extend_from_slice(&entry.local.extra);
            out.extend_from_slice(&entry.data);
            out.extend_from_slice(&entry.descriptor);
            directory.extend_from_slice(b"PK\x01\x02\x14\x03");
            write_header_fields(&mut directory, &entry.central);
            directory.extend_from_slice(&(entry.comment.len() as u16).to_le_bytes());
            directory.extend_from_slice(&[0; 4]);
            directory.extend_from_slice(&entry.attributes.to_le_bytes());
            directory.extend_from_slice(&offset.to_le_bytes());
            directory.extend_from_slice(&entry.central.name);
            directory.extend_from_slice(&entry.central.extra);
            directory.extend_from_slice(&entry.comment);
        }
        out.extend_from_slice(&self.gaps[1]);
        let count = self.count.unwrap_or(self.entries.len() as u16).to_le_bytes();
        let offset = out.len() as u32;
        out.extend_from_slice(&directory);
        out.extend_from_slice(&self.gaps[2]);
        out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        out.extend_from_slice(&[count, count].concat());
        out.extend_from_slice(&(directory.len() as u32).to_le_bytes());
        out.extend_from_slice(&offset.to_le_bytes());
        out.extend_from_slice(&(self.comment.len() as u16).to_le_bytes());
        out.extend_from_slice(&self.comment);
        out
    }
}

fn write_header_fields(out: &mut Vec<u8>, half: &ZipHeaderFields) {
    for value in [20, half.flags, half.method, 0, 0x21] {
        out.extend_from_slice(&value.to_le_bytes());
    }
    for value in [half.crc, half.compressed_size, half.size] {
        out.extend_from_slice(&value.to_le_bytes());
    }
    out.extend_from_slice(&(half.name.len() as u16).to_le_bytes());
    out.extend_from_slice(&(half.extra.len() as u16).to_le_bytes());
}
