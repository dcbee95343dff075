//! OpenAI responses.

use reenact_wire::{Delivery, Usage};

use crate::answer::Answer;
use crate::json::{Json, object};
use crate::reply::{Block, Reply};
use crate::request::Request;
use crate::shape::{MADE_AT, fragments, id, model, named, pieces};

pub(crate) fn answer(reply: &Reply, request: &Request) -> Answer {
    let answer = if request.reading().delivery == Delivery::Events {
        Answer::events(stream(reply, request))
    } else {
        let output = items(reply, request, "completed");
        Answer::json(200, response(reply, request, "completed", output).to_string())
    };
    super::headers(answer, request)
}

fn usage(usage: Usage) -> Json {
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

/// A word other than the ordinary one means that the answer was not finished, and why.
fn response(reply: &Reply, request: &Request, status: &str, output: Vec<Json>) -> Json {
    let is_over = status != "in_progress";
    let reason = reply.stop_reason.clone().filter(|_| is_over);
    let body = request.json();
    let given = |name: &str| body.get(name).map(|value| Json::Ready(value.to_string()));
    object! {
        "id": id("resp_", request, 0),
        "object": "response",
        "created_at": MADE_AT,
        "status": if reason.is_some() { "incomplete" } else { status },
        "background": false,
        "error": Json::Null,
        "incomplete_details": reason.map(|reason| object! { "reason": reason }),
        "instructions": given("instructions"),
        "max_output_tokens": given("max_output_tokens"),
        "model": model(request),
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": given("previous_response_id"),
        "reasoning": object! { "effort": Json::Null, "summary": Json::Null },
        "service_tier": "default",
        "store": true,
        "temperature": 1_u64,
        "text": object! { "format": object! { "type": "text" } },
        "tool_choice": given("tool_choice").unwrap_or_else(|| "auto".into()),
        "tools": given("tools").unwrap_or_else(|| Json::List(Vec::new())),
        "top_p": 1_u64,
        "truncation": "disabled",
        "usage": Some(usage(reply.tokens(request))).filter(|_| is_over),
        "user": Json::Null,
        "metadata": object! {},
    }
}

/// An item of the output. One that only begins is still empty.
fn item(block: &Block, request: &Request, at: usize, status: &str) -> Json {
    let is_over = status == "completed";
    match block {
        Block::Thinking(text) => {
            let summary = object! { "type": "summary_text", "text": text.as_str() };
            object! {
                "id": id("rs_", request, at),
                "type": "reasoning",
                "summary": Some(summary).into_iter().filter(|_| is_over).collect::<Vec<Json>>(),
            }
        }
        Block::Text(text) => object! {
            "id": id("msg_", request, at),
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": Some(part(text)).into_iter().filter(|_| is_over).collect::<Vec<Json>>(),
        },
        Block::Call { name, input } => object! {
            "id": id("fc_", request, at),
            "type": "function_call",
            "status": status,
            "call_id": id("call_", request, at),
            "name": name.as_str(),
            "arguments": if is_over { input.as_str() } else { "" },
        },
    }
}

fn items(reply: &Reply, request: &Request, status: &str) -> Vec<Json> {
    reply.blocks.iter().enumerate().map(|(at, block)| item(block, request, at, status)).collect()
}

fn part(text: &str) -> Json {
    object! {
        "type": "output_text",
        "text": text,
        "annotations": Json::List(Vec::new()),
        "logprobs": Json::List(Vec::new()),
    }
}

/// Events with their numbers.
#[derive(Default)]
struct Events(Vec<String>);

impl Events {
    /// Adds an event: its type, its number, then its own members.
    fn push(&mut self, name: &'static str, members: Json) {
        let mut event = object! { "type": name, "sequence_number": self.0.len() };
        if let Json::Object(members) = members {
            for (name, value) in members {
                event = event.with(name, value);
            }
        }
        self.0.push(named(name, &event));
    }
}

fn stream(reply: &Reply, request: &Request) -> Vec<String> {
    let mut events = Events::default();
    let begun = || response(reply, request, "in_progress", Vec::new());
    events.push("response.created", object! { "response": begun() });
    events.push("response.in_progress", object! { "response": begun() });
    for (at, block) in reply.blocks.iter().enumerate() {
        let added = item(block, request, at, "in_progress");
        events.push("response.output_item.added", object! { "output_index": at, "item": added });
        match block {
            Block::Thinking(text) => thinking(&mut events, text, &id("rs_", request, at), at),
            Block::Text(text) => text_events(&mut events, text, &id("msg_", request, at), at),
            Block::Call { input, .. } => {
                let of = |members: Json| located(members, &id("fc_", request, at), at);
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

/// Which item an event is about.
fn located(members: Json, item: &str, at: usize) -> Json {
    members.with("item_id", item).with("output_index", at)
}

fn text_events(events: &mut Events, text: &str, item: &str, at: usize) {
    let of = |members: Json| located(members, item, at).with("content_index", 0_u64);
    events.push("response.content_part.added", of(object! { "part": part("") }));
    for piece in pieces(text) {
        let delta = object! { "delta": piece, "logprobs": Json::List(Vec::new()) };
        events.push("response.output_text.delta", of(delta));
    }
    let done = object! { "text": text, "logprobs": Json::List(Vec::new()) };
    events.push("response.output_text.done", of(done));
    events.push("response.content_part.done", of(object! { "part": part(text) }));
}

fn thinking(events: &mut Events, text: &str, item: &str, at: usize) {
    let of = |members: Json| located(members, item, at).with("summary_index", 0_u64);
    let part = |text: &str| object! { "type": "summary_text", "text": text };
    events.push("response.reasoning_summary_part.added", of(object! { "part": part("") }));
    for piece in pieces(text) {
        events.push("response.reasoning_summary_text.delta", of(object! { "delta": piece }));
    }
    events.push("response.reasoning_summary_text.done", of(object! { "text": text }));
    events.push("response.reasoning_summary_part.done", of(object! { "part": part(text) }));
}
