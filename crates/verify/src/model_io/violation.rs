//! Violations of the rules, in the words and the order of the reference (MI10).

use std::collections::BTreeMap;

use super::CHECKS;
use crate::capped::MAX_LIST_ITEMS;
use crate::check::CheckId;
pub use crate::report::Violation;

/// Place in a session where a rule is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ViolationPath {
    /// The document itself.
    Root,
    /// Member of the document.
    Member(&'static str),
    /// Interaction by its position, 0-based.
    Interaction(usize),
    /// Member of an interaction.
    InteractionMember(usize, &'static str),
}

impl ViolationPath {
    /// Returns the JSON path, beginning with `$`.
    fn text(self) -> String {
        match self {
            Self::Root => "$".into(),
            Self::Member(name) => format!("$.{name}"),
            Self::Interaction(at) => format!("$.interactions[{at}]"),
            Self::InteractionMember(at, name) => format!("$.interactions[{at}].{name}"),
        }
    }

    /// Returns the position of the interaction, for sorting by number; 0 outside of interactions.
    fn sort_index(self) -> usize {
        match self {
            Self::Root | Self::Member(_) => 0,
            Self::Interaction(at) | Self::InteractionMember(at, _) => at,
        }
    }
}

/// Violation with its path not yet written out.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LocatedViolation {
    /// Rule, such as `MI5`.
    rule: CheckId,
    /// Place in the document.
    path: ViolationPath,
    /// Message in the words of the reference; it may quote the file.
    message: String,
}

/// All violations found so far.
///
/// The counts are complete. The list is up to [`MAX_LIST_ITEMS`], of which each rule has [`MAX_REASONS`] in any case.
#[derive(Debug, Default)]
pub(super) struct Violations {
    /// Violations that are listed, at most [`MAX_LIST_ITEMS`].
    listed: Vec<LocatedViolation>,
    /// Counts by rule.
    counts: BTreeMap<CheckId, ViolationCount>,
}

/// Number of violations of one rule.
#[derive(Debug, Default, Clone, Copy)]
struct ViolationCount {
    /// Number of all violations.
    total: usize,
    /// Number of those that are listed.
    listed: usize,
}

/// Number of violations up to which any is listed. The rest of the list is kept for rules that have few in it.
const MAX_OF_ANY_RULE: usize = MAX_LIST_ITEMS - RULES * MAX_REASONS;

/// Number of rules that a violation can have: the checks and PARSE.
const RULES: usize = CHECKS.len() + 1;

/// Number of reasons of one check that a report spells out. Of each rule, as many are listed in any
/// case.
const MAX_REASONS: usize = 20;

impl Violations {
    /// Adds a violation. `message` is called only if the violation is listed.
    pub(super) fn push(&mut self, rule: CheckId, path: ViolationPath, message: impl FnOnce() -> String) {
        let count = self.counts.entry(rule).or_default();
        count.total += 1;
        if self.listed.len() < MAX_OF_ANY_RULE || count.listed < MAX_REASONS {
            count.listed += 1;
            self.listed.push(LocatedViolation { rule, path, message: message() });
        }
    }

    /// Appends the violations that another part of the session has.
    pub(super) fn append(&mut self, others: Self) {
        for (rule, count) in others.counts {
            // Listed violations are counted when they are pushed below.
            self.counts.entry(rule).or_default().total += count.total - count.listed;
        }
        for LocatedViolation { rule, path, message } in others.listed {
            self.push(rule, path, || message);
        }
    }

    /// Returns true if there is no violation.
    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Returns the number of violations that are not listed.
    pub(super) fn unlisted(&self) -> usize {
        self.counts.values().map(|count| count.total - count.listed).sum()
    }

    /// Returns the reasons for people: rule and text, by position, at most [`MAX_REASONS`] of each
    /// rule.
    pub(super) fn reasons(&self) -> Vec<(CheckId, String)> {
        let mut by_rule: BTreeMap<CheckId, Vec<&LocatedViolation>> = BTreeMap::new();
        self.listed.iter().for_each(|found| by_rule.entry(found.rule).or_default().push(found));
        let mut reasons = Vec::new();
        for (rule, mut all) in by_rule {
            all.sort_by_key(|found| found.path.sort_index());
            let spelled = all.iter().take(MAX_REASONS);
            reasons.extend(spelled.map(|found| (rule, format!("{}: {}", found.path.text(), found.message))));
            let more = self.counts.get(&rule).map_or(0, |count| count.total.saturating_sub(MAX_REASONS));
            if more > 0 {
                reasons.push((rule, format!("and {more} more of this kind")));
            }
        }
        reasons
    }

    /// Returns the list, sorted by rule and then by path, both as text. No two violations share both,
    /// so messages never decide the order.
    pub(super) fn into_list(self) -> Vec<Violation> {
        let spelled = |found: LocatedViolation| Violation {
            rule_id: found.rule.name(),
            path: found.path.text(),
            message: found.message,
        };
        let mut list: Vec<Violation> = self.listed.into_iter().map(spelled).collect();
        list.sort_unstable_by(|a, b| (a.rule_id, &a.path).cmp(&(b.rule_id, &b.path)));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MI2, MI5, MI11};
    use super::*;

    #[test]
    fn by_rule_and_path_as_text() {
        let mut violations = Violations::default();
        for (rule, at) in [(MI5, 2), (MI11, 0), (MI5, 10), (MI5, 1)] {
            violations.push(rule, ViolationPath::InteractionMember(at, "i"), || at.to_string());
        }
        violations.push(MI2, ViolationPath::Member("model_id"), String::new);
        let mut others = Violations::default();
        others.push(MI5, ViolationPath::Interaction(1), String::new);
        violations.append(others);
        assert_eq!(violations.unlisted(), 0);
        let list = violations.into_list();
        let shown: Vec<(&str, &str)> = list.iter().map(|one| (one.rule_id, one.path.as_str())).collect();
        assert_eq!(
            shown,
            [
                ("MI11", "$.interactions[0].i"),
                ("MI2", "$.model_id"),
                ("MI5", "$.interactions[10].i"),
                ("MI5", "$.interactions[1]"),
                ("MI5", "$.interactions[1].i"),
                ("MI5", "$.interactions[2].i"),
            ]
        );
    }

    #[test]
    fn what_is_not_listed_is_counted() {
        let many = |count: usize| {
            let mut violations = Violations::default();
            (0..count).for_each(|at| violations.push(MI5, ViolationPath::Interaction(at), String::new));
            violations
        };
        let mut violations = many(60_000);
        violations.append(many(60_000));
        assert_eq!(violations.unlisted(), 120_000 - MAX_OF_ANY_RULE);
        violations.push(MI2, ViolationPath::Member("model_id"), String::new);
        let reasons = violations.reasons();
        assert_eq!((reasons.len(), reasons[21].1.as_str()), (22, "and 119980 more of this kind"));
        assert_eq!(violations.into_list().len(), MAX_OF_ANY_RULE + 1);
    }
}
