//! Google's Gemini API.

mod content;

use reenact_wire::Endpoint;

use super::{Shape, asked_model, asks_for_models, id};
use crate::answer::Answer;
use crate::failure::Failure;
use crate::json::{Json, object};
use crate::reply::Reply;
use crate::request::Request;

/// The models that the vendor says it has, with their names for people.
const MODELS: [(&str, &str); 2] =
    [("gemini-2.5-flash", "Gemini 2.5 Flash"), ("gemini-2.5-pro", "Gemini 2.5 Pro")];

pub(super) struct Gemini;

impl Shape for Gemini {
    /// The version in the path, or the header that carries the key: others have neither.
    fn is_asked(&self, request: &Request) -> bool {
        let verb = request.route().rsplit('/').next().is_some_and(|last| last.contains(':'));
        verb || request.route().contains("/v1beta/") || request.header("x-goog-api-key").is_some()
    }

    fn answer(&self, endpoint: Endpoint, reply: &Reply, request: &Request) -> Option<Answer> {
        (endpoint == Endpoint::GENERATE_CONTENT).then(|| content::answer(reply, request))
    }

    fn catalogue(&self, request: &Request) -> Option<Json> {
        let tokens = request.body.len() / 4 + 1;
        match request.route().rsplit_once(':').filter(|_| request.method == "POST") {
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
        let id = asked_model(request)?;
        MODELS.into_iter().find(|(known, _)| *known == id).map(model)
    }

    fn failure(&self, failure: &Failure, _request: &Request) -> Json {
        error(failure)
    }

    fn failure_event(&self, failure: &Failure, _request: &Request, _number: usize) -> String {
        format!("data: {}\r\n\r\n", error(failure))
    }

    fn headers(&self, answer: Answer, request: &Request) -> Answer {
        headers(answer, request)
    }
}

fn headers(answer: Answer, request: &Request) -> Answer {
    answer.header("x-request-id", id("", request, 0)).header("server-timing", "gfet4t7; dur=42")
}

fn embedding(tokens: usize) -> Json {
    object! { "values": vec![Json::from(tokens), Json::from(1_u64)] }
}

fn model((id, name): (&str, &str)) -> Json {
    object! {
        "name": format!("models/{id}"),
        "displayName": name,
        "supportedGenerationMethods": vec![Json::from("generateContent"), Json::from("countTokens")],
    }
}

fn error(failure: &Failure) -> Json {
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
