//! The vendors' own shapes.

pub(crate) mod chat;
pub(crate) mod messages;
pub(crate) mod responses;

use reenact_json::{Kind, Limits, Value};

use crate::endpoint::Endpoint;
use crate::exchange::text;
use crate::message::{Answer, ToolCall, Usage, VendorError};

/// A stream being put together.
pub(crate) enum Reassembly {
    Chat(chat::Stream),
    Responses(responses::Stream),
    Messages(messages::Stream),
}

impl Reassembly {
    pub(crate) fn of(endpoint: Endpoint) -> Option<Self> {
        Some(match endpoint {
            Endpoint::ChatCompletions => Self::Chat(chat::Stream::default()),
            Endpoint::Responses => Self::Responses(responses::Stream::default()),
            Endpoint::Messages => Self::Messages(messages::Stream::default()),
            Endpoint::Models => return None,
        })
    }

    /// Takes the name and the data of the next event. What is not JSON that we read is left out of the answer; the bytes are kept
    /// elsewhere.
    pub(crate) fn take(&mut self, name: &str, data: &str) {
        if let Self::Chat(stream) = self
            && data == "[DONE]"
        {
            return stream.done();
        }
        let Ok(event) = Value::parse(data.as_bytes(), &Limits::default()) else { return };
        match self {
            Self::Chat(stream) => stream.take(event),
            Self::Responses(stream) => stream.take(&kind(event, name), event),
            Self::Messages(stream) => stream.take(&kind(event, name), event),
        }
    }

    pub(crate) fn finish(self) -> Answer {
        match self {
            Self::Chat(stream) => stream.finish(),
            Self::Responses(stream) => stream.finish(),
            Self::Messages(stream) => stream.finish(),
        }
    }
}

/// What an event is. Clients take the name of the event where its data has no type.
pub(crate) fn kind(event: Value<'_>, name: &str) -> String {
    text(event.member("type")).unwrap_or_else(|| name.to_owned())
}

/// Follows member names into a value.
fn at<'a>(value: Value<'a>, path: &[&str]) -> Option<Value<'a>> {
    path.iter().try_fold(value, |value, name| value.member(name))
}

fn count(value: Value<'_>, path: &[&str]) -> u64 {
    at(value, path).and_then(|count| count.whole()).unwrap_or_default()
}

/// OpenAI's usage, whose two interfaces differ in the names.
fn openai_usage(usage: Option<Value<'_>>) -> Option<Usage> {
    let usage = usage.filter(|usage| usage.kind() == Kind::Object)?;
    let sum = |one: &[&str], other: &[&str]| count(usage, one).saturating_add(count(usage, other));
    Some(Usage {
        input_tokens: sum(&["prompt_tokens"], &["input_tokens"]),
        output_tokens: sum(&["completion_tokens"], &["output_tokens"]),
        cached_input_tokens: sum(
            &["prompt_tokens_details", "cached_tokens"],
            &["input_tokens_details", "cached_tokens"],
        ),
        cache_write_tokens: 0,
    })
}

/// `{"error": {"type": …, "message": …}}`, which both vendors write.
fn error(document: Value<'_>) -> Option<VendorError> {
    error_of(document.member("error"))
}

/// The value of that `error`.
fn error_of(error: Option<Value<'_>>) -> Option<VendorError> {
    let error = error.filter(|error| error.kind() == Kind::Object)?;
    let word = |name: &str| text(error.member(name));
    Some(VendorError {
        kind: word("type").or_else(|| word("code")).unwrap_or_default(),
        message: word("message").unwrap_or_default(),
    })
}

/// Tool calls that grow while their stream goes on, found by a key that the vendor gives them.
#[derive(Default)]
struct Growing {
    calls: Vec<(String, ToolCall)>,
}

impl Growing {
    /// A hostile stream may name as many calls as it likes; no answer has more.
    const MOST: usize = 1024;

    fn get(&mut self, key: &str) -> Option<&mut ToolCall> {
        let found = self.calls.iter().position(|(known, _)| known == key);
        let at = match found {
            Some(at) => at,
            None if self.calls.len() == Self::MOST => return None,
            None => {
                self.calls.push((key.to_owned(), ToolCall::default()));
                self.calls.len() - 1
            }
        };
        self.calls.get_mut(at).map(|(_, call)| call)
    }

    /// One that has been named before.
    fn known(&mut self, key: &str) -> Option<&mut ToolCall> {
        self.calls.iter_mut().find(|(known, _)| known == key).map(|(_, call)| call)
    }

    fn finish(self) -> Vec<ToolCall> {
        self.calls.into_iter().map(|(_, call)| call).collect()
    }
}
