//! Which approval rules cover which actions, within bounds: rules and names come from outside, and one envelope of a
//! megabyte could ask for hours of comparing.

use std::collections::BTreeMap;

use reenact_formats::rer::envelope::decide::{Action, approvals};
use reenact_formats::rer::envelope::permission::Envelope;

/// Steps of comparing that an audit takes at most: less than a second.
const MOST_WORK: usize = 1 << 28;
/// Rules that are remembered, over all names.
const MOST_KNOWN: usize = 1 << 20;

pub(super) struct Covering {
    /// Whether any rule is about models, and about tools.
    pub(super) asks: [bool; 2],
    /// What comparing one name costs for each of its characters.
    weight: usize,
    work: usize,
    known: BTreeMap<(Action, String), Vec<usize>>,
    remembered: usize,
}

impl Covering {
    pub(super) fn new(envelope: &Envelope) -> Self {
        let rules = &envelope.required_approvals;
        let asks = |action: Action| rules.iter().any(|rule| rule.action == action.name());
        let length = |pattern: &Option<String>| pattern.as_ref().map_or(0, String::len);
        Self {
            asks: [asks(Action::Model), asks(Action::Tool)],
            weight: rules
                .iter()
                .map(|rule| 1 + length(&rule.tool_pattern) + length(&rule.model_pattern))
                .sum(),
            work: 0,
            known: BTreeMap::new(),
            remembered: 0,
        }
    }

    /// The rules that cover an action, by their place in the envelope; `None` if telling would take too long.
    pub(super) fn rules(&mut self, envelope: &Envelope, action: Action, name: &str) -> Option<Vec<usize>> {
        let key = (action, name.to_owned());
        let known = self.known.get(&key);
        let steps = known.map_or(self.weight.saturating_mul(name.len() + 1), |rules| rules.len() + 1);
        self.work = self.work.saturating_add(steps);
        if self.work > MOST_WORK {
            return None;
        }
        if let Some(rules) = known {
            return Some(rules.clone());
        }
        let rules = approvals(envelope, action, name);
        self.remembered += rules.len() + 1;
        if self.remembered > MOST_KNOWN {
            self.known.clear();
            self.remembered = 0;
        }
        self.known.insert(key, rules.clone());
        Some(rules)
    }
}
