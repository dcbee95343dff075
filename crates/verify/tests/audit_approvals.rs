//! The audit of approvals: required before which action, by which signers, and whether the record shows
//! it.
#![allow(clippy::unwrap_used)]

mod audit_fixture;
mod support;

use audit_fixture::{Run, assert_all_kept, assert_only};
use reenact_formats::rer::approval::{ApprovalDecision, ApprovalTokenDraft, input_hash, sign};
use reenact_formats::rer::envelope::permission::SignerType;
use reenact_formats::rer::envelope::policy::Action;
use reenact_testkit::fixture::TestKey;
use reenact_verify::audit::AuditVerdict::{Fail, Inconclusive};
use serde_json::{Value as Json, json};

#[test]
fn required_approvals() {
    let rule =
        json!([{"action": "tool.call", "tool_pattern": "pay*", "signer_types": ["human", "delegate"]}]);
    let run = || Run::approved(rule.clone());
    let fails = |run: &Run, event: usize, reason: &str| {
        assert_only(run, &[("required_approvals", Fail, Some(event), reason)]);
    };
    assert_all_kept(&run());
    assert_all_kept(&run().tool("1", "t"));
    assert_all_kept(&run().grant("a", "pay", "human").pay("1", "pay", "a").tool_returned("1"));
    assert_all_kept(&run().grant("a", "pay2", "delegate").pay("1", "pay2", "a").tool_returned("1"));
    // No decision names an approval.
    fails(&run().tool("1", "pay"), 2, "\"pay\" was called without an approval");
    fails(&run().grant("a", "pay", "human").tool("1", "pay"), 4, "\"pay\" was called without an approval");
    // Never granted; denied; denied after it was granted.
    fails(&run().pay("1", "pay", "a").tool_returned("1"), 2, "the approval for \"pay\" was never granted");
    let denial = |run: Run| run.event("rer.approval.denied", json!({"approval_id": "a", "reason": "no"}));
    fails(&denial(run()).pay("1", "pay", "a").tool_returned("1"), 3, "the approval for \"pay\" was denied");
    let withdrawn = denial(run().grant("a", "pay", "human")).pay("1", "pay", "a").tool_returned("1");
    fails(&withdrawn, 5, "the approval for \"pay\" was denied");
    let withdrawn = denial(run().grant("a", "pay", "human").allow("1", json!({"approval_id": "a"})));
    fails(&withdrawn.tool_called("1", "pay").tool_returned("1"), 5, "the approval for \"pay\" was denied");
    // Used, and used again.
    let twice = run().grant("a", "pay", "human").pay("1", "pay", "a").tool_returned("1");
    let twice = twice.pay("2", "pay", "a").tool_returned("2");
    fails(&twice, 7, "the approval for \"pay\" had been used before");
    let again = run().grant("a", "pay", "human").pay("1", "pay", "a").tool_returned("1");
    let again = again.grant("a", "pay", "human").pay("2", "pay", "a").tool_returned("2");
    fails(&again, 9, "the approval for \"pay\" had been used before");
    // Granted by a signer of another type.
    let robot = run().grant("a", "pay", "automated").pay("1", "pay", "a").tool_returned("1");
    fails(&robot, 4, "the approval for \"pay\" is by a signer of type automated");
    // Too late: after the call, or after the policy had allowed it (§8.2).
    let late = run().pay("1", "pay", "a").grant("a", "pay", "human").tool_returned("1");
    fails(&late, 2, "the approval for \"pay\" was never granted");
    let late = run().allow("1", json!({"approval_id": "a"})).grant("a", "pay", "human");
    let late = late.tool_called("1", "pay").tool_returned("1");
    fails(&late, 4, "the approval for \"pay\" was granted after the policy had allowed it");
    // Granted for another tool.
    let swapped = run().grant("a", "pay", "human").grant("b", "pay2", "human");
    let swapped = swapped.pay("1", "pay", "b").pay("2", "pay2", "a").tool_returned("1").tool_returned("2");
    fails(&swapped, 6, "the approval for \"pay\" had been asked for something else");
    // Granted without a request: tokens are out of the draft's scope.
    let unasked = run()
        .event("rer.approval.granted", json!({"approval_id": "a", "token": {"signer_type": "human"}}))
        .pay("1", "pay", "a")
        .tool_returned("1");
    assert_all_kept(&unasked);
}

#[test]
fn several_rules_on_one_action() {
    let two = |one: Json, other: Json| {
        Run::approved(json!([
            {"action": "tool.call", "tool_pattern": "pay*", "signer_types": one},
            {"action": "model.call", "tool_pattern": "*"},
            {"action": "tool.call", "signer_types": other},
        ]))
    };
    let paid = |run: Run, signer: &str| run.grant("a", "pay", signer).pay("1", "pay", "a").tool_returned("1");
    assert_all_kept(&paid(two(json!(["human"]), json!(["automated", "human"])), "human"));
    let reason = "the approval for \"pay\" is by a signer of type human";
    assert_only(
        &paid(two(json!(["human"]), json!(["automated"])), "human"),
        &[("required_approvals", Fail, Some(4), reason)],
    );
    assert_only(
        &paid(two(json!([]), json!(["human"])), "human"),
        &[("required_approvals", Fail, Some(4), reason)],
    );
    // The second rule alone covers a tool that the first does not.
    assert_only(
        &two(json!(["human"]), json!(["human"])).tool("1", "t"),
        &[("required_approvals", Fail, Some(2), "\"t\" was called without an approval")],
    );
    assert_only(
        &two(json!(["human"]), json!(["human"])).model("1", "m", json!(0)),
        &[("required_approvals", Fail, Some(2), "\"m\" was called without an approval")],
    );
}

#[test]
fn approvals_that_cannot_be_told() {
    let rule = json!([{"action": "tool.call", "tool_pattern": "pay", "signer_types": ["human"]}]);
    let run = || Run::approved(rule.clone());
    let doubt = |event, reason| ("required_approvals", Inconclusive, event, reason);
    let undecided = "the decision does not tell its step, or what it was";
    // A grant without the type of its signer matters only if a type is required.
    for token in
        [json!({}), json!("opaque"), json!(null), json!({"signer_type": "Human"}), json!({"signer_type": 1})]
    {
        let granted = |run: Run| {
            run.event("rer.approval.granted", json!({"approval_id": "a", "token": token}))
                .pay("1", "pay", "a")
                .tool_returned("1")
        };
        let reason = "the approval does not tell the type of its signer";
        assert_only(&granted(run()), &[doubt(Some(3), reason)]);
        assert_all_kept(&granted(Run::approved(json!([{"action": "tool.call"}]))));
    }
    // Withheld are the grant, the decision, the denial, and the call.
    let grant = run().grant("a", "pay", "human").withheld().pay("1", "pay", "a").tool_returned("1");
    let reason = "a grant is withheld, so it cannot be told whether this was approved";
    assert_only(&grant, &[doubt(Some(4), reason)]);
    let decision = run().grant("a", "pay", "human").allow("1", json!({"approval_id": "a"})).withheld();
    let decision = decision.tool_called("1", "pay").tool_returned("1");
    let reason = "a decision is withheld, so it cannot be told whether this was approved";
    assert_only(&decision, &[doubt(Some(4), reason), ("event_order", Inconclusive, Some(3), undecided)]);
    let denial = run().grant("a", "pay", "human").event("rer.approval.denied", json!({"approval_id": "b"}));
    let denial = denial.withheld().pay("1", "pay", "a").tool_returned("1");
    let reason = "a denial is withheld, so it cannot be told whether this stayed approved";
    assert_only(&denial, &[doubt(Some(5), reason)]);
    let call = run().grant("a", "pay", "human").pay("1", "pay", "a").withheld().tool_returned("1");
    let reason = "the payload is withheld, so it does not tell what was called";
    assert_eq!(call.rules()[6].verdict, Inconclusive);
    assert_eq!((call.rules()[6].event, call.rules()[6].reason.as_str()), (Some(4), reason));
    // A withheld request says less, but the grant stands.
    let request = run().event("rer.approval.requested", json!({"approval_id": "a"})).withheld();
    let request =
        request.event("rer.approval.granted", json!({"approval_id": "a", "token": {"signer_type": "human"}}));
    assert_all_kept(&request.pay("1", "pay", "a").tool_returned("1"));
    // A withheld event does not excuse a present decision that names no approval.
    let other = run().allow("0", json!({})).withheld().tool("1", "pay");
    assert_eq!(other.rules()[6].verdict, Fail);
    // Actions that no event type records.
    for action in ["deploy", "tool", "Tool.call", "*", ""] {
        let run = Run::approved(json!([{"action": action}])).tool("1", "t");
        let reason = format!("no event tells whether the action \"{action}\" happened");
        assert_only(&run, &[("required_approvals", Inconclusive, None, &reason)]);
    }
}

#[test]
fn required_signer_types() {
    let run = |types: Json| Run::new(json!({"required_signer_types": types}));
    assert_all_kept(&run(json!([])));
    assert_all_kept(&run(json!(["human"])).grant("a", "t", "human"));
    let both = run(json!(["human", "automated"])).grant("a", "t", "automated");
    assert_only(&both, &[("required_signer_types", Fail, None, "nobody of type human approved anything")]);
    assert_all_kept(&both.clone().grant("b", "t", "human"));
    let reason = "an approval does not tell the type of its signer";
    assert_only(
        &both.clone().event("rer.approval.granted", json!({"approval_id": "b", "token": "x"})),
        &[("required_signer_types", Inconclusive, Some(3), reason)],
    );
    assert_only(
        &both.grant("b", "t", "human").withheld(),
        &[("required_signer_types", Inconclusive, Some(4), reason)],
    );
    assert_only(
        &run(json!(["delegate"])),
        &[("required_signer_types", Fail, None, "nobody of type delegate approved anything")],
    );
}

/// A signed approval token states the type of its signer where the audit looks for it.
#[test]
fn tokens_as_they_are_signed() {
    let granted = |signer_type: SignerType| {
        let draft = ApprovalTokenDraft {
            approval_id: "a",
            run_id: "run",
            action: Action::Tool,
            name: "pay",
            input_hash: input_hash(b"{}"),
            decision: ApprovalDecision::Granted,
            signer_type,
            issued_at: "2026-05-13T12:00:00Z",
            expires_at: "2026-05-13T12:10:00Z",
        };
        let token = String::from_utf8(sign(&draft, &TestKey::of(3)).unwrap()).unwrap();
        Run::approved(json!([{"action": "tool.call", "tool_pattern": "pay*", "signer_types": ["human"]}]))
            .event(
                "rer.approval.requested",
                json!({"approval_id": "a", "action": "tool.call", "tool": "pay"}),
            )
            .text("rer.approval.granted", Some(&format!("{{\"approval_id\":\"a\",\"token\":{token}}}")))
            .pay("1", "pay", "a")
            .tool_returned("1")
    };
    assert_all_kept(&granted(SignerType::Human));
    let reason = "the approval for \"pay\" is by a signer of type delegate";
    assert_only(&granted(SignerType::Delegate), &[("required_approvals", Fail, Some(4), reason)]);
}
