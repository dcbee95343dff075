//! Stub replays: the steps of an `.rpk` played without a command, and their hashes checked.

use std::fs;

use reenact_formats::rpk::HmacKey;
use reenact_formats::rpk::write::{HmacSigning, NewRpkStep, RpkDocumentBuilder, RpkRunHeader};
use reenact_json::{Limits, Value};
use reenact_testkit::Script;

use super::project::{REENACT, TestProject};

/// Steps of a run: type, input, output, metadata. A model is asked, a tool called, a page fetched.
const STEPS: [[&str; 4]; 6] = [
    [
        "model.request",
        r#"{"model":"gpt-5","input":{"messages":[{"role":"user","content":"What does it cost?"}]}}"#,
        r#"{"status":"sent"}"#,
        r#"{"model":"gpt-5"}"#,
    ],
    [
        "model.response",
        r#"{"model":"gpt-5"}"#,
        r#"{"output":{"content":"Ten euros."}}"#,
        r#"{"model":"gpt-5"}"#,
    ],
    [
        "tool.request",
        r#"{"tool":"lookup","args":["tea"],"kwargs":{}}"#,
        r#"{"status":"called"}"#,
        r#"{"tool":"lookup"}"#,
    ],
    [
        "tool.response",
        r#"{"tool":"lookup"}"#,
        r#"{"result":{"price":10}}"#,
        r#"{"tool":"lookup","duration_ms":3}"#,
    ],
    [
        "tool.request",
        r#"{"method":"GET","url":"https://example.com/tea","headers":{},"body":"<omitted by policy>"}"#,
        r#"{"status":"sent"}"#,
        r#"{"boundary":"http","method":"GET","url":"https://example.com/tea"}"#,
    ],
    ["output.final", "{}", r#"{"text":"It costs\nten euros.\u001b[2J"}"#, "{}"],
];

/// Returns an artifact of the first `count` of [`STEPS`], repeated as often as needed.
fn artifact(count: usize, signing: Option<HmacSigning<'_>>) -> Vec<u8> {
    let mut builder = RpkDocumentBuilder::new();
    for (index, [step_type, input, output, metadata]) in STEPS.iter().cycle().take(count).enumerate() {
        let step = NewRpkStep {
            id: &format!("step-{:06}", index + 1),
            step_type,
            input: input.as_bytes(),
            output: output.as_bytes(),
            metadata: metadata.as_bytes(),
            timestamp: None,
        };
        builder.append(&step).unwrap();
    }
    let header = RpkRunHeader {
        version: "1.0",
        id: "run-tea",
        timestamp: "2026-11-01T09:00:00Z",
        environment_fingerprint: b"{}",
        runtime_versions: b"{}",
        extra_members: &[],
        metadata: &[],
        created_at: "2026-11-01T09:00:00Z",
    };
    builder.finish(&header, signing).unwrap()
}

/// Returns a project with an artifact in `tea.rpk`.
fn project_with(artifact: impl AsRef<[u8]>) -> TestProject {
    let mut project = TestProject::new(Script::travel());
    project.vendor.stop();
    fs::write(project.folder.path().join("tea.rpk"), artifact).unwrap();
    project
}

#[test]
fn every_step_is_played_in_order_tools_included() {
    let project = project_with(artifact(6, None));
    project.run(&["replay", "tea.rpk"]).expect(
        0,
        "PASS  intact, but not signed: [..] (6 steps)\n  \
         ok    step-000001  model.request   gpt-5  What does it cost?\n  \
         ok    step-000002  model.response  gpt-5  Ten euros.\n  \
         ok    step-000003  tool.request    lookup  [ \"tea\" ]\n  \
         ok    step-000004  tool.response   lookup  { \"price\": 10 }\n  \
         ok    step-000005  tool.request    GET https://example.com/tea  sent\n  \
         ok    step-000006  output.final    It costs ten euros.\\u{1b}[2J\n\
         played 6 steps from the record: every hash and the checksum hold; nothing was run\n\
         to run an agent on these answers: reenact replay tea.rpk -- CMD\n",
        "",
    );
    assert!(!project.folder.state().exists(), "nothing was run, so that nothing is kept");
}

#[test]
fn steps_that_were_changed_are_named() {
    let changed = String::from_utf8(artifact(6, None)).unwrap();
    let changed = changed.replace("\"price\": 10", "\"price\": 99").replace("Ten euros.", "Two euros.");
    let project = project_with(changed);
    project.run(&["replay", "tea.rpk"]).expect(
        1,
        "FAIL  2 of 6 checks do not hold: checksum, step_hashes\n  \
         ok    step-000001  [..]\n  \
         FAIL  step-000002  model.response  gpt-5  Two euros.\n  \
         ok    step-000003  [..]\n  \
         FAIL  step-000004  tool.response   lookup  { \"price\": 99 }\n  \
         ok    step-000005  [..]\n  \
         ok    step-000006  [..]\n\
         played 6 steps from the record: the hashes of 2 do not hold; nothing was run\n  \
         step-000002: its hash is sha256:[..], recomputed sha256:[..]\n  \
         step-000004: its hash is sha256:[..], recomputed sha256:[..]\n  \
         checksum: checksum is sha256:[..], recomputed sha256:[..]\n",
        "",
    );
}

#[test]
fn steps_that_were_swapped_have_their_hashes_and_no_checksum() {
    let text = String::from_utf8(artifact(2, None)).unwrap();
    let swapped = text.replace("step-000001", "step-x").replace("step-000002", "step-000001");
    let project = project_with(swapped.replace("step-x", "step-000002"));
    project.run(&["replay", "tea.rpk"]).expect(
        1,
        "FAIL  1 of 6 checks does not hold: checksum\n...\n\
         played 2 steps from the record: every step has its hash, and yet the record does not verify; nothing was run\n  \
         checksum: checksum is sha256:[..], recomputed sha256:[..]\n",
        "",
    );
}

#[test]
fn the_report_for_programs() {
    let project = project_with(artifact(6, None));
    let played = project.run(&["replay", "tea.rpk", "--json"]);
    assert_eq!(played.code, Some(0), "{}", played.stderr);
    let report = Value::parse(played.stdout.as_bytes(), &Limits::default()).unwrap();
    let text = |name: &str| report.member(name).unwrap().string().unwrap().into_owned();
    assert_eq!(
        (text("verdict"), text("mode"), text("run_id")),
        ("played".into(), "stub".into(), "run-tea".into())
    );
    assert_eq!(report.member("steps").unwrap().unsigned_integer(), Some(6));
    assert_eq!(report.member("checksum").unwrap().boolean(), Some(true));
    assert_eq!(report.member("step_hashes").unwrap().boolean(), Some(true));
    assert!(report.member("signature").unwrap().is_null());
    let steps: Vec<Value<'_>> = report.member("played").unwrap().elements().collect();
    assert_eq!(steps.len(), 6);
    assert!(steps[3].member("type").unwrap().is_string("tool.response"));
    assert!(steps[3].member("name").unwrap().is_string("lookup"));
    assert_eq!(steps[3].member("hash").unwrap().boolean(), Some(true));
    assert!(report.member("changed_steps").unwrap().elements().next().is_none());
}

#[test]
fn of_a_long_record_both_ends_are_shown() {
    let project = project_with(artifact(1_200, None));
    let played = project.run(&["replay", "tea.rpk"]);
    assert_eq!(played.code, Some(0), "{}", played.stderr);
    let lines: Vec<&str> = played.stdout.lines().collect();
    assert_eq!(lines.len(), 1 + 100 + 1 + 100 + 2, "{}", played.stdout);
    assert_eq!(lines[101], "  …     1,000 steps, not shown: reenact show tea.rpk");
    assert!(lines[100].contains("step-000100") && lines[102].contains("step-001101"), "{}", played.stdout);
    let report = project.run(&["replay", "tea.rpk", "--json"]).stdout;
    let report = Value::parse(report.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(report.member("played").unwrap().elements().count(), 1_000);
    assert_eq!(report.member("more").unwrap().unsigned_integer(), Some(200));
}

#[test]
fn a_signature_without_its_key_is_told_and_one_with_another_key_refused() {
    let (key, other) = (HmacKey::from_text(b"tea-key").unwrap(), "another-key");
    let project = project_with(artifact(2, Some(HmacSigning { key: &key, key_id: "ci" })));
    let write = |name: &str, text: &str| fs::write(project.folder.path().join(name), text).unwrap();
    write("right.key", "tea-key");
    write("wrong.key", other);
    project.run(&["replay", "tea.rpk"]).expect(
        0,
        "UNPROVEN  [..]\n...\nits signature was not checked: ask the sender for the shared key \"ci\", and give it with --hmac-key-file\n...\n",
        "",
    );
    project.run(&["replay", "tea.rpk", "--hmac-key-file", "right.key"]).expect(
        0,
        "PASS  intact, and signed with the key that you supplied (2 steps)\n...\n",
        "",
    );
    project.run(&["replay", "tea.rpk", "--hmac-key-file", "wrong.key"]).expect(
        2,
        "",
        "reenact: tea.rpk: this record is not signed by a key that was given: [..] (E_NOT_TRUSTED)\n...\n",
    );
}

#[test]
fn options_of_bundles_are_refused_without_a_command_too() {
    let project = project_with(artifact(1, None));
    for options in [["--seed", "2"], ["--outputs", "out"]] {
        let refused = format!(
            "reenact: {} has a meaning only with a Replay Bundle: no other record holds outputs or seeds\n",
            options[0]
        );
        project.run(&[&["replay", "tea.rpk"], &options[..]].concat()).expect(2, "", &refused);
    }
}

#[test]
fn what_cannot_be_played() {
    let text = String::from_utf8(artifact(2, None)).unwrap();
    let project = project_with(text.replace("\"version\": \"1.0\"", "\"version\": \"2.0\""));
    project.run(&["replay", "tea.rpk"]).expect(
        2,
        "",
        "reenact: tea.rpk: this record cannot be played: the version is not one that can be judged here (E_NOT_VERIFIED)\nversion: version 2.0 cannot be read here: only 1.x can\n",
    );
    let project = project_with(artifact(0, None));
    project.run(&["replay", "tea.rpk"]).expect(
        2,
        "",
        "reenact: tea.rpk: the record holds no step, so there is nothing to play (E_NOTHING_RECORDED)\n",
    );
}

#[test]
fn with_a_command_the_agent_runs() {
    let project = project_with(artifact(2, None));
    project.run(&["replay", "tea.rpk", "--sandbox", "off", "--", REENACT, "--version"]).expect(
        1,
        "reenact [..]\n",
        "...\nreenact: differed: 1 exchange not asked for\n...\n",
    );
}

#[test]
fn the_played_steps_are_written_with_hashes_of_their_own() {
    let project = project_with(artifact(6, None));
    let read = |name: &str| fs::read_to_string(project.folder.path().join(name)).unwrap();
    for name in ["again.rpk", "twice.rpk"] {
        project.run(&["replay", "tea.rpk", "--out", name]).expect(
            0,
            "...\nplayed 6 steps from the record: [..]\n...\n",
            &format!("reenact: the steps were written to {name}, with hashes of their own: their metadata names the source\n"),
        );
    }
    assert_eq!(read("again.rpk"), read("twice.rpk"), "the same every time");
    assert_eq!(project.run(&["verify", "again.rpk"]).code, Some(0));
    let document = read("again.rpk");
    let document = Value::parse(document.as_bytes(), &Limits::default()).unwrap();
    let run = document.member("payload").unwrap().member("run").unwrap();
    let steps: Vec<Value<'_>> = run.member("steps").unwrap().elements().collect();
    assert_eq!(steps.len(), 6);
    let metadata = steps[3].member("metadata").unwrap();
    assert!(metadata.member("source_step_id").unwrap().is_string("step-000004"));
    assert!(metadata.member("replay_strategy").unwrap().is_string("stub"));
    assert_eq!(
        steps[3]
            .member("output")
            .unwrap()
            .member("result")
            .unwrap()
            .member("price")
            .unwrap()
            .unsigned_integer(),
        Some(10)
    );
    assert!(document.member("metadata").unwrap().member("source_run_id").unwrap().is_string("run-tea"));
    project.run(&["replay", "tea.rpk", "--out", "again.rpk"]).expect(
        2,
        "",
        "reenact: again.rpk: there is such a file already; give another name\n",
    );
    project.run(&["replay", "tea.rpk", "--out", "model_io.json"]).expect(
        2,
        "",
        "reenact: --out *model_io.json is for a replay with a command: nothing is asked where the steps are played; *.rpk writes the steps\n",
    );
}

#[test]
fn steps_that_were_changed_are_not_written_anew() {
    let changed = String::from_utf8(artifact(6, None)).unwrap().replace("\"price\": 10", "\"price\": 99");
    let project = project_with(changed);
    project.run(&["replay", "tea.rpk", "--out", "again.rpk"]).expect(
        1,
        "FAIL  [..]\n...\n",
        "reenact: again.rpk was not written: what is not as it was recorded is not written anew\n",
    );
    assert!(!project.folder.path().join("again.rpk").exists());
}
