//! Payloads of RER events that another runtime wrote: what they mean, as far as their members say.
//!
//! RER fixes the types of events and leaves payloads to the runtime, so that each writes its own members:
//!
//! ```json
//! {"step_id":"s1","model":"claude-sonnet-4-5","input":"What is 2+2?"}
//! {"step_id":"s1","output":"4","usage":{"input_tokens":9,"output_tokens":1}}
//! ```
//!
//! [`MEMBERS`] lists the names that are known for each meaning. A meaning of which a payload has two names is not known, since one of them
//! would be a guess; a payload of which nothing is known is shown as it stands. Start reading at [`ForeignPayload::of`].

use std::borrow::Cow;
use std::time::Duration;

use reenact_formats::FormatId;
use reenact_formats::rer::EventType;
use reenact_json::{Value, ValueKind};
use reenact_wire::{ModelAnswer, ToolCall, Usage, VendorError};

use crate::event::Event;
use crate::exchange::{AnswerDetail, ExchangeAnswer, ExchangeRequest, ExchangeRequestBody};
use crate::tool::{JsonText, RecordedToolCall, RecordedToolResult};
use crate::unreadable::optional_milliseconds;

/// Meaning of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Model,
    Provider,
    /// Prompt or messages that were sent to a model.
    Input,
    /// Text or message that a model answered.
    Output,
    /// Object that holds counts of tokens.
    Usage,
    InputTokens,
    OutputTokens,
    Latency,
    /// Failure, in words or as an object.
    Error,
    Tool,
    ToolInput,
    ToolOutput,
}

/// Number of meanings.
const MEANINGS: usize = 12;

/// Names of members, by meaning. A name may have one meaning in a call and another in a return.
static MEMBERS: [(Meaning, &[&str]); MEANINGS] = [
    (Meaning::Model, &["model", "model_id", "model_name"]),
    (Meaning::Provider, &["provider", "vendor"]),
    (Meaning::Input, &["input", "prompt", "messages"]),
    (Meaning::Output, &["output", "response", "completion", "text", "content", "message"]),
    (Meaning::Usage, &["usage", "token_usage", "tokens"]),
    (Meaning::InputTokens, &["input_tokens", "prompt_tokens", "tokens_in", "inputTokens", "promptTokens"]),
    (
        Meaning::OutputTokens,
        &["output_tokens", "completion_tokens", "tokens_out", "outputTokens", "completionTokens"],
    ),
    (Meaning::Latency, &["latency_ms", "duration_ms"]),
    (Meaning::Error, &["error"]),
    (Meaning::Tool, &["tool", "tool_name", "tool_id", "name"]),
    (Meaning::ToolInput, &["input", "arguments", "args", "params", "parameters"]),
    (Meaning::ToolOutput, &["output", "result", "content"]),
];

/// Returns the one member of a meaning; `None` if there is none, or more than one. `null` counts as absent.
fn member(object: Value<'_>, meaning: Meaning) -> Option<Value<'_>> {
    let (_, names) = MEMBERS.iter().find(|(known, _)| *known == meaning)?;
    let mut found = object
        .members()
        .filter(|(name, value)| !value.is_null() && names.iter().any(|known| name.is_string(known)));
    let (_, value) = found.next()?;
    found.next().is_none().then_some(value)
}

/// Returns the member of a meaning, if it is a string.
fn text(object: Value<'_>, meaning: Meaning) -> Option<Cow<'_, str>> {
    member(object, meaning)?.string()
}

/// Members that only payloads of reenact have, in an event that calls, and in one that returns.
const OWN_CALL: [&str; 2] = ["http", "match_key"];
const OWN_RETURN: [&str; 3] = ["http", "complete", "ended_by"];

/// Returns true if the payload of a model call lacks all that a recorder of reenact writes.
pub(crate) fn is_foreign_call(payload: Value<'_>) -> bool {
    payload.select_members(OWN_CALL).iter().all(Option::is_none)
}

/// Returns true if the payload of a model's answer lacks all that a recorder of reenact writes.
pub(crate) fn is_foreign_return(payload: Value<'_>) -> bool {
    payload.select_members(OWN_RETURN).iter().all(Option::is_none)
}

/// Payload of a call or a return that another runtime wrote, as it stands.
#[derive(Debug, Clone, Copy)]
pub struct ForeignPayload<'r> {
    /// The whole payload.
    pub payload: Value<'r>,
    /// Input of a model call, or the output of its return; `None` if no member says.
    pub content: Option<Value<'r>>,
}

impl<'r> ForeignPayload<'r> {
    /// Reads the payload of an event that calls a model or returns from it; `None` for any other event, and if reenact may have written
    /// the payload.
    pub(crate) fn of(event: &Event<'r>) -> Option<Self> {
        if event.payload_format() != FormatId::Rer {
            return None;
        }
        let payload = event.payload().value().filter(|payload| payload.kind() == ValueKind::Object)?;
        let content = match event.kind()? {
            EventType::ModelCalled if is_foreign_call(payload) => Meaning::Input,
            EventType::ModelReturned if is_foreign_return(payload) => Meaning::Output,
            _ => return None,
        };
        Some(Self { payload, content: member(payload, content) })
    }
}

/// Reads a request to a model; `None` if neither the model nor the input is known.
pub(crate) fn request<'v>(payload: Value<'v>) -> Option<ExchangeRequest<'v>> {
    let (model, input) = (text(payload, Meaning::Model), member(payload, Meaning::Input));
    if model.is_none() && input.is_none() {
        return None;
    }
    let body = match input {
        Some(input) => match input.string() {
            Some(prompt) => ExchangeRequestBody::Prompt(prompt),
            None if input.kind() == ValueKind::Object => {
                ExchangeRequestBody::Members(Cow::Borrowed(input.text()))
            }
            // A list of messages is a member of a body, and the payload is what has it.
            None => ExchangeRequestBody::Members(Cow::Borrowed(payload.text())),
        },
        None => ExchangeRequestBody::Members(Cow::Borrowed(payload.text())),
    };
    Some(ExchangeRequest {
        provider: text(payload, Meaning::Provider).unwrap_or_default(),
        model,
        endpoint: None,
        method: Cow::Borrowed(""),
        path: Cow::Borrowed(""),
        headers: Vec::new(),
        body,
        match_key: None,
        source: None,
    })
}

/// Reads the answer of a model; `None` if nothing of it is known.
pub(crate) fn answer<'v>(payload: Value<'v>) -> Option<ExchangeAnswer<'v>> {
    let (output, usage) = (member(payload, Meaning::Output), usage(payload));
    let error = member(payload, Meaning::Error).filter(|error| error.boolean().is_none());
    if output.is_none() && usage.is_none() && error.is_none() {
        return None;
    }
    let (said, tool_calls) = output.map(output_message).unwrap_or_default();
    let message = ModelAnswer {
        model: text(payload, Meaning::Model).map(Cow::into_owned),
        text: said,
        tool_calls,
        usage,
        error: error.map(vendor_error),
        is_complete: true,
        ..ModelAnswer::default()
    };
    Some(ExchangeAnswer {
        recorded_message: Some(Box::new(message)),
        latency: latency(payload),
        ..ExchangeAnswer::complete_with(AnswerDetail::Message)
    })
}

/// Returns the text of an output and the tool calls in it: a string as it reads, a message that has them, else the JSON as it stands.
fn output_message(output: Value<'_>) -> (String, Vec<ToolCall>) {
    let plain = || String::from_utf8_lossy(output.text()).into_owned();
    match output.string() {
        Some(text) => (text.into_owned(), Vec::new()),
        None => message_parts(output).unwrap_or_else(|| (plain(), Vec::new())),
    }
}

/// Reads a message, `{"content":"…"}` or `{"text":"…"}`, or a list of parts; `None` if a part is neither a text nor a tool call.
fn message_parts(output: Value<'_>) -> Option<(String, Vec<ToolCall>)> {
    let content = match output.kind() {
        ValueKind::Object => match output.select_members(["content", "text"]) {
            [Some(content), None] | [None, Some(content)] => content,
            _ => return None,
        },
        _ => output,
    };
    if let Some(text) = content.string() {
        return Some((text.into_owned(), Vec::new()));
    }
    if content.kind() != ValueKind::Array || content.elements().next().is_none() {
        return None;
    }
    let (mut text, mut calls) = (String::new(), Vec::new());
    for part in content.elements() {
        let [kind, words, name, input, id] = part.select_members(["type", "text", "name", "input", "id"]);
        match kind?.string()?.as_ref() {
            "text" => text.push_str(&words?.string()?),
            "tool_use" => calls.push(ToolCall {
                id: id.and_then(|id| id.string()).unwrap_or_default().into_owned(),
                name: name?.string()?.into_owned(),
                input: String::from_utf8_lossy(input?.text()).into_owned(),
            }),
            _ => return None,
        }
    }
    Some((text, calls))
}

/// Returns the counts of tokens, from a member that holds them or from the payload itself.
fn usage(payload: Value<'_>) -> Option<Usage> {
    let counts = member(payload, Meaning::Usage).filter(|usage| usage.kind() == ValueKind::Object);
    let count = |meaning| member(counts.unwrap_or(payload), meaning)?.unsigned_integer();
    let (input, output) = (count(Meaning::InputTokens), count(Meaning::OutputTokens));
    input.or(output).map(|_| Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        ..Usage::default()
    })
}

/// Returns an error in the runtime's own words.
fn vendor_error(error: Value<'_>) -> VendorError {
    let [kind, code, message] = error.select_members(["type", "code", "message"]);
    let word = |value: Option<Value<'_>>| value?.string().map(Cow::into_owned);
    VendorError {
        kind: word(kind).or_else(|| word(code)).unwrap_or_else(|| "error".into()),
        message: word(message).or_else(|| word(Some(error))).unwrap_or_else(|| output_message(error).0),
    }
}

/// Returns the duration of a call, in whole or broken milliseconds.
fn latency(payload: Value<'_>) -> Option<Duration> {
    optional_milliseconds("latency_ms", member(payload, Meaning::Latency)).ok().flatten()
}

/// Reads the call of a tool that is named by another member than `tool`; `None` if none of the known names it.
pub(crate) fn tool_call<'v>(payload: Value<'v>) -> Option<RecordedToolCall<'v>> {
    Some(RecordedToolCall {
        step_id: payload.member("step_id").and_then(|id| id.string()),
        tool_call_id: payload.member("tool_call_id").and_then(|id| id.string()),
        tool: text(payload, Meaning::Tool)?,
        input: tool_input(payload),
        via: None,
        source: None,
    })
}

/// Returns the input of a tool call, under any of the known names.
pub(crate) fn tool_input<'v>(payload: Value<'v>) -> Option<JsonText<'v>> {
    member(payload, Meaning::ToolInput).map(JsonText::of)
}

/// Fills in what a result does not have under the names that reenact writes.
pub(crate) fn complete_tool_result<'v>(
    payload: Value<'v>,
    result: RecordedToolResult<'v>,
) -> RecordedToolResult<'v> {
    let error = || member(payload, Meaning::Error).filter(|error| error.boolean().is_none());
    let output = result.output.or_else(|| member(payload, Meaning::ToolOutput).map(JsonText::of));
    let failed = output.is_none() && error().is_some();
    RecordedToolResult {
        is_error: result.is_error
            || failed
            || payload.member("error").and_then(|error| error.boolean()) == Some(true),
        output: output.or_else(|| error().map(JsonText::of)),
        latency: result.latency.or_else(|| latency(payload)),
        ..result
    }
}

#[cfg(test)]
mod tests {
    use reenact_json::Limits;

    use super::*;

    fn parse(text: &str) -> Value<'_> {
        Value::parse(text.as_bytes(), &Limits::default()).unwrap()
    }

    #[test]
    fn every_meaning_has_one_row() {
        for (at, (meaning, names)) in MEMBERS.iter().enumerate() {
            assert_eq!(*meaning as usize, at);
            assert!(!names.is_empty());
        }
    }

    #[test]
    fn two_names_of_one_meaning_are_none() {
        assert!(member(parse(r#"{"prompt":"a"}"#), Meaning::Input).is_some());
        assert!(member(parse(r#"{"prompt":"a","input":null}"#), Meaning::Input).is_some());
        assert!(member(parse(r#"{"prompt":"a","input":"b"}"#), Meaning::Input).is_none());
        assert!(member(parse(r#"{"question":"a"}"#), Meaning::Input).is_none());
    }

    #[test]
    fn texts_of_outputs() {
        for (output, text) in [
            (r#""four""#, "four"),
            (r#"{"role":"assistant","content":"four"}"#, "four"),
            (r#"{"content":[{"type":"text","text":"fo"},{"type":"text","text":"ur"}]}"#, "four"),
            (r#"[{"type":"text","text":"four"}]"#, "four"),
            // What is not all text is shown as it stands.
            (
                r#"[{"type":"text","text":"four"},{"type":"image"}]"#,
                r#"[{"type":"text","text":"four"},{"type":"image"}]"#,
            ),
            (r#"{"content":"a","text":"b"}"#, r#"{"content":"a","text":"b"}"#),
            (r#"{"answer":4}"#, r#"{"answer":4}"#),
            ("[]", "[]"),
            ("4.0", "4.0"),
        ] {
            assert_eq!(output_message(parse(output)), (text.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn tool_calls_of_outputs() {
        let output = r#"{"content":[{"type":"text","text":"a"},{"type":"tool_use","id":"c1","name":"now","input":{"tz":1}}]}"#;
        let call = ToolCall { id: "c1".into(), name: "now".into(), input: r#"{"tz":1}"#.into() };
        assert_eq!(output_message(parse(output)), ("a".to_owned(), vec![call]));
    }

    #[test]
    fn tokens_by_any_known_name() {
        let of = |text| usage(parse(text)).map(|usage| (usage.input_tokens, usage.output_tokens));
        assert_eq!(of(r#"{"usage":{"input_tokens":9,"output_tokens":1}}"#), Some((9, 1)));
        assert_eq!(
            of(r#"{"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}"#),
            Some((9, 1))
        );
        assert_eq!(of(r#"{"tokens_in":9,"tokens_out":1}"#), Some((9, 1)));
        assert_eq!(of(r#"{"tokens":10}"#), None);
        assert_eq!(of(r#"{"usage":{"input_tokens":-1}}"#), None);
        assert_eq!(of(r#"{"usage":{"input_tokens":1,"prompt_tokens":2}}"#), None);
    }
}
