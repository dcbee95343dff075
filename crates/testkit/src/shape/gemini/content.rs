//! Contents, whole or in chunks. Calls have no ids: what reads them must do without.

use reenact_wire::{Delivery, Usage};

use crate::answer::{Answer, Step};
use crate::json::{Json, object};
use crate::reply::{Block, Reply};
use crate::request::Request;
use crate::shape::{id, model, pieces};

pub(super) fn answer(reply: &Reply, request: &Request) -> Answer {
    let answer = match request.reading().delivery {
        Delivery::Document => {
            let parts = reply.blocks.iter().map(part).collect();
            Answer::json(200, chunk(reply, request, parts, true).to_string())
        }
        Delivery::Events => {
            Answer::events(chunks(reply, request).iter().map(|chunk| format!("data: {chunk}\r\n\r\n")))
        }
        Delivery::List => list(&chunks(reply, request)),
    };
    super::headers(answer, request)
}

/// A list that is sent piece by piece.
fn list(chunks: &[Json]) -> Answer {
    let mut answer = Answer::json(200, "[");
    for (at, chunk) in chunks.iter().enumerate() {
        answer.steps.push(Step::send(if at == 0 { chunk.to_string() } else { format!(",\r\n{chunk}") }));
    }
    answer.steps.push(Step::send("]"));
    answer
}

fn usage(usage: Usage) -> Json {
    object! {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
        "cachedContentTokenCount": usage.cached_input_tokens,
    }
}

fn part(block: &Block) -> Json {
    match block {
        Block::Thinking(text) => object! { "text": text.as_str(), "thought": true },
        Block::Text(text) => object! { "text": text.as_str() },
        Block::Call { name, input } => {
            object! { "functionCall": object! { "name": name.as_str(), "args": Json::ready(input) } }
        }
    }
}

fn chunk(reply: &Reply, request: &Request, parts: Vec<Json>, is_last: bool) -> Json {
    let mut candidate = object! { "content": object! { "parts": parts, "role": "model" } };
    if is_last {
        candidate = candidate.with("finishReason", reply.stop_reason.as_deref().unwrap_or("STOP"));
    }
    let mut chunk = object! { "candidates": vec![candidate.with("index", 0_u64)] };
    if is_last {
        chunk = chunk.with("usageMetadata", usage(reply.tokens(request)));
    }
    chunk.with("modelVersion", model(request)).with("responseId", id("", request, 0))
}

/// Texts word by word, each call whole, and an end without content.
fn chunks(reply: &Reply, request: &Request) -> Vec<Json> {
    let mut chunks = Vec::new();
    for block in &reply.blocks {
        let parts: Vec<Json> = match block {
            Block::Thinking(text) => {
                pieces(text).into_iter().map(|piece| part(&Block::Thinking(piece.into()))).collect()
            }
            Block::Text(text) => {
                pieces(text).into_iter().map(|piece| part(&Block::Text(piece.into()))).collect()
            }
            Block::Call { .. } => vec![part(block)],
        };
        chunks.extend(parts.into_iter().map(|part| chunk(reply, request, vec![part], false)));
    }
    chunks.push(chunk(reply, request, Vec::new(), true));
    chunks
}
