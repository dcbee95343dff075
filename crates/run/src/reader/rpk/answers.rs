//! Answers in steps of an `.rpk`, of models and over HTTP.
//!
//! Shapes of `output`, of which the first that applies counts; the table of the parent module says which
//! program writes which.
//!
//! 1. `http` or `ended_by`: an answer as reenact records it.
//! 2. `status_code` and `body`: the answer to a wrapped HTTP client.
//! 3. `output.output`, or else `output` itself, is a string: the text of the answer.
//! 4. `chunks`: the events of a stream.
//! 5. `response`, or else the object itself, is an answer or an error in a vendor's format.
//! 6. `content` or `text`, `stop_reason`, `usage`: the message alone.

use std::borrow::Cow;
use std::time::Duration;

use reenact_formats::rpk::RpkStepView;
use reenact_json::{Value, ValueKind};
use reenact_wire::{Endpoint, ModelAnswer, Usage, exchange};

use super::{first_member, headers, is_omission_marker};
use crate::body::header;
use crate::exchange::{AnswerDetail, ExchangeAnswer};
use crate::reader::rer::{self, read_status};
use crate::run::RunInner;
use crate::unreadable::{UnreadablePayload, mistyped, optional_milliseconds, pick_members, required};

/// Reads a step as an answer; `endpoint` is that of the request, if known. The members of `output` tell the
/// shapes apart.
///
/// # Errors
/// [`UnreadablePayload::UnknownShape`] if the output has none of the shapes; [`UnreadablePayload::Omitted`] if
/// the recorder left the body out.
pub(in crate::reader) fn answer<'v>(
    step: Value<'v>,
    run: &'v RunInner,
    endpoint: Option<Endpoint>,
) -> Result<ExchangeAnswer<'v>, UnreadablePayload> {
    let view = RpkStepView::of(step);
    let output = required("output", view.output.filter(|output| !output.is_null()))?;
    if output.kind() != ValueKind::Object {
        return Err(mistyped("output", output, "an object"));
    }
    let [http, ended_by, status, body] = pick_members(output, ["http", "ended_by", "status_code", "body"]);
    if http.is_some() || ended_by.is_some() {
        return rer::answer(output, run);
    }
    let mut answer = match (status, body) {
        (Some(_), Some(body)) => http_client_answer(output, body)?,
        _ => model_answer(output, endpoint)?,
    };
    answer.status = Some(status.map_or(Ok(200), read_status)?);
    answer.latency = latency(view.metadata);
    Ok(answer)
}

/// Returns the latency, if the metadata hold it.
fn latency(metadata: Option<Value<'_>>) -> Option<Duration> {
    optional_milliseconds("latency_ms", first_member(metadata, ["latency_ms", "duration_ms"])).ok().flatten()
}

/// Reads the answer to a wrapped HTTP client. A body that is a string is kept byte for byte; any other value is
/// JSON.
fn http_client_answer<'v>(
    output: Value<'v>,
    body: Value<'v>,
) -> Result<ExchangeAnswer<'v>, UnreadablePayload> {
    let (body, held) = match body.string() {
        Some(text) if is_omission_marker(&text) => {
            return Err(UnreadablePayload::Omitted { member: "the body" });
        }
        Some(Cow::Borrowed(text)) => (Cow::Borrowed(text.as_bytes()), AnswerDetail::Http),
        Some(Cow::Owned(text)) => (Cow::Owned(text.into_bytes()), AnswerDetail::Http),
        None => (Cow::Borrowed(body.text()), AnswerDetail::Json),
    };
    let headers = headers(output.member("headers"));
    // The client decoded the body before it was recorded; the headers are those of the wire.
    let content_encoding = header(&headers, "content-encoding").map(|coding| Cow::Owned(coding.to_owned()));
    Ok(ExchangeAnswer { headers, body, content_encoding, ..ExchangeAnswer::complete_with(held) })
}

/// Reads the answer of a model: JSON in the vendor's format, chunks of a stream, or the message alone.
///
/// # Errors
/// [`UnreadablePayload::UnknownShape`] if there is neither a text nor a usage nor a stop reason.
fn model_answer(
    output: Value<'_>,
    endpoint: Option<Endpoint>,
) -> Result<ExchangeAnswer<'_>, UnreadablePayload> {
    // The listener and all captures keep the answer in `output.output`; in simpler steps, `output` is the
    // answer.
    let inner = output.member("output").filter(|inner| !inner.is_null());
    let [assembled] = pick_members(output, ["assembled_text"]);
    let answer = inner.unwrap_or(output);
    if let Some(text) = answer.string() {
        return Ok(message_answer(ModelAnswer {
            text: text.into_owned(),
            is_complete: true,
            ..ModelAnswer::default()
        }));
    }
    let [response, chunks, own_text] = pick_members(answer, ["response", "chunks", "assembled_text"]);
    let assembled = own_text.or(assembled).and_then(|text| text.string());
    if let Some(chunks) = chunks.filter(|chunks| chunks.kind() == ValueKind::Array) {
        return Ok(message_answer(assembled_stream(chunks, assembled, endpoint)));
    }
    let document = response.filter(|response| response.kind() == ValueKind::Object).unwrap_or(answer);
    let is_error = document.member("error").is_some_and(|error| error.kind() == ValueKind::Object);
    let is_answer = match endpoint {
        Some(endpoint) => endpoint.is_answer(document),
        None => Endpoint::of_answer(document).is_some(),
    };
    if is_error || is_answer {
        return Ok(ExchangeAnswer {
            headers: vec![("content-type".into(), "application/json".into())],
            body: Cow::Borrowed(document.text()),
            ..ExchangeAnswer::complete_with(AnswerDetail::Json)
        });
    }
    let [content, text, stop_reason, usage] =
        pick_members(document, ["content", "text", "stop_reason", "usage"]);
    let text = content.or(text).and_then(|text| text.string()).or(assembled);
    let count = |name: &str| usage.and_then(|usage| usage.member(name)?.unsigned_integer());
    let (input, output) = (count("input_tokens"), count("output_tokens"));
    let usage = input.or(output).map(|_| Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        ..Usage::default()
    });
    if text.is_none() && usage.is_none() && stop_reason.is_none() {
        return Err(UnreadablePayload::UnknownShape { member: "output" });
    }
    Ok(message_answer(ModelAnswer {
        text: text.unwrap_or_default().into_owned(),
        stop_reason: stop_reason.and_then(|reason| reason.string()).map(|reason| reason.into_owned()),
        usage,
        is_complete: true,
        ..ModelAnswer::default()
    }))
}

/// Returns an answer of which only the message is recorded.
fn message_answer<'v>(said: ModelAnswer) -> ExchangeAnswer<'v> {
    ExchangeAnswer {
        recorded_message: Some(Box::new(said)),
        ..ExchangeAnswer::complete_with(AnswerDetail::Message)
    }
}

/// Assembles the chunks of a stream by the rules of their vendor. If these find no text, the text that the
/// capture assembled is taken.
///
/// The chunks are written as server-sent events, so that the parser of the endpoint can read them. Without a
/// known endpoint, the first chunk tells the vendor.
fn assembled_stream(
    chunks: Value<'_>,
    assembled: Option<Cow<'_, str>>,
    endpoint: Option<Endpoint>,
) -> ModelAnswer {
    let mut stream = Vec::new();
    let mut first = None;
    for chunk in chunks.elements() {
        let chunk = chunk.member("chunk").unwrap_or(chunk);
        first.get_or_insert(chunk);
        stream.extend_from_slice(b"data: ");
        // A line feed between two tokens of JSON would end the line of a server-sent event.
        stream
            .extend(chunk.text().iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
        stream.extend_from_slice(b"\n\n");
    }
    let endpoint = endpoint.or_else(|| Endpoint::of_event(first?));
    let said =
        endpoint.and_then(|endpoint| exchange::parse_answer(endpoint, true, &stream)).unwrap_or_default();
    let text = match assembled {
        Some(assembled) if said.text.is_empty() => assembled.into_owned(),
        _ => said.text,
    };
    ModelAnswer { text, is_complete: true, ..said }
}
