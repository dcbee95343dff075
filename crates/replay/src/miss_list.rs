//! Misses of a replay, as they come: equal ones once, with their number.
//!
//! Agents repeat what failed, and some never stop. Start reading at [`MissList::add`].

use std::collections::HashMap;
use std::sync::Arc;

use reenact_json::Digest;

use crate::miss::{Miss, MissCause, RepeatedMiss};

/// Misses so far.
#[derive(Debug, Default)]
pub(crate) struct MissList {
    listed: Vec<RepeatedMiss>,
    /// Index of the last miss of each request key.
    last_by_key: HashMap<Digest, usize>,
    /// Number of requests that missed.
    count: usize,
    /// Length of the values that are kept whole, in bytes.
    whole_bytes: usize,
}

/// Largest number of misses that are listed and compared. Later ones are only counted.
const MAX_LISTED: usize = 1_000;

/// Largest sum of the values that are kept whole, in bytes.
const MAX_WHOLE_BYTES: usize = 16 << 20;

impl MissList {
    /// Returns the cause for which the same request missed before.
    pub(crate) fn last_cause(&self, key: &Digest) -> Option<&MissCause> {
        Some(&self.listed.get(*self.last_by_key.get(key)?)?.miss.cause)
    }

    /// Returns true if no further miss will be listed, so that none needs to be compared.
    pub(crate) fn is_full(&self) -> bool {
        self.listed.len() >= MAX_LISTED
    }

    /// Returns the number of requests that missed, repeated ones included.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns all that are listed, in the order of the first of each.
    pub(crate) fn listed(&self) -> &[RepeatedMiss] {
        &self.listed
    }

    /// Counts a miss, and lists it unless an equal one is listed: the same request, or another that would be shown in the same
    /// words. Returns the miss that is listed.
    pub(crate) fn add(&mut self, key: Digest, mut miss: Miss) -> Arc<Miss> {
        self.count += 1;
        let same_key = self.last_by_key.get(&key).copied();
        let is_same = |at: &usize| self.listed.get(*at).is_some_and(|known| known.miss.is_shown_as(&miss));
        let known = same_key.filter(is_same).or_else(|| (0..self.listed.len()).find(is_same));
        if let Some((at, known)) = known.and_then(|at| Some((at, self.listed.get_mut(at)?))) {
            known.times += 1;
            self.last_by_key.insert(key, at);
            return Arc::clone(&known.miss);
        }
        if self.is_full() {
            return Arc::new(miss);
        }
        self.whole_bytes = miss.keep_whole_values(self.whole_bytes, MAX_WHOLE_BYTES);
        let miss = Arc::new(miss);
        self.last_by_key.insert(key, self.listed.len());
        self.listed.push(RepeatedMiss { miss: Arc::clone(&miss), times: 1 });
        miss
    }
}
