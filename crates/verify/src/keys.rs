//! Keys for one verification, each with the trust that its source gives it.
//!
//! A verifier looks up the key that a record names, by its id. Whether the signature holds is a check;
//! who vouches for the key is [`Trust`], and for which purpose its roles. Start reading at [`Keys`].

use core::fmt;
use std::collections::BTreeMap;

use reenact_formats::key::{KeyError, KeyId, PublicKey};
use reenact_formats::rpk::HmacKey;
use reenact_formats::trust::{KeyRole, KeyRoles};

/// Trust in a signing key, according to the caller's sources.
///
/// Trust never changes whether a record is intact. It says who vouches for the signer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// Given to this verification by the caller.
    Supplied,
    /// Found in the caller's trust store, or one of the caller's own keys.
    Trusted,
    /// Known, but its owner signs with a newer key.
    Superseded,
    /// Marked as stolen or leaked: a signature by this key may be anyone's.
    Compromised,
    /// Contained in the record itself. The record is intact, but anyone could have made it.
    SelfAsserted,
    /// Named by the record, but not available here.
    Unknown,
}

impl Trust {
    /// Returns the word that reports use, such as `self-asserted`.
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

    /// Returns the precedence among several sources that know one key: the highest rank wins.
    ///
    /// A warning beats everything. A key supplied for this one verification beats the trust store. The
    /// record's own claim comes last.
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

/// A public key with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownKey {
    /// The public key.
    pub key: PublicKey,
    /// Strongest trust that any source gives the key.
    pub trust: Trust,
    /// Purposes for which a trust store trusts the key. A supplied key counts for every purpose, with any or no role.
    pub roles: KeyRoles,
    /// Name that the owner gave the key, if any source has one.
    pub label: Option<String>,
}

impl KnownKey {
    /// Returns the trust in a signature that the key made for this purpose: unknown if a source vouches for the key,
    /// but for other purposes only. A warning counts for every purpose.
    pub fn trust_as(&self, role: KeyRole) -> Trust {
        match self.trust {
            Trust::Trusted | Trust::Superseded if !self.roles.contains(role) => Trust::Unknown,
            trust => trust,
        }
    }
}

/// All keys of one verification, by key id.
///
/// Ed25519 keys are looked up by the id that a record names. HMAC signatures have at most one shared
/// key, see [`Keys::set_hmac_key`].
#[derive(Debug, Clone, Default)]
pub struct Keys {
    /// Keys by id, one entry each.
    known: BTreeMap<KeyId, KnownKey>,
    /// Errors of keys that were given but are not valid.
    rejected: Vec<KeyError>,
    /// Shared key of HMAC signatures.
    hmac_key: Option<HmacKey>,
}

impl Keys {
    /// Adds a key with the trust that one source gives it, for the purposes of `roles`.
    ///
    /// If several sources know the key, the highest precedence counts (compromised, supplied, trusted,
    /// superseded, self-asserted), the roles add up, and the first label is kept.
    pub fn add(&mut self, key: PublicKey, trust: Trust, roles: KeyRoles, label: Option<String>) {
        let unknown = KnownKey { key, trust, roles: KeyRoles::NONE, label: None };
        let known = self.known.entry(key.id()).or_insert(unknown);
        known.roles = known.roles.union(roles);
        if trust.rank() > known.trust.rank() {
            known.trust = trust;
        }
        known.label = known.label.take().or(label);
    }

    /// Adds a key that the caller gave for this verification. It counts for every purpose.
    pub fn add_supplied(&mut self, key: PublicKey) {
        self.add(key, Trust::Supplied, KeyRoles::NONE, None);
    }

    /// Sets the shared key of HMAC signatures.
    ///
    /// A record names such keys by a label that no signature covers, so anyone could change it. There
    /// is therefore one key and no look-up.
    pub fn set_hmac_key(&mut self, key: HmacKey) {
        self.hmac_key = Some(key);
    }

    /// Returns the shared key of HMAC signatures, if one was set.
    pub fn hmac_key(&self) -> Option<&HmacKey> {
        self.hmac_key.as_ref()
    }

    /// Adds a key that the record itself contains. It has no role.
    pub(crate) fn add_self_asserted(&mut self, key: PublicKey) {
        self.add(key, Trust::SelfAsserted, KeyRoles::NONE, None);
    }

    /// Returns the supplied keys of a key file: 32 raw bytes, a JWK, a JWKS, or SPKI as DER or PEM, told apart by content.
    ///
    /// # Errors
    /// [`KeyError`] if the bytes are none of these, or hold no Ed25519 key.
    pub fn from_file(bytes: &[u8]) -> Result<Self, KeyError> {
        let mut keys = Self::default();
        reenact_formats::key::read(bytes)?.keys.into_iter().for_each(|key| keys.add_supplied(key));
        Ok(keys)
    }

    /// Returns keys with one supplied key of raw bytes (RER §1.1).
    ///
    /// Exactly 32 bytes that encode a valid point are accepted. Otherwise there is no key, and the
    /// report says why.
    ///
    /// ```
    /// use reenact_verify::Keys;
    ///
    /// assert!(Keys::from_raw(&[0; 31]).is_empty());
    /// ```
    pub fn from_raw(bytes: &[u8]) -> Self {
        let mut keys = Self::default();
        match PublicKey::from_raw(bytes) {
            Ok(key) => keys.add_supplied(key),
            Err(error) => keys.rejected.push(error),
        }
        keys
    }

    /// Returns the key with this id.
    pub fn find(&self, id: &KeyId) -> Option<&KnownKey> {
        self.known.get(id)
    }

    /// Returns true if there is no Ed25519 key. The shared HMAC key does not count.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns the errors of keys that were given and are not valid, for the reasons of failed
    /// signatures.
    pub(crate) fn rejected(&self) -> &[KeyError] {
        &self.rejected
    }
}

impl Extend<PublicKey> for Keys {
    fn extend<I: IntoIterator<Item = PublicKey>>(&mut self, keys: I) {
        keys.into_iter().for_each(|key| self.add_supplied(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the Ed25519 basepoint, a valid public key.
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
                    order.iter().for_each(|trust| keys.add(key(), *trust, KeyRoles::ALL, None));
                    assert_eq!(keys.find(&key().id()).unwrap().trust, strong, "{order:?}");
                }
            }
        }
    }

    #[test]
    fn the_label_of_whoever_has_one_is_kept() {
        let mut keys = Keys::default();
        keys.add_supplied(key());
        keys.add(key(), Trust::Trusted, KeyRoles::NONE, Some("ci".into()));
        keys.add(key(), Trust::Superseded, KeyRoles::NONE, Some("other".into()));
        let expected =
            KnownKey { key: key(), trust: Trust::Supplied, roles: KeyRoles::NONE, label: Some("ci".into()) };
        assert_eq!(keys.find(&key().id()), Some(&expected));
    }

    #[test]
    fn a_key_counts_for_its_roles_only() {
        let trust = |trust: Trust, roles: KeyRoles| {
            let mut keys = Keys::default();
            keys.add_self_asserted(key());
            keys.add(key(), trust, roles, None);
            let known = keys.find(&key().id()).unwrap();
            KeyRole::ALL.map(|role| known.trust_as(role))
        };
        let runtime: KeyRoles = KeyRole::Runtime.into();
        for known in [Trust::Trusted, Trust::Superseded] {
            assert_eq!(trust(known, runtime), [known, Trust::Unknown, Trust::Unknown]);
            assert_eq!(trust(known, KeyRole::Platform.into()), [Trust::Unknown, known, Trust::Unknown]);
        }
        for known in [Trust::Supplied, Trust::Compromised] {
            assert_eq!(trust(known, runtime), [known; 3]);
        }
        assert_eq!(trust(Trust::SelfAsserted, KeyRoles::NONE), [Trust::SelfAsserted; 3]);
    }
}
