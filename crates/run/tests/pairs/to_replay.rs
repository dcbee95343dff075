//! What a REPLAY.jsonl says of results: utility, exit code and latency as far as they are known, and no number that
//! passes for a known one.

use reenact_formats::FormatId;
use reenact_json::{Limits, Value};
use reenact_run::{Run, open_files};
use reenact_testkit::fixture::{RunBuilder, TestKey};
use reenact_verify::{Keys, Options};

use super::sources::{Record, converted};

fn called(builder: RunBuilder, id: &str, more: &str) -> RunBuilder {
    builder
        .event(
            "rer.tool.called",
            &format!(r#"{{"step_id":"{id}-s","tool_call_id":"{id}","tool":"t","input":1}}"#),
        )
        .event(
            "rer.tool.returned",
            &format!(r#"{{"step_id":"{id}-s","tool_call_id":"{id}","output":1{more}}}"#),
        )
}

/// Run of three calls, two of which the agent rates.
fn rated() -> RunBuilder {
    let of_no_call = r#"{"step_id":"none","status":"ok","utility":1}"#;
    let builder = RunBuilder::started().event("rer.step.completed", of_no_call);
    let builder = called(builder, "a", r#","latency_ms":7,"exit_code":3"#);
    let builder = called(called(builder, "b", ""), "c", "");
    builder
        .event("rer.step.completed", r#"{"step_id":"a","status":"ok","utility":0.5}"#)
        .event("rer.step.completed", r#"{"step_id":"c","status":"ok","utility":0.8}"#)
        .ended(0)
}

/// Converts a run, and returns its files and its losses.
fn replay_of(builder: RunBuilder) -> (Vec<(String, Vec<u8>)>, Vec<String>) {
    let made = converted(&Record::File(builder.seal(&TestKey::of(1))), FormatId::ReplayJsonl).unwrap();
    let losses = made.losses.iter().map(|loss| format!("{}: {}", loss.pattern(), loss.reason)).collect();
    (made.files.into_iter().map(|file| (file.name, file.bytes)).collect(), losses)
}

/// Returns the lines of one event, without their hashes and times.
fn lines(files: &[(String, Vec<u8>)], event: &str) -> Vec<String> {
    let text = String::from_utf8(files[0].1.clone()).unwrap();
    let shown = |line: &str| {
        let value = Value::parse(line.as_bytes(), &Limits::default()).unwrap();
        let members = value.members().filter(|(name, _)| {
            !["event", "t", "output_hash", "params_hash"].iter().any(|other| name.is_string(other))
        });
        let members = members.map(|(name, value)| {
            format!("{} {}", name.string().unwrap(), String::from_utf8_lossy(value.text()))
        });
        members.collect::<Vec<_>>().join(", ")
    };
    text.lines().filter(|line| line.contains(&format!("\"event\":\"{event}\""))).map(shown).collect()
}

#[test]
fn unknown_figures_are_marked_and_not_averaged() {
    let (files, losses) = replay_of(rated());
    assert_eq!(
        lines(&files, "ToolResult"),
        [
            "exit_code 3, id \"a\", latency_ms 7, step_utility 0.5",
            "exit_code null, id \"b\", latency_ms 0, step_utility 0.0, unknown [\"latency_ms\",\"step_utility\"]",
            "exit_code null, id \"c\", latency_ms 0, step_utility 0.8, unknown [\"latency_ms\"]",
        ]
    );
    for loss in [
        "$.events[5].step_utility: the source tells no utility; 0 is written",
        "$.events[1].payload.utility: no tool call is known to belong to the step",
    ] {
        assert!(losses.iter().any(|told| told == loss), "{loss}: {losses:?}");
    }
    let summary = String::from_utf8(files[2].1.clone()).unwrap();
    assert!(
        summary.ends_with(
            "- Average utility: 0.650 (2 of 3 calls)\n\n\
             **Warning:** the utility of 1 tool call is unknown. The 0 that REPLAY.jsonl and RECEIPT.json hold there is a \
             placeholder, marked by `\"unknown\"`.\n"
        ),
        "{summary}"
    );
    let opened = open_files(files, &Keys::default(), &Options::default());
    assert!(opened.report.pass(), "{:?}", opened.report.reasons);
    assert_eq!(opened.report.notes, Vec::<String>::new());
    assert!(
        opened
            .report
            .summary
            .ends_with("(3 tool calls, 7 ms (1 of 3 calls), average utility 0.650 (2 of 3 calls))")
    );
    let run = opened.run.unwrap();
    let known = |run: &Run| {
        let results = run.tool_calls().map(|tool| tool.result().unwrap());
        results.map(|result| (result.utility, result.latency.is_some())).collect::<Vec<_>>()
    };
    assert_eq!(known(&run), [(Some(0.5), true), (None, false), (Some(0.8), false)]);
    let figures = run.summary().figures.unwrap();
    assert_eq!(figures.utility_text(), "average utility 0.650 (2 of 3 calls)");
}

#[test]
fn a_run_that_nobody_rates_has_no_average() {
    let (files, _) = replay_of(called(RunBuilder::started(), "a", "").ended(0));
    let opened = open_files(files, &Keys::default(), &Options::default());
    assert!(
        opened.report.summary.ends_with("(1 tool call, latency unknown, utility unknown)"),
        "{}",
        opened.report.summary
    );
    assert_eq!(opened.run.unwrap().summary().figures.unwrap().average_step_utility(), None);
}

#[test]
fn a_call_without_a_result_is_kept_with_one_of_which_nothing_is_known() {
    let builder = RunBuilder::started()
        .event("rer.tool.called", r#"{"step_id":"s1","tool_call_id":"open","tool":"t","input":1}"#)
        .event("rer.tool.called", r#"{"step_id":"s2","tool_call_id":"odd","tool":"t","input":1}"#)
        .event("rer.tool.returned", r#"{"step_id":"s2","output":1,"is_error":"odd"}"#);
    let (files, losses) = replay_of(builder.ended(0));
    let unknown = "unknown [\"latency_ms\",\"output_hash\",\"step_utility\"]";
    assert_eq!(
        lines(&files, "ToolResult"),
        ["odd", "open"]
            .map(|id| format!("exit_code null, id \"{id}\", latency_ms 0, step_utility 0.0, {unknown}"))
    );
    for loss in [
        "$.events[1]: no result of it is recorded; one of which nothing is known is written",
        "$.events[3]: it cannot be read",
    ] {
        assert!(losses.iter().any(|told| told.starts_with(loss)), "{loss}: {losses:?}");
    }
    let opened = open_files(files, &Keys::default(), &Options::default());
    assert!(opened.report.pass(), "{:?}", opened.report.reasons);
    let run = opened.run.unwrap();
    assert!(run.tool_calls().all(|tool| tool.result().unwrap().output_hash.is_none()));
}

#[test]
fn a_failure_without_an_exit_code_is_1() {
    let (files, losses) = replay_of(called(RunBuilder::started(), "a", r#","is_error":true"#).ended(0));
    assert!(lines(&files, "ToolResult")[0].starts_with("exit_code 1, "));
    assert!(
        losses.contains(
            &"$.events[2].exit_code: the source tells only that it failed; 1 is written".to_owned()
        ),
        "{losses:?}"
    );
}

#[test]
fn the_summary_names_the_files_that_changed() {
    let ended = r#"{"status":"completed","files":{"added":[["new`.txt","00"]],"changed":[],"removed":["old.txt"],"more":1}}"#;
    let (files, _) = replay_of(RunBuilder::started().event("rer.run.ended", ended));
    let summary = String::from_utf8(files[2].1.clone()).unwrap();
    let expected = "## Files Modified\n\n- `new'.txt` (added)\n- `old.txt` (removed)\n- and 1 other file\n\n## Verification";
    assert!(summary.contains(expected), "{summary}");
    assert!(!summary.contains("Warning"), "{summary}");
}

/// A member `unknown` of another producer has no meaning here.
#[test]
fn another_producers_member_of_the_same_name_means_nothing() {
    let (mut files, _) = replay_of(rated());
    files.truncate(1);
    let text = String::from_utf8(std::mem::take(&mut files[0].1)).unwrap();
    let foreign = text.replace("[\"latency_ms\",\"step_utility\"]", "[\"step_utility\",\"mood\"]");
    assert_ne!(foreign, text);
    files[0].1 = foreign.into_bytes();
    let opened = open_files(files, &Keys::default(), &Options::default());
    assert!(opened.report.pass(), "{:?}", opened.report.reasons);
    assert_eq!(opened.report.notes, ["1 member of known events that the format does not define"]);
    assert!(opened.report.summary.ends_with("average utility 0.433)"), "{}", opened.report.summary);
}

/// Placeholders come back from RER as they were.
#[test]
fn placeholders_survive_the_way_through_rer() {
    let (files, _) = replay_of(rated());
    let record = Record::Folder(files.clone());
    let imported = Record::of(converted(&record, FormatId::Rer).unwrap());
    let back = converted(&imported, FormatId::ReplayJsonl).unwrap();
    assert!(back.is_restored);
    let back: Vec<(String, Vec<u8>)> = back.files.into_iter().map(|file| (file.name, file.bytes)).collect();
    assert_eq!(back[0], files[0]);
    let run = imported.open().run.unwrap();
    let utilities: Vec<Option<f32>> = run.tool_calls().map(|tool| tool.result().unwrap().utility).collect();
    assert_eq!(utilities, [Some(0.5), None, Some(0.8)]);
}
