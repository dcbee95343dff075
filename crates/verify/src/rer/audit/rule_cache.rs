//! Approval rules that cover an action, found within bounds.
//!
//! Rules and names come from outside: without bounds, an envelope of one megabyte could cost hours of
//! pattern matching.

use std::collections::BTreeMap;

use reenact_formats::key::KeyId;
use reenact_formats::rer::envelope::permission::Envelope;
use reenact_formats::rer::envelope::policy::{Action, covering_approval_rules};

/// Reason why a rule is inconclusive that would take too many steps.
pub(super) const TOO_MANY_RULES: &str = "there are too many approval rules and names to compare all of them";

/// Largest number of comparison steps of one audit, which take less than a second.
const MAX_COMPARISONS: usize = 1 << 28;
/// Largest number of cached rules over all names. The cache is cleared beyond that.
const MAX_CACHED_RULES: usize = 1 << 20;

/// Cache of the approval rules that cover each action.
pub(super) struct ApprovalRuleCache {
    /// True for models, and for tools, if any rule is about them. Indexed by [`Action`].
    pub(super) has_rules: [bool; 2],
    /// Comparison steps for each character of a name: the length of all patterns.
    cost_per_char: usize,
    /// Comparison steps for each character of a name with the patterns of all pinned approvers.
    pin_cost_per_char: usize,
    /// Comparison steps so far.
    comparisons: usize,
    /// Indices of the rules that cover an action, by kind and name.
    cached: BTreeMap<(Action, String), Vec<usize>>,
    /// Number of indices in `cached`, plus one for each name.
    cached_rules: usize,
}

impl ApprovalRuleCache {
    /// Creates an empty cache for the rules of an envelope.
    pub(super) fn new(envelope: &Envelope) -> Self {
        let rules = &envelope.required_approvals;
        let asks = |action: Action| rules.iter().any(|rule| rule.action == action.name());
        let length = |pattern: &Option<String>| pattern.as_ref().map_or(0, String::len);
        Self {
            has_rules: [asks(Action::Model), asks(Action::Tool)],
            cost_per_char: rules
                .iter()
                .map(|rule| 1 + length(&rule.tool_pattern) + length(&rule.model_pattern))
                .sum(),
            pin_cost_per_char: envelope
                .approvers
                .entries()
                .iter()
                .map(|pin| 1 + length(&pin.tool_pattern) + length(&pin.model_pattern))
                .sum(),
            comparisons: 0,
            cached: BTreeMap::new(),
            cached_rules: 0,
        }
    }

    /// Returns the indices of the rules that cover an action; `None` if finding them would take too
    /// long.
    pub(super) fn matching_rules(
        &mut self,
        envelope: &Envelope,
        action: Action,
        name: &str,
    ) -> Option<Vec<usize>> {
        let key = (action, name.to_owned());
        let known = self.cached.get(&key);
        let steps = known.map_or(self.cost_per_char.saturating_mul(name.len() + 1), |rules| rules.len() + 1);
        self.comparisons = self.comparisons.saturating_add(steps);
        if self.comparisons > MAX_COMPARISONS {
            return None;
        }
        if let Some(rules) = known {
            return Some(rules.clone());
        }
        let rules = covering_approval_rules(envelope, action, name);
        self.cached_rules += rules.len() + 1;
        if self.cached_rules > MAX_CACHED_RULES {
            self.cached.clear();
            self.cached_rules = 0;
        }
        self.cached.insert(key, rules.clone());
        Some(rules)
    }

    /// Returns true if the envelope pins a key as an approver of an action; `None` if finding that would take too long.
    pub(super) fn is_pinned(
        &mut self,
        envelope: &Envelope,
        action: Action,
        name: &str,
        key: &KeyId,
    ) -> Option<bool> {
        let steps = self.pin_cost_per_char.saturating_mul(name.len() + 1);
        self.comparisons = self.comparisons.saturating_add(steps);
        let pins = || envelope.approvers.entries().iter();
        (self.comparisons <= MAX_COMPARISONS)
            .then(|| pins().any(|pin| pin.keys.contains(key) && pin.covers(action, name)))
    }
}
