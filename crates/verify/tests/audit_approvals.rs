//! The audit of approvals: required before which action, by which signers, and whether the record shows
//! it.
#![allow(clippy::unwrap_used)]

mod audit_fixture;
mod support;

use audit_fixture::{APPROVER, RUNTIME, Run, approval, assert_all_kept, assert_only, both_keys, pins, token};
use reenact_formats::rer::approval::{ApprovalDecision, ApprovalTokenDraft, input_hash};
use reenact_formats::rer::envelope::permission::SignerType::{self, Human};
use reenact_formats::rer::envelope::policy::Action;
use reenact_formats::rer::seal::Signer as _;
use reenact_formats::trust::{KeyRole, KeyRoles};
use reenact_testkit::fixture::TestKey;
use reenact_verify::audit::AuditVerdict::{self, Fail, Inconclusive, Pass};
use reenact_verify::{Keys, Trust};
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
    // Granted without a request.
    let unasked = run().granted("a", &good()).pay("1", "pay", "a").tool_returned("1");
    fails(&unasked, 1, "the approval for \"pay\" does not hold: nobody asked for it in this run");
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
    // What is no token of ours is none of a pinned approver, and cannot be told where nobody is pinned.
    for token in
        [json!({}), json!("opaque"), json!(null), json!({"signer_type": "Human"}), json!({"signer_type": 1})]
    {
        let granted =
            |run: Run| run.asked("a", "pay").granted("a", &token).pay("1", "pay", "a").tool_returned("1");
        let reason =
            "the approval for \"pay\" does not hold: its token is none of an approver whom the envelope pins";
        assert_only(&granted(run()), &[("required_approvals", Fail, Some(2), reason)]);
        let reason = "the approval does not tell the type of its signer";
        assert_only(&granted(run().unpinned()), &[doubt(Some(4), reason)]);
        let reason = "the approval for \"pay\" cannot be checked: its token has a form that is not known";
        let any = Run::approved(json!([{"action": "tool.call"}])).unpinned();
        assert_only(&granted(any), &[doubt(Some(2), reason)]);
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
    // A withheld request says less, but the token is compared with the call.
    let request = run().event("rer.approval.requested", json!({"approval_id": "a"})).withheld();
    let paid = |token: Json| request.clone().granted("a", &token).pay("1", "pay", "a").tool_returned("1");
    assert_all_kept(&paid(good()));
    let other = token(&approval("a", "pay2", Human), &TestKey::of(APPROVER));
    let reason = "the approval for \"pay\" does not hold: the token is for another model or tool";
    assert_only(&paid(other), &[("required_approvals", Fail, Some(4), reason)]);
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
    let nobody = "nobody of type human approved anything";
    let opaque = || both.clone().asked("b", "t").granted("b", &json!("x"));
    assert_only(&opaque(), &[("required_signer_types", Fail, None, nobody)]);
    let reason = "an approval cannot be checked: the envelope pins no approvers (metadata.approvers), so nobody can tell whose approval counts";
    assert_only(
        &both.clone().grant("b", "t", "human").unpinned(),
        &[("required_signer_types", Inconclusive, Some(2), reason)],
    );
    assert_only(
        &both.clone().grant("b", "t", "human").withheld(),
        &[("required_signer_types", Inconclusive, Some(4), "an approval is withheld")],
    );
    // A token that does not hold is by nobody.
    let forged = token(&approval("b", "t", Human), &TestKey::of(7));
    assert_only(
        &both.clone().asked("b", "t").granted("b", &forged),
        &[("required_signer_types", Fail, None, nobody)],
    );
    // The key that would tell is not given.
    let granted = run(json!(["human"])).grant("a", "t", "human");
    let id = TestKey::of(APPROVER).public_key().id();
    let reason = format!(
        "an approval cannot be checked: it is signed with the key {id}, which is not at hand: ask for that approver's key"
    );
    let mut keys = Keys::default();
    keys.add_supplied(TestKey::of(RUNTIME).public_key());
    assert_eq!(granted.verdict("required_signer_types", &keys), (Inconclusive, Some(2), reason));
    assert_only(
        &run(json!(["delegate"])),
        &[("required_signer_types", Fail, None, "nobody of type delegate approved anything")],
    );
}

/// Returns a good token for the approval `a` of `pay`.
fn good() -> Json {
    token(&approval("a", "pay", Human), &TestKey::of(APPROVER))
}

/// Returns a run in which one call of `pay` used the approval `a`, granted with this token at event 2.
fn paid(token: &Json) -> Run {
    let rules = json!([{"action": "tool.call", "tool_pattern": "pay*", "signer_types": ["human"]}]);
    Run::approved(rules).asked("a", "pay").granted("a", token).pay("1", "pay", "a").tool_returned("1")
}

#[track_caller]
fn assert_wrong(token: &Json, reason: &str) {
    let reason = format!("the approval for \"pay\" does not hold: {reason}");
    assert_only(&paid(token), &[("required_approvals", Fail, Some(2), &reason)]);
    // Without the approver's key a token can be wrong all the same, but for its signature.
    let unpinned = paid(token).unpinned().verdict("required_approvals", &both_keys());
    if !reason.contains("does not pin") {
        assert_eq!(unpinned, (Fail, Some(2), reason));
    }
}

#[test]
fn tokens_that_do_not_hold() {
    let approver = TestKey::of(APPROVER);
    assert_all_kept(&paid(&good()));
    let draft = || approval("a", "pay", Human);
    let signed = |draft: ApprovalTokenDraft<'_>| token(&draft, &approver);
    assert_wrong(&signed(ApprovalTokenDraft { run_id: "run2", ..draft() }), "the token is of another run");
    assert_wrong(&signed(approval("b", "pay", Human)), "the token answers another question");
    assert_wrong(&signed(approval("a", "pay2", Human)), "the token is for another model or tool");
    assert_wrong(
        &signed(ApprovalTokenDraft { action: Action::Model, ..draft() }),
        "the token is for another action",
    );
    let other = input_hash(br#"{"amount":1}"#);
    assert_wrong(
        &signed(ApprovalTokenDraft { input_hash: other, ..draft() }),
        "the token is for another input",
    );
    let denied = ApprovalDecision::Denied { reason: None };
    assert_wrong(&signed(ApprovalTokenDraft { decision: denied, ..draft() }), "the token denies it");
    // The grant is event 2, two seconds after noon.
    for (issued_at, expires_at, reason) in [
        ("2026-05-13T11:00:00Z", "2026-05-13T12:00:02Z", Some("the token has expired")),
        ("2026-05-13T11:00:00Z", "2026-05-13T12:00:03Z", None),
        ("2026-05-13T12:01:02Z", "2026-05-13T13:00:00Z", None),
        (
            "2026-05-13T12:01:03Z",
            "2026-05-13T13:00:00Z",
            Some("the token is not valid yet: it was issued in the future"),
        ),
    ] {
        let token = signed(ApprovalTokenDraft { issued_at, expires_at, ..draft() });
        match reason {
            Some(reason) => assert_wrong(&token, reason),
            None => assert_all_kept(&paid(&token)),
        }
    }
    // A signature that is garbage, and one by another key under the approver's id.
    let forged = "the token's signature is forged, or the token was changed after it was signed";
    let mut garbage = good();
    garbage["signature"] = json!("A".repeat(86));
    assert_wrong(&garbage, forged);
    let mut stolen = token(&draft(), &TestKey::of(7));
    stolen["key_id"] = good()["key_id"].clone();
    assert_wrong(&stolen, forged);
    let mut widened = good();
    widened["expires_at"] = json!("2027-05-13T12:00:00Z");
    assert_wrong(&widened, forged);
    let mut longer = good();
    longer["more"] = json!("x");
    assert_wrong(&longer, "the token has the unknown member \"more\"");
    // A key that the envelope does not pin, whether anyone knows it or not.
    let id = TestKey::of(7).public_key().id();
    let reason = format!(
        "the token is signed with the key {id}, which the envelope does not pin as an approver of this"
    );
    assert_wrong(&token(&draft(), &TestKey::of(7)), &reason);
}

/// A type that the rule does not ask for, signed by a pinned key.
#[test]
fn the_type_that_was_signed_counts() {
    let delegated = token(&approval("a", "pay", SignerType::Delegate), &TestKey::of(APPROVER));
    let reason = "the approval for \"pay\" is by a signer of type delegate";
    assert_only(&paid(&delegated), &[("required_approvals", Fail, Some(4), reason)]);
}

/// The input is compared with what the call itself holds, not only with the question.
#[test]
fn the_input_of_the_call() {
    let rules = json!([{"action": "tool.call"}, {"action": "model.call"}]);
    let tool = |approved: &[u8], recorded: Json| {
        let draft = ApprovalTokenDraft { input_hash: input_hash(approved), ..approval("a", "pay", Human) };
        let question = json!({"approval_id": "a", "action": "tool.call", "tool": "pay",
            "input_hash": input_hash(approved).to_string()});
        Run::approved(rules.clone())
            .event("rer.approval.requested", question)
            .granted("a", &token(&draft, &TestKey::of(APPROVER)))
            .allow("1", json!({"tool": "pay", "approval_id": "a"}))
            .event("rer.tool.called", json!({"step_id": "1", "tool": "pay", "input": recorded}))
            .tool_returned("1")
    };
    assert_all_kept(&tool(br#"{"b": 1.0, "a": [2]}"#, json!({"a": [2], "b": 1})));
    assert_all_kept(&tool(b"not { json", json!("not { json")));
    assert_all_kept(&tool(br#""a string""#, json!("a string")));
    assert_all_kept(&tool(b"null", json!(null)));
    assert_all_kept(&tool(br#"{"key":"[masked:token:1]"}"#, json!({"key": "[masked:token:1]"})));
    let reason = "the approval for \"pay\" does not hold: the token is for another input";
    for (approved, recorded) in
        [(&br#"{"amount":1}"#[..], json!({"amount": 1000})), (b"1", json!("2")), (b"null", json!({}))]
    {
        assert_only(&tool(approved, recorded), &[("required_approvals", Fail, Some(4), reason)]);
    }
    // A secret that became known after the question was asked is masked in the call only.
    let reason =
        "the approval for \"pay\" cannot be checked: the input has masks that the approver may not have seen";
    assert_only(
        &tool(br#"{"key":"hunter2hunter2"}"#, json!({"key": "[masked:known:1]"})),
        &[("required_approvals", Inconclusive, Some(4), reason)],
    );
    let model = |http: Json| {
        let body = br#"{"model":"m"}"#;
        let draft = ApprovalTokenDraft {
            action: Action::Model,
            input_hash: input_hash(body),
            ..approval("a", "m", Human)
        };
        let question = json!({"approval_id": "a", "action": "model.call", "model": "m",
            "input_hash": input_hash(body).to_string()});
        Run::approved(rules.clone())
            .event("rer.approval.requested", question)
            .granted("a", &token(&draft, &TestKey::of(APPROVER)))
            .allow("1", json!({"model": "m", "approval_id": "a"}))
            .event("rer.model.called", json!({"step_id": "1", "model": "m", "http": http}))
            .event("rer.model.returned", json!({"step_id": "1"}))
    };
    assert_all_kept(&model(json!({"body": {"text": r#"{ "model": "m" }"#}})));
    let reason = "the approval for \"m\" does not hold: the token is for another input";
    let other = json!({"body": {"text": r#"{"model":"m","n":2}"#}});
    assert_only(&model(other), &[("required_approvals", Fail, Some(4), reason)]);
    let reason = "the approval for \"m\" cannot be checked: the record does not hold the input as text";
    for elsewhere in [json!({"body": {"base64": "e30"}}), json!({}), json!(null)] {
        assert_only(&model(elsewhere), &[("required_approvals", Inconclusive, Some(4), reason)]);
    }
}

/// Whether a token holds depends on the keys at hand: what they do not tell is not known.
#[test]
fn the_keys_at_hand() {
    let (approver, runtime) = (TestKey::of(APPROVER).public_key(), TestKey::of(RUNTIME).public_key());
    let id = approver.id();
    let verdict = |trust: Option<(Trust, KeyRoles)>, token: &Json| {
        let mut keys = Keys::default();
        keys.add(runtime, Trust::Trusted, KeyRole::Runtime.into(), None);
        if let Some((trust, roles)) = trust {
            keys.add(approver, trust, roles, None);
        }
        paid(token).verdict("required_approvals", &keys)
    };
    let kept = || (Pass, None, "each was granted before its action".to_owned());
    let role: KeyRoles = KeyRole::Approver.into();
    for trust in [(Trust::Supplied, KeyRoles::NONE), (Trust::Trusted, role), (Trust::Superseded, role)] {
        assert_eq!(verdict(Some(trust), &good()), kept(), "{trust:?}");
    }
    let doubt = |reason: &str| -> (AuditVerdict, Option<usize>, String) {
        let reason = format!(
            "the approval for \"pay\" cannot be checked: it is signed with the key {id}, which is {reason}"
        );
        (Inconclusive, Some(2), reason)
    };
    assert_eq!(verdict(None, &good()), doubt("not at hand: ask for that approver's key"));
    assert_eq!(verdict(Some((Trust::Compromised, role)), &good()), doubt("marked as compromised"));
    for other in [KeyRole::Runtime, KeyRole::Platform] {
        let reason = format!("trusted as {} and not as approver", other.name());
        assert_eq!(verdict(Some((Trust::Trusted, other.into())), &good()), doubt(&reason));
    }
    // A forged token is wrong whoever owns the key that it names, and unknown without that key.
    let mut forged = good();
    forged["signature"] = json!("A".repeat(86));
    for trust in [(Trust::Compromised, role), (Trust::Trusted, KeyRole::Runtime.into())] {
        assert_eq!(verdict(Some(trust), &forged).0, Fail);
    }
    assert_eq!(verdict(None, &forged), doubt("not at hand: ask for that approver's key"));
}

/// The key that seals a run approves nothing in it, even if its envelope says so.
#[test]
fn a_run_does_not_approve_itself() {
    let runtime = TestKey::of(RUNTIME);
    let mut run = paid(&token(&approval("a", "pay", Human), &runtime));
    run.envelope["metadata"]["approvers"] = pins(&runtime);
    let id = runtime.public_key().id();
    let reason =
        format!("the approval for \"pay\" does not hold: it is signed with the key of the run itself, {id}");
    assert_only(&run, &[("required_approvals", Fail, Some(2), &reason)]);
}

/// Pins are for an action and its name, as rules are.
#[test]
fn pinned_for_something_else() {
    let id = TestKey::of(APPROVER).public_key().id();
    let verdict = |approvers: Json| {
        let mut run = paid(&good());
        run.envelope["metadata"]["approvers"] = approvers;
        run.verdict("required_approvals", &both_keys())
    };
    let key = || json!([id.to_string()]);
    for approvers in [
        json!([{"action": "tool.call", "tool_pattern": "pay", "keys": key()}]),
        json!([{"action": "tool.call", "keys": []}, {"action": "tool.call", "tool_pattern": "p*", "keys": key()}]),
        json!([{"action": "tool.call", "model_pattern": "x", "keys": key()}]),
    ] {
        assert_eq!(verdict(approvers).0, Pass);
    }
    let reason = format!(
        "the approval for \"pay\" does not hold: the token is signed with the key {id}, which the envelope does not pin as an approver of this"
    );
    for approvers in [
        json!([]),
        json!([{"action": "tool.call", "keys": []}]),
        json!([{"action": "tool.call", "tool_pattern": "pay2", "keys": key()}]),
        json!([{"action": "model.call", "keys": key()}]),
    ] {
        assert_eq!(verdict(approvers), (Fail, Some(2), reason.clone()));
    }
    let reason = "the approval for \"pay\" cannot be checked: metadata.approvers: must be a list";
    assert_eq!(verdict(json!("alice")), (Inconclusive, Some(2), reason.into()));
}

/// A record of 0.1.0 pins nobody: what it holds may be right, and nobody can tell.
#[test]
fn nobody_is_pinned() {
    let reason = "the approval for \"pay\" cannot be checked: the envelope pins no approvers (metadata.approvers), so nobody can tell whose approval counts";
    assert_only(&paid(&good()).unpinned(), &[("required_approvals", Inconclusive, Some(2), reason)]);
    // Nothing needed an approval.
    assert_all_kept(
        &Run::approved(json!([{"action": "tool.call", "tool_pattern": "pay"}])).unpinned().tool("1", "t"),
    );
}
