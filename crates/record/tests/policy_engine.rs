//! The policy engine at the edge of each rule: the last action that is allowed, and the first that is not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::collections::BTreeSet;
use std::time::Duration;

use reenact_formats::key::KeyId;
use reenact_formats::rer::envelope::approvers::{ApproverPin, PinnedApprovers};
use reenact_formats::rer::envelope::permission::{ApprovalRule, Envelope};
use reenact_formats::rer::envelope::policy::ActionHistory;
use reenact_record::PolicyEngine;
use reenact_record::policy_engine::{
    Action, Money, NeededApproval, PolicyRefusal, ProposedAction, Ruling, SignerType,
};

/// Returns 2026-05-13T12:00:00Z plus `nanoseconds`.
fn time_at(nanoseconds: u64) -> Duration {
    Duration::from_secs(1_778_673_600) + Duration::from_nanos(nanoseconds)
}

const SECOND: u64 = 1_000_000_000;

fn micro(dollars: u128) -> Money {
    Money::from_picodollars(dollars * 1_000_000)
}

fn pico(dollars: u128) -> Money {
    Money::from_picodollars(dollars)
}

/// Returns an envelope that allows the model `m` and the tool `t` without limits.
fn envelope() -> Envelope {
    Envelope {
        allowed_models: ["m".to_owned()].into(),
        allowed_tools: ["t".to_owned(), "pay_a".to_owned()].into(),
        ..Envelope::PERMITTING_NOTHING
    }
}

fn model(name: &str, at: u64, expected: Option<Money>) -> ProposedAction<'_> {
    ProposedAction {
        action: Action::Model,
        name,
        at: time_at(at),
        expected_cost: expected,
        is_approved: false,
    }
}

fn tool(name: &str, at: u64) -> ProposedAction<'_> {
    ProposedAction { action: Action::Tool, name, at: time_at(at), expected_cost: None, is_approved: false }
}

fn denied(rule: &'static str, reason: &str) -> Ruling {
    Ruling::Denied(PolicyRefusal { rule, reason: reason.to_owned(), retry_after: None })
}

/// Returns the rule that a ruling names.
fn rule(ruling: &Ruling) -> Option<&'static str> {
    match ruling {
        Ruling::Denied(refused) => Some(refused.rule),
        Ruling::Allowed | Ruling::NeedsApproval(_) => None,
    }
}

#[test]
fn lists_are_taken_literally() {
    let policy = PolicyEngine::new(envelope());
    assert_eq!(policy.evaluate(&model("m", 0, None)), Ruling::Allowed);
    assert_eq!(policy.evaluate(&tool("t", 0)), Ruling::Allowed);
    for (name, shown) in [("M", "M"), ("m ", "m "), ("t", "t"), ("*", "*"), ("m\u{202e}", "m\\u{202e}")] {
        let reason = format!("the model \"{shown}\" is not on the list");
        assert_eq!(policy.evaluate(&model(name, 0, None)), denied("allowed_models", &reason));
    }
    assert_eq!(
        policy.evaluate(&model("", 0, None)),
        denied("allowed_models", "the request does not tell which model it asks")
    );
    assert_eq!(policy.evaluate(&tool("m", 0)), denied("allowed_tools", "the tool \"m\" is not on the list"));
    let nothing = Envelope { allowed_models: [].into(), allowed_tools: [].into(), ..envelope() };
    let policy = PolicyEngine::new(nothing);
    assert_eq!(rule(&policy.evaluate(&model("m", 0, None))), Some("allowed_models"));
    assert_eq!(rule(&policy.evaluate(&tool("t", 0))), Some("allowed_tools"));
    let star = PolicyEngine::new(Envelope { allowed_tools: ["*".to_owned()].into(), ..envelope() });
    assert_eq!(rule(&star.evaluate(&tool("t", 0))), Some("allowed_tools"), "a star is a name like any other");
}

#[test]
fn the_last_step_is_allowed_and_the_next_is_not() {
    let mut policy = PolicyEngine::new(Envelope { max_steps: Some(3), ..envelope() });
    for wanted in [model("m", 0, None), tool("t", 0), model("m", 0, Some(micro(1)))] {
        assert_eq!(policy.evaluate(&wanted), Ruling::Allowed);
        // A denied action is no step.
        assert_eq!(rule(&policy.evaluate(&tool("rm", 0))), Some("allowed_tools"));
        policy.begin_action(&wanted);
    }
    let reason = "3 actions are allowed, and as many have begun";
    assert_eq!(policy.evaluate(&model("m", 0, None)), denied("max_steps", reason));
    assert_eq!(policy.evaluate(&tool("t", 3600 * SECOND)), denied("max_steps", reason));
}

#[test]
fn one_action_is_told_in_the_singular() {
    let mut policy = PolicyEngine::new(Envelope { max_steps: Some(1), ..envelope() });
    policy.begin_action(&model("m", 0, None));
    let reason = "1 action is allowed, and it has begun";
    assert_eq!(policy.evaluate(&tool("t", 0)), denied("max_steps", reason));
}

#[test]
fn sixty_seconds_are_over_after_sixty_seconds() {
    let mut policy = PolicyEngine::new(Envelope { rate_limit_rpm: Some(2), ..envelope() });
    policy.begin_action(&model("m", 0, None));
    assert_eq!(policy.evaluate(&tool("t", 0)), Ruling::Allowed);
    policy.begin_action(&tool("t", 10 * SECOND));
    let crowded = |after| {
        let reason = "2 actions are allowed in 60 seconds, and as many have begun".to_owned();
        Ruling::Denied(PolicyRefusal {
            rule: "rate_limit_rpm",
            reason,
            retry_after: Some(Duration::from_nanos(after)),
        })
    };
    for (at, left) in [(10 * SECOND, 50 * SECOND), (60 * SECOND - 1, 1)] {
        assert_eq!(policy.evaluate(&tool("t", at)), crowded(left), "{at}");
        assert_eq!(policy.evaluate(&model("m", at, None)), crowded(left), "being denied uses nothing up");
    }
    assert_eq!(policy.evaluate(&tool("t", 60 * SECOND)), Ruling::Allowed);
    policy.begin_action(&tool("t", 60 * SECOND));
    assert_eq!(policy.evaluate(&tool("t", 60 * SECOND)), crowded(10 * SECOND));
    // A clock that goes back gives no room.
    assert_eq!(policy.evaluate(&tool("t", 0)), crowded(70 * SECOND));
}

#[test]
fn room_comes_when_enough_have_left() {
    let mut history = ActionHistory::default();
    for at in [0, 10, 20, 20] {
        history.record_action(at * i128::from(SECOND));
    }
    let room = |at: i128, limit| {
        history.rate_limit_delay(at * i128::from(SECOND), limit).map(|after| after.as_secs())
    };
    assert_eq!(room(20, 5), None, "there is room now");
    assert_eq!(
        [room(20, 4), room(20, 3), room(20, 2), room(20, 1)],
        [Some(40), Some(50), Some(60), Some(60)]
    );
    assert_eq!(room(20, 0), None, "there never is");
    assert_eq!(
        [room(59, 4), room(60, 4), room(60, 3), room(79, 1), room(80, 1)],
        [Some(1), None, Some(10), Some(1), None]
    );
}

#[test]
fn a_moment_before_the_end_and_at_it() {
    let end = i128::try_from(time_at(5).as_nanos()).unwrap();
    let policy = PolicyEngine::new(Envelope { expiry: Some(end), ..envelope() });
    assert_eq!(policy.evaluate(&model("m", 4, None)), Ruling::Allowed);
    assert_eq!(policy.evaluate(&tool("t", 4)), Ruling::Allowed);
    for at in [5, 6, u64::MAX] {
        assert_eq!(policy.evaluate(&model("m", at, None)), denied("expiry", "the envelope has expired"));
        assert_eq!(policy.evaluate(&tool("t", at)), denied("expiry", "the envelope has expired"));
    }
    let late = ProposedAction { at: Duration::MAX, ..tool("t", 0) };
    assert_eq!(rule(&policy.evaluate(&late)), Some("expiry"));
}

#[test]
fn a_limit_may_be_reached_and_not_passed() {
    let mut policy = PolicyEngine::new(Envelope { max_spend: Some(micro(3)), ..envelope() });
    assert_eq!(policy.evaluate(&model("m", 0, Some(micro(3)))), Ruling::Allowed);
    assert_eq!(
        policy.evaluate(&model("m", 0, Some(pico(3_000_001)))),
        denied(
            "max_spend_usd",
            "0.00 USD are spent, this one may cost 0.000004 USD, and 0.000003 USD are allowed"
        )
    );
    policy.begin_action(&model("m", 0, Some(micro(3))));
    policy.settle_cost(micro(3), micro(3));
    // Exactly at the limit, an action without cost is allowed.
    assert_eq!(policy.evaluate(&model("m", 0, Some(micro(0)))), Ruling::Allowed);
    assert_eq!(policy.evaluate(&tool("t", 0)), Ruling::Allowed);
    assert_eq!(rule(&policy.evaluate(&model("m", 0, Some(pico(1))))), Some("max_spend_usd"));
    // A call that was under way cost more than expected: from now on everything is denied.
    policy.settle_cost(micro(0), pico(1));
    let reason = "0.000004 USD are spent, and 0.000003 USD are allowed";
    for wanted in [model("m", 0, Some(micro(0))), model("m", 0, None), tool("t", 0)] {
        assert_eq!(policy.evaluate(&wanted), denied("max_spend_usd", reason));
    }
}

#[test]
fn no_dollars_forbid_what_costs_and_allow_what_is_free() {
    let policy = PolicyEngine::new(Envelope { max_spend: Some(micro(0)), ..envelope() });
    assert_eq!(policy.evaluate(&model("m", 0, Some(micro(0)))), Ruling::Allowed);
    assert_eq!(policy.evaluate(&tool("t", 0)), Ruling::Allowed);
    assert_eq!(rule(&policy.evaluate(&model("m", 0, Some(pico(1))))), Some("max_spend_usd"));
    let unknown = "nobody knows what \"m\" costs, and 0.00 USD are allowed; give it a price";
    assert_eq!(policy.evaluate(&model("m", 0, None)), denied("max_spend_usd", unknown));
    let open = PolicyEngine::new(envelope());
    assert_eq!(
        open.evaluate(&model("m", 0, None)),
        Ruling::Allowed,
        "without a limit nobody asks for the price"
    );
}

/// A call whose cost nobody told may have cost all that was reserved for it.
#[test]
fn what_nobody_told_stays_reserved() {
    let mut policy = PolicyEngine::new(Envelope { max_spend: Some(micro(10)), ..envelope() });
    let four = model("m", 0, Some(micro(4)));
    for least in [micro(1), micro(5)] {
        assert_eq!(policy.evaluate(&four), Ruling::Allowed);
        policy.begin_action(&four);
        policy.keep_reserved(micro(4), least);
    }
    let reason = "0.00 USD are spent, 2 calls whose cost was not told may have cost 0.000009 USD, this one may cost 0.000002 USD, and 0.00001 USD are allowed";
    assert_eq!(policy.evaluate(&model("m", 0, Some(micro(2)))), denied("max_spend_usd", reason));
    assert_eq!(policy.evaluate(&model("m", 0, Some(micro(1)))), Ruling::Allowed);
    assert_eq!(policy.evaluate(&tool("t", 0)), Ruling::Allowed);
}

#[test]
fn what_is_under_way_is_reserved() {
    let mut policy = PolicyEngine::new(Envelope { max_spend: Some(micro(10)), ..envelope() });
    let five = model("m", 0, Some(micro(5)));
    for _ in 0..2 {
        assert_eq!(policy.evaluate(&five), Ruling::Allowed);
        policy.begin_action(&five);
    }
    assert_eq!(
        policy.evaluate(&model("m", 0, Some(pico(1)))),
        denied(
            "max_spend_usd",
            "0.00 USD are spent, calls under way may cost 0.00001 USD, this one may cost 0.000001 USD, and 0.00001 USD are allowed"
        )
    );
    policy.settle_cost(micro(5), micro(2));
    assert_eq!(policy.evaluate(&model("m", 0, Some(micro(3)))), Ruling::Allowed);
    assert_eq!(rule(&policy.evaluate(&model("m", 0, Some(pico(3_000_001))))), Some("max_spend_usd"));
    policy.settle_cost(micro(5), micro(0));
    assert_eq!(policy.evaluate(&model("m", 0, Some(micro(8)))), Ruling::Allowed);
    // A clone decides without effect on the original.
    let mut trial = policy.clone();
    trial.begin_action(&model("m", 0, Some(micro(8))));
    assert_eq!(rule(&trial.evaluate(&model("m", 0, Some(pico(1))))), Some("max_spend_usd"));
    assert_eq!(policy.evaluate(&model("m", 0, Some(micro(8)))), Ruling::Allowed);
}

/// The record has whole micro-dollars, rounded up: the engine must not count less.
#[test]
fn what_was_spent_counts_as_it_will_be_recorded() {
    let mut policy = PolicyEngine::new(Envelope { max_spend: Some(micro(2)), ..envelope() });
    for _ in 0..2 {
        assert_eq!(policy.evaluate(&model("m", 0, Some(pico(0)))), Ruling::Allowed);
        policy.settle_cost(pico(0), pico(1));
    }
    assert_eq!(rule(&policy.evaluate(&model("m", 0, Some(pico(1))))), Some("max_spend_usd"));
    let mut most = PolicyEngine::new(Envelope { max_spend: Some(micro(2)), ..envelope() });
    most.begin_action(&model("m", 0, Some(pico(u128::MAX))));
    most.settle_cost(pico(u128::MAX), pico(u128::MAX));
    assert_eq!(rule(&most.evaluate(&tool("t", 0))), Some("max_spend_usd"));
}

fn approval(action: &str, pattern: Option<&str>, types: Option<&[SignerType]>) -> ApprovalRule {
    ApprovalRule {
        action: action.to_owned(),
        tool_pattern: pattern.map(str::to_owned),
        model_pattern: None,
        signer_types: types.map(<[_]>::to_vec),
    }
}

fn pinned() -> BTreeSet<KeyId> {
    [KeyId::parse(&"A".repeat(43)).unwrap()].into()
}

#[test]
fn approvals_of_several_rules_are_one() {
    use SignerType::{Automated, Delegate, Human};
    let all = "required_approvals[0], required_approvals[1]";
    let first = "required_approvals[0]";
    let cases: [(Vec<ApprovalRule>, Ruling); 6] = [
        (vec![approval("model.call", None, None)], Ruling::Allowed),
        (vec![approval("tool.call", Some("pay"), None)], Ruling::Allowed),
        (
            vec![approval("tool.call", Some("pay_*"), None)],
            Ruling::NeedsApproval(NeededApproval {
                rule: first.to_owned(),
                signer_types: None,
                pinned: pinned(),
            }),
        ),
        (
            vec![
                approval("tool.call", None, Some(&[Human, Automated])),
                approval("tool.call", Some("pay_?"), None),
            ],
            Ruling::NeedsApproval(NeededApproval {
                rule: all.to_owned(),
                signer_types: Some(vec![Human, Automated]),
                pinned: pinned(),
            }),
        ),
        (
            vec![
                approval("tool.call", None, Some(&[Human, Delegate])),
                approval("tool.call", None, Some(&[Automated, Human])),
            ],
            Ruling::NeedsApproval(NeededApproval {
                rule: all.to_owned(),
                signer_types: Some(vec![Human]),
                pinned: pinned(),
            }),
        ),
        (
            vec![
                approval("tool.call", None, Some(&[Human])),
                approval("tool.call", None, Some(&[Automated])),
            ],
            denied(
                "required_approvals",
                "no one approval satisfies required_approvals[0] and required_approvals[1]",
            ),
        ),
    ];
    for (required_approvals, expected) in cases {
        // The keys are those of the pins that cover the call.
        let pin = |tool: &str, keys: BTreeSet<KeyId>| ApproverPin {
            action: "tool.call".into(),
            tool_pattern: Some(tool.into()),
            model_pattern: None,
            keys,
        };
        let other = KeyId::parse(&format!("{}A", "B".repeat(42))).unwrap();
        let approvers = vec![pin("pay_*", pinned()), pin("look*", [other].into())];
        let approvers = PinnedApprovers::Listed(approvers);
        let policy = PolicyEngine::new(Envelope { required_approvals, approvers, ..envelope() });
        assert_eq!(policy.evaluate(&tool("pay_a", 0)), expected);
        let approved = ProposedAction { is_approved: true, ..tool("pay_a", 0) };
        assert_eq!(policy.evaluate(&approved), Ruling::Allowed, "{expected:?}");
        // A forbidden action needs no approval.
        assert_eq!(rule(&policy.evaluate(&tool("pay_b", 0))), Some("allowed_tools"));
        let approved = ProposedAction { is_approved: true, ..tool("pay_b", 0) };
        assert_eq!(rule(&policy.evaluate(&approved)), Some("allowed_tools"), "an approval is no permission");
    }
}

#[test]
fn the_first_rule_is_named() {
    let everything = Envelope {
        max_steps: Some(0),
        max_spend: Some(micro(0)),
        rate_limit_rpm: Some(0),
        expiry: Some(0),
        required_approvals: vec![approval("tool.call", None, None)],
        ..envelope()
    };
    let mut policy = PolicyEngine::new(everything.clone());
    policy.begin_action(&model("m", 0, Some(micro(1))));
    assert_eq!(rule(&policy.evaluate(&tool("rm", 1))), Some("expiry"));
    let in_order = ["allowed_tools", "max_steps", "max_spend_usd", "rate_limit_rpm"];
    let mut envelope = Envelope { expiry: None, allowed_tools: [].into(), ..everything };
    for name in in_order {
        let mut policy = PolicyEngine::new(envelope.clone());
        policy.settle_cost(micro(0), micro(1));
        assert_eq!(rule(&policy.evaluate(&tool("t", 1))), Some(name));
        match name {
            "allowed_tools" => envelope.allowed_tools = ["t".to_owned()].into(),
            "max_steps" => envelope.max_steps = None,
            "max_spend_usd" => envelope.max_spend = None,
            _ => envelope.rate_limit_rpm = None,
        }
    }
    assert!(matches!(PolicyEngine::new(envelope).evaluate(&tool("t", 1)), Ruling::NeedsApproval(_)));
}

#[test]
fn a_vendors_own_tools_are_on_the_list_or_not_asked_for() {
    let policy = PolicyEngine::new(envelope());
    assert_eq!(policy.check_vendor_tool("t"), Ok(()));
    assert_eq!(policy.check_vendor_tool("t_20250305"), Ok(()), "a dated type belongs to its tool");
    assert!(policy.check_vendor_tool("mcp:t_20250305").is_err());
    let reason = "the vendor's own tool \"web_search\" is not on the list".to_owned();
    assert_eq!(
        policy.check_vendor_tool("web_search"),
        Err(PolicyRefusal { rule: "allowed_tools", reason, retry_after: None })
    );
}
