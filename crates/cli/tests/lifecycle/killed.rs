//! Recorders that are killed: `reenact recover` seals their runs, says what broke off, and touches nothing else.

use std::fs;
use std::process::{Child, Stdio};

use reenact_testkit::Script;

use super::project::{REENACT, TestProject};

/// Starts a recording of the demo's agent in the background.
fn recording(project: &TestProject) -> Child {
    let mut record = project.command(&["record", "--", REENACT, "demo-agent"]);
    record.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn what_was_killed_is_sealed_and_said_to_be() {
    let project = TestProject::new(Script::travel().gated());
    for piece in 0..40 {
        project.vendor.open_gate(&format!("0.{piece}"));
    }
    let mut recorder = recording(&project);
    // The second request waits for its answer.
    project.vendor.wait_for_requests(2).unwrap();
    project.run(&["recover"]).expect(0, "nothing to recover: every run of this folder is sealed\n", "");
    project.run(&["recover", "last"]).expect(
        2,
        "",
        "reenact: [..]: another reenact is recording it at this moment\n",
    );
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    project.run(&["show", "last"]).expect(
        2,
        "",
        "reenact: run [..] has no artifact here: it was not sealed (seal it with: reenact recover), or its artifact was written elsewhere\n",
    );
    project.run(&["recover"]).expect(
        0,
        "recovered [..]: 2 model calls and 1 tool call; [..]1 answer broke off\nsealed: .reenact/runs/[..]/artifact.rer.json ([..])\n",
        "",
    );
    project.run(&["recover", "last"]).expect(0, "[..] is sealed: .reenact/runs/[..]\n", "");
    project.run(&["verify", "last"]).expect(0, "...\n  RECOVERED  [..]\n", "");
    project.run(&["show", "last"]).expect(
        0,
        "RECOVERED  [..]\n...\ntime    began [..], took [..], crashed (its recorder did not come to the end)\n...\n",
        "",
    );
    for piece in 0..40 {
        project.vendor.open_gate(&format!("1.{piece}"));
    }
}

#[test]
fn what_lies_where_a_killed_run_was_to_be_is_left_alone() {
    let project = TestProject::new(Script::travel().gated());
    let record = ["record", "--force", "--out", "run.rer.json", "--", REENACT, "demo-agent"];
    let mut recorder = project.command(&record).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    project.vendor.wait_for_requests(1).unwrap();
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let out = project.folder.path().join("run.rer.json");
    fs::write(&out, "someone else's").unwrap();
    project.run(&["recover"]).expect(
        0,
        "recovered [..]: 1 model call and 0 tool calls; [..]1 answer broke off\nsealed: .reenact/runs/[..]/artifact.rer.json ([..])\n",
        "",
    );
    assert_eq!(fs::read_to_string(&out).unwrap(), "someone else's");
    project.run(&["verify", "last"]).expect(0, "...\n", "");
}

/// The agent rewrites the journal, so that each line that is left is right by itself. Neither the recorder nor a recovery
/// makes a record of it, and nothing advises to try.
#[test]
fn a_journal_that_the_agent_rewrote_is_refused_for_good() {
    let project = TestProject::new(Script::travel());
    let rewrite = "for j in .reenact/runs/*/journal.jsonl; do head -n 1 \"$j\" > t && cat t > \"$j\"; done";
    let recorded = project.run(&["record", "-q", "--", "sh", "-c", rewrite]);
    assert_eq!(recorded.code, Some(125), "{}", recorded.stderr);
    assert!(recorded.stderr.contains("someone changed the journal"), "{}", recorded.stderr);
    assert!(!recorded.stderr.contains("reenact recover"), "{}", recorded.stderr);
    let refused = "reenact: run [..] is refused for good: someone changed its journal while it was recorded, and nothing of it will be signed\n";
    project.run(&["recover"]).expect(0, "nothing to recover: every run of this folder is sealed\n", "");
    project.run(&["recover", "last"]).expect(1, "", refused);
    project.run(&["show", "last"]).expect(2, "", refused);
}

/// A torn journal without a log, as after a power failure.
#[test]
fn what_was_torn_is_said_to_be() {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "-q", "--", REENACT, "demo-agent"]).expect(0, "...\n", "");
    let artifact = project.artifact();
    fs::remove_file(&artifact).unwrap();
    let journal = artifact.with_file_name("journal.jsonl");
    let mut bytes = fs::read(&journal).unwrap();
    // As after a power failure: the last page of the event has reached the disk, the page before it has not.
    let end = bytes.len();
    bytes[end - 200..end - 100].fill(0);
    fs::write(&journal, &bytes).unwrap();
    let recovered = project.run(&["recover"]);
    recovered.expect(
        0,
        "recovered [..]: 4 model calls and 3 tool calls; the last [..] bytes of its journal were torn\nsealed: [..]\n",
        "",
    );
    let artifact = fs::read_to_string(artifact).unwrap();
    assert!(artifact.contains("bytes were no whole event, and were cut off\""), "{}", recovered.stdout);
    project.run(&["verify", "last"]).expect(0, "...\n", "");
}

/// The next recording mentions runs that were never sealed.
#[test]
fn the_next_recording_says_what_was_never_sealed() {
    let project = TestProject::new(Script::travel().gated());
    let run = kill_one(&project, 1);
    let next = project.run(&["record", "--", "true"]);
    let said = format!("reenact: run {run} was never sealed; seal it with: reenact recover {run}\n");
    assert_eq!(next.code, Some(0));
    assert!(next.stderr.contains(&said), "{}", next.stderr);
    let newest = kill_one(&project, 2);
    let next = project.run(&["record", "--", "true"]);
    let said = format!(
        "reenact: 2 runs were never sealed, from {run} to {newest}; seal them all with: reenact recover\n"
    );
    assert!(next.stderr.contains(&said), "{}", next.stderr);
    // One by its id, then all that are left.
    let sealed = "recovered [..]\nsealed: [..]\n";
    project.run(&["recover", &run]).expect(0, sealed, "");
    project.run(&["recover"]).expect(0, sealed, "");
    let next = project.run(&["record", "--", "true"]);
    assert!(!next.stderr.contains("never sealed"), "{}", next.stderr);
}

/// Kills a recorder after the vendor has received so many requests, and returns the id of the run.
fn kill_one(project: &TestProject, requests: usize) -> String {
    let mut recorder = recording(project);
    project.vendor.wait_for_requests(requests).unwrap();
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let runs = fs::read_dir(project.folder.path().join(".reenact/runs")).unwrap();
    // Run ids sort by time, so the largest is the latest.
    runs.map(|run| run.unwrap().file_name().into_string().unwrap()).max().unwrap()
}
