//! PR_SUMMARY.md: the summary of a REPLAY.jsonl for people.
//!
//! The format asks for fixed headings: changes, files, verification, confidence and session. Facts that no
//! record tells, such as the files that were changed, are said to be not recorded.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use reenact_formats::replay_jsonl::ReplayTotals;
use reenact_formats::replay_jsonl::writer::SessionStatus;
use reenact_formats::rer::time::instant;
use reenact_json::Shown;

/// Facts of the summary, collected while the replay is written.
#[derive(Debug, Default)]
pub(super) struct PrSummary {
    /// Number of calls of each tool.
    calls_by_tool: BTreeMap<String, usize>,
    /// Commands of verifications, with their exit codes.
    verifications: Vec<(String, i32)>,
}

impl PrSummary {
    /// Counts a call of a tool.
    pub(super) fn count_call(&mut self, tool: &str) {
        *self.calls_by_tool.entry(tool.to_owned()).or_default() += 1;
    }

    /// Adds the commands of a verification, with their exit codes.
    pub(super) fn add_verifications(&mut self, commands: &[String], exit_codes: &[i32]) {
        self.verifications.extend(commands.iter().cloned().zip(exit_codes.iter().copied()));
    }
}

/// Returns the summary as Markdown. All texts of the run are untrusted, and written as code.
///
/// `confidence` is `None` if the source tells none; the text then says that the 0 of the replay is not
/// recorded.
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

/// Returns text between backticks; backticks in the text are replaced, so that it cannot end the code.
fn code(text: &str) -> String {
    format!("`{}`", Shown::new(text).to_string().replace('`', "'"))
}
