//! Writing artifacts: events chained as they come, then the header signed over all of them.
//!
//! Everything is written in canonical form, so that a verifier hashes what we wrote where it lies.

use reenact_json::canonical::{self, Part};
use reenact_json::{CanonicalFault, Digest, Limits, Profile, SyntaxError, Value};

use super::Version;
use crate::key::PublicKey;

/// Something that holds a private key. It lives elsewhere: this crate never sees the key itself.
pub trait Signer {
    /// The public half.
    fn public_key(&self) -> PublicKey;

    /// The Ed25519 signature of a message.
    fn sign(&self, message: &[u8]) -> [u8; 64];
}

/// Why something cannot be sealed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// A payload or an envelope that is not JSON.
    #[error("is not JSON: {0}")]
    Syntax(#[from] SyntaxError),
    /// JSON without a canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalFault),
    /// An envelope that is not an object, or that carries a signature already.
    #[error("an envelope to seal is an object without a signature")]
    Envelope,
    /// A step index that does not ascend.
    #[error("step_index {given} does not come after {last}")]
    StepIndex {
        /// The one before.
        last: u64,
        /// The one given.
        given: u64,
    },
    /// A step index that doubles cannot hold exactly, so that check 1 refuses it.
    #[error("step_index {given} is beyond 2^53-1")]
    StepIndexTooLarge {
        /// The one given.
        given: u64,
    },
    /// No event at all: such an artifact verifies nowhere (§10.1).
    #[error("an artifact needs at least one event")]
    NoEvents,
}

/// An event to append.
#[derive(Debug, Clone, Copy)]
pub struct NewEvent<'a> {
    /// Must ascend from event to event.
    pub step_index: u64,
    /// Such as `rer.run.started`.
    pub event_type: &'a str,
    /// RFC 3339 with a fraction and Z.
    pub timestamp: &'a str,
    /// Any JSON text; `None` for an event without data.
    pub payload: Option<&'a [u8]>,
    /// Withholds the payload: its hash is kept, its bytes are not.
    pub redacted: bool,
}

/// The events of one run, each bound to the one before.
#[derive(Debug, Clone)]
pub struct Chain {
    version: Version,
    text: Vec<u8>,
    head: Option<(Digest, u64)>,
}

impl Chain {
    /// An empty log.
    pub fn new(version: Version) -> Self {
        Self { version, text: Vec::new(), head: None }
    }

    /// Appends an event; returns its hash.
    pub fn append(&mut self, event: &NewEvent<'_>) -> Result<Digest, SealError> {
        if let Some((_, last)) = self.head
            && event.step_index <= last
        {
            return Err(SealError::StepIndex { last, given: event.step_index });
        }
        if event.step_index >= 1 << 53 {
            return Err(SealError::StepIndexTooLarge { given: event.step_index });
        }
        let payload = match event.payload {
            Some(payload) => Some(canonical::to_vec(Value::parse(payload, &inside(3))?, Profile::Jcs)?),
            None => None,
        };
        let payload_hash = Digest::of(payload.as_deref().unwrap_or(b"null")).to_string();
        let step_index = event.step_index.to_string();
        let step_index = Value::parse(step_index.as_bytes(), &Limits::default())?;
        let parent = match self.head {
            Some((head, _)) => format!("\"{head}\""),
            None => "null".into(),
        };
        let parent = Value::parse(parent.as_bytes(), &Limits::default())?;
        let mut header = Vec::new();
        let members = [
            ("event_type", Part::Text(event.event_type)),
            ("event_version", Part::Text(self.version.event())),
            ("parent_event_hash", Part::Value(parent)),
            ("payload_hash", Part::Text(&payload_hash)),
            ("step_index", Part::Value(step_index)),
            ("timestamp", Part::Text(event.timestamp)),
        ];
        canonical::write_object(&members, &mut header)?;
        let hash = Digest::of(&header);
        self.write(event, &payload_hash, parent, payload.as_deref(), hash, step_index)?;
        self.head = Some((hash, event.step_index));
        Ok(hash)
    }

    fn write(
        &mut self,
        event: &NewEvent<'_>,
        payload_hash: &str,
        parent: Value<'_>,
        payload: Option<&[u8]>,
        hash: Digest,
        step_index: Value<'_>,
    ) -> Result<(), SealError> {
        let hash = hash.to_string();
        let redacted: &[u8] = if event.redacted { b"true" } else { b"false" };
        let redacted = Value::parse(redacted, &Limits::default())?;
        let mut members = vec![
            ("event_hash", Part::Text(&hash)),
            ("event_type", Part::Text(event.event_type)),
            ("event_version", Part::Text(self.version.event())),
            ("parent_event_hash", Part::Value(parent)),
        ];
        if let Some(payload) = payload.filter(|_| !event.redacted) {
            members.push(("payload", Part::Value(Value::parse(payload, &Limits::default())?)));
        }
        members.push(("payload_hash", Part::Text(payload_hash)));
        members.push(("payload_redacted", Part::Value(redacted)));
        members.push(("step_index", Part::Value(step_index)));
        members.push(("timestamp", Part::Text(event.timestamp)));
        if self.head.is_some() {
            self.text.push(b',');
        }
        canonical::write_object(&members, &mut self.text)?;
        Ok(())
    }

    /// Signs the log together with its envelope; returns the artifact, in canonical form.
    pub fn seal(self, run: &RunHeader<'_>, signer: &dyn Signer) -> Result<Vec<u8>, SealError> {
        let Some((log_head, _)) = self.head else { return Err(SealError::NoEvents) };
        let (envelope, envelope_hash) = sign_envelope(run.envelope, signer)?;
        let (envelope_hash, log_head) = (envelope_hash.to_string(), log_head.to_string());
        let runtime = self.runtime(run, signer)?;
        let runtime = Value::parse(&runtime, &Limits::default())?;
        let manifest_hash = match run.manifest_hash {
            Some(hash) => format!("\"{hash}\""),
            None => "null".into(),
        };
        let manifest_hash = Value::parse(manifest_hash.as_bytes(), &Limits::default())?;
        let mut members = vec![
            ("artifact_version", Part::Text(self.version.artifact())),
            ("envelope_hash", Part::Text(&envelope_hash)),
            ("log_head_hash", Part::Text(&log_head)),
        ];
        if self.version == Version::V02 {
            members.push(("manifest_hash", Part::Value(manifest_hash)));
        }
        members.push(("run_id", Part::Text(run.run_id)));
        members.push(("runtime", Part::Value(runtime)));
        let mut header = Vec::new();
        canonical::write_object(&members, &mut header)?;
        let signature = hex(&signer.sign(&header));
        self.assemble(&members, &envelope, &signature)
    }

    /// `{…header…, envelope, events, runtime_signature}` in canonical order. The events are spliced in: they are
    /// canonical already, and there may be many.
    fn assemble(
        &self,
        header: &[(&str, Part<'_>)],
        envelope: &[u8],
        signature: &str,
    ) -> Result<Vec<u8>, SealError> {
        let envelope = Value::parse(envelope, &Limits::default())?;
        let mut members = header.to_vec();
        members.push(("envelope", Part::Value(envelope)));
        members.push(("events", Part::Text("")));
        members.push(("runtime_signature", Part::Text(signature)));
        members.sort_by_key(|(name, _)| *name);
        let events = members.partition_point(|(name, _)| *name < "events");
        let mut text = Vec::with_capacity(self.text.len() + 4096);
        canonical::write_object(&members[..events], &mut text)?;
        text.pop();
        text.extend_from_slice(b",\"events\":[");
        text.extend_from_slice(&self.text);
        text.push(b']');
        let mut rest = Vec::new();
        canonical::write_object(&members[events + 1..], &mut rest)?;
        rest[0] = b',';
        text.extend_from_slice(&rest);
        Ok(text)
    }

    fn runtime(&self, run: &RunHeader<'_>, signer: &dyn Signer) -> Result<Vec<u8>, SealError> {
        let key_id = signer.public_key().id().to_string();
        let members = [
            ("algorithm", Part::Text("Ed25519")),
            ("implementation", Part::Text(run.implementation)),
            ("key_id", Part::Text(&key_id)),
            ("version", Part::Text(run.version)),
        ];
        let mut runtime = Vec::new();
        canonical::write_object(&members, &mut runtime)?;
        Ok(runtime)
    }
}

/// What the header of an artifact says beside its hashes.
#[derive(Debug, Clone, Copy)]
pub struct RunHeader<'a> {
    /// Opaque.
    pub run_id: &'a str,
    /// The runtime's name.
    pub implementation: &'a str,
    /// The runtime's version.
    pub version: &'a str,
    /// The envelope without its signature, any JSON text of an object.
    pub envelope: &'a [u8],
    /// The hash of the bundle that the artifact belongs to (0.2 only).
    pub manifest_hash: Option<Digest>,
}

/// Signs an envelope; returns its canonical text with the signature, and its hash.
pub fn sign_envelope(envelope: &[u8], signer: &dyn Signer) -> Result<(Vec<u8>, Digest), SealError> {
    let envelope = Value::parse(envelope, &inside(1))?;
    if envelope.kind() != reenact_json::Kind::Object || envelope.member("signature").is_some() {
        return Err(SealError::Envelope);
    }
    let signable = canonical::to_vec(envelope, Profile::Jcs)?;
    let signature = format!("\"signature\":\"{}\"", hex(&signer.sign(&signable)));
    // Any place will do: the canonical writer puts the member where it belongs.
    let mut signed = b"{".to_vec();
    signed.extend_from_slice(signature.as_bytes());
    if signable != b"{}" {
        signed.push(b',');
    }
    signed.extend_from_slice(&signable[1..]);
    let hash = Digest::of(&signable);
    Ok((canonical::to_vec(Value::parse(&signed, &Limits::default())?, Profile::Jcs)?, hash))
}

/// Limits for what will lie that many levels deep in an artifact, which must itself be within the limits to be read.
fn inside(levels: u32) -> Limits {
    let limits = Limits::default();
    Limits { depth: limits.depth - levels, ..limits }
}

/// Lower-case hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
