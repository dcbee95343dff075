//! The verdict on a session: its members, what was found of its interactions, its hash.

use core::fmt;

use reenact_formats::model_io::session::ReadError;
use reenact_formats::model_io::{Head, LARGEST_TOTAL, MOST_INTERACTIONS, VERSION, content_hash};
use reenact_json::{Kind, Shown, Value};

use super::job::Finding;
use super::spelling::{text_of, type_of};
use super::survey::Survey;
use super::violation::{Place, Violations};
use super::{CHECKS, MI1, MI2, MI3, MI4, MI11, PARSE, SCHEMA};
use crate::Report;
use crate::report::NOTHING_TO_CHECK;

/// The reason of checks that are not reached.
const NOT_REACHED: &str = "not evaluated: see SCHEMA";

/// The members that must be there, and whether they are. Null is there.
fn required(head: &Head<'_>) -> [(&'static str, bool); 5] {
    [
        ("model_io_schema_version", head.model_io_schema_version.is_some()),
        ("adapter_id", head.adapter_id.is_some()),
        ("model_id", head.model_id.is_some()),
        ("mode", head.mode.is_some()),
        ("interactions", head.interactions.is_some()),
    ]
}

/// Whether SCHEMA holds, so that the rules after it have something to ask about.
pub(super) fn has_shape(head: &Head<'_>) -> bool {
    required(head).iter().all(|(_, is_there)| *is_there) && head.interactions == Some(Kind::Array)
}

/// Judges what is left and writes the report.
pub(super) fn conclude(survey: Survey<'_>, findings: Vec<Finding>) -> Report {
    let Survey { head, count, violations: found, mut responses, metrics, .. } = survey;
    let mut report = Report::new(format(&head), &CHECKS);
    let mut violations = Violations::default();
    version(&head, &mut violations);
    if !has_shape(&head) {
        shape(&head, &mut violations);
        return stopped(report, violations, 1, NOT_REACHED);
    }
    names(&head, &mut violations);
    if count > MOST_INTERACTIONS {
        violations.push(MI4, Place::Member("interactions"), || {
            format!("interactions length ({count}) exceeds limit ({MOST_INTERACTIONS})")
        });
    }
    violations.absorb(found);
    let mut core = None;
    for finding in findings {
        responses.absorb(finding.responses);
        core = finding.core.or(core);
    }
    violations.absorb(responses.violations);
    if responses.bytes > LARGEST_TOTAL {
        violations.push(MI11, Place::Member("interactions"), || {
            format!("total response bytes ({}) exceeds limit ({LARGEST_TOTAL})", responses.bytes)
        });
    }
    if violations.is_empty()
        && let Some(Ok(digest)) = core
    {
        report.digests.push(("model_io_hash", content_hash(&digest)));
    }
    report.notes.extend(other_major(&head));
    report.notes.extend(metrics.notes(&head));
    let unlisted = violations.unlisted();
    if unlisted > 0 {
        report.notes.push(format!("{unlisted} more violations were counted, but are not listed"));
    }
    list(&mut report, violations);
    report.verdict = verdict(&report, count);
    report
}

/// The report on a text that cannot be read as a session.
pub(super) fn unreadable(bytes: &[u8], error: &ReadError) -> Report {
    let report = Report::new("model-io/?".into(), &CHECKS);
    let mut violations = Violations::default();
    match error {
        ReadError::NotAnObject { found } => {
            let found = match found {
                Kind::Null => "null",
                Kind::True | Kind::False => "boolean",
                Kind::Number => "number",
                Kind::String => "string",
                Kind::Array | Kind::Object => "object",
            };
            violations.push(SCHEMA, Place::Root, || format!("session must be object, got {found}"));
            return stopped(report, violations, 0, NOT_REACHED);
        }
        ReadError::Syntax(error) => {
            violations.push(PARSE, Place::Root, || format!("Invalid JSON: {}", error.describe(bytes)));
        }
        other => violations.push(PARSE, Place::Root, || other.to_string()),
    }
    stopped(report, violations, 0, NOTHING_TO_CHECK)
}

/// The report on a pack whose archive or folder cannot be read to its end. Nothing in it counts.
pub fn unreadable_pack(fault: &dyn fmt::Display) -> Report {
    let report = Report::new("model-io/?".into(), &CHECKS);
    let mut violations = Violations::default();
    violations.push(PARSE, Place::Root, || format!("the pack cannot be read: {fault}"));
    stopped(report, violations, 0, NOTHING_TO_CHECK)
}

/// Ends a report early: no check from `from` on holds, but SCHEMA has a reason of its own.
fn stopped(mut report: Report, violations: Violations, from: usize, why: &str) -> Report {
    list(&mut report, violations);
    for (name, _) in CHECKS.iter().skip(from).filter(|(name, _)| *name != SCHEMA) {
        report.fail(name, why);
    }
    report.sort_reasons();
    report.verdict = if why == NOTHING_TO_CHECK {
        "the document could not be read".into()
    } else {
        "this is not a session: what must be there is not".into()
    };
    report
}

/// Puts all violations into the report: as reasons for people, and as the list.
fn list(report: &mut Report, violations: Violations) {
    for (rule, reason) in violations.reasons() {
        match rule {
            // A text that is not JSON has no shape either. What is wrong with it is said in our own words.
            PARSE => report.fail(SCHEMA, reason),
            _ => report.fail(rule, Shown::whole(&reason)),
        }
    }
    report.sort_reasons();
    report.violations = Some(violations.into_list());
}

/// MI1.
fn version(head: &Head<'_>, violations: &mut Violations) {
    const NAME: &str = "model_io_schema_version";
    let place = Place::Member(NAME);
    let value = head.model_io_schema_version.filter(|value| !value.is_null());
    match value.map(|value| value.read_string(|text| (text.is_empty(), is_version(text)))) {
        None => violations.push(MI1, place, || format!("{NAME} is missing")),
        Some(None) => {
            violations.push(MI1, place, || format!("{NAME} must be string, got {}", type_of(value)));
        }
        Some(Some((true, _))) => violations.push(MI1, place, || format!("{NAME} cannot be empty")),
        Some(Some((_, false))) => {
            violations.push(MI1, place, || format!("{NAME} must be semver format, got {}", text_of(value)));
        }
        Some(Some((_, true))) => {}
    }
}

/// X.Y.Z, of ASCII digits and nothing else.
fn is_version(text: &[u8]) -> bool {
    let mut parts = text.split(|byte| *byte == b'.');
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    (0..3).all(|_| parts.next().is_some_and(is_number)) && parts.next().is_none()
}

/// SCHEMA.
fn shape(head: &Head<'_>, violations: &mut Violations) {
    for (name, is_there) in required(head) {
        if !is_there {
            violations.push(SCHEMA, Place::Member(name), || format!("required field {name} is missing"));
        }
    }
    if head.interactions.is_some_and(|kind| kind != Kind::Array) {
        violations.push(SCHEMA, Place::Member("interactions"), || "interactions must be an array".into());
    }
}

/// MI2 and MI3.
fn names(head: &Head<'_>, violations: &mut Violations) {
    for (name, value) in [("adapter_id", head.adapter_id), ("model_id", head.model_id)] {
        let is_named = |value: Value<'_>| value.kind() == Kind::String && !value.is_string("");
        if !value.is_some_and(is_named) {
            violations.push(MI2, Place::Member(name), || format!("{name} must be non-empty string"));
        }
    }
    if !head.mode.is_some_and(|mode| mode.is_string("record") || mode.is_string("replay")) {
        violations.push(MI3, Place::Member("mode"), || {
            format!("mode must be one of [record, replay], got {}", text_of(head.mode))
        });
    }
}

/// A note on a version whose rules nobody here knows (§6.1: another major may change them).
fn other_major(head: &Head<'_>) -> Option<String> {
    let text = head.model_io_schema_version?.string()?;
    let major = text.split('.').next()?.trim_start_matches('0');
    let known = VERSION.split('.').next()?;
    (is_version(text.as_bytes()) && major != known).then(|| {
        format!("schema version {} is of another major: judged by the rules of {VERSION}", Shown::new(&text))
    })
}

/// The format with its version as the session says it, right or wrong.
fn format(head: &Head<'_>) -> String {
    match head.model_io_schema_version.and_then(|version| version.string()) {
        Some(version) if (1..=20).contains(&version.len()) => format!("model-io/{}", Shown::new(&version)),
        _ => "model-io/?".into(),
    }
}

/// The last line, for people.
fn verdict(report: &Report, count: usize) -> String {
    if !report.pass() {
        return failed(report);
    }
    let interactions = if count == 1 { "1 interaction" } else { &format!("{count} interactions") };
    format!("intact: every response is the one that was hashed ({interactions}); nothing is signed")
}

/// The last line of a report with checks that do not hold.
pub(super) fn failed(report: &Report) -> String {
    let failed: Vec<&str> = report.failed().collect();
    let (count, verb) = (failed.len(), if failed.len() == 1 { "does" } else { "do" });
    format!("{count} of {} checks {verb} not hold: {}", report.checks.len(), failed.join(", "))
}
