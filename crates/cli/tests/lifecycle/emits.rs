//! A run that is written as REPLAY.jsonl while it is recorded: line by line, masked, and as a conversion would write it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use reenact_testkit::Script;
use serde_json::Value;

use super::project::{API_KEY, REENACT, TestProject};

/// Sends the recorder reports, as any language can.
const TELL: &str = r#"
    tell() {
        host=${REENACT_REPORT_URL#http://}; path=/${host#*/}; host=${host%%/*}
        exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
        printf 'POST %s HTTP/1.1\r\nhost: %s\r\ncontent-length: %s\r\nconnection: close\r\n\r\n%s' "$path" "$host" "${#1}" "$1" >&3
        head -1 <&3 >&2; exec 3<&-
    }
"#;

/// Files of a session.
const FILES: [&str; 3] = ["REPLAY.jsonl", "RECEIPT.json", "PR_SUMMARY.md"];

fn read(project: &TestProject, path: &str) -> String {
    fs::read_to_string(project.folder.path().join(path)).unwrap()
}

/// Returns the values of a member of all results.
fn of_results(replay: &str, member: &str) -> Vec<Value> {
    let lines = replay.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event"] == "ToolResult").map(|line| line[member].clone()).collect()
}

/// Records `script` in a shell with the functions of [`TELL`], and converts the sealed run; both must be the same session.
fn record_and_convert(project: &TestProject, script: &str) -> String {
    let script = format!("{TELL}\n{script}");
    let record = ["record", "--emit", "replay-jsonl=session", "--", "bash", "-c", &script];
    let recorded = project.run(&record);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    project.run(&["convert", "last", "--to", "replay-jsonl", "--out", "converted"]).expect(0, "...\n", "");
    for name in FILES {
        let (live, converted) =
            (read(project, &format!("session/{name}")), read(project, &format!("converted/{name}")));
        assert_eq!(live, converted, "{name}");
    }
    read(project, "session/REPLAY.jsonl")
}

#[test]
fn a_live_session_is_that_of_a_conversion_and_verifies() {
    let project = TestProject::new(Script::travel());
    let record = ["record", "--emit", "replay-jsonl=session", "--", REENACT, "demo-agent"];
    project.run(&record).expect(
        0,
        "...\nmodel: Booked: [..]\n",
        "reenact: recorded 4 model calls and 3 tool calls, [..] → [..] ([..]), session/REPLAY.jsonl\n...\n",
    );
    let report = project.run(&["verify", "--json", "session"]);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["pass"], true);
    for nothing in ["codes", "warnings", "notes", "reasons"] {
        assert_eq!(report[nothing], Value::Array(Vec::new()), "{nothing}");
    }
    project.run(&["verify", "session"]).expect(
        0,
        "...\n  PASS  the replay and its receipt agree; nothing here is signed (3 tool calls, latency unknown, utility unknown)\n",
        "...\n",
    );
    for name in FILES {
        let path = project.folder.path().join("session").join(name);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
    // Our own file is none that the agent changed.
    let shown = project.run(&["show", "last", "--json"]);
    assert!(!shown.stdout.contains("REPLAY.jsonl"), "{}", shown.stdout);
    // Such a session is not written again, and the agent is not started in vain.
    project.run(&record).expect(
        125,
        "",
        "reenact: session/REPLAY.jsonl: there is such a file already; give another name\n",
    );
}

#[test]
fn lines_are_there_while_the_agent_still_runs() {
    let project = TestProject::new(Script::travel());
    // The agent ends only when it has seen the line itself.
    let waits = "reenact demo-agent >&2; until grep -q '\"event\":\"ToolResult\"' session/REPLAY.jsonl; do :; done; \
                 grep -c . session/REPLAY.jsonl; ls session";
    let record = ["record", "-q", "--emit", "replay-jsonl=session", "--", "bash", "-c", waits];
    let recorded = project.run(&record);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    // No receipt before the run is sealed.
    assert!(recorded.stdout.ends_with("\nREPLAY.jsonl\n"), "{}", recorded.stdout);
    assert!(read(&project, "session/REPLAY.jsonl").lines().last().unwrap().contains("SessionEnd"));
}

#[test]
fn what_the_agent_reports_reaches_the_results() {
    let project = TestProject::new(Script::travel());
    let replay = record_and_convert(
        &project,
        r#"tell '{"type":"rer.plan.started","payload":{"steps":["travel","check"]}}'
           reenact demo-agent >&2
           tell '{"type":"rer.step.completed","payload":{"step_id":"travel","status":"ok","utility":0.65}}'
           tell '{"type":"rer.step.completed","payload":{"step_id":"check","status":"ok","utility":-1,"iterations":2}}'
           tell '{"type":"rer.verification.ran","payload":{"commands":["true"],"exit_codes":[0],"delta":1}}'"#,
    );
    assert_eq!(of_results(&replay, "step_utility"), [0.65, 0.65, 0.65]);
    project.run(&["verify", "session"]).expect(
        0,
        "...\n  PASS  [..] (3 tool calls, latency unknown, average utility 0.650)\n",
        "...\n",
    );
    let order: Vec<&str> =
        replay.lines().filter_map(|line| line.split("\"event\":\"").nth(1)?.split('"').next()).collect();
    assert_eq!(order[..4], ["ReplayHeader", "SessionStart", "PlanStart", "ToolCall"]);
    assert_eq!(order[9..], ["StepComplete", "StepComplete", "Verification", "SessionEnd"]);
}

#[test]
fn a_call_that_the_agent_names_has_its_utility_and_the_others_none() {
    let project = TestProject::new(Script::travel());
    let plain = TestProject::new(Script::travel());
    plain
        .run(&["record", "-q", "--emit", "replay-jsonl=session", "--", REENACT, "demo-agent"])
        .expect(0, "...\n", "");
    let ids = of_results(&read(&plain, "session/REPLAY.jsonl"), "id");
    let named = ids[1].as_str().unwrap();
    // A report may come before the record holds the call.
    let replay = record_and_convert(
        &project,
        &format!(
            r#"tell '{{"type":"rer.step.completed","payload":{{"step_id":"{named}","status":"ok","utility":0.5}}}}'
               reenact demo-agent >&2"#
        ),
    );
    let marks = ["null", "[\"latency_ms\",\"step_utility\"]", "[\"latency_ms\"]"];
    let unknown: Vec<String> = of_results(&replay, "unknown").iter().map(ToString::to_string).collect();
    assert_eq!(unknown, [marks[1], marks[2], marks[1]]);
    project.run(&["show", "session"]).expect(
        0,
        "PASS[..]\n...\nfigures 3 tool calls, latency unknown, average utility 0.500 (1 of 3 calls)\n...\n",
        "...\n",
    );
    assert!(read(&project, "session/PR_SUMMARY.md").contains("the utility of 2 tool calls is unknown"));
}

#[test]
fn secrets_are_masked_and_what_is_withheld_stays_withheld() {
    let project = TestProject::new(Script::travel());
    project.folder.write("reenact.toml", "[withhold]\ntools = [\"book_*\"]\n");
    let replay = record_and_convert(
        &project,
        &format!(
            r#"reenact demo-agent >&2
               tell '{{"type":"rer.step.completed","payload":{{"step_id":"{API_KEY}","status":"ok"}}}}'"#
        ),
    );
    assert!(replay.contains("\"step_id\":\"[masked:"), "{replay}");
    for file in FILES {
        let text = read(&project, &format!("session/{file}"));
        assert!(!text.contains(API_KEY) && !text.contains("book_"), "{file}: {text}");
    }
    project.run(&["verify", "session"]).expect(0, "...\n  PASS  [..] (2 tool calls, [..])\n", "...\n");
}

/// Under an envelope a call is recorded when the model asks for it, and its result with a later request.
#[test]
fn calls_under_an_envelope_are_those_that_were_allowed() {
    let project = TestProject::new(Script::travel());
    project.folder.write(
        "reenact.toml",
        "[envelope]\nexpiry = \"2999-12-31T00:00:00Z\"\n[envelope.permissions]\nallowed_models = [\"gpt-5\"]\n\
         allowed_tools = [\"search_flights\"]\n",
    );
    let replay = record_and_convert(
        &project,
        r#"tell '{"type":"rer.plan.started","payload":{"steps":["look"]}}'
           reenact demo-agent >&2
           tell '{"type":"rer.step.completed","payload":{"step_id":"look","status":"failed","utility":-0.5}}'"#,
    );
    assert!(!replay.contains("book_flight"), "{replay}");
    assert_eq!(of_results(&replay, "step_utility"), [-0.5, -0.5]);
    project.run(&["verify", "session"]).expect(
        0,
        "...\n  PASS  [..] (2 tool calls, [..], average utility -0.500)\n",
        "...\n",
    );
}

#[test]
fn a_kill_leaves_whole_lines_and_no_receipt() {
    let project = TestProject::new(Script::travel());
    let waits = "reenact demo-agent >&2; until grep -q '\"event\":\"ToolResult\"' session/REPLAY.jsonl; do :; done; echo seen; exec cat";
    let mut recorder = project
        .command(&["record", "-q", "--emit", "replay-jsonl=session", "--", "bash", "-c", waits])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut seen = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(recorder.stdout.take().unwrap()), &mut seen)
        .unwrap();
    assert_eq!(seen, "seen\n");
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let replay = read(&project, "session/REPLAY.jsonl");
    assert!(replay.ends_with("}\n"), "{replay}");
    assert!(!of_results(&replay, "id").is_empty() && !replay.contains("SessionEnd"), "{replay}");
    assert_eq!(fs::read_dir(project.folder.path().join("session")).unwrap().count(), 1);
    // Nothing but the end is missing.
    let report = project.run(&["verify", "--json", "session"]);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    let codes: Vec<&str> = report["codes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(
        codes.iter().all(|code| ["E_NO_SESSION_END", "E_CALL_WITHOUT_RESULT"].contains(code)),
        "{codes:?}"
    );
}

#[test]
fn a_session_that_cannot_be_written_stops_no_agent() {
    let project = TestProject::new(Script::travel());
    let record = [
        "record",
        "--emit",
        "replay-jsonl=session",
        "--",
        "sh",
        "-c",
        "rm -r session; exec reenact demo-agent",
    ];
    project.run(&record).expect(
        0,
        "...\nmodel: Booked: [..]\n",
        "reenact: session/REPLAY.jsonl: not written to its end: RECEIPT.json: [..]; the run itself is recorded\n\
         reenact: recorded 4 model calls and 3 tool calls, [..]\n...\n",
    );
    project.run(&["verify", "last"]).expect(0, "...\n  PASS  [..]\n", "");
}

#[test]
fn what_cannot_be_emitted_is_refused_before_the_agent_starts() {
    let project = TestProject::new(Script::travel());
    project.folder.write("taken/RECEIPT.json", "{}");
    project.folder.write("file", "");
    let refused = |emit: &str, more: &[&str], code, stderr: &str| {
        let record = [&["record", "--emit", emit], more, &["--", REENACT, "demo-agent"]].concat();
        project.run(&record).expect(code, "", stderr);
    };
    refused(
        "rpk=x.rpk",
        &[],
        125,
        "error: invalid value 'rpk=x.rpk' for '--emit <FORMAT=PATH>': only replay-jsonl can be written while a run is recorded; --out writes other formats at its end\n...\n",
    );
    refused("session", &[], 125, "error: [..]: FORMAT=PATH is wanted, such as replay-jsonl=session\n...\n");
    refused(
        "replay-jsonl=taken",
        &[],
        125,
        "reenact: taken/RECEIPT.json: there is such a file already; give another name\n",
    );
    refused("replay-jsonl=file", &[], 125, "reenact: file: [..]\n");
    refused("replay-jsonl=none/session", &[], 125, "reenact: none/session: [..]\n");
    refused(
        "replay-jsonl=session",
        &["--out", "session/"],
        125,
        "reenact: --out and --emit name the same folder; give two\n",
    );
    assert!(!project.folder.path().join("session").exists());
    // A session whose agent could not be started is removed.
    project.run(&["record", "--emit", "replay-jsonl=session", "--", "./none"]).expect(
        127,
        "",
        "reenact: [..]\n",
    );
    assert!(!project.folder.path().join("session").exists());
    project.run(&["runs", "list"]).expect(0, "there are no runs yet[..]\n", "");
}
