//! What breaks a rule, where, and how: in the words and in the order of the reference (MI10).

use std::collections::BTreeMap;

pub use crate::report::Violation;

/// Where a rule is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// The document.
    Root,
    /// A member of it.
    Member(&'static str),
    /// An interaction, by its position.
    Interaction(usize),
    /// A member of one.
    InteractionMember(usize, &'static str),
}

impl Place {
    fn path(self) -> String {
        match self {
            Self::Root => "$".into(),
            Self::Member(name) => format!("$.{name}"),
            Self::Interaction(at) => format!("$.interactions[{at}]"),
            Self::InteractionMember(at, name) => format!("$.interactions[{at}].{name}"),
        }
    }

    /// A number that sorts as the text does.
    fn position(self) -> usize {
        match self {
            Self::Root | Self::Member(_) => 0,
            Self::Interaction(at) | Self::InteractionMember(at, _) => at,
        }
    }
}

/// A violation before it is spelled out.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    rule: &'static str,
    place: Place,
    message: String,
}

/// All that was found. A session within the limits has no more than six violations an interaction, so that its list is
/// complete; of a longer one the list may not be, but the count is.
#[derive(Debug, Default)]
pub(super) struct Violations {
    listed: Vec<Found>,
    counts: BTreeMap<&'static str, Count>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    found: usize,
    listed: usize,
}

/// How many are listed. A hostile file of some megabytes could ask for gigabytes of them.
pub(super) const MOST_LISTED: usize = 100_000;

/// How many reasons of one check a report spells out. As many of each rule are listed in any case.
const REASONS: usize = 20;

impl Violations {
    pub(super) fn push(&mut self, rule: &'static str, place: Place, message: impl FnOnce() -> String) {
        let count = self.counts.entry(rule).or_default();
        count.found += 1;
        if self.listed.len() < MOST_LISTED || count.listed < REASONS {
            count.listed += 1;
            self.listed.push(Found { rule, place, message: message() });
        }
    }

    /// Appends what others found.
    pub(super) fn absorb(&mut self, others: Self) {
        for (rule, count) in others.counts {
            // Those that are listed are counted when they are pushed.
            self.counts.entry(rule).or_default().found += count.found - count.listed;
        }
        for Found { rule, place, message } in others.listed {
            self.push(rule, place, || message);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many are not listed.
    pub(super) fn unlisted(&self) -> usize {
        self.counts.values().map(|count| count.found - count.listed).sum()
    }

    /// Rules, places and messages for people: by position, and not too many of one rule.
    pub(super) fn reasons(&self) -> Vec<(&'static str, String)> {
        let mut by_rule: BTreeMap<&'static str, Vec<&Found>> = BTreeMap::new();
        self.listed.iter().for_each(|found| by_rule.entry(found.rule).or_default().push(found));
        let mut reasons = Vec::new();
        for (rule, mut all) in by_rule {
            all.sort_by_key(|found| found.place.position());
            let spelled = all.iter().take(REASONS);
            reasons.extend(spelled.map(|found| (rule, format!("{}: {}", found.place.path(), found.message))));
            let more = self.counts.get(rule).map_or(0, |count| count.found.saturating_sub(REASONS));
            if more > 0 {
                reasons.push((rule, format!("and {more} more of this kind")));
            }
        }
        reasons
    }

    /// The list: by rule, then path, each by its characters. No two share both, so that messages never decide.
    pub(super) fn into_list(self) -> Vec<Violation> {
        let spelled = |found: Found| Violation {
            rule_id: found.rule,
            path: found.place.path(),
            message: found.message,
        };
        let mut list: Vec<Violation> = self.listed.into_iter().map(spelled).collect();
        list.sort_unstable_by(|a, b| (a.rule_id, &a.path).cmp(&(b.rule_id, &b.path)));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_rule_and_path_as_text() {
        let mut violations = Violations::default();
        for (rule, at) in [("MI5", 2), ("MI11", 0), ("MI5", 10), ("MI5", 1)] {
            violations.push(rule, Place::InteractionMember(at, "i"), || at.to_string());
        }
        violations.push("MI2", Place::Member("model_id"), String::new);
        let mut others = Violations::default();
        others.push("MI5", Place::Interaction(1), String::new);
        violations.absorb(others);
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
            (0..count).for_each(|at| violations.push("MI5", Place::Interaction(at), String::new));
            violations
        };
        let mut violations = many(60_000);
        violations.absorb(many(60_000));
        assert_eq!(violations.unlisted(), 20_000);
        let reasons = violations.reasons();
        assert_eq!((reasons.len(), reasons[20].1.as_str()), (21, "and 119980 more of this kind"));
        assert_eq!(violations.into_list().len(), MOST_LISTED);
    }
}
