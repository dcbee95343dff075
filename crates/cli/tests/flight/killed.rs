//! A recorder that is killed: its run is sealed afterwards, said to be what it is, and nothing else is touched.

use std::fs;
use std::process::{Child, Stdio};

use reenact_testkit::Script;

use super::airport::{Airport, REENACT};

/// The demo's agent, being recorded out of sight.
fn recording(airport: &Airport) -> Child {
    let mut record = airport.command(&["record", "--", REENACT, "demo-agent"]);
    record.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn what_was_killed_is_sealed_and_said_to_be() {
    let airport = Airport::new(Script::travel().gated());
    for piece in 0..40 {
        airport.vendor.open(&format!("0.{piece}"));
    }
    let mut recorder = recording(&airport);
    // The second request waits for its answer.
    airport.vendor.wait_for_requests(2).unwrap();
    airport.fly(&["recover"]).expect(0, "nothing to recover: every run of this folder is sealed\n", "");
    airport.fly(&["recover", "last"]).expect(
        2,
        "",
        "reenact: [..]: another reenact is recording it at this moment\n",
    );
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    airport.fly(&["show", "last"]).expect(
        2,
        "",
        "reenact: run [..] has no artifact here: it was not sealed (seal it with: reenact recover), or its artifact was written elsewhere\n",
    );
    airport.fly(&["recover"]).expect(
        0,
        "recovered [..]: 2 model calls and 1 tool call; [..]1 answer broke off\nsealed: .reenact/runs/[..]/artifact.rer.json ([..])\n",
        "",
    );
    airport.fly(&["recover", "last"]).expect(0, "[..] is sealed: .reenact/runs/[..]\n", "");
    airport.fly(&["verify", "last"]).expect(0, "...\n  PASS  [..]\n", "");
    airport.fly(&["show", "last"]).expect(
        0,
        "PASS  [..]\n...\ntime    began [..], took [..], crashed (its recorder did not come to the end)\n...\n",
        "",
    );
    for piece in 0..40 {
        airport.vendor.open(&format!("1.{piece}"));
    }
}

#[test]
fn what_lies_where_a_killed_run_was_to_be_is_left_alone() {
    let airport = Airport::new(Script::travel().gated());
    let record = ["record", "--force", "--out", "run.rer.json", "--", REENACT, "demo-agent"];
    let mut recorder = airport.command(&record).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    airport.vendor.wait_for_requests(1).unwrap();
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let out = airport.folder.path().join("run.rer.json");
    fs::write(&out, "someone else's").unwrap();
    airport.fly(&["recover"]).expect(
        0,
        "recovered [..]: 1 model call and 0 tool calls; [..]1 answer broke off\nsealed: .reenact/runs/[..]/artifact.rer.json ([..])\n",
        "",
    );
    assert_eq!(fs::read_to_string(&out).unwrap(), "someone else's");
    airport.fly(&["verify", "last"]).expect(0, "...\n", "");
}

/// A journal that was torn when there was no log any more, as after the end of the machine.
#[test]
fn what_was_torn_is_said_to_be() {
    let airport = Airport::new(Script::travel());
    airport.fly(&["record", "-q", "--", REENACT, "demo-agent"]).expect(0, "...\n", "");
    let artifact = airport.artifact();
    fs::remove_file(&artifact).unwrap();
    let journal = artifact.with_file_name("journal.jsonl");
    let mut bytes = fs::read(&journal).unwrap();
    // Of the last event a page is there, and the one before it is not.
    let end = bytes.len();
    bytes[end - 200..end - 100].fill(0);
    fs::write(&journal, &bytes).unwrap();
    let recovered = airport.fly(&["recover"]);
    recovered.expect(
        0,
        "recovered [..]: 4 model calls and 3 tool calls; the last [..] bytes of its journal were torn\nsealed: [..]\n",
        "",
    );
    let artifact = fs::read_to_string(artifact).unwrap();
    assert!(artifact.contains("bytes were no whole event, and were cut off\""), "{}", recovered.stdout);
    airport.fly(&["verify", "last"]).expect(0, "...\n", "");
}

/// Whoever records next is told of it.
#[test]
fn the_next_recording_says_what_was_never_sealed() {
    let airport = Airport::new(Script::travel().gated());
    let run = kill_one(&airport, 1);
    let next = airport.fly(&["record", "--", "true"]);
    let said = format!("reenact: run {run} was never sealed; seal it with: reenact recover {run}\n");
    assert_eq!(next.code, Some(0));
    assert!(next.stderr.contains(&said), "{}", next.stderr);
    let newest = kill_one(&airport, 2);
    let next = airport.fly(&["record", "--", "true"]);
    let said = format!(
        "reenact: 2 runs were never sealed, from {run} to {newest}; seal them all with: reenact recover\n"
    );
    assert!(next.stderr.contains(&said), "{}", next.stderr);
    // Each by its name, or all that are left.
    let sealed = "recovered [..]\nsealed: [..]\n";
    airport.fly(&["recover", &run]).expect(0, sealed, "");
    airport.fly(&["recover"]).expect(0, sealed, "");
    let next = airport.fly(&["record", "--", "true"]);
    assert!(!next.stderr.contains("never sealed"), "{}", next.stderr);
}

/// Kills a recorder when its vendor has had so many requests; gives the run.
fn kill_one(airport: &Airport, requests: usize) -> String {
    let mut recorder = recording(airport);
    airport.vendor.wait_for_requests(requests).unwrap();
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let runs = fs::read_dir(airport.folder.path().join(".reenact/runs")).unwrap();
    // The one that begins last comes last.
    runs.map(|run| run.unwrap().file_name().into_string().unwrap()).max().unwrap()
}
