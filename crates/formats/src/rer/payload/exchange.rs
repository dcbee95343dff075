//! Requests to models and other requests over HTTP, and their answers.

use super::payload;
use super::words::{EndedBy, Source};

payload! {
    /// Payload of `rer.model.called` and `rer.http.called`.
    ExchangeCalled, ExchangeCalledView;
    /// Interface that was called, if it is a known one.
    endpoint: nullable text,
    /// The request.
    http: required object(HttpRequest),
    /// SHA-256 by which a replay finds the request.
    match_key: required digest,
    /// Model that was asked.
    model: nullable text,
    /// Name of the route, such as `openai`.
    provider: required text,
    /// How the request is known.
    source: required word(Source),
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
    /// Such as `POST`.
    method: required text,
    /// Path at the vendor, with its query.
    path: required text,
}

payload! {
    /// Payload of `rer.model.returned` and `rer.http.returned`.
    ExchangeReturned, ExchangeReturnedView;
    /// True if all of the answer came.
    complete: required flag,
    /// Decoded body that the agent got, if that is less than what came.
    delivered: optional body,
    /// What ended the answer.
    ended_by: required word(EndedBy),
    /// The answer.
    http: required object(HttpAnswer),
    /// Time from the request to the end, in milliseconds.
    latency_ms: required whole,
    /// How the answer is known.
    source: required word(Source),
    /// Status; `null` if there was no answer.
    status: nullable whole,
    /// Step that the answer ends.
    step_id: required step,
    /// Time from the request to the first byte of the body, in milliseconds.
    ttft_ms: nullable whole,
}

payload! {
    /// Member `http` of a returned event.
    HttpAnswer, HttpAnswerView in "http.";
    /// Decoded body.
    body: required body,
    /// Reads of the decoded body, where that is worth keeping. Their lengths sum to the body's.
    chunks: optional chunks,
    /// Content encoding that was removed.
    content_encoding: optional text,
    /// Headers that are kept.
    headers: required headers,
    /// Trailers that are kept.
    trailers: optional headers,
    /// Version of HTTP, such as `1.1`.
    version: nullable text,
    /// SHA-256 of the body as it came.
    wire_sha256: required digest,
}
