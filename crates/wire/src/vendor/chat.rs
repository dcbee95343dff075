//! OpenAI chat completions.

use reenact_json::{Kind, Value};

use super::{Growing, at, error, openai_usage};
use crate::exchange::{Request, text};
use crate::message::{Answer, ToolCall, ToolResult};

/// What the messages of a request tell: earlier calls, and their results.
pub(crate) fn conversation(document: Value<'_>, request: &mut Request) {
    if document.member("web_search_options").is_some_and(|options| !options.is_null()) {
        request.vendor_tools.push("web_search".to_owned());
    }
    for message in document.member("messages").into_iter().flat_map(|messages| messages.elements()) {
        request.earlier_calls.extend(tool_calls(message));
        if message.member("role").is_some_and(|role| role.is_string("tool"))
            && let Some(id) = text(message.member("tool_call_id"))
        {
            let output = message.member("content").map_or(String::new(), content);
            request.tool_results.push(ToolResult { id, output, is_error: false });
        }
    }
}

/// Every tool that a document asks for, in any of its choices, in today's way or in that of before.
pub(crate) fn asked_tools(document: Value<'_>) -> Vec<ToolCall> {
    let choices = document.member("choices").into_iter().flat_map(|choices| choices.elements());
    let messages = choices.filter_map(|choice| choice.member("message"));
    let mut asked = Vec::new();
    for message in messages {
        for call in message.member("tool_calls").into_iter().flat_map(|calls| calls.elements()) {
            let of = |path: [&str; 2]| text(at(call, &path));
            asked.push(ToolCall {
                id: text(call.member("id")).unwrap_or_default(),
                name: of(["function", "name"]).or_else(|| of(["custom", "name"])).unwrap_or_default(),
                input: of(["function", "arguments"]).or_else(|| of(["custom", "input"])).unwrap_or_default(),
            });
        }
        if let Some(function) =
            message.member("function_call").filter(|function| function.kind() == Kind::Object)
        {
            asked.push(ToolCall {
                id: String::new(),
                name: text(function.member("name")).unwrap_or_default(),
                input: text(function.member("arguments")).unwrap_or_default(),
            });
        }
    }
    asked
}

/// The text of a content that is a string, or a list of parts.
fn content(content: Value<'_>) -> String {
    match content.kind() {
        Kind::Array => content.elements().filter_map(|part| text(part.member("text"))).collect(),
        _ => text(Some(content)).unwrap_or_default(),
    }
}

fn tool_calls(message: Value<'_>) -> impl Iterator<Item = ToolCall> {
    let calls = message.member("tool_calls").into_iter().flat_map(|calls| calls.elements());
    calls.filter_map(|call| {
        Some(ToolCall {
            id: text(call.member("id"))?,
            name: text(at(call, &["function", "name"]))?,
            input: text(at(call, &["function", "arguments"])).unwrap_or_default(),
        })
    })
}

/// The answer in a document. Of several choices the first one speaks.
pub(crate) fn answer(document: Value<'_>) -> Answer {
    let choice = document.member("choices").and_then(|choices| choices.elements().next());
    let message = choice.and_then(|choice| choice.member("message"));
    Answer {
        model: text(document.member("model")),
        text: message.and_then(|message| message.member("content")).map_or(String::new(), content),
        tool_calls: message.into_iter().flat_map(tool_calls).collect(),
        usage: openai_usage(document.member("usage")),
        stop_reason: text(choice.and_then(|choice| choice.member("finish_reason"))),
        error: error(document),
        complete: true,
    }
}

/// A stream of chunks.
#[derive(Default)]
pub(crate) struct Stream {
    answer: Answer,
    calls: Growing,
}

impl Stream {
    pub(super) fn take(&mut self, chunk: Value<'_>) {
        self.answer.model = self.answer.model.take().or_else(|| text(chunk.member("model")));
        self.answer.usage = openai_usage(chunk.member("usage")).or(self.answer.usage);
        self.answer.error = self.answer.error.take().or_else(|| error(chunk));
        let choices = chunk.member("choices").into_iter().flat_map(|choices| choices.elements());
        for choice in
            choices.filter(|choice| choice.member("index").and_then(|at| at.whole()).unwrap_or(0) == 0)
        {
            if let Some(reason) = text(choice.member("finish_reason")) {
                self.answer.stop_reason = Some(reason);
            }
            let Some(delta) = choice.member("delta") else { continue };
            self.answer.text += &text(delta.member("content")).unwrap_or_default();
            for call in delta.member("tool_calls").into_iter().flat_map(|calls| calls.elements()) {
                self.grow(call);
            }
        }
    }

    /// The first piece of a call has its id and name, the others only more of its arguments; an index ties them together.
    fn grow(&mut self, piece: Value<'_>) {
        let index = piece.member("index").and_then(|index| index.whole()).unwrap_or_default();
        let Some(call) = self.calls.get(&index.to_string()) else { return };
        if let Some(id) = text(piece.member("id")) {
            call.id = id;
        }
        call.name += &text(at(piece, &["function", "name"])).unwrap_or_default();
        call.input += &text(at(piece, &["function", "arguments"])).unwrap_or_default();
    }

    pub(super) fn done(&mut self) {
        self.answer.complete = true;
    }

    pub(super) fn finish(mut self) -> Answer {
        self.answer.tool_calls = self.calls.finish();
        self.answer
    }
}
