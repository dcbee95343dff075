//! One request and its answer, as they came in. [`RawRequest`] and [`RawAnswer`] are never written: an event writer
//! masks them.

use core::time::Duration;

use reenact_formats::rer::EventType;
pub use reenact_formats::rer::payload::{Chunk, EndedBy, StepId};

use reenact_json::Digest;
use reenact_wire::MatchKeyParts;

use crate::mask::{MaskedBytes, MaskedHeaders, MaskedText};

/// Header names and values, in the order in which they came.
pub type RawHeaders<'a> = &'a [(&'a str, &'a [u8])];

/// Target of a request, which selects the types of its two events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// A model: `rer.model.called` and `rer.model.returned`.
    Model,
    /// A vendor, but no model, such as for a list of models: `rer.http.called` and `rer.http.returned`.
    Http,
}

impl CallKind {
    /// Returns the type of the event that opens the step.
    pub(crate) fn called_event(self) -> EventType {
        match self {
            Self::Model => EventType::ModelCalled,
            Self::Http => EventType::HttpCalled,
        }
    }

    /// Returns the type of the event that closes the step.
    pub(crate) fn returned_event(self) -> EventType {
        match self {
            Self::Model => EventType::ModelReturned,
            Self::Http => EventType::HttpReturned,
        }
    }
}

/// Request as it came in, with its secrets. [`EventWriter::mask_request`](crate::EventWriter::mask_request) makes a
/// [`MaskedRequest`] of it, which can be recorded.
#[derive(Clone, Copy)]
pub struct RawRequest<'a> {
    /// Name of the route, such as `openai`.
    pub provider: &'a str,
    /// HTTP method, such as `POST`.
    pub method: &'a str,
    /// Path at the vendor, with the query.
    pub path: &'a str,
    /// All headers.
    pub headers: RawHeaders<'a>,
    /// Body without its content encoding.
    pub body: &'a [u8],
}

/// Request without secrets. Only an [`EventWriter`](crate::EventWriter) makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedRequest<'a> {
    pub(crate) provider: MaskedText,
    pub(crate) method: MaskedText,
    pub(crate) path: MaskedText,
    pub(crate) headers: MaskedHeaders,
    pub(crate) body: MaskedBytes<'a>,
}

impl MaskedRequest<'_> {
    /// Returns the name of the route.
    pub fn provider(&self) -> &str {
        self.provider.as_str()
    }

    /// Returns the HTTP method, such as `POST`.
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// Returns the path with its query.
    pub fn path(&self) -> &str {
        self.path.as_str()
    }

    /// Returns the headers that are recorded, without secrets.
    pub fn headers(&self) -> &[(String, String)] {
        self.headers.as_slice()
    }

    /// Returns the body, with marks in the place of secrets.
    pub fn body(&self) -> &[u8] {
        self.body.as_slice()
    }

    /// Returns the match key: the digest by which a replay finds the recorded answer to an equal request.
    pub fn match_key(&self) -> Digest {
        let parts = MatchKeyParts {
            provider: self.provider(),
            method: self.method(),
            path: self.path(),
            headers: self.headers(),
            body: self.body(),
        };
        reenact_wire::match_key(&parts, reenact_secrets::renumbered)
    }
}

/// Call that is about to be made over HTTP, ready to be recorded.
///
/// ```no_run
/// # fn record(writer: &reenact_record::EventWriter, raw: &reenact_record::RawRequest<'_>) -> Result<(), reenact_record::RecordError> {
/// use reenact_record::{CallKind, ExchangeCall};
///
/// let request = writer.mask_request(raw);
/// let call = ExchangeCall { model: Some("gpt-5"), ..ExchangeCall::new(CallKind::Model, &request) };
/// let step = writer.record_call(&call, None)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ExchangeCall<'a> {
    /// Target of the request.
    pub kind: CallKind,
    /// Request without secrets.
    pub request: &'a MaskedRequest<'a>,
    /// Model that the request names, with its secrets.
    pub model: Option<&'a str>,
    /// Interface of the vendor, such as `responses`.
    pub endpoint: Option<&'a str>,
    /// Digest by which a replay finds the recorded answer; [`MaskedRequest::match_key`] unless the front end has another rule.
    pub match_key: Digest,
}

impl<'a> ExchangeCall<'a> {
    /// Returns a call with the match key of its request, without model and endpoint.
    pub fn new(kind: CallKind, request: &'a MaskedRequest<'a>) -> Self {
        Self { kind, request, model: None, endpoint: None, match_key: request.match_key() }
    }
}

/// Answer as it came in, or as much of it as came. [`RawAnswer::default`] is no answer at all.
#[derive(Clone, Copy)]
pub struct RawAnswer<'a> {
    /// HTTP status code; `None` if there was no answer.
    pub status: Option<u16>,
    /// Version of HTTP, such as `1.1`.
    pub version: Option<&'a str>,
    /// All headers.
    pub headers: RawHeaders<'a>,
    /// All trailers.
    pub trailers: RawHeaders<'a>,
    /// Body without its content encoding.
    pub body: &'a [u8],
    /// Content encoding that was removed, such as `gzip`.
    pub content_encoding: Option<&'a str>,
    /// SHA-256 of the body as it came, with its content encoding.
    pub wire_sha256: [u8; 32],
    /// Lengths and times of the reads of the decoded body; empty if they are not worth recording. The lengths sum to
    /// the body's.
    pub chunks: &'a [Chunk],
    /// True if the answer came to its end.
    pub complete: bool,
    /// Side that ended the exchange.
    pub ended_by: EndedBy,
    /// Time from the request to the first byte of the body.
    pub ttft: Option<Duration>,
    /// Time from the request to the end.
    pub latency: Duration,
    /// Decoded bytes that the agent got; `None` if it got the whole body.
    pub delivered: Option<&'a [u8]>,
    /// True if the answer comes from the record of another run, and no vendor was asked.
    pub is_from_record: bool,
}

impl Default for RawAnswer<'_> {
    /// Returns an answer of which nothing came.
    fn default() -> Self {
        Self {
            status: None,
            version: None,
            headers: &[],
            trailers: &[],
            body: &[],
            content_encoding: None,
            wire_sha256: *reenact_json::Digest::of(b"").as_bytes(),
            chunks: &[],
            complete: false,
            ended_by: EndedBy::Upstream,
            ttft: None,
            latency: Duration::ZERO,
            delivered: None,
            is_from_record: false,
        }
    }
}
