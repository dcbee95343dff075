//! Whose words a payload is in: one module for each format, and what they have in common.
//!
//! An item means the same wherever it lies: a step of an `.rpk` file is read by the same code when it lies in an RER artifact
//! that was imported from one. There each event's item is the member `import` of its payload, and the first event names the
//! format (`import.format`) and holds the document around the items (`import.document`). Values that RFC 8785 cannot carry
//! are `$text`s there; they are decoded before an item is read.
//!
//! | dialect | item | both ends of an exchange |
//! |---|---|---|
//! | [`FormatId::RerRunReader`] | a payload as we write it | `…called`, `…returned` of one `step_id` |
//! | [`FormatId::RpkRunReader`] | a step | `….request`, `….response` by their ids, else in order |
//! | [`FormatId::ModelIoRunReader`] | an interaction, or its half | two events for each interaction |
//! | [`FormatId::ReplayJsonlRunReader`] | a line | `RecordedToolCall`, `RecordedToolResult` of one `id` |
//! | [`FormatId::ReplayBundleRunReader`] | a line of the trace, a cassette | one event, or two of one `episode_id` |

pub(crate) mod model_io;
pub(crate) mod replay_bundle;
pub(crate) mod replay_jsonl;
pub(crate) mod rer;
pub(crate) mod rpk;

use std::borrow::Cow;

use reenact_formats::FormatId;
use reenact_formats::rer::{Callee, EventType};
use reenact_json::{Limits, Value};
use reenact_wire::Endpoint;

use crate::convert::loss::{Losses, SourcePath};
use crate::event::Event;
use crate::event_index::{Pairing, WithheldEnd};
use crate::exchange::{ExchangeAnswer, ExchangeRequest};
use crate::open::NotARun;
use crate::reported_outcome::ReportedOutcome;
use crate::run::{Run, RunInner, RunParts};
use crate::text_rule::TextRule;
use crate::tool::{RecordedToolCall, RecordedToolResult};
use crate::unreadable::{UnreadablePayload, payload_object};

/// How the items of a format are read. A format without exchanges or without tools leaves those out.
pub(crate) trait RunReader: Sync {
    /// Reads what a run keeps of a document.
    fn read(&self, bytes: &[u8], limits: &Limits) -> Result<RunParts, NotARun>;

    /// What an item says has happened, and how it finds its other end. `named` is what the record around it calls that.
    fn classify(&self, named: Option<EventType>, item: Value<'_>) -> (Option<EventType>, Pairing);

    /// How a withheld event that was imported finds its other end, by what the record around it calls its action. Events of a
    /// timeline have the names of their tools, all others of the dialect ids, which need no order.
    fn classify_withheld(&self, callee: Callee, is_timeline: bool) -> Option<WithheldEnd> {
        let _ = (callee, is_timeline);
        None
    }

    /// What the items leave to the document around them.
    fn context(&self, document: Value<'_>) -> DocumentContext {
        let _ = document;
        DocumentContext::default()
    }

    /// The step that an event belongs to, by its payload.
    fn step_id<'r>(&self, event: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>>;

    /// What an item says was asked.
    fn request<'v>(
        &self,
        item: Value<'v>,
        run: &'v RunInner,
    ) -> Result<ExchangeRequest<'v>, UnreadablePayload> {
        let _ = (item, run);
        Err(UnreadablePayload::NoExchange)
    }

    /// What an item says was answered; `endpoint` is that of the request, if it is known.
    fn answer<'v>(
        &self,
        item: Value<'v>,
        run: &'v RunInner,
        endpoint: Option<Endpoint>,
    ) -> Result<ExchangeAnswer<'v>, UnreadablePayload> {
        let _ = (item, run, endpoint);
        Err(UnreadablePayload::NoExchange)
    }

    /// What an item says was asked of a tool.
    fn tool_call<'v>(&self, item: Value<'v>) -> Result<RecordedToolCall<'v>, UnreadablePayload> {
        let _ = item;
        Err(UnreadablePayload::NoTool)
    }

    /// What an item says a tool gave.
    fn tool_result<'v>(&self, item: Value<'v>) -> Result<RecordedToolResult<'v>, UnreadablePayload> {
        let _ = item;
        Err(UnreadablePayload::NoTool)
    }

    /// Returns true if an item is part of the format and not of the run, so that it is no step.
    fn is_framing(&self, item: Value<'_>) -> bool {
        let _ = item;
        false
    }

    /// Returns the part of a payload that tells what happened.
    fn content_part<'v>(&self, payload: Value<'v>) -> Value<'v> {
        payload
    }

    /// Returns true for members of a payload that belong to the format, and not to what happened.
    fn is_format_member(&self, name: &str) -> bool {
        matches!(name, "salt" | "source")
    }

    /// Returns true if every event has a step of its own.
    fn has_step_ids(&self) -> bool {
        false
    }

    /// Where an event lies in its source, for the list of what a conversion loses.
    fn source_path(&self, event: &Event<'_>) -> SourcePath;

    /// Notes what lies around the events and has no place in a target.
    fn note_document_losses(&self, run: &Run, target: FormatId, losses: &mut Losses) {
        let _ = (run, target, losses);
    }

    /// What the record says of how its run was started and ended.
    fn outcome(&self, run: &Run) -> ReportedOutcome {
        let _ = run;
        ReportedOutcome::default()
    }
}

/// Every dialect, by the row whose words it reads.
static RUN_READERS: [(FormatId, &dyn RunReader); 5] = [
    (FormatId::Rer, &rer::RerRunReader),
    (FormatId::Rpk, &rpk::RpkRunReader),
    (FormatId::ModelIo, &model_io::ModelIoRunReader),
    (FormatId::ReplayJsonl, &replay_jsonl::ReplayJsonlRunReader),
    (FormatId::ReplayBundle, &replay_bundle::ReplayBundleRunReader),
];

/// The dialect of a format's payloads.
pub(crate) fn reader_of(id: FormatId) -> &'static dyn RunReader {
    let id = id.row().dialect;
    // A test holds the table against that of the formats.
    RUN_READERS.iter().find(|(known, _)| *known == id).map_or(&rer::RerRunReader, |(_, dialect)| *dialect)
}

/// The dialect of a record that was imported from a format of that name, and the format.
pub(crate) fn import_format(name: &str) -> Option<FormatId> {
    FormatId::of_name(name).filter(|id| id.row().dialect != FormatId::Rer)
}

/// How a withheld event that was imported finds its other end.
pub(crate) fn withheld_pairing(id: FormatId, named: Option<EventType>) -> Pairing {
    let callee = named.and_then(|named| named.role().callee());
    let hidden =
        callee.and_then(|callee| reader_of(id).classify_withheld(callee, id == FormatId::SessionTimeline));
    hidden.map_or(Pairing::None, Pairing::Withheld)
}

/// What the items of a format leave to the document around them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DocumentContext {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
}

/// What the event that holds it says was asked.
pub(crate) fn read_request<'r>(called: &Event<'r>) -> Result<ExchangeRequest<'r>, UnreadablePayload> {
    let item = payload_object(called)?;
    match decode_import(called, item)? {
        None => reader_of(called.payload_format()).request(item, called.run),
        Some(text) => {
            Ok(reader_of(called.payload_format()).request(parse_decoded(&text)?, called.run)?.into_owned())
        }
    }
}

/// What the event that holds it says was answered; `endpoint` is that of the request, if it is known.
pub(crate) fn read_answer<'r>(
    returned: &Event<'r>,
    endpoint: Option<Endpoint>,
) -> Result<ExchangeAnswer<'r>, UnreadablePayload> {
    let item = payload_object(returned)?;
    match decode_import(returned, item)? {
        None => reader_of(returned.payload_format()).answer(item, returned.run, endpoint),
        Some(text) => Ok(reader_of(returned.payload_format())
            .answer(parse_decoded(&text)?, returned.run, endpoint)?
            .into_owned()),
    }
}

/// What the event that holds it says was asked of a tool.
pub(crate) fn read_tool_call<'r>(called: &Event<'r>) -> Result<RecordedToolCall<'r>, UnreadablePayload> {
    let item = payload_object(called)?;
    match decode_import(called, item)? {
        None => reader_of(called.payload_format()).tool_call(item),
        Some(text) => Ok(reader_of(called.payload_format()).tool_call(parse_decoded(&text)?)?.into_owned()),
    }
}

/// What the event that holds it says a tool gave.
pub(crate) fn read_tool_result<'r>(
    returned: &Event<'r>,
) -> Result<RecordedToolResult<'r>, UnreadablePayload> {
    let item = payload_object(returned)?;
    match decode_import(returned, item)? {
        None => reader_of(returned.payload_format()).tool_result(item),
        Some(text) => {
            Ok(reader_of(returned.payload_format()).tool_result(parse_decoded(&text)?)?.into_owned())
        }
    }
}

/// The item of an imported event as its own format has it, where that is not how it lies.
fn decode_import(event: &Event<'_>, item: Value<'_>) -> Result<Option<Vec<u8>>, UnreadablePayload> {
    let has_text = || item.text().windows(TEXT_MARKER.len()).any(|window| window == TEXT_MARKER);
    // A bundle's files lie as they were.
    if !event.is_imported() || event.payload_format() == FormatId::ReplayBundle || !has_text() {
        return Ok(None);
    }
    let mut text = Vec::new();
    let decoded = TextRule::new(event.payload_format().row().profile).decode(item, &mut text);
    decoded.map_err(|_| UnreadablePayload::InvalidTextMarker)?;
    Ok(Some(text))
}

/// The name of a `$text`, as canonical JSON writes it.
const TEXT_MARKER: &[u8] = b"\"$text\"";

/// A text that was decoded.
fn parse_decoded(text: &[u8]) -> Result<Value<'_>, UnreadablePayload> {
    let limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };
    Value::parse(text, &limits).map_err(|_| UnreadablePayload::InvalidTextMarker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_dialect() {
        for id in FormatId::targets() {
            assert!(RUN_READERS.iter().any(|(known, _)| *known == id), "{}", id.name());
        }
        assert_eq!(RUN_READERS.len(), FormatId::targets().count());
        assert_eq!(import_format("recording-session"), Some(FormatId::RecordingSession));
        assert_eq!(
            (import_format("rer"), import_format("rer-bundle"), import_format("x")),
            (None, None, None)
        );
    }
}
