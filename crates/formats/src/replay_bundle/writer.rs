//! Writer of bundles: the same bytes for the same manifest and files, and nothing that readers would refuse.
//!
//! The manifest comes first and holds the digests of all files behind it, so each file is read twice: once to hash
//! it, once to write it. A file that changed in between is refused. This module opens no file and reads no clock.
//! Start reading at [`write()`].

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Shown, SyntaxError};
use reenact_pack::{NameFault, PackError, TarGzWriter, TarStyle, name_fault};

use super::manifest_writer::manifest_text;
use super::new_manifest::NewManifest;
use super::{
    CASSETTES_FOLDER, FILES_FOLDER, MANIFEST, MAX_MANIFEST_BYTES, MAX_WRITTEN_NAME_BYTES, OUTPUTS_FOLDER,
    archive_limits, is_in_layout,
};

/// Reason why a bundle was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayBundleWriteError {
    /// A file name that could not be read back.
    #[error("\"{}\" cannot be a name in a bundle: {fault}", Shown::new(.name))]
    Name {
        /// Name of the file.
        name: String,
        /// Fault of the name.
        fault: NameFault,
    },
    /// A file name outside of the three folders.
    #[error("\"{}\" is in none of the folders {FILES_FOLDER}, {OUTPUTS_FOLDER}, {CASSETTES_FOLDER}", Shown::new(.name))]
    OutsideLayout {
        /// Name of the file.
        name: String,
    },
    /// A file name too long for a plain tar header.
    #[error("\"{}\" is longer than {MAX_WRITTEN_NAME_BYTES} bytes", Shown::new(.name))]
    LongName {
        /// Name of the file.
        name: String,
    },
    /// Two files with the same name.
    #[error("two files are named \"{}\"", Shown::new(.name))]
    DuplicateName {
        /// Name of the files.
        name: String,
    },
    /// The manifest names a file that is not among the files.
    #[error("{member} names \"{}\", which is not among the files", Shown::new(.name))]
    MissingFile {
        /// Member of the manifest.
        member: &'static str,
        /// Name of the file.
        name: String,
    },
    /// `assay_version` is empty.
    #[error("assay_version is empty")]
    NoVersion,
    /// None of the documents of which §4 asks for one.
    #[error("a bundle needs a config, a trace or a summary, or the digest of one of the first two")]
    NothingToReplay,
    /// A value of `env` that is not JSON.
    #[error("env: {0}")]
    Env(#[from] SyntaxError),
    /// The manifest would be too large to be read.
    #[error("the manifest has {bytes} bytes, more than {MAX_MANIFEST_BYTES}")]
    LargeManifest {
        /// Length of the manifest, in bytes.
        bytes: usize,
    },
    /// A file whose bytes differed between the first and the second read.
    #[error("\"{}\" changed while it was packed", Shown::new(.name))]
    Changed {
        /// Name of the file.
        name: String,
    },
    /// A file could not be read.
    #[error("\"{}\" could not be read: {text}", Shown::new(.name))]
    Unreadable {
        /// Name of the file.
        name: String,
        /// Kind of the I/O error.
        kind: io::ErrorKind,
        /// Message of the I/O error.
        text: String,
    },
    /// The archive could not be written.
    #[error(transparent)]
    Pack(#[from] PackError),
}

/// Bytes that can be read from their beginning as often as needed.
pub trait ReopenableSource {
    /// Opens a reader at the beginning.
    fn open(&self) -> io::Result<Box<dyn Read + '_>>;
}

impl<T: AsRef<[u8]>> ReopenableSource for T {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(self.as_ref()))
    }
}

/// A file to be packed.
pub struct NewBundleFile<'a> {
    /// Name inside the bundle.
    pub name: &'a str,
    /// Bytes of the file.
    pub content: &'a dyn ReopenableSource,
}

/// Writes a bundle to `sink`; returns the sink. The sink gets small writes: wrap a file in a `BufWriter`.
///
/// # Errors
///
/// [`ReplayBundleWriteError`]. The sink may then hold part of an archive, which must be discarded.
pub fn write<W: Write>(
    manifest: &NewManifest,
    files: &[NewBundleFile<'_>],
    sink: W,
) -> Result<W, ReplayBundleWriteError> {
    let mut packed: BTreeMap<&str, HashedFile<'_>> = BTreeMap::new();
    for file in files {
        check_name(file.name)?;
        let (digest, size) = hash_file(file)?;
        let entry = HashedFile { content: file.content, digest, size };
        if packed.insert(file.name, entry).is_some() {
            return Err(ReplayBundleWriteError::DuplicateName { name: file.name.to_owned() });
        }
    }
    let text = manifest_text(manifest, &packed)?;
    let mut writer = TarGzWriter::new(sink, TarStyle::Gnu, archive_limits())?;
    writer.add(MANIFEST, text.len() as u64, text.as_slice())?;
    for (name, file) in &packed {
        let unreadable = |error: io::Error| unreadable(name, &error);
        let mut content =
            BundleHashingReader { inner: file.content.open().map_err(unreadable)?, hasher: Hasher::new() };
        match writer.add(name, file.size, &mut content) {
            Err(PackError::Disagreement { .. }) => {
                return Err(ReplayBundleWriteError::Changed { name: (*name).to_owned() });
            }
            added => added?,
        }
        if content.hasher.finish() != file.digest {
            return Err(ReplayBundleWriteError::Changed { name: (*name).to_owned() });
        }
    }
    Ok(writer.finish()?)
}

/// Returns the archive of a manifest and files whose bytes are known, the files in the order of their names.
///
/// Nothing is checked but that the files can be packed, so a bundle of another program can be restored exactly as it
/// was.
///
/// # Errors
///
/// [`ReplayBundleWriteError::Pack`] if a name or a size cannot be packed.
pub fn archive<'f>(
    manifest: &[u8],
    files: impl IntoIterator<Item = (&'f str, &'f [u8])>,
) -> Result<Vec<u8>, ReplayBundleWriteError> {
    let mut writer = TarGzWriter::new(Vec::new(), TarStyle::Gnu, archive_limits())?;
    writer.add(MANIFEST, manifest.len() as u64, manifest)?;
    let files: BTreeMap<&str, &[u8]> = files.into_iter().collect();
    for (name, bytes) in files {
        writer.add(name, bytes.len() as u64, bytes)?;
    }
    Ok(writer.finish()?)
}

/// File to be packed, with its digest and size.
pub(super) struct HashedFile<'a> {
    content: &'a dyn ReopenableSource,
    pub(super) digest: Digest,
    pub(super) size: u64,
}

/// Reader that hashes the bytes read through it.
struct BundleHashingReader<R> {
    inner: R,
    hasher: Hasher,
}

impl<R: Read> Read for BundleHashingReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.hasher.put(out.get(..count).unwrap_or_default());
        Ok(count)
    }
}

fn check_name(name: &str) -> Result<(), ReplayBundleWriteError> {
    let own = || name.to_owned();
    if let Some(fault) = name_fault(name) {
        return Err(ReplayBundleWriteError::Name { name: own(), fault });
    }
    if !is_in_layout(name) {
        return Err(ReplayBundleWriteError::OutsideLayout { name: own() });
    }
    if name.len() > MAX_WRITTEN_NAME_BYTES {
        return Err(ReplayBundleWriteError::LongName { name: own() });
    }
    Ok(())
}

fn unreadable(name: &str, error: &io::Error) -> ReplayBundleWriteError {
    ReplayBundleWriteError::Unreadable { name: name.to_owned(), kind: error.kind(), text: error.to_string() }
}

fn hash_file(file: &NewBundleFile<'_>) -> Result<(Digest, u64), ReplayBundleWriteError> {
    let failed = |error: io::Error| unreadable(file.name, &error);
    let mut content =
        BundleHashingReader { inner: file.content.open().map_err(failed)?, hasher: Hasher::new() };
    let size = io::copy(&mut content, &mut io::sink()).map_err(failed)?;
    Ok((content.hasher.finish(), size))
}
