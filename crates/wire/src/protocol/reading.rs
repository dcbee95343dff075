//! Helpers that the parsers of several interfaces share.

use reenact_json::{Value, ValueKind};

use crate::exchange::string_text;
use crate::message::{ToolCall, VendorError};
use crate::tool_calls::UnreadableAnswer;

/// Returns the type of an event. Clients take the name of the event if its data has no `type`.
pub(super) fn event_type(event: Value<'_>, name: &str) -> String {
    string_text(event.member("type")).unwrap_or_else(|| name.to_owned())
}

/// Follows member names into a value; `None` if one of them is missing.
pub(super) fn member_at<'a>(value: Value<'a>, path: &[&str]) -> Option<Value<'a>> {
    path.iter().try_fold(value, |value, name| value.member(name))
}

/// Returns a whole number behind member names; 0 if it is missing or of another type.
pub(super) fn count_at(value: Value<'_>, path: &[&str]) -> u64 {
    member_at(value, path).and_then(|count| count.unsigned_integer()).unwrap_or_default()
}

/// Returns true if the named member is an array.
pub(super) fn is_list(document: Value<'_>, name: &str) -> bool {
    document.member(name).is_some_and(|list| list.kind() == ValueKind::Array)
}

/// Returns a member that an answer has as an object; `None` if it is missing or null.
///
/// # Errors
/// [`UnreadableAnswer`] for a value of another type: some client may look for tool calls in it all the same.
pub(super) fn optional_object<'a>(member: Option<Value<'a>>) -> Result<Option<Value<'a>>, UnreadableAnswer> {
    let member = member.filter(|member| !member.is_null());
    if member.is_none_or(|member| is_object(&member)) { Ok(member) } else { Err(UnreadableAnswer) }
}

/// Returns the elements of a member that an answer has as a list of objects; none if it is missing or null.
///
/// # Errors
/// [`UnreadableAnswer`] for a value or an element of another type.
pub(super) fn optional_objects<'a>(member: Option<Value<'a>>) -> Result<Vec<Value<'a>>, UnreadableAnswer> {
    let Some(list) = member.filter(|member| !member.is_null()) else { return Ok(Vec::new()) };
    let elements: Vec<Value<'a>> = list.elements().collect();
    let is_list = list.kind() == ValueKind::Array && elements.iter().all(is_object);
    if is_list { Ok(elements) } else { Err(UnreadableAnswer) }
}

/// Returns the input of a tool call as text: of a string its content, of another value its JSON, nothing of null.
pub(super) fn input_text(input: Option<Value<'_>>) -> String {
    let Some(input) = input.filter(|input| !input.is_null()) else { return String::new() };
    string_text(Some(input)).unwrap_or_else(|| String::from_utf8_lossy(input.text()).into_owned())
}

pub(super) fn is_object(value: &Value<'_>) -> bool {
    value.kind() == ValueKind::Object
}

/// Parses `{"error": {"type": …, "message": …}}`.
pub(super) fn vendor_error(document: Value<'_>) -> Option<VendorError> {
    vendor_error_from(document.member("error"))
}

/// Parses the value of such an `error` member. The `code` stands in for a missing `type`.
pub(super) fn vendor_error_from(error: Option<Value<'_>>) -> Option<VendorError> {
    let error = error.filter(|error| error.kind() == ValueKind::Object)?;
    let word = |name: &str| string_text(error.member(name));
    Some(VendorError {
        kind: word("type").or_else(|| word("code")).unwrap_or_default(),
        message: word("message").unwrap_or_default(),
    })
}

/// Returns the status of a denial: an error that has reenact's code and one of the two types that reenact
/// writes.
pub(super) fn denied_status(error: Value<'_>) -> Option<u16> {
    let is = |name: &str, word: &str| error.member(name).is_some_and(|found| found.is_string(word));
    is("code", crate::error_reply::DENIED)
        .then(|| if is("type", crate::error_reply::RATE_LIMIT) { 429 } else { 403 })
}

/// Tool calls of a stream that is being assembled, by the key that the vendor gives them.
#[derive(Debug, Default)]
pub(super) struct PartialCalls {
    calls: Vec<(String, ToolCall)>,
}

impl PartialCalls {
    /// Largest number of calls in one answer; a hostile stream could name any number.
    const MAX_CALLS: usize = 1024;

    /// Returns the call with this key, and begins it if there is none. Returns `None` at the limit.
    pub(super) fn get_or_begin(&mut self, key: &str) -> Option<&mut ToolCall> {
        let found = self.calls.iter().position(|(known, _)| known == key);
        let at = match found {
            Some(at) => at,
            None if self.calls.len() == Self::MAX_CALLS => return None,
            None => {
                self.calls.push((key.to_owned(), ToolCall::default()));
                self.calls.len() - 1
            }
        };
        self.calls.get_mut(at).map(|(_, call)| call)
    }

    /// Returns the call with this key, if it has begun.
    pub(super) fn find(&mut self, key: &str) -> Option<&mut ToolCall> {
        self.calls.iter_mut().find(|(known, _)| known == key).map(|(_, call)| call)
    }

    /// Returns the keys and the calls so far, in the order in which they began.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &ToolCall)> {
        self.calls.iter().map(|(key, call)| (key.as_str(), call))
    }

    /// Returns the calls in the order in which they began.
    pub(super) fn finish(self) -> Vec<ToolCall> {
        self.calls.into_iter().map(|(_, call)| call).collect()
    }
}
