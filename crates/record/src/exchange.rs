//! One request and its answer, as they came and as they are written.

use core::time::Duration;

use reenact_formats::rer::EventType;
pub use reenact_formats::rer::payload::{Chunk, EndedBy, StepId};

use crate::mask::{Masked, MaskedBytes, MaskedHeaders};

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
