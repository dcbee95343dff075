//! Recordings of the kernel of Model IO, which carry no proof: they are named, shown and replayed.

use std::fs;

use reenact_json::Digest;
use reenact_testkit::Script;

use super::project::{REENACT, TestProject};

/// Task of the demo's agent by default.
const TASK: &str = "Book me a flight from Vienna to Lisbon on 2026-05-12, for at most 200 euros.";

/// Returns a project with a recording in `rs.json`, which holds the prompt or a mark in its place.
fn project_with(prompt: &str) -> TestProject {
    let mut project = TestProject::new(Script::travel());
    project.vendor.stop();
    let recording = format!(
        r#"{{
  "format_version": "1.0",
  "started_at": "2026-03-01T09:00:00.000Z",
  "ended_at": "2026-03-01T09:00:04.250Z",
  "model_id": "gpt-5",
  "interactions": [
    {{
      "sequence": 0,
      "prompt_hash": "{}",
      "prompt": "{prompt}",
      "context": {{ "mode": "execute" }},
      "result": {{ "content": "There are no flights.", "tokens_input": 9, "tokens_output": 4, "latency_ms": 812 }},
      "recorded_at": "2026-03-01T09:00:01.000Z"
    }}
  ],
  "stats": {{ "total_interactions": 1 }}
}}"#,
        Digest::of(TASK.as_bytes())
    );
    fs::write(project.folder.path().join("rs.json"), recording).unwrap();
    project
}

/// Words about a recording that is verified.
const NO_PROOF: &str = "it is of the format recording-session, which carries no proof: nothing of it can be verified. Convert it: reenact convert FILE --to model-io --out PATH";

#[test]
fn a_recording_is_named_and_not_judged_by_the_rules_of_sessions() {
    let project = project_with(TASK);
    project.run(&["verify", "rs.json"]).expect(
        1,
        &format!(
            "rs.json  unknown\n  FAIL  recognised  the content is of a format known here\n        {NO_PROOF}\n  FAIL  this is not a record that can be verified here\n"
        ),
        "",
    );
    project.run(&["show", "rs.json"]).expect(
        1,
        &format!(
            "FAIL  this is not a record that can be verified here\n      recognised: {NO_PROOF}\n\n\
             format  recording-session\n\
             time    began 2026-03-01T09:00:00.000Z, took 4.2 s\n\
             calls   1 model call, 0 tool calls\n\
             model   gpt-5: 1 call, 9 tokens in, 4 out[..]\n\n  \
             0   gpt-5  9 tokens in, 4 out, 812 ms\n      \
             asked {TASK}\n      \
             There are no flights.\n"
        ),
        "",
    );
    // What it says of itself is what is done.
    let converted = project.run(&["convert", "rs.json", "--to", "model-io", "--out", "model_io.json"]);
    assert_eq!(converted.code, Some(0), "{}", converted.stderr);
    assert_eq!(project.run(&["verify", "model_io.json"]).code, Some(0));
}

#[test]
fn a_recording_is_replayed_by_its_prompts_or_by_their_hashes() {
    for (prompt, found) in [(TASK, "the prompt"), ("[REDACTED]", "the hash of the body or of the prompt")] {
        let project = project_with(prompt);
        project.run(&["replay", "rs.json", "--sandbox", "off", "--", REENACT, "demo-agent"]).expect(
            0,
            "task: [..]Lisbon[..]\nmodel: There are no flights.\n",
            &format!(
                "reenact: rs.json: a record of this kind carries no proof, so that nothing of it was verified\n...\nreenact: reproduced[..]: 1 exchange found by {found}, exit 0 (how the recorded run ended is not in the record)\n...\n"
            ),
        );
        project.run(&["replay", "rs.json", "--require-trusted", "--", "true"]).expect(
            2,
            "",
            "reenact: rs.json: this record is not signed by a key that you trust: nothing in it is signed (E_NOT_TRUSTED)\n...\n",
        );
    }
}

#[test]
fn a_session_with_a_version_is_judged_whatever_else_it_holds() {
    let project = project_with(TASK);
    let session = r#"{"format_version":"1.0","model_io_schema_version":"1.0.0","adapter_id":"","model_id":"m","mode":"record","interactions":[]}"#;
    fs::write(project.folder.path().join("odd.json"), session).unwrap();
    let verified = project.run(&["verify", "--json", "odd.json"]);
    assert_eq!(verified.code, Some(1));
    assert!(verified.stdout.contains(r#""format":"model-io/1.0.0""#), "{}", verified.stdout);
    assert!(verified.stdout.contains("adapter_id must be non-empty string"), "{}", verified.stdout);
}

#[test]
fn numbers_that_nothing_hashes_are_converted_and_come_back() {
    let project = project_with(TASK);
    let session = format!(
        r#"{{"adapter_id":"a","interactions":[{{"i":0,"latency_ms":1e999,"prompt_hash":"sha256:{0}","response_content":"x","response_hash":"sha256:{1}"}}],"mode":"record","model_id":"m","model_io_schema_version":"1.0.0","note":[-1E+400]}}"#,
        Digest::of(b"p"),
        Digest::of(b"x")
    );
    let write = |name: &str, text: &str| fs::write(project.folder.path().join(name), text).unwrap();
    let read = |name: &str| fs::read_to_string(project.folder.path().join(name)).unwrap();
    write("big.model_io.json", &session);
    let convert = |from: &str, to: &str, out: &str| {
        let made = project.run(&["convert", from, "--to", to, "--out", out]);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
    };
    convert("big.model_io.json", "rer", "big.rer.json");
    assert!(read("big.rer.json").contains(r#"{"$text":"1e999"}"#));
    assert_eq!(project.run(&["verify", "big.rer.json"]).code, Some(0));
    convert("big.rer.json", "model-io", "back.model_io.json");
    assert_eq!(read("back.model_io.json"), session);
    assert_eq!(project.run(&["show", "big.rer.json"]).code, Some(0));
}
