//! One immutable snapshot of what a bundle holds.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use reenact_formats::replay_bundle::cassette::CassetteView;
use reenact_formats::replay_bundle::{CASSETTES, LARGEST_MANIFEST, MANIFEST, limits, rules};
use reenact_json::{Digest, Limits as JsonLimits};
#[cfg(feature = "disk")]
use reenact_pack::read_gunzipped_tar;
use reenact_pack::{Container, Limit, Member, NameFault, Names, PackError, Tally, name_fault, read_tar_gz};

use super::leak::Leak;
use super::window::Window;
use crate::members::Copies;

/// What is known of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberFacts {
    /// The SHA-256 of its bytes.
    pub digest: Digest,
    /// How many there are.
    pub size: u64,
    /// Where it seems to hold a secret.
    pub leak: Option<Leak>,
    /// Of a cassette of the real tool: whether its fingerprint is that of its request.
    pub cassette: Option<bool>,
}

/// Why a bundle was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Something in the archive, or in the folder, that cannot be.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// It is no container at all.
    #[error("it is no archive; a Replay Bundle is a tar inside gzip")]
    NoArchive,
    /// It is another container.
    #[error("it is {0}; a Replay Bundle is a tar inside gzip")]
    Container(&'static str),
    /// Its members were taken as those of another record, which are not looked through for secrets.
    #[error("its files were not looked through; take it as a `replay_bundle::Snapshot`")]
    NotLookedThrough,
    /// It holds other things.
    #[error("manifest.json is missing")]
    NoManifest,
    /// All of it lies in a folder of its own, so that nothing is where it should be.
    #[error("everything in it is inside one folder; pack what is in the folder, not the folder")]
    Folder,
}

/// What is done with each member.
type Visit<'v> = dyn FnMut(&mut Member<'_>) -> Result<(), PackError> + 'v;

/// What a bundle holds, by name.
#[derive(Debug, Default)]
pub struct Snapshot {
    manifest: Option<Vec<u8>>,
    members: BTreeMap<String, MemberFacts>,
    fault: Option<Fault>,
    window: Window,
    /// Of a folder: the names so far, and the bytes.
    names: Names,
    bytes: u64,
}

impl Snapshot {
    /// Reads an archive to its end, or to the first thing that cannot be. A failure of the reader itself is an error; what
    /// is wrong with the archive, or that it is none, is a [`Fault`] of the snapshot.
    pub fn read(archive: impl Read) -> Result<Self, PackError> {
        Self::read_while(archive, |_, _| true, &mut |_| Ok(None)).map(|(snapshot, _)| snapshot)
    }

    /// As [`Snapshot::read`], and gives a copy of each member to a writer. What they got counts only if there is no fault.
    pub fn read_copying(archive: impl Read, copies: Copies<'_>) -> Result<Self, PackError> {
        Self::read_while(archive, |_, _| true, copies).map(|(snapshot, _)| snapshot)
    }

    /// Reads as long as `go_on`, which knows what was read so far, likes the names; says whether it did to the end.
    pub(crate) fn read_while(
        mut archive: impl Read,
        go_on: impl Fn(&Self, &str) -> bool,
        copies: Copies<'_>,
    ) -> Result<(Self, bool), PackError> {
        let mut first = Vec::new();
        archive.by_ref().take(FIRST).read_to_end(&mut first)?;
        match Container::detect(&first) {
            Some(Container::TarGz) => {}
            Some(other) => return Ok((Self::broken(Fault::Container(container_name(other))), true)),
            None => return Ok((Self::broken(Fault::NoArchive), true)),
        }
        let archive = io::Cursor::new(first).chain(archive);
        Self::of_members(|visit| read_tar_gz(archive, &rules(), visit), go_on, copies)
    }

    /// As [`Snapshot::read_while`], of a tar that another unpacks.
    #[cfg(feature = "disk")]
    pub(crate) fn read_gunzipped_while(
        tar: impl io::BufRead,
        go_on: impl Fn(&Self, &str) -> bool,
    ) -> Result<(Self, bool), PackError> {
        Self::of_members(|visit| read_gunzipped_tar(tar, &rules(), visit), go_on, &mut |_| Ok(None))
    }

    fn of_members(
        read: impl FnOnce(&mut Visit<'_>) -> Result<Tally, PackError>,
        go_on: impl Fn(&Self, &str) -> bool,
        copies: Copies<'_>,
    ) -> Result<(Self, bool), PackError> {
        let mut snapshot = Self::default();
        let mut is_liked = true;
        let read = read(&mut |member| {
            if !go_on(&snapshot, member.name()) {
                is_liked = false;
                // Any error ends the reading.
                return Err(PackError::Duplicate { name: String::new() });
            }
            snapshot.take_member(member, copies)
        });
        match read {
            Err(error @ PackError::Io { .. }) => return Err(error),
            Err(error) if is_liked => snapshot.fault = Some(error.into()),
            _ => {}
        }
        Ok((snapshot, is_liked))
    }

    /// The snapshot of what could not be read at all.
    pub(crate) fn broken(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    fn take_member(&mut self, member: &mut Member<'_>, copies: Copies<'_>) -> Result<(), PackError> {
        let name = member.name().to_owned();
        let copy = copies(&name)?;
        if name == MANIFEST {
            // That there is one tells what the archive meant to be, even if it cannot be read.
            let bytes = self.manifest.insert(Vec::new());
            *bytes = member.read_whole(LARGEST_MANIFEST)?;
            if let Some(mut copy) = copy {
                copy.write_all(bytes)?;
                copy.flush()?;
            }
            return Ok(());
        }
        match copy {
            None => {
                self.pass(name, member)?;
            }
            Some(copy) => {
                let mut tee = Tee { inner: member, copy };
                self.pass(name, &mut tee)?;
                tee.copy.flush()?;
            }
        }
        Ok(())
    }

    /// Takes a file of a folder. What cannot be in a bundle becomes the snapshot's fault, and the answer is false: there is no
    /// use in going on.
    pub fn take_file(&mut self, name: &str, content: &mut impl Read) -> io::Result<bool> {
        match self.take_bounded(name, content) {
            Ok(()) => Ok(true),
            Err(PackError::Io { kind, text }) => Err(io::Error::new(kind, text)),
            Err(fault) => {
                self.fault = Some(fault.into());
                Ok(false)
            }
        }
    }

    fn take_bounded(&mut self, name: &str, content: &mut impl Read) -> Result<(), PackError> {
        let limits = limits();
        let over =
            |limit, max| PackError::Limit { limit, max, member: Some(name.chars().take(200).collect()) };
        if name.len() as u64 > limits.name_bytes {
            return Err(over(Limit::NameBytes, limits.name_bytes));
        }
        if let Some(fault) = name_fault(name) {
            return Err(PackError::UnsafeName { name: name.to_owned(), fault });
        }
        self.names.admit(name, false, &limits)?;
        let largest = if name == MANIFEST { LARGEST_MANIFEST } else { limits.member_bytes };
        let left = limits.total_bytes.saturating_sub(self.bytes);
        let mut content = content.take(largest.min(left) + 1);
        let size = if name == MANIFEST {
            let bytes = self.manifest.insert(Vec::new());
            content.read_to_end(bytes)?;
            bytes.len() as u64
        } else {
            self.pass(name.to_owned(), &mut content)?
        };
        if size > largest {
            return Err(over(Limit::MemberBytes, largest));
        }
        if size > left {
            return Err(over(Limit::TotalBytes, limits.total_bytes));
        }
        self.bytes += size;
        Ok(())
    }

    /// Makes something in a folder that is no file the snapshot's fault.
    pub fn refuse(&mut self, fault: Fault) {
        self.fault = Some(fault);
    }

    /// A name that is no text cannot be in a bundle.
    pub fn refuse_name(&mut self, shown: String) {
        self.refuse(PackError::UnsafeName { name: shown, fault: NameFault::NotUtf8 }.into());
    }

    fn pass(&mut self, name: String, content: &mut impl Read) -> Result<u64, PackError> {
        let passed = self.window.pass(content)?;
        // A cassette is one exchange; one that is larger than the window is not looked into.
        let is_cassette = name.starts_with(CASSETTES) && name.ends_with(".json");
        let whole = passed.whole.filter(|_| is_cassette);
        let cassette = whole.and_then(|whole| CassetteView::read(whole, &JsonLimits::default()));
        let size = passed.size;
        let facts = MemberFacts {
            digest: passed.digest,
            size,
            leak: passed.leak,
            cassette: cassette.map(|cassette| cassette.holds()),
        };
        self.members.insert(name, facts);
        Ok(size)
    }

    /// The bytes of the manifest. Empty, if it is there and could not be read.
    pub fn manifest(&self) -> Option<&[u8]> {
        self.manifest.as_deref()
    }

    /// Everything else, by name.
    pub fn members(&self) -> impl Iterator<Item = (&str, &MemberFacts)> {
        self.members.iter().map(|(name, facts)| (name.as_str(), facts))
    }

    /// What is known of the member of that name.
    pub fn member(&self, name: &str) -> Option<&MemberFacts> {
        self.members.get(name)
    }

    /// Why it was not read to its end, if it was not.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }
}

/// How many bytes tell which container it is.
const FIRST: u64 = 512;

fn container_name(container: Container) -> &'static str {
    match container {
        Container::Tar => "a tar",
        Container::TarGz => "a tar inside gzip",
        Container::Zip => "a zip",
    }
}

/// Writes what is read through it.
struct Tee<'a, R> {
    inner: &'a mut R,
    copy: Box<dyn Write>,
}

impl<R: Read> Read for Tee<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.copy.write_all(out.get(..count).unwrap_or_default())?;
        Ok(count)
    }
}
