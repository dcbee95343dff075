//! Recorder killed under an envelope: each decision is in the log before it has an effect, and is recovered
//! unchanged.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;

use reenact_testkit::{Script, ScriptedReply, ScriptedVendor, WaitCondition};
use reenact_verify::audit::AuditVerdict;
use serde_json::Value;
use support::enforced::{EnforcedRun, ModelApi};
use support::killed_run::KilledRun;
use support::{LiveRun, SealedRun};

/// Starts a run with calls, results and a denial. Its last stream is still open; the client got an error in
/// place of a tool call.
async fn with_open_stream(vendor: &ScriptedVendor) -> Option<LiveRun> {
    let run = EnforcedRun::with_limits(r#"{"max_steps":9,"max_spend_usd":1}"#).start(vendor);
    run.logs.as_ref()?;
    let lookup = ModelApi::Messages.ask(&run, "").await;
    assert_eq!(lookup.status(), 200);
    let asked: Value = serde_json::from_slice(&lookup.body).unwrap();
    let id = asked["content"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        ModelApi::Chat.client(&run).post("/chat/completions", &ModelApi::Chat.body("o3", "")).await.status(),
        403
    );
    let result = format!(
        r#"{{"model":"claude-sonnet-4-5","stream":true,"messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"42"}}]}}]}}"#
    );
    let response = run.anthropic().post("/v1/messages", &result).await;
    assert!(response.is_whole && response.text().contains("reenact_denied"));
    vendor.wait_async(WaitCondition::Gate("never".into())).await;
    Some(run)
}

fn script() -> Script {
    Script::replying(|request| match request.index {
        0 => ScriptedReply::call("lookup", "{}"),
        _ => ScriptedReply::text("One moment.").and_call("pay_invoice", "{}"),
    })
    .map(|request, answer| if request.index == 0 { answer } else { answer.wait_before(usize::MAX, "never") })
}

/// Returns the events without their random salts.
fn without_random_parts(events: &[(String, Value)]) -> Vec<(String, Value)> {
    let strip = |payload: &Value| {
        let mut payload = payload.clone();
        payload.as_object_mut().unwrap().remove("salt");
        payload
    };
    events.iter().map(|(name, payload)| (name.clone(), strip(payload))).collect()
}

/// Asserts that the audit finds no broken rule.
fn assert_no_failed_rule(sealed: &SealedRun, what: usize) {
    for rule in &sealed.report.audit.as_ref().unwrap().rules {
        assert_ne!(
            rule.verdict,
            AuditVerdict::Fail,
            "{what}: {} at {:?}: {}",
            rule.rule,
            rule.event,
            rule.reason
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_come_back_as_they_were() {
    let vendor = ScriptedVendor::start(script()).unwrap();
    let Some(run) = with_open_stream(&vendor).await else { return };
    // All decisions are in the journal, and soon the log knows that; the open stream is in the log alone.
    while run.types().len() < 14 {
        tokio::task::yield_now().await;
    }
    let killed = loop {
        let killed = KilledRun::copy_of(&run);
        let entries = killed.entries();
        let has = |what: &str| entries.iter().any(|entry| entry.contains(what));
        if has("message_stop") && has(" journaled 7 ") {
            break killed;
        }
        tokio::task::yield_now().await;
    };
    let written = run.journal();
    let (recovered, sealed) = killed.recover(run.key());
    assert_eq!((recovered.requests, recovered.cut), (0, 1));
    assert_eq!(
        without_random_parts(&sealed.events[..14]),
        without_random_parts(&written),
        "what was written stays"
    );
    let returned = sealed.payloads("rer.model.returned")[1];
    let delivered = returned["delivered"]["text"].as_str().unwrap();
    assert!(delivered.contains("moment") && delivered.contains("reenact_denied"), "{delivered}");
    assert!(!delivered.contains("content_block_start\",\"index\":1"), "{delivered}");
    assert_eq!(
        (&returned["complete"], sealed.only_payload("rer.tool.returned")["output"].as_str()),
        (&true.into(), Some("42"))
    );
    assert_no_failed_rule(&sealed, 0);
    vendor.open_gate("never");
    run.seal().await.assert_rules_pass();
}

/// A kill can cut the log at any byte. Written decisions stay, and the audit finds no broken rule.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_may_end_anywhere() {
    let vendor = ScriptedVendor::start(script()).unwrap();
    let Some(run) = with_open_stream(&vendor).await else { return };
    let whole = fs::read(KilledRun::copy_of(&run).segment()).unwrap();
    let mut blocked = Vec::new();
    for length in (0..=whole.len()).rev().step_by(13) {
        let killed = KilledRun::copy_of(&run);
        fs::write(killed.segment(), &whole[..length]).unwrap();
        if killed.entries().is_empty() {
            continue;
        }
        let (_, sealed) = killed.recover(run.key());
        assert_no_failed_rule(&sealed, length);
        // Each step has a decision, and occurs once.
        let steps: Vec<&str> = sealed
            .payloads("rer.policy.evaluated")
            .iter()
            .map(|it| it["step_id"].as_str().unwrap())
            .collect();
        let due: Vec<String> = (1..=steps.len()).map(|step| format!("s{step}")).collect();
        assert_eq!(steps, due, "{length}");
        blocked.push(sealed.payloads("rer.policy.step_blocked").len());
    }
    assert_eq!(blocked.first(), Some(&2), "{blocked:?}");
    vendor.open_gate("never");
    run.seal().await.assert_rules_pass();
}

/// Pieces may be held back, but the head is handed on, and must be in the log by then.
#[tokio::test(flavor = "multi_thread")]
async fn the_head_of_a_stream_is_in_the_log_before_it_leaves() {
    let script = Script::replying(|_| ScriptedReply::text("One moment."))
        .map(|_, answer| answer.wait_before(0, "never"));
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = EnforcedRun::default().start(&vendor);
    if run.logs.is_none() {
        return;
    }
    let client = ModelApi::Messages.client(&run);
    let mut connection = client.connect().await;
    let body = ModelApi::Messages.body("claude-sonnet-4-5", r#","stream":true"#);
    connection.write(&client.request("POST", "/v1/messages", &[], body.as_bytes())).await;
    assert_eq!(connection.read_head().await.unwrap().status(), 200);
    let entries = KilledRun::copy_of(&run).entries();
    assert!(entries.iter().any(|entry| entry.ends_with(" head 200")), "{entries:?}");
}
