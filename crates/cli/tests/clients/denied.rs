//! The vendors' own clients under an envelope: they raise their own errors with the gateway's message, and do not retry.

use crate::installed::{Client, note_finished};
use crate::scenario::{CommandOutput, ScenarioRun, with_vendor};
use crate::scripted_model;

const ENVELOPE: &str = "[envelope.permissions]\nallowed_models = [\"gpt-5\", \"claude-testkit\", \"gemini-testkit\"]\nallowed_tools = []\n";

/// Returns the message of the denial: the rule, and the reason.
fn expected_error(case: &str) -> String {
    let model = match case.split(' ').next() {
        Some("message") => "claude-other",
        Some("content") => "gemini-other",
        _ => "o3",
    };
    if case.contains("model") {
        format!("reenact: denied by allowed_models: the model \"{model}\" is not on the list")
    } else {
        "reenact: denied by allowed_tools: the tool \"lookup\" is not on the list".to_owned()
    }
}

const CASES: [&str; 14] = [
    "chat model",
    "chat model stream",
    "chat tool",
    "chat tool stream",
    "response tool",
    "response tool stream",
    "message model",
    "message model stream",
    "message tool",
    "message tool stream",
    "content model",
    "content model stream",
    "content tool",
    "content tool stream",
];

/// Runs all cases with a client.
pub(crate) fn check(client: &Client, name: &str) {
    let run = ScenarioRun { client, scenario: "denials", folder: client.project() };
    run.folder.write("envelope.toml", ENVELOPE);
    let vendor = scripted_model::scripted_vendor(|_| {});
    let line = [&["record", "--envelope", "envelope.toml", "--"], &run.line("Hello.")[..]].concat();
    let played = CommandOutput::from(with_vendor(&mut run.reenact(&line), &vendor).output().unwrap());
    played.expect_exit_code(0);

    let mut broken = Vec::new();
    for line in played.stdout.lines() {
        // The JSON of the two languages differs in its spaces.
        let line = line.replace("\": ", "\":");
        let Some((case, said)) = line.split_once(" {") else { continue };
        // Google's client for Node reports the body as a string within JSON.
        let words = expected_error(case).replace('"', "");
        assert!(said.replace(['"', '\\'], "").contains(&words), "{words}: {line}");
        if case.starts_with("content") {
            let kinds = ["\"kind\":\"ClientError\"", "\"kind\":\"ApiError\""];
            assert!(kinds.iter().any(|kind| said.contains(kind)) && said.contains("403"), "{line}");
        } else if case.ends_with("tool stream") {
            // The stream had begun with status 200.
            assert!(said.contains("Error\","), "{line}");
        } else {
            assert!(said.contains("\"kind\":\"PermissionDeniedError\""), "{line}");
            assert!(said.contains("\"status_code\":403") || said.contains("\"status\":403"), "{line}");
        }
        broken.push(case.to_owned());
    }
    assert_eq!(broken, CASES, "{}", played.stdout);
    // The eight cases that ask for a tool, once each: nothing was retried, and no other model was reached.
    let models: Vec<String> =
        vendor.requests().iter().map(|request| request.parsed().model.unwrap_or_default()).collect();
    let of = |model: &str, count: usize| vec![model.to_owned(); count];
    assert_eq!(models, [of("gpt-5", 4), of("claude-testkit", 2), of("gemini-testkit", 2)].concat());
    run.verify();
    note_finished(name, "");
}
