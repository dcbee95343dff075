//! Answers, written anew: as one document, as events, or as a list.

use reenact_json::print::{self, Object};

use crate::message::{Answer, ToolCall, Usage};
use crate::protocol::writing::{event, input, number};

/// A part of a content.
enum Part<'a> {
    Text(&'a str),
    Call(&'a ToolCall),
}

impl Part<'_> {
    fn write(&self, out: &mut String) {
        let mut object = Object::open(out);
        match self {
            Self::Text(text) => object.string("text", *text),
            Self::Call(call) => {
                let mut function = Object::open(object.name("functionCall"));
                if !call.id.is_empty() {
                    function.string("id", call.id.as_str());
                }
                function.string("name", call.name.as_str());
                input(call, function.name("args"));
                function.close();
            }
        }
        object.close();
    }
}

fn text(answer: &Answer) -> Vec<Part<'_>> {
    Some(answer.text.as_str()).filter(|text| !text.is_empty()).map(Part::Text).into_iter().collect()
}

fn calls(answer: &Answer) -> Vec<Part<'_>> {
    answer.tool_calls.iter().map(Part::Call).collect()
}

/// One chunk with these parts; the last one says why the answer ended, and what it took.
fn chunk(answer: &Answer, id: &str, parts: &[Part<'_>], is_last: bool) -> String {
    let mut data = String::new();
    let mut object = Object::open(&mut data);
    print::list([()], object.name("candidates"), |(), out| {
        let mut candidate = Object::open(out);
        let mut content = Object::open(candidate.name("content"));
        print::list(parts, content.name("parts"), Part::write);
        content.string("role", "model");
        content.close();
        if let Some(reason) = answer.stop_reason.as_deref().filter(|_| is_last) {
            candidate.string("finishReason", reason);
        }
        number(&mut candidate, "index", 0);
        candidate.close();
    });
    if let Some(counts) = answer.usage.filter(|_| is_last) {
        usage(counts, object.name("usageMetadata"));
    }
    if let Some(model) = answer.model.as_deref() {
        object.string("modelVersion", model);
    }
    object.string("responseId", id);
    object.close();
    data
}

fn usage(usage: Usage, out: &mut String) {
    let mut object = Object::open(out);
    number(&mut object, "promptTokenCount", usage.input_tokens);
    number(&mut object, "candidatesTokenCount", usage.output_tokens);
    number(&mut object, "totalTokenCount", usage.input_tokens.saturating_add(usage.output_tokens));
    if usage.cached_input_tokens > 0 {
        number(&mut object, "cachedContentTokenCount", usage.cached_input_tokens);
    }
    object.close();
}

pub(super) fn document(answer: &Answer, id: &str) -> String {
    let parts: Vec<Part<'_>> = text(answer).into_iter().chain(calls(answer)).collect();
    chunk(answer, id, &parts, true)
}

/// The chunks of a stream: the words, the calls, the end.
fn chunks(answer: &Answer, id: &str) -> Vec<String> {
    let parts = [text(answer), calls(answer)];
    let parts = parts.iter().filter(|parts| !parts.is_empty()).map(|parts| chunk(answer, id, parts, false));
    parts.chain([chunk(answer, id, &[], true)]).collect()
}

pub(super) fn events(answer: &Answer, id: &str) -> String {
    let mut stream = String::new();
    chunks(answer, id).iter().for_each(|chunk| event(None, chunk, &mut stream));
    stream
}

pub(super) fn list(answer: &Answer, id: &str) -> String {
    format!("[{}]", chunks(answer, id).join(",\n"))
}
