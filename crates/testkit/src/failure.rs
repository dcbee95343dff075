//! What goes wrong, in each vendor's own shape.

use reenact_wire::Endpoint;

use crate::Kind;
use crate::answer::Answer;
use crate::json::{Json, object};
use crate::request::Request;
use crate::shape;

/// An error that a vendor answers with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The status.
    pub status: u16,
    /// What it says; by default what the vendor would say to this status.
    pub message: Option<String>,
    /// Seconds, in `retry-after`.
    pub retry_after: Option<u64>,
}

impl Failure {
    /// This status. A 429 asks to come back after a second.
    pub fn new(status: u16) -> Self {
        Self { status, message: None, retry_after: (status == 429).then_some(1) }
    }

    /// What a vendor says to a path that it does not know.
    pub fn not_found() -> Self {
        Self::new(404)
    }

    /// In these words.
    pub fn saying(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// The answer, in the shape of the vendor that was asked.
    pub fn answer(&self, request: &Request) -> Answer {
        let body = match request.kind() {
            Kind::OpenAi => self.openai(),
            Kind::Anthropic => self.anthropic().with("request_id", shape::id("req_", request, 0)),
        };
        let mut answer = shape::headers(Answer::json(self.status, body.to_string()), request);
        if let Some(seconds) = self.retry_after {
            answer = answer.header("retry-after", seconds.to_string());
        }
        answer
    }

    /// As the event of this number, from 0, in a stream that began well.
    pub fn event(&self, request: &Request, number: usize) -> String {
        match request.endpoint() {
            Some(Endpoint::Messages) => format!("event: error\ndata: {}\n\n", self.anthropic()),
            Some(Endpoint::Responses) => {
                let (kind, code, message) = self.openai_words();
                let event = object! {
                    "type": "error",
                    "code": code.unwrap_or(kind),
                    "message": message,
                    "param": Json::Null,
                    "sequence_number": number,
                };
                format!("event: error\ndata: {event}\n\n")
            }
            _ => format!("data: {}\n\n", self.openai()),
        }
    }

    /// Type, code and message.
    fn openai_words(&self) -> (&'static str, Option<&'static str>, &str) {
        let (kind, code, message) = match self.status {
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
        (kind, code, self.message.as_deref().unwrap_or(message))
    }

    fn openai(&self) -> Json {
        let (kind, code, message) = self.openai_words();
        object! { "error": object! {
            "message": message,
            "type": kind,
            "param": Json::Null,
            "code": code,
        } }
    }

    fn anthropic(&self) -> Json {
        let (kind, message) = match self.status {
            401 => ("authentication_error", "invalid x-api-key"),
            403 => {
                ("permission_error", "Your API key does not have permission to use the specified resource.")
            }
            404 => ("not_found_error", "Not found"),
            413 => ("request_too_large", "Request exceeds the maximum size"),
            429 => ("rate_limit_error", "This request would exceed your rate limit."),
            529 => ("overloaded_error", "Overloaded"),
            status if (400..500).contains(&status) => ("invalid_request_error", "The request is not valid."),
            _ => ("api_error", "Internal server error"),
        };
        let message = self.message.as_deref().unwrap_or(message);
        object! { "type": "error", "error": object! { "type": kind, "message": message } }
    }
}
