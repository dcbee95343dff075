//! Recorded answers, ready to be served.
//!
//! A record that holds the HTTP answer is served as it is. From other records the body is rebuilt in the format
//! of the vendor that the request is to, as a stream if the request asks for one. Start reading at
//! `RecordedAnswer::for_request`.

use reenact_json::Shown;
use reenact_run::{AnswerDetail, Chunk, EndedBy, ExchangeAnswer, UnreadablePayload};
use reenact_wire::render::{self, RenderedAnswer};
use reenact_wire::{Delivery, Endpoint, Vendor, error_reply, exchange};

use crate::request::PlayerRequest;

/// Recorded answer to one request. The body is served as it is here; only the headers name a content coding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedAnswer {
    /// Id of the recorded step. Untrusted text.
    pub step_id: String,
    /// HTTP status; `None` exactly if [`RecordedAnswer::end`] is [`AnswerEnd::NoAnswer`].
    pub status: Option<u16>,
    /// HTTP version of the recorded answer.
    pub version: Option<String>,
    /// Headers, without those of the connection and those of content codings that the recorder removed.
    pub headers: Vec<(String, String)>,
    /// Trailers that follow the body.
    pub trailers: Vec<(String, String)>,
    /// Body, as far as it was recorded.
    pub body: Vec<u8>,
    /// Times and lengths of the chunks that make up the body; empty if the body came at once.
    pub chunks: Vec<Chunk>,
    /// Action to take after the last byte of the body.
    pub end: AnswerEnd,
    /// True if the body was rebuilt, because the record does not hold the HTTP answer.
    pub is_rebuilt: bool,
}

/// Reason why a recorded exchange has no answer to serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotServed {
    /// The recorded answer cannot be read.
    #[error(transparent)]
    Unreadable(#[from] UnreadablePayload),
    /// Only the message is recorded, and the endpoint of the request has no known answer format. Holds method
    /// and path, safe to print.
    #[error("only what was said is recorded, and {0} is no interface whose answers can be written anew")]
    UnknownEndpoint(String),
}

/// End of a recorded answer, to be reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnswerEnd {
    /// The answer was complete.
    Complete,
    /// The vendor or a timeout cut the answer off: serve the recorded part, then close the connection.
    CutByUpstream,
    /// The agent closed the connection: serve the recorded part, then close. An agent that behaves as recorded
    /// has closed by then.
    ClientDisconnected,
    /// No answer ever came: close the connection without one.
    NoAnswer,
}

/// Headers that belong to one connection (RFC 9110 §7.6.1), or give a length that no longer holds. They are not
/// served.
const DROPPED_HEADERS: [&str; 9] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl RecordedAnswer {
    /// Converts a recorded answer to the one that is served to a request, rebuilding the body if the record
    /// does not hold HTTP.
    ///
    /// # Errors
    /// If the answer cannot be read, or its message has no format at the endpoint of the request.
    pub(crate) fn for_request(
        incoming: &PlayerRequest<'_>,
        step_id: String,
        answer: Result<ExchangeAnswer<'_>, UnreadablePayload>,
    ) -> Result<Self, NotServed> {
        let mut answer = answer?;
        let is_rebuilt = answer.detail != AnswerDetail::Http;
        if is_rebuilt {
            rebuild(incoming, &step_id, &mut answer)?;
        }
        Ok(Self { is_rebuilt, ..Self::from_answer(step_id, answer) })
    }

    /// Converts an answer that has a body, without looking at the request.
    fn from_answer(step_id: String, answer: ExchangeAnswer<'_>) -> Self {
        let end = match (answer.status, answer.complete, answer.ended_by) {
            (None, ..) => AnswerEnd::NoAnswer,
            (Some(_), true, _) => AnswerEnd::Complete,
            (Some(_), false, EndedBy::Client) => AnswerEnd::ClientDisconnected,
            (Some(_), false, _) => AnswerEnd::CutByUpstream,
        };
        let mut headers = without_connection_headers(answer.headers);
        // Present only if the recorder decoded the body. A body that could not be decoded keeps its coding and
        // header.
        if answer.content_encoding.is_some() {
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-encoding"));
        }
        // An agent that disconnected early got only the beginning of the body, and will disconnect again by
        // itself. An agent that was given another body, such as a denial, is given that.
        let mut status = answer.status;
        let (body, chunks) = match answer.delivered {
            Some(delivered) if !answer.body.starts_with(&delivered) => {
                status = error_reply::denied_status(&delivered).or(status);
                (delivered, Vec::new())
            }
            _ => (answer.body, answer.chunks),
        };
        Self {
            step_id,
            status,
            version: answer.version.map(|version| version.into_owned()),
            headers,
            trailers: without_connection_headers(answer.trailers),
            body: body.into_owned(),
            chunks,
            end,
            is_rebuilt: false,
        }
    }
}

/// Replaces the body of an answer by the one that its vendor would send to this request: a stream if the
/// request asks for one, else a document. Sets the content type.
///
/// # Errors
/// [`NotServed::UnknownEndpoint`] if only the message is recorded and the request is to no endpoint that calls
/// a model.
fn rebuild(
    incoming: &PlayerRequest<'_>,
    step_id: &str,
    answer: &mut ExchangeAnswer<'_>,
) -> Result<(), NotServed> {
    let vendor = Vendor::of_name(incoming.provider);
    let endpoint = vendor.and_then(|vendor| Endpoint::of(vendor, incoming.method, incoming.path));
    let request =
        endpoint.and_then(|endpoint| exchange::parse_request(endpoint, incoming.path, incoming.body));
    let wanted = request.as_ref().map(|request| request.delivery).unwrap_or_default();
    let Some(endpoint) = endpoint.filter(|endpoint| endpoint.can_ask_for_tools()) else {
        // Without a known endpoint, JSON and HTTP are served as they are.
        return match answer.detail {
            AnswerDetail::Message => {
                // The query is left out, since it may hold a key.
                let path = incoming.path.split('?').next().unwrap_or_default();
                Err(NotServed::UnknownEndpoint(format!(
                    "{} {}",
                    Shown::new(incoming.method),
                    Shown::new(path)
                )))
            }
            AnswerDetail::Http | AnswerDetail::Json => Ok(()),
        };
    };
    // The recorded text may be a whole body: an answer without text, such as one of tool calls, can be kept in
    // no other way.
    let text = match &answer.recorded_message {
        Some(said) => Some(said.text.as_str()),
        None => core::str::from_utf8(&answer.body).ok(),
    };
    let whole = text.and_then(|text| Some((text, render::detected_delivery(endpoint, text)?)));
    let is_error = answer.status.is_some_and(|status| status >= 400);
    let shaped = match (whole, &answer.recorded_message) {
        (Some((text, delivery)), _) if delivery == wanted || is_error => {
            let content_type = delivery.content_type().split(';').next().unwrap_or_default();
            Some(RenderedAnswer { content_type, body: text.as_bytes().to_vec() })
        }
        (Some((text, delivery)), _) => {
            let said = exchange::parse_answer(endpoint, delivery == Delivery::Events, text.as_bytes());
            said.and_then(|said| render::render(endpoint, &said, wanted, step_id))
        }
        (None, Some(said)) => {
            let model = request.as_ref().and_then(|request| request.model.as_deref());
            let said = render::with_required_members(endpoint, reenact_wire::ModelAnswer::clone(said), model);
            render::render(endpoint, &said, wanted, step_id)
        }
        // JSON that is no answer of a model, such as an error, is served as it is.
        (None, None) => return Ok(()),
    };
    let Some(RenderedAnswer { content_type, body }) = shaped else { return Ok(()) };
    answer.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    answer.headers.push(("content-type".into(), content_type.into()));
    answer.body = body.into();
    answer.recorded_message = None;
    Ok(())
}

/// Removes the [`DROPPED_HEADERS`].
fn without_connection_headers(headers: Vec<(String, String)>) -> Vec<(String, String)> {
    let keep = |name: &str| !DROPPED_HEADERS.iter().any(|dropped| dropped.eq_ignore_ascii_case(name));
    headers.into_iter().filter(|(name, _)| keep(name)).collect()
}
