//! Replays of a recorded run, with the vendor stopped: at once, days later, and with a tool that prints something else.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::row::TestedAgent;
use crate::row_run::{Ended, RowRun, replay};

/// Days between a run and a replay on another day.
const DAYS: u32 = 3;
/// Lines of the end of standard error that a fault shows.
const SHOWN_LINES: usize = 30;
/// Names of the levels at which a request may be found, as `reenact replay --json` has them.
const LEVELS: [&str; 5] = ["exact", "ids", "moved", "tools", "position"];

/// Levels of the replays of an agent as text, such as `ids 1 moved 1`; empty if there was no such replay.
#[derive(Default)]
pub(crate) struct ReplayLevels {
    pub(crate) at_once: String,
    pub(crate) later: String,
    pub(crate) other_output: String,
}

/// Expectation of a replay.
struct Expected {
    exit_code: i32,
    /// True if a result of a tool is another one, so that a request is found at the level `tools`.
    has_other_output: bool,
}

/// As it was recorded.
const REPRODUCED: Expected = Expected { exit_code: 0, has_other_output: false };

/// Replays a recorded run in each way, and appends what does not hold to the faults.
pub(crate) fn replay_all(
    name: &str,
    row: &TestedAgent,
    recorded: &RowRun,
    faults: &mut Vec<String>,
) -> ReplayLevels {
    let mut check = |what: &str, ended: Ended, expected: &Expected| {
        let (levels, fault) = judge(row, &ended, expected);
        faults.extend(fault.map(|fault| format!("replay {what}: {fault}")));
        levels
    };
    let mut levels = ReplayLevels {
        at_once: check("at once", replay(name, row, recorded, &[], 0, &[]), &REPRODUCED),
        later: check("days later", replay_later(name, row, recorded), &REPRODUCED),
        other_output: String::new(),
    };
    if !row.changed_files.is_empty() {
        let with = |options: &[&str]| replay(name, row, recorded, &row.changed_files, 0, options);
        let expected = |exit_code| Expected { exit_code, has_other_output: true };
        levels.other_output = check("with other output of the tool", with(&[]), &expected(1));
        check("with --accept tools", with(&["--accept", "tools"]), &expected(0));
    }
    levels
}

/// Returns the levels, and the reason why the replay is not as expected.
fn judge(row: &TestedAgent, ended: &Ended, expected: &Expected) -> (String, Option<String>) {
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
    let found = |level: &str| report["levels"][level].as_u64().filter(|number| *number > 0);
    let levels: Vec<String> =
        LEVELS.iter().filter_map(|level| Some(format!("{level} {}", found(level)?))).collect();
    let mut levels = levels.join(" ");
    let mut faults = Vec::new();
    if ended.exit_code != Some(expected.exit_code) {
        faults.push(format!("exit code {:?} instead of {}", ended.exit_code, expected.exit_code));
    }
    if found("tools").is_some() != expected.has_other_output || found("position").is_some() {
        faults.push("not the levels that are due".to_owned());
    }
    // With --json the agent's own output goes to standard error.
    if !ended.stderr.contains(&row.says) {
        faults.push(format!("the agent does not say {:?}", row.says));
    }
    if faults.is_empty() {
        return (levels, None);
    }
    levels = format!("{levels} FAIL").trim_start().to_owned();
    let said: Vec<&str> = ended.stderr.lines().rev().take(SHOWN_LINES).collect();
    let said = said.into_iter().rev().collect::<Vec<_>>().join("\n");
    let fault = format!("{} ({levels}); it printed:\n{}{said}", faults.join(", "), ended.stdout);
    (levels, Some(fault))
}

/// Replays a run on another day. An agent that cannot be told another time has its record made older instead.
fn replay_later(name: &str, row: &TestedAgent, recorded: &RowRun) -> Ended {
    if !row.has_its_own_clock {
        return replay(name, row, recorded, &[], DAYS * 24 * 60 * 60, &[]);
    }
    let artifact = artifact(recorded);
    let text = fs::read_to_string(&artifact).unwrap();
    fs::write(&artifact, days_earlier(&text)).unwrap();
    // Its hashes do not hold now.
    let ended = replay(name, row, recorded, &[], 0, &["--force"]);
    fs::write(&artifact, text).unwrap();
    ended
}

/// Returns the artifact of the one record of a run.
fn artifact(recorded: &RowRun) -> PathBuf {
    let runs = recorded.folder.state().join("runs");
    let run = runs.read_dir().unwrap().next().expect("the run is recorded").unwrap();
    run.path().join("artifact.rer.json")
}

/// Returns a text in which the days of the recording, in any time zone, are earlier days.
fn days_earlier(text: &str) -> String {
    let date = |days: i64| {
        let words = ["-u", "+%F", "-d", &format!("{days} days")];
        let date = Command::new("date").args(words).output().unwrap();
        String::from_utf8(date.stdout).unwrap().trim().to_owned()
    };
    let mut text = text.to_owned();
    for day in [-1, 0, 1] {
        text = text.replace(&date(day), &date(day - i64::from(DAYS)));
    }
    text
}
