//! REPLAY.jsonl v1, with its RECEIPT.json: seven checks.
//!
//! The file is read once, line by line, and every line is accounted for: unreadable lines, broken rules
//! and unknown events are three different results. Memory holds one line, a few bytes for each call,
//! and the receipt, but never the file. Start reading at [`verify`].
//!
//! | module | content |
//! |---|---|
//! | `verifier` | the walk over the lines, and the conclusion at the end of the file |
//! | `pairing` | calls and their results, by id |
//! | `receipt_check` | the comparison with the receipt |
//! | `code`, `findings` | fault codes, and the bounded list of faults |
//! | `view` | a verified replay, for reading |

mod code;
mod findings;
mod pairing;
mod receipt_check;
mod verifier;
mod view;

use std::io::{self, BufRead};

pub use view::{ReplayView, verify_or_err};

use reenact_formats::FormatId;

use crate::check::CheckId;
use crate::checker::{Checker, refuse_members};
use crate::{Options, Report};
use verifier::ReplayVerifier;

/// Row of REPLAY.jsonl in the table of checkers.
pub(crate) static CHECKER: Checker = Checker {
    id: FormatId::ReplayJsonl,
    document: |bytes, _, options, _| verify_bytes(bytes, &ReplayJsonlOptions::default(), options),
    members: refuse_members,
    broken_report: None,
};

/// Check 1: every line is an event of the published shape.
pub const LINES: CheckId = CheckId::new("lines", "every line is an event of the published shape");
/// Check 2: the first line is a header of version 1.
pub const HEADER: CheckId = CheckId::new("header", "the first line is a header of version 1");
/// Check 3: the file is one session, from its start to its end.
pub const LIFECYCLE: CheckId = CheckId::new("lifecycle", "it is one session, from its start to its end");
/// Check 4: every call has one result, and every result its call.
pub const PAIRING: CheckId = CheckId::new("pairing", "every call has one result, and every result its call");
/// Check 5: every hash is that of the value beside it.
pub const HASHES: CheckId = CheckId::new("hashes", "every hash is that of the value beside it");
/// Check 6: the stated totals are those of the events.
pub const TOTALS: CheckId = CheckId::new("totals", "the totals are those of the events");
/// Check 7: the receipt agrees with the replay. Void without a receipt.
pub const RECEIPT: CheckId = CheckId::new("receipt", "the receipt says what the replay says");

/// The seven checks.
pub const CHECKS: [CheckId; 7] = [LINES, HEADER, LIFECYCLE, PAIRING, HASHES, TOTALS, RECEIPT];

/// Options that only REPLAY.jsonl has.
///
/// They are separate from [`Options`] because a replay is verified while it is read: the receipt and
/// the wish for a digest must be known before the first line.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReplayJsonlOptions<'a> {
    /// Content of the RECEIPT.json to compare with.
    pub receipt: Option<&'a [u8]>,
    /// True to add the SHA-256 of the replay to the report.
    pub digest: bool,
}

/// Verifies a replay while reading it to its end.
///
/// # Errors
/// Fails only if the reader does. Faults of the replay are part of the report.
pub fn verify(
    reader: impl BufRead,
    replay_options: &ReplayJsonlOptions<'_>,
    options: &Options,
) -> io::Result<Report> {
    ReplayVerifier::new(replay_options, options).run(reader).map(|(report, _)| report)
}

/// Verifies a replay in memory.
///
/// ```
/// use reenact_verify::Options;
/// use reenact_verify::replay_jsonl::{ReplayJsonlOptions, verify_bytes};
///
/// let report = verify_bytes(b"not JSON\n", &ReplayJsonlOptions::default(), &Options::default());
/// assert!(!report.pass());
/// ```
pub fn verify_bytes(bytes: &[u8], replay_options: &ReplayJsonlOptions<'_>, options: &Options) -> Report {
    verify(bytes, replay_options, options).unwrap_or_else(|error| read_error_report(&error))
}

/// Returns the report on bytes in memory that could not be read, which does not happen.
fn read_error_report(error: &io::Error) -> Report {
    let mut report = Report::new("replay-jsonl/?".into(), &CHECKS);
    CHECKS.into_iter().for_each(|id| report.fail(id, error));
    report
}
