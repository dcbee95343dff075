//! Actions that need an approval wait for it. A granted action happens once; a denied one does not happen, and
//! the record says why.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::time::Duration;

use reenact_formats::rer::approval::{ApprovalDecision, ApprovalTokenDraft, Approver, sign};
use reenact_formats::rer::seal::Signer;
use reenact_keys::SecretKey;
use reenact_record::approval::{QuestionFile, pending_questions};
use reenact_record::clock::{Clock, timestamp};
use reenact_record::policy_engine::SignerType::Human;
use reenact_record::{RunId, RunStore};
use reenact_testkit::{Script, ScriptedReply, ScriptedVendor, WaitCondition};
use reenact_verify::audit::AuditVerdict;
use serde_json::Value;
use support::client::TestResponse;
use support::enforced::{EnforcedRun, ManualClock, ModelApi};
use support::{LiveRun, SealedRun};

const STREAM: &str = r#","stream":true"#;

/// Run in which some actions need an approval, with the approver's key.
struct ApprovalRun {
    vendor: ScriptedVendor,
    run: LiveRun,
    clock: ManualClock,
    approver: SecretKey,
    /// Key of an approver that is at hand, and that the envelope does not pin.
    unpinned: SecretKey,
}

impl ApprovalRun {
    /// Starts a run in which these actions need an approval.
    fn start(actions: &[&str]) -> Self {
        let script = Script::replying(|_| ScriptedReply::text("Wait.").and_call("lookup", r#"{"q":"x"}"#));
        let (vendor, approver) = (ScriptedVendor::start(script).unwrap(), SecretKey::generate().unwrap());
        let mut enforced = EnforcedRun::default();
        let rules: Vec<String> = actions.iter().map(|action| format!(r#"{{"action":"{action}"}}"#)).collect();
        enforced.envelope_limits += &format!(r#","required_approvals":[{}]"#, rules.join(","));
        let unpinned = SecretKey::generate().unwrap();
        let approvers = [&approver, &unpinned];
        enforced.approvers =
            approvers.map(|key| Approver { key: key.public_key(), signer_type: Human }).into();
        enforced.pinned = Some(vec![approver.public_key().id()]);
        let clock = enforced.clock.clone();
        let run = enforced.start(&vendor);
        Self { vendor, run, clock, approver, unpinned }
    }

    /// Asks a model, whose answer calls a tool.
    fn ask(&self, api: ModelApi, more: &'static str) -> tokio::task::JoinHandle<TestResponse> {
        let client = api.client(&self.run);
        tokio::spawn(async move { client.post(api.path(), &api.body(api.model(), more)).await })
    }

    fn folder(&self) -> RunStore {
        RunStore::new(self.run.dir.join(RunStore::NAME))
    }

    /// Waits for the pending question, and returns it.
    async fn pending_question(&self) -> QuestionFile {
        loop {
            if let Some(asked) = pending_questions(&self.folder(), self.clock.now()).unwrap().questions.pop()
            {
                return asked.file;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Returns the approver's signed decision on a question.
    fn token(&self, asked: &QuestionFile, decision: ApprovalDecision) -> Vec<u8> {
        signed(asked, asked.run_id, decision, self.clock.now(), &self.approver)
    }

    fn answer(&self, asked: &QuestionFile, token: &[u8]) {
        let approvals = self.folder().run_path(self.run.run_id()).join("approvals");
        let half = approvals.join("half");
        fs::write(&half, token).unwrap();
        fs::rename(half, approvals.join(format!("{}.answer.json", asked.approval_id))).unwrap();
    }

    /// Waits until the journal has an event of this type.
    async fn wait_for_event(&self, event_type: &str) {
        while !self.run.types().iter().any(|known| known == event_type) {
            tokio::task::yield_now().await;
        }
    }
}

fn signed(
    asked: &QuestionFile,
    run_id: RunId,
    decision: ApprovalDecision,
    now: Duration,
    key: &SecretKey,
) -> Vec<u8> {
    let (approval_id, run_id) = (asked.approval_id.to_string(), run_id.to_string());
    let draft = ApprovalTokenDraft {
        approval_id: &approval_id,
        run_id: &run_id,
        action: asked.action,
        name: &asked.name,
        input_hash: asked.input_hash,
        decision,
        signer_type: Human,
        issued_at: &timestamp(now),
        expires_at: &timestamp(now + Duration::from_secs(300)),
    };
    sign(&draft, key).unwrap()
}

fn reasons(sealed: &SealedRun, event_type: &str, member: &str) -> Vec<String> {
    sealed.payloads(event_type).iter().map(|payload| payload[member].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn granted_it_happens() {
    for (api, more) in ModelApi::ALL.into_iter().flat_map(|api| [(api, ""), (api, STREAM)]) {
        let approvals = ApprovalRun::start(&["tool.call"]);
        let asking = approvals.ask(api, more);
        let asked = approvals.pending_question().await;
        assert_eq!(
            (asked.name.as_str(), asked.input.as_str(), asked.is_input_whole),
            ("lookup", r#"{"q":"x"}"#, true)
        );
        assert_eq!(asked.rule, "required_approvals[0]");
        assert!(!asking.is_finished());
        approvals.answer(&asked, &approvals.token(&asked, ApprovalDecision::Granted));
        let response = asking.await.unwrap();
        assert_eq!(
            (response.status(), response.body),
            (200, approvals.vendor.sent_answers()[0].body.to_vec()),
            "{api:?}{more}"
        );
        // An approval is valid for one call only.
        let again = approvals.ask(api, more);
        let other = approvals.pending_question().await;
        assert_ne!(other.approval_id, asked.approval_id);
        approvals.answer(
            &other,
            &approvals.token(&other, ApprovalDecision::Denied { reason: Some("enough".into()) }),
        );
        assert!(again.await.unwrap().text().contains("denied by required_approvals: enough"));
        let sealed = approvals.run.seal().await;
        let course =
            ["approval.requested", "approval.granted", "policy.evaluated", "tool.called", "model.returned"];
        assert_eq!(sealed.inner_event_types()[2..7], course);
        let evaluated = sealed.payloads("rer.policy.evaluated")[1];
        assert_eq!(evaluated["approval_id"], asked.approval_id.to_string());
        let requested = sealed.payloads("rer.approval.requested")[0];
        assert_eq!((&requested["tool"], &requested["action"]), (&"lookup".into(), &"tool.call".into()));
        assert_eq!(requested["input_hash"], asked.input_hash.to_string());
        let token = &sealed.only_payload("rer.approval.granted")["token"];
        assert_eq!(token["signer_type"], "human");
        sealed.assert_rules_pass();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_waits_before_it_leaves() {
    let approvals = ApprovalRun::start(&["model.call", "tool.call"]);
    let asking = approvals.ask(ModelApi::Chat, "");
    let asked = approvals.pending_question().await;
    assert_eq!(
        (asked.name.as_str(), asked.input.as_str()),
        ("gpt-5", ModelApi::Chat.body("gpt-5", "").as_str())
    );
    assert_eq!(approvals.vendor.requests(), []);
    approvals.answer(&asked, &approvals.token(&asked, ApprovalDecision::Granted));
    // Next comes the question for the tool call.
    approvals.vendor.wait_async(WaitCondition::Ends(1)).await;
    let asked = approvals.pending_question().await;
    approvals.answer(&asked, &approvals.token(&asked, ApprovalDecision::Denied { reason: None }));
    let response = asking.await.unwrap();
    let due = ModelApi::Chat.denial_body("permission_error", "required_approvals", "the approver said no");
    assert_eq!((response.status(), response.text()), (403, due.as_str()));
    let sealed = approvals.run.seal().await;
    assert_eq!(
        sealed.inner_event_types(),
        [
            "approval.requested",
            "approval.granted",
            "policy.evaluated",
            "model.called",
            "approval.requested",
            "approval.denied",
            "policy.evaluated",
            "policy.step_blocked",
            "model.returned",
            "spend.counted"
        ]
    );
    sealed.assert_rules_pass();
}

/// Invalid answers are recorded and set aside, and the question stays pending.
#[tokio::test(flavor = "multi_thread")]
async fn answers_that_do_not_hold() {
    let approvals = ApprovalRun::start(&["model.call"]);
    let asking = approvals.ask(ModelApi::Messages, "");
    let asked = approvals.pending_question().await;
    let now = approvals.clock.now();
    let grant = || ApprovalDecision::Granted;
    let stranger = SecretKey::generate().unwrap();
    let mine = approvals.token(&asked, grant());
    let forged = String::from_utf8(mine.clone()).unwrap().replace("granted", "denied").into_bytes();
    let other = QuestionFile {
        approval_id: RunId::generate().unwrap().to_string().parse().unwrap(),
        ..asked.clone()
    };
    let renamed = QuestionFile { name: "gpt-5".into(), ..asked.clone() };
    let early = now - Duration::from_secs(400);
    for (token, code) in [
        (signed(&asked, asked.run_id, grant(), now, &stranger), "foreign"),
        // A key that an agent made in an earlier run lies beside the approver's, and approves nothing.
        (signed(&asked, asked.run_id, grant(), now, &approvals.unpinned), "not_pinned"),
        (signed(&asked, RunId::generate().unwrap(), grant(), now, &approvals.approver), "other_run"),
        (approvals.token(&other, grant()), "other_approval"),
        (approvals.token(&renamed, grant()), "other_name"),
        (signed(&asked, asked.run_id, grant(), early, &approvals.approver), "expired"),
        (forged, "forged"),
        (b"{}".to_vec(), "malformed"),
    ] {
        let errors = || approvals.run.types().iter().filter(|name| *name == "rer.error.raised").count();
        let before = errors();
        approvals.answer(&asked, &token);
        while errors() == before {
            tokio::task::yield_now().await;
        }
        let (event_type, payload) = approvals.run.journal().pop().unwrap();
        let code = format!("approval_{code}");
        assert_eq!(
            (event_type.as_str(), payload["error_type"].as_str()),
            ("rer.error.raised", Some(code.as_str()))
        );
        assert!(payload["message"].as_str().unwrap().starts_with(&asked.approval_id.to_string()));
        assert!(!asking.is_finished());
    }
    assert_eq!(approvals.vendor.requests(), []);
    approvals.answer(&asked, &mine);
    assert_eq!(asking.await.unwrap().status(), 200);
    // The same token, used again for the next question.
    let asking = approvals.ask(ModelApi::Messages, "");
    let next = approvals.pending_question().await;
    approvals.answer(&next, &mine);
    while approvals.run.journal().pop().unwrap().1["error_type"] != "approval_other_approval" {
        tokio::task::yield_now().await;
    }
    // No valid answer comes.
    approvals.clock.advance(Duration::from_secs(599));
    assert!(!asking.is_finished());
    approvals.clock.advance(Duration::from_secs(1));
    let response = asking.await.unwrap();
    let due = ModelApi::Messages.denial_body(
        "permission_error",
        "required_approvals",
        "nobody approved it in time",
    );
    assert_eq!(
        (response.status(), response.text(), approvals.vendor.requests().len()),
        (403, due.as_str(), 1)
    );
    let sealed = approvals.run.seal().await;
    assert_eq!(sealed.payloads("rer.approval.granted").len(), 1);
    assert_eq!(reasons(&sealed, "rer.approval.denied", "reason"), ["nobody approved it in time"]);
    sealed.assert_rules_pass();
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_there_to_approve() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let mut enforced = EnforcedRun::default();
    enforced.envelope_limits +=
        r#","required_approvals":[{"action":"model.call","signer_types":["automated"]}]"#;
    let run = enforced.start(&vendor);
    let response = ModelApi::Chat.ask(&run, "").await;
    let reason = "nobody can approve this: the envelope pins no approver for it (metadata.approvers)";
    let due = ModelApi::Chat.denial_body("permission_error", "required_approvals", reason);
    assert_eq!((response.status(), response.text(), vendor.requests().len()), (403, due.as_str(), 0));
    run.seal().await.assert_rules_pass();
}

/// The agent disconnects before the answer: its question is withdrawn, and the record says that nothing was
/// allowed.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_leaves_while_it_waits() {
    for (action, more) in [("model.call", ""), ("tool.call", ""), ("tool.call", STREAM)] {
        let approvals = ApprovalRun::start(&[action]);
        let client = approvals.run.anthropic();
        let mut connection = client.connect().await;
        let body = ModelApi::Messages.body("claude-sonnet-4-5", more);
        connection.write(&client.request("POST", "/v1/messages", &[], body.as_bytes())).await;
        let asked = approvals.pending_question().await;
        drop(connection);
        approvals.wait_for_event("rer.policy.step_blocked").await;
        assert_eq!(pending_questions(&approvals.folder(), approvals.clock.now()).unwrap().questions, []);
        // The approval comes too late.
        approvals.answer(&asked, &approvals.token(&asked, ApprovalDecision::Granted));
        let sealed = approvals.run.seal().await;
        let reason = "the agent did not wait for the approval";
        assert_eq!(reasons(&sealed, "rer.approval.denied", "reason"), [reason], "{action}{more}");
        assert_eq!(reasons(&sealed, "rer.policy.step_blocked", "reason"), [reason]);
        assert_eq!(sealed.payloads("rer.approval.granted"), Vec::<&Value>::new());
        assert_eq!(approvals.vendor.requests().len(), usize::from(action == "tool.call"));
        if action == "tool.call" {
            let returned = sealed.only_payload("rer.model.returned");
            let delivered = returned["delivered"]["text"].as_str().unwrap();
            assert!(!delivered.contains("lookup"), "{delivered}");
            assert_eq!(returned["ended_by"], "client");
        }
        assert_eq!(sealed.verdict("required_approvals").0, AuditVerdict::Pass);
        assert_eq!(sealed.verdict("event_order").0, AuditVerdict::Pass);
    }
}

/// After an approval the other rules are evaluated again, at the new time.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_does_not_stop_the_clock() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let person = SecretKey::generate().unwrap();
    let mut enforced = EnforcedRun::default();
    enforced.envelope_limits +=
        r#","expiry":"2026-05-13T12:01:00Z","required_approvals":[{"action":"model.call"}]"#;
    enforced.approvers = vec![Approver { key: person.public_key(), signer_type: Human }];
    let clock = enforced.clock.clone();
    let run = enforced.start(&vendor);
    let unpinned = SecretKey::generate().unwrap();
    let approvals = ApprovalRun { vendor, run, clock, approver: person, unpinned };
    let asking = approvals.ask(ModelApi::Chat, "");
    let asked = approvals.pending_question().await;
    let token = approvals.token(&asked, ApprovalDecision::Granted);
    approvals.clock.advance(Duration::from_secs(60));
    approvals.answer(&asked, &token);
    let response = asking.await.unwrap();
    let due = ModelApi::Chat.denial_body("permission_error", "expiry", "the envelope has expired");
    assert_eq!(
        (response.status(), response.text(), approvals.vendor.requests().len()),
        (403, due.as_str(), 0)
    );
    approvals.run.seal().await.assert_rules_pass();
}
