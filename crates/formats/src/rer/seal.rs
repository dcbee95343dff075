//! Writing artifacts: events chained as they come, then the header signed over all of them.
//!
//! Everything is written in canonical form, so that a verifier hashes what we wrote where it lies.

use reenact_json::canonical::{self, Part};
use reenact_json::{CanonicalFault, Digest, Jcs, Limits, SyntaxError, Value};

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

/// The end of a log, to which the next event is bound. The events themselves are the caller's to keep: a log may be longer
/// than memory.
#[derive(Debug, Clone)]
pub struct Links {
    version: Version,
    last: Option<(Digest, u64)>,
}

impl Links {
    /// The end of an empty log.
    pub fn new(version: Version) -> Self {
        Self { version, last: None }
    }

    /// The hash of the last event; `None` while there is none.
    pub fn head(&self) -> Option<Digest> {
        self.last.map(|(hash, _)| hash)
    }

    /// Binds an event to the one before and appends its canonical text to `out`; returns its hash. After an error, nothing
    /// was bound and nothing appended.
    pub fn append(&mut self, event: &NewEvent<'_>, out: &mut Vec<u8>) -> Result<Digest, SealError> {
        let Some(payload) = event.payload else {
            return self.bind(event, None::<fn(&mut Vec<u8>)>, Digest::of(b"null"), out);
        };
        let payload = Value::parse(payload, &inside(3))?;
        if payload.is_canonical() {
            return self.append_canonical(&NewEvent { payload: Some(payload.text()), ..*event }, out);
        }
        let rewritten = canonical::to_vec(payload, Jcs)?;
        self.append_canonical(&NewEvent { payload: Some(&rewritten), ..*event }, out)
    }

    /// The same for a payload that is in canonical form, by the word of the caller, and within the limits of a reader with the three
    /// levels that lie around it: a writer need not have its own text read again.
    pub fn append_canonical(&mut self, event: &NewEvent<'_>, out: &mut Vec<u8>) -> Result<Digest, SealError> {
        let text = event.payload.unwrap_or(b"null");
        debug_assert!(
            Value::parse(text, &inside(3)).is_ok_and(|payload| payload.is_canonical()),
            "{} is not canonical",
            String::from_utf8_lossy(text)
        );
        let payload = event.payload.filter(|_| !event.redacted);
        self.bind(
            event,
            payload.map(|text| |out: &mut Vec<u8>| out.extend_from_slice(text)),
            Digest::of(text),
            out,
        )
    }

    /// The same for an event whose payload is withheld and not at hand: only its hash is known.
    pub fn append_withheld(
        &mut self,
        event: &NewEvent<'_>,
        payload_hash: Digest,
        out: &mut Vec<u8>,
    ) -> Result<Digest, SealError> {
        self.bind(&NewEvent { redacted: true, ..*event }, None::<fn(&mut Vec<u8>)>, payload_hash, out)
    }

    /// The same for an event whose payload is too long to be held: only its hash is known, and its canonical text will stand
    /// between the two parts that are returned.
    pub fn append_around(
        &mut self,
        event: &NewEvent<'_>,
        payload_hash: Digest,
    ) -> Result<EventFrame, SealError> {
        let (mut before, mut at) = (Vec::new(), 0);
        let event = NewEvent { redacted: false, ..*event };
        self.bind(&event, Some(|out: &mut Vec<u8>| at = out.len()), payload_hash, &mut before)?;
        let after = before.split_off(at);
        Ok(EventFrame { before, after })
    }

    /// Binds an event, whose payload `payload` appends, if it is there to be seen.
    fn bind(
        &mut self,
        event: &NewEvent<'_>,
        payload: Option<impl FnOnce(&mut Vec<u8>)>,
        payload_hash: Digest,
        out: &mut Vec<u8>,
    ) -> Result<Digest, SealError> {
        if let Some((_, last)) = self.last
            && event.step_index <= last
        {
            return Err(SealError::StepIndex { last, given: event.step_index });
        }
        if event.step_index >= 1 << 53 {
            return Err(SealError::StepIndexTooLarge { given: event.step_index });
        }
        let payload_hash = payload_hash.hex();
        let parent = self.last.map(|(head, _)| head.hex());
        let parent = parent.as_ref().map_or(Part::Null, |head| Part::Text(text(head)));
        let header = [
            ("event_type", Part::Text(event.event_type)),
            ("event_version", Part::Text(self.version.event())),
            ("parent_event_hash", parent),
            ("payload_hash", Part::Text(text(&payload_hash))),
            ("step_index", Part::Whole(event.step_index)),
            ("timestamp", Part::Text(event.timestamp)),
        ];
        let mut hashed = Vec::with_capacity(512);
        canonical::write_object(&header, &mut hashed)?;
        let hash = Digest::of(&hashed);

        let event_hash = hash.hex();
        let [event_type, event_version, parent, payload_hash, step_index, timestamp] = header;
        let event_hash = ("event_hash", Part::Text(text(&event_hash)));
        canonical::write_object(&[event_hash, event_type, event_version, parent], out)?;
        // Both halves are objects: the braces between them give way to the payload and commas.
        out.pop();
        if let Some(payload) = payload {
            out.extend_from_slice(b",\"payload\":");
            payload(out);
        }
        let at = out.len();
        let redacted = ("payload_redacted", Part::Flag(event.redacted));
        canonical::write_object(&[payload_hash, redacted, step_index, timestamp], out)?;
        if let Some(brace) = out.get_mut(at) {
            *brace = b',';
        }
        self.last = Some((hash, event.step_index));
        Ok(hash)
    }

    /// Signs the log together with its envelope; returns what stands around the events in the artifact.
    pub fn seal(&self, run: &RunHeader<'_>, signer: &dyn Signer) -> Result<Frame, SealError> {
        let Some((log_head, _)) = self.last else { return Err(SealError::NoEvents) };
        let (envelope, envelope_hash) = sign_envelope(run.envelope, signer)?;
        let (envelope_hash, log_head) = (envelope_hash.to_string(), log_head.to_string());
        let runtime = runtime(run, signer)?;
        let manifest_hash = run.manifest_hash.map(|hash| hash.to_string());
        let manifest_hash = manifest_hash.as_deref().map_or(Part::Null, Part::Text);
        let mut members = vec![
            ("artifact_version", Part::Text(self.version.artifact())),
            ("envelope_hash", Part::Text(&envelope_hash)),
            ("log_head_hash", Part::Text(&log_head)),
        ];
        if self.version == Version::V02 {
            members.push(("manifest_hash", manifest_hash));
        }
        members.push(("run_id", Part::Text(run.run_id)));
        members.push(("runtime", Part::Canonical(&runtime)));
        let mut header = Vec::new();
        canonical::write_object(&members, &mut header)?;
        let signature = hex(&signer.sign(&header));
        members.push(("envelope", Part::Canonical(&envelope)));
        members.push(("runtime_signature", Part::Text(&signature)));
        Frame::around(members)
    }
}

/// What stands around the payload of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFrame {
    /// From the first byte to the colon behind the payload's name.
    pub before: Vec<u8>,
    /// From the comma behind the payload to the last byte.
    pub after: Vec<u8>,
}

/// What stands around the events of an artifact. Between the two come the events, in canonical form, with commas between
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// From the first byte to the bracket that opens the events.
    pub before: Vec<u8>,
    /// From the bracket that closes them to the last byte.
    pub after: Vec<u8>,
}

impl Frame {
    /// All members but the events, in canonical order, parted where the events will stand.
    pub(super) fn around(mut members: Vec<(&str, Part<'_>)>) -> Result<Self, SealError> {
        members.sort_by_key(|(name, _)| *name);
        let (first, second) = members.split_at(members.partition_point(|(name, _)| *name < "events"));
        let (mut before, mut after) = (Vec::new(), vec![b']']);
        canonical::write_object(first, &mut before)?;
        before.pop();
        before.extend_from_slice(b",\"events\":[");
        canonical::write_object(second, &mut after)?;
        if let Some(brace) = after.get_mut(1) {
            *brace = b',';
        }
        Ok(Self { before, after })
    }
}

fn runtime(run: &RunHeader<'_>, signer: &dyn Signer) -> Result<Vec<u8>, SealError> {
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

/// A whole log in memory: events, each bound to the one before, until they are sealed.
#[derive(Debug, Clone)]
pub struct Chain {
    links: Links,
    /// The events, with commas between them.
    text: Vec<u8>,
}

impl Chain {
    /// An empty log.
    pub fn new(version: Version) -> Self {
        Self { links: Links::new(version), text: Vec::new() }
    }

    /// Appends an event; returns its hash.
    pub fn append(&mut self, event: &NewEvent<'_>) -> Result<Digest, SealError> {
        let end = self.text.len();
        if end > 0 {
            self.text.push(b',');
        }
        let appended = self.links.append(event, &mut self.text);
        if appended.is_err() {
            self.text.truncate(end);
        }
        appended
    }

    /// Signs the log together with its envelope; returns the artifact, in canonical form.
    pub fn seal(self, run: &RunHeader<'_>, signer: &dyn Signer) -> Result<Vec<u8>, SealError> {
        let Frame { before, after } = self.links.seal(run, signer)?;
        Ok([before, self.text, after].concat())
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
    let signable = canonical::to_vec(envelope, Jcs)?;
    let signature = format!("\"signature\":\"{}\"", hex(&signer.sign(&signable)));
    // Any place will do: the canonical writer puts the member where it belongs.
    let mut signed = b"{".to_vec();
    signed.extend_from_slice(signature.as_bytes());
    if signable != b"{}" {
        signed.push(b',');
    }
    signed.extend_from_slice(&signable[1..]);
    let hash = Digest::of(&signable);
    Ok((canonical::to_vec(Value::parse(&signed, &Limits::default())?, Jcs)?, hash))
}

/// Limits for what will lie that many levels deep in an artifact, which must itself be within the limits to be read.
fn inside(levels: u32) -> Limits {
    let limits = Limits::default();
    Limits { depth: limits.depth - levels, ..limits }
}

/// Hexadecimal digits as text.
fn text(hex: &[u8; 64]) -> &str {
    core::str::from_utf8(hex).unwrap_or_default()
}

/// Lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
