//! Answers of responses, written anew.

use reenact_json::print::{self, Object};

use super::super::write_usage as openai_usage;
use crate::message::{Answer, ToolCall};
use crate::protocol::writing::{event, number};

const USAGE: [&str; 3] = ["input_tokens", "output_tokens", "input_tokens_details"];

/// Why an answer may be incomplete; what else ends one is its status.
const INCOMPLETE: [&str; 2] = ["max_output_tokens", "content_filter"];

enum Item<'a> {
    Message(&'a str),
    Call(usize, &'a ToolCall),
}

fn items(answer: &Answer) -> impl Iterator<Item = Item<'_>> {
    let is_said = !answer.text.is_empty() || answer.tool_calls.is_empty();
    let text = Some(answer.text.as_str()).filter(|_| is_said);
    let calls = answer.tool_calls.iter().enumerate().map(|(index, call)| Item::Call(index, call));
    text.map(Item::Message).into_iter().chain(calls)
}

impl Item<'_> {
    fn id(&self, id: &str) -> String {
        match self {
            Self::Message(_) => format!("msg_{id}"),
            Self::Call(index, _) => format!("fc_{id}_{index}"),
        }
    }

    fn write(&self, id: &str, is_whole: bool, out: &mut String) {
        let mut object = Object::open(out);
        object.string("id", self.id(id).as_str());
        match self {
            Self::Message(text) => {
                object.string("type", "message");
                object.string("role", "assistant");
                let parts = Some(*text).filter(|_| is_whole);
                print::list(parts, object.name("content"), part);
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

fn part(text: &str, out: &mut String) {
    let mut object = Object::open(out);
    object.string("type", "output_text");
    object.string("text", text);
    print::list([(); 0], object.name("annotations"), |(), _| {});
    object.close();
}

fn response(answer: &Answer, id: &str, is_whole: bool, out: &mut String) {
    let mut object = Object::open(out);
    object.string("id", format!("resp_{id}").as_str());
    object.string("object", "response");
    number(&mut object, "created_at", 0);
    object.string("model", answer.model.as_deref());
    let reason = answer.stop_reason.as_deref();
    let is_cut = reason.is_some_and(|reason| INCOMPLETE.contains(&reason));
    match (is_whole, is_cut) {
        (false, _) => object.string("status", "in_progress"),
        (true, true) => {
            object.string("status", "incomplete");
            let mut details = Object::open(object.name("incomplete_details"));
            details.string("reason", reason);
            details.close();
        }
        (true, false) => object.string("status", reason),
    }
    object.string("error", None);
    print::list(items(answer).filter(|_| is_whole), object.name("output"), |item, out| {
        item.write(id, true, out)
    });
    object.boolean("parallel_tool_calls", true);
    object.string("tool_choice", "auto");
    print::list([(); 0], object.name("tools"), |(), _| {});
    if let Some(usage) = answer.usage.filter(|_| is_whole) {
        openai_usage(usage, USAGE, object.name("usage"));
    }
    object.close();
}

pub(super) fn document(answer: &Answer, id: &str) -> String {
    let mut text = String::new();
    response(answer, id, true, &mut text);
    text
}

pub(super) fn stream(answer: &Answer, id: &str) -> String {
    let mut text = String::new();
    let mut sequence = 0;
    let mut send = |name: &str, write: &dyn Fn(&mut Object<'_>)| {
        let mut data = String::new();
        let mut object = Object::open(&mut data);
        object.string("type", name);
        number(&mut object, "sequence_number", sequence);
        sequence += 1;
        write(&mut object);
        object.close();
        event(Some(name), &data, &mut text);
    };
    send("response.created", &|object| response(answer, id, false, object.name("response")));
    for (index, item) in items(answer).enumerate() {
        let at = |object: &mut Object<'_>| number(object, "output_index", index as u64);
        let within = |object: &mut Object<'_>| {
            object.string("item_id", item.id(id).as_str());
            at(object);
        };
        send("response.output_item.added", &|object| {
            at(object);
            item.write(id, false, object.name("item"));
        });
        match &item {
            Item::Message(said) => {
                let of_part = |object: &mut Object<'_>| {
                    within(object);
                    number(object, "content_index", 0);
                };
                send("response.content_part.added", &|object| {
                    of_part(object);
                    part("", object.name("part"));
                });
                send("response.output_text.delta", &|object| {
                    of_part(object);
                    object.string("delta", *said);
                });
                send("response.output_text.done", &|object| {
                    of_part(object);
                    object.string("text", *said);
                });
                send("response.content_part.done", &|object| {
                    of_part(object);
                    part(said, object.name("part"));
                });
            }
            Item::Call(_, call) => {
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
    let is_cut = answer.stop_reason.as_deref().is_some_and(|reason| INCOMPLETE.contains(&reason));
    let last = if is_cut { "response.incomplete" } else { "response.completed" };
    send(last, &|object| response(answer, id, true, object.name("response")));
    text
}
