//! Which call each result belongs to, in a few bytes for each call.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use reenact_json::Digest;

/// No session has this many calls; a file that does is made to fill the memory.
const MOST_CALLS: usize = 4 << 20;

/// An id, as the first half of its SHA-256: ids may be long, and nobody finds two that share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint([u8; 16]);

impl Fingerprint {
    pub(super) fn of(text: &[u8]) -> Self {
        Self(Digest::of(text).as_bytes().first_chunk().copied().unwrap_or_default())
    }
}

impl core::hash::Hash for Fingerprint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

/// A digest needs no more mixing, and no randomness: this library has none.
#[derive(Default)]
pub(super) struct Taken(u64);

impl Hasher for Taken {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A table by fingerprint.
pub(super) type ByFingerprint<T> = HashMap<Fingerprint, T, BuildHasherDefault<Taken>>;

/// What is known of an id.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    /// The line of its call, cut to 32 bits; 0: there was none yet.
    call: u32,
    is_answered: bool,
    /// Its entry in the receipt, counted from 1; 0: none.
    receipt: u32,
}

/// What became of a call or of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paired {
    /// As it should be.
    First,
    /// The id was used before.
    Repeated,
    /// A result that no call came before.
    WithoutCall,
    /// It could not be noted any more.
    Full,
}

/// Every id of a session.
#[derive(Default)]
pub(super) struct Pairs {
    ids: ByFingerprint<Pair>,
}

impl Pairs {
    /// Takes a call. `receipt` is its entry there, counted from 1.
    pub(super) fn call(&mut self, id: Fingerprint, line: u64, receipt: u32) -> Paired {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let is_full = self.ids.len() >= MOST_CALLS;
        match self.ids.entry(id) {
            Entry::Occupied(found) if found.get().call > 0 => return Paired::Repeated,
            Entry::Occupied(mut found) => {
                let pair = found.get_mut();
                (pair.call, pair.receipt) = (line, receipt);
            }
            Entry::Vacant(_) if is_full => return Paired::Full,
            Entry::Vacant(free) => {
                free.insert(Pair { call: line, is_answered: false, receipt });
            }
        }
        Paired::First
    }

    /// Takes a result; tells also which entry of the receipt its call is.
    pub(super) fn result(&mut self, id: Fingerprint) -> (Paired, u32) {
        let is_full = self.ids.len() >= MOST_CALLS;
        match self.ids.get_mut(&id) {
            Some(pair) if pair.is_answered => (Paired::Repeated, pair.receipt),
            Some(pair) => {
                pair.is_answered = true;
                (Paired::First, pair.receipt)
            }
            None if is_full => (Paired::Full, 0),
            None => {
                self.ids.insert(id, Pair { call: 0, is_answered: true, receipt: 0 });
                (Paired::WithoutCall, 0)
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The lines of calls that have no result, in order.
    pub(super) fn unanswered(&self) -> Vec<u32> {
        let open = self.ids.values().filter(|pair| !pair.is_answered);
        let mut lines: Vec<u32> = open.map(|pair| pair.call).collect();
        lines.sort_unstable();
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_pair() {
        let id = |text: &str| Fingerprint::of(text.as_bytes());
        let mut pairs = Pairs::default();
        assert_eq!(pairs.call(id("a"), 4, 2), Paired::First);
        assert_eq!(pairs.call(id("a"), 5, 0), Paired::Repeated);
        assert_eq!(pairs.call(id("b"), 6, 0), Paired::First);
        assert_eq!(pairs.unanswered(), [4, 6]);
        assert_eq!(pairs.result(id("a")), (Paired::First, 2));
        assert_eq!(pairs.result(id("a")), (Paired::Repeated, 2));
        // A result that comes too early still is the call's result.
        assert_eq!(pairs.result(id("c")), (Paired::WithoutCall, 0));
        assert_eq!(pairs.call(id("c"), 7, 0), Paired::First);
        assert_eq!(pairs.unanswered(), [6]);
    }
}
