//! Payloads of tool calls and their results, be they observed, reported or inferred.

use super::payload;
use super::vocabulary::EventSource;

payload! {
    /// Payload of `rer.tool.called`.
    ToolCalled, ToolCalledView;
    /// Input: JSON if it can be, else text.
    input: required json,
    /// Origin of the event.
    source: required word(EventSource),
    /// Step that the call begins.
    step_id: required step,
    /// Name of the tool.
    tool: required text,
    /// Id by which the model asked for the call.
    tool_call_id: required text,
    /// Channel of the call: [`ToolChannel::text`](super::ToolChannel::text).
    via: required text,
}

payload! {
    /// Payload of `rer.tool.returned`.
    ToolReturned, ToolReturnedView;
    /// True if the call failed.
    is_error: required flag,
    /// Duration of the call, where it is known, in milliseconds.
    latency_ms: optional whole,
    /// Output: JSON if it is an object or an array, else text.
    output: required json,
    /// Origin of the event.
    source: required word(EventSource),
    /// Step that the result ends.
    step_id: required step,
    /// Name of the tool.
    tool: required text,
    /// Id by which the model asked for the call.
    tool_call_id: required text,
}
