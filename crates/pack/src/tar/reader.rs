//! Walks a tar member by member, in one pass.

use super::header::{BLOCK, Header, Kind, is_zero};
use super::number::OCTAL_END;
use super::pax::Pax;
use crate::error::{Entry, Field, Malformation, PackError, Stage, quoted};
use crate::gzip::Gunzip;
use crate::input::{Buffered, Input, Stream, count, fill, vector, within};
use crate::limits::Limit;
use crate::member::{Member, Tally};
use crate::name;
use crate::names::Names;
use crate::rules::Rules;
use std::io::{BufRead, Read};

/// Reads a tar and shows each file to `visit`, in the archive's order.
///
/// What the visitor saw counts only if this returns `Ok`.
///
/// # Errors
/// The first thing wrong with the archive, or the visitor's own error.
pub fn read_tar<R, E, F>(reader: R, rules: &Rules, visit: F) -> Result<Tally, E>
where
    R: Read,
    E: From<PackError>,
    F: FnMut(&mut Member<'_>) -> Result<(), E>,
{
    let mut input = Input::new(reader, rules.limits.source_bytes);
    let tally = Walk::new(&mut input, rules).run(visit)?;
    Ok(Tally { source_bytes: input.consumed(), ..tally })
}

/// Reads a tar inside gzip, as [`read_tar`] does.
///
/// # Errors
/// The first thing wrong with the archive, or the visitor's own error.
pub fn read_tar_gz<R, E, F>(reader: R, rules: &Rules, visit: F) -> Result<Tally, E>
where
    R: Read,
    E: From<PackError>,
    F: FnMut(&mut Member<'_>) -> Result<(), E>,
{
    let mut gunzip = Gunzip::new(reader, rules);
    let tally = Walk::new(&mut gunzip, rules).run(visit)?;
    Ok(Tally { source_bytes: gunzip.consumed(), ..tally })
}

/// The bytes of a gzip file, for whoever wants to unpack on another thread than [`read_gunzipped_tar`] reads on.
///
/// Errors are [`PackError`]s inside `io::Error`, for the bounds of the rules too; `PackError::from` takes them out again.
pub fn gunzip<R: Read>(reader: R, rules: &Rules) -> impl Read + use<R> {
    Gunzip::new(reader, rules)
}

/// Reads what [`gunzip`] gives, as [`read_tar_gz`] does the whole. The bytes of the archive itself are not counted.
///
/// # Errors
/// The first thing wrong with the archive, or the visitor's own error.
pub fn read_gunzipped_tar<R, E, F>(reader: R, rules: &Rules, visit: F) -> Result<Tally, E>
where
    R: BufRead,
    E: From<PackError>,
    F: FnMut(&mut Member<'_>) -> Result<(), E>,
{
    Walk::new(&mut Buffered(reader), rules).run(visit)
}

struct Walk<'a> {
    stream: &'a mut dyn Stream,
    rules: &'a Rules,
    names: Names,
    /// Bytes of the tar up to here.
    position: u64,
    /// From extension headers, for the next member.
    long_name: Option<Vec<u8>>,
    pax: Option<Pax>,
}

impl<'a> Walk<'a> {
    fn new(stream: &'a mut dyn Stream, rules: &'a Rules) -> Walk<'a> {
        Walk { stream, rules, names: Names::default(), position: 0, long_name: None, pax: None }
    }

    fn run<E, F>(mut self, mut visit: F) -> Result<Tally, E>
    where
        E: From<PackError>,
        F: FnMut(&mut Member<'_>) -> Result<(), E>,
    {
        let mut tally = Tally::default();
        while let Some(header) = self.header()? {
            let shown = quoted(&header.name);
            match header.kind {
                Kind::Pax | Kind::LongName => self.extension(&header).map_err(|e| e.within(&shown))?,
                Kind::Folder => self.folder(header)?,
                Kind::File => {
                    let (name, size) = self.file(header)?;
                    let mut member = Member::new(&name, size, self.stream);
                    visit(&mut member)?;
                    member.finish()?;
                    self.position += size;
                    self.padding().map_err(|e| e.within(&name))?;
                    tally.files += 1;
                    tally.content_bytes += size;
                }
            }
        }
        Ok(tally)
    }

    /// The next header, or `None` once the end of the archive has been seen and found clean.
    fn header(&mut self) -> Result<Option<Header>, PackError> {
        let mut block = [0; BLOCK];
        let got = fill(self.stream, &mut block)?;
        let ended = got == 0 || is_zero(&block[..got]);
        if !ended {
            if got < BLOCK {
                return Err(PackError::truncated(Stage::TarHeader));
            }
            self.advance(count(BLOCK), 0)?;
            return Header::parse(&block, &self.rules.tar).map(Some);
        }
        if self.long_name.is_some() || self.pax.is_some() {
            return Err(PackError::malformed(Malformation::DanglingExtension));
        }
        if self.position == 0 && got < BLOCK {
            return Err(PackError::truncated(Stage::TarHeader));
        }
        self.end(got)?;
        Ok(None)
    }

    /// After a zero block only zeros may come. `got` is how much of that block there was.
    fn end(&mut self, got: usize) -> Result<(), PackError> {
        let mut zeros = count(got);
        loop {
            let chunk = self.stream.chunk()?;
            if chunk.is_empty() {
                break;
            }
            if !is_zero(chunk) {
                return Err(PackError::TrailingData { stage: Stage::TarEnd });
            }
            let length = chunk.len();
            zeros = zeros.saturating_add(count(length));
            self.stream.advance(length);
        }
        if self.rules.tar.end_blocks && zeros < 2 * count(BLOCK) {
            return Err(PackError::truncated(Stage::TarEnd));
        }
        Ok(())
    }

    /// Counts bytes that are about to be read, and `more` that are announced, against the limit.
    fn advance(&mut self, bytes: u64, more: u64) -> Result<(), PackError> {
        self.position = self.position.saturating_add(bytes);
        Limit::TotalBytes.hold(self.position.saturating_add(more), self.rules.limits.total_bytes)
    }

    fn extension(&mut self, header: &Header) -> Result<(), PackError> {
        Limit::ExtensionBytes.hold(header.size, self.rules.limits.extension_bytes)?;
        self.advance(0, header.size)?;
        let bytes = vector(self.stream, header.size, Stage::TarExtension)?;
        self.position += header.size;
        self.padding()?;
        let repeated = match header.kind {
            Kind::Pax => {
                let pax = Pax::parse(&bytes).map_err(|e| PackError::malformed(Malformation::Pax(e)))?;
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

    /// The member's raw name, and its size where the header and the extensions agree on it.
    fn resolved(&mut self, header: Header) -> Result<(Vec<u8>, u64), PackError> {
        let pax = self.pax.take().unwrap_or_default();
        let name = pax.path.map(String::into_bytes).or(self.long_name.take()).unwrap_or(header.name);
        match pax.size {
            // A PAX size is for what eleven octal digits cannot say. Elsewhere it may only repeat the header: a reader that
            // does not know PAX must find the next header in the same place.
            Some(size) if size != header.size && size < OCTAL_END => {
                Err(PackError::Disagreement { member: quoted(&name), field: Field::Size })
            }
            Some(size) => Ok((name, size)),
            None => Ok((name, header.size)),
        }
    }

    fn folder(&mut self, header: Header) -> Result<(), PackError> {
        let (raw, size) = self.resolved(header)?;
        if !self.rules.skip_folders {
            return Err(PackError::Forbidden { member: quoted(&raw), entry: Entry::Folder });
        }
        if size != 0 {
            let fault = Malformation::FolderContent;
            return Err(PackError::Malformed { fault, member: Some(quoted(&raw)) });
        }
        if let Some(name) = name::accepted(&raw, true, self.rules.strip_dot_slash, self.rules)? {
            self.names.admit(&name, true, &self.rules.limits)?;
        }
        Ok(())
    }

    fn file(&mut self, header: Header) -> Result<(String, u64), PackError> {
        let (raw, size) = self.resolved(header)?;
        let name = name::accepted(&raw, false, self.rules.strip_dot_slash, self.rules)?.unwrap_or_default();
        self.names.admit(&name, false, &self.rules.limits)?;
        Limit::MemberBytes.hold(size, self.rules.limits.member_bytes).map_err(|e| e.within(&name))?;
        self.advance(0, size).map_err(|e| e.within(&name))?;
        Ok((name, size))
    }

    /// Zeros up to the next block.
    fn padding(&mut self) -> Result<(), PackError> {
        let mut left = (count(BLOCK) - self.position % count(BLOCK)) % count(BLOCK);
        self.position += left;
        while left > 0 {
            let chunk = self.stream.chunk()?;
            let step = within(left, chunk.len());
            if step == 0 {
                return Err(PackError::truncated(Stage::Content));
            }
            if !is_zero(&chunk[..step]) {
                return Err(PackError::malformed(Malformation::Padding));
            }
            self.stream.advance(step);
            left -= count(step);
        }
        Ok(())
    }
}
