//! [`BundleSnapshot`]: one immutable snapshot of the files in a Replay Bundle.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use reenact_formats::replay_bundle::cassette::CassetteView;
use reenact_formats::replay_bundle::{
    CASSETTES_FOLDER, MANIFEST, MAX_MANIFEST_BYTES, archive_limits, archive_rules,
};
use reenact_json::{Digest, Limits};
#[cfg(feature = "disk")]
use reenact_pack::read_gunzipped_tar;
use reenact_pack::{
    ArchiveLimit, ArchiveMember, ArchiveTotals, Container, MemberNames, NameFault, PackError, name_fault,
    read_tar_gz,
};

use super::leak::Leak;
use super::window::ScanWindow;
use crate::members::MemberCopies;

/// Facts about a member whose content was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberFacts {
    /// SHA-256 of the content.
    pub digest: Digest,
    /// Length of the content in bytes.
    pub size: u64,
    /// First place that looks like a secret, and the number of such places.
    pub leak: Option<Leak>,
    /// True if the fingerprint of a cassette of the reference tool is that of its request. `None` for
    /// other files, and for cassettes larger than the window of 1 MiB.
    pub is_fingerprint_right: Option<bool>,
}

/// Reason why a bundle was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotFault {
    /// Fault of the archive, or of an entry in the folder.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The file is not an archive.
    #[error("it is no archive; a Replay Bundle is a tar inside gzip")]
    NoArchive,
    /// The file is an archive of another kind. Holds its name.
    #[error("it is {0}; a Replay Bundle is a tar inside gzip")]
    Container(&'static str),
    /// The members were read as those of another format, which are not searched for secrets.
    #[error("its files were not looked through; take it as a `replay_bundle::Snapshot`")]
    NotScanned,
    /// There is no manifest.
    #[error("manifest.json is missing")]
    NoManifest,
    /// All members are inside one enclosing folder, so none is at its proper place.
    #[error("everything in it is inside one folder; pack what is in the folder, not the folder")]
    Folder,
}

/// Callback for each member of an archive.
type MemberVisitor<'v> = dyn FnMut(&mut ArchiveMember<'_>) -> Result<(), PackError> + 'v;

/// Members of a Replay Bundle by name, and the content of the manifest.
#[derive(Debug, Default)]
pub struct BundleSnapshot {
    /// Content of the manifest.
    manifest: Option<Vec<u8>>,
    /// Facts about all other members.
    members: BTreeMap<String, MemberFacts>,
    /// Reason why the reading ended early.
    fault: Option<SnapshotFault>,
    /// Buffer through which every member passes.
    window: ScanWindow,
    /// Names of the files of a folder so far, to find collisions.
    names: MemberNames,
    /// Bytes of the files of a folder so far.
    bytes: u64,
}

impl BundleSnapshot {
    /// Reads an archive to its end, or to its first fault.
    ///
    /// # Errors
    /// Fails only if the reader does. Faults of the archive, or that it is none, become the fault of
    /// the snapshot.
    pub fn read(archive: impl Read) -> Result<Self, PackError> {
        Self::read_while(archive, |_, _| true, &mut |_| Ok(None)).map(|(snapshot, _)| snapshot)
    }

    /// Reads an archive like [`BundleSnapshot::read`], and copies each member to the writer that
    /// `copies` returns. The copies are valid only if the snapshot has no fault.
    ///
    /// # Errors
    /// Fails if the reader or a writer does.
    pub fn read_copying(archive: impl Read, copies: MemberCopies<'_>) -> Result<Self, PackError> {
        Self::read_while(archive, |_, _| true, copies).map(|(snapshot, _)| snapshot)
    }

    /// Reads an archive while `accepts` returns true for the names. Returns true beside the snapshot if all names
    /// were accepted.
    pub(crate) fn read_while(
        mut archive: impl Read,
        accepts: impl Fn(&Self, &str) -> bool,
        copies: MemberCopies<'_>,
    ) -> Result<(Self, bool), PackError> {
        let mut first = Vec::new();
        archive.by_ref().take(DETECT_BYTES).read_to_end(&mut first)?;
        match Container::detect(&first) {
            Some(Container::TarGz) => {}
            Some(other) => {
                return Ok((Self::from_fault(SnapshotFault::Container(container_name(other))), true));
            }
            None => return Ok((Self::from_fault(SnapshotFault::NoArchive), true)),
        }
        let archive = io::Cursor::new(first).chain(archive);
        Self::from_members(|visit| read_tar_gz(archive, &archive_rules(), visit), accepts, copies)
    }

    /// Reads an already decompressed tar like [`BundleSnapshot::read_while`].
    #[cfg(feature = "disk")]
    pub(crate) fn read_gunzipped_while(
        tar: impl io::BufRead,
        accepts: impl Fn(&Self, &str) -> bool,
    ) -> Result<(Self, bool), PackError> {
        Self::from_members(|visit| read_gunzipped_tar(tar, &archive_rules(), visit), accepts, &mut |_| {
            Ok(None)
        })
    }

    /// Collects the members that `read` passes to its visitor.
    fn from_members(
        read: impl FnOnce(&mut MemberVisitor<'_>) -> Result<ArchiveTotals, PackError>,
        accepts: impl Fn(&Self, &str) -> bool,
        copies: MemberCopies<'_>,
    ) -> Result<(Self, bool), PackError> {
        let mut snapshot = Self::default();
        let mut is_liked = true;
        let read = read(&mut |member| {
            if !accepts(&snapshot, member.name()) {
                is_liked = false;
                // Any error ends the reading; this one is not reported.
                return Err(PackError::Duplicate { name: String::new() });
            }
            snapshot.add_member(member, copies)
        });
        match read {
            Err(error @ PackError::Io { .. }) => return Err(error),
            Err(error) if is_liked => snapshot.fault = Some(error.into()),
            _ => {}
        }
        Ok((snapshot, is_liked))
    }

    /// Returns the snapshot of a bundle that could not be read at all.
    pub(crate) fn from_fault(fault: SnapshotFault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// Reads one member of an archive.
    fn add_member(
        &mut self,
        member: &mut ArchiveMember<'_>,
        copies: MemberCopies<'_>,
    ) -> Result<(), PackError> {
        let name = member.name().to_owned();
        let copy = copies(&name)?;
        if name == MANIFEST {
            // The manifest is set before reading: its presence tells what the archive was meant to be.
            let bytes = self.manifest.insert(Vec::new());
            *bytes = member.read_whole(MAX_MANIFEST_BYTES)?;
            if let Some(mut copy) = copy {
                copy.write_all(bytes)?;
                copy.flush()?;
            }
            return Ok(());
        }
        match copy {
            None => {
                self.scan_member(name, member)?;
            }
            Some(copy) => {
                let mut tee = CopyingReader { inner: member, copy };
                self.scan_member(name, &mut tee)?;
                tee.copy.flush()?;
            }
        }
        Ok(())
    }

    /// Reads a file of a folder. Returns false if the file cannot be in a bundle: the fault is stored,
    /// and reading further is useless.
    ///
    /// # Errors
    /// Fails if the reader does.
    pub fn add_file(&mut self, name: &str, content: &mut impl Read) -> io::Result<bool> {
        match self.add_bounded(name, content) {
            Ok(()) => Ok(true),
            Err(PackError::Io { kind, text }) => Err(io::Error::new(kind, text)),
            Err(fault) => {
                self.fault = Some(fault.into());
                Ok(false)
            }
        }
    }

    /// Reads a file of a folder within the limits of an archive.
    fn add_bounded(&mut self, name: &str, content: &mut impl Read) -> Result<(), PackError> {
        let limits = archive_limits();
        let over =
            |limit, max| PackError::Limit { limit, max, member: Some(name.chars().take(200).collect()) };
        if name.len() as u64 > limits.name_bytes {
            return Err(over(ArchiveLimit::NameBytes, limits.name_bytes));
        }
        if let Some(fault) = name_fault(name) {
            return Err(PackError::UnsafeName { name: name.to_owned(), fault });
        }
        self.names.admit(name, false, &limits)?;
        let max_bytes = if name == MANIFEST { MAX_MANIFEST_BYTES } else { limits.member_bytes };
        let left = limits.total_bytes.saturating_sub(self.bytes);
        let mut content = content.take(max_bytes.min(left) + 1);
        let size = if name == MANIFEST {
            let bytes = self.manifest.insert(Vec::new());
            content.read_to_end(bytes)?;
            bytes.len() as u64
        } else {
            self.scan_member(name.to_owned(), &mut content)?
        };
        if size > max_bytes {
            return Err(over(ArchiveLimit::MemberBytes, max_bytes));
        }
        if size > left {
            return Err(over(ArchiveLimit::TotalBytes, limits.total_bytes));
        }
        self.bytes += size;
        Ok(())
    }

    /// Stores the fault of an entry in a folder that is not a file.
    pub fn set_fault(&mut self, fault: SnapshotFault) {
        self.fault = Some(fault);
    }

    /// Stores the fault of a file name that is not UTF-8. `shown` is its lossy form.
    pub fn set_name_fault(&mut self, shown: String) {
        self.set_fault(PackError::UnsafeName { name: shown, fault: NameFault::NotUtf8 }.into());
    }

    /// Hashes and searches a member, and stores its facts; returns its size in bytes.
    fn scan_member(&mut self, name: String, content: &mut impl Read) -> Result<u64, PackError> {
        let passed = self.window.scan(content)?;
        // A cassette is one exchange. One that is larger than the window is not parsed.
        let is_cassette = name.starts_with(CASSETTES_FOLDER) && name.ends_with(".json");
        let whole = passed.whole.filter(|_| is_cassette);
        let cassette = whole.and_then(|whole| CassetteView::read(whole, &Limits::default()));
        let size = passed.size;
        let facts = MemberFacts {
            digest: passed.digest,
            size,
            leak: passed.leak,
            is_fingerprint_right: cassette.map(|cassette| cassette.has_matching_fingerprint()),
        };
        self.members.insert(name, facts);
        Ok(size)
    }

    /// Returns the content of the manifest. Empty if the manifest is there but could not be read.
    pub fn manifest(&self) -> Option<&[u8]> {
        self.manifest.as_deref()
    }

    /// Returns the facts about all other members, by name.
    pub fn members(&self) -> impl Iterator<Item = (&str, &MemberFacts)> {
        self.members.iter().map(|(name, facts)| (name.as_str(), facts))
    }

    /// Returns the facts about the member with this name.
    pub fn member(&self, name: &str) -> Option<&MemberFacts> {
        self.members.get(name)
    }

    /// Returns the reason why the bundle was not read to its end; `None` if it was.
    pub fn fault(&self) -> Option<&SnapshotFault> {
        self.fault.as_ref()
    }
}

/// Number of bytes that suffice to detect the kind of an archive.
const DETECT_BYTES: u64 = 512;

/// Returns the kind of an archive with its article.
fn container_name(container: Container) -> &'static str {
    match container {
        Container::Tar => "a tar",
        Container::TarGz => "a tar inside gzip",
        Container::Zip => "a zip",
    }
}

/// Reader that writes a copy of everything that is read through it.
pub(crate) struct CopyingReader<'a, R> {
    /// Source of the bytes.
    pub(crate) inner: &'a mut R,
    /// Writer that receives the same bytes.
    pub(crate) copy: Box<dyn Write>,
}

impl<R: Read> Read for CopyingReader<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.copy.write_all(out.get(..count).unwrap_or_default())?;
        Ok(count)
    }
}
