//! Parsers for a request and its answer, for any interface.
//!
//! The functions here decode nothing: bodies must come without content codings. A body that is not JSON gives
//! `None`, since a recorder must accept whatever an agent sends. Start reading at [`parse_request`] and
//! [`parse_answer`].

use reenact_json::{Limits, Value};

use crate::call_ids::CallIds;
use crate::message::{ModelAnswer, ToolCall, ToolResult};
use crate::output_bound::OutputBound;
use crate::protocol::{Delivery, Endpoint};
use crate::sse::SseReader;
use crate::vendor::Vendor;

/// Meaning of a request: the model, the form of the answer, and the tools in the request's history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedRequest {
    /// Model that the request names.
    pub model: Option<String>,
    /// Form in which the answer is to come.
    pub delivery: Delivery,
    /// Tool calls in earlier answers, which the request repeats as history.
    pub earlier_calls: Vec<ToolCall>,
    /// Results of tools that the request hands to the model.
    pub tool_results: Vec<ToolResult>,
    /// Ids for calls of the answer that come without one; `None` if the interface gives every call an id.
    pub call_ids: Option<CallIds>,
    /// Largest output that the request asks for.
    pub output: OutputBound,
}

/// Parses a request, whose path may have a query. Returns `None` if the body is not JSON within the default
/// limits.
///
/// ```
/// use reenact_wire::{Endpoint, exchange};
///
/// let body = br#"{"model": "gpt-5", "messages": []}"#;
/// let request = exchange::parse_request(Endpoint::CHAT_COMPLETIONS, "/v1/chat/completions", body);
/// assert_eq!(request.and_then(|request| request.model).as_deref(), Some("gpt-5"));
/// ```
pub fn parse_request(endpoint: Endpoint, path: &str, body: &[u8]) -> Option<ParsedRequest> {
    let document = Value::parse(body, &Limits::default()).ok()?;
    let protocol = endpoint.protocol();
    Some(ParsedRequest { output: protocol.output_bound(document), ..protocol.parse_request(path, document) })
}

/// Parses a request to a vendor. Without a known interface there is no history to parse, but path or body may
/// still name a model.
pub fn parse_request_to(
    vendor: Vendor,
    endpoint: Option<Endpoint>,
    path: &str,
    body: &[u8],
) -> Option<ParsedRequest> {
    if let Some(endpoint) = endpoint {
        return parse_request(endpoint, path, body);
    }
    let plain = ParsedRequest::from_document(Value::parse(body, &Limits::default()).ok()?);
    Some(ParsedRequest { model: (vendor.0.model_in_path)(path).or(plain.model), ..plain })
}

impl ParsedRequest {
    /// Makes a request of the two members that most vendors call by the same name.
    pub(crate) fn from_members(model: Option<Value<'_>>, stream: Option<Value<'_>>) -> Self {
        let is_stream = stream.and_then(|stream| stream.boolean()) == Some(true);
        Self { model: string_text(model), delivery: Delivery::of(is_stream), ..Self::default() }
    }

    /// Makes a request of the `model` and `stream` members of a document alone.
    pub(crate) fn from_document(document: Value<'_>) -> Self {
        let [model, stream] = document.select_members(["model", "stream"]);
        Self::from_members(model, stream)
    }
}

/// Parses the decoded body of an answer: one document, or with `is_stream` a stream of events.
///
/// Returns `None` if the document is not JSON, or if the interface has no answers of this form. Events of a
/// stream that are incomplete or not JSON are skipped.
pub fn parse_answer(endpoint: Endpoint, is_stream: bool, body: &[u8]) -> Option<ModelAnswer> {
    if !is_stream {
        return endpoint.protocol().parse_answer(Value::parse(body, &Limits::default()).ok()?);
    }
    let mut reassembly = endpoint.protocol().stream_assembler()?;
    let mut reader = SseReader::new();
    let mut events = reader.push(body);
    events.extend(reader.finish());
    // Clients drop an event whose terminating blank line never came.
    for event in events.iter().filter(|event| event.is_complete) {
        let Some(data) = &event.data else { continue };
        if reassembly.is_end(data) {
            continue;
        }
        // Data that is not JSON is left out of the answer; the recorder keeps its bytes.
        if let Ok(value) = Value::parse(data.as_bytes(), &Limits::default()) {
            reassembly.take(&event.name, value);
        }
    }
    Some(reassembly.finish())
}

/// Returns true if a `content-type` value announces a stream of server-sent events.
pub fn is_stream(content_type: &str) -> bool {
    content_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
}

/// Returns the text of a string member; `None` for a missing member or another JSON type.
pub(crate) fn string_text(value: Option<Value<'_>>) -> Option<String> {
    Some(value?.string()?.into_owned())
}
