//! Calls of tools, as they were seen, told or inferred.

use core::time::Duration;

pub use reenact_formats::rer::payload::{Source, Via};

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
