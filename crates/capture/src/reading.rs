//! Bodies that were decoded and parsed, handed on so that nobody does it again.
//!
//! The [policy gate](crate::policy_gate) must read a request before it goes out, and an answer before it is handed on. Its
//! readings travel with the observations to the [event builder](crate::event_builder), but not into the log: after a crash
//! they are computed again from the bytes.

use std::borrow::Cow;
use std::sync::Arc;

use reenact_record::observation::{HeaderList, InboundRequest};
use reenact_wire::call_ids::CallIds;
use reenact_wire::exchange::{self, Request};
use reenact_wire::{Answer, Endpoint, Usage, Vendor};

use crate::decode::{self, Undecodable};

/// The vendor of a request, and its interface if that is known.
pub(crate) fn interface(request: &InboundRequest<'_>) -> (Vendor, Option<Endpoint>) {
    let vendor = Vendor::of_route(&request.provider);
    (vendor, Endpoint::of(vendor, &request.method, &request.path))
}

/// A request's body, decoded and parsed.
pub(crate) struct RequestReading {
    /// `None` if the body is read as it came.
    decoded: Option<Vec<u8>>,
    /// True if content codings were removed.
    pub(crate) is_decoded: bool,
    /// Reason why not all of the body could be decoded.
    pub(crate) fault: Option<Undecodable>,
    /// `None` if the body is no JSON that is read here.
    pub(crate) request: Option<Arc<Request>>,
}

impl RequestReading {
    /// Decodes at most `max_body_bytes` of a request's body, and parses them.
    pub(crate) fn of(request: &InboundRequest<'_>, max_body_bytes: usize) -> Self {
        let codings = decode::codings(&request.headers);
        let readable = decode::readable(&codings, &request.body, false, max_body_bytes);
        let (vendor, endpoint) = interface(request);
        let read = || exchange::request_to(vendor, endpoint, &request.path, &readable.body);
        let parsed = if readable.body.is_empty() { None } else { read() };
        let decode::Readable { body, is_decoded, fault } = readable;
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

/// The parts of an answer that were read on its way, under an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnswerReading {
    /// Tokens that the vendor counted.
    pub(crate) usage: Option<Usage>,
}

/// A reading that travels with an observation.
pub(crate) enum Reading {
    Request(Box<RequestReading>),
    Answer(AnswerReading),
}

/// Parses an answer's decoded body, if it is one of a model that succeeded.
pub(crate) fn answer(
    endpoint: Option<Endpoint>,
    status: u16,
    is_stream: bool,
    body: &[u8],
) -> Option<Answer> {
    let endpoint = endpoint.filter(|endpoint| endpoint.calls_a_model())?;
    if is_success(status) { exchange::answer(endpoint, is_stream, body) } else { None }
}

/// Returns true for the status of a request that succeeded.
pub(crate) fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// Returns true if headers announce a stream of events.
pub fn is_stream(headers: &HeaderList<'_>) -> bool {
    let content_type = headers.all("content-type").next().and_then(decode::visible_text);
    content_type.is_some_and(exchange::is_stream)
}
