//! Exit codes: those of the agent, and those that say that recording failed.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use reenact_testkit::Script;
use rustix::process::{Pid, Signal, kill_process};

use super::project::TestProject;

fn code(project: &TestProject, arguments: &[&str]) -> Option<i32> {
    project.run(arguments).code
}

#[test]
fn the_commands_own_code_is_passed_on() {
    let project = TestProject::new(Script::travel());
    assert_eq!(code(&project, &["record", "-q", "--", "sh", "-c", "exit 7"]), Some(7));
    assert_eq!(code(&project, &["record", "-q", "--", "sh", "-c", "kill -9 $$"]), Some(137));
    project.run(&["show", "last"]).expect(0, "...\ntime    [..], crashed (signal 9)\n...\n", "");
}

/// A search for the cause of a crash must not end with "reproduced" when the crash did not come back.
#[test]
fn a_crash_is_reproduced_by_the_same_crash_only() {
    let project = TestProject::new(Script::travel());
    let agent = |end| format!("reenact demo-agent >&2; {end}");
    assert_eq!(code(&project, &["record", "-q", "--", "sh", "-c", &agent("kill -9 $$")]), Some(137));
    let replay = |end| project.run(&["replay", "last", "--", "sh", "-c", &agent(end)]);
    replay("kill -9 $$").expect(0, "", "...\nreenact: reproduced: 4 exchanges, signal 9, as recorded\n...\n");
    replay("exit 0").expect(1, "", "...\nreenact: differed: exit 0, recorded was signal 9\n...\n");
    let json = "[..]\"verdict\":\"differed\",\"child_exit\":137,\"child_signal\":null,\"recorded_exit\":null,\"recorded_signal\":9,[..]\n";
    project.run(&["replay", "last", "--json", "--", "sh", "-c", &agent("exit 137")]).expect(1, json, "...\n");
}

#[test]
fn a_command_that_cannot_be_started_leaves_nothing() {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "--", "no-such-command"]).expect(
        127,
        "",
        "reenact: no-such-command: cannot be started: [..]\n",
    );
    project.run(&["record", "--", "/etc/passwd"]).expect(
        126,
        "",
        "reenact: /etc/passwd: cannot be started: [..]\n",
    );
    project.run(&["show", "last"]).expect(2, "", "reenact: [..]\n");
}

#[test]
fn a_failure_of_our_own_is_125() {
    let project = TestProject::new(Script::travel());
    project.run(&["record"]).expect(
        125,
        "",
        "error: the following required arguments were not provided:\n...\n",
    );
    let output = project
        .command(&["record", "--", "true"])
        .env("OPENAI_BASE_URL", "https://user:password@example.org/v1")
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(stderr.contains("OPENAI_BASE_URL"), "{stderr}");
    assert!(!stderr.contains("password@"), "{stderr}");
    // A link could lead anywhere.
    std::os::unix::fs::symlink("/tmp", project.folder.state()).unwrap();
    project.run(&["record", "--", "true"]).expect(
        125,
        "",
        "reenact: runs cannot be kept: [..]/state: is a link; [..]; or set REENACT_HOME to another folder\n",
    );
}

#[test]
fn a_signal_is_passed_on_to_the_agent() {
    let project = TestProject::new(Script::travel());
    let agent = "trap 'echo told; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = project
        .command(&["record", "--", "sh", "-c", agent])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "told");
    assert_eq!(child.wait().unwrap().code(), Some(9));
    project.run(&["verify", "last"]).expect(0, "...\n", "");
}
