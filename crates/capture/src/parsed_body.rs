//! Bodies that were decoded and parsed, handed on so that no other part does it again.
//!
//! The [policy gate](crate::policy_gate) must parse a request before it goes out, and an answer before it is
//! handed on. Its results travel with the observations to the [event builder](crate::event_builder), but not
//! into the log: after a crash they are computed again from the bytes.

use std::borrow::Cow;
use std::sync::Arc;

use reenact_record::observation::{HeaderList, InboundRequest};
use reenact_wire::call_ids::CallIds;
use reenact_wire::exchange::{self, ParsedRequest};
use reenact_wire::{Endpoint, ModelAnswer, Vendor, multipart};

use crate::charge::AnswerCount;
use crate::decode::{self, Undecodable};

/// Returns the vendor of a request, and its interface if that is known.
pub(crate) fn vendor_and_endpoint(request: &InboundRequest<'_>) -> (Vendor, Option<Endpoint>) {
    let vendor = Vendor::of_route(&request.provider);
    (vendor, Endpoint::of(vendor, &request.method, &request.path))
}

/// Body of a request, decoded and parsed.
pub(crate) struct ParsedRequestBody {
    /// `None` if the body is used as it came.
    decoded: Option<Vec<u8>>,
    /// True if content codings were removed.
    pub(crate) is_decoded: bool,
    /// Reason why not all of the body could be decoded.
    pub(crate) fault: Option<Undecodable>,
    /// `None` if the body is empty, or is neither JSON nor a form in parts where one may stand.
    pub(crate) request: Option<Arc<ParsedRequest>>,
}

impl ParsedRequestBody {
    /// Decodes at most `max_body_bytes` of a request's body, and parses them.
    pub(crate) fn of(request: &InboundRequest<'_>, max_body_bytes: usize) -> Self {
        let codings = decode::codings(&request.headers);
        let readable = decode::decode_readable(&codings, &request.body, false, max_body_bytes);
        let (vendor, endpoint) = vendor_and_endpoint(request);
        let path = &*request.path;
        let read = || match (endpoint, multipart_type(&request.headers)) {
            (Some(endpoint), Some(content_type)) if endpoint.takes_multipart() => {
                exchange::parse_multipart(vendor, endpoint, path, content_type, &readable.body)
            }
            _ => exchange::parse_request_to(vendor, endpoint, path, &readable.body),
        };
        let parsed = if readable.body.is_empty() { None } else { read() };
        let decode::ReadableBody { body, is_decoded, fault } = readable;
        let decoded = match body {
            Cow::Borrowed(_) => None,
            Cow::Owned(body) => Some(body),
        };
        Self { decoded, is_decoded, fault, request: parsed.map(Arc::new) }
    }

    /// Returns the body without its content codings, as far as they could be removed.
    pub(crate) fn body<'b>(&'b self, request: &'b InboundRequest<'_>) -> &'b [u8] {
        self.decoded.as_deref().unwrap_or(&request.body)
    }

    /// Returns the ids for tool calls of the answer that come without one.
    pub(crate) fn call_ids(&self) -> Option<CallIds> {
        self.request.as_ref()?.call_ids.clone()
    }

    /// Returns the model that the request names.
    pub(crate) fn model(&self) -> Option<&str> {
        self.request.as_ref()?.model.as_deref()
    }
}

/// Facts from an answer that was parsed on its way, under an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParsedAnswerBody {
    /// Tokens of the answer.
    pub(crate) count: AnswerCount,
}

/// Parsed body that travels with an observation.
pub(crate) enum ParsedBody {
    Request(Box<ParsedRequestBody>),
    Answer(ParsedAnswerBody),
}

/// Parses the decoded body of a successful answer of a model; `None` for all other answers.
pub(crate) fn parse_answer(
    endpoint: Option<Endpoint>,
    status: u16,
    is_stream: bool,
    body: &[u8],
) -> Option<ModelAnswer> {
    let endpoint = endpoint.filter(|endpoint| endpoint.is_answer_read())?;
    if is_success(status) { exchange::parse_answer(endpoint, is_stream, body) } else { None }
}

/// Returns the tokens of a decoded answer. `is_whole` is true if its end was received.
pub(crate) fn answer_count(
    endpoint: Option<Endpoint>,
    status: u16,
    is_stream: bool,
    is_whole: bool,
    body: &[u8],
) -> AnswerCount {
    // Vendors do not charge for requests that they refuse.
    if !is_success(status) {
        return AnswerCount::Nothing;
    }
    AnswerCount::of(parse_answer(endpoint, status, is_stream, body).as_ref(), is_whole)
}

/// Returns true for the status of a request that succeeded: 200 to 299.
pub(crate) fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// Returns true if the tool calls of an answer are looked for before its client gets it: those of an answer that can have some, and of one
/// that is from no model, in which none belong.
pub fn is_scanned(endpoint: Option<Endpoint>) -> bool {
    endpoint.is_some_and(|endpoint| endpoint.can_ask_for_tools() || !endpoint.calls_a_model())
}

/// Returns the `content-type` of a form in parts (`multipart/form-data`); `None` for another, and for several.
pub(crate) fn multipart_type<'h>(headers: &'h HeaderList<'_>) -> Option<&'h str> {
    let mut types = headers.all("content-type");
    let one = types.next().and_then(decode::visible_text)?;
    (types.next().is_none() && multipart::is_multipart(one)).then_some(one)
}

/// Returns true if headers announce a stream of server-sent events.
pub fn is_stream(headers: &HeaderList<'_>) -> bool {
    let content_type = headers.all("content-type").next().and_then(decode::visible_text);
    content_type.is_some_and(exchange::is_stream)
}
