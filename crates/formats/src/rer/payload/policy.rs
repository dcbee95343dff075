//! Payloads of policy decisions, and of the cost of actions.

use super::payload;
use super::vocabulary::{EventSource, PolicyDecision};
use crate::rer::envelope::policy::Action;

payload! {
    /// Payload of `rer.policy.evaluated`.
    PolicyEvaluated, PolicyEvaluatedView;
    /// Kind of action.
    action: required word(Action),
    /// Approval under which the action is allowed.
    approval_id: optional text,
    /// Decision of the policy.
    decision: required word(PolicyDecision),
    /// Model that is to be called, if it is one.
    model: optional text,
    /// Rule that decided, such as `max_steps`.
    rule: required text,
    /// Origin of the event.
    source: required word(EventSource),
    /// Step that was decided on.
    step_id: required step,
    /// Tool that is to be called, if it is one.
    tool: optional text,
}

payload! {
    /// Payload of `rer.policy.step_blocked`.
    StepBlocked, StepBlockedView;
    /// Kind of action.
    action: required word(Action),
    /// Model that was to be called, if it is one.
    model: optional text,
    /// Reason in words.
    reason: required text,
    /// Rule that denies the action.
    rule: required text,
    /// Origin of the event.
    source: required word(EventSource),
    /// Step that was decided on.
    step_id: required step,
    /// Tool that was to be called, if it is one.
    tool: optional text,
}

payload! {
    /// Payload of `rer.spend.counted`.
    SpendCounted, SpendCountedView;
    /// True if the vendor did not report the final usage. Then `spend_usd` is the least that the step can have cost, by
    /// the length of what was sent and received.
    is_estimate: required flag,
    /// Model that was paid for.
    model: required text,
    /// Price of a million tokens, by their kinds.
    rates_usd: required money_map,
    /// Origin of the event.
    source: required word(EventSource),
    /// Cost of the step.
    spend_usd: required money,
    /// Step that is paid for.
    step_id: required step,
    /// Number of tokens, by their kinds: as the vendor counted them, or as they are estimated.
    usage: required whole_map,
}
