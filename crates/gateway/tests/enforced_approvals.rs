//! What needs an approval waits for it: granted, it happens once; else it does not, and the record says why.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::time::Duration;

use reenact_formats::rer::approval::{Approver, Decision, Draft, sign};
use reenact_formats::rer::seal::Signer;
use reenact_keys::SecretKey;
use reenact_record::approval::{Request, pending};
use reenact_record::clock::{Clock, timestamp};
use reenact_record::warden::SignerType::Human;
use reenact_record::{Folder, RunId};
use reenact_testkit::{Moment, Reply, Script, Vendor};
use reenact_verify::audit::Verdict;
use serde_json::Value;
use support::client::Got;
use support::enforced::{Door, Law, Noon};
use support::{Flight, Landed};

const STREAM: &str = r#","stream":true"#;

/// A run in which something needs an approval, and the one who may give it.
struct Office {
    vendor: Vendor,
    flight: Flight,
    clock: Noon,
    person: SecretKey,
}

impl Office {
    /// Where these actions need an approval.
    fn asking_for(actions: &[&str]) -> Self {
        let script = Script::replying(|_| Reply::text("Wait.").and_call("lookup", r#"{"q":"x"}"#));
        let (vendor, person) = (Vendor::start(script).unwrap(), SecretKey::generate().unwrap());
        let mut law = Law::default();
        let rules: Vec<String> = actions.iter().map(|action| format!(r#"{{"action":"{action}"}}"#)).collect();
        law.limits += &format!(r#","required_approvals":[{}]"#, rules.join(","));
        law.approvers = vec![Approver { key: person.public_key(), signer_type: Human }];
        let clock = law.clock.clone();
        let flight = law.over(&vendor);
        Self { vendor, flight, clock, person }
    }

    /// Asks a model, which asks for a tool.
    fn ask(&self, door: Door, more: &'static str) -> tokio::task::JoinHandle<Got> {
        let client = door.client(&self.flight);
        tokio::spawn(async move { client.post(door.path(), &door.body(door.model(), more)).await })
    }

    fn folder(&self) -> Folder {
        Folder::new(self.flight.place.join(Folder::NAME))
    }

    /// The question that waits.
    async fn question(&self) -> Request {
        loop {
            if let Some(asked) = pending(&self.folder(), self.clock.now()).unwrap().questions.pop() {
                return asked.request;
            }
            tokio::task::yield_now().await;
        }
    }

    /// An answer to a question, with something changed.
    fn token(&self, asked: &Request, decision: Decision) -> Vec<u8> {
        signed(asked, asked.run_id, decision, self.clock.now(), &self.person)
    }

    fn answer(&self, asked: &Request, token: &[u8]) {
        let approvals = self.folder().run(self.flight.run_id()).join("approvals");
        let half = approvals.join("half");
        fs::write(&half, token).unwrap();
        fs::rename(half, approvals.join(format!("{}.answer.json", asked.approval_id))).unwrap();
    }

    /// Waits until the record has an event of this type.
    async fn recorded(&self, event_type: &str) {
        while !self.flight.types().iter().any(|known| known == event_type) {
            tokio::task::yield_now().await;
        }
    }
}

fn signed(asked: &Request, run_id: RunId, decision: Decision, now: Duration, key: &SecretKey) -> Vec<u8> {
    let (approval_id, run_id) = (asked.approval_id.to_string(), run_id.to_string());
    let draft = Draft {
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

fn reasons(landed: &Landed, event_type: &str, member: &str) -> Vec<String> {
    landed.all(event_type).iter().map(|payload| payload[member].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn granted_it_happens() {
    for (door, more) in Door::ALL.into_iter().flat_map(|door| [(door, ""), (door, STREAM)]) {
        let office = Office::asking_for(&["tool.call"]);
        let asking = office.ask(door, more);
        let asked = office.question().await;
        assert_eq!(
            (asked.name.as_str(), asked.input.as_str(), asked.is_whole),
            ("lookup", r#"{"q":"x"}"#, true)
        );
        assert_eq!(asked.rule, "required_approvals[0]");
        assert!(!asking.is_finished());
        office.answer(&asked, &office.token(&asked, Decision::Granted));
        let got = asking.await.unwrap();
        assert_eq!((got.status(), got.body), (200, office.vendor.sent()[0].body.to_vec()), "{door:?}{more}");
        // What was approved was approved once.
        let again = office.ask(door, more);
        let other = office.question().await;
        assert_ne!(other.approval_id, asked.approval_id);
        office.answer(&other, &office.token(&other, Decision::Denied { reason: Some("enough".into()) }));
        assert!(again.await.unwrap().text().contains("denied by required_approvals: enough"));
        let landed = office.flight.land().await;
        let course =
            ["approval.requested", "approval.granted", "policy.evaluated", "tool.called", "model.returned"];
        assert_eq!(landed.course()[2..7], course);
        let evaluated = landed.all("rer.policy.evaluated")[1];
        assert_eq!(evaluated["approval_id"], asked.approval_id.to_string());
        let requested = landed.all("rer.approval.requested")[0];
        assert_eq!((&requested["tool"], &requested["action"]), (&"lookup".into(), &"tool.call".into()));
        assert_eq!(requested["input_hash"], asked.input_hash.to_string());
        let token = &landed.the("rer.approval.granted")["token"];
        assert_eq!(token["signer_type"], "human");
        landed.is_kept();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_waits_before_it_leaves() {
    let office = Office::asking_for(&["model.call", "tool.call"]);
    let asking = office.ask(Door::Chat, "");
    let asked = office.question().await;
    assert_eq!((asked.name.as_str(), asked.input.as_str()), ("gpt-5", Door::Chat.body("gpt-5", "").as_str()));
    assert_eq!(office.vendor.requests(), []);
    office.answer(&asked, &office.token(&asked, Decision::Granted));
    // Then the tool that it asks for.
    office.vendor.when(Moment::Ends(1)).await;
    let asked = office.question().await;
    office.answer(&asked, &office.token(&asked, Decision::Denied { reason: None }));
    let got = asking.await.unwrap();
    let due = Door::Chat.no("permission_error", "required_approvals", "the approver said no");
    assert_eq!((got.status(), got.text()), (403, due.as_str()));
    let landed = office.flight.land().await;
    assert_eq!(
        landed.course(),
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
    landed.is_kept();
}

/// Answers that do not hold are set aside and told, and the question waits on.
#[tokio::test(flavor = "multi_thread")]
async fn answers_that_do_not_hold() {
    let office = Office::asking_for(&["model.call"]);
    let asking = office.ask(Door::Messages, "");
    let asked = office.question().await;
    let now = office.clock.now();
    let grant = || Decision::Granted;
    let stranger = SecretKey::generate().unwrap();
    let mine = office.token(&asked, grant());
    let forged = String::from_utf8(mine.clone()).unwrap().replace("granted", "denied").into_bytes();
    let other =
        Request { approval_id: RunId::generate().unwrap().to_string().parse().unwrap(), ..asked.clone() };
    let renamed = Request { name: "gpt-5".into(), ..asked.clone() };
    let early = now - Duration::from_secs(400);
    for (token, code) in [
        (signed(&asked, asked.run_id, grant(), now, &stranger), "foreign"),
        (signed(&asked, RunId::generate().unwrap(), grant(), now, &office.person), "other_run"),
        (office.token(&other, grant()), "other_approval"),
        (office.token(&renamed, grant()), "other_name"),
        (signed(&asked, asked.run_id, grant(), early, &office.person), "expired"),
        (forged, "forged"),
        (b"{}".to_vec(), "malformed"),
    ] {
        let errors = || office.flight.types().iter().filter(|name| *name == "rer.error.raised").count();
        let before = errors();
        office.answer(&asked, &token);
        while errors() == before {
            tokio::task::yield_now().await;
        }
        let (event_type, payload) = office.flight.journal().pop().unwrap();
        let code = format!("approval_{code}");
        assert_eq!(
            (event_type.as_str(), payload["error_type"].as_str()),
            ("rer.error.raised", Some(code.as_str()))
        );
        assert!(payload["message"].as_str().unwrap().starts_with(&asked.approval_id.to_string()));
        assert!(!asking.is_finished());
    }
    assert_eq!(office.vendor.requests(), []);
    office.answer(&asked, &mine);
    assert_eq!(asking.await.unwrap().status(), 200);
    // The same token again, for the next question.
    let asking = office.ask(Door::Messages, "");
    let next = office.question().await;
    office.answer(&next, &mine);
    while office.flight.journal().pop().unwrap().1["error_type"] != "approval_other_approval" {
        tokio::task::yield_now().await;
    }
    // Nobody else answers.
    office.clock.pass(Duration::from_secs(599));
    assert!(!asking.is_finished());
    office.clock.pass(Duration::from_secs(1));
    let got = asking.await.unwrap();
    let due = Door::Messages.no("permission_error", "required_approvals", "nobody approved it in time");
    assert_eq!((got.status(), got.text(), office.vendor.requests().len()), (403, due.as_str(), 1));
    let landed = office.flight.land().await;
    assert_eq!(landed.all("rer.approval.granted").len(), 1);
    assert_eq!(reasons(&landed, "rer.approval.denied", "reason"), ["nobody approved it in time"]);
    landed.is_kept();
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_there_to_approve() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let mut law = Law::default();
    law.limits += r#","required_approvals":[{"action":"model.call","signer_types":["automated"]}]"#;
    let flight = law.over(&vendor);
    let got = Door::Chat.ask(&flight, "").await;
    let reason = "nobody can approve this: there is no approver's key of type automated; make one with: reenact keys generate NAME --approver";
    let due = Door::Chat.no("permission_error", "required_approvals", reason);
    assert_eq!((got.status(), got.text(), vendor.requests().len()), (403, due.as_str(), 0));
    flight.land().await.is_kept();
}

/// An agent that does not wait has not been allowed anything: its question is withdrawn, and the record ends it.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_leaves_while_it_waits() {
    for (action, more) in [("model.call", ""), ("tool.call", ""), ("tool.call", STREAM)] {
        let office = Office::asking_for(&[action]);
        let client = office.flight.anthropic();
        let mut connection = client.connect().await;
        let body = Door::Messages.body("claude-sonnet-4-5", more);
        connection.write(&client.request("POST", "/v1/messages", &[], body.as_bytes())).await;
        let asked = office.question().await;
        drop(connection);
        office.recorded("rer.policy.step_blocked").await;
        assert_eq!(pending(&office.folder(), office.clock.now()).unwrap().questions, []);
        // Too late.
        office.answer(&asked, &office.token(&asked, Decision::Granted));
        let landed = office.flight.land().await;
        let reason = "the agent did not wait for the approval";
        assert_eq!(reasons(&landed, "rer.approval.denied", "reason"), [reason], "{action}{more}");
        assert_eq!(reasons(&landed, "rer.policy.step_blocked", "reason"), [reason]);
        assert_eq!(landed.all("rer.approval.granted"), Vec::<&Value>::new());
        assert_eq!(office.vendor.requests().len(), usize::from(action == "tool.call"));
        if action == "tool.call" {
            let returned = landed.the("rer.model.returned");
            let delivered = returned["delivered"]["text"].as_str().unwrap();
            assert!(!delivered.contains("lookup"), "{delivered}");
            assert_eq!(returned["ended_by"], "client");
        }
        assert_eq!(landed.verdict("required_approvals").0, Verdict::Pass);
        assert_eq!(landed.verdict("event_order").0, Verdict::Pass);
    }
}

/// What was approved while time passed is held against the other rules once more.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_does_not_stop_the_clock() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let person = SecretKey::generate().unwrap();
    let mut law = Law::default();
    law.limits += r#","expiry":"2026-05-13T12:01:00Z","required_approvals":[{"action":"model.call"}]"#;
    law.approvers = vec![Approver { key: person.public_key(), signer_type: Human }];
    let clock = law.clock.clone();
    let flight = law.over(&vendor);
    let office = Office { vendor, flight, clock, person };
    let asking = office.ask(Door::Chat, "");
    let asked = office.question().await;
    let token = office.token(&asked, Decision::Granted);
    office.clock.pass(Duration::from_secs(60));
    office.answer(&asked, &token);
    let got = asking.await.unwrap();
    let due = Door::Chat.no("permission_error", "expiry", "the envelope has expired");
    assert_eq!((got.status(), got.text(), office.vendor.requests().len()), (403, due.as_str(), 0));
    office.flight.land().await.is_kept();
}
