//! What a vendor says that asks no model: its models, and counts of tokens.

use super::MADE_AT;
use crate::Kind;
use crate::answer::Answer;
use crate::json::{Json, object};
use crate::request::Request;

/// The models that each vendor says it has.
const OPENAI: [&str; 2] = ["gpt-5", "gpt-5-mini"];
const ANTHROPIC: [(&str, &str); 2] =
    [("claude-sonnet-4-5", "Claude Sonnet 4.5"), ("claude-haiku-4-5", "Claude Haiku 4.5")];

/// The answer; `None` if a vendor has nothing of this name.
pub(crate) fn answer(request: &Request) -> Option<Answer> {
    let (route, kind) = (request.route(), request.kind());
    let (before, last) = route.rsplit_once('/')?;
    let body = match request.method.as_str() {
        "GET" | "HEAD" if last == "models" => list(kind),
        "GET" | "HEAD" if before.ends_with("/models") => model(kind, last)?,
        "POST" if route.ends_with("/messages/count_tokens") => {
            object! { "input_tokens": request.body.len() / 4 + 1 }
        }
        _ => return None,
    };
    Some(super::headers(Answer::json(200, body.to_string()), request))
}

fn list(kind: Kind) -> Json {
    match kind {
        Kind::OpenAi => object! {
            "object": "list",
            "data": OPENAI.map(openai).to_vec(),
        },
        Kind::Anthropic => object! {
            "data": ANTHROPIC.map(anthropic).to_vec(),
            "has_more": false,
            "first_id": ANTHROPIC[0].0,
            "last_id": ANTHROPIC[1].0,
        },
    }
}

fn model(kind: Kind, id: &str) -> Option<Json> {
    match kind {
        Kind::OpenAi => OPENAI.into_iter().find(|known| *known == id).map(openai),
        Kind::Anthropic => ANTHROPIC.into_iter().find(|(known, _)| *known == id).map(anthropic),
    }
}

fn openai(id: &str) -> Json {
    object! { "id": id, "object": "model", "created": MADE_AT, "owned_by": "system" }
}

fn anthropic((id, name): (&str, &str)) -> Json {
    object! {
        "type": "model",
        "id": id,
        "display_name": name,
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
    }
}
