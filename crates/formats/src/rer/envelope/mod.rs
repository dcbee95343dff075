//! The envelope: the permissions of a run, and who signed them (§5).
//!
//! | module | what it holds |
//! |---|---|
//! | [`permission`] | permissions and limits, read from a document |
//! | [`policy`] | the policy function over them |
//! | [`authorization`] | the platform's signature |
//! | [`approvers`] | the keys that may approve |
//! | [`glob`], [`money`] | patterns, and exact amounts of money |
//!
//! Start reading at [`permission`].

pub mod approvers;
pub mod authorization;
pub mod glob;
pub mod money;
pub mod permission;
pub mod policy;

use reenact_json::canonical;
use reenact_json::{Digest, Jcs, Limits, Value, ValueKind};

use super::RerHashFault;

/// Returns the bytes that the envelope's signature covers, and whose hash the artifact carries: the canonical form of
/// the envelope without its `signature` member (§5.2). The member is removed, not emptied.
///
/// # Errors
///
/// [`RerHashFault`] if the envelope is absent, not an object, or has no canonical form.
pub fn signable(envelope: Option<Value<'_>>) -> Result<Vec<u8>, RerHashFault> {
    let Some(envelope) = envelope else { return Err(RerHashFault::Missing { member: "envelope" }) };
    if envelope.kind() != ValueKind::Object {
        return Err(RerHashFault::NotAnObject { what: "envelope", found: envelope.kind().name() });
    }
    let mut bytes = Vec::new();
    canonical::write_without(envelope, &["signature"], &mut bytes)?;
    Ok(bytes)
}

/// Returns the SHA-256 of [`signable`].
///
/// # Errors
///
/// As [`signable`].
pub fn hash(envelope: Option<Value<'_>>) -> Result<Digest, RerHashFault> {
    signable(envelope).map(|bytes| Digest::of(&bytes))
}

/// Returns the part of an envelope that a platform authorises: the canonical envelope without its `signature`, and its
/// `metadata` without `authorization`. Its hash stands in the text that the platform signs: see [`authorization`].
///
/// An envelope that only the runtime signed is a permission slip that the runtime wrote for itself.
///
/// # Errors
///
/// [`RerHashFault`] if the envelope is not an object, or has no canonical form.
pub fn authorisable(envelope: Value<'_>) -> Result<Vec<u8>, RerHashFault> {
    if envelope.kind() != ValueKind::Object {
        return Err(RerHashFault::NotAnObject { what: "envelope", found: envelope.kind().name() });
    }
    let mut text = b"{".to_vec();
    for (name, value) in envelope.members().filter(|(name, _)| !name.is_string("signature")) {
        if text.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(name.text());
        text.push(b':');
        if name.is_string("metadata") && value.kind() == ValueKind::Object {
            canonical::write_without(value, &["authorization"], &mut text)?;
        } else {
            text.extend_from_slice(value.text());
        }
    }
    text.push(b'}');
    let limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };
    match Value::parse(&text, &limits) {
        Ok(document) => Ok(canonical::to_vec(document, Jcs)?),
        // The text is assembled from parsed values, so the only possible error is that it became too large.
        Err(_) => Err(RerHashFault::Missing { member: "envelope" }),
    }
}
