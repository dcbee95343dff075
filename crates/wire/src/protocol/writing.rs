//! Helpers that the writers of several interfaces share.

use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::{Limits, Value};

use crate::message::ToolCall;

/// Appends one event of a stream, with a name if the interface names its events.
pub(super) fn write_event(name: Option<&str>, data: &str, out: &mut String) {
    if let Some(name) = name {
        out.push_str("event: ");
        out.push_str(name);
        out.push('\n');
    }
    out.push_str("data: ");
    out.push_str(data);
    out.push_str("\n\n");
}

/// Writes a member with a whole number.
pub(super) fn write_number(object: &mut PrintObjectWriter<'_>, name: &str, number: u64) {
    object.name(name).push_str(&number.to_string());
}

/// Appends the input of a call as JSON. An empty input becomes an empty object, and a text that is not JSON
/// becomes a string.
pub(super) fn write_tool_input(call: &ToolCall, out: &mut String) {
    match Value::parse(call.input.as_bytes(), &Limits::default()) {
        Ok(_) => out.push_str(&call.input),
        Err(_) if call.input.is_empty() => out.push_str("{}"),
        Err(_) => print::write_string(&call.input, out),
    }
}
