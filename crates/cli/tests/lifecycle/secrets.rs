//! Secrets are nowhere in the state folder, neither while the agent runs nor after.

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

/// The token in the gateway's address is good for as long as the agent runs, and others may read the record meanwhile.
#[test]
fn a_gateway_address_that_an_agent_quotes_is_recorded_without_its_token() {
    let project = TestProject::new(Script::echo());
    let agent = "path=${OPENAI_BASE_URL#http://*/}; echo \"${path%%/*}\" >token; exec reenact demo-agent \"I am at $path.\" >&2";
    let output = project.run(&["record", "-q", "--", "sh", "-c", agent]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let token = fs::read_to_string(project.folder.path().join("token")).unwrap();
    assert_eq!(token.trim().len(), 32);
    assert_nowhere(&project, token.trim());
    let artifact = fs::read_to_string(project.artifact()).unwrap();
    assert!(artifact.contains("I am at [masked:known:1]/openai/v1."), "{artifact}");
    // The token of a replay is another one, and stands for it.
    let replayed = project.run(&["replay", "last", "--", "sh", "-c", agent]);
    assert!(replayed.stderr.contains("reproduced: "), "{}", replayed.stderr);
}

/// A value that stands in a message, and is used as a credential by a later request: what was written stays, and the events are
/// named with the command that withholds them.
#[test]
fn a_credential_that_was_seen_before_it_was_used_is_reported() {
    const LATER: &str = "opal-quartz-meadow";
    let project = TestProject::new(Script::echo());
    let agent = r#"
        ask() {
            host=${OPENAI_BASE_URL#http://}; path=/${host#*/}; host=${host%%/*}
            body="{\"model\":\"gpt-5\",\"messages\":[{\"role\":\"user\",\"content\":\"$2\"}]}"
            exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
            printf 'POST %s/chat/completions HTTP/1.1\r\nhost: %s\r\nauthorization: Bearer %s\r\ncontent-type: application/json\r\ncontent-length: %s\r\nconnection: close\r\n\r\n%s' "$path" "$host" "$1" "${#body}" "$body" >&3
            cat <&3 > /dev/null; exec 3<&-
        }
        ask the-first-key-of-all "use opal-quartz-meadow for what follows"
        ask opal-quartz-meadow "and now opal-quartz-meadow is known""#;
    project.run(&["record", "-q", "--", "bash", "-c", agent]).expect(
        0,
        "",
        "reenact: a credential that was used later stands in events [..], written before it was known; withhold that before you share the run:\n  reenact redact last --event [..] --out shared.rer.json\n",
    );
    // No bundle for others is made of such a run.
    project.run(&["record", "-q", "--bundle=late.tar.gz", "--", "bash", "-c", agent]).expect(
        0,
        "",
        "reenact: no Replay Bundle was made: a credential that was used later stands in events written before it was known; the run is sealed all the same\n\
         reenact: a credential that was used later stands in events [..]\n  reenact redact [..]\n",
    );
    assert!(!project.folder.path().join("late.tar.gz").exists());
    let recorded =
        project.run(&["record", "-q", "--force", "--out", "run.rer.json", "--", "bash", "-c", agent]);
    let (notice, command) = recorded.stderr.trim_end().split_once("\n  reenact ").unwrap();
    assert!(!recorded.stderr.contains(LATER), "{notice}");
    let holds = |file: &str| fs::read_to_string(project.folder.path().join(file)).unwrap().contains(LATER);
    assert!(holds("run.rer.json"));
    project.run(&command.split(' ').collect::<Vec<_>>()).expect(0, "withheld [..]\n...\n", "");
    assert!(!holds("shared.rer.json"), "all events that hold it were named");
    project.run(&["verify", "shared.rer.json"]).expect(0, "...\n", "");
    // The second request and its answer were masked, and are not named.
    let shared = fs::read_to_string(project.folder.path().join("shared.rer.json")).unwrap();
    assert!(shared.contains("and now [masked:credential:2] is known"), "{shared}");
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
         reenact: not recorded: 2 payloads withheld (what a withheld tool got and gave is still in the requests to its model)\n...\n",
    );
    for file in project.recorded_files() {
        let text = fs::read(&file).unwrap();
        assert!(!text.windows(8).any(|part| part == b"cheapest"), "{}", file.display());
    }
    project.run(&["show", "last"]).expect(0, "PASS[..]\n...\nmasked  account 1, bargain [..]\n...\n", "");
    // A replay masks requests with the same rules, and finds every answer; without the rules it says what is missing.
    // What the agent prints of an answer is masked, too.
    project.run(&[&["replay", "last", "--"], &agent[..]].concat()).expect(
        0,
        "...\n",
        "reenact: answers of the record have masks in place of secrets, so that an agent which prints them prints something else\n\
         reenact: reproduced: 4 exchanges, exit 0, as recorded\n\
         reenact: its output is not the recorded one, byte for byte (--same-output: that differs)\n...\n",
    );
    fs::remove_file(project.folder.path().join("reenact.toml")).unwrap();
    project.run(&[&["replay", "last", "--"], &agent[..]].concat()).expect(
        2,
        "",
        "reenact: [..]: the run was masked with rules of its project's own [..] (E_REPLAY_MISSING_DEPENDENCY)\n\
         replay it where reenact.toml has the [redaction] rules that it was recorded with\n",
    );
}
