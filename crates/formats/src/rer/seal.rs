//! Writer of artifacts: events chained as they come, then the header signed over all of them.
//!
//! Everything is written in canonical form, so that a verifier can hash our text in place. Start reading at
//! [`ArtifactBuilder`], which keeps all events in memory; [`EventHashChain`] does the same for logs larger than that.

use reenact_json::canonical::{self, ObjectPart};
use reenact_json::{CanonicalFault, Digest, Jcs, Limits, SyntaxError, Value};

use super::RerVersion;
use crate::key::PublicKey;

/// Holder of a private key. The key lives elsewhere: this crate never sees it.
pub trait Signer {
    /// Returns the public half of the key.
    fn public_key(&self) -> PublicKey;

    /// Returns the Ed25519 signature of a message.
    fn sign(&self, message: &[u8]) -> [u8; 64];
}

/// Reason why an event or an artifact cannot be sealed.
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
        /// Step index of the event before.
        last: u64,
        /// Step index that was given.
        given: u64,
    },
    /// A step index that a double cannot hold exactly, so that check 1 would refuse it.
    #[error("step_index {given} is beyond 2^53-1")]
    StepIndexTooLarge {
        /// Step index that was given.
        given: u64,
    },
    /// No event at all: such an artifact verifies nowhere (§10.1).
    #[error("an artifact needs at least one event")]
    NoEvents,
}

/// Event to append.
#[derive(Debug, Clone, Copy)]
pub struct NewEvent<'a> {
    /// Position of the event in the run; must ascend from event to event.
    pub step_index: u64,
    /// Type, such as `rer.run.started`.
    pub event_type: &'a str,
    /// Time of the event: RFC 3339 with a fraction and Z.
    pub timestamp: &'a str,
    /// Payload as any JSON text; `None` for an event without data.
    pub payload: Option<&'a [u8]>,
    /// True to withhold the payload: its hash is kept, its bytes are not.
    pub redacted: bool,
}

/// End of a log, to which the next event is bound. The events themselves are the caller's to keep, since a log may be
/// larger than memory.
#[derive(Debug, Clone)]
pub struct EventHashChain {
    version: RerVersion,
    last: Option<(Digest, u64)>,
}

impl EventHashChain {
    /// Begins an empty log.
    pub fn new(version: RerVersion) -> Self {
        Self { version, last: None }
    }

    /// Returns the hash of the last event; `None` while there is none.
    pub fn head(&self) -> Option<Digest> {
        self.last.map(|(hash, _)| hash)
    }

    /// Binds an event to the one before and appends its canonical text to `out`; returns its hash.
    ///
    /// # Errors
    ///
    /// [`SealError`] if the payload is not JSON with a canonical form, or the step index does not ascend. Nothing is
    /// bound then, and nothing appended.
    pub fn append(&mut self, event: &NewEvent<'_>, out: &mut Vec<u8>) -> Result<Digest, SealError> {
        let Some(payload) = event.payload else {
            return self.link_event(event, None::<fn(&mut Vec<u8>)>, Digest::of(b"null"), out);
        };
        let payload = Value::parse(payload, &limits_inside(3))?;
        if payload.is_canonical() {
            return self.append_canonical(&NewEvent { payload: Some(payload.text()), ..*event }, out);
        }
        let rewritten = canonical::to_vec(payload, Jcs)?;
        self.append_canonical(&NewEvent { payload: Some(&rewritten), ..*event }, out)
    }

    /// Appends an event whose payload is in canonical form, by the word of the caller, and within a reader's limits
    /// together with the three levels around it. Saves a writer the parsing of its own text.
    ///
    /// # Errors
    ///
    /// As [`EventHashChain::append`], but for the payload.
    pub fn append_canonical(&mut self, event: &NewEvent<'_>, out: &mut Vec<u8>) -> Result<Digest, SealError> {
        let text = event.payload.unwrap_or(b"null");
        debug_assert!(
            Value::parse(text, &limits_inside(3)).is_ok_and(|payload| payload.is_canonical()),
            "{} is not canonical",
            String::from_utf8_lossy(text)
        );
        let payload = event.payload.filter(|_| !event.redacted);
        self.link_event(
            event,
            payload.map(|text| |out: &mut Vec<u8>| out.extend_from_slice(text)),
            Digest::of(text),
            out,
        )
    }

    /// Appends an event whose payload is withheld and not at hand: only its hash is known.
    ///
    /// # Errors
    ///
    /// As [`EventHashChain::append`], but for the payload.
    pub fn append_withheld(
        &mut self,
        event: &NewEvent<'_>,
        payload_hash: Digest,
        out: &mut Vec<u8>,
    ) -> Result<Digest, SealError> {
        self.link_event(&NewEvent { redacted: true, ..*event }, None::<fn(&mut Vec<u8>)>, payload_hash, out)
    }

    /// Binds an event whose payload is too long for memory: only its hash is known, and the caller writes its
    /// canonical text between the two returned parts.
    ///
    /// # Errors
    ///
    /// As [`EventHashChain::append`], but for the payload.
    pub fn append_framed(
        &mut self,
        event: &NewEvent<'_>,
        payload_hash: Digest,
    ) -> Result<EventFrame, SealError> {
        let (mut before, mut at) = (Vec::new(), 0);
        let event = NewEvent { redacted: false, ..*event };
        self.link_event(&event, Some(|out: &mut Vec<u8>| at = out.len()), payload_hash, &mut before)?;
        let after = before.split_off(at);
        Ok(EventFrame { before, after })
    }

    /// Binds an event and appends its text. `payload` appends the payload's text, unless that is withheld.
    fn link_event(
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
        let parent = parent.as_ref().map_or(ObjectPart::Null, |head| ObjectPart::String(hex_text(head)));
        let header = [
            ("event_type", ObjectPart::String(event.event_type)),
            ("event_version", ObjectPart::String(self.version.event())),
            ("parent_event_hash", parent),
            ("payload_hash", ObjectPart::String(hex_text(&payload_hash))),
            ("step_index", ObjectPart::Integer(event.step_index)),
            ("timestamp", ObjectPart::String(event.timestamp)),
        ];
        let mut hashed = Vec::with_capacity(512);
        canonical::write_object(&header, &mut hashed)?;
        let hash = Digest::of(&hashed);

        let event_hash = hash.hex();
        let [event_type, event_version, parent, payload_hash, step_index, timestamp] = header;
        let event_hash = ("event_hash", ObjectPart::String(hex_text(&event_hash)));
        canonical::write_object(&[event_hash, event_type, event_version, parent], out)?;
        // Both halves are objects: the braces between them are replaced by the payload and commas.
        out.pop();
        if let Some(payload) = payload {
            out.extend_from_slice(b",\"payload\":");
            payload(out);
        }
        let at = out.len();
        let redacted = ("payload_redacted", ObjectPart::Boolean(event.redacted));
        canonical::write_object(&[payload_hash, redacted, step_index, timestamp], out)?;
        if let Some(brace) = out.get_mut(at) {
            *brace = b',';
        }
        self.last = Some((hash, event.step_index));
        Ok(hash)
    }

    /// Signs the log together with its envelope; returns the parts of the artifact around the events.
    ///
    /// # Errors
    ///
    /// [`SealError::NoEvents`] for an empty log; [`SealError::Envelope`] if the envelope is not an unsigned object.
    pub fn seal(&self, run: &RerRunHeader<'_>, signer: &dyn Signer) -> Result<ArtifactFrame, SealError> {
        let Some((log_head, _)) = self.last else { return Err(SealError::NoEvents) };
        let (envelope, envelope_hash) = sign_envelope(run.envelope, signer)?;
        let (envelope_hash, log_head) = (envelope_hash.to_string(), log_head.to_string());
        let runtime = runtime_object(run, signer)?;
        let manifest_hash = run.manifest_hash.map(|hash| hash.to_string());
        let manifest_hash = manifest_hash.as_deref().map_or(ObjectPart::Null, ObjectPart::String);
        let mut members = vec![
            ("artifact_version", ObjectPart::String(self.version.artifact())),
            ("envelope_hash", ObjectPart::String(&envelope_hash)),
            ("log_head_hash", ObjectPart::String(&log_head)),
        ];
        if self.version == RerVersion::V02 {
            members.push(("manifest_hash", manifest_hash));
        }
        members.push(("run_id", ObjectPart::String(run.run_id)));
        members.push(("runtime", ObjectPart::Canonical(&runtime)));
        let mut header = Vec::new();
        canonical::write_object(&members, &mut header)?;
        let signature = to_hex(&signer.sign(&header));
        members.push(("envelope", ObjectPart::Canonical(&envelope)));
        members.push(("runtime_signature", ObjectPart::String(&signature)));
        ArtifactFrame::around_events(members)
    }
}

/// Parts of an event's text around its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFrame {
    /// Bytes from the first to the colon behind the payload's name.
    pub before: Vec<u8>,
    /// Bytes from the comma behind the payload to the last.
    pub after: Vec<u8>,
}

/// Parts of an artifact's text around its events. Between them come the events, in canonical form, with commas
/// between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactFrame {
    /// Bytes from the first to the bracket that opens the events.
    pub before: Vec<u8>,
    /// Bytes from the bracket that closes the events to the last.
    pub after: Vec<u8>,
}

impl ArtifactFrame {
    /// Writes all members but the events in canonical order, split where the events belong.
    pub(super) fn around_events(mut members: Vec<(&str, ObjectPart<'_>)>) -> Result<Self, SealError> {
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

fn runtime_object(run: &RerRunHeader<'_>, signer: &dyn Signer) -> Result<Vec<u8>, SealError> {
    let key_id = signer.public_key().id().to_string();
    let members = [
        ("algorithm", ObjectPart::String("Ed25519")),
        ("implementation", ObjectPart::String(run.implementation)),
        ("key_id", ObjectPart::String(&key_id)),
        ("version", ObjectPart::String(run.version)),
    ];
    let mut runtime = Vec::new();
    canonical::write_object(&members, &mut runtime)?;
    Ok(runtime)
}

/// Log in memory: events, each bound to the one before, until they are sealed.
#[derive(Debug, Clone)]
pub struct ArtifactBuilder {
    chain: EventHashChain,
    /// Canonical text of the events, with commas between them.
    text: Vec<u8>,
}

impl ArtifactBuilder {
    /// Begins an empty log.
    pub fn new(version: RerVersion) -> Self {
        Self { chain: EventHashChain::new(version), text: Vec::new() }
    }

    /// Appends an event; returns its hash.
    ///
    /// # Errors
    ///
    /// As [`EventHashChain::append`]; the log is then unchanged.
    pub fn append(&mut self, event: &NewEvent<'_>) -> Result<Digest, SealError> {
        let end = self.text.len();
        if end > 0 {
            self.text.push(b',');
        }
        let appended = self.chain.append(event, &mut self.text);
        if appended.is_err() {
            self.text.truncate(end);
        }
        appended
    }

    /// Signs the log together with its envelope; returns the artifact, in canonical form.
    ///
    /// # Errors
    ///
    /// As [`EventHashChain::seal`].
    pub fn seal(self, run: &RerRunHeader<'_>, signer: &dyn Signer) -> Result<Vec<u8>, SealError> {
        let ArtifactFrame { before, after } = self.chain.seal(run, signer)?;
        Ok([before, self.text, after].concat())
    }
}

/// Members of an artifact's header beside its hashes.
#[derive(Debug, Clone, Copy)]
pub struct RerRunHeader<'a> {
    /// Id of the run; opaque to this crate.
    pub run_id: &'a str,
    /// Name of the runtime.
    pub implementation: &'a str,
    /// Version of the runtime.
    pub version: &'a str,
    /// Envelope without its signature: any JSON text of an object.
    pub envelope: &'a [u8],
    /// Hash of the bundle that the artifact belongs to (0.2 only).
    pub manifest_hash: Option<Digest>,
}

/// Signs an envelope; returns its canonical text with the signature, and its hash.
///
/// # Errors
///
/// [`SealError::Envelope`] if the envelope is not an object or carries a signature already.
pub fn sign_envelope(envelope: &[u8], signer: &dyn Signer) -> Result<(Vec<u8>, Digest), SealError> {
    let envelope = Value::parse(envelope, &limits_inside(1))?;
    if envelope.kind() != reenact_json::ValueKind::Object || envelope.member("signature").is_some() {
        return Err(SealError::Envelope);
    }
    let signable = canonical::to_vec(envelope, Jcs)?;
    let signature = format!("\"signature\":\"{}\"", to_hex(&signer.sign(&signable)));
    // Any position will do: the canonical writer sorts the member into its place.
    let mut signed = b"{".to_vec();
    signed.extend_from_slice(signature.as_bytes());
    if signable != b"{}" {
        signed.push(b',');
    }
    signed.extend_from_slice(&signable[1..]);
    let hash = Digest::of(&signable);
    Ok((canonical::to_vec(Value::parse(&signed, &Limits::default())?, Jcs)?, hash))
}

/// Returns limits for a value that will lie `levels` deep in an artifact, which must itself be within the limits to
/// be read.
fn limits_inside(levels: u32) -> Limits {
    let limits = Limits::default();
    Limits { max_depth: limits.max_depth - levels, ..limits }
}

/// Returns hexadecimal digits as text.
fn hex_text(hex: &[u8; 64]) -> &str {
    core::str::from_utf8(hex).unwrap_or_default()
}

/// Returns bytes in lower-case hexadecimal.
pub(super) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
