//! Approvers of a run: pinned by the envelope, named when they are new, and the only ones whose approvals count.

use std::fs;
use std::process::Stdio;

use reenact_keys::durable::{self, Readers};
use reenact_testkit::Script;

use super::project::{REENACT, TestProject};

const RECORD: [&str; 6] = ["record", "--envelope", "envelope.toml", "--", REENACT, "demo-agent"];
const GENERATE: [&str; 4] = ["--approver", "--passphrase-file", "passphrase", "--signer-type=human"];

/// Returns a project with an approver's key of this name, and the id of the key.
fn project_with(name: &str) -> (TestProject, String) {
    let project = TestProject::new(Script::travel());
    durable::create(&project.folder.path().join("passphrase"), b"correct horse\n", Readers::Owner).unwrap();
    project.run(&[&["keys", "generate", name], &GENERATE[..]].concat()).expect(0, "...\n", "");
    let id = key_id(&project, name);
    (project, id)
}

fn key_id(project: &TestProject, name: &str) -> String {
    let listed = project.run(&["keys", "list", "--json"]).stdout;
    let line = listed.lines().find(|line| line.contains(&format!("\"name\":\"{name}\""))).unwrap();
    line.split('"').nth(3).unwrap().to_owned()
}

/// Writes an envelope that asks for an approval of each booking, with these members of the rule.
fn envelope(project: &TestProject, more: &str) {
    let text = format!(
        "[envelope.permissions]\nallowed_models = [\"gpt-5\"]\nallowed_tools = [\"search_flights\", \"book_flight\"]\n\
         [[envelope.required_approvals]]\naction = \"tool.call\"\ntool_pattern = \"book_*\"\n{more}\n"
    );
    fs::write(project.folder.path().join("envelope.toml"), text).unwrap();
}

fn pinned(id: &str) -> String {
    format!("approvers = [\"{id}\"]")
}

/// An agent makes an approver's key in one run, and cannot approve with it in the next.
#[test]
fn a_key_that_an_agent_made_approves_nothing() {
    let (project, alice) = project_with("alice");
    envelope(&project, &pinned(&alice));
    let plant =
        [&["record", "--quiet", "--", REENACT, "keys", "generate", "mallory"], &GENERATE[..]].concat();
    assert_eq!(project.run(&plant).code, Some(0));
    let mallory = key_id(&project, "mallory");
    let mut command = project.command(&RECORD);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while project.run(&["policy", "approve", "--list"]).stdout.starts_with("Nothing waits") {
        assert_eq!(run.try_wait().unwrap(), None, "the run ended before it asked");
    }
    let approve = |name: &'static str| {
        project.run(&["policy", "approve", "--yes", "--key", name, "--passphrase-file", "passphrase"])
    };
    let refused = "reenact: the run's envelope does not pin mallory as an approver of this: nothing that it signs counts here\n";
    approve("mallory").expect(2, "", refused);
    approve("alice").expect(0, "...\napproved: tool.call book_flight, once, [..] (key alice)\n", "");
    let output = run.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let new = format!(
        "reenact: approvers that no run here had before: alice ({alice}, human); if you did not pin them, stop this run\n"
    );
    assert!(said.starts_with(&new), "{said}");
    assert!(!said.contains(&mallory), "{said}");
    assert!(said.contains("the audit finds every rule kept;"), "{said}");
    // Whoever has the approver's key sees that the approval holds; others are told which key to ask for.
    project.run(&["verify", "last"]).expect(
        0,
        "...\n  audit   rules of the envelope: 9 kept, 1 inconclusive\n            unclear  authorization: [..]\n  PASS[..]\n",
        "",
    );
    let record = fs::read(artifact(&project)).unwrap();
    let auditor = TestProject::new(Script::travel());
    fs::write(auditor.folder.path().join("run.rer.json"), record).unwrap();
    for (name, arguments) in
        [("runtime.jwks", &["keys", "jwks"][..]), ("approvers.jwks", &["keys", "jwks", "--approvers"])]
    {
        fs::write(auditor.folder.path().join(name), project.run(arguments).stdout).unwrap();
    }
    let asked = format!(
        "...\n            unclear  required_approvals: event [..]: the approval for \"book_flight\" cannot be checked: \
         it is signed with the key {alice}, which is not at hand: ask for that approver's key\n...\n"
    );
    auditor.run(&["verify", "--key", "runtime.jwks", "run.rer.json"]).expect(0, &asked, "");
    let kept = "...\n  audit   rules of the envelope: 9 kept, 1 inconclusive\n            unclear  authorization: [..]\n  PASS[..]\n";
    let both = ["verify", "--key", "runtime.jwks", "--key", "approvers.jwks", "run.rer.json"];
    auditor.run(&both).expect(0, kept, "");
    // An approver's key alone says nothing of who sealed the run.
    assert_eq!(auditor.run(&["verify", "--key", "approvers.jwks", "run.rer.json"]).code, Some(1));
    auditor.run(&["keys", "trust", "--as", "approver", "approvers.jwks"]).expect(0, "...\n", "");
    auditor.run(&["verify", "--key", "runtime.jwks", "run.rer.json"]).expect(0, kept, "");
}

/// Returns the artifact of the newest run.
fn artifact(project: &TestProject) -> std::path::PathBuf {
    let files = project.recorded_files();
    files.into_iter().rfind(|path| path.ends_with("artifact.rer.json")).unwrap()
}

#[test]
fn a_rule_without_an_approver_begins_nothing() {
    let (project, alice) = project_with("alice");
    let begins_nothing = |why: &str, next: &str| {
        let said = format!("reenact: {why}\n{next}");
        project.run(&RECORD).expect(125, "", &said);
        assert!(!project.folder.state().exists());
    };
    let why = "envelope.toml: required_approvals[0] (tool.call) has no approver: nobody is pinned who could approve it";
    let how = format!(
        "pin one beside the rule, by the id of the key: approvers = [\"KEY_ID\"]\nyour own approvers' keys: {alice} (alice)\n"
    );
    envelope(&project, "");
    begins_nothing(why, &how);
    // A pin for something else is none.
    envelope(
        &project,
        &format!("[[envelope.metadata.approvers]]\naction = \"model.call\"\nkeys = [\"{alice}\"]"),
    );
    begins_nothing(why, &how);
    envelope(&project, "approvers = [\"alice\"]");
    begins_nothing(
        "envelope.toml: line 7: envelope.required_approvals[0].approvers: must be the id of an approver's key, as `reenact keys list` shows it",
        "",
    );
    // Nothing is asked for in a run that only warns, so that a notice is enough.
    envelope(&project, "");
    let warn =
        [&["record", "--policy-mode", "warn", "--envelope", "envelope.toml", "--"], &RECORD[4..]].concat();
    project.run(&warn).expect(
        0,
        "...\n",
        &format!("reenact: {why}; --policy-mode enforce refuses to start under it\n...\n"),
    );
}

#[test]
fn approvers_are_named_once() {
    let (project, alice) = project_with("alice");
    envelope(&project, &pinned(&alice));
    // The model is never asked, so that nothing waits for an approval.
    let run = |options: &[&str]| {
        let arguments =
            [&["record"], options, &["--envelope", "envelope.toml", "--", REENACT, "--version"]].concat();
        let output = project.run(&arguments);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        output.stderr
    };
    let named = |who: &str| {
        format!(
            "reenact: approvers that no run here had before: {who}; if you did not pin them, stop this run\n"
        )
    };
    let alice_named = named(&format!("alice ({alice}, human)"));
    assert_eq!(run(&["--quiet"]), alice_named);
    assert_eq!(run(&["--quiet"]), "");
    // One who is added is named alone; a key that is not here has no name.
    let other = "A".repeat(43);
    envelope(&project, &format!("approvers = [\"{alice}\", \"{other}\"]"));
    assert_eq!(run(&["--quiet"]), named(&other));
    assert_eq!(run(&["--quiet"]), "");
    let file = project.folder.home().join("reenact/seen_approvers.json");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    envelope(&project, &pinned(&alice));
    fs::write(&file, "{").unwrap();
    let said = run(&["--quiet"]);
    let (broken, rest) = said.split_once('\n').unwrap();
    assert!(
        broken.ends_with("seen_approvers.json: is no list of approvers; all approvers count as new"),
        "{said}"
    );
    assert_eq!(rest, alice_named);
    assert_eq!(run(&["--quiet"]), "");
}

/// What cannot be read is said before a run begins, and leaves none behind.
#[test]
fn a_broken_trust_store_begins_nothing() {
    let (project, _) = project_with("alice");
    fs::write(project.folder.home().join("reenact/trust.json"), "{").unwrap();
    let output = project.run(&["record", "--", REENACT, "--version"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(125), ""));
    assert!(output.stderr.contains("trust.json: is not JSON"), "{}", output.stderr);
    assert!(!project.folder.state().exists());
}
