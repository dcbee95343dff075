//! The policy function against a second evaluator that keeps all attempts and computes everything anew each time.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use reenact_formats::rer::envelope::money::{Money, Rounding};
use reenact_formats::rer::envelope::permission::Envelope;
use reenact_formats::rer::envelope::policy::{Action, ActionHistory, CostEstimate, PolicyRequest, decide};

use crate::{NOON, SECOND, dollars, json};

/// Envelope as the test knows it: the texts that it wrote into the document.
#[derive(Debug, Clone)]
struct EnvelopeTerms {
    models: Vec<&'static str>,
    tools: Vec<&'static str>,
    max_steps: Option<u32>,
    max_spend: Option<&'static str>,
    rate: Option<u32>,
    /// Nanoseconds from noon.
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
    /// Nanoseconds from noon.
    at: i128,
    /// Upper bound of the cost before the action: a number, unknown, or counted afterwards.
    estimate: Estimate,
    /// Actual cost, if the action began.
    cost: Option<&'static str>,
    /// True if the action began whatever the envelope said, as in records of bad runs.
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

/// Returns true if the name can be cut so that each star takes a piece, each question mark one character, and every
/// other character itself.
fn pattern_covers(pattern: &[char], name: &[char]) -> bool {
    match pattern {
        [] => name.is_empty(),
        ['*', rest @ ..] => (0..=name.len()).any(|taken| pattern_covers(rest, &name[taken..])),
        ['?', rest @ ..] => !name.is_empty() && pattern_covers(rest, &name[1..]),
        [own, rest @ ..] => name.first() == Some(own) && pattern_covers(rest, &name[1..]),
    }
}

/// All attempts, the blocked ones too; true for those that began.
type AttemptLog = Vec<(Attempt, bool)>;

/// Decides by the prose of the rules, taken literally.
fn naive_decision(
    terms: &EnvelopeTerms,
    past: &AttemptLog,
    now: &Attempt,
) -> (Vec<&'static str>, Vec<usize>) {
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

fn terms() -> impl Strategy<Value = EnvelopeTerms> {
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
        .prop_map(|(models, tools, max_steps, max_spend, rate, expiry, approvals)| EnvelopeTerms {
            models,
            tools,
            max_steps,
            max_spend,
            rate,
            expiry,
            approvals,
        })
}

/// Instants that coincide: whole minutes and seconds around noon, and a nanosecond on either side.
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

/// Returns an RFC 3339 text for an instant within the day of noon.
fn timestamp(from_noon: i128) -> String {
    let nanoseconds = from_noon + 12 * 3600 * SECOND;
    let (seconds, fraction) = (nanoseconds.div_euclid(SECOND), nanoseconds.rem_euclid(SECOND));
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("2026-05-13T{hours:02}:{minutes:02}:{seconds:02}.{fraction:09}Z")
}

/// Returns the document of an envelope.
fn document(terms: &EnvelopeTerms) -> String {
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

/// Asks `decide` with a growing history, and translates its answer into the second evaluator's words.
fn policy_decision(
    envelope: &Envelope,
    history: &ActionHistory,
    attempt: &Attempt,
) -> (Vec<&'static str>, Vec<usize>) {
    let cost = match attempt.estimate {
        Estimate::AtMost(amount) => CostEstimate::AtMost(dollars(amount)),
        Estimate::Unknown => CostEstimate::Unknown,
        Estimate::Counted => CostEstimate::Counted,
    };
    let request = PolicyRequest { action: attempt.action, name: attempt.name, at: NOON + attempt.at, cost };
    let decision = decide(envelope, history, &request);
    (decision.broken_rules.iter().map(|rule| rule.name()).collect(), decision.required_approvals)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn agrees_with_the_second_evaluator(terms in terms(), attempts in attempts()) {
        let document = document(&terms);
        let envelope = Envelope::read(json(&document)).unwrap();
        let (mut history, mut past) = (ActionHistory::default(), AttemptLog::new());
        for attempt in attempts {
            let expected = naive_decision(&terms, &past, &attempt);
            prop_assert_eq!(&policy_decision(&envelope, &history, &attempt), &expected, "after {:?}", past);
            let began = expected.0.is_empty() || attempt.forced;
            if began {
                history.record_action(NOON + attempt.at);
                attempt.cost.into_iter().for_each(|cost| history.record_cost(dollars(cost)));
            }
            past.push((attempt, began));
        }
        let begun = past.iter().filter(|(_, began)| *began).count();
        prop_assert_eq!(history.actions(), begun as u64);
    }

}

proptest! {
    /// Amounts finer than a picodollar are rounded, but never so that a limit is exceeded.
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
        // The digits without the point, shifted by hand.
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
        // Beyond 38 digits the exact value does not matter, only that it stays large.
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

/// Returns an amount as a plain decimal of dollars.
fn plain(amount: Money) -> String {
    let picodollars = amount.picodollars();
    format!("{}.{:012}", picodollars / 1_000_000_000_000, picodollars % 1_000_000_000_000)
}
