//! Anthropic.

mod messages;

use reenact_wire::Endpoint;

use super::{Shape, asked_model, asks_for_models, id};
use crate::answer::Answer;
use crate::failure::Failure;
use crate::json::{Json, object};
use crate::reply::Reply;
use crate::request::Request;

/// The models that the vendor says it has, with their names for people.
const MODELS: [(&str, &str); 2] =
    [("claude-sonnet-4-5", "Claude Sonnet 4.5"), ("claude-haiku-4-5", "Claude Haiku 4.5")];

pub(super) struct Anthropic;

impl Shape for Anthropic {
    fn is_asked(&self, request: &Request) -> bool {
        let path = request.route();
        request.header("anthropic-version").is_some()
            || path.ends_with("/messages")
            || path.ends_with("/messages/count_tokens")
    }

    fn answer(&self, endpoint: Endpoint, reply: &Reply, request: &Request) -> Option<Answer> {
        (endpoint == Endpoint::MESSAGES).then(|| messages::answer(reply, request))
    }

    fn catalogue(&self, request: &Request) -> Option<Json> {
        if request.method == "POST" && request.route().ends_with("/messages/count_tokens") {
            return Some(object! { "input_tokens": request.body.len() / 4 + 1 });
        }
        if asks_for_models(request) {
            return Some(object! {
                "data": MODELS.map(model).to_vec(),
                "has_more": false,
                "first_id": MODELS[0].0,
                "last_id": MODELS[1].0,
            });
        }
        let id = asked_model(request)?;
        MODELS.into_iter().find(|(known, _)| *known == id).map(model)
    }

    fn failure(&self, failure: &Failure, request: &Request) -> Json {
        error(failure).with("request_id", id("req_", request, 0))
    }

    fn failure_event(&self, failure: &Failure, _request: &Request, _number: usize) -> String {
        format!("event: error\ndata: {}\n\n", error(failure))
    }

    fn headers(&self, answer: Answer, request: &Request) -> Answer {
        headers(answer, request)
    }
}

fn headers(answer: Answer, request: &Request) -> Answer {
    answer
        .header("request-id", id("req_", request, 0))
        .header("anthropic-organization-id", "00000000-0000-0000-0000-000000000000")
}

fn model((id, name): (&str, &str)) -> Json {
    object! {
        "type": "model",
        "id": id,
        "display_name": name,
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
    }
}

fn error(failure: &Failure) -> Json {
    let (kind, message) = match failure.status {
        401 => ("authentication_error", "invalid x-api-key"),
        403 => ("permission_error", "Your API key does not have permission to use the specified resource."),
        404 => ("not_found_error", "Not found"),
        413 => ("request_too_large", "Request exceeds the maximum size"),
        429 => ("rate_limit_error", "This request would exceed your rate limit."),
        529 => ("overloaded_error", "Overloaded"),
        status if (400..500).contains(&status) => ("invalid_request_error", "The request is not valid."),
        _ => ("api_error", "Internal server error"),
    };
    let message = failure.message.as_deref().unwrap_or(message);
    object! { "type": "error", "error": object! { "type": kind, "message": message } }
}
