//! Standard input and output of an agent: the bytes that it would have without us, and what the record holds of them.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Output, Stdio};

use reenact_json::{Digest, Limits, Value};
use reenact_run::{OpenedRecord, Run};
use reenact_testkit::Script;
use reenact_verify::{Keys, Options};

use super::project::{REENACT, TestProject};

fn project() -> TestProject {
    TestProject::new(Script::travel())
}

/// Bytes of all values, in no order that a text would have.
fn binary(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(&mut next).take(length).collect()
}

/// Runs a line of the shell, in which `$R` is `reenact record -q --`, with this input.
fn shell(project: &TestProject, line: &str, input: &[u8]) -> Output {
    let template = project.command(&["--version"]);
    let mut command = Command::new("sh");
    command.current_dir(project.folder.path()).env_clear();
    command.envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("R", format!("{REENACT} record -q --")).args(["-c", line]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The command may not read all of it.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    output
}

fn recorded(project: &TestProject) -> Run {
    let bytes = fs::read(project.artifact()).unwrap();
    let OpenedRecord { run, .. } = reenact_run::open(bytes, &Keys::default(), &Options::default());
    run.unwrap()
}

fn stdout_digest(run: &Run) -> Option<String> {
    run.surroundings().stdout_sha256.map(|digest| digest.into_owned())
}

#[test]
fn binary_bytes_pass_through_a_pipe_and_are_recorded() {
    let (project, input) = (project(), binary(300_000));
    let output = shell(&project, "$R cat", &input);
    assert_eq!((output.status.code(), output.stdout == input), (Some(0), true));
    let run = recorded(&project);
    let read = run.standard_input().unwrap();
    assert!(read.is_complete);
    assert!(read.bytes == input);
    assert_eq!(stdout_digest(&run), Some(Digest::of(&input).to_string()));
}

#[test]
fn text_is_recorded_as_text_and_masked() {
    let project = project();
    let output = shell(&project, "DB_PASSWORD=planted-value-17 $R cat", b"say planted-value-17 twice");
    assert_eq!(output.stdout, b"say planted-value-17 twice");
    let artifact = fs::read_to_string(project.artifact()).unwrap();
    assert!(artifact.contains(r#""body":{"text":"say [masked:environment:"#), "{artifact}");
    assert!(!artifact.contains("planted-value-17"));
}

/// A loop that is fed from the same pipe as its commands must find the rest in place.
#[test]
fn what_the_agent_does_not_read_stays() {
    let project = project();
    let output = shell(&project, "$R true; cat", b"a\nb\nc\n");
    assert_eq!(output.stdout, b"a\nb\nc\n");
    assert_eq!(recorded(&project).standard_input(), None);
}

#[test]
#[cfg(target_os = "linux")]
fn only_what_the_agent_reads_is_taken() {
    let project = project();
    let output = shell(&project, "$R sh -c 'read line; echo \"got $line\"'; cat", b"a\nb\nc\n");
    assert_eq!(output.stdout, b"got a\nb\nc\n");
    let run = recorded(&project);
    assert_eq!(&*run.standard_input().unwrap().bytes, b"a\n");
}

#[test]
fn an_input_that_nobody_reads_or_closes_holds_nobody_up() {
    let project = project();
    let mut child =
        project.command(&["record", "-q", "--", "sh", "-c", "exit 4"]).stdin(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    drop(input);
}

/// A process that outlives the agent and holds both streams: its input is at its end, and its output is not waited for.
#[test]
fn a_process_that_was_left_behind_holds_nobody_up() {
    let project = project();
    let line = "exec 3<&0; { cat <&3 > /dev/null; echo over > ended; exec sleep 60; } 2> /dev/null & echo $! > pid; echo said; exit 5";
    let mut child = project
        .command(&["record", "--", "sh", "-c", line])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"some").unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(5), "said\n"));
    let mut notes = String::new();
    child.stderr.take().unwrap().read_to_string(&mut notes).unwrap();
    assert!(notes.contains("still held its output"), "{notes}");
    drop(input);
    let pid: i32 = fs::read_to_string(project.folder.path().join("pid")).unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(stdout_digest(&recorded(&project)), Some(Digest::of(b"said\n").to_string()));
}

#[test]
fn an_agent_whose_reader_left_gets_its_signal() {
    let project = project();
    let line = "{ $R yes; echo $? >&2; } | head -n 1";
    let output = shell(&project, line, b"");
    assert_eq!(
        (output.stdout.as_slice(), output.stderr.as_slice()),
        (b"y\n".as_slice(), b"141\n".as_slice())
    );
}

#[test]
fn a_long_input_passes_whole_and_is_recorded_in_part() {
    let (project, input) = (project(), vec![b'x'; 10_400_000]);
    let output = shell(&project, "$R sh -c 'wc -c'", &input);
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "10400000");
    let run = recorded(&project);
    let read = run.standard_input().unwrap();
    assert_eq!((read.bytes.len(), read.is_complete), (10_000_000, false));
}

#[test]
fn files_are_the_agents_own() {
    let (project, input) = (project(), binary(5_000));
    fs::write(project.folder.path().join("in"), &input).unwrap();
    let line = "$R sh -c 'test -f /dev/stdin && test -f /dev/stdout && cat' < in > out";
    assert_eq!(shell(&project, line, b"").status.code(), Some(0));
    assert!(fs::read(project.folder.path().join("out")).unwrap() == input);
    let run = recorded(&project);
    assert!(&*run.standard_input().unwrap().bytes == input.as_slice());
    assert_eq!(stdout_digest(&run), Some(Digest::of(&input).to_string()));
}

/// A loop over a file: the agents that it starts have the file, too, and read nothing of it.
#[test]
fn of_a_file_only_what_the_agent_read_is_recorded() {
    let project = project();
    fs::write(project.folder.path().join("in"), "a\nb\nc\n").unwrap();
    let output = shell(&project, "{ read first; $R true; cat; } < in", b"");
    assert_eq!(output.stdout, b"b\nc\n");
    assert_eq!(recorded(&project).standard_input(), None);
}

/// What was in the file before is not the agent's.
#[test]
fn a_file_is_hashed_from_where_the_agent_began() {
    let project = project();
    let line = "{ echo before; $R echo mine; echo behind; } > out";
    assert_eq!(shell(&project, line, b"").status.code(), Some(0));
    assert_eq!(fs::read(project.folder.path().join("out")).unwrap(), b"before\nmine\nbehind\n");
    assert_eq!(stdout_digest(&recorded(&project)), Some(Digest::of(b"mine\n").to_string()));
}

/// Nothing may change the order of the two streams.
#[test]
fn streams_in_one_place_keep_their_order() {
    let project = project();
    let agent = "for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done";
    let output = shell(&project, &format!("$R sh -c '{agent}' 2>&1"), b"");
    let expected: String = (1..=9).map(|i| format!("out {i}\nerr {i}\n")).collect();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    assert_eq!(stdout_digest(&recorded(&project)), None);
}

#[test]
fn a_socket_is_read_as_a_pipe_is() {
    let (project, input) = (project(), binary(20_000));
    let (theirs, mut ours) = UnixStream::pair().unwrap();
    let child = project
        .command(&["record", "-q", "--", "cat"])
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    ours.write_all(&input).unwrap();
    drop(ours);
    assert!(child.wait_with_output().unwrap().stdout == input);
    let run = recorded(&project);
    assert!(&*run.standard_input().unwrap().bytes == input.as_slice());
}

/// Each piece is there before the next is sent, as in a conversation.
#[test]
fn pieces_pass_as_they_come() {
    let project = project();
    let agent = "while read line; do echo \"heard $line\"; done";
    let mut child = project
        .command(&["record", "-q", "--", "sh", "-c", agent])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    for word in ["one\n", "two\n", "three\n"] {
        input.write_all(word.as_bytes()).unwrap();
        let mut heard = vec![0; "heard ".len() + word.len()];
        output.read_exact(&mut heard).unwrap();
        assert_eq!(String::from_utf8(heard).unwrap(), format!("heard {word}"));
    }
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let run = recorded(&project);
    assert_eq!(&*run.standard_input().unwrap().bytes, b"one\ntwo\nthree\n");
}

#[test]
fn nothing_is_said_of_no_input() {
    let project = project();
    let empty = File::open("/dev/null").unwrap();
    let output = project.command(&["record", "-q", "--", "cat"]).stdin(Stdio::from(empty)).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let artifact = fs::read(project.artifact()).unwrap();
    let events = Value::parse(&artifact, &Limits::default()).unwrap().member("events").unwrap();
    let kinds: Vec<String> = events
        .elements()
        .map(|event| event.member("event_type").unwrap().string().unwrap().into_owned())
        .collect();
    assert_eq!(kinds, ["rer.run.started", "rer.run.ended"]);
}

/// `git diff | agent` comes back: a replay gives the agent what was piped into it.
#[test]
fn a_replay_gives_the_recorded_input() {
    let mut project = project();
    let agent = format!("exec {REENACT} demo-agent \"$(cat)\"");
    let task = b"Book me a flight from Vienna to Lisbon on 2026-05-12, for at most 200 euros.\n";
    let output = shell(&project, &format!("$R sh -c '{agent}'"), task);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    project.vendor.stop();
    let replayed = project.run(&["replay", "last", "--", "sh", "-c", &agent]);
    let said = String::from_utf8(output.stdout).unwrap();
    replayed.expect(0, &said, "...\nreenact: reproduced: 4 exchanges, exit 0, as recorded\n...\n");
}
