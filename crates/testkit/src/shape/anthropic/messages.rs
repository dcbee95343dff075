//! Anthropic messages.

use reenact_wire::{Delivery, Usage};

use crate::answer::Answer;
use crate::json::{Json, object};
use crate::reply::{Block, Reply};
use crate::request::Request;
use crate::shape::{fragments, id, model, named, pieces};

/// Under a thought; only the vendor can say whether it is right.
const SIGNATURE: &str = "dGVzdGtpdA==";

pub(crate) fn answer(reply: &Reply, request: &Request) -> Answer {
    let answer = if request.reading().delivery == Delivery::Events {
        Answer::events(stream(reply, request))
    } else {
        Answer::json(200, document(reply, request).to_string())
    };
    super::headers(answer, request)
}

fn stop_reason(reply: &Reply) -> String {
    let ordinary = if reply.calls().next().is_some() { "tool_use" } else { "end_turn" };
    reply.stop_reason.clone().unwrap_or_else(|| ordinary.to_owned())
}

fn usage(usage: Usage) -> Json {
    object! {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_input_tokens,
        "output_tokens": usage.output_tokens,
        "service_tier": "standard",
    }
}

fn message(request: &Request, content: Vec<Json>, reason: Option<String>, usage: Json) -> Json {
    object! {
        "id": id("msg_", request, 0),
        "type": "message",
        "role": "assistant",
        "model": model(request),
        "content": content,
        "stop_reason": reason,
        "stop_sequence": Json::Null,
        "usage": usage,
    }
}

fn document(reply: &Reply, request: &Request) -> Json {
    let blocks = reply.blocks.iter().enumerate().map(|(at, block)| match block {
        Block::Thinking(text) => {
            object! { "type": "thinking", "thinking": text.as_str(), "signature": SIGNATURE }
        }
        Block::Text(text) => object! { "type": "text", "text": text.as_str() },
        Block::Call { name, input } => object! {
            "type": "tool_use", "id": id("toolu_", request, at), "name": name.as_str(), "input": Json::ready(input),
        },
    });
    message(request, blocks.collect(), Some(stop_reason(reply)), usage(reply.tokens(request)))
}

fn stream(reply: &Reply, request: &Request) -> Vec<String> {
    let tokens = reply.tokens(request);
    // What was written is counted at the end; one token is the vendor's own first guess.
    let first = Usage { output_tokens: 1, ..tokens };
    let start = message(request, Vec::new(), None, usage(first));
    let mut events = vec![named("message_start", &object! { "type": "message_start", "message": start })];
    for (index, block) in reply.blocks.iter().enumerate() {
        let (opened, deltas) = opened(block, &id("toolu_", request, index));
        events.push(named(
            "content_block_start",
            &object! { "type": "content_block_start", "index": index, "content_block": opened },
        ));
        if index == 0 {
            events.push(named("ping", &object! { "type": "ping" }));
        }
        events.extend(deltas.into_iter().map(|delta| {
            let event = object! { "type": "content_block_delta", "index": index, "delta": delta };
            named("content_block_delta", &event)
        }));
        let stop = object! { "type": "content_block_stop", "index": index };
        events.push(named("content_block_stop", &stop));
    }
    let end = object! {
        "type": "message_delta",
        "delta": object! { "stop_reason": stop_reason(reply), "stop_sequence": Json::Null },
        "usage": object! { "output_tokens": tokens.output_tokens },
    };
    events.push(named("message_delta", &end));
    events.push(named("message_stop", &object! { "type": "message_stop" }));
    events
}

/// A block as it begins, and what it grows by.
fn opened(block: &Block, id: &str) -> (Json, Vec<Json>) {
    match block {
        Block::Thinking(text) => {
            let thoughts =
                pieces(text).into_iter().map(|piece| object! { "type": "thinking_delta", "thinking": piece });
            let signature = object! { "type": "signature_delta", "signature": SIGNATURE };
            let begun = object! { "type": "thinking", "thinking": "", "signature": "" };
            (begun, thoughts.chain([signature]).collect())
        }
        Block::Text(text) => {
            let words = pieces(text).into_iter().map(|piece| object! { "type": "text_delta", "text": piece });
            (object! { "type": "text", "text": "" }, words.collect())
        }
        Block::Call { name, input } => {
            let input = Json::ready(input).to_string();
            let parts = std::iter::once("").chain(fragments(&input));
            let parts = parts.map(|piece| object! { "type": "input_json_delta", "partial_json": piece });
            let begun = object! { "type": "tool_use", "id": id, "name": name.as_str(), "input": object! {} };
            (begun, parts.collect())
        }
    }
}
