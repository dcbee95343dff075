//! The artifact header: the bytes that the runtime signs (§6.6).

use reenact_json::canonical::{self, ObjectPart};
use reenact_json::{Digest, Value};

use super::{RerHashFault, RerHead, RerVersion};

/// Interpretation of the draft that the header follows. §6.6 signs `manifest_hash` in version 0.2; §8.1 says that it
/// is excluded. We hold with §6.6: under §8.1 anyone could rewrite a bundle's manifest without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderCoverage {
    /// §6.6, our ruling.
    WithManifestHash,
    /// §8.1, recognised only to name it.
    WithoutManifestHash,
}

/// Returns the canonical header from freshly computed hashes: the carried ones are never trusted (§7.1, check 6).
///
/// # Errors
///
/// [`RerHashFault`] if a member that the header needs is missing or has no canonical form.
pub fn signable<'a>(
    head: &RerHead<'a>,
    envelope_hash: Digest,
    log_head_hash: Digest,
    coverage: HeaderCoverage,
) -> Result<Vec<u8>, RerHashFault> {
    let of = |member, value: Option<Value<'a>>| value.ok_or(RerHashFault::Missing { member });
    let (envelope_hash, log_head_hash) = (envelope_hash.to_string(), log_head_hash.to_string());
    let mut members = vec![
        ("artifact_version", ObjectPart::Value(of("artifact_version", head.artifact_version)?)),
        ("envelope_hash", ObjectPart::String(&envelope_hash)),
        ("log_head_hash", ObjectPart::String(&log_head_hash)),
    ];
    // In 0.1 the member belongs to no header, even where an artifact wrongly carries it (§6.6).
    if coverage == HeaderCoverage::WithManifestHash
        && head.version() != Some(RerVersion::V01)
        && let Some(manifest_hash) = head.manifest_hash
    {
        members.push(("manifest_hash", ObjectPart::Value(manifest_hash)));
    }
    members.push(("run_id", ObjectPart::Value(of("run_id", head.run_id)?)));
    members.push(("runtime", ObjectPart::Value(of("runtime", head.runtime)?)));
    let mut bytes = Vec::new();
    canonical::write_object(&members, &mut bytes)?;
    Ok(bytes)
}
