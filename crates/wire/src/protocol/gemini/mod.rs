//! Google's Gemini API: `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent`.
//!
//! The path names the model and the verb. A stream comes as events (`?alt=sse`) or as a list of documents. Tool
//! calls come in one piece, and may have no ids. There is no final event: the chunk with a `finishReason` is
//! the last one with content, and the end of the body ends the stream.

mod forms;
mod read;
mod request;
pub(crate) mod toolless;
mod vendor;
mod write;

use reenact_json::{Limits, Value};

pub(crate) use self::vendor::{VENDOR, model_and_verb};
use crate::error_reply::ErrorReply;
use crate::exchange::{ParsedRequest, string_text};
use crate::message::{ModelAnswer, ToolCall};
use crate::output_bound::OutputBound;
use crate::protocol::reading::is_list;
use crate::protocol::{Delivery, Protocol, StreamAssembler};
use crate::request_form::RequestForms;
use crate::request_parts::{RequestParts, has_role};
use crate::sse::RawSseEvent;
use crate::tool_calls::{OpenCalls, ScannedAnswer, UnreadableAnswer};
use crate::vendor::Vendor;

/// Row of Gemini's `generateContent` and `streamGenerateContent`.
pub(crate) struct GenerateContentProtocol;

impl Protocol for GenerateContentProtocol {
    fn name(&self) -> &'static str {
        "generateContent"
    }

    fn vendor(&self) -> Option<Vendor> {
        Some(Vendor::GEMINI)
    }

    fn paths(&self) -> &'static [&'static str] {
        &[
            "models/*:generateContent",
            "models/*:streamGenerateContent",
            "tunedModels/*:generateContent",
            "tunedModels/*:streamGenerateContent",
        ]
    }

    fn request_forms(&self) -> &'static RequestForms {
        &forms::FORMS
    }

    fn parse_request(&self, path: &str, document: Value<'_>) -> ParsedRequest {
        request::parse(path, document)
    }

    fn output_bound(&self, document: Value<'_>) -> OutputBound {
        request::output_bound(document)
    }

    fn parse_answer(&self, document: Value<'_>) -> Option<ModelAnswer> {
        Some(read::answer(document))
    }

    fn stream_assembler(&self) -> Option<Box<dyn StreamAssembler>> {
        Some(Box::<read::GeminiStream>::default())
    }

    /// Parses only events that contain the member name; few do.
    fn ends_stream(&self, event: RawSseEvent<'_>) -> bool {
        let has_word = |data: &[u8]| memchr::memmem::find(data, b"\"finishReason\"").is_some();
        if !event.data().any(has_word) {
            return false;
        }
        let data = event.data().collect::<Vec<_>>().join(&b'\n');
        Value::parse(&data, &Limits::default()).is_ok_and(read::is_last)
    }

    fn scan_answer(&self, document: Value<'_>) -> Result<ScannedAnswer, UnreadableAnswer> {
        let mut scanned = ScannedAnswer::default();
        for chunk in read::chunks(document) {
            scanned.calls.extend(read::client_tool_calls(chunk)?);
            read::update_usage(&mut scanned.usage, chunk);
        }
        Ok(scanned)
    }

    fn scan_event(
        &self,
        chunk: Value<'_>,
        _name: &str,
        _calls: &mut OpenCalls,
    ) -> Result<Vec<ToolCall>, UnreadableAnswer> {
        read::client_tool_calls(chunk)
    }

    fn render(&self, answer: &ModelAnswer, delivery: Delivery, id: &str) -> Option<String> {
        Some(match delivery {
            Delivery::Document => write::document(answer, id),
            Delivery::Events => write::events(answer, id),
            Delivery::List => write::list(answer, id),
        })
    }

    fn default_stop_reason(&self, _asks_for_tools: bool) -> &'static str {
        "STOP"
    }

    fn answering_model(&self, document: Value<'_>) -> Option<String> {
        string_text(document.member("modelVersion"))
    }

    fn is_answer(&self, document: Value<'_>) -> bool {
        let mut chunks = read::chunks(document);
        chunks.any(|chunk| is_list(chunk, "candidates") || chunk.member("promptFeedback").is_some())
    }

    fn is_event(&self, document: Value<'_>) -> bool {
        is_list(document, "candidates")
    }

    fn error_event(&self, reply: &ErrorReply<'_>) -> String {
        format!("data: {}\n\n", (VENDOR.error_body)(reply))
    }

    fn request_parts<'d>(&self, document: Value<'d>) -> RequestParts<'d> {
        RequestParts::of_messages(
            document.member("contents"),
            |content| has_role(content, "model"),
            |content| {
                let parts = content.member("parts").into_iter().flat_map(|parts| parts.elements());
                parts.filter_map(|part| {
                    let [camel, snake] = part.select_members(["functionResponse", "function_response"]);
                    camel.or(snake)?.member("response")
                })
            },
        )
    }

    fn conversation_members(&self) -> &'static [&'static str] {
        &["contents"]
    }
}
