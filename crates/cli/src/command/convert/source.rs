//! The input of a conversion: a file, a folder, an archive, or standard input.
//!
//! The content decides about the format. Some formats are known to conversion alone and cannot be verified.
//! Start reading at [`open`].

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use reenact_formats::format::RecognitionRule;
use reenact_formats::model_io::pack;
use reenact_formats::rer::{JWK_FILE, KEY_FILE};
use reenact_formats::{recognise, recognise_import};
use reenact_json::{Digest, Limits, Shown};
use reenact_run::{NamedFiles, OpenedRecord, Run};
use reenact_verify::disk::{self, FolderScope};
use reenact_verify::{BundleMembers, FormatId, Keys, Options, Report};

use crate::output::CommandError;
use crate::runs;

/// The record to convert.
pub(in crate::command) enum SourceRecord {
    /// A record that can be verified, with the report on it.
    Run(Box<Run>, Box<Report>),
    /// A record of a format that only conversion knows.
    Other(FormatId, Vec<u8>),
}

/// An opened input.
pub(in crate::command) struct OpenedSource {
    /// Name for messages; safe to print.
    pub(in crate::command) name: String,
    pub(in crate::command) record: SourceRecord,
    /// SHA-256 of the file; of a folder or a pack, that of its main file.
    pub(in crate::command) digest: Digest,
    /// Bytes of that file, if `--keep-source` asks for them.
    pub(in crate::command) source_bytes: Option<Vec<u8>>,
}

/// Opens the input. With `keep`, the bytes of its main file are returned too.
///
/// # Errors
///
/// If it cannot be read, or is of no known format.
pub(super) fn open(given: &OsStr, keys: &Keys, keep: bool) -> Result<OpenedSource, CommandError> {
    if given == "-" {
        let bytes = disk::read_standard_input();
        let bytes = bytes.map_err(|error| CommandError::impossible(format!("{error} ({})", error.code)))?;
        return open_bytes("standard input".into(), bytes, keys, keep);
    }
    let path = runs::locate(given)?;
    let name = Shown::whole(&path.to_string_lossy()).to_string();
    if path.is_dir() {
        let files = disk::record_files(&path, FolderScope::Record);
        let files = files.map_err(|fault| CommandError::impossible(fault.to_string()))?;
        return open_files(name, files, keys, keep);
    }
    open_bytes(name, read_file(&path)?, keys, keep)
}

/// Reads a file whole.
fn read_file(path: &Path) -> Result<Vec<u8>, CommandError> {
    disk::read(path).map_err(|error| CommandError::impossible(format!("{error} ({})", error.code)))
}

/// Opens a file, by its content.
///
/// Formats are tried in this order: those that only conversion knows, a Model IO pack, then everything that
/// can be verified.
fn open_bytes(name: String, bytes: Vec<u8>, keys: &Keys, keep: bool) -> Result<OpenedSource, CommandError> {
    let digest = Digest::of(&bytes);
    let known = recognise(&bytes, &Limits::default());
    // Formats that only conversion knows are tried first, because a recording has members of a Model IO
    // session, and the lines of both dialects look alike. RER and RPK cannot be confused with them.
    if !matches!(known, Ok(FormatId::Rer | FormatId::Rpk))
        && let Some(origin) = recognise_import(&bytes, &Limits::default())
    {
        let source_bytes = keep.then(|| bytes.clone());
        return Ok(OpenedSource { name, record: SourceRecord::Other(origin, bytes), digest, source_bytes });
    }
    if let Some(files) = model_io_pack_files(&bytes) {
        // A pack is a folder in an archive: its digest is that of its main file, the only file whose bytes are kept.
        return open_files(name, files, keys, keep);
    }
    let source_bytes = keep.then(|| bytes.clone());
    into_source(name, reenact_run::open(bytes, keys, &Options::default()), digest, source_bytes)
}

/// Opens the files of a folder. A bundle keeps the bytes of its files anyway, so that `keep` changes nothing there.
fn open_files(
    name: String,
    files: NamedFiles,
    keys: &Keys,
    keep: bool,
) -> Result<OpenedSource, CommandError> {
    let file = |name: &str| files.iter().find(|(known, _)| known == name).map(|(_, bytes)| bytes);
    let format = FormatId::of_main_file(|name| file(name).is_some());
    let main = format.and_then(|format| Some((format, file(format.row().main_file)?)));
    let (digest, source_bytes) = match main {
        Some((format, bytes)) => {
            let is_bundle = matches!(format.row().recognition, RecognitionRule::Files);
            (Digest::of(bytes), (keep && !is_bundle).then(|| bytes.clone()))
        }
        None => (Digest::of(b""), None),
    };
    into_source(name, reenact_run::open_files(files, keys, &Options::default()), digest, source_bytes)
}

/// Converts an opened run into a source, or its error into a message.
fn into_source(
    name: String,
    opened: OpenedRecord,
    digest: Digest,
    source_bytes: Option<Vec<u8>>,
) -> Result<OpenedSource, CommandError> {
    let OpenedRecord { run, report } = opened;
    match run {
        Ok(run) => Ok(OpenedSource {
            name,
            record: SourceRecord::Run(Box::new(run), Box::new(report)),
            digest,
            source_bytes,
        }),
        Err(why) => Err(CommandError::impossible(format!("{name}: {}", Shown::whole(&why.to_string())))),
    }
}

/// Returns the files of an archive that is a Model IO pack; `None` for anything else.
///
/// The archive is read once, in memory. Members that the verifier does not need are copied on the way, so
/// that the conversion keeps them.
fn model_io_pack_files(archive: &[u8]) -> Option<NamedFiles> {
    let mut others: Vec<(String, SharedBuffer)> = Vec::new();
    let members = BundleMembers::unpack_bytes(archive, &mut |name| {
        let shared = SharedBuffer::default();
        others.push((name.to_owned(), shared.clone()));
        Ok(Some(Box::new(shared)))
    });
    let members = members?.ok().filter(|members| members.format() == Some(FormatId::ModelIo))?;
    let document = |name: &str| Some((name.to_owned(), members.document(name)?.to_vec()));
    // A pack has no use for keys, so that files with these names are like others.
    let mut files: NamedFiles =
        [pack::SESSION_FILE, pack::RUN_FILE, KEY_FILE, JWK_FILE].into_iter().filter_map(document).collect();
    // One folder around all files is removed from the names; any other folder is part of them.
    let inside: HashSet<&str> = members.files().map(|(name, _)| name).collect();
    let is_wrapped = !others.iter().all(|(name, _)| inside.contains(name.as_str()));
    files.extend(others.iter().map(|(name, bytes)| {
        let inner = name.split_once('/').filter(|_| is_wrapped).map(|(_, inner)| inner);
        (inner.unwrap_or(name).to_owned(), bytes.0.take())
    }));
    files.sort();
    Some(files)
}

/// Buffer that the archive reader writes to and that is read here afterwards.
#[derive(Clone, Default)]
struct SharedBuffer(Rc<RefCell<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
