//! Secrets are nowhere below `.reenact`, neither while the agent runs nor after.

use std::fs;
use std::process::Stdio;

use reenact_testkit::Script;

use super::project::{API_KEY, REENACT, TestProject};

/// A token as a person would paste it into a prompt.
const PASTED: &str = concat!("ghp", "_", "0123456789abcdefghijABCDEFGHIJ012345");

fn assert_nowhere(project: &TestProject, secret: &str) {
    let mut files = 0;
    for file in project.recorded_files() {
        files += 1;
        let bytes = fs::read(&file).unwrap();
        assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "{}", file.display());
    }
    assert!(files > 0);
}

#[test]
fn secrets_are_masked_before_they_reach_the_disk() {
    let project = TestProject::new(Script::echo().map(|_, answer| answer.wait_before(0, "answer")));
    let task = format!("My token is {PASTED}, and my key {API_KEY}.");
    let child = project
        .command(&["record", "-q", "--", REENACT, "demo-agent", &task])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The request is in the journal before the model has it, and the answer is not there yet.
    project.vendor.wait_for_requests(1).unwrap();
    for secret in [API_KEY, PASTED] {
        assert_nowhere(&project, secret);
    }
    project.vendor.open_gate("answer");
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    // The agent itself has seen everything as it was.
    assert!(stdout.contains(PASTED) && stdout.contains(API_KEY), "{stdout}");
    for secret in [API_KEY, PASTED] {
        assert_nowhere(&project, secret);
    }
    let artifact = fs::read_to_string(project.artifact()).unwrap();
    assert!(artifact.contains("[masked:github-token:1]"), "{artifact}");
}

/// A project's reenact.toml adds mask rules, and names payloads to withhold.
#[test]
fn a_projects_own_masks_and_what_it_withholds() {
    let project = TestProject::new(Script::travel());
    let settings = "[[redaction.rules]]\nname = \"bargain\"\nprefix = \"che\"\nalphabet = \"alnum\"\nmin_length = 4\n\
        [withhold]\ntools = [\"book_*\"]\n";
    fs::write(project.folder.path().join("reenact.toml"), settings).unwrap();
    let agent = [REENACT, "demo-agent"];
    project.run(&[&["record", "--"], &agent[..]].concat()).expect(
        0,
        "...\nmodel: The cheapest is 248 euros, [..]\n...\n",
        "reenact: recorded 4 model calls and 3 tool calls, [..]\n\
         reenact: 2 payloads withheld; what a withheld tool got and gave is still in the requests to its model\n...\n",
    );
    for file in project.recorded_files() {
        let text = fs::read(&file).unwrap();
        assert!(!text.windows(8).any(|part| part == b"cheapest"), "{}", file.display());
    }
    project.run(&["show", "last"]).expect(0, "PASS[..]\n...\nmasked  account 1, bargain [..]\n...\n", "");
    // A replay masks requests with the same rules, and finds every answer; without the rules it says what is missing.
    project.run(&[&["replay", "last", "--"], &agent[..]].concat()).expect(0, "...\n", "...\n");
    fs::remove_file(project.folder.path().join("reenact.toml")).unwrap();
    project.run(&[&["replay", "last", "--"], &agent[..]].concat()).expect(
        2,
        "",
        "reenact: [..]: the run was masked with rules of its project's own [..] (E_REPLAY_MISSING_DEPENDENCY)\n\
         replay it where reenact.toml has the [redaction] rules that it was recorded with\n",
    );
}
