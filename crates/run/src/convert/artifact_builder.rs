//! Builder of the RER artifact of an import, event by event.
//!
//! The first event says what was imported, each item is an event, and the last event ends the run. Start
//! reading at `ImportedArtifactBuilder`.

use base64ct::{Base64UrlUnpadded, Encoding};
use reenact_formats::rer::EventType;
use reenact_formats::rer::RerVersion;
use reenact_formats::rer::payload::RunStatus;
use reenact_formats::rer::seal::{EventHashChain, NewEvent, RerRunHeader, Signer, sign_envelope};
use reenact_json::canonical::write_string;
use reenact_json::{Digest, Limits};

use super::error::ConvertError;
use super::event_time;

/// Inputs of an import apart from the record: ids, time, salts and the signer.
pub struct ImportContext<'a> {
    /// Run id of the new artifact.
    pub run_id: &'a str,
    /// Version of the program that converts.
    pub version: &'a str,
    /// Time of the import, RFC 3339. It is the time of events before the first whose time the source tells.
    pub now: &'a str,
    /// Source of salts: each call returns 128 new random bits; `None` if no randomness is available.
    pub salts: &'a mut dyn FnMut() -> Option<[u8; 16]>,
    /// Signer of the artifact.
    pub signer: &'a dyn Signer,
}

/// Envelope of imported runs: they were not restricted, and the metadata say so.
const UNRESTRICTED_ENVELOPE: &[u8] = br#"{"envelope_version":"rer-envelope/0.2","limits":{},"metadata":{"reenact":{"enforcement":"imported"}},"permissions":{"allowed_models":[],"allowed_tools":[]}}"#;

/// Members of an event's payload beside the imported item, in RER's vocabulary, so that tools that know only
/// RER can name and pair the event.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CommonMembers<'a> {
    /// Model that was called.
    pub(super) model: Option<&'a str>,
    /// Id that pairs a return with its call.
    pub(super) step_id: Option<&'a str>,
    /// Tool that was called.
    pub(super) tool: Option<&'a str>,
}

/// Status of the run at its end, as far as the source tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ImportedStatus {
    #[default]
    Completed,
    Failed,
    Aborted,
    /// The source has no end, although its format has one.
    Truncated,
}

/// Builder of an artifact: takes events in order, and seals them.
pub(super) struct ImportedArtifactBuilder<'t, 's> {
    context: &'t mut ImportContext<'s>,
    /// Hash chain over the events.
    links: EventHashChain,
    /// JSON text of the events so far, separated by commas.
    events: Vec<u8>,
    /// Buffer for the payload of one event.
    payload: Vec<u8>,
    /// Step index of the next event, from 0.
    next_step_index: u64,
    /// Time of the last event, which an event without a time takes over.
    last_time: String,
    /// Number of events that call a model, for the totals at the end.
    model_calls: usize,
    /// Number of events that call a tool, for the totals at the end.
    tool_calls: usize,
    /// Status that the last event will have.
    pub(super) status: ImportedStatus,
}

impl<'t, 's> ImportedArtifactBuilder<'t, 's> {
    /// Begins an artifact with the event that says what was imported; `import` is the JSON text of its member
    /// of that name.
    ///
    /// # Errors
    /// [`ConvertError::NoRandomness`] if there is no salt; [`ConvertError::Seal`] if the envelope cannot be
    /// signed.
    pub(super) fn begin(
        context: &'t mut ImportContext<'s>,
        started_at: Option<&str>,
        import: &[u8],
    ) -> Result<Self, ConvertError> {
        let now =
            event_time::event_timestamp(context.now).unwrap_or_else(|| "1970-01-01T00:00:00.000Z".into());
        let (_, envelope_hash) = sign_envelope(UNRESTRICTED_ENVELOPE, context.signer)?;
        let mut builder = Self {
            links: EventHashChain::new(RerVersion::V02),
            events: Vec::new(),
            payload: Vec::new(),
            next_step_index: 0,
            last_time: started_at.and_then(event_time::event_timestamp).unwrap_or(now),
            model_calls: 0,
            tool_calls: 0,
            status: ImportedStatus::default(),
            context,
        };
        let mut payload = format!(
            "{{\"enforcement\":\"imported\",\"envelope_hash\":\"{envelope_hash}\",\"environment\":{{\"reenact\":\"{}\"}},\"import\":",
            builder.context.version
        )
        .into_bytes();
        payload.extend_from_slice(import);
        // An import applies no masks: the artifact holds what the source holds.
        payload.extend_from_slice(
            format!(
                ",\"redaction\":{{\"pack\":\"none\"}},\"runtime_version\":\"{}\",\"salt\":",
                builder.context.version
            )
            .as_bytes(),
        );
        builder.write_salt(&mut payload)?;
        payload.extend_from_slice(b",\"source\":\"imported\"}");
        builder.append_event(EventType::RunStarted.name(), &payload)?;
        Ok(builder)
    }

    /// Appends a new salt, as a JSON string of 22 Base64url characters.
    fn write_salt(&mut self, payload: &mut Vec<u8>) -> Result<(), ConvertError> {
        let bits = (self.context.salts)().ok_or(ConvertError::NoRandomness)?;
        let mut text = [0; 22];
        let salt = Base64UrlUnpadded::encode(&bits, &mut text).unwrap_or_default();
        write_string(salt, payload);
        Ok(())
    }

    /// Appends the event of an item, which is given as JSON text. An event without a time has that of the event
    /// before. `members` are written beside the item. The payload's members are in canonical order.
    pub(super) fn append_item(
        &mut self,
        event_type: &str,
        time: Option<&str>,
        import: &[u8],
        members: CommonMembers<'_>,
    ) -> Result<(), ConvertError> {
        self.model_calls += usize::from(event_type == EventType::ModelCalled.name());
        self.tool_calls += usize::from(event_type == EventType::ToolCalled.name());
        if let Some(time) = time.and_then(event_time::event_timestamp) {
            self.last_time = time;
        }
        let mut payload = core::mem::take(&mut self.payload);
        payload.clear();
        payload.extend_from_slice(b"{\"import\":");
        payload.extend_from_slice(import);
        let word = |name: &str, text: Option<&str>, payload: &mut Vec<u8>| {
            if let Some(text) = text {
                payload.extend_from_slice(name.as_bytes());
                write_string(text, payload);
            }
        };
        word(",\"model\":", members.model, &mut payload);
        payload.extend_from_slice(b",\"salt\":");
        self.write_salt(&mut payload)?;
        payload.extend_from_slice(b",\"source\":\"imported\"");
        word(",\"step_id\":", members.step_id, &mut payload);
        word(",\"tool\":", members.tool, &mut payload);
        payload.push(b'}');
        let appended = self.append_event(event_type, &payload);
        self.payload = payload;
        appended
    }

    /// Appends an event to the chain.
    fn append_event(&mut self, event_type: &str, payload: &[u8]) -> Result<(), ConvertError> {
        if !self.events.is_empty() {
            self.events.push(b',');
        }
        let event = NewEvent {
            step_index: self.next_step_index,
            event_type,
            timestamp: &self.last_time,
            payload: Some(payload),
            redacted: false,
        };
        self.links.append(&event, &mut self.events)?;
        self.next_step_index += 1;
        Ok(())
    }

    /// Appends the event that ends the run, and seals the artifact.
    ///
    /// # Errors
    /// [`ConvertError::TooLarge`] if the artifact is larger than the largest that can be read.
    pub(super) fn seal(mut self, time: Option<&str>) -> Result<Vec<u8>, ConvertError> {
        if let Some(time) = time.and_then(event_time::event_timestamp) {
            self.last_time = time;
        }
        let (status, reason) = match self.status {
            ImportedStatus::Completed => (RunStatus::Completed, "imported"),
            ImportedStatus::Failed => (RunStatus::Failed, "imported"),
            ImportedStatus::Aborted => (RunStatus::Aborted, "imported"),
            ImportedStatus::Truncated => (RunStatus::Aborted, "the source does not tell how it ended"),
        };
        let mut payload = format!("{{\"reason\":\"{reason}\",\"salt\":").into_bytes();
        self.write_salt(&mut payload)?;
        payload.extend_from_slice(
            format!(
                ",\"source\":\"imported\",\"status\":\"{}\",\"total_model_calls\":{},\"total_tool_calls\":{}}}",
                status.name(), self.model_calls, self.tool_calls
            )
            .as_bytes(),
        );
        self.append_event(EventType::RunEnded.name(), &payload)?;
        let header = RerRunHeader {
            run_id: self.context.run_id,
            implementation: "reenact",
            version: self.context.version,
            envelope: UNRESTRICTED_ENVELOPE,
            manifest_hash: None,
        };
        let frame = self.links.seal(&header, self.context.signer)?;
        let bytes = frame.before.len() + self.events.len() + frame.after.len();
        if bytes > Limits::MAX_BYTES {
            return Err(ConvertError::TooLarge { bytes });
        }
        let mut artifact = Vec::with_capacity(bytes);
        artifact.extend_from_slice(&frame.before);
        artifact.append(&mut self.events);
        artifact.extend_from_slice(&frame.after);
        Ok(artifact)
    }
}

/// Returns a digest as the JSON string `"sha256:…"`.
pub(super) fn quoted_digest(digest: &Digest) -> String {
    format!("\"sha256:{digest}\"")
}
