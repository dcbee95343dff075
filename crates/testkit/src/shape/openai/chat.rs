//! OpenAI chat completions.

use reenact_wire::{Delivery, Usage};

use crate::answer::Answer;
use crate::json::{Json, object};
use crate::reply::Reply;
use crate::request::Request;
use crate::shape::{MADE_AT, fragments, id, model, pieces};

pub(crate) fn answer(reply: &Reply, request: &Request) -> Answer {
    let answer = if request.reading().delivery == Delivery::Events {
        Answer::events(stream(reply, request))
    } else {
        Answer::json(200, document(reply, request).to_string())
    };
    super::headers(answer, request)
}

/// How many choices the request asks for; OpenAI allows no more.
fn choices(request: &Request) -> usize {
    let wanted = request.json()["n"].as_u64().unwrap_or(1);
    usize::try_from(wanted.clamp(1, 128)).unwrap_or(1)
}

/// What the choice of this number says.
fn said(reply: &Reply, choice: usize) -> String {
    let other = choice.checked_sub(1).and_then(|other| reply.others.get(other));
    other.cloned().unwrap_or_else(|| reply.said())
}

fn finish_reason(reply: &Reply) -> String {
    let ordinary = if reply.calls().next().is_some() { "tool_calls" } else { "stop" };
    reply.stop_reason.clone().unwrap_or_else(|| ordinary.to_owned())
}

fn usage(usage: Usage) -> Json {
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

fn document(reply: &Reply, request: &Request) -> Json {
    let choice = |index: usize| {
        let text = said(reply, index);
        let mut message = object! {
            "role": "assistant",
            "content": Some(text).filter(|text| !text.is_empty()),
            "refusal": Json::Null,
            "annotations": Json::List(Vec::new()),
        };
        let calls: Vec<Json> = reply
            .calls()
            .enumerate()
            .map(|(at, (name, input))| {
                object! {
                    "id": id("call_", request, at),
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
            "logprobs": Json::Null,
            "finish_reason": finish_reason(reply),
        }
    };
    object! {
        "id": id("chatcmpl-", request, 0),
        "object": "chat.completion",
        "created": MADE_AT,
        "model": model(request),
        "choices": (0..choices(request)).map(choice).collect::<Vec<Json>>(),
        "usage": usage(reply.tokens(request)),
        "service_tier": "default",
        "system_fingerprint": "fp_testkit",
    }
}

fn stream(reply: &Reply, request: &Request) -> Vec<String> {
    let wants_usage = request.json()["stream_options"]["include_usage"] == true;
    let (id, model) = (id("chatcmpl-", request, 0), model(request));
    let chunk = |choices: Vec<Json>, usage: Option<Json>| {
        let mut chunk = object! {
            "id": id.as_str(),
            "object": "chat.completion.chunk",
            "created": MADE_AT,
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
    let delta = |index: usize, delta: Json, reason: Option<String>| {
        object! { "index": index, "delta": delta, "logprobs": Json::Null, "finish_reason": reason }
    };

    // Choices take turns, as they do when a vendor samples them side by side.
    let streams: Vec<Vec<Json>> =
        (0..choices(request)).map(|index| deltas(reply, request, &said(reply, index))).collect();
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
        events.push(chunk(Vec::new(), Some(usage(reply.tokens(request)))));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// What one choice grows by: who speaks, the text word by word, then each call and its arguments.
fn deltas(reply: &Reply, request: &Request, text: &str) -> Vec<Json> {
    let first = if text.is_empty() { Json::Null } else { Json::from("") };
    let mut deltas = vec![object! { "role": "assistant", "content": first, "refusal": Json::Null }];
    deltas.extend(pieces(text).into_iter().map(|piece| object! { "content": piece }));
    for (index, (name, input)) in reply.calls().enumerate() {
        deltas.push(object! { "tool_calls": vec![object! {
            "index": index,
            "id": id("call_", request, index),
            "type": "function",
            "function": object! { "name": name, "arguments": "" },
        }] });
        deltas.extend(fragments(input).into_iter().map(|piece| {
            object! { "tool_calls": vec![object! { "index": index, "function": object! { "arguments": piece } }] }
        }));
    }
    deltas
}
