//! What readers of requests and answers have in common.

use reenact_json::{Kind, Value};

use crate::exchange::text;
use crate::message::{ToolCall, VendorError};

/// Returns the type of an event. Clients take the name of the event where its data has no type.
pub(super) fn kind(event: Value<'_>, name: &str) -> String {
    text(event.member("type")).unwrap_or_else(|| name.to_owned())
}

/// Follows member names into a value.
pub(super) fn at<'a>(value: Value<'a>, path: &[&str]) -> Option<Value<'a>> {
    path.iter().try_fold(value, |value, name| value.member(name))
}

pub(super) fn count(value: Value<'_>, path: &[&str]) -> u64 {
    at(value, path).and_then(|count| count.whole()).unwrap_or_default()
}

pub(super) fn is_list(document: Value<'_>, name: &str) -> bool {
    document.member(name).is_some_and(|list| list.kind() == Kind::Array)
}

pub(super) fn is_object(value: &Value<'_>) -> bool {
    value.kind() == Kind::Object
}

/// Reads `{"error": {"type": …, "message": …}}`.
pub(super) fn error(document: Value<'_>) -> Option<VendorError> {
    error_of(document.member("error"))
}

/// Reads the value of that `error`.
pub(super) fn error_of(error: Option<Value<'_>>) -> Option<VendorError> {
    let error = error.filter(|error| error.kind() == Kind::Object)?;
    let word = |name: &str| text(error.member(name));
    Some(VendorError {
        kind: word("type").or_else(|| word("code")).unwrap_or_default(),
        message: word("message").unwrap_or_default(),
    })
}

/// Returns the status of a denial whose error has our code and one of the two types that we write.
pub(super) fn denied_status(error: Value<'_>) -> Option<u16> {
    let is = |name: &str, word: &str| error.member(name).is_some_and(|found| found.is_string(word));
    is("code", crate::refusal::DENIED).then(|| if is("type", crate::refusal::RATE_LIMIT) { 429 } else { 403 })
}

/// Tool calls that grow while their stream goes on, found by a key that the vendor gives them.
#[derive(Default)]
pub(super) struct Growing {
    calls: Vec<(String, ToolCall)>,
}

impl Growing {
    /// Bound on the calls of one answer; a hostile stream may name as many as it likes.
    const MAX_CALLS: usize = 1024;

    /// The call of this key, which begins if it is not known. `None` if there are too many.
    pub(super) fn get(&mut self, key: &str) -> Option<&mut ToolCall> {
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

    /// The call of this key, if it has begun.
    pub(super) fn known(&mut self, key: &str) -> Option<&mut ToolCall> {
        self.calls.iter_mut().find(|(known, _)| known == key).map(|(_, call)| call)
    }

    pub(super) fn finish(self) -> Vec<ToolCall> {
        self.calls.into_iter().map(|(_, call)| call).collect()
    }
}
