//! The policy function: against a naive second evaluator, at its edges, and its inputs (reading envelopes, bytes that
//! a platform signs).
#![allow(clippy::unwrap_used)]

mod envelope_policy {
    mod agreement;
    mod approvers;
    mod authorization;
    mod edges;
    mod reading;
    mod signed;
}

use reenact_formats::rer::envelope::money::{Money, Rounding};
use reenact_formats::rer::envelope::permission::{ApprovalRule, Envelope};
use reenact_json::{Limits, Value};

const SECOND: i128 = 1_000_000_000;
/// 2026-05-13T12:00:00Z, around which all events here happen.
const NOON: i128 = 1_778_673_600 * SECOND;

/// An envelope without limits and without names in its lists.
const UNLIMITED: Envelope = Envelope::PERMITTING_NOTHING;

fn json(text: &str) -> Value<'_> {
    Value::parse(text.as_bytes(), &Limits::default()).unwrap()
}

fn dollars(literal: &str) -> Money {
    Money::from_dollars(literal.as_bytes(), Rounding::Up).unwrap()
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
