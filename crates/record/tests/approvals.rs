//! Questions at a desk and their answers: each answer is taken once, judged, and used or set aside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use reenact_formats::rer::approval::{Approver, Decision, Draft, Refusal, TokenFault, input_hash, sign};
use reenact_formats::rer::envelope::decide::Action;
use reenact_formats::rer::envelope::permission::SignerType::{self, Automated, Human};
use reenact_formats::rer::seal::Signer;
use reenact_json::Digest;
use reenact_record::approval::{
    AnswerError, BrokenFault, Desk, DeskError, LARGEST, Look, MOST_REFUSED, PendingQuestion, Question, Queue,
    Rejection, Request, RequestFault, Unreadable, Waiting, answer, pending,
};
use reenact_record::clock::timestamp;
use reenact_record::durable::create_private_folder;
use reenact_record::{Folder, RunId, SecretKey};
use reenact_testkit::fixture::TestDir;
use support::runs;

const INPUT: &str = r#"{"amount": 12.5, "to": "ACME"}"#;
const TIMEOUT: Duration = Duration::from_secs(600);

/// 2026-05-13T12:00:00Z, and so many seconds.
fn noon(seconds: u64) -> Duration {
    Duration::from_secs(1_778_673_600 + seconds)
}

/// A run with its desk, and a person who may approve.
struct Office {
    place: TestDir,
    run_id: RunId,
    person: SecretKey,
}

impl Office {
    fn new() -> Self {
        let (place, run_id) = (TestDir::in_memory(), RunId::generate().unwrap());
        create_private_folder(&runs(&place).run(run_id)).unwrap();
        Self { place, run_id, person: SecretKey::generate().unwrap() }
    }

    fn folder(&self) -> Folder {
        runs(&self.place)
    }

    fn desk(&self) -> Desk {
        let approvers = vec![Approver { key: self.person.public_key(), signer_type: Human }];
        Desk::new(self.folder().run(self.run_id), self.run_id, approvers, TIMEOUT)
    }

    fn ask(&self) -> Waiting {
        self.desk().ask(&question(), noon(0)).unwrap()
    }

    fn queue(&self) -> Queue {
        pending(&self.folder(), noon(1)).unwrap()
    }

    fn only(&self) -> PendingQuestion {
        let Queue { mut questions, broken, is_cut } = self.queue();
        assert_eq!((questions.len(), broken, is_cut), (1, vec![], false));
        questions.pop().unwrap()
    }

    fn path(&self, waiting: &Waiting, word: &str) -> PathBuf {
        let approvals = self.folder().run(self.run_id).join("approvals");
        approvals.join(format!("{}.{word}.json", waiting.approval_id()))
    }

    /// What lies at the desk for a question.
    fn files(&self, waiting: &Waiting) -> Vec<String> {
        let id = format!("{}.", waiting.approval_id());
        let names = fs::read_dir(self.folder().run(self.run_id).join("approvals")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut words: Vec<String> = names
            .filter_map(|name| Some(name.strip_prefix(&id)?.strip_suffix(".json")?.to_owned()))
            .collect();
        words.sort();
        words
    }
}

fn question() -> Question<'static> {
    let question = Question::new(Action::Tool, "pay_invoice", INPUT, "tool.call pay_*: by human");
    Question { signer_types: Some(&[Human]), ..question }
}

/// The answer of an approver who signs what is asked, for ten minutes.
fn token(request: &Request, key: &SecretKey, decision: Decision) -> Vec<u8> {
    signed(request, key, Human, decision, (noon(0), noon(600)))
}

fn signed(
    request: &Request,
    key: &SecretKey,
    signer_type: SignerType,
    decision: Decision,
    (from, to): (Duration, Duration),
) -> Vec<u8> {
    let (approval_id, run_id) = (request.approval_id.to_string(), request.run_id.to_string());
    let draft = Draft {
        approval_id: &approval_id,
        run_id: &run_id,
        action: request.action,
        name: &request.name,
        input_hash: request.input_hash,
        decision,
        signer_type,
        issued_at: &timestamp(from),
        expires_at: &timestamp(to),
    };
    sign(&draft, key).unwrap()
}

fn refused(why: impl Into<Rejection>) -> Look {
    Look::Refused { why: why.into() }
}

#[test]
fn asked_seen_and_granted() {
    let office = Office::new();
    let mut waiting = office.ask();
    assert_eq!(waiting.look(noon(1)), Look::Pending);
    assert_eq!(office.files(&waiting), ["request"]);
    let asked = office.only();
    assert_eq!(&asked.request, waiting.request());
    assert_eq!(
        asked.request,
        Request {
            approval_id: waiting.approval_id(),
            run_id: office.run_id,
            action: Action::Tool,
            name: "pay_invoice".into(),
            input: INPUT.into(),
            is_whole: true,
            input_size: INPUT.len() as u64,
            input_hash: Digest::of(br#"{"amount":12.5,"to":"ACME"}"#),
            rule: "tool.call pay_*: by human".into(),
            signer_types: Some(vec![Human]),
            asked_at: "2026-05-13T12:00:00.000000Z".into(),
            expires_at: "2026-05-13T12:10:00.000000Z".into(),
        }
    );
    let granted = token(&asked.request, &office.person, Decision::Granted);
    answer(&asked, &granted).unwrap();
    assert_eq!(office.queue(), Queue::default(), "what has an answer does not wait for one");
    assert_eq!(waiting.look(noon(2)), Look::Granted { token: granted.clone(), signer_type: Human });
    assert_eq!(office.files(&waiting), ["closed", "granted"]);
    // Nothing answers twice.
    assert_eq!(answer(&asked, &granted), Err(AnswerError::Gone));
    fs::write(office.path(&waiting, "answer"), &granted).unwrap();
    assert_eq!(waiting.look(noon(3)), Look::Over);
}

#[test]
fn denied() {
    let office = Office::new();
    let mut waiting = office.ask();
    let decision = Decision::Denied { reason: Some("too much".into()) };
    answer(&office.only(), &token(waiting.request(), &office.person, decision)).unwrap();
    let reason = Some("too much".to_owned());
    assert_eq!(waiting.look(noon(1)), Look::Denied { signer_type: Human, reason });
    assert_eq!(office.files(&waiting), ["closed", "denied"]);
    assert_eq!(waiting.look(noon(2)), Look::Over);
}

#[test]
fn nobody_answers_in_time() {
    let office = Office::new();
    let mut waiting = office.ask();
    let asked = office.only();
    assert_eq!(waiting.deadline(), noon(600));
    assert_eq!(waiting.look(noon(599)), Look::Pending);
    // From the deadline on nothing counts, whatever lies there; and a clock that goes back brings no time back.
    answer(&asked, &token(&asked.request, &office.person, Decision::Granted)).unwrap();
    assert_eq!(waiting.look(noon(600)), Look::TimedOut);
    assert_eq!(waiting.look(noon(1)), Look::Over);
    assert_eq!(answer(&asked, b"late"), Err(AnswerError::Gone));
    let waiting = office.ask();
    assert_eq!(pending(&office.folder(), noon(599)).unwrap().questions.len(), 1);
    assert_eq!(pending(&office.folder(), noon(600)).unwrap().questions.len(), 0);
    drop(waiting);
}

#[test]
fn time_does_not_go_back() {
    let office = Office::new();
    let mut waiting = office.ask();
    assert_eq!(waiting.look(noon(300)), Look::Pending);
    let short = (noon(0), noon(200));
    let token = signed(waiting.request(), &office.person, Human, Decision::Granted, short);
    answer(&office.only(), &token).unwrap();
    assert_eq!(waiting.look(noon(100)), refused(Refusal::Expired));
}

#[test]
fn a_question_that_nobody_waits_for_is_withdrawn() {
    let office = Office::new();
    let waiting = office.ask();
    let asked = office.only();
    drop(waiting);
    assert_eq!(office.queue(), Queue::default());
    assert_eq!(answer(&asked, b"x"), Err(AnswerError::Gone));
}

#[test]
fn what_does_not_hold_is_set_aside_and_waiting_goes_on() {
    let office = Office::new();
    let mut waiting = office.ask();
    let request = waiting.request().clone();
    let (stranger, granted) = (SecretKey::generate().unwrap(), Decision::Granted);
    let good = token(&request, &office.person, granted.clone());
    let ten = (noon(0), noon(600));
    let mut forged = good.clone();
    let at = forged.len() - 3;
    forged[at] ^= 1;
    let foreign = Refusal::Foreign { key_id: stranger.public_key().id() };
    let cases = [
        (token(&request, &stranger, granted.clone()), foreign),
        (forged, Refusal::Forged),
        (
            token(
                &Request { run_id: RunId::generate().unwrap(), ..request.clone() },
                &office.person,
                granted.clone(),
            ),
            Refusal::OtherRun,
        ),
        (
            token(&Request { name: "pay".into(), ..request.clone() }, &office.person, granted.clone()),
            Refusal::OtherName,
        ),
        (
            token(&Request { action: Action::Model, ..request.clone() }, &office.person, granted.clone()),
            Refusal::OtherAction,
        ),
        (
            token(
                &Request { input_hash: input_hash(b"{}"), ..request.clone() },
                &office.person,
                granted.clone(),
            ),
            Refusal::OtherInput,
        ),
        (
            signed(&request, &office.person, Automated, granted.clone(), ten),
            Refusal::WrongSignerType { said: Automated, registered: Human },
        ),
        (signed(&request, &office.person, Human, granted.clone(), (noon(0), noon(10))), Refusal::Expired),
        (signed(&request, &office.person, Human, granted, (noon(71), noon(600))), Refusal::NotYetValid),
        ([&good[..], b"\n"].concat(), Refusal::Malformed(TokenFault::NotCanonical)),
    ];
    for (count, (token, refusal)) in (1..).zip(&cases) {
        answer(&office.only(), token).unwrap();
        assert_eq!(waiting.look(noon(10)), refused(refusal.clone()));
        assert_eq!(fs::read(office.path(&waiting, &format!("refused-{count}"))).unwrap(), *token);
        assert_eq!(waiting.look(noon(10)), Look::Pending);
    }
    answer(&office.only(), &good).unwrap();
    assert_eq!(waiting.look(noon(11)), Look::Granted { token: good, signer_type: Human });
}

#[test]
fn the_answer_to_another_question_is_none_to_this() {
    let office = Office::new();
    let (mut one, mut two) = (office.ask(), office.ask());
    assert_ne!(one.approval_id(), two.approval_id());
    let token = token(one.request(), &office.person, Decision::Granted);
    for path in [office.path(&one, "answer"), office.path(&two, "answer")] {
        fs::write(path, &token).unwrap();
    }
    assert_eq!(two.look(noon(1)), refused(Refusal::OtherApproval));
    assert_eq!(one.look(noon(1)), Look::Granted { token: token.clone(), signer_type: Human });
    // Used, and used again at a later question about the same thing.
    let mut three = office.ask();
    fs::copy(office.path(&one, "granted"), office.path(&three, "answer")).unwrap();
    assert_eq!(three.look(noon(2)), refused(Refusal::OtherApproval));
}

#[test]
fn a_flood_is_not_told_for_ever() {
    let office = Office::new();
    let mut waiting = office.ask();
    for count in 1..=MOST_REFUSED + 4 {
        fs::write(office.path(&waiting, "answer"), b"{}").unwrap();
        let expected = match count {
            ..=MOST_REFUSED => refused(Refusal::Malformed(TokenFault::Missing { member: "token_version" })),
            _ => Look::Pending,
        };
        assert_eq!(waiting.look(noon(1)), expected, "{count}");
    }
    assert_eq!(office.files(&waiting).len(), 1 + MOST_REFUSED);
    // And a good answer still counts.
    let good = token(waiting.request(), &office.person, Decision::Granted);
    answer(&office.only(), &good).unwrap();
    assert_eq!(waiting.look(noon(1)), Look::Granted { token: good, signer_type: Human });
}

#[test]
fn huge_files() {
    let office = Office::new();
    let mut waiting = office.ask();
    fs::write(office.path(&waiting, "answer"), vec![b' '; LARGEST + 1]).unwrap();
    assert_eq!(waiting.look(noon(1)), refused(Unreadable::TooLong));
    fs::create_dir(office.path(&waiting, "answer")).unwrap();
    assert_eq!(waiting.look(noon(1)), refused(Unreadable::NotAFile));
    assert_eq!(waiting.look(noon(1)), Look::Pending);
    fs::write(office.path(&waiting, "request"), vec![b' '; LARGEST + 1]).unwrap();
    let path = office.path(&waiting, "request").to_str().unwrap().to_owned();
    let broken = &office.queue().broken[..];
    assert_eq!(broken.len(), 1);
    assert_eq!((&broken[0].path, &broken[0].fault), (&path, &BrokenFault::File(Unreadable::TooLong)));
}

#[test]
fn two_answers_at_once() {
    let office = Office::new();
    let mut waiting = office.ask();
    let asked = office.only();
    let token = token(&asked.request, &office.person, Decision::Granted);
    answer(&asked, &token).unwrap();
    assert_eq!(answer(&asked, b"other"), Err(AnswerError::Answered));
    assert_eq!(waiting.look(noon(1)), Look::Granted { token, signer_type: Human });
}

#[test]
fn nobody_to_ask() {
    let office = Office::new();
    let ask = |signer_types| {
        let question = Question { signer_types, ..question() };
        office.desk().ask(&question, noon(0)).err()
    };
    assert_eq!(ask(None), None);
    let error = ask(Some(&[Automated])).unwrap();
    assert_eq!(error, DeskError::Nobody { signer_types: Some(vec![Automated]) });
    assert_eq!(
        error.to_string(),
        "nobody can approve this: there is no approver's key of type automated; make one with: reenact keys generate NAME --approver"
    );
}

#[test]
fn what_cannot_be_asked() {
    let office = Office::new();
    let ask = |question: Question<'_>| office.desk().ask(&question, noon(0)).err();
    let long = "x".repeat(4097);
    assert_eq!(
        ask(Question { name: &long, ..question() }),
        Some(DeskError::TooLong { what: "the name", bytes: 4097 })
    );
    assert_eq!(
        ask(Question { rule: &long, ..question() }),
        Some(DeskError::TooLong { what: "the rule", bytes: 4097 })
    );
    assert_eq!(ask(Question { name: "", ..question() }), Some(DeskError::NoName));
    assert_eq!(ask(Question { input: "{}", ..question() }), Some(DeskError::InputHash));
}

#[test]
fn a_long_input_is_shown_in_part() {
    let office = Office::new();
    for (character, shown) in
        [("x", 32 * 1024), ("\u{1}", 32 * 1024 / 6), ("\"", 16 * 1024), ("é", 32 * 1024)]
    {
        let long = character.repeat(50_000);
        let waiting =
            office.desk().ask(&Question::new(Action::Model, &"\u{1}".repeat(4096), &long, "r"), noon(0));
        let waiting = waiting.unwrap();
        let asked = office.only().request;
        assert!(!asked.is_whole);
        assert_eq!((asked.input.len(), asked.input_size), (shown, long.len() as u64));
        assert_eq!(asked.input_hash, input_hash(long.as_bytes()));
        drop(waiting);
    }
}

#[test]
fn a_question_that_shows_something_else_is_broken() {
    let office = Office::new();
    let waiting = office.ask();
    let path = office.path(&waiting, "request");
    let text = fs::read_to_string(&path).unwrap();
    let fault = |text: &str| {
        fs::write(&path, text).unwrap();
        let Queue { questions, mut broken, .. } = office.queue();
        assert_eq!((questions.len(), broken.len()), (0, 1), "{text}");
        broken.pop().unwrap().fault
    };
    let edited = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        fault(&text.replacen(from, to, 1))
    };
    assert_eq!(edited("12.5", "1.25"), BrokenFault::Request(RequestFault::InputHash));
    let other = RunId::generate().unwrap().to_string();
    assert_eq!(edited(&office.run_id.to_string(), &other), BrokenFault::OutOfPlace);
    assert_eq!(edited(&waiting.approval_id().to_string(), &other), BrokenFault::OutOfPlace);
    let request = |fault| BrokenFault::Request(fault);
    assert_eq!(edited("{", "{ "), request(RequestFault::NotCanonical));
    assert_eq!(edited("{", "{\"a\":1,"), request(RequestFault::Unknown { name: "a".into() }));
    let member = |member, wanted| request(RequestFault::Member { member, wanted });
    assert_eq!(
        edited("[\"human\"]", "[\"Human\"]"),
        member("signer_types", "null, or a list of signer types")
    );
    assert_eq!(edited("request/1", "request/2"), member("request_version", "\"reenact-approval-request/1\""));
    assert_eq!(edited("\"rule\":", "\"model\":\"m\",\"rule\":"), request(RequestFault::NotCanonical));
    assert_eq!(edited("\"request_v", "\"model\":\"m\",\"request_v"), member("model", "absent"));
    assert_eq!(edited("2026-05-13T12:10", "2026-15-13T12:10"), member("expires_at", "a time of RFC 3339"));
    assert_eq!(fault("[]"), request(RequestFault::NotCanonical));
}

#[test]
fn everything_that_waits_oldest_first() {
    let office = Office::new();
    let other = Office { run_id: RunId::generate().unwrap(), ..Office::new() };
    let folder = office.folder();
    create_private_folder(&folder.run(other.run_id)).unwrap();
    let approvers = vec![Approver { key: other.person.public_key(), signer_type: Human }];
    let desk = Desk::new(folder.run(other.run_id), other.run_id, approvers, TIMEOUT);
    let second = office.desk().ask(&question(), noon(20)).unwrap();
    let first = desk.ask(&question(), noon(10)).unwrap();
    let third = desk.ask(&question(), noon(30)).unwrap();
    // What is not named like a question is passed over.
    fs::write(folder.run(other.run_id).join("approvals/x.request.json"), b"").unwrap();
    let found: Vec<_> = pending(&folder, noon(40)).unwrap().questions;
    let ids: Vec<_> = found.iter().map(|question| question.request.approval_id).collect();
    assert_eq!(ids, [first.approval_id(), second.approval_id(), third.approval_id()]);
    assert_eq!(pending(&Folder::new("/nowhere/at/all"), noon(0)), Ok(Queue::default()));
}

#[cfg(unix)]
mod closed_to_others {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use reenact_record::FolderError;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn files_and_folder() {
        let office = Office::new();
        let mut waiting = office.ask();
        assert_eq!(mode(office.path(&waiting, "request").parent().unwrap()), 0o700);
        assert_eq!(mode(&office.path(&waiting, "request")), 0o600);
        answer(&office.only(), b"{}").unwrap();
        assert_eq!(mode(&office.path(&waiting, "answer")), 0o600);
        assert!(matches!(waiting.look(noon(1)), Look::Refused { .. }));
        assert_eq!(mode(&office.path(&waiting, "refused-1")), 0o600);
    }

    #[test]
    fn links_are_not_followed() {
        let office = Office::new();
        let mut waiting = office.ask();
        let elsewhere = office.place.join("token");
        fs::write(&elsewhere, token(waiting.request(), &office.person, Decision::Granted)).unwrap();
        symlink(&elsewhere, office.path(&waiting, "answer")).unwrap();
        assert_eq!(waiting.look(noon(1)), refused(Unreadable::Link));
        assert!(office.path(&waiting, "refused-1").is_symlink());
        // Nor where a question should be.
        let path = office.path(&waiting, "request");
        fs::rename(&path, office.place.join("request")).unwrap();
        symlink(office.place.join("request"), &path).unwrap();
        assert_eq!(office.queue().broken[0].fault, BrokenFault::File(Unreadable::Link));
    }

    #[test]
    fn a_pipe_does_not_keep_anyone_waiting() {
        let office = Office::new();
        let mut waiting = office.ask();
        let path = office.path(&waiting, "answer");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert_eq!(waiting.look(noon(1)), refused(Unreadable::NotAFile));
    }

    #[test]
    fn a_folder_that_others_write_to_is_not_used() {
        let office = Office::new();
        let waiting = office.ask();
        let folder = office.path(&waiting, "request").parent().unwrap().to_owned();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let path = folder.to_str().unwrap().to_owned();
        let error = FolderError::OpenToOthers { path: path.clone(), mode: 0o777 };
        assert_eq!(office.desk().ask(&question(), noon(0)).err(), Some(DeskError::Folder(error.clone())));
        assert_eq!(office.queue().broken[0].fault, BrokenFault::Folder(error));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let away = office.place.join("away");
        fs::rename(&folder, &away).unwrap();
        symlink(&away, &folder).unwrap();
        let error = DeskError::Folder(FolderError::Link { path });
        assert_eq!(office.desk().ask(&question(), noon(0)).err(), Some(error));
    }
}
