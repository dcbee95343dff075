//! One request and its answer, as they came and as they are written.

use core::fmt;
use core::time::Duration;

use crate::event::EventType;
use crate::mask::{Masked, MaskedBody, MaskedBytes, MaskedHeaders, milliseconds};
use crate::payload::Payload;

/// Header names and values, in the order in which they came.
pub type Headers<'a> = &'a [(&'a str, &'a [u8])];

/// Whom a request asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchange {
    /// A model: `rer.model.called` and `rer.model.returned`.
    Model,
    /// Only its vendor, such as for a list of models: `rer.http.called` and `rer.http.returned`.
    Http,
}

impl Exchange {
    pub(crate) fn called(self) -> EventType {
        match self {
            Self::Model => EventType::ModelCalled,
            Self::Http => EventType::HttpCalled,
        }
    }

    pub(crate) fn returned(self) -> EventType {
        match self {
            Self::Model => EventType::ModelReturned,
            Self::Http => EventType::HttpReturned,
        }
    }
}

/// An action of a run: `s1`, `s2`, … in the order in which they began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub(crate) u64);

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// A request as it came. It is never written: [`crate::Pen::mask_request`] makes of it what is.
#[derive(Clone, Copy)]
pub struct RawRequest<'a> {
    /// The route's name, such as `openai`.
    pub provider: &'a str,
    /// Such as `POST`.
    pub method: &'a str,
    /// The upstream's path, with the query.
    pub path: &'a str,
    /// All headers.
    pub headers: Headers<'a>,
    /// The body, decoded.
    pub body: &'a [u8],
}

/// A request without secrets. Only a [`crate::Pen`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedRequest<'a> {
    pub(crate) provider: Masked,
    pub(crate) method: Masked,
    pub(crate) path: Masked,
    pub(crate) headers: MaskedHeaders,
    pub(crate) body: MaskedBytes<'a>,
}

impl MaskedRequest<'_> {
    /// The route's name.
    pub fn provider(&self) -> &str {
        self.provider.as_str()
    }

    /// Such as `POST`.
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// The path with its query.
    pub fn path(&self) -> &str {
        self.path.as_str()
    }

    /// The headers that are kept.
    pub fn headers(&self) -> &[(String, String)] {
        self.headers.as_slice()
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        self.body.as_slice()
    }
}

/// Where a read of the body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// When it came, after the request.
    pub at: Duration,
    /// How many bytes of the decoded body it brought.
    pub length: usize,
}

/// What ended an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// It was over.
    Eof,
    /// The agent hung up.
    Client,
    /// The vendor could not be reached, or broke off.
    Upstream,
    /// The vendor took too long.
    Timeout,
}

impl EndedBy {
    fn name(self) -> &'static str {
        match self {
            Self::Eof => "eof",
            Self::Client => "client",
            Self::Upstream => "upstream",
            Self::Timeout => "timeout",
        }
    }
}

/// An answer as it came, or as much of it as did.
#[derive(Clone, Copy)]
pub struct RawAnswer<'a> {
    /// `None` if there was no answer.
    pub status: Option<u16>,
    /// The version of HTTP, such as `1.1`.
    pub version: Option<&'a str>,
    /// All headers.
    pub headers: Headers<'a>,
    /// All trailers.
    pub trailers: Headers<'a>,
    /// The body, decoded.
    pub body: &'a [u8],
    /// The content encoding that was removed.
    pub content_encoding: Option<&'a str>,
    /// SHA-256 of the body as it came.
    pub wire_sha256: [u8; 32],
    /// Where reads of the decoded body ended, where that is worth keeping. Their lengths sum to the body's.
    pub chunks: &'a [Chunk],
    /// Whether all of it came.
    pub complete: bool,
    /// What ended it.
    pub ended_by: EndedBy,
    /// From the request to the first byte of the body.
    pub ttft: Option<Duration>,
    /// From the request to the end.
    pub latency: Duration,
    /// What the agent got, decoded, if that is less than what came.
    pub delivered: Option<&'a [u8]>,
}

impl Default for RawAnswer<'_> {
    /// No answer at all.
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
        }
    }
}

/// What a called event says.
pub(crate) struct Called<'a> {
    pub(crate) request: &'a MaskedRequest<'a>,
    pub(crate) model: Option<Masked>,
    pub(crate) endpoint: Option<Masked>,
    pub(crate) match_key: reenact_json::Digest,
}

impl Called<'_> {
    pub(crate) fn write(&self, step: StepId, payload: &mut Payload<'_>) {
        let request = self.request;
        payload.optional_text("endpoint", self.endpoint.as_ref());
        payload.object("http", |http| {
            http.body("body", MaskedBody::Held(&request.body));
            http.headers("headers", &request.headers);
            http.text("method", &request.method);
            http.text("path", &request.path);
        });
        payload.digest("match_key", &self.match_key);
        payload.optional_text("model", self.model.as_ref());
        payload.text("provider", &request.provider);
        payload.salt();
        payload.constant("source", "observed");
        payload.step(step);
    }
}

/// What a returned event says.
pub(crate) struct Returned<'a> {
    pub(crate) status: Option<u16>,
    pub(crate) version: Option<Masked>,
    pub(crate) headers: MaskedHeaders,
    pub(crate) trailers: MaskedHeaders,
    pub(crate) body: MaskedBody<'a>,
    pub(crate) content_encoding: Option<Masked>,
    pub(crate) wire_sha256: reenact_json::Digest,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) complete: bool,
    pub(crate) ended_by: EndedBy,
    pub(crate) ttft: Option<Duration>,
    pub(crate) latency: Duration,
    pub(crate) delivered: Option<MaskedBytes<'a>>,
}

impl Returned<'_> {
    pub(crate) fn write(&self, step: StepId, payload: &mut Payload<'_>) {
        payload.flag("complete", self.complete);
        if let Some(delivered) = &self.delivered {
            payload.body("delivered", MaskedBody::Held(delivered));
        }
        payload.constant("ended_by", self.ended_by.name());
        payload.object("http", |http| {
            http.body("body", self.body);
            if !self.chunks.is_empty() {
                let pairs = self.chunks.iter().map(|chunk| [milliseconds(chunk.at), chunk.length as u64]);
                http.pairs("chunks", pairs);
            }
            if let Some(encoding) = &self.content_encoding {
                http.text("content_encoding", encoding);
            }
            http.headers("headers", &self.headers);
            if !self.trailers.as_slice().is_empty() {
                http.headers("trailers", &self.trailers);
            }
            http.optional_text("version", self.version.as_ref());
            http.digest("wire_sha256", &self.wire_sha256);
        });
        payload.number("latency_ms", milliseconds(self.latency));
        payload.salt();
        payload.constant("source", "observed");
        payload.optional_number("status", self.status.map(u64::from));
        payload.step(step);
        payload.optional_number("ttft_ms", self.ttft.map(milliseconds));
    }
}
