//! An interactive agent keeps its terminal and its Ctrl-C.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

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

#[test]
fn ctrl_c_reaches_the_agent_once_and_nobody_else() {
    let project = TestProject::new(Script::travel());
    let (mut ours, theirs) = open_pty();
    let agent = "n=0; trap 'n=$((n+1)); echo int $n' INT; test -t 0 && test -t 1 && echo terminal; \
                 read line; read line; echo got $line after $n; exit 4";
    let template = project.command(&["record", "--", "sh", "-c", agent]);
    // setsid makes the terminal the one that the program is controlled by, as a login shell has it.
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait", REENACT]).args(template.get_args()).current_dir(project.folder.path());
    command.env_clear().envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::from(theirs.try_clone().unwrap()));
    command.stdout(Stdio::from(theirs.try_clone().unwrap())).stderr(Stdio::from(theirs));
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut seen = String::new();
    read_until(&mut ours, "terminal", &mut seen);
    ours.write_all(b"\x03").unwrap();
    read_until(&mut ours, "int 1", &mut seen);
    ours.write_all(b"one\ntwo\n").unwrap();
    read_until(&mut ours, "after 1", &mut seen);
    read_until(&mut ours, "next: reenact show last", &mut seen);
    assert_eq!(child.wait().unwrap().code(), Some(4), "{seen}");
    assert!(!seen.contains("int 2"), "{seen}");
}
