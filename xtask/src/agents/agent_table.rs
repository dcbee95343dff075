//! Results of the agents, and the table of them.

use reenact_json::{Limits, Value};

/// Result of one agent, as its test reported it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct AgentTableRow {
    /// Name of the test.
    pub(super) test: String,
    agent: String,
    version: String,
    calls_made: u64,
    calls_recorded: u64,
    tools_called: u64,
    tools_seen: u64,
    is_verified: bool,
    has_same_output: bool,
    seconds: f64,
    /// Levels of the replay at once, of the one days later, and of the one with other output of the tool.
    replays: [String; 3],
    /// Number of reasons why the row does not hold.
    faults: usize,
    /// Attempt that gave this result, from 1.
    pub(super) attempt: u32,
}

impl AgentTableRow {
    /// Returns true if the row holds.
    pub(super) fn holds(&self) -> bool {
        self.faults == 0
    }
}

/// Reads the lines of JSON that the tests wrote. A line that is none is left out: its test then has no result.
pub(super) fn read(lines: &str, attempt: u32) -> Vec<AgentTableRow> {
    lines.lines().filter_map(|line| result(line, attempt)).collect()
}

fn result(line: &str, attempt: u32) -> Option<AgentTableRow> {
    let value = Value::parse(line.as_bytes(), &Limits::default()).ok()?;
    let text = |name: &str| Some(value.member(name)?.string()?.into_owned());
    let number = |name: &str| value.member(name)?.unsigned_integer();
    let boolean = |name: &str| value.member(name)?.boolean();
    Some(AgentTableRow {
        test: text("test")?,
        agent: text("agent")?,
        version: text("version")?,
        calls_made: number("calls_made")?,
        calls_recorded: number("calls_recorded")?,
        tools_called: number("tools_called")?,
        tools_seen: number("tools_seen")?,
        is_verified: boolean("verified")?,
        has_same_output: boolean("same_output")?,
        seconds: value.member("seconds")?.double()?,
        replays: [text("replay_at_once")?, text("replay_later")?, text("replay_other_output")?],
        faults: value.member("faults")?.elements().count(),
        attempt,
    })
}

/// Returns the table, with the column names first:
///
/// ```text
/// agent        version  calls  tools  verify  output  seconds  at once        days later     other tool output
/// Claude Code  2.1.327  2/2    1/1    yes     same    4.0      exact 1 ids 2  exact 1 moved 2  exact 1 ids 1 tools 1
/// Codex        0.169.0  0/0    0/1    yes     OTHER   6.2                                                             FAIL
/// ```
pub(super) fn table<'r>(results: impl Iterator<Item = &'r AgentTableRow>) -> String {
    let columns = [
        "agent",
        "version",
        "calls",
        "tools",
        "verify",
        "output",
        "seconds",
        "at once",
        "days later",
        "other tool output",
        "",
    ];
    let mut lines = vec![columns.map(str::to_owned)];
    lines.extend(results.map(AgentTableRow::cells));
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default())
        .collect();
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

impl AgentTableRow {
    /// Returns the cells of the line; calls and tools are what the record shows of what there was.
    fn cells(&self) -> [String; 11] {
        let verdict = match (self.holds(), self.attempt) {
            (true, 1) => "",
            (true, _) => "flaky: failed once",
            (false, _) => "FAIL",
        };
        let [at_once, later, other_output] = self.replays.clone();
        [
            self.agent.clone(),
            self.version.clone(),
            format!("{}/{}", self.calls_recorded, self.calls_made),
            format!("{}/{}", self.tools_seen, self.tools_called),
            if self.is_verified { "yes" } else { "NO" }.to_owned(),
            if self.has_same_output { "same" } else { "OTHER" }.to_owned(),
            format!("{:.1}", self.seconds),
            at_once,
            later,
            other_output,
            verdict.to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"test":"codex","agent":"Codex","version":"0.169.0","calls_made":2,"calls_recorded":2,"tools_called":1,"tools_seen":1,"verified":true,"same_output":true,"seconds":6.2,"replay_at_once":"ids 2","replay_later":"ids 1 moved 1","replay_other_output":"ids 1 tools 1","faults":[]}"#;

    #[test]
    fn the_table_names_what_failed_and_what_is_flaky() {
        let slow = LINE.replace("6.2", "15");
        let failed = LINE
            .replace("\"calls_recorded\":2", "\"calls_recorded\":0")
            .replace("[]", "[\"not in the record\"]")
            .replace("\"same_output\":true", "\"same_output\":false");
        let results = [read(&slow, 1), read(&failed, 2), read(LINE, 2)].concat();
        assert_eq!(
            table(results.iter()),
            "agent  version  calls  tools  verify  output  seconds  at once  days later     other tool output\n\
             Codex  0.169.0  2/2    1/1    yes     same    15.0     ids 2    ids 1 moved 1  ids 1 tools 1\n\
             Codex  0.169.0  0/2    1/1    yes     OTHER   6.2      ids 2    ids 1 moved 1  ids 1 tools 1      FAIL\n\
             Codex  0.169.0  2/2    1/1    yes     same    6.2      ids 2    ids 1 moved 1  ids 1 tools 1      flaky: failed once\n"
        );
        assert_eq!(results.iter().map(AgentTableRow::holds).collect::<Vec<_>>(), [true, false, true]);
    }

    #[test]
    fn a_line_that_is_no_result_is_left_out() {
        assert_eq!(read("not JSON\n{}\n", 1), []);
    }
}
