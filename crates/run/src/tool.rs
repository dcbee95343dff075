//! A tool's call, and what came of it.

use std::borrow::Cow;
use std::time::Duration;

use reenact_json::Value;

use crate::event::{Event, Source};
use crate::unreadable::{Unreadable, flag, milliseconds, needed_text, object, pick, text};

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
pub struct ToolCall<'r> {
    /// The step that it is.
    pub step_id: Option<Cow<'r, str>>,
    /// By which the model names it.
    pub tool_call_id: Option<Cow<'r, str>>,
    /// Which tool.
    pub tool: Cow<'r, str>,
    /// Its input, whatever it is.
    pub input: Option<Value<'r>>,
    /// How it was seen: `mcp:<server>`, `conversation` or `sdk`.
    pub via: Option<Cow<'r, str>>,
    /// How the record came to know.
    pub source: Source,
}

/// What a tool gave.
#[derive(Debug, Clone)]
pub struct ToolResult<'r> {
    /// Its output, whatever it is.
    pub output: Option<Value<'r>>,
    /// Whether it failed.
    pub is_error: bool,
    /// How long it took.
    pub latency: Option<Duration>,
    /// How the record came to know.
    pub source: Source,
}

impl<'r> ToolUse<'r> {
    pub(crate) fn new(called: Event<'r>, returned: Option<Event<'r>>) -> Self {
        Self { called, returned }
    }

    /// The call.
    pub fn call(&self) -> Result<ToolCall<'r>, Unreadable> {
        let [step_id, tool_call_id, tool, input, via, source] =
            pick(object(&self.called)?, ["step_id", "tool_call_id", "tool", "input", "via", "source"]);
        Ok(ToolCall {
            step_id: text("step_id", step_id)?,
            tool_call_id: text("tool_call_id", tool_call_id)?,
            tool: needed_text("tool", tool)?,
            input,
            via: text("via", via)?,
            source: Source::of(source),
        })
    }

    /// The result.
    pub fn result(&self) -> Result<ToolResult<'r>, Unreadable> {
        let returned = self.returned.as_ref().ok_or(Unreadable::NoAnswer)?;
        let [output, is_error, latency, source] =
            pick(object(returned)?, ["output", "is_error", "latency_ms", "source"]);
        Ok(ToolResult {
            output,
            is_error: flag("is_error", is_error)?.unwrap_or(false),
            latency: milliseconds("latency_ms", latency)?,
            source: Source::of(source),
        })
    }
}
