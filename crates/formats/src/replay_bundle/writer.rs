//! Writing a bundle: the same bytes for the same manifest and files, and nothing that its readers would refuse.
//!
//! The manifest stands first and holds the digests of all that follows, so each file is read twice: once to hash it, once to
//! write it. One that changed in between is refused. No file is opened here, and no clock is read.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Shown, SyntaxError};
use reenact_pack::{NameFault, PackError, TarGzWriter, TarStyle, name_fault};

use super::draft::NewManifest;
use super::text::manifest_text;
use super::{
    CASSETTES, FILES, LARGEST_MANIFEST, LONGEST_WRITTEN_NAME, MANIFEST, OUTPUTS, is_in_layout, limits,
};

/// Why a bundle was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A name that could not be read back.
    #[error("\"{}\" cannot be a name in a bundle: {fault}", Shown::new(.name))]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        fault: NameFault,
    },
    /// A name outside the three folders.
    #[error("\"{}\" is in none of the folders {FILES}, {OUTPUTS}, {CASSETTES}", Shown::new(.name))]
    Folder {
        /// The name.
        name: String,
    },
    /// A name that no plain tar header holds.
    #[error("\"{}\" is longer than {LONGEST_WRITTEN_NAME} bytes", Shown::new(.name))]
    LongName {
        /// The name.
        name: String,
    },
    /// Two files of one name.
    #[error("two files are named \"{}\"", Shown::new(.name))]
    Repeated {
        /// The name.
        name: String,
    },
    /// The manifest speaks of a file that is not there.
    #[error("{member} names \"{}\", which is not among the files", Shown::new(.name))]
    NotThere {
        /// Which member of the manifest.
        member: &'static str,
        /// The name.
        name: String,
    },
    /// The producer has no version.
    #[error("assay_version is empty")]
    NoVersion,
    /// Nothing of what §4 asks for.
    #[error("a bundle needs a config, a trace or a summary, or the digest of one of the first two")]
    Nothing,
    /// A value of `env` that is not JSON.
    #[error("env: {0}")]
    Env(#[from] SyntaxError),
    /// The manifest would be too large to be read.
    #[error("the manifest has {bytes} bytes, more than {LARGEST_MANIFEST}")]
    LargeManifest {
        /// Its size.
        bytes: usize,
    },
    /// A file whose bytes were other ones when they were read again.
    #[error("\"{}\" changed while it was packed", Shown::new(.name))]
    Changed {
        /// The name.
        name: String,
    },
    /// A file could not be read.
    #[error("\"{}\" could not be read: {text}", Shown::new(.name))]
    Unreadable {
        /// The name.
        name: String,
        /// What kind of failure.
        kind: io::ErrorKind,
        /// In words.
        text: String,
    },
    /// The archive could not be written.
    #[error(transparent)]
    Pack(#[from] PackError),
}

/// Bytes that can be read from their beginning as often as needed.
pub trait Source {
    /// A reader at their beginning.
    fn open(&self) -> io::Result<Box<dyn Read + '_>>;
}

impl<T: AsRef<[u8]>> Source for T {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(self.as_ref()))
    }
}

/// A file to be packed.
pub struct NewFile<'a> {
    /// Its name inside the bundle.
    pub name: &'a str,
    /// Its bytes.
    pub content: &'a dyn Source,
}

/// Writes a bundle; gives the sink back. The sink gets small writes: a file wants a `BufWriter`. After an error what it
/// holds is broken and must be thrown away.
pub fn write<W: Write>(manifest: &NewManifest, files: &[NewFile<'_>], sink: W) -> Result<W, WriteError> {
    let mut packed: BTreeMap<&str, Packed<'_>> = BTreeMap::new();
    for file in files {
        check_name(file.name)?;
        let (digest, size) = hashed(file)?;
        let entry = Packed { content: file.content, digest, size };
        if packed.insert(file.name, entry).is_some() {
            return Err(WriteError::Repeated { name: file.name.to_owned() });
        }
    }
    let text = manifest_text(manifest, &packed)?;
    let mut writer = TarGzWriter::new(sink, TarStyle::Gnu, limits())?;
    writer.add(MANIFEST, text.len() as u64, text.as_slice())?;
    for (name, file) in &packed {
        let unreadable = |error: io::Error| unreadable(name, &error);
        let mut content = Hashing { inner: file.content.open().map_err(unreadable)?, hasher: Hasher::new() };
        match writer.add(name, file.size, &mut content) {
            Err(PackError::Disagreement { .. }) => {
                return Err(WriteError::Changed { name: (*name).to_owned() });
            }
            added => added?,
        }
        if content.hasher.finish() != file.digest {
            return Err(WriteError::Changed { name: (*name).to_owned() });
        }
    }
    Ok(writer.finish()?)
}

/// The archive of a manifest and files whose bytes are known: reproducible, the files in the order of their names. Nothing is
/// checked but that it can be packed, so that a bundle which somebody else wrote can be given back as it was.
pub fn archive<'f>(
    manifest: &[u8],
    files: impl IntoIterator<Item = (&'f str, &'f [u8])>,
) -> Result<Vec<u8>, WriteError> {
    let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, limits())?;
    writer.add(MANIFEST, manifest.len() as u64, manifest)?;
    let files: BTreeMap<&str, &[u8]> = files.into_iter().collect();
    for (name, bytes) in files {
        writer.add(name, bytes.len() as u64, bytes)?;
    }
    Ok(writer.finish()?)
}

/// A file of which digest and size are known.
pub(super) struct Packed<'a> {
    content: &'a dyn Source,
    pub(super) digest: Digest,
    pub(super) size: u64,
}

/// Hashes what is read through it.
struct Hashing<R> {
    inner: R,
    hasher: Hasher,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.hasher.put(out.get(..count).unwrap_or_default());
        Ok(count)
    }
}

fn check_name(name: &str) -> Result<(), WriteError> {
    let own = || name.to_owned();
    if let Some(fault) = name_fault(name) {
        return Err(WriteError::Name { name: own(), fault });
    }
    if !is_in_layout(name) {
        return Err(WriteError::Folder { name: own() });
    }
    if name.len() > LONGEST_WRITTEN_NAME {
        return Err(WriteError::LongName { name: own() });
    }
    Ok(())
}

fn unreadable(name: &str, error: &io::Error) -> WriteError {
    WriteError::Unreadable { name: name.to_owned(), kind: error.kind(), text: error.to_string() }
}

fn hashed(file: &NewFile<'_>) -> Result<(Digest, u64), WriteError> {
    let failed = |error: io::Error| unreadable(file.name, &error);
    let mut content = Hashing { inner: file.content.open().map_err(failed)?, hasher: Hasher::new() };
    let size = io::copy(&mut content, &mut io::sink()).map_err(failed)?;
    Ok((content.hasher.finish(), size))
}
