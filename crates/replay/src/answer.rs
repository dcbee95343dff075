//! What was recorded, ready to be served.

use reenact_json::Shown;
use reenact_run::{AnswerDetail, Chunk, EndedBy, ExchangeAnswer, UnreadablePayload};
use reenact_wire::render::{self, RenderedAnswer};
use reenact_wire::{Delivery, Endpoint, Vendor, error_reply, exchange};

use crate::request::PlayerRequest;

/// A recorded answer. The body is served as it is here, without any coding but what its headers name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedAnswer {
    /// The recorded step that it answers.
    pub step_id: String,
    /// The status; `None` exactly if [`RecordedAnswer::end`] is [`AnswerEnd::NoAnswer`].
    pub status: Option<u16>,
    /// The version of HTTP that it came with.
    pub version: Option<String>,
    /// The headers, without those that speak of the connection, and of codings that were removed.
    pub headers: Vec<(String, String)>,
    /// What comes behind the body.
    pub trailers: Vec<(String, String)>,
    /// The body, as far as it came.
    pub body: Vec<u8>,
    /// When how much of the body came, together all of it; empty if it came at once.
    pub chunks: Vec<Chunk>,
    /// What to do behind the last byte.
    pub end: AnswerEnd,
    /// Whether it was written anew, because the record does not hold how it came.
    pub is_rebuilt: bool,
}

/// Why there is nothing to serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotServed {
    /// The recorded answer cannot be read.
    #[error(transparent)]
    Unreadable(#[from] UnreadablePayload),
    /// Only what was said is recorded, and nobody knows in which shape that is to be served here. The text is safe to print.
    #[error("only what was said is recorded, and {0} is no interface whose answers can be written anew")]
    UnknownEndpoint(String),
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnswerEnd {
    /// As it should.
    Complete,
    /// The vendor's side broke it off: serve what came, then break off.
    CutByUpstream,
    /// The agent left: serve what was recorded, then break off. It will have left by then, if it does as it did.
    ClientDisconnected,
    /// There never was an answer: close the connection without one.
    NoAnswer,
}

/// Headers that speak of one connection (RFC 9110 §7.6.1), or of a length that no longer holds.
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
    /// A recorded answer as it is served to a request.
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

    fn from_answer(step_id: String, answer: ExchangeAnswer<'_>) -> Self {
        let end = match (answer.status, answer.complete, answer.ended_by) {
            (None, ..) => AnswerEnd::NoAnswer,
            (Some(_), true, _) => AnswerEnd::Complete,
            (Some(_), false, EndedBy::Client) => AnswerEnd::ClientDisconnected,
            (Some(_), false, _) => AnswerEnd::CutByUpstream,
        };
        let mut headers = without_connection_headers(answer.headers);
        // A body that the recorder could not decode is still in its coding.
        if answer.content_encoding.is_some() {
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-encoding"));
        }
        // An agent that left early got only the beginning: it will leave again by itself. One that was given something else
        // is given that.
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

/// Gives an answer the body that its vendor would give it here: as a stream, if that is what the request asks for.
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
    let Some(endpoint) = endpoint.filter(|endpoint| endpoint.calls_a_model()) else {
        // JSON is served as what it is.
        return match answer.detail {
            AnswerDetail::Message => {
                // A query may hold a key.
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
    // What is recorded as said may be a whole body: of an answer without words, nothing else can be.
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
        // JSON that is no answer of a model, such as an error.
        (None, None) => return Ok(()),
    };
    let Some(RenderedAnswer { content_type, body }) = shaped else { return Ok(()) };
    answer.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    answer.headers.push(("content-type".into(), content_type.into()));
    answer.body = body.into();
    answer.recorded_message = None;
    Ok(())
}

fn without_connection_headers(headers: Vec<(String, String)>) -> Vec<(String, String)> {
    let keep = |name: &str| !DROPPED_HEADERS.iter().any(|dropped| dropped.eq_ignore_ascii_case(name));
    headers.into_iter().filter(|(name, _)| keep(name)).collect()
}
