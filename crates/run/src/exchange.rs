//! A request and its answer over HTTP, as they were recorded: decoded, masked, in order.

use std::borrow::Cow;
use std::time::Duration;

use reenact_formats::FormatId;
use reenact_formats::rer::Callee;
use reenact_formats::rer::payload::{Chunk, EndedBy, Source};
use reenact_json::Digest;
use reenact_wire::{Endpoint, exchange as wire};

use crate::body::{RecordedHeaders, header};
use crate::event::Event;
use crate::reader;
use crate::unreadable::UnreadablePayload;

/// What an exchange is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExchangeKind {
    /// A model.
    Model,
    /// Something else, such as a list of models.
    Http,
}

/// Something that was asked, and what was answered. A handle: both are read when they are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'r> {
    /// What it is about.
    pub kind: ExchangeKind,
    /// The event that holds the request.
    pub called: Event<'r>,
    /// The event that holds the answer, if there is one.
    pub returned: Option<Event<'r>>,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeRequest<'r> {
    /// Whom: the name of a route, such as `openai`; empty if the record does not say.
    pub provider: Cow<'r, str>,
    /// Which model, as the record says.
    pub model: Option<Cow<'r, str>>,
    /// By which interface, if it is one that we read.
    pub endpoint: Option<Endpoint>,
    /// `POST` and the like; empty if the record does not say.
    pub method: Cow<'r, str>,
    /// The path at the vendor, with its query; empty if the record does not say.
    pub path: Cow<'r, str>,
    /// The headers that were kept.
    pub headers: RecordedHeaders,
    /// What is held of the body.
    pub body: ExchangeRequestBody<'r>,
    /// The key that the recorder computed. A word, not a fact: compute it again.
    pub match_key: Option<Cow<'r, str>>,
    /// How the record came to know, if it says so.
    pub source: Option<Source>,
}

/// What is held of the body of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeRequestBody<'r> {
    /// All of it, byte for byte.
    Bytes(Cow<'r, [u8]>),
    /// The JSON that it was, perhaps in another spelling.
    Json(Cow<'r, [u8]>),
    /// Some members of the JSON that it was, the others left out.
    Members(Cow<'r, [u8]>),
    /// What was asked, in words.
    Prompt(Cow<'r, str>),
    /// Its SHA-256.
    Hash(Digest),
}

impl ExchangeRequestBody<'_> {
    /// What can be shown of it: the bytes, the JSON or the words; nothing, where only a hash is held.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) | Self::Json(bytes) | Self::Members(bytes) => bytes,
            Self::Prompt(prompt) => prompt.as_bytes(),
            Self::Hash(_) => &[],
        }
    }

    /// The same, sharing nothing with the run.
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

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeAnswer<'r> {
    /// The status; `None` if no answer ever came.
    pub status: Option<u16>,
    /// The version of HTTP.
    pub version: Option<Cow<'r, str>>,
    /// The headers that were kept.
    pub headers: RecordedHeaders,
    /// What came behind the body.
    pub trailers: RecordedHeaders,
    /// The body, as far as it came. Empty where only what it said is held.
    pub body: Cow<'r, [u8]>,
    /// How much of it the record holds.
    pub detail: AnswerDetail,
    /// What it said, where the record holds that and not its body.
    pub recorded_message: Option<Box<reenact_wire::ModelAnswer>>,
    /// The codings that were removed from it.
    pub content_encoding: Option<Cow<'r, str>>,
    /// The SHA-256 of the body as it came.
    pub wire_sha256: Option<Cow<'r, str>>,
    /// When how much of the body came; empty if it was not a stream. Together they are the body.
    pub chunks: Vec<Chunk>,
    /// Whether it came to its end.
    pub complete: bool,
    /// What ended it.
    pub ended_by: EndedBy,
    /// What the agent was given instead, where that was something else.
    pub delivered: Option<Cow<'r, [u8]>>,
    /// How long the first byte of the body took.
    pub ttft: Option<Duration>,
    /// How long all of it took.
    pub latency: Option<Duration>,
    /// How the record came to know, if it says so.
    pub source: Option<Source>,
}

/// How much of an answer a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AnswerDetail {
    /// The answer as it came over HTTP.
    Http,
    /// The JSON of its body, perhaps in another spelling, and nothing of how it came.
    Json,
    /// What it said.
    Message,
}

impl<'r> Exchange<'r> {
    pub(crate) fn new(action: Callee, called: Event<'r>, returned: Option<Event<'r>>) -> Self {
        let kind = if action == Callee::Model { ExchangeKind::Model } else { ExchangeKind::Http };
        Self { kind, called, returned }
    }

    /// The step that it is; empty if the record does not say. Untrusted text.
    pub fn step_id(&self) -> Cow<'r, str> {
        self.called.step_id()
    }

    /// What was asked.
    pub fn request(&self) -> Result<ExchangeRequest<'r>, UnreadablePayload> {
        reader::read_request(&self.called)
    }

    /// What was answered.
    pub fn answer(&self) -> Result<ExchangeAnswer<'r>, UnreadablePayload> {
        let returned = self.returned.as_ref().ok_or(UnreadablePayload::NoAnswer)?;
        // Only what came in pieces needs to know by whose rules they are put together.
        let endpoint = match returned.payload_format() {
            FormatId::Rpk => self.request().ok().and_then(|request| request.endpoint),
            _ => None,
        };
        reader::read_answer(returned, endpoint)
    }

    /// What the answer says, read by the rules of its endpoint; `None` if it is not one that we read.
    pub fn message(&self) -> Option<reenact_wire::ModelAnswer> {
        let answer = self.answer().ok()?;
        match answer.recorded_message {
            Some(said) => Some(*said),
            None => answer.message(self.request().ok()?.endpoint?),
        }
    }
}

impl ExchangeRequest<'_> {
    /// The same, sharing nothing with the run.
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
    /// The same, sharing nothing with the run.
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

    /// An answer that came to its end, of which only this is known yet.
    pub(crate) fn complete_with(detail: AnswerDetail) -> Self {
        Self { detail, status: Some(200), complete: true, ended_by: EndedBy::Eof, ..Self::empty() }
    }

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

    /// Whether it came as a stream of events.
    pub fn is_stream(&self) -> bool {
        header(&self.headers, "content-type").is_some_and(wire::is_stream)
    }

    /// What it says, read by the rules of an endpoint; `None` if it is nothing that those rules read.
    pub fn message(&self, endpoint: Endpoint) -> Option<reenact_wire::ModelAnswer> {
        if let Some(said) = &self.recorded_message {
            return Some(reenact_wire::ModelAnswer::clone(said));
        }
        wire::parse_answer(endpoint, self.is_stream(), &self.body)
    }
}
