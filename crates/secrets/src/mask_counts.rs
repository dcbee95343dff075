//! Counts of masked values per rule, read from the marks in a text.

use crate::mask_mark;
use std::collections::{BTreeMap, BTreeSet};

/// Counts the distinct values that marks stand for.
///
/// Anybody can write a mark into a text: the counts are what the text claims.
///
/// ```
/// use reenact_secrets::MaskCounts;
///
/// let mut tally = MaskCounts::default();
/// tally.add(b"[masked:jwt:1] [masked:token:7] [masked:jwt:2]");
/// tally.add(b"[masked:jwt:1]");
/// assert_eq!(tally.counts().collect::<Vec<_>>(), [("jwt", 2), ("token", 1)]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MaskCounts {
    /// Numbers that marks have, by rule.
    numbers: BTreeMap<String, BTreeSet<usize>>,
}

/// Largest number of rules that are counted, against texts with made-up names.
const MAX_RULES: usize = 1000;

impl MaskCounts {
    /// Counts the marks in a text.
    pub fn add(&mut self, text: &[u8]) {
        for mark in mask_mark::find_marks(text) {
            let (Ok(rule), Ok(number)) = (str::from_utf8(mark.rule), str::from_utf8(mark.number)) else {
                continue;
            };
            let Ok(number) = number.parse() else { continue };
            if let Some(numbers) = self.numbers.get_mut(rule) {
                numbers.insert(number);
            } else if self.numbers.len() < MAX_RULES {
                self.numbers.insert(rule.to_owned(), BTreeSet::from([number]));
            }
        }
    }

    /// Returns the rules by name, each with the number of values that it masked. Names consist of
    /// small letters, digits and dashes.
    pub fn counts(&self) -> impl Iterator<Item = (&str, usize)> {
        self.numbers.iter().map(|(rule, numbers)| (rule.as_str(), numbers.len()))
    }
}
