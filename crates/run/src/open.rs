//! Bytes to a run, together with its verification report.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use reenact_verify::replay_bundle::{self as bundle, Snapshot};
use reenact_verify::replay_jsonl::{self, Beside};
use reenact_verify::{Format, Keys, Members, Options, Report, Unrecognised, detect, safe, safe_members};

use crate::dialect::{model_io, replay_bundle, replay_jsonl as lines, rer, rpk};
use crate::index::Span;
use crate::run::{Parts, Run};

/// What was opened: the run, if the bytes are one, and the verdict on them.
///
/// A run whose report does not pass is still given, since people must be able to look at what fails. Whether to go on with
/// it is up to whoever asked.
#[derive(Debug)]
pub struct Opened {
    /// The run.
    pub run: Result<Run, NotARun>,
    /// The verdict.
    pub report: Report,
}

/// Why bytes cannot be opened as a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotARun {
    /// Nothing that we know.
    #[error("this is no record of a run: {0}")]
    Unrecognised(#[from] Unrecognised),
    /// A record that cannot be read to its end. Holds the place and the fault.
    #[error("the record cannot be read: {0}")]
    Unreadable(String),
    /// A record without a list of events.
    #[error("the record has no list of events")]
    NoEvents,
}

/// Files of a bundle, each with its name there.
pub type Files = Vec<(String, Vec<u8>)>;

/// Opens a run and judges it, all on this thread. The bytes are a document, or an archive of one of the bundles.
pub fn open(bytes: Vec<u8>, keys: &Keys, options: &Options) -> Opened {
    open_with(bytes, options, |bytes| safe(bytes, keys, options))
}

/// Opens a run; `judge` gives the verdict on its bytes, in whatever way it likes.
pub fn open_with(bytes: Vec<u8>, options: &Options, judge: impl FnOnce(&[u8]) -> Report) -> Opened {
    let report = judge(&bytes);
    let run = read(bytes, options, &report).map(|(parts, bytes)| Run::new(parts, bytes, &report));
    Opened { run, report }
}

/// Opens what a folder holds, and judges it: an RER bundle, a Replay Bundle, a Model IO pack, or a REPLAY.jsonl with its
/// RECEIPT.json.
pub fn open_files(files: Files, keys: &Keys, options: &Options) -> Opened {
    let has = |name: &str| files.iter().any(|(known, _)| known == name);
    let replay = !has(MANIFEST) && !has(SESSION) && has(REPLAY);
    let report = if replay {
        let file =
            |name: &str| files.iter().find(|(known, _)| known == name).map(|(_, bytes)| bytes.as_slice());
        let beside = Beside { receipt: file(RECEIPT), ..Beside::default() };
        replay_jsonl::verify_bytes(file(REPLAY).unwrap_or_default(), &beside, options)
    } else if has(MANIFEST) && !has(ARTIFACT) {
        bundle::verify(&snapshot(&files))
    } else {
        safe_members(&members(&files), keys, options)
    };
    let run = if replay {
        document(files, REPLAY).and_then(|(bytes, files)| with_files(lines::read, bytes, files, options))
    } else if has(ARTIFACT) {
        document(files, ARTIFACT).and_then(|(bytes, files)| with_files(rer::read, bytes, files, options))
    } else if has(MANIFEST) {
        replay_bundle::read(files, None, &options.limits)
    } else if has(SESSION) {
        document(files, SESSION).and_then(|(bytes, files)| with_files(model_io::read, bytes, files, options))
    } else {
        Err(Unrecognised::OtherMembers.into())
    };
    let run = run.map(|(parts, bytes)| Run::new(parts, bytes, &report));
    Opened { run, report }
}

const MANIFEST: &str = "manifest.json";
const ARTIFACT: &str = "artifact.json";
const SESSION: &str = "model_io.json";
const RUN: &str = "run.json";
const REPLAY: &str = "REPLAY.jsonl";
const RECEIPT: &str = "RECEIPT.json";

/// What a run keeps, and the bytes that it lies in.
type Read = Result<(Parts, Vec<u8>), NotARun>;

/// Reads bytes that were judged.
fn read(bytes: Vec<u8>, options: &Options, report: &Report) -> Read {
    let limits = &options.limits;
    if report.format.starts_with("replay-bundle/") {
        return replay_bundle::read(unpacked(&bytes)?, None, limits);
    }
    let mut blobs = Kept::default();
    if let Some(members) = Members::in_memory(&bytes, &mut |name| Ok(blobs.take(name))) {
        let members = members.map_err(|broken| NotARun::Unreadable(broken.error.to_string()))?;
        drop(bytes);
        return match (members.document(ARTIFACT), members.document(SESSION)) {
            (Some(artifact), _) => with_files(rer::read, artifact.to_vec(), blobs.finish(), options),
            (None, Some(session)) => {
                let run = members.document(RUN).map(|run| (RUN.to_owned(), run.to_vec()));
                with_files(model_io::read, session.to_vec(), run.into_iter().collect(), options)
            }
            (None, None) => Err(Unrecognised::OtherMembers.into()),
        };
    }
    let format = options.format.map_or_else(|| detect::detect(&bytes, limits), Ok)?;
    let parts = match format {
        Format::Rer => rer::read(&bytes, limits)?,
        Format::Rpk => rpk::read(&bytes, limits)?,
        Format::ModelIo => model_io::read(&bytes, limits)?,
        Format::ReplayJsonl => lines::read(&bytes, limits)?,
        // Bundles are archives, and this is none.
        _ => return Err(Unrecognised::OtherMembers.into()),
    };
    Ok((parts, bytes))
}

/// Takes the document of that name out of the files.
fn document(mut files: Files, name: &str) -> Result<(Vec<u8>, Files), NotARun> {
    let at = files.iter().position(|(known, _)| known == name).ok_or(NotARun::NoEvents)?;
    let (_, bytes) = files.swap_remove(at);
    Ok((bytes, files))
}

/// Reads a document, and lays the files beside it behind its bytes.
fn with_files(
    read: impl FnOnce(&[u8], &reenact_json::Limits) -> Result<Parts, NotARun>,
    mut bytes: Vec<u8>,
    mut files: Files,
    options: &Options,
) -> Read {
    let mut parts = read(&bytes, &options.limits)?;
    files.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (name, content) in files {
        parts.files.push((name, Span::at(bytes.len(), content.len())));
        bytes.extend_from_slice(&content);
    }
    Ok((parts, bytes))
}

/// The files of a Replay Bundle's archive.
fn unpacked(bytes: &[u8]) -> Result<Files, NotARun> {
    let mut kept = Kept { all: true, ..Kept::default() };
    let snapshot = Snapshot::read_copying(bytes, &mut |name| Ok(kept.take(name)));
    let snapshot = snapshot.map_err(|error| NotARun::Unreadable(error.to_string()))?;
    match snapshot.fault() {
        Some(fault) => Err(NotARun::Unreadable(fault.to_string())),
        None => Ok(kept.finish()),
    }
}

/// The snapshot of a folder's files.
fn snapshot(files: &Files) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (name, content) in files {
        // Reading from memory does not fail.
        if !snapshot.take_file(name, &mut content.as_slice()).unwrap_or(false) {
            break;
        }
    }
    snapshot
}

/// The members of a folder's files. A document that is over its limit is left out, and so fails its checks.
fn members(files: &Files) -> Members {
    let mut members = Members::default();
    for (name, content) in files {
        let _ = members.take(name, &mut content.as_slice());
    }
    members
}

/// Copies of members, as they are read.
#[derive(Default)]
struct Kept {
    files: Vec<(String, Copy)>,
    /// Not only blobs.
    all: bool,
}

/// One of them, which its writer shares.
#[derive(Clone, Default)]
struct Copy(Rc<RefCell<Vec<u8>>>);

impl Write for Copy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Kept {
    fn take(&mut self, name: &str) -> Option<Box<dyn Write>> {
        // A folder around everything is no part of the names.
        let name = match (self.all, name.find("blobs/")) {
            (true, _) => name,
            (false, Some(at)) if at == 0 || name.as_bytes().get(at - 1) == Some(&b'/') => &name[at..],
            (false, _) => return None,
        };
        let copy = Copy::default();
        self.files.push((name.to_owned(), copy.clone()));
        Some(Box::new(copy))
    }

    fn finish(self) -> Files {
        self.files.into_iter().map(|(name, copy)| (name, copy.0.take())).collect()
    }
}
