//! An interactive agent keeps its terminal and its Ctrl-C.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use reenact_testkit::Script;

use super::project::{REENACT, TestProject};
use crate::terminal::open_pty;

/// Reads from the terminal until `text` has appeared.
fn read_until(terminal: &mut File, text: &str, seen: &mut String) {
    let mut buffer = [0; 1024];
    while !seen.contains(text) {
        let count = terminal.read(&mut buffer).unwrap_or_else(|error| panic!("{error}: {seen}"));
        seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
}

/// Script of an agent that counts the interrupts that it gets while it reads two lines. It ends with the code `$1`.
const COUNTER: &str = "n=0; trap 'n=$((n+1)); echo int $n' INT; test -t 0 && test -t 1 && echo terminal; \
                       read line; read line; echo got $line after $n; exit $1";

/// Starts `reenact` on a terminal of its own, as a login shell would.
fn start_on_terminal(project: &TestProject, arguments: &[&str]) -> (Child, File) {
    let (ours, theirs) = open_pty();
    let template = project.command(arguments);
    // setsid makes the terminal the one that the program is controlled by.
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait", REENACT]).args(template.get_args()).current_dir(project.folder.path());
    command.env_clear().envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::from(theirs.try_clone().unwrap()));
    command.stdout(Stdio::from(theirs.try_clone().unwrap())).stderr(Stdio::from(theirs));
    (command.spawn().unwrap(), ours)
}

/// Types Ctrl-C once, then two lines, and waits for the agent's last words and those of `reenact`.
fn interrupt_once(child: &mut Child, terminal: &mut File, last: &str) -> (Option<i32>, String) {
    let mut seen = String::new();
    read_until(terminal, "terminal\r\n", &mut seen);
    terminal.write_all(b"\x03").unwrap();
    read_until(terminal, "int 1", &mut seen);
    terminal.write_all(b"one\ntwo\n").unwrap();
    read_until(terminal, "after 1", &mut seen);
    read_until(terminal, last, &mut seen);
    (child.wait().unwrap().code(), seen)
}

#[test]
fn ctrl_c_reaches_the_agent_once_and_nobody_else() {
    let project = TestProject::new(Script::travel());
    let (mut child, mut ours) =
        start_on_terminal(&project, &["record", "--", "sh", "-c", COUNTER, "sh", "4"]);
    let (code, seen) = interrupt_once(&mut child, &mut ours, "next: reenact show last");
    assert_eq!(code, Some(4), "{seen}");
    assert!(!seen.contains("int 2"), "{seen}");
}

/// Between the terminal and a replayed agent there are two processes more, which must neither take nor double the signal.
#[test]
fn ctrl_c_reaches_a_replayed_agent_once() {
    let mut project = TestProject::new(Script::travel());
    let recorded = project.run(&["record", "-q", "--", REENACT, "demo-agent"]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    project.vendor.stop();
    let script = format!("\"$0\" demo-agent >/dev/null; {COUNTER}");
    let (mut child, mut ours) =
        start_on_terminal(&project, &["replay", "last", "--", "sh", "-c", &script, REENACT, "0"]);
    let (code, seen) = interrupt_once(&mut child, &mut ours, "report of this replay");
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("reproduced"), "{seen}");
    assert!(!seen.contains("int 2"), "{seen}");
}

#[test]
fn a_signal_that_was_sent_to_a_replay_reaches_the_agent_once() {
    let mut project = TestProject::new(Script::travel());
    let recorded = project.run(&["record", "-q", "--", REENACT, "demo-agent"]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    project.vendor.stop();
    let script = "\"$0\" demo-agent >/dev/null; n=0; trap 'n=$((n+1)); echo term $n' TERM; \
                  echo ready; until test $n = 1; do sleep 0.02; done; echo after $n; exit 5";
    let mut command = project.command(&["replay", "last", "--pass-exit", "--", "sh", "-c", script, REENACT]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)
        .unwrap();
    assert_eq!(lines.collect::<Vec<_>>(), ["term 1", "after 1"]);
    assert_eq!(child.wait().unwrap().code(), Some(5));
}
