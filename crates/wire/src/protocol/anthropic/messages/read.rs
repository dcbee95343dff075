//! Parsers for requests, answers and streams of messages.

use std::collections::BTreeMap;

use reenact_json::{Value, ValueKind};

use crate::exchange::{ParsedRequest, string_text};
use crate::message::{ModelAnswer, ToolCall, ToolResult, Usage};
use crate::protocol::StreamAssembler;
use crate::protocol::reading::{
    PartialCalls, count_at, event_type, is_object, member_at, optional_objects, vendor_error,
};
use crate::tool_calls::{EMPTY_INPUT, ScannedAnswer, UnreadableAnswer};

/// Parses a request: the model, and from its messages the earlier calls and their results.
pub(super) fn request(document: Value<'_>) -> ParsedRequest {
    let [model, stream, messages] = document.select_members(["model", "stream", "messages"]);
    let mut request = ParsedRequest::from_members(model, stream);
    let messages = messages.into_iter().flat_map(|messages| messages.elements());
    for block in
        messages.filter_map(|message| message.member("content")).flat_map(|content| content.elements())
    {
        request.earlier_calls.extend(tool_use(block));
        if has_type(block, "tool_result") {
            let id = string_text(block.member("tool_use_id")).unwrap_or_default();
            let output = block.member("content").map_or(String::new(), result_text);
            let is_error = block.member("is_error").and_then(|flag| flag.boolean()) == Some(true);
            request.tool_results.push(ToolResult { id, output, is_error });
        }
    }
    request
}

/// Returns every tool call that a document asks its client for, and the usage.
///
/// # Errors
/// [`UnreadableAnswer`] if the document is no object, or its content no list of objects.
pub(super) fn scan_answer(document: Value<'_>) -> Result<ScannedAnswer, UnreadableAnswer> {
    if !is_object(&document) {
        return Err(UnreadableAnswer);
    }
    let [content, took] = document.select_members(["content", "usage"]);
    let calls = optional_objects(content)?.into_iter().filter_map(client_tool_call).collect();
    Ok(ScannedAnswer { calls, usage: usage(took), ..ScannedAnswer::default() })
}

/// Returns the tool call of a block; `None` for text and for tools that the vendor runs by itself.
///
/// Block types that end in `tool_use` and are not known count as calls, so that no new kind of call passes
/// unseen.
pub(super) fn client_tool_call(block: Value<'_>) -> Option<ToolCall> {
    let kind = string_text(block.member("type"))?;
    if !kind.ends_with("tool_use") || matches!(kind.as_str(), "server_tool_use" | "mcp_tool_use") {
        return None;
    }
    let input =
        block.member("input").map_or(String::new(), |input| String::from_utf8_lossy(input.text()).into());
    Some(ToolCall {
        id: string_text(block.member("id")).unwrap_or_default(),
        name: string_text(block.member("name")).unwrap_or_default(),
        input,
    })
}

/// Returns true if a block has this type.
fn has_type(block: Value<'_>, kind: &str) -> bool {
    block.member("type").is_some_and(|found| found.is_string(kind))
}

/// Returns the text of a result, which is a string or a list of blocks.
fn result_text(content: Value<'_>) -> String {
    match content.kind() {
        ValueKind::Array => {
            content.elements().filter_map(|block| string_text(block.member("text"))).collect()
        }
        _ => string_text(Some(content)).unwrap_or_default(),
    }
}

/// Returns the call of a `tool_use` block with an id and a name.
fn tool_use(block: Value<'_>) -> Option<ToolCall> {
    if !has_type(block, "tool_use") {
        return None;
    }
    let input = block.member("input").map_or(Vec::new(), |input| input.text().to_vec());
    Some(ToolCall {
        id: string_text(block.member("id"))?,
        name: string_text(block.member("name"))?,
        input: String::from_utf8(input).unwrap_or_default(),
    })
}

/// Parses a usage object.
fn usage(usage: Option<Value<'_>>) -> Option<Usage> {
    let usage = usage.filter(|usage| usage.kind() == ValueKind::Object)?;
    Some(Usage {
        input_tokens: count_at(usage, &["input_tokens"]),
        output_tokens: count_at(usage, &["output_tokens"]),
        cached_input_tokens: count_at(usage, &["cache_read_input_tokens"]),
        cache_write_tokens: count_at(usage, &["cache_creation_input_tokens"]),
    })
}

/// Parses an answer in one document.
pub(super) fn answer(document: Value<'_>) -> ModelAnswer {
    let blocks = || document.member("content").into_iter().flat_map(|content| content.elements());
    ModelAnswer {
        model: string_text(document.member("model")),
        text: blocks()
            .filter(|block| has_type(*block, "text"))
            .filter_map(|block| string_text(block.member("text")))
            .collect(),
        tool_calls: blocks().filter_map(tool_use).collect(),
        usage: usage(document.member("usage")),
        stop_reason: string_text(document.member("stop_reason")),
        error: vendor_error(document),
        is_complete: true,
    }
}

/// Updates the usage of a stream with its next event.
fn update_usage(sum: &mut Option<Usage>, kind: &str, event: Value<'_>) {
    match kind {
        "message_start" => *sum = usage(member_at(event, &["message", "usage"])),
        "message_delta" => {
            // The output count is cumulative, so the last one replaces the others.
            if let Some(last) = usage(event.member("usage")) {
                let sum = sum.get_or_insert_default();
                sum.output_tokens = last.output_tokens;
                sum.input_tokens = sum.input_tokens.max(last.input_tokens);
            }
        }
        _ => {}
    }
}

/// Assembler of a stream of messages.
#[derive(Debug, Default)]
pub(super) struct MessagesStream {
    answer: ModelAnswer,
    calls: PartialCalls,
    /// Inputs from `content_block_start`, by index; one counts only if no piece follows.
    initial_inputs: BTreeMap<String, String>,
}

impl StreamAssembler for MessagesStream {
    fn take(&mut self, name: &str, event: Value<'_>) {
        let kind = event_type(event, name);
        let index =
            event.member("index").and_then(|index| index.unsigned_integer()).unwrap_or_default().to_string();
        update_usage(&mut self.answer.usage, &kind, event);
        match kind.as_str() {
            "message_start" => self.answer.model = string_text(member_at(event, &["message", "model"])),
            "content_block_start" => {
                let Some(block) = event.member("content_block") else { return };
                if has_type(block, "tool_use")
                    && let Some(mut call) = client_tool_call(block)
                {
                    // The input here is an empty object, a placeholder for the pieces that follow.
                    self.initial_inputs.insert(index.clone(), std::mem::take(&mut call.input));
                    if let Some(slot) = self.calls.get_or_begin(&index) {
                        *slot = call;
                    }
                }
                self.answer.text += &string_text(block.member("text")).unwrap_or_default();
            }
            "content_block_delta" => {
                let Some(delta) = event.member("delta") else { return };
                let [more, piece] = delta.select_members(["text", "partial_json"]);
                self.answer.text += &string_text(more).unwrap_or_default();
                if let Some(piece) = string_text(piece)
                    && let Some(call) = self.calls.find(&index)
                {
                    call.input += &piece;
                }
            }
            "message_delta" => {
                self.answer.stop_reason = string_text(member_at(event, &["delta", "stop_reason"]))
                    .or(self.answer.stop_reason.take());
            }
            "message_stop" => self.answer.is_complete = true,
            "error" => self.answer.error = vendor_error(event),
            _ => {}
        }
    }

    fn count(&self) -> (Option<Usage>, usize) {
        let calls = self.calls.iter().map(|(index, call)| {
            let first = self.initial_inputs.get(index).filter(|_| call.input.is_empty());
            let bytes = call.text_bytes() + first.map_or(0, String::len);
            if call.input.is_empty() && first.is_none_or(String::is_empty) {
                bytes + EMPTY_INPUT.len()
            } else {
                bytes
            }
        });
        (self.answer.usage, calls.fold(self.answer.text.len(), usize::saturating_add))
    }

    fn finish(mut self: Box<Self>) -> ModelAnswer {
        for (index, first) in self.initial_inputs {
            if let Some(call) = self.calls.find(&index).filter(|call| call.input.is_empty()) {
                call.input = first;
            }
        }
        self.answer.tool_calls = self.calls.finish();
        // A tool without parameters streams no input at all; an empty object is meant.
        for call in self.answer.tool_calls.iter_mut().filter(|call| call.input.is_empty()) {
            call.input.push_str(EMPTY_INPUT);
        }
        self.answer
    }
}
