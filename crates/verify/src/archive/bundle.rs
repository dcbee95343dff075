//! Archives that may be Replay Bundles.
//!
//! A Replay Bundle is read by stricter rules than the others, and judged while it is read. So an archive is taken for one until
//! a name shows that it is another record; only then is it read from its beginning by the rules of all others.

#[cfg(feature = "disk")]
use std::cell::Cell;
#[cfg(feature = "disk")]
use std::io::{self, BufRead, SeekFrom};
use std::io::{Read, Seek};

use reenact_formats::format::MANIFEST_FILE;
use reenact_formats::recognise::recognise_manifest;
use reenact_formats::replay_bundle::is_in_layout;
use reenact_formats::{FORMATS, FormatId};
#[cfg(feature = "disk")]
use reenact_json::Limits;
use reenact_pack::{Container, PackError};

use super::{Opened, unpacked};
use crate::Options;
use crate::members::Members;
use crate::replay_bundle::{self, Fault, Snapshot};

/// Reads a tar inside gzip that comes through a pipe. What went by is kept, for it may have to be read again: until the
/// manifest says that it is a Replay Bundle. All that are written say so in their first member, and need no memory.
#[cfg(feature = "disk")]
pub(crate) fn open_pipe(archive: impl Read, options: &Options) -> Result<Opened, PackError> {
    // Whoever says what it is needs to read it only once.
    let keeps = Cell::new(options.format.is_none());
    let archive = Kept { reader: archive, keeps: &keeps, kept: Vec::new(), at: 0 };
    open_while(Container::TarGz, archive, options, |snapshot| {
        if keeps.get() && snapshot.manifest().and_then(recognise_manifest) == Some(FormatId::ReplayBundle) {
            keeps.set(false);
        }
        !keeps.get()
    })
}

/// Reads a tar that another takes out of its gzip, as one of a Replay Bundle; `None` if it is not for certain that of one, and is
/// to be read from its beginning by [`super::open`].
#[cfg(feature = "disk")]
pub(crate) fn open_gunzipped(tar: impl BufRead) -> Result<Option<Opened>, PackError> {
    let (snapshot, is_one) = Snapshot::read_gunzipped_while(tar, |_, name| is_of_no_other(name))?;
    Ok(is_replay_bundle(&snapshot, is_one).then(|| judged(&snapshot)))
}

/// Whether what was read, perhaps to its end, is certainly a Replay Bundle.
fn is_replay_bundle(snapshot: &Snapshot, is_one: bool) -> bool {
    match (snapshot.manifest(), snapshot.fault()) {
        (Some(_), None) => is_one,
        (Some(manifest), Some(_)) => recognise_manifest(manifest) == Some(FormatId::ReplayBundle),
        (None, _) => false,
    }
}

/// As [`super::open`]. There is no way back to the archive's beginning once `is_decided` has said so.
pub(super) fn open_while<R: Read + Seek>(
    container: Container,
    mut archive: R,
    options: &Options,
    is_decided: impl Fn(&Snapshot) -> bool,
) -> Result<Opened, PackError> {
    match options.format {
        Some(FormatId::ReplayBundle) => return Ok(judged(&Snapshot::read(archive)?)),
        None => {}
        Some(_) => return Ok(unpacked(Members::unpack(container, archive))),
    }
    let mut attempt = None;
    if container == Container::TarGz {
        let go_on = |snapshot: &Snapshot, name: &str| is_decided(snapshot) || is_of_no_other(name);
        let (snapshot, is_one) = Snapshot::read_while(&mut archive, go_on, &mut |_| Ok(None))?;
        if is_replay_bundle(&snapshot, is_one) {
            return Ok(judged(&snapshot));
        }
        attempt = Some((snapshot, is_one));
        archive.rewind()?;
    }
    let members = match Members::unpack(container, &mut archive) {
        Ok(members) if members.format() == Some(FormatId::ReplayBundle) => members,
        Err(broken)
            if broken.seen.format() == Some(FormatId::ReplayBundle) && has_manifest(attempt.as_ref()) =>
        {
            let manifest = broken.seen.document(MANIFEST_FILE).unwrap_or_default();
            if recognise_manifest(manifest) == Some(FormatId::RerBundle) {
                return Ok(Opened::Broken(broken));
            }
            broken.seen
        }
        other => return Ok(unpacked(other)),
    };
    // It is one after all. Why it was not seen as one at first is what is wrong with it.
    let snapshot = match attempt {
        Some((_, false)) => {
            archive.rewind()?;
            Snapshot::read(archive)?
        }
        Some((snapshot, true)) if snapshot.fault().is_some() => snapshot,
        Some((_, true)) => Snapshot::broken(Fault::Folder),
        None => {
            archive.rewind()?;
            Snapshot::read(archive)?
        }
    };
    let mut report = replay_bundle::verify(&snapshot);
    if snapshot.manifest().is_none() {
        report.notes.extend(note_on(members.document(MANIFEST_FILE).unwrap_or_default()));
    }
    Ok(Opened::ReplayBundle(Box::new(report)))
}

/// Whether a manifest was seen where that of a Replay Bundle is.
fn has_manifest(attempt: Option<&(Snapshot, bool)>) -> bool {
    attempt.is_some_and(|(snapshot, _)| snapshot.manifest().is_some())
}

fn judged(snapshot: &Snapshot) -> Opened {
    Opened::ReplayBundle(Box::new(replay_bundle::verify(snapshot)))
}

/// Whether a name belongs to no other record: these are the documents by which the others are known, at the root or in
/// one folder around everything.
fn is_of_no_other(name: &str) -> bool {
    let inner = match name.split_once('/') {
        Some(_) if is_in_layout(name) => return true,
        Some((_, inner)) => inner,
        None => name,
    };
    let is_of_other = |row: &&reenact_formats::Format| {
        row.id != FormatId::ReplayBundle
            && row.folder.is_some_and(|folder| folder.is_whole && folder.needs.first() == Some(&inner))
    };
    !FORMATS.iter().any(is_of_other)
}

/// What the owner of a bundle that lost its artifact should hear.
pub(crate) fn note_on(manifest: &[u8]) -> Option<String> {
    let is_other = recognise_manifest(manifest) == Some(FormatId::RerBundle);
    is_other.then(|| "the manifest is that of an RER bundle, whose artifact.json is missing".into())
}

/// A reader that can go back to its beginning as long as it keeps what it gave.
#[cfg(feature = "disk")]
struct Kept<'k, R> {
    reader: R,
    keeps: &'k Cell<bool>,
    kept: Vec<u8>,
    at: usize,
}

#[cfg(feature = "disk")]
impl<R: Read> Read for Kept<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut again = self.kept.get(self.at..).unwrap_or_default();
        if !again.is_empty() {
            let count = again.read(out)?;
            self.at += count;
            return Ok(count);
        }
        let count = self.reader.read(out)?;
        if self.keeps.get() {
            self.kept.extend_from_slice(out.get(..count).unwrap_or_default());
            self.at = self.kept.len();
            if self.at > Limits::LARGEST {
                let text = format!("it is larger than {} bytes", Limits::LARGEST);
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
            }
        } else if self.at > 0 {
            (self.kept, self.at) = (Vec::new(), 0);
        }
        Ok(count)
    }
}

#[cfg(feature = "disk")]
impl<R> Seek for Kept<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if to != SeekFrom::Start(0) || !self.keeps.get() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.at = 0;
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::open;
    use super::*;

    /// Whatever comes through a pipe is judged as it is from a file.
    #[cfg(feature = "disk")]
    #[test]
    fn pipes_and_files_agree() {
        let told = |opened: Opened| match opened {
            Opened::ReplayBundle(report) => report.reasons,
            Opened::Members(members) => vec![members.count().to_string()],
            Opened::Broken(broken) => vec![broken.error.to_string()],
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
                    assert_eq!(told(pipe), told(file));
                    count += 1;
                }
            }
        }
        assert!(count > 150, "{count}");
    }

    /// A bundle that says what it is in its first member is not kept, however long it is.
    #[cfg(feature = "disk")]
    #[test]
    fn a_reader_lets_go() {
        let keeps = Cell::new(true);
        let mut kept = Kept { reader: io::repeat(7).take(300), keeps: &keeps, kept: Vec::new(), at: 0 };
        let mut out = [0; 100];
        assert_eq!(kept.read(&mut out).unwrap(), 100);
        kept.rewind().unwrap();
        assert_eq!((kept.read(&mut out[..60]).unwrap(), kept.read(&mut out).unwrap()), (60, 40));
        keeps.set(false);
        assert_eq!((kept.read(&mut out).unwrap(), kept.kept.len()), (100, 0));
        assert_eq!(kept.rewind().map_err(|error| error.kind()), Err(io::ErrorKind::Unsupported));
        assert_eq!((kept.read(&mut out).unwrap(), kept.read(&mut out).unwrap()), (100, 0));
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
            assert_eq!(!is_of_no_other(name), is_other, "{name}");
        }
    }
}
