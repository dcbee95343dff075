//! OpenAI chat completions: `POST /chat/completions`.
//!
//! A stream consists of chunks with `delta` objects. Pieces of a tool call are tied together by choice and
//! index, and complete with the `finish_reason` of their choice. Parsers are in `read`, writers in `write`.

mod forms;
mod read;
mod write;

use reenact_json::Value;

use crate::exchange::ParsedRequest;
use crate::message::{ModelAnswer, ToolCall};
use crate::output_bound::{OTHER_MODALITY, OutputBound, has_other_modality, is_set};
use crate::protocol::reading::{is_list, is_object, optional_object, optional_objects};
use crate::protocol::{Delivery, Protocol, StreamAssembler, is_end_mark};
use crate::request_form::RequestForms;
use crate::request_parts::{RequestParts, has_role};
use crate::sse::RawSseEvent;
use crate::tool_calls::{OpenCalls, ScannedAnswer, UnreadableAnswer, part_index};
use crate::vendor::Vendor;

/// Row of OpenAI's chat completions.
pub(crate) struct ChatCompletionsProtocol;

impl Protocol for ChatCompletionsProtocol {
    fn name(&self) -> &'static str {
        "chat.completions"
    }

    fn vendor(&self) -> Option<Vendor> {
        Some(Vendor::OPENAI)
    }

    fn paths(&self) -> &'static [&'static str] {
        &["chat/completions"]
    }

    fn request_forms(&self) -> &'static RequestForms {
        &forms::FORMS
    }

    fn parse_request(&self, _path: &str, document: Value<'_>) -> ParsedRequest {
        read::request(document)
    }

    fn output_bound(&self, document: Value<'_>) -> OutputBound {
        let [current, older, choices, tried, tier, deferred, modalities] = document.select_members([
            "max_completion_tokens",
            "max_tokens",
            "n",
            "best_of",
            "service_tier",
            "deferred",
            "modalities",
        ]);
        OutputBound::of("max_completion_tokens", [current, older], choices)
            .and_answers(tried)
            .uncountable_if(
                is_set(deferred),
                "`deferred` puts the answer off, so that its cost is never seen",
            )
            .uncountable_if(super::is_unlisted_tier(tier), super::UNLISTED_TIER)
            .uncountable_if(has_other_modality(modalities), OTHER_MODALITY)
    }

    fn parse_answer(&self, document: Value<'_>) -> Option<ModelAnswer> {
        Some(read::answer(document))
    }

    fn stream_assembler(&self) -> Option<Box<dyn StreamAssembler>> {
        Some(Box::<read::ChatStream>::default())
    }

    fn ends_stream(&self, event: RawSseEvent<'_>) -> bool {
        event.data().map(is_end_mark).eq([true])
    }

    fn scan_answer(&self, document: Value<'_>) -> Result<ScannedAnswer, UnreadableAnswer> {
        read::scan_answer(document)
    }

    fn scan_event(
        &self,
        chunk: Value<'_>,
        _name: &str,
        calls: &mut OpenCalls,
    ) -> Result<Vec<ToolCall>, UnreadableAnswer> {
        if !is_object(&chunk) {
            return Err(UnreadableAnswer);
        }
        let mut whole = Vec::new();
        for choice in optional_objects(chunk.member("choices"))? {
            let [index, delta, message, reason] =
                choice.select_members(["index", "delta", "message", "finish_reason"]);
            let prefix = format!("{}/", part_index(index)?.unwrap_or_default());
            // Some servers send whole messages in place of deltas.
            for message in [delta, message] {
                let Some(message) = optional_object(message)? else { continue };
                let [tool_calls, function] = message.select_members(["tool_calls", "function_call"]);
                for (position, piece) in (0..).zip(optional_objects(tool_calls)?) {
                    let index = part_index(piece.member("index"))?.unwrap_or(position);
                    read::scan_call_piece(calls.reopen_or_begin(&format!("{prefix}{index}"))?, piece)?;
                }
                if let Some(function) = optional_object(function)? {
                    read::merge_function(calls.reopen_or_begin(&format!("{prefix}function"))?, function);
                }
            }
            if reason.is_some_and(|reason| !reason.is_null()) {
                whole.extend(calls.close(|key| key.starts_with(&prefix)));
            }
        }
        Ok(whole)
    }

    fn render(&self, answer: &ModelAnswer, delivery: Delivery, id: &str) -> Option<String> {
        match delivery {
            Delivery::Document => Some(write::document(answer, id)),
            Delivery::Events => Some(write::stream(answer, id)),
            Delivery::List => None,
        }
    }

    fn default_stop_reason(&self, asks_for_tools: bool) -> &'static str {
        if asks_for_tools { "tool_calls" } else { "stop" }
    }

    fn is_answer(&self, document: Value<'_>) -> bool {
        is_list(document, "choices")
    }

    fn is_event(&self, document: Value<'_>) -> bool {
        document.member("choices").is_some()
    }

    fn request_parts<'d>(&self, document: Value<'d>) -> RequestParts<'d> {
        let is_result = |message: Value<'d>| has_role(message, "tool") || has_role(message, "function");
        RequestParts::of_messages(
            document.member("messages"),
            |message| has_role(message, "assistant"),
            |message| message.member("content").filter(|_| is_result(message)),
        )
    }

    fn varying_members(&self) -> &'static [&'static str] {
        &[
            "$.metadata",
            "$.user",
            "$.safety_identifier",
            "$.prompt_cache_key",
            "$.messages[*].cache_control",
            "$.messages[*].content[*].cache_control",
        ]
    }

    fn conversation_members(&self) -> &'static [&'static str] {
        &["messages"]
    }

    fn cassette_kind(&self) -> &'static str {
        "judge"
    }
}
