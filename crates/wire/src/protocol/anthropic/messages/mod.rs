//! Anthropic messages: `POST /v1/messages`.
//!
//! A tool call is a content block. Its input streams as `partial_json` pieces between `content_block_start` and
//! `content_block_stop`, tied together by `index`. Parsers are in `read`, writers in `write`.

mod forms;
mod read;
mod write;

pub(super) use self::forms::FORMS;

use reenact_json::Value;

use crate::error_reply::ErrorReply;
use crate::exchange::{ParsedRequest, string_text};
use crate::message::{ModelAnswer, ToolCall};
use crate::output_bound::{OutputBound, is_other_than};
use crate::protocol::reading::{event_type, is_list, is_object, optional_object};
use crate::protocol::{Delivery, Protocol, StreamAssembler};
use crate::request_form::RequestForms;
use crate::request_parts::{RequestParts, has_role};
use crate::sse::RawSseEvent;
use crate::tool_calls::{OpenCalls, PartialCall, ScannedAnswer, UnreadableAnswer, part_index};
use crate::vendor::Vendor;

/// Row of Anthropic's messages.
pub(crate) struct MessagesProtocol;

impl Protocol for MessagesProtocol {
    fn name(&self) -> &'static str {
        "messages"
    }

    fn vendor(&self) -> Option<Vendor> {
        Some(Vendor::ANTHROPIC)
    }

    fn paths(&self) -> &'static [&'static str] {
        &[
            "messages",
            "publishers/anthropic/models/*:rawPredict",
            "publishers/anthropic/models/*:streamRawPredict",
        ]
    }

    fn request_forms(&self) -> &'static RequestForms {
        &forms::FORMS
    }

    fn parse_request(&self, _path: &str, document: Value<'_>) -> ParsedRequest {
        read::request(document)
    }

    fn output_bound(&self, document: Value<'_>) -> OutputBound {
        let [limit, speed, place] = document.select_members(["max_tokens", "speed", "inference_geo"]);
        OutputBound::of("max_tokens", [limit], None)
            .uncountable_if(
                is_other_than(speed, &["standard"]),
                "its `speed` has prices of its own, which are not in the table",
            )
            .uncountable_if(
                is_other_than(place, &["global"]),
                "its `inference_geo` has prices of its own, which are not in the table",
            )
    }

    fn parse_answer(&self, document: Value<'_>) -> Option<ModelAnswer> {
        Some(read::answer(document))
    }

    fn stream_assembler(&self) -> Option<Box<dyn StreamAssembler>> {
        Some(Box::<read::MessagesStream>::default())
    }

    fn ends_stream(&self, event: RawSseEvent<'_>) -> bool {
        matches!(event.name(), b"message_stop" | b"error")
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
        let key = part_index(event.member("index"))?.unwrap_or_default().to_string();
        match kind.as_str() {
            "content_block_start" => {
                let block = optional_object(event.member("content_block"))?;
                if let Some(mut call) = block.and_then(read::client_tool_call) {
                    // The input here is an empty object, a placeholder for the pieces that follow.
                    let first = std::mem::take(&mut call.input);
                    calls.begin(PartialCall { key, call, initial_input: first })?;
                }
            }
            "content_block_delta" => {
                let delta = optional_object(event.member("delta"))?;
                let piece = delta.and_then(|delta| string_text(delta.member("partial_json")));
                if let (Some(piece), Some(call)) = (piece, calls.reopen(&key)) {
                    call.input += &piece;
                }
            }
            "content_block_stop" => return Ok(calls.close(|open| open == key)),
            "message_start" => {
                let message = optional_object(event.member("message"))?;
                return message.map_or(Ok(Vec::new()), |message| Ok(read::scan_answer(message)?.calls));
            }
            "message_stop" => return Ok(calls.close(|_| true)),
            _ => {}
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

    fn default_stop_reason(&self, asks_for_tools: bool) -> &'static str {
        if asks_for_tools { "tool_use" } else { "end_turn" }
    }

    fn needs_usage(&self) -> bool {
        true
    }

    fn answering_model(&self, document: Value<'_>) -> Option<String> {
        let in_event = || document.member("message")?.member("model");
        string_text(document.member("model").or_else(in_event))
    }

    fn is_answer(&self, document: Value<'_>) -> bool {
        is_list(document, "content") && document.member("role").is_some()
    }

    /// Every event has a type. [`Endpoint::of_event`](crate::Endpoint::of_event) asks the other interfaces
    /// first.
    fn is_event(&self, document: Value<'_>) -> bool {
        document.member("type").is_some_and(|kind| kind.string().is_some())
    }

    fn error_event(&self, reply: &ErrorReply<'_>) -> String {
        format!("event: error\ndata: {}\n\n", (super::VENDOR.error_body)(reply))
    }

    fn request_parts<'d>(&self, document: Value<'d>) -> RequestParts<'d> {
        let is_result =
            |block: &Value<'d>| block.member("type").is_some_and(|kind| kind.is_string("tool_result"));
        RequestParts::of_messages(
            document.member("messages"),
            |message| has_role(message, "assistant"),
            |message| {
                let blocks = message.member("content").into_iter().flat_map(|content| content.elements());
                // A tool that fails now says so beside its content.
                blocks
                    .filter(is_result)
                    .flat_map(|block| block.select_members(["content", "is_error"]).into_iter().flatten())
            },
        )
    }

    fn varying_members(&self) -> &'static [&'static str] {
        &[
            "$.metadata",
            "$.cache_control",
            "$.system[*].cache_control",
            "$.tools[*].cache_control",
            "$.messages[*].content[*].cache_control",
            "$.messages[*].content[*].content[*].cache_control",
        ]
    }

    fn conversation_members(&self) -> &'static [&'static str] {
        &["messages"]
    }
}
