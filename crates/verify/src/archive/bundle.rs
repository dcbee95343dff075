//! Archives that may be Replay Bundles.
//!
//! A Replay Bundle is read by stricter rules than other archives, and verified while it is read. An
//! archive is therefore taken for a Replay Bundle until a member name shows that it is another record;
//! only then is it read again from the beginning, by the rules of the others. Start reading at
//! [`open_unless_decided`].

#[cfg(feature = "disk")]
use std::cell::Cell;
#[cfg(feature = "disk")]
use std::io::{self, BufRead, SeekFrom};
use std::io::{Read, Seek};

use reenact_formats::format::MANIFEST_FILE;
use reenact_formats::recognise::recognise_manifest;
use reenact_formats::replay_bundle::is_in_layout;
use reenact_formats::{FORMATS, FormatId};
use reenact_pack::{Container, PackError};

use super::{OpenedArchive, from_unpacked};
use crate::Options;
#[cfg(feature = "disk")]
use crate::disk::{MAX_PIPE_BYTES, pipe_too_large};
use crate::members::BundleMembers;
use crate::replay_bundle::{self, BundleSnapshot, SnapshotFault};

/// Reads a `tar.gz` from a pipe.
///
/// The bytes are buffered because they may have to be read again, until the manifest says that this is
/// a Replay Bundle. All known writers put the manifest first, so their bundles need no memory.
#[cfg(feature = "disk")]
pub(crate) fn open_pipe(archive: impl Read, options: &Options) -> Result<OpenedArchive, PackError> {
    // With a format given, there is only one way to read the archive.
    let keeps = Cell::new(options.format.is_none());
    let archive = RewindableReader { reader: archive, keeps_buffer: &keeps, buffer: Vec::new(), position: 0 };
    open_unless_decided(Container::TarGz, archive, options, |snapshot| {
        if keeps.get() && snapshot.manifest().and_then(recognise_manifest) == Some(FormatId::ReplayBundle) {
            keeps.set(false);
        }
        !keeps.get()
    })
}

/// Reads an already decompressed tar as a Replay Bundle.
///
/// Returns `None` if the tar is not certainly a Replay Bundle; [`super::open`] must then read the
/// archive from its beginning.
#[cfg(feature = "disk")]
pub(crate) fn open_gunzipped(tar: impl BufRead) -> Result<Option<OpenedArchive>, PackError> {
    let (snapshot, is_one) =
        BundleSnapshot::read_gunzipped_while(tar, |_, name| is_not_of_other_format(name))?;
    Ok(is_replay_bundle(&snapshot, is_one).then(|| verified_bundle(&snapshot)))
}

/// Returns true if the members read so far certainly belong to a Replay Bundle. `is_one` is true if no
/// name of another format was seen.
fn is_replay_bundle(snapshot: &BundleSnapshot, is_one: bool) -> bool {
    match (snapshot.manifest(), snapshot.fault()) {
        (Some(_), None) => is_one,
        (Some(manifest), Some(_)) => recognise_manifest(manifest) == Some(FormatId::ReplayBundle),
        (None, _) => false,
    }
}

/// Reads an archive like [`super::open`].
///
/// Once `is_decided` returns true, the archive is read as a Replay Bundle to its end and never rewound.
pub(super) fn open_unless_decided<R: Read + Seek>(
    container: Container,
    mut archive: R,
    options: &Options,
    is_decided: impl Fn(&BundleSnapshot) -> bool,
) -> Result<OpenedArchive, PackError> {
    match options.format {
        Some(FormatId::ReplayBundle) => return Ok(verified_bundle(&BundleSnapshot::read(archive)?)),
        None => {}
        Some(_) => return Ok(from_unpacked(BundleMembers::unpack(container, archive))),
    }
    let mut attempt = None;
    if container == Container::TarGz {
        let accepts =
            |snapshot: &BundleSnapshot, name: &str| is_decided(snapshot) || is_not_of_other_format(name);
        let (snapshot, is_one) = BundleSnapshot::read_while(&mut archive, accepts, &mut |_| Ok(None))?;
        if is_replay_bundle(&snapshot, is_one) {
            return Ok(verified_bundle(&snapshot));
        }
        attempt = Some((snapshot, is_one));
        archive.rewind()?;
    }
    let members = match BundleMembers::unpack(container, &mut archive) {
        Ok(members) if members.format() == Some(FormatId::ReplayBundle) => members,
        Err(broken)
            if broken.members.format() == Some(FormatId::ReplayBundle) && has_manifest(attempt.as_ref()) =>
        {
            let manifest = broken.members.document(MANIFEST_FILE).unwrap_or_default();
            if recognise_manifest(manifest) == Some(FormatId::RerBundle) {
                return Ok(OpenedArchive::Broken(broken));
            }
            broken.members
        }
        other => return Ok(from_unpacked(other)),
    };
    // The archive is a Replay Bundle after all. The reason why the first attempt did not recognise it
    // is its fault.
    let snapshot = match attempt {
        Some((_, false)) => {
            archive.rewind()?;
            BundleSnapshot::read(archive)?
        }
        Some((snapshot, true)) if snapshot.fault().is_some() => snapshot,
        Some((_, true)) => BundleSnapshot::from_fault(SnapshotFault::Folder),
        None => {
            archive.rewind()?;
            BundleSnapshot::read(archive)?
        }
    };
    let mut report = replay_bundle::verify(&snapshot);
    if snapshot.manifest().is_none() {
        report.notes.extend(lost_artifact_note(members.document(MANIFEST_FILE).unwrap_or_default()));
    }
    Ok(OpenedArchive::ReplayBundle(Box::new(report)))
}

/// Returns true if the first attempt found a manifest at the place of a Replay Bundle's.
fn has_manifest(attempt: Option<&(BundleSnapshot, bool)>) -> bool {
    attempt.is_some_and(|(snapshot, _)| snapshot.manifest().is_some())
}

/// Verifies a snapshot and wraps its report.
fn verified_bundle(snapshot: &BundleSnapshot) -> OpenedArchive {
    OpenedArchive::ReplayBundle(Box::new(replay_bundle::verify(snapshot)))
}

/// Returns true if a member name belongs to no other format.
///
/// Other formats are known by their main document, at the root or in one enclosing folder.
fn is_not_of_other_format(name: &str) -> bool {
    let inner = match name.split_once('/') {
        Some(_) if is_in_layout(name) => return true,
        Some((_, inner)) => inner,
        None => name,
    };
    let is_of_other = |row: &&reenact_formats::Format| {
        row.id != FormatId::ReplayBundle
            && row
                .folder
                .is_some_and(|folder| folder.owns_folder && folder.required_files.first() == Some(&inner))
    };
    !FORMATS.iter().any(is_of_other)
}

/// Returns a note if the manifest is that of an RER bundle whose `artifact.json` is missing.
pub(crate) fn lost_artifact_note(manifest: &[u8]) -> Option<String> {
    let is_other = recognise_manifest(manifest) == Some(FormatId::RerBundle);
    is_other.then(|| "the manifest is that of an RER bundle, whose artifact.json is missing".into())
}

/// Reader over a pipe that can seek to its beginning while it buffers.
#[cfg(feature = "disk")]
struct RewindableReader<'k, R> {
    /// The pipe.
    reader: R,
    /// True while bytes are buffered. The owner clears it when no rewind will be needed any more.
    keeps_buffer: &'k Cell<bool>,
    /// All bytes read so far, while buffering.
    buffer: Vec<u8>,
    /// Offset of the next byte to return from `buffer`.
    position: usize,
}

#[cfg(feature = "disk")]
impl<R: Read> Read for RewindableReader<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut again = self.buffer.get(self.position..).unwrap_or_default();
        if !again.is_empty() {
            let count = again.read(out)?;
            self.position += count;
            return Ok(count);
        }
        let count = self.reader.read(out)?;
        if self.keeps_buffer.get() {
            self.buffer.extend_from_slice(out.get(..count).unwrap_or_default());
            self.position = self.buffer.len();
            if self.position > MAX_PIPE_BYTES {
                return Err(pipe_too_large(MAX_PIPE_BYTES));
            }
        } else if self.position > 0 {
            (self.buffer, self.position) = (Vec::new(), 0);
        }
        Ok(count)
    }
}

#[cfg(feature = "disk")]
impl<R> Seek for RewindableReader<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if to != SeekFrom::Start(0) || !self.keeps_buffer.get() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.position = 0;
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::open;
    use super::*;

    /// An archive from a pipe gets the same report as from a file.
    #[cfg(feature = "disk")]
    #[test]
    fn pipes_and_files_agree() {
        let summary = |opened: OpenedArchive| match opened {
            OpenedArchive::ReplayBundle(report) => report.reasons,
            OpenedArchive::Members(members) => vec![members.count().to_string()],
            OpenedArchive::Broken(broken) => vec![broken.error.to_string()],
        };
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/replay_bundle");
        let mut count = 0;
        for name in ["valid", "invalid"] {
            for entry in std::fs::read_dir(format!("{folder}/{name}")).unwrap() {
                let bytes = std::fs::read(entry.unwrap().path()).unwrap();
                for format in [None, Some(FormatId::ReplayBundle), Some(FormatId::RerBundle)] {
                    let options = Options { format, ..Options::default() };
                    if Container::detect(&bytes) != Some(Container::TarGz) {
                        continue;
                    }
                    let file = open(Container::TarGz, io::Cursor::new(&bytes), &options).unwrap();
                    let pipe = open_pipe(&bytes[..], &options).unwrap();
                    assert_eq!(summary(pipe), summary(file));
                    count += 1;
                }
            }
        }
        assert!(count > 150, "{count}");
    }

    /// A reader drops its buffer when it is told to stop buffering.
    #[cfg(feature = "disk")]
    #[test]
    fn a_reader_lets_go() {
        let keeps = Cell::new(true);
        let mut reader = RewindableReader {
            reader: io::repeat(7).take(300),
            keeps_buffer: &keeps,
            buffer: Vec::new(),
            position: 0,
        };
        let mut out = [0; 100];
        assert_eq!(reader.read(&mut out).unwrap(), 100);
        reader.rewind().unwrap();
        assert_eq!((reader.read(&mut out[..60]).unwrap(), reader.read(&mut out).unwrap()), (60, 40));
        keeps.set(false);
        assert_eq!((reader.read(&mut out).unwrap(), reader.buffer.len()), (100, 0));
        assert_eq!(reader.rewind().map_err(|error| error.kind()), Err(io::ErrorKind::Unsupported));
        assert_eq!((reader.read(&mut out).unwrap(), reader.read(&mut out).unwrap()), (100, 0));
    }

    #[test]
    fn names_of_other_records() {
        for (name, is_other) in [
            ("artifact.json", true),
            ("run/model_io.json", true),
            ("files/artifact.json", false),
            ("a/b/artifact.json", false),
            ("run.json", false),
        ] {
            assert_eq!(!is_not_of_other_format(name), is_other, "{name}");
        }
    }
}
