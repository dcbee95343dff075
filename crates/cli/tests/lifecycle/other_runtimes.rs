//! Records of other runtimes, shown and converted as what they are.

use std::fs;

use reenact_formats::rer::seal::Signer as _;
use reenact_json::Digest;
use reenact_testkit::Script;
use reenact_testkit::fixture::{RunBuilder, TestKey};

use super::project::TestProject;

/// Returns a project with the record `run.rer.json`, and the key that signed it in `key.bin`.
fn with_record(run: RunBuilder) -> TestProject {
    let project = TestProject::new(Script::travel());
    let key = TestKey::of(1);
    fs::write(project.folder.path().join("run.rer.json"), run.seal(&key)).unwrap();
    fs::write(project.folder.path().join("key.bin"), key.public_key().as_bytes()).unwrap();
    project
}

fn foreign_run() -> TestProject {
    with_record(
        RunBuilder::started()
            .event(
                "rer.model.called",
                r#"{"step_id":"s1","model":"m-1","input":[{"role":"user","content":"What is 2+2?"}]}"#,
            )
            .event(
                "rer.model.returned",
                r#"{"step_id":"s1","output":"4","usage":{"prompt_tokens":9,"completion_tokens":1}}"#,
            )
            .event("rer.model.called", r#"{"step_id":"s2","question":"why?","depth":3}"#)
            .event("rer.model.returned", r#"{"step_id":"s2","verdict":"because"}"#)
            .ended(0),
    )
}

#[test]
fn model_input_output_and_usage_are_found() {
    let project = foreign_run();
    project.run(&["show", "run.rer.json", "--key", "key.bin"]).expect(
        0,
        "PASS  [..]\n\n\
         run     [..]\n\
         command python agent.py\n\
         time    [..]\n\
         calls   2 model calls, 0 tool calls\n\
         model   no model named: 1 call\n\
         model   m-1: 1 call, 9 tokens in, 1 out\n\
         \n  \
         s1     +1.0 s  m-1  9 tokens in, 1 out\n                 \
         asked [{\"content\":\"What is 2+2?\",\"role\":\"user\"}]\n                 \
         4\n\
         \n  \
         s2     +3.0 s  rer.model.called\n                 \
         depth: 3, question: why?\n                 \
         answered verdict: because\n",
        "",
    );
}

#[test]
fn a_step_shows_the_payloads_as_they_stand() {
    let project = foreign_run();
    project.run(&["show", "run.rer.json", "--key", "key.bin", "--step", "s2"]).expect(
        0,
        "asked\n  {\n    \"depth\": 3,\n    \"question\": \"why?\",\n    \"step_id\": \"s2\"\n  }\n\n\
         answered\n  {\n    \"step_id\": \"s2\",\n    \"verdict\": \"because\"\n  }\n",
        "",
    );
    project.run(&["show", "run.rer.json", "--key", "key.bin", "--step", "s1", "--json"]).expect(
        0,
        "{[..]\"model\":\"m-1\",[..]\"request_payload\":{\"input\":[..]},\"answer_payload\":{\"output\":\"4\",[..]\"status\":null,[..]\"text\":\"4\",[..]\"input_tokens\":9,\"output_tokens\":1}\n",
        "",
    );
}

#[test]
fn conversion_finds_the_model() {
    let project = with_record(
        RunBuilder::started()
            .event("rer.model.called", r#"{"step_id":"s1","model":"m-1","prompt":"What is 2+2?"}"#)
            .event("rer.model.returned", r#"{"step_id":"s1","output":"4"}"#)
            .ended(0),
    );
    let converted =
        project.run(&["convert", "run.rer.json", "--to", "model-io", "--key", "key.bin", "--out", "m.json"]);
    assert_eq!(converted.code, Some(0), "{}", converted.stderr);
    assert!(!converted.stderr.contains("names no model"), "{}", converted.stderr);
    let session = fs::read_to_string(project.folder.path().join("m.json")).unwrap();
    assert!(session.contains("\"model_id\":\"m-1\""), "{session}");
    assert!(session.contains("\"response_content\":\"4\""), "{session}");
    let prompt = Digest::of(b"What is 2+2?");
    assert!(session.contains(&format!("\"prompt_hash\":\"sha256:{prompt}\"")), "{session}");
}
