//! Requests, answers and streams of messages, read.

use std::collections::BTreeMap;

use reenact_json::{Kind, Value};

use crate::exchange::{Request, text};
use crate::gate::Told;
use crate::message::{Answer, ToolCall, ToolResult, Usage};
use crate::protocol::Reassembly;
use crate::protocol::reading::{Growing, at, count, error, kind};

/// What a request asks for, and what its messages tell: earlier calls, and their results.
pub(super) fn request(document: Value<'_>) -> Request {
    let [model, stream, tools, servers, messages] =
        document.pick(["model", "stream", "tools", "mcp_servers", "messages"]);
    let mut request = Request::of(model, stream);
    request.vendor_tools = vendor_tools(tools, servers);
    let messages = messages.into_iter().flat_map(|messages| messages.elements());
    for block in
        messages.filter_map(|message| message.member("content")).flat_map(|content| content.elements())
    {
        request.earlier_calls.extend(tool_use(block));
        if is(block, "tool_result")
            && let Some(id) = text(block.member("tool_use_id"))
        {
            let output = block.member("content").map_or(String::new(), result_text);
            let is_error = block.member("is_error").and_then(|flag| flag.boolean()) == Some(true);
            request.tool_results.push(ToolResult { id, output, is_error });
        }
    }
    request
}

/// Tools that the vendor runs. The others are the agent's: its own, and those that the vendor has only given a form.
fn vendor_tools(tools: Option<Value<'_>>, servers: Option<Value<'_>>) -> Vec<String> {
    const AGENTS_OWN: [&str; 5] = ["custom", "bash_", "computer_", "memory_", "text_editor_"];
    let mut names = Vec::new();
    for tool in tools.into_iter().flat_map(|tools| tools.elements()) {
        let Some(kind) = text(tool.member("type")) else { continue };
        if !AGENTS_OWN.iter().any(|own| kind.starts_with(own)) {
            names.push(text(tool.member("name")).unwrap_or(kind));
        }
    }
    let servers = servers.into_iter().flat_map(|servers| servers.elements());
    names.extend(servers.map(|server| format!("mcp:{}", text(server.member("name")).unwrap_or_default())));
    names
}

/// Every tool that a document asks for, and what it took.
pub(super) fn told(document: Value<'_>) -> Told {
    let [content, took] = document.pick(["content", "usage"]);
    let blocks = content.into_iter().flat_map(|content| content.elements());
    Told { calls: blocks.filter_map(asked_tool).collect(), usage: usage(took) }
}

/// The tool that a block asks its agent for. What the vendor runs by itself is another matter.
pub(super) fn asked_tool(block: Value<'_>) -> Option<ToolCall> {
    let kind = text(block.member("type"))?;
    if !kind.ends_with("tool_use") || matches!(kind.as_str(), "server_tool_use" | "mcp_tool_use") {
        return None;
    }
    let input =
        block.member("input").map_or(String::new(), |input| String::from_utf8_lossy(input.text()).into());
    Some(ToolCall {
        id: text(block.member("id")).unwrap_or_default(),
        name: text(block.member("name")).unwrap_or_default(),
        input,
    })
}

fn is(block: Value<'_>, kind: &str) -> bool {
    block.member("type").is_some_and(|found| found.is_string(kind))
}

/// A result is a string, or blocks of which the text counts.
fn result_text(content: Value<'_>) -> String {
    match content.kind() {
        Kind::Array => content.elements().filter_map(|block| text(block.member("text"))).collect(),
        _ => text(Some(content)).unwrap_or_default(),
    }
}

fn tool_use(block: Value<'_>) -> Option<ToolCall> {
    if !is(block, "tool_use") {
        return None;
    }
    let input = block.member("input").map_or(Vec::new(), |input| input.text().to_vec());
    Some(ToolCall {
        id: text(block.member("id"))?,
        name: text(block.member("name"))?,
        input: String::from_utf8(input).unwrap_or_default(),
    })
}

fn usage(usage: Option<Value<'_>>) -> Option<Usage> {
    let usage = usage.filter(|usage| usage.kind() == Kind::Object)?;
    Some(Usage {
        input_tokens: count(usage, &["input_tokens"]),
        output_tokens: count(usage, &["output_tokens"]),
        cached_input_tokens: count(usage, &["cache_read_input_tokens"]),
        cache_write_tokens: count(usage, &["cache_creation_input_tokens"]),
    })
}

/// The answer in a document.
pub(super) fn answer(document: Value<'_>) -> Answer {
    let blocks = || document.member("content").into_iter().flat_map(|content| content.elements());
    Answer {
        model: text(document.member("model")),
        text: blocks()
            .filter(|block| is(*block, "text"))
            .filter_map(|block| text(block.member("text")))
            .collect(),
        tool_calls: blocks().filter_map(tool_use).collect(),
        usage: usage(document.member("usage")),
        stop_reason: text(document.member("stop_reason")),
        error: error(document),
        complete: true,
    }
}

/// What a stream took, with its next event.
pub(super) fn measure(sum: &mut Option<Usage>, kind: &str, event: Value<'_>) {
    match kind {
        "message_start" => *sum = usage(at(event, &["message", "usage"])),
        "message_delta" => {
            // The last count is the whole count.
            if let Some(last) = usage(event.member("usage")) {
                let sum = sum.get_or_insert_default();
                sum.output_tokens = last.output_tokens;
                sum.input_tokens = sum.input_tokens.max(last.input_tokens);
            }
        }
        _ => {}
    }
}

/// A stream of events.
#[derive(Default)]
pub(super) struct Stream {
    answer: Answer,
    calls: Growing,
    /// The inputs with which calls began; they count if no piece follows.
    first: BTreeMap<String, String>,
}

impl Reassembly for Stream {
    fn take(&mut self, name: &str, event: Value<'_>) {
        let kind = kind(event, name);
        let index = event.member("index").and_then(|index| index.whole()).unwrap_or_default().to_string();
        measure(&mut self.answer.usage, &kind, event);
        match kind.as_str() {
            "message_start" => self.answer.model = text(at(event, &["message", "model"])),
            "content_block_start" => {
                let Some(block) = event.member("content_block") else { return };
                if is(block, "tool_use")
                    && let Some(mut call) = asked_tool(block)
                {
                    // What stands here is an empty object, in the place of the pieces that follow.
                    self.first.insert(index.clone(), std::mem::take(&mut call.input));
                    if let Some(slot) = self.calls.get(&index) {
                        *slot = call;
                    }
                }
                self.answer.text += &text(block.member("text")).unwrap_or_default();
            }
            "content_block_delta" => {
                let Some(delta) = event.member("delta") else { return };
                let [more, piece] = delta.pick(["text", "partial_json"]);
                self.answer.text += &text(more).unwrap_or_default();
                if let Some(piece) = text(piece)
                    && let Some(call) = self.calls.known(&index)
                {
                    call.input += &piece;
                }
            }
            "message_delta" => {
                self.answer.stop_reason =
                    text(at(event, &["delta", "stop_reason"])).or(self.answer.stop_reason.take());
            }
            "message_stop" => self.answer.complete = true,
            "error" => self.answer.error = error(event),
            _ => {}
        }
    }

    fn finish(mut self: Box<Self>) -> Answer {
        for (index, first) in self.first {
            if let Some(call) = self.calls.known(&index).filter(|call| call.input.is_empty()) {
                call.input = first;
            }
        }
        self.answer.tool_calls = self.calls.finish();
        // A tool without parameters streams no input at all; it means an empty object.
        for call in self.answer.tool_calls.iter_mut().filter(|call| call.input.is_empty()) {
            call.input.push_str("{}");
        }
        self.answer
    }
}
