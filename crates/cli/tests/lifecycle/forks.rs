//! Runs that go on from a recorded one: which of their requests a vendor sees, and what their records say.

use std::fs;

use reenact_json::{Limits, Value};
use reenact_testkit::{Script, ScriptedVendor, Vendor};

use super::project::{API_KEY, CommandOutput, REENACT, TestProject};

/// Question that the record has no answer to.
const NEW_QUESTION: &str = "reenact demo-agent; reenact demo-agent 'Another question.'";

/// Returns a project with a recorded run, whose vendor was then exchanged for one that repeats what it is asked.
fn recorded() -> (TestProject, CommandOutput) {
    let mut project = TestProject::new(Script::travel());
    let recorded = project.run(&["record", "-q", "--", REENACT, "demo-agent"]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    project.vendor.stop();
    project.vendor = ScriptedVendor::start(Script::echo()).unwrap();
    (project, recorded)
}

/// Runs `replay` so that requests to OpenAI may go to the new vendor.
fn fork(project: &TestProject, options: &[&str], command: &[&str]) -> CommandOutput {
    let upstream = format!("openai={}", project.vendor.base_url(Vendor::OPENAI));
    project.run(&[&["replay", "last", "--upstream", &upstream], options, &["--"], command].concat())
}

/// Returns members of `show RUN --json`, each as its JSON text.
fn shown<const N: usize>(project: &TestProject, run: &str, members: [&str; N]) -> [String; N] {
    let shown = project.run(&["show", run, "--json"]);
    assert_eq!(shown.code, Some(0), "{}{}", shown.stdout, shown.stderr);
    let document = Value::parse(shown.stdout.as_bytes(), &Limits::default()).unwrap();
    members.map(|name| String::from_utf8_lossy(document.member(name).unwrap().text()).into_owned())
}

#[test]
fn recorded_answers_first_then_the_vendor() {
    let (project, recorded) = recorded();
    let [parent] = shown(&project, "last", ["run_id"]);
    let forked = fork(&project, &["--live"], &["sh", "-c", NEW_QUESTION]);
    forked.expect(
        0,
        &format!("{}...\n", recorded.stdout),
        "...\nreenact: 4 answers from the record, 1 call live, [..] (exit 0); no policy was set → [..]\nreenact: its parent is [..] (live, behind step s7); next: reenact show last, reenact runs tree last\n",
    );
    // The vendor saw the new question alone, with the real key.
    let asked = project.vendor.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].header("authorization"), Some(format!("Bearer {API_KEY}").as_str()));
    let of_fork =
        shown(&project, "last", ["parent", "from_record", "model_calls", "verdict", "exit_code", "gaps"]);
    let [named, from_record, calls, verdict, exit, gaps] = of_fork;
    assert_eq!([from_record, calls, verdict, exit, gaps], ["4", "5", r#""intact""#, "0", "0"]);
    assert!(named.starts_with(&format!("{{\"run_id\":{parent},\"digest\":\"")), "{named}");
    assert!(named.ends_with(r#""step_id":"s7","mode":"live"}"#), "{named}");
    project.run(&["verify", "last"]).expect(0, "...\n", "");
    // The new record is one like any other: it replays whole.
    project.run(&["replay", "last", "--", "sh", "-c", NEW_QUESTION]).expect(
        0,
        "...\n",
        "...\nreenact: reproduced: 5 exchanges, exit 0, as recorded\n...\n",
    );
    let key_is_there = |path: &std::path::PathBuf| {
        fs::read(path).unwrap().windows(API_KEY.len()).any(|part| part == API_KEY.as_bytes())
    };
    assert_eq!(project.recorded_files().iter().find(|path| key_is_there(path)), None);
}

#[test]
fn every_request_behind_the_step_goes_to_the_vendor() {
    let (project, recorded) = recorded();
    let forked = fork(&project, &["--from", "3"], &[REENACT, "demo-agent"]);
    let told = "...\nreenact: 2 answers from the record, 1 call live, [..]\nreenact: its parent is [..] (from, behind step s3); next: [..]\n";
    forked.expect(0, "task: [..]\n...\n", told);
    assert_ne!(forked.stdout, recorded.stdout);
    assert_eq!(project.vendor.requests().len(), 1);
    let [parent, from_record] = shown(&project, "last", ["parent", "from_record"]);
    assert!(parent.ends_with(r#""step_id":"s3","mode":"from"}"#), "{parent}");
    assert_eq!(from_record, "2");
    let page = project.run(&["show", "last"]);
    page.expect(
        0,
        "...\nparent  [..] (from, behind step s3): 2 answers from its record, 1 live call\n...\n  s1 [..]from the parent's record\n...\n",
        "",
    );
    assert_eq!(page.stdout.matches("from the parent's record").count(), 2);
}

/// Before the step the vendor is out of reach: another question is an error, as in a replay.
#[test]
fn a_miss_before_the_step_is_an_error() {
    let (project, _) = recorded();
    let forked = fork(&project, &["--from", "s3"], &[REENACT, "demo-agent", "Another question."]);
    forked.expect(
        2,
        "...\n",
        "...\nreenact: E_REPLAY_MISSING_DEPENDENCY: no recorded answer for POST /v1/chat/completions [..]\n...\nreenact: 0 answers from the record, 0 calls live, [..]\n...\nreenact: 1 request with no recorded answer (E_REPLAY_MISSING_DEPENDENCY) before the run went on\n",
    );
    assert_eq!(project.vendor.requests(), []);
    let [gaps, verdict] = shown(&project, "last", ["gaps", "verdict"]);
    assert_eq!([gaps, verdict], ["1", r#""intact""#]);
}

/// The keys of vendors that the record did not call are dummies, in a fork as in a replay.
#[test]
fn only_the_keys_of_called_vendors_are_real() {
    let (project, _) = recorded();
    let keys = "echo $OPENAI_API_KEY $ANTHROPIC_API_KEY $GROQ_API_KEY $DB_PASSWORD $OPENAI_TOKEN";
    let given = |options: &[&str]| {
        let upstream = format!("openai={}", project.vendor.base_url(Vendor::OPENAI));
        let upstream: &[&str] = if options.is_empty() { &[] } else { &["--upstream", &upstream] };
        let line = [&["replay", "last"], upstream, options, &["--", "sh", "-c", keys]].concat();
        let mut command = project.command(&line);
        let secrets = ["ANTHROPIC_API_KEY", "GROQ_API_KEY", "DB_PASSWORD", "OPENAI_TOKEN"];
        command.envs(secrets.map(|name| (name, format!("real-{name}-0815"))));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let live = given(&["--live"]);
    let words: Vec<&str> = live.split_whitespace().collect();
    assert_eq!((words.len(), words[0], words[4]), (5, API_KEY, "real-OPENAI_TOKEN-0815"), "{live}");
    assert!(words[1..4].iter().all(|word| !word.contains("real")), "{live}");
    let replayed = given(&[]);
    assert!(!replayed.contains("real") && !replayed.contains(API_KEY), "{replayed}");
}

/// A variable that begins with the vendor's name and holds no secret is not masked: the recorded requests are still found.
#[test]
fn settings_of_a_called_vendor_are_no_secrets() {
    let (project, _) = recorded();
    let upstream = format!("openai={}", project.vendor.base_url(Vendor::OPENAI));
    let line = ["replay", "last", "--live", "--upstream", &upstream, "--", REENACT, "demo-agent"];
    let forked = project.command(&line).env("OPENAI_MODEL", "gpt-5").output().unwrap();
    assert_eq!(project.vendor.requests(), []);
    let told = String::from_utf8(forked.stderr).unwrap();
    assert!(told.contains("reenact: 4 answers from the record, 0 calls live, "), "{told}");
}

/// Without a sandbox the agent could reach anything, and the run is recorded all the same.
#[test]
fn a_run_goes_on_without_a_sandbox() {
    let (project, _) = recorded();
    let forked = fork(&project, &["--live", "--sandbox", "off"], &["sh", "-c", NEW_QUESTION]);
    forked.expect(0, "...\n", "...\nreenact: 4 answers from the record, 1 call live, [..]\n...\n");
    let [verdict, from_record] = shown(&project, "last", ["verdict", "from_record"]);
    assert_eq!([&*verdict, &*from_record], [r#""intact""#, "4"]);
    // The exit code is the command's own, and one that cannot be started has that of env(1) and leaves no run.
    let before = project.recorded_files();
    let told = "...\nreenact: /nowhere/agent: cannot be started: [..]\n";
    fork(&project, &["--live"], &["/nowhere/agent"]).expect(127, "", told);
    assert_eq!(project.recorded_files(), before);
    assert_eq!(fork(&project, &["--live"], &["sh", "-c", "exit 7"]).code, Some(7));
}

/// What was piped in when the run was recorded is piped in again, and is in the new record; another input is a gap.
#[test]
fn recorded_input_is_given_and_recorded_again() {
    let mut project = TestProject::new(Script::travel());
    let agent = ["sh", "-c", "cat; reenact demo-agent"];
    let piped = |project: &TestProject, line: &[&str], input: &str| {
        let mut command = project.command(&[line, &["--"], &agent].concat());
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    piped(&project, &["record", "-q"], "the question\n");
    project.vendor.stop();
    let forked = piped(&project, &["replay", "last", "--live"], "another\n");
    assert!(forked.starts_with("the question\ntask: "), "{forked}");
    let [from_record, gaps, stdout] = shown(&project, "last", ["from_record", "gaps", "stdout_sha256"]);
    assert_eq!([&from_record, &gaps], ["4", "0"]);
    assert_ne!(stdout, "null");
    project.run(&["show", "last"]).expect(0, "...\n[..]standard input  13 bytes\n...\n", "");
}

#[test]
fn the_result_for_programs() {
    let (project, _) = recorded();
    let forked = fork(&project, &["--from", "3", "--json"], &[REENACT, "demo-agent"]);
    assert_eq!(forked.code, Some(0), "{}", forked.stderr);
    let members = Value::parse(forked.stdout.trim_end().as_bytes(), &Limits::default()).unwrap();
    let text = |name: &str| String::from_utf8_lossy(members.member(name).unwrap().text()).into_owned();
    assert_eq!(["live", "missed", "from_record", "exit_code"].map(text), ["1", "0", "2", "0"]);
    let [run_id] = shown(&project, "last", ["run_id"]);
    assert_eq!(text("run_id"), run_id);
}

#[test]
fn requests_to_other_vendors_than_the_recorded_ones_stay_here() {
    let (project, _) = recorded();
    let forked = fork(&project, &["--live"], &[REENACT, "demo-agent", "--vendor=gemini"]);
    forked.expect(
        1,
        "...\n",
        "...\nagent: the vendor says: [..]the recorded run sent nothing to gemini[..]\n...\n",
    );
    assert_eq!(project.vendor.requests(), []);
}

/// A record from elsewhere may name any address for a vendor: no key is sent there.
#[test]
fn a_record_from_elsewhere_names_no_address_for_a_key() {
    let (project, _) = recorded();
    let artifact = project.artifact();
    fs::copy(&artifact, project.folder.path().join("theirs.rer.json")).unwrap();
    let line = ["replay", "theirs.rer.json", "--live", "--", REENACT, "demo-agent", "Another question."];
    let refused = project.run(&line);
    refused.expect(
        2,
        "",
        "reenact: theirs.rer.json: this is not one of your own runs, and it names http://127.0.0.1:[..] for openai: your key is not sent there unless you say so, with --upstream openai=URL\n",
    );
    assert_eq!(project.vendor.requests(), []);
    // The address that would be used now anyway is fine.
    let variable = project.vendor.base_url(Vendor::OPENAI);
    let given = format!("openai={variable}");
    let line = [&line[..2], &["--upstream", &given], &line[2..]].concat();
    project.run(&line).expect(
        0,
        "...\n",
        "...\nreenact: 0 answers from the record, 1 call live, [..]\n...\n",
    );
}

#[test]
fn nothing_is_started_where_the_step_is_none() {
    let (project, _) = recorded();
    let before = project.recorded_files();
    let agent = ["sh", "-c", "touch started"];
    for (options, why) in [
        (&["--from", "s99"][..], "the run has no step s99; it has s1 to s[..]"),
        (&["--from", "2"], "step 2 is no request: give the step of one, as `reenact show` prints it"),
        (&["--from", "\u{1b}[0m"], "the run has no step \\u{1b}[0m; it has [..]"),
    ] {
        fork(&project, options, &agent).expect(2, "", &format!("...\nreenact: {why}\n"));
    }
    let line = [&["replay", "last", "--upstream", "openai=http://127.0.0.1:1", "--"], &agent[..]].concat();
    let told =
        "reenact: --upstream has a meaning only with --live or --from: a replay sends nothing anywhere\n";
    project.run(&line).expect(2, "", told);
    fs::write(
        project.folder.path().join("reenact.toml"),
        "[envelope.permissions]\nallowed_models = []\nallowed_tools = []\n",
    )
    .unwrap();
    let told = "...\nreenact: the envelope in reenact.toml is not enforced in a run that goes on from another one (E_ENVELOPE_NOT_ENFORCED)\n...\n";
    fork(&project, &["--live"], &agent).expect(2, "", told);
    assert!(!project.folder.path().join("started").exists());
    assert_eq!(project.recorded_files(), before);
}

#[test]
fn the_tree_names_forks_and_unknown_parents() {
    let (project, _) = recorded();
    let none = "no run goes on from another one; to make one: reenact replay RUN --live -- COMMAND\n";
    project.run(&["runs", "tree"]).expect(0, none, "");
    assert_eq!(fork(&project, &["--from", "3"], &[REENACT, "demo-agent"]).code, Some(0));
    assert_eq!(fork(&project, &["--live"], &["sh", "-c", NEW_QUESTION]).code, Some(0));
    let tree = "[..]  completed  [..] demo-agent\n  \
         [..]  from, behind s3 (2 answers from the record)  completed  [..] demo-agent\n    \
         [..]  live, behind s5 (3 answers from the record)  completed  about [..] USD  sh -c [..]\n";
    project.run(&["runs", "tree"]).expect(0, tree, "");
    project.run(&["runs", "tree", "last"]).expect(0, tree, "");
    let json = project.run(&["runs", "tree", "--json"]);
    assert_eq!(json.stdout.lines().count(), 3, "{}", json.stdout);
    let known = r#"{"run_id":"[..]","depth":2,"parent":{"run_id":"[..]","step_id":"s5","mode":"live","known":true},"status":"completed","from_record":3,"cost_usd":[..],"command":["sh","-c","[..]"]}"#;
    json.expect(0, &format!("...\n{known}\n"), "");
    // The first run is gone: the others name it all the same.
    let first = Value::parse(json.stdout.lines().next().unwrap().as_bytes(), &Limits::default()).unwrap();
    let first = first.member("run_id").unwrap().string().unwrap().into_owned();
    assert_eq!(project.run(&["runs", "rm", "--yes", &first]).code, Some(0));
    let tree = format!(
        "{first}  unknown: not among your runs\n  [..]  from, behind s3 [..]\n    [..]  live, behind s5 [..]\n"
    );
    project.run(&["runs", "tree"]).expect(0, &tree, "");
}

/// The second answer of four is another one: the agent ends there, without a vendor, or asks on with it.
#[test]
fn an_edited_answer_goes_on_without_a_vendor_or_with_one() {
    let (project, recorded) = recorded();
    let write = |name: &str, text: &str| fs::write(project.folder.path().join(name), text).unwrap();
    write("answer.txt", "Sorry, there is no flight.\n");
    let replay = |options: &[&str], agent: &[&str]| {
        project.run(&[&["replay", "last"], options, &["--"], agent].concat())
    };
    let edited = replay(&["--edit", "s3=answer.txt"], &[REENACT, "demo-agent"]);
    let told = "...\nreenact: 2 answers from the record, 0 calls live, [..] (exit 0); no policy was set → [..]\nreenact: its parent is [..] (edit, of step s3); next: [..]\n";
    edited.expect(0, "task: [..]\n...\nmodel: Sorry, there is no flight.\n", told);
    assert_ne!(edited.stdout, recorded.stdout);
    let [parent, verdict] = shown(&project, "last", ["parent", "verdict"]);
    assert!(parent.ends_with(r#""step_id":"s3","mode":"edit"}"#) && verdict == r#""intact""#, "{parent}");
    let keyless = replay(&["--edit", "s1=answer.txt"], &["sh", "-c", "echo $OPENAI_API_KEY"]);
    assert!(keyless.stdout.starts_with("sk-") && !keyless.stdout.contains(API_KEY), "{}", keyless.stdout);
    assert_eq!(project.vendor.requests(), []);
    // What the edited answer leads to is not recorded.
    let [first] = shown(&project, "last~2", ["run_id"]);
    let first = first.trim_matches('"');
    write("call.json", &tool_call());
    let line = ["replay", first, "--edit", "1=call.json", "--", REENACT, "demo-agent"];
    project.run(&line).expect(
        2,
        "...\n",
        "...\nreenact: 1 request with no recorded answer (E_REPLAY_MISSING_DEPENDENCY); with --live they go to their vendors\n",
    );
    assert_eq!(project.vendor.requests(), []);
    let upstream = format!("openai={}", project.vendor.base_url(Vendor::OPENAI));
    let line = [&line[..2], &["--live", "--upstream", &upstream], &line[2..]].concat();
    let told = "...\nreenact: 1 answer from the record, 1 call live, [..]\nreenact: its parent is [..] (edit, of step s1); next: [..]\n";
    project.run(&line).expect(0, "...\n", told);
    assert_eq!(project.vendor.requests().len(), 1);
}

/// Returns an answer of OpenAI's interface that asks for a tool in another way than the recorded one.
fn tool_call() -> String {
    r#"{"id":"c9","object":"chat.completion","created":0,"model":"gpt-5","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_9","type":"function","function":{"name":"search_flights","arguments":"{\"from\":\"Vienna\",\"to\":\"Porto\",\"date\":\"2026-05-12\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#.to_owned()
}

#[test]
fn edits_that_cannot_be_made_start_nothing() {
    let (project, _) = recorded();
    fs::write(project.folder.path().join("a.txt"), "x").unwrap();
    fs::write(project.folder.path().join("b.bin"), b"\xff").unwrap();
    let before = project.recorded_files();
    for (options, why) in [
        (&["--edit", "s1=a.txt", "--edit", "1=a.txt"][..], "--edit s1=a.txt: step s1 is edited twice"),
        (
            &["--edit", "s1=a.txt", "--edit", "3=a.txt"],
            "--edit s1=a.txt: one answer is edited at a time: go on from the new run to edit another",
        ),
        (&["--edit", "s1=gone.txt"], "--edit s1=gone.txt: No such file or directory (os error 2)"),
        (&["--edit", "s1=b.bin"], "--edit s1=b.bin: the new answer is not UTF-8"),
        (&["--edit", "s2=a.txt"], "step s2 is no request: give the step of one, as `reenact show` prints it"),
        (&["--edit", "s77=a.txt"], "the run has no step s77; it has s1 to s[..]"),
        (
            &["--from", "s1", "--edit", "s3=a.txt"],
            "--edit s3=a.txt: it lies behind the step from which the run goes on live, so that its answer is never given",
        ),
    ] {
        let line = [&["replay", "last"], options, &["--", "sh", "-c", "touch started"]].concat();
        project.run(&line).expect(2, "", &format!("...\nreenact: {why}\n"));
    }
    let line = ["replay", "last", "--edit", "s1", "--", "true"];
    project.run(&line).expect(2, "", "error: invalid value 's1' for '--edit <STEP=FILE>': write it as STEP=FILE, such as s3=answer.txt\n...\n");
    assert!(!project.folder.path().join("started").exists());
    assert_eq!(project.recorded_files(), before);
}
