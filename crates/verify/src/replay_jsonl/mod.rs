//! REPLAY.jsonl v1, with its RECEIPT.json: seven checks.
//!
//! The file is read once, line by line, and every line is accounted for: what cannot be read, what breaks a rule and
//! what is not known are three different things here. Memory holds one line, a few bytes for each call, and the
//! receipt; what it does not hold is the file.

mod against;
mod code;
mod finding;
mod judge;
mod pair;
mod replay;

use std::io::{self, BufRead};

pub use replay::{Replay, strict};

use reenact_formats::FormatId;

use crate::checker::{Checker, no_members};
use crate::{Options, Report};
use judge::Judge;

/// What judges REPLAY.jsonl.
pub(crate) static CHECKER: Checker = Checker {
    id: FormatId::ReplayJsonl,
    document: |bytes, _, options, _| verify_bytes(bytes, &Beside::default(), options),
    members: no_members,
    broken: None,
};

/// Check 1.
pub const LINES: &str = "lines";
/// Check 2.
pub const HEADER: &str = "header";
/// Check 3.
pub const LIFECYCLE: &str = "lifecycle";
/// Check 4.
pub const PAIRING: &str = "pairing";
/// Check 5.
pub const HASHES: &str = "hashes";
/// Check 6.
pub const TOTALS: &str = "totals";
/// Check 7.
pub const RECEIPT: &str = "receipt";

/// The seven, with what each asks.
pub const CHECKS: [(&str, &str); 7] = [
    (LINES, "every line is an event of the published shape"),
    (HEADER, "the first line is a header of version 1"),
    (LIFECYCLE, "it is one session, from its start to its end"),
    (PAIRING, "every call has one result, and every result its call"),
    (HASHES, "every hash is that of the value beside it"),
    (TOTALS, "the totals are those of the events"),
    (RECEIPT, "the receipt says what the replay says"),
];

/// What to hold a replay against.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// The bytes of RECEIPT.json.
    pub receipt: Option<&'a [u8]>,
    /// Add the SHA-256 of the replay to the report.
    pub digest: bool,
}

/// Judges what `reader` gives, to its end. Fails only where reading does.
pub fn verify(reader: impl BufRead, beside: &Beside<'_>, options: &Options) -> io::Result<Report> {
    Judge::new(beside, options).run(reader).map(|(report, _)| report)
}

/// Judges bytes.
pub fn verify_bytes(bytes: &[u8], beside: &Beside<'_>, options: &Options) -> Report {
    verify(bytes, beside, options).unwrap_or_else(|error| unread(&error))
}

/// The report on bytes in memory that could not be read, which does not happen.
fn unread(error: &io::Error) -> Report {
    let mut report = Report::new("replay-jsonl/?".into(), &CHECKS);
    CHECKS.iter().for_each(|(check, _)| report.fail(check, error));
    report
}
