//! A report for people: a table of checks with the reasons under it, the signer, the notes, a last line in words.

use core::fmt::Write;

use reenact_json::Shown;

use crate::audit::{Audit, RuleVerdict, Verdict};
use crate::keys::Trust;
use crate::report::{Check, NOTHING_TO_CHECK, Outcome, Report};

/// What a piece of the text means, so that a command can colour it. The text alone says it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It holds.
    Good,
    /// It does not hold.
    Bad,
    /// Beside the point.
    Quiet,
    /// The target's name.
    Title,
}

/// Colours a piece of text, or leaves it alone.
pub type Paint<'p> = &'p dyn Fn(Tone, &str) -> String;

/// No colour at all.
pub fn plain(_: Tone, text: &str) -> String {
    text.to_owned()
}

/// The text for one target, with its line feeds.
pub fn outcome(target: &str, outcome: &Outcome, paint: Paint<'_>) -> String {
    let target = if target.is_empty() { "\"\"".into() } else { Shown::whole(target).to_string() };
    match outcome {
        Outcome::Judged(report) => judged(&target, report, paint),
        Outcome::Unreadable(unreadable) => {
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

fn judged(target: &str, report: &Report, paint: Paint<'_>) -> String {
    let mut text = format!("{}  {}\n", paint(Tone::Title, target), report.format);
    let both = || report.checks.iter().chain(&report.artifact_checks);
    let width = both().map(|check| check.name.len()).max().unwrap_or(0);
    for check in &report.checks {
        check_line(check, "", width, report, paint, &mut text);
        if check.name == "artifact" {
            report.artifact_checks.iter().for_each(|inner| {
                check_line(inner, "artifact: ", width, report, paint, &mut text);
            });
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
    // Of what could not be read there is nothing more to say.
    if let Some(audit) = report
        .audit
        .as_ref()
        .filter(|_| report.reasons.iter().all(|reason| !reason.ends_with(NOTHING_TO_CHECK)))
    {
        text.push_str(&audit_lines(audit, paint));
    }
    for (name, digest) in &report.digests {
        let _ = writeln!(text, "  digest  {name} {digest}");
    }
    // A thief's record is as intact as any: the answer is still no.
    let is_stolen = report.signer.as_ref().is_some_and(|signer| signer.trust == Trust::Compromised);
    let holds = report.pass() && !is_stolen;
    let mark = if holds { paint(Tone::Good, "PASS") } else { paint(Tone::Bad, "FAIL") };
    let _ = writeln!(text, "  {mark}  {}", report.verdict);
    text
}

/// The audit in one line, and a line for each rule that was broken or cannot be told.
fn audit_lines(audit: &Audit, paint: Paint<'_>) -> String {
    let counts =
        [(Verdict::Pass, "kept"), (Verdict::Fail, "broken"), (Verdict::Inconclusive, "inconclusive")];
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(verdict, word)| (audit.count(verdict), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let mut text = format!("  audit   rules of the envelope: {}\n", counts.join(", "));
    // One reason for many rules is said once.
    let mut told: Vec<(&RuleVerdict, Vec<&str>)> = Vec::new();
    for rule in audit.rules.iter().filter(|rule| rule.verdict != Verdict::Pass) {
        let same = |(first, _): &&mut (&RuleVerdict, Vec<&str>)| {
            (first.verdict, first.event, &first.reason) == (rule.verdict, rule.event, &rule.reason)
        };
        match told.iter_mut().find(same) {
            Some((_, names)) => names.push(rule.rule),
            None => told.push((rule, vec![rule.rule])),
        }
    }
    for (rule, names) in told {
        let mark = match rule.verdict {
            Verdict::Fail => paint(Tone::Bad, "broken "),
            _ => paint(Tone::Quiet, "unclear"),
        };
        let event = rule.event.map_or(String::new(), |event| format!("event {event}: "));
        let _ = writeln!(text, "            {mark}  {}: {event}{}", names.join(", "), rule.reason);
    }
    text
}

/// A check, and under it the reasons why it does not hold. The checks of a bundle's artifact are set in.
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
    let asks = paint(Tone::Quiet, check.asks);
    let _ = writeln!(text, "{indent}{mark}  {:width$}  {asks}", check.name);
    if !report.artifact_checks.is_empty() && check.name == "artifact" && outer.is_empty() {
        // Its reasons stand under the inner checks; only those that name none belong here.
        let named = |reason: &str| {
            report
                .artifact_checks
                .iter()
                .any(|inner| reason.starts_with(&format!("artifact: {}: ", inner.name)))
        };
        for reason in
            report.reasons.iter().filter(|reason| reason.starts_with("artifact: ") && !named(reason))
        {
            let _ = writeln!(text, "{indent}      {}", &reason["artifact: ".len()..]);
        }
        return;
    }
    let own = format!("{outer}{}: ", check.name);
    // That there was nothing to check, the check above says already.
    let own_reasons = report.reasons.iter().filter_map(|reason| reason.strip_prefix(&own));
    for reason in own_reasons.filter(|reason| *reason != NOTHING_TO_CHECK) {
        let _ = writeln!(text, "{indent}      {reason}");
    }
}
