//! Answers of Anthropic's messages endpoint, as a document or as a stream.

use reenact_wire::{Delivery, Usage};

use crate::answer::ScriptedAnswer;
use crate::json::{OrderedJson, object};
use crate::reply::{ReplyBlock, ScriptedReply};
use crate::request::VendorRequest;
use crate::vendor_format::{deterministic_id, fragments, model, named_event, word_pieces};

/// Signature under a reasoning block; only the real vendor could verify it.
const SIGNATURE: &str = "dGVzdGtpdA==";

/// Renders a reply.
pub(crate) fn answer(reply: &ScriptedReply, request: &VendorRequest) -> ScriptedAnswer {
    let answer = if request.parsed().delivery == Delivery::Events {
        ScriptedAnswer::events(stream(reply, request))
    } else {
        ScriptedAnswer::json(200, document(reply, request).to_string())
    };
    super::headers(answer, request)
}

/// Returns the stop reason of a reply: as given, otherwise the ordinary one.
fn stop_reason(reply: &ScriptedReply) -> String {
    let ordinary = if reply.calls().next().is_some() { "tool_use" } else { "end_turn" };
    reply.stop_reason.clone().unwrap_or_else(|| ordinary.to_owned())
}

/// Returns the token counts in Anthropic's members.
fn usage(usage: Usage) -> OrderedJson {
    object! {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_input_tokens,
        "output_tokens": usage.output_tokens,
        "service_tier": "standard",
    }
}

/// Returns a message object.
fn message(
    request: &VendorRequest,
    content: Vec<OrderedJson>,
    reason: Option<String>,
    usage: OrderedJson,
) -> OrderedJson {
    object! {
        "id": deterministic_id("msg_", request, 0),
        "type": "message",
        "role": "assistant",
        "model": model(request),
        "content": content,
        "stop_reason": reason,
        "stop_sequence": OrderedJson::Null,
        "usage": usage,
    }
}

/// Returns the reply as one document.
fn document(reply: &ScriptedReply, request: &VendorRequest) -> OrderedJson {
    let blocks = reply.blocks.iter().enumerate().map(|(at, block)| match block {
        ReplyBlock::Thinking(text) => {
            object! { "type": "thinking", "thinking": text.as_str(), "signature": SIGNATURE }
        }
        ReplyBlock::Text(text) => object! { "type": "text", "text": text.as_str() },
        ReplyBlock::Call { name, input } => object! {
            "type": "tool_use", "id": deterministic_id("toolu_", request, at), "name": name.as_str(), "input": OrderedJson::raw_or_empty_object(input),
        },
    });
    message(request, blocks.collect(), Some(stop_reason(reply)), usage(reply.usage_or_estimate(request)))
}

/// Returns the events of the stream.
fn stream(reply: &ScriptedReply, request: &VendorRequest) -> Vec<String> {
    let tokens = reply.usage_or_estimate(request);
    // Output is counted at the end; one token is the vendor's own first count.
    let first = Usage { output_tokens: 1, ..tokens };
    let start = message(request, Vec::new(), None, usage(first));
    let mut events =
        vec![named_event("message_start", &object! { "type": "message_start", "message": start })];
    for (index, block) in reply.blocks.iter().enumerate() {
        let (opened, deltas) = block_start(block, &deterministic_id("toolu_", request, index));
        events.push(named_event(
            "content_block_start",
            &object! { "type": "content_block_start", "index": index, "content_block": opened },
        ));
        if index == 0 {
            events.push(named_event("ping", &object! { "type": "ping" }));
        }
        events.extend(deltas.into_iter().map(|delta| {
            let event = object! { "type": "content_block_delta", "index": index, "delta": delta };
            named_event("content_block_delta", &event)
        }));
        let stop = object! { "type": "content_block_stop", "index": index };
        events.push(named_event("content_block_stop", &stop));
    }
    let end = object! {
        "type": "message_delta",
        "delta": object! { "stop_reason": stop_reason(reply), "stop_sequence": OrderedJson::Null },
        "usage": object! { "output_tokens": tokens.output_tokens },
    };
    events.push(named_event("message_delta", &end));
    events.push(named_event("message_stop", &object! { "type": "message_stop" }));
    events
}

/// Returns a block as it begins, and the deltas that fill it.
fn block_start(block: &ReplyBlock, id: &str) -> (OrderedJson, Vec<OrderedJson>) {
    match block {
        ReplyBlock::Thinking(text) => {
            let thoughts = word_pieces(text)
                .into_iter()
                .map(|piece| object! { "type": "thinking_delta", "thinking": piece });
            let signature = object! { "type": "signature_delta", "signature": SIGNATURE };
            let begun = object! { "type": "thinking", "thinking": "", "signature": "" };
            (begun, thoughts.chain([signature]).collect())
        }
        ReplyBlock::Text(text) => {
            let words =
                word_pieces(text).into_iter().map(|piece| object! { "type": "text_delta", "text": piece });
            (object! { "type": "text", "text": "" }, words.collect())
        }
        ReplyBlock::Call { name, input } => {
            let input = OrderedJson::raw_or_empty_object(input).to_string();
            let parts = std::iter::once("").chain(fragments(&input));
            let parts = parts.map(|piece| object! { "type": "input_json_delta", "partial_json": piece });
            let begun = object! { "type": "tool_use", "id": id, "name": name.as_str(), "input": object! {} };
            (begun, parts.collect())
        }
    }
}
