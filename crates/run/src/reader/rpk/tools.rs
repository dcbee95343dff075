//! Tool calls and results in steps of an `.rpk`.

use std::borrow::Cow;

use reenact_formats::rpk::RpkStepView;
use reenact_json::{Value, ValueKind};

use super::first_member;
use crate::reader::rer;
use crate::tool::{JsonText, RecordedToolCall, RecordedToolResult};
use crate::unreadable::{UnreadablePayload, optional_milliseconds, pick_members};

/// Returns the text of a value that is a string.
fn string_of(value: Option<Value<'_>>) -> Option<Cow<'_, str>> {
    value?.string()
}

/// Reads a step as a tool call. The input is `kwargs` or `args` if only one of them is given, else all of
/// `input`.
///
/// # Errors
/// If no tool is named, neither in the input nor in the metadata.
pub(in crate::reader) fn tool_call(step: Value<'_>) -> Result<RecordedToolCall<'_>, UnreadablePayload> {
    let view = RpkStepView::of(step);
    let input = view.input.filter(|input| input.kind() == ValueKind::Object);
    // A step of reenact.
    if let Some(input) = input
        && first_member(Some(input), ["step_id"]).is_some()
    {
        return rer::tool_call(input);
    }
    let tool = string_of(first_member(input, ["tool", "name"]))
        .or_else(|| string_of(first_member(view.metadata, ["tool"])));
    let [args, kwargs, arguments] =
        input.map_or([None; 3], |input| pick_members(input, ["args", "kwargs", "arguments"]));
    let is_empty = |list: Option<Value<'_>>| {
        list.is_none_or(|list| list.elements().next().is_none() && list.members().next().is_none())
    };
    let given = match (args, kwargs) {
        (None, None) => arguments.or(input),
        (args, kwargs) if is_empty(args) => kwargs.or(args),
        (args, kwargs) if is_empty(kwargs) => args,
        _ => input,
    };
    Ok(RecordedToolCall {
        step_id: string_of(view.id),
        tool_call_id: string_of(first_member(input, ["call_id"])),
        tool: tool.ok_or(UnreadablePayload::Missing { member: "tool" })?,
        input: given.map(JsonText::of),
        via: None,
        source: None,
    })
}

/// Reads a step as a tool result: the member `result` of the output, or else all of the output.
pub(in crate::reader) fn tool_result(step: Value<'_>) -> Result<RecordedToolResult<'_>, UnreadablePayload> {
    let view = RpkStepView::of(step);
    let output = view.output.filter(|output| output.kind() == ValueKind::Object);
    // A step of reenact.
    if let Some(output) = output
        && first_member(Some(output), ["step_id"]).is_some()
    {
        return rer::tool_result(output);
    }
    let [result] = output.map_or([None], |output| pick_members(output, ["result"]));
    let latency = first_member(view.metadata, ["latency_ms", "duration_ms"]);
    Ok(RecordedToolResult {
        output: result.or(view.output).map(JsonText::of),
        latency: optional_milliseconds("latency_ms", latency).ok().flatten(),
        ..RecordedToolResult::default()
    })
}
