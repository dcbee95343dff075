//! Reading one record from disk, and verifying what was read.
//!
//! [`open_with`] chooses the cheapest way: a REPLAY.jsonl line by line and an archive member by member,
//! both in bounded memory, anything else as a whole.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::DETECTION_BYTES;
use reenact_json::{Digest, Shown, is_broken_prefix};
use reenact_pack::{Container, PackError, gunzip};

use super::argument::{RecordPath, folder_format};
use super::folder::{self, FolderEntry};
use super::{
    MAX_PIPE_BYTES, file_digest, pipe_too_large, read_file, read_pipe, replay_stream, snapshot,
    unreadable_target,
};
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
    /// First bytes of a text with a syntax error, of which the rest was not read: it would not change the report.
    Beginning(Vec<u8>),
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
            Self::Bytes(bytes) | Self::Beginning(bytes) => {
                verify_with(bytes, keys, options, &workers.for_document(bytes.len()))
            }
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
                if first.len() == DETECTION_BYTES && is_broken_prefix(&first) {
                    return Ok(RecordContent::Beginning(first));
                }
                return read_file(file, found.len()).map(RecordContent::Bytes).map_err(failed);
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
    let Some(container) = Container::detect(&first) else {
        return read_document(first, reader, MAX_PIPE_BYTES);
    };
    let reader = io::Cursor::new(first).chain(reader);
    match container {
        Container::TarGz => content_of(archive::open_pipe(reader, options)),
        _ => content_of(archive::open(container, io::Cursor::new(read_pipe(reader)?), options)),
    }
}

/// Reads the text of a document from a source that may never end. `text` is its beginning, of [`DETECTION_BYTES`] if there is
/// more.
///
/// The text is scanned whenever twice as much of it was read, and reading ends at the first syntax error: what is no JSON needs
/// as much memory as it takes to see that, and JSON is scanned about once more than in a file.
fn read_document(mut text: Vec<u8>, mut rest: impl Read, max_bytes: usize) -> io::Result<RecordContent> {
    if text.len() < DETECTION_BYTES {
        return Ok(RecordContent::Bytes(text));
    }
    loop {
        if is_broken_prefix(&text) {
            return Ok(RecordContent::Beginning(text));
        }
        let wanted = text.len().min(max_bytes + 1 - text.len());
        let count = rest.by_ref().take(wanted as u64).read_to_end(&mut text)?;
        if text.len() > max_bytes {
            return Err(pipe_too_large(max_bytes));
        }
        if count < wanted {
            return Ok(RecordContent::Bytes(text));
        }
    }
}

/// Reads a folder that as a whole is one record.
fn open_folder(path: &Path, options: &Options) -> Result<RecordContent, UnreadableTarget> {
    let format = folder_format(path);
    if options.format.or(format) == Some(FormatId::ReplayBundle) {
        let report = replay_bundle::verify(&snapshot::snapshot_of_folder(path, &mut |_| Ok(None))?);
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

/// Returns the entry `file` for the digests of a report; `None` for content that is not a file, or that was not read whole and
/// cannot be read again.
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
        (_, Some(RecordPath::File(path))) if path.is_file() => file_digest(path)?,
        _ => return Ok(None),
    };
    Ok(Some(("file", format!("sha256:{digest}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Input without an end: a beginning, then a pattern for ever. Counts the bytes that were read from it.
    struct EndlessInput<'a> {
        beginning: &'a [u8],
        pattern: &'a [u8],
        read_bytes: usize,
    }

    impl Read for EndlessInput<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let all = self.beginning.iter().chain(self.pattern.iter().cycle());
            // Whole patterns are skipped at once, so that each read costs only its own bytes.
            let skipped = match self.read_bytes.checked_sub(self.beginning.len()) {
                Some(past) => self.beginning.len() + past % self.pattern.len(),
                None => self.read_bytes,
            };
            for (slot, byte) in out.iter_mut().zip(all.skip(skipped)) {
                *slot = *byte;
            }
            self.read_bytes += out.len();
            Ok(out.len())
        }
    }

    /// Reads an input that never ends, with a limit of 4 MiB. Returns the result and the number of bytes that were read.
    fn read_endless(beginning: &[u8], pattern: &[u8]) -> (io::Result<RecordContent>, usize) {
        let mut input = EndlessInput { beginning, pattern, read_bytes: 0 };
        let first = replay_stream::read_prefix(&mut input).unwrap();
        let read = read_document(first, &mut input, 4 << 20);
        (read, input.read_bytes)
    }

    #[test]
    fn endless_junk_is_judged_by_its_beginning() {
        for pattern in [&b"y\n"[..], &[0], &[0x9C, 0x56, 0xFF, 0x00, 0x0A], b"[", b"{\"a\":1}\n", b"\"\n"] {
            let (read, read_bytes) = read_endless(b"", pattern);
            assert!(matches!(read, Ok(RecordContent::Beginning(_))), "{pattern:?}");
            assert_eq!(read_bytes, DETECTION_BYTES, "{pattern:?}");
        }
    }

    #[test]
    fn reading_ends_soon_after_the_first_error() {
        let sound =
            format!("{{\"artifact_version\":\"rer-artifact/0.2\",\"events\":[{}", "1,".repeat(100_000));
        let (read, read_bytes) = read_endless(sound.as_bytes(), b"1,,");
        let Ok(content @ RecordContent::Beginning(_)) = read else { panic!("{read:?}") };
        assert_eq!(read_bytes, 256 << 10, "the next power of two behind {}", sound.len());
        // The report is that of the whole text.
        let whole = [sound.as_bytes(), &b"1,,".repeat(200_000)].concat();
        let (keys, options) = (Keys::default(), Options::default());
        assert_eq!(content.verify(&keys, &options), crate::verify(&whole, &keys, &options));
    }

    #[test]
    fn an_endless_document_is_too_large() {
        for (beginning, pattern) in [(&b""[..], &b" "[..]), (b"[", b"1,"), (b"\"", b"x"), (b"{\"a\":", b"7")]
        {
            let (read, read_bytes) = read_endless(beginning, pattern);
            let error = read.expect_err("no end");
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
            assert_eq!(
                error.to_string(),
                "it is larger than 4194304 bytes, the most that is read from what is not a file: save it to a file, and give that"
            );
            assert_eq!(read_bytes, (4 << 20) + 1, "{pattern:?}");
        }
    }

    #[test]
    fn what_ends_is_read_whole() {
        let text = format!("[{}1]", "1,".repeat(100_000));
        for text in [&text, "y\n", "", &" ".repeat(DETECTION_BYTES)] {
            let mut input = text.as_bytes();
            let first = replay_stream::read_prefix(&mut input).unwrap();
            let read = read_document(first, input, 4 << 20);
            assert!(matches!(read, Ok(RecordContent::Bytes(bytes)) if bytes == text.as_bytes()));
        }
    }
}
