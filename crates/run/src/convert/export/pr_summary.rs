//! PR_SUMMARY.md: what a person reads of a replay.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use reenact_formats::replay_jsonl::ReplayTotals;
use reenact_formats::replay_jsonl::writer::SessionStatus;
use reenact_formats::rer::time::instant;
use reenact_json::Shown;

/// What the summary tells, gathered on the way.
#[derive(Debug, Default)]
pub(super) struct PrSummary {
    calls_by_tool: BTreeMap<String, usize>,
    verifications: Vec<(String, i32)>,
}

impl PrSummary {
    pub(super) fn count_call(&mut self, tool: &str) {
        *self.calls_by_tool.entry(tool.to_owned()).or_default() += 1;
    }

    pub(super) fn add_verifications(&mut self, commands: &[String], exit_codes: &[i32]) {
        self.verifications.extend(commands.iter().cloned().zip(exit_codes.iter().copied()));
    }
}

/// The document. All that comes from the run is untrusted text.
pub(super) fn markdown(
    summary: &PrSummary,
    figures: &ReplayTotals,
    session_id: &str,
    (started_at, ended_at): (&str, &str),
    status: SessionStatus,
    confidence: Option<f32>,
) -> String {
    let mut out = String::from("# Summary\n\n## Changes Made\n\n");
    let _ = writeln!(
        out,
        "The record that this was converted from tells of {} and of no change to a file.",
        match figures.tool_calls {
            1 => "1 tool call".to_owned(),
            count => format!("{count} tool calls"),
        }
    );
    if !summary.calls_by_tool.is_empty() {
        out.push('\n');
    }
    for (tool, count) in &summary.calls_by_tool {
        let _ = writeln!(out, "- {}: {count}", code(tool));
    }
    out.push_str("\n## Files Modified\n\nNot recorded.\n\n## Verification\n\n");
    if summary.verifications.is_empty() {
        out.push_str("None.\n");
    }
    for (command, exit_code) in &summary.verifications {
        let verdict = if *exit_code == 0 { "PASS" } else { "FAIL" };
        let _ = writeln!(out, "- {}: {verdict}", code(command));
    }
    let seconds = match (instant(started_at), instant(ended_at)) {
        (Some(start), Some(end)) if end >= start => ((end - start) / 1_000_000_000).to_string(),
        _ => "unknown".into(),
    };
    let confidence = confidence.map_or("0.00 (not recorded)".into(), |confidence| format!("{confidence:.2}"));
    let _ = write!(
        out,
        "\n## Confidence\n\n{confidence}\n\n## Session\n\n- ID: {}\n- Issue: none\n- Status: {status:?}\n- Duration: {seconds} s\n",
        code(session_id)
    );
    out
}

/// Text between backticks, which it cannot leave.
fn code(text: &str) -> String {
    format!("`{}`", Shown::new(text).to_string().replace('`', "'"))
}
