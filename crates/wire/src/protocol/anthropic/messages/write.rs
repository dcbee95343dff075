//! Writer of answers in the shape of Anthropic's Messages interface, as a document and as a stream: a replay writes them where a record holds
//! only the words.

use reenact_json::print::{self, PrintObjectWriter};

use crate::message::{ModelAnswer, ToolCall, Usage};
use crate::protocol::writing::{write_event, write_number, write_tool_input};

fn write_usage(usage: Usage, out: &mut String) {
    let mut object = PrintObjectWriter::open(out);
    write_number(&mut object, "input_tokens", usage.input_tokens);
    write_number(&mut object, "cache_creation_input_tokens", usage.cache_write_tokens);
    write_number(&mut object, "cache_read_input_tokens", usage.cached_input_tokens);
    write_number(&mut object, "output_tokens", usage.output_tokens);
    object.close();
}

/// Writes a message. `is_whole` is false for `message_start`, where content and stop reason are still missing.
fn write_message(answer: &ModelAnswer, id: &str, is_whole: bool, out: &mut String) {
    let mut object = PrintObjectWriter::open(out);
    object.string("id", format!("msg_{id}").as_str());
    object.string("type", "message");
    object.string("role", "assistant");
    object.string("model", answer.model.as_deref());
    let blocks = blocks(answer).filter(|_| is_whole);
    print::write_list(blocks, object.name("content"), |block, out| block.write(true, out));
    object.string("stop_reason", answer.stop_reason.as_deref().filter(|_| is_whole));
    object.string("stop_sequence", None);
    if let Some(counts) = answer.usage {
        let counts = if is_whole { counts } else { Usage { output_tokens: 0, ..counts } };
        write_usage(counts, object.name("usage"));
    }
    object.close();
}

/// Content block of a message.
enum MessagesBlock<'a> {
    Text(&'a str),
    Call(&'a ToolCall),
}

/// Returns the blocks of an answer: the text if there is any, then the calls.
fn blocks(answer: &ModelAnswer) -> impl Iterator<Item = MessagesBlock<'_>> {
    let text = Some(answer.text.as_str()).filter(|text| !text.is_empty());
    text.map(MessagesBlock::Text).into_iter().chain(answer.tool_calls.iter().map(MessagesBlock::Call))
}

impl MessagesBlock<'_> {
    /// Writes the block. `is_whole` is false for `content_block_start`, where text and input are still empty.
    fn write(&self, is_whole: bool, out: &mut String) {
        let mut object = PrintObjectWriter::open(out);
        match self {
            Self::Text(text) => {
                object.string("type", "text");
                object.string("text", if is_whole { *text } else { "" });
            }
            Self::Call(call) => {
                object.string("type", "tool_use");
                object.string("id", call.id.as_str());
                object.string("name", call.name.as_str());
                if is_whole {
                    write_tool_input(call, object.name("input"))
                } else {
                    object.name("input").push_str("{}")
                }
            }
        }
        object.close();
    }

    /// Writes the whole content of the block as one delta.
    fn write_delta(&self, out: &mut String) {
        let mut object = PrintObjectWriter::open(out);
        match self {
            Self::Text(text) => {
                object.string("type", "text_delta");
                object.string("text", *text);
            }
            Self::Call(call) => {
                object.string("type", "input_json_delta");
                object.string("partial_json", call.input.as_str());
            }
        }
        object.close();
    }
}

/// Writes an answer as one document.
pub(super) fn document(answer: &ModelAnswer, id: &str) -> String {
    let mut text = String::new();
    write_message(answer, id, true, &mut text);
    text
}

/// Writes an answer as a stream with one delta for each block.
pub(super) fn stream(answer: &ModelAnswer, id: &str) -> String {
    let mut text = String::new();
    let mut send = |name: &str, write: &dyn Fn(&mut PrintObjectWriter<'_>)| {
        let mut data = String::new();
        let mut object = PrintObjectWriter::open(&mut data);
        object.string("type", name);
        write(&mut object);
        object.close();
        write_event(Some(name), &data, &mut text);
    };
    send("message_start", &|object| write_message(answer, id, false, object.name("message")));
    for (index, block) in blocks(answer).enumerate() {
        let at = |object: &mut PrintObjectWriter<'_>| write_number(object, "index", index as u64);
        send("content_block_start", &|object| {
            at(object);
            block.write(false, object.name("content_block"));
        });
        send("content_block_delta", &|object| {
            at(object);
            block.write_delta(object.name("delta"));
        });
        send("content_block_stop", &at);
    }
    send("message_delta", &|object| {
        let mut delta = PrintObjectWriter::open(object.name("delta"));
        delta.string("stop_reason", answer.stop_reason.as_deref());
        delta.string("stop_sequence", None);
        delta.close();
        if let Some(counts) = answer.usage {
            let mut last = PrintObjectWriter::open(object.name("usage"));
            write_number(&mut last, "output_tokens", counts.output_tokens);
            last.close();
        }
    });
    send("message_stop", &|_| {});
    text
}
