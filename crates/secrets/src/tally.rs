//! Which rules masked how much, as the marks in a text tell.

use crate::placeholder;
use std::collections::{BTreeMap, BTreeSet};

/// Counts the values that marks stand for. Anybody can write a mark: what it counts is what a text says of itself.
///
/// ```
/// use reenact_secrets::Tally;
///
/// let mut tally = Tally::default();
/// tally.add(b"[masked:jwt:1] [masked:token:7] [masked:jwt:2]");
/// tally.add(b"[masked:jwt:1]");
/// assert_eq!(tally.values().collect::<Vec<_>>(), [("jwt", 2), ("token", 1)]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    numbers: BTreeMap<String, BTreeSet<usize>>,
}

/// More rules than these nobody has.
const MOST_RULES: usize = 1000;

impl Tally {
    /// Counts the marks in a text.
    pub fn add(&mut self, text: &[u8]) {
        for mark in placeholder::marks(text) {
            let (Ok(rule), Ok(number)) = (str::from_utf8(mark.rule), str::from_utf8(mark.number)) else {
                continue;
            };
            let Ok(number) = number.parse() else { continue };
            if let Some(numbers) = self.numbers.get_mut(rule) {
                numbers.insert(number);
            } else if self.numbers.len() < MOST_RULES {
                self.numbers.insert(rule.to_owned(), BTreeSet::from([number]));
            }
        }
    }

    /// The rules by name, and how many values each masked. Names are of small letters, digits and dashes.
    pub fn values(&self) -> impl Iterator<Item = (&str, usize)> {
        self.numbers.iter().map(|(rule, numbers)| (rule.as_str(), numbers.len()))
    }
}
