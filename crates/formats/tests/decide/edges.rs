//! The edges of the policy function, one by one.

use reenact_formats::rer::envelope::decide::{Action, Cost, Decision, History, Request, Rule, decide};
use reenact_formats::rer::envelope::money::Money;
use reenact_formats::rer::envelope::permission::{ApprovalRule, Envelope};
use reenact_formats::rer::time;

use crate::{NOON, OPEN, SECOND, dollars, rule};

/// An envelope that allows the tool `t` and the model `m`.
fn open() -> Envelope {
    Envelope { allowed_models: ["m".into()].into(), allowed_tools: ["t".into()].into(), ..OPEN }
}

fn tool(name: &str, at: i128, cost: Cost) -> Request<'_> {
    Request { action: Action::Tool, name, at, cost }
}

fn broken(envelope: &Envelope, history: &History, request: &Request<'_>) -> Vec<Rule> {
    decide(envelope, history, request).broken
}

/// A history of actions at these moments.
fn begun(at: &[i128]) -> History {
    let mut history = History::default();
    at.iter().for_each(|at| history.began(*at));
    history
}

#[test]
fn the_limit_th_action_is_the_last() {
    let envelope = Envelope { max_steps: Some(3), ..open() };
    let request = tool("t", 0, Cost::Counted);
    assert_eq!(broken(&envelope, &begun(&[0; 2]), &request), []);
    assert_eq!(broken(&envelope, &begun(&[0; 3]), &request), [Rule::MaxSteps]);
    assert_eq!(broken(&envelope, &begun(&[0; 4]), &request), [Rule::MaxSteps]);
    let one = Envelope { max_steps: Some(1), ..open() };
    assert_eq!(broken(&one, &History::default(), &request), []);
    assert_eq!(broken(&one, &begun(&[0]), &request), [Rule::MaxSteps]);
    let many = Envelope { max_steps: Some(u64::MAX), ..open() };
    assert_eq!(broken(&many, &begun(&[0; 9]), &request), []);
}

#[test]
fn sixty_seconds_later_the_window_is_free() {
    let envelope = Envelope { rate_limit_rpm: Some(1), ..open() };
    let after =
        |nanoseconds| broken(&envelope, &begun(&[NOON]), &tool("t", NOON + nanoseconds, Cost::Counted));
    assert_eq!(after(0), [Rule::RateLimit]);
    assert_eq!(after(60 * SECOND - 1), [Rule::RateLimit]);
    assert_eq!(after(60 * SECOND), []);
    // The clock went back: still within the window.
    assert_eq!(after(-600 * SECOND), [Rule::RateLimit]);
    // It went back before, so that the last action counts as of the latest moment.
    let history = begun(&[NOON, NOON - 59 * SECOND]);
    assert_eq!(
        broken(&envelope, &history, &tool("t", NOON + 60 * SECOND - 1, Cost::Counted)),
        [Rule::RateLimit]
    );
    assert_eq!(broken(&envelope, &history, &tool("t", NOON + 60 * SECOND, Cost::Counted)), []);
    let two = Envelope { rate_limit_rpm: Some(2), ..open() };
    assert_eq!(broken(&two, &begun(&[NOON]), &tool("t", NOON, Cost::Counted)), []);
    assert_eq!(broken(&two, &begun(&[NOON; 2]), &tool("t", NOON, Cost::Counted)), [Rule::RateLimit]);
}

#[test]
fn the_moment_of_expiry_is_too_late() {
    let envelope = Envelope { expiry: time::instant("2026-05-13T14:00:00+02:00"), ..open() };
    assert_eq!(envelope.expiry, Some(NOON));
    let at = |at| broken(&envelope, &History::default(), &tool("t", at, Cost::Counted));
    assert_eq!(at(NOON - 1), []);
    assert_eq!(at(NOON), [Rule::Expiry]);
    assert_eq!(at(NOON + 1), [Rule::Expiry]);
}

#[test]
fn nothing_may_be_spent() {
    let envelope = Envelope { max_spend: Some(Money::default()), ..open() };
    let cost = |cost| broken(&envelope, &History::default(), &tool("t", 0, cost));
    assert_eq!(cost(Cost::AtMost(dollars("0"))), []);
    assert_eq!(cost(Cost::AtMost(dollars("0.000000000001"))), [Rule::MaxSpend]);
    assert_eq!(cost(Cost::AtMost(dollars("1e-300"))), [Rule::MaxSpend]);
    assert_eq!(cost(Cost::Unknown), [Rule::MaxSpend]);
    assert_eq!(cost(Cost::Counted), []);
}

#[test]
fn an_unknown_cost_needs_no_cap() {
    let request = tool("t", 0, Cost::Unknown);
    assert_eq!(broken(&open(), &History::default(), &request), []);
    let capped = Envelope { max_spend: Some(dollars("1e30")), ..open() };
    assert_eq!(broken(&capped, &History::default(), &request), [Rule::MaxSpend]);
}

#[test]
fn a_tenth_and_two_tenths_are_three_tenths() {
    let envelope = Envelope { max_spend: Some(dollars("0.3")), ..open() };
    let mut history = History::default();
    history.cost(dollars("0.1"));
    assert_eq!(broken(&envelope, &history, &tool("t", 0, Cost::AtMost(dollars("0.2")))), []);
    let fine = dollars("0.200000000001");
    assert_eq!(broken(&envelope, &history, &tool("t", 0, Cost::AtMost(fine))), [Rule::MaxSpend]);
    history.cost(dollars("0.2"));
    assert_eq!(broken(&envelope, &history, &tool("t", 0, Cost::Counted)), []);
    history.cost(dollars("1e-12"));
    assert_eq!(broken(&envelope, &history, &tool("t", 0, Cost::Counted)), [Rule::MaxSpend]);
    // An overshoot blocks what costs nothing, too.
    assert_eq!(broken(&envelope, &history, &tool("t", 0, Cost::AtMost(Money::default()))), [Rule::MaxSpend]);
}

#[test]
fn sums_do_not_wrap() {
    let envelope = Envelope { max_spend: Some(Money::from_picodollars(u128::MAX - 1)), ..open() };
    let mut history = History::default();
    history.cost(Money::from_picodollars(u128::MAX));
    history.cost(Money::from_picodollars(u128::MAX));
    assert_eq!(broken(&envelope, &history, &tool("t", 0, Cost::Counted)), [Rule::MaxSpend]);
}

#[test]
fn lists_hold_names_not_patterns() {
    let starred = Envelope { allowed_tools: ["*".into(), "p?".into()].into(), ..OPEN };
    let ask = |name| broken(&starred, &History::default(), &tool(name, 0, Cost::Counted));
    assert_eq!(ask("*"), []);
    assert_eq!(ask("p?"), []);
    assert_eq!(ask("px"), [Rule::AllowedTools]);
    assert_eq!(ask(""), [Rule::AllowedTools]);
    for other in ["T", "t ", " t", "t\0", "t\u{200b}", "т", "tt"] {
        assert_eq!(
            broken(&open(), &History::default(), &tool(other, 0, Cost::Counted)),
            [Rule::AllowedTools],
            "{other:?}"
        );
    }
    // Models and tools have lists of their own.
    assert_eq!(broken(&open(), &History::default(), &tool("m", 0, Cost::Counted)), [Rule::AllowedTools]);
    let model = Request { action: Action::Model, name: "t", at: 0, cost: Cost::Counted };
    assert_eq!(broken(&open(), &History::default(), &model), [Rule::AllowedModels]);
    assert_eq!(broken(&OPEN, &History::default(), &model), [Rule::AllowedModels]);
}

fn approvals(rules: &[ApprovalRule], action: Action, name: &str) -> Vec<usize> {
    let envelope = Envelope { required_approvals: rules.to_vec(), ..OPEN };
    decide(&envelope, &History::default(), &Request { action, name, at: 0, cost: Cost::Counted }).approvals
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
        ..OPEN
    };
    let mut history = begun(&[NOON]);
    history.cost(dollars("1"));
    let expected = Decision {
        broken: vec![Rule::Expiry, Rule::AllowedTools, Rule::MaxSteps, Rule::MaxSpend, Rule::RateLimit],
        approvals: vec![0],
    };
    assert_eq!(decide(&envelope, &history, &tool("t", NOON, Cost::Unknown)), expected);
    let model = Request { action: Action::Model, name: "m", at: NOON, cost: Cost::Unknown };
    assert_eq!(decide(&envelope, &history, &model).broken[1], Rule::AllowedModels);
    let names: Vec<&str> = expected.broken.iter().map(|rule| rule.name()).collect();
    assert_eq!(names, ["expiry", "allowed_tools", "max_steps", "max_spend_usd", "rate_limit_rpm"]);
    assert_eq!(Rule::AllowedModels.name(), "allowed_models");
}

/// A hundred thousand names, asked for a hundred thousand times.
#[test]
fn long_lists_and_histories_are_no_burden() {
    let names = (0..100_000).map(|at| format!("a{at:06}")).chain(["t".into()]);
    let envelope = Envelope { allowed_tools: names.collect(), rate_limit_rpm: Some(1_000_000), ..open() };
    let mut history = History::default();
    for _ in 0..100_000 {
        assert_eq!(broken(&envelope, &history, &tool("t", NOON, Cost::Counted)), []);
        history.began(NOON);
    }
    assert_eq!(history.actions(), 100_000);
}
