//! The verdict on an `.rpk` artifact.

use core::fmt;

use reenact_formats::rpk::survey::{Sums, survey};
use reenact_formats::rpk::{
    AGENT_COMMAND, HASH_PREFIX, Head, Item, ReadError, SIGNATURE_PREFIX, StepView, StructureFault, hmac,
    structure, version,
};
use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Shown, SyntaxError, Value};

use super::{CHECKS, CHECKSUM, PARSE, SCHEMA_VALID, SIGNATURE, STEP_HASHES, VERSION};
use crate::capped::Capped;
use crate::report::{NOTHING_TO_CHECK, Report, Signer, carried};
use crate::{Keys, Options, Trust};

/// Runs the six checks on bytes that should be an artifact.
pub fn verify(bytes: &[u8], keys: &Keys, options: &Options) -> Report {
    match Head::read(bytes, &options.limits) {
        Ok(head) => judge(&head, keys),
        Err(error) => unreadable(bytes, &error),
    }
}

fn judge<'a>(head: &'a Head<'a>, keys: &Keys) -> Report {
    let mut report = Report::new(format(head), &CHECKS);
    if let Err(fault) = version::check(head.version) {
        report.fail(VERSION, fault);
        for (name, _) in CHECKS.iter().filter(|(name, _)| ![PARSE, VERSION].contains(name)) {
            report.fail(name, NOT_EVALUATED);
        }
        let is_old = head.version.is_some_and(|version| version.is_string("0.9"));
        let advice = if is_old { ": `reenact migrate` makes 1.0 of 0.9" } else { "" };
        report.verdict = format!("the version is not one that can be judged here{advice}");
        return report;
    }
    let mut findings = Findings::default();
    structure::head(head, &mut |fault| findings.structure.push(fault));
    let sums = survey(head, keys.hmac(), |index, item, digest| findings.step(index, &item, digest));
    conclude(head, &sums, &mut findings, keys, &mut report);
    report
}

/// The reason of checks that no one can make of another major.
const NOT_EVALUATED: &str = "not evaluated: the version is not one that can be judged here";

/// The report on a text that cannot be read as an artifact.
fn unreadable(bytes: &[u8], error: &ReadError) -> Report {
    let mut report = Report::new("rpk/?".into(), &CHECKS);
    let what = match error {
        ReadError::Syntax(error) => described(error, bytes),
        other => other.to_string(),
    };
    report.fail(PARSE, what);
    for (name, _) in CHECKS.iter().filter(|(name, _)| *name != PARSE) {
        report.fail(name, NOTHING_TO_CHECK);
    }
    report.verdict = "the document could not be read".into();
    report
}

fn described(error: &SyntaxError, bytes: &[u8]) -> String {
    format!("not JSON that can be trusted: {}", error.describe(bytes))
}

/// The format with its version as it says it, right or wrong.
fn format(head: &Head<'_>) -> String {
    match head.version.and_then(|version| version.string()) {
        Some(text) if text.len() <= 20 && version::major(&text).is_some() => format!("rpk/{text}"),
        _ => "rpk/?".into(),
    }
}

/// What was found in the steps.
#[derive(Default)]
struct Findings<'a> {
    steps: usize,
    structure: Capped<StructureFault>,
    hashes: Capped<(usize, HashFault)>,
    /// Steps whose hash fits the specification's text only.
    by_text: Capped<usize>,
    /// Steps of the eighth type.
    agent_commands: Capped<usize>,
    /// The ids of sound steps, to find those that come twice.
    ids: Vec<(Value<'a>, usize)>,
    hasher: Hasher,
}

/// Why the hash of a step does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HashFault {
    NotAStep,
    Uncomputable(CanonicalFault),
    Hash { carried: String, computed: Digest },
}

impl fmt::Display for HashFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAStep => write!(f, "is not an object, so it has no hash"),
            Self::Uncomputable(fault) => write!(f, "hash cannot be recomputed: {fault}"),
            Self::Hash { carried, computed } => {
                write!(f, "hash is {carried}, recomputed {HASH_PREFIX}{computed}")
            }
        }
    }
}

impl<'a> Findings<'a> {
    fn step(&mut self, index: usize, item: &Item<'a>, digest: Result<Digest, CanonicalFault>) {
        self.steps += 1;
        let before = self.structure.count();
        structure::step(index, item, &mut |fault| self.structure.push(fault));
        let Item::Step(step) = item else {
            return self.hashes.push((index, HashFault::NotAStep));
        };
        if step.step_type.is_some_and(|found| found.is_string(AGENT_COMMAND)) {
            self.agent_commands.push(index);
        }
        if let Some(id) = step.id.filter(|_| self.structure.count() == before) {
            self.ids.push((id, index));
        }
        match digest {
            Ok(computed) if is_hash(step.hash, HASH_PREFIX, &computed) => {}
            Ok(_) if self.fits_the_text(step) => self.by_text.push(index),
            Ok(computed) => {
                let carried = spelled(step.hash);
                self.hashes.push((index, HashFault::Hash { carried, computed }));
            }
            Err(fault) => self.hashes.push((index, HashFault::Uncomputable(fault))),
        }
    }

    /// Whether the hash is what the specification's text says and no program computes.
    fn fits_the_text(&mut self, step: &StepView<'_>) -> bool {
        let computed = step.digest_by_text(&mut self.hasher);
        computed.is_ok_and(|computed| is_hash(step.hash, HASH_PREFIX, &computed))
    }

    /// The pairs of steps that bear the same id, the later one first.
    fn repeated(&mut self) -> Capped<(usize, usize)> {
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

/// Whether a carried value is a prefix and the hexadecimal form of a digest, in constant time.
fn is_hash(value: Option<Value<'_>>, prefix: &str, digest: &Digest) -> bool {
    let is_it = |text: &[u8]| text.strip_prefix(prefix.as_bytes()).is_some_and(|hex| digest.is_hex(hex));
    value.and_then(|value| value.read_string(is_it)) == Some(true)
}

/// A carried value for a reason: a string as it reads, anything else by its kind.
fn spelled(value: Option<Value<'_>>) -> String {
    match value {
        None => "missing".into(),
        Some(value) => match value.string() {
            Some(text) if text.is_empty() => "an empty string".into(),
            Some(text) => carried(&text),
            None => value.kind().name().into(),
        },
    }
}

fn conclude<'a>(head: &Head<'a>, sums: &Sums, findings: &mut Findings<'a>, keys: &Keys, report: &mut Report) {
    for line in findings.structure.lines(ToString::to_string) {
        report.fail(SCHEMA_VALID, line);
    }
    match &sums.checksum {
        Ok(computed) if is_hash(head.checksum, HASH_PREFIX, computed) => {}
        Ok(computed) => {
            let carried = spelled(head.checksum);
            report.fail(CHECKSUM, format!("checksum is {carried}, recomputed {HASH_PREFIX}{computed}"));
        }
        Err(fault) => report.fail(CHECKSUM, format!("it cannot be recomputed: {fault}")),
    }
    for line in findings.hashes.lines(|(index, fault)| format!("step {index}: {fault}")) {
        report.fail(STEP_HASHES, line);
    }
    if head.of_run.steps.is_none_or(|steps| steps.kind() != reenact_json::Kind::Array) {
        report.fail(STEP_HASHES, "there is no list of steps to check");
    }
    signature(head, sums, keys, report);
    notes(head, sums, findings, report);
    report.verdict = verdict(report, findings.steps);
}

/// The last check. What is not signed has nothing to check; what is signed and cannot be checked does not hold.
fn signature(head: &Head<'_>, sums: &Sums, keys: &Keys, report: &mut Report) {
    let Some(signature) = head.signature else {
        for check in report.checks.iter_mut().filter(|check| check.name == SIGNATURE) {
            check.holds = None;
        }
        if keys.hmac().is_some() {
            report.notes.push("a shared key was given, but the document is not signed".into());
        }
        return;
    };
    let member = |name| signature.member(name);
    let key_id = member("key_id").and_then(|id| id.string());
    let algorithm = member("algorithm");
    let fault = if !algorithm.is_some_and(|found| found.is_string(hmac::ALGORITHM)) {
        Some(format!("the algorithm is {}; only {} can be checked", spelled(algorithm), hmac::ALGORITHM))
    } else if keys.hmac().is_none() {
        let named = key_id.as_deref().map_or(String::new(), |id| format!(" \"{}\"", carried(id)));
        Some(format!("no key to check it with: give the shared key{named} with --hmac-key-file"))
    } else {
        match (&sums.checksum, sums.code) {
            (Ok(_), Some(code)) if is_hash(member("value"), SIGNATURE_PREFIX, &code) => None,
            (Ok(_), _) => Some("it is not one of the given key over this document".into()),
            (Err(fault), _) => Some(format!("the signed text cannot be recomputed: {fault}")),
        }
    };
    let trust = if fault.is_none() { Trust::Supplied } else { Trust::Unknown };
    report.signer = Some(Signer { key_id: key_id.as_deref().map(carried), trust, label: None });
    if let Some(fault) = fault {
        report.fail(SIGNATURE, fault);
    }
}

/// What a reader should know beside the checks.
fn notes(head: &Head<'_>, sums: &Sums, findings: &mut Findings<'_>, report: &mut Report) {
    let text = |value: Option<Value<'_>>, name: &str| Some(carried(&value?.member(name)?.string()?));
    if head.is_bundle() {
        let profile = text(head.metadata, "redaction_profile").unwrap_or_else(|| "unnamed".into());
        let policy = text(head.metadata, "redaction_policy_version").unwrap_or_else(|| "unknown".into());
        report.notes.push(format!(
            "this is a bundle: values were masked before it was handed on (profile {profile}, policy {policy})"
        ));
    }
    let run_id = head.metadata.and_then(|metadata| metadata.member("run_id")).and_then(|id| id.string());
    if let (Some(outer), Some(inner)) = (run_id, head.of_run.id.and_then(|id| id.string()))
        && outer != inner
    {
        let (outer, inner) = (carried(&outer), carried(&inner));
        report.notes.push(format!("metadata.run_id is {outer}, but the run's own id is {inner}"));
    }
    let repeated = findings.repeated();
    report
        .notes
        .extend(repeated.lines(|(later, first)| format!("step {later} bears the same id as step {first}")));
    let by_text = |index: &usize| {
        format!(
            "step {index}: hash fits the text of the specification (volatile members dropped from metadata alone)"
        )
    };
    report.notes.extend(findings.by_text.lines(by_text));
    let command = |index: &usize| {
        format!(
            "step {index}: its type is {AGENT_COMMAND}, which programs write and the specification does not list"
        )
    };
    report.notes.extend(findings.agent_commands.lines(command));
    if let Some(name) = head.unknown {
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

/// The last line, for people.
fn verdict(report: &Report, steps: usize) -> String {
    let failed: Vec<&str> = report.failed().collect();
    if !failed.is_empty() {
        let (count, verb) = (failed.len(), if failed.len() == 1 { "does" } else { "do" });
        return format!("{count} of {} checks {verb} not hold: {}", CHECKS.len(), failed.join(", "));
    }
    let steps = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
    match report.check(SIGNATURE) {
        Some(_) => format!("intact, and signed with the key that you supplied ({steps})"),
        None => format!("intact, but not signed: whoever changed it could have summed it anew ({steps})"),
    }
}
