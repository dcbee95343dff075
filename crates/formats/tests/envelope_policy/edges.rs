//! The edges of the policy function, one by one.

use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::envelope::permission::{ApprovalRule, Envelope};
use reenact_formats::rer::envelope::policy::{
    Action, ActionHistory, CostEstimate, EnvelopeDecision, EnvelopeRule, PolicyRequest, decide,
};
use reenact_formats::rer::time;

use crate::{NOON, SECOND, UNLIMITED, dollars, rule};

/// Returns an envelope that allows the tool `t` and the model `m`.
fn permissive() -> Envelope {
    Envelope { allowed_models: ["m".into()].into(), allowed_tools: ["t".into()].into(), ..UNLIMITED }
}

fn tool(name: &str, at: i128, cost: CostEstimate) -> PolicyRequest<'_> {
    PolicyRequest { action: Action::Tool, name, at, cost }
}

fn broken(envelope: &Envelope, history: &ActionHistory, request: &PolicyRequest<'_>) -> Vec<EnvelopeRule> {
    decide(envelope, history, request).broken_rules
}

/// Returns a history of actions at these instants.
fn history_of(at: &[i128]) -> ActionHistory {
    let mut history = ActionHistory::default();
    at.iter().for_each(|at| history.record_action(*at));
    history
}

#[test]
fn the_limit_th_action_is_the_last() {
    let envelope = Envelope { max_steps: Some(3), ..permissive() };
    let request = tool("t", 0, CostEstimate::Counted);
    assert_eq!(broken(&envelope, &history_of(&[0; 2]), &request), []);
    assert_eq!(broken(&envelope, &history_of(&[0; 3]), &request), [EnvelopeRule::MaxSteps]);
    assert_eq!(broken(&envelope, &history_of(&[0; 4]), &request), [EnvelopeRule::MaxSteps]);
    let one = Envelope { max_steps: Some(1), ..permissive() };
    assert_eq!(broken(&one, &ActionHistory::default(), &request), []);
    assert_eq!(broken(&one, &history_of(&[0]), &request), [EnvelopeRule::MaxSteps]);
    let many = Envelope { max_steps: Some(u64::MAX), ..permissive() };
    assert_eq!(broken(&many, &history_of(&[0; 9]), &request), []);
}

#[test]
fn sixty_seconds_later_the_window_is_free() {
    let envelope = Envelope { rate_limit_rpm: Some(1), ..permissive() };
    let after = |nanoseconds| {
        broken(&envelope, &history_of(&[NOON]), &tool("t", NOON + nanoseconds, CostEstimate::Counted))
    };
    assert_eq!(after(0), [EnvelopeRule::RateLimit]);
    assert_eq!(after(60 * SECOND - 1), [EnvelopeRule::RateLimit]);
    assert_eq!(after(60 * SECOND), []);
    // The clock went back: still within the window.
    assert_eq!(after(-600 * SECOND), [EnvelopeRule::RateLimit]);
    // The clock went back before, so the last action counts as of the latest instant.
    let history = history_of(&[NOON, NOON - 59 * SECOND]);
    assert_eq!(
        broken(&envelope, &history, &tool("t", NOON + 60 * SECOND - 1, CostEstimate::Counted)),
        [EnvelopeRule::RateLimit]
    );
    assert_eq!(broken(&envelope, &history, &tool("t", NOON + 60 * SECOND, CostEstimate::Counted)), []);
    let two = Envelope { rate_limit_rpm: Some(2), ..permissive() };
    assert_eq!(broken(&two, &history_of(&[NOON]), &tool("t", NOON, CostEstimate::Counted)), []);
    assert_eq!(
        broken(&two, &history_of(&[NOON; 2]), &tool("t", NOON, CostEstimate::Counted)),
        [EnvelopeRule::RateLimit]
    );
}

#[test]
fn the_moment_of_expiry_is_too_late() {
    let envelope = Envelope { expiry: time::instant("2026-05-13T14:00:00+02:00"), ..permissive() };
    assert_eq!(envelope.expiry, Some(NOON));
    let at = |at| broken(&envelope, &ActionHistory::default(), &tool("t", at, CostEstimate::Counted));
    assert_eq!(at(NOON - 1), []);
    assert_eq!(at(NOON), [EnvelopeRule::Expiry]);
    assert_eq!(at(NOON + 1), [EnvelopeRule::Expiry]);
}

#[test]
fn nothing_may_be_spent() {
    let envelope = Envelope { max_spend: Some(Money::default()), ..permissive() };
    let cost = |cost| broken(&envelope, &ActionHistory::default(), &tool("t", 0, cost));
    assert_eq!(cost(CostEstimate::AtMost(dollars("0"))), []);
    assert_eq!(cost(CostEstimate::AtMost(dollars("0.000000000001"))), [EnvelopeRule::MaxSpend]);
    assert_eq!(cost(CostEstimate::AtMost(dollars("1e-300"))), [EnvelopeRule::MaxSpend]);
    assert_eq!(cost(CostEstimate::Unknown), [EnvelopeRule::MaxSpend]);
    assert_eq!(cost(CostEstimate::Counted), []);
}

#[test]
fn an_unknown_cost_needs_no_cap() {
    let request = tool("t", 0, CostEstimate::Unknown);
    assert_eq!(broken(&permissive(), &ActionHistory::default(), &request), []);
    let capped = Envelope { max_spend: Some(dollars("1e30")), ..permissive() };
    assert_eq!(broken(&capped, &ActionHistory::default(), &request), [EnvelopeRule::MaxSpend]);
}

#[test]
fn a_tenth_and_two_tenths_are_three_tenths() {
    let envelope = Envelope { max_spend: Some(dollars("0.3")), ..permissive() };
    let mut history = ActionHistory::default();
    history.record_cost(dollars("0.1"));
    assert_eq!(broken(&envelope, &history, &tool("t", 0, CostEstimate::AtMost(dollars("0.2")))), []);
    let fine = dollars("0.200000000001");
    assert_eq!(
        broken(&envelope, &history, &tool("t", 0, CostEstimate::AtMost(fine))),
        [EnvelopeRule::MaxSpend]
    );
    history.record_cost(dollars("0.2"));
    assert_eq!(broken(&envelope, &history, &tool("t", 0, CostEstimate::Counted)), []);
    history.record_cost(dollars("1e-12"));
    assert_eq!(broken(&envelope, &history, &tool("t", 0, CostEstimate::Counted)), [EnvelopeRule::MaxSpend]);
    // An overshoot blocks free actions, too.
    assert_eq!(
        broken(&envelope, &history, &tool("t", 0, CostEstimate::AtMost(Money::default()))),
        [EnvelopeRule::MaxSpend]
    );
}

#[test]
fn sums_do_not_wrap() {
    let envelope = Envelope { max_spend: Some(Money::from_picodollars(u128::MAX - 1)), ..permissive() };
    let mut history = ActionHistory::default();
    history.record_cost(Money::from_picodollars(u128::MAX));
    history.record_cost(Money::from_picodollars(u128::MAX));
    assert_eq!(broken(&envelope, &history, &tool("t", 0, CostEstimate::Counted)), [EnvelopeRule::MaxSpend]);
}

#[test]
fn lists_hold_names_not_patterns() {
    let starred = Envelope { allowed_tools: ["*".into(), "p?".into()].into(), ..UNLIMITED };
    let ask = |name| broken(&starred, &ActionHistory::default(), &tool(name, 0, CostEstimate::Counted));
    assert_eq!(ask("*"), []);
    assert_eq!(ask("p?"), []);
    assert_eq!(ask("px"), [EnvelopeRule::AllowedTools]);
    assert_eq!(ask(""), [EnvelopeRule::AllowedTools]);
    for other in ["T", "t ", " t", "t\0", "t\u{200b}", "т", "tt"] {
        assert_eq!(
            broken(&permissive(), &ActionHistory::default(), &tool(other, 0, CostEstimate::Counted)),
            [EnvelopeRule::AllowedTools],
            "{other:?}"
        );
    }
    // Models and tools have lists of their own.
    assert_eq!(
        broken(&permissive(), &ActionHistory::default(), &tool("m", 0, CostEstimate::Counted)),
        [EnvelopeRule::AllowedTools]
    );
    let model = PolicyRequest { action: Action::Model, name: "t", at: 0, cost: CostEstimate::Counted };
    assert_eq!(broken(&permissive(), &ActionHistory::default(), &model), [EnvelopeRule::AllowedModels]);
    assert_eq!(broken(&UNLIMITED, &ActionHistory::default(), &model), [EnvelopeRule::AllowedModels]);
}

fn approvals(rules: &[ApprovalRule], action: Action, name: &str) -> Vec<usize> {
    let envelope = Envelope { required_approvals: rules.to_vec(), ..UNLIMITED };
    decide(
        &envelope,
        &ActionHistory::default(),
        &PolicyRequest { action, name, at: 0, cost: CostEstimate::Counted },
    )
    .required_approvals
}

#[test]
fn of_two_patterns_the_one_for_the_action_counts() {
    let both = [rule("tool.call", Some("pay_*"), Some("gpt*"))];
    assert_eq!(approvals(&both, Action::Tool, "pay_x"), [0]);
    assert_eq!(approvals(&both, Action::Tool, "gpt"), [0_usize; 0]);
    assert_eq!(approvals(&both, Action::Model, "pay_x"), [0_usize; 0]);
    assert_eq!(approvals(&both, Action::Model, "gpt"), [0_usize; 0]);
    // The other kind's pattern alone leaves all of this kind.
    let other = [rule("tool.call", None, Some("gpt*"))];
    assert_eq!(approvals(&other, Action::Tool, "pay_x"), [0]);
    assert_eq!(approvals(&[rule("tool.call", None, None)], Action::Tool, ""), [0]);
}

#[test]
fn every_rule_that_covers_an_action_is_named() {
    let rules = [
        rule("tool.call", Some("*"), None),
        rule("model.call", None, None),
        rule("tool.call", Some("p?y"), None),
        rule("tool.call", Some("pay"), None),
        rule("tool.call", Some("PAY"), None),
        rule("Tool.call", None, None),
        rule("tool.call", None, None),
    ];
    assert_eq!(approvals(&rules, Action::Tool, "pay"), [0, 2, 3, 6]);
    assert_eq!(approvals(&rules, Action::Model, "pay"), [1]);
}

#[test]
fn broken_rules_come_in_one_order() {
    let envelope = Envelope {
        max_steps: Some(1),
        max_spend: Some(Money::default()),
        rate_limit_rpm: Some(1),
        expiry: Some(NOON),
        required_approvals: vec![rule("tool.call", None, None)],
        ..UNLIMITED
    };
    let mut history = history_of(&[NOON]);
    history.record_cost(dollars("1"));
    let expected = EnvelopeDecision {
        broken_rules: vec![
            EnvelopeRule::Expiry,
            EnvelopeRule::AllowedTools,
            EnvelopeRule::MaxSteps,
            EnvelopeRule::MaxSpend,
            EnvelopeRule::RateLimit,
        ],
        required_approvals: vec![0],
    };
    assert_eq!(decide(&envelope, &history, &tool("t", NOON, CostEstimate::Unknown)), expected);
    let model = PolicyRequest { action: Action::Model, name: "m", at: NOON, cost: CostEstimate::Unknown };
    assert_eq!(decide(&envelope, &history, &model).broken_rules[1], EnvelopeRule::AllowedModels);
    let names: Vec<&str> = expected.broken_rules.iter().map(|rule| rule.name()).collect();
    assert_eq!(names, ["expiry", "allowed_tools", "max_steps", "max_spend_usd", "rate_limit_rpm"]);
    assert_eq!(EnvelopeRule::AllowedModels.name(), "allowed_models");
}

/// A hundred thousand names, asked for a hundred thousand times.
#[test]
fn long_lists_and_histories_are_no_burden() {
    let names = (0..100_000).map(|at| format!("a{at:06}")).chain(["t".into()]);
    let envelope =
        Envelope { allowed_tools: names.collect(), rate_limit_rpm: Some(1_000_000), ..permissive() };
    let mut history = ActionHistory::default();
    for _ in 0..100_000 {
        assert_eq!(broken(&envelope, &history, &tool("t", NOON, CostEstimate::Counted)), []);
        history.record_action(NOON);
    }
    assert_eq!(history.actions(), 100_000);
}
