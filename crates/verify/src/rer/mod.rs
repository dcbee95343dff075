//! RER artifacts: the seven checks (§7).
//!
//! A [`RerBatchReader`] walks the text once and hands out [`RerEventBatch`]es, which can be checked
//! apart from each other and in any order. [`RerBatchReader::into_report`] combines their findings with
//! the envelope and the signatures. [`verify`] does this in order on one thread; a command may check
//! the batches on all cores. Nothing of an event is kept once it is checked.
//!
//! | module | content |
//! |---|---|
//! | `batch_reader` | the walk over the text |
//! | `event_batch` | checks 1, 4 and 7 of a batch of events |
//! | `recovery` | signs that the recorder did not vouch for the end of the run |
//! | `verdict` | the remaining checks, the notes and the verdict |
//! | `audit` | the events compared with the envelope |
//! | [`authorization`] | the platform's signature of the envelope, judged by the keys at hand |
//! | [`bundle`] | bundles: an artifact with manifest, key and blobs |
//! | `view` | a verified artifact, for reading |

mod audit;
pub mod authorization;
mod batch_reader;
pub mod bundle;
mod event_batch;
mod recovery;
mod verdict;
mod view;

pub use batch_reader::{RerBatchReader, unreadable_report};
pub use event_batch::{RerBatchFindings, RerEventBatch, RerFindings};
pub use view::{ArtifactView, verify_or_err};

use reenact_formats::FormatId;
use reenact_formats::rer::{ARTIFACT_FILE, RerHead};
use reenact_json::SyntaxError;

use crate::check::CheckId;
use crate::checker::Checker;
use crate::{Keys, Options, Report};

/// Row of RER artifacts in the table of checkers. Of a bundle it verifies only the artifact inside.
pub(crate) static ARTIFACT: Checker = Checker {
    id: FormatId::Rer,
    document: |bytes, keys, options, workers| {
        verify_with(bytes, keys, options, |reader| workers.run_batches(reader))
    },
    members: |members, keys, options, workers| {
        let artifact = members.document(ARTIFACT_FILE).unwrap_or_default();
        verify_with(artifact, keys, options, |reader| workers.run_batches(reader))
    },
    broken_report: None,
};

/// Check 1: the document has the published shape.
pub const SCHEMA_VALID: CheckId = CheckId::new("schema_valid", "the document has the published shape");
/// Check 2: the envelope has the hash that the header carries.
pub const ENVELOPE_HASH: CheckId = CheckId::new("envelope_hash", "the envelope is the one that was hashed");
/// Check 3: the runtime's key signed the envelope.
pub const ENVELOPE_SIGNATURE: CheckId =
    CheckId::new("envelope_signature", "the envelope is signed by the runtime's key");
/// Check 4: every event has its hash, names the event before it, and comes after it in step order.
pub const EVENT_CHAIN: CheckId =
    CheckId::new("event_chain", "every event is intact and names the one before it");
/// Check 5: the header names the last event.
pub const LOG_HEAD: CheckId = CheckId::new("log_head", "the log ends with the event that the header names");
/// Check 6: the runtime's key signed the header, over recomputed hashes.
pub const RUNTIME_SIGNATURE: CheckId =
    CheckId::new("runtime_signature", "the header, over recomputed hashes, is signed by the runtime's key");
/// Check 7: every payload that is present has its hash.
pub const PAYLOAD_HASHES: CheckId =
    CheckId::new("payload_hashes", "every payload is the one that was hashed");

/// The seven checks in the order of the specification.
pub const CHECKS: [CheckId; 7] = [
    SCHEMA_VALID,
    ENVELOPE_HASH,
    ENVELOPE_SIGNATURE,
    EVENT_CHAIN,
    LOG_HEAD,
    RUNTIME_SIGNATURE,
    PAYLOAD_HASHES,
];

/// Runs the seven checks on bytes that should be an artifact, on the caller's thread.
///
/// All checks run; none is skipped because another one failed. Text that is not JSON fails all of them.
///
/// ```
/// use reenact_verify::{Keys, Options, rer};
///
/// let report = rer::verify(b"{}", &Keys::default(), &Options::default());
/// assert!(!report.pass());
/// ```
pub fn verify(bytes: &[u8], keys: &Keys, options: &Options) -> Report {
    verify_with(bytes, keys, options, check_in_order)
}

/// Runs the seven checks. `run` checks the batches of the reader, in any way that returns the findings
/// in the order of the batches.
pub fn verify_with<'a>(
    bytes: &'a [u8],
    keys: &Keys,
    options: &Options,
    run: impl FnOnce(&mut RerBatchReader<'a>) -> Result<RerFindings<'a>, SyntaxError>,
) -> Report {
    let mut reader = match RerBatchReader::open(bytes, options) {
        Ok(reader) => reader,
        Err(error) => return unreadable_report(bytes, &RerHead::default(), &error),
    };
    match run(&mut reader) {
        Ok(findings) => reader.into_report(findings, keys),
        Err(error) => unreadable_report(bytes, reader.head(), &error.into()),
    }
}

/// Checks the batches of a reader one after the other.
///
/// # Errors
/// Returns the syntax error that ended the reading; nothing of the document counts then.
pub fn check_in_order<'a>(reader: &mut RerBatchReader<'a>) -> Result<RerFindings<'a>, SyntaxError> {
    let mut findings = RerFindings::default();
    while let Some(job) = reader.next_batch()? {
        findings.append(job.check());
    }
    Ok(findings)
}
