//! Reports as text for people.
//!
//! The text has a table of checks with the reasons of failed ones below, the signer, the notes, the
//! audit, and a last line with the verdict ([`verdict_line`]). [`Tone`] lets a command colour the pieces; the words alone
//! carry the meaning. Start reading at [`outcome_text`].

use core::fmt::Write;

use reenact_json::Shown;

use crate::audit::{Audit, AuditVerdict, RuleVerdict};
use crate::check::Check;
use crate::demand::Demands;
use crate::keys::Trust;
use crate::report::{Report, TargetOutcome};
use crate::verdict::Verdict;

/// Meaning of a piece of text, so that a command can colour it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// A check or a target passed.
    Good,
    /// A check or a target failed, or an audit rule was broken.
    Bad,
    /// Every check holds, but something stays open: who signed, or how the run ended.
    Doubtful,
    /// Explanations and results without weight.
    Quiet,
    /// Name of the target.
    Title,
}

/// Function that adds colour codes to a piece of text, or returns the text unchanged.
pub type Paint<'p> = &'p dyn Fn(Tone, &str) -> String;

/// Returns the text without colour.
pub fn plain(_: Tone, text: &str) -> String {
    text.to_owned()
}

/// Returns the text for one target, ending with a line feed. The target's name is escaped. Of a record that does not meet the
/// caller's demands the last line does not say `PASS`.
pub fn outcome_text(target: &str, outcome: &TargetOutcome, demands: &Demands, paint: Paint<'_>) -> String {
    let target = if target.is_empty() { "\"\"".into() } else { Shown::whole(target).to_string() };
    match outcome {
        TargetOutcome::Report(report) => {
            report_text(&target, report, demands.unmet(report).is_empty(), paint)
        }
        TargetOutcome::Unreadable(unreadable) => {
            let error = paint(Tone::Bad, "ERROR");
            format!(
                "{}\n  {error}  {} ({})\n",
                paint(Tone::Title, &target),
                unreadable.message,
                unreadable.code
            )
        }
    }
}

/// Name of the check of a bundle below which the checks of its artifact are printed.
const ARTIFACT_CHECK: &str = "artifact";

/// Returns the text of a report under the escaped name of its target. `is_enough` is true if the report meets the caller's demands.
fn report_text(target: &str, report: &Report, is_enough: bool, paint: Paint<'_>) -> String {
    let mut text = format!("{}  {}\n", paint(Tone::Title, target), report.format);
    let both = || report.checks.iter().chain(report.artifact_checks());
    let width = both().map(|check| check.id.name().len()).max().unwrap_or(0);
    for check in &report.checks {
        check_line(check, "", width, report, paint, &mut text);
        if check.id.name() == ARTIFACT_CHECK {
            for inner in report.artifact_checks() {
                check_line(inner, "artifact: ", width, report, paint, &mut text);
            }
        }
    }
    if let Some(signer) = &report.signer
        && let Some(key_id) = &signer.key_id
    {
        let key = Shown::new(key_id);
        let label =
            signer.label.as_deref().map_or(String::new(), |label| format!(" \"{}\"", Shown::new(label)));
        let _ = writeln!(text, "  signer  {key}{label}: {}", signer.trust);
    }
    for note in &report.notes {
        let _ = writeln!(text, "  note    {note}");
    }
    if let Some(audit) = &report.audit {
        text.push_str(&audit_lines(audit, paint));
    }
    for (name, digest) in &report.digests {
        let _ = writeln!(text, "  digest  {name} {digest}");
    }
    let _ = writeln!(text, "  {}", marked_verdict(report, is_enough, paint));
    text
}

/// Returns the verdict for people: a mark and one sentence, without a line feed.
///
/// `PASS` stands only for intact records whose signer the caller knows, or of formats without signers. A compromised
/// key makes the answer no, even though the record is intact.
pub fn verdict_line(report: &Report, paint: Paint<'_>) -> String {
    marked_verdict(report, true, paint)
}

/// Returns the verdict line; without `PASS` if the caller demands more.
fn marked_verdict(report: &Report, is_enough: bool, paint: Paint<'_>) -> String {
    let (tone, mark) = match (report.verdict(), report.signer.as_ref().map(|signer| signer.trust)) {
        (Verdict::Failed, _) | (_, Some(Trust::Compromised)) => (Tone::Bad, "FAIL"),
        (Verdict::Unproven, _) => (Tone::Bad, "UNPROVEN"),
        (Verdict::Recovered, _) => (Tone::Doubtful, "RECOVERED"),
        (Verdict::Intact, Some(Trust::SelfAsserted | Trust::Unknown)) => (Tone::Doubtful, "INTACT"),
        (Verdict::Intact, _) if !is_enough => (Tone::Doubtful, "INTACT"),
        (Verdict::Intact, _) => (Tone::Good, "PASS"),
    };
    format!("{}  {}", paint(tone, mark), report.summary)
}

/// Returns one line with the number of rules by verdict, or that there is no policy, then one line for each distinct reason of
/// rules that did not pass.
fn audit_lines(audit: &Audit, paint: Paint<'_>) -> String {
    let counts = [
        (AuditVerdict::Pass, "kept"),
        (AuditVerdict::Fail, "broken"),
        (AuditVerdict::Inconclusive, "inconclusive"),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(verdict, word)| (audit.count(verdict), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let mut text = match audit.is_unrestricted {
        true => "  policy: none set\n".to_owned(),
        false => format!("  audit   rules of the envelope: {}\n", counts.join(", ")),
    };
    // Without a policy nothing is expected to be conclusive: only a broken rule is worth a line.
    let is_told = |rule: &&RuleVerdict| match rule.verdict {
        AuditVerdict::Pass => false,
        AuditVerdict::Fail => true,
        AuditVerdict::Inconclusive => !audit.is_unrestricted,
    };
    // Rules that share a reason share a line.
    let mut grouped: Vec<(&RuleVerdict, Vec<&str>)> = Vec::new();
    for rule in audit.rules.iter().filter(is_told) {
        let same = |(first, _): &&mut (&RuleVerdict, Vec<&str>)| {
            (first.verdict, first.event, &first.reason) == (rule.verdict, rule.event, &rule.reason)
        };
        match grouped.iter_mut().find(same) {
            Some((_, names)) => names.push(rule.rule),
            None => grouped.push((rule, vec![rule.rule])),
        }
    }
    for (rule, names) in grouped {
        let mark = match rule.verdict {
            AuditVerdict::Fail => paint(Tone::Bad, "broken "),
            _ => paint(Tone::Quiet, "unclear"),
        };
        let event = rule.event.map_or(String::new(), |event| format!("event {event}: "));
        let _ = writeln!(text, "            {mark}  {}: {event}{}", names.join(", "), rule.reason);
    }
    text
}

/// Appends the line of a check and, indented below, the reasons why it fails. `outer` is the prefix of
/// the reasons of a bundle's artifact, or empty.
fn check_line(
    check: &Check,
    outer: &str,
    width: usize,
    report: &Report,
    paint: Paint<'_>,
    text: &mut String,
) {
    let mark = match check.holds {
        Some(true) => paint(Tone::Good, "ok  "),
        Some(false) => paint(Tone::Bad, "FAIL"),
        None => paint(Tone::Quiet, "-   "),
    };
    let indent = if outer.is_empty() { "  " } else { "      " };
    let asks = paint(Tone::Quiet, check.id.statement());
    let _ = writeln!(text, "{indent}{mark}  {:width$}  {asks}", check.id);
    if !report.artifact_checks().is_empty() && check.id.name() == ARTIFACT_CHECK && outer.is_empty() {
        // Reasons of the artifact's own checks are printed below those checks; only the others belong
        // here.
        let named = |reason: &str| {
            let prefixed = |inner: &Check| reason.starts_with(&format!("artifact: {}: ", inner.id));
            report.artifact_checks().iter().any(prefixed)
        };
        for reason in
            report.reasons.iter().filter(|reason| reason.starts_with("artifact: ") && !named(reason))
        {
            let _ = writeln!(text, "{indent}      {}", &reason["artifact: ".len()..]);
        }
        return;
    }
    let own = format!("{outer}{}: ", check.id);
    for reason in report.reasons.iter().filter_map(|reason| reason.strip_prefix(&own)) {
        let _ = writeln!(text, "{indent}      {reason}");
    }
}
