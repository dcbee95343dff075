//! Calls of tools, as they were seen, told or inferred.

use core::time::Duration;

use crate::exchange::StepId;
use crate::ledger::Open;
use crate::mask::{Masked, MaskedJson, Masks, milliseconds};
use crate::payload::Payload;

/// How an event came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// It passed through us.
    Observed,
    /// The agent told us.
    Reported,
    /// We derived it from what passed.
    Inferred,
    /// It comes from another file.
    Imported,
}

impl Source {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::Reported => "reported",
            Self::Inferred => "inferred",
            Self::Imported => "imported",
        }
    }
}

/// Through what a tool was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via<'a> {
    /// An MCP server of that name.
    Mcp(&'a str),
    /// The agent itself, as its conversation with the model shows.
    Conversation,
    /// The agent itself, as it told us.
    Sdk,
}

/// A call of a tool as it came.
#[derive(Clone, Copy)]
pub struct RawToolCall<'a> {
    /// The id by which the model asked for it.
    pub tool_call_id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// Its input: JSON if it can be, else text.
    pub input: &'a str,
    /// Through what it was called.
    pub via: Via<'a>,
    /// How it is known.
    pub source: Source,
}

/// What came of a call.
#[derive(Clone, Copy)]
pub struct RawToolResult<'a> {
    /// The output: JSON if it is an object or an array, else text.
    pub output: &'a str,
    /// Whether it failed.
    pub is_error: bool,
    /// How long it took, if that is known.
    pub latency: Option<Duration>,
}

/// What a called event says.
pub(crate) struct Called {
    tool_call_id: Masked,
    tool: Masked,
    input: MaskedJson,
    via: Masked,
    source: &'static str,
}

impl Called {
    pub(crate) fn new(call: &RawToolCall<'_>, masks: &Masks) -> Self {
        let via = match call.via {
            Via::Mcp(server) => &format!("mcp:{server}"),
            Via::Conversation => "conversation",
            Via::Sdk => "sdk",
        };
        Self {
            tool_call_id: masks.text(call.tool_call_id),
            tool: masks.text(call.tool),
            input: masks.json(call.input, true),
            via: masks.text(via),
            source: call.source.name(),
        }
    }

    pub(crate) fn open(&self) -> Open {
        let (tool_call_id, tool) = (self.tool_call_id.clone(), self.tool.clone());
        Open::Tool { tool_call_id, tool, source: self.source }
    }

    pub(crate) fn write(&self, step: StepId, payload: &mut Payload<'_>) {
        payload.json("input", &self.input);
        payload.salt();
        payload.constant("source", self.source);
        payload.step(step);
        payload.text("tool", &self.tool);
        payload.text("tool_call_id", &self.tool_call_id);
        payload.text("via", &self.via);
    }
}

/// What a returned event says.
pub(crate) struct Returned {
    output: MaskedJson,
    is_error: bool,
    latency: Option<Duration>,
}

impl Returned {
    pub(crate) fn new(result: &RawToolResult<'_>, masks: &Masks) -> Self {
        let output = masks.json(result.output, false);
        Self { output, is_error: result.is_error, latency: result.latency }
    }

    pub(crate) fn write(
        &self,
        step: StepId,
        tool_call_id: &Masked,
        tool: &Masked,
        source: &'static str,
        payload: &mut Payload<'_>,
    ) {
        payload.flag("is_error", self.is_error);
        if let Some(latency) = self.latency {
            payload.number("latency_ms", milliseconds(latency));
        }
        payload.json("output", &self.output);
        payload.salt();
        payload.constant("source", source);
        payload.step(step);
        payload.text("tool", tool);
        payload.text("tool_call_id", tool_call_id);
    }
}
