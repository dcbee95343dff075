//! A request and its answer, read by the rules of their interface.

use reenact_json::{Limits, Value};

use crate::call_ids::CallIds;
use crate::message::{Answer, ToolCall, ToolResult};
use crate::protocol::{Delivery, Endpoint};
use crate::sse::SseReader;
use crate::vendor::Vendor;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The model.
    pub model: Option<String>,
    /// The form in which the answer is to come.
    pub delivery: Delivery,
    /// The tool calls that earlier answers in it contain.
    pub earlier_calls: Vec<ToolCall>,
    /// The results of tools that it hands over.
    pub tool_results: Vec<ToolResult>,
    /// Tools that the vendor itself is to run, by the names that it gives them.
    pub vendor_tools: Vec<String>,
    /// Ids for the calls of the answer that come without one; `None` if the interface has ids for all of them.
    pub call_ids: Option<CallIds>,
}

/// Reads a request, whose path may have a query; `None` if the body is not JSON that we read.
pub fn request(endpoint: Endpoint, path: &str, body: &[u8]) -> Option<Request> {
    let document = Value::parse(body, &Limits::default()).ok()?;
    Some(endpoint.row().request(path, document))
}

/// Reads a request to a vendor. An interface that is not known has no conversation that could be read, but perhaps a model.
pub fn request_to(vendor: Vendor, endpoint: Option<Endpoint>, path: &str, body: &[u8]) -> Option<Request> {
    if let Some(endpoint) = endpoint {
        return request(endpoint, path, body);
    }
    let plain = Request::plain(Value::parse(body, &Limits::default()).ok()?);
    Some(Request { model: (vendor.0.model_in_path)(path).or(plain.model), ..plain })
}

impl Request {
    /// With the members that most vendors call by the same name.
    pub(crate) fn of(model: Option<Value<'_>>, stream: Option<Value<'_>>) -> Self {
        let is_stream = stream.and_then(|stream| stream.boolean()) == Some(true);
        Self { model: text(model), delivery: Delivery::of(is_stream), ..Self::default() }
    }

    /// With these members alone.
    pub(crate) fn plain(document: Value<'_>) -> Self {
        let [model, stream] = document.pick(["model", "stream"]);
        Self::of(model, stream)
    }
}

/// Reads the body of an answer, decoded: a document, or a stream of events.
pub fn answer(endpoint: Endpoint, is_stream: bool, body: &[u8]) -> Option<Answer> {
    if !is_stream {
        return endpoint.row().answer(Value::parse(body, &Limits::default()).ok()?);
    }
    let mut reassembly = endpoint.row().reassembly()?;
    let mut reader = SseReader::new();
    let mut events = reader.push(body);
    events.extend(reader.finish());
    // No client acts on an event whose end never came.
    for event in events.iter().filter(|event| event.complete) {
        let Some(data) = &event.data else { continue };
        if reassembly.is_end(data) {
            continue;
        }
        // Data that is no JSON is left out of the answer; the bytes are kept elsewhere.
        if let Ok(value) = Value::parse(data.as_bytes(), &Limits::default()) {
            reassembly.take(&event.name, value);
        }
    }
    Some(reassembly.finish())
}

/// Returns true if a `content-type` announces a stream of events.
pub fn is_stream(content_type: &str) -> bool {
    content_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
}

/// A string member's text.
pub(crate) fn text(value: Option<Value<'_>>) -> Option<String> {
    Some(value?.string()?.into_owned())
}
