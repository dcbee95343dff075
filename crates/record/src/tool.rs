//! Tool calls and their results, observed, reported or inferred.

use core::time::Duration;

pub use reenact_formats::rer::payload::{EventSource, ToolChannel};

/// Tool call as it came in, with its secrets.
#[derive(Clone, Copy)]
pub struct RawToolCall<'a> {
    /// Id under which the model asked for the call.
    pub tool_call_id: &'a str,
    /// Name of the tool.
    pub tool: &'a str,
    /// Input: recorded as JSON if it is JSON, else as text.
    pub input: &'a str,
    /// Channel of the call, such as the conversation or an SDK.
    pub via: ToolChannel<'a>,
    /// Source of the knowledge: observed, reported or inferred.
    pub source: EventSource,
}

/// Result of a tool call, with its secrets.
#[derive(Clone, Copy)]
pub struct RawToolResult<'a> {
    /// Output: recorded as JSON if it is an object or an array, else as text.
    pub output: &'a str,
    /// True if the call failed.
    pub is_error: bool,
    /// Duration of the call, if known.
    pub latency: Option<Duration>,
}
