//! One scenario, four times: straight to the vendor, recorded, replayed, and replayed with another prompt.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use reenact_testkit::ScriptedVendor;
use reenact_wire::VENDORS;

use crate::compare::{
    ReceivedRequest, as_replayed, assert_same_requests, assert_same_text, received_requests,
    without_encodings,
};
use crate::installed::{Client, note_finished, path, standalone_verifier};
use crate::support::folder::Folder;
use crate::{scripted_model, secret, support};

const PROMPT: &str = "What is the capital of Austria?";
const OTHER_PROMPT: &str = "What is the capital of Portugal?";

/// Output of a command.
pub(crate) struct CommandOutput {
    exit_code: Option<i32>,
    pub(crate) stdout: String,
    stderr: String,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        let utf8 = |bytes| String::from_utf8(bytes).unwrap();
        Self { exit_code: output.status.code(), stdout: utf8(output.stdout), stderr: utf8(output.stderr) }
    }
}

impl CommandOutput {
    pub(crate) fn expect_exit_code(&self, exit_code: i32) {
        let Self { stdout, stderr, .. } = self;
        assert_eq!(self.exit_code, Some(exit_code), "it said:\n{stdout}{stderr}");
    }
}

/// A scenario of a client, in a folder of its own.
pub(crate) struct ScenarioRun<'a> {
    pub(crate) client: &'a Client,
    pub(crate) scenario: &'a str,
    pub(crate) folder: Folder,
}

/// Runs a scenario all four times.
pub(crate) fn check(client: &Client, scenario: &str, name: &str) {
    let run = ScenarioRun { client, scenario, folder: client.project() };

    let (direct, asked) = run.run_directly();
    direct.expect_exit_code(0);
    assert!(!direct.stdout.is_empty() && direct.stderr.is_empty(), "{}", direct.stderr);

    let (recorded, asked_through_us) = run.record();
    recorded.expect_exit_code(0);
    assert_same_text("recorded", &direct.stdout, &recorded.stdout);
    assert_same_requests("recorded", &asked, &asked_through_us);
    run.verify();

    let replayed = run.replay(PROMPT);
    replayed.expect_exit_code(0);
    let due = as_replayed(&direct.stdout);
    if scenario == "encodings" {
        let is_encoded = |name| due.contains(&format!("{name} header content-encoding \"{name}\""));
        assert!(is_encoded("gzip") && is_encoded("deflate"), "nothing was encoded:\n{due}");
        assert_same_text("replayed", &without_encodings(&due), &without_encodings(&replayed.stdout));
    } else {
        assert_same_text("replayed", &due, &replayed.stdout);
    }
    let verdict = format!("reenact: reproduced: {} exchanges, exit 0, as recorded", asked.len());
    assert!(replayed.stderr.lines().any(|line| line == verdict), "{verdict}:\n{}", replayed.stderr);
    let note = if is_hermetic(&replayed.stderr) { "" } else { " (replayed without a sandbox)" };

    if let Some(at) = prompt_path(client, scenario) {
        let missed = run.replay(OTHER_PROMPT);
        missed.expect_exit_code(2);
        let shown = format!("  {at}\n    recorded \"{PROMPT}\"\n    asked    \"{OTHER_PROMPT}\"\n");
        assert!(missed.stderr.contains(&shown), "{shown} is not in\n{}", missed.stderr);
        assert!(missed.stderr.contains("(E_REPLAY_MISSING_DEPENDENCY)"), "{}", missed.stderr);
    }

    let folder = run.folder.state();
    assert_eq!(secret::leaks(&folder), Vec::<String>::new());
    note_finished(name, note);
}

/// Returns the JSON path of the prompt in the first request of a scenario; `None` for one that is not run
/// with another prompt.
fn prompt_path(client: &Client, scenario: &str) -> Option<&'static str> {
    let is_openai = client.script.starts_with("openai");
    let is_google = client.script.starts_with("google");
    match scenario {
        "plain" | "asynchronous" | "stream" | "tools" if is_google => Some("$.contents[0].parts[0].text"),
        "plain" | "asynchronous" => Some("$.messages[0].content"),
        "stream" if is_openai => Some("$.input"),
        "tools" if is_openai => Some("$.input[0].content"),
        "stream" | "tools" => Some("$.messages[0].content"),
        _ => None,
    }
}

/// Checks that the functions of a script are exactly these tests.
pub(crate) fn check_list(client: &Client, tests: &[&str], name: &str) {
    let run = ScenarioRun { client, scenario: "--list", folder: client.project() };
    let listed =
        run.command(client.program, &[client.script, "--list"]).output().map(CommandOutput::from).unwrap();
    listed.expect_exit_code(0);
    assert_eq!(listed.stdout.lines().collect::<Vec<_>>(), tests);
    note_finished(name, "");
}

impl ScenarioRun<'_> {
    /// Runs the client against a vendor, without the gateway.
    fn run_directly(&self) -> (CommandOutput, Vec<ReceivedRequest>) {
        let vendor = scripted_model::scripted_vendor(|_| {});
        let line = self.line(PROMPT);
        let mut command = self.command(line[0], &line[1..]);
        let ran = with_vendor(&mut command, &vendor).output().unwrap().into();
        (ran, received_requests(&vendor.requests()))
    }

    /// Runs the client under `reenact record`. At each request the folder of runs is searched for secrets.
    fn record(&self) -> (CommandOutput, Vec<ReceivedRequest>) {
        let (runs, leaks) = (self.folder.state(), Arc::new(Mutex::new(Vec::new())));
        let found = Arc::clone(&leaks);
        let vendor =
            scripted_model::scripted_vendor(move |_| found.lock().unwrap().extend(secret::leaks(&runs)));
        let line = [&["record", "--"], &self.line(PROMPT)[..]].concat();
        let ran = with_vendor(&mut self.reenact(&line), &vendor).output().unwrap().into();
        assert_eq!(*leaks.lock().unwrap(), Vec::<String>::new(), "while it was recorded");
        (ran, received_requests(&vendor.requests()))
    }

    /// Verifies the record with `reenact verify` and with `reenact-verify`.
    pub(crate) fn verify(&self) {
        let by_us = CommandOutput::from(self.reenact(&["verify", "last"]).output().unwrap());
        by_us.expect_exit_code(0);
        let export = ["keys", "export", "default", "--out", "default.jwk"];
        CommandOutput::from(self.reenact(&export).output().unwrap()).expect_exit_code(0);
        let runs = self.folder.state().join("runs");
        let mut runs: Vec<_> = std::fs::read_dir(runs).unwrap().map(|entry| entry.unwrap().path()).collect();
        let run = runs.pop().unwrap();
        assert_eq!(runs.len(), 0, "one run was recorded");
        let mut judge = support::command(&standalone_verifier(), &self.folder);
        judge.args(["--key", "default.jwk"]).arg(run.join("artifact.rer.json"));
        CommandOutput::from(judge.output().unwrap()).expect_exit_code(0);
    }

    /// Replays the run without a vendor and without the vendors' credentials.
    fn replay(&self, prompt: &str) -> CommandOutput {
        let line = [&["replay", "last", "--"], &self.line(prompt)[..]].concat();
        let mut command = self.reenact(&line);
        VENDORS.iter().flat_map(|vendor| vendor.key_variables()).for_each(|name| {
            command.env_remove(name);
        });
        command.output().unwrap().into()
    }

    pub(crate) fn line<'a>(&'a self, prompt: &'a str) -> Vec<&'a str> {
        self.client.line(&[self.scenario, prompt])
    }

    pub(crate) fn reenact(&self, arguments: &[&str]) -> Command {
        self.command(env!("CARGO_BIN_EXE_reenact"), arguments)
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = support::command(Path::new(program), &self.folder);
        command.env("PATH", path()).envs(secret::credentials()).envs(secret::planted());
        command.args(arguments).stdin(Stdio::null());
        command
    }
}

/// Sets the variables that lead clients, or the gateway, to the vendor.
pub(crate) fn with_vendor<'a>(command: &'a mut Command, vendor: &ScriptedVendor) -> &'a mut Command {
    command.envs(VENDORS.map(|kind| {
        let variable = kind.base_variables()[0];
        (variable.name(), variable.value(&vendor.base_url(kind)))
    }))
}

/// Returns true if the kernel cut the network off. Otherwise the command must have said so.
fn is_hermetic(stderr: &str) -> bool {
    if stderr.lines().any(|line| line == "reenact: hermetic: the kernel cut off the network (netns)") {
        return true;
    }
    assert!(
        stderr.lines().any(|line| line == "reenact: hermetic: not enforced, the agent had the whole network"),
        "{stderr}"
    );
    assert_eq!(std::env::var_os("REENACT_REQUIRE_SANDBOX"), None, "{stderr}");
    false
}
