//! Replays straight from where they lie: they may be larger than the memory, so they are judged while they are read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use reenact_formats::FormatId;
use reenact_formats::format::Support;
use reenact_formats::recognise::by_lines;
use reenact_formats::replay_jsonl::receipt::LARGEST;
use reenact_formats::replay_jsonl::{LOOKED_AT, RECEIPT};
use reenact_pack::Container;

use crate::replay_jsonl::{self, Beside};
use crate::{Options, Report};

/// How much is read at once.
const ROOM: usize = 128 << 10;

/// Whether what begins like this is to be judged as a replay.
pub(super) fn is_replay(first: &[u8], options: &Options) -> bool {
    match options.format {
        None => {
            Container::detect(first).is_none()
                && by_lines(first, Support::Full) == Some(FormatId::ReplayJsonl)
        }
        Some(format) => format == FormatId::ReplayJsonl,
    }
}

/// The first bytes, by which a format is known.
pub(super) fn beginning(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    reader.take(LOOKED_AT as u64).read_to_end(&mut first)?;
    Ok(first)
}

/// A reader that fetches much at once.
pub(super) fn buffered<R: Read>(reader: R) -> BufReader<R> {
    BufReader::with_capacity(ROOM, reader)
}

/// Judges a replay of which the beginning was read already.
pub(super) fn judge(
    first: Vec<u8>,
    rest: impl BufRead,
    beside: &Beside<'_>,
    options: &Options,
) -> io::Result<Report> {
    replay_jsonl::verify(Cursor::new(first).chain(rest), beside, options)
}

/// A receipt's bytes. Of one that is too large no more is read than shows it.
pub(super) fn receipt(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What the owner of a receipt that was not looked at should hear.
pub(super) fn note_receipt(replay: &Path, report: &mut Report) {
    if replay.parent().is_some_and(|folder| folder.join(RECEIPT).is_file()) {
        report.notes.push(format!(
            "{RECEIPT} lies beside it and was not looked at: give it with --receipt, or verify the folder"
        ));
    }
}
