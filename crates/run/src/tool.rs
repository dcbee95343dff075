//! A tool's call, and what came of it.

use std::borrow::Cow;
use std::time::Duration;

use reenact_formats::rer::payload::Source;
use reenact_json::{Limits, Value};

use crate::event::Event;
use crate::reader;
use crate::unreadable::UnreadablePayload;

/// A tool that was called. A handle: call and result are read when they are asked for.
#[derive(Debug, Clone, Copy)]
pub struct ToolUse<'r> {
    /// The event of the call.
    pub called: Event<'r>,
    /// The event of the result, if there is one.
    pub returned: Option<Event<'r>>,
}

/// What was asked of a tool.
#[derive(Debug, Clone)]
pub struct RecordedToolCall<'r> {
    /// The step that it is.
    pub step_id: Option<Cow<'r, str>>,
    /// By which the model names it.
    pub tool_call_id: Option<Cow<'r, str>>,
    /// Which tool.
    pub tool: Cow<'r, str>,
    /// Its input, whatever it is.
    pub input: Option<JsonText<'r>>,
    /// How it was seen: `mcp:<server>`, `conversation` or `sdk`.
    pub via: Option<Cow<'r, str>>,
    /// How the record came to know, if it says so.
    pub source: Option<Source>,
}

/// What a tool gave.
#[derive(Debug, Clone, Default)]
pub struct RecordedToolResult<'r> {
    /// Its output, whatever it is.
    pub output: Option<JsonText<'r>>,
    /// The hash of its output, where the record holds no more than that.
    pub output_hash: Option<Cow<'r, str>>,
    /// Whether it failed.
    pub is_error: bool,
    /// How it ended, if it was a command.
    pub exit_code: Option<i64>,
    /// How much it helped, by the word of whoever recorded it.
    pub utility: Option<f32>,
    /// How long it took.
    pub latency: Option<Duration>,
    /// How the record came to know, if it says so.
    pub source: Option<Source>,
}

impl<'r> ToolUse<'r> {
    pub(crate) fn new(called: Event<'r>, returned: Option<Event<'r>>) -> Self {
        Self { called, returned }
    }

    /// The call.
    pub fn call(&self) -> Result<RecordedToolCall<'r>, UnreadablePayload> {
        reader::read_tool_call(&self.called)
    }

    /// The result.
    pub fn result(&self) -> Result<RecordedToolResult<'r>, UnreadablePayload> {
        reader::read_tool_result(self.returned.as_ref().ok_or(UnreadablePayload::NoAnswer)?)
    }
}

/// A value of a record: the text of JSON that was read before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonText<'r>(Cow<'r, [u8]>);

impl<'r> JsonText<'r> {
    pub(crate) fn of(value: Value<'r>) -> Self {
        Self(Cow::Borrowed(value.text()))
    }

    /// Its text.
    pub fn text(&self) -> &[u8] {
        &self.0
    }

    /// The value.
    pub fn value(&self) -> Option<Value<'_>> {
        Value::parse(&self.0, &Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES }).ok()
    }

    /// The same, sharing nothing with the run.
    pub fn into_owned(self) -> JsonText<'static> {
        JsonText(Cow::Owned(self.0.into_owned()))
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

impl RecordedToolCall<'_> {
    /// The same, sharing nothing with the run.
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
    /// The same, sharing nothing with the run.
    pub fn into_owned(self) -> RecordedToolResult<'static> {
        RecordedToolResult {
            output: self.output.map(JsonText::into_owned),
            output_hash: self.output_hash.map(owned),
            is_error: self.is_error,
            exit_code: self.exit_code,
            utility: self.utility,
            latency: self.latency,
            source: self.source,
        }
    }
}
