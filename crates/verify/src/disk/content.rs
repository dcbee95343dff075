//! What was read from a place, and its judging.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use reenact_formats::FormatId;
use reenact_json::{Digest, Shown};
use reenact_pack::{Container, PackError, gunzip};

use super::folder::{self, FolderEntry};
use super::place::{Place, folder_format};
use super::{file_digest, read_bounded, snapshot, stream, unreadable};
use crate::ahead::Ahead;
use crate::archive::{self, Opened};
use crate::members::BrokenArchive;
use crate::replay_jsonl::Beside;
use crate::report::{Report, Unreadable};
use crate::{
    Keys, Members, Options, Workers, broken_archive, broken_folder, replay_bundle, safe_members_with,
    safe_with,
};

/// What was read from a place.
#[derive(Debug)]
pub enum Content {
    /// A file that is no archive.
    Bytes(Vec<u8>),
    /// What an archive or a bundle's folder holds.
    Members(Members),
    /// A replay, judged while it was read: it may be larger than the memory.
    Replay(Box<Report>),
    /// A bundle that was judged while it was read.
    Bundle(Box<Report>),
    /// An archive that could not be read to its end, and what was seen of it.
    Broken(Box<BrokenArchive>),
    /// A folder that is one record, with something in it that does not belong there. Holds what it is, and what that is.
    BrokenFolder(Option<FormatId>, String),
}

impl Content {
    /// Judges it, on one thread.
    pub fn judge(&self, keys: &Keys, options: &Options) -> Report {
        self.judge_with(keys, options, &Workers::one())
    }

    /// Judges it; `workers` judge what is large.
    pub fn judge_with(&self, keys: &Keys, options: &Options, workers: &Workers<'_>) -> Report {
        match self {
            Self::Bytes(bytes) => safe_with(bytes, keys, options, &workers.for_document(bytes.len())),
            Self::Members(members) => safe_members_with(members, keys, options, workers),
            Self::Replay(report) | Self::Bundle(report) => report.as_ref().clone(),
            Self::Broken(broken) => broken_archive(broken, options),
            Self::BrokenFolder(format, fault) => broken_folder(*format, fault),
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
        Place::Bundle(path) => whole_folder(path, options),
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
                && options.format.is_none_or(|format| format == FormatId::ReplayBundle)
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

/// Reads a folder that as a whole is one record.
fn whole_folder(path: &Path, options: &Options) -> Result<Content, Unreadable> {
    let format = folder_format(path);
    if options.format.or(format) == Some(FormatId::ReplayBundle) {
        let report = replay_bundle::verify(&snapshot::folder(path)?);
        return Ok(Content::Bundle(Box::new(report)));
    }
    let mut members = Members::default();
    let mut fault = None;
    folder::visit(path, |FolderEntry { path, name, kind, is_named }| {
        fault = match (is_named, kind.is_file()) {
            (false, _) => Some(format!("the name {} is not UTF-8", Shown::new(&name))),
            (true, false) => Some(format!("{} is neither a file nor a folder", Shown::new(&name))),
            (true, true) => {
                let failed = |error| unreadable(&path, &error);
                let mut file = File::open(&path).map_err(failed)?;
                match members.take(&name, &mut file) {
                    Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Some(error.to_string()),
                    taken => {
                        taken.map_err(failed)?;
                        None
                    }
                }
            }
        };
        Ok(fault.is_none())
    })?;
    Ok(match fault {
        Some(fault) => Content::BrokenFolder(format, fault),
        None => Content::Members(members),
    })
}

fn unpacked(opened: Result<Opened, PackError>) -> io::Result<Content> {
    Ok(match opened? {
        Opened::ReplayBundle(report) => Content::Bundle(report),
        Opened::Members(members) => Content::Members(members),
        Opened::Broken(broken) => match broken.error {
            PackError::Io { kind, text } => return Err(io::Error::new(kind, text)),
            _ => Content::Broken(broken),
        },
    })
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
