//! Parsers for a request and its answer, for any interface.
//!
//! The functions here decode nothing: bodies must come without content codings. A body that is not JSON gives
//! `None`, since a recorder must accept whatever an agent sends. Start reading at [`parse_request`] and
//! [`parse_answer`].

use reenact_json::{Limits, Value, ValueKind};

use crate::call_ids::CallIds;
use crate::message::{ModelAnswer, ToolCall, ToolResult};
use crate::multipart;
use crate::output_bound::OutputBound;
use crate::protocol::{Delivery, Endpoint};
use crate::sse::SseReader;
use crate::vendor::Vendor;

/// Meaning of a request: the model, the form of the answer, and the tools in the request's history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedRequest {
    /// Model that the request names.
    pub model: Option<String>,
    /// Further models that the request names as the one to be asked, in its path or its parts, where that is another.
    pub other_models: Vec<String>,
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
    let mut request =
        ParsedRequest { output: protocol.output_bound(document), ..protocol.parse_request(path, document) };
    request.add_models(endpoint.vendor().and_then(|vendor| vendor.model_in_path(path)));
    Some(request)
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
        let mut request = parse_request(endpoint, path, body)?;
        request.add_models(vendor.model_in_path(path));
        return Some(request);
    }
    let document = Value::parse(body, &Limits::default()).ok()?;
    let plain = ParsedRequest::from_document(document);
    let named = plain.model.clone();
    let mut request = ParsedRequest { model: vendor.model_in_path(path).or(plain.model), ..plain };
    request.add_models(named.into_iter().chain(models_of_parts(document)));
    Some(request)
}

/// Parses a request that is a form in parts (`multipart/form-data`), such as an upload of sound. Returns `None` if its interface takes no
/// such forms, or if servers may read the form in different ways.
pub fn parse_multipart(
    vendor: Vendor,
    endpoint: Endpoint,
    path: &str,
    content_type: &str,
    body: &[u8],
) -> Option<ParsedRequest> {
    if !endpoint.takes_multipart() {
        return None;
    }
    let parts = multipart::parts(content_type, body)?;
    let fields = || parts.iter().filter(|part| !part.is_file);
    let texts = fields().filter(|part| part.name == "model").map(|part| core::str::from_utf8(part.value));
    let models: Vec<&str> = texts.collect::<Result<_, _>>().ok()?;
    let is_stream = fields().any(|part| part.name == "stream" && part.value == b"true");
    let nothing = Value::parse(b"{}", &Limits::default()).ok()?;
    let mut request = ParsedRequest {
        delivery: Delivery::of(is_stream),
        output: endpoint.protocol().output_bound(nothing),
        ..ParsedRequest::default()
    };
    request.add_models(vendor.model_in_path(path).into_iter().chain(models.into_iter().map(str::to_owned)));
    Some(request)
}

/// Returns the models that the parts of a request name, such as the requests of a batch.
pub(crate) fn models_of_parts(document: Value<'_>) -> impl Iterator<Item = String> {
    let parts = document.members().flat_map(|(_, part)| {
        let one = (part.kind() == ValueKind::Object).then_some(part);
        one.into_iter().chain(part.elements().filter(|element| element.kind() == ValueKind::Object))
    });
    parts.filter_map(|part| part.member("model")).map(|model| string_text(Some(model)).unwrap_or_default())
}

impl ParsedRequest {
    /// Adds names of the model to be asked: the first is the model, if there was none, and others are kept beside it. Gemini's
    /// collection `models/` is no part of a name.
    pub(crate) fn add_models(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            let own = |name: &str| name.strip_prefix("models/").unwrap_or(name).to_owned();
            match &self.model {
                None => self.model = Some(name),
                Some(model) if own(model) == own(&name) || self.other_models.contains(&name) => {}
                Some(_) => self.other_models.push(name),
            }
        }
    }

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

/// Returns the model that answered, as the decoded body of an answer names it first; `None` if it names none.
///
/// The answer may have broken off. Of a stream only the first events are looked at, up to 64 KiB: all interfaces name the model in
/// the first.
///
/// ```
/// use reenact_wire::{Endpoint, exchange};
///
/// let body = b"data: {\"choices\":[],\"model\":\"gpt-5-2025-08-07\"}\n\n";
/// let model = exchange::answering_model(Endpoint::CHAT_COMPLETIONS, true, body);
/// assert_eq!(model.as_deref(), Some("gpt-5-2025-08-07"));
/// ```
pub fn answering_model(endpoint: Endpoint, is_stream: bool, body: &[u8]) -> Option<String> {
    const FIRST_EVENTS: usize = 64 << 10;
    if !is_stream {
        return model_of_document(endpoint, Value::parse(body, &Limits::default()).ok()?);
    }
    let events = SseReader::new().push(body.get(..FIRST_EVENTS).unwrap_or(body));
    events
        .iter()
        .filter_map(|event| event.data.as_deref())
        .find_map(|data| named_model(endpoint, Value::parse(data.as_bytes(), &Limits::default()).ok()?))
}

/// Returns the model that a document names. Gemini sends a list of documents if it is not asked for events.
pub(crate) fn model_of_document(endpoint: Endpoint, document: Value<'_>) -> Option<String> {
    core::iter::once(document).chain(document.elements()).find_map(|document| named_model(endpoint, document))
}

/// Returns the model that a document or an event names. Azure begins its streams with an event whose model is empty.
pub(crate) fn named_model(endpoint: Endpoint, document: Value<'_>) -> Option<String> {
    endpoint.protocol().answering_model(document).filter(|model| !model.is_empty())
}

/// Returns true if a `content-type` value announces a stream of server-sent events.
pub fn is_stream(content_type: &str) -> bool {
    content_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
}

/// Returns the text of a string member; `None` for a missing member or another JSON type.
pub(crate) fn string_text(value: Option<Value<'_>>) -> Option<String> {
    Some(value?.string()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answering_model_of_each_interface() {
        let of = |endpoint, is_stream, body: &str| answering_model(endpoint, is_stream, body.as_bytes());
        let gpt = Some("gpt-5-2025-08-07".to_owned());
        assert_eq!(of(Endpoint::CHAT_COMPLETIONS, false, r#"{"model":"gpt-5-2025-08-07"}"#), gpt);
        let azure = "data: {\"model\":\"\",\"choices\":[]}\n\ndata: {\"model\":\"gpt-5-2025-08-07\"}\n\n";
        assert_eq!(of(Endpoint::CHAT_COMPLETIONS, true, azure), gpt);
        assert_eq!(of(Endpoint::RESPONSES, false, r#"{"model":"gpt-5-2025-08-07"}"#), gpt);
        let created = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"model\":\"gpt-5-2025-08-07\"}}\n\n";
        assert_eq!(of(Endpoint::RESPONSES, true, created), gpt);
        let claude = Some("claude-sonnet-4-5-20250929".to_owned());
        assert_eq!(of(Endpoint::MESSAGES, false, r#"{"model":"claude-sonnet-4-5-20250929"}"#), claude);
        let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-sonnet-4-5-20250929\"}}\n\n";
        assert_eq!(of(Endpoint::MESSAGES, true, start), claude);
        let gemini = Some("gemini-2.5-flash".to_owned());
        for document in [r#"{"modelVersion":"gemini-2.5-flash"}"#, r#"[{"modelVersion":"gemini-2.5-flash"}]"#]
        {
            assert_eq!(of(Endpoint::GENERATE_CONTENT, false, document), gemini);
        }
        for silent in ["{}", "[]", "nothing", r#"{"model":1}"#, r#"{"model":""}"#] {
            assert_eq!(of(Endpoint::CHAT_COMPLETIONS, false, silent), None, "{silent}");
        }
    }

    #[test]
    fn models_in_path_and_body() {
        let of = |vendor, path: &str, body: &str| {
            let endpoint = Endpoint::of(vendor, "POST", path);
            let request = parse_request_to(vendor, endpoint, path, body.as_bytes()).unwrap();
            (request.model.unwrap_or_default(), request.other_models)
        };
        let azure = "/openai/deployments/gpt-4o/chat/completions?api-version=1";
        for (vendor, path, body, model, others) in [
            (Vendor::OPENAI, azure, r#"{"model":"gpt-5"}"#, "gpt-5", vec!["gpt-4o"]),
            (Vendor::OPENAI, azure, r#"{"model":"gpt-4o"}"#, "gpt-4o", vec![]),
            (Vendor::OPENAI, azure, r#"{"messages":[]}"#, "gpt-4o", vec![]),
            (Vendor::OPENAI, "/deployments/e/embeddings", r#"{"model":"f"}"#, "e", vec!["f"]),
            (Vendor::OPENAI, "/v1/embeddings", r#"{"model":"e","x":{"model":"f"}}"#, "e", vec!["f"]),
            (Vendor::GEMINI, "/v1/models/e:embedContent", r#"{"model":"models/e"}"#, "e", vec![]),
            (
                Vendor::GEMINI,
                "/v1/models/e:batchEmbedContents",
                r#"{"requests":[{"model":"models/e"},{"model":"models/f"},{"model":1}]}"#,
                "e",
                vec!["models/f", ""],
            ),
        ] {
            let others = others.into_iter().map(str::to_owned).collect();
            assert_eq!(of(vendor, path, body), (model.to_owned(), others), "{path} {body}");
        }
    }
}
