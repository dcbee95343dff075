//! What the summary says of a run's envelope: denials, and the audit's verdict.

use std::path::Path;

use reenact_formats::rer::payload::{PolicyDecision, PolicyEvaluatedView};
use reenact_json::Shown;
use reenact_run::{EventType, Run};
use reenact_verify::audit::{Audit, AuditVerdict};

use super::options::PolicyModeArg;
use crate::quantity;

/// Audit rule on who authorised the run.
const AUTHORIZATION: &str = "authorization";

/// Returns a line on the envelope: how many actions it denied, and the audit's verdict on the run.
///
/// The audit reads the sealed record as any verifier would. Who authorised the run is said apart: most envelopes carry no
/// authorisation by another key, which is worth a remark and no warning.
pub(super) fn enforcement_summary(
    file: &Path,
    mode: PolicyModeArg,
    run: Option<&Run>,
    audit: Option<&Audit>,
) -> String {
    let blocked =
        |run: &Run| run.events().filter(|event| event.kind() == Some(EventType::StepBlocked)).count();
    let denied = match run.map_or(0, blocked) {
        _ if mode == PolicyModeArg::Warn => {
            format!("nothing was denied; {}", run.map_or_else(String::new, would_be_denied))
        }
        0 => "nothing was denied".to_owned(),
        count => format!("{} denied", quantity::count(count as u64, "action")),
    };
    let rules = audit.map(|audit| audit.rules.as_slice()).unwrap_or_default();
    let named = |verdict: AuditVerdict| {
        let rules = rules.iter().filter(|rule| rule.verdict == verdict).map(|rule| rule.rule);
        rules.filter(|rule| *rule != AUTHORIZATION || verdict == AuditVerdict::Fail).collect::<Vec<_>>()
    };
    let (broken, open) = (named(AuditVerdict::Fail), named(AuditVerdict::Inconclusive));
    let verdict = match (broken.as_slice(), open.as_slice()) {
        ([], []) => "the audit finds every rule kept".to_owned(),
        ([], open) => format!("the audit cannot tell: {}", open.join(", ")),
        (broken, _) => format!("the audit finds broken: {}", broken.join(", ")),
    };
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let applied = if mode == PolicyModeArg::Warn { "only warned" } else { "enforced" };
    let authority =
        rules.iter().find(|rule| rule.rule == AUTHORIZATION).map_or("", |rule| rule.reason.as_str());
    format!("{} {applied}: {denied}; {verdict}; {authority}", Shown::whole(&name))
}

/// Returns how many actions of a run that only warned would have been denied, and by which rules.
fn would_be_denied(run: &Run) -> String {
    let mut rules: Vec<(String, u64)> = Vec::new();
    for event in run.events().filter(|event| event.kind() == Some(EventType::PolicyEvaluated)) {
        let Some(decision) = event.payload().value().map(PolicyEvaluatedView::read) else { continue };
        if decision.decision.word() != Some(PolicyDecision::Deny) {
            continue;
        }
        let rule = decision.rule.text().ok().flatten().unwrap_or_default().into_owned();
        match rules.iter_mut().find(|(known, _)| *known == rule) {
            Some((_, count)) => *count += 1,
            None => rules.push((rule, 1)),
        }
    }
    if rules.is_empty() {
        return "nothing would have been".to_owned();
    }
    let total = quantity::count(rules.iter().map(|(_, count)| count).sum(), "action");
    let by: Vec<String> = rules
        .iter()
        .map(|(rule, count)| format!("{} {}", Shown::new(rule), quantity::grouped(*count)))
        .collect();
    format!("{total} would have been, by {}", by.join(", "))
}
