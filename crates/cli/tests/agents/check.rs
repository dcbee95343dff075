//! Check of one row: the agent runs without us and under `reenact record`, the two are compared, and the record is replayed.

use std::borrow::Cow;
use std::path::Path;

use reenact_json::Digest;
use reenact_run::Run;
use reenact_verify::{Keys, Options};

use crate::asked::{calls_made, not_recorded, recorded_calls, recorded_requests, shapes};
use crate::replays::replay_all;
use crate::result::{AgentResult, version};
use crate::row::TestedAgent;
use crate::row_run::{RowRun, record, run_directly};
use crate::support;

/// File that the task makes, and its content.
const ANSWER: (&str, &str) = ("answer.txt", "product=56088\n");

/// Runs an agent without us, recorded and replayed, notes the result, and panics if the row does not hold.
pub(crate) fn check(name: &str, test: &str) {
    let row = TestedAgent::read(name);
    let direct = run_directly(name, &row);
    let mut result = AgentResult {
        test: test.to_owned(),
        agent: row.name.clone(),
        version: version(&row),
        faults: faults_of_task(&row, &direct),
        ..AgentResult::default()
    };
    if result.faults.is_empty() {
        let recorded = record(name, &row);
        compare(&row, &direct, &recorded, &mut result);
        // What is not recorded cannot be replayed, and would only hide the reason.
        if result.faults.is_empty() {
            result.replays = replay_all(name, &row, &recorded, &mut result.faults);
        }
    }
    result.note();
    assert!(result.faults.is_empty(), "{}:\n{}", row.name, result.faults.join("\n"));
}

/// Returns the reasons why an agent did not do the task.
fn faults_of_task(row: &TestedAgent, run: &RowRun) -> Vec<String> {
    let mut faults = Vec::new();
    if run.exit_code != Some(0) {
        faults.push(format!("without us the exit code is {:?}", run.exit_code));
    }
    if !run.stdout.contains(&row.says) {
        faults.push(format!("without us the agent does not say {:?}", row.says));
    }
    let (path, content) = ANSWER;
    if !run.work_files(row).iter().any(|(found, bytes)| found == path && bytes == content.as_bytes()) {
        faults.push(format!("without us {path} is not written"));
    }
    if !faults.is_empty() {
        faults.push(format!("it printed:\n{}{}", run.stdout, run.stderr));
    }
    faults
}

/// Compares the recorded run with the direct one, and with its record.
fn compare(row: &TestedAgent, direct: &RowRun, recorded: &RowRun, result: &mut AgentResult) {
    result.seconds = recorded.took.as_secs_f64();
    let faults = &mut result.faults;
    expect_same("exit code", &direct.exit_code, &recorded.exit_code, faults);
    expect_same("output", &direct.stdout, &recorded.stdout, faults);
    expect_same("files", &named(direct, row), &named(recorded, row), faults);
    result.is_same = faults.is_empty();
    expect_same("requests", &shapes(&direct.requests), &shapes(&recorded.requests), faults);

    let verified = support::command(Path::new(env!("CARGO_BIN_EXE_reenact")), &recorded.folder)
        .args(["verify", "last"])
        .output()
        .unwrap();
    result.is_verified = verified.status.success();
    if !result.is_verified {
        faults.push(format!("the record does not verify:\n{}", String::from_utf8_lossy(&verified.stdout)));
    }
    match opened(recorded) {
        Ok(run) => compare_record(row, recorded, &run, result),
        Err(reason) => faults.push(reason),
    }
    if !result.faults.is_empty() {
        result.faults.push(format!("under record it printed:\n{}{}", recorded.stdout, recorded.stderr));
    }
}

/// Compares a record with the requests that the vendor received.
fn compare_record(row: &TestedAgent, ran: &RowRun, run: &Run, result: &mut AgentResult) {
    let requests = recorded_requests(run);
    let faults = &mut result.faults;
    result.calls = (calls_made(&ran.requests), recorded_calls(&requests));
    expect_same("number of model calls", &result.calls.0, &result.calls.1, faults);
    let missing = not_recorded(&ran.requests, requests);
    if !missing.is_empty() {
        faults.push(format!("not in the record: {}", missing.join(", ")));
    }
    let with_results = run.tool_calls().filter(|tool| tool.result().is_ok());
    let mut seen: Vec<String> = with_results.map(|tool| tool.call().unwrap().tool.into_owned()).collect();
    let mut wanted = row.tools_seen.clone();
    result.tools = (row.tools_called(), seen.len());
    seen.sort_unstable();
    wanted.sort_unstable();
    expect_same("tools with results", &wanted, &seen, faults);
    let surroundings = run.surroundings();
    let agent = surroundings.agent.map(|agent| agent.name.into_owned());
    expect_same("recognised agent", &row.recognised, &agent, faults);
    let (path, content) = ANSWER;
    let digest = Digest::of(content.as_bytes()).hex();
    let is_answer =
        |(found, sha256): &(Cow<'_, str>, Cow<'_, str>)| found == path && sha256.as_bytes() == digest;
    if !surroundings.files.is_some_and(|files| files.added.iter().any(is_answer)) {
        faults.push(format!("the record does not say that {path} was added, or not its digest"));
    }
}

/// Opens the one record of a run.
fn opened(run: &RowRun) -> Result<Run, String> {
    let folder = run.folder.state().join("runs");
    let runs: Vec<_> = folder.read_dir().map_err(|error| format!("no record: {error}"))?.collect();
    let [Ok(entry)] = &runs[..] else { return Err(format!("{} records instead of one", runs.len())) };
    let bytes = std::fs::read(entry.path().join("artifact.rer.json"))
        .map_err(|error| format!("the run has no artifact: {error}"))?;
    reenact_run::open(bytes, &Keys::default(), &Options::default()).run.map_err(|error| error.to_string())
}

/// Returns the files of a run as text, for messages.
fn named(run: &RowRun, row: &TestedAgent) -> Vec<String> {
    let text = |(name, bytes): &(String, Vec<u8>)| format!("{name}: {}", String::from_utf8_lossy(bytes));
    run.work_files(row).iter().map(text).collect()
}

fn expect_same<T: PartialEq + std::fmt::Debug>(what: &str, direct: &T, came: &T, faults: &mut Vec<String>) {
    if direct != came {
        faults.push(format!("{what}:\n- {direct:#?}\n+ {came:#?}"));
    }
}
