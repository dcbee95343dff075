//! Approval questions and their answers: each answer is taken once, verified, and used or set aside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use reenact_formats::key::KeyId;
use reenact_formats::rer::approval::{
    ApprovalDecision, ApprovalTokenDraft, Approver, TokenFault, TokenRefusal, input_hash, sign,
};
use reenact_formats::rer::envelope::permission::SignerType::{self, Automated, Human};
use reenact_formats::rer::envelope::policy::Action;
use reenact_formats::rer::seal::Signer;
use reenact_json::Digest;
use reenact_keys::SecretKey;
use reenact_record::approval::{
    AnswerError, AnswerPoll, ApprovalFileFault, ApprovalQueue, AskError, BrokenQuestionFault,
    MAX_APPROVAL_FILE_BYTES, MAX_REFUSED_ANSWERS, OpenQuestion, PendingQuestion, PendingQuestions, Question,
    QuestionFile, QuestionFileFault, Rejection, answer_question, pending_questions,
};
use reenact_record::clock::timestamp;
use reenact_record::durable::create_private_folder;
use reenact_record::{RunId, RunStore};
use reenact_testkit::fixture::TestDir;
use support::runs;

const INPUT: &str = r#"{"amount": 12.5, "to": "ACME"}"#;
const TIMEOUT: Duration = Duration::from_secs(600);

/// Returns 2026-05-13T12:00:00Z plus `seconds`.
fn time_at(seconds: u64) -> Duration {
    Duration::from_secs(1_778_673_600 + seconds)
}

/// Run with an approval queue, and the key of a person who may approve.
struct ApprovalFixture {
    dir: TestDir,
    run_id: RunId,
    person: SecretKey,
    /// Approver's key of the same user that the envelope does not name.
    unpinned: SecretKey,
    pinned: BTreeSet<KeyId>,
}

impl ApprovalFixture {
    fn new() -> Self {
        let (dir, run_id) = (TestDir::in_memory(), RunId::generate().unwrap());
        create_private_folder(&runs(&dir).run_path(run_id)).unwrap();
        let (person, unpinned) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
        let pinned = [person.public_key().id()].into();
        Self { dir, run_id, person, unpinned, pinned }
    }

    fn folder(&self) -> RunStore {
        runs(&self.dir)
    }

    fn approval_queue(&self) -> ApprovalQueue {
        let approvers = [&self.person, &self.unpinned];
        let approvers = approvers.map(|key| Approver { key: key.public_key(), signer_type: Human }).into();
        ApprovalQueue::new(self.folder().run_path(self.run_id), self.run_id, approvers, TIMEOUT)
    }

    fn ask(&self) -> OpenQuestion {
        self.approval_queue().ask(&self.question(), time_at(0)).unwrap()
    }

    fn question(&self) -> Question<'_> {
        let rule = "tool.call pay_*: by human";
        let question = Question::new(Action::Tool, "pay_invoice", INPUT, rule, &self.pinned);
        Question { signer_types: Some(&[Human]), ..question }
    }

    fn pending(&self) -> PendingQuestions {
        pending_questions(&self.folder(), time_at(1)).unwrap()
    }

    fn only_question(&self) -> PendingQuestion {
        let PendingQuestions { mut questions, broken, is_truncated: is_cut } = self.pending();
        assert_eq!((questions.len(), broken, is_cut), (1, vec![], false));
        questions.pop().unwrap()
    }

    fn path(&self, waiting: &OpenQuestion, word: &str) -> PathBuf {
        let approvals = self.folder().run_path(self.run_id).join("approvals");
        approvals.join(format!("{}.{word}.json", waiting.approval_id()))
    }

    /// Returns the kinds of files that exist for a question, sorted.
    fn files(&self, waiting: &OpenQuestion) -> Vec<String> {
        let id = format!("{}.", waiting.approval_id());
        let names = fs::read_dir(self.folder().run_path(self.run_id).join("approvals")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut words: Vec<String> = names
            .filter_map(|name| Some(name.strip_prefix(&id)?.strip_suffix(".json")?.to_owned()))
            .collect();
        words.sort();
        words
    }
}

/// Returns the token of an approver who signs the question as asked, valid for ten minutes.
fn token(request: &QuestionFile, key: &SecretKey, decision: ApprovalDecision) -> Vec<u8> {
    signed(request, key, Human, decision, (time_at(0), time_at(600)))
}

fn signed(
    request: &QuestionFile,
    key: &SecretKey,
    signer_type: SignerType,
    decision: ApprovalDecision,
    (from, to): (Duration, Duration),
) -> Vec<u8> {
    let (approval_id, run_id) = (request.approval_id.to_string(), request.run_id.to_string());
    let draft = ApprovalTokenDraft {
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

fn refused(why: impl Into<Rejection>) -> AnswerPoll {
    AnswerPoll::Refused { why: why.into() }
}

#[test]
fn asked_seen_and_granted() {
    let fixture = ApprovalFixture::new();
    let mut waiting = fixture.ask();
    assert_eq!(waiting.poll(time_at(1)), AnswerPoll::Pending);
    assert_eq!(fixture.files(&waiting), ["request"]);
    let asked = fixture.only_question();
    assert_eq!(&asked.file, waiting.file());
    assert_eq!(
        asked.file,
        QuestionFile {
            approval_id: waiting.approval_id(),
            run_id: fixture.run_id,
            action: Action::Tool,
            name: "pay_invoice".into(),
            input: INPUT.into(),
            is_input_whole: true,
            input_size: INPUT.len() as u64,
            input_hash: Digest::of(br#"{"amount":12.5,"to":"ACME"}"#),
            rule: "tool.call pay_*: by human".into(),
            signer_types: Some(vec![Human]),
            pinned: fixture.pinned.clone(),
            asked_at: "2026-05-13T12:00:00.000000Z".into(),
            expires_at: "2026-05-13T12:10:00.000000Z".into(),
        }
    );
    let granted = token(&asked.file, &fixture.person, ApprovalDecision::Granted);
    answer_question(&asked, &granted).unwrap();
    assert_eq!(fixture.pending(), PendingQuestions::default(), "what has an answer does not wait for one");
    assert_eq!(waiting.poll(time_at(2)), AnswerPoll::Granted { token: granted.clone(), signer_type: Human });
    assert_eq!(fixture.files(&waiting), ["closed", "granted"]);
    // A closed question takes no second answer.
    assert_eq!(answer_question(&asked, &granted), Err(AnswerError::Gone));
    fs::write(fixture.path(&waiting, "answer"), &granted).unwrap();
    assert_eq!(waiting.poll(time_at(3)), AnswerPoll::Closed);
}

#[test]
fn denied() {
    let fixture = ApprovalFixture::new();
    let mut waiting = fixture.ask();
    let decision = ApprovalDecision::Denied { reason: Some("too much".into()) };
    answer_question(&fixture.only_question(), &token(waiting.file(), &fixture.person, decision)).unwrap();
    let reason = Some("too much".to_owned());
    assert_eq!(waiting.poll(time_at(1)), AnswerPoll::Denied { signer_type: Human, reason });
    assert_eq!(fixture.files(&waiting), ["closed", "denied"]);
    assert_eq!(waiting.poll(time_at(2)), AnswerPoll::Closed);
}

#[test]
fn nobody_answers_in_time() {
    let fixture = ApprovalFixture::new();
    let mut waiting = fixture.ask();
    let asked = fixture.only_question();
    assert_eq!(waiting.deadline(), time_at(600));
    assert_eq!(waiting.poll(time_at(599)), AnswerPoll::Pending);
    // From the deadline on no answer counts, and a clock that goes back does not extend the deadline.
    answer_question(&asked, &token(&asked.file, &fixture.person, ApprovalDecision::Granted)).unwrap();
    assert_eq!(waiting.poll(time_at(600)), AnswerPoll::TimedOut);
    assert_eq!(waiting.poll(time_at(1)), AnswerPoll::Closed);
    assert_eq!(answer_question(&asked, b"late"), Err(AnswerError::Gone));
    let waiting = fixture.ask();
    assert_eq!(pending_questions(&fixture.folder(), time_at(599)).unwrap().questions.len(), 1);
    assert_eq!(pending_questions(&fixture.folder(), time_at(600)).unwrap().questions.len(), 0);
    drop(waiting);
}

#[test]
fn time_does_not_go_back() {
    let fixture = ApprovalFixture::new();
    let mut waiting = fixture.ask();
    assert_eq!(waiting.poll(time_at(300)), AnswerPoll::Pending);
    let short = (time_at(0), time_at(200));
    let token = signed(waiting.file(), &fixture.person, Human, ApprovalDecision::Granted, short);
    answer_question(&fixture.only_question(), &token).unwrap();
    assert_eq!(waiting.poll(time_at(100)), refused(TokenRefusal::Expired));
}

#[test]
fn a_question_that_nobody_waits_for_is_withdrawn() {
    let fixture = ApprovalFixture::new();
    let waiting = fixture.ask();
    let asked = fixture.only_question();
    drop(waiting);
    assert_eq!(fixture.pending(), PendingQuestions::default());
    assert_eq!(answer_question(&asked, b"x"), Err(AnswerError::Gone));
}

#[test]
fn what_does_not_hold_is_set_aside_and_waiting_goes_on() {
    let fixture = ApprovalFixture::new();
    let mut waiting = fixture.ask();
    let request = waiting.file().clone();
    let (stranger, granted) = (SecretKey::generate().unwrap(), ApprovalDecision::Granted);
    let good = token(&request, &fixture.person, granted.clone());
    let ten = (time_at(0), time_at(600));
    let mut forged = good.clone();
    let at = forged.len() - 3;
    forged[at] ^= 1;
    let foreign = TokenRefusal::UnknownKey { key_id: stranger.public_key().id() };
    let not_pinned = TokenRefusal::NotPinned { key_id: fixture.unpinned.public_key().id() };
    let cases = [
        (token(&request, &stranger, granted.clone()), foreign),
        (token(&request, &fixture.unpinned, granted.clone()), not_pinned),
        (forged, TokenRefusal::Forged),
        (
            token(
                &QuestionFile { run_id: RunId::generate().unwrap(), ..request.clone() },
                &fixture.person,
                granted.clone(),
            ),
            TokenRefusal::OtherRun,
        ),
        (
            token(&QuestionFile { name: "pay".into(), ..request.clone() }, &fixture.person, granted.clone()),
            TokenRefusal::OtherName,
        ),
        (
            token(
                &QuestionFile { action: Action::Model, ..request.clone() },
                &fixture.person,
                granted.clone(),
            ),
            TokenRefusal::OtherAction,
        ),
        (
            token(
                &QuestionFile { input_hash: input_hash(b"{}"), ..request.clone() },
                &fixture.person,
                granted.clone(),
            ),
            TokenRefusal::OtherInput,
        ),
        (
            signed(&request, &fixture.person, Automated, granted.clone(), ten),
            TokenRefusal::WrongSignerType { claimed: Automated, registered: Human },
        ),
        (
            signed(&request, &fixture.person, Human, granted.clone(), (time_at(0), time_at(10))),
            TokenRefusal::Expired,
        ),
        (
            signed(&request, &fixture.person, Human, granted, (time_at(71), time_at(600))),
            TokenRefusal::NotYetValid,
        ),
        ([&good[..], b"\n"].concat(), TokenRefusal::Malformed(TokenFault::NotCanonical)),
    ];
    for (count, (token, refusal)) in (1..).zip(&cases) {
        answer_question(&fixture.only_question(), token).unwrap();
        assert_eq!(waiting.poll(time_at(10)), refused(refusal.clone()));
        assert_eq!(fs::read(fixture.path(&waiting, &format!("refused-{count}"))).unwrap(), *token);
        assert_eq!(waiting.poll(time_at(10)), AnswerPoll::Pending);
    }
    answer_question(&fixture.only_question(), &good).unwrap();
    assert_eq!(waiting.poll(time_at(11)), AnswerPoll::Granted { token: good, signer_type: Human });
}

#[test]
fn the_answer_to_another_question_is_none_to_this() {
    let fixture = ApprovalFixture::new();
    let (mut one, mut two) = (fixture.ask(), fixture.ask());
    assert_ne!(one.approval_id(), two.approval_id());
    let token = token(one.file(), &fixture.person, ApprovalDecision::Granted);
    for path in [fixture.path(&one, "answer"), fixture.path(&two, "answer")] {
        fs::write(path, &token).unwrap();
    }
    assert_eq!(two.poll(time_at(1)), refused(TokenRefusal::OtherApproval));
    assert_eq!(one.poll(time_at(1)), AnswerPoll::Granted { token: token.clone(), signer_type: Human });
    // Used once, and then once more for a later question about the same action.
    let mut three = fixture.ask();
    fs::copy(fixture.path(&one, "granted"), fixture.path(&three, "answer")).unwrap();
    assert_eq!(three.poll(time_at(2)), refused(TokenRefusal::OtherApproval));
}

#[test]
fn a_flood_is_not_told_for_ever() {
    let fixture = ApprovalFixture::new();
    let mut waiting = fixture.ask();
    for count in 1..=MAX_REFUSED_ANSWERS + 4 {
        fs::write(fixture.path(&waiting, "answer"), b"{}").unwrap();
        let expected = match count {
            ..=MAX_REFUSED_ANSWERS => {
                refused(TokenRefusal::Malformed(TokenFault::Missing { member: "token_version" }))
            }
            _ => AnswerPoll::Pending,
        };
        assert_eq!(waiting.poll(time_at(1)), expected, "{count}");
    }
    assert_eq!(fixture.files(&waiting).len(), 1 + MAX_REFUSED_ANSWERS);
    // A valid answer still counts.
    let good = token(waiting.file(), &fixture.person, ApprovalDecision::Granted);
    answer_question(&fixture.only_question(), &good).unwrap();
    assert_eq!(waiting.poll(time_at(1)), AnswerPoll::Granted { token: good, signer_type: Human });
}

#[test]
fn huge_files() {
    let fixture = ApprovalFixture::new();
    let mut waiting = fixture.ask();
    fs::write(fixture.path(&waiting, "answer"), vec![b' '; MAX_APPROVAL_FILE_BYTES + 1]).unwrap();
    assert_eq!(waiting.poll(time_at(1)), refused(ApprovalFileFault::TooLong));
    fs::create_dir(fixture.path(&waiting, "answer")).unwrap();
    assert_eq!(waiting.poll(time_at(1)), refused(ApprovalFileFault::NotAFile));
    assert_eq!(waiting.poll(time_at(1)), AnswerPoll::Pending);
    fs::write(fixture.path(&waiting, "request"), vec![b' '; MAX_APPROVAL_FILE_BYTES + 1]).unwrap();
    let path = fixture.path(&waiting, "request").to_str().unwrap().to_owned();
    let broken = &fixture.pending().broken[..];
    assert_eq!(broken.len(), 1);
    assert_eq!(
        (&broken[0].path, &broken[0].fault),
        (&path, &BrokenQuestionFault::File(ApprovalFileFault::TooLong))
    );
}

#[test]
fn two_answers_at_once() {
    let fixture = ApprovalFixture::new();
    let mut waiting = fixture.ask();
    let asked = fixture.only_question();
    let token = token(&asked.file, &fixture.person, ApprovalDecision::Granted);
    answer_question(&asked, &token).unwrap();
    assert_eq!(answer_question(&asked, b"other"), Err(AnswerError::Answered));
    assert_eq!(waiting.poll(time_at(1)), AnswerPoll::Granted { token, signer_type: Human });
}

#[test]
fn nobody_to_ask() {
    let fixture = ApprovalFixture::new();
    let ask = |signer_types| {
        let question = Question { signer_types, ..fixture.question() };
        fixture.approval_queue().ask(&question, time_at(0)).err()
    };
    assert_eq!(ask(None), None);
    let error = ask(Some(&[Automated])).unwrap();
    assert_eq!(error, AskError::NoApprover { signer_types: Some(vec![Automated]) });
    assert_eq!(
        error.to_string(),
        "nobody can approve this: no approver's key of type automated that the envelope pins for it is here; see: reenact keys list"
    );
    let ask = |pinned: &BTreeSet<KeyId>| {
        fixture.approval_queue().ask(&Question { pinned, ..fixture.question() }, time_at(0)).err()
    };
    assert_eq!(ask(&[].into()), Some(AskError::NotPinned));
    // Pinned, but the key is not here, so that no answer of it would count.
    let stranger = [SecretKey::generate().unwrap().public_key().id()].into();
    assert_eq!(ask(&stranger), Some(AskError::NoApprover { signer_types: Some(vec![Human]) }));
}

#[test]
fn what_cannot_be_asked() {
    let fixture = ApprovalFixture::new();
    let ask = |question: Question<'_>| fixture.approval_queue().ask(&question, time_at(0)).err();
    let long = "x".repeat(4097);
    assert_eq!(
        ask(Question { name: &long, ..fixture.question() }),
        Some(AskError::TooLong { what: "the name", bytes: 4097 })
    );
    assert_eq!(
        ask(Question { rule: &long, ..fixture.question() }),
        Some(AskError::TooLong { what: "the rule", bytes: 4097 })
    );
    assert_eq!(ask(Question { name: "", ..fixture.question() }), Some(AskError::NoName));
    assert_eq!(ask(Question { input: "{}", ..fixture.question() }), Some(AskError::InputHash));
}

#[test]
fn a_long_input_is_shown_in_part() {
    let fixture = ApprovalFixture::new();
    for (character, shown) in
        [("x", 32 * 1024), ("\u{1}", 32 * 1024 / 6), ("\"", 16 * 1024), ("é", 32 * 1024)]
    {
        let long = character.repeat(50_000);
        let waiting = fixture.approval_queue().ask(
            &Question::new(Action::Model, &"\u{1}".repeat(4096), &long, "r", &fixture.pinned),
            time_at(0),
        );
        let waiting = waiting.unwrap();
        let asked = fixture.only_question().file;
        assert!(!asked.is_input_whole);
        assert_eq!((asked.input.len(), asked.input_size), (shown, long.len() as u64));
        assert_eq!(asked.input_hash, input_hash(long.as_bytes()));
        drop(waiting);
    }
}

#[test]
fn a_question_that_shows_something_else_is_broken() {
    let fixture = ApprovalFixture::new();
    let waiting = fixture.ask();
    let path = fixture.path(&waiting, "request");
    let text = fs::read_to_string(&path).unwrap();
    let fault = |text: &str| {
        fs::write(&path, text).unwrap();
        let PendingQuestions { questions, mut broken, .. } = fixture.pending();
        assert_eq!((questions.len(), broken.len()), (0, 1), "{text}");
        broken.pop().unwrap().fault
    };
    let edited = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        fault(&text.replacen(from, to, 1))
    };
    assert_eq!(edited("12.5", "1.25"), BrokenQuestionFault::Request(QuestionFileFault::InputHash));
    let other = RunId::generate().unwrap().to_string();
    assert_eq!(edited(&fixture.run_id.to_string(), &other), BrokenQuestionFault::OutOfPlace);
    assert_eq!(edited(&waiting.approval_id().to_string(), &other), BrokenQuestionFault::OutOfPlace);
    let request = |fault| BrokenQuestionFault::Request(fault);
    assert_eq!(edited("{", "{ "), request(QuestionFileFault::NotCanonical));
    assert_eq!(edited("{", "{\"a\":1,"), request(QuestionFileFault::Unknown { name: "a".into() }));
    let member = |member, wanted| request(QuestionFileFault::Member { member, wanted });
    assert_eq!(
        edited("[\"human\"]", "[\"Human\"]"),
        member("signer_types", "null, or a list of signer types")
    );
    assert_eq!(edited("request/1", "request/2"), member("request_version", "\"reenact-approval-request/1\""));
    assert_eq!(edited("\"rule\":", "\"model\":\"m\",\"rule\":"), request(QuestionFileFault::NotCanonical));
    assert_eq!(edited("\"pinned\":", "\"model\":\"m\",\"pinned\":"), member("model", "absent"));
    assert_eq!(edited("2026-05-13T12:10", "2026-15-13T12:10"), member("expires_at", "a time of RFC 3339"));
    assert_eq!(edited("\"pinned\":[\"", "\"pinned\":[\"A"), member("pinned", "a list of key ids"));
    assert_eq!(fault("[]"), request(QuestionFileFault::NotCanonical));
}

#[test]
fn everything_that_waits_oldest_first() {
    let fixture = ApprovalFixture::new();
    let other = ApprovalFixture { run_id: RunId::generate().unwrap(), ..ApprovalFixture::new() };
    let folder = fixture.folder();
    create_private_folder(&folder.run_path(other.run_id)).unwrap();
    let approvers = vec![Approver { key: other.person.public_key(), signer_type: Human }];
    let queue = ApprovalQueue::new(folder.run_path(other.run_id), other.run_id, approvers, TIMEOUT);
    let second = fixture.approval_queue().ask(&fixture.question(), time_at(20)).unwrap();
    let first = queue.ask(&other.question(), time_at(10)).unwrap();
    let third = queue.ask(&other.question(), time_at(30)).unwrap();
    // Files that are not named like questions are skipped.
    fs::write(folder.run_path(other.run_id).join("approvals/x.request.json"), b"").unwrap();
    let found: Vec<_> = pending_questions(&folder, time_at(40)).unwrap().questions;
    let ids: Vec<_> = found.iter().map(|question| question.file.approval_id).collect();
    assert_eq!(ids, [first.approval_id(), second.approval_id(), third.approval_id()]);
    assert_eq!(
        pending_questions(&RunStore::new("/nowhere/at/all"), time_at(0)),
        Ok(PendingQuestions::default())
    );
}

#[cfg(unix)]
mod closed_to_others {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use reenact_record::RunStoreError;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn files_and_folder() {
        let fixture = ApprovalFixture::new();
        let mut waiting = fixture.ask();
        assert_eq!(mode(fixture.path(&waiting, "request").parent().unwrap()), 0o700);
        assert_eq!(mode(&fixture.path(&waiting, "request")), 0o600);
        answer_question(&fixture.only_question(), b"{}").unwrap();
        assert_eq!(mode(&fixture.path(&waiting, "answer")), 0o600);
        assert!(matches!(waiting.poll(time_at(1)), AnswerPoll::Refused { .. }));
        assert_eq!(mode(&fixture.path(&waiting, "refused-1")), 0o600);
    }

    #[test]
    fn links_are_not_followed() {
        let fixture = ApprovalFixture::new();
        let mut waiting = fixture.ask();
        let elsewhere = fixture.dir.join("token");
        fs::write(&elsewhere, token(waiting.file(), &fixture.person, ApprovalDecision::Granted)).unwrap();
        symlink(&elsewhere, fixture.path(&waiting, "answer")).unwrap();
        assert_eq!(waiting.poll(time_at(1)), refused(ApprovalFileFault::Link));
        assert!(fixture.path(&waiting, "refused-1").is_symlink());
        // A link in the place of a question is not followed either.
        let path = fixture.path(&waiting, "request");
        fs::rename(&path, fixture.dir.join("request")).unwrap();
        symlink(fixture.dir.join("request"), &path).unwrap();
        assert_eq!(fixture.pending().broken[0].fault, BrokenQuestionFault::File(ApprovalFileFault::Link));
    }

    #[test]
    fn a_pipe_does_not_keep_anyone_waiting() {
        let fixture = ApprovalFixture::new();
        let mut waiting = fixture.ask();
        let path = fixture.path(&waiting, "answer");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert_eq!(waiting.poll(time_at(1)), refused(ApprovalFileFault::NotAFile));
    }

    #[test]
    fn a_folder_that_others_write_to_is_not_used() {
        let fixture = ApprovalFixture::new();
        let waiting = fixture.ask();
        let folder = fixture.path(&waiting, "request").parent().unwrap().to_owned();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let path = folder.to_str().unwrap().to_owned();
        let error = RunStoreError::OpenToOthers { path: path.clone(), mode: 0o777 };
        assert_eq!(
            fixture.approval_queue().ask(&fixture.question(), time_at(0)).err(),
            Some(AskError::Folder(error.clone()))
        );
        assert_eq!(fixture.pending().broken[0].fault, BrokenQuestionFault::Folder(error));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let away = fixture.dir.join("away");
        fs::rename(&folder, &away).unwrap();
        symlink(&away, &folder).unwrap();
        let error = AskError::Folder(RunStoreError::Link { path });
        assert_eq!(fixture.approval_queue().ask(&fixture.question(), time_at(0)).err(), Some(error));
    }
}
