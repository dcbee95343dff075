//! Replaying: the same output while the model is gone, and the messages when the agent asks for something else.

use std::fs;
use std::process::{Command, Stdio};

use reenact_json::{Limits, Value};
use reenact_testkit::{Script, ScriptedAnswer};

use super::project::{CommandOutput, REENACT, TestProject};

/// Returns a project with a recorded run whose vendor is gone, and the output of the recording.
fn recorded() -> (TestProject, CommandOutput) {
    let mut project = TestProject::new(Script::travel());
    let recorded = project.run(&["record", "-q", "--", REENACT, "demo-agent"]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    project.vendor.stop();
    (project, recorded)
}

/// Last lines of a replay. Where the kernel gives no sandbox, the first of them says so.
const HERMETIC: &str =
    "reenact: hermetic: [..]\nreenact: report of this replay: [..]/state/replays/[..].json\n";

#[test]
fn the_same_words_with_the_model_gone() {
    let (project, recorded) = recorded();
    project.run(&["replay", "last", "--", REENACT, "demo-agent"]).expect(
        0,
        &recorded.stdout,
        &format!("...\nreenact: reproduced: 4 exchanges, exit 0, as recorded\n{HERMETIC}"),
    );
    let paced = project.run(&["replay", "last", "--pace", "recorded", "--", REENACT, "demo-agent"]);
    paced.expect(0, &recorded.stdout, "...\n");
}

/// Gemini has the model in the path, tools without ids, and streams that end with the connection.
#[test]
fn gemini_comes_back_too() {
    let mut project = TestProject::new(Script::travel());
    let agent = [REENACT, "demo-agent", "--vendor=gemini"];
    let recorded = project.run(&[&["record", "--"], &agent[..]].concat());
    recorded.expect(0, "...\nmodel: Booked: [..]\n", "...\n");
    let told = "reenact: recorded 4 model calls and 3 tool calls, ";
    assert!(recorded.stderr.contains(told), "{}", recorded.stderr);
    project.vendor.stop();
    project.run(&[&["replay", "last", "--"], &agent[..]].concat()).expect(
        0,
        &recorded.stdout,
        &format!("...\nreenact: reproduced: 4 exchanges, exit 0, as recorded\n{HERMETIC}"),
    );
}

#[test]
fn another_question_is_shown_beside_the_recorded_one() {
    let (project, _) = recorded();
    let task = "Book me a flight from Vienna to Porto on 2026-05-12, for at most 200 euros.";
    project.run(&["replay", "last", "--", REENACT, "demo-agent", task]).expect(
        2,
        "task: [..]Porto[..]\n",
        &format!(
            "...\nagent: the vendor says: E_REPLAY_MISSING_DEPENDENCY: [..]\n\
             reenact: E_REPLAY_MISSING_DEPENDENCY: no recorded answer for POST /v1/chat/completions (openai, gpt-5): the closest is step s1, it differs in 1 value\n  \
             $.messages[1].content\n    \
             recorded \"… from Vienna to Lisbon on 2026-05-12, for at most 200 euros.\"\n    \
             asked    \"… from Vienna to Porto on 2026-05-12, for at most 200 euros.\"\n\
             reenact: never asked for: steps s1, s3, s5, s7\n\
             reenact: could not be reproduced: 1 request with no recorded answer (E_REPLAY_MISSING_DEPENDENCY), 0 exchanges as recorded\n{HERMETIC}"
        ),
    );
}

/// Agents repeat what failed: the miss is told once, with its number, and whole if that is wanted.
#[test]
fn a_repeated_miss_is_told_once() {
    let (project, _) = recorded();
    let task = "Book me a flight from Vienna to Porto on 2026-05-12, for at most 200 euros.";
    let agent = format!("for i in 1 2 3; do reenact demo-agent '{task}' >&2; done; exit 2");
    let replay =
        |more: &[&str]| project.run(&[&["replay", "last"], more, &["--", "sh", "-c", &agent]].concat());
    let beginning = "...\nreenact: E_REPLAY_MISSING_DEPENDENCY: no recorded answer for POST /v1/chat/completions (openai, gpt-5), \
         asked 3 times: the closest is step s1, it differs in 1 value\n  $.messages[1].content\n    ";
    let end = format!(
        "reenact: never asked for: steps s1, s3, s5, s7\n\
         reenact: could not be reproduced: 3 requests with no recorded answer (E_REPLAY_MISSING_DEPENDENCY), 0 exchanges as recorded\n{HERMETIC}"
    );
    let short = "recorded \"…[..]\"\n    asked    \"…[..]\"\n";
    replay(&[]).expect(2, "", &format!("{beginning}{short}{end}"));
    let whole = format!(
        "- Book me a flight from Vienna to Lisbon on 2026-05-12, for at most 200 euros.\n    + {task}\n"
    );
    replay(&["--diff"]).expect(2, "", &format!("{beginning}{whole}{end}"));
}

#[test]
fn of_many_misses_the_first_are_shown() {
    let (project, _) = recorded();
    let agent = "for i in 1 2 3 4 5; do reenact demo-agent \"task $i\" >&2; done; exit 2";
    let replay = |more: &[&str]| {
        let replayed = project.run(&[&["replay", "last"], more, &["--", "sh", "-c", agent]].concat());
        assert_eq!(replayed.code, Some(2), "{}", replayed.stderr);
        let lines = || replayed.stderr.lines().filter(|line| line.starts_with("reenact: E_REPLAY_"));
        let others =
            "reenact: 2 other requests without a recorded answer: --diff shows all, the report has them, too";
        (lines().count(), replayed.stderr.lines().any(|line| line == others))
    };
    assert_eq!(replay(&[]), (3, true));
    assert_eq!(replay(&["--diff"]), (5, false));
}

/// The same question twice, with two answers: they come back in their order, and a line says so.
#[test]
fn several_answers_to_one_question() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let script = Script::answering(move |_| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        ScriptedAnswer::json(200, format!(r#"{{"n":{number}}}"#))
    });
    let mut project = TestProject::new(script);
    let agent = "for i in 1 2; do reenact demo-agent hi 2>&1; done";
    let recorded = project.run(&["record", "-q", "--", "sh", "-c", agent]);
    project.vendor.stop();
    project.run(&["replay", "last", "--", "sh", "-c", agent]).expect(
        0,
        &recorded.stdout,
        &format!(
            "reenact: 2 requests were recorded more than once, each time with another answer; the answers were given in their recorded order\n\
             reenact: reproduced: 2 exchanges, exit 0, as recorded\n{HERMETIC}"
        ),
    );
}

#[test]
fn a_run_in_which_nothing_was_recorded() {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "-q", "--", "sh", "-c", "echo ran >>out"]).expect(0, "", "...\n");
    let replay = |more: &[&str]| {
        project.run(&[&["replay", "last"], more, &["--", "sh", "-c", "echo ran >>out"]].concat())
    };
    let refused = "reenact: [..]: no request and no answer were recorded, so there is nothing to reproduce (E_NOTHING_RECORDED)\n\
                   the calls of the agent did not come through reenact: [..]\n[..]\n";
    replay(&[]).expect(2, "", refused);
    replay(&["--json"]).expect(
        2,
        "{\"code\":\"E_NOTHING_RECORDED\",\"message\":\"[..]\",\"advice\":[[..]]}\n",
        refused,
    );
    assert_eq!(fs::read_to_string(project.folder.path().join("out")).unwrap(), "ran\n", "it was run");
}

#[test]
fn an_agent_that_does_less_or_ends_otherwise_differs() {
    let (project, _) = recorded();
    project.run(&["replay", "last", "--", "true"]).expect(
        1,
        "",
        &format!("...\nreenact: differed: 4 exchanges not asked for\n{HERMETIC}"),
    );
    let agent = format!("{REENACT} demo-agent >&2; exit 5");
    project.run(&["replay", "last", "--", "sh", "-c", &agent]).expect(
        1,
        "",
        &format!("...\nreenact: differed: exit 5, recorded was exit 0\n{HERMETIC}"),
    );
    assert_eq!(project.run(&["replay", "last", "--pass-exit", "--", "sh", "-c", &agent]).code, Some(5));
}

#[test]
fn the_result_as_json_and_on_disk() {
    let (project, recorded) = recorded();
    let replayed = project.run(&["replay", "last", "--json", "--", REENACT, "demo-agent"]);
    replayed.expect(
        0,
        "{\"replay_of\":{\"run_id\":\"[..]\",\"format\":\"rer-artifact/0.2\",\"digest\":\"[..]\"},\"verdict\":\"reproduced\",\"child_exit\":0,\"child_signal\":null,\"recorded_exit\":0,\"recorded_signal\":null,\"levels\":{\"exact\":4,\"ids\":0,\"moved\":0,\"tools\":0,\"position\":0},\"found_by\":\"request\",\"hits\":4,\"differing\":[],\"missed\":0,\"misses\":[],\"unused\":[],\"ambiguous\":0,\"rebuilt\":0,\"output\":{\"recorded\":\"[..]\",\"now\":\"[..]\",\"same\":true},\"bundle\":null,\"sandbox\":{[..]},[..]}\n",
        &format!("...\n{}", recorded.stdout),
    );
    let kept = project.recorded_files();
    let kept = kept.iter().find(|path| path.parent().unwrap().ends_with("replays")).unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), replayed.stdout);
}

/// The same requests, and other words at the end: told, and a difference for those who ask for it.
#[test]
fn another_output_is_told() {
    let (project, _) = recorded();
    let differed = "reenact: differed: the output is not the recorded one\n";
    let agent = "reenact demo-agent; echo more";
    for sandbox in ["auto", "off"] {
        let replay = |options: &[&str]| {
            let before = ["replay", "last", "--sandbox", sandbox];
            project.run(&[&before[..], options, &["--", "sh", "-c", agent]].concat())
        };
        let told = "reenact: reproduced[..]: 4 exchanges, exit 0, as recorded\nreenact: its output is not the recorded one, [..]\n";
        replay(&[]).expect(0, "...\nmore\n", &format!("{told}...\n"));
        replay(&["--same-output"]).expect(1, "...\nmore\n", &format!("{differed}...\n"));
    }
    let json = project.run(&["replay", "last", "--json", "--same-output", "--", "sh", "-c", agent]);
    json.expect(
        1,
        "[..]\"verdict\":\"differed\",[..]\"output\":{\"recorded\":\"[..]\",\"now\":\"[..]\",\"same\":false},[..]\n",
        "...\nmore\n",
    );
    // Both streams in one place keep their order, and nothing is hashed.
    let both = fs::File::create(project.folder.path().join("both")).unwrap();
    let status = project
        .command(&["replay", "last", "--", "sh", "-c", agent])
        .stdout(both.try_clone().unwrap())
        .stderr(both)
        .status();
    let text = fs::read_to_string(project.folder.path().join("both")).unwrap();
    assert_eq!(status.unwrap().code(), Some(0), "{text}");
    assert!(text.contains("\nmore\nreenact: reproduced: 4 exchanges"), "{text}");
}

#[test]
fn without_a_sandbox_it_says_so() {
    let (project, recorded) = recorded();
    let replayed = project.run(&["replay", "last", "--sandbox", "off", "--", REENACT, "demo-agent"]);
    replayed.expect(
        0,
        &recorded.stdout,
        "...\nreenact: reproduced, NOT hermetic: 4 exchanges, exit 0, as recorded\nreenact: hermetic: not enforced, the agent had the whole network\nreenact: report [..]\n",
    );
}

/// Python program that makes the kernel refuse Landlock (call 444, on every architecture) to the command in its arguments.
const WITHOUT_LANDLOCK: &str = r"
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *rule) for rule in rules))
class Program(ctypes.Structure): _fields_ = [('length', ctypes.c_ushort), ('code', ctypes.c_void_p)]
program = Program(len(rules), ctypes.addressof(code))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
";

/// Runs a replay where the kernel allows no user namespace: the limit is set in one of its own. `before` are the first words of
/// the command line. `None` where that cannot be made.
fn replay_without_namespaces(
    project: &TestProject,
    before: &[&str],
    options: &[&str],
) -> Option<CommandOutput> {
    let arguments = [&["replay", "last"], options, &["--", REENACT, "demo-agent"]].concat();
    let replay = project.command(&arguments);
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script, "sh"]).args(before).arg(REENACT);
    command.args(replay.get_args());
    command.env_clear().envs(replay.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(project.folder.path()).stdin(Stdio::null());
    let output = command.output().ok()?;
    let utf8 = |bytes| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (utf8(output.stdout), utf8(output.stderr));
    (!stderr.contains("unshare: ")).then(|| CommandOutput { code: output.status.code(), stdout, stderr })
}

/// Landlock knows ports since its fourth version, of Linux 6.7; and it may be switched off.
#[test]
fn where_the_kernel_gives_no_namespaces_it_is_landlock() {
    let (project, recorded) = recorded();
    let Some(replayed) = replay_without_namespaces(&project, &[], &[]) else { return };
    if replayed.stderr.contains("E_SANDBOX_REFUSED") {
        assert!(std::env::var_os("REENACT_REQUIRE_SANDBOX").is_none(), "{}", replayed.stderr);
        return;
    }
    let told = "...\nreenact: reproduced: 4 exchanges, exit 0, as recorded\n\
                reenact: hermetic: the kernel let it connect to the gateway's port alone (landlock), which any host may have\n\
                reenact: report [..]\n";
    replayed.expect(0, &recorded.stdout, told);
    let json = replay_without_namespaces(&project, &[], &["--json"]).unwrap();
    json.expect(
        0,
        "[..]\"sandbox\":{\"rung\":\"landlock\",[..]\"TCP to this port of any host: [..]\n",
        "...\n",
    );
}

#[test]
fn where_the_kernel_gives_no_sandbox_nothing_runs_unasked() {
    let (project, recorded) = recorded();
    let without_landlock = ["python3", "-c", WITHOUT_LANDLOCK];
    let Some(refused) = replay_without_namespaces(&project, &without_landlock, &[]) else { return };
    refused.expect(
        2,
        "",
        "...\nreenact: the sandbox was refused at step namespaces: [..] (E_SANDBOX_REFUSED)\n  the number of user namespaces is limited to 0: [..]\nwithout a sandbox the agent has the whole network: --sandbox off runs it all the same\n",
    );
    let refused = replay_without_namespaces(&project, &without_landlock, &["--json"]).unwrap();
    assert_eq!(refused.code, Some(2));
    assert!(refused.stdout.starts_with("{\"code\":\"E_SANDBOX_REFUSED\","), "{}", refused.stdout);
    for sandbox in ["auto", "off"] {
        let options = ["--sandbox", sandbox];
        let replayed = replay_without_namespaces(&project, &without_landlock, &options).unwrap();
        let told = "...\nreenact: reproduced, NOT hermetic: 4 exchanges, exit 0, as recorded\n...\n";
        replayed.expect(0, &recorded.stdout, told);
    }
}

#[test]
fn a_sandbox_is_there_or_nothing_runs() {
    let (project, _) = recorded();
    let replayed = project.run(&["replay", "last", "--", REENACT, "demo-agent"]);
    if reenact_sandbox_is_there(&project) {
        assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    } else {
        replayed.expect(2, "", "reenact: [..](E_SANDBOX_REFUSED)\n...\n");
    }
}

fn reenact_sandbox_is_there(project: &TestProject) -> bool {
    project.run(&["doctor"]).stdout.contains("the kernel cuts replays off from the network (netns)")
}

#[test]
fn a_record_that_does_not_verify_is_not_replayed() {
    let (project, _) = recorded();
    let forged = project.folder.path().join("forged.rer.json");
    let text = fs::read_to_string(project.artifact()).unwrap();
    fs::write(&forged, text.replacen("\"price_eur\":189", "\"price_eur\":139", 1)).unwrap();
    let replay = |more: &[&str]| {
        project.run(&[&["replay", "forged.rer.json"], more, &["--", REENACT, "demo-agent"]].concat())
    };
    replay(&[]).expect(
        2,
        "",
        "reenact: forged.rer.json: this record does not verify, so what it holds may not be what was recorded (E_NOT_VERIFIED)\n  \
         payload_hashes: event [..]\n\
         replay it all the same with --force\n",
    );
    replay(&["--force"]).expect(
        0,
        "...\n",
        "reenact: forged.rer.json: this record does not verify; it is replayed because of --force\n...\n",
    );
}

/// A replay needs integrity and no identity: a colleague's record is replayed with one warning, unless more is asked for.
#[test]
fn a_record_of_an_unknown_key_is_replayed_with_a_warning() {
    let (project, recorded) = recorded();
    let folder = project.folder.path();
    fs::copy(project.artifact(), folder.join("theirs.rer.json")).unwrap();
    let own = project.run(&["keys", "export", "default"]);
    fs::write(folder.join("signer.jwk"), &own.stdout).unwrap();
    let key_id = Value::parse(own.stdout.as_bytes(), &Limits::default()).unwrap();
    let key_id = key_id.member("kid").unwrap().string().unwrap().into_owned();
    // Someone else, with a key of their own.
    let replay = |more: &[&str]| {
        let arguments = [&["replay", "theirs.rer.json"], more, &["--", REENACT, "demo-agent"]].concat();
        let mut command = project.command(&arguments);
        let output = command.env("XDG_CONFIG_HOME", folder.join("colleague")).output().unwrap();
        let utf8 = |bytes| String::from_utf8(bytes).unwrap();
        CommandOutput { code: output.status.code(), stdout: utf8(output.stdout), stderr: utf8(output.stderr) }
    };
    let warning = format!(
        "reenact: theirs.rer.json: intact, but its key {key_id} is not known here, so anyone may have made it (--require-trusted refuses it)\n"
    );
    let reproduced = "reenact: reproduced: 4 exchanges, exit 0, as recorded\n";
    replay(&[]).expect(0, &recorded.stdout, &format!("{warning}{reproduced}{HERMETIC}"));
    let refused = |wanted: &str| {
        format!(
            "reenact: theirs.rer.json: this record is not signed by {wanted}: its key is {key_id} (unknown) (E_NOT_TRUSTED)\n\
             ask the sender for the public key [..], and give it with --key\n\
             a key that you believe to be the sender's is trusted with: reenact keys trust FILE\n"
        )
    };
    replay(&["--require-trusted"]).expect(2, "", &refused("a key that you trust"));
    // Wrong hashes are another matter: --force does not help here.
    replay(&["--require-trusted", "--force"]).expect(2, "", &refused("a key that you trust"));
    let other = project
        .command(&["keys", "generate", "other"])
        .env("XDG_CONFIG_HOME", folder.join("third"))
        .output()
        .unwrap();
    assert!(other.status.success(), "{}", String::from_utf8_lossy(&other.stderr));
    let other = project
        .command(&["keys", "export", "other"])
        .env("XDG_CONFIG_HOME", folder.join("third"))
        .output()
        .unwrap();
    fs::write(folder.join("other.jwk"), &other.stdout).unwrap();
    replay(&["--key", "other.jwk"]).expect(2, "", &refused("a key that was given"));
    let object = "{\"code\":\"E_NOT_TRUSTED\",\"message\":\"theirs.rer.json: [..]\",\"advice\":[[..]]}\n";
    replay(&["--key", "other.jwk", "--json"]).expect(2, object, &refused("a key that was given"));
    let supplied = replay(&["--key", "signer.jwk", "--require-trusted"]);
    assert_eq!(supplied.code, Some(0), "{}", supplied.stderr);
    assert!(!supplied.stderr.contains("anyone may have made it"), "{}", supplied.stderr);
    // Our own run has a key that is trusted.
    assert_eq!(
        project.run(&["replay", "last", "--require-trusted", "--", REENACT, "demo-agent"]).code,
        Some(0)
    );
}

/// Our own run has our own command, which is printed first.
#[test]
fn our_own_run_is_replayed_with_its_command() {
    let (project, recorded) = recorded();
    let reproduced = format!("reenact: reproduced: 4 exchanges, exit 0, as recorded\n{HERMETIC}");
    let replaying = format!("reenact: replaying: {REENACT} demo-agent\n{reproduced}");
    project.run(&["replay"]).expect(0, &recorded.stdout, &replaying);
    let artifact = project.artifact();
    project.run(&["replay", artifact.to_str().unwrap()]).expect(0, &recorded.stdout, &replaying);
    project.run(&["replay", "last", "--", "no-such-command"]).expect(
        2,
        "",
        "reenact: no-such-command: cannot be started: [..]\n",
    );
}

/// A file that lies anywhere else may be anyone's, whoever signed it.
#[test]
fn the_command_of_a_record_from_elsewhere_is_not_run_unasked() {
    let (project, recorded) = recorded();
    fs::copy(project.artifact(), project.folder.path().join("theirs.rer.json")).unwrap();
    let refused = format!(
        "reenact: theirs.rer.json: this is not one of your own runs, so its command is not run unasked (E_COMMAND_NEEDED)\n\
         it is: {REENACT} demo-agent\n\
         run that with --recorded-command, or give one: reenact replay theirs.rer.json -- CMD\n"
    );
    project.run(&["replay", "theirs.rer.json"]).expect(2, "", &refused);
    project.run(&["replay", "theirs.rer.json", "--json"]).expect(
        2,
        "{\"code\":\"E_COMMAND_NEEDED\",\"message\":\"[..]\",\"advice\":[\"it is: [..] demo-agent\",\"[..]\"]}\n",
        &refused,
    );
    project.run(&["replay", "theirs.rer.json", "--recorded-command"]).expect(
        0,
        &recorded.stdout,
        &format!("reenact: replaying: {REENACT} demo-agent\nreenact: reproduced: 4 exchanges, exit 0, as recorded\n{HERMETIC}"),
    );
    // A run of that id is ours, but this file is another's: whoever can write to a folder could put it there.
    let planted = project.folder.path().join("planted.rer.json");
    fs::rename(project.artifact(), &planted).unwrap();
    project.run(&["replay", "planted.rer.json"]).expect(2, "", "[..](E_COMMAND_NEEDED)\n...\n");
}

/// Whoever imports a record signs it, and its command stays that of others.
#[test]
fn a_run_in_our_folder_that_others_signed_is_not_our_own() {
    let (project, _) = recorded();
    let mut command = project.command(&["replay", "last"]);
    let output = command.env("XDG_CONFIG_HOME", project.folder.path().join("other")).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("this is not one of your own runs"), "{stderr}");
}

#[test]
fn a_command_with_a_masked_secret_is_not_run() {
    let mut project = TestProject::new(Script::travel());
    let agent = "reenact demo-agent";
    project
        .run(&["record", "-q", "--", "sh", "-c", agent, "sh", "--password", "hunter22-hunter22"])
        .expect(0, "...\n", "...\n");
    project.vendor.stop();
    project.run(&["replay"]).expect(
        2,
        "",
        "reenact: [..]: the recorded command cannot be run, because a secret in it is masked (E_COMMAND_NEEDED)\n\
         it is: sh -c 'reenact demo-agent' sh --password '[masked:[..]]'\n\
         give it: reenact replay last -- CMD\n",
    );
}

/// What is typed at a terminal is in no record.
#[test]
fn a_run_without_pipes_says_what_cannot_be_promised() {
    let mut project = TestProject::new(Script::travel());
    let output = fs::File::create(project.folder.path().join("output")).unwrap();
    // Both streams in one place are passed on as a terminal is.
    let mut record = project.command(&["record", "-q", "--", REENACT, "demo-agent"]);
    let status = record.stdout(output.try_clone().unwrap()).stderr(output).status().unwrap();
    assert_eq!(status.code(), Some(0));
    project.vendor.stop();
    let replayed = project.run(&["replay", "last"]);
    replayed.expect(
        0,
        "task: [..]\n...\n",
        &format!(
            "reenact: replaying: {REENACT} demo-agent\n\
             reenact: nothing was piped when this was recorded: if anything was typed then, it is not in the record and must be typed again (reenact show last tells it)\n\
             reenact: reproduced: 4 exchanges, exit 0, as recorded\n{HERMETIC}"
        ),
    );
    // There is nothing to compare the output with.
    let json = project.run(&["replay", "last", "--json"]);
    assert!(json.stdout.contains("\"output\":null,"), "{}", json.stdout);
}

/// `last` in another folder is the newest run of all. Its command may name a file, and whoever put one of that name here is not the
/// one who recorded it.
#[test]
fn the_last_run_of_elsewhere_is_not_run_here_unasked() {
    let (project, _) = recorded();
    let below = project.folder.path().join("below");
    fs::create_dir(&below).unwrap();
    let output = project.command(&["replay"]).current_dir(&below).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let id = project.artifact().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let expected = format!(
        "reenact: no run was recorded in this folder; this is the newest of all: {id}, recorded in [..]\n\
         reenact: [..]: no run was recorded in this folder, so the command of the newest of all is not run here unasked (E_COMMAND_NEEDED)\n\
         it is: {REENACT} demo-agent\n\
         go to the folder of the run, or name it: reenact replay {id}\n"
    );
    let stdout = String::from_utf8(output.stdout).unwrap();
    CommandOutput { code: output.status.code(), stdout, stderr }.expect(2, "", &expected);
}

#[test]
fn another_folder_is_told() {
    let (project, recorded) = recorded();
    let below = project.folder.path().join("below");
    fs::create_dir(&below).unwrap();
    let id = project.artifact().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let output = project.command(&["replay", &id]).current_dir(&below).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), recorded.stdout);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let (first, rest) = stderr.split_once('\n').unwrap();
    assert_eq!(first, format!("reenact: replaying: {REENACT} demo-agent"));
    let second = rest.lines().next().unwrap();
    let folder = project.folder.path().canonicalize().unwrap();
    assert_eq!(
        second,
        format!(
            "reenact: recorded in {}, replayed in {}/below: an agent that names its folder or reads its files may ask for something else",
            folder.display(),
            folder.display()
        )
    );
}

#[test]
fn the_agent_gets_no_real_credential() {
    let (project, _) = recorded();
    let agent = "echo $OPENAI_API_KEY $ANTHROPIC_API_KEY; reenact demo-agent \"my key is $OPENAI_API_KEY\"";
    let replayed = project.run(&["replay", "last", "--json", "--", "sh", "-c", agent]);
    let keys = replayed.stderr.lines().next().unwrap();
    let (openai, anthropic) = keys.split_once(' ').unwrap();
    // Agents choose by the shape of a key.
    assert_eq!((openai.len(), openai.starts_with("sk-proj-reenact-dummy-")), (164, true), "{openai}");
    assert_eq!(
        (anthropic.len(), anthropic.starts_with("sk-ant-api03-reenact-dummy-")),
        (108, true),
        "{anthropic}"
    );
    // The dummy is masked as the key was, so that it is in no file and in no message of ours.
    assert!(replayed.stdout.contains("my key is [masked:environment:1]"), "{}", replayed.stdout);
    for file in project.recorded_files() {
        assert!(!fs::read_to_string(&file).unwrap().contains("reenact-dummy"), "{}", file.display());
    }
}
