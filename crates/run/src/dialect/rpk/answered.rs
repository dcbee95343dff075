//! What a step says was answered by a model, or over HTTP.

use std::borrow::Cow;
use std::time::Duration;

use reenact_formats::rpk::StepView;
use reenact_json::{Kind as JsonKind, Value};
use reenact_wire::{Answer as Said, Endpoint, Usage, exchange};

use super::{first, headers, is_left_out};
use crate::body::header;
use crate::dialect::rer::{self, read_status};
use crate::exchange::{Answer, Held};
use crate::run::Inner;
use crate::unreadable::{Unreadable, milliseconds, mistyped, needed, pick};

/// What was answered. `endpoint` is that of the request, if it is known.
pub(in crate::dialect) fn answer<'v>(
    step: Value<'v>,
    run: &'v Inner,
    endpoint: Option<Endpoint>,
) -> Result<Answer<'v>, Unreadable> {
    let view = StepView::of(step);
    let output = needed("output", view.output.filter(|output| !output.is_null()))?;
    if output.kind() != JsonKind::Object {
        return Err(mistyped("output", output, "an object"));
    }
    let [http, ended_by, status, body] = pick(output, ["http", "ended_by", "status_code", "body"]);
    if http.is_some() || ended_by.is_some() {
        return rer::answer(output, run);
    }
    let mut answer = match (status, body) {
        (Some(_), Some(body)) => wrapped_http(output, body)?,
        _ => modelled(output, endpoint)?,
    };
    answer.status = Some(status.map_or(Ok(200), read_status)?);
    answer.latency = latency(view.metadata);
    Ok(answer)
}

/// How long it took, where the metadata say so.
fn latency(metadata: Option<Value<'_>>) -> Option<Duration> {
    milliseconds("latency_ms", first(metadata, ["latency_ms", "duration_ms"])).ok().flatten()
}

/// The answer to a wrapped HTTP client.
fn wrapped_http<'v>(output: Value<'v>, body: Value<'v>) -> Result<Answer<'v>, Unreadable> {
    let (body, held) = match body.string() {
        Some(text) if is_left_out(&text) => return Err(Unreadable::LeftOut { member: "the body" }),
        Some(Cow::Borrowed(text)) => (Cow::Borrowed(text.as_bytes()), Held::Http),
        Some(Cow::Owned(text)) => (Cow::Owned(text.into_bytes()), Held::Http),
        None => (Cow::Borrowed(body.text()), Held::Json),
    };
    let headers = headers(output.member("headers"));
    // The client had decoded the body before it was kept; the headers are those that came.
    let content_encoding = header(&headers, "content-encoding").map(|coding| Cow::Owned(coding.to_owned()));
    Ok(Answer { headers, body, content_encoding, ..Answer::whole(held) })
}

/// The answer of a model, as JSON of its vendor or as what it said.
fn modelled(output: Value<'_>, endpoint: Option<Endpoint>) -> Result<Answer<'_>, Unreadable> {
    // The listener and all captures keep the answer in `output.output`; what is simpler is the answer itself.
    let inner = output.member("output").filter(|inner| !inner.is_null());
    let [assembled] = pick(output, ["assembled_text"]);
    let answer = inner.unwrap_or(output);
    if let Some(text) = answer.string() {
        return Ok(spoken(Said { text: text.into_owned(), complete: true, ..Said::default() }));
    }
    let [response, chunks, own_text] = pick(answer, ["response", "chunks", "assembled_text"]);
    let assembled = own_text.or(assembled).and_then(|text| text.string());
    if let Some(chunks) = chunks.filter(|chunks| chunks.kind() == JsonKind::Array) {
        return Ok(spoken(put_together(chunks, assembled, endpoint)));
    }
    let document = response.filter(|response| response.kind() == JsonKind::Object).unwrap_or(answer);
    let is_error = document.member("error").is_some_and(|error| error.kind() == JsonKind::Object);
    let is_answer = match endpoint {
        Some(endpoint) => endpoint.is_answer(document),
        None => Endpoint::of_answer(document).is_some(),
    };
    if is_error || is_answer {
        return Ok(Answer {
            headers: vec![("content-type".into(), "application/json".into())],
            body: Cow::Borrowed(document.text()),
            ..Answer::whole(Held::Json)
        });
    }
    let [content, text, stop_reason, usage] = pick(document, ["content", "text", "stop_reason", "usage"]);
    let text = content.or(text).and_then(|text| text.string()).or(assembled);
    let count = |name: &str| usage.and_then(|usage| usage.member(name)?.whole());
    let (input, output) = (count("input_tokens"), count("output_tokens"));
    let usage = input.or(output).map(|_| Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        ..Usage::default()
    });
    if text.is_none() && usage.is_none() && stop_reason.is_none() {
        return Err(Unreadable::Shape { member: "output" });
    }
    Ok(spoken(Said {
        text: text.unwrap_or_default().into_owned(),
        stop_reason: stop_reason.and_then(|reason| reason.string()).map(|reason| reason.into_owned()),
        usage,
        complete: true,
        ..Said::default()
    }))
}

fn spoken<'v>(said: Said) -> Answer<'v> {
    Answer { said: Some(Box::new(said)), ..Answer::whole(Held::Said) }
}

/// The pieces of a stream, put together by the rules of their vendor; where those find nothing, the text that the capture put
/// together.
fn put_together(chunks: Value<'_>, assembled: Option<Cow<'_, str>>, endpoint: Option<Endpoint>) -> Said {
    let mut stream = Vec::new();
    let mut first = None;
    for chunk in chunks.elements() {
        let chunk = chunk.member("chunk").unwrap_or(chunk);
        first.get_or_insert(chunk);
        stream.extend_from_slice(b"data: ");
        // A line feed between two tokens of JSON would end the event's line.
        stream
            .extend(chunk.text().iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
        stream.extend_from_slice(b"\n\n");
    }
    let endpoint = endpoint.or_else(|| Endpoint::of_event(first?));
    let said = endpoint.and_then(|endpoint| exchange::answer(endpoint, true, &stream)).unwrap_or_default();
    let text = match assembled {
        Some(assembled) if said.text.is_empty() => assembled.into_owned(),
        _ => said.text,
    };
    Said { text, complete: true, ..said }
}
