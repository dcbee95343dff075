//! Payloads of requests to models, of other HTTP requests, and of their responses.

use super::payload;
use super::vocabulary::{EndedBy, EventSource};

payload! {
    /// Payload of `rer.model.called` and `rer.http.called`.
    ExchangeCalled, ExchangeCalledView;
    /// API endpoint that was called, if it is a known one.
    endpoint: nullable text,
    /// HTTP request.
    http: required object(HttpRequest),
    /// SHA-256 by which a replay looks the request up.
    match_key: required digest,
    /// Model that was asked.
    model: nullable text,
    /// Name of the route, such as `openai`.
    provider: required text,
    /// Origin of the event.
    source: required word(EventSource),
    /// Step that the request begins.
    step_id: required step,
}

payload! {
    /// Member `http` of a called event.
    HttpRequest, HttpRequestView in "http.";
    /// Decoded body.
    body: required body,
    /// Headers that are kept.
    headers: required headers,
    /// HTTP method, such as `POST`.
    method: required text,
    /// Path at the vendor, with its query.
    path: required text,
}

payload! {
    /// Payload of `rer.model.returned` and `rer.http.returned`.
    ExchangeReturned, ExchangeReturnedView;
    /// True if the whole response arrived.
    complete: required flag,
    /// Decoded body that the agent got, if that is less than what arrived.
    delivered: optional body,
    /// Cause of the response's end.
    ended_by: required word(EndedBy),
    /// HTTP response.
    http: required object(HttpAnswer),
    /// Time from the request to the end, in milliseconds.
    latency_ms: required whole,
    /// Origin of the event.
    source: required word(EventSource),
    /// HTTP status; `null` if there was no response.
    status: nullable whole,
    /// Step that the response ends.
    step_id: required step,
    /// Time from the request to the first byte of the body, in milliseconds.
    ttft_ms: nullable whole,
}

payload! {
    /// Member `http` of a returned event.
    HttpAnswer, HttpAnswerView in "http.";
    /// Decoded body.
    body: required body,
    /// Sizes and times of the reads of the decoded body, where they are worth keeping. Their lengths sum to the
    /// body's.
    chunks: optional chunks,
    /// Content encoding that was removed from the body.
    content_encoding: optional text,
    /// Headers that are kept.
    headers: required headers,
    /// Trailers that are kept.
    trailers: optional headers,
    /// Version of HTTP, such as `1.1`.
    version: nullable text,
    /// SHA-256 of the body as it was on the wire.
    wire_sha256: required digest,
}
