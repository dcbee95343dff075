//! OpenAI as the scripted vendor plays it: a script's reply written as this vendor's answers and errors.

mod chat;
mod responses;

use reenact_wire::Endpoint;

use super::{CREATED_AT, VendorFormat, asks_for_models, deterministic_id, requested_model};
use crate::answer::ScriptedAnswer;
use crate::failure::VendorFailure;
use crate::json::{OrderedJson, object};
use crate::reply::ScriptedReply;
use crate::request::VendorRequest;

/// Models that the vendor lists.
const MODELS: [&str; 2] = ["gpt-5", "gpt-5-mini"];

/// Format of OpenAI.
pub(super) struct OpenAiFormat;

impl VendorFormat for OpenAiFormat {
    fn accepts(&self, _request: &VendorRequest) -> bool {
        true
    }

    fn answer(
        &self,
        endpoint: Endpoint,
        reply: &ScriptedReply,
        request: &VendorRequest,
    ) -> Option<ScriptedAnswer> {
        if endpoint == Endpoint::RESPONSES {
            return Some(responses::answer(reply, request));
        }
        (endpoint == Endpoint::CHAT_COMPLETIONS).then(|| chat::answer(reply, request))
    }

    fn catalogue(&self, request: &VendorRequest) -> Option<OrderedJson> {
        if asks_for_models(request) {
            return Some(object! { "object": "list", "data": MODELS.map(model).to_vec() });
        }
        let id = requested_model(request)?;
        MODELS.into_iter().find(|known| *known == id).map(model)
    }

    fn failure(&self, failure: &VendorFailure, _request: &VendorRequest) -> OrderedJson {
        let (kind, code, message) = error_fields(failure);
        object! { "error": object! {
            "message": message,
            "type": kind,
            "param": OrderedJson::Null,
            "code": code,
        } }
    }

    fn failure_event(&self, failure: &VendorFailure, request: &VendorRequest, number: usize) -> String {
        if request.endpoint() != Some(Endpoint::RESPONSES) {
            return format!("data: {}\n\n", self.failure(failure, request));
        }
        let (kind, code, message) = error_fields(failure);
        let event = object! {
            "type": "error",
            "code": code.unwrap_or(kind),
            "message": message,
            "param": OrderedJson::Null,
            "sequence_number": number,
        };
        format!("event: error\ndata: {event}\n\n")
    }

    fn headers(&self, answer: ScriptedAnswer, request: &VendorRequest) -> ScriptedAnswer {
        headers(answer, request)
    }
}

/// Adds the headers of every answer.
fn headers(answer: ScriptedAnswer, request: &VendorRequest) -> ScriptedAnswer {
    answer
        .header("x-request-id", deterministic_id("req_", request, 0))
        .header("openai-organization", "testkit")
        .header("openai-processing-ms", "42")
        .header("openai-version", "2020-10-01")
}

/// Returns an entry of the list of models.
fn model(id: &str) -> OrderedJson {
    object! { "id": id, "object": "model", "created": CREATED_AT, "owned_by": "system" }
}

/// Returns type, code and message of an error.
fn error_fields(failure: &VendorFailure) -> (&'static str, Option<&'static str>, &str) {
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
