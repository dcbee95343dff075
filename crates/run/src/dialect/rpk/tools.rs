//! What a step says of a tool.

use std::borrow::Cow;

use reenact_formats::rpk::StepView;
use reenact_json::{Kind as JsonKind, Value};

use super::first;
use crate::dialect::rer;
use crate::tool::{Json, ToolCall, ToolResult};
use crate::unreadable::{Unreadable, milliseconds, pick};

fn word(value: Option<Value<'_>>) -> Option<Cow<'_, str>> {
    value?.string()
}

/// What was asked of a tool.
pub(in crate::dialect) fn tool_call(step: Value<'_>) -> Result<ToolCall<'_>, Unreadable> {
    let view = StepView::of(step);
    let input = view.input.filter(|input| input.kind() == JsonKind::Object);
    // Ours.
    if let Some(input) = input
        && first(Some(input), ["step_id"]).is_some()
    {
        return rer::tool_call(input);
    }
    let tool = word(first(input, ["tool", "name"])).or_else(|| word(first(view.metadata, ["tool"])));
    let [args, kwargs, arguments] =
        input.map_or([None; 3], |input| pick(input, ["args", "kwargs", "arguments"]));
    let is_empty = |list: Option<Value<'_>>| {
        list.is_none_or(|list| list.elements().next().is_none() && list.members().next().is_none())
    };
    let given = match (args, kwargs) {
        (None, None) => arguments.or(input),
        (args, kwargs) if is_empty(args) => kwargs.or(args),
        (args, kwargs) if is_empty(kwargs) => args,
        _ => input,
    };
    Ok(ToolCall {
        step_id: word(view.id),
        tool_call_id: word(first(input, ["call_id"])),
        tool: tool.ok_or(Unreadable::Missing { member: "tool" })?,
        input: given.map(Json::of),
        via: None,
        source: None,
    })
}

/// What a tool gave.
pub(in crate::dialect) fn tool_result(step: Value<'_>) -> Result<ToolResult<'_>, Unreadable> {
    let view = StepView::of(step);
    let output = view.output.filter(|output| output.kind() == JsonKind::Object);
    // Ours.
    if let Some(output) = output
        && first(Some(output), ["step_id"]).is_some()
    {
        return rer::tool_result(output);
    }
    let [result] = output.map_or([None], |output| pick(output, ["result"]));
    let latency = first(view.metadata, ["latency_ms", "duration_ms"]);
    Ok(ToolResult {
        output: result.or(view.output).map(Json::of),
        latency: milliseconds("latency_ms", latency).ok().flatten(),
        ..ToolResult::default()
    })
}
