//! Answers of OpenAI's chat completions, as a document or as a stream.

use reenact_wire::{Delivery, Usage};

use crate::answer::ScriptedAnswer;
use crate::json::{OrderedJson, object};
use crate::reply::ScriptedReply;
use crate::request::VendorRequest;
use crate::vendor_format::{CREATED_AT, deterministic_id, fragments, model, word_pieces};

/// Renders a reply.
pub(crate) fn answer(reply: &ScriptedReply, request: &VendorRequest) -> ScriptedAnswer {
    let answer = if request.parsed().delivery == Delivery::Events {
        ScriptedAnswer::events(stream(reply, request))
    } else {
        ScriptedAnswer::json(200, document(reply, request).to_string())
    };
    super::headers(answer, request)
}

/// Returns the number of choices that the request asks for, from 1 to 128, OpenAI's limit.
fn choice_count(request: &VendorRequest) -> usize {
    let wanted = request.json()["n"].as_u64().unwrap_or(1);
    usize::try_from(wanted.clamp(1, 128)).unwrap_or(1)
}

/// Returns the text of the choice of this index.
fn choice_text(reply: &ScriptedReply, choice: usize) -> String {
    let other = choice.checked_sub(1).and_then(|other| reply.other_choices.get(other));
    other.cloned().unwrap_or_else(|| reply.visible_text())
}

/// Returns the finish reason of a reply: as given, otherwise the ordinary one.
fn finish_reason(reply: &ScriptedReply) -> String {
    let ordinary = if reply.calls().next().is_some() { "tool_calls" } else { "stop" };
    reply.stop_reason.clone().unwrap_or_else(|| ordinary.to_owned())
}

/// Returns the token counts in the members of chat completions.
fn usage(usage: Usage) -> OrderedJson {
    object! {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": object! { "cached_tokens": usage.cached_input_tokens, "audio_tokens": 0_u64 },
        "completion_tokens_details": object! {
            "reasoning_tokens": 0_u64,
            "audio_tokens": 0_u64,
            "accepted_prediction_tokens": 0_u64,
            "rejected_prediction_tokens": 0_u64,
        },
    }
}

/// Returns the reply as one document.
fn document(reply: &ScriptedReply, request: &VendorRequest) -> OrderedJson {
    let choice = |index: usize| {
        let text = choice_text(reply, index);
        let mut message = object! {
            "role": "assistant",
            "content": Some(text).filter(|text| !text.is_empty()),
            "refusal": OrderedJson::Null,
            "annotations": OrderedJson::Array(Vec::new()),
        };
        let calls: Vec<OrderedJson> = reply
            .calls()
            .enumerate()
            .map(|(at, (name, input))| {
                object! {
                    "id": deterministic_id("call_", request, at),
                    "type": "function",
                    "function": object! { "name": name, "arguments": input },
                }
            })
            .collect();
        if !calls.is_empty() {
            message = message.with("tool_calls", calls);
        }
        object! {
            "index": index,
            "message": message,
            "logprobs": OrderedJson::Null,
            "finish_reason": finish_reason(reply),
        }
    };
    object! {
        "id": deterministic_id("chatcmpl-", request, 0),
        "object": "chat.completion",
        "created": CREATED_AT,
        "model": model(request),
        "choices": (0..choice_count(request)).map(choice).collect::<Vec<OrderedJson>>(),
        "usage": usage(reply.usage_or_estimate(request)),
        "service_tier": "default",
        "system_fingerprint": "fp_testkit",
    }
}

/// Returns the events of the stream.
fn stream(reply: &ScriptedReply, request: &VendorRequest) -> Vec<String> {
    let wants_usage = request.json()["stream_options"]["include_usage"] == true;
    let (id, model) = (deterministic_id("chatcmpl-", request, 0), model(request));
    let chunk = |choices: Vec<OrderedJson>, usage: Option<OrderedJson>| {
        let mut chunk = object! {
            "id": id.as_str(),
            "object": "chat.completion.chunk",
            "created": CREATED_AT,
            "model": model.as_str(),
            "service_tier": "default",
            "system_fingerprint": "fp_testkit",
            "choices": choices,
        };
        if wants_usage {
            chunk = chunk.with("usage", usage);
        }
        format!("data: {chunk}\n\n")
    };
    let delta = |index: usize, delta: OrderedJson, reason: Option<String>| {
        object! { "index": index, "delta": delta, "logprobs": OrderedJson::Null, "finish_reason": reason }
    };

    // Choices alternate, as they do when a vendor samples them in parallel.
    let streams: Vec<Vec<OrderedJson>> =
        (0..choice_count(request)).map(|index| deltas(reply, request, &choice_text(reply, index))).collect();
    let rounds = streams.iter().map(Vec::len).max().unwrap_or_default();
    let mut events = Vec::new();
    for round in 0..rounds {
        for (index, stream) in streams.iter().enumerate() {
            if let Some(piece) = stream.get(round) {
                events.push(chunk(vec![delta(index, piece.clone(), None)], None));
            }
        }
    }
    for index in 0..streams.len() {
        events.push(chunk(vec![delta(index, object! {}, Some(finish_reason(reply)))], None));
    }
    if wants_usage {
        events.push(chunk(Vec::new(), Some(usage(reply.usage_or_estimate(request)))));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// Returns the deltas of one choice: the role, the text word by word, then each call and its
/// arguments.
fn deltas(reply: &ScriptedReply, request: &VendorRequest, text: &str) -> Vec<OrderedJson> {
    let first = if text.is_empty() { OrderedJson::Null } else { OrderedJson::from("") };
    let mut deltas = vec![object! { "role": "assistant", "content": first, "refusal": OrderedJson::Null }];
    deltas.extend(word_pieces(text).into_iter().map(|piece| object! { "content": piece }));
    for (index, (name, input)) in reply.calls().enumerate() {
        deltas.push(object! { "tool_calls": vec![object! {
            "index": index,
            "id": deterministic_id("call_", request, index),
            "type": "function",
            "function": object! { "name": name, "arguments": "" },
        }] });
        deltas.extend(fragments(input).into_iter().map(|piece| {
            object! { "tool_calls": vec![object! { "index": index, "function": object! { "arguments": piece } }] }
        }));
    }
    deltas
}
