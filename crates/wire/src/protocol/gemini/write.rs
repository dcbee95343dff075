//! Writers for answers: one document, a stream of events, or a list.

use reenact_json::print::{self, PrintObjectWriter};

use crate::message::{ModelAnswer, ToolCall, Usage};
use crate::protocol::writing::{write_event, write_number, write_tool_input};

/// Part of a content.
enum GeminiPart<'a> {
    Text(&'a str),
    Call(&'a ToolCall),
}

impl GeminiPart<'_> {
    fn write(&self, out: &mut String) {
        let mut object = PrintObjectWriter::open(out);
        match self {
            Self::Text(text) => object.string("text", *text),
            Self::Call(call) => {
                let mut function = PrintObjectWriter::open(object.name("functionCall"));
                if !call.id.is_empty() {
                    function.string("id", call.id.as_str());
                }
                function.string("name", call.name.as_str());
                write_tool_input(call, function.name("args"));
                function.close();
            }
        }
        object.close();
    }
}

/// Returns the text of an answer as at most one part.
fn text_parts(answer: &ModelAnswer) -> Vec<GeminiPart<'_>> {
    Some(answer.text.as_str()).filter(|text| !text.is_empty()).map(GeminiPart::Text).into_iter().collect()
}

/// Returns the calls of an answer as parts.
fn call_parts(answer: &ModelAnswer) -> Vec<GeminiPart<'_>> {
    answer.tool_calls.iter().map(GeminiPart::Call).collect()
}

/// Writes one chunk with these parts. The last chunk also has the stop reason and the usage.
fn chunk(answer: &ModelAnswer, id: &str, parts: &[GeminiPart<'_>], is_last: bool) -> String {
    let mut data = String::new();
    let mut object = PrintObjectWriter::open(&mut data);
    print::write_list([()], object.name("candidates"), |(), out| {
        let mut candidate = PrintObjectWriter::open(out);
        let mut content = PrintObjectWriter::open(candidate.name("content"));
        print::write_list(parts, content.name("parts"), GeminiPart::write);
        content.string("role", "model");
        content.close();
        if let Some(reason) = answer.stop_reason.as_deref().filter(|_| is_last) {
            candidate.string("finishReason", reason);
        }
        write_number(&mut candidate, "index", 0);
        candidate.close();
    });
    if let Some(counts) = answer.usage.filter(|_| is_last) {
        write_usage(counts, object.name("usageMetadata"));
    }
    if let Some(model) = answer.model.as_deref() {
        object.string("modelVersion", model);
    }
    object.string("responseId", id);
    object.close();
    data
}

fn write_usage(usage: Usage, out: &mut String) {
    let mut object = PrintObjectWriter::open(out);
    write_number(&mut object, "promptTokenCount", usage.input_tokens);
    write_number(&mut object, "candidatesTokenCount", usage.output_tokens);
    write_number(&mut object, "totalTokenCount", usage.input_tokens.saturating_add(usage.output_tokens));
    if usage.cached_input_tokens > 0 {
        write_number(&mut object, "cachedContentTokenCount", usage.cached_input_tokens);
    }
    object.close();
}

/// Writes an answer as one document.
pub(super) fn document(answer: &ModelAnswer, id: &str) -> String {
    let parts: Vec<GeminiPart<'_>> = text_parts(answer).into_iter().chain(call_parts(answer)).collect();
    chunk(answer, id, &parts, true)
}

/// Returns the chunks of a stream: text, calls, end.
fn chunks(answer: &ModelAnswer, id: &str) -> Vec<String> {
    let parts = [text_parts(answer), call_parts(answer)];
    let parts = parts.iter().filter(|parts| !parts.is_empty()).map(|parts| chunk(answer, id, parts, false));
    parts.chain([chunk(answer, id, &[], true)]).collect()
}

/// Writes an answer as a stream of events.
pub(super) fn events(answer: &ModelAnswer, id: &str) -> String {
    let mut stream = String::new();
    chunks(answer, id).iter().for_each(|chunk| write_event(None, chunk, &mut stream));
    stream
}

/// Writes an answer as a JSON list of chunks.
pub(super) fn list(answer: &ModelAnswer, id: &str) -> String {
    format!("[{}]", chunks(answer, id).join(",\n"))
}
