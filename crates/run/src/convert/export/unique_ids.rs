//! Ids that are unique in a record.

use std::collections::{HashMap, HashSet};

/// Ids that are used already.
#[derive(Debug, Default)]
pub(super) struct UniqueIds {
    used: HashSet<String>,
    /// Next suffix to try for each id. It only grows, so that no choice of ids makes the search quadratic.
    next_suffix: HashMap<String, usize>,
}

impl UniqueIds {
    /// Returns the number of ids in use.
    pub(super) fn len(&self) -> usize {
        self.used.len()
    }

    /// Returns the wanted id and `true` if it is free; else the id with a number appended, which is `at` or the
    /// next that is free, and `false`.
    pub(super) fn assign(&mut self, wanted: &str, at: usize) -> (String, bool) {
        if self.used.insert(wanted.to_owned()) {
            return (wanted.to_owned(), true);
        }
        let next = self.next_suffix.entry(wanted.to_owned()).or_insert(at);
        *next = at.max(*next);
        loop {
            let id = format!("{wanted}-{next}");
            *next += 1;
            if self.used.insert(id.clone()) {
                return (id, false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_taken_is_counted_upward() {
        let mut ids = UniqueIds::default();
        for (wanted, at, given) in [
            ("a", 0, ("a", true)),
            ("a-5", 1, ("a-5", true)),
            ("a-6", 2, ("a-6", true)),
            ("a", 5, ("a-7", false)),
            ("a", 5, ("a-8", false)),
            ("a-5", 9, ("a-5-9", false)),
            ("", 1, ("", true)),
            ("", 1, ("-1", false)),
        ] {
            assert_eq!(ids.assign(wanted, at), (given.0.to_owned(), given.1), "{wanted}");
        }
        assert_eq!(ids.len(), 8);
    }
}
