//! Model IO sessions: the invariants MI1 to MI12 and the shape that they presuppose (§5).
//!
//! A [`Survey`] walks the text once and judges all but the responses. These, and the hash of the session, are
//! [`Job`]s that can run apart from each other and in any order; [`Survey::conclude`] puts their findings together. In order on
//! one thread, that is [`verify`]; a command may run the jobs on all cores.
//!
//! Violations are those of the reference implementation: the same rules, paths, messages and order.

mod job;
mod judge;
pub mod pack;
mod session;
mod spelling;
mod stats;
mod survey;
mod violation;

pub use job::{Finding, Job};
pub use judge::unreadable_pack;
pub use session::{Session, strict};
pub use survey::Survey;
pub use violation::Violation;

use reenact_formats::FormatId;
use reenact_formats::model_io::pack::SESSION;

use crate::checker::{Broken, Checker};
use crate::{Options, Report};

/// What judges Model IO: sessions, and packs of them.
pub(crate) static CHECKER: Checker = Checker {
    id: FormatId::ModelIo,
    document: |bytes, _, options, workers| verify_with(bytes, options, |jobs| workers.session(jobs)),
    members: |members, _, options, workers| match members.format() {
        Some(FormatId::ModelIo) => pack::verify_with(members, options, |jobs| workers.session(jobs)),
        _ => verify(members.document(SESSION).unwrap_or_default(), options),
    },
    broken: Some(|broken| match broken {
        Broken::Archive(error) => unreadable_pack(error),
        #[cfg(feature = "disk")]
        Broken::Folder(fault) => unreadable_pack(fault),
    }),
};

/// The schema version.
pub const MI1: &str = "MI1";
/// Adapter and model.
pub const MI2: &str = "MI2";
/// The mode.
pub const MI3: &str = "MI3";
/// How many interactions.
pub const MI4: &str = "MI4";
/// Their indices.
pub const MI5: &str = "MI5";
/// The prompts' hashes.
pub const MI6: &str = "MI6";
/// The responses' hashes.
pub const MI7: &str = "MI7";
/// Duplicates.
pub const MI8: &str = "MI8";
/// The order.
pub const MI9: &str = "MI9";
/// The order of violations.
pub const MI10: &str = "MI10";
/// Sizes.
pub const MI11: &str = "MI11";
/// What the hash covers.
pub const MI12: &str = "MI12";
/// What must be there before anything else can be asked.
pub const SCHEMA: &str = "SCHEMA";
/// The rule of a text that is not JSON. It is no check of its own: none of the others holds.
pub const PARSE: &str = "PARSE";

/// All of them, with what each asks.
pub const CHECKS: [(&str, &str); 13] = [
    (MI1, "the schema version is of the form X.Y.Z"),
    (MI2, "adapter and model are named"),
    (MI3, "the mode is record or replay"),
    (MI4, "there are at most 10000 interactions"),
    (MI5, "interactions are numbered 0, 1, 2, …"),
    (MI6, "every prompt hash is a SHA-256"),
    (MI7, "every response is the one that was hashed"),
    (MI8, "no prompt stands twice under one index"),
    (MI9, "interactions stand in the order of their indices"),
    (MI10, "violations are listed in one order"),
    (MI11, "responses have at most 1000000 bytes each, 100000000 together"),
    (MI12, "the session's hash covers no time and no metric"),
    (SCHEMA, "it is an object with the five required members"),
];

/// Judges bytes that should be a session, on one thread.
pub fn verify(bytes: &[u8], options: &Options) -> Report {
    verify_with(bytes, options, in_order)
}

/// Judges bytes that should be a session; `run` runs the jobs, in any way that gives their findings in order.
pub fn verify_with(
    bytes: &[u8],
    options: &Options,
    run: impl FnOnce(&[Job<'_, '_>]) -> Vec<Finding>,
) -> Report {
    match Survey::read(bytes, options) {
        Ok(survey) => {
            let findings = run(&survey.jobs());
            survey.conclude(findings)
        }
        Err(error) => judge::unreadable(bytes, &error),
    }
}

/// Runs the jobs of a survey one after the other.
pub fn in_order(jobs: &[Job<'_, '_>]) -> Vec<Finding> {
    jobs.iter().map(Job::run).collect()
}
