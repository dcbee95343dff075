//! Replays of records in other formats: those that were converted from RER, and those that hold prompts and answers only.

use std::fs;
use std::path::PathBuf;

use reenact_formats::replay_bundle::new_manifest::NewManifest;
use reenact_formats::replay_bundle::{DocumentInclusion, NewBundleFile, write};
use reenact_json::{Digest, Limits, Value};
use reenact_testkit::Script;

use super::project::{REENACT, TestProject};

/// Task of the demo's agent by default.
const TASK: &str = "Book me a flight from Vienna to Lisbon on 2026-05-12, for at most 200 euros.";

/// Output of the agent when the model gives one answer and asks for no tool.
const SAID: &str = "task: [..]Lisbon[..]\nmodel: There are no flights to Lisbon.\n";

/// Returns the verdict of a replay that matched one request by `found`, of a record without an exit code.
fn reproduced_by(found: &str) -> String {
    format!(
        "reenact: reproduced: 1 exchange found by {found}, exit 0 (how the recorded run ended is not in the record)\n...\n"
    )
}

fn offline_project() -> TestProject {
    let mut project = TestProject::new(Script::travel());
    project.vendor.stop();
    project
}

/// Writes a file into the project folder, and returns its name.
fn write_file(project: &TestProject, name: &str, bytes: impl AsRef<[u8]>) -> String {
    fs::write(project.folder.path().join(name), bytes).unwrap();
    name.to_owned()
}

/// Returns a line of a trace with the agent's task as its prompt.
fn trace() -> String {
    format!(
        "{{\"schema_version\":1,\"type\":\"assay.trace\",\"request_id\":\"r1\",\"prompt\":\"{TASK}\",\"response\":\"There are no flights to Lisbon.\",\"meta\":{{}}}}\n"
    )
}

fn packed_bundle(trace: DocumentInclusion, files: &[NewBundleFile<'_>]) -> Vec<u8> {
    let manifest = NewManifest { assay_version: "reenact/test".into(), trace, ..NewManifest::default() };
    write(&manifest, files, Vec::new()).unwrap()
}

fn read_file(project: &TestProject, name: &str) -> Vec<u8> {
    fs::read(project.folder.path().join(name)).unwrap()
}

#[test]
fn an_rpk_of_ours_is_replayed_to_the_byte_and_from_rer_again() {
    let mut project = TestProject::new(Script::travel());
    let recorded = project.run(&["record", "-q", "--", REENACT, "demo-agent"]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    project.vendor.stop();
    assert_eq!(project.run(&["convert", "last", "--to", "rpk", "--out", "run.rpk"]).code, Some(0));
    assert_eq!(project.run(&["convert", "run.rpk", "--to", "rer", "--out", "again.rer.json"]).code, Some(0));
    for run in ["run.rpk", "again.rer.json"] {
        project.run(&["replay", run, "--", REENACT, "demo-agent"]).expect(
            0,
            &recorded.stdout,
            "...\nreenact: reproduced: 4 exchanges as recorded, exit 0 (how the recorded run ended is not in the record)\n...\n",
        );
    }
}

#[test]
fn a_model_io_session_by_the_hash_of_its_prompt() {
    let project = offline_project();
    let said = "There are no flights to Lisbon.";
    let session = format!(
        r#"{{"adapter_id":"other/openai","interactions":[{{"i":0,"prompt_hash":"sha256:{}","response_content":"{said}","response_hash":"sha256:{}"}}],"mode":"record","model_id":"gpt-5","model_io_schema_version":"1.0.0"}}"#,
        Digest::of(TASK.as_bytes()),
        Digest::of(said.as_bytes())
    );
    let run = write_file(&project, "model_io.json", session);
    let notes = "the record holds no bytes of HTTP: requests were found by the hash of the body or of the prompt, 1 answer was written anew in the vendor's shape";
    project.run(&["replay", &run, "--", REENACT, "demo-agent"]).expect(
        0,
        SAID,
        &format!("...\nreenact: {notes}\n{}", reproduced_by("the hash of the body or of the prompt")),
    );
    let json = project.run(&["replay", &run, "--json", "--", REENACT, "demo-agent"]).stdout;
    let json = Value::parse(json.as_bytes(), &Limits::default()).unwrap();
    assert!(json.member("found_by").unwrap().is_string("body-hash"));
    assert_eq!(json.member("rebuilt").unwrap().unsigned_integer(), Some(1));
    assert!(json.member("replay_of").unwrap().member("format").unwrap().is_string("model-io/1.0.0"));
}

#[test]
fn a_bundle_by_its_trace_with_run_and_summary() {
    let project = offline_project();
    let trace = trace().into_bytes();
    let bundle = packed_bundle(
        DocumentInclusion::File("files/trace.jsonl".into()),
        &[NewBundleFile { name: "files/trace.jsonl", content: &trace }],
    );
    let digest = Digest::of(&bundle);
    let name = write_file(&project, "bundle.tar.gz", bundle);
    project.run(&["replay", "--bundle", &name, "--", REENACT, "demo-agent"]).expect(
        0,
        SAID,
        &format!("...\n{}", reproduced_by("the prompt")),
    );
    for (file, results) in [("run.json", 1), ("summary.json", 0)] {
        let bytes = read_file(&project, file);
        let document = Value::parse(&bytes, &Limits::default()).unwrap();
        assert_eq!(document.member("exit_code").unwrap().unsigned_integer(), Some(0));
        assert!(document.member("reason_code").unwrap().is_string(""));
        assert_eq!(document.member("results").unwrap().elements().count(), results);
        let provenance = document.member("provenance").unwrap();
        assert_eq!(provenance.member("replay").unwrap().boolean(), Some(true));
        assert!(provenance.member("replay_mode").unwrap().is_string("offline"));
        assert!(provenance.member("bundle_digest").unwrap().is_string(&format!("sha256:{digest}")));
        assert!(provenance.member("source_run_id").unwrap().is_null());
    }
}

#[test]
fn a_trace_that_is_held_by_its_digest_is_given() {
    let project = offline_project();
    let trace = trace();
    let name = write_file(
        &project,
        "bundle.tar.gz",
        packed_bundle(DocumentInclusion::Digest(Digest::of(trace.as_bytes())), &[]),
    );
    let right = write_file(&project, "trace.jsonl", &trace);
    let wrong = write_file(&project, "wrong.jsonl", trace.replace("Lisbon", "Porto"));
    let fly = |more: &[&str]| {
        let arguments = [&["replay", "--bundle", &name], more, &["--", REENACT, "demo-agent"]].concat();
        project.run(&arguments)
    };
    fly(&[]).expect(2, "", "reenact: bundle.tar.gz: the bundle holds only the digest of its trace (sha256:[..]): give the file with --trace (E_REPLAY_MISSING_DEPENDENCY)\n");
    let summary = read_file(&project, "summary.json");
    let summary = Value::parse(&summary, &Limits::default()).unwrap();
    assert!(summary.member("reason_code").unwrap().is_string("E_REPLAY_MISSING_DEPENDENCY"));
    fly(&["--trace", &wrong]).expect(2, "", "reenact: bundle.tar.gz: wrong.jsonl is not the trace of this bundle: [..] (E_REPLAY_MISSING_DEPENDENCY)\n");
    fly(&["--trace", &right]).expect(0, SAID, &format!("...\n{}", reproduced_by("the prompt")));
}

#[test]
fn what_others_have_written_is_not_replaced() {
    let project = offline_project();
    let trace = trace().into_bytes();
    let bundle = packed_bundle(
        DocumentInclusion::File("files/trace.jsonl".into()),
        &[NewBundleFile { name: "files/trace.jsonl", content: &trace }],
    );
    let name = write_file(&project, "bundle.tar.gz", bundle);
    let torn = write_file(&project, "torn.tar.gz", "no bundle");
    let theirs = "{\"results\":[]}\n";
    write_file(&project, "summary.json", theirs);
    let refused = "reenact: summary.json: what is here under this name was not written by a replay, and is not replaced: move it, or name a folder for the results with --reports DIR\n";
    let marked = ["sh", "-c", "echo ran > ran"];
    project.run(&[&["replay", "--bundle", &name, "--"], &marked[..]].concat()).expect(2, "", refused);
    project.run(&["replay", "--bundle", &name]).expect(2, "", refused);
    project.run(&["replay", "--bundle", &torn, "--", "true"]).expect(2, "", refused);
    assert_eq!(read_file(&project, "summary.json"), theirs.as_bytes());
    for none in ["run.json", "ran"] {
        assert!(!project.folder.path().join(none).exists(), "{none}");
    }
    // The results of a run are not those of a replay.
    write_file(&project, "summary.json", r#"{"reason_code_version":1,"schema":"assay.run_summary.v1"}"#);
    project.run(&["replay", "--bundle", &name]).expect(2, "", refused);
    // Outputs of a replay are replaced by the next one.
    write_file(&project, "summary.json", r#"{"provenance":{"replay":true}}"#);
    for _ in 0..2 {
        let again = project.run(&["replay", "--bundle", &name, "--", REENACT, "demo-agent"]);
        assert_eq!(again.code, Some(0), "{}", again.stderr);
    }
    assert!(read_file(&project, "run.json").starts_with(b"{\"run_id\":"));
}

#[test]
fn what_is_no_bundle_and_what_does_not_verify() {
    let project = offline_project();
    let trace = trace().into_bytes();
    let mut bundle = packed_bundle(
        DocumentInclusion::File("files/trace.jsonl".into()),
        &[NewBundleFile { name: "files/trace.jsonl", content: &trace }],
    );
    let last = bundle.len() - 6;
    bundle[last] ^= 1;
    let torn = write_file(&project, "torn.tar.gz", bundle);
    project.run(&["replay", "--bundle", &torn, "--", "true"]).expect(
        2,
        "",
        "reenact: torn.tar.gz: the record cannot be read: [..] (E_CFG_PARSE)\n",
    );
    let other = write_file(
        &project,
        "run.rpk",
        fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/runs/minimal.rpk")).unwrap(),
    );
    project.run(&["replay", "--bundle", &other, "--", "true"]).expect(
        2,
        "",
        "reenact: run.rpk: this is no Replay Bundle; leave --bundle out to replay it (E_CFG_PARSE)\n",
    );
}
