//! Model IO sessions: the invariants MI1 to MI12 and the shape that they presuppose (§5).
//!
//! A [`ModelIoScan`] walks the text once and checks everything but the responses. These, and the hash
//! of the session, become [`ModelIoJob`]s that can run apart from each other and in any order;
//! [`ModelIoScan::into_report`] combines their findings. [`verify`] does this in order on one thread; a
//! command may run the jobs on all cores.
//!
//! Violations are those of the reference implementation: the same rules, paths, messages and order.
//!
//! | module | content |
//! |---|---|
//! | `scan` | the walk over the text, with MI5, MI6, MI8 and MI9 |
//! | `job` | MI7 and MI11 of the responses, and the hash of the session |
//! | `verdict` | the remaining rules and the report |
//! | `violation` | the list of violations, in the order of MI10 |
//! | `stats` | the sums that a session states of itself |
//! | `js_text` | values in messages, converted to strings as ECMAScript does |
//! | [`pack`] | a run and its session in one folder or archive |
//! | `view` | a verified session, for reading |

mod job;
mod js_text;
pub mod pack;
mod scan;
mod stats;
mod verdict;
mod view;
mod violation;

pub use job::{ModelIoFindings, ModelIoJob};
pub use scan::ModelIoScan;
pub use verdict::unreadable_pack;
pub use view::{SessionView, verify_or_err};
pub use violation::Violation;

use reenact_formats::FormatId;
use reenact_formats::model_io::pack::SESSION_FILE;

use crate::check::CheckId;
use crate::checker::{BrokenContainer, Checker};
use crate::{Options, Report};

/// Row of Model IO in the table of checkers: sessions, and packs of them.
pub(crate) static CHECKER: Checker = Checker {
    id: FormatId::ModelIo,
    document: |bytes, _, options, workers| verify_with(bytes, options, |jobs| workers.run_jobs(jobs)),
    members: |members, _, options, workers| match members.format() {
        Some(FormatId::ModelIo) => pack::verify_with(members, options, |jobs| workers.run_jobs(jobs)),
        _ => verify(members.document(SESSION_FILE).unwrap_or_default(), options),
    },
    broken_report: Some(|broken| match broken {
        BrokenContainer::Archive(error) => unreadable_pack(error),
        #[cfg(feature = "disk")]
        BrokenContainer::Folder(fault) => unreadable_pack(fault),
    }),
};

/// Rule MI1: the schema version has the form X.Y.Z.
pub const MI1: CheckId = CheckId::new("MI1", "the schema version is of the form X.Y.Z");
/// Rule MI2: adapter and model are named.
pub const MI2: CheckId = CheckId::new("MI2", "adapter and model are named");
/// Rule MI3: the mode is `record` or `replay`.
pub const MI3: CheckId = CheckId::new("MI3", "the mode is record or replay");
/// Rule MI4: the number of interactions has a limit.
pub const MI4: CheckId = CheckId::new("MI4", "there are at most 10000 interactions");
/// Rule MI5: interactions are numbered from 0.
pub const MI5: CheckId = CheckId::new("MI5", "interactions are numbered 0, 1, 2, …");
/// Rule MI6: prompt hashes are SHA-256.
pub const MI6: CheckId = CheckId::new("MI6", "every prompt hash is a SHA-256");
/// Rule MI7: responses have their hashes.
pub const MI7: CheckId = CheckId::new("MI7", "every response is the one that was hashed");
/// Rule MI8: no prompt occurs twice under one index.
pub const MI8: CheckId = CheckId::new("MI8", "no prompt stands twice under one index");
/// Rule MI9: interactions are sorted by index.
pub const MI9: CheckId = CheckId::new("MI9", "interactions stand in the order of their indices");
/// Rule MI10: violations are listed in one order. It binds verifiers; no session can break it.
pub const MI10: CheckId = CheckId::new("MI10", "violations are listed in one order");
/// Rule MI11: responses have a largest size, each and together.
pub const MI11: CheckId =
    CheckId::new("MI11", "responses have at most 1000000 bytes each, 100000000 together");
/// Rule MI12: the hash of the session covers no time and no metric. It binds verifiers, too.
pub const MI12: CheckId = CheckId::new("MI12", "the session's hash covers no time and no metric");
/// Rule SCHEMA: the document is an object with the required members. The other rules presuppose it.
pub const SCHEMA: CheckId = CheckId::new("SCHEMA", "it is an object with the five required members");
/// Rule of the violation for text that is not JSON. There is no check of this name: all of them fail.
pub const PARSE: CheckId = CheckId::new("PARSE", "the text is JSON");

/// All checks.
pub const CHECKS: [CheckId; 13] = [MI1, MI2, MI3, MI4, MI5, MI6, MI7, MI8, MI9, MI10, MI11, MI12, SCHEMA];

/// Verifies bytes that should be a session, on the caller's thread.
///
/// ```
/// use reenact_verify::{Options, model_io};
///
/// let report = model_io::verify(b"{}", &Options::default());
/// assert!(!report.pass());
/// ```
pub fn verify(bytes: &[u8], options: &Options) -> Report {
    verify_with(bytes, options, run_in_order)
}

/// Verifies bytes that should be a session. `run` runs the jobs, in any way that returns their findings
/// in the order of the jobs.
pub fn verify_with(
    bytes: &[u8],
    options: &Options,
    run: impl FnOnce(&[ModelIoJob<'_, '_>]) -> Vec<ModelIoFindings>,
) -> Report {
    match ModelIoScan::read(bytes, options) {
        Ok(scan) => {
            let findings = run(&scan.jobs());
            scan.into_report(findings)
        }
        Err(error) => verdict::unreadable_report(bytes, &error),
    }
}

/// Runs jobs one after the other.
pub fn run_in_order(jobs: &[ModelIoJob<'_, '_>]) -> Vec<ModelIoFindings> {
    jobs.iter().map(ModelIoJob::run).collect()
}
