//! `sha256:` over canonical JSON.
//!
//! The rule names no number format. Producers in Rust hash the text that serde_json prints, others that of RFC 8785; either
//! is accepted, and what was not found in one is looked for in the other.

use reenact_json::digest::Hasher;
use reenact_json::{CanonicalFault, Digest, Jcs, Value, canonical};

use super::canonical::ReplayJsonlForm;
use super::field::is_hash_of;

/// What became of a hash that was recomputed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HashCheck {
    /// It is the hash of the value.
    Holds,
    /// It is not. Holds the hash in the profile's own text.
    Differs(Digest),
    /// The value has no canonical form.
    Uncomputable(CanonicalFault),
}

/// The hash of a value in the profile's own text.
pub fn digest(value: Value<'_>, hasher: &mut Hasher) -> Result<Digest, CanonicalFault> {
    canonical::digest(value, ReplayJsonlForm, hasher)
}

/// Whether `carried` is the hash of `value` in one of the two number texts.
pub fn check(value: Value<'_>, carried: Option<Value<'_>>, hasher: &mut Hasher) -> HashCheck {
    let is_carried = |digest: &Digest| carried.is_some_and(|carried| is_hash_of(carried, digest));
    // Text that is canonical under RFC 8785 is hashed where it lies; nearly always it is its own form here too.
    if value.is_canonical() && is_carried(&Digest::of(value.text())) {
        return HashCheck::Holds;
    }
    let own = digest(value, hasher);
    if own.as_ref().is_ok_and(is_carried) {
        return HashCheck::Holds;
    }
    match own {
        _ if canonical::digest(value, Jcs, hasher).is_ok_and(|digest| is_carried(&digest)) => {
            HashCheck::Holds
        }
        Ok(own) => HashCheck::Differs(own),
        Err(fault) => HashCheck::Uncomputable(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::Limits;

    fn checked(text: &str, hashed: &str) -> HashCheck {
        let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
        let carried = format!("\"sha256:{}\"", Digest::of(hashed.as_bytes()));
        let carried = Value::parse(carried.as_bytes(), &Limits::default()).unwrap();
        check(value, Some(carried), &mut Hasher::new())
    }

    #[test]
    fn either_number_text_is_accepted() {
        for text in [r#"{"b":1e21,"a":1.0}"#, r#"{"a":1.0,"b":1e+21}"#, r#"{"a":1,"b":1e21}"#] {
            assert_eq!(checked(text, r#"{"a":1,"b":1e+21}"#), HashCheck::Holds, "{text}");
        }
        assert_eq!(checked(r#"{"b":1e21,"a":1.0}"#, r#"{"a":1.0,"b":1e21}"#), HashCheck::Holds);
        assert_eq!(checked(r#"{"a":9007199254740993}"#, r#"{"a":9007199254740993}"#), HashCheck::Holds);
    }

    #[test]
    fn another_value_is_not() {
        let own = Digest::of(b"{\"a\":1.0}");
        assert_eq!(checked(r#"{"a":1.0}"#, r#"{"a":2}"#), HashCheck::Differs(own));
        let value = Value::parse(b"[1e999]", &Limits::default()).unwrap();
        assert!(matches!(check(value, None, &mut Hasher::new()), HashCheck::Uncomputable(_)));
    }
}
