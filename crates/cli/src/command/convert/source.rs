//! What is to be converted: a file, a folder, or standard input.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use reenact_json::{Digest, Limits, Shown};
use reenact_run::convert::Origin;
use reenact_run::convert::source::{RECEIPT, REPLAY, SUMMARY, recognise};
use reenact_run::{Files, Opened, Run};
use reenact_verify::{Format, Keys, Members, Options, Report, detect, disk};

use crate::output::Ending;
use crate::runs;

/// What was found.
pub(super) enum Record {
    /// A record that can be judged, and the verdict.
    Run(Box<Run>, Box<Report>),
    /// One that only conversion knows.
    Other(Origin, Vec<u8>),
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

const MANIFEST: &str = "manifest.json";
const SESSION: &str = "model_io.json";
const RUN: &str = "run.json";
const ARTIFACT: &str = "artifact.json";

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
        return of_files(name, folder(&path)?, keys, keep);
    }
    of_bytes(name, read(&path)?, keys, keep)
}

fn read(path: &Path) -> Result<Vec<u8>, Ending> {
    disk::read(path).map_err(|error| Ending::impossible(format!("{error} ({})", error.code)))
}

fn of_bytes(name: String, bytes: Vec<u8>, keys: &Keys, keep: bool) -> Result<Opening, Ending> {
    let digest = Digest::of(&bytes);
    let known = detect::detect(&bytes, &Limits::default());
    if !matches!(known, Ok(Format::Rer | Format::Rpk))
        && let Some(origin) = recognise(&bytes, &Limits::default())
    {
        let kept = keep.then(|| bytes.clone());
        return Ok(Opening { name, record: Record::Other(origin, bytes), digest, kept });
    }
    if let Some(files) = pack(&bytes) {
        // A pack is a folder: the digest is that of its main file, which is what is kept of it.
        return of_files(name, files, keys, keep);
    }
    let kept = keep.then(|| bytes.clone());
    opened(name, reenact_run::open(bytes, keys, &Options::default()), digest, kept)
}

/// Opens the files of a folder. Those of a bundle are kept as they are anyway.
fn of_files(name: String, files: Files, keys: &Keys, keep: bool) -> Result<Opening, Ending> {
    let main = [ARTIFACT, MANIFEST, SESSION, REPLAY]
        .into_iter()
        .find_map(|main| files.iter().find(|(known, _)| known == main).map(|(_, bytes)| (main, bytes)));
    let (digest, kept) = match main {
        Some((main, bytes)) => {
            let kept = keep && [SESSION, REPLAY].contains(&main);
            (Digest::of(bytes), kept.then(|| bytes.clone()))
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
fn pack(archive: &[u8]) -> Option<Files> {
    let mut others: Vec<(String, Shared)> = Vec::new();
    let members = Members::in_memory(archive, &mut |name| {
        let shared = Shared::default();
        others.push((name.to_owned(), shared.clone()));
        Ok(Some(Box::new(shared)))
    });
    let members = members?.ok().filter(Members::is_model_io_pack)?;
    let document = |name: &str| Some((name.to_owned(), members.document(name)?.to_vec()));
    // Keys are nothing to a pack, and files like others.
    let mut files: Files = [SESSION, RUN, "key.bin", "key.jwk"].into_iter().filter_map(document).collect();
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

/// As many files as an archive may hold, and as deep as anything that was packed.
const MOST_FILES: usize = 100_000;
const DEEPEST: usize = 64;

/// The files of a folder that is one record. A link could lead anywhere, and is not followed.
fn folder(path: &Path) -> Result<Files, Ending> {
    let (mut files, mut bytes) = (Files::new(), 0_usize);
    let holds = |name: &str| runs::holds(path, name);
    if !holds(MANIFEST)? && !holds(ARTIFACT)? && !holds(SESSION)? {
        // Beside a replay anything may lie.
        for name in [REPLAY, RECEIPT, SUMMARY] {
            if holds(name)? {
                files.push((name.to_owned(), read(&path.join(name))?));
            }
        }
        return Ok(files);
    }
    let mut pending: Vec<(PathBuf, String, usize)> = vec![(path.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = pending.pop() {
        let failed = |error: io::Error| {
            Ending::impossible(format!("{}: {error}", Shown::whole(&folder.to_string_lossy())))
        };
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let own = entry.file_name();
            let name = format!("{prefix}{}", own.to_string_lossy());
            if kind.is_dir() && depth < DEEPEST {
                pending.push((entry.path(), format!("{name}/"), depth + 1));
                continue;
            }
            if !kind.is_file() || own.to_str().is_none() {
                let name = Shown::whole(&name);
                return Err(Ending::impossible(format!(
                    "{name}: this is no file of a record; nothing was read"
                )));
            }
            let content = read(&entry.path())?;
            bytes = bytes.saturating_add(content.len());
            if bytes > Limits::LARGEST || files.len() >= MOST_FILES {
                return Err(Ending::impossible("the folder is larger than any record that can be read"));
            }
            files.push((name, content));
        }
    }
    files.sort();
    Ok(files)
}
