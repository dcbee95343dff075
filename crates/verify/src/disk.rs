//! Paths to bytes, for commands. The only module here that touches a file system; libraries leave it out.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use reenact_formats::key::{self, KeyError, KeyFile};
use reenact_formats::rpk::hmac::{self, HmacKey, HmacKeyError};
use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Limits, Shown};
use reenact_pack::{Container, PackError, gunzip};

use crate::ahead::Ahead;
use crate::archive::{self, Opened};
use crate::members::BrokenArchive;
use crate::replay_jsonl::Beside;
use crate::report::{Outcome, Report, Unreadable};
use crate::{
    Format, Keys, Members, Options, broken_archive, folder, model_io, replay_bundle, rer, safe, safe_members,
    stream,
};

/// What one argument of a command stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// `-`
    StandardInput,
    /// A file, something else that can be read like one, or a folder that is one bundle.
    Place(Place),
    /// Any other folder: what is in it in the order of names, and how many links were not followed.
    Folder {
        /// The files and bundles below it.
        places: Vec<Place>,
        /// Links, which could lead anywhere.
        links: usize,
    },
    /// Nothing that can be read.
    Unreadable(Unreadable),
}

/// Something to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file.
    File(PathBuf),
    /// A folder that is a bundle.
    Bundle(PathBuf),
    /// A REPLAY.jsonl in a folder, and the RECEIPT.json beside it.
    Replay(PathBuf, PathBuf),
}

impl Place {
    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Bundle(path) | Self::Replay(path, _) => path,
        }
    }

    /// Its size, if it is a file.
    pub fn size(&self) -> u64 {
        match self {
            Self::File(path) | Self::Replay(path, _) => path.metadata().map_or(0, |found| found.len()),
            Self::Bundle(_) => 0,
        }
    }
}

/// The code of what is not there.
pub const NOT_FOUND: &str = "E_NOT_FOUND";

/// Looks at an argument. Folders are walked; what cannot be entered makes the whole folder unreadable, since a verdict
/// on a part of it would look like one on all of it.
pub fn look_up(argument: &OsStr) -> Argument {
    if argument == "-" {
        return Argument::StandardInput;
    }
    let path = PathBuf::from(argument);
    match fs::metadata(&path) {
        Ok(found) if found.is_dir() && is_bundle(&path) => Argument::Place(Place::Bundle(path)),
        Ok(found) if found.is_dir() => {
            let (mut places, mut links) = (Vec::new(), 0);
            match walk(&path, 0, &mut places, &mut links) {
                Ok(()) => Argument::Folder { places, links },
                Err((below, error)) => Argument::Unreadable(unreadable(&below, &error)),
            }
        }
        Ok(_) => Argument::Place(Place::File(path)),
        Err(error) => Argument::Unreadable(unreadable(&path, &error)),
    }
}

fn is_bundle(folder: &Path) -> bool {
    bundle_format(folder).is_some()
}

/// What a folder is, if it is one record as a whole.
fn bundle_format(folder: &Path) -> Option<Format> {
    let holds = |names: &[&str]| names.iter().all(|name| folder.join(name).is_file());
    if holds(&["artifact.json", "manifest.json"]) {
        return Some(Format::RerBundle);
    }
    if holds(&["manifest.json"]) {
        return Some(Format::ReplayBundle);
    }
    holds(&["run.json", "model_io.json"]).then_some(Format::ModelIo)
}

/// A folder inside itself cannot be, since links are not followed; a mount might be.
const DEEPEST_FOLDER: usize = 64;

/// The entries of a folder by name.
pub(crate) fn entries(folder: &Path, depth: usize) -> io::Result<Vec<(PathBuf, fs::FileType)>> {
    if depth > DEEPEST_FOLDER {
        return Err(io::Error::other("folders are nested too deep"));
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        entries.push((entry.path(), entry.file_type()?));
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(entries)
}

fn walk(
    folder: &Path,
    depth: usize,
    places: &mut Vec<Place>,
    links: &mut usize,
) -> Result<(), (PathBuf, io::Error)> {
    let entries = entries(folder, depth).map_err(|error| (folder.to_owned(), error))?;
    let file = |name: &str| {
        let path = folder.join(name);
        entries.iter().any(|(found, kind)| kind.is_file() && *found == path).then_some(path)
    };
    let pair = file(stream::REPLAY).zip(file(stream::RECEIPT));
    for (path, kind) in entries {
        if let Some((replay, receipt)) = &pair
            && (path == *replay || path == *receipt)
        {
            // The receipt is judged with its replay, not by itself.
            if path == *replay {
                places.push(Place::Replay(path, receipt.clone()));
            }
        } else if kind.is_dir() && is_bundle(&path) {
            places.push(Place::Bundle(path));
        } else if kind.is_dir() {
            walk(&path, depth + 1, places, links)?;
        } else if kind.is_file() {
            places.push(Place::File(path));
        } else if kind.is_symlink() {
            *links += 1;
        }
    }
    Ok(())
}

/// What was read from a place.
#[derive(Debug)]
pub enum Content {
    /// A file that is no archive.
    Bytes(Vec<u8>),
    /// What an archive or a bundle's folder holds.
    Members(Members),
    /// A replay, judged while it was read: it may be larger than the memory.
    Replay(Box<Report>),
    /// A Replay Bundle, judged while it was read.
    ReplayBundle(Box<Report>),
    /// An archive that could not be read to its end, and what was seen of it.
    Broken(Box<BrokenArchive>),
    /// A folder that is one record, with something in it that does not belong there. Holds what it is, and what that is.
    BrokenFolder(Option<Format>, String),
}

impl Content {
    /// Judges it, on one thread.
    pub fn judge(&self, keys: &Keys, options: &Options) -> Report {
        match self {
            Self::Bytes(bytes) => safe(bytes, keys, options),
            Self::Members(members) => safe_members(members, keys, options),
            Self::Replay(report) | Self::ReplayBundle(report) => report.as_ref().clone(),
            Self::Broken(broken) => broken_archive(broken, options),
            Self::BrokenFolder(Some(Format::ModelIo), fault) => model_io::unreadable_pack(fault),
            Self::BrokenFolder(_, fault) => rer::bundle::unreadable_folder(fault),
        }
    }
}

/// Reads a place: an archive member by member, so that its blobs need no memory, a replay line by line, anything else
/// whole.
pub fn open(place: &Place) -> Result<Content, Unreadable> {
    open_with(place, &Options::default(), &Beside::default())
}

/// As [`open`]. Replays are judged while they are read, so that all that bears on it must be known here.
pub fn open_with(place: &Place, options: &Options, beside: &Beside<'_>) -> Result<Content, Unreadable> {
    match place {
        Place::Replay(replay, receipt) if beside.receipt.is_none() => {
            let bytes = stream::receipt(receipt).map_err(|error| unreadable(receipt, &error))?;
            let beside = Beside { receipt: Some(&bytes), ..*beside };
            open_with(&Place::File(replay.clone()), options, &beside)
        }
        Place::Bundle(path) => bundle_folder(path, options),
        Place::File(path) | Place::Replay(path, _) => {
            let failed = |error| unreadable(path, &error);
            let mut file = File::open(path).map_err(failed)?;
            let found = file.metadata().map_err(failed)?;
            if !found.is_file() {
                // A pipe can be read only once and only forwards.
                return from_pipe(file, options, beside).map_err(failed);
            }
            let first = stream::beginning(&mut file).map_err(failed)?;
            if stream::is_replay(&first, options) {
                // No thread reads ahead here: the system does, and what was just read is near, not with another core.
                let mut report =
                    stream::judge(first, stream::buffered(file), beside, options).map_err(failed)?;
                if beside.receipt.is_none() {
                    stream::note_receipt(path, &mut report);
                }
                return Ok(Content::Replay(Box::new(report)));
            }
            file.rewind().map_err(failed)?;
            let Some(container) = Container::detect(&first) else {
                return read_bounded(file, found.len()).map(Content::Bytes).map_err(failed);
            };
            if container == Container::TarGz
                && options.format.is_none_or(|format| format == Format::ReplayBundle)
                && let Some(tar) = ahead(&file, found.len(), |file| {
                    Ok(gunzip(file.try_clone()?, &reenact_formats::replay_bundle::rules()))
                })
            {
                if let Some(opened) = archive::open_gunzipped(tar).map_err(|error| failed(error.into()))? {
                    return unpacked(Ok(opened)).map_err(failed);
                }
                file.rewind().map_err(failed)?;
            }
            unpacked(archive::open(container, BufReader::new(file), options)).map_err(failed)
        }
    }
}

/// From which size on it is worth a thread to read a file.
const LARGE: u64 = 4 << 20;

/// What `reader` makes of a large file, read ahead. It shares its place in the file with this handle, and is not to be used
/// beside it.
fn ahead<R: Read + Send + 'static>(
    file: &File,
    size: u64,
    reader: impl FnOnce(&File) -> io::Result<R>,
) -> Option<Ahead> {
    // Where there can be no thread, there is the way without one.
    (size >= LARGE).then(|| Ahead::new(reader(file).ok()?).ok()).flatten()
}

/// Reads standard input to its end.
pub fn open_standard_input(options: &Options, beside: &Beside<'_>) -> Result<Content, Unreadable> {
    from_pipe(io::stdin().lock(), options, beside).map_err(|error| unreadable(Path::new("-"), &error))
}

/// Reads what can be read only once and only forwards.
fn from_pipe(mut reader: impl Read, options: &Options, beside: &Beside<'_>) -> io::Result<Content> {
    let first = stream::beginning(&mut reader)?;
    if stream::is_replay(&first, options) {
        return Ok(Content::Replay(Box::new(stream::judge(
            first,
            stream::buffered(reader),
            beside,
            options,
        )?)));
    }
    let container = Container::detect(&first);
    let reader = io::Cursor::new(first).chain(reader);
    match container {
        Some(Container::TarGz) => unpacked(archive::open_pipe(reader, options)),
        None => read_bounded(reader, 0).map(Content::Bytes),
        Some(container) => {
            unpacked(archive::open(container, io::Cursor::new(read_bounded(reader, 0)?), options))
        }
    }
}

/// Whether an outcome is that of a replay, to which a receipt belongs.
pub fn is_of_replay(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Judged(report) if report.format.starts_with("replay-jsonl/"))
}

/// What whoever gave a receipt for nothing should hear.
pub const RECEIPT_NOT_USED: &str = "--receipt was not used: no target is a REPLAY.jsonl";

/// Reads a receipt.
pub fn receipt(path: &Path) -> Result<Vec<u8>, Unreadable> {
    stream::receipt(path).map_err(|error| unreadable(path, &error))
}

fn unpacked(opened: Result<Opened, PackError>) -> io::Result<Content> {
    Ok(match opened? {
        Opened::ReplayBundle(report) => Content::ReplayBundle(report),
        Opened::Members(members) => Content::Members(members),
        Opened::Broken(broken) => match broken.error {
            PackError::Io { kind, text } => return Err(io::Error::new(kind, text)),
            _ => Content::Broken(broken),
        },
    })
}

fn bundle_folder(path: &Path, options: &Options) -> Result<Content, Unreadable> {
    let format = bundle_format(path);
    if options.format.or(format) == Some(Format::ReplayBundle) {
        let report = replay_bundle::verify(&folder::folder(path)?);
        return Ok(Content::ReplayBundle(Box::new(report)));
    }
    let mut members = Members::default();
    let mut pending = vec![(path.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = pending.pop() {
        for (path, kind) in entries(&folder, depth).map_err(|error| unreadable(&folder, &error))? {
            let own = path.file_name().unwrap_or_default();
            let name = format!("{prefix}{}", own.to_string_lossy());
            if own.to_str().is_none() {
                // Two such names could look the same, and one file would hide the other.
                let fault = format!("the name {} is not UTF-8", Shown::new(&name));
                return Ok(Content::BrokenFolder(format, fault));
            }
            if kind.is_dir() {
                pending.push((path, format!("{name}/"), depth + 1));
            } else if kind.is_file() {
                let failed = |error| unreadable(&path, &error);
                let mut file = File::open(&path).map_err(failed)?;
                match members.take(&name, &mut file) {
                    Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                        return Ok(Content::BrokenFolder(format, error.to_string()));
                    }
                    taken => taken.map_err(failed)?,
                }
            } else {
                let fault = format!("{} is neither a file nor a folder", Shown::new(&name));
                return Ok(Content::BrokenFolder(format, fault));
            }
        }
    }
    Ok(Content::Members(members))
}

/// `digests.file` of a report, for content that is a file.
pub fn digest_of(
    content: &Content,
    place: Option<&Place>,
) -> Result<Option<(&'static str, String)>, Unreadable> {
    let digest = match (content, place) {
        // Whoever wanted it said so when it was read.
        (Content::Replay(_), _) => return Ok(None),
        (Content::Bytes(bytes), _) => Digest::of(bytes),
        (_, Some(Place::File(path))) => file_digest(path)?,
        _ => return Ok(None),
    };
    Ok(Some(("file", format!("sha256:{digest}"))))
}

/// The SHA-256 of a file, read from its start to its end.
pub fn file_digest(path: &Path) -> Result<Digest, Unreadable> {
    let failed = |error| unreadable(path, &error);
    let mut file = File::open(path).map_err(failed)?;
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(hasher.finish()),
            count => hasher.put(&buffer[..count]),
        }
    }
}

/// Whether a file met in a folder is none of our business: its content is of no known format, and its name does not
/// claim that it is. A file that was asked for by name is never passed over.
pub fn is_passed_over(path: &Path, report: &Report) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let claims = [".rer.json", ".rer.tar.gz", ".rer.tar", ".rer.zip", ".rpk"]
        .iter()
        .any(|ending| name.ends_with(ending));
    report.format == "unknown" && !claims && name != stream::REPLAY
}

/// Reads a file whole, as long as it is not larger than any document may be.
pub fn read(path: &Path) -> Result<Vec<u8>, Unreadable> {
    let failed = |error| unreadable(path, &error);
    let file = File::open(path).map_err(failed)?;
    let expected = file.metadata().map_or(0, |found| found.len());
    read_bounded(file, expected).map_err(failed)
}

/// Reads standard input to its end.
pub fn read_standard_input() -> Result<Vec<u8>, Unreadable> {
    read_bounded(io::stdin().lock(), 0).map_err(|error| unreadable(Path::new("-"), &error))
}

fn read_bounded(reader: impl Read, expected: u64) -> io::Result<Vec<u8>> {
    let limit = Limits::LARGEST as u64;
    let too_large =
        || io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes"));
    if expected > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    reader.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() > Limits::LARGEST { Err(too_large()) } else { Ok(bytes) }
}

/// What an operating system's refusal means, with a code that programs may branch on.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Unreadable {
    let name = path.to_string_lossy();
    let name = if name.is_empty() { "\"\"".into() } else { Shown::whole(&name).to_string() };
    let (code, message) = match error.kind() {
        io::ErrorKind::NotFound => (NOT_FOUND, format!("{name}: there is no such file or folder")),
        io::ErrorKind::PermissionDenied => ("E_NOT_READABLE", format!("{name}: you may not read this")),
        io::ErrorKind::FileTooLarge => ("E_TOO_LARGE", format!("{name}: {error}")),
        _ => ("E_NOT_READABLE", format!("{name}: {error}")),
    };
    Unreadable { code, message }
}

/// What the owner of a key file with a private part in it should hear.
pub fn private_key_warning(path: &Path) -> String {
    let path = path.to_string_lossy();
    format!(
        "{}: this file holds a private key; only its public part is used, and it should not lie around",
        Shown::whole(&path)
    )
}

/// Why a key file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyFileError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// It holds no key.
    #[error("{}: {error}", Shown::whole(.path))]
    NoKey {
        /// The file.
        path: String,
        /// What is wrong with it.
        error: KeyError,
    },
    /// It holds no shared key.
    #[error("{}: {error}", Shown::whole(.path))]
    NoSharedKey {
        /// The file.
        path: String,
        /// What is wrong with it.
        error: HmacKeyError,
    },
    /// A folder, where a file was asked for.
    #[error("{}: this is a folder; give a folder of keys with --keys", Shown::whole(.path))]
    Folder {
        /// The folder.
        path: String,
    },
    /// A folder without any key.
    #[error("{}: there is no key in this folder", Shown::whole(.path))]
    EmptyFolder {
        /// The folder.
        path: String,
    },
}

/// Reads one key file, of any form.
pub fn key_file(path: &Path) -> Result<KeyFile, KeyFileError> {
    let no_key = |error| KeyFileError::NoKey { path: path.to_string_lossy().into_owned(), error };
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    if file.metadata().is_ok_and(|found| found.is_dir()) {
        return Err(KeyFileError::Folder { path: path.to_string_lossy().into_owned() });
    }
    let mut bytes = Vec::new();
    let limit = key::LARGEST_FILE as u64;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() > key::LARGEST_FILE {
        return Err(no_key(KeyError::Unrecognised));
    }
    key::read(&bytes).map_err(no_key)
}

/// Reads the shared key of signatures by HMAC: text, white space around it left out.
pub fn hmac_key_file(path: &Path) -> Result<HmacKey, KeyFileError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let limit = hmac::LARGEST_KEY as u64;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    let path = || path.to_string_lossy().into_owned();
    HmacKey::from_text(&bytes).map_err(|error| KeyFileError::NoSharedKey { path: path(), error })
}

/// The key files of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFolder {
    /// Each with its path; at least one.
    pub files: Vec<(PathBuf, KeyFile)>,
    /// Files that hold no key.
    pub others: Vec<PathBuf>,
}

/// Reads every key of a folder, or of a JWKS file. Files of a folder that hold no key are passed over; their names are
/// returned.
pub fn key_folder(path: &Path) -> Result<KeyFolder, KeyFileError> {
    let Argument::Folder { places, .. } = look_up(path.as_os_str()) else {
        let files = vec![(path.to_owned(), key_file(path)?)];
        return Ok(KeyFolder { files, others: Vec::new() });
    };
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for file in places.into_iter().map(|place| place.path().to_owned()) {
        match key_file(&file) {
            Ok(keys) => found.push((file, keys)),
            Err(KeyFileError::NoKey { .. }) => others.push(file),
            Err(error) => return Err(error),
        }
    }
    if found.is_empty() {
        return Err(KeyFileError::EmptyFolder { path: path.to_string_lossy().into_owned() });
    }
    Ok(KeyFolder { files: found, others })
}

/// What was in a folder beside the records that were judged; `None` if there was nothing else.
pub fn passed_over(others: usize, links: usize) -> Option<String> {
    let count = |number: usize, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{number} {many}")),
    };
    let others = count(others, "other file passed over", "other files passed over");
    let links = count(links, "link not followed", "links not followed");
    let parts: Vec<String> = [others, links].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The report on a folder in which nothing was found to judge.
pub fn empty_folder(files: usize, links: usize) -> Report {
    let looked = match files {
        0 => "it holds no file".to_owned(),
        1 => "the one file in it is not a record of a run".to_owned(),
        count => format!("none of the {count} files in it is a record of a run"),
    };
    let links = passed_over(0, links).map_or(String::new(), |links| format!(" ({links})"));
    let mut report = Report::new("unknown".into(), &[("recognised", "the folder holds a record of a run")]);
    report.fail("recognised", format!("{looked}{links}"));
    report.verdict = "there is nothing here to verify".into();
    report
}
