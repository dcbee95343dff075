//! The policy function: decides if an action may happen now.
//!
//! Pure: everything it knows is in its arguments. The recorder asks before an action, the verifier asks again of the
//! record, and a naive second evaluator (in the tests) answers both. Start reading at [`decide`].

use core::time::Duration;
use std::collections::VecDeque;

use super::glob;
use super::money::Money;
use super::permission::{ApprovalRule, Envelope};

/// Kind of action that an agent may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// `model.call`
    Model,
    /// `tool.call`
    Tool,
}

impl Action {
    /// Returns the name by which approval rules refer to the action.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model.call",
            Self::Tool => "tool.call",
        }
    }
}

/// One action, about to happen.
#[derive(Debug, Clone, Copy)]
pub struct PolicyRequest<'a> {
    /// Kind of action.
    pub action: Action,
    /// Name of the model or tool.
    pub name: &'a str,
    /// Time of the action, in nanoseconds since 1970.
    pub at: i128,
    /// Cost that the action may have.
    pub cost: CostEstimate,
}

/// Knowledge of an action's cost before it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostEstimate {
    /// At most this amount.
    AtMost(Money),
    /// Unknown: under a spending limit the action cannot be allowed.
    Unknown,
    /// Counted by other means, from the actual cost afterwards.
    Counted,
}

/// Actions of the run so far, as far as the rules need them.
#[derive(Debug, Clone, Default)]
pub struct ActionHistory {
    actions: u64,
    spent: Money,
    /// Times of the actions of the last 60 seconds in nanoseconds since 1970, oldest first.
    recent: VecDeque<i128>,
}

const MINUTE: i128 = 60_000_000_000;

impl ActionHistory {
    /// Adds an action that was allowed and began at `at`.
    pub fn record_action(&mut self, at: i128) {
        self.actions += 1;
        // Time does not go back: an earlier time counts as the latest one seen.
        let at = self.recent.back().map_or(at, |last| at.max(*last));
        while self.recent.front().is_some_and(|first| at - first >= MINUTE) {
            self.recent.pop_front();
        }
        self.recent.push_back(at);
    }

    /// Adds the actual cost of an action.
    pub fn record_cost(&mut self, amount: Money) {
        self.spent = self.spent.plus(amount);
    }

    /// Returns the amount spent so far.
    pub fn spent(&self) -> Money {
        self.spent
    }

    /// Returns the number of actions that began so far.
    pub fn actions(&self) -> u64 {
        self.actions
    }

    /// Returns the time after `at` until one more action fits within 60 seconds, of which there may be `limit`;
    /// `None` if one fits now.
    pub fn rate_limit_delay(&self, at: i128, limit: u64) -> Option<Duration> {
        let over = self.actions_in_last_minute(at).checked_sub(limit)?;
        let oldest = self.recent.len() - usize::try_from(self.actions_in_last_minute(at)).ok()?;
        let leaving = self.recent.get(oldest + usize::try_from(over).ok()?)?;
        u64::try_from(leaving + MINUTE - at).ok().map(Duration::from_nanos)
    }

    /// Returns the number of actions that began in the 60 seconds before `at`; one that began exactly 60 seconds
    /// before does not count.
    pub fn actions_in_last_minute(&self, at: i128) -> u64 {
        (self.recent.len() - self.recent.partition_point(|began| at - began >= MINUTE)) as u64
    }
}

/// Rule of the envelope that one action can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EnvelopeRule {
    /// `expiry`
    Expiry,
    /// `allowed_models`
    AllowedModels,
    /// `allowed_tools`
    AllowedTools,
    /// `max_steps`
    MaxSteps,
    /// `max_spend_usd`
    MaxSpend,
    /// `rate_limit_rpm`
    RateLimit,
    /// `authorization`: its `not_after`
    Authorization,
}

impl EnvelopeRule {
    /// Returns the name of the rule, as payloads and audits spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Expiry => "expiry",
            Self::AllowedModels => "allowed_models",
            Self::AllowedTools => "allowed_tools",
            Self::MaxSteps => "max_steps",
            Self::MaxSpend => "max_spend_usd",
            Self::RateLimit => "rate_limit_rpm",
            Self::Authorization => "authorization",
        }
    }
}

/// Answer of the envelope to a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvelopeDecision {
    /// Every rule that the action would break, in the order in which a refusal names them. Empty if the action is
    /// allowed.
    pub broken_rules: Vec<EnvelopeRule>,
    /// Approval rules that cover the action, by their index in the envelope: all of them must be satisfied first.
    pub required_approvals: Vec<usize>,
}

/// Decides if an action may happen now.
///
/// An observed or imported envelope is judged like any other; a caller that does not want that does not ask.
pub fn decide(envelope: &Envelope, history: &ActionHistory, request: &PolicyRequest<'_>) -> EnvelopeDecision {
    EnvelopeDecision {
        broken_rules: broken_rules(envelope, history, request),
        required_approvals: covering_approval_rules(envelope, request.action, request.name),
    }
}

/// Returns every rule that an action would break now, in the order in which a refusal names them.
pub fn broken_rules(
    envelope: &Envelope,
    history: &ActionHistory,
    request: &PolicyRequest<'_>,
) -> Vec<EnvelopeRule> {
    let mut broken = Vec::new();
    let mut rule = |breaks: bool, rule: EnvelopeRule| {
        if breaks {
            broken.push(rule);
        }
    };
    rule(envelope.expiry.is_some_and(|expiry| request.at >= expiry), EnvelopeRule::Expiry);
    rule(envelope.authorised_until.is_some_and(|end| request.at > end), EnvelopeRule::Authorization);
    let (list, missing) = match request.action {
        Action::Model => (&envelope.allowed_models, EnvelopeRule::AllowedModels),
        Action::Tool => (&envelope.allowed_tools, EnvelopeRule::AllowedTools),
    };
    rule(!list.contains(request.name), missing);
    rule(envelope.max_steps.is_some_and(|limit| history.actions >= limit), EnvelopeRule::MaxSteps);
    rule(
        envelope.max_spend.is_some_and(|limit| exceeds_limit(limit, history.spent, request.cost)),
        EnvelopeRule::MaxSpend,
    );
    let crowded = |limit| history.actions_in_last_minute(request.at) >= limit;
    rule(envelope.rate_limit_rpm.is_some_and(crowded), EnvelopeRule::RateLimit);
    broken
}

/// Returns the approval rules that cover an action, by their index in the envelope.
pub fn covering_approval_rules(envelope: &Envelope, action: Action, name: &str) -> Vec<usize> {
    let rules = (0..).zip(&envelope.required_approvals);
    rules.filter(|(_, rule)| rule_covers(rule, action, name)).map(|(at, _)| at).collect()
}

/// Returns true if a cost would lead beyond a limit. A limit that is reached exactly is kept; one that is passed
/// already stays passed.
fn exceeds_limit(limit: Money, spent: Money, cost: CostEstimate) -> bool {
    match cost {
        CostEstimate::AtMost(cost) => spent.plus(cost) > limit,
        CostEstimate::Unknown => true,
        CostEstimate::Counted => spent > limit,
    }
}

/// Returns true if an approval rule covers an action. Of its two patterns only the one for that kind of action
/// counts.
pub fn rule_covers(rule: &ApprovalRule, action: Action, name: &str) -> bool {
    let pattern = match action {
        Action::Model => &rule.model_pattern,
        Action::Tool => &rule.tool_pattern,
    };
    rule.action == action.name() && pattern.as_ref().is_none_or(|pattern| glob::matches(pattern, name))
}
