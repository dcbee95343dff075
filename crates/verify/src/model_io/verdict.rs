//! The remaining rules of a session, and its report.
//!
//! [`finish_report`] takes the scan and the findings of all jobs, adds MI1 to MI4, SCHEMA and the total
//! of MI11, then the notes and the verdict.

use core::fmt;

use reenact_formats::model_io::session::ModelIoReadError;
use reenact_formats::model_io::{
    MAX_INTERACTIONS, MAX_TOTAL_RESPONSE_BYTES, ModelIoHead, VERSION, content_hash,
};
use reenact_json::{Shown, Value, ValueKind};

use super::job::ModelIoFindings;
use super::js_text::{text_of, type_of};
use super::scan::ModelIoScan;
use super::violation::{ViolationPath, Violations};
use super::{CHECKS, MI1, MI2, MI3, MI4, MI11, PARSE, SCHEMA};
use crate::report::NOTHING_TO_CHECK;
use crate::{Report, ReportDetails};

/// Reason of the checks that a violation of SCHEMA prevents.
const NOT_REACHED: &str = "not evaluated: see SCHEMA";

/// Returns the required members, each with true if it is present. A member that is null is present.
fn required_members(head: &ModelIoHead<'_>) -> [(&'static str, bool); 5] {
    [
        ("model_io_schema_version", head.model_io_schema_version.is_some()),
        ("adapter_id", head.adapter_id.is_some()),
        ("model_id", head.model_id.is_some()),
        ("mode", head.mode.is_some()),
        ("interactions", head.interactions.is_some()),
    ]
}

/// Returns true if SCHEMA holds, so that the other rules can be evaluated.
pub(super) fn has_required_members(head: &ModelIoHead<'_>) -> bool {
    required_members(head).iter().all(|(_, is_there)| *is_there)
        && head.interactions == Some(ValueKind::Array)
}

/// Runs the checks that the scan and the jobs did not, and writes the report.
pub(super) fn finish_report(scan: ModelIoScan<'_>, findings: Vec<ModelIoFindings>) -> Report {
    let ModelIoScan { head, count, violations: found, mut responses, metrics, .. } = scan;
    let mut report = Report::new(format_name(&head), &CHECKS);
    let mut violations = Violations::default();
    check_version(&head, &mut violations);
    if !has_required_members(&head) {
        check_required_members(&head, &mut violations);
        return stopped_report(report, violations, 1, NOT_REACHED);
    }
    check_names(&head, &mut violations);
    if count > MAX_INTERACTIONS {
        violations.push(MI4, ViolationPath::Member("interactions"), || {
            format!("interactions length ({count}) exceeds limit ({MAX_INTERACTIONS})")
        });
    }
    violations.append(found);
    let mut core = None;
    for finding in findings {
        responses.append(finding.responses);
        core = finding.core.or(core);
    }
    violations.append(responses.violations);
    if responses.bytes > MAX_TOTAL_RESPONSE_BYTES {
        violations.push(MI11, ViolationPath::Member("interactions"), || {
            format!("total response bytes ({}) exceeds limit ({MAX_TOTAL_RESPONSE_BYTES})", responses.bytes)
        });
    }
    if violations.is_empty()
        && let Some(Ok(digest)) = core
    {
        report.digests.push(("model_io_hash", content_hash(&digest)));
    }
    report.notes.extend(other_major_note(&head));
    report.notes.extend(metrics.notes(&head));
    let unlisted = violations.unlisted();
    if unlisted > 0 {
        report.notes.push(match unlisted {
            1 => "1 more violation was counted, but is not listed".into(),
            _ => format!("{unlisted} more violations were counted, but are not listed"),
        });
    }
    write_violations(&mut report, violations);
    report.summary = summary(&report, count);
    report
}

/// Returns the report on text that cannot be read as a session.
pub(super) fn unreadable_report(bytes: &[u8], error: &ModelIoReadError) -> Report {
    let report = Report::new("model-io/?".into(), &CHECKS);
    let mut violations = Violations::default();
    match error {
        ModelIoReadError::NotAnObject { found } => {
            let found = match found {
                ValueKind::Null => "null",
                ValueKind::True | ValueKind::False => "boolean",
                ValueKind::Number => "number",
                ValueKind::String => "string",
                ValueKind::Array | ValueKind::Object => "object",
            };
            violations.push(SCHEMA, ViolationPath::Root, || format!("session must be object, got {found}"));
            return stopped_report(report, violations, 0, NOT_REACHED);
        }
        ModelIoReadError::Syntax(error) => {
            violations
                .push(PARSE, ViolationPath::Root, || format!("Invalid JSON: {}", error.describe(bytes)));
        }
        other => violations.push(PARSE, ViolationPath::Root, || other.to_string()),
    }
    stopped_report(report, violations, 0, NOTHING_TO_CHECK)
}

/// Returns the report on a pack whose archive or folder cannot be read to its end. Nothing in it
/// counts.
pub fn unreadable_pack(fault: &dyn fmt::Display) -> Report {
    let report = Report::new("model-io/?".into(), &CHECKS);
    let mut violations = Violations::default();
    violations.push(PARSE, ViolationPath::Root, || format!("the pack cannot be read: {fault}"));
    stopped_report(report, violations, 0, NOTHING_TO_CHECK)
}

/// Ends a report early: all checks from the index `from` on fail with the reason `why`, except SCHEMA,
/// which has a reason of its own.
fn stopped_report(mut report: Report, violations: Violations, from: usize, why: &str) -> Report {
    write_violations(&mut report, violations);
    for id in CHECKS.into_iter().skip(from).filter(|id| *id != SCHEMA) {
        report.fail(id, why);
    }
    report.sort_reasons();
    report.summary = if why == NOTHING_TO_CHECK {
        "the document could not be read".into()
    } else {
        "this is not a session: what must be there is not".into()
    };
    report
}

/// Writes all violations into the report: as reasons for people, and as the list for programs.
fn write_violations(report: &mut Report, violations: Violations) {
    for (rule, reason) in violations.reasons() {
        match rule {
            // Text that is not JSON fails SCHEMA. Its reason is the verifier's own text and already
            // safe to print.
            PARSE => report.fail(SCHEMA, reason),
            _ => report.fail(rule, Shown::whole(&reason)),
        }
    }
    report.sort_reasons();
    report.details = ReportDetails::ModelIo { violations: violations.into_list() };
}

/// Rule MI1.
fn check_version(head: &ModelIoHead<'_>, violations: &mut Violations) {
    const NAME: &str = "model_io_schema_version";
    let path = ViolationPath::Member(NAME);
    let value = head.model_io_schema_version.filter(|value| !value.is_null());
    match value.map(|value| value.with_string_bytes(|text| (text.is_empty(), is_version(text)))) {
        None => violations.push(MI1, path, || format!("{NAME} is missing")),
        Some(None) => {
            violations.push(MI1, path, || format!("{NAME} must be string, got {}", type_of(value)));
        }
        Some(Some((true, _))) => violations.push(MI1, path, || format!("{NAME} cannot be empty")),
        Some(Some((_, false))) => {
            violations.push(MI1, path, || format!("{NAME} must be semver format, got {}", text_of(value)));
        }
        Some(Some((_, true))) => {}
    }
}

/// Returns true for X.Y.Z of ASCII digits.
fn is_version(text: &[u8]) -> bool {
    let mut parts = text.split(|byte| *byte == b'.');
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    (0..3).all(|_| parts.next().is_some_and(is_number)) && parts.next().is_none()
}

/// Rule SCHEMA.
fn check_required_members(head: &ModelIoHead<'_>, violations: &mut Violations) {
    for (name, is_there) in required_members(head) {
        if !is_there {
            violations
                .push(SCHEMA, ViolationPath::Member(name), || format!("required field {name} is missing"));
        }
    }
    if head.interactions.is_some_and(|kind| kind != ValueKind::Array) {
        violations
            .push(SCHEMA, ViolationPath::Member("interactions"), || "interactions must be an array".into());
    }
}

/// Rules MI2 and MI3.
fn check_names(head: &ModelIoHead<'_>, violations: &mut Violations) {
    for (name, value) in [("adapter_id", head.adapter_id), ("model_id", head.model_id)] {
        let is_named = |value: Value<'_>| value.kind() == ValueKind::String && !value.is_string("");
        if !value.is_some_and(is_named) {
            violations.push(MI2, ViolationPath::Member(name), || format!("{name} must be non-empty string"));
        }
    }
    if !head.mode.is_some_and(|mode| mode.is_string("record") || mode.is_string("replay")) {
        violations.push(MI3, ViolationPath::Member("mode"), || {
            format!("mode must be one of [record, replay], got {}", text_of(head.mode))
        });
    }
}

/// Returns a note if the schema version is of another major, whose rules may differ (§6.1).
fn other_major_note(head: &ModelIoHead<'_>) -> Option<String> {
    let text = head.model_io_schema_version?.string()?;
    let major = text.split('.').next()?.trim_start_matches('0');
    let known = VERSION.split('.').next()?;
    (is_version(text.as_bytes()) && major != known).then(|| {
        format!("schema version {} is of another major: judged by the rules of {VERSION}", Shown::new(&text))
    })
}

/// Returns the format with the version that the session states, right or wrong.
fn format_name(head: &ModelIoHead<'_>) -> String {
    match head.model_io_schema_version.and_then(|version| version.string()) {
        Some(version) if (1..=20).contains(&version.len()) => format!("model-io/{}", Shown::new(&version)),
        _ => "model-io/?".into(),
    }
}

/// Returns the last line of the report, for people.
fn summary(report: &Report, count: usize) -> String {
    if let Some(failure) = report.failure_summary() {
        return failure;
    }
    let interactions = if count == 1 { "1 interaction" } else { &format!("{count} interactions") };
    format!("intact: every response is the one that was hashed ({interactions}); nothing is signed")
}
