//! Parsers for answers: one document, or the chunks of a stream, each a document of the same shape.

use reenact_json::{Value, ValueKind};

use crate::exchange::string_text;
use crate::message::{ModelAnswer, ToolCall, Usage, VendorError};
use crate::protocol::StreamAssembler;
use crate::protocol::reading::{count_at, is_object, member_at, optional_object, optional_objects};
use crate::tool_calls::UnreadableAnswer;

/// Largest number of calls in one answer; a hostile stream could have any number.
const MAX_CALLS: usize = 1024;

/// Returns the chunks of a body: the document itself, or the elements of a list.
pub(super) fn chunks(document: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    let one = (document.kind() != ValueKind::Array).then_some(document);
    one.into_iter().chain(document.elements())
}

/// Parses an answer in one body, which is complete by definition.
pub(super) fn answer(document: Value<'_>) -> ModelAnswer {
    let mut sum = GeminiStream::default();
    chunks(document).for_each(|chunk| sum.add(chunk));
    ModelAnswer { is_complete: true, ..sum.answer }
}

/// Assembler of a stream of chunks.
#[derive(Debug, Default)]
pub(super) struct GeminiStream {
    answer: ModelAnswer,
}

impl GeminiStream {
    /// Adds a chunk to the answer.
    fn add(&mut self, chunk: Value<'_>) {
        let answer = &mut self.answer;
        let [model, candidates, feedback, failure] =
            chunk.select_members(["modelVersion", "candidates", "promptFeedback", "error"]);
        answer.model = answer.model.take().or_else(|| string_text(model));
        update_usage(&mut answer.usage, chunk);
        answer.error = answer.error.take().or_else(|| vendor_error(failure));
        let blocked = feedback.and_then(|feedback| string_text(feedback.member("blockReason")));
        // Only the candidate with index 0 is the answer.
        let first = candidates.into_iter().flat_map(|candidates| candidates.elements()).find(is_first);
        for part in first.into_iter().flat_map(parts) {
            let [text, thought, function] = part.select_members(["text", "thought", "functionCall"]);
            if thought.and_then(|thought| thought.boolean()) != Some(true) {
                answer.text += &string_text(text).unwrap_or_default();
            }
            let call = function.filter(|function| function.kind() == ValueKind::Object).map(tool_call);
            answer.tool_calls.extend(call.filter(|_| answer.tool_calls.len() < MAX_CALLS));
        }
        let finished = first.and_then(|first| string_text(first.member("finishReason")));
        if let Some(reason) = finished.or(blocked) {
            answer.stop_reason = Some(reason);
            answer.is_complete = true;
        }
    }
}

impl StreamAssembler for GeminiStream {
    fn take(&mut self, _name: &str, chunk: Value<'_>) {
        self.add(chunk);
    }

    fn count(&self) -> (Option<Usage>, usize) {
        (self.answer.usage, self.answer.text_bytes())
    }

    fn finish(self: Box<Self>) -> ModelAnswer {
        self.answer
    }
}

/// Returns true for the candidate with index 0, which is also the default.
fn is_first(candidate: &Value<'_>) -> bool {
    candidate.member("index").and_then(|index| index.unsigned_integer()).unwrap_or_default() == 0
}

/// Returns the parts of a candidate's content.
fn parts(candidate: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    member_at(candidate, &["content", "parts"]).into_iter().flat_map(|parts| parts.elements())
}

/// Returns a call, whose id may be empty. Without arguments an empty object is meant.
pub(super) fn tool_call(function: Value<'_>) -> ToolCall {
    let [id, name, args] = function.select_members(["id", "name", "args"]);
    let args = args.filter(|args| !args.is_null());
    ToolCall {
        id: string_text(id).unwrap_or_default(),
        name: string_text(name).unwrap_or_default(),
        input: args.map_or_else(|| "{}".to_owned(), |args| String::from_utf8_lossy(args.text()).into_owned()),
    }
}

/// Returns every tool call of a chunk, in any of its candidates.
///
/// # Errors
/// [`UnreadableAnswer`] if a value on the way to a call has another type than in Google's answers, and for arguments
/// that come in pieces, which Vertex offers on request: they are not assembled here.
pub(super) fn client_tool_calls(chunk: Value<'_>) -> Result<Vec<ToolCall>, UnreadableAnswer> {
    if !is_object(&chunk) {
        return Err(UnreadableAnswer);
    }
    let mut calls = Vec::new();
    for candidate in optional_objects(chunk.member("candidates"))? {
        let Some(content) = optional_object(candidate.member("content"))? else { continue };
        for part in optional_objects(content.member("parts"))? {
            // Google's clients take both spellings.
            for function in part.select_members(["functionCall", "function_call"]) {
                let Some(function) = optional_object(function)? else { continue };
                let [pieces, continues] = function.select_members(["partialArgs", "willContinue"]);
                if pieces.or(continues).is_some() || calls.len() >= MAX_CALLS {
                    return Err(UnreadableAnswer);
                }
                calls.push(tool_call(function));
            }
        }
    }
    Ok(calls)
}

/// Replaces the usage by that of a chunk, whose counts are cumulative. Prompts of vendor tools count as input,
/// and thoughts as output.
pub(super) fn update_usage(sum: &mut Option<Usage>, chunk: Value<'_>) {
    let Some(usage) = chunk.member("usageMetadata").filter(|usage| usage.kind() == ValueKind::Object) else {
        return;
    };
    let total = |one: &str, other: &str| count_at(usage, &[one]).saturating_add(count_at(usage, &[other]));
    *sum = Some(Usage {
        input_tokens: total("promptTokenCount", "toolUsePromptTokenCount"),
        output_tokens: total("candidatesTokenCount", "thoughtsTokenCount"),
        cached_input_tokens: count_at(usage, &["cachedContentTokenCount"]),
        cache_write_tokens: 0,
    });
}

/// Returns true for a chunk after which a client waits for nothing.
pub(super) fn is_last(chunk: Value<'_>) -> bool {
    let mut candidates = chunk.member("candidates").into_iter().flat_map(|candidates| candidates.elements());
    candidates.any(|candidate| string_text(candidate.member("finishReason")).is_some())
}

/// Parses `{"code": 429, "message": …, "status": "RESOURCE_EXHAUSTED"}`.
fn vendor_error(error: Option<Value<'_>>) -> Option<VendorError> {
    let error = error.filter(|error| error.kind() == ValueKind::Object)?;
    let word = |name: &str| string_text(error.member(name)).unwrap_or_default();
    Some(VendorError { kind: word("status"), message: word("message") })
}
