//! Which call each result belongs to, in a few bytes for each call.

use std::collections::{HashMap, HashSet};
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

/// A call that has no result yet.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// Its line, cut to 32 bits.
    line: u32,
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

/// Every id of a session. Results mostly come soon after their calls: what is open stays small and near.
#[derive(Default)]
pub(super) struct Pairs {
    /// The ids of all calls.
    calls: HashSet<Fingerprint, BuildHasherDefault<Taken>>,
    open: ByFingerprint<Open>,
    /// The ids of results that no call came before.
    early: HashSet<Fingerprint, BuildHasherDefault<Taken>>,
}

impl Pairs {
    /// Takes a call. `receipt` is its entry there, counted from 1.
    pub(super) fn call(&mut self, id: Fingerprint, line: u64, receipt: u32) -> Paired {
        if self.is_full() && !self.calls.contains(&id) {
            return Paired::Full;
        }
        if !self.calls.insert(id) {
            return Paired::Repeated;
        }
        if self.early.is_empty() || !self.early.contains(&id) {
            self.open.insert(id, Open { line: u32::try_from(line).unwrap_or(u32::MAX), receipt });
        }
        Paired::First
    }

    /// Takes a result; tells also which entry of the receipt its call is.
    pub(super) fn result(&mut self, id: Fingerprint) -> (Paired, u32) {
        if let Some(call) = self.open.remove(&id) {
            return (Paired::First, call.receipt);
        }
        if self.calls.contains(&id) || self.early.contains(&id) {
            return (Paired::Repeated, 0);
        }
        if self.is_full() {
            return (Paired::Full, 0);
        }
        self.early.insert(id);
        (Paired::WithoutCall, 0)
    }

    fn is_full(&self) -> bool {
        self.calls.len() + self.early.len() >= MOST_CALLS
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.early.is_empty()
    }

    /// The lines of calls that have no result, in order.
    pub(super) fn unanswered(&self) -> Vec<u32> {
        let mut lines: Vec<u32> = self.open.values().map(|call| call.line).collect();
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
        assert_eq!(pairs.result(id("a")), (Paired::Repeated, 0));
        // A result that comes too early still is the call's result.
        assert_eq!(pairs.result(id("c")), (Paired::WithoutCall, 0));
        assert_eq!(pairs.result(id("c")), (Paired::Repeated, 0));
        assert_eq!(pairs.call(id("c"), 7, 0), Paired::First);
        assert_eq!(pairs.call(id("c"), 8, 0), Paired::Repeated);
        assert_eq!(pairs.result(id("c")), (Paired::Repeated, 0));
        assert_eq!(pairs.unanswered(), [6]);
    }
}
