//! Answers of Gemini's `generateContent`, whole or in chunks.
//!
//! Tool calls have no ids here: a reader must do without.

use reenact_wire::{Delivery, Usage};

use crate::answer::{ScriptStep, ScriptedAnswer};
use crate::json::{OrderedJson, object};
use crate::reply::{ReplyBlock, ScriptedReply};
use crate::request::VendorRequest;
use crate::vendor_format::{deterministic_id, word_pieces};

/// Renders a reply as a document, as events or as a list.
pub(super) fn answer(reply: &ScriptedReply, request: &VendorRequest) -> ScriptedAnswer {
    // Parsed once: a request may be long, and its answer has many chunks.
    let reading = request.parsed();
    let names =
        ChunkNames { model: reading.model.unwrap_or_default(), response: deterministic_id("", request, 0) };
    let answer = match reading.delivery {
        Delivery::Document => {
            let parts = reply.blocks.iter().map(part).collect();
            ScriptedAnswer::json(200, last_chunk(reply, request, &names, parts).to_string())
        }
        Delivery::Events => {
            let chunks = chunks(reply, request, &names);
            ScriptedAnswer::events(chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")))
        }
        Delivery::List => list(&chunks(reply, request, &names)),
    };
    super::headers(answer, request)
}

/// Names that every chunk repeats.
struct ChunkNames {
    /// Model that the request names.
    model: String,
    /// Id of the response.
    response: String,
}

/// Returns a JSON list that is sent piece by piece.
fn list(chunks: &[OrderedJson]) -> ScriptedAnswer {
    let mut answer = ScriptedAnswer::json(200, "[");
    for (at, chunk) in chunks.iter().enumerate() {
        answer.steps.push(ScriptStep::send(if at == 0 {
            chunk.to_string()
        } else {
            format!(",\r\n{chunk}")
        }));
    }
    answer.steps.push(ScriptStep::send("]"));
    answer
}

/// Returns the token counts in Gemini's members.
fn usage(usage: Usage) -> OrderedJson {
    object! {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
        "cachedContentTokenCount": usage.cached_input_tokens,
    }
}

/// Returns a block as a part of the content.
fn part(block: &ReplyBlock) -> OrderedJson {
    match block {
        ReplyBlock::Thinking(text) => object! { "text": text.as_str(), "thought": true },
        ReplyBlock::Text(text) => object! { "text": text.as_str() },
        ReplyBlock::Call { name, input } => {
            object! { "functionCall": object! { "name": name.as_str(), "args": OrderedJson::raw_or_empty_object(input) } }
        }
    }
}

/// Returns a chunk with these parts.
fn chunk(names: &ChunkNames, parts: Vec<OrderedJson>) -> OrderedJson {
    response_chunk(names, content(parts), None)
}

/// Returns the last chunk, with the stop reason and the token counts.
fn last_chunk(
    reply: &ScriptedReply,
    request: &VendorRequest,
    names: &ChunkNames,
    parts: Vec<OrderedJson>,
) -> OrderedJson {
    let candidate = content(parts).with("finishReason", reply.stop_reason.as_deref().unwrap_or("STOP"));
    response_chunk(names, candidate, Some(usage(reply.usage_or_estimate(request))))
}

fn content(parts: Vec<OrderedJson>) -> OrderedJson {
    object! { "content": object! { "parts": parts, "role": "model" } }
}

/// Returns the chunk around one candidate.
fn response_chunk(names: &ChunkNames, candidate: OrderedJson, usage: Option<OrderedJson>) -> OrderedJson {
    let mut chunk = object! { "candidates": vec![candidate.with("index", 0_u64)] };
    if let Some(usage) = usage {
        chunk = chunk.with("usageMetadata", usage);
    }
    chunk.with("modelVersion", names.model.as_str()).with("responseId", names.response.as_str())
}

/// Returns the chunks of a stream: texts word by word, each call whole, and an end without content.
fn chunks(reply: &ScriptedReply, request: &VendorRequest, names: &ChunkNames) -> Vec<OrderedJson> {
    let mut chunks = Vec::new();
    for block in &reply.blocks {
        let parts: Vec<OrderedJson> = match block {
            ReplyBlock::Thinking(text) => {
                word_pieces(text).into_iter().map(|piece| part(&ReplyBlock::Thinking(piece.into()))).collect()
            }
            ReplyBlock::Text(text) => {
                word_pieces(text).into_iter().map(|piece| part(&ReplyBlock::Text(piece.into()))).collect()
            }
            ReplyBlock::Call { .. } => vec![part(block)],
        };
        chunks.extend(parts.into_iter().map(|part| chunk(names, vec![part])));
    }
    chunks.push(last_chunk(reply, request, names, Vec::new()));
    chunks
}
