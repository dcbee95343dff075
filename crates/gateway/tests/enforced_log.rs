//! A recorder that is killed under an envelope: what was decided is in the log before it had an effect, and comes back as it was.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;

use reenact_testkit::{Moment, Reply, Script, Vendor};
use reenact_verify::audit::Verdict;
use serde_json::Value;
use support::enforced::{Door, Law};
use support::wreck::Wreck;
use support::{Flight, Landed};

/// A run with a bit of everything, which stands while its last stream is open: its client has an error instead of a tool.
async fn standing(vendor: &Vendor) -> Option<Flight> {
    let flight = Law::limiting(r#"{"max_steps":9,"max_spend_usd":1}"#).over(vendor);
    flight.logs.as_ref()?;
    let lookup = Door::Messages.ask(&flight, "").await;
    assert_eq!(lookup.status(), 200);
    let asked: Value = serde_json::from_slice(&lookup.body).unwrap();
    let id = asked["content"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        Door::Chat.client(&flight).post("/chat/completions", &Door::Chat.body("o3", "")).await.status(),
        403
    );
    let result = format!(
        r#"{{"model":"claude-sonnet-4-5","stream":true,"messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"42"}}]}}]}}"#
    );
    let got = flight.anthropic().post("/v1/messages", &result).await;
    assert!(got.is_whole && got.text().contains("reenact_denied"));
    vendor.when(Moment::Gate("never".into())).await;
    Some(flight)
}

fn script() -> Script {
    Script::replying(|request| match request.index {
        0 => Reply::call("lookup", "{}"),
        _ => Reply::text("One moment.").and_call("pay_invoice", "{}"),
    })
    .map(|request, answer| if request.index == 0 { answer } else { answer.wait_before(usize::MAX, "never") })
}

/// Each event, without what is made by chance.
fn told(events: &[(String, Value)]) -> Vec<(String, Value)> {
    let strip = |payload: &Value| {
        let mut payload = payload.clone();
        payload.as_object_mut().unwrap().remove("salt");
        payload
    };
    events.iter().map(|(name, payload)| (name.clone(), strip(payload))).collect()
}

/// Nothing that was allowed is found to be forbidden.
fn is_not_broken(landed: &Landed, what: usize) {
    for rule in &landed.report.audit.as_ref().unwrap().rules {
        assert_ne!(rule.verdict, Verdict::Fail, "{what}: {} at {:?}: {}", rule.rule, rule.event, rule.reason);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_come_back_as_they_were() {
    let vendor = Vendor::start(script()).unwrap();
    let Some(flight) = standing(&vendor).await else { return };
    // All that was decided is in the journal, and soon the log knows that it is; the open stream is in the log alone.
    while flight.types().len() < 14 {
        tokio::task::yield_now().await;
    }
    let wreck = loop {
        let wreck = Wreck::of(&flight);
        let entries = wreck.entries();
        let has = |what: &str| entries.iter().any(|entry| entry.contains(what));
        if has("message_stop") && has(" journaled 7 ") {
            break wreck;
        }
        tokio::task::yield_now().await;
    };
    let written = flight.journal();
    let (recovered, landed) = wreck.recover(flight.key());
    assert_eq!((recovered.requests, recovered.cut), (0, 1));
    assert_eq!(told(&landed.events[..14]), told(&written), "what was written stays");
    let returned = landed.all("rer.model.returned")[1];
    let delivered = returned["delivered"]["text"].as_str().unwrap();
    assert!(delivered.contains("moment") && delivered.contains("reenact_denied"), "{delivered}");
    assert!(!delivered.contains("content_block_start\",\"index\":1"), "{delivered}");
    assert_eq!(
        (&returned["complete"], landed.the("rer.tool.returned")["output"].as_str()),
        (&true.into(), Some("42"))
    );
    is_not_broken(&landed, 0);
    vendor.open("never");
    flight.land().await.is_kept();
}

/// A kill can cut the log anywhere. What was decided and written stays so, and no rule looks broken.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_may_end_anywhere() {
    let vendor = Vendor::start(script()).unwrap();
    let Some(flight) = standing(&vendor).await else { return };
    let whole = fs::read(Wreck::of(&flight).segment()).unwrap();
    let mut blocked = Vec::new();
    for length in (0..=whole.len()).rev().step_by(13) {
        let wreck = Wreck::of(&flight);
        fs::write(wreck.segment(), &whole[..length]).unwrap();
        if wreck.entries().is_empty() {
            continue;
        }
        let (_, landed) = wreck.recover(flight.key());
        is_not_broken(&landed, length);
        // Each step was decided on, and is there once.
        let steps: Vec<&str> =
            landed.all("rer.policy.evaluated").iter().map(|it| it["step_id"].as_str().unwrap()).collect();
        let due: Vec<String> = (1..=steps.len()).map(|step| format!("s{step}")).collect();
        assert_eq!(steps, due, "{length}");
        blocked.push(landed.all("rer.policy.step_blocked").len());
    }
    assert_eq!(blocked.first(), Some(&2), "{blocked:?}");
    vendor.open("never");
    flight.land().await.is_kept();
}

/// Its pieces may be held back; its head is handed on, and is in the log then.
#[tokio::test(flavor = "multi_thread")]
async fn the_head_of_a_stream_is_in_the_log_before_it_leaves() {
    let script =
        Script::replying(|_| Reply::text("One moment.")).map(|_, answer| answer.wait_before(0, "never"));
    let vendor = Vendor::start(script).unwrap();
    let flight = Law::default().over(&vendor);
    if flight.logs.is_none() {
        return;
    }
    let client = Door::Messages.client(&flight);
    let mut connection = client.connect().await;
    let body = Door::Messages.body("claude-sonnet-4-5", r#","stream":true"#);
    connection.write(&client.request("POST", "/v1/messages", &[], body.as_bytes())).await;
    assert_eq!(connection.head().await.unwrap().status(), 200);
    let entries = Wreck::of(&flight).entries();
    assert!(entries.iter().any(|entry| entry.ends_with(" head 200")), "{entries:?}");
}
