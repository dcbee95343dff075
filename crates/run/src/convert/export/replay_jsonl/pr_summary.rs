//! PR_SUMMARY.md: the summary of a REPLAY.jsonl for people.
//!
//! The format asks for fixed headings: changes, files, verification, confidence and session. Facts that no
//! record tells, such as the files that were changed, are said to be not recorded.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use reenact_formats::replay_jsonl::writer::SessionStatus;
use reenact_formats::replay_jsonl::{RECEIPT, REPLAY, ReplayTotals, preview};
use reenact_formats::rer::time::instant;
use reenact_json::{Shown, Value};

/// Lists of files in the payload of `rer.run.ended`, each named by the change.
const FILE_CHANGES: [&str; 3] = ["added", "changed", "removed"];

/// Facts of the summary, collected while the replay is written.
#[derive(Debug, Default)]
pub(super) struct PrSummary {
    /// Number of calls of each tool.
    calls_by_tool: BTreeMap<String, usize>,
    /// Commands of verifications, with their exit codes.
    verifications: Vec<(String, i32)>,
    /// Files that changed; `None` if the source does not tell.
    files: Option<ModifiedFiles>,
}

/// Files that changed in a run.
#[derive(Debug, Default)]
struct ModifiedFiles {
    /// Change in one word, and path, of each file that the source names.
    named: Vec<(&'static str, String)>,
    /// Number of further files.
    more: u64,
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

    /// Takes the files that changed in the run, from the payload of the event that ended it.
    pub(super) fn set_files(&mut self, files: Value<'_>) {
        let list = |name: &str| files.member(name).into_iter().flat_map(|list| list.elements());
        let more = files.member("more").and_then(|more| more.unsigned_integer()).unwrap_or(0);
        let mut modified = ModifiedFiles { more, ..ModifiedFiles::default() };
        for change in FILE_CHANGES {
            // An added or changed file has its hash beside its path.
            let path_of = |file: Value<'_>| {
                file.string().or_else(|| file.elements().next()?.string()).map(|path| path.into_owned())
            };
            modified.named.extend(list(change).filter_map(path_of).map(|path| (change, path)));
        }
        self.files = Some(modified);
    }

    /// Returns the summary as Markdown. All texts of the run are untrusted, and written as code.
    ///
    /// `confidence` is `None` if the source tells none; the text then says that the 0 of the replay is not
    /// recorded.
    pub(super) fn to_markdown(
        &self,
        figures: &ReplayTotals,
        session_id: &str,
        (started_at, ended_at): (&str, &str),
        status: SessionStatus,
        confidence: Option<f32>,
    ) -> String {
        let mut out = String::from("# Summary\n\n## Changes Made\n\n");
        let _ = writeln!(out, "{}.", count(figures.tool_calls, "tool call"));
        if !self.calls_by_tool.is_empty() {
            out.push('\n');
        }
        for (tool, count) in &self.calls_by_tool {
            let _ = writeln!(out, "- {}: {count}", code(tool));
        }
        out.push_str("\n## Files Modified\n\n");
        match &self.files {
            None => out.push_str("Not recorded.\n"),
            Some(ModifiedFiles { named, more: 0 }) if named.is_empty() => out.push_str("None.\n"),
            Some(ModifiedFiles { named, more }) => {
                for (change, path) in named {
                    let _ = writeln!(out, "- {} ({change})", code(path));
                }
                if *more > 0 {
                    let _ = writeln!(out, "- and {}", count(*more, "other file"));
                }
            }
        }
        out.push_str("\n## Verification\n\n");
        if self.verifications.is_empty() {
            out.push_str("None.\n");
        }
        for (command, exit_code) in &self.verifications {
            let verdict = if *exit_code == 0 { "PASS" } else { "FAIL" };
            let _ = writeln!(out, "- {}: {verdict}", code(command));
        }
        let seconds = match (instant(started_at), instant(ended_at)) {
            (Some(start), Some(end)) if end >= start => ((end - start) / 1_000_000_000).to_string(),
            _ => "unknown".into(),
        };
        let confidence =
            confidence.map_or("0.00 (not recorded)".into(), |confidence| format!("{confidence:.2}"));
        let _ = write!(
            out,
            "\n## Confidence\n\n{confidence}\n\n## Session\n\n- ID: {}\n- Issue: none\n- Status: {status:?}\n- Duration: {seconds} s\n- Average utility: {}\n",
            code(session_id),
            average_utility(figures)
        );
        let unknown = figures.tool_calls.saturating_sub(figures.utility_count());
        if unknown > 0 {
            let _ = write!(
                out,
                "\n**Warning:** the utility of {} is unknown. The 0 that {REPLAY} and {RECEIPT} hold there is a placeholder, marked by `\"unknown\"`.\n",
                count(unknown, "tool call")
            );
        }
        out
    }
}

/// Returns the average utility behind its label: `0.650 (2 of 3 calls)`, `unknown`, or `none` where there is no call.
fn average_utility(figures: &ReplayTotals) -> String {
    let text = figures.utility_text();
    let rest = text.strip_prefix("average utility ").or_else(|| text.strip_prefix("utility "));
    rest.unwrap_or("none").to_owned()
}

/// Returns a number of things: `1 tool call`, `2 tool calls`.
fn count(number: u64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// Returns text between backticks, shortened as the format shortens outputs; backticks in the text are replaced, so that
/// it cannot end the code.
fn code(text: &str) -> String {
    format!("`{}`", Shown::whole(&preview::output(text)).to_string().replace('`', "'"))
}
