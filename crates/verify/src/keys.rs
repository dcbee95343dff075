//! The keys that a verification may use, and what is known of each.

use core::fmt;
use std::collections::BTreeMap;

use reenact_formats::key::{KeyError, KeyId, PublicKey};
use reenact_formats::rpk::HmacKey;

/// What is known of a key. It never changes whether a record is intact; it says who vouches for the signer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// Handed to this verification by whoever asked for it.
    Supplied,
    /// In the trust store of whoever asked, or one of their own.
    Trusted,
    /// Known, and its owner signs with another one now.
    Superseded,
    /// Someone else may have it: what it signed may be anybody's.
    Compromised,
    /// Brought by the record itself: the record is intact, but anyone could have made it.
    SelfAsserted,
    /// Named by the record, but held by nobody here.
    Unknown,
}

impl Trust {
    /// The word that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Supplied => "supplied",
            Self::Trusted => "trusted",
            Self::Superseded => "superseded",
            Self::Compromised => "compromised",
            Self::SelfAsserted => "self-asserted",
            Self::Unknown => "unknown",
        }
    }

    /// Which of two sources is believed about one key. A warning beats everything; what was said for this one
    /// verification beats what was said before; the record's own word comes last.
    fn rank(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::SelfAsserted => 1,
            Self::Superseded => 2,
            Self::Trusted => 3,
            Self::Supplied => 4,
            Self::Compromised => 5,
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A key at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownKey {
    /// The key.
    pub key: PublicKey,
    /// What is known of it.
    pub trust: Trust,
    /// What its owner calls it.
    pub label: Option<String>,
}

/// All keys at hand, looked up by the id that a record names.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    known: BTreeMap<KeyId, KnownKey>,
    refused: Vec<KeyError>,
    hmac: Option<HmacKey>,
}

impl Keys {
    /// Adds what some source knows of a key. If several sources know it, the strongest word counts (a warning, then
    /// supplied, trusted, superseded, self-asserted), and the first label is kept.
    pub fn know(&mut self, key: PublicKey, trust: Trust, label: Option<String>) {
        let known = self.known.entry(key.id()).or_insert(KnownKey { key, trust, label: None });
        if trust.rank() > known.trust.rank() {
            known.trust = trust;
        }
        known.label = known.label.take().or(label);
    }

    /// Adds a key that the caller supplies.
    pub fn supply(&mut self, key: PublicKey) {
        self.know(key, Trust::Supplied, None);
    }

    /// Sets the shared key of signatures by HMAC. A record names such keys by labels that anyone could change, so there is
    /// one, and no look-up.
    pub fn share(&mut self, key: HmacKey) {
        self.hmac = Some(key);
    }

    /// The shared key, if one was given.
    pub fn hmac(&self) -> Option<&HmacKey> {
        self.hmac.as_ref()
    }

    /// Adds a key that the record itself brings.
    pub(crate) fn assert(&mut self, key: PublicKey) {
        self.know(key, Trust::SelfAsserted, None);
    }

    /// The raw-key interface of RER §1.1: exactly 32 bytes. Others are refused, and the report says why.
    pub fn from_raw(bytes: &[u8]) -> Self {
        let mut keys = Self::default();
        match PublicKey::from_raw(bytes) {
            Ok(key) => keys.supply(key),
            Err(error) => keys.refused.push(error),
        }
        keys
    }

    /// The key of that id.
    pub fn find(&self, id: &KeyId) -> Option<&KnownKey> {
        self.known.get(id)
    }

    /// Whether there is no key at all.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Why keys that were given are not among these.
    pub(crate) fn refused(&self) -> &[KeyError] {
        &self.refused
    }
}

impl Extend<PublicKey> for Keys {
    fn extend<I: IntoIterator<Item = PublicKey>>(&mut self, keys: I) {
        keys.into_iter().for_each(|key| self.supply(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The basepoint: somebody's key, as far as this test goes.
    fn key() -> PublicKey {
        let mut raw = [0x66; 32];
        raw[0] = 0x58;
        PublicKey::from_raw(&raw).unwrap()
    }

    #[test]
    fn the_strongest_word_counts_in_any_order() {
        let from_strongest =
            [Trust::Compromised, Trust::Supplied, Trust::Trusted, Trust::Superseded, Trust::SelfAsserted];
        for (at, strong) in from_strongest.into_iter().enumerate() {
            for weak in &from_strongest[at..] {
                for order in [[strong, *weak], [*weak, strong]] {
                    let mut keys = Keys::default();
                    order.iter().for_each(|trust| keys.know(key(), *trust, None));
                    assert_eq!(keys.find(&key().id()).unwrap().trust, strong, "{order:?}");
                }
            }
        }
    }

    #[test]
    fn the_label_of_whoever_has_one_is_kept() {
        let mut keys = Keys::default();
        keys.supply(key());
        keys.know(key(), Trust::Trusted, Some("ci".into()));
        keys.know(key(), Trust::Superseded, Some("other".into()));
        let expected = KnownKey { key: key(), trust: Trust::Supplied, label: Some("ci".into()) };
        assert_eq!(keys.find(&key().id()), Some(&expected));
    }
}
