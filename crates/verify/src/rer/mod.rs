//! RER artifacts: the seven checks (§7).
//!
//! A [`Survey`] walks the text once and hands out [`Job`]s, batches of events that can be judged apart from each other
//! and in any order; [`Survey::conclude`] puts their findings together with the envelope and the signatures. In order on
//! one thread, that is [`verify`]; a command may run the jobs on all cores. Nothing is kept of an event once
//! it is judged.

mod audit;
pub mod bundle;
mod job;
mod judge;
mod survey;
mod verified;

pub use job::{Finding, Findings, Job};
pub use survey::{Survey, unreadable};
pub use verified::{Artifact, strict};

use reenact_formats::FormatId;
use reenact_formats::rer::{ARTIFACT_FILE, Head};
use reenact_json::SyntaxError;

use crate::checker::Checker;
use crate::{Keys, Options, Report};

/// What judges artifacts. Of a bundle it judges the artifact inside.
pub(crate) static ARTIFACT: Checker = Checker {
    id: FormatId::Rer,
    document: |bytes, keys, options, workers| {
        verify_with(bytes, keys, options, |survey| workers.survey(survey))
    },
    members: |members, keys, options, workers| {
        let artifact = members.document(ARTIFACT_FILE).unwrap_or_default();
        verify_with(artifact, keys, options, |survey| workers.survey(survey))
    },
    broken: None,
};

/// Check 1.
pub const SCHEMA_VALID: &str = "schema_valid";
/// Check 2.
pub const ENVELOPE_HASH: &str = "envelope_hash";
/// Check 3.
pub const ENVELOPE_SIGNATURE: &str = "envelope_signature";
/// Check 4.
pub const EVENT_CHAIN: &str = "event_chain";
/// Check 5.
pub const LOG_HEAD: &str = "log_head";
/// Check 6.
pub const RUNTIME_SIGNATURE: &str = "runtime_signature";
/// Check 7.
pub const PAYLOAD_HASHES: &str = "payload_hashes";

/// The seven, in the order of the specification, with what each asks.
pub const CHECKS: [(&str, &str); 7] = [
    (SCHEMA_VALID, "the document has the published shape"),
    (ENVELOPE_HASH, "the envelope is the one that was hashed"),
    (ENVELOPE_SIGNATURE, "the envelope is signed by the runtime's key"),
    (EVENT_CHAIN, "every event is intact and names the one before it"),
    (LOG_HEAD, "the log ends with the event that the header names"),
    (RUNTIME_SIGNATURE, "the header, over recomputed hashes, is signed by the runtime's key"),
    (PAYLOAD_HASHES, "every payload is the one that was hashed"),
];

/// Runs the seven checks on bytes that should be an artifact, the events in order.
pub fn verify(bytes: &[u8], keys: &Keys, options: &Options) -> Report {
    verify_with(bytes, keys, options, in_order)
}

/// Runs the seven checks; `run` runs the jobs of the survey, in any way that gives their findings in order.
pub fn verify_with<'a>(
    bytes: &'a [u8],
    keys: &Keys,
    options: &Options,
    run: impl FnOnce(&mut Survey<'a>) -> Result<Findings<'a>, SyntaxError>,
) -> Report {
    let mut survey = match Survey::open(bytes, options) {
        Ok(survey) => survey,
        Err(error) => return unreadable(bytes, &Head::default(), &error),
    };
    match run(&mut survey) {
        Ok(findings) => survey.conclude(findings, keys),
        Err(error) => unreadable(bytes, survey.head(), &error.into()),
    }
}

/// Runs the jobs of a survey one after the other.
pub fn in_order<'a>(survey: &mut Survey<'a>) -> Result<Findings<'a>, SyntaxError> {
    let mut findings = Findings::default();
    while let Some(job) = survey.next_job()? {
        findings.absorb(job.run());
    }
    Ok(findings)
}
