//! An artifact written once more: the same events under the same hashes, with some payloads withheld (§10.3) or bound to a
//! bundle (§9). Nothing that the chain covers changes; everything comes out in canonical form.

use std::io::Write;

use reenact_json::canonical::{self, Part};
use reenact_json::{CanonicalFault, Digest, Limits, Value};
use reenact_pack::{PackError, TarGzWriter, TarStyle};

use super::artifact::ReadError;
use super::header::{self, Coverage};
use super::seal::{Frame, SealError, Signer, hex};
use super::{
    ARTIFACT_FILE, ArtifactReader, EventView, HashFault, Head, Item, KEY_FILE, Version, envelope, manifest,
};
use crate::format::MANIFEST_FILE;
use crate::key::KeyId;

/// Why an artifact cannot be written once more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// It is not one.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An event that is none.
    #[error("event {index} is not an object")]
    NotAnEvent {
        /// Its place, from 0.
        index: usize,
    },
    /// A member that is not there, or is not what it must be.
    #[error(transparent)]
    Hash(#[from] HashFault),
    /// The parts do not make an artifact.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// It has no events.
    #[error("the artifact has no events")]
    NoEvents,
    /// Version 0.1 has no `manifest_hash`, so nothing can be bound to it.
    #[error("only rer-artifact/0.2 can be bound to a bundle")]
    Version,
    /// Its signature does not hold.
    #[error("its signature does not hold, so it is not signed again")]
    NotSigned,
    /// Only the key that signed it can sign it again: the events are bound to that key by its id.
    #[error("it was signed by the key {signer}, and only that key can sign it again; this is {given}")]
    OtherKey {
        /// The key that signed it, as the artifact says. Untrusted text.
        signer: String,
        /// The key that was given.
        given: KeyId,
    },
}

impl From<CanonicalFault> for RewriteError {
    fn from(fault: CanonicalFault) -> Self {
        Self::Hash(HashFault::Canonical(fault))
    }
}

/// The events of an artifact in canonical form, and what stands around them.
struct Rewritten<'a> {
    head: Head<'a>,
    /// With commas between them.
    events: Vec<u8>,
    count: usize,
    redacted: usize,
    log_head: Digest,
}

fn rewrite<'a>(
    artifact: &'a [u8],
    limits: &Limits,
    mut is_withheld: impl FnMut(usize, &EventView<'a>) -> bool,
) -> Result<Rewritten<'a>, RewriteError> {
    let mut reader = ArtifactReader::open(artifact, limits)?;
    let mut events = Vec::with_capacity(artifact.len());
    let (mut count, mut redacted, mut last) = (0, 0, None);
    while let Some(item) = reader.next_event().map_err(ReadError::from)? {
        let Item::Event(event) = item else { return Err(RewriteError::NotAnEvent { index: count }) };
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
    let log_head = last.read_string(|text| Digest::from_hex(core::str::from_utf8(text).ok()?)).flatten();
    let log_head = log_head.ok_or(HashFault::Missing { member: "event_hash" })?;
    Ok(Rewritten { head: reader.into_head(), events, count, redacted, log_head })
}

fn write_event(event: &EventView<'_>, is_redacted: bool, out: &mut Vec<u8>) -> Result<(), RewriteError> {
    let flag: &[u8] = if is_redacted { b"true" } else { b"false" };
    let flag = Value::parse(flag, &Limits::default()).map_err(ReadError::from)?;
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
    let there = members.into_iter().filter_map(|(name, value)| Some((name, Part::Value(value?))));
    Ok(canonical::write_object(&there.collect::<Vec<_>>(), out)?)
}

impl Rewritten<'_> {
    /// The whole artifact, with other values for what is named.
    fn artifact(&self, changed: &[(&'static str, Part<'_>)]) -> Result<Vec<u8>, RewriteError> {
        let head = &self.head;
        let mut members: Vec<(&str, Part<'_>)> = changed.to_vec();
        let kept = [
            ("artifact_version", head.artifact_version),
            ("envelope", head.envelope),
            ("envelope_hash", head.envelope_hash),
            ("log_head_hash", head.log_head_hash),
            ("manifest_hash", head.manifest_hash),
            ("run_id", head.run_id),
            ("runtime", head.runtime),
            ("runtime_signature", head.runtime_signature),
        ];
        for (name, value) in kept {
            if let Some(value) = value.filter(|_| changed.iter().all(|(changed, _)| *changed != name)) {
                members.push((name, Part::Value(value)));
            }
        }
        let Frame { before, after } = Frame::around(members)?;
        Ok([before.as_slice(), &self.events, &after].concat())
    }
}

/// An artifact some of whose payloads are withheld.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// The artifact, in canonical form.
    pub artifact: Vec<u8>,
    /// The events whose payloads are withheld now and were not before, by their places from 0.
    pub events: Vec<usize>,
    /// How many were withheld before.
    pub before: usize,
    /// How many events there are.
    pub count: usize,
}

/// Withholds payloads: their bytes go, their hashes stay. No key is needed, since no signature covers a payload's bytes. An
/// event without a payload has nothing to withhold, and is left as it is.
pub fn withhold<'a>(
    artifact: &'a [u8],
    limits: &Limits,
    mut is_wanted: impl FnMut(usize, &EventView<'a>) -> bool,
) -> Result<Withheld, RewriteError> {
    let mut events = Vec::new();
    let rewritten = rewrite(artifact, limits, |index, event| {
        let is_withheld = event.payload.is_some() && is_wanted(index, event);
        if is_withheld {
            events.push(index);
        }
        is_withheld
    })?;
    let before = rewritten.redacted - events.len();
    Ok(Withheld { artifact: rewritten.artifact(&[])?, events, before, count: rewritten.count })
}

/// A file that a bundle carries beside its artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// A label, never a path.
    pub name: String,
    /// SHA-256 of its bytes.
    pub hash: Digest,
    /// How long it is.
    pub size: u64,
}

/// An artifact and a manifest that are bound to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// `artifact.json`, in canonical form, signed again.
    pub artifact: Vec<u8>,
    /// `manifest.json`, in canonical form.
    pub manifest: Vec<u8>,
    /// `key.bin`: the signer's public key.
    pub key: [u8; 32],
    /// How many events there are.
    pub events: usize,
    /// How many of their payloads are withheld.
    pub redacted: usize,
}

impl Bound {
    /// Writes the bundle as a `.tar.gz` (§9.3), the same bytes every time. `content` gives the bytes of a blob.
    pub fn pack<'b, W: Write>(
        &self,
        blobs: &[Blob],
        content: impl Fn(Digest) -> Option<&'b [u8]>,
        sink: W,
    ) -> Result<W, PackError> {
        let mut archive = TarGzWriter::new(sink, TarStyle::Ustar, reenact_pack::Limits::default())?;
        let documents =
            [(ARTIFACT_FILE, &*self.artifact), (MANIFEST_FILE, &self.manifest), (KEY_FILE, &self.key)];
        for (name, bytes) in documents {
            archive.add(name, bytes.len() as u64, bytes)?;
        }
        let mut hashes: Vec<Digest> = blobs.iter().map(|blob| blob.hash).collect();
        hashes.sort_by_key(Digest::hex);
        hashes.dedup();
        for hash in hashes {
            let bytes = content(hash).unwrap_or_default();
            archive.add(&format!("blobs/{hash}.bin"), bytes.len() as u64, bytes)?;
        }
        archive.finish()
    }
}

/// Binds an artifact to a bundle of itself, its key and these blobs. The key must be the one that signed it.
pub fn bind(
    artifact: &[u8],
    blobs: &[Blob],
    limits: &Limits,
    signer: &dyn Signer,
) -> Result<Bound, RewriteError> {
    let rewritten = rewrite(artifact, limits, |_, _| false)?;
    let (events, redacted) = (rewritten.count, rewritten.redacted);
    let key = signer.public_key();
    if rewritten.head.version() != Some(Version::V02) {
        return Err(RewriteError::Version);
    }
    let named = rewritten.head.key_id().unwrap_or_default();
    if KeyId::parse(&named) != Some(key.id()) {
        return Err(RewriteError::OtherKey { signer: named.into_owned(), given: key.id() });
    }
    let envelope_hash = envelope::hash(rewritten.head.envelope)?;
    // A new signature must not make good what its key never signed.
    let signed =
        header::signable(&rewritten.head, envelope_hash, rewritten.log_head, Coverage::WithManifestHash)?;
    let signature = rewritten.head.runtime_signature.and_then(|signature| unhex(&signature.string()?));
    if !signature.is_some_and(|signature| key.verifies(&signed, &signature)) {
        return Err(RewriteError::NotSigned);
    }
    // The manifest covers neither the binding nor the signature, so what stands there now does no harm.
    let artifact_hash = manifest::artifact_hash(parse(&rewritten.artifact(&[])?, limits)?)?;
    let unbound = write_manifest(artifact_hash, key.digest(), (events, redacted), blobs, None);
    let bundle_hash = manifest::bundle_hash(parse(&unbound, limits)?)?;
    let manifest = write_manifest(artifact_hash, key.digest(), (events, redacted), blobs, Some(bundle_hash));

    let (hash, quoted) = (bundle_hash.to_string(), format!("\"{bundle_hash}\""));
    let head = Head { manifest_hash: Some(parse(quoted.as_bytes(), limits)?), ..rewritten.head.clone() };
    let header = header::signable(&head, envelope_hash, rewritten.log_head, Coverage::WithManifestHash)?;
    let signature = hex(&signer.sign(&header));
    let changed = [("manifest_hash", Part::Text(&hash)), ("runtime_signature", Part::Text(&signature))];
    let artifact = rewritten.artifact(&changed)?;
    Ok(Bound { artifact, manifest, key: *key.as_bytes(), events, redacted })
}

/// The 64 bytes that 128 hexadecimal digits spell.
fn unhex(text: &str) -> Option<[u8; 64]> {
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
    Ok(Value::parse(bytes, limits).map_err(ReadError::from)?)
}

/// The manifest, in canonical form.
fn write_manifest(
    artifact_hash: Digest,
    key_hash: Digest,
    (events, redacted): (usize, usize),
    blobs: &[Blob],
    bundle_hash: Option<Digest>,
) -> Vec<u8> {
    let mut out = format!("{{\"artifact_hash\":\"{artifact_hash}\",\"blobs\":[").into_bytes();
    for (at, blob) in blobs.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(format!("{{\"hash\":\"{}\",\"name\":", blob.hash).as_bytes());
        canonical::write_string(&blob.name, &mut out);
        out.extend_from_slice(format!(",\"size_bytes\":{}}}", blob.size).as_bytes());
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
