//! Parsers for requests, answers and streams of responses.

use std::collections::BTreeSet;

use reenact_json::{Value, ValueKind};

use super::super::parse_usage as openai_usage;
use crate::exchange::{ParsedRequest, string_text};
use crate::message::{ModelAnswer, ToolCall, ToolResult, Usage, VendorError};
use crate::protocol::StreamAssembler;
use crate::protocol::reading::{
    PartialCalls, event_type, input_text, is_object, member_at, optional_objects, vendor_error,
};
use crate::tool_calls::{ScannedAnswer, UnreadableAnswer};

/// Parses a request: the model, and from its input the earlier calls and their results.
pub(super) fn request(document: Value<'_>) -> ParsedRequest {
    let [model, stream, input] = document.select_members(["model", "stream", "input"]);
    let mut request = ParsedRequest::from_members(model, stream);
    for item in input.into_iter().flat_map(|input| input.elements()) {
        request.earlier_calls.extend(call_with_id(item));
        // Outputs of functions, and of the other tools that an agent runs.
        if string_text(item.member("type")).is_some_and(|kind| kind.ends_with("_call_output")) {
            let id = string_text(item.member("call_id")).unwrap_or_default();
            let output = item.member("output").map_or(String::new(), output_text);
            request.tool_results.push(ToolResult { id, output, is_error: false });
        }
    }
    request
}

/// Returns every tool call that a document asks its client for, and the usage.
///
/// # Errors
/// [`UnreadableAnswer`] if the document is no object, or its output no list of objects.
pub(super) fn scan_answer(document: Value<'_>) -> Result<ScannedAnswer, UnreadableAnswer> {
    if !is_object(&document) {
        return Err(UnreadableAnswer);
    }
    let [output, usage] = document.select_members(["output", "usage"]);
    let calls = optional_objects(output)?.into_iter().filter_map(client_tool_call).collect();
    Ok(ScannedAnswer { calls, usage: openai_usage(usage), ..ScannedAnswer::default() })
}

/// Returns the tool call of an item: a function, or a tool for which OpenAI defines the parameters, such as
/// `local_shell_call`. `None` for tools that the vendor runs by itself.
pub(super) fn client_tool_call(item: Value<'_>) -> Option<ToolCall> {
    /// Beginnings of the item types of calls that the vendor runs.
    const VENDOR_RUN_PREFIXES: [&str; 5] =
        ["code_interpreter", "file_search", "image_generation", "mcp", "web_search"];
    let kind = string_text(item.member("type"))?;
    let form = kind
        .strip_suffix("_call")
        .filter(|form| !VENDOR_RUN_PREFIXES.iter().any(|run| form.starts_with(run)))?;
    let named = string_text(item.member("name"));
    let mut inputs = ["arguments", "input", "action"].into_iter().filter_map(|name| item.member(name));
    Some(ToolCall {
        id: string_text(item.member("call_id")).unwrap_or_default(),
        name: named.unwrap_or_else(|| form.to_owned()),
        input: input_text(inputs.find(|input| !input.is_null())),
    })
}

/// Returns true if an item has this type.
fn has_type(item: Value<'_>, kind: &str) -> bool {
    item.member("type").is_some_and(|found| found.is_string(kind))
}

/// Returns the text of an output, which is a string or a list of parts.
fn output_text(output: Value<'_>) -> String {
    match output.kind() {
        ValueKind::Array => output.elements().filter_map(|part| string_text(part.member("text"))).collect(),
        _ => string_text(Some(output)).unwrap_or_default(),
    }
}

/// Returns the tool call of an item if it has an id; a result cannot refer to others.
fn call_with_id(item: Value<'_>) -> Option<ToolCall> {
    client_tool_call(item).filter(has_id)
}

fn has_id(call: &ToolCall) -> bool {
    !call.id.is_empty()
}

/// Returns the key that ties the events of one item together: its index in the answer, which OpenAI's own
/// clients use, or its id if there is no index. The ids of one item differ from event to event with some
/// servers that imitate OpenAI.
pub(super) fn item_key(event: Value<'_>) -> String {
    let [item, id, index] = event.select_members(["item", "item_id", "output_index"]);
    match index.and_then(|index| index.unsigned_integer()) {
        Some(index) => index.to_string(),
        None => {
            format!("id {}", string_text(item.and_then(|item| item.member("id")).or(id)).unwrap_or_default())
        }
    }
}

/// Change that an event makes to the input of a call.
pub(super) enum InputDelta {
    /// Next part of the input.
    Append(String),
    /// Whole input, in place of its parts.
    Replace(String),
}

impl InputDelta {
    /// Applies the change to an input.
    pub(super) fn apply_to(self, input: &mut String) {
        match self {
            Self::Append(more) => *input += &more,
            Self::Replace(whole) => *input = whole,
        }
    }
}

/// Returns the change that an event makes to the input of a client's tool call; `None` for events of other
/// types.
pub(super) fn input_delta(kind: &str, event: Value<'_>) -> Option<InputDelta> {
    let kind = kind.strip_prefix("response.").filter(|kind| !kind.starts_with("mcp_"))?;
    let (call, stage) = kind.rsplit_once('.')?;
    if !call.ends_with("_call_arguments") && !call.ends_with("_call_input") {
        return None;
    }
    match stage {
        "delta" => string_text(event.member("delta")).map(InputDelta::Append),
        "done" => string_text(event.member("arguments"))
            .or_else(|| string_text(event.member("input")))
            .map(InputDelta::Replace),
        _ => None,
    }
}

/// Parses the answer in a document, or in the event that ends a stream.
pub(super) fn answer(document: Value<'_>) -> ModelAnswer {
    let items = || document.member("output").into_iter().flat_map(|output| output.elements());
    let parts = items().filter(|item| has_type(*item, "message")).filter_map(|item| item.member("content"));
    let texts = parts.flat_map(|content| content.elements()).filter(|part| has_type(*part, "output_text"));
    ModelAnswer {
        model: string_text(document.member("model")),
        text: texts.filter_map(|part| string_text(part.member("text"))).collect(),
        tool_calls: items().filter_map(call_with_id).collect(),
        usage: openai_usage(document.member("usage")),
        stop_reason: string_text(member_at(document, &["incomplete_details", "reason"]))
            .or_else(|| string_text(document.member("status"))),
        error: vendor_error(document),
        is_complete: true,
    }
}

/// Returns true for the type of an event that repeats the whole answer and ends the stream.
pub(super) fn is_final_event(kind: &str) -> bool {
    matches!(kind, "response.completed" | "response.failed" | "response.incomplete")
}

/// Assembler of a stream of events. The final event repeats the whole answer; the events before it count only
/// if the stream was cut.
#[derive(Debug, Default)]
pub(super) struct ResponsesStream {
    partial: ModelAnswer,
    calls: PartialCalls,
    /// Keys of calls that were sent in their final form; further pieces do not change these calls.
    finished: BTreeSet<String>,
    /// Answer in the final event.
    final_answer: Option<ModelAnswer>,
}

impl StreamAssembler for ResponsesStream {
    fn take(&mut self, name: &str, event: Value<'_>) {
        let kind = event_type(event, name);
        match kind.as_str() {
            "response.created" | "response.in_progress" => {
                self.partial.model =
                    string_text(member_at(event, &["response", "model"])).or(self.partial.model.take());
            }
            "response.output_text.delta" => {
                self.partial.text += &string_text(event.member("delta")).unwrap_or_default()
            }
            "response.output_item.added" | "response.output_item.done" => {
                let key = item_key(event);
                if let Some(call) = event.member("item").and_then(client_tool_call)
                    && let Some(slot) = self.calls.get_or_begin(&key)
                {
                    *slot = call;
                    if kind == "response.output_item.done" {
                        self.finished.insert(key);
                    } else {
                        self.finished.remove(&key);
                    }
                }
            }
            last if is_final_event(last) => self.final_answer = event.member("response").map(answer),
            "error" => {
                let word = |name: &str| string_text(event.member(name)).unwrap_or_default();
                let flat = VendorError { kind: word("code"), message: word("message") };
                self.partial.error = Some(vendor_error(event).unwrap_or(flat));
            }
            _ => {
                let Some(piece) = input_delta(&kind, event) else { return };
                let key = item_key(event);
                if !self.finished.contains(&key)
                    && let Some(call) = self.calls.find(&key)
                {
                    piece.apply_to(&mut call.input);
                }
            }
        }
    }

    fn count(&self) -> (Option<Usage>, usize) {
        if let Some(whole) = &self.final_answer {
            return (whole.usage, whole.text_bytes());
        }
        let calls = self.calls.iter().filter(|(_, call)| has_id(call)).map(|(_, call)| call.text_bytes());
        (self.partial.usage, calls.fold(self.partial.text.len(), usize::saturating_add))
    }

    fn finish(mut self: Box<Self>) -> ModelAnswer {
        if let Some(whole) = self.final_answer {
            return whole;
        }
        self.partial.tool_calls = self.calls.finish();
        self.partial.tool_calls.retain(has_id);
        self.partial
    }
}
