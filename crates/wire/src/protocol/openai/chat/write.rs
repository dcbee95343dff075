//! Answers of chat completions, written anew.

use reenact_json::print::{self, Object};

use super::super::write_usage as openai_usage;
use crate::message::{Answer, ToolCall};
use crate::protocol::writing::{event, number};

const USAGE: [&str; 3] = ["prompt_tokens", "completion_tokens", "prompt_tokens_details"];

fn head<'o>(answer: &Answer, id: &str, kind: &str, out: &'o mut String) -> Object<'o> {
    let mut object = Object::open(out);
    object.string("id", format!("chatcmpl-{id}").as_str());
    object.string("object", kind);
    number(&mut object, "created", 0);
    object.string("model", answer.model.as_deref());
    object
}

fn call(call: &ToolCall, index: Option<usize>, out: &mut String) {
    let mut object = Object::open(out);
    if let Some(index) = index {
        number(&mut object, "index", index as u64);
    }
    object.string("id", call.id.as_str());
    object.string("type", "function");
    let mut function = Object::open(object.name("function"));
    function.string("name", call.name.as_str());
    function.string("arguments", call.input.as_str());
    function.close();
    object.close();
}

pub(super) fn document(answer: &Answer, id: &str) -> String {
    let mut text = String::new();
    let mut object = head(answer, id, "chat.completion", &mut text);
    print::list([()], object.name("choices"), |(), out| {
        let mut choice = Object::open(out);
        number(&mut choice, "index", 0);
        let mut message = Object::open(choice.name("message"));
        message.string("role", "assistant");
        // A message that only calls has no content.
        message.string(
            "content",
            Some(answer.text.as_str()).filter(|text| !text.is_empty() || answer.tool_calls.is_empty()),
        );
        message.string("refusal", None);
        if !answer.tool_calls.is_empty() {
            print::list(&answer.tool_calls, message.name("tool_calls"), |made, out| call(made, None, out));
        }
        message.close();
        choice.string("logprobs", None);
        choice.string("finish_reason", answer.stop_reason.as_deref());
        choice.close();
    });
    if let Some(usage) = answer.usage {
        openai_usage(usage, USAGE, object.name("usage"));
    }
    object.close();
    text
}

pub(super) fn stream(answer: &Answer, id: &str) -> String {
    let mut text = String::new();
    let mut chunk = |delta: &dyn Fn(&mut Object<'_>), reason: Option<&str>| {
        let mut data = String::new();
        let mut object = head(answer, id, "chat.completion.chunk", &mut data);
        print::list([()], object.name("choices"), |(), out| {
            let mut choice = Object::open(out);
            number(&mut choice, "index", 0);
            let mut inner = Object::open(choice.name("delta"));
            delta(&mut inner);
            inner.close();
            choice.string("finish_reason", reason);
            choice.close();
        });
        object.close();
        event(None, &data, &mut text);
    };
    chunk(
        &|delta| {
            delta.string("role", "assistant");
            delta.string("content", "");
        },
        None,
    );
    if !answer.text.is_empty() {
        chunk(&|delta| delta.string("content", answer.text.as_str()), None);
    }
    for (index, made) in answer.tool_calls.iter().enumerate() {
        chunk(
            &|delta| print::list([made], delta.name("tool_calls"), |made, out| call(made, Some(index), out)),
            None,
        );
    }
    chunk(&|_| {}, answer.stop_reason.as_deref());
    if let Some(usage) = answer.usage {
        let mut data = String::new();
        let mut object = head(answer, id, "chat.completion.chunk", &mut data);
        print::list([(); 0], object.name("choices"), |(), _| {});
        openai_usage(usage, USAGE, object.name("usage"));
        object.close();
        event(None, &data, &mut text);
    }
    event(None, "[DONE]", &mut text);
    text
}
