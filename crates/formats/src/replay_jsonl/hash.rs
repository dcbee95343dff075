//! Hashes: `sha256:` over canonical JSON.
//!
//! The rule names no number format. Producers in Rust hash the text that serde_json prints, others that of RFC 8785.
//! Either is accepted: a hash that does not match one text is compared with the other.

use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Jcs, Value, canonical};

use super::canonical::ReplayJsonlForm;
use super::field::is_hash_of;

/// Result of comparing a carried hash with the recomputed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayHashCheck {
    /// The carried hash is that of the value.
    Matches,
    /// The carried hash is another. Holds the hash of the profile's own text.
    Differs(Digest),
    /// The value has no canonical form.
    Uncomputable(CanonicalFault),
}

/// Returns the hash of a value in the profile's own text.
///
/// # Errors
///
/// [`CanonicalFault`] if the value has no canonical form.
pub fn digest(value: Value<'_>, hasher: &mut Hasher) -> Result<Digest, CanonicalFault> {
    canonical::digest(value, ReplayJsonlForm, hasher)
}

/// Compares `carried` with the hash of `value` in each of the two number texts.
pub fn check(value: Value<'_>, carried: Option<Value<'_>>, hasher: &mut Hasher) -> ReplayHashCheck {
    let is_carried = |digest: &Digest| carried.is_some_and(|carried| is_hash_of(carried, digest));
    // Text that is canonical under RFC 8785 is hashed in place; nearly always it has the profile's form, too.
    if value.is_canonical() && is_carried(&Digest::of(value.text())) {
        return ReplayHashCheck::Matches;
    }
    let own = digest(value, hasher);
    if own.as_ref().is_ok_and(is_carried) {
        return ReplayHashCheck::Matches;
    }
    match own {
        _ if canonical::digest(value, Jcs, hasher).is_ok_and(|digest| is_carried(&digest)) => {
            ReplayHashCheck::Matches
        }
        Ok(own) => ReplayHashCheck::Differs(own),
        Err(fault) => ReplayHashCheck::Uncomputable(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::Limits;

    fn checked(text: &str, hashed: &str) -> ReplayHashCheck {
        let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
        let carried = format!("\"sha256:{}\"", Digest::of(hashed.as_bytes()));
        let carried = Value::parse(carried.as_bytes(), &Limits::default()).unwrap();
        check(value, Some(carried), &mut Hasher::new())
    }

    #[test]
    fn either_number_text_is_accepted() {
        for text in [r#"{"b":1e21,"a":1.0}"#, r#"{"a":1.0,"b":1e+21}"#, r#"{"a":1,"b":1e21}"#] {
            assert_eq!(checked(text, r#"{"a":1,"b":1e+21}"#), ReplayHashCheck::Matches, "{text}");
        }
        assert_eq!(checked(r#"{"b":1e21,"a":1.0}"#, r#"{"a":1.0,"b":1e21}"#), ReplayHashCheck::Matches);
        assert_eq!(
            checked(r#"{"a":9007199254740993}"#, r#"{"a":9007199254740993}"#),
            ReplayHashCheck::Matches
        );
    }

    #[test]
    fn another_value_is_not() {
        let own = Digest::of(b"{\"a\":1.0}");
        assert_eq!(checked(r#"{"a":1.0}"#, r#"{"a":2}"#), ReplayHashCheck::Differs(own));
        let value = Value::parse(b"[1e999]", &Limits::default()).unwrap();
        assert!(matches!(check(value, None, &mut Hasher::new()), ReplayHashCheck::Uncomputable(_)));
    }
}
