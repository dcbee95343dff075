//! Reading one record from disk, and verifying what was read.
//!
//! [`open_with`] chooses the cheapest way: a REPLAY.jsonl line by line and an archive member by member,
//! both in bounded memory, anything else as a whole.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use reenact_formats::FormatId;
use reenact_json::{Digest, Shown};
use reenact_pack::{Container, PackError, gunzip};

use super::argument::{RecordPath, folder_format};
use super::folder::{self, FolderEntry};
use super::{file_digest, read_bounded, replay_stream, snapshot, unreadable_target};
use crate::archive::{self, OpenedArchive};
use crate::members::BrokenArchive;
use crate::read_ahead::ReadAhead;
use crate::replay_jsonl::ReplayJsonlOptions;
use crate::report::{Report, UnreadableTarget};
use crate::{
    BundleMembers, Keys, Options, Workers, broken_archive_report, broken_folder_report, replay_bundle,
    verify_members_with, verify_with,
};

/// A record as it was read from a path or a pipe.
#[derive(Debug)]
pub enum RecordContent {
    /// Content of a file that is not an archive.
    Bytes(Vec<u8>),
    /// Members of an archive or of a bundle's folder.
    Members(BundleMembers),
    /// Report on a REPLAY.jsonl. It was verified while it was read, since it may be larger than the
    /// memory.
    Replay(Box<Report>),
    /// Report on a Replay Bundle, which was verified while it was read.
    Bundle(Box<Report>),
    /// Archive that could not be read to its end, with the members before the error.
    Broken(Box<BrokenArchive>),
    /// A folder that is one record, with an entry that does not belong there. Holds the format, if it
    /// is known, and a description of the entry.
    BrokenFolder(Option<FormatId>, String),
}

impl RecordContent {
    /// Verifies the content on the caller's thread.
    pub fn verify(&self, keys: &Keys, options: &Options) -> Report {
        self.verify_with(keys, options, &Workers::sequential())
    }

    /// Verifies the content; large documents use the `workers`.
    pub fn verify_with(&self, keys: &Keys, options: &Options, workers: &Workers<'_>) -> Report {
        match self {
            Self::Bytes(bytes) => verify_with(bytes, keys, options, &workers.for_document(bytes.len())),
            Self::Members(members) => verify_members_with(members, keys, options, workers),
            Self::Replay(report) | Self::Bundle(report) => report.as_ref().clone(),
            Self::Broken(broken) => broken_archive_report(broken, options),
            Self::BrokenFolder(format, fault) => broken_folder_report(*format, fault),
        }
    }
}

/// Reads a record with default options.
///
/// # Errors
/// Fails if the path cannot be read.
pub fn open(record: &RecordPath) -> Result<RecordContent, UnreadableTarget> {
    open_with(record, &Options::default(), &ReplayJsonlOptions::default())
}

/// Reads a record: an archive member by member, so that its blobs need no memory, a REPLAY.jsonl line
/// by line, anything else as a whole.
///
/// Replays are verified while they are read, so `replay_options` must hold everything that bears on the
/// verdict. A receipt in the same folder is used only if none is given.
///
/// # Errors
/// Fails if the path cannot be read. Faults of the content are part of the result.
pub fn open_with(
    record: &RecordPath,
    options: &Options,
    replay_options: &ReplayJsonlOptions<'_>,
) -> Result<RecordContent, UnreadableTarget> {
    match record {
        RecordPath::Replay(replay, receipt) if replay_options.receipt.is_none() => {
            let bytes =
                replay_stream::read_receipt(receipt).map_err(|error| unreadable_target(receipt, &error))?;
            let replay_options = ReplayJsonlOptions { receipt: Some(&bytes), ..*replay_options };
            open_with(&RecordPath::File(replay.clone()), options, &replay_options)
        }
        RecordPath::Bundle(path) => open_folder(path, options),
        RecordPath::File(path) | RecordPath::Replay(path, _) => {
            let failed = |error| unreadable_target(path, &error);
            let mut file = File::open(path).map_err(failed)?;
            let found = file.metadata().map_err(failed)?;
            if !found.is_file() {
                // Pipes and devices cannot seek.
                return open_pipe(file, options, replay_options).map_err(failed);
            }
            let first = replay_stream::read_prefix(&mut file).map_err(failed)?;
            if replay_stream::is_replay(&first, options) {
                // The kernel reads ahead already. A second thread would only move the bytes into
                // another core's cache.
                let mut report =
                    replay_stream::verify(first, replay_stream::buffered(file), replay_options, options)
                        .map_err(failed)?;
                if replay_options.receipt.is_none() {
                    replay_stream::note_unused_receipt(path, &mut report);
                }
                return Ok(RecordContent::Replay(Box::new(report)));
            }
            file.rewind().map_err(failed)?;
            let Some(container) = Container::detect(&first) else {
                return read_bounded(file, found.len()).map(RecordContent::Bytes).map_err(failed);
            };
            if container == Container::TarGz
                && options.format.is_none_or(|format| format == FormatId::ReplayBundle)
                && let Some(tar) = read_ahead(&file, found.len(), |file| {
                    Ok(gunzip(file.try_clone()?, &reenact_formats::replay_bundle::archive_rules()))
                })
            {
                if let Some(opened) = archive::open_gunzipped(tar).map_err(|error| failed(error.into()))? {
                    return content_of(Ok(opened)).map_err(failed);
                }
                file.rewind().map_err(failed)?;
            }
            content_of(archive::open(container, BufReader::new(file), options)).map_err(failed)
        }
    }
}

/// Smallest file that is worth a read-ahead thread, in bytes.
const MIN_READ_AHEAD_BYTES: u64 = 4 << 20;

/// Starts reading a large file on a thread; `None` if the file is small or no thread can be started.
///
/// The clone of the handle inside `reader` shares its file offset with `file`, which must not be used
/// before the result is dropped.
fn read_ahead<R: Read + Send + 'static>(
    file: &File,
    size: u64,
    reader: impl FnOnce(&File) -> io::Result<R>,
) -> Option<ReadAhead> {
    // Without a thread, the caller reads the file itself.
    (size >= MIN_READ_AHEAD_BYTES).then(|| ReadAhead::new(reader(file).ok()?).ok()).flatten()
}

/// Reads a record from standard input.
///
/// # Errors
/// Fails if standard input cannot be read.
pub fn open_standard_input(
    options: &Options,
    replay_options: &ReplayJsonlOptions<'_>,
) -> Result<RecordContent, UnreadableTarget> {
    open_pipe(io::stdin().lock(), options, replay_options)
        .map_err(|error| unreadable_target(Path::new("-"), &error))
}

/// Reads a record from a source that cannot seek.
fn open_pipe(
    mut reader: impl Read,
    options: &Options,
    replay_options: &ReplayJsonlOptions<'_>,
) -> io::Result<RecordContent> {
    let first = replay_stream::read_prefix(&mut reader)?;
    if replay_stream::is_replay(&first, options) {
        return Ok(RecordContent::Replay(Box::new(replay_stream::verify(
            first,
            replay_stream::buffered(reader),
            replay_options,
            options,
        )?)));
    }
    let container = Container::detect(&first);
    let reader = io::Cursor::new(first).chain(reader);
    match container {
        Some(Container::TarGz) => content_of(archive::open_pipe(reader, options)),
        None => read_bounded(reader, 0).map(RecordContent::Bytes),
        Some(container) => {
            content_of(archive::open(container, io::Cursor::new(read_bounded(reader, 0)?), options))
        }
    }
}

/// Reads a folder that as a whole is one record.
fn open_folder(path: &Path, options: &Options) -> Result<RecordContent, UnreadableTarget> {
    let format = folder_format(path);
    if options.format.or(format) == Some(FormatId::ReplayBundle) {
        let report = replay_bundle::verify(&snapshot::snapshot_of_folder(path)?);
        return Ok(RecordContent::Bundle(Box::new(report)));
    }
    let mut members = BundleMembers::default();
    let mut fault = None;
    folder::visit(path, |FolderEntry { path, name, kind, is_utf8: is_named }| {
        fault = match (is_named, kind.is_file()) {
            (false, _) => Some(format!("the name {} is not UTF-8", Shown::new(&name))),
            (true, false) => Some(format!("{} is neither a file nor a folder", Shown::new(&name))),
            (true, true) => {
                let failed = |error| unreadable_target(&path, &error);
                let mut file = File::open(&path).map_err(failed)?;
                match members.add(&name, &mut file) {
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
        Some(fault) => RecordContent::BrokenFolder(format, fault),
        None => RecordContent::Members(members),
    })
}

/// Turns an opened archive into content. An I/O error inside a broken archive becomes an error here.
fn content_of(opened: Result<OpenedArchive, PackError>) -> io::Result<RecordContent> {
    Ok(match opened? {
        OpenedArchive::ReplayBundle(report) => RecordContent::Bundle(report),
        OpenedArchive::Members(members) => RecordContent::Members(members),
        OpenedArchive::Broken(broken) => match broken.error {
            PackError::Io { kind, text } => return Err(io::Error::new(kind, text)),
            _ => RecordContent::Broken(broken),
        },
    })
}

/// Returns the entry `file` for the digests of a report; `None` for content that is not a file.
///
/// # Errors
/// Fails if the file cannot be read again.
pub fn file_digest_entry(
    content: &RecordContent,
    record: Option<&RecordPath>,
) -> Result<Option<(&'static str, String)>, UnreadableTarget> {
    let digest = match (content, record) {
        // The digest of a replay is computed while it is read, if `replay_options` asks for it.
        (RecordContent::Replay(_), _) => return Ok(None),
        (RecordContent::Bytes(bytes), _) => Digest::of(bytes),
        (_, Some(RecordPath::File(path))) => file_digest(path)?,
        _ => return Ok(None),
    };
    Ok(Some(("file", format!("sha256:{digest}"))))
}
