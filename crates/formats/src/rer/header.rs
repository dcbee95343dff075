//! The artifact header: what the runtime signs (§6.6).

use reenact_json::canonical::{self, Part};
use reenact_json::{Digest, Value};

use super::{HashFault, Head, Version};

/// Which reading of the draft the header follows. §6.6 signs `manifest_hash` in version 0.2; §8.1 says that it is
/// excluded. We hold with §6.6: under §8.1 anyone could rewrite a bundle's manifest without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// §6.6, our ruling.
    WithManifestHash,
    /// §8.1, recognised only to name it.
    WithoutManifestHash,
}

/// The canonical header, from freshly computed hashes: the carried ones are never trusted (§7.1, check 6).
pub fn signable<'a>(
    head: &Head<'a>,
    envelope_hash: Digest,
    log_head_hash: Digest,
    coverage: Coverage,
) -> Result<Vec<u8>, HashFault> {
    let of = |member, value: Option<Value<'a>>| value.ok_or(HashFault::Missing { member });
    let (envelope_hash, log_head_hash) = (envelope_hash.to_string(), log_head_hash.to_string());
    let mut members = vec![
        ("artifact_version", Part::Value(of("artifact_version", head.artifact_version)?)),
        ("envelope_hash", Part::Text(&envelope_hash)),
        ("log_head_hash", Part::Text(&log_head_hash)),
    ];
    // In 0.1 the member belongs to no header, even where an artifact wrongly carries it (§6.6).
    if coverage == Coverage::WithManifestHash
        && head.version() != Some(Version::V01)
        && let Some(manifest_hash) = head.manifest_hash
    {
        members.push(("manifest_hash", Part::Value(manifest_hash)));
    }
    members.push(("run_id", Part::Value(of("run_id", head.run_id)?)));
    members.push(("runtime", Part::Value(of("runtime", head.runtime)?)));
    let mut bytes = Vec::new();
    canonical::write_object(&members, &mut bytes)?;
    Ok(bytes)
}
