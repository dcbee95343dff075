//! Parsers for requests, answers and streams of chat completions.

use reenact_json::{Value, ValueKind};

use super::super::parse_usage as openai_usage;
use crate::call_ids::CallIds;
use crate::exchange::{ParsedRequest, string_text};
use crate::message::{ModelAnswer, ToolCall, ToolResult, Usage};
use crate::protocol::reading::{
    PartialCalls, input_text, is_object, optional_object, optional_objects, vendor_error, vendor_error_from,
};
use crate::protocol::{StreamAssembler, is_end_mark};
use crate::tool_calls::{ScannedAnswer, UnreadableAnswer};

/// Parses a request: the model, and from its messages the earlier calls and their results.
///
/// The older `function_call` has no id, and its result, a message with the role `function`, names the function alone: such calls get
/// ids, and a result belongs to the first call of its function without one.
pub(super) fn request(document: Value<'_>) -> ParsedRequest {
    let [model, stream, messages, functions] =
        document.select_members(["model", "stream", "messages", "functions"]);
    let mut request = ParsedRequest::from_members(model, stream);
    let messages = || messages.into_iter().flat_map(|messages| messages.elements());
    // Made when it is needed: it takes a digest of a message.
    let mut call_ids: Option<CallIds> = None;
    let made = || messages().next().map(CallIds::of_message).unwrap_or_default();
    let mut has_functions = functions.is_some_and(|functions| !functions.is_null());
    // Calls of functions without a result so far.
    let mut open: Vec<ToolCall> = Vec::new();
    for message in messages() {
        let [role, calls, function, id, name, content] = message.select_members([
            "role",
            "tool_calls",
            "function_call",
            "tool_call_id",
            "name",
            "content",
        ]);
        request.earlier_calls.extend(calls.into_iter().flat_map(calls_with_ids));
        if let Some(function) = function.filter(is_object) {
            let mut call = ToolCall::default();
            merge_function(&mut call, function);
            call_ids.get_or_insert_with(made).fill(core::slice::from_mut(&mut call));
            request.earlier_calls.push(call.clone());
            open.push(call);
            has_functions = true;
        }
        let id = match role.and_then(|role| role.string()).as_deref() {
            Some("tool") => string_text(id).unwrap_or_default(),
            Some("function") => {
                let name = string_text(name).unwrap_or_default();
                let found = open.iter().position(|call| call.name == name);
                found.map(|at| open.remove(at).id).unwrap_or_default()
            }
            _ => continue,
        };
        let output = content.map_or(String::new(), content_text);
        request.tool_results.push(ToolResult { id, output, is_error: false });
    }
    request.call_ids = has_functions.then(|| call_ids.unwrap_or_else(made));
    request
}

/// Returns every tool call of a document in any of its choices, as `tool_calls` or as the older
/// `function_call`; and the usage.
///
/// # Errors
/// [`UnreadableAnswer`] if a value on the way to a call has another type than in OpenAI's answers.
pub(super) fn scan_answer(document: Value<'_>) -> Result<ScannedAnswer, UnreadableAnswer> {
    if !is_object(&document) {
        return Err(UnreadableAnswer);
    }
    let [choices, usage] = document.select_members(["choices", "usage"]);
    let mut calls = Vec::new();
    for choice in optional_objects(choices)? {
        let Some(message) = optional_object(choice.member("message"))? else { continue };
        let [pieces, function] = message.select_members(["tool_calls", "function_call"]);
        for piece in optional_objects(pieces)? {
            let mut call = ToolCall::default();
            scan_call_piece(&mut call, piece)?;
            calls.push(call);
        }
        if let Some(function) = optional_object(function)? {
            let mut call = ToolCall::default();
            merge_function(&mut call, function);
            calls.push(call);
        }
    }
    Ok(ScannedAnswer { calls, usage: openai_usage(usage), ..ScannedAnswer::default() })
}

/// Adds a piece of a call, as [`merge_call_piece`] does.
///
/// # Errors
/// [`UnreadableAnswer`] if the tool is no object.
pub(super) fn scan_call_piece(call: &mut ToolCall, piece: Value<'_>) -> Result<(), UnreadableAnswer> {
    for tool in piece.select_members(["function", "custom"]) {
        optional_object(tool)?;
    }
    merge_call_piece(call, piece);
    Ok(())
}

/// Returns the text of a content, which is a string or a list of parts.
fn content_text(content: Value<'_>) -> String {
    match content.kind() {
        ValueKind::Array => content.elements().filter_map(|part| string_text(part.member("text"))).collect(),
        _ => string_text(Some(content)).unwrap_or_default(),
    }
}

/// Adds a piece of a call, or the whole call. Custom tools have their members under `custom` instead of
/// `function`.
pub(super) fn merge_call_piece(call: &mut ToolCall, piece: Value<'_>) {
    let [id, function, custom] = piece.select_members(["id", "function", "custom"]);
    if let Some(id) = string_text(id) {
        call.id = id;
    }
    for function in [function, custom].into_iter().flatten() {
        merge_function(call, function);
    }
}

/// Adds name and input of a function or a custom tool. Some servers send the input as an object.
pub(super) fn merge_function(call: &mut ToolCall, function: Value<'_>) {
    let [name, arguments, input] = function.select_members(["name", "arguments", "input"]);
    call.name += &string_text(name).unwrap_or_default();
    call.input += &input_text(arguments);
    call.input += &input_text(input);
}

/// Returns the calls of a message that have an id and a name; a result cannot refer to others.
fn calls_with_ids(calls: Value<'_>) -> impl Iterator<Item = ToolCall> {
    let whole = calls.elements().map(|call| {
        let mut whole = ToolCall::default();
        merge_call_piece(&mut whole, call);
        whole
    });
    whole.filter(|call| !call.id.is_empty() && !call.name.is_empty())
}

/// Parses an answer in one document. Only the first choice is the answer.
pub(super) fn answer(document: Value<'_>) -> ModelAnswer {
    let choice = document.member("choices").and_then(|choices| choices.elements().next());
    let message = choice.and_then(|choice| choice.member("message"));
    ModelAnswer {
        model: string_text(document.member("model")),
        text: message.and_then(|message| message.member("content")).map_or(String::new(), content_text),
        tool_calls: message
            .and_then(|message| message.member("tool_calls"))
            .into_iter()
            .flat_map(calls_with_ids)
            .collect(),
        usage: openai_usage(document.member("usage")),
        stop_reason: string_text(choice.and_then(|choice| choice.member("finish_reason"))),
        error: vendor_error(document),
        is_complete: true,
    }
}

/// Assembler of a stream of chunks.
#[derive(Debug, Default)]
pub(super) struct ChatStream {
    answer: ModelAnswer,
    calls: PartialCalls,
}

impl ChatStream {
    /// Adds a piece of a call. The first piece has id and name, the others more of the arguments; their index
    /// ties them together.
    fn merge_piece(&mut self, position: u64, piece: Value<'_>) {
        let index = piece.member("index").and_then(|index| index.unsigned_integer()).unwrap_or(position);
        if let Some(call) = self.calls.get_or_begin(&index.to_string()) {
            merge_call_piece(call, piece);
        }
    }
}

impl StreamAssembler for ChatStream {
    fn is_end(&mut self, data: &str) -> bool {
        let is_end = is_end_mark(data.as_bytes());
        self.answer.is_complete |= is_end;
        is_end
    }

    fn take(&mut self, _name: &str, chunk: Value<'_>) {
        let [model, usage, error, choices] = chunk.select_members(["model", "usage", "error", "choices"]);
        self.answer.model = self.answer.model.take().or_else(|| string_text(model));
        self.answer.usage = openai_usage(usage).or(self.answer.usage);
        self.answer.error = self.answer.error.take().or_else(|| vendor_error_from(error));
        for choice in choices.into_iter().flat_map(|choices| choices.elements()) {
            let [index, reason, delta] = choice.select_members(["index", "finish_reason", "delta"]);
            if index.and_then(|at| at.unsigned_integer()).unwrap_or(0) != 0 {
                continue;
            }
            if let Some(reason) = string_text(reason) {
                self.answer.stop_reason = Some(reason);
            }
            let Some(delta) = delta else { continue };
            let [content, calls] = delta.select_members(["content", "tool_calls"]);
            self.answer.text += &string_text(content).unwrap_or_default();
            let pieces = calls.into_iter().flat_map(|calls| calls.elements());
            for (position, piece) in (0..).zip(pieces) {
                self.merge_piece(position, piece);
            }
        }
    }

    fn count(&self) -> (Option<Usage>, usize) {
        let calls = self.calls.iter().map(|(_, call)| call.text_bytes());
        (self.answer.usage, calls.fold(self.answer.text.len(), usize::saturating_add))
    }

    fn finish(mut self: Box<Self>) -> ModelAnswer {
        self.answer.tool_calls = self.calls.finish();
        self.answer
    }
}
