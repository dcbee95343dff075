//! A request and its answer, read by the rules of their endpoint.

use reenact_json::{Limits, Value};

use crate::endpoint::Endpoint;
use crate::message::{Answer, ToolCall, ToolResult};
use crate::sse::SseReader;
use crate::vendor::{Reassembly, chat, messages, responses};

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The model.
    pub model: Option<String>,
    /// Whether the answer is to come as a stream.
    pub stream: bool,
    /// The tool calls that earlier answers in it contain.
    pub earlier_calls: Vec<ToolCall>,
    /// The results of tools that it hands over.
    pub tool_results: Vec<ToolResult>,
    /// Tools that the vendor itself is to run, by the names that it gives them.
    pub vendor_tools: Vec<String>,
}

/// Reads the body of a request; `None` if it is not JSON that we read.
pub fn request(endpoint: Endpoint, body: &[u8]) -> Option<Request> {
    let document = Value::parse(body, &Limits::default()).ok()?;
    Some(match endpoint {
        Endpoint::ChatCompletions => chat::request(document),
        Endpoint::Responses => responses::request(document),
        Endpoint::Messages => messages::request(document),
        Endpoint::Models => {
            let [model, stream] = document.pick(["model", "stream"]);
            Request::of(model, stream)
        }
    })
}

impl Request {
    /// With the members that all vendors call by the same name.
    pub(crate) fn of(model: Option<Value<'_>>, stream: Option<Value<'_>>) -> Self {
        let stream = stream.and_then(|stream| stream.boolean()) == Some(true);
        Self { model: text(model), stream, ..Self::default() }
    }
}

/// Reads the body of an answer, decoded: a document, or a stream of events.
pub fn answer(endpoint: Endpoint, is_stream: bool, body: &[u8]) -> Option<Answer> {
    if !is_stream {
        let document = Value::parse(body, &Limits::default()).ok()?;
        return match endpoint {
            Endpoint::ChatCompletions => Some(chat::answer(document)),
            Endpoint::Responses => Some(responses::answer(document)),
            Endpoint::Messages => Some(messages::answer(document)),
            Endpoint::Models => None,
        };
    }
    let mut reassembly = Reassembly::of(endpoint)?;
    let mut reader = SseReader::new();
    let mut events = reader.push(body);
    events.extend(reader.finish());
    // No client acts on an event whose end never came.
    for event in events.iter().filter(|event| event.complete) {
        if let Some(data) = &event.data {
            reassembly.take(&event.name, data);
        }
    }
    Some(reassembly.finish())
}

/// Whether a `content-type` announces a stream of events.
pub fn is_stream(content_type: &str) -> bool {
    content_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
}

/// A string member's text.
pub(crate) fn text(value: Option<Value<'_>>) -> Option<String> {
    Some(value?.string()?.into_owned())
}
