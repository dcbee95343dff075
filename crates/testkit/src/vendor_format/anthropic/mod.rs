//! Anthropic as the scripted vendor plays it: a script's reply written as this vendor's answers and errors.

mod messages;

use reenact_wire::Endpoint;

use super::{VendorFormat, asks_for_models, deterministic_id, requested_model};
use crate::answer::ScriptedAnswer;
use crate::failure::VendorFailure;
use crate::json::{OrderedJson, object};
use crate::reply::ScriptedReply;
use crate::request::VendorRequest;

/// Models that the vendor lists: id and display name.
const MODELS: [(&str, &str); 2] =
    [("claude-sonnet-4-5", "Claude Sonnet 4.5"), ("claude-haiku-4-5", "Claude Haiku 4.5")];

/// Format of Anthropic.
pub(super) struct AnthropicFormat;

impl VendorFormat for AnthropicFormat {
    /// Accepts the header that Anthropic demands, and the paths that only Anthropic has.
    fn accepts(&self, request: &VendorRequest) -> bool {
        let path = request.path_without_query();
        request.header("anthropic-version").is_some()
            || path.ends_with("/messages")
            || path.ends_with("/messages/count_tokens")
    }

    fn answer(
        &self,
        endpoint: Endpoint,
        reply: &ScriptedReply,
        request: &VendorRequest,
    ) -> Option<ScriptedAnswer> {
        (endpoint == Endpoint::MESSAGES).then(|| messages::answer(reply, request))
    }

    fn catalogue(&self, request: &VendorRequest) -> Option<OrderedJson> {
        if request.method == "POST" && request.path_without_query().ends_with("/messages/count_tokens") {
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
        let id = requested_model(request)?;
        MODELS.into_iter().find(|(known, _)| *known == id).map(model)
    }

    fn failure(&self, failure: &VendorFailure, request: &VendorRequest) -> OrderedJson {
        error(failure).with("request_id", deterministic_id("req_", request, 0))
    }

    fn failure_event(&self, failure: &VendorFailure, _request: &VendorRequest, _number: usize) -> String {
        format!("event: error\ndata: {}\n\n", error(failure))
    }

    fn headers(&self, answer: ScriptedAnswer, request: &VendorRequest) -> ScriptedAnswer {
        headers(answer, request)
    }
}

/// Adds the headers of every answer.
fn headers(answer: ScriptedAnswer, request: &VendorRequest) -> ScriptedAnswer {
    answer
        .header("request-id", deterministic_id("req_", request, 0))
        .header("anthropic-organization-id", "00000000-0000-0000-0000-000000000000")
}

/// Returns an entry of the list of models.
fn model((id, name): (&str, &str)) -> OrderedJson {
    object! {
        "type": "model",
        "id": id,
        "display_name": name,
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
    }
}

/// Returns the body of an error without its request id.
fn error(failure: &VendorFailure) -> OrderedJson {
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
