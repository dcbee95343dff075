//! Readers: one module for each format that reads its documents and items, and the trait that they implement.
//!
//! An item is read by the same code wherever it lies: a step of an `.rpk` file, and the same step in an RER
//! artifact that was imported from the file. In an imported artifact the item of an event is the member
//! `import` of its payload; the first event names the format (`import.format`) and holds the document around
//! the items (`import.document`). Values that RFC 8785 cannot carry are `$text` markers there, and are decoded
//! before an item is read.
//!
//! A new format is one module with a `RunReader`, and one row in `RUN_READERS`. Start reading at `RunReader`.
//!
//! | payload format | item | both ends of an exchange |
//! |---|---|---|
//! | [`FormatId::Rer`] | a payload as reenact writes it, or as others do (`foreign_payload`) | `…called`, `…returned` of one `step_id` |
//! | [`FormatId::Rpk`] | a step | `….request`, `….response` by their ids, else in order |
//! | [`FormatId::ModelIo`] | an interaction, or its half | two events for each interaction |
//! | [`FormatId::ReplayJsonl`] | a line | `ToolCall`, `ToolResult` of one `id` |
//! | [`FormatId::ReplayBundle`] | a line of the trace, a cassette | one event, or two of one `episode_id` |

pub(crate) mod foreign_payload;
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

/// Reader of one format into a [`Run`]: of whole documents, and of the items in them.
///
/// An item is a JSON value: a payload, a step, an interaction, a line or a cassette. A format without exchanges
/// or without tools keeps the default methods, which return an error.
pub(crate) trait RunReader: Sync {
    /// Reads a document, and indexes its items as events.
    ///
    /// # Errors
    /// If the document is malformed or has no list of items.
    fn read(&self, bytes: &[u8], limits: &Limits) -> Result<RunParts, NotARun>;

    /// Returns the event type of an item, and the way in which it is paired. `named` is the event type that the
    /// record around the item gives it.
    fn classify(&self, named: Option<EventType>, item: Value<'_>) -> (Option<EventType>, Pairing);

    /// Returns what is known for the pairing of a withheld event of an imported record, by the callee that the
    /// record names; `None` if its items are paired by ids, which need no order. `is_timeline` says that the
    /// record is the timeline of a session, whose calls have no ids but the names of their tools.
    fn classify_withheld(&self, callee: Callee, is_timeline: bool) -> Option<WithheldEnd> {
        let _ = (callee, is_timeline);
        None
    }

    /// Returns the facts that items leave to the document around them.
    fn context(&self, document: Value<'_>) -> DocumentContext {
        let _ = document;
        DocumentContext::default()
    }

    /// Returns the id of the step that an event belongs to, from its payload.
    fn step_id<'r>(&self, event: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>>;

    /// Reads the request that an item holds.
    fn request<'v>(
        &self,
        item: Value<'v>,
        run: &'v RunInner,
    ) -> Result<ExchangeRequest<'v>, UnreadablePayload> {
        let _ = (item, run);
        Err(UnreadablePayload::NoExchange)
    }

    /// Reads the answer that an item holds; `endpoint` is that of the request, if known.
    fn answer<'v>(
        &self,
        item: Value<'v>,
        run: &'v RunInner,
        endpoint: Option<Endpoint>,
    ) -> Result<ExchangeAnswer<'v>, UnreadablePayload> {
        let _ = (item, run, endpoint);
        Err(UnreadablePayload::NoExchange)
    }

    /// Reads the tool call that an item holds.
    fn tool_call<'v>(&self, item: Value<'v>) -> Result<RecordedToolCall<'v>, UnreadablePayload> {
        let _ = item;
        Err(UnreadablePayload::NoTool)
    }

    /// Reads the tool result that an item holds.
    fn tool_result<'v>(&self, item: Value<'v>) -> Result<RecordedToolResult<'v>, UnreadablePayload> {
        let _ = item;
        Err(UnreadablePayload::NoTool)
    }

    /// Returns true if an item is part of the format and not of the run, such as a header line, so that it is
    /// no step.
    fn is_framing(&self, item: Value<'_>) -> bool {
        let _ = item;
        false
    }

    /// Returns the part of a payload that says what happened, without the members around it.
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

    /// Returns the path of an event in its source, for the list of losses of a conversion.
    fn source_path(&self, event: &Event<'_>) -> SourcePath;

    /// Adds the parts of the document outside of its events that have no place in a target format.
    fn note_document_losses(&self, run: &Run, target: FormatId, losses: &mut Losses) {
        let _ = (run, target, losses);
    }

    /// Returns the command and the outcome of the run, as the record reports them.
    fn outcome(&self, run: &Run) -> ReportedOutcome {
        let _ = run;
        ReportedOutcome::default()
    }
}

/// All readers, by the format whose payloads they read.
static RUN_READERS: [(FormatId, &dyn RunReader); 5] = [
    (FormatId::Rer, &rer::RerRunReader),
    (FormatId::Rpk, &rpk::RpkRunReader),
    (FormatId::ModelIo, &model_io::ModelIoRunReader),
    (FormatId::ReplayJsonl, &replay_jsonl::ReplayJsonlRunReader),
    (FormatId::ReplayBundle, &replay_bundle::ReplayBundleRunReader),
];

/// Returns the reader of a format's payloads. Related formats share one reader.
pub(crate) fn reader_of(id: FormatId) -> &'static dyn RunReader {
    let id = id.row().dialect;
    // A test checks that every format has a row, so the default is never used.
    RUN_READERS.iter().find(|(known, _)| *known == id).map_or(&rer::RerRunReader, |(_, dialect)| *dialect)
}

/// Returns the format of a name from which records are imported; `None` for an unknown name, and for RER
/// itself.
pub(crate) fn import_format(name: &str) -> Option<FormatId> {
    FormatId::of_name(name).filter(|id| id.row().dialect != FormatId::Rer)
}

/// Returns the pairing of a withheld event that was imported from a format; `named` is its event type in the
/// artifact.
pub(crate) fn withheld_pairing(id: FormatId, named: Option<EventType>) -> Pairing {
    let callee = named.and_then(|named| named.role().callee());
    let hidden =
        callee.and_then(|callee| reader_of(id).classify_withheld(callee, id == FormatId::SessionTimeline));
    hidden.map_or(Pairing::None, Pairing::Withheld)
}

/// Facts that the items of a format leave to the document around them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DocumentContext {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
}

/// Reads the request that an event holds, decoding its item first if it was imported.
pub(crate) fn read_request<'r>(called: &Event<'r>) -> Result<ExchangeRequest<'r>, UnreadablePayload> {
    let item = payload_object(called)?;
    match decode_import(called, item)? {
        None => reader_of(called.payload_format()).request(item, called.run),
        Some(text) => {
            Ok(reader_of(called.payload_format()).request(parse_decoded(&text)?, called.run)?.into_owned())
        }
    }
}

/// Reads the answer that an event holds; `endpoint` is that of the request, if known.
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

/// Reads the tool call that an event holds.
pub(crate) fn read_tool_call<'r>(called: &Event<'r>) -> Result<RecordedToolCall<'r>, UnreadablePayload> {
    let item = payload_object(called)?;
    match decode_import(called, item)? {
        None => reader_of(called.payload_format()).tool_call(item),
        Some(text) => Ok(reader_of(called.payload_format()).tool_call(parse_decoded(&text)?)?.into_owned()),
    }
}

/// Reads the tool result that an event holds.
pub(crate) fn read_tool_result<'r>(
    returned: &Event<'r>,
) -> Result<RecordedToolResult<'r>, UnreadablePayload> {
    let item = payload_object(returned)?;
    let mut result = match decode_import(returned, item)? {
        None => reader_of(returned.payload_format()).tool_result(item)?,
        Some(text) => reader_of(returned.payload_format()).tool_result(parse_decoded(&text)?)?.into_owned(),
    };
    if returned.payload_format() == FormatId::Rer {
        let id = item.member("tool_call_id").and_then(|id| id.string());
        result.utility = returned.run.step_utilities().of_call(id.as_deref(), returned.partner());
    }
    Ok(result)
}

/// Returns the item of an imported event as its own format has it; `None` if the item can be read as it lies,
/// because it contains no `$text` marker.
fn decode_import(event: &Event<'_>, item: Value<'_>) -> Result<Option<Vec<u8>>, UnreadablePayload> {
    let has_text = || item.text().windows(TEXT_MARKER.len()).any(|window| window == TEXT_MARKER);
    // The files of an imported bundle are kept as bytes, so their items need no decoding.
    if !event.is_imported() || event.payload_format() == FormatId::ReplayBundle || !has_text() {
        return Ok(None);
    }
    let mut text = Vec::new();
    let decoded = TextRule::new(event.payload_format().row().profile).decode(item, &mut text);
    decoded.map_err(|_| UnreadablePayload::InvalidTextMarker)?;
    Ok(Some(text))
}

/// Name of a `$text` marker, as canonical JSON writes it.
const TEXT_MARKER: &[u8] = b"\"$text\"";

/// Parses an item that was decoded.
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
