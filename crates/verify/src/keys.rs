//! The keys that a verification may use, and what is known of each.

use core::fmt;

use reenact_formats::key::{KeyError, KeyId, PublicKey};

/// What is known of a key. It never changes whether a record is intact; it says who vouches for the signer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// Handed to this verification by whoever asked for it.
    Supplied,
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
            Self::SelfAsserted => "self-asserted",
            Self::Unknown => "unknown",
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
    known: Vec<(KeyId, KnownKey)>,
    refused: Vec<KeyError>,
}

impl Keys {
    /// Adds a key that the caller supplies.
    pub fn supply(&mut self, key: PublicKey) {
        self.known.push((key.id(), KnownKey { key, trust: Trust::Supplied, label: None }));
    }

    /// Adds a key that the record itself brings, unless it is known already.
    pub(crate) fn assert(&mut self, key: PublicKey) {
        if self.find(&key.id()).is_none() {
            self.known.push((key.id(), KnownKey { key, trust: Trust::SelfAsserted, label: None }));
        }
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
        self.known.iter().find_map(|(known, key)| (known == id).then_some(key))
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
