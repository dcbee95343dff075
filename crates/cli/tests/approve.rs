//! Approvals end to end: a run asks a question, the command answers it, and the run reads the answer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;
#[cfg(target_os = "linux")]
#[path = "support/terminal.rs"]
mod terminal;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reenact_formats::key::KeyId;
use reenact_formats::rer::approval::ApprovalToken;
use reenact_formats::rer::envelope::permission::SignerType::{self, Automated, Delegate, Human};
use reenact_formats::rer::envelope::policy::Action;
use reenact_formats::rer::time;
use reenact_keys::KeyStore;
use reenact_keys::durable::{self, Readers, create_private_folder};
use reenact_record::RunId;
use reenact_record::approval::{AnswerPoll, ApprovalQueue, OpenQuestion, Question};
use support::folder::Folder;
use support::text;

const INPUT: &str = r#"{"to":"ACME","amount":12.5,"note":"\u001b[2Jhello"}"#;
const PASSPHRASE: &str = "correct horse";

/// A project in which a run is being recorded.
struct Project {
    folder: Folder,
    run_id: RunId,
}

/// Exit code, standard output, standard error.
#[derive(Debug)]
struct CommandOutput(Option<i32>, String, String);

impl CommandOutput {
    fn expect_success(self) -> String {
        assert_eq!((self.0, self.2.as_str()), (Some(0), ""), "{}", self.1);
        self.1
    }

    /// Panics unless the command failed with this message; returns its standard output.
    fn expect_failure(self, code: i32, said: &str) -> String {
        let said = format!("reenact: {said}\n");
        assert!(text::matches(&said, &self.2), "{}", text::difference(&said, &self.2));
        assert_eq!(self.0, Some(code));
        self.1
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

impl Project {
    fn new() -> Self {
        let project = Self { folder: Folder::empty(), run_id: RunId::generate().unwrap() };
        create_private_folder(&project.run_folder()).unwrap();
        let path = project.folder.path().join("passphrase");
        durable::create(&path, format!("{PASSPHRASE}\n").as_bytes(), Readers::Owner).unwrap();
        project
    }

    /// Creates a project and approver keys with these names and types.
    fn with_approvers(keys: &[(&str, SignerType)]) -> Self {
        let project = Self::new();
        for (name, kind) in keys {
            let kind = kind.name();
            let line =
                format!("keys generate {name} --approver --signer-type {kind} --passphrase-file passphrase");
            project.run(&line).expect_success();
        }
        project
    }

    fn run_folder(&self) -> std::path::PathBuf {
        self.folder.state().join("runs").join(self.run_id.to_string())
    }

    fn store(&self) -> KeyStore {
        KeyStore::new(self.folder.home().join("reenact/keys"))
    }

    fn ask(&self, signer_types: Option<&[SignerType]>) -> OpenQuestion {
        let pinned = self.own_approvers();
        self.ask_for(Question { signer_types, ..question("pay_invoice", INPUT, &pinned) })
    }

    /// Returns the ids of all approvers' keys that the user has.
    fn own_approvers(&self) -> BTreeSet<KeyId> {
        self.store().approvers().unwrap().iter().map(|approver| approver.key.id()).collect()
    }

    fn ask_for(&self, question: Question<'_>) -> OpenQuestion {
        let approvers = self.store().approvers().unwrap();
        let queue = ApprovalQueue::new(self.run_folder(), self.run_id, approvers, Duration::from_secs(3600));
        queue.ask(&question, now()).unwrap()
    }

    fn command(&self, line: &str) -> Command {
        let mut command = support::command(Path::new(env!("CARGO_BIN_EXE_reenact")), &self.folder);
        command.args(support::words::CommandLine::parse(line).words);
        command
    }

    /// Runs a command without a terminal, and panics if it prints the passphrase or an unsafe character.
    fn run(&self, line: &str) -> CommandOutput {
        let output = self.command(line).stdin(Stdio::null()).output().unwrap();
        let utf8 = |bytes| String::from_utf8(bytes).unwrap();
        let came = CommandOutput(output.status.code(), utf8(output.stdout), utf8(output.stderr));
        for said in [&came.1, &came.2] {
            assert_eq!(text::first_unsafe(said), None, "{said:?}");
            assert!(!said.contains(PASSPHRASE), "{line}: shows the passphrase");
        }
        came
    }
}

fn question<'a>(name: &'a str, input: &'a str, pinned: &'a BTreeSet<KeyId>) -> Question<'a> {
    Question::new(Action::Tool, name, input, "tool.call pay_*: by human", pinned)
}

fn validity_seconds(token: &[u8]) -> i128 {
    let token = ApprovalToken::read(token).unwrap();
    (token.expires_at - token.issued_at) / 1_000_000_000
}

#[test]
fn approved() {
    let project = Project::with_approvers(&[("alice", Human)]);
    let mut waiting = project.ask(Some(&[Human]));
    let (id, run_id) = (waiting.approval_id(), project.run_id);
    let until = waiting.file().expires_at.clone();
    let page = format!(
        "tool.call pay_invoice\n  \
           id      {id}\n  \
           run     {run_id}\n  \
           rule    tool.call pay_*: by human\n  \
           by      human\n  \
           waits   for [..]\n  \
           until   {until}\n"
    );
    let listed = project.run("policy approve --list").expect_success();
    assert!(text::matches(&page, &listed), "{}", text::difference(&page, &listed));
    let said = project.run("policy approve --yes --passphrase-file passphrase").expect_success();
    let hash = waiting.file().input_hash;
    let expected = format!(
        "{page}  \
           input   51 bytes, sha256 {hash}\n  \
           {{\n    \"to\": \"ACME\",\n    \"amount\": 12.5,\n    \"note\": \"\\u001b[2Jhello\"\n  }}\n\
         approved: tool.call pay_invoice, once, until [..]Z (key alice)\n"
    );
    assert!(text::matches(&expected, &said), "{}", text::difference(&expected, &said));
    let AnswerPoll::Granted { token, signer_type: Human } = waiting.poll(now()) else {
        panic!("not granted")
    };
    assert_eq!(validity_seconds(&token), 600);
    assert_eq!(
        project.run("policy approve --list").expect_success(),
        "Nothing waits for an approval here.\n"
    );
    assert_eq!(project.run("policy approve").expect_success(), "Nothing waits for an approval here.\n");
    project.run("policy approve --yes").expect_failure(2, "nothing waits for an approval here");
}

#[test]
fn denied() {
    let project = Project::with_approvers(&[("alice", Human)]);
    let mut waiting = project.ask(None);
    let id = waiting.approval_id().to_string();
    let said = project.run(&format!(
        "policy approve {id} --deny 'not this \u{1b}[1msupplier' --passphrase-file passphrase"
    ));
    assert!(said.expect_success().ends_with("denied: tool.call pay_invoice (key alice)\n"));
    let reason = Some("not this \u{1b}[1msupplier".to_owned());
    assert_eq!(waiting.poll(now()), AnswerPoll::Denied { signer_type: Human, reason });
}

#[test]
fn for_programs() {
    let project = Project::with_approvers(&[("bot", Automated)]);
    let mut waiting = project.ask(Some(&[Human, Automated]));
    let request = waiting.file().clone();
    let line = project.run("policy approve --json").expect_success();
    let path = project.run_folder().join(format!("approvals/{}.request.json", request.approval_id));
    let path = path.to_str().unwrap();
    assert_eq!(
        line,
        format!(
            "{{\"approval_id\":\"{}\",\"run_id\":\"{}\",\"action\":\"tool.call\",\"name\":\"pay_invoice\",\
             \"rule\":\"tool.call pay_*: by human\",\"signer_types\":[\"human\",\"automated\"],\
             \"input\":\"{{\\\"to\\\":\\\"ACME\\\",\\\"amount\\\":12.5,\\\"note\\\":\\\"\\\\u001b[2Jhello\\\"}}\",\
             \"input_whole\":true,\"input_size\":51,\"input_hash\":\"{}\",\"asked_at\":\"{}\",\"expires_at\":\"{}\",\
             \"file\":\"{path}\"}}\n",
            request.approval_id, request.run_id, request.input_hash, request.asked_at, request.expires_at
        )
    );
    let said = project
        .run("policy approve --yes --json --valid-for 24h --passphrase-file passphrase")
        .expect_success();
    let AnswerPoll::Granted { token, signer_type: Automated } = waiting.poll(now()) else {
        panic!("not granted")
    };
    let key_id = ApprovalToken::read(&token).unwrap().key_id;
    // An answer never holds longer than the run waits.
    assert_eq!(ApprovalToken::read(&token).unwrap().expires_at, time::instant(&request.expires_at).unwrap());
    assert_eq!(
        said,
        format!(
            "{{\"approval_id\":\"{}\",\"run_id\":\"{}\",\"decision\":\"granted\",\"signer_type\":\"automated\",\
             \"key_id\":\"{key_id}\",\"expires_at\":\"{}\"}}\n",
            request.approval_id, request.run_id, request.expires_at
        )
    );
    assert_eq!(project.run("policy approve --list --json").expect_success(), "");
}

#[test]
fn the_right_key() {
    let project = Project::with_approvers(&[("alice", Human), ("bob", Delegate), ("carol", Human)]);
    project.run("keys generate plain").expect_success();
    let waiting = project.ask(Some(&[Human]));
    let refused = |more: &str, said: &str| {
        project
            .run(&format!("policy approve --yes --passphrase-file passphrase {more}"))
            .expect_failure(2, said)
    };
    refused("", "several of your keys may answer; name one with --key: alice, carol");
    refused("--key bob", "bob approves as delegate, and the rule asks for human");
    refused("--key nobody", "you have no key called nobody; see: reenact keys list");
    refused(
        "--key plain",
        "plain is no approver's key; make one with: reenact keys generate NAME --approver",
    );
    project.run("keys compromise carol").expect_success();
    refused(
        "--key carol",
        "carol is marked as superseded or compromised: nothing that it signs counts; see: reenact keys list",
    );
    project.run("keys supersede alice --by bob").expect_success();
    refused(
        "",
        "you have no approver's key of type human that the run's envelope pins; see: reenact keys list",
    );
    drop(waiting);
    let waiting = project.ask(Some(&[Delegate]));
    project.run("keys compromise bob").expect_success();
    refused(
        "",
        "you have no approver's key of type delegate that the run's envelope pins; see: reenact keys list",
    );
    assert!(!project.run_folder().join(format!("approvals/{}.answer.json", waiting.approval_id())).exists());
}

/// A key that was made after the run's envelope was written is not asked for, and signs nothing.
#[test]
fn the_key_that_the_envelope_pins() {
    let project = Project::with_approvers(&[("alice", Human)]);
    let pinned = project.own_approvers();
    project.run("keys generate mallory --approver --passphrase-file passphrase").expect_success();
    let mut waiting = project.ask_for(question("pay_invoice", INPUT, &pinned));
    project.run("policy approve --yes --key mallory --passphrase-file passphrase").expect_failure(
        2,
        "the run's envelope does not pin mallory as an approver of this: nothing that it signs counts here",
    );
    assert_eq!(waiting.poll(now()), AnswerPoll::Pending);
    // Of two keys of the same type the pinned one is taken.
    project.run("policy approve --yes --passphrase-file passphrase").expect_success();
    assert!(matches!(waiting.poll(now()), AnswerPoll::Granted { signer_type: Human, .. }));
}

#[test]
fn the_right_passphrase() {
    let project = Project::with_approvers(&[("alice", Human)]);
    let mut waiting = project.ask(None);
    project.folder.write("wrong", "correct house");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(project.folder.path().join("wrong"), fs::Permissions::from_mode(0o640)).unwrap();
        project.run("policy approve --yes --passphrase-file wrong").expect_failure(
            2,
            "wrong: others can read this passphrase; close it with: chmod 600 wrong\n\
             reenact: [..]alice.jwk: the passphrase is wrong, or somebody changed the file",
        );
        fs::set_permissions(project.folder.path().join("wrong"), fs::Permissions::from_mode(0o600)).unwrap();
    }
    project
        .run("policy approve --yes --passphrase-file wrong")
        .expect_failure(2, "[..]alice.jwk: the passphrase is wrong, or somebody changed the file");
    project.run("policy approve --yes --passphrase-file nowhere").expect_failure(2, "nowhere: [..]");
    fs::write(project.folder.path().join("wrong"), "short").unwrap();
    project
        .run("policy approve --yes --passphrase-file wrong")
        .expect_failure(2, "wrong: a passphrase has 8 to 1024 bytes");
    assert_eq!(waiting.poll(now()), AnswerPoll::Pending);
}

#[test]
fn nobody_answers_through_a_pipe() {
    let project = Project::with_approvers(&[("alice", Human)]);
    let mut waiting = project.ask(None);
    for (line, said) in [
        (
            "policy approve --passphrase-file passphrase",
            "there is no terminal to ask on; give --yes or --deny REASON",
        ),
        (
            "policy approve --yes",
            "there is no terminal to ask for the passphrase on; give --passphrase-file FILE",
        ),
    ] {
        fs::write(project.folder.path().join("y"), format!("y\n{PASSPHRASE}\n")).unwrap();
        let input = fs::File::open(project.folder.path().join("y")).unwrap();
        let output = project.command(line).stdin(input).output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("reenact: {said}\n"));
        assert_eq!(output.status.code(), Some(2));
    }
    assert_eq!(waiting.poll(now()), AnswerPoll::Pending);
}

#[test]
fn several_wait() {
    let project = Project::with_approvers(&[("alice", Human)]);
    let pinned = project.own_approvers();
    let mut one = project.ask(None);
    let mut two = project.ask_for(question("pay_all", "not \u{202e}json", &pinned));
    let listed = project.run("policy approve --yes --passphrase-file passphrase");
    let listed = listed.expect_failure(2, "2 of them wait; give one of the ids, or its beginning");
    assert!(
        listed.contains(&one.approval_id().to_string()) && listed.contains("tool.call pay_all"),
        "{listed}"
    );
    let id = two.approval_id().to_string();
    let said = project
        .run(&format!("policy approve {} --yes --passphrase-file passphrase", &id[..23]))
        .expect_success();
    assert!(said.contains("\n  not \\u{202e}json\n"), "{said}");
    assert_eq!(one.poll(now()), AnswerPoll::Pending);
    assert!(matches!(two.poll(now()), AnswerPoll::Granted { .. }));
    project.run("policy approve ffff --yes").expect_failure(
        2,
        "nothing that waits has an id that begins with \"ffff\"; see: reenact policy approve --list",
    );
}

#[test]
fn a_long_input_is_cut() {
    let project = Project::with_approvers(&[("alice", Human)]);
    let long = "x".repeat(100_000);
    let pinned = project.own_approvers();
    let mut waiting = project.ask_for(question("pay", &long, &pinned));
    let said = project.run("policy approve --yes --passphrase-file passphrase").expect_success();
    let cut = said.lines().find(|line| line.contains('…')).unwrap();
    let id = waiting.approval_id();
    let file = project.run_folder().join(format!("approvals/{id}.request.json"));
    let expected = format!("  … 91,811 bytes more; see {}", file.display());
    assert_eq!(cut, expected);
    assert!(
        said.contains(&format!("\n  input   100.0 KB, sha256 {}\n", waiting.file().input_hash)),
        "{said}"
    );
    assert!(matches!(waiting.poll(now()), AnswerPoll::Granted { .. }));
}

#[test]
fn what_is_broken_is_named_and_never_approved() {
    let project = Project::with_approvers(&[("alice", Human)]);
    let mut waiting = project.ask(None);
    let path = project.run_folder().join(format!("approvals/{}.request.json", waiting.approval_id()));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("12.5", "1.25")).unwrap();
    let broken = "[..].request.json: what it shows is not what its input_hash is the hash of; it is not shown, and cannot be approved";
    assert_eq!(
        project.run("policy approve --list").expect_failure(2, broken),
        "Nothing waits for an approval here.\n"
    );
    let nothing = format!("{broken}\nreenact: nothing waits for an approval here");
    project.run("policy approve --yes --passphrase-file passphrase").expect_failure(2, &nothing);
    assert_eq!(waiting.poll(now()), AnswerPoll::Pending);
}

#[test]
fn approvers_keys_beside_others() {
    let project = Project::with_approvers(&[("alice", Human)]);
    project.run("keys generate").expect_success();
    let listed = project.run("keys list").expect_success();
    let expected = "NAME     KEY ID                                       STANDING\n\
                    alice    [..]  own, approver (human)\n\
                    default  [..]  own\n";
    assert!(text::matches(expected, &listed), "{}", text::difference(expected, &listed));
    let lines = project.run("keys list --json").expect_success();
    assert!(
        lines.lines().next().unwrap().contains("\"since\":null,\"approver\":\"human\",\"sha256\":\""),
        "{lines}"
    );
    // A set that is handed out for runs has no approver in it.
    let (runtimes, approvers) = (project.run("keys jwks"), project.run("keys jwks --approvers"));
    let (runtimes, approvers) = (runtimes.expect_success(), approvers.expect_success());
    let alice = project.own_approvers().first().unwrap().to_string();
    assert_eq!((runtimes.matches("kid").count(), runtimes.contains(&alice)), (1, false));
    assert_eq!((approvers.matches("kid").count(), approvers.contains(&alice)), (1, true));
    project.run("keys show alice").expect_success();
    project.run("keys export alice").expect_success();
    let protected = "[..]alice.jwk: is an approver's key, protected by a passphrase: it signs approvals and nothing else; name another key";
    project.run("keys rotate alice").expect_failure(2, protected);
    project.run("keys export alice --private --out x").expect_failure(2, protected);
    let exists = "there is a key called alice already; give another name";
    project.run("keys generate alice --approver --passphrase-file passphrase").expect_failure(2, exists);
    let default = "the key called default signs runs; give the approver's key another name: reenact keys generate NAME --approver";
    project.run("keys generate --approver --passphrase-file passphrase").expect_failure(2, default);
    project
        .run("keys generate bob --approver")
        .expect_failure(2, "there is no terminal to ask for the passphrase on; give --passphrase-file FILE");
}

#[cfg(target_os = "linux")]
mod at_a_terminal {
    use std::io::{Read, Write};

    use super::*;
    use crate::terminal::open_pty;

    /// Runs a command at a terminal, and types each answer when its question appears. Returns the exit code
    /// and all that was shown.
    fn run_at_terminal(project: &Project, line: &str, answers: &[(&str, &str)]) -> (Option<i32>, String) {
        let (mut ours, theirs) = open_pty();
        let template = project.command(line);
        // setsid makes the terminal the one that the program is controlled by, as a login shell has it.
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(template.get_program()).args(template.get_args());
        command.current_dir(project.folder.path()).env_clear();
        command.envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::from(theirs.try_clone().unwrap()));
        command.stdout(Stdio::from(theirs.try_clone().unwrap())).stderr(Stdio::from(theirs));
        let mut child = command.spawn().unwrap();
        drop(command);
        let (mut seen, mut answers) = (String::new(), answers.iter());
        let mut next = answers.next();
        let mut buffer = [0; 1024];
        // The terminal ends when the last program that has it does.
        while let Ok(count @ 1..) = ours.read(&mut buffer) {
            seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
            if let Some((question, answer)) = next
                && seen.ends_with(question)
            {
                ours.write_all(answer.as_bytes()).unwrap();
                next = answers.next();
            }
        }
        assert_eq!(next, None, "{seen}");
        (child.wait().unwrap().code(), seen.replace("\r\n", "\n"))
    }

    #[test]
    fn a_person_approves() {
        let project = Project::new();
        let (code, seen) = run_at_terminal(
            &project,
            "keys generate alice --approver",
            &[
                ("New passphrase for alice: ", "korrect\x15correct horsé\x7fe\n"),
                ("The same again: ", "correct horse\n"),
            ],
        );
        assert_eq!(code, Some(0), "{seen}");
        assert!(
            seen.starts_with("New passphrase for alice: \nThe same again: \nname      alice\n"),
            "{seen}"
        );
        let mut waiting = project.ask(None);
        let (code, seen) = run_at_terminal(
            &project,
            "policy approve",
            &[("Approve? [y/N] ", "y\n"), ("Passphrase of alice: ", "correct horse\n")],
        );
        assert_eq!(code, Some(0), "{seen}");
        assert!(seen.contains("\\u001b[2Jhello") && !seen.contains("correct"), "{seen}");
        assert!(matches!(waiting.poll(now()), AnswerPoll::Granted { signer_type: Human, .. }));
    }

    #[test]
    fn a_person_says_no() {
        let project = Project::with_approvers(&[("alice", Human)]);
        let mut waiting = project.ask(None);
        let id = waiting.approval_id();
        for no in ["n\n", "\n", "yess\n", "maybe, y\n", "\x04"] {
            let (code, seen) = run_at_terminal(&project, "policy approve", &[("Approve? [y/N] ", no)]);
            assert_eq!(code, Some(1), "{seen}");
            let said = format!(
                "reenact: not approved; it goes on waiting. To deny it: reenact policy approve {id} --deny REASON\n"
            );
            assert!(seen.ends_with(&said), "{seen}");
        }
        // Yes to the question, but no passphrase.
        for nothing in ["\x03", "\x04"] {
            let answers = [("Approve? [y/N] ", "YES\n"), ("Passphrase of alice: ", nothing)];
            let (code, seen) = run_at_terminal(&project, "policy approve", &answers);
            assert_eq!(code, Some(2), "{seen}");
            assert!(seen.ends_with("reenact: no passphrase was given\n"), "{seen}");
        }
        assert_eq!(waiting.poll(now()), AnswerPoll::Pending);
    }

    #[test]
    fn two_different_passphrases() {
        let project = Project::new();
        let answers =
            [("New passphrase for a: ", "correct horse\n"), ("The same again: ", "correct house\n")];
        let (code, seen) = run_at_terminal(&project, "keys generate a --approver", &answers);
        assert_eq!(code, Some(2), "{seen}");
        assert!(seen.ends_with("the two passphrases are not the same; nothing was made\n"), "{seen}");
        let (code, seen) =
            run_at_terminal(&project, "keys generate a --approver", &[("New passphrase for a: ", "short\n")]);
        assert_eq!(code, Some(2), "{seen}");
        assert!(seen.ends_with("a passphrase has 8 to 1024 bytes\n"), "{seen}");
        assert_eq!(project.store().list().unwrap(), []);
    }
}
