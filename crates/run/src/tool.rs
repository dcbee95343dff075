//! Tool calls and their results.

use std::borrow::Cow;
use std::time::Duration;

use reenact_formats::rer::payload::EventSource;
use reenact_json::{Limits, Value};

use crate::event::Event;
use crate::reader;
use crate::unreadable::UnreadablePayload;

/// Tool call with its result. A handle: both are parsed by [`ToolUse::call`] and [`ToolUse::result`].
#[derive(Debug, Clone, Copy)]
pub struct ToolUse<'r> {
    /// Event of the call.
    pub called: Event<'r>,
    /// Event of the result, if there is one. May be the same event as `called`.
    pub returned: Option<Event<'r>>,
}

/// Recorded call of a tool.
#[derive(Debug, Clone)]
pub struct RecordedToolCall<'r> {
    /// Id of the step.
    pub step_id: Option<Cow<'r, str>>,
    /// Id that the model gave the call.
    pub tool_call_id: Option<Cow<'r, str>>,
    /// Name of the tool.
    pub tool: Cow<'r, str>,
    /// Input, any JSON value.
    pub input: Option<JsonText<'r>>,
    /// Channel by which the recorder saw the call: `mcp:<server>`, `conversation` or `sdk`.
    pub via: Option<Cow<'r, str>>,
    /// Way in which the recorder learnt of the call, if the record says so.
    pub source: Option<EventSource>,
}

/// Recorded result of a tool.
#[derive(Debug, Clone, Default)]
pub struct RecordedToolResult<'r> {
    /// Output, any JSON value.
    pub output: Option<JsonText<'r>>,
    /// Hash of the output, if the record holds only that. Untrusted text.
    pub output_hash: Option<Cow<'r, str>>,
    /// Parts of the output for display, by their names, where a record that holds only the hash has some. Untrusted text.
    pub previews: Vec<(&'static str, Cow<'r, str>)>,
    /// True if the tool failed.
    pub is_error: bool,
    /// Exit code, if the tool was a command.
    pub exit_code: Option<i64>,
    /// Utility of the step, from -1 to 1: as a REPLAY.jsonl says, or as the agent reported it. `None` if it is unknown,
    /// which is another thing than 0.
    pub utility: Option<f32>,
    /// Duration of the call.
    pub latency: Option<Duration>,
    /// Way in which the recorder learnt of the result, if the record says so.
    pub source: Option<EventSource>,
}

impl<'r> ToolUse<'r> {
    /// Makes the handle of a tool call.
    pub(crate) fn new(called: Event<'r>, returned: Option<Event<'r>>) -> Self {
        Self { called, returned }
    }

    /// Reads the call.
    ///
    /// # Errors
    /// If the payload is withheld or absent, or does not hold a tool call.
    pub fn call(&self) -> Result<RecordedToolCall<'r>, UnreadablePayload> {
        reader::read_tool_call(&self.called)
    }

    /// Reads the result.
    ///
    /// # Errors
    /// [`UnreadablePayload::NoAnswer`] if none is recorded; else if the payload is withheld or does not hold a
    /// result.
    pub fn result(&self) -> Result<RecordedToolResult<'r>, UnreadablePayload> {
        reader::read_tool_result(self.returned.as_ref().ok_or(UnreadablePayload::NoAnswer)?)
    }
}

/// JSON value of a record, as the text that was parsed before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonText<'r>(Cow<'r, [u8]>);

impl<'r> JsonText<'r> {
    /// Returns the text of a value, borrowed from the run.
    pub(crate) fn of(value: Value<'r>) -> Self {
        Self(Cow::Borrowed(value.text()))
    }

    /// Returns the JSON text.
    pub fn text(&self) -> &[u8] {
        &self.0
    }

    /// Parses the text again.
    pub fn value(&self) -> Option<Value<'_>> {
        Value::parse(&self.0, &Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES }).ok()
    }

    /// Returns a copy that borrows nothing from the run.
    pub fn into_owned(self) -> JsonText<'static> {
        JsonText(Cow::Owned(self.0.into_owned()))
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

impl RecordedToolCall<'_> {
    /// Returns a copy that borrows nothing from the run.
    pub fn into_owned(self) -> RecordedToolCall<'static> {
        RecordedToolCall {
            step_id: self.step_id.map(owned),
            tool_call_id: self.tool_call_id.map(owned),
            tool: owned(self.tool),
            input: self.input.map(JsonText::into_owned),
            via: self.via.map(owned),
            source: self.source,
        }
    }
}

impl RecordedToolResult<'_> {
    /// Returns a copy that borrows nothing from the run.
    pub fn into_owned(self) -> RecordedToolResult<'static> {
        RecordedToolResult {
            output: self.output.map(JsonText::into_owned),
            output_hash: self.output_hash.map(owned),
            previews: self.previews.into_iter().map(|(name, text)| (name, owned(text))).collect(),
            is_error: self.is_error,
            exit_code: self.exit_code,
            utility: self.utility,
            latency: self.latency,
            source: self.source,
        }
    }
}
