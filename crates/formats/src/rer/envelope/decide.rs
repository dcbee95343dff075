//! The policy function: may this action happen now?
//!
//! Pure: everything it knows is in its arguments. The recorder asks before an action, the verifier asks again of the
//! record, and a naive second evaluator (in the tests) answers both.

use core::time::Duration;
use std::collections::VecDeque;

use super::glob;
use super::money::Money;
use super::permission::{ApprovalRule, Envelope};

/// What an agent wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// `model.call`
    Model,
    /// `tool.call`
    Tool,
}

impl Action {
    /// The name by which approval rules call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model.call",
            Self::Tool => "tool.call",
        }
    }
}

/// One action, about to happen.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Which kind.
    pub action: Action,
    /// Of which model or tool.
    pub name: &'a str,
    /// When, in nanoseconds since 1970.
    pub at: i128,
    /// What it may cost.
    pub cost: Cost,
}

/// What is known of the cost of an action before it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// At most this.
    AtMost(Money),
    /// Nobody knows: under a limit it cannot be allowed.
    Unknown,
    /// Counted elsewhere, from what it did cost.
    Counted,
}

/// What has happened so far.
#[derive(Debug, Clone, Default)]
pub struct History {
    actions: u64,
    spent: Money,
    /// The times of the actions of the last 60 seconds, oldest first.
    recent: VecDeque<i128>,
}

const MINUTE: i128 = 60_000_000_000;

impl History {
    /// An action was allowed and began.
    pub fn began(&mut self, at: i128) {
        self.actions += 1;
        // Time does not go back: an earlier moment counts as the latest one seen.
        let at = self.recent.back().map_or(at, |last| at.max(*last));
        while self.recent.front().is_some_and(|first| at - first >= MINUTE) {
            self.recent.pop_front();
        }
        self.recent.push_back(at);
    }

    /// An action did cost this.
    pub fn cost(&mut self, amount: Money) {
        self.spent = self.spent.plus(amount);
    }

    /// What was spent so far.
    pub fn spent(&self) -> Money {
        self.spent
    }

    /// How many actions began so far.
    pub fn actions(&self) -> u64 {
        self.actions
    }

    /// How long after `at` there is room for one more action within 60 seconds, of which there may be `limit`.
    pub fn room_after(&self, at: i128, limit: u64) -> Option<Duration> {
        let over = self.in_last_minute(at).checked_sub(limit)?;
        let oldest = self.recent.len() - usize::try_from(self.in_last_minute(at)).ok()?;
        let leaving = self.recent.get(oldest + usize::try_from(over).ok()?)?;
        u64::try_from(leaving + MINUTE - at).ok().map(Duration::from_nanos)
    }

    /// How many actions began in the 60 seconds before `at`; one that began exactly 60 seconds before does not count.
    fn in_last_minute(&self, at: i128) -> u64 {
        (self.recent.len() - self.recent.partition_point(|began| at - began >= MINUTE)) as u64
    }
}

/// A rule of the envelope that one action can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
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
}

impl Rule {
    /// The name of the rule, as payloads and audits spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Expiry => "expiry",
            Self::AllowedModels => "allowed_models",
            Self::AllowedTools => "allowed_tools",
            Self::MaxSteps => "max_steps",
            Self::MaxSpend => "max_spend_usd",
            Self::RateLimit => "rate_limit_rpm",
        }
    }
}

/// What the envelope says to a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// Every rule that it would break, in the order in which a refusal names them. Empty: allowed.
    pub broken: Vec<Rule>,
    /// The approval rules that cover it, by their place in the envelope: all of them must be satisfied first.
    pub approvals: Vec<usize>,
}

/// May this action happen now? An observed or imported envelope is judged like any other: whoever does not want that
/// does not ask.
pub fn decide(envelope: &Envelope, history: &History, request: &Request<'_>) -> Decision {
    Decision {
        broken: broken(envelope, history, request),
        approvals: approvals(envelope, request.action, request.name),
    }
}

/// Every rule that an action would break now, in the order in which a refusal names them.
pub fn broken(envelope: &Envelope, history: &History, request: &Request<'_>) -> Vec<Rule> {
    let mut broken = Vec::new();
    let mut rule = |breaks: bool, rule: Rule| {
        if breaks {
            broken.push(rule);
        }
    };
    rule(envelope.expiry.is_some_and(|expiry| request.at >= expiry), Rule::Expiry);
    let (list, missing) = match request.action {
        Action::Model => (&envelope.allowed_models, Rule::AllowedModels),
        Action::Tool => (&envelope.allowed_tools, Rule::AllowedTools),
    };
    rule(!list.contains(request.name), missing);
    rule(envelope.max_steps.is_some_and(|limit| history.actions >= limit), Rule::MaxSteps);
    rule(envelope.max_spend.is_some_and(|limit| over(limit, history.spent, request.cost)), Rule::MaxSpend);
    let crowded = |limit| history.in_last_minute(request.at) >= limit;
    rule(envelope.rate_limit_rpm.is_some_and(crowded), Rule::RateLimit);
    broken
}

/// The approval rules that cover an action, by their place in the envelope.
pub fn approvals(envelope: &Envelope, action: Action, name: &str) -> Vec<usize> {
    let rules = (0..).zip(&envelope.required_approvals);
    rules.filter(|(_, rule)| covers(rule, action, name)).map(|(at, _)| at).collect()
}

/// Whether a cost would lead beyond a limit. A limit that is reached exactly is kept; one that is passed already stays
/// passed.
fn over(limit: Money, spent: Money, cost: Cost) -> bool {
    match cost {
        Cost::AtMost(cost) => spent.plus(cost) > limit,
        Cost::Unknown => true,
        Cost::Counted => spent > limit,
    }
}

/// Whether an approval rule covers an action. Of its two patterns only the one for that kind of action counts.
pub fn covers(rule: &ApprovalRule, action: Action, name: &str) -> bool {
    let pattern = match action {
        Action::Model => &rule.model_pattern,
        Action::Tool => &rule.tool_pattern,
    };
    rule.action == action.name() && pattern.as_ref().is_none_or(|pattern| glob::covers(pattern, name))
}
