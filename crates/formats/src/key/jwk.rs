//! JSON Web Keys (RFC 7517, RFC 8037), as RER §6.4 uses them.

use base64ct::{Base64UrlUnpadded, Encoding};
use reenact_json::{Digest, Limits, Value, ValueKind};

use super::{KeyError, KeyFile, KeyId, PublicKey};

/// Fault of a JWK.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JwkFault {
    /// `kty` is not `OKP`.
    #[error("`kty` must be \"OKP\"")]
    Type,
    /// `crv` is not `Ed25519`.
    #[error("`crv` must be \"Ed25519\"")]
    Curve,
    /// `x` is absent or not a string.
    #[error("`x`, the public key, is missing")]
    NoPublicPart,
    /// `x` has padding, another alphabet, or stray bits at its end.
    #[error("`x` must be base64url without padding")]
    Base64,
    /// `x` is not 32 bytes long.
    #[error("`x` holds {bytes} bytes, not 32")]
    Length {
        /// Number of bytes that `x` decodes to.
        bytes: usize,
    },
    /// `keys` of a JWKS is not an array.
    #[error("`keys` must be a list")]
    SetNotAList,
}

/// Reads a JWK, or a JWKS with at least one Ed25519 key.
pub(super) fn read(text: &[u8]) -> Result<KeyFile, KeyError> {
    let document =
        Value::parse(text, &Limits::default()).map_err(|error| KeyError::Json(error.describe(text)))?;
    match document.member("keys") {
        None => {
            let key = public_key(document)?;
            let holds_private = document.member("d").is_some();
            Ok(KeyFile { keys: vec![key], holds_private, skipped: 0, false_kid: false_kid(document, &key) })
        }
        Some(keys) if keys.kind() == ValueKind::Array => read_set(keys),
        Some(_) => Err(KeyError::Jwk(JwkFault::SetNotAList)),
    }
}

fn read_set(set: Value<'_>) -> Result<KeyFile, KeyError> {
    let mut file = KeyFile { keys: Vec::new(), holds_private: false, skipped: 0, false_kid: None };
    for jwk in set.elements() {
        // Key directories publish keys of all types; only those that claim to be Ed25519 must be right.
        match public_key(jwk) {
            Ok(key) => {
                file.false_kid = file.false_kid.or_else(|| false_kid(jwk, &key));
                file.keys.push(key);
            }
            Err(KeyError::Jwk(JwkFault::Type | JwkFault::Curve)) => file.skipped += 1,
            Err(error) => return Err(error),
        }
        file.holds_private |= jwk.member("d").is_some();
    }
    if file.keys.is_empty() { Err(KeyError::NoneInSet) } else { Ok(file) }
}

/// Returns the `kid` of a JWK if it is not an id of the key: neither the key_id of RER §6.5, nor the thumbprint of RFC 7638.
fn false_kid(jwk: Value<'_>, key: &PublicKey) -> Option<String> {
    let kid = jwk.member("kid")?;
    let Some(kid) = kid.string() else { return Some(kid.kind().name().to_owned()) };
    let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, key.to_base64url());
    let thumbprint = KeyId(Digest::of(members.as_bytes()));
    let is_own = KeyId::parse(&kid).is_some_and(|kid| kid == key.id() || kid == thumbprint);
    (!is_own).then(|| kid.into_owned())
}

fn public_key(jwk: Value<'_>) -> Result<PublicKey, KeyError> {
    let is = |name: &str, text: &str| jwk.member(name).is_some_and(|value| value.is_string(text));
    if !is("kty", "OKP") {
        return Err(KeyError::Jwk(JwkFault::Type));
    }
    if !is("crv", "Ed25519") {
        return Err(KeyError::Jwk(JwkFault::Curve));
    }
    let x = jwk.member("x").and_then(|x| x.string()).ok_or(KeyError::Jwk(JwkFault::NoPublicPart))?;
    let raw = Base64UrlUnpadded::decode_vec(&x).map_err(|_| KeyError::Jwk(JwkFault::Base64))?;
    if raw.len() != 32 {
        return Err(KeyError::Jwk(JwkFault::Length { bytes: raw.len() }));
    }
    PublicKey::from_raw(&raw)
}
