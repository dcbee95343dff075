//! The audit of records that were made to keep a verifier busy.
#![allow(clippy::unwrap_used)]

mod audit_fixture;
mod support;

use audit_fixture::{after_noon, both_keys, envelope};
use reenact_verify::audit::AuditVerdict::{Fail, Inconclusive, Pass};
use serde_json::{Value as Json, json};
use support::report_of;

/// Returns an artifact without hashes: only the members that an audit reads.
fn bare(envelope: &Json, events: impl Iterator<Item = String>) -> String {
    let mut text = format!(
        "{{\"envelope\":{},\"events\":[{{\"event_type\":\"rer.run.started\",\"timestamp\":\"{}\"}}",
        signed(envelope),
        after_noon(0)
    );
    for event in events {
        text.push(',');
        text.push_str(&event);
    }
    text.push_str(&format!(",{{\"event_type\":\"rer.run.ended\",\"timestamp\":\"{}\"}}]}}", after_noon(0)));
    text
}

fn signed(envelope: &Json) -> Json {
    let mut envelope = envelope.clone();
    envelope["signature"] = json!("0".repeat(128));
    envelope
}

/// A hundred thousand open actions at one moment: time and memory grow linearly.
#[test]
fn a_hundred_thousand_actions_at_one_moment() {
    const MANY: usize = 100_000;
    let envelope =
        envelope(json!({"limits": {"rate_limit_rpm": MANY, "max_steps": MANY, "max_spend_usd": 1},
        "expiry": "2026-05-13T12:00:01Z", "metadata": {"reenact": {"enforcement": "enforce"}}}));
    let time = after_noon(0);
    let event = |event_type: &str, payload: &str| {
        format!("{{\"event_type\":\"{event_type}\",\"payload\":{payload},\"timestamp\":\"{time}\"}}")
    };
    let calls = |payload: &str, many: usize| vec![event("rer.tool.called", payload); many];
    let returns = vec![event("rer.tool.returned", "{\"spend_usd\":0.00001}"); MANY];
    let verdicts = |text: &str| report_of(text.as_bytes(), &both_keys()).audit.unwrap().rules;

    let text = bare(&envelope, calls("{\"tool\":\"t\"}", MANY).into_iter().chain(returns.clone()));
    let rules = verdicts(&text);
    for rule in [1, 2, 3, 4, 5] {
        assert_eq!(rules[rule].verdict, Pass, "{:?}", rules[rule]);
    }
    assert_eq!((rules[8].verdict, rules[8].event), (Inconclusive, Some(1)));
    // One more breaks exactly what it should.
    let text = bare(&envelope, calls("{\"tool\":\"t\"}", MANY + 1).into_iter());
    let rules = verdicts(&text);
    for rule in [2, 4] {
        assert_eq!((rules[rule].verdict, rules[rule].event), (Fail, Some(MANY + 1)), "{:?}", rules[rule]);
    }
    assert_eq!((rules[8].verdict, rules[8].event), (Fail, Some(1)));
}

/// Envelopes come from outside, so a small one must not keep a verifier busy for long.
#[test]
fn rules_that_would_take_for_ever() {
    let called = |name: &str| {
        format!(
            "{{\"event_type\":\"rer.tool.called\",\"payload\":{{\"tool\":\"{name}\"}},\"timestamp\":\"{}\"}}",
            after_noon(0)
        )
    };
    let rules = |envelope: &Json, names: &mut dyn Iterator<Item = String>| {
        let text = bare(envelope, names.map(|name| called(&name)));
        report_of(text.as_bytes(), &both_keys()).audit.unwrap().rules
    };
    let long = json!([{"action": "tool.call", "tool_pattern": format!("*{}b", "a".repeat(100_000))}]);
    let found = rules(&envelope(json!({"required_approvals": long})), &mut ["a".repeat(200_000)].into_iter());
    let reason = "there are too many approval rules and names to compare all of them";
    assert_eq!((found[6].verdict, found[6].event, found[6].reason.as_str()), (Inconclusive, Some(1), reason));
    let many: Vec<Json> =
        (0..5_000).map(|at| json!({"action": "tool.call", "tool_pattern": format!("{at}*")})).collect();
    let many = envelope(json!({"required_approvals": many}));
    let found = rules(&many, &mut (0..5_000).map(|_| "x".to_owned()));
    assert_eq!(found[6].verdict, Pass);
    let found = rules(&many, &mut (0..5_000).map(|at| format!("x{at:07}")));
    assert_eq!((found[6].verdict, found[6].reason.as_str()), (Inconclusive, reason));
}
