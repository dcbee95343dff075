//! What must not be written down is nowhere below `.reenact`, while the agent runs and after.

use std::fs;
use std::process::Stdio;

use reenact_testkit::Script;

use super::airport::{API_KEY, Airport, REENACT};

/// As a person would paste it into a prompt.
const PASTED: &str = concat!("ghp", "_", "0123456789abcdefghijABCDEFGHIJ012345");

fn assert_nowhere(airport: &Airport, secret: &str) {
    let mut files = 0;
    for file in airport.kept() {
        files += 1;
        let bytes = fs::read(&file).unwrap();
        assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "{}", file.display());
    }
    assert!(files > 0);
}

#[test]
fn secrets_are_masked_before_they_reach_the_disk() {
    let airport = Airport::new(Script::echo().map(|_, answer| answer.wait_before(0, "answer")));
    let task = format!("My token is {PASTED}, and my key {API_KEY}.");
    let child = airport
        .command(&["record", "-q", "--", REENACT, "demo-agent", &task])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The request is in the journal before the model has it, and the answer is not there yet.
    airport.vendor.wait_for_requests(1).unwrap();
    for secret in [API_KEY, PASTED] {
        assert_nowhere(&airport, secret);
    }
    airport.vendor.open("answer");
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    // The agent itself has seen everything as it was.
    assert!(stdout.contains(PASTED) && stdout.contains(API_KEY), "{stdout}");
    for secret in [API_KEY, PASTED] {
        assert_nowhere(&airport, secret);
    }
    let artifact = fs::read_to_string(airport.artifact()).unwrap();
    assert!(artifact.contains("[masked:github-token:1]"), "{artifact}");
}
