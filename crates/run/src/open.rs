//! Opening of records: bytes to a run, together with its verification report.
//!
//! Verification and reading are independent passes over the same bytes, so that a record that fails can still
//! be looked at. Start reading at [`open()`].

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use reenact_formats::format::RecognitionRule;
use reenact_formats::replay_jsonl::{RECEIPT, REPLAY};
use reenact_formats::{FORMATS, recognise, recognise_import};
use reenact_verify::replay_bundle::{self as bundle, BundleSnapshot};
use reenact_verify::replay_jsonl::{self, ReplayJsonlOptions};
use reenact_verify::{BundleMembers, FormatId, Keys, Options, Report, Unrecognised, verify, verify_members};

use crate::event_index::ByteSpan;
use crate::reader::{self, replay_bundle};
use crate::run::{Run, RunParts};

/// Run that was opened, and the verification report on its bytes.
///
/// A run whose report does not pass is still returned, since people must be able to look at what fails. The
/// caller decides whether to go on with it.
#[derive(Debug)]
pub struct OpenedRecord {
    /// The run, or why the bytes are none.
    pub run: Result<Run, NotARun>,
    /// Verification report.
    pub report: Report,
}

/// Reason why bytes cannot be opened as a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotARun {
    /// The bytes are of no known format.
    #[error("this is no record of a run: {0}")]
    Unrecognised(#[from] Unrecognised),
    /// The record is malformed. Holds the position and the fault, safe to print.
    #[error("the record cannot be read: {0}")]
    Unreadable(String),
    /// The record has no list of events.
    #[error("the record has no list of events")]
    NoEvents,
}

/// Files of a bundle, each with its name in the bundle.
pub type NamedFiles = Vec<(String, Vec<u8>)>;

/// Opens and verifies a run, all on this thread. The bytes are a document, or the archive of a bundle.
///
/// The report is always there; [`OpenedRecord::run`] is an error if the bytes are no run.
pub fn open(bytes: Vec<u8>, keys: &Keys, options: &Options) -> OpenedRecord {
    open_with(bytes, options, |bytes| verify(bytes, keys, options))
}

/// Opens a run, and calls `verify` for the report on its bytes: for callers that verify on many threads, or
/// with other checks.
pub fn open_with(bytes: Vec<u8>, options: &Options, verify: impl FnOnce(&[u8]) -> Report) -> OpenedRecord {
    let report = verify(&bytes);
    let run = read_record(bytes, options, &report).map(|(parts, bytes)| Run::new(parts, bytes, &report));
    OpenedRecord { run, report }
}

/// Opens and verifies the files of a folder: an RER bundle, a Replay Bundle, a Model IO pack, or a REPLAY.jsonl
/// with its RECEIPT.json. The main file decides which.
pub fn open_files(files: NamedFiles, keys: &Keys, options: &Options) -> OpenedRecord {
    let file = |name: &str| files.iter().find(|(known, _)| known == name).map(|(_, bytes)| bytes.as_slice());
    let format = FormatId::of_main_file(|name| file(name).is_some());
    let report = match format {
        Some(FormatId::ReplayJsonl) => {
            let beside = ReplayJsonlOptions { receipt: file(RECEIPT), ..ReplayJsonlOptions::default() };
            replay_jsonl::verify_bytes(file(REPLAY).unwrap_or_default(), &beside, options)
        }
        Some(FormatId::ReplayBundle) => bundle::verify(&snapshot(&files)),
        _ => verify_members(&members(&files), keys, options),
    };
    let run = match format {
        Some(FormatId::ReplayBundle) => replay_bundle::read(files, None, &options.limits),
        Some(format) => take_document(files, format.row().main_file)
            .and_then(|(bytes, files)| read_with_files(format, bytes, files, options)),
        None => Err(Unrecognised::OtherMembers.into()),
    };
    let run = run.map(|(parts, bytes)| Run::new(parts, bytes, &report));
    OpenedRecord { run, report }
}

/// Opens and verifies an RER artifact by itself, with files that its bodies lie in: those of the bundle that it was taken
/// from, each by its name there.
pub fn open_artifact(artifact: Vec<u8>, files: NamedFiles, keys: &Keys, options: &Options) -> OpenedRecord {
    let report = verify(&artifact, keys, options);
    let run = read_with_files(FormatId::Rer, artifact, files, options);
    let run = run.map(|(parts, bytes)| Run::new(parts, bytes, &report));
    OpenedRecord { run, report }
}

/// Parts of a run, and the bytes that they point into.
type RunPartsResult = Result<(RunParts, Vec<u8>), NotARun>;

/// Reads bytes of any format: a Replay Bundle, another archive, or a document. Of an archive, only the
/// documents and the blobs of its format are kept; the archive's own bytes are dropped first, to save memory.
fn read_record(bytes: Vec<u8>, options: &Options, report: &Report) -> RunPartsResult {
    let limits = &options.limits;
    if report.format_id() == Some(FormatId::ReplayBundle) {
        return replay_bundle::read(unpack_replay_bundle(&bytes)?, None, limits);
    }
    let mut blobs = BundleMemberCopies::default();
    if let Some(members) = BundleMembers::unpack_bytes(&bytes, &mut |name| Ok(blobs.writer_for(name))) {
        let members = members.map_err(|broken| NotARun::Unreadable(broken.error.to_string()))?;
        drop(bytes);
        let found = FORMATS
            .iter()
            .filter(|row| row.id != FormatId::ReplayBundle)
            .find_map(|row| Some((row.id, row.folder?, members.document(row.main_file)?.to_vec())));
        let Some((format, folder, main)) = found else { return Err(Unrecognised::OtherMembers.into()) };
        let beside = folder.event_files.iter().filter(|name| **name != format.row().main_file);
        let beside = beside.filter_map(|name| Some(((*name).to_owned(), members.document(name)?.to_vec())));
        let blobs = if format == FormatId::RerBundle { blobs.finish() } else { NamedFiles::new() };
        return read_with_files(format, main, beside.chain(blobs).collect(), options);
    }
    if let Some(parts) = read_without_proof(&bytes, options, report) {
        return Ok((parts?, bytes));
    }
    let format = options.format.map_or_else(|| recognise(&bytes, limits), Ok)?;
    if matches!(format.row().recognition, RecognitionRule::Files) {
        // The format is a bundle, which is an archive; these bytes are none.
        return Err(Unrecognised::OtherMembers.into());
    }
    Ok((reader::reader_of(format).read(&bytes, limits)?, bytes))
}

/// Formats that carry no proof, and whose documents the reader of their closest format reads as they are.
const READ_WITHOUT_PROOF: [FormatId; 1] = [FormatId::RecordingSession];

/// Reads a document that no verifier judges, but that holds a run all the same; `None` for all others.
fn read_without_proof(bytes: &[u8], options: &Options, report: &Report) -> Option<Result<RunParts, NotARun>> {
    if options.format.is_some() || report.format_id().is_some() {
        return None;
    }
    let format = recognise_import(bytes, &options.limits).filter(|id| READ_WITHOUT_PROOF.contains(id))?;
    let parts = reader::reader_of(format).read(bytes, &options.limits);
    Some(parts.map(|parts| RunParts { payload_format: format, ..parts }))
}

/// Takes the document of a name out of the files; returns it with the other files.
fn take_document(mut files: NamedFiles, name: &str) -> Result<(Vec<u8>, NamedFiles), NotARun> {
    let at = files.iter().position(|(known, _)| known == name).ok_or(NotARun::NoEvents)?;
    let (_, bytes) = files.swap_remove(at);
    Ok((bytes, files))
}

/// Reads a document, and appends the other files to its bytes, sorted by name.
fn read_with_files(
    format: FormatId,
    mut bytes: Vec<u8>,
    mut files: NamedFiles,
    options: &Options,
) -> RunPartsResult {
    let mut parts = reader::reader_of(format).read(&bytes, &options.limits)?;
    files.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (name, content) in files {
        parts.files.push((name, ByteSpan::at(bytes.len(), content.len())));
        bytes.extend_from_slice(&content);
    }
    Ok((parts, bytes))
}

/// Unpacks the archive of a Replay Bundle.
fn unpack_replay_bundle(bytes: &[u8]) -> Result<NamedFiles, NotARun> {
    let mut copies = BundleMemberCopies { keeps_all: true, ..BundleMemberCopies::default() };
    let snapshot = BundleSnapshot::read_copying(bytes, &mut |name| Ok(copies.writer_for(name)));
    let snapshot = snapshot.map_err(|error| NotARun::Unreadable(error.to_string()))?;
    match snapshot.fault() {
        Some(fault) => Err(NotARun::Unreadable(fault.to_string())),
        None => Ok(copies.finish()),
    }
}

/// Returns a snapshot of files in memory, for verification.
fn snapshot(files: &NamedFiles) -> BundleSnapshot {
    let mut snapshot = BundleSnapshot::default();
    for (name, content) in files {
        // Reading from memory does not fail. The snapshot stops at a fault, which its report names.
        if !snapshot.add_file(name, &mut content.as_slice()).unwrap_or(false) {
            break;
        }
    }
    snapshot
}

/// Returns the members of a bundle for verification. A document that is over its limit is left out, and so
/// fails its checks.
fn members(files: &NamedFiles) -> BundleMembers {
    let mut members = BundleMembers::default();
    for (name, content) in files {
        let _ = members.add(name, &mut content.as_slice());
    }
    members
}

/// Copies of the members of an archive, made while verification reads the archive.
#[derive(Default)]
struct BundleMemberCopies {
    files: Vec<(String, SharedMemberBuffer)>,
    /// True to copy every member, false to copy only those in `blobs/`.
    keeps_all: bool,
}

/// Copy of one member, shared with the writer that fills it.
#[derive(Clone, Default)]
struct SharedMemberBuffer(Rc<RefCell<Vec<u8>>>);

impl Write for SharedMemberBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BundleMemberCopies {
    /// Returns the writer for a member that is to be copied.
    fn writer_for(&mut self, name: &str) -> Option<Box<dyn Write>> {
        // An archive may have one folder around everything, which is no part of the names.
        let name = match (self.keeps_all, name.find("blobs/")) {
            (true, _) => name,
            (false, Some(at)) if at == 0 || name.as_bytes().get(at - 1) == Some(&b'/') => &name[at..],
            (false, _) => return None,
        };
        let copy = SharedMemberBuffer::default();
        self.files.push((name.to_owned(), copy.clone()));
        Some(Box::new(copy))
    }

    /// Returns the copies, when all writers are done.
    fn finish(self) -> NamedFiles {
        self.files.into_iter().map(|(name, copy)| (name, copy.0.take())).collect()
    }
}
