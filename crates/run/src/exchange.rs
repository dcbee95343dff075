//! Exchanges: a request over HTTP and its answer, as they were recorded: decoded and masked.
//!
//! Formats hold exchanges in different detail. [`ExchangeRequestBody`] and [`AnswerDetail`] say how much is
//! there. Start reading at [`Exchange`].

use std::borrow::Cow;
use std::time::Duration;

use reenact_formats::FormatId;
use reenact_formats::rer::Callee;
use reenact_formats::rer::payload::{Chunk, EndedBy, EventSource};
use reenact_json::Digest;
use reenact_wire::{Endpoint, exchange as wire};

use crate::body::{RecordedHeaders, header};
use crate::event::Event;
use crate::reader;
use crate::reader::foreign_payload::ForeignPayload;
use crate::unreadable::UnreadablePayload;

/// Kind of the server that a request was sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExchangeKind {
    /// An endpoint that calls a model.
    Model,
    /// Anything else, such as a list of models.
    Http,
}

/// A request and its answer. A handle: both are parsed by [`Exchange::request`] and [`Exchange::answer`].
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'r> {
    /// Kind of the server that the request was sent to.
    pub kind: ExchangeKind,
    /// Event that holds the request.
    pub called: Event<'r>,
    /// Event that holds the answer, if there is one. May be the same event as `called`.
    pub returned: Option<Event<'r>>,
}

/// Recorded request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeRequest<'r> {
    /// Name of the route that the request took, such as `openai`; empty if the record does not say.
    pub provider: Cow<'r, str>,
    /// Model, as the record says.
    pub model: Option<Cow<'r, str>>,
    /// Endpoint of the vendor, if it is one that reenact knows.
    pub endpoint: Option<Endpoint>,
    /// HTTP method, such as `POST`; empty if the record does not say.
    pub method: Cow<'r, str>,
    /// Path at the vendor, with its query; a full URL if the vendor is unknown; empty if the record does not
    /// say.
    pub path: Cow<'r, str>,
    /// Headers that were recorded.
    pub headers: RecordedHeaders,
    /// Body, as far as it was recorded.
    pub body: ExchangeRequestBody<'r>,
    /// Match key that the recorder computed. Untrusted: compute the key from the request instead.
    pub match_key: Option<Cow<'r, str>>,
    /// Way in which the recorder learnt of the request, if the record says so.
    pub source: Option<EventSource>,
}

/// Body of a request, as far as a record holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeRequestBody<'r> {
    /// The whole body, byte for byte.
    Bytes(Cow<'r, [u8]>),
    /// The body as JSON, perhaps in another spelling.
    Json(Cow<'r, [u8]>),
    /// Some members of the body, as a JSON object.
    Members(Cow<'r, [u8]>),
    /// The prompt, as text.
    Prompt(Cow<'r, str>),
    /// SHA-256 of the body or of the prompt.
    Hash(Digest),
}

impl ExchangeRequestBody<'_> {
    /// Returns the bytes that are recorded: the body, the JSON or the prompt; empty if only a hash is.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) | Self::Json(bytes) | Self::Members(bytes) => bytes,
            Self::Prompt(prompt) => prompt.as_bytes(),
            Self::Hash(_) => &[],
        }
    }

    /// Returns a copy that borrows nothing from the run.
    pub fn into_owned(self) -> ExchangeRequestBody<'static> {
        match self {
            Self::Bytes(bytes) => ExchangeRequestBody::Bytes(Cow::Owned(bytes.into_owned())),
            Self::Json(text) => ExchangeRequestBody::Json(Cow::Owned(text.into_owned())),
            Self::Members(text) => ExchangeRequestBody::Members(Cow::Owned(text.into_owned())),
            Self::Prompt(text) => ExchangeRequestBody::Prompt(Cow::Owned(text.into_owned())),
            Self::Hash(digest) => ExchangeRequestBody::Hash(digest),
        }
    }
}

/// Recorded answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeAnswer<'r> {
    /// HTTP status; `None` if no answer ever came.
    pub status: Option<u16>,
    /// HTTP version, if recorded.
    pub version: Option<Cow<'r, str>>,
    /// Headers that were recorded.
    pub headers: RecordedHeaders,
    /// Trailers that followed the body.
    pub trailers: RecordedHeaders,
    /// Body, as far as it came, with content codings removed. Empty if only the message is recorded.
    pub body: Cow<'r, [u8]>,
    /// Amount of detail that the record holds.
    pub detail: AnswerDetail,
    /// Message of the model, if the record holds it instead of a body. [`ExchangeAnswer::message`] reads
    /// either.
    pub recorded_message: Option<Box<reenact_wire::ModelAnswer>>,
    /// Content codings that the recorder removed from the body.
    pub content_encoding: Option<Cow<'r, str>>,
    /// SHA-256 of the body as it came over the wire, in hexadecimal. Untrusted text.
    pub wire_sha256: Option<Cow<'r, str>>,
    /// Times and lengths of the chunks of a stream; empty if the body came at once. The lengths add up to that
    /// of the body.
    pub chunks: Vec<Chunk>,
    /// True if the answer came to its end.
    pub complete: bool,
    /// Party or event that ended the answer.
    pub ended_by: EndedBy,
    /// Body that the agent was given, if that was not the recorded one: the part before it disconnected, or a
    /// denial.
    pub delivered: Option<Cow<'r, [u8]>>,
    /// Time to the first byte of the body.
    pub ttft: Option<Duration>,
    /// Time to the end of the answer.
    pub latency: Option<Duration>,
    /// Way in which the recorder learnt of the answer, if the record says so.
    pub source: Option<EventSource>,
}

/// Amount of detail in which a record holds an answer, the most detailed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AnswerDetail {
    /// Status, headers and body as they came over HTTP.
    Http,
    /// JSON of the body, perhaps in another spelling, without headers and times.
    Json,
    /// Message alone: text, and perhaps tool calls and token counts.
    Message,
}

impl<'r> Exchange<'r> {
    /// Makes the handle of an exchange with a model or over HTTP.
    pub(crate) fn new(action: Callee, called: Event<'r>, returned: Option<Event<'r>>) -> Self {
        let kind = if action == Callee::Model { ExchangeKind::Model } else { ExchangeKind::Http };
        Self { kind, called, returned }
    }

    /// Returns the id of the step; empty if the record does not say. Untrusted text.
    pub fn step_id(&self) -> Cow<'r, str> {
        self.called.step_id()
    }

    /// Reads the request.
    ///
    /// # Errors
    /// If the payload is withheld or absent, or does not hold a request.
    pub fn request(&self) -> Result<ExchangeRequest<'r>, UnreadablePayload> {
        reader::read_request(&self.called)
    }

    /// Reads the answer.
    ///
    /// # Errors
    /// [`UnreadablePayload::NoAnswer`] if none is recorded; else if the payload is withheld or does not hold an
    /// answer.
    pub fn answer(&self) -> Result<ExchangeAnswer<'r>, UnreadablePayload> {
        let returned = self.returned.as_ref().ok_or(UnreadablePayload::NoAnswer)?;
        // Only an `.rpk` holds the chunks of a stream as JSON, which are assembled by the rules of the
        // endpoint.
        let endpoint = match returned.payload_format() {
            FormatId::Rpk => self.request().ok().and_then(|request| request.endpoint),
            _ => None,
        };
        reader::read_answer(returned, endpoint)
    }

    /// Returns true if the request was seen in this run and its answer came from the record of another one: no vendor was asked, and
    /// nothing was spent. In a record that was converted, both came from elsewhere.
    pub fn is_answered_from_record(&self) -> bool {
        let returned = self.returned.as_ref().and_then(Event::source);
        returned == Some(EventSource::Imported) && self.called.source() == Some(EventSource::Observed)
    }

    /// Returns the payload of the request as another runtime wrote it; `None` if reenact may have written it, or it is of another format.
    pub fn foreign_call(&self) -> Option<ForeignPayload<'r>> {
        ForeignPayload::of(&self.called)
    }

    /// Returns the payload of the answer as another runtime wrote it; `None` likewise.
    pub fn foreign_return(&self) -> Option<ForeignPayload<'r>> {
        ForeignPayload::of(self.returned.as_ref()?)
    }

    /// Returns the message of the answer: the recorded one, or the body parsed by the rules of the endpoint;
    /// `None` if the answer cannot be read or the endpoint is unknown.
    pub fn message(&self) -> Option<reenact_wire::ModelAnswer> {
        let answer = self.answer().ok()?;
        match answer.recorded_message {
            Some(said) => Some(*said),
            None => answer.message(self.request().ok()?.endpoint?),
        }
    }
}

impl ExchangeRequest<'_> {
    /// Returns a copy that borrows nothing from the run.
    pub fn into_owned(self) -> ExchangeRequest<'static> {
        ExchangeRequest {
            provider: owned(self.provider),
            model: self.model.map(owned),
            endpoint: self.endpoint,
            method: owned(self.method),
            path: owned(self.path),
            headers: self.headers,
            body: self.body.into_owned(),
            match_key: self.match_key.map(owned),
            source: self.source,
        }
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

impl ExchangeAnswer<'_> {
    /// Returns a copy that borrows nothing from the run.
    pub fn into_owned(self) -> ExchangeAnswer<'static> {
        ExchangeAnswer {
            status: self.status,
            version: self.version.map(owned),
            headers: self.headers,
            trailers: self.trailers,
            body: Cow::Owned(self.body.into_owned()),
            detail: self.detail,
            recorded_message: self.recorded_message,
            content_encoding: self.content_encoding.map(owned),
            wire_sha256: self.wire_sha256.map(owned),
            chunks: self.chunks,
            complete: self.complete,
            ended_by: self.ended_by,
            delivered: self.delivered.map(|bytes| Cow::Owned(bytes.into_owned())),
            ttft: self.ttft,
            latency: self.latency,
            source: self.source,
        }
    }

    /// Returns a complete answer with status 200, in this detail; everything else is empty.
    pub(crate) fn complete_with(detail: AnswerDetail) -> Self {
        Self { detail, status: Some(200), complete: true, ended_by: EndedBy::Eof, ..Self::empty() }
    }

    /// Returns the answer of a request that nothing came back for.
    pub(crate) fn empty() -> Self {
        Self {
            status: None,
            version: None,
            headers: RecordedHeaders::new(),
            trailers: RecordedHeaders::new(),
            body: Cow::default(),
            detail: AnswerDetail::Http,
            recorded_message: None,
            content_encoding: None,
            wire_sha256: None,
            chunks: Vec::new(),
            complete: false,
            ended_by: EndedBy::Upstream,
            delivered: None,
            ttft: None,
            latency: None,
            source: None,
        }
    }

    /// Returns true if the content type is that of a stream of server-sent events.
    pub fn is_stream(&self) -> bool {
        header(&self.headers, "content-type").is_some_and(wire::is_stream)
    }

    /// Returns the message of the answer: the recorded one, or the body parsed by the rules of `endpoint`;
    /// `None` if the body does not follow them.
    pub fn message(&self, endpoint: Endpoint) -> Option<reenact_wire::ModelAnswer> {
        if let Some(said) = &self.recorded_message {
            return Some(reenact_wire::ModelAnswer::clone(said));
        }
        wire::parse_answer(endpoint, self.is_stream(), &self.body)
    }
}
