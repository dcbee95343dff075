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
        Some(Format::ReplayBundle) => return Ok(judged(&forced(container, archive)?)),
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
        Err(broken) if broken.seen.is_replay_bundle() => {
            let manifest = broken.seen.document(MANIFEST).unwrap_or_default();
            if manifest_of(manifest) != Some(Format::ReplayBundle) {
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
        None => Snapshot::broken(Fault::Container(name(container))),
    };
    let mut report = replay_bundle::verify(&snapshot);
    if manifest_of(members.document(MANIFEST).unwrap_or_default()) == Some(Format::RerBundle) {
        report.notes.push("the manifest is that of an RER bundle, whose artifact.json is missing".into());
    }
    Ok(Opened::ReplayBundle(Box::new(report)))
}

const MANIFEST: &str = "manifest.json";

fn judged(snapshot: &Snapshot) -> Opened {
    Opened::ReplayBundle(Box::new(replay_bundle::verify(snapshot)))
}

fn unpacked(read: Result<Members, Box<BrokenArchive>>) -> Opened {
    read.map_or_else(Opened::Broken, Opened::Members)
}

fn name(container: Container) -> &'static str {
    match container {
        Container::Tar => "a tar",
        Container::TarGz => "a tar inside gzip",
        Container::Zip => "a zip",
    }
}

/// Reads an archive as a Replay Bundle, whatever it looks like.
fn forced(container: Container, archive: impl Read) -> Result<Snapshot, PackError> {
    match container {
        Container::TarGz => Snapshot::read(archive),
        other => Ok(Snapshot::broken(Fault::Container(name(other)))),
    }
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

/// Which bundle a manifest is of, by its first member that tells; it may be torn.
pub(crate) fn manifest_of(manifest: &[u8]) -> Option<Format> {
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
