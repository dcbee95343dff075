//! Calls and their results, paired by id in a few bytes for each call.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use reenact_json::Digest;

/// Largest number of ids that are remembered. No real session has so many; a file that does was made to
/// fill the memory.
const MAX_CALLS: usize = 4 << 20;

/// An id in sixteen bytes.
///
/// An id of up to 15 bytes is stored as its length and itself, so that ids which count upwards ascend
/// here, too. Of a longer one, 15 bytes of its SHA-256 are stored; finding two with the same is not
/// feasible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fingerprint(u128);

/// Value in the place of the length if a digest follows.
const DIGEST_MARK: u8 = u8::MAX;

impl Fingerprint {
    /// Returns the fingerprint of an id.
    pub(super) fn of(text: &[u8]) -> Self {
        let mut bytes = [0; 16];
        match (u8::try_from(text.len()), bytes.get_mut(1..=text.len())) {
            (Ok(length), Some(inline)) => {
                inline.copy_from_slice(text);
                bytes[0] = length;
            }
            _ => {
                bytes[1..].copy_from_slice(&Digest::of(text).as_bytes()[..15]);
                bytes[0] = DIGEST_MARK;
            }
        }
        Self(u128::from_be_bytes(bytes))
    }
}

impl core::hash::Hash for Fingerprint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0.to_be_bytes());
    }
}

/// Hasher for tables of fingerprints that takes its value from a SHA-256.
///
/// This library has no randomness to seed an ordinary hasher with. An attacker chooses the ids, but not
/// their digests, so collisions cannot be forced. A short id is hashed here; a long one already is.
#[derive(Default)]
pub(super) struct FingerprintHasher(u64);

impl Hasher for FingerprintHasher {
    fn write(&mut self, bytes: &[u8]) {
        let first = |bytes: &[u8]| bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        self.0 = match bytes {
            [DIGEST_MARK, digest @ ..] => first(digest),
            text => first(Digest::of(text).as_bytes()),
        };
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Table keyed by fingerprint.
pub(super) type ByFingerprint<T> = HashMap<Fingerprint, T, BuildHasherDefault<FingerprintHasher>>;

/// Call without a result so far.
#[derive(Debug, Clone, Copy)]
struct PendingCall {
    /// Number of its line, from 1, saturated at 32 bits.
    line: u32,
    /// Number of its entry in the receipt, from 1, or 0 for none.
    receipt_entry: u32,
}

/// Result of adding a call or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PairOutcome {
    /// First use of the id for a call, or the one result of a call.
    First,
    /// The call or the result occurred before.
    Repeated,
    /// No call with this id came before the result.
    WithoutCall,
    /// The tables are full, so the id was not remembered.
    Full,
}

/// All ids of a session.
///
/// Programs number their calls, so an id is usually greater than all before it and needs no look-up;
/// and a result usually follows its call. Both cases avoid the hash tables, whose memory is rarely
/// cached.
#[derive(Default)]
pub(super) struct CallPairs {
    /// Ids of calls that were greater than all before them, in order.
    ascending: Vec<Fingerprint>,
    /// Ids of all other calls.
    unordered: HashSet<Fingerprint, BuildHasherDefault<FingerprintHasher>>,
    /// Last call, as long as it has no result.
    last_call: Option<(Fingerprint, PendingCall)>,
    /// All other calls without a result.
    pending: ByFingerprint<PendingCall>,
    /// Ids of results that no call came before.
    early_results: HashSet<Fingerprint, BuildHasherDefault<FingerprintHasher>>,
}

impl CallPairs {
    /// Adds a call. `receipt` is the number of its entry in the receipt, from 1, or 0.
    pub(super) fn call(&mut self, id: Fingerprint, line: u64, receipt: u32) -> PairOutcome {
        let is_beyond = self.ascending.last().is_none_or(|last| *last < id);
        if !is_beyond && self.is_called(id) {
            return PairOutcome::Repeated;
        }
        if self.is_full() {
            return PairOutcome::Full;
        }
        if is_beyond {
            self.ascending.push(id);
        } else {
            self.unordered.insert(id);
        }
        if self.early_results.is_empty() || !self.early_results.contains(&id) {
            let call = PendingCall { line: u32::try_from(line).unwrap_or(u32::MAX), receipt_entry: receipt };
            if let Some((before, open)) = self.last_call.replace((id, call)) {
                self.pending.insert(before, open);
            }
        }
        PairOutcome::First
    }

    /// Adds a result. Returns the number of its call's entry in the receipt, too, or 0.
    pub(super) fn result(&mut self, id: Fingerprint) -> (PairOutcome, u32) {
        let latest = self.last_call.take_if(|(latest, _)| *latest == id).map(|(_, call)| call);
        if let Some(call) = latest.or_else(|| self.pending.remove(&id)) {
            return (PairOutcome::First, call.receipt_entry);
        }
        if self.is_called(id) || self.early_results.contains(&id) {
            return (PairOutcome::Repeated, 0);
        }
        if self.is_full() {
            return (PairOutcome::Full, 0);
        }
        self.early_results.insert(id);
        (PairOutcome::WithoutCall, 0)
    }

    /// Returns true if there was a call with this id.
    fn is_called(&self, id: Fingerprint) -> bool {
        self.ascending.binary_search(&id).is_ok() || self.unordered.contains(&id)
    }

    /// Returns true if no further id can be remembered.
    fn is_full(&self) -> bool {
        self.ascending.len() + self.unordered.len() + self.early_results.len() >= MAX_CALLS
    }

    /// Returns true if there was neither a call nor a result.
    pub(super) fn is_empty(&self) -> bool {
        self.ascending.is_empty() && self.early_results.is_empty()
    }

    /// Returns the line numbers of calls without a result, in ascending order.
    pub(super) fn unanswered(&self) -> Vec<u32> {
        let open = self.pending.values().chain(self.last_call.as_ref().map(|(_, call)| call));
        let mut lines: Vec<u32> = open.map(|call| call.line).collect();
        lines.sort_unstable();
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_way_to_pair() {
        let id = |text: &str| Fingerprint::of(text.as_bytes());
        let mut pairs = CallPairs::default();
        assert_eq!(pairs.call(id("a"), 4, 2), PairOutcome::First);
        assert_eq!(pairs.call(id("a"), 5, 0), PairOutcome::Repeated);
        assert_eq!(pairs.call(id("b"), 6, 0), PairOutcome::First);
        assert_eq!(pairs.unanswered(), [4, 6]);
        assert_eq!(pairs.result(id("a")), (PairOutcome::First, 2));
        assert_eq!(pairs.result(id("a")), (PairOutcome::Repeated, 0));
        // A result before its call still counts as the call's result.
        assert_eq!(pairs.result(id("c")), (PairOutcome::WithoutCall, 0));
        assert_eq!(pairs.result(id("c")), (PairOutcome::Repeated, 0));
        assert_eq!(pairs.call(id("c"), 7, 0), PairOutcome::First);
        assert_eq!(pairs.call(id("c"), 8, 0), PairOutcome::Repeated);
        assert_eq!(pairs.result(id("c")), (PairOutcome::Repeated, 0));
        assert_eq!(pairs.unanswered(), [6]);
    }

    #[test]
    fn ids_that_count_ascend_and_no_two_are_one() {
        let id = |text: &str| Fingerprint::of(text.as_bytes());
        let counted: Vec<Fingerprint> =
            ["", "9", "10", "tc_9", "tc_10", "fifteen bytes..", "sixteen bytes..."].map(id).to_vec();
        assert!(counted.is_sorted_by(|a, b| a < b));
        assert_ne!(id("a"), id("a\0"));
        assert_ne!(id("sixteen bytes..."), id("sixteen bytes..!"));
    }

    proptest! {
        /// Pairing gives the same results as a plain search among all earlier ids.
        #[test]
        fn as_a_plain_search_pairs(events in prop::collection::vec((any::<bool>(), 0..12_u8, any::<bool>()), 0..60)) {
            let mut pairs = CallPairs::default();
            let (mut calls, mut answered, mut early): (Vec<String>, Vec<String>, Vec<String>) = Default::default();
            let mut lines = Vec::new();
            for (line, (is_call, number, is_long)) in (1_u32..).zip(events) {
                let text = if is_long { format!("a call by a long name {number}") } else { format!("tc_{number}") };
                let id = Fingerprint::of(text.as_bytes());
                let is_known = calls.contains(&text);
                if is_call {
                    let expected = if is_known { PairOutcome::Repeated } else { PairOutcome::First };
                    prop_assert_eq!(pairs.call(id, u64::from(line), line), expected);
                    if !is_known {
                        calls.push(text.clone());
                        if !early.contains(&text) {
                            lines.push((text, line));
                        }
                    }
                } else if is_known && !answered.contains(&text) && !early.contains(&text) {
                    let at = lines.iter().position(|(open, _)| *open == text).unwrap();
                    prop_assert_eq!(pairs.result(id), (PairOutcome::First, lines.remove(at).1));
                    answered.push(text);
                } else if is_known || early.contains(&text) {
                    prop_assert_eq!(pairs.result(id), (PairOutcome::Repeated, 0));
                } else {
                    prop_assert_eq!(pairs.result(id), (PairOutcome::WithoutCall, 0));
                    early.push(text);
                }
                prop_assert_eq!(pairs.unanswered(), lines.iter().map(|(_, line)| *line).collect::<Vec<_>>());
            }
        }
    }
}
