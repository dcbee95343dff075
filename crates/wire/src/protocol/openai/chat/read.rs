//! Requests, answers and streams of chat completions, read.

use reenact_json::{Kind, Value};

use super::super::usage as openai_usage;
use crate::exchange::{Request, text};
use crate::gate::Told;
use crate::message::{Answer, ToolCall, ToolResult, Usage};
use crate::protocol::Reassembly;
use crate::protocol::reading::{Growing, error, error_of};

/// What a request asks for, and what its messages tell: earlier calls, and their results.
pub(super) fn request(document: Value<'_>) -> Request {
    let [model, stream, search, messages] =
        document.pick(["model", "stream", "web_search_options", "messages"]);
    let mut request = Request::of(model, stream);
    if search.is_some_and(|options| !options.is_null()) {
        request.vendor_tools.push("web_search".to_owned());
    }
    for message in messages.into_iter().flat_map(|messages| messages.elements()) {
        let [role, calls, id, said] = message.pick(["role", "tool_calls", "tool_call_id", "content"]);
        request.earlier_calls.extend(calls.into_iter().flat_map(named_calls));
        if role.is_some_and(|role| role.is_string("tool"))
            && let Some(id) = text(id)
        {
            let output = said.map_or(String::new(), content);
            request.tool_results.push(ToolResult { id, output, is_error: false });
        }
    }
    request
}

/// Every tool that a document asks for, in any of its choices, in today's way or in that of before; and what it took.
pub(super) fn told(document: Value<'_>) -> Told {
    let [choices, usage] = document.pick(["choices", "usage"]);
    let choices = choices.into_iter().flat_map(|choices| choices.elements());
    let messages = choices.filter_map(|choice| choice.member("message"));
    let mut asked = Vec::new();
    for message in messages {
        let [calls, function] = message.pick(["tool_calls", "function_call"]);
        for call in calls.into_iter().flat_map(|calls| calls.elements()) {
            let mut asked_for = ToolCall::default();
            grow(&mut asked_for, call);
            asked.push(asked_for);
        }
        if let Some(function) = function.filter(|function| function.kind() == Kind::Object) {
            asked.push(ToolCall {
                id: String::new(),
                name: text(function.member("name")).unwrap_or_default(),
                input: text(function.member("arguments")).unwrap_or_default(),
            });
        }
    }
    Told { calls: asked, usage: openai_usage(usage) }
}

/// The text of a content that is a string, or a list of parts.
fn content(content: Value<'_>) -> String {
    match content.kind() {
        Kind::Array => content.elements().filter_map(|part| text(part.member("text"))).collect(),
        _ => text(Some(content)).unwrap_or_default(),
    }
}

/// Adds what a piece of a call has, or the whole of it. Tools of a vendor's own making have their members under another name.
pub(super) fn grow(call: &mut ToolCall, piece: Value<'_>) {
    let [id, function, custom] = piece.pick(["id", "function", "custom"]);
    if let Some(id) = text(id) {
        call.id = id;
    }
    for function in [function, custom].into_iter().flatten() {
        let [name, arguments, input] = function.pick(["name", "arguments", "input"]);
        call.name += &text(name).unwrap_or_default();
        call.input += &text(arguments).unwrap_or_default();
        call.input += &text(input).unwrap_or_default();
    }
}

/// Of the calls in a message, those that their results can name.
fn named_calls(calls: Value<'_>) -> impl Iterator<Item = ToolCall> {
    let whole = calls.elements().map(|call| {
        let mut whole = ToolCall::default();
        grow(&mut whole, call);
        whole
    });
    whole.filter(|call| !call.id.is_empty() && !call.name.is_empty())
}

/// The answer in a document. Of several choices the first one speaks.
pub(super) fn answer(document: Value<'_>) -> Answer {
    let choice = document.member("choices").and_then(|choices| choices.elements().next());
    let message = choice.and_then(|choice| choice.member("message"));
    Answer {
        model: text(document.member("model")),
        text: message.and_then(|message| message.member("content")).map_or(String::new(), content),
        tool_calls: message
            .and_then(|message| message.member("tool_calls"))
            .into_iter()
            .flat_map(named_calls)
            .collect(),
        usage: openai_usage(document.member("usage")),
        stop_reason: text(choice.and_then(|choice| choice.member("finish_reason"))),
        error: error(document),
        complete: true,
    }
}

/// What a stream took, with the `usage` of its next chunk.
pub(super) fn measure(sum: &mut Option<Usage>, usage: Option<Value<'_>>) {
    *sum = openai_usage(usage).or(*sum);
}

/// A stream of chunks.
#[derive(Default)]
pub(super) struct Stream {
    answer: Answer,
    calls: Growing,
}

impl Stream {
    /// Adds a piece of a call. The first one has its id and name, the others only more of its arguments; an index ties them together.
    fn grow(&mut self, place: u64, piece: Value<'_>) {
        let index = piece.member("index").and_then(|index| index.whole()).unwrap_or(place);
        if let Some(call) = self.calls.get(&index.to_string()) {
            grow(call, piece);
        }
    }
}

impl Reassembly for Stream {
    fn is_end(&mut self, data: &str) -> bool {
        let is_end = data == "[DONE]";
        self.answer.complete |= is_end;
        is_end
    }

    fn take(&mut self, _name: &str, chunk: Value<'_>) {
        let [model, usage, error, choices] = chunk.pick(["model", "usage", "error", "choices"]);
        self.answer.model = self.answer.model.take().or_else(|| text(model));
        measure(&mut self.answer.usage, usage);
        self.answer.error = self.answer.error.take().or_else(|| error_of(error));
        for choice in choices.into_iter().flat_map(|choices| choices.elements()) {
            let [index, reason, delta] = choice.pick(["index", "finish_reason", "delta"]);
            if index.and_then(|at| at.whole()).unwrap_or(0) != 0 {
                continue;
            }
            if let Some(reason) = text(reason) {
                self.answer.stop_reason = Some(reason);
            }
            let Some(delta) = delta else { continue };
            let [content, calls] = delta.pick(["content", "tool_calls"]);
            self.answer.text += &text(content).unwrap_or_default();
            let pieces = calls.into_iter().flat_map(|calls| calls.elements());
            for (place, piece) in (0..).zip(pieces) {
                self.grow(place, piece);
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Answer {
        self.answer.tool_calls = self.calls.finish();
        self.answer
    }
}
