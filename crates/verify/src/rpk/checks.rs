//! The six checks of an `.rpk` artifact.
//!
//! [`verify`] parses the head, lets `formats` walk the steps and compute their hashes, collects
//! [`RpkFindings`], and turns them into a report.

use reenact_formats::rpk::hash_walk::{RpkDigests, compute_digests};
use reenact_formats::rpk::{
    AGENT_COMMAND, HASH_PREFIX, RpkHead, RpkReadError, RpkStepItem, RpkStructureFault, SIGNATURE_PREFIX,
    hmac, structure, version,
};
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Shown, SyntaxError, Value};

use super::step_hash::{self, RpkHashFault, RpkHashRule, is_hash, shown_value};
use super::{CHECKS, CHECKSUM, PARSE, SCHEMA_VALID, SIGNATURE, STEP_HASHES, VERSION};
use crate::capped::Capped;
use crate::report::{NOTHING_TO_CHECK, RecordSigner, Report, shown_carried};
use crate::{Keys, MissingKey, Options, Trust, Verdict};

/// Runs the six checks on bytes that should be an `.rpk` artifact.
///
/// All checks run, except after an unknown version. The signature needs the shared key of `keys`;
/// without it, the check fails for signed documents and is void for others.
pub fn verify(bytes: &[u8], keys: &Keys, options: &Options) -> Report {
    match RpkHead::read(bytes, &options.limits) {
        Ok(head) => check_artifact(&head, keys),
        Err(error) => unreadable_report(bytes, &error),
    }
}

/// Runs all checks on a parsed head. Stops after the version check if the version is unknown.
fn check_artifact<'a>(head: &'a RpkHead<'a>, keys: &Keys) -> Report {
    let mut report = Report::new(format_name(head), &CHECKS);
    if let Err(fault) = version::check(head.version) {
        report.fail(VERSION, fault);
        for id in CHECKS.into_iter().filter(|id| ![PARSE, VERSION].contains(id)) {
            report.fail(id, NOT_EVALUATED);
        }
        let is_old = head.version.is_some_and(|version| version.is_string("0.9"));
        let advice = if is_old { ": `reenact migrate` makes 1.0 of 0.9" } else { "" };
        report.summary = format!("the version is not one that can be judged here{advice}");
        return report;
    }
    let mut findings = RpkFindings::default();
    structure::check_head(head, &mut |fault| findings.structure.push(fault));
    let sums =
        compute_digests(head, keys.hmac_key(), |index, item, digest| findings.add_step(index, &item, digest));
    finish_report(head, &sums, &mut findings, keys, &mut report);
    report
}

/// Reason of the checks that an unknown version prevents.
const NOT_EVALUATED: &str = "not evaluated: the version is not one that can be judged here";

/// Returns the report on text that is not an `.rpk` artifact: every check fails.
fn unreadable_report(bytes: &[u8], error: &RpkReadError) -> Report {
    let mut report = Report::new("rpk/?".into(), &CHECKS);
    let what = match error {
        RpkReadError::Syntax(error) => syntax_reason(error, bytes),
        other => other.to_string(),
    };
    report.fail(PARSE, what);
    for id in CHECKS.into_iter().filter(|id| *id != PARSE) {
        report.fail(id, NOTHING_TO_CHECK);
    }
    report.summary = "the document could not be read".into();
    report
}

/// Describes a syntax error with its line and column.
fn syntax_reason(error: &SyntaxError, bytes: &[u8]) -> String {
    format!("not JSON that can be trusted: {}", error.describe(bytes))
}

/// Returns the format with the version that the document states, or `rpk/?`.
fn format_name(head: &RpkHead<'_>) -> String {
    match head.version.and_then(|version| version.string()) {
        Some(text) if text.len() <= 20 && version::major(&text).is_some() => format!("rpk/{text}"),
        _ => "rpk/?".into(),
    }
}

/// Findings in the steps, collected during one walk.
#[derive(Default)]
struct RpkFindings<'a> {
    /// Number of steps.
    steps: usize,
    /// Deviations from the published shape.
    structure: Capped<RpkStructureFault>,
    /// Steps whose hash does not hold, by index.
    hashes: Capped<(usize, RpkHashFault)>,
    /// Indices of steps whose hash fits only the text of the specification, not its programs.
    spec_text_hashes: Capped<usize>,
    /// Indices of steps of the type that programs write and the specification does not list.
    agent_commands: Capped<usize>,
    /// Ids of well-formed steps with their indices, to find duplicates.
    ids: Vec<(Value<'a>, usize)>,
    /// Hasher that is reused for every step.
    hasher: Hasher,
}

impl<'a> RpkFindings<'a> {
    /// Checks one step and adds its findings. `digest` is the hash that the programs of the format
    /// compute.
    fn add_step(&mut self, index: usize, item: &RpkStepItem<'a>, digest: Result<Digest, CanonicalFault>) {
        self.steps += 1;
        let before = self.structure.count();
        structure::check_step(index, item, &mut |fault| self.structure.push(fault));
        let RpkStepItem::Step(step) = item else {
            return self.hashes.push((index, RpkHashFault::NotAStep));
        };
        if step.step_type.is_some_and(|found| found.is_string(AGENT_COMMAND)) {
            self.agent_commands.push(index);
        }
        if let Some(id) = step.id.filter(|_| self.structure.count() == before) {
            self.ids.push((id, index));
        }
        match step_hash::compare(step, digest, &mut self.hasher) {
            Ok(RpkHashRule::Programs) => {}
            Ok(RpkHashRule::SpecificationText) => self.spec_text_hashes.push(index),
            Err(fault) => self.hashes.push((index, fault)),
        }
    }

    /// Returns pairs of steps with the same id: the later index, then the first.
    fn repeated_ids(&mut self) -> Capped<(usize, usize)> {
        let mut ids: Vec<_> =
            self.ids.drain(..).filter_map(|(id, index)| Some((id.string_bytes()?, index))).collect();
        ids.sort();
        let mut found: Vec<(usize, usize)> = Vec::new();
        for same in ids.chunk_by(|(a, _), (b, _)| a == b).filter(|same| same.len() > 1) {
            found.extend(same.iter().skip(1).map(|(_, index)| (*index, same[0].1)));
        }
        found.sort_unstable();
        let mut capped = Capped::default();
        found.into_iter().for_each(|pair| capped.push(pair));
        capped
    }
}

/// Turns the findings into reasons, checks checksum and signature, and writes the verdict.
fn finish_report<'a>(
    head: &RpkHead<'a>,
    sums: &RpkDigests,
    findings: &mut RpkFindings<'a>,
    keys: &Keys,
    report: &mut Report,
) {
    for line in findings.structure.lines(ToString::to_string) {
        report.fail(SCHEMA_VALID, line);
    }
    match &sums.checksum {
        Ok(computed) if is_hash(head.checksum, HASH_PREFIX, computed) => {}
        Ok(computed) => {
            let carried = shown_value(head.checksum);
            report.fail(CHECKSUM, format!("checksum is {carried}, recomputed {HASH_PREFIX}{computed}"));
        }
        Err(fault) => report.fail(CHECKSUM, format!("it cannot be recomputed: {fault}")),
    }
    for line in findings.hashes.lines(|(index, fault)| format!("step {index}: {fault}")) {
        report.fail(STEP_HASHES, line);
    }
    if head.run_members.steps.is_none_or(|steps| steps.kind() != reenact_json::ValueKind::Array) {
        report.fail(STEP_HASHES, "there is no list of steps to check");
    }
    check_signature(head, sums, keys, report);
    add_notes(head, sums, findings, report);
    report.summary = summary(report, findings.steps);
}

/// Check 6. An unsigned document has nothing to check; a signature that cannot be checked fails.
fn check_signature(head: &RpkHead<'_>, sums: &RpkDigests, keys: &Keys, report: &mut Report) {
    let Some(signature) = head.signature else {
        report.mark_void(SIGNATURE);
        if keys.hmac_key().is_some() {
            report.notes.push("a shared key was given, but the document is not signed".into());
        }
        return;
    };
    let member = |name| signature.member(name);
    let key_id = member("key_id").and_then(|id| id.string());
    let algorithm = member("algorithm");
    let fault = if !algorithm.is_some_and(|found| found.is_string(hmac::ALGORITHM)) {
        Some(format!("the algorithm is {}; only {} can be checked", shown_value(algorithm), hmac::ALGORITHM))
    } else if keys.hmac_key().is_none() {
        let named = key_id.as_deref().map_or(String::new(), |id| format!(" \"{}\"", shown_carried(id)));
        report.missing_key =
            Some(MissingKey { wanted: format!("the shared key{named}"), checks: vec![SIGNATURE] });
        Some(format!("no key to check it with: give the shared key{named} with --hmac-key-file"))
    } else {
        match (&sums.checksum, sums.hmac) {
            (Ok(_), Some(code)) if is_hash(member("value"), SIGNATURE_PREFIX, &code) => None,
            (Ok(_), _) => Some("it is not one of the given key over this document".into()),
            (Err(fault), _) => Some(format!("the signed text cannot be recomputed: {fault}")),
        }
    };
    let trust = if fault.is_none() { Trust::Supplied } else { Trust::Unknown };
    report.signer = Some(RecordSigner { key_id: key_id.as_deref().map(shown_carried), trust, label: None });
    if let Some(fault) = fault {
        report.fail(SIGNATURE, fault);
    }
}

/// Adds the notes: masked values, contradicting run ids, duplicate step ids, unusual hashes and types,
/// members outside the checksum, and respelled values.
fn add_notes(head: &RpkHead<'_>, sums: &RpkDigests, findings: &mut RpkFindings<'_>, report: &mut Report) {
    let text = |value: Option<Value<'_>>, name: &str| Some(shown_carried(&value?.member(name)?.string()?));
    if head.is_bundle() {
        let profile = text(head.metadata, "redaction_profile").unwrap_or_else(|| "unnamed".into());
        let policy = text(head.metadata, "redaction_policy_version").unwrap_or_else(|| "unknown".into());
        report.notes.push(format!(
            "this is a bundle: values were masked before it was handed on (profile {profile}, policy {policy})"
        ));
    }
    let run_id = head.metadata.and_then(|metadata| metadata.member("run_id")).and_then(|id| id.string());
    if let (Some(outer), Some(inner)) = (run_id, head.run_members.id.and_then(|id| id.string()))
        && outer != inner
    {
        let (outer, inner) = (shown_carried(&outer), shown_carried(&inner));
        report.notes.push(format!("metadata.run_id is {outer}, but the run's own id is {inner}"));
    }
    let repeated = findings.repeated_ids();
    report
        .notes
        .extend(repeated.lines(|(later, first)| format!("step {later} bears the same id as step {first}")));
    let by_text = |index: &usize| {
        format!(
            "step {index}: hash fits the text of the specification (volatile members dropped from metadata alone)"
        )
    };
    report.notes.extend(findings.spec_text_hashes.lines(by_text));
    let command = |index: &usize| {
        format!(
            "step {index}: its type is {AGENT_COMMAND}, which programs write and the specification does not list"
        )
    };
    report.notes.extend(findings.agent_commands.lines(command));
    if let Some(name) = head.unknown_member {
        let name = name.string().unwrap_or_default();
        report.notes.push(format!(
            "the member \"{}\" stands beside what the checksum covers: anyone could have added it",
            Shown::new(&name)
        ));
    }
    if head.signature.is_some() {
        report.notes.push("signature.key_id is covered by no signature: it is only a label".into());
    }
    if sums.is_respelled {
        report.notes.push(
            "values are not spelled as they are hashed (paths, times, line ends, floats, order): what was checked is what they \
             stand for"
                .into(),
        );
    }
}

/// Returns the last line of the report, for people.
fn summary(report: &Report, steps: usize) -> String {
    if let (Verdict::Unproven, Some(key)) = (report.verdict(), &report.missing_key) {
        let request = key.request("--hmac-key-file");
        return format!(
            "the hashes hold, but the signature was not checked, because no key was given: {request}"
        );
    }
    if let Some(failure) = report.failure_summary() {
        return failure;
    }
    let steps = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
    match report.check(SIGNATURE) {
        Some(_) => format!("intact, and signed with the key that you supplied ({steps})"),
        None => format!("intact, but not signed: whoever changed it could have summed it anew ({steps})"),
    }
}
