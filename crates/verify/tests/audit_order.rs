//! The audit rule `event_order`: decided, called, returned, once each.
#![allow(clippy::unwrap_used)]

mod audit_fixture;
mod support;

use audit_fixture::{Event, Run, assert_all_kept, assert_only};
use reenact_verify::audit::AuditVerdict::{Fail, Inconclusive, Pass};
use serde_json::json;

#[test]
fn decisions_come_before_actions() {
    let order = |event: usize, reason| [("event_order", Fail, Some(event), reason)];
    let run = || Run::new(json!({}));
    let undecided = "no policy decision came before this action";
    assert_only(&run().tool_called("1", "t").tool_returned("1"), &order(1, undecided));
    // The decision is for another step; comes after the call; serves two calls; is revoked by a block.
    assert_only(&run().allow("2", json!({})).tool_called("1", "t").tool_returned("1"), &order(2, undecided));
    assert_only(&run().tool_called("1", "t").allow("1", json!({})).tool_returned("1"), &order(1, undecided));
    assert_only(&run().tool("1", "t").tool_called("1", "t").tool_returned("1"), &order(4, undecided));
    let blocked = run().allow("1", json!({})).event("rer.policy.step_blocked", json!({"step_id": "1"}));
    assert_only(&blocked.tool_called("1", "t").tool_returned("1"), &order(3, undecided));
    let denied = run().event("rer.policy.evaluated", json!({"step_id": "1", "decision": "deny"}));
    assert_only(
        &denied.clone().tool_called("1", "t").tool_returned("1"),
        &order(2, "the policy had denied this action"),
    );
    assert_all_kept(&denied.clone());
    // A block without a decision is odd, and harmless.
    assert_all_kept(&run().event("rer.policy.step_blocked", json!({"step_id": "1"})));
    // Allowed, then denied.
    let changed = run()
        .allow("1", json!({}))
        .event("rer.policy.evaluated", json!({"step_id": "1", "decision": "deny"}));
    assert_only(
        &changed.tool_called("1", "t").tool_returned("1"),
        &order(3, "the policy had denied this action"),
    );
    // The decision is about another tool.
    let other = "the policy had decided on another model or tool";
    let bait = run().allow("1", json!({"tool": "t"})).tool_called("1", "pay").tool_returned("1");
    assert_only(&bait, &order(2, other));
    let bait = run().allow("1", json!({"model": "m"})).tool_called("1", "pay").tool_returned("1");
    assert_only(&bait, &order(2, other));
    // Consecutive steps may share an id.
    assert_all_kept(&run().tool("1", "t").tool("1", "t"));
}

#[test]
fn decisions_that_tell_too_little() {
    let undecided = "the decision does not tell its step, or what it was";
    let run = || Run::new(json!({}));
    for decision in [json!("ALLOW"), json!("allow "), json!(true), json!(null), json!(["allow"])] {
        let odd = run().event("rer.policy.evaluated", json!({"step_id": "1", "decision": decision}));
        assert_only(&odd.clone(), &[("event_order", Inconclusive, Some(1), undecided)]);
        let called = odd.tool_called("1", "t").tool_returned("1");
        assert_only(&called, &[("event_order", Fail, Some(2), "no policy decision came before this action")]);
    }
    // The withheld decision may have been about this call. Each one excuses a single call.
    let withheld = run().allow("1", json!({})).withheld().tool_called("1", "t").tool_returned("1");
    assert_only(&withheld, &[("event_order", Inconclusive, Some(1), undecided)]);
    let stepless = run().event("rer.policy.evaluated", json!({"decision": "allow"}));
    let stepless = stepless.tool_called("1", "t").tool_returned("1");
    assert_only(&stepless, &[("event_order", Inconclusive, Some(1), undecided)]);
    assert_only(
        &withheld.tool_called("2", "t").tool_returned("2"),
        &[("event_order", Fail, Some(4), "no policy decision came before this action")],
    );
    let denied = run().event("rer.policy.evaluated", json!({"decision": "deny"}));
    assert_only(
        &denied.tool_called("1", "t").tool_returned("1"),
        &[("event_order", Fail, Some(2), "no policy decision came before this action")],
    );
    // A step id must be a string.
    let odd = run().event("rer.policy.evaluated", json!({"step_id": 1, "decision": "allow"}));
    let odd = odd.event("rer.tool.called", json!({"step_id": 1, "tool": "t"}));
    let odd = odd.event("rer.tool.returned", json!({"step_id": 1}));
    assert_only(&odd, &[("event_order", Inconclusive, Some(1), undecided)]);
}

#[test]
fn calls_return_once() {
    let order = |event: usize, reason| [("event_order", Fail, Some(event), reason)];
    let run = || Run::new(json!({}));
    let stray = "something returned that was not called";
    assert_only(&run().tool("1", "t").tool_returned("1"), &order(4, stray));
    assert_only(&run().tool_returned("1"), &order(1, stray));
    assert_only(&run().event("rer.model.returned", json!({})), &order(1, stray));
    // The return is of another kind.
    let disguised =
        run().allow("1", json!({})).event("rer.model.called", json!({"step_id": "1", "model": "m"}));
    assert_only(&disguised.tool_returned("1"), &order(3, stray));
    let again = run().allow("1", json!({})).tool_called("1", "t").allow("1", json!({})).tool_called("1", "t");
    assert_only(
        &again.tool_returned("1").tool_returned("1"),
        &order(4, "the same step begins again before it has returned"),
    );
    // The call never returns, without and with a capture gap.
    let lost = run().allow("1", json!({})).tool_called("1", "t").tool("2", "t");
    assert_only(&lost, &order(2, "this call never returned"));
    let gap = lost.event("rer.capture.gap", json!({"what": "stream", "why": "crash"}));
    let reason = "this call never returned, but something was not captured";
    let uncaptured = "something was not captured here, and may have broken any rule";
    let doubts = [
        ("event_order", Inconclusive, Some(2), reason),
        ("allowed_models", Inconclusive, Some(6), uncaptured),
        ("allowed_tools", Inconclusive, Some(6), uncaptured),
    ];
    assert_only(&gap, &doubts);
    // Interleaved is fine.
    let two = run().allow("1", json!({})).allow("2", json!({})).tool_called("1", "t").tool_called("2", "t");
    assert_all_kept(&two.tool_returned("2").tool_returned("1"));
    // The reason names the first call that did not return.
    let two = run().tool("1", "t").allow("b", json!({})).allow("a", json!({}));
    let two = two.tool_called("b", "t").tool_called("a", "t");
    assert_only(&two, &order(6, "this call never returned"));
}

/// A recorder that did not come to the end, and a journal that someone changed, may have missed anything. Both are said
/// before the run ends.
#[test]
fn a_recovered_run_keeps_no_rule_for_sure() {
    let uncaptured = "something was not captured here, and may have broken any rule";
    let recovered = |run: Run| run.event("rer.run.recovered", json!({"from": "log"}));
    let changed = |run: Run| run.event("rer.journal.changed", json!({"at": 4, "kept": 4}));
    for mark in [&recovered as &dyn Fn(Run) -> Run, &changed] {
        let doubts = [
            ("allowed_models", Inconclusive, Some(4), uncaptured),
            ("allowed_tools", Inconclusive, Some(4), uncaptured),
        ];
        assert_only(&mark(Run::new(json!({})).tool("1", "t")), &doubts);
        let limited = json!({"max_steps": 9, "rate_limit_rpm": 9});
        let doubts = [
            ("allowed_models", Inconclusive, Some(1), uncaptured),
            ("allowed_tools", Inconclusive, Some(1), uncaptured),
            ("max_steps", Inconclusive, Some(1), uncaptured),
            ("rate_limit_rpm", Inconclusive, Some(1), uncaptured),
        ];
        assert_only(&mark(Run::limited(limited)), &doubts);
        // Its payload may be withheld: the type alone says it.
        assert_only(
            &mark(Run::new(json!({}))).withheld(),
            &[
                ("allowed_models", Inconclusive, Some(1), uncaptured),
                ("allowed_tools", Inconclusive, Some(1), uncaptured),
            ],
        );
        // A call that was open when the recorder ended is a doubt, and no fault.
        let open = mark(Run::new(json!({})).allow("1", json!({})).tool_called("1", "t"));
        let reason = "this call never returned, but something was not captured";
        assert_only(
            &open,
            &[
                ("allowed_models", Inconclusive, Some(3), uncaptured),
                ("allowed_tools", Inconclusive, Some(3), uncaptured),
                ("event_order", Inconclusive, Some(2), reason),
            ],
        );
        // Behind the end nothing may come.
        let ended = Run::new(json!({})).event("rer.run.ended", json!({"status": "completed"}));
        let mut late = mark(ended);
        late.end = None;
        let order = late.rules().into_iter().find(|rule| rule.rule == "event_order").unwrap();
        assert_eq!((order.verdict, order.event), (Fail, Some(1)));
        assert_eq!(order.reason, "the run goes on after its end");
    }
}

#[test]
fn withheld_payloads_break_no_order() {
    let run = || Run::new(json!({}));
    let order = |event, reason| ("event_order", Inconclusive, Some(event), reason);
    let unmatched = "the call does not tell its step, so no decision can be matched with it";
    let which = "a payload is withheld, so it cannot be told which call returned";
    let name = "the payload is withheld, so it does not tell what was called";
    let unnamed = |event| ("allowed_tools", Inconclusive, Some(event), name);
    // Withheld are the return, the call, both, or each of another step.
    let returned = run().tool("1", "t").withheld();
    assert_only(&returned, &[order(3, which)]);
    let called = run().allow("1", json!({})).tool_called("1", "t").withheld().tool_returned("1");
    assert_only(&called, &[unnamed(2), order(2, unmatched)]);
    let both = run().allow("1", json!({})).tool_called("1", "t").withheld().tool_returned("1").withheld();
    assert_only(&both, &[unnamed(2), order(2, unmatched)]);
    let crossed = run()
        .allow("1", json!({}))
        .tool_called("1", "t")
        .withheld()
        .allow("2", json!({}))
        .tool_called("2", "t")
        .tool_returned("2")
        .withheld()
        .tool_returned("1");
    assert_only(&crossed, &[unnamed(2), order(2, unmatched)]);
    // The numbers must still agree: two returns of one call, one of another kind, and none at all fail.
    let stray = |event| ("event_order", Fail, Some(event), "something returned that was not called");
    assert_only(&run().tool("1", "t").tool_returned("1").withheld(), &[stray(4)]);
    assert_only(&called.clone().tool_returned("1"), &[unnamed(2), stray(4)]);
    assert_only(&run().tool_returned("1").withheld(), &[stray(1)]);
    let lost = |event| ("event_order", Fail, Some(event), "this call never returned");
    let one = run().allow("1", json!({})).tool_called("1", "t").withheld();
    assert_only(&one, &[unnamed(2), lost(2)]);
    let other = one.event("rer.model.returned", json!({"step_id": "1"})).withheld();
    assert_eq!((other.rules()[8].verdict, other.rules()[8].event), (Fail, Some(3)));
}

#[test]
fn calls_without_steps_pair_in_order() {
    // An observed run has no policy, so its calls need no decisions, and nothing restricts it.
    let observed = json!({"metadata": {"reenact": {"enforcement": "observe"}}});
    let run = || Run::new(observed.clone());
    let tool = |run: Run| run.event("rer.tool.called", json!({"tool": "t"}));
    let back = |run: Run| run.event("rer.tool.returned", json!({"tool": "t"}));
    let order = |run: &Run| {
        let rule = run.rules().swap_remove(8);
        (rule.verdict, rule.event, rule.reason)
    };
    let kept = (Pass, None, "every action was decided, began and returned in order".to_owned());
    assert_eq!(order(&back(tool(run()))), kept);
    assert_eq!(order(&back(back(tool(tool(run()))))), kept);
    assert_eq!(order(&tool(back(tool(tool(run()))))), (Fail, Some(2), "this call never returned".into()));
    assert_eq!(
        order(&back(back(tool(run())))),
        (Fail, Some(3), "something returned that was not called".into())
    );
    let model = tool(run()).event("rer.model.returned", json!({}));
    assert_eq!(order(&model), (Fail, Some(2), "something returned that was not called".into()));
    // If a policy had to decide, such calls cannot be matched with its decisions.
    let policed = back(tool(Run::new(json!({}))));
    assert_eq!(
        order(&policed),
        (
            Inconclusive,
            Some(1),
            "the call does not tell its step, so no decision can be matched with it".into()
        )
    );
}

#[test]
fn a_run_begins_and_ends_once() {
    let order = |event: usize, reason| [("event_order", Fail, Some(event), reason)];
    let run = || Run::new(json!({})).tool("1", "t");
    assert_only(&run().event("rer.run.started", json!({})), &order(4, "the run begins a second time"));
    let early = run().event("rer.run.ended", json!({})).tool("2", "t");
    assert_only(&early, &order(4, "the run goes on after its end"));
    assert_only(&run().unended(), &order(3, "the last event is not rer.run.ended"));
    assert_only(
        &run().event("rer.run.ended", json!({})).event("acme.late", json!({})).unended(),
        &order(4, "the run goes on after its end"),
    );
    let mut headless = run();
    headless.events.remove(0);
    assert_only(&headless, &order(0, "the first event is not rer.run.started"));
    headless.events.insert(0, Event { event_type: "acme.early".into(), ..headless.events[0].clone() });
    assert_only(&headless, &order(0, "the first event is not rer.run.started"));
}
