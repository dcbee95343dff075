//! One immutable snapshot of what a bundle holds.
//!
//! The few documents that a verifier must read are kept whole; of everything else only the digest and the size are, which
//! is all that is ever asked of it. So a bundle of any size is judged in little memory, and nothing is read twice.
//!
//! A document counts in one place only, so that an archive full of folders cannot fill the memory with them. A file of
//! the same name elsewhere is a file like any other.

use std::collections::BTreeMap;
use std::io::{Cursor, ErrorKind, Read, Seek, Write};

use reenact_formats::format::MANIFEST_FILE;
use reenact_formats::{FORMATS, FormatId, model_io, rer};
use reenact_json::Digest;
use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;
use reenact_pack::{Container, Limits, Member, PackError, Rules, read_tar, read_tar_gz, read_zip};

/// Where copies of members go while they are read: to nowhere, or to a writer for each.
pub type Copies<'c> = &'c mut dyn FnMut(&str) -> std::io::Result<Option<Box<dyn Write>>>;

/// What a bundle holds, by name.
#[derive(Debug, Clone, Default)]
pub struct Members {
    documents: BTreeMap<String, Vec<u8>>,
    files: BTreeMap<String, FileFacts>,
    around: Around,
}

/// People pack a folder as often as what is in it: a folder around everything is no part of the names.
#[derive(Debug, Clone, Default)]
enum Around {
    /// No member was seen yet.
    #[default]
    Unknown,
    /// All members so far are in this folder, which has its slash.
    Folder(String),
    /// There is a member in no folder or in another.
    Nothing,
}

/// An archive that could not be read to its end.
#[derive(Debug, Clone)]
pub struct BrokenArchive {
    /// What was seen before: it tells only what the archive meant to be.
    pub seen: Members,
    /// What is wrong with it.
    pub error: PackError,
}

/// What is known of a member that was not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    /// The SHA-256 of its bytes.
    pub digest: Digest,
    /// How many there are.
    pub size: u64,
}

impl Members {
    /// Takes a member from a reader. A document that is too large is [`ErrorKind::FileTooLarge`].
    pub fn take(&mut self, name: &str, content: &mut impl Read) -> std::io::Result<()> {
        if let Some(limit) = document(name) {
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

    fn take_packed(&mut self, member: &mut Member<'_>, copies: Copies<'_>) -> Result<(), PackError> {
        let name = member.name().to_owned();
        self.look_around(&name);
        let inner = match &self.around {
            Around::Folder(folder) => name.strip_prefix(folder.as_str()),
            _ => Some(name.as_str()),
        };
        if let Some(limit) = inner.and_then(document) {
            // A document that cannot be read tells what the archive meant to be all the same.
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

    /// Reads an archive.
    pub fn unpack<R: Read + Seek>(container: Container, archive: R) -> Result<Self, Box<BrokenArchive>> {
        Self::unpack_copying(container, archive, &mut |_| Ok(None))
    }

    /// Reads an archive that lies in memory, of whatever kind it is; `None` if it is none. A copy of each member that is no
    /// document goes to where `copies` says, under its name in the archive: a folder around everything is part of that.
    pub fn in_memory(bytes: &[u8], copies: Copies<'_>) -> Option<Result<Self, Box<BrokenArchive>>> {
        Some(Self::unpack_copying(Container::detect(bytes)?, Cursor::new(bytes), copies))
    }

    fn unpack_copying<R: Read + Seek>(
        container: Container,
        archive: R,
        copies: Copies<'_>,
    ) -> Result<Self, Box<BrokenArchive>> {
        let mut members = Self::default();
        let rules = rules();
        let visit = |member: &mut Member<'_>| members.take_packed(member, copies);
        let read = match container {
            Container::Tar => read_tar(archive, &rules, visit),
            Container::TarGz => read_tar_gz(archive, &rules, visit),
            Container::Zip => read_zip(archive, &rules, visit),
        };
        match read {
            Ok(_) => Ok(members.out_of_folder()),
            Err(error) => Err(Box::new(BrokenArchive { seen: members.out_of_folder(), error })),
        }
    }

    /// Sees whether one folder is still around everything. Once it is not, what was kept from it are files like others.
    fn look_around(&mut self, name: &str) {
        match &self.around {
            Around::Nothing => {}
            Around::Folder(folder) if name.starts_with(folder.as_str()) => {}
            Around::Unknown => {
                let folder = name.split_once('/').map(|(folder, _)| format!("{folder}/"));
                self.around = folder.map_or(Around::Nothing, Around::Folder);
            }
            Around::Folder(_) => {
                self.around = Around::Nothing;
                for (name, bytes) in core::mem::take(&mut self.documents) {
                    let facts = FileFacts { digest: Digest::of(&bytes), size: bytes.len() as u64 };
                    self.files.insert(name, facts);
                }
            }
        }
    }

    /// Takes the folder around everything off the names.
    fn out_of_folder(mut self) -> Self {
        let Around::Folder(folder) = core::mem::take(&mut self.around) else { return self };
        let inner = |name: String| name.strip_prefix(&folder).map_or(name.clone(), str::to_owned);
        Self {
            documents: self.documents.into_iter().map(|(name, bytes)| (inner(name), bytes)).collect(),
            files: self.files.into_iter().map(|(name, facts)| (inner(name), facts)).collect(),
            around: Around::Nothing,
        }
    }

    /// A document that was kept whole.
    pub fn document(&self, name: &str) -> Option<&[u8]> {
        self.documents.get(name).map(Vec::as_slice)
    }

    /// Everything else, by name.
    pub fn files(&self) -> impl Iterator<Item = (&str, FileFacts)> {
        // Documents of other formats are files like others in an RER bundle, which alone lists its files so.
        let others = self.documents.iter().filter(|(name, _)| !is_document_of(&rer::BUNDLE, name));
        let others = others.map(|(name, bytes)| {
            let facts = FileFacts { digest: Digest::of(bytes), size: bytes.len() as u64 };
            (name.as_str(), facts)
        });
        self.files.iter().map(|(name, facts)| (name.as_str(), *facts)).chain(others)
    }

    /// How many members there are.
    pub fn count(&self) -> usize {
        self.documents.len() + self.files.len()
    }

    /// The format that these are a record of, by the documents among them.
    pub fn format(&self) -> Option<FormatId> {
        FormatId::of_files(|name| self.document(name).is_some())
    }

    /// The format that an archive was meant to be of, of which only a part could be read.
    pub(crate) fn meant(&self) -> Option<FormatId> {
        let has = |name: &str| self.document(name).is_some();
        match has(rer::ARTIFACT_FILE) || has(MANIFEST_FILE) {
            true => Some(FormatId::RerBundle),
            false => has(model_io::pack::SESSION).then_some(FormatId::ModelIo),
        }
    }
}

/// The most bytes of a document of that name; `None` if it is no document.
fn document(name: &str) -> Option<u64> {
    let mut documents = FORMATS.iter().filter_map(|row| row.folder).flat_map(|folder| folder.documents);
    documents.find(|(known, _)| *known == name).map(|(_, limit)| *limit)
}

fn is_document_of(row: &reenact_formats::Format, name: &str) -> bool {
    row.folder.is_some_and(|folder| folder.documents.iter().any(|(known, _)| *known == name))
}

/// What ordinary tools write, with room for large blobs: memory does not grow with them.
fn rules() -> Rules {
    let limits = Limits { member_bytes: 16 << 30, ..Limits::default() };
    Rules { limits, ..Rules::portable() }
}
