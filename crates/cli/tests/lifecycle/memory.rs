//! The process of a recorder: its memory is closed to its agent, which runs as the same user, and in no core file; its limits
//! are its own.
//!
//! Root may read any process. So where the tests run as root, recorder and agent become an ordinary user.

#![cfg(target_os = "linux")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use reenact_testkit::fixture::TestDir;

use super::project::REENACT;

/// User and group that no file belongs to.
const NOBODY: u32 = 65_534;

/// Runs `reenact` as an ordinary user and returns what it printed to standard output. `soft_limit` is an option of `ulimit`
/// with its value, set before it starts.
fn output_as_user(soft_limit: &str, arguments: &[&str]) -> String {
    let folder = TestDir::within(std::env::temp_dir());
    fs::create_dir_all(folder.join("work")).unwrap();
    let mut shell = Command::new("sh");
    let mut program = PathBuf::from(REENACT);
    if rustix::process::geteuid().is_root() {
        // The folder of the build may be closed to others.
        program = folder.join("reenact");
        fs::copy(REENACT, &program).unwrap();
        for folder in [folder.path().to_owned(), folder.join("work")] {
            fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
            chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        // This also drops the supplementary groups.
        shell.uid(NOBODY).gid(NOBODY);
    }
    let set_limit = format!("ulimit -S {soft_limit}; exec \"$@\"");
    shell.args(["-c", &set_limit, "sh"]).arg(&program).args(arguments);
    shell.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("LC_ALL", "C");
    shell.env("REENACT_PROGRAM", &program);
    for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMPDIR"] {
        shell.env(variable, folder.join("work"));
    }
    let output = shell.current_dir(folder.join("work")).output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    stdout
}

/// The environment of a process is as readable as its memory, but is also closed to readers whom the Yama module keeps from
/// the memory of processes that are not their children.
#[test]
fn the_agent_cannot_read_the_memory_of_its_recorder() {
    let agent = r#"
        try() { if head -c 1 "/proc/$2/$3" > /dev/null 2>&1; then echo "$1 $3 open"; else echo "$1 $3 closed"; fi }
        try recorder $PPID environ
        try recorder $PPID mem
        try recorder $PPID maps
        try agent $$ environ
        sleep 60 & other=$!
        try other $other environ
        kill $other"#;
    assert_eq!(
        output_as_user("-c 0", &["record", "-q", "--", "sh", "-c", agent]),
        "recorder environ closed\nrecorder mem closed\nrecorder maps closed\nagent environ open\nother environ open\n"
    );
}

/// What holds for a recorder holds for every command that reads a private key. A pipe that is full and that nobody reads keeps
/// each of them where it prints.
#[test]
fn no_other_process_can_read_the_memory_of_a_command_with_a_key() {
    let agent = r#"
        "$REENACT_PROGRAM" keys generate platform > /dev/null 2>&1
        printf '[envelope.permissions]\nallowed_models = ["gpt-5"]\nallowed_tools = []\n' > envelope.toml
        mkfifo full; exec 3<> full
        dd if=/dev/zero of=full bs=4096 oflag=nonblock 2> /dev/null
        try() { if head -c 1 "/proc/$2/$3" > /dev/null 2>&1; then echo "$1 $3 open"; else echo "$1 $3 closed"; fi }
        watch() {
            name=$1; shift
            "$REENACT_PROGRAM" "$@" > full 2> /dev/null & pid=$!
            tries=0
            while head -c 1 "/proc/$pid/environ" > /dev/null 2>&1 && [ $tries != 600 ]; do tries=$((tries + 1)); sleep 0.1; done
            kill -0 $pid && for file in environ mem maps; do try "$name" $pid $file; done
            kill -9 $pid
        }
        watch recover runs recover
        watch sign policy sign envelope.toml --key platform --any-runtime"#;
    assert_eq!(
        output_as_user("-c 0", &["record", "-q", "--", "sh", "-c", agent]),
        "recover environ closed\nrecover mem closed\nrecover maps closed\nsign environ closed\nsign mem closed\nsign maps closed\n"
    );
}

#[test]
fn a_recorder_leaves_no_core_file_and_its_agent_may() {
    // A child is started with the inherited limit, which its recorder has again for that moment: the agent waits until it is over.
    let agent = r#"
        limit() { grep 'core file' /proc/$PPID/limits | tr -s ' '; }
        tries=0
        until limit | grep -q 'size 0 ' || [ $tries = 600 ]; do tries=$((tries + 1)); sleep 0.1; done
        limit
        ulimit -S -c"#;
    let hard = Command::new("sh").args(["-c", "ulimit -H -c"]).output().unwrap().stdout;
    let hard = String::from_utf8(hard).unwrap();
    // The hard limit may be 0 where the tests run; the soft one can be no higher.
    let soft = if hard.trim() == "0" { "0" } else { "1" };
    let printed = output_as_user(&format!("-c {soft}"), &["record", "-q", "--", "sh", "-c", agent]);
    let (recorder, agent) = printed.split_once('\n').unwrap();
    assert!(recorder.starts_with("Max core file size 0 "), "{recorder}");
    assert_eq!(agent.trim(), soft);
}

#[test]
fn a_recorder_has_all_descriptors_that_it_may_and_its_agent_those_that_it_had() {
    let agent = r#"
        limit() { grep 'open files' /proc/$PPID/limits | tr -s ' '; }
        tries=0
        while limit | grep -q 'files 200 ' && [ $tries != 600 ]; do tries=$((tries + 1)); sleep 0.1; done
        limit
        ulimit -S -n; ulimit -H -n"#;
    let printed = output_as_user("-n 200", &["record", "-q", "--", "sh", "-c", agent]);
    let [recorder, soft, hard] = printed.lines().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(soft, "200");
    assert_eq!(recorder.trim_end(), format!("Max open files {hard} {hard} files"));
}

/// The sandbox writes the user and group maps of its own process, which a process that is closed to others cannot do.
#[test]
fn an_ordinary_user_has_a_sandbox_where_the_kernel_gives_one() {
    let agent = r#"unshare --user --map-root-user --net true 2> /dev/null && echo given || echo refused"#;
    let is_given = output_as_user("-c 0", &["record", "-q", "--", "sh", "-c", agent]) == "given\n";
    let report = output_as_user("-c 0", &["doctor"]);
    let sandbox = report.lines().find(|line| line.contains("sandbox")).unwrap();
    assert_eq!(sandbox.trim_start().starts_with("ok"), is_given, "{report}");
}
