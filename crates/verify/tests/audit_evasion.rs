//! The audit against a runtime that lies, within what a record can show.
#![allow(clippy::unwrap_used)]

mod audit_fixture;
mod support;

use audit_fixture::{RUNTIME, Run, after_noon, assert_all_kept, assert_only, authorised, envelope};
use reenact_testkit::fixture::TestKey;
use reenact_verify::audit::AuditVerdict::{Inconclusive, Pass};
use reenact_verify::audit::RuleVerdict;
use reenact_verify::rer::SCHEMA_VALID;
use serde_json::{Value as Json, json};

/// A runtime may write anything with its own key. A record that does not show that all rules were kept
/// must not pass the audit.
#[test]
fn tricks_of_a_runtime_with_its_own_key() {
    let all = || {
        Run::new(json!({
            "limits": {"max_steps": 2, "max_spend_usd": 1, "rate_limit_rpm": 1},
            "expiry": "2026-05-13T12:10:00Z",
            "required_approvals": [{"action": "tool.call", "tool_pattern": "pay*", "signer_types": ["human"]}],
        }))
    };
    let called = |run: Run, event_type: &str, payload: Json| {
        run.allow("1", json!({})).event(event_type, payload).tool_returned("1")
    };
    let model = |payload: Json| {
        all()
            .allow("1", json!({}))
            .event("rer.model.called", payload)
            .event("rer.model.returned", json!({"step_id": "1", "spend_usd": 0}))
    };
    let pays = || all().grant("a", "pay", "human");
    let tricks: Vec<(&str, Run)> = vec![
        ("a type of another runtime", all().event("ToolCalled", json!({"tool": "rm"}))),
        ("a type with an upper case", all().event("rer.tool.Called", json!({"tool": "rm"}))),
        ("a type with a space", all().event("rer.tool.called ", json!({"tool": "rm"}))),
        ("a type in another namespace", all().event("acme.tool.called", json!({"tool": "rm"}))),
        ("a type with an underscore", all().event("rer.tool_called", json!({"tool": "rm"}))),
        ("a type of another tense", all().event("rer.model.call", json!({"model": "evil"}))),
        ("a type with a confusable", all().event("rer.tооl.called", json!({"tool": "rm"}))),
        ("a call without payload", all().text("rer.model.called", None).text("rer.model.returned", None)),
        (
            "a null payload",
            all().text("rer.model.called", Some("null")).text("rer.model.returned", Some("{}")),
        ),
        ("a model that is a number", model(json!({"step_id": "1", "model": 7}))),
        ("a model that is a list", model(json!({"step_id": "1", "model": ["m", "evil"]}))),
        ("a model that is deeper", model(json!({"step_id": "1", "call": {"model": "evil"}}))),
        ("a tool under a model's event", model(json!({"step_id": "1", "tool": "rm"}))),
        ("a tool beside a model", model(json!({"step_id": "1", "model": "m", "tool": "rm"}))),
        (
            "a model beside a tool",
            called(all(), "rer.tool.called", json!({"step_id": "1", "tool": "t", "model": "evil"})),
        ),
        (
            "a tool with a space behind",
            called(all(), "rer.tool.called", json!({"step_id": "1", "tool": "t "})),
        ),
        (
            "a tool with a confusable",
            called(all(), "rer.tool.called", json!({"step_id": "1", "tool": "рау"})),
        ),
        (
            "a tool with a zero width space",
            called(all(), "rer.tool.called", json!({"step_id": "1", "tool": "t\u{200b}"})),
        ),
        ("a withheld call", all().allow("1", json!({})).tool_called("1", "rm").withheld().tool_returned("1")),
        (
            "one decision for two calls of one step",
            all().tool("1", "t").clock(70).tool_called("1", "t").tool_returned("1"),
        ),
        (
            "a step inside itself",
            all()
                .allow("1", json!({}))
                .tool_called("1", "t")
                .clock(70)
                .tool_called("1", "t")
                .tool_returned("1"),
        ),
        ("a spend that is a text", all().model("1", "m", json!("100")).ending(json!({"total_spend_usd": 0}))),
        ("a spend below nothing", all().model("1", "m", json!(-5)).clock(70).model("2", "m", json!(2))),
        (
            "a spend below nothing, alone",
            all().model("1", "m", json!(-5)).ending(json!({"total_spend_usd": 0})),
        ),
        (
            "a spend too small for a double",
            Run::limited(json!({"max_spend_usd": 0}))
                .text("rer.tool.returned", Some("{\"spend_usd\":5e-324}")),
        ),
        ("a total below the sum", all().model("1", "m", json!(3)).ending(json!({"total_spend_usd": 0.1}))),
        (
            "a total that is a text",
            all().model("1", "m", json!(0)).ending(json!({"total_spend_usd": "9.99"})),
        ),
        (
            "a model that returns as a tool, free of charge",
            all()
                .allow("1", json!({}))
                .event("rer.model.called", json!({"step_id": "1", "model": "m"}))
                .tool_returned("1"),
        ),
        (
            "a clock that is turned back",
            all()
                .tool("1", "t")
                .clock(1200)
                .allow("2", json!({}))
                .clock(62)
                .tool_called("2", "t")
                .tool_returned("2"),
        ),
        ("calls in a spread of time that nothing else shares", {
            let first = all().tool("1", "t").allow("2", json!({})).tool_called("2", "t").at(&after_noon(62));
            first.clock(6).tool_returned("2")
        }),
        (
            "a leap second before the next minute",
            all()
                .clock(1)
                .allow("1", json!({}))
                .tool_called("1", "t")
                .at("2026-05-13T12:09:60.000Z")
                .clock(601)
                .tool_returned("1"),
        ),
        (
            "a moment that never was",
            all().allow("1", json!({})).tool_called("1", "t").at("2026-05-13T24:00:00.0Z").tool_returned("1"),
        ),
        (
            "a decision in capitals",
            all()
                .event("rer.policy.evaluated", json!({"step_id": "1", "decision": "ALLOW"}))
                .tool_called("1", "t")
                .tool_returned("1"),
        ),
        ("a decision on another step", all().allow("0", json!({})).tool_called("1", "t").tool_returned("1")),
        (
            "a decision on another tool",
            pays().allow("1", json!({"tool": "t"})).tool_called("1", "pay").tool_returned("1"),
        ),
        ("a decision after the fact", all().tool_called("1", "t").tool_returned("1").allow("1", json!({}))),
        (
            "a denial that nobody heeded",
            all()
                .event("rer.policy.evaluated", json!({"step_id": "1", "decision": "deny"}))
                .tool_called("1", "t")
                .tool_returned("1"),
        ),
        (
            "an approval of another call",
            pays().clock(70).grant("b", "pay2", "human").pay("1", "pay", "b").tool_returned("1"),
        ),
        ("an approval that only the call names", {
            let run = pays().allow("1", json!({}));
            run.event("rer.tool.called", json!({"step_id": "1", "tool": "pay", "approval_id": "a"}))
                .tool_returned("1")
        }),
        ("an approval id in another case", pays().pay("1", "pay", "A").tool_returned("1")),
        (
            "an approval for two",
            pays().pay("1", "pay", "a").tool_returned("1").clock(70).pay("2", "pay", "a").tool_returned("2"),
        ),
        (
            "an approval after the decision",
            all()
                .allow("1", json!({"approval_id": "a"}))
                .grant("a", "pay", "human")
                .tool_called("1", "pay")
                .tool_returned("1"),
        ),
        (
            "an approval by itself",
            all().grant("a", "pay", "automated").pay("1", "pay", "a").tool_returned("1"),
        ),
        (
            "an approval by nobody",
            all()
                .event("rer.approval.granted", json!({"approval_id": "a"}))
                .pay("1", "pay", "a")
                .tool_returned("1"),
        ),
        (
            "an approval by a human in capitals",
            all()
                .asked("a", "pay")
                .granted("a", &json!({"signer_type": "HUMAN"}))
                .pay("1", "pay", "a")
                .tool_returned("1"),
        ),
        (
            "an approval that is withheld",
            all().grant("a", "pay", "human").withheld().pay("1", "pay", "a").tool_returned("1"),
        ),
        (
            "an approval that was withdrawn in secret",
            pays()
                .event("rer.approval.denied", json!({"approval_id": "a"}))
                .withheld()
                .pay("1", "pay", "a")
                .tool_returned("1"),
        ),
        (
            "a rule for an action of another name",
            Run::approved(json!([{"action": "tools.call"}])).tool("1", "pay"),
        ),
        ("an action after the end", all().event("rer.run.ended", json!({})).tool("1", "t")),
        ("an end that never came", all().tool("1", "t").unended()),
        ("a call that never returns", all().allow("1", json!({})).tool_called("1", "t")),
        ("a return that was never called", all().tool_returned("1")),
        ("an expiry in February", Run::new(json!({"expiry": "2020-02-30T00:00:00Z"})).tool("1", "t")),
        (
            "an expiry that is long past, in another offset",
            Run::new(json!({"expiry": "2026-05-13T23:59:59+13:00"})).tool("1", "t"),
        ),
        (
            "observe-only",
            Run::new(json!({"metadata": {"reenact": {"enforcement": "observe"}}})).tool("1", "rm"),
        ),
        (
            "its own authorization",
            Run { envelope: authorised(&envelope(json!({})), &TestKey::of(RUNTIME)), ..Run::new(json!({})) }
                .unauthorised(),
        ),
        ("no authorization", all().tool("1", "t").unauthorised()),
    ];
    // Control: the same run without any trick passes.
    assert_eq!(all().tool("1", "t").clock(70).model("2", "m", json!(1)).ok(), Some(true));
    assert_eq!(pays().pay("1", "pay", "a").tool_returned("1").ok(), Some(true));
    for (trick, run) in tricks {
        let audit = run.report().audit.unwrap();
        assert_ne!(audit.ok(), Some(true), "{trick}");
        let told: Vec<&RuleVerdict> = audit.rules.iter().filter(|rule| rule.verdict != Pass).collect();
        assert!(told.iter().all(|rule| !rule.reason.is_empty()), "{trick}");
    }
}

/// Unknown types that mention neither models nor tools are no actions; the others are inconclusive.
#[test]
fn events_of_types_that_are_not_known() {
    let run = Run::new(json!({})).tool("1", "t");
    for known in [
        "rer.prompt.rendered",
        "rer.plan.started",
        "rer.step.completed",
        "rer.verification.ran",
        "rer.error.raised",
        "rer.output.final",
        "rer.artifact.written",
        "acme.heartbeat",
        "rer.memory.read",
    ] {
        assert_all_kept(&run.clone().event(known, json!({"model": "evil", "tool": "rm"})));
    }
    for unknown in ["acme.tool.called", "rer.tools.listed", "rer.model.streamed", "rer.model.called.v2"] {
        let reason = format!("it is of the unknown type \"{unknown}\", and may be an action");
        assert_only(
            &run.clone().event(unknown, json!({})),
            &[("event_order", Inconclusive, Some(4), &reason)],
        );
    }
    for odd in ["ToolCalled", "rer.tool.called\n", "RER.TOOL.CALLED", ""] {
        let report = run.clone().event(odd, json!({})).report();
        let rule = report.audit.clone().unwrap().rules.swap_remove(8);
        assert_eq!((rule.verdict, rule.event), (Inconclusive, Some(4)), "{odd:?}");
        assert_eq!(report.failed().collect::<Vec<_>>(), [SCHEMA_VALID]);
    }
}
