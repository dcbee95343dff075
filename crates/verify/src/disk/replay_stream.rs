//! REPLAY.jsonl files, verified while they are read, since they may be larger than the memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use reenact_formats::FormatId;
use reenact_formats::format::Support;
use reenact_formats::recognise::recognise_lines;
use reenact_formats::replay_jsonl::receipt::MAX_RECEIPT_BYTES;
use reenact_formats::replay_jsonl::{DETECTION_BYTES, RECEIPT};
use reenact_pack::Container;

use crate::replay_jsonl::{self, ReplayJsonlOptions};
use crate::{Options, Report};

/// Size of the read buffer, in bytes.
const BUFFER_BYTES: usize = 128 << 10;

/// Returns true if a file with this beginning is to be verified as a replay.
pub(super) fn is_replay(first: &[u8], options: &Options) -> bool {
    match options.format {
        None => {
            Container::detect(first).is_none()
                && recognise_lines(first, Support::Full) == Some(FormatId::ReplayJsonl)
        }
        Some(format) => format == FormatId::ReplayJsonl,
    }
}

/// Reads the first bytes of a file, enough to recognise its format.
pub(super) fn read_prefix(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    reader.take(DETECTION_BYTES as u64).read_to_end(&mut first)?;
    Ok(first)
}

/// Wraps a reader in a buffer of [`BUFFER_BYTES`].
pub(super) fn buffered<R: Read>(reader: R) -> BufReader<R> {
    BufReader::with_capacity(BUFFER_BYTES, reader)
}

/// Verifies a replay whose beginning was already read.
pub(super) fn verify(
    first: Vec<u8>,
    rest: impl BufRead,
    replay_options: &ReplayJsonlOptions<'_>,
    options: &Options,
) -> io::Result<Report> {
    replay_jsonl::verify(Cursor::new(first).chain(rest), replay_options, options)
}

/// Reads a receipt. Of one that is too large, only one byte more than allowed is read.
pub(super) fn read_receipt(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_RECEIPT_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Adds a note if a RECEIPT.json in the replay's folder was not used.
pub(super) fn note_unused_receipt(replay: &Path, report: &mut Report) {
    if replay.parent().is_some_and(|folder| folder.join(RECEIPT).is_file()) {
        report.notes.push(format!(
            "{RECEIPT} lies beside it and was not looked at: give it with --receipt, or verify the folder"
        ));
    }
}
