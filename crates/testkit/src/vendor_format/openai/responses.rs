//! Answers of OpenAI's responses endpoint, as a document or as a stream.

use reenact_wire::{Delivery, Usage};
use serde_json::Value;

use crate::answer::ScriptedAnswer;
use crate::json::{OrderedJson, object};
use crate::reply::{ReplyBlock, ScriptedReply};
use crate::request::VendorRequest;
use crate::vendor_format::{CREATED_AT, deterministic_id, fragments, model, named_event, word_pieces};

/// Renders a reply.
pub(crate) fn answer(reply: &ScriptedReply, request: &VendorRequest) -> ScriptedAnswer {
    let answer = if request.parsed().delivery == Delivery::Events {
        ScriptedAnswer::events(stream(reply, request))
    } else {
        let output = items(reply, request, "completed");
        ScriptedAnswer::json(200, response(reply, request, "completed", output).to_string())
    };
    super::headers(answer, request)
}

/// Returns the token counts in the members of responses.
fn usage(usage: Usage) -> OrderedJson {
    object! {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": object! {
            "cached_tokens": usage.cached_input_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": object! { "reasoning_tokens": 0_u64 },
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
}

/// Returns a response object. A stop reason of the script makes the response incomplete, for that
/// reason.
fn response(
    reply: &ScriptedReply,
    request: &VendorRequest,
    status: &str,
    output: Vec<OrderedJson>,
) -> OrderedJson {
    let is_over = status != "in_progress";
    let reason = reply.stop_reason.clone().filter(|_| is_over);
    let body = request.json();
    let given = |name: &str| body.get(name).map(|value| OrderedJson::Raw(value.to_string()));
    object! {
        "id": deterministic_id("resp_", request, 0),
        "object": "response",
        "created_at": CREATED_AT,
        "status": if reason.is_some() { "incomplete" } else { status },
        "background": false,
        "error": OrderedJson::Null,
        "incomplete_details": reason.map(|reason| object! { "reason": reason }),
        "instructions": given("instructions"),
        "max_output_tokens": given("max_output_tokens"),
        "model": model(request),
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": given("previous_response_id"),
        "reasoning": object! { "effort": OrderedJson::Null, "summary": OrderedJson::Null },
        "service_tier": "default",
        "store": true,
        "temperature": 1_u64,
        "text": object! { "format": object! { "type": "text" } },
        "tool_choice": given("tool_choice").unwrap_or_else(|| "auto".into()),
        "tools": given("tools").unwrap_or_else(|| OrderedJson::Array(Vec::new())),
        "top_p": 1_u64,
        "truncation": "disabled",
        "usage": Some(usage(reply.usage_or_estimate(request))).filter(|_| is_over),
        "user": OrderedJson::Null,
        "metadata": object! {},
    }
}

/// Returns an item of the output; it is empty while its `status` is not `completed`.
fn item(block: &ReplyBlock, request: &VendorRequest, at: usize, status: &str) -> OrderedJson {
    let is_over = status == "completed";
    match block {
        ReplyBlock::Thinking(text) => {
            let summary = object! { "type": "summary_text", "text": text.as_str() };
            object! {
                "id": deterministic_id("rs_", request, at),
                "type": "reasoning",
                "summary": Some(summary).into_iter().filter(|_| is_over).collect::<Vec<OrderedJson>>(),
            }
        }
        ReplyBlock::Text(text) => object! {
            "id": deterministic_id("msg_", request, at),
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": Some(part(text)).into_iter().filter(|_| is_over).collect::<Vec<OrderedJson>>(),
        },
        ReplyBlock::Call { name, input } if takes_text(&request.json(), name) => object! {
            "id": deterministic_id("ctc_", request, at),
            "type": "custom_tool_call",
            "status": status,
            "call_id": deterministic_id("call_", request, at),
            "name": name.as_str(),
            "input": if is_over { input.as_str() } else { "" },
        },
        ReplyBlock::Call { name, input } => object! {
            "id": deterministic_id("fc_", request, at),
            "type": "function_call",
            "status": status,
            "call_id": deterministic_id("call_", request, at),
            "name": name.as_str(),
            "arguments": if is_over { input.as_str() } else { "" },
        },
    }
}

/// Returns true if a request offers a tool of this name that takes text instead of JSON, at any depth: namespaces hold tools, too.
fn takes_text(value: &Value, name: &str) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| takes_text(item, name)),
        Value::Object(members) => {
            (members.get("type").is_some_and(|kind| kind == "custom")
                && members.get("name").is_some_and(|found| found == name))
                || members.values().any(|member| takes_text(member, name))
        }
        _ => false,
    }
}

/// Returns all items of the output.
fn items(reply: &ScriptedReply, request: &VendorRequest, status: &str) -> Vec<OrderedJson> {
    reply.blocks.iter().enumerate().map(|(at, block)| item(block, request, at, status)).collect()
}

/// Returns a part of a text item.
fn part(text: &str) -> OrderedJson {
    object! {
        "type": "output_text",
        "text": text,
        "annotations": OrderedJson::Array(Vec::new()),
        "logprobs": OrderedJson::Array(Vec::new()),
    }
}

/// Events, numbered in order.
#[derive(Default)]
struct NumberedEvents(Vec<String>);

impl NumberedEvents {
    /// Appends an event: its type, its number, then its own members.
    fn push(&mut self, name: &'static str, members: OrderedJson) {
        let mut event = object! { "type": name, "sequence_number": self.0.len() };
        if let OrderedJson::Object(members) = members {
            for (name, value) in members {
                event = event.with(name, value);
            }
        }
        self.0.push(named_event(name, &event));
    }
}

/// Returns the events of the stream.
fn stream(reply: &ScriptedReply, request: &VendorRequest) -> Vec<String> {
    let mut events = NumberedEvents::default();
    let begun = || response(reply, request, "in_progress", Vec::new());
    events.push("response.created", object! { "response": begun() });
    events.push("response.in_progress", object! { "response": begun() });
    for (at, block) in reply.blocks.iter().enumerate() {
        let added = item(block, request, at, "in_progress");
        events.push("response.output_item.added", object! { "output_index": at, "item": added });
        match block {
            ReplyBlock::Thinking(text) => {
                thinking_events(&mut events, text, &deterministic_id("rs_", request, at), at)
            }
            ReplyBlock::Text(text) => {
                text_events(&mut events, text, &deterministic_id("msg_", request, at), at)
            }
            ReplyBlock::Call { name, input } if takes_text(&request.json(), name) => {
                let of =
                    |members: OrderedJson| with_item(members, &deterministic_id("ctc_", request, at), at);
                for piece in fragments(input) {
                    events.push("response.custom_tool_call_input.delta", of(object! { "delta": piece }));
                }
                let done = of(object! { "input": input.as_str() });
                events.push("response.custom_tool_call_input.done", done);
            }
            ReplyBlock::Call { input, .. } => {
                let of = |members: OrderedJson| with_item(members, &deterministic_id("fc_", request, at), at);
                for piece in fragments(input) {
                    events.push("response.function_call_arguments.delta", of(object! { "delta": piece }));
                }
                let done = of(object! { "arguments": input.as_str() });
                events.push("response.function_call_arguments.done", done);
            }
        }
        let done = item(block, request, at, "completed");
        events.push("response.output_item.done", object! { "output_index": at, "item": done });
    }
    let whole = response(reply, request, "completed", items(reply, request, "completed"));
    let last = if reply.stop_reason.is_some() { "response.incomplete" } else { "response.completed" };
    events.push(last, object! { "response": whole });
    events.0
}

/// Adds the item that an event is about.
fn with_item(members: OrderedJson, item: &str, at: usize) -> OrderedJson {
    members.with("item_id", item).with("output_index", at)
}

/// Appends the events of a text item.
fn text_events(events: &mut NumberedEvents, text: &str, item: &str, at: usize) {
    let of = |members: OrderedJson| with_item(members, item, at).with("content_index", 0_u64);
    events.push("response.content_part.added", of(object! { "part": part("") }));
    for piece in word_pieces(text) {
        let delta = object! { "delta": piece, "logprobs": OrderedJson::Array(Vec::new()) };
        events.push("response.output_text.delta", of(delta));
    }
    let done = object! { "text": text, "logprobs": OrderedJson::Array(Vec::new()) };
    events.push("response.output_text.done", of(done));
    events.push("response.content_part.done", of(object! { "part": part(text) }));
}

/// Appends the events of a reasoning item.
fn thinking_events(events: &mut NumberedEvents, text: &str, item: &str, at: usize) {
    let of = |members: OrderedJson| with_item(members, item, at).with("summary_index", 0_u64);
    let part = |text: &str| object! { "type": "summary_text", "text": text };
    events.push("response.reasoning_summary_part.added", of(object! { "part": part("") }));
    for piece in word_pieces(text) {
        events.push("response.reasoning_summary_text.delta", of(object! { "delta": piece }));
    }
    events.push("response.reasoning_summary_text.done", of(object! { "text": text }));
    events.push("response.reasoning_summary_part.done", of(object! { "part": part(text) }));
}
