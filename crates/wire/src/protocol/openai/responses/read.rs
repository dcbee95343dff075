//! Requests, answers and streams of responses, read.

use std::collections::BTreeSet;

use reenact_json::{Kind, Value};

use super::super::usage as openai_usage;
use crate::exchange::{Request, text};
use crate::gate::Told;
use crate::message::{Answer, ToolCall, ToolResult, Usage, VendorError};
use crate::protocol::Reassembly;
use crate::protocol::reading::{Growing, at, error, kind};

/// What a request asks for, and what its input tells: earlier calls, and their results.
pub(super) fn request(document: Value<'_>) -> Request {
    let [model, stream, tools, prompt, input] =
        document.pick(["model", "stream", "tools", "prompt", "input"]);
    let mut request = Request::of(model, stream);
    request.vendor_tools = vendor_tools(tools, prompt);
    for item in input.into_iter().flat_map(|input| input.elements()) {
        request.earlier_calls.extend(named_call(item));
        // Functions, and the other tools that an agent runs.
        if text(item.member("type")).is_some_and(|kind| kind.ends_with("_call_output"))
            && let Some(id) = text(item.member("call_id"))
        {
            let output = item.member("output").map_or(String::new(), output_text);
            request.tool_results.push(ToolResult { id, output, is_error: false });
        }
    }
    request
}

/// Tools that the vendor runs. The others are the agent's.
fn vendor_tools(tools: Option<Value<'_>>, prompt: Option<Value<'_>>) -> Vec<String> {
    const AGENTS_OWN: [&str; 6] = ["apply_patch", "computer", "custom", "function", "local_shell", "shell"];
    let mut names = Vec::new();
    for tool in tools.into_iter().flat_map(|tools| tools.elements()) {
        let kind = text(tool.member("type")).unwrap_or_default();
        if kind == "mcp" {
            names.push(format!("mcp:{}", text(tool.member("server_label")).unwrap_or_default()));
        } else if !AGENTS_OWN.iter().any(|own| kind.starts_with(own)) {
            names.push(kind);
        }
    }
    // One that the vendor keeps may bring tools that the request does not name.
    if let Some(prompt) = prompt.filter(|prompt| !prompt.is_null()) {
        names.push(format!("prompt:{}", text(prompt.member("id")).unwrap_or_default()));
    }
    names
}

/// Every tool that a document asks for, and what it took.
pub(super) fn told(document: Value<'_>) -> Told {
    let [output, usage] = document.pick(["output", "usage"]);
    let items = output.into_iter().flat_map(|output| output.elements());
    Told { calls: items.filter_map(asked_tool).collect(), usage: openai_usage(usage) }
}

/// The tool that an item asks its agent for: a function, or one that the vendor has given a form, such as `local_shell_call`. What
/// the vendor runs by itself is another matter.
pub(super) fn asked_tool(item: Value<'_>) -> Option<ToolCall> {
    const VENDORS: [&str; 5] = ["code_interpreter", "file_search", "image_generation", "mcp", "web_search"];
    let kind = text(item.member("type"))?;
    let form = kind.strip_suffix("_call").filter(|form| !VENDORS.iter().any(|run| form.starts_with(run)))?;
    let named = text(item.member("name"));
    let input = ["arguments", "input"].into_iter().find_map(|name| text(item.member(name)));
    let action = || item.member("action").map(|action| String::from_utf8_lossy(action.text()).into_owned());
    Some(ToolCall {
        id: text(item.member("call_id")).unwrap_or_default(),
        name: named.unwrap_or_else(|| form.to_owned()),
        input: input.or_else(action).unwrap_or_default(),
    })
}

fn is(item: Value<'_>, kind: &str) -> bool {
    item.member("type").is_some_and(|found| found.is_string(kind))
}

fn output_text(output: Value<'_>) -> String {
    match output.kind() {
        Kind::Array => output.elements().filter_map(|part| text(part.member("text"))).collect(),
        _ => text(Some(output)).unwrap_or_default(),
    }
}

/// One that its result can name.
fn named_call(item: Value<'_>) -> Option<ToolCall> {
    asked_tool(item).filter(has_id)
}

fn has_id(call: &ToolCall) -> bool {
    !call.id.is_empty()
}

/// What ties the events of one item together: its place in the answer, by which OpenAI's own clients go, or its id where no place is
/// told. With some who speak like OpenAI the ids of one item differ from event to event.
pub(super) fn key(event: Value<'_>) -> String {
    let [item, id, place] = event.pick(["item", "item_id", "output_index"]);
    match place.and_then(|place| place.whole()) {
        Some(place) => place.to_string(),
        None => format!("id {}", text(item.and_then(|item| item.member("id")).or(id)).unwrap_or_default()),
    }
}

/// What an event adds to the input of a call.
pub(super) enum Piece {
    /// The next part of it.
    More(String),
    /// All of it, in place of its parts.
    Whole(String),
}

impl Piece {
    pub(super) fn add_to(self, input: &mut String) {
        match self {
            Self::More(more) => *input += &more,
            Self::Whole(whole) => *input = whole,
        }
    }
}

/// What an event adds to the input of a call that an agent is asked for; the name of the event tells.
pub(super) fn piece_of_input(kind: &str, event: Value<'_>) -> Option<Piece> {
    let kind = kind.strip_prefix("response.").filter(|kind| !kind.starts_with("mcp_"))?;
    let (call, stage) = kind.rsplit_once('.')?;
    if !call.ends_with("_call_arguments") && !call.ends_with("_call_input") {
        return None;
    }
    match stage {
        "delta" => text(event.member("delta")).map(Piece::More),
        "done" => text(event.member("arguments")).or_else(|| text(event.member("input"))).map(Piece::Whole),
        _ => None,
    }
}

/// The answer in a document, or in the event that ends a stream.
pub(super) fn answer(document: Value<'_>) -> Answer {
    let items = || document.member("output").into_iter().flat_map(|output| output.elements());
    let parts = items().filter(|item| is(*item, "message")).filter_map(|item| item.member("content"));
    let texts = parts.flat_map(|content| content.elements()).filter(|part| is(*part, "output_text"));
    Answer {
        model: text(document.member("model")),
        text: texts.filter_map(|part| text(part.member("text"))).collect(),
        tool_calls: items().filter_map(named_call).collect(),
        usage: openai_usage(document.member("usage")),
        stop_reason: text(at(document, &["incomplete_details", "reason"]))
            .or_else(|| text(document.member("status"))),
        error: error(document),
        complete: true,
    }
}

/// What a stream took, with its next event: the last one tells.
pub(super) fn measure(sum: &mut Option<Usage>, kind: &str, event: Value<'_>) {
    if is_last(kind) {
        *sum = openai_usage(at(event, &["response", "usage"]));
    }
}

/// Whether an event repeats the whole answer, and ends it.
pub(super) fn is_last(kind: &str) -> bool {
    matches!(kind, "response.completed" | "response.failed" | "response.incomplete")
}

/// A stream of events. The last one repeats the whole answer; what came before counts only if the stream was cut.
#[derive(Default)]
pub(super) struct Stream {
    partial: Answer,
    calls: Growing,
    /// The calls that were told as they are at their end: no piece changes them.
    done: BTreeSet<String>,
    whole: Option<Answer>,
}

impl Reassembly for Stream {
    fn take(&mut self, name: &str, event: Value<'_>) {
        let kind = kind(event, name);
        match kind.as_str() {
            "response.created" | "response.in_progress" => {
                self.partial.model = text(at(event, &["response", "model"])).or(self.partial.model.take());
            }
            "response.output_text.delta" => {
                self.partial.text += &text(event.member("delta")).unwrap_or_default()
            }
            "response.output_item.added" | "response.output_item.done" => {
                let key = key(event);
                if let Some(call) = event.member("item").and_then(asked_tool)
                    && let Some(slot) = self.calls.get(&key)
                {
                    *slot = call;
                    if kind == "response.output_item.done" {
                        self.done.insert(key);
                    } else {
                        self.done.remove(&key);
                    }
                }
            }
            last if is_last(last) => self.whole = event.member("response").map(answer),
            "error" => {
                let word = |name: &str| text(event.member(name)).unwrap_or_default();
                let flat = VendorError { kind: word("code"), message: word("message") };
                self.partial.error = Some(error(event).unwrap_or(flat));
            }
            _ => {
                let Some(piece) = piece_of_input(&kind, event) else { return };
                let key = key(event);
                if !self.done.contains(&key)
                    && let Some(call) = self.calls.known(&key)
                {
                    piece.add_to(&mut call.input);
                }
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Answer {
        if let Some(whole) = self.whole {
            return whole;
        }
        self.partial.tool_calls = self.calls.finish();
        self.partial.tool_calls.retain(has_id);
        self.partial
    }
}
