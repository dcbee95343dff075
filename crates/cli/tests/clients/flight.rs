//! One scenario, four ways: straight to the vendor, recorded, replayed, and replayed with another prompt.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use reenact_testkit::Vendor;
use reenact_wire::VENDORS;

use crate::compare::{Came, as_replayed, came, same_requests, same_text, without_encodings};
use crate::installed::{Client, judge, path, ran};
use crate::support::folder::Folder;
use crate::{mind, secret, support};

const PROMPT: &str = "What is the capital of Austria?";
const OTHER_PROMPT: &str = "What is the capital of Portugal?";

/// What came out of a run of the client.
pub(crate) struct Ran {
    exit_code: Option<i32>,
    pub(crate) stdout: String,
    stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let utf8 = |bytes| String::from_utf8(bytes).unwrap();
        Self { exit_code: output.status.code(), stdout: utf8(output.stdout), stderr: utf8(output.stderr) }
    }
}

impl Ran {
    pub(crate) fn must_end_with(&self, exit_code: i32) {
        let Self { stdout, stderr, .. } = self;
        assert_eq!(self.exit_code, Some(exit_code), "it said:\n{stdout}{stderr}");
    }
}

/// Where a scenario plays.
pub(crate) struct Stage<'a> {
    pub(crate) client: &'a Client,
    pub(crate) scenario: &'a str,
    pub(crate) folder: Folder,
}

/// Plays a scenario in all its ways.
pub(crate) fn check(client: &Client, scenario: &str, name: &str) {
    let stage = Stage { client, scenario, folder: client.project() };

    let (direct, asked) = stage.without_us();
    direct.must_end_with(0);
    assert!(!direct.stdout.is_empty() && direct.stderr.is_empty(), "{}", direct.stderr);

    let (recorded, asked_through_us) = stage.recorded();
    recorded.must_end_with(0);
    same_text("recorded", &direct.stdout, &recorded.stdout);
    same_requests("recorded", &asked, &asked_through_us);
    stage.verify();

    let replayed = stage.replayed(PROMPT);
    replayed.must_end_with(0);
    let due = as_replayed(&direct.stdout);
    if scenario == "encodings" {
        let is_encoded = |name| due.contains(&format!("{name} header content-encoding \"{name}\""));
        assert!(is_encoded("gzip") && is_encoded("deflate"), "nothing was encoded:\n{due}");
        same_text("replayed", &without_encodings(&due), &without_encodings(&replayed.stdout));
    } else {
        same_text("replayed", &due, &replayed.stdout);
    }
    let reproduced = format!("reenact: reproduced: {} exchanges, exit 0, as recorded", asked.len());
    assert!(replayed.stderr.lines().any(|line| line == reproduced), "{reproduced}:\n{}", replayed.stderr);
    let note = if is_hermetic(&replayed.stderr) { "" } else { " (replayed without a sandbox)" };

    if let Some(at) = changes_at(client, scenario) {
        let missed = stage.replayed(OTHER_PROMPT);
        missed.must_end_with(2);
        let shown = format!("  {at}\n    recorded \"{PROMPT}\"\n    asked    \"{OTHER_PROMPT}\"\n");
        assert!(missed.stderr.contains(&shown), "{shown} is not in\n{}", missed.stderr);
        assert!(missed.stderr.contains("(E_REPLAY_MISSING_DEPENDENCY)"), "{}", missed.stderr);
    }

    let folder = stage.folder.path().join(".reenact");
    assert_eq!(secret::leaks(&folder), Vec::<String>::new());
    ran(name, note);
}

/// Where the first request of a scenario has its prompt, of those that are also played with another one.
fn changes_at(client: &Client, scenario: &str) -> Option<&'static str> {
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

/// The functions of a script are exactly these.
pub(crate) fn check_list(client: &Client, tests: &[&str], name: &str) {
    let stage = Stage { client, scenario: "--list", folder: client.project() };
    let listed = stage.command(client.program, &[client.script, "--list"]).output().map(Ran::from).unwrap();
    listed.must_end_with(0);
    assert_eq!(listed.stdout.lines().collect::<Vec<_>>(), tests);
    ran(name, "");
}

impl Stage<'_> {
    /// The client and a vendor, alone.
    fn without_us(&self) -> (Ran, Vec<Came>) {
        let vendor = mind::vendor(|_| {});
        let line = self.line(PROMPT);
        let mut command = self.command(line[0], &line[1..]);
        let ran = with_vendor(&mut command, &vendor).output().unwrap().into();
        (ran, came(&vendor.requests()))
    }

    /// The same under `reenact record`. At each request the folder of runs is searched for secrets.
    fn recorded(&self) -> (Ran, Vec<Came>) {
        let (runs, leaks) = (self.folder.path().join(".reenact"), Arc::new(Mutex::new(Vec::new())));
        let found = Arc::clone(&leaks);
        let vendor = mind::vendor(move |_| found.lock().unwrap().extend(secret::leaks(&runs)));
        let line = [&["record", "--"], &self.line(PROMPT)[..]].concat();
        let ran = with_vendor(&mut self.reenact(&line), &vendor).output().unwrap().into();
        assert_eq!(*leaks.lock().unwrap(), Vec::<String>::new(), "while it was recorded");
        (ran, came(&vendor.requests()))
    }

    /// Everyone who judges the record finds it whole.
    pub(crate) fn verify(&self) {
        let by_us = Ran::from(self.reenact(&["verify", "last"]).output().unwrap());
        by_us.must_end_with(0);
        let export = ["keys", "export", "default", "--out", "default.jwk"];
        Ran::from(self.reenact(&export).output().unwrap()).must_end_with(0);
        let runs = self.folder.path().join(".reenact/runs");
        let mut runs: Vec<_> = std::fs::read_dir(runs).unwrap().map(|entry| entry.unwrap().path()).collect();
        let run = runs.pop().unwrap();
        assert_eq!(runs.len(), 0, "one run was recorded");
        let mut judge = support::command(&judge(), &self.folder);
        judge.args(["--key", "default.jwk"]).arg(run.join("artifact.rer.json"));
        Ran::from(judge.output().unwrap()).must_end_with(0);
    }

    /// With no vendor, and no credentials but one that the agent says itself.
    fn replayed(&self, prompt: &str) -> Ran {
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

/// Sends clients to the vendor, or our gateway, by the variables that they read.
pub(crate) fn with_vendor<'a>(command: &'a mut Command, vendor: &Vendor) -> &'a mut Command {
    command.envs(VENDORS.map(|kind| (kind.base_variables()[0], vendor.base_url(kind))))
}

/// Whether the kernel cut the network off. Where it refuses, the command must have said so.
fn is_hermetic(stderr: &str) -> bool {
    if stderr.lines().any(|line| line == "reenact: hermetic: the kernel cut off the network (netns)") {
        return true;
    }
    assert!(stderr.lines().any(|line| line == "reenact: hermetic: not enforced"), "{stderr}");
    assert_eq!(std::env::var_os("REENACT_REQUIRE_SANDBOX"), None, "{stderr}");
    false
}
