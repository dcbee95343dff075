//! Readers of tar archives, member by member, in one pass. Start at [`read_tar`], which runs a `TarReader`.

use super::header::{BLOCK, TarHeader, TarMemberKind, is_zero};
use super::number::FIRST_NON_OCTAL_SIZE;
use super::pax::PaxHeader;
use crate::error::{ArchiveSection, Malformation, PackError, RepeatedField, UnsupportedMember, shortened};
use crate::gzip::GunzipReader;
use crate::input::{ArchiveInput, BufReadStream, ChunkStream, at_most, read_full, read_vec, to_u64};
use crate::limits::ArchiveLimit;
use crate::member::{ArchiveMember, ArchiveTotals};
use crate::member_names::MemberNames;
use crate::name_rules;
use crate::rules::ArchiveRules;
use std::io::{BufRead, Read};

/// Reads a tar and calls `visit` with each file, in the order of the archive.
///
/// The visited members count only if this returns `Ok`.
///
/// # Errors
/// The first fault of the archive, or the visitor's own error.
pub fn read_tar<R, E, F>(reader: R, rules: &ArchiveRules, visit: F) -> Result<ArchiveTotals, E>
where
    R: Read,
    E: From<PackError>,
    F: FnMut(&mut ArchiveMember<'_>) -> Result<(), E>,
{
    let mut input = ArchiveInput::new(reader, rules.limits.source_bytes);
    let tally = TarReader::new(&mut input, rules).read_members(visit)?;
    Ok(ArchiveTotals { source_bytes: input.consumed(), ..tally })
}

/// Reads a tar inside gzip, as [`read_tar`] does, with the checks of the gzip file as well.
///
/// # Errors
/// The first fault of the archive, or the visitor's own error.
pub fn read_tar_gz<R, E, F>(reader: R, rules: &ArchiveRules, visit: F) -> Result<ArchiveTotals, E>
where
    R: Read,
    E: From<PackError>,
    F: FnMut(&mut ArchiveMember<'_>) -> Result<(), E>,
{
    let mut gunzip = GunzipReader::new(reader, rules);
    let tally = TarReader::new(&mut gunzip, rules).read_members(visit)?;
    Ok(ArchiveTotals { source_bytes: gunzip.consumed(), ..tally })
}

/// Returns a reader of the decompressed bytes of a gzip file, to decompress on another thread than [`read_gunzipped_tar`].
///
/// Errors, exceeded limits included, are [`PackError`]s inside `io::Error`; `PackError::from` restores them.
pub fn gunzip<R: Read>(reader: R, rules: &ArchiveRules) -> impl Read + use<R> {
    GunzipReader::new(reader, rules)
}

/// Reads a tar from the bytes of [`gunzip`]; both together are [`read_tar_gz`]. The bytes of the gzip file are not counted:
/// [`ArchiveTotals::source_bytes`] is 0.
///
/// # Errors
/// The first fault of the archive, or the visitor's own error.
pub fn read_gunzipped_tar<R, E, F>(reader: R, rules: &ArchiveRules, visit: F) -> Result<ArchiveTotals, E>
where
    R: BufRead,
    E: From<PackError>,
    F: FnMut(&mut ArchiveMember<'_>) -> Result<(), E>,
{
    TarReader::new(&mut BufReadStream(reader), rules).read_members(visit)
}

/// State of a pass over one tar.
struct TarReader<'a> {
    stream: &'a mut dyn ChunkStream,
    rules: &'a ArchiveRules,
    names: MemberNames,
    /// Offset in the tar, in bytes.
    position: u64,
    /// Name and fields from extension headers, for the next member.
    long_name: Option<Vec<u8>>,
    pax: Option<PaxHeader>,
}

impl<'a> TarReader<'a> {
    fn new(stream: &'a mut dyn ChunkStream, rules: &'a ArchiveRules) -> TarReader<'a> {
        TarReader { stream, rules, names: MemberNames::default(), position: 0, long_name: None, pax: None }
    }

    /// Visits all files up to the end of the archive.
    fn read_members<E, F>(mut self, mut visit: F) -> Result<ArchiveTotals, E>
    where
        E: From<PackError>,
        F: FnMut(&mut ArchiveMember<'_>) -> Result<(), E>,
    {
        let mut tally = ArchiveTotals::default();
        while let Some(header) = self.next_header()? {
            let shown = shortened(&header.name);
            match header.kind {
                TarMemberKind::Pax | TarMemberKind::LongName => {
                    self.read_extension(&header).map_err(|e| e.in_member(&shown))?
                }
                TarMemberKind::Folder => self.check_folder(header)?,
                TarMemberKind::File => {
                    let (name, size) = self.open_file(header)?;
                    let mut member = ArchiveMember::new(&name, size, self.stream);
                    visit(&mut member)?;
                    member.finish()?;
                    self.position += size;
                    self.skip_padding().map_err(|e| e.in_member(&name))?;
                    tally.files += 1;
                    tally.content_bytes += size;
                }
            }
        }
        Ok(tally)
    }

    /// Reads the next header; `None` at the end of the archive, whose last bytes are checked then.
    fn next_header(&mut self) -> Result<Option<TarHeader>, PackError> {
        let mut block = [0; BLOCK];
        let got = read_full(self.stream, &mut block)?;
        let ended = got == 0 || is_zero(&block[..got]);
        if !ended {
            if got < BLOCK {
                return Err(PackError::truncated(ArchiveSection::TarHeader));
            }
            self.count_bytes(to_u64(BLOCK), 0)?;
            return TarHeader::parse(&block, &self.rules.tar).map(Some);
        }
        if self.long_name.is_some() || self.pax.is_some() {
            return Err(PackError::malformed(Malformation::DanglingExtension));
        }
        if self.position == 0 && got < BLOCK {
            return Err(PackError::truncated(ArchiveSection::TarHeader));
        }
        self.check_end(got)?;
        Ok(None)
    }

    /// Checks that only zeros follow a zero block. `got` is the number of bytes of that block.
    fn check_end(&mut self, got: usize) -> Result<(), PackError> {
        let mut zeros = to_u64(got);
        loop {
            let chunk = self.stream.chunk()?;
            if chunk.is_empty() {
                break;
            }
            if !is_zero(chunk) {
                return Err(PackError::TrailingData { section: ArchiveSection::TarEnd });
            }
            let length = chunk.len();
            zeros = zeros.saturating_add(to_u64(length));
            self.stream.advance(length);
        }
        if self.rules.tar.end_blocks && zeros < 2 * to_u64(BLOCK) {
            return Err(PackError::truncated(ArchiveSection::TarEnd));
        }
        Ok(())
    }

    /// Adds `bytes` to the position and checks it, with the `more` bytes that are declared to follow, against the limit.
    fn count_bytes(&mut self, bytes: u64, more: u64) -> Result<(), PackError> {
        self.position = self.position.saturating_add(bytes);
        ArchiveLimit::TotalBytes.check(self.position.saturating_add(more), self.rules.limits.total_bytes)
    }

    /// Reads a PAX header or a GNU long name, to be applied to the next member.
    fn read_extension(&mut self, header: &TarHeader) -> Result<(), PackError> {
        ArchiveLimit::ExtensionBytes.check(header.size, self.rules.limits.extension_bytes)?;
        self.count_bytes(0, header.size)?;
        let bytes = read_vec(self.stream, header.size, ArchiveSection::TarExtension)?;
        self.position += header.size;
        self.skip_padding()?;
        let repeated = match header.kind {
            TarMemberKind::Pax => {
                let pax = PaxHeader::parse(&bytes).map_err(|e| PackError::malformed(Malformation::Pax(e)))?;
                self.pax.replace(pax).is_some()
            }
            _ => {
                let name = bytes.strip_suffix(&[0]).filter(|name| !name.contains(&0));
                let name = name.ok_or(PackError::malformed(Malformation::LongName))?;
                self.long_name.replace(name.to_vec()).is_some()
            }
        };
        let both = self.long_name.is_some() && self.pax.as_ref().is_some_and(|pax| pax.path.is_some());
        if repeated || both {
            return Err(PackError::malformed(Malformation::RepeatedExtension));
        }
        Ok(())
    }

    /// Returns the raw name and the size of a member, from its header and the extension headers before it, which must agree.
    fn name_and_size(&mut self, header: TarHeader) -> Result<(Vec<u8>, u64), PackError> {
        let pax = self.pax.take().unwrap_or_default();
        let name = pax.path.map(String::into_bytes).or(self.long_name.take()).unwrap_or(header.name);
        match pax.size {
            // A PAX size is for sizes that eleven octal digits cannot express. Elsewhere it may only repeat the header: a reader
            // that does not know PAX must find the next header in the same place.
            Some(size) if size != header.size && size < FIRST_NON_OCTAL_SIZE => {
                Err(PackError::Disagreement { member: shortened(&name), field: RepeatedField::Size })
            }
            Some(size) => Ok((name, size)),
            None => Ok((name, header.size)),
        }
    }

    /// Checks a folder and its name; the reader shows no folders to the visitor.
    fn check_folder(&mut self, header: TarHeader) -> Result<(), PackError> {
        let (raw, size) = self.name_and_size(header)?;
        if !self.rules.skip_folders {
            return Err(PackError::Forbidden {
                member: shortened(&raw),
                member_type: UnsupportedMember::Folder,
            });
        }
        if size != 0 {
            let fault = Malformation::FolderContent;
            return Err(PackError::Malformed { fault, member: Some(shortened(&raw)) });
        }
        if let Some(name) = name_rules::parse_name(&raw, true, self.rules.strip_dot_slash, self.rules)? {
            self.names.admit(&name, true, &self.rules.limits)?;
        }
        Ok(())
    }

    /// Checks name and size of a file against the rules and limits, and returns both.
    fn open_file(&mut self, header: TarHeader) -> Result<(String, u64), PackError> {
        let (raw, size) = self.name_and_size(header)?;
        let name =
            name_rules::parse_name(&raw, false, self.rules.strip_dot_slash, self.rules)?.unwrap_or_default();
        self.names.admit(&name, false, &self.rules.limits)?;
        ArchiveLimit::MemberBytes
            .check(size, self.rules.limits.member_bytes)
            .map_err(|e| e.in_member(&name))?;
        self.count_bytes(0, size).map_err(|e| e.in_member(&name))?;
        Ok((name, size))
    }

    /// Skips the padding up to the next block, which must be zeros.
    fn skip_padding(&mut self) -> Result<(), PackError> {
        let mut left = (to_u64(BLOCK) - self.position % to_u64(BLOCK)) % to_u64(BLOCK);
        self.position += left;
        while left > 0 {
            let chunk = self.stream.chunk()?;
            let step = at_most(left, chunk.len());
            if step == 0 {
                return Err(PackError::truncated(ArchiveSection::Content));
            }
            if !is_zero(&chunk[..step]) {
                return Err(PackError::malformed(Malformation::Padding));
            }
            self.stream.advance(step);
            left -= to_u64(step);
        }
        Ok(())
    }
}
