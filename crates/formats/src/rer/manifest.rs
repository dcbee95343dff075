//! The manifest of a bundle (§9.1): its members, and the hashes that bind it to the artifact.

use reenact_json::canonical;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Value, ValueKind};

use super::RerHashFault;

/// Members of a manifest as they stand, right or wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct RerManifestView<'a> {
    /// `artifact_hash`
    pub artifact_hash: Option<Value<'a>>,
    /// `runtime_key_hash`
    pub runtime_key_hash: Option<Value<'a>>,
    /// `total_event_count`
    pub total_event_count: Option<Value<'a>>,
    /// `redacted_event_count`
    pub redacted_event_count: Option<Value<'a>>,
    /// `blobs`
    pub blobs: Option<Value<'a>>,
    /// `bundle_hash`
    pub bundle_hash: Option<Value<'a>>,
    /// First member name that the format does not know. `bundle_hash` covers such members, so they do no harm.
    pub unknown_member: Option<Value<'a>>,
}

impl<'a> RerManifestView<'a> {
    /// Picks the members of a manifest.
    pub fn of(manifest: Value<'a>) -> Self {
        let mut view = Self::default();
        for (name, value) in manifest.members() {
            let slot = match name.string_bytes().as_deref() {
                Some(b"artifact_hash") => &mut view.artifact_hash,
                Some(b"runtime_key_hash") => &mut view.runtime_key_hash,
                Some(b"total_event_count") => &mut view.total_event_count,
                Some(b"redacted_event_count") => &mut view.redacted_event_count,
                Some(b"blobs") => &mut view.blobs,
                Some(b"bundle_hash") => &mut view.bundle_hash,
                _ => {
                    view.unknown_member.get_or_insert(name);
                    continue;
                }
            };
            *slot = Some(value);
        }
        view
    }
}

/// Members of one entry of `blobs` as they stand.
#[derive(Debug, Clone, Copy)]
pub struct BlobView<'a> {
    /// `name`: a label, never a path.
    pub name: Option<Value<'a>>,
    /// `hash`: the only key by which a blob is found.
    pub hash: Option<Value<'a>>,
    /// `size_bytes`
    pub size_bytes: Option<Value<'a>>,
}

impl<'a> BlobView<'a> {
    /// Picks the members of an entry.
    pub fn of(entry: Value<'a>) -> Self {
        let member = |name| entry.member(name);
        Self { name: member("name"), hash: member("hash"), size_bytes: member("size_bytes") }
    }
}

/// Returns the SHA-256 of the canonical manifest without `bundle_hash` (§9.1.2).
///
/// # Errors
///
/// [`RerHashFault`] if the manifest is not an object or has no canonical form.
pub fn bundle_hash(manifest: Value<'_>) -> Result<Digest, RerHashFault> {
    hash_without(manifest, "manifest", &["bundle_hash"])
}

/// Returns the SHA-256 of the canonical artifact without `manifest_hash` and `runtime_signature` (§9.1.1): both are
/// written after the manifest, so it cannot cover them.
///
/// # Errors
///
/// [`RerHashFault`] if the artifact is not an object or has no canonical form.
pub fn artifact_hash(artifact: Value<'_>) -> Result<Digest, RerHashFault> {
    hash_without(artifact, "artifact", &["manifest_hash", "runtime_signature"])
}

fn hash_without(object: Value<'_>, what: &'static str, omitted: &[&str]) -> Result<Digest, RerHashFault> {
    if object.kind() != ValueKind::Object {
        return Err(RerHashFault::NotAnObject { what, found: object.kind().name() });
    }
    let mut hasher = Hasher::new();
    canonical::write_without(object, omitted, &mut hasher)?;
    Ok(hasher.finish())
}
