//! Which record an archive is, read once where that is possible.
//!
//! A Replay Bundle is read by stricter rules than the others, and judged while it is read. So an archive is taken for one until
//! a name shows that it is another record; only then is it read from its beginning by the rules of all others.

use std::io::{Read, Seek};

use reenact_json::{Kind, Limits, Scanner, SyntaxError};
use reenact_pack::{Container, PackError};

use crate::members::{BrokenArchive, Members};
use crate::replay_bundle::{self, Fault, Snapshot};
use crate::{Format, Options, Report};

/// What an archive turned out to be.
pub(crate) enum Opened {
    /// A Replay Bundle, judged while it was read.
    ReplayBundle(Box<Report>),
    /// Anything else.
    Members(Members),
    /// Anything else, and not readable to its end.
    Broken(Box<BrokenArchive>),
}

/// Reads an archive. The error is a failure of the reader itself.
pub(crate) fn open<R: Read + Seek>(
    container: Container,
    mut archive: R,
    options: &Options,
) -> Result<Opened, PackError> {
    match options.format {
        Some(Format::ReplayBundle) => return Ok(judged(&Snapshot::read(archive)?)),
        None => {}
        Some(_) => return Ok(unpacked(Members::unpack(container, archive))),
    }
    let mut attempt = None;
    if container == Container::TarGz {
        let (snapshot, is_one) = Snapshot::read_while(&mut archive, is_of_no_other, &mut |_| Ok(None))?;
        let is_sure = match (snapshot.manifest(), snapshot.fault()) {
            (Some(_), None) => is_one,
            (Some(manifest), Some(_)) => manifest_of(manifest) == Some(Format::ReplayBundle),
            (None, _) => false,
        };
        if is_sure {
            return Ok(judged(&snapshot));
        }
        attempt = Some((snapshot, is_one));
        archive.rewind()?;
    }
    let members = match Members::unpack(container, &mut archive) {
        Ok(members) if members.is_replay_bundle() => members,
        Err(broken) if broken.seen.is_replay_bundle() && has_manifest(attempt.as_ref()) => {
            let manifest = broken.seen.document(MANIFEST).unwrap_or_default();
            if manifest_of(manifest) == Some(Format::RerBundle) {
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
        report.notes.extend(note_on(members.document(MANIFEST).unwrap_or_default()));
    }
    Ok(Opened::ReplayBundle(Box::new(report)))
}

/// Whether a manifest was seen where that of a Replay Bundle is.
fn has_manifest(attempt: Option<&(Snapshot, bool)>) -> bool {
    attempt.is_some_and(|(snapshot, _)| snapshot.manifest().is_some())
}

const MANIFEST: &str = "manifest.json";

fn judged(snapshot: &Snapshot) -> Opened {
    Opened::ReplayBundle(Box::new(replay_bundle::verify(snapshot)))
}

fn unpacked(read: Result<Members, Box<BrokenArchive>>) -> Opened {
    read.map_or_else(Opened::Broken, Opened::Members)
}

/// Whether a name belongs to no other record: these are the documents by which the others are known, at the root or in
/// one folder around everything.
fn is_of_no_other(name: &str) -> bool {
    let inner = match name.split_once('/') {
        Some((folder, _)) if matches!(folder, "files" | "outputs" | "cassettes") => return true,
        Some((_, inner)) => inner,
        None => name,
    };
    !matches!(inner, "artifact.json" | "model_io.json")
}

/// What the owner of a bundle that lost its artifact should hear.
pub(crate) fn note_on(manifest: &[u8]) -> Option<String> {
    let is_other = manifest_of(manifest) == Some(Format::RerBundle);
    is_other.then(|| "the manifest is that of an RER bundle, whose artifact.json is missing".into())
}

/// Which bundle a manifest is of, by its first member that tells; it may be torn.
fn manifest_of(manifest: &[u8]) -> Option<Format> {
    fn look(manifest: &[u8]) -> Result<Option<Format>, SyntaxError> {
        let mut scanner = Scanner::new(manifest, &Limits::default())?;
        if scanner.kind()? != Kind::Object {
            return Ok(None);
        }
        let mut root = scanner.enter_object()?;
        while let Some(name) = scanner.next_name(&mut root)? {
            match name.string().as_deref() {
                Some("artifact_hash" | "bundle_hash" | "runtime_key_hash" | "total_event_count") => {
                    return Ok(Some(Format::RerBundle));
                }
                Some("schema_version" | "assay_version" | "replay_coverage" | "trace_digest") => {
                    return Ok(Some(Format::ReplayBundle));
                }
                _ => scanner.value()?,
            };
        }
        Ok(None)
    }
    look(manifest).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_by_their_members() {
        for (text, format) in [
            (r#"{"schema_version":1,"ass"#, Some(Format::ReplayBundle)),
            (r#"{"x":{},"trace_digest":"#, Some(Format::ReplayBundle)),
            (r#"{"artifact_hash":"#, Some(Format::RerBundle)),
            (r#"{"blobs":[],"bundle_hash":""}"#, Some(Format::RerBundle)),
            (r#"{"blobs":["#, None),
            ("[]", None),
            ("", None),
        ] {
            assert_eq!(manifest_of(text.as_bytes()), format, "{text}");
        }
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
