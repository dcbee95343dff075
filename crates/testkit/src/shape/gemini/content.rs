//! Contents, whole or in chunks. Calls have no ids: what reads them must do without.

use reenact_wire::{Delivery, Usage};

use crate::answer::{Answer, Step};
use crate::json::{Json, object};
use crate::reply::{Block, Reply};
use crate::request::Request;
use crate::shape::{id, pieces};

pub(super) fn answer(reply: &Reply, request: &Request) -> Answer {
    // Read once: a request may be long, and its answer has many chunks.
    let reading = request.reading();
    let names = Names { model: reading.model.unwrap_or_default(), response: id("", request, 0) };
    let answer = match reading.delivery {
        Delivery::Document => {
            let parts = reply.blocks.iter().map(part).collect();
            Answer::json(200, last_chunk(reply, request, &names, parts).to_string())
        }
        Delivery::Events => {
            let chunks = chunks(reply, request, &names);
            Answer::events(chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")))
        }
        Delivery::List => list(&chunks(reply, request, &names)),
    };
    super::headers(answer, request)
}

/// Names that every chunk repeats.
struct Names {
    model: String,
    response: String,
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

fn chunk(names: &Names, parts: Vec<Json>) -> Json {
    framed(names, content(parts), None)
}

/// The chunk that says why the answer ends, and how many tokens it took.
fn last_chunk(reply: &Reply, request: &Request, names: &Names, parts: Vec<Json>) -> Json {
    let candidate = content(parts).with("finishReason", reply.stop_reason.as_deref().unwrap_or("STOP"));
    framed(names, candidate, Some(usage(reply.tokens(request))))
}

fn content(parts: Vec<Json>) -> Json {
    object! { "content": object! { "parts": parts, "role": "model" } }
}

fn framed(names: &Names, candidate: Json, usage: Option<Json>) -> Json {
    let mut chunk = object! { "candidates": vec![candidate.with("index", 0_u64)] };
    if let Some(usage) = usage {
        chunk = chunk.with("usageMetadata", usage);
    }
    chunk.with("modelVersion", names.model.as_str()).with("responseId", names.response.as_str())
}

/// Texts word by word, each call whole, and an end without content.
fn chunks(reply: &Reply, request: &Request, names: &Names) -> Vec<Json> {
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
        chunks.extend(parts.into_iter().map(|part| chunk(names, vec![part])));
    }
    chunks.push(last_chunk(reply, request, names, Vec::new()));
    chunks
}
