//! The envelope: what the run was allowed to do, and who said so (§5).
//!
//! | module | what it holds |
//! |---|---|
//! | [`permission`] | permissions and limits, read from a document |
//! | [`decide`](mod@decide) | the policy function over them |
//! | [`glob`], [`money`] | patterns, and amounts that add up |

pub mod decide;
pub mod glob;
pub mod money;
pub mod permission;

use reenact_json::canonical;
use reenact_json::{Digest, Jcs, Kind, Limits, Value};

use super::HashFault;

/// The bytes that the envelope's signature covers, and whose hash the artifact carries: the canonical form of the
/// envelope without its `signature` member (§5.2). The member is removed, not emptied.
pub fn signable(envelope: Option<Value<'_>>) -> Result<Vec<u8>, HashFault> {
    let Some(envelope) = envelope else { return Err(HashFault::Missing { member: "envelope" }) };
    if envelope.kind() != Kind::Object {
        return Err(HashFault::NotAnObject { what: "envelope", found: envelope.kind().name() });
    }
    let mut bytes = Vec::new();
    canonical::write_without(envelope, &["signature"], &mut bytes)?;
    Ok(bytes)
}

/// SHA-256 over [`signable`].
pub fn hash(envelope: Option<Value<'_>>) -> Result<Digest, HashFault> {
    signable(envelope).map(|bytes| Digest::of(&bytes))
}

/// What a platform signs to authorise an envelope: the canonical envelope without its `signature`, and its `metadata`
/// without `authorization`. An envelope that only the runtime signed is a permission slip that it wrote for itself.
pub fn authorisable(envelope: Value<'_>) -> Result<Vec<u8>, HashFault> {
    if envelope.kind() != Kind::Object {
        return Err(HashFault::NotAnObject { what: "envelope", found: envelope.kind().name() });
    }
    let mut text = b"{".to_vec();
    for (name, value) in envelope.members().filter(|(name, _)| !name.is_string("signature")) {
        if text.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(name.text());
        text.push(b':');
        if name.is_string("metadata") && value.kind() == Kind::Object {
            canonical::write_without(value, &["authorization"], &mut text)?;
        } else {
            text.extend_from_slice(value.text());
        }
    }
    text.push(b'}');
    let limits = Limits { depth: Limits::DEEPEST, bytes: Limits::LARGEST };
    match Value::parse(&text, &limits) {
        Ok(document) => Ok(canonical::to_vec(document, Jcs)?),
        // Put together from values that were read, it can only be too large to be read again.
        Err(_) => Err(HashFault::Missing { member: "envelope" }),
    }
}
