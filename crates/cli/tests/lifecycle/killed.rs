//! Recorders that are killed: `reenact runs recover` seals their runs, says what broke off, and touches nothing else.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use reenact_capture::LeftoverLog;
use reenact_formats::rer::RerVersion;
use reenact_formats::rer::seal::{EventHashChain, NewEvent};
use reenact_json::{Limits, Value};
use reenact_record::RunId;
use reenact_testkit::Script;

use super::project::{API_KEY, REENACT, TestProject};

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
    project.run(&["runs", "recover"]).expect(0, "nothing to recover: every run is sealed\n", "");
    project.run(&["runs", "recover", "last"]).expect(
        2,
        "",
        "reenact: [..]: another reenact is recording it at this moment\n",
    );
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    project.run(&["show", "last"]).expect(
        2,
        "",
        "reenact: run [..] was not sealed; seal it with: reenact runs recover [..]\n",
    );
    project.run(&[]).expect(
        0,
        "last run  [..]  was not sealed: its recorder did not come to the end\nnext      reenact runs recover  seals it, with all that had passed\n",
        "",
    );
    project.run(&["runs", "recover"]).expect(
        0,
        "recovered [..]: 2 model calls and 1 tool call; [..]1 answer broke off\nsealed: [..]/state/runs/[..]/artifact.rer.json ([..])\n",
        "",
    );
    project.run(&["runs", "recover", "last"]).expect(0, "[..] is sealed: [..]/state/runs/[..]\n", "");
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
    project.run(&["runs", "recover"]).expect(
        0,
        "recovered [..]: 1 model call and 0 tool calls; [..]1 answer broke off\nsealed: [..]/state/runs/[..]/artifact.rer.json ([..])\n",
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
    let rewrite =
        "for j in \"$REENACT_HOME\"/runs/*/journal.jsonl; do head -n 1 \"$j\" > t && cat t > \"$j\"; done";
    let recorded = project.run(&["record", "-q", "--", "sh", "-c", rewrite]);
    assert_eq!(recorded.code, Some(125), "{}", recorded.stderr);
    assert!(recorded.stderr.contains("someone changed the journal"), "{}", recorded.stderr);
    assert!(!recorded.stderr.contains("reenact runs recover"), "{}", recorded.stderr);
    let refused = "reenact: run [..] is refused for good: someone changed its journal while it was recorded, and nothing of it will be signed\n";
    let next = project.run(&["record", "--", "true"]);
    assert!(!next.stderr.contains("recover"), "{}", next.stderr);
    fs::remove_dir_all(project.artifact().parent().unwrap()).unwrap();
    project.run(&["runs", "recover"]).expect(0, "nothing to recover: every run is sealed\n", "");
    project.run(&["runs", "recover", "last"]).expect(1, "", refused);
    project.run(&["show", "last"]).expect(2, "", refused);
}

/// Reads the log of the only run until it says that the journal has the first exchange, and returns the run's id.
fn wait_for_first_exchange(project: &TestProject) -> RunId {
    let id = only_run(&project.folder.state().join("runs"));
    let dir = project.logs();
    let events =
        || LeftoverLog::read(&dir, id).ok()??.journal().last()?.position.head.map(|(events, _)| events);
    // The start, the first call and its answer, and the call of a tool that the second request tells of.
    while events().is_none_or(|events| events < 4) {
        std::thread::yield_now();
    }
    id
}

/// Starts a recording whose agent waits for its second answer, and kills the recorder. The log says that the first exchange
/// is in the journal.
fn killed_in_second_exchange() -> (TestProject, RunId) {
    let project = TestProject::new(Script::travel().gated());
    for piece in 0..40 {
        project.vendor.open_gate(&format!("0.{piece}"));
    }
    let mut recorder = recording(&project);
    project.vendor.wait_for_requests(2).unwrap();
    let id = wait_for_first_exchange(&project);
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    (project, id)
}

/// Writes a journal with the same events and lengths, but for one word in their payloads, and a chain that is right.
fn forge_journal(path: &Path) {
    let journal = fs::read(path).unwrap();
    let mut lines = journal.split_inclusive(|byte| *byte == b'\n');
    let mut forged = lines.next().unwrap().to_vec();
    let mut chain = EventHashChain::new(RerVersion::V02);
    for line in lines {
        let event = Value::parse(line.trim_ascii_end(), &Limits::default()).unwrap();
        let text = |name: &str| event.member(name).unwrap().string().unwrap().into_owned();
        let (event_type, timestamp) = (text("event_type"), text("timestamp"));
        let payload = String::from_utf8(event.member("payload").unwrap().text().to_vec()).unwrap();
        let payload = payload.replace("Lisbon", "Athens");
        let step_index = std::str::from_utf8(event.member("step_index").unwrap().text()).unwrap();
        let event = NewEvent {
            step_index: step_index.parse().unwrap(),
            event_type: &event_type,
            timestamp: &timestamp,
            payload: Some(payload.as_bytes()),
            redacted: false,
        };
        chain.append(&event, &mut forged).unwrap();
        forged.push(b'\n');
    }
    assert!(forged.len() == journal.len() && forged != journal);
    fs::write(path, forged).unwrap();
}

/// Whoever makes the whole chain anew and kills the recorder gets no signature: the log has the hash of what was written. The
/// refusal is remembered beside the logs, too.
#[test]
fn a_journal_that_was_made_anew_before_the_kill_is_not_signed() {
    let (project, id) = killed_in_second_exchange();
    let run = project.folder.state().join(format!("runs/{id}"));
    forge_journal(&run.join("journal.jsonl"));
    project.run(&["runs", "recover"]).expect(
        1,
        "removed 1 log of runs that are over\n",
        "reenact: [..]/state/runs/[..]/journal.jsonl: someone changed the journal: it is not what its recorder wrote; the run is refused for good, and nothing of it will be signed\n",
    );
    let refused = "reenact: run [..] is refused for good: someone changed its journal while it was recorded, and nothing of it will be signed\n";
    fs::remove_file(run.join("refused.json")).unwrap();
    project.run(&["runs", "recover", "last"]).expect(1, "", refused);
    project.run(&["runs", "recover", "--json", "last"]).expect(
        1,
        &format!("{{\"run_id\":\"{id}\",\"outcome\":\"refused\",\"code\":\"E_RUN_REFUSED\",\"message\":\"run {id} is refused for good: [..]\"}}\n"),
        "",
    );
    project.run(&["verify", "last"]).expect(2, "last\n  ERROR  run [..] is refused for good: [..]\n", "");
    project.run(&["show", "last"]).expect(2, "", refused);
    assert!(!run.join("artifact.rer.json").exists());
}

/// The log of a run is removed after its seal. A kill in between leaves it, with the secrets that it knows, until the next
/// recording or recovery.
#[test]
fn a_log_that_a_kill_left_after_the_seal_is_removed() {
    for command in [&["runs", "recover"][..], &["record", "-q", "--", "true"]] {
        let (project, id) = killed_in_second_exchange();
        let dir = project.logs();
        let log = dir.path().join(id.to_string());
        let saved: Vec<_> = fs::read_dir(&log).unwrap().map(|it| it.unwrap().path()).collect();
        let saved: Vec<_> = saved.into_iter().map(|path| (fs::read(&path).unwrap(), path)).collect();
        let holds_key = |(bytes, _): &(Vec<u8>, PathBuf)| {
            bytes.windows(API_KEY.len()).any(|part| part == API_KEY.as_bytes())
        };
        assert!(saved.iter().any(holds_key), "what stays is a secret");
        project.run(&["runs", "recover"]).expect(0, "recovered [..]\nsealed: [..]\n", "");
        assert!(!log.exists());
        let restore = |to: &Path| {
            fs::DirBuilder::new().mode(0o700).create(to).unwrap();
            for (bytes, path) in &saved {
                fs::write(to.join(path.file_name().unwrap()), bytes).unwrap();
            }
        };
        // Before and within the removal: under its own name, and under that of a log that goes.
        let gone = dir.path().join(format!("{id}.gone"));
        for path in [&log, &gone] {
            restore(path);
            let said = project.run(command);
            assert_eq!(said.code, Some(0), "{}", said.stderr);
            let removed = if command == ["runs", "recover"] {
                "nothing to recover: every run is sealed\nremoved 1 log of runs that are over\n"
            } else {
                ""
            };
            assert_eq!(said.stdout, removed);
            assert!(!path.exists());
        }
        if command == ["runs", "recover"] {
            restore(&log);
            project.run(&["runs", "recover", "--json"]).expect(0, "{\"removed_logs\":1}\n", "");
        }
    }
}

/// The log of a run that can still be recovered is nobody's to remove, nor is one whose recorder lives.
#[test]
fn a_log_that_is_needed_stays() {
    let (project, id) = killed_in_second_exchange();
    let log = project.logs().path().join(id.to_string());
    project.run(&["record", "-q", "--", "true"]).expect(0, "", "");
    assert!(log.exists(), "the run is not sealed");
    let id = id.to_string();
    let recovered = project.run(&["runs", "recover", "--json", &id]);
    recovered.expect(
        0,
        &format!("{{\"run_id\":\"{id}\",\"outcome\":\"recovered\",\"artifact\":\"[..]/state/runs/{id}/artifact.rer.json\",\"bytes\":[..],\"events\":[..],\"model_calls\":2,\"http_calls\":0,\"tool_calls\":1,\"gaps\":[..],\"answers_cut\":1,\"torn_bytes\":0,\"lost_events\":0,\"late_secret_events\":[]}}\n"),
        "",
    );
    project.run(&["runs", "recover", "--json", &id]).expect(
        0,
        &format!("{{\"run_id\":\"{id}\",\"outcome\":\"sealed\",\"artifact\":\"[..]/state/runs/{id}/artifact.rer.json\"}}\n"),
        "",
    );
    // Somebody removes the folder of a run while it is recorded.
    let project = TestProject::new(Script::travel().gated());
    let mut recorder = recording(&project);
    project.vendor.wait_for_requests(1).unwrap();
    let runs = project.folder.state().join("runs");
    let live: RunId = only_run(&runs);
    let log = project.logs().path().join(live.to_string());
    fs::remove_dir_all(runs.join(live.to_string())).unwrap();
    project.run(&["record", "-q", "--", "true"]).expect(0, "", "");
    assert!(log.exists(), "its recorder lives");
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    // An event that came after the removal made the journal anew.
    let _ = fs::remove_dir_all(runs.join(live.to_string()));
    project.run(&["record", "-q", "--", "true"]).expect(0, "", "");
    assert!(!log.exists(), "its run is gone");
}

fn only_run(runs: &Path) -> RunId {
    let run = fs::read_dir(runs).unwrap().next().unwrap().unwrap();
    run.file_name().to_str().unwrap().parse().unwrap()
}

/// A torn journal without a log, as after a power failure.
#[test]
fn what_was_torn_is_said_to_be() {
    let (project, id) = killed_in_second_exchange();
    fs::remove_dir_all(project.logs().path().join(id.to_string())).unwrap();
    let journal = project.folder.state().join(format!("runs/{id}/journal.jsonl"));
    let mut bytes = fs::read(&journal).unwrap();
    // As after a power failure: the last page of the event has reached the disk, the page before it has not.
    let end = bytes.len();
    bytes[end - 200..end - 100].fill(0);
    fs::write(&journal, &bytes).unwrap();
    let recovered = project.run(&["runs", "recover"]);
    recovered.expect(
        0,
        "recovered [..]: [..]; the last [..] bytes of its journal were torn\nsealed: [..]\n",
        "",
    );
    let artifact = project.artifact();
    let artifact = fs::read_to_string(artifact).unwrap();
    assert!(artifact.contains("bytes were no whole event: cut off\""), "{}", recovered.stdout);
    project.run(&["verify", "last"]).expect(0, "...\n", "");
}

/// The next recording mentions runs that were never sealed.
#[test]
fn the_next_recording_says_what_was_never_sealed() {
    let project = TestProject::new(Script::travel().gated());
    let run = kill_one(&project, 1);
    let next = project.run(&["record", "--", "true"]);
    let said = format!("reenact: next: reenact runs recover {run} (never sealed), reenact show last, ");
    assert_eq!(next.code, Some(0));
    assert!(next.stderr.contains(&said), "{}", next.stderr);
    kill_one(&project, 2);
    let next = project.run(&["record", "--", "true"]);
    let said = "reenact: next: reenact runs recover (2 runs were never sealed), ";
    assert!(next.stderr.contains(said), "{}", next.stderr);
    // One by its id, then all that are left.
    let sealed = "recovered [..]\nsealed: [..]\n";
    project.run(&["runs", "recover", &run]).expect(0, sealed, "");
    project.run(&["runs", "recover"]).expect(0, sealed, "");
    let next = project.run(&["record", "--", "true"]);
    assert!(!next.stderr.contains("never sealed"), "{}", next.stderr);
}

/// Kills a recorder after the vendor has received so many requests, and returns the id of the run.
fn kill_one(project: &TestProject, requests: usize) -> String {
    let mut recorder = recording(project);
    project.vendor.wait_for_requests(requests).unwrap();
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let runs = fs::read_dir(project.folder.state().join("runs")).unwrap();
    // Run ids sort by time, so the largest is the latest.
    runs.map(|run| run.unwrap().file_name().into_string().unwrap()).max().unwrap()
}

/// The journal goes once the artifact is verified. A kill between the two leaves both, and a recovery removes the journal, if
/// the artifact is what was made of it.
#[test]
fn a_journal_that_a_kill_left_after_the_seal_is_removed() {
    let (project, id) = killed_in_second_exchange();
    let run = project.folder.state().join(format!("runs/{id}"));
    let (journal, artifact) = (run.join("journal.jsonl"), run.join("artifact.rer.json"));
    let lines = |path: &Path| fs::read(path).unwrap().iter().filter(|byte| **byte == b'\n').count();
    assert!(lines(&journal) > 1);
    project.run(&["runs", "recover"]).expect(0, "recovered [..]\nsealed: [..]\n", "");
    assert!(!journal.exists() && artifact.exists());

    // The journal that the recovery sealed, as it was before it was removed.
    let text = fs::read(&artifact).unwrap();
    let document = Value::parse(&text, &Limits::default()).unwrap();
    let mut left = b"{\"key_id\":\"".to_vec();
    left.extend(document.member("runtime").unwrap().member("key_id").unwrap().string().unwrap().bytes());
    left.extend(b"\"}\n");
    for event in document.member("events").unwrap().elements() {
        left.extend([event.text(), b"\n"].concat());
    }
    let sealed = format!("{id} is sealed: [..]/artifact.rer.json; the journal that was left was removed\n");
    fs::write(&journal, &left).unwrap();
    project.run(&["verify", "last"]).expect(0, "...\n", "");
    project.run(&["runs", "recover"]).expect(0, &sealed, "");
    assert!(!journal.exists());
    fs::write(&journal, &left).unwrap();
    let json = format!(
        "{{\"run_id\":\"{id}\",\"outcome\":\"sealed\",\"artifact\":\"[..]\",\"removed_journal\":true}}\n"
    );
    project.run(&["runs", "recover", "--json", "last"]).expect(0, &json, "");

    // One event more than the artifact has, a torn one, and an artifact that does not verify: the journal stays.
    for more in [&b"{\"event_hash\":\"00\"}\n"[..], b"{\"event"] {
        fs::write(&journal, [&left, more].concat()).unwrap();
        let said =
            "reenact: [..]: [..]/journal.jsonl: the journal does not end as the artifact does; it stays\n";
        project.run(&["runs", "recover"]).expect(2, "", said);
        assert!(journal.exists());
    }
    fs::write(&journal, &left).unwrap();
    fs::write(&artifact, String::from_utf8(text.clone()).unwrap().replacen("Lisbon", "Athens", 1)).unwrap();
    let said = "reenact: [..]: [..]/artifact.rer.json is not the intact artifact of this run, so its journal stays in [..]\n";
    project.run(&["runs", "recover"]).expect(2, "", said);
    assert!(journal.exists());
}
