//! What writers of answers have in common.

use reenact_json::print::{self, Object};
use reenact_json::{Limits, Value};

use crate::message::ToolCall;

/// Appends one event of a stream.
pub(super) fn event(name: Option<&str>, data: &str, out: &mut String) {
    if let Some(name) = name {
        out.push_str("event: ");
        out.push_str(name);
        out.push('\n');
    }
    out.push_str("data: ");
    out.push_str(data);
    out.push_str("\n\n");
}

pub(super) fn number(object: &mut Object<'_>, name: &str, number: u64) {
    object.name(name).push_str(&number.to_string());
}

/// Appends the input of a call as JSON; a text that is no JSON becomes a string.
pub(super) fn input(call: &ToolCall, out: &mut String) {
    match Value::parse(call.input.as_bytes(), &Limits::default()) {
        Ok(_) => out.push_str(&call.input),
        Err(_) if call.input.is_empty() => out.push_str("{}"),
        Err(_) => print::string(&call.input, out),
    }
}
