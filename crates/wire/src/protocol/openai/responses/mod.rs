//! OpenAI responses: `POST /responses`.
//!
//! An answer is a list of items, and a tool call is one of them. Its input streams as `…_arguments.delta`
//! events between `output_item.added` and `output_item.done`. The final event repeats the whole answer. Parsers
//! are in `read`, writers in `write`.

mod forms;
mod read;
mod write;

pub(super) use self::forms::FORMS;

use reenact_json::Value;
use reenact_json::print::PrintObjectWriter;

use crate::error_reply::ErrorReply;
use crate::exchange::{ParsedRequest, string_text};
use crate::message::{ModelAnswer, ToolCall};
use crate::output_bound::{OutputBound, is_set};
use crate::protocol::reading::{event_type, is_list, is_object, optional_object};
use crate::protocol::{Delivery, Protocol, StreamAssembler};
use crate::request_form::RequestForms;
use crate::request_parts::{RequestParts, has_role};
use crate::sse::RawSseEvent;
use crate::tool_calls::{OpenCalls, PartialCall, ScannedAnswer, UnreadableAnswer, part_index};
use crate::vendor::Vendor;

/// Row of OpenAI's responses.
pub(crate) struct ResponsesProtocol;

impl Protocol for ResponsesProtocol {
    fn name(&self) -> &'static str {
        "responses"
    }

    fn vendor(&self) -> Option<Vendor> {
        Some(Vendor::OPENAI)
    }

    fn paths(&self) -> &'static [&'static str] {
        &["responses"]
    }

    fn request_forms(&self) -> &'static RequestForms {
        &forms::FORMS
    }

    fn parse_request(&self, _path: &str, document: Value<'_>) -> ParsedRequest {
        read::request(document)
    }

    fn output_bound(&self, document: Value<'_>) -> OutputBound {
        let [limit, background, tier] =
            document.select_members(["max_output_tokens", "background", "service_tier"]);
        OutputBound::of("max_output_tokens", [limit], None)
            .uncountable_if(
                is_set(background),
                "`background` puts the answer off, so that its cost is never seen",
            )
            .uncountable_if(super::is_unlisted_tier(tier), super::UNLISTED_TIER)
    }

    fn parse_answer(&self, document: Value<'_>) -> Option<ModelAnswer> {
        Some(read::answer(document))
    }

    fn stream_assembler(&self) -> Option<Box<dyn StreamAssembler>> {
        Some(Box::<read::ResponsesStream>::default())
    }

    fn ends_stream(&self, event: RawSseEvent<'_>) -> bool {
        let name = event.name();
        name == b"error" || core::str::from_utf8(name).is_ok_and(read::is_final_event)
    }

    fn scan_answer(&self, document: Value<'_>) -> Result<ScannedAnswer, UnreadableAnswer> {
        read::scan_answer(document)
    }

    fn scan_event(
        &self,
        event: Value<'_>,
        name: &str,
        calls: &mut OpenCalls,
    ) -> Result<Vec<ToolCall>, UnreadableAnswer> {
        if !is_object(&event) {
            return Err(UnreadableAnswer);
        }
        let kind = event_type(event, name);
        let [response, item] = event.select_members(["response", "item"]);
        let (response, item) = (optional_object(response)?, optional_object(item)?);
        if let Some(response) = response {
            // No event has both, and clients differ in the one that they take.
            if item.is_some() {
                return Err(UnreadableAnswer);
            }
            let is_last = read::is_final_event(&kind);
            let begun = calls.close(|_| is_last);
            return calls.take_unreported(begun, read::scan_answer(response)?.calls);
        }
        part_index(event.member("output_index"))?;
        let key = read::item_key(event);
        if let Some(mut call) = item.and_then(read::client_tool_call) {
            if kind == "response.output_item.added" {
                let first = std::mem::take(&mut call.input);
                calls.begin(PartialCall { key, call, initial_input: first })?;
                return Ok(Vec::new());
            }
            // An unknown event that carries an item finishes nothing: other clients ignore it.
            let is_end = kind == "response.output_item.done";
            let begun = calls.close(|open| is_end && open == key);
            let news = calls.take_unreported(begun, vec![call.clone()])?;
            // Later pieces append to the call as it began, as clients that assemble pieces do, or to this form
            // if it had no beginning.
            calls.begin_finished(key, call)?;
            return Ok(news);
        }
        if let Some(piece) = read::input_delta(&kind, event) {
            piece.apply_to(&mut calls.reopen_or_begin(&key)?.input);
        }
        Ok(Vec::new())
    }

    fn render(&self, answer: &ModelAnswer, delivery: Delivery, id: &str) -> Option<String> {
        match delivery {
            Delivery::Document => Some(write::document(answer, id)),
            Delivery::Events => Some(write::stream(answer, id)),
            Delivery::List => None,
        }
    }

    fn answering_model(&self, document: Value<'_>) -> Option<String> {
        let in_event = || document.member("response")?.member("model");
        string_text(document.member("model").or_else(in_event))
    }

    fn is_answer(&self, document: Value<'_>) -> bool {
        is_list(document, "output")
    }

    fn is_event(&self, document: Value<'_>) -> bool {
        string_text(document.member("type")).is_some_and(|kind| kind.starts_with("response."))
    }

    /// Writes an error with both forms: clients raise events that have an `error` member, and `code` and
    /// `message` are the documented members.
    fn error_event(&self, reply: &ErrorReply<'_>) -> String {
        let mut data = String::new();
        let mut object = PrintObjectWriter::open(&mut data);
        object.string("type", "error");
        object.string("code", reply.code);
        object.string("message", reply.message);
        object.string("param", None);
        super::write_error(reply, object.name("error"));
        object.close();
        format!("event: error\ndata: {data}\n\n")
    }

    fn request_parts<'d>(&self, document: Value<'d>) -> RequestParts<'d> {
        let kind = |item: Value<'d>| item.member("type").and_then(|kind| kind.string());
        let is_result = move |item| kind(item).is_some_and(|kind| kind.ends_with("_call_output"));
        RequestParts::of_messages(
            document.member("input"),
            move |item| {
                let is_call = kind(item).is_some_and(|kind| kind.ends_with("_call") || kind == "reasoning");
                is_call || has_role(item, "assistant")
            },
            move |item| item.member("output").filter(|_| is_result(item)),
        )
    }

    fn varying_members(&self) -> &'static [&'static str] {
        &["$.metadata", "$.user", "$.safety_identifier", "$.prompt_cache_key"]
    }

    fn conversation_members(&self) -> &'static [&'static str] {
        &["input", "prompt"]
    }
}
