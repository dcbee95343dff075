//! Time for which a person is asked is no time of the vendor's: not of a request that waits before it leaves, and not of an answer that
//! is held back.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use reenact_capture::observation::{EndCause, InboundRequest};
use reenact_capture::{Capture, DEFAULT_MAX_BODY_BYTES, EnforcedPolicy};
use reenact_formats::rer::approval::{ApprovalDecision, ApprovalTokenDraft, Approver, sign};
use reenact_formats::rer::envelope::permission::SignerType::Human;
use reenact_formats::rer::seal::Signer;
use reenact_keys::SecretKey;
use reenact_record::approval::{ApprovalQueue, answer_question, pending_questions};
use reenact_record::clock::timestamp;
use reenact_record::{Durability, Recorder, RunId, RunStart, RunStore};
use reenact_testkit::fixture::TestDir;
use reenact_wire::ToolCall;
use reenact_wire::price::PriceTable;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{advance, sleep};

const MINUTE: Duration = Duration::from_secs(60);

/// Approves the question that waits, or comes, after one minute of the test's clock.
async fn approve_after_a_minute(folder: &RunStore, key: &SecretKey) {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let question = loop {
        if let Some(question) = pending_questions(folder, now()).unwrap().questions.pop() {
            break question;
        }
        tokio::task::yield_now().await;
    };
    sleep(MINUTE).await;
    let asked = &question.file;
    let draft = ApprovalTokenDraft {
        approval_id: &asked.approval_id.to_string(),
        run_id: &asked.run_id.to_string(),
        action: asked.action,
        name: &asked.name,
        input_hash: asked.input_hash,
        decision: ApprovalDecision::Granted,
        signer_type: Human,
        issued_at: &timestamp(now()),
        expires_at: &asked.expires_at,
    };
    answer_question(&question, &sign(&draft, key).unwrap()).unwrap();
}

/// The clock of the exchange stands still but for what the test and the waits add, so that the times are exact.
#[tokio::test(start_paused = true)]
async fn what_a_person_takes_is_not_the_vendors() {
    let (dir, key, person) = (TestDir::new(), SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
    let (folder, run_id) = (RunStore::new(dir.join(RunStore::NAME)), RunId::generate().unwrap());
    let id = person.public_key().id();
    let envelope = format!(
        r#"{{"envelope_version":"rer-envelope/0.2","permissions":{{"allowed_models":["gpt-5"],"allowed_tools":["pay"]}},"limits":{{}},
        "required_approvals":[{{"action":"model.call"}},{{"action":"tool.call"}}],
        "metadata":{{"approvers":[{{"action":"model.call","keys":["{id}"]}},{{"action":"tool.call","keys":["{id}"]}}]}}}}"#
    );
    let start = RunStart { envelope: Some(envelope.as_bytes()), ..RunStart::new(run_id) };
    let recorder = Recorder::builder(&folder, &key).begin(&start).unwrap();
    let approvers = vec![Approver { key: person.public_key(), signer_type: Human }];
    let policy = EnforcedPolicy {
        engine: recorder.policy_engine().unwrap(),
        prices: PriceTable::list_prices(),
        approvals: ApprovalQueue::new(recorder.folder(), run_id, approvers, 10 * MINUTE),
    };
    let (writer, durability) = (recorder.event_writer(), Durability::Process);
    let capture = Capture::start(writer, None, durability, Some(policy), DEFAULT_MAX_BODY_BYTES).unwrap();
    let gate = capture.gate().unwrap();
    let (guard, _ended) = mpsc::channel(1);
    let request = InboundRequest {
        provider: "openai".into(),
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        headers: [("content-type", &b"application/json"[..])].into_iter().collect(),
        has_trailers: false,
        admission: None,
        body: Bytes::from(r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}"#).into(),
    };

    let (exchange, ()) = tokio::join!(
        capture.begin(request, "", Some(gate), guard.clone()),
        approve_after_a_minute(&folder, &person)
    );
    let exchange = exchange.unwrap();
    advance(Duration::from_millis(7)).await;
    exchange.with(|exchange| {
        exchange.take_head(200, "1.1", [("content-type", &b"application/json"[..])].into_iter().collect());
        exchange.take_piece(&Bytes::from(r#"{"choices":[]"#));
        exchange.flush_to_log();
    });
    let calls = [ToolCall { id: "c1".into(), name: "pay".into(), input: "{}".into() }];
    let (admitted, ()) =
        tokio::join!(exchange.admit_tools(gate, &calls), approve_after_a_minute(&folder, &person));
    assert_eq!(admitted, Ok(()));
    advance(Duration::from_millis(5)).await;
    exchange.with(|exchange| exchange.take_piece(&Bytes::from("}")));
    if let Some(written) = exchange.with(|exchange| exchange.finish(EndCause::Eof)) {
        written.await;
    }
    drop(exchange);
    let journal = folder.journal_path(run_id);
    tokio::task::spawn_blocking(move || capture.finish()).await.unwrap();
    let events: Vec<Value> = fs::read_to_string(journal)
        .unwrap()
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let of = |event_type: &str| events.iter().filter(|event| event["event_type"] == event_type).count();
    assert_eq!((of("rer.approval.granted"), of("rer.model.returned")), (2, 1));
    let returned = events.iter().find(|event| event["event_type"] == "rer.model.returned").unwrap();
    let payload = &returned["payload"];
    assert_eq!((&payload["ttft_ms"], &payload["latency_ms"]), (&7.into(), &12.into()));
    let times: Vec<&Value> = payload["http"]["chunks"].as_array().unwrap().iter().map(|it| &it[0]).collect();
    assert_eq!(times, [&Value::from(7), &Value::from(12)]);
}
