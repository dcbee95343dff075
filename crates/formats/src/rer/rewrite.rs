//! Rewriting of artifacts: the same events under the same hashes, with some payloads withheld (§10.3) or bound to a
//! bundle (§9).
//!
//! Nothing that the hash chain covers changes; everything comes out in canonical form. Start reading at [`withhold`]
//! and [`bind`].

use std::io::{self, Write};

use reenact_json::canonical::{self, ObjectPart};
use reenact_json::{CanonicalFault, Digest, Limits, Value};
use reenact_pack::{PackError, TarGzWriter, TarStyle};

use super::artifact::RerReadError;
use super::header::{self, HeaderCoverage};
use super::seal::{ArtifactFrame, SealError, Signer, to_hex};
use super::{
    ARTIFACT_FILE, KEY_FILE, RerArtifactReader, RerEventItem, RerEventView, RerHashFault, RerHead,
    RerVersion, envelope, manifest,
};
use crate::format::MANIFEST_FILE;
use crate::key::KeyId;

/// Reason why an artifact cannot be rewritten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// The text is not an artifact.
    #[error(transparent)]
    Read(#[from] RerReadError),
    /// An event that is not an object.
    #[error("event {index} is not an object")]
    NotAnEvent {
        /// Index of the event, 0-based.
        index: usize,
    },
    /// A member that is missing or has no canonical form.
    #[error(transparent)]
    Hash(#[from] RerHashFault),
    /// The parts do not make an artifact.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The artifact has no events.
    #[error("the artifact has no events")]
    NoEvents,
    /// Version 0.1 has no `manifest_hash`, so no bundle can be bound to it.
    #[error("only rer-artifact/0.2 can be bound to a bundle")]
    Version,
    /// The signature is not valid.
    #[error("its signature does not hold, so it is not signed again")]
    NotSigned,
    /// Another key than the one that signed it: the events are bound to that key by its id.
    #[error("it was signed by the key {signer}, and only that key can sign it again; this is {given}")]
    OtherKey {
        /// Key that signed the artifact, as the artifact says. Untrusted text.
        signer: String,
        /// Key that was given.
        given: KeyId,
    },
}

impl From<CanonicalFault> for RewriteError {
    fn from(fault: CanonicalFault) -> Self {
        Self::Hash(RerHashFault::Canonical(fault))
    }
}

/// Events of an artifact in canonical form, and the members around them.
struct RewrittenEvents<'a> {
    head: RerHead<'a>,
    /// Canonical text of the events, with commas between them.
    events: Vec<u8>,
    event_count: usize,
    redacted_count: usize,
    log_head: Digest,
}

fn rewrite<'a>(
    artifact: &'a [u8],
    limits: &Limits,
    mut is_withheld: impl FnMut(usize, &RerEventView<'a>) -> bool,
) -> Result<RewrittenEvents<'a>, RewriteError> {
    let mut reader = RerArtifactReader::open(artifact, limits)?;
    let mut events = Vec::with_capacity(artifact.len());
    let (mut count, mut redacted, mut last) = (0, 0, None);
    while let Some(item) = reader.next_event().map_err(RerReadError::from)? {
        let RerEventItem::Event(event) = item else { return Err(RewriteError::NotAnEvent { index: count }) };
        let is_redacted = event.is_redacted() || is_withheld(count, &event);
        if count > 0 {
            events.push(b',');
        }
        write_event(&event, is_redacted, &mut events)?;
        count += 1;
        redacted += usize::from(is_redacted);
        last = event.event_hash;
    }
    let last = last.ok_or(RewriteError::NoEvents)?;
    let log_head =
        last.with_string_bytes(|text| Digest::from_hex(core::str::from_utf8(text).ok()?)).flatten();
    let log_head = log_head.ok_or(RerHashFault::Missing { member: "event_hash" })?;
    Ok(RewrittenEvents {
        head: reader.into_head(),
        events,
        event_count: count,
        redacted_count: redacted,
        log_head,
    })
}

fn write_event(event: &RerEventView<'_>, is_redacted: bool, out: &mut Vec<u8>) -> Result<(), RewriteError> {
    let flag: &[u8] = if is_redacted { b"true" } else { b"false" };
    let flag = Value::parse(flag, &Limits::default()).map_err(RerReadError::from)?;
    let members = [
        ("event_hash", event.event_hash),
        ("event_type", event.event_type),
        ("event_version", event.event_version),
        ("parent_event_hash", event.parent_event_hash),
        ("payload", event.payload.filter(|_| !is_redacted)),
        ("payload_hash", event.payload_hash),
        ("payload_redacted", Some(flag)),
        ("step_index", event.step_index),
        ("timestamp", event.timestamp),
    ];
    let there = members.into_iter().filter_map(|(name, value)| Some((name, ObjectPart::Value(value?))));
    Ok(canonical::write_object(&there.collect::<Vec<_>>(), out)?)
}

impl RewrittenEvents<'_> {
    /// Returns the whole artifact, with other values for the members in `changed`.
    fn artifact(&self, changed: &[(&'static str, ObjectPart<'_>)]) -> Result<Vec<u8>, RewriteError> {
        let head = &self.head;
        let mut members: Vec<(&str, ObjectPart<'_>)> = changed.to_vec();
        let head_members = [
            ("artifact_version", head.artifact_version),
            ("envelope", head.envelope),
            ("envelope_hash", head.envelope_hash),
            ("log_head_hash", head.log_head_hash),
            ("manifest_hash", head.manifest_hash),
            ("run_id", head.run_id),
            ("runtime", head.runtime),
            ("runtime_signature", head.runtime_signature),
        ];
        for (name, value) in head_members {
            if let Some(value) = value.filter(|_| changed.iter().all(|(changed, _)| *changed != name)) {
                members.push((name, ObjectPart::Value(value)));
            }
        }
        let ArtifactFrame { before, after } = ArtifactFrame::around_events(members)?;
        Ok([before.as_slice(), &self.events, &after].concat())
    }
}

/// Artifact with some payloads withheld.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldArtifact {
    /// Text of the artifact, in canonical form.
    pub artifact: Vec<u8>,
    /// Indices of the events whose payloads are withheld now and were not before, 0-based.
    pub newly_withheld: Vec<usize>,
    /// Number of payloads that were withheld before.
    pub already_withheld: usize,
    /// Number of events.
    pub event_count: usize,
}

/// Withholds payloads: their bytes go, their hashes stay.
///
/// No key is needed, since no signature covers a payload's bytes. An event without a payload has nothing to withhold,
/// and is left as it is.
///
/// # Errors
///
/// [`RewriteError`] if the text is not an artifact with at least one event.
pub fn withhold<'a>(
    artifact: &'a [u8],
    limits: &Limits,
    mut is_wanted: impl FnMut(usize, &RerEventView<'a>) -> bool,
) -> Result<WithheldArtifact, RewriteError> {
    let mut events = Vec::new();
    let rewritten = rewrite(artifact, limits, |index, event| {
        let is_withheld = event.payload.is_some() && is_wanted(index, event);
        if is_withheld {
            events.push(index);
        }
        is_withheld
    })?;
    let before = rewritten.redacted_count - events.len();
    Ok(WithheldArtifact {
        artifact: rewritten.artifact(&[])?,
        newly_withheld: events,
        already_withheld: before,
        event_count: rewritten.event_count,
    })
}

/// File that a bundle carries beside its artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleBlob {
    /// Label of the file, never a path.
    pub name: String,
    /// SHA-256 of its bytes.
    pub hash: Digest,
    /// Length of the file, in bytes.
    pub size_bytes: u64,
}

/// Artifact and manifest that are bound to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundBundle {
    /// `artifact.json`, in canonical form, signed again.
    pub artifact: Vec<u8>,
    /// `manifest.json`, in canonical form.
    pub manifest: Vec<u8>,
    /// `key.bin`: the signer's public key.
    pub key: [u8; 32],
    /// Number of events.
    pub event_count: usize,
    /// Number of events whose payloads are withheld.
    pub redacted_count: usize,
}

impl BoundBundle {
    /// Writes the bundle as a `.tar.gz` (§9.3), the same bytes every time. `content` returns the bytes of a blob.
    ///
    /// # Errors
    ///
    /// [`PackError`] if the archive cannot be written to `sink`, or `content` does not have a blob.
    pub fn pack<'b, W: Write>(
        &self,
        blobs: &[BundleBlob],
        content: impl Fn(Digest) -> Option<&'b [u8]>,
        sink: W,
    ) -> Result<W, PackError> {
        let mut archive = TarGzWriter::new(sink, TarStyle::Ustar, reenact_pack::ArchiveLimits::default())?;
        let documents =
            [(ARTIFACT_FILE, &*self.artifact), (MANIFEST_FILE, &self.manifest), (KEY_FILE, &self.key)];
        for (name, bytes) in documents {
            archive.add(name, bytes.len() as u64, bytes)?;
        }
        let mut hashes: Vec<Digest> = blobs.iter().map(|blob| blob.hash).collect();
        hashes.sort_by_key(Digest::hex);
        hashes.dedup();
        for hash in hashes {
            let bytes = content(hash).ok_or_else(|| PackError::Io {
                kind: io::ErrorKind::NotFound,
                text: format!("the blob {hash} was not given"),
            })?;
            archive.add(&format!("blobs/{hash}.bin"), bytes.len() as u64, bytes)?;
        }
        archive.finish()
    }
}

/// Binds an artifact to a bundle of itself, its key and these blobs.
///
/// # Errors
///
/// [`RewriteError`] if the artifact is not of version 0.2, was not signed by `signer`, or its signature is not valid.
pub fn bind(
    artifact: &[u8],
    blobs: &[BundleBlob],
    limits: &Limits,
    signer: &dyn Signer,
) -> Result<BoundBundle, RewriteError> {
    let rewritten = rewrite(artifact, limits, |_, _| false)?;
    let (events, redacted) = (rewritten.event_count, rewritten.redacted_count);
    let key = signer.public_key();
    if rewritten.head.version() != Some(RerVersion::V02) {
        return Err(RewriteError::Version);
    }
    let named = rewritten.head.key_id().unwrap_or_default();
    if KeyId::parse(&named) != Some(key.id()) {
        return Err(RewriteError::OtherKey { signer: named.into_owned(), given: key.id() });
    }
    let envelope_hash = envelope::hash(rewritten.head.envelope)?;
    // A new signature must not make valid what its key never signed.
    let signed = header::signable(
        &rewritten.head,
        envelope_hash,
        rewritten.log_head,
        HeaderCoverage::WithManifestHash,
    )?;
    let signature =
        rewritten.head.runtime_signature.and_then(|signature| decode_signature_hex(&signature.string()?));
    if !signature.is_some_and(|signature| key.verifies(&signed, &signature)) {
        return Err(RewriteError::NotSigned);
    }
    // The manifest covers neither the binding nor the signature, so their present values do no harm.
    let artifact_hash = manifest::artifact_hash(parse(&rewritten.artifact(&[])?, limits)?)?;
    let unbound = write_manifest(artifact_hash, key.digest(), (events, redacted), blobs, None);
    let bundle_hash = manifest::bundle_hash(parse(&unbound, limits)?)?;
    let manifest = write_manifest(artifact_hash, key.digest(), (events, redacted), blobs, Some(bundle_hash));

    let (hash, quoted) = (bundle_hash.to_string(), format!("\"{bundle_hash}\""));
    let head = RerHead { manifest_hash: Some(parse(quoted.as_bytes(), limits)?), ..rewritten.head.clone() };
    let header =
        header::signable(&head, envelope_hash, rewritten.log_head, HeaderCoverage::WithManifestHash)?;
    let signature = to_hex(&signer.sign(&header));
    let changed =
        [("manifest_hash", ObjectPart::String(&hash)), ("runtime_signature", ObjectPart::String(&signature))];
    let artifact = rewritten.artifact(&changed)?;
    Ok(BoundBundle {
        artifact,
        manifest,
        key: *key.as_bytes(),
        event_count: events,
        redacted_count: redacted,
    })
}

/// Parses 128 hexadecimal digits as 64 bytes.
fn decode_signature_hex(text: &str) -> Option<[u8; 64]> {
    let mut bytes = [0; 64];
    if text.len() != 128 || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

fn parse<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Value<'a>, RewriteError> {
    Ok(Value::parse(bytes, limits).map_err(RerReadError::from)?)
}

/// Returns the manifest in canonical form. Without `bundle_hash` it is the text that the hash is over.
fn write_manifest(
    artifact_hash: Digest,
    key_hash: Digest,
    (events, redacted): (usize, usize),
    blobs: &[BundleBlob],
    bundle_hash: Option<Digest>,
) -> Vec<u8> {
    let mut out = format!("{{\"artifact_hash\":\"{artifact_hash}\",\"blobs\":[").into_bytes();
    for (at, blob) in blobs.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(format!("{{\"hash\":\"{}\",\"name\":", blob.hash).as_bytes());
        canonical::write_string(&blob.name, &mut out);
        out.extend_from_slice(format!(",\"size_bytes\":{}}}", blob.size_bytes).as_bytes());
    }
    out.push(b']');
    if let Some(hash) = bundle_hash {
        out.extend_from_slice(format!(",\"bundle_hash\":\"{hash}\"").as_bytes());
    }
    let rest = format!(
        ",\"redacted_event_count\":{redacted},\"runtime_key_hash\":\"{key_hash}\",\"total_event_count\":{events}}}"
    );
    out.extend_from_slice(rest.as_bytes());
    out
}
