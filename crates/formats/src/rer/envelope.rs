//! The envelope: what the run was allowed to do, and who said so (§5).

use reenact_json::canonical;
use reenact_json::{Digest, Kind, Value};

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
