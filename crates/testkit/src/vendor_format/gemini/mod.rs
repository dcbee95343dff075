//! Google's Gemini as the scripted vendor plays it: a script's reply written as this vendor's answers and errors.

mod content;

use reenact_wire::Endpoint;

use super::{VendorFormat, asks_for_models, deterministic_id, requested_model};
use crate::answer::ScriptedAnswer;
use crate::failure::VendorFailure;
use crate::json::{OrderedJson, object};
use crate::reply::ScriptedReply;
use crate::request::VendorRequest;

/// Models that the vendor lists: id and display name.
const MODELS: [(&str, &str); 2] =
    [("gemini-2.5-flash", "Gemini 2.5 Flash"), ("gemini-2.5-pro", "Gemini 2.5 Pro")];

/// Format of Gemini.
pub(super) struct GeminiFormat;

impl VendorFormat for GeminiFormat {
    /// Accepts a verb or `v1beta` in the path, and the header that carries the key: other vendors
    /// have neither.
    fn accepts(&self, request: &VendorRequest) -> bool {
        let verb = request.path_without_query().rsplit('/').next().is_some_and(|last| last.contains(':'));
        verb || request.path_without_query().contains("/v1beta/")
            || request.header("x-goog-api-key").is_some()
    }

    fn answer(
        &self,
        endpoint: Endpoint,
        reply: &ScriptedReply,
        request: &VendorRequest,
    ) -> Option<ScriptedAnswer> {
        (endpoint == Endpoint::GENERATE_CONTENT).then(|| content::answer(reply, request))
    }

    fn catalogue(&self, request: &VendorRequest) -> Option<OrderedJson> {
        let tokens = request.body.len() / 4 + 1;
        match request.path_without_query().rsplit_once(':').filter(|_| request.method == "POST") {
            Some((_, "countTokens")) => return Some(object! { "totalTokens": tokens }),
            Some((_, "embedContent")) => return Some(object! { "embedding": embedding(tokens) }),
            Some((_, "batchEmbedContents")) => {
                return Some(object! { "embeddings": vec![embedding(tokens)] });
            }
            _ => {}
        }
        if asks_for_models(request) {
            return Some(object! { "models": MODELS.map(model).to_vec() });
        }
        let id = requested_model(request)?;
        MODELS.into_iter().find(|(known, _)| *known == id).map(model)
    }

    fn failure(&self, failure: &VendorFailure, _request: &VendorRequest) -> OrderedJson {
        error(failure)
    }

    fn failure_event(&self, failure: &VendorFailure, _request: &VendorRequest, _number: usize) -> String {
        format!("data: {}\r\n\r\n", error(failure))
    }

    fn headers(&self, answer: ScriptedAnswer, request: &VendorRequest) -> ScriptedAnswer {
        headers(answer, request)
    }
}

/// Adds the headers of every answer.
fn headers(answer: ScriptedAnswer, request: &VendorRequest) -> ScriptedAnswer {
    answer.header("x-request-id", deterministic_id("", request, 0)).header("server-timing", "gfet4t7; dur=42")
}

fn embedding(tokens: usize) -> OrderedJson {
    object! { "values": vec![OrderedJson::from(tokens), OrderedJson::from(1_u64)] }
}

/// Returns an entry of the list of models.
fn model((id, name): (&str, &str)) -> OrderedJson {
    object! {
        "name": format!("models/{id}"),
        "displayName": name,
        "supportedGenerationMethods": vec![OrderedJson::from("generateContent"), OrderedJson::from("countTokens")],
    }
}

/// Returns the body of an error.
fn error(failure: &VendorFailure) -> OrderedJson {
    let (status, message) = match failure.status {
        401 => ("UNAUTHENTICATED", "Request had invalid authentication credentials."),
        403 => ("PERMISSION_DENIED", "The caller does not have permission."),
        404 => ("NOT_FOUND", "Requested entity was not found."),
        429 => ("RESOURCE_EXHAUSTED", "You exceeded your current quota."),
        503 | 529 => ("UNAVAILABLE", "The model is overloaded. Please try again later."),
        status if (400..500).contains(&status) => ("INVALID_ARGUMENT", "The request is not valid."),
        _ => ("INTERNAL", "An internal error has occurred."),
    };
    let message = failure.message.as_deref().unwrap_or(message);
    object! { "error": object! { "code": u64::from(failure.status), "message": message, "status": status } }
}
