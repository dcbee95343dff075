//! Writer of answers in the shape of OpenAI's Chat Completions interface, as a document and as a stream: a replay writes them where a record
//! holds only the words.

use reenact_json::print::{self, PrintObjectWriter};

use super::super::write_usage as openai_usage;
use crate::message::{ModelAnswer, ToolCall};
use crate::protocol::writing::{write_event, write_number};

/// Names of the usage members, for [`write_usage`](super::super::write_usage).
const USAGE_MEMBERS: [&str; 3] = ["prompt_tokens", "completion_tokens", "prompt_tokens_details"];

/// Opens a document or a chunk with the members that both begin with.
fn open_object<'o>(answer: &ModelAnswer, id: &str, kind: &str, out: &'o mut String) -> PrintObjectWriter<'o> {
    let mut object = PrintObjectWriter::open(out);
    object.string("id", format!("chatcmpl-{id}").as_str());
    object.string("object", kind);
    write_number(&mut object, "created", 0);
    object.string("model", answer.model.as_deref());
    object
}

/// Writes a tool call, with its index if it is part of a stream.
fn write_call(call: &ToolCall, index: Option<usize>, out: &mut String) {
    let mut object = PrintObjectWriter::open(out);
    if let Some(index) = index {
        write_number(&mut object, "index", index as u64);
    }
    object.string("id", call.id.as_str());
    object.string("type", "function");
    let mut function = PrintObjectWriter::open(object.name("function"));
    function.string("name", call.name.as_str());
    function.string("arguments", call.input.as_str());
    function.close();
    object.close();
}

/// Writes an answer as one document.
pub(super) fn document(answer: &ModelAnswer, id: &str) -> String {
    let mut text = String::new();
    let mut object = open_object(answer, id, "chat.completion", &mut text);
    print::write_list([()], object.name("choices"), |(), out| {
        let mut choice = PrintObjectWriter::open(out);
        write_number(&mut choice, "index", 0);
        let mut message = PrintObjectWriter::open(choice.name("message"));
        message.string("role", "assistant");
        // A message with calls alone has null as content.
        message.string(
            "content",
            Some(answer.text.as_str()).filter(|text| !text.is_empty() || answer.tool_calls.is_empty()),
        );
        message.string("refusal", None);
        if !answer.tool_calls.is_empty() {
            print::write_list(&answer.tool_calls, message.name("tool_calls"), |made, out| {
                write_call(made, None, out)
            });
        }
        message.close();
        choice.string("logprobs", None);
        choice.string("finish_reason", answer.stop_reason.as_deref());
        choice.close();
    });
    if let Some(usage) = answer.usage {
        openai_usage(usage, USAGE_MEMBERS, object.name("usage"));
    }
    object.close();
    text
}

/// Writes an answer as a stream: role, text, one chunk for each call, end, usage, `[DONE]`.
pub(super) fn stream(answer: &ModelAnswer, id: &str) -> String {
    let mut text = String::new();
    let mut chunk = |delta: &dyn Fn(&mut PrintObjectWriter<'_>), reason: Option<&str>| {
        let mut data = String::new();
        let mut object = open_object(answer, id, "chat.completion.chunk", &mut data);
        print::write_list([()], object.name("choices"), |(), out| {
            let mut choice = PrintObjectWriter::open(out);
            write_number(&mut choice, "index", 0);
            let mut inner = PrintObjectWriter::open(choice.name("delta"));
            delta(&mut inner);
            inner.close();
            choice.string("finish_reason", reason);
            choice.close();
        });
        object.close();
        write_event(None, &data, &mut text);
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
            &|delta| {
                print::write_list([made], delta.name("tool_calls"), |made, out| {
                    write_call(made, Some(index), out)
                })
            },
            None,
        );
    }
    chunk(&|_| {}, answer.stop_reason.as_deref());
    if let Some(usage) = answer.usage {
        let mut data = String::new();
        let mut object = open_object(answer, id, "chat.completion.chunk", &mut data);
        print::write_list([(); 0], object.name("choices"), |(), _| {});
        openai_usage(usage, USAGE_MEMBERS, object.name("usage"));
        object.close();
        write_event(None, &data, &mut text);
    }
    write_event(None, "[DONE]", &mut text);
    text
}
