//! [`BundleMembers`]: one immutable snapshot of the files in a bundle.
//!
//! The few documents that a verifier must parse are kept in memory. Of every other file only the digest
//! and the size are kept, which is all that any check asks for. A bundle of any size is therefore
//! verified in little memory, and nothing is read twice.
//!
//! A document counts only at its place in the bundle, so an archive full of folders cannot fill the
//! memory with documents. A file of the same name elsewhere is a file like any other.

use std::collections::BTreeMap;
use std::io::{Cursor, ErrorKind, Read, Seek, Write};

use reenact_formats::format::MANIFEST_FILE;
use reenact_formats::{FORMATS, FormatId, model_io, rer};
use reenact_json::Digest;
use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;
use reenact_pack::{
    ArchiveLimits, ArchiveMember, ArchiveRules, Container, PackError, read_tar, read_tar_gz, read_zip,
};

/// Callback that returns a writer for a copy of the member with this name, or `None` for no copy.
pub type MemberCopies<'c> = &'c mut dyn FnMut(&str) -> std::io::Result<Option<Box<dyn Write>>>;

/// Files of a bundle by their names, with `/` between folders.
#[derive(Debug, Clone, Default)]
pub struct BundleMembers {
    /// Contents of the documents, see [`document_limit`].
    documents: BTreeMap<String, Vec<u8>>,
    /// Digest and size of all other files.
    files: BTreeMap<String, FileFacts>,
    /// State of the search for a folder around everything, while an archive is read.
    enclosing_folder: EnclosingFolder,
}

/// Folder around all members of an archive.
///
/// People pack a folder as often as they pack its content. A folder that encloses everything is no part
/// of the member names.
#[derive(Debug, Clone, Default)]
enum EnclosingFolder {
    /// No member was read yet.
    #[default]
    Unknown,
    /// All members so far are in this folder. The name ends with a slash.
    Folder(String),
    /// There is a member in no folder, or members are in different folders.
    Absent,
}

/// An archive that could not be read to its end.
#[derive(Debug, Clone)]
pub struct BrokenArchive {
    /// Members read before the error. They only tell which format the archive was meant to be.
    pub members: BundleMembers,
    /// Error that ended the reading.
    pub error: PackError,
}

/// Digest and size of a file whose content was not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    /// SHA-256 of the content.
    pub digest: Digest,
    /// Length of the content in bytes.
    pub size: u64,
}

impl BundleMembers {
    /// Reads a file of a folder to its end: a document is kept, of any other file the digest and the
    /// size.
    ///
    /// ```
    /// use reenact_verify::BundleMembers;
    ///
    /// let mut members = BundleMembers::default();
    /// members.add("blobs/a.bin", &mut &b"content"[..]).unwrap();
    /// assert_eq!(members.count(), 1);
    /// ```
    ///
    /// # Errors
    /// Fails if the reader does. A document that is larger than its limit is
    /// [`ErrorKind::FileTooLarge`].
    pub fn add(&mut self, name: &str, content: &mut impl Read) -> std::io::Result<()> {
        if let Some(limit) = document_limit(name) {
            let mut bytes = Vec::new();
            content.take(limit + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > limit {
                let text = format!("{name} is larger than {limit} bytes");
                return Err(std::io::Error::new(ErrorKind::FileTooLarge, text));
            }
            self.documents.insert(name.to_owned(), bytes);
            return Ok(());
        }
        let mut hasher = Hasher::new();
        let mut buffer = vec![0; 64 * 1024];
        let mut size = 0;
        loop {
            let count = content.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            hasher.put(&buffer[..count]);
            size += count as u64;
        }
        self.files.insert(name.to_owned(), FileFacts { digest: hasher.finish(), size });
        Ok(())
    }

    /// Reads a member of an archive, like [`BundleMembers::add`], and writes a copy if `copies` asks
    /// for one. Documents are not copied.
    fn add_packed(
        &mut self,
        member: &mut ArchiveMember<'_>,
        copies: MemberCopies<'_>,
    ) -> Result<(), PackError> {
        let name = member.name().to_owned();
        self.track_enclosing_folder(&name);
        let inner = match &self.enclosing_folder {
            EnclosingFolder::Folder(folder) => name.strip_prefix(folder.as_str()),
            _ => Some(name.as_str()),
        };
        if let Some(limit) = inner.and_then(document_limit) {
            // The entry is made before reading: the name alone tells which format the archive was meant
            // to be.
            let bytes = self.documents.entry(name).or_default();
            *bytes = member.read_whole(limit)?;
            return Ok(());
        }
        let size = member.size();
        let mut hasher = Hasher::new();
        let mut copy = copies(&name)?;
        let mut copied = Ok(());
        member.read_chunks(|chunk| {
            hasher.put(chunk);
            if let (Some(copy), true) = (&mut copy, copied.is_ok()) {
                copied = copy.write_all(chunk);
            }
        })?;
        copied?;
        self.files.insert(name, FileFacts { digest: hasher.finish(), size });
        Ok(())
    }

    /// Reads an archive to its end.
    ///
    /// # Errors
    /// Returns the members read so far with the error if the archive is damaged, breaks a limit, or
    /// cannot be read.
    pub fn unpack<R: Read + Seek>(container: Container, archive: R) -> Result<Self, Box<BrokenArchive>> {
        Self::unpack_copying(container, archive, &mut |_| Ok(None))
    }

    /// Reads an archive from memory and detects its kind; `None` if the bytes are not an archive.
    ///
    /// Each member that is not a document is copied to the writer that `copies` returns for its name in
    /// the archive. That name includes an enclosing folder.
    pub fn unpack_bytes(bytes: &[u8], copies: MemberCopies<'_>) -> Option<Result<Self, Box<BrokenArchive>>> {
        Some(Self::unpack_copying(Container::detect(bytes)?, Cursor::new(bytes), copies))
    }

    /// Reads an archive, passing each member to [`BundleMembers::add_packed`].
    pub(crate) fn unpack_copying<R: Read + Seek>(
        container: Container,
        archive: R,
        copies: MemberCopies<'_>,
    ) -> Result<Self, Box<BrokenArchive>> {
        let mut members = Self::default();
        let rules = read_rules();
        let visit = |member: &mut ArchiveMember<'_>| members.add_packed(member, copies);
        let read = match container {
            Container::Tar => read_tar(archive, &rules, visit),
            Container::TarGz => read_tar_gz(archive, &rules, visit),
            Container::Zip => read_zip(archive, &rules, visit),
        };
        match read {
            Ok(_) => Ok(members.without_enclosing_folder()),
            Err(error) => Err(Box::new(BrokenArchive { members: members.without_enclosing_folder(), error })),
        }
    }

    /// Updates the enclosing folder for a new member name.
    ///
    /// Once there is none, the documents found inside the supposed folder become ordinary files.
    fn track_enclosing_folder(&mut self, name: &str) {
        match &self.enclosing_folder {
            EnclosingFolder::Absent => {}
            EnclosingFolder::Folder(folder) if name.starts_with(folder.as_str()) => {}
            EnclosingFolder::Unknown => {
                let folder = name.split_once('/').map(|(folder, _)| format!("{folder}/"));
                self.enclosing_folder = folder.map_or(EnclosingFolder::Absent, EnclosingFolder::Folder);
            }
            EnclosingFolder::Folder(_) => {
                self.enclosing_folder = EnclosingFolder::Absent;
                for (name, bytes) in core::mem::take(&mut self.documents) {
                    let facts = FileFacts { digest: Digest::of(&bytes), size: bytes.len() as u64 };
                    self.files.insert(name, facts);
                }
            }
        }
    }

    /// Removes the enclosing folder, if there is one, from all names.
    fn without_enclosing_folder(mut self) -> Self {
        let EnclosingFolder::Folder(folder) = core::mem::take(&mut self.enclosing_folder) else {
            return self;
        };
        let inner = |name: String| name.strip_prefix(&folder).map_or(name.clone(), str::to_owned);
        Self {
            documents: self.documents.into_iter().map(|(name, bytes)| (inner(name), bytes)).collect(),
            files: self.files.into_iter().map(|(name, facts)| (inner(name), facts)).collect(),
            enclosing_folder: EnclosingFolder::Absent,
        }
    }

    /// Returns the content of a document, or `None` if the bundle has none of that name.
    pub fn document(&self, name: &str) -> Option<&[u8]> {
        self.documents.get(name).map(Vec::as_slice)
    }

    /// Returns the digest and size of every file that an RER bundle does not treat as a document.
    ///
    /// Only RER bundles list their files this way, so documents of other formats count as files here.
    pub fn files(&self) -> impl Iterator<Item = (&str, FileFacts)> {
        // Documents of other formats are ordinary files of an RER bundle.
        let others = self.documents.iter().filter(|(name, _)| !is_document_of(&rer::BUNDLE, name));
        let others = others.map(|(name, bytes)| {
            let facts = FileFacts { digest: Digest::of(bytes), size: bytes.len() as u64 };
            (name.as_str(), facts)
        });
        self.files.iter().map(|(name, facts)| (name.as_str(), *facts)).chain(others)
    }

    /// Returns the number of all members.
    pub fn count(&self) -> usize {
        self.documents.len() + self.files.len()
    }

    /// Returns the format of the bundle by the documents in it, or `None` if they belong to no format.
    pub fn format(&self) -> Option<FormatId> {
        FormatId::of_files(|name| self.document(name).is_some())
    }

    /// Returns the format that a partly read archive was meant to be of.
    ///
    /// Fewer documents suffice than for [`BundleMembers::format`], since the rest may follow the error.
    pub(crate) fn intended_format(&self) -> Option<FormatId> {
        let has = |name: &str| self.document(name).is_some();
        match has(rer::ARTIFACT_FILE) || has(MANIFEST_FILE) {
            true => Some(FormatId::RerBundle),
            false => has(model_io::pack::SESSION_FILE).then_some(FormatId::ModelIo),
        }
    }
}

/// Returns the largest size in bytes of a document with this name; `None` if the name is no document of
/// any format.
fn document_limit(name: &str) -> Option<u64> {
    let mut documents = FORMATS.iter().filter_map(|row| row.folder).flat_map(|folder| folder.documents);
    documents.find(|(known, _)| *known == name).map(|(_, limit)| *limit)
}

/// Returns true if a document of this name belongs to the format.
fn is_document_of(row: &reenact_formats::Format, name: &str) -> bool {
    row.folder.is_some_and(|folder| folder.documents.iter().any(|(known, _)| *known == name))
}

/// Returns the rules for archives: portable names and features, with members of up to 16 GiB, since
/// memory does not grow with their size.
fn read_rules() -> ArchiveRules {
    let limits = ArchiveLimits { member_bytes: 16 << 30, ..ArchiveLimits::default() };
    ArchiveRules { limits, ..ArchiveRules::portable() }
}
