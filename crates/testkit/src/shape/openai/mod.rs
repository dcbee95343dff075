//! OpenAI.

mod chat;
mod responses;

use reenact_wire::Endpoint;

use super::{MADE_AT, Shape, asked_model, asks_for_models, id};
use crate::answer::Answer;
use crate::failure::Failure;
use crate::json::{Json, object};
use crate::reply::Reply;
use crate::request::Request;

/// The models that the vendor says it has.
const MODELS: [&str; 2] = ["gpt-5", "gpt-5-mini"];

pub(super) struct OpenAi;

impl Shape for OpenAi {
    fn is_asked(&self, _request: &Request) -> bool {
        true
    }

    fn answer(&self, endpoint: Endpoint, reply: &Reply, request: &Request) -> Option<Answer> {
        if endpoint == Endpoint::RESPONSES {
            return Some(responses::answer(reply, request));
        }
        (endpoint == Endpoint::CHAT_COMPLETIONS).then(|| chat::answer(reply, request))
    }

    fn catalogue(&self, request: &Request) -> Option<Json> {
        if asks_for_models(request) {
            return Some(object! { "object": "list", "data": MODELS.map(model).to_vec() });
        }
        let id = asked_model(request)?;
        MODELS.into_iter().find(|known| *known == id).map(model)
    }

    fn failure(&self, failure: &Failure, _request: &Request) -> Json {
        let (kind, code, message) = words(failure);
        object! { "error": object! {
            "message": message,
            "type": kind,
            "param": Json::Null,
            "code": code,
        } }
    }

    fn failure_event(&self, failure: &Failure, request: &Request, number: usize) -> String {
        if request.endpoint() != Some(Endpoint::RESPONSES) {
            return format!("data: {}\n\n", self.failure(failure, request));
        }
        let (kind, code, message) = words(failure);
        let event = object! {
            "type": "error",
            "code": code.unwrap_or(kind),
            "message": message,
            "param": Json::Null,
            "sequence_number": number,
        };
        format!("event: error\ndata: {event}\n\n")
    }

    fn headers(&self, answer: Answer, request: &Request) -> Answer {
        headers(answer, request)
    }
}

fn headers(answer: Answer, request: &Request) -> Answer {
    answer
        .header("x-request-id", id("req_", request, 0))
        .header("openai-organization", "testkit")
        .header("openai-processing-ms", "42")
        .header("openai-version", "2020-10-01")
}

fn model(id: &str) -> Json {
    object! { "id": id, "object": "model", "created": MADE_AT, "owned_by": "system" }
}

/// Type, code and message of an error.
fn words(failure: &Failure) -> (&'static str, Option<&'static str>, &str) {
    let (kind, code, message) = match failure.status {
        400 => ("invalid_request_error", None, "We could not parse the JSON body of your request."),
        401 => ("invalid_request_error", Some("invalid_api_key"), "Incorrect API key provided."),
        403 => ("invalid_request_error", Some("unsupported_country_region_territory"), "Not supported."),
        404 => ("invalid_request_error", Some("unknown_url"), "Unknown request URL."),
        429 => ("requests", Some("rate_limit_exceeded"), "Rate limit reached for requests."),
        503 => ("server_error", None, "The engine is currently overloaded, please try again later."),
        status if (400..500).contains(&status) => {
            ("invalid_request_error", None, "The request is not valid.")
        }
        _ => ("server_error", None, "The server had an error while processing your request."),
    };
    (kind, code, failure.message.as_deref().unwrap_or(message))
}
