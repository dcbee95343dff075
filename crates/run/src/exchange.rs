//! A request and its answer over HTTP, as they were recorded: decoded, masked, in order.

use std::borrow::Cow;
use std::time::Duration;

use reenact_json::{Kind as JsonKind, Value};
use reenact_wire::{Endpoint, Vendor, exchange as wire};

use crate::body::{self, Headers, header};
use crate::event::{Event, Source};
use crate::kind::Action;
use crate::unreadable::{Unreadable, flag, milliseconds, mistyped, needed, needed_text, object, pick, text};

/// What an exchange is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Asked {
    /// A model.
    Model,
    /// Something else, such as a list of models.
    Http,
}

/// Something that was asked, and what was answered. A handle: both are read when they are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'r> {
    /// What it is about.
    pub asked: Asked,
    /// The event that holds the request.
    pub called: Event<'r>,
    /// The event that holds the answer, if there is one.
    pub returned: Option<Event<'r>>,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'r> {
    /// Whom: the name of a route, such as `openai`.
    pub provider: Cow<'r, str>,
    /// Which model, as the record says.
    pub model: Option<Cow<'r, str>>,
    /// By which interface, if it is one that we read.
    pub endpoint: Option<Endpoint>,
    /// `POST` and the like.
    pub method: Cow<'r, str>,
    /// The path at the vendor, with its query.
    pub path: Cow<'r, str>,
    /// The headers that were kept.
    pub headers: Headers,
    /// The body.
    pub body: Cow<'r, [u8]>,
    /// The key that the recorder computed. A word, not a fact: compute it again.
    pub match_key: Option<Cow<'r, str>>,
    /// How the record came to know.
    pub source: Source,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<'r> {
    /// The status; `None` if no answer ever came.
    pub status: Option<u16>,
    /// The version of HTTP.
    pub version: Option<Cow<'r, str>>,
    /// The headers that were kept.
    pub headers: Headers,
    /// What came behind the body.
    pub trailers: Headers,
    /// The body, as far as it came.
    pub body: Cow<'r, [u8]>,
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
    /// How the record came to know.
    pub source: Source,
}

/// A piece of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// How long after the request it came.
    pub at: Duration,
    /// How many bytes it has.
    pub length: usize,
}

/// What ended an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndedBy {
    /// Its end.
    Eof,
    /// The agent left.
    Client,
    /// The vendor's side broke it off, or never answered.
    Upstream,
    /// It took too long.
    Timeout,
}

impl EndedBy {
    /// The word that payloads use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Eof => "eof",
            Self::Client => "client",
            Self::Upstream => "upstream",
            Self::Timeout => "timeout",
        }
    }
}

impl<'r> Exchange<'r> {
    pub(crate) fn new(action: Action, called: Event<'r>, returned: Option<Event<'r>>) -> Self {
        let asked = if action == Action::Model { Asked::Model } else { Asked::Http };
        Self { asked, called, returned }
    }

    /// The step that it is; empty if the record does not say. Untrusted text.
    pub fn step_id(&self) -> Cow<'r, str> {
        let step = self.called.payload().value().and_then(|payload| payload.member("step_id"));
        step.and_then(|step| step.string()).unwrap_or_default()
    }

    /// What was asked.
    pub fn request(&self) -> Result<Request<'r>, Unreadable> {
        let payload = object(&self.called)?;
        let [provider, model, endpoint, http, match_key, source] =
            pick(payload, ["provider", "model", "endpoint", "http", "match_key", "source"]);
        let http = needed("http", http)?;
        let [method, path, headers, body] = pick(http, ["method", "path", "headers", "body"]);
        let provider = needed_text("provider", provider)?;
        let method = needed_text("http.method", method)?;
        let path = needed_text("http.path", path)?;
        let named = text("endpoint", endpoint)?.and_then(|name| Endpoint::of_name(&name));
        let found = || Endpoint::of(Vendor::of_name(&provider)?, &method, &path);
        Ok(Request {
            model: text("model", model)?,
            endpoint: named.or_else(found),
            headers: body::headers("http.headers", headers)?,
            body: body::bytes("http.body", needed("http.body", body)?)?,
            match_key: text("match_key", match_key)?,
            source: Source::of(source),
            provider,
            method,
            path,
        })
    }

    /// What was answered.
    pub fn answer(&self) -> Result<Answer<'r>, Unreadable> {
        let payload = object(self.returned.as_ref().ok_or(Unreadable::NoAnswer)?)?;
        let [status, http, complete, ended_by, delivered, ttft, latency, source] = pick(
            payload,
            ["status", "http", "complete", "ended_by", "delivered", "ttft_ms", "latency_ms", "source"],
        );
        let status = status.map(read_status).transpose()?;
        let mut answer = match http {
            Some(http) => read_http(http)?,
            // Nothing came at all.
            None if status.is_none() => Answer::nothing(),
            None => return Err(Unreadable::Missing { member: "http" }),
        };
        answer.status = status;
        answer.complete = flag("complete", complete)?.ok_or(Unreadable::Missing { member: "complete" })?;
        answer.ended_by = read_end(needed("ended_by", ended_by)?)?;
        answer.delivered = delivered.map(|body| body::bytes("delivered", body)).transpose()?;
        answer.ttft = milliseconds("ttft_ms", ttft)?;
        answer.latency = milliseconds("latency_ms", latency)?;
        answer.source = Source::of(source);
        Ok(answer)
    }

    /// What the answer says, read by the rules of its endpoint; `None` if it is not one that we read.
    pub fn message(&self) -> Option<reenact_wire::Answer> {
        self.answer().ok()?.message(self.request().ok()?.endpoint?)
    }
}

fn read_status(status: Value<'_>) -> Result<u16, Unreadable> {
    let number = status.whole().and_then(|status| u16::try_from(status).ok());
    number
        .filter(|status| (100..=999).contains(status))
        .ok_or_else(|| mistyped("status", status, "an HTTP status"))
}

fn read_end(ended_by: Value<'_>) -> Result<EndedBy, Unreadable> {
    let known = [EndedBy::Eof, EndedBy::Client, EndedBy::Upstream, EndedBy::Timeout];
    let named = known.into_iter().find(|end| ended_by.is_string(end.name()));
    named.ok_or_else(|| mistyped("ended_by", ended_by, "one of eof, client, upstream and timeout"))
}

fn read_http(http: Value<'_>) -> Result<Answer<'_>, Unreadable> {
    let [version, headers, trailers, body, content_encoding, wire_sha256, chunks] =
        pick(http, ["version", "headers", "trailers", "body", "content_encoding", "wire_sha256", "chunks"]);
    let body = match body {
        Some(body) => body::bytes("http.body", body)?,
        None => Cow::default(),
    };
    let list = |member, headers: Option<Value<'_>>| match headers {
        Some(headers) => body::headers(member, Some(headers)),
        None => Ok(Headers::new()),
    };
    Ok(Answer {
        version: text("http.version", version)?,
        headers: list("http.headers", headers)?,
        trailers: list("http.trailers", trailers)?,
        content_encoding: text("http.content_encoding", content_encoding)?,
        wire_sha256: text("http.wire_sha256", wire_sha256)?,
        chunks: chunks.map_or(Ok(Vec::new()), |chunks| read_chunks(chunks, body.len()))?,
        body,
        ..Answer::nothing()
    })
}

/// `[[milliseconds, bytes], …]`, which must add up to the body.
fn read_chunks(chunks: Value<'_>, body: usize) -> Result<Vec<Chunk>, Unreadable> {
    if chunks.kind() != JsonKind::Array {
        return Err(mistyped("http.chunks", chunks, "an array"));
    }
    let chunk = |chunk: Value<'_>| {
        let mut numbers = chunk.elements();
        let at = milliseconds("http.chunks", numbers.next()).ok()??;
        let length = usize::try_from(numbers.next()?.whole()?).ok()?;
        numbers.next().is_none().then_some(Chunk { at, length })
    };
    let read: Result<Vec<Chunk>, Unreadable> = chunks
        .elements()
        .map(|pair| chunk(pair).ok_or_else(|| mistyped("http.chunks", pair, "milliseconds and bytes")))
        .collect();
    let read = read?;
    let sum = read.iter().fold(0_u64, |sum, chunk| sum.saturating_add(chunk.length as u64));
    if sum != body as u64 {
        return Err(Unreadable::Chunks { chunks: sum, body: body as u64 });
    }
    Ok(read)
}

impl Answer<'_> {
    fn nothing() -> Self {
        Self {
            status: None,
            version: None,
            headers: Headers::new(),
            trailers: Headers::new(),
            body: Cow::default(),
            content_encoding: None,
            wire_sha256: None,
            chunks: Vec::new(),
            complete: false,
            ended_by: EndedBy::Upstream,
            delivered: None,
            ttft: None,
            latency: None,
            source: Source::Unsaid,
        }
    }

    /// Whether it came as a stream of events.
    pub fn is_stream(&self) -> bool {
        header(&self.headers, "content-type").is_some_and(wire::is_stream)
    }

    /// What it says, read by the rules of an endpoint; `None` if it is nothing that those rules read.
    pub fn message(&self, endpoint: Endpoint) -> Option<reenact_wire::Answer> {
        wire::answer(endpoint, self.is_stream(), &self.body)
    }
}
