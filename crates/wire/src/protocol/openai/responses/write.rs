//! Writer of answers in the shape of OpenAI's Responses interface, as a document and as a stream: a replay writes them where a record holds only
//! the words.

use reenact_json::print::{self, PrintObjectWriter};

use super::super::write_usage as openai_usage;
use crate::message::{ModelAnswer, ToolCall};
use crate::protocol::writing::{write_event, write_number};

/// Names of the usage members, for [`write_usage`](super::super::write_usage).
const USAGE_MEMBERS: [&str; 3] = ["input_tokens", "output_tokens", "input_tokens_details"];

/// Stop reasons of incomplete answers. Any other stop reason is written as the status.
const INCOMPLETE_REASONS: [&str; 2] = ["max_output_tokens", "content_filter"];

/// Item of an answer's output.
enum ResponsesItem<'a> {
    Message(&'a str),
    Call(usize, &'a ToolCall),
}

/// Returns the items of an answer: the message, then the calls. Without calls there is a message even if its
/// text is empty.
fn items(answer: &ModelAnswer) -> impl Iterator<Item = ResponsesItem<'_>> {
    let has_message = !answer.text.is_empty() || answer.tool_calls.is_empty();
    let text = Some(answer.text.as_str()).filter(|_| has_message);
    let calls = answer.tool_calls.iter().enumerate().map(|(index, call)| ResponsesItem::Call(index, call));
    text.map(ResponsesItem::Message).into_iter().chain(calls)
}

impl ResponsesItem<'_> {
    /// Returns the id of the item, made of the answer's `id`.
    fn id(&self, id: &str) -> String {
        match self {
            Self::Message(_) => format!("msg_{id}"),
            Self::Call(index, _) => format!("fc_{id}_{index}"),
        }
    }

    /// Writes the item. `is_whole` is false for `output_item.added`, where the content is still missing.
    fn write(&self, id: &str, is_whole: bool, out: &mut String) {
        let mut object = PrintObjectWriter::open(out);
        object.string("id", self.id(id).as_str());
        match self {
            Self::Message(text) => {
                object.string("type", "message");
                object.string("role", "assistant");
                let parts = Some(*text).filter(|_| is_whole);
                print::write_list(parts, object.name("content"), write_part);
            }
            Self::Call(_, call) => {
                object.string("type", "function_call");
                object.string("call_id", call.id.as_str());
                object.string("name", call.name.as_str());
                object.string("arguments", if is_whole { call.input.as_str() } else { "" });
            }
        }
        object.string("status", if is_whole { "completed" } else { "in_progress" });
        object.close();
    }
}

/// Writes a text part of a message.
fn write_part(text: &str, out: &mut String) {
    let mut object = PrintObjectWriter::open(out);
    object.string("type", "output_text");
    object.string("text", text);
    print::write_list([(); 0], object.name("annotations"), |(), _| {});
    object.close();
}

/// Writes the response object. `is_whole` is false for `response.created`, where the output is still missing.
fn write_response(answer: &ModelAnswer, id: &str, is_whole: bool, out: &mut String) {
    let mut object = PrintObjectWriter::open(out);
    object.string("id", format!("resp_{id}").as_str());
    object.string("object", "response");
    write_number(&mut object, "created_at", 0);
    object.string("model", answer.model.as_deref());
    let reason = answer.stop_reason.as_deref();
    let is_cut = reason.is_some_and(|reason| INCOMPLETE_REASONS.contains(&reason));
    match (is_whole, is_cut) {
        (false, _) => object.string("status", "in_progress"),
        (true, true) => {
            object.string("status", "incomplete");
            let mut details = PrintObjectWriter::open(object.name("incomplete_details"));
            details.string("reason", reason);
            details.close();
        }
        (true, false) => object.string("status", reason),
    }
    object.string("error", None);
    print::write_list(items(answer).filter(|_| is_whole), object.name("output"), |item, out| {
        item.write(id, true, out)
    });
    object.boolean("parallel_tool_calls", true);
    object.string("tool_choice", "auto");
    print::write_list([(); 0], object.name("tools"), |(), _| {});
    if let Some(usage) = answer.usage.filter(|_| is_whole) {
        openai_usage(usage, USAGE_MEMBERS, object.name("usage"));
    }
    object.close();
}

/// Writes an answer as one document.
pub(super) fn document(answer: &ModelAnswer, id: &str) -> String {
    let mut text = String::new();
    write_response(answer, id, true, &mut text);
    text
}

/// Writes an answer as a stream, with the events that OpenAI sends for each item.
pub(super) fn stream(answer: &ModelAnswer, id: &str) -> String {
    let mut text = String::new();
    let mut sequence = 0;
    let mut send = |name: &str, write: &dyn Fn(&mut PrintObjectWriter<'_>)| {
        let mut data = String::new();
        let mut object = PrintObjectWriter::open(&mut data);
        object.string("type", name);
        write_number(&mut object, "sequence_number", sequence);
        sequence += 1;
        write(&mut object);
        object.close();
        write_event(Some(name), &data, &mut text);
    };
    send("response.created", &|object| write_response(answer, id, false, object.name("response")));
    for (index, item) in items(answer).enumerate() {
        let at = |object: &mut PrintObjectWriter<'_>| write_number(object, "output_index", index as u64);
        let within = |object: &mut PrintObjectWriter<'_>| {
            object.string("item_id", item.id(id).as_str());
            at(object);
        };
        send("response.output_item.added", &|object| {
            at(object);
            item.write(id, false, object.name("item"));
        });
        match &item {
            ResponsesItem::Message(text) => {
                let of_part = |object: &mut PrintObjectWriter<'_>| {
                    within(object);
                    write_number(object, "content_index", 0);
                };
                send("response.content_part.added", &|object| {
                    of_part(object);
                    write_part("", object.name("part"));
                });
                send("response.output_text.delta", &|object| {
                    of_part(object);
                    object.string("delta", *text);
                });
                send("response.output_text.done", &|object| {
                    of_part(object);
                    object.string("text", *text);
                });
                send("response.content_part.done", &|object| {
                    of_part(object);
                    write_part(text, object.name("part"));
                });
            }
            ResponsesItem::Call(_, call) => {
                send("response.function_call_arguments.delta", &|object| {
                    within(object);
                    object.string("delta", call.input.as_str());
                });
                send("response.function_call_arguments.done", &|object| {
                    within(object);
                    object.string("arguments", call.input.as_str());
                });
            }
        }
        send("response.output_item.done", &|object| {
            at(object);
            item.write(id, true, object.name("item"));
        });
    }
    let is_cut = answer.stop_reason.as_deref().is_some_and(|reason| INCOMPLETE_REASONS.contains(&reason));
    let last = if is_cut { "response.incomplete" } else { "response.completed" };
    send(last, &|object| write_response(answer, id, true, object.name("response")));
    text
}
