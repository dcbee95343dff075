//! Set of literals, found in one pass over a text by an Aho-Corasick automaton.
//!
//! Every occurrence is reported, also where literals overlap: a rule may fail at one and succeed at
//! the next.

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::{Anchored, dfa, nfa::contiguous};
use core::ops::Range;

/// Literal to look for; at least one byte.
#[derive(Clone, Copy)]
pub(crate) struct Literal<'a> {
    pub(crate) bytes: &'a [u8],
    /// True if ASCII letters match in either case.
    pub(crate) any_case: bool,
}

/// Literals, each with its index as its id.
pub(crate) struct LiteralSet {
    literals: Vec<(Box<[u8]>, bool)>,
    searcher: Searcher,
}

/// Search strategy, by the size of the set.
enum Searcher {
    /// A table of all transitions, about 0.5 KiB for each byte of the literals.
    Table(dfa::DFA),
    /// Smaller, and about three times slower.
    Sparse(contiguous::NFA),
    /// Each literal by itself, where they are too many for an automaton.
    OneByOne,
}

/// Largest sum of literal lengths, in bytes, for which a table is built.
const MAX_TABLE_BYTES: usize = 8 << 10;

impl LiteralSet {
    /// Builds the automaton.
    pub(crate) fn new<'a>(literals: impl IntoIterator<Item = Literal<'a>>) -> Self {
        let literals: Vec<(Box<[u8]>, bool)> =
            literals.into_iter().map(|literal| (literal.bytes.into(), literal.any_case)).collect();
        let any_case = literals.iter().any(|(_, any_case)| *any_case);
        let bytes = || literals.iter().map(|(bytes, _)| bytes);
        let table = if bytes().map(|bytes| bytes.len()).sum::<usize>() <= MAX_TABLE_BYTES {
            dfa::DFA::builder().ascii_case_insensitive(any_case).prefilter(false).build(bytes()).ok()
        } else {
            None
        };
        let sparse = || {
            let mut builder = contiguous::NFA::builder();
            builder.ascii_case_insensitive(any_case).prefilter(false).build(bytes()).ok()
        };
        let searcher = match table {
            Some(table) => Searcher::Table(table),
            None => sparse().map_or(Searcher::OneByOne, Searcher::Sparse),
        };
        Self { literals, searcher }
    }

    /// Returns the literals in the order of their ids.
    pub(crate) fn literals(&self) -> impl Iterator<Item = Literal<'_>> {
        self.literals.iter().map(|(bytes, any_case)| Literal { bytes, any_case: *any_case })
    }

    /// Calls `found` with the id and the start of each occurrence in the text, in no order.
    pub(crate) fn search(&self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        let take = |id: usize, span: Range<usize>| {
            let Some((bytes, any_case)) = self.literals.get(id) else { return };
            // An automaton has one case rule for all of its literals.
            if *any_case || text.get(span.clone()) == Some(bytes) {
                found(id, span.start);
            }
        };
        match &self.searcher {
            Searcher::Table(automaton) => for_each_match(automaton, text, take),
            Searcher::Sparse(automaton) => for_each_match(automaton, text, take),
            Searcher::OneByOne => self.one_by_one(text, take),
        }
    }

    /// Compares every literal at every offset.
    fn one_by_one(&self, text: &[u8], mut take: impl FnMut(usize, Range<usize>)) {
        for (id, (bytes, any_case)) in self.literals.iter().enumerate() {
            for (at, there) in text.windows(bytes.len().max(1)).enumerate() {
                if there == &bytes[..] || (*any_case && there.eq_ignore_ascii_case(bytes)) {
                    take(id, at..at + there.len());
                }
            }
        }
    }
}

/// Steps through a text byte by byte. The iterators of the `aho-corasick` crate begin a new search
/// behind each match, which costs more than the search itself where words such as `key` are
/// frequent.
fn for_each_match(automaton: &impl Automaton, text: &[u8], mut take: impl FnMut(usize, Range<usize>)) {
    // Only an automaton built for anchored searches alone has no such state.
    let Ok(mut state) = automaton.start_state(Anchored::No) else { return };
    for (at, byte) in text.iter().enumerate() {
        state = automaton.next_state(Anchored::No, state, *byte);
        if automaton.is_special(state) && automaton.is_match(state) {
            report_matches(automaton, state, at + 1, &mut take);
        }
    }
}

/// Reports all literals that end at `end`. Kept out of line: matches are rare in the loop of
/// [`for_each_match`].
#[inline(never)]
fn report_matches(
    automaton: &impl Automaton,
    state: StateID,
    end: usize,
    take: &mut impl FnMut(usize, Range<usize>),
) {
    for index in 0..automaton.match_len(state) {
        let pattern = automaton.match_pattern(state, index);
        take(pattern.as_usize(), end - automaton.pattern_len(pattern)..end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(set: &LiteralSet, text: &str) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        set.search(text.as_bytes(), |id, at| all.push((id, at)));
        all.sort_unstable();
        all
    }

    fn set(literals: &[(&str, bool)]) -> LiteralSet {
        LiteralSet::new(
            literals.iter().map(|(text, any_case)| Literal { bytes: text.as_bytes(), any_case: *any_case }),
        )
    }

    #[test]
    fn each_place_is_found_once() {
        let set = set(&[("sk-", false), ("sk-ant-", false), ("key", true), ("-----", false)]);
        assert_eq!(found(&set, "sk-ant-x KEY sk-"), [(0, 0), (0, 13), (1, 0), (2, 9)]);
        assert_eq!(found(&set, "-------"), [(3, 0), (3, 1), (3, 2)]);
        assert_eq!(found(&set, "SK-"), []);
        assert_eq!(found(&set, "s"), []);
        assert_eq!(found(&set, ""), []);
    }

    proptest! {
        #[test]
        fn the_same_as_looking_everywhere(
            literals in proptest::collection::vec(("[a-dA-D_]{2,5}", any::<bool>()), 0..70),
            text in "[a-dA-D_]{0,60}",
        ) {
            let literals: Vec<(&str, bool)> =
                literals.iter().map(|(text, any_case)| (text.as_str(), *any_case)).collect();
            let mut expected = Vec::new();
            for (id, (literal, any_case)) in literals.iter().enumerate() {
                for at in 0..text.len() {
                    let Some(there) = text.get(at..at + literal.len()) else { continue };
                    if there == *literal || (*any_case && there.eq_ignore_ascii_case(literal)) {
                        expected.push((id, at));
                    }
                }
            }
            let mut set = set(&literals);
            prop_assert_eq!(found(&set, &text), expected.clone());
            set.searcher = Searcher::OneByOne;
            prop_assert_eq!(found(&set, &text), expected);
        }
    }
}
