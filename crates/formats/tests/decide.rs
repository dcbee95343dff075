//! The policy function against a second evaluator that keeps everything and computes it anew each time; its edges, one by
//! one; what an envelope reads as; what a platform signs.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use reenact_formats::rer::envelope::authorisable;
use reenact_formats::rer::envelope::decide::{Action, Cost, Decision, History, Request, Rule, decide};
use reenact_formats::rer::envelope::money::{Money, Rounding};
use reenact_formats::rer::envelope::permission::{ApprovalRule, Enforcement, Envelope, SignerType};
use reenact_formats::rer::structure::{Place, Problem, StructureFault};
use reenact_formats::rer::{HashFault, time};
use reenact_json::{Limits, Value};

const SECOND: i128 = 1_000_000_000;
/// 2026-05-13T12:00:00Z, around which everything here happens.
const NOON: i128 = 1_778_673_600 * SECOND;

fn json(text: &str) -> Value<'_> {
    Value::parse(text.as_bytes(), &Limits::default()).unwrap()
}

fn dollars(literal: &str) -> Money {
    Money::from_dollars(literal.as_bytes(), Rounding::Up).unwrap()
}

// ---------------------------------------------------------------------------------------------------------------------
// The second evaluator
// ---------------------------------------------------------------------------------------------------------------------

/// What a test knows of an envelope: the texts that it wrote into it.
#[derive(Debug, Clone)]
struct Terms {
    models: Vec<&'static str>,
    tools: Vec<&'static str>,
    max_steps: Option<u32>,
    max_spend: Option<&'static str>,
    rate: Option<u32>,
    /// From noon.
    expiry: Option<i128>,
    approvals: Vec<Approval>,
}

#[derive(Debug, Clone)]
struct Approval {
    action: &'static str,
    tool_pattern: Option<&'static str>,
    model_pattern: Option<&'static str>,
}

#[derive(Debug, Clone)]
struct Attempt {
    action: Action,
    name: &'static str,
    /// From noon.
    at: i128,
    /// What it was said to cost at most: a number, nothing known, or counted afterwards.
    estimate: Estimate,
    /// What it did cost, if it began.
    cost: Option<&'static str>,
    /// It began whatever the envelope said, as records of bad runs have it.
    forced: bool,
}

#[derive(Debug, Clone, Copy)]
enum Estimate {
    AtMost(&'static str),
    Unknown,
    Counted,
}

/// An exact decimal: its digits, least significant first, with [`Decimal::PLACES`] of them behind the point.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Decimal(Vec<u8>);

impl Decimal {
    const PLACES: usize = 24;

    /// Reads plain decimal texts, without an exponent.
    fn read(text: &str) -> Self {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        assert!(fraction.len() <= Self::PLACES);
        let digits = format!("{whole}{fraction:0<places$}", places = Self::PLACES);
        Self(digits.bytes().rev().map(|digit| digit - b'0').collect())
    }

    fn plus(&self, other: &Self) -> Self {
        let digit = |number: &Self, at: usize| number.0.get(at).copied().unwrap_or(0);
        let (mut sum, mut carry) = (Vec::new(), 0);
        for at in 0..=self.0.len().max(other.0.len()) {
            let column = digit(self, at) + digit(other, at) + carry;
            sum.push(column % 10);
            carry = column / 10;
        }
        Self(sum)
    }

    fn exceeds(&self, other: &Self) -> bool {
        let padded = |number: &Self, length: usize| -> Vec<u8> {
            let mut digits = number.0.clone();
            digits.resize(length, 0);
            digits.into_iter().rev().collect()
        };
        let length = self.0.len().max(other.0.len());
        padded(self, length) > padded(other, length)
    }
}

/// A pattern covers a name if the name can be cut so that each star takes a piece, each question mark one character,
/// and every other character itself.
fn pattern_covers(pattern: &[char], name: &[char]) -> bool {
    match pattern {
        [] => name.is_empty(),
        ['*', rest @ ..] => (0..=name.len()).any(|taken| pattern_covers(rest, &name[taken..])),
        ['?', rest @ ..] => !name.is_empty() && pattern_covers(rest, &name[1..]),
        [own, rest @ ..] => name.first() == Some(own) && pattern_covers(rest, &name[1..]),
    }
}

/// What began before: everything that was ever attempted is kept, the blocked attempts too.
type Past = Vec<(Attempt, bool)>;

/// The prose of the rules, read aloud.
fn judge(terms: &Terms, past: &Past, now: &Attempt) -> (Vec<&'static str>, Vec<usize>) {
    let begun: Vec<&Attempt> = past.iter().filter(|(_, began)| *began).map(|(attempt, _)| attempt).collect();
    let mut broken = Vec::new();
    // 2. Rejected if now ≥ expiry.
    if terms.expiry.is_some_and(|expiry| now.at >= expiry) {
        broken.push("expiry");
    }
    // 3. Exact match; an empty list is nothing.
    let (list, rule) = match now.action {
        Action::Model => (&terms.models, "allowed_models"),
        Action::Tool => (&terms.tools, "allowed_tools"),
    };
    if list.iter().filter(|name| **name == now.name).count() == 0 {
        broken.push(rule);
    }
    // 5. The limit-th action is allowed, the next is not.
    if terms.max_steps.is_some_and(|limit| begun.len() + 1 > limit as usize) {
        broken.push("max_steps");
    }
    // 6. The sum of what was spent and of the estimate; unknown is refused.
    if let Some(limit) = terms.max_spend {
        let spent = begun
            .iter()
            .filter_map(|attempt| attempt.cost)
            .fold(Decimal::read("0"), |sum, cost| sum.plus(&Decimal::read(cost)));
        let beyond = match now.estimate {
            Estimate::AtMost(estimate) => spent.plus(&Decimal::read(estimate)).exceeds(&Decimal::read(limit)),
            Estimate::Unknown => true,
            Estimate::Counted => spent.exceeds(&Decimal::read(limit)),
        };
        if beyond {
            broken.push("max_spend_usd");
        }
    }
    // 7. A sliding window of 60 seconds, on a clock that does not go back; what was blocked does not count.
    let mut clock = i128::MIN;
    let mut moments = Vec::new();
    for attempt in begun.iter().copied().chain([now]) {
        clock = clock.max(attempt.at);
        moments.push(clock);
    }
    let in_window = moments[..begun.len()].iter().filter(|moment| **moment > clock - 60 * SECOND).count();
    if terms.rate.is_some_and(|limit| in_window + 1 > limit as usize) {
        broken.push("rate_limit_rpm");
    }
    // 8. The action equals, and the pattern for that kind of action, if there is one, covers the name.
    let kind = match now.action {
        Action::Model => "model.call",
        Action::Tool => "tool.call",
    };
    let covering = |approval: &Approval| {
        let pattern = if kind == "model.call" { approval.model_pattern } else { approval.tool_pattern };
        let chars = |text: &str| text.chars().collect::<Vec<char>>();
        let covered = pattern.is_none_or(|pattern| pattern_covers(&chars(pattern), &chars(now.name)));
        approval.action == kind && covered
    };
    let approvals = (0..terms.approvals.len()).filter(|&at| covering(&terms.approvals[at])).collect();
    (broken, approvals)
}

// ---------------------------------------------------------------------------------------------------------------------
// Envelopes and histories
// ---------------------------------------------------------------------------------------------------------------------

const NAMES: [&str; 12] = ["a", "A", "b", "ab", "", "*", "a ", "é", "e\u{301}", "日本", "a.b", "pay_x"];
const PATTERNS: [&str; 12] = ["*", "", "a", "a*", "*b", "?", "??", "*.*", "pay_?", "*a*b*", "日?", "[ab]"];
const AMOUNTS: [&str; 11] = [
    "0",
    "0.1",
    "0.2",
    "0.3",
    "0.000000000001",
    "0.299999999999",
    "0.300000000001",
    "0.7",
    "1",
    "2.50",
    "1234.123456789012",
];

fn terms() -> impl Strategy<Value = Terms> {
    let limit = |most: u32| prop_oneof![2 => Just(None), 1 => Just(Some(1)), 2 => (1..most).prop_map(Some)];
    let approval = (
        select(vec!["tool.call", "model.call", "tool.call", "model.call", "Tool.call", "", "*"]),
        prop::option::of(select(&PATTERNS[..])),
        prop::option::of(select(&PATTERNS[..])),
    )
        .prop_map(|(action, tool_pattern, model_pattern)| Approval {
            action,
            tool_pattern,
            model_pattern,
        });
    (
        vec(select(&NAMES[..]), 0..6),
        vec(select(&NAMES[..]), 0..6),
        limit(50),
        prop::option::of(select(&AMOUNTS[..])),
        limit(8),
        prop::option::of(moment()),
        vec(approval, 0..4),
    )
        .prop_map(|(models, tools, max_steps, max_spend, rate, expiry, approvals)| Terms {
            models,
            tools,
            max_steps,
            max_spend,
            rate,
            expiry,
            approvals,
        })
}

/// Moments that meet: whole minutes and seconds around noon, and a nanosecond on either side.
fn moment() -> impl Strategy<Value = i128> {
    let minutes = prop_oneof![4 => 0..4_i128, 1 => -2..12_i128];
    let seconds = select(vec![0, 0, 0, 1, 30, 59]);
    (minutes, seconds, -1..=1_i128)
        .prop_map(|(minutes, seconds, off)| (minutes * 60 + seconds) * SECOND + off)
}

/// Steps in time that end near the edge of the window, stand still, or go back.
fn pause() -> impl Strategy<Value = i128> {
    prop_oneof![
        4 => Just(0),
        4 => select(vec![1, 10, 20, 30, 59, 60, 61]).prop_map(|seconds| seconds * SECOND),
        2 => select(vec![60 * SECOND - 1, 60 * SECOND + 1, 30 * SECOND - 1, 1, -1]),
        1 => (-70..70_i128).prop_map(|seconds| seconds * SECOND),
    ]
}

fn attempts() -> impl Strategy<Value = Vec<Attempt>> {
    let estimate = prop_oneof![
        4 => select(&AMOUNTS[..]).prop_map(Estimate::AtMost),
        1 => Just(Estimate::Unknown),
        2 => Just(Estimate::Counted),
    ];
    let attempt = (
        select(vec![Action::Model, Action::Tool]),
        select(&NAMES[..]),
        pause(),
        estimate,
        prop::option::of(select(&AMOUNTS[..6])),
        prop::bool::weighted(0.7),
    );
    (moment(), vec(attempt, 1..=60)).prop_map(|(start, attempts)| {
        let mut at = start;
        attempts
            .into_iter()
            .map(|(action, name, pause, estimate, cost, forced)| {
                at += pause;
                Attempt { action, name, at, estimate, cost, forced }
            })
            .collect()
    })
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// An RFC 3339 text for a moment within the day of noon.
fn timestamp(from_noon: i128) -> String {
    let nanoseconds = from_noon + 12 * 3600 * SECOND;
    let (seconds, fraction) = (nanoseconds.div_euclid(SECOND), nanoseconds.rem_euclid(SECOND));
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("2026-05-13T{hours:02}:{minutes:02}:{seconds:02}.{fraction:09}Z")
}

/// The document of an envelope.
fn document(terms: &Terms) -> String {
    let list = |names: &[&str]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",");
    let limits = [
        terms.max_steps.map(|limit| format!("\"max_steps\":{limit}")),
        terms.max_spend.map(|limit| format!("\"max_spend_usd\":{limit}")),
        terms.rate.map(|limit| format!("\"rate_limit_rpm\":{limit}")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let approvals = terms.approvals.iter().map(|approval| {
        let pattern = |name: &str, pattern: Option<&str>| {
            pattern.map_or(String::new(), |pattern| format!(",\"{name}\":{}", quoted(pattern)))
        };
        format!(
            "{{\"action\":{}{}{}}}",
            quoted(approval.action),
            pattern("tool_pattern", approval.tool_pattern),
            pattern("model_pattern", approval.model_pattern)
        )
    });
    let expiry = terms.expiry.map_or(String::new(), |at| format!(",\"expiry\":\"{}\"", timestamp(at)));
    format!(
        "{{\"envelope_version\":\"rer-envelope/0.2\",\"permissions\":{{\"allowed_models\":[{}],\"allowed_tools\":[{}]}},\
         \"limits\":{{{}}},\"required_approvals\":[{}],\"signature\":\"{}\"{expiry}}}",
        list(&terms.models),
        list(&terms.tools),
        limits.join(","),
        approvals.collect::<Vec<_>>().join(","),
        "0".repeat(128)
    )
}

/// `decide`, asked of a history that goes on, in the words of the second evaluator.
fn asked(envelope: &Envelope, history: &History, attempt: &Attempt) -> (Vec<&'static str>, Vec<usize>) {
    let cost = match attempt.estimate {
        Estimate::AtMost(amount) => Cost::AtMost(dollars(amount)),
        Estimate::Unknown => Cost::Unknown,
        Estimate::Counted => Cost::Counted,
    };
    let request = Request { action: attempt.action, name: attempt.name, at: NOON + attempt.at, cost };
    let decision = decide(envelope, history, &request);
    (decision.broken.iter().map(|rule| rule.name()).collect(), decision.approvals)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn agrees_with_the_second_evaluator(terms in terms(), attempts in attempts()) {
        let document = document(&terms);
        let envelope = Envelope::read(json(&document)).unwrap();
        let (mut history, mut past) = (History::default(), Past::new());
        for attempt in attempts {
            let expected = judge(&terms, &past, &attempt);
            prop_assert_eq!(&asked(&envelope, &history, &attempt), &expected, "after {:?}", past);
            let began = expected.0.is_empty() || attempt.forced;
            if began {
                history.began(NOON + attempt.at);
                attempt.cost.into_iter().for_each(|cost| history.cost(dollars(cost)));
            }
            past.push((attempt, began));
        }
        let begun = past.iter().filter(|(_, began)| *began).count();
        prop_assert_eq!(history.actions(), begun as u64);
    }

}

proptest! {
    /// Amounts finer than a picodollar are rounded, but never so that a limit is passed.
    #[test]
    fn fine_amounts_never_pass_a_limit(
        limit in "(0|1)\\.[0-9]{0,2}[09]{9,12}[0-9]{1,6}",
        costs in vec("0\\.[0-9]{0,2}[09]{9,12}[0-9]{1,6}", 0..12),
    ) {
        let cap = Money::from_dollars(limit.as_bytes(), Rounding::Down).unwrap();
        let sum = costs.iter().fold(Money::default(), |sum, cost| sum.plus(dollars(cost)));
        let exact = costs.iter().fold(Decimal::read("0"), |sum, cost| sum.plus(&Decimal::read(cost)));
        if exact.exceeds(&Decimal::read(&limit)) {
            prop_assert!(sum > cap, "{costs:?} against {limit}");
        }
        // At most one picodollar for each number is lost by rounding.
        prop_assert!(!Decimal::read(&plain(sum)).exceeds(
            &costs.iter().fold(exact, |sum, _| sum.plus(&Decimal::read("0.000000000001")))
        ));
    }

    /// Any JSON number, whatever its size: no panic, and the same as the decimal.
    #[test]
    fn any_number_is_read(
        whole in "0|[1-9][0-9]{0,45}",
        fraction in "[0-9]{1,45}",
        exponent in prop_oneof![-60..60_i64, Just(i64::MAX), Just(i64::MIN), any::<i64>()],
    ) {
        let literal = format!("{whole}.{fraction}e{exponent}");
        let (down, up) = (Rounding::Down, Rounding::Up);
        let read = |rounding| Money::from_dollars(literal.as_bytes(), rounding).unwrap().picodollars();
        let (down, up) = (read(down), read(up));
        prop_assert!(up == down || up == down + 1, "{literal}");
        // The digits without the point, moved by hand.
        let digits = format!("{whole}{fraction}");
        let point = i128::from(exponent) + i128::try_from(whole.len()).unwrap() + 12;
        let is_zero = digits.bytes().all(|digit| digit == b'0');
        let expected = match usize::try_from(point.clamp(-1, 200)) {
            _ if is_zero => 0,
            Err(_) => 0,
            Ok(point) => {
                let moved = format!("{digits:0<point$}");
                moved[..point].bytes().fold(0_u128, |sum, digit| {
                    sum.saturating_mul(10).saturating_add(u128::from(digit - b'0'))
                })
            }
        };
        // Beyond 38 digits nobody needs to count, only to stay large.
        if expected < 10_u128.pow(37) {
            prop_assert_eq!(down, expected, "{}", literal);
            let rest = usize::try_from(point.clamp(0, 200)).unwrap_or_default();
            let lost = digits.get(rest.min(digits.len())..).is_some_and(|rest| rest.bytes().any(|digit| digit != b'0'));
            prop_assert_eq!(up > down, lost && !is_zero, "{}", literal);
        } else {
            prop_assert!(down >= 10_u128.pow(36), "{literal}");
        }
    }
}

/// An amount as a plain decimal of dollars.
fn plain(amount: Money) -> String {
    let picodollars = amount.picodollars();
    format!("{}.{:012}", picodollars / 1_000_000_000_000, picodollars % 1_000_000_000_000)
}

// ---------------------------------------------------------------------------------------------------------------------
// The edges, one by one
// ---------------------------------------------------------------------------------------------------------------------

const OPEN: Envelope = Envelope {
    allowed_models: BTreeSet::new(),
    allowed_tools: BTreeSet::new(),
    max_steps: None,
    max_spend: None,
    rate_limit_rpm: None,
    expiry: None,
    required_approvals: Vec::new(),
    required_signer_types: Vec::new(),
    enforcement: Enforcement::Enforced,
};

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

fn rule(action: &str, tool_pattern: Option<&str>, model_pattern: Option<&str>) -> ApprovalRule {
    let text = |text: Option<&str>| text.map(str::to_owned);
    ApprovalRule {
        action: action.into(),
        tool_pattern: text(tool_pattern),
        model_pattern: text(model_pattern),
        signer_types: None,
    }
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

// ---------------------------------------------------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------------------------------------------------

/// A whole envelope, with one piece of its text replaced.
fn changed(from: &str, to: &str) -> String {
    let whole = format!(
        r#"{{"envelope_version":"rer-envelope/0.2","permissions":{{"allowed_models":["m","m"],"allowed_tools":["t","\u0074\u0022"]}},
        "limits":{{"max_steps":4e0,"max_spend_usd":0.50,"rate_limit_rpm":60}},"expiry":"2026-05-13T14:00:00.000000001+02:00",
        "metadata":{{"reenact":{{"enforcement":"enforce"}}}},
        "required_approvals":[{{"action":"tool.call","tool_pattern":"pay_*","signer_types":["human","delegate"]}},
            {{"action":"model.call","model_pattern":"","signer_types":[]}},{{"action":"x"}}],
        "required_signer_types":["automated"],"signature":"{}"}}"#,
        "ab".repeat(64)
    );
    assert!(whole.contains(from), "{from}");
    whole.replacen(from, to, 1)
}

fn read(text: &str) -> Result<Envelope, StructureFault> {
    Envelope::read(json(text))
}

#[test]
fn every_field_is_read() {
    let expected = Envelope {
        allowed_models: ["m".into()].into(),
        allowed_tools: ["t".into(), "t\"".into()].into(),
        max_steps: Some(4),
        max_spend: Some(Money::from_picodollars(500_000_000_000)),
        rate_limit_rpm: Some(60),
        expiry: Some(NOON + 1),
        required_approvals: vec![
            ApprovalRule {
                signer_types: Some(vec![SignerType::Human, SignerType::Delegate]),
                ..rule("tool.call", Some("pay_*"), None)
            },
            ApprovalRule { signer_types: Some(vec![]), ..rule("model.call", None, Some("")) },
            rule("x", None, None),
        ],
        required_signer_types: vec![SignerType::Automated],
        enforcement: Enforcement::Enforced,
    };
    assert_eq!(read(&changed("", "")), Ok(expected));
}

#[test]
fn what_is_absent_restricts_nothing() {
    let text = format!(
        r#"{{"envelope_version":"rer-envelope/0.1","permissions":{{"allowed_models":[],"allowed_tools":[]}},"limits":{{}},"signature":"{}"}}"#,
        "0".repeat(128)
    );
    assert_eq!(read(&text), Ok(OPEN));
}

#[test]
fn words_of_enforcement() {
    let word = |metadata: &str| {
        let from = r#"{"reenact":{"enforcement":"enforce"}}"#;
        read(&changed(from, metadata)).unwrap().enforcement
    };
    assert_eq!(word(r#"{"reenact":{"enforcement":"observe"}}"#), Enforcement::Observed);
    assert_eq!(word(r#"{"reen\u0061ct":{"enf\u006frcement":"\u006fbserve"}}"#), Enforcement::Observed);
    assert_eq!(word(r#"{"reenact":{"enforcement":"imported"}}"#), Enforcement::Imported);
    for enforced in [
        "{}",
        r#"{"reenact":null}"#,
        r#"{"reenact":["observe"]}"#,
        r#"{"reenact":{}}"#,
        r#"{"reenact":{"enforcement":"Observe"}}"#,
        r#"{"reenact":{"enforcement":null}}"#,
        r#"{"enforcement":"observe"}"#,
        r#"{"reenact":{"reenact":{"enforcement":"observe"}}}"#,
    ] {
        assert_eq!(word(enforced), Enforcement::Enforced, "{enforced}");
    }
}

#[test]
fn faults_of_structure_are_refused() {
    let at = |place, problem| Err(StructureFault { place, problem });
    let kind = |wanted, found| Problem::Kind { wanted, found };
    for (from, to, place, problem) in [
        (
            "rer-envelope/0.2",
            "rer-envelope/0.3",
            Place::Member("envelope.envelope_version"),
            Problem::UnknownVersion,
        ),
        (
            "\"rer-envelope/0.2\"",
            "2",
            Place::Member("envelope.envelope_version"),
            kind("a string", "a number"),
        ),
        (
            "\"limits\":{\"max_steps\"",
            "\"limit\":{\"max_steps\"",
            Place::Member("envelope.limits"),
            Problem::Missing,
        ),
        (
            "\"max_steps\":4e0",
            "\"max_steps\":0",
            Place::Member("envelope.limits.max_steps"),
            Problem::Value { wanted: "a whole number of 1 or more" },
        ),
        (
            "\"max_steps\":4e0",
            "\"max_steps\":null",
            Place::Member("envelope.limits.max_steps"),
            kind("a whole number of 1 or more", "null"),
        ),
        (
            "\"rate_limit_rpm\":60",
            "\"rate_limit_rpm\":1.5",
            Place::Member("envelope.limits.rate_limit_rpm"),
            Problem::Value { wanted: "a whole number of 1 or more" },
        ),
        (
            "\"max_spend_usd\":0.50",
            "\"max_spend_usd\":-0.01",
            Place::Member("envelope.limits.max_spend_usd"),
            Problem::Value { wanted: "0 or more" },
        ),
        (
            "\"max_spend_usd\":0.50",
            "\"max_spend_usd\":\"0.50\"",
            Place::Member("envelope.limits.max_spend_usd"),
            kind("a number", "a string"),
        ),
        (
            "\"max_spend_usd\"",
            "\"max_spent\"",
            Place::Member("envelope.limits"),
            Problem::Unknown { name: "max_spent".into() },
        ),
        (
            "2026-05-13T14:00:00.000000001+02:00",
            "tomorrow",
            Place::Member("envelope.expiry"),
            Problem::Value { wanted: "an RFC 3339 timestamp" },
        ),
        (
            "[\"m\",\"m\"]",
            "[\"m\",7]",
            Place::Element("envelope.permissions.allowed_models", 1),
            kind("a string", "a number"),
        ),
        (
            "\"action\":\"x\"",
            "\"actions\":\"x\"",
            Place::ElementMember("envelope.required_approvals", 2, "action"),
            Problem::Missing,
        ),
        (
            "[\"human\",\"delegate\"]",
            "[\"Human\"]",
            Place::ElementMember("envelope.required_approvals", 0, "signer_types"),
            Problem::Value { wanted: "\"human\", \"delegate\" or \"automated\"" },
        ),
        (
            "[\"automated\"]",
            "[\"automated\",\"robot\"]",
            Place::Element("envelope.required_signer_types", 1),
            Problem::Value { wanted: "\"human\", \"delegate\" or \"automated\"" },
        ),
        (
            "\"ab",
            "\"AB",
            Place::Member("envelope.signature"),
            Problem::Value { wanted: "128 lower-case hexadecimal digits" },
        ),
        (
            "rer-envelope/0.2",
            "rer-envelope/0.1",
            Place::Member("envelope.required_approvals"),
            Problem::NotIn01,
        ),
    ] {
        assert_eq!(read(&changed(from, to)), at(place, problem), "{to}");
    }
    for not_an_object in ["7", "[]", "null", "\"x\""] {
        let expected = at(Place::Member("envelope.envelope_version"), Problem::Missing);
        assert_eq!(read(not_an_object), expected, "{not_an_object}");
    }
}

/// The syntax allows them (check 1 goes no further), but they name no moment: that must not read as "no expiry".
#[test]
fn an_expiry_that_names_no_moment_is_refused() {
    for never in ["2026-02-30T00:00:00Z", "2026-04-31T00:00:00Z", "1900-02-29T00:00:00Z"] {
        let text = changed("2026-05-13T14:00:00.000000001+02:00", never);
        let problem = Problem::Value { wanted: "a day that the calendar has" };
        assert_eq!(
            read(&text),
            Err(StructureFault { place: Place::Member("envelope.expiry"), problem }),
            "{never}"
        );
    }
}

/// One canonical number, one limit: anyone can spell a number anew without breaking a signature.
#[test]
fn a_limit_is_what_its_canonical_form_says() {
    let limit = |spelled: &str| {
        read(&changed("\"max_spend_usd\":0.50", &format!("\"max_spend_usd\":{spelled}"))).unwrap().max_spend
    };
    for zero in ["0", "-0", "0.0", "-0e5", "1e-400", "-1e-400"] {
        assert_eq!(limit(zero), Some(Money::default()), "{zero}");
    }
    for half in ["0.5", "5e-1", "0.50000000000000000001", "0.49999999999999999999"] {
        assert_eq!(limit(half), Some(dollars("0.5")), "{half}");
    }
    assert_eq!(limit("1e300"), Some(Money::from_picodollars(u128::MAX)));
    // No canonical form, so no signature covers it; still a limit.
    assert_eq!(limit("9007199254740993"), Some(dollars("9007199254740993")));
}

// ---------------------------------------------------------------------------------------------------------------------
// What a platform signs
// ---------------------------------------------------------------------------------------------------------------------

fn signed(text: &str) -> Result<String, HashFault> {
    authorisable(json(text)).map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn a_platform_signs_the_canonical_envelope_without_signatures() {
    for (text, expected) in [
        (r#"{"b":1.0,"a":[2e0],"signature":"x"}"#, r#"{"a":[2],"b":1}"#),
        // Spelled with escapes, in any order.
        (
            r#"{"sign\u0061ture":"x","m\u0065tadata":{"z":1,"\u0061uthorization":{},"a":2},"a":"\u0041"}"#,
            r#"{"a":"A","metadata":{"a":2,"z":1}}"#,
        ),
        // Absent and empty are different envelopes; with only the authorization it is as if it were empty.
        ("{}", "{}"),
        (r#"{"metadata":{}}"#, r#"{"metadata":{}}"#),
        (r#"{"metadata":{"authorization":{"key_id":"k","signature":"s"}}}"#, r#"{"metadata":{}}"#),
        (r#"{"metadata":{"authorization":null},"signature":null}"#, r#"{"metadata":{}}"#),
        // Only there: anywhere else these names are data.
        (
            r#"{"authorization":1,"limits":{"signature":2,"authorization":3},"metadata":{"a":{"authorization":4},"signature":5}}"#,
            r#"{"authorization":1,"limits":{"authorization":3,"signature":2},"metadata":{"a":{"authorization":4},"signature":5}}"#,
        ),
        (r#"{"metadata":["authorization"]}"#, r#"{"metadata":["authorization"]}"#),
        (r#"{"signature":"only"}"#, "{}"),
    ] {
        assert_eq!(signed(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn only_objects_with_a_canonical_form_can_be_authorised() {
    for (text, found) in [("[]", "an array"), ("null", "null"), ("\"x\"", "a string"), ("1", "a number")] {
        assert_eq!(signed(text), Err(HashFault::NotAnObject { what: "envelope", found }), "{text}");
    }
    assert!(matches!(signed(r#"{"a":9007199254740993}"#), Err(HashFault::Canonical(_))));
    assert!(matches!(signed(r#"{"metadata":{"a":1e400}}"#), Err(HashFault::Canonical(_))));
}

proptest! {
    /// However a document is spelled, the platform signs the same bytes; whatever changes in it changes them.
    #[test]
    fn one_envelope_one_text(names in vec("[a-c]", 1..4), value in 0..9_u8, swap in any::<bool>()) {
        let mut members: Vec<String> = names.iter().enumerate()
            .map(|(at, name)| format!("\"{name}{at}\":{value}")).collect();
        let metadata = "\"metadata\":{\"authorization\":{\"key_id\":\"k\"},\"n\":1}".to_owned();
        let mut ordered = members.clone();
        ordered.push(metadata.clone());
        members.insert(0, metadata);
        members.insert(usize::from(swap), "\"signature\":\"x\"".into());
        let one = signed(&format!("{{{}}}", ordered.join(","))).unwrap();
        let other = signed(&format!("{{ {} }}", members.join(" , ").replace('n', "\\u006e").replace("sig\\u006e", "sign"))).unwrap();
        prop_assert_eq!(&one, &other);
        let bumped = signed(&format!("{{{}}}", ordered.join(",").replace("\"n\":1", "\"n\":2"))).unwrap();
        prop_assert_ne!(one, bumped);
    }
}
