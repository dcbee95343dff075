//! Showing a part of a run: sessions by their id, steps by kind, text and number, long outputs, and the pager.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use reenact_formats::rer::seal::Signer as _;
use reenact_testkit::Script;
use reenact_testkit::fixture::{RunBuilder, TestKey};

use super::project::{REENACT, TestProject};
use crate::terminal::open_pty;

/// Session with two calls of tools, made by one step of a plan and by none that is complete.
const SESSION: &str = r#"{"created_at":"2026-01-13T10:00:00Z","event":"ReplayHeader","producer":"adjutant@1.2.3","replay_version":1}
{"event":"SessionStart","issue_number":42,"policy_version":"v1.2.3","session_id":"sess_abc123","t":"2026-01-13T10:00:00Z"}
{"event":"ToolCall","id":"tc_001","params":{"path":"src/auth.rs"},"params_hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000","step_id":"step-1","t":"2026-01-13T10:00:02Z","tool":"file_read"}
{"event":"ToolResult","exit_code":0,"id":"tc_001","latency_ms":45,"output_hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000","step_utility":0.8,"t":"2026-01-13T10:00:02Z"}
{"event":"ToolCall","id":"tc_002","params":{"command":"cargo test"},"params_hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000","step_id":"step-2","t":"2026-01-13T10:00:03Z","tool":"shell"}
{"event":"ToolResult","exit_code":101,"id":"tc_002","latency_ms":300,"output_hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000","step_utility":-0.5,"t":"2026-01-13T10:00:04Z"}
{"confidence":0.92,"event":"SessionEnd","status":"Failed","t":"2026-01-13T10:05:32Z","total_latency_ms":345,"total_tool_calls":2}
"#;

fn empty_project() -> TestProject {
    TestProject::new(Script::travel())
}

fn with_session(folder: &str) -> TestProject {
    let project = empty_project();
    let folder = project.folder.path().join(folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("REPLAY.jsonl"), SESSION).unwrap();
    project
}

/// Lines of the calls, below the heading. The record does not verify, since its hashes are made up; that is not what is tested here.
const CALLS: &str = "  tc_001     +2.0 s  file_read  tool, step step-1, 45 ms, exit 0, utility 0.8\n                     \
     {\"path\":\"src/auth.rs\"}\n                     \
     gave sha256:00000000000… (only the hash is held)\n\
     \n  \
     tc_002     +3.0 s  shell  tool, step step-2, 300 ms, exit 101, utility -0.5\n                     \
     {\"command\":\"cargo test\"}\n                     \
     failed: sha256:00000000000… (only the hash is held)\n";

#[test]
fn a_session_is_found_by_its_id() {
    // In the current folder, and in one of any name in it.
    for folder in [".", "yesterday", "sess_abc123"] {
        let project = with_session(folder);
        let shown = project.run(&["show", "sess_abc123"]);
        assert!(shown.stdout.contains("run     sess_abc123\n"), "{folder}: {}{}", shown.stdout, shown.stderr);
        assert!(shown.stdout.ends_with(CALLS), "{folder}: {}", shown.stdout);
        let verified = project.run(&["verify", "sess_abc123"]);
        assert_eq!(verified.code, Some(1), "{folder}: {}", verified.stdout);
    }
}

#[test]
fn which_sessions_are_not_found() {
    let project = with_session("a/b");
    let missing = "reenact: sess_abc123: there is no such file or folder, and no session of that id in this folder (E_NOT_FOUND)\n";
    project.run(&["show", "sess_abc123"]).expect(2, "", missing);
    // Neither is a link followed, nor a name taken for an id.
    let path = project.folder.path();
    std::os::unix::fs::symlink("a/b", path.join("link")).unwrap();
    fs::create_dir(path.join("linked")).unwrap();
    std::os::unix::fs::symlink("../a/b/REPLAY.jsonl", path.join("linked/REPLAY.jsonl")).unwrap();
    project.run(&["show", "sess_abc123"]).expect(2, "", missing);
    for name in ["one", "two"] {
        fs::create_dir(path.join(name)).unwrap();
        fs::write(path.join(name).join("REPLAY.jsonl"), SESSION).unwrap();
    }
    project.run(&["show", "sess_abc123"]).expect(
        2,
        "",
        "reenact: several records are of the session sess_abc123: one, two; give one of the paths\n",
    );
    project.run(&["show", "sess_abc12"]).expect(
        2,
        "",
        "reenact: sess_abc12: there is no such file or folder, and no session of that id in this folder (E_NOT_FOUND)\n",
    );
    // What was meant as a path is no id.
    project.run(&["show", "nothing.rpk"]).expect(
        2,
        "",
        "reenact: nothing.rpk: there is no such file or folder (E_NOT_FOUND)\n",
    );
}

#[test]
fn what_a_step_of_a_session_says() {
    let project = with_session(".");
    let page = "called shell (step step-2)\n  {\n    \"command\": \"cargo test\"\n  }\n\n\
                gave an error (300 ms, exit 101, utility -0.5)\n  only the hash of the output is held: sha256:[..]\n";
    for name in ["tc_002", "2", "step-2"] {
        project.run(&["show", "REPLAY.jsonl", "-s", name]).expect(1, page, "");
    }
    project.run(&["show", "REPLAY.jsonl", "-s", "step-2", "--json"]).expect(
        1,
        "{\"step_id\":\"step-2\",\"id\":\"tc_002\",[..]\"exit_code\":101,\"utility\":-0.5,[..]\"is_error\":true,\"latency_ms\":300}\n",
        "",
    );
}

#[test]
fn latencies_that_are_not_known_are_no_figures() {
    let unknown = |id: &str, text: &str| {
        text.lines()
            .map(|line| match line.contains("ToolResult") && line.contains(id) {
                true => line
                    .replace("\"latency_ms\":45", "\"latency_ms\":0")
                    .replace("\"latency_ms\":300", "\"latency_ms\":0")
                    .replacen('}', ",\"unknown\":[\"latency_ms\"]}", 1),
                false => line.replace("\"total_latency_ms\":345", "\"total_latency_ms\":0"),
            } + "\n")
            .collect::<String>()
    };
    let project = empty_project();
    project.folder.write("one.jsonl", unknown("tc_001", SESSION));
    project.folder.write("all.jsonl", unknown("tc_00", SESSION));
    let figures = |name: &str| {
        let shown = project.run(&["show", name]).stdout;
        let json: serde_json::Value =
            serde_json::from_str(&project.run(&["show", name, "--json"]).stdout).unwrap();
        let line = shown.lines().find_map(|line| line.strip_prefix("figures ")).unwrap().to_owned();
        (line, json["figures"]["total_latency_ms"].clone())
    };
    let (line, total) = figures("one.jsonl");
    assert!(line.contains("2 tool calls, 300 ms in all (1 of 2 calls), "), "{line}");
    assert_eq!(total, 300);
    let (line, total) = figures("all.jsonl");
    assert!(line.contains("2 tool calls, latency unknown, "), "{line}");
    assert_eq!(total, serde_json::Value::Null);
}

#[test]
fn previews_of_an_output_are_shown_beside_its_hash() {
    let long = format!("{}{}", "o".repeat(1_500), "p".repeat(1_500));
    let members =
        format!("\"stdout\":\"built\\n\\u001b[2J\",\"stderr\":\"warned\",\"output_preview\":\"{long}\"");
    let result = "{\"event\":\"ToolResult\",\"exit_code\":101,";
    let project = empty_project();
    project.folder.write(
        "REPLAY.jsonl",
        SESSION.replace(result, &format!("{{\"event\":\"ToolResult\",{members},\"exit_code\":101,")),
    );
    let half = |letter: &str| letter.repeat(1_000);
    let page = |preview: &str, last: &str| {
        format!(
            "...\n  the output itself is not held, only parts of it and its hash: sha256:[..]\n  output_preview:\n  {preview}\n  stdout:\n  built\n  \\u{{1b}}[2J\n  stderr:\n  warned\n{last}"
        )
    };
    let short = page(&format!("{}...{}", half("o"), half("p")), "  (shortened; --full shows all of it)\n");
    project.run(&["show", "REPLAY.jsonl", "-s", "2"]).expect(1, &short, "");
    project.run(&["show", "REPLAY.jsonl", "-s", "2", "--full"]).expect(1, &page(&long, ""), "");
}

/// A run of three calls, and the key that signed it.
fn with_tools(output: &str) -> TestProject {
    let project = empty_project();
    let key = TestKey::of(1);
    let run = RunBuilder::started()
        .event("rer.tool.called", r#"{"step_id":"s1","tool":"search","input":{"to":"Lisbon"}}"#)
        .event("rer.tool.returned", r#"{"step_id":"s1","output":"three flights"}"#)
        .event("rer.tool.called", r#"{"step_id":"s2","tool":"book","input":{"flight":7}}"#)
        .event("rer.tool.returned", r#"{"step_id":"s2","output":"card refused","is_error":true}"#)
        .event("rer.error.raised", r#"{"boundary":"tool","error_type":"Refused","message":"no card"}"#)
        .event("rer.tool.called", r#"{"step_id":"s3","tool":"log","input":{}}"#)
        .event("rer.tool.returned", &format!("{{\"step_id\":\"s3\",\"output\":{output}}}"))
        .ended(0);
    fs::write(project.folder.path().join("run.rer.json"), run.seal(&key)).unwrap();
    fs::write(project.folder.path().join("key.bin"), key.public_key().as_bytes()).unwrap();
    project
}

/// Runs `show` on the run of [`with_tools`]; it must succeed.
fn show(project: &TestProject, arguments: &[&str]) -> String {
    let output = project.run(&[&["show", "run.rer.json", "--key", "key.bin"], arguments].concat());
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    output.stdout
}

#[test]
fn steps_by_kind_and_text() {
    let project = with_tools("\"done\"");
    // First words of the steps that are shown, and the last line.
    let shown = |arguments: &[&str]| {
        let text = show(&project, arguments);
        let steps: Vec<String> = [("s1", "search"), ("s2", "book"), ("", "rer.error.raised"), ("s3", "log")]
            .into_iter()
            .filter(|(_, name)| text.contains(&format!("  {name}")))
            .map(|(_, name)| name.to_owned())
            .collect();
        (steps.join(" "), text.lines().last().unwrap().to_owned())
    };
    let expected = |steps: &str, last: &str| (steps.to_owned(), last.to_owned());
    assert_eq!(shown(&["--only", "tool"]), expected("search book log", "3 of 4 steps are shown"));
    assert_eq!(shown(&["--only", "error"]), expected("book rer.error.raised", "2 of 4 steps are shown"));
    assert_eq!(shown(&["--only", "model"]), expected("", "none of 4 steps is shown"));
    assert_eq!(
        shown(&["--only", "model", "--only", "event"]),
        expected("rer.error.raised", "1 of 4 steps is shown")
    );
    assert_eq!(shown(&["--grep", "LISBON"]), expected("search", "1 of 4 steps is shown"));
    assert_eq!(shown(&["--grep", "card"]), expected("book rer.error.raised", "2 of 4 steps are shown"));
    assert_eq!(shown(&["--grep", "card", "--only", "tool"]), expected("book", "1 of 4 steps is shown"));
    assert_eq!(shown(&["--limit", "2"]), expected("search book", "2 of 4 steps are shown"));
    assert_eq!(shown(&["--only", "tool", "--limit", "1"]), expected("search", "1 of 4 steps is shown"));
    let json: serde_json::Value =
        serde_json::from_str(&show(&project, &["--json", "--grep", "card"])).unwrap();
    assert_eq!(json["steps_in_all"], 4);
    assert_eq!(json["steps"].as_array().unwrap().len(), 2);
    assert_eq!(json["steps"][0]["id"], "s2");
    // Without a filter nothing is counted.
    assert!(!show(&project, &[]).contains("shown"));
}

#[test]
fn steps_by_number_and_in_ranges() {
    let project = with_tools("\"done\"");
    let titles = |range: &str| {
        let text = show(&project, &["-s", range]);
        text.lines()
            .filter_map(|line| Some(line.strip_prefix("=== ")?.to_owned()))
            .collect::<Vec<_>>()
            .join(", ")
    };
    assert_eq!(titles("1..2"), "step s1, step s2");
    assert_eq!(titles("2.."), "step s2, event, step s3");
    assert_eq!(titles("..s2"), "step s1, step s2");
    assert_eq!(titles(".."), "step s1, step s2, event, step s3");
    assert_eq!(show(&project, &["-s", "2..2"]), show(&project, &["--step", "s2"]));
    let lines = show(&project, &["-s", "1..2", "--json"]);
    assert_eq!(lines.lines().count(), 2);
    let both = ["show", "run.rer.json", "-s", "3..1"];
    project.run(&both).expect(2, "", "reenact: there are no steps in 3..1\n");
}

#[test]
fn long_outputs_are_shortened_by_the_rule_of_the_format() {
    let long = format!("{}{}{}", "a".repeat(1_000), "b".repeat(500), "c".repeat(1_000));
    let project = with_tools(&format!("\"{long}\""));
    let short = show(&project, &["-s", "3"]);
    let expected = format!(
        "gave\n  {}...{}\n  (shortened; --full shows all of it)\n",
        "a".repeat(1_000),
        "c".repeat(1_000)
    );
    assert!(short.ends_with(&expected), "{short}");
    assert!(show(&project, &["-s", "3", "--full"]).ends_with(&format!("gave\n  {long}\n")));
    let streams = format!("{{\"code\":0,\"stderr\":\"{}\",\"stdout\":\"ok\"}}", "e".repeat(10_001));
    let shown = show(&with_tools(&streams), &["-s", "3"]);
    let half = "e".repeat(5_000);
    let expected = format!(
        "gave\n  code:\n  0\n  stderr:\n  {half}...{half}\n  stdout:\n  ok\n  (shortened; --full shows all of it)\n"
    );
    assert!(shown.ends_with(&expected), "{shown}");
}

/// Runs `show` at a terminal with this `PAGER`, and returns what came there.
fn at_terminal(project: &TestProject, pager: &str, arguments: &[&str]) -> String {
    let (mut ours, theirs) = open_pty();
    let template = project.command(&[&["show", "run.rer.json", "--key", "key.bin"], arguments].concat());
    let mut command = Command::new(REENACT);
    command.args(template.get_args()).current_dir(project.folder.path()).env_clear();
    command.envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("TERM", "xterm").env("PAGER", pager);
    command.stdin(Stdio::null()).stdout(Stdio::from(theirs.try_clone().unwrap())).stderr(Stdio::from(theirs));
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut seen = Vec::new();
    let mut buffer = [0; 1024];
    // The terminal ends with an error when the last process has closed it.
    while let Ok(count @ 1..) = ours.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..count]);
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    String::from_utf8(seen).unwrap()
}

#[test]
fn a_terminal_gets_the_pager() {
    let project = with_tools("\"done\"");
    let paged = "sed 's/^/| /'";
    assert!(at_terminal(&project, paged, &[]).contains("\r\n| run     "));
    assert!(at_terminal(&project, paged, &["-s", "1"]).starts_with("| "));
    for arguments in [&["--no-pager"][..], &["--json"]] {
        assert!(!at_terminal(&project, paged, arguments).contains("| "), "{arguments:?}");
    }
    // None at all, one that ends before the end, and one that is not there.
    assert!(at_terminal(&project, "", &[]).contains("\r\nrun     "));
    assert!(at_terminal(&project, "head -n 1 | sed 's/^/first: /'", &[]).starts_with("first: "));
    let missing = at_terminal(&project, "no-such-pager-anywhere", &[]);
    assert!(missing.contains("not found") && missing.contains("\r\nrun     "), "{missing}");
    // A pipe never does.
    let mut command = project.command(&["show", "run.rer.json", "--key", "key.bin"]);
    let piped = command.env("PAGER", paged).env("TERM", "xterm").output().unwrap();
    assert!(!String::from_utf8(piped.stdout).unwrap().contains("| "));
}
