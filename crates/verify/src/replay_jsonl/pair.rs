//! Which call each result belongs to, in a few bytes for each call.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use reenact_json::Digest;

/// No session has this many calls; a file that does is made to fill the memory.
const MOST_CALLS: usize = 4 << 20;

/// An id in sixteen bytes. One of up to fifteen is its length and itself, so that ids which count upwards ascend here too; of a
/// longer one, fifteen bytes of its SHA-256 must do, and nobody finds two that share those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fingerprint(u128);

/// What stands in the place of a length where a digest follows.
const DIGEST: u8 = u8::MAX;

impl Fingerprint {
    pub(super) fn of(text: &[u8]) -> Self {
        let mut bytes = [0; 16];
        match (u8::try_from(text.len()), bytes.get_mut(1..=text.len())) {
            (Ok(length), Some(room)) => {
                room.copy_from_slice(text);
                bytes[0] = length;
            }
            _ => {
                bytes[1..].copy_from_slice(&Digest::of(text).as_bytes()[..15]);
                bytes[0] = DIGEST;
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

/// Takes its number from a digest: this library has no randomness, and whoever writes a file chooses the ids in it, but not
/// their digests. What is none yet becomes one here.
#[derive(Default)]
pub(super) struct Taken(u64);

impl Hasher for Taken {
    fn write(&mut self, bytes: &[u8]) {
        let first = |bytes: &[u8]| bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        self.0 = match bytes {
            [DIGEST, digest @ ..] => first(digest),
            text => first(Digest::of(text).as_bytes()),
        };
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

/// Every id of a session. Programs count their calls, so that each id is beyond all before it and needs no look-up; and a
/// result mostly follows its call. Both go without a table, whose memory is never near.
#[derive(Default)]
pub(super) struct Pairs {
    /// The ids of calls that were each beyond all before them.
    ascending: Vec<Fingerprint>,
    /// The ids of all other calls.
    others: HashSet<Fingerprint, BuildHasherDefault<Taken>>,
    /// The last call, as long as it is open.
    latest: Option<(Fingerprint, Open)>,
    /// Every other call that is open.
    open: ByFingerprint<Open>,
    /// The ids of results that no call came before.
    early: HashSet<Fingerprint, BuildHasherDefault<Taken>>,
}

impl Pairs {
    /// Takes a call. `receipt` is its entry there, counted from 1.
    pub(super) fn call(&mut self, id: Fingerprint, line: u64, receipt: u32) -> Paired {
        let is_beyond = self.ascending.last().is_none_or(|last| *last < id);
        if !is_beyond && self.is_called(id) {
            return Paired::Repeated;
        }
        if self.is_full() {
            return Paired::Full;
        }
        if is_beyond {
            self.ascending.push(id);
        } else {
            self.others.insert(id);
        }
        if self.early.is_empty() || !self.early.contains(&id) {
            let call = Open { line: u32::try_from(line).unwrap_or(u32::MAX), receipt };
            if let Some((before, open)) = self.latest.replace((id, call)) {
                self.open.insert(before, open);
            }
        }
        Paired::First
    }

    /// Takes a result; tells also which entry of the receipt its call is.
    pub(super) fn result(&mut self, id: Fingerprint) -> (Paired, u32) {
        let latest = self.latest.take_if(|(latest, _)| *latest == id).map(|(_, call)| call);
        if let Some(call) = latest.or_else(|| self.open.remove(&id)) {
            return (Paired::First, call.receipt);
        }
        if self.is_called(id) || self.early.contains(&id) {
            return (Paired::Repeated, 0);
        }
        if self.is_full() {
            return (Paired::Full, 0);
        }
        self.early.insert(id);
        (Paired::WithoutCall, 0)
    }

    /// Whether there was a call of that id.
    fn is_called(&self, id: Fingerprint) -> bool {
        self.ascending.binary_search(&id).is_ok() || self.others.contains(&id)
    }

    fn is_full(&self) -> bool {
        self.ascending.len() + self.others.len() + self.early.len() >= MOST_CALLS
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ascending.is_empty() && self.early.is_empty()
    }

    /// The lines of calls that have no result, in order.
    pub(super) fn unanswered(&self) -> Vec<u32> {
        let open = self.open.values().chain(self.latest.as_ref().map(|(_, call)| call));
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
        /// However ids come, they pair as if each were looked for among all before it.
        #[test]
        fn as_a_plain_search_pairs(events in prop::collection::vec((any::<bool>(), 0..12_u8, any::<bool>()), 0..60)) {
            let mut pairs = Pairs::default();
            let (mut calls, mut answered, mut early): (Vec<String>, Vec<String>, Vec<String>) = Default::default();
            let mut lines = Vec::new();
            for (line, (is_call, number, is_long)) in (1_u32..).zip(events) {
                let text = if is_long { format!("a call by a long name {number}") } else { format!("tc_{number}") };
                let id = Fingerprint::of(text.as_bytes());
                let is_known = calls.contains(&text);
                if is_call {
                    let expected = if is_known { Paired::Repeated } else { Paired::First };
                    prop_assert_eq!(pairs.call(id, u64::from(line), line), expected);
                    if !is_known {
                        calls.push(text.clone());
                        if !early.contains(&text) {
                            lines.push((text, line));
                        }
                    }
                } else if is_known && !answered.contains(&text) && !early.contains(&text) {
                    let at = lines.iter().position(|(open, _)| *open == text).unwrap();
                    prop_assert_eq!(pairs.result(id), (Paired::First, lines.remove(at).1));
                    answered.push(text);
                } else if is_known || early.contains(&text) {
                    prop_assert_eq!(pairs.result(id), (Paired::Repeated, 0));
                } else {
                    prop_assert_eq!(pairs.result(id), (Paired::WithoutCall, 0));
                    early.push(text);
                }
                prop_assert_eq!(pairs.unanswered(), lines.iter().map(|(_, line)| *line).collect::<Vec<_>>());
            }
        }
    }
}
