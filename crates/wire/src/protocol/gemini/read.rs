//! Answers: one document, or the chunks of a stream, each of them a document of the same shape.

use reenact_json::{Kind, Value};

use crate::exchange::text;
use crate::gate::Unreadable;
use crate::message::{Answer, ToolCall, Usage, VendorError};
use crate::protocol::Reassembly;
use crate::protocol::reading::{at, count};

/// Bound on the calls of one answer; a hostile stream may have as many as it likes.
const MAX_CALLS: usize = 1024;

/// The chunks of an answer in one piece: itself, or the elements of a list.
pub(super) fn chunks(document: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    let one = (document.kind() != Kind::Array).then_some(document);
    one.into_iter().chain(document.elements())
}

pub(super) fn answer(document: Value<'_>) -> Answer {
    let mut sum = Chunks::default();
    chunks(document).for_each(|chunk| sum.add(chunk));
    Answer { complete: true, ..sum.answer }
}

/// A stream of chunks.
#[derive(Default)]
pub(super) struct Chunks {
    answer: Answer,
}

impl Chunks {
    fn add(&mut self, chunk: Value<'_>) {
        let answer = &mut self.answer;
        let [model, candidates, feedback, failure] =
            chunk.pick(["modelVersion", "candidates", "promptFeedback", "error"]);
        answer.model = answer.model.take().or_else(|| text(model));
        measure(&mut answer.usage, chunk);
        answer.error = answer.error.take().or_else(|| error(failure));
        let blocked = feedback.and_then(|feedback| text(feedback.member("blockReason")));
        // Of several candidates the first one speaks.
        let first = candidates.into_iter().flat_map(|candidates| candidates.elements()).find(is_first);
        for part in first.into_iter().flat_map(parts) {
            let [said, thought, function] = part.pick(["text", "thought", "functionCall"]);
            if thought.and_then(|thought| thought.boolean()) != Some(true) {
                answer.text += &text(said).unwrap_or_default();
            }
            let asked = function.filter(|function| function.kind() == Kind::Object).map(call);
            answer.tool_calls.extend(asked.filter(|_| answer.tool_calls.len() < MAX_CALLS));
        }
        let finished = first.and_then(|first| text(first.member("finishReason")));
        if let Some(reason) = finished.or(blocked) {
            answer.stop_reason = Some(reason);
            answer.complete = true;
        }
    }
}

impl Reassembly for Chunks {
    fn take(&mut self, _name: &str, chunk: Value<'_>) {
        self.add(chunk);
    }

    fn finish(self: Box<Self>) -> Answer {
        self.answer
    }
}

fn is_first(candidate: &Value<'_>) -> bool {
    candidate.member("index").and_then(|index| index.whole()).unwrap_or_default() == 0
}

fn parts(candidate: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    at(candidate, &["content", "parts"]).into_iter().flat_map(|parts| parts.elements())
}

/// A call, which may have no id. Without arguments it means an empty object.
pub(super) fn call(function: Value<'_>) -> ToolCall {
    let [id, name, args] = function.pick(["id", "name", "args"]);
    let args = args.filter(|args| !args.is_null());
    ToolCall {
        id: text(id).unwrap_or_default(),
        name: text(name).unwrap_or_default(),
        input: args.map_or_else(|| "{}".to_owned(), |args| String::from_utf8_lossy(args.text()).into_owned()),
    }
}

/// Every tool that a chunk asks for, in any of its candidates. Arguments that come piece by piece, which one may ask Vertex for,
/// are not put together here.
pub(super) fn asked_tools(chunk: Value<'_>) -> Result<Vec<ToolCall>, Unreadable> {
    let candidates = chunk.member("candidates").into_iter().flat_map(|candidates| candidates.elements());
    let functions = candidates.flat_map(parts).filter_map(|part| part.member("functionCall"));
    let mut calls = Vec::new();
    for function in functions.filter(|function| function.kind() == Kind::Object) {
        let [pieces, continues] = function.pick(["partialArgs", "willContinue"]);
        if pieces.or(continues).is_some() || calls.len() >= MAX_CALLS {
            return Err(Unreadable);
        }
        calls.push(call(function));
    }
    Ok(calls)
}

/// Takes the counts of a chunk, which are those of the whole answer so far. What vendor tools bring is read as well, and thoughts
/// are written.
pub(super) fn measure(sum: &mut Option<Usage>, chunk: Value<'_>) {
    let Some(usage) = chunk.member("usageMetadata").filter(|usage| usage.kind() == Kind::Object) else {
        return;
    };
    let total = |one: &str, other: &str| count(usage, &[one]).saturating_add(count(usage, &[other]));
    *sum = Some(Usage {
        input_tokens: total("promptTokenCount", "toolUsePromptTokenCount"),
        output_tokens: total("candidatesTokenCount", "thoughtsTokenCount"),
        cached_input_tokens: count(usage, &["cachedContentTokenCount"]),
        cache_write_tokens: 0,
    });
}

/// Returns true for a chunk behind which a client waits for nothing.
pub(super) fn is_last(chunk: Value<'_>) -> bool {
    let mut candidates = chunk.member("candidates").into_iter().flat_map(|candidates| candidates.elements());
    candidates.any(|candidate| text(candidate.member("finishReason")).is_some())
}

/// `{"code": 429, "message": …, "status": "RESOURCE_EXHAUSTED"}`
fn error(error: Option<Value<'_>>) -> Option<VendorError> {
    let error = error.filter(|error| error.kind() == Kind::Object)?;
    let word = |name: &str| text(error.member(name)).unwrap_or_default();
    Some(VendorError { kind: word("status"), message: word("message") })
}
