//! What is to be converted: a file, a folder, or standard input.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use reenact_formats::format::Signs;
use reenact_formats::model_io::pack;
use reenact_formats::rer::{JWK_FILE, KEY_FILE};
use reenact_formats::{recognise, recognise_import};
use reenact_json::{Digest, Limits, Shown};
use reenact_run::{Files, Opened, Run};
use reenact_verify::disk::{self, FolderScope};
use reenact_verify::{FormatId, Keys, Members, Options, Report};

use crate::output::Ending;
use crate::runs;

/// What was found.
pub(super) enum Record {
    /// A record that can be judged, and the verdict.
    Run(Box<Run>, Box<Report>),
    /// One that only conversion knows.
    Other(FormatId, Vec<u8>),
}

/// A record that was opened.
pub(super) struct Opening {
    /// What messages call it; safe to print.
    pub(super) name: String,
    pub(super) record: Record,
    /// SHA-256 of the file; of a folder or a pack, of its main file.
    pub(super) digest: Digest,
    /// The bytes of that file.
    pub(super) kept: Option<Vec<u8>>,
}

/// Opens what is meant; `keep` says whether the file's own bytes are wanted too.
pub(super) fn open(given: &OsStr, keys: &Keys, keep: bool) -> Result<Opening, Ending> {
    if given == "-" {
        let bytes = disk::read_standard_input();
        let bytes = bytes.map_err(|error| Ending::impossible(format!("{error} ({})", error.code)))?;
        return of_bytes("standard input".into(), bytes, keys, keep);
    }
    let path = runs::locate(given)?;
    let name = Shown::whole(&path.to_string_lossy()).to_string();
    if path.is_dir() {
        let files = disk::record_files(&path, FolderScope::Record);
        let files = files.map_err(|fault| Ending::impossible(fault.to_string()))?;
        return of_files(name, files, keys, keep);
    }
    of_bytes(name, read(&path)?, keys, keep)
}

fn read(path: &Path) -> Result<Vec<u8>, Ending> {
    disk::read(path).map_err(|error| Ending::impossible(format!("{error} ({})", error.code)))
}

fn of_bytes(name: String, bytes: Vec<u8>, keys: &Keys, keep: bool) -> Result<Opening, Ending> {
    let digest = Digest::of(&bytes);
    let known = recognise(&bytes, &Limits::default());
    // A recording has members of a session, and lines of both dialects look alike.
    if !matches!(known, Ok(FormatId::Rer | FormatId::Rpk))
        && let Some(origin) = recognise_import(&bytes, &Limits::default())
    {
        let kept = keep.then(|| bytes.clone());
        return Ok(Opening { name, record: Record::Other(origin, bytes), digest, kept });
    }
    if let Some(files) = pack_files(&bytes) {
        // A pack is a folder: the digest is that of its main file, which is what is kept of it.
        return of_files(name, files, keys, keep);
    }
    let kept = keep.then(|| bytes.clone());
    opened(name, reenact_run::open(bytes, keys, &Options::default()), digest, kept)
}

/// Opens the files of a folder. Those of a bundle are kept as they are anyway.
fn of_files(name: String, files: Files, keys: &Keys, keep: bool) -> Result<Opening, Ending> {
    let file = |name: &str| files.iter().find(|(known, _)| known == name).map(|(_, bytes)| bytes);
    let format = FormatId::of_main_file(|name| file(name).is_some());
    let main = format.and_then(|format| Some((format, file(format.row().main_file)?)));
    let (digest, kept) = match main {
        Some((format, bytes)) => {
            let is_bundle = matches!(format.row().signs, Signs::Files);
            (Digest::of(bytes), (keep && !is_bundle).then(|| bytes.clone()))
        }
        None => (Digest::of(b""), None),
    };
    opened(name, reenact_run::open_files(files, keys, &Options::default()), digest, kept)
}

fn opened(name: String, opened: Opened, digest: Digest, kept: Option<Vec<u8>>) -> Result<Opening, Ending> {
    let Opened { run, report } = opened;
    match run {
        Ok(run) => Ok(Opening { name, record: Record::Run(Box::new(run), Box::new(report)), digest, kept }),
        Err(why) => Err(Ending::impossible(format!("{name}: {}", Shown::whole(&why.to_string())))),
    }
}

/// The files of an archive that is a Model IO pack; `None` of anything else.
fn pack_files(archive: &[u8]) -> Option<Files> {
    let mut others: Vec<(String, Shared)> = Vec::new();
    let members = Members::in_memory(archive, &mut |name| {
        let shared = Shared::default();
        others.push((name.to_owned(), shared.clone()));
        Ok(Some(Box::new(shared)))
    });
    let members = members?.ok().filter(|members| members.format() == Some(FormatId::ModelIo))?;
    let document = |name: &str| Some((name.to_owned(), members.document(name)?.to_vec()));
    // Keys are nothing to a pack, and files like others.
    let mut files: Files =
        [pack::SESSION, pack::RUN, KEY_FILE, JWK_FILE].into_iter().filter_map(document).collect();
    // A folder around everything is no part of the names; any other folder is.
    let inside: HashSet<&str> = members.files().map(|(name, _)| name).collect();
    let is_wrapped = !others.iter().all(|(name, _)| inside.contains(name.as_str()));
    files.extend(others.iter().map(|(name, bytes)| {
        let inner = name.split_once('/').filter(|_| is_wrapped).map(|(_, inner)| inner);
        (inner.unwrap_or(name).to_owned(), bytes.0.take())
    }));
    files.sort();
    Some(files)
}

/// Bytes that are written in one place and read in another.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
