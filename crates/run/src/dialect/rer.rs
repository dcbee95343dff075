//! RER artifacts, and the payloads that we write ourselves.

use std::borrow::Cow;

use reenact_formats::FormatId;
use reenact_formats::replay_bundle::MANIFEST;
use reenact_formats::rer::EventType;
use reenact_formats::rer::artifact::ReadError;
use reenact_formats::rer::payload::{
    Chunk, EndedBy, ExchangeCalledView, ExchangeReturnedView, HttpAnswerView, HttpRequestView, Member,
    RunEndedView, RunStartedView, ToolCalledView, ToolReturnedView, Word,
};
use reenact_formats::rer::{ArtifactReader, EventView, Item, Noted};
use reenact_json::{Kind as JsonKind, Limits, Value};
use reenact_wire::{Endpoint, Vendor};

use super::{Context, Dialect, replay_bundle};
use crate::body::{self, Headers};
use crate::convert::export::account::{NO_PLACE, ONLY_ITS_HASH, SIGNS_THE_SOURCE};
use crate::convert::loss::{Losses, Place};
use crate::event::Event;
use crate::exchange::{Answer, Body, Request};
use crate::exit::Exit;
use crate::index::{Found, Index, Span, Tie};
use crate::open::NotARun;
use crate::outcome::{ReportedOutcome, read_exit_code, word, words};
use crate::run::{Inner, Parts, Producer, Run};
use crate::tool::{Json, ToolCall, ToolResult};
use crate::unreadable::{Unreadable, mistyped};

/// Reads what a run keeps of an artifact.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Parts, NotARun> {
    let unreadable = |error: ReadError| {
        NotARun::Unreadable(match error {
            ReadError::Syntax(error) => error.describe(bytes),
            other => other.to_string(),
        })
    };
    let mut reader = ArtifactReader::open(bytes, limits).map_err(unreadable)?;
    let mut index = Index::default();
    let mut import = None;
    let mut files = Vec::new();
    while let Some(item) = reader.next_event().map_err(|error| unreadable(error.into()))? {
        let Item::Event(event) = item else {
            index.push(Found { foreign: false, ..Found::nothing() });
            continue;
        };
        if index.len() == 0 {
            import = Import::of(&event);
        }
        let of_item = import.as_ref().filter(|_| index.len() > 0);
        if import.as_ref().is_some_and(|import| import.format == FormatId::ReplayBundle) {
            files.extend(file(&event));
        }
        index.push(found(&event, bytes, of_item));
    }
    let (files, tail) = match files.is_empty() {
        true => (Vec::new(), Vec::new()),
        false => replay_bundle::read_imported(files, bytes.len(), limits, &mut index),
    };
    let head = reader.into_head();
    if head.events != Some(JsonKind::Array) {
        return Err(NotARun::NoEvents);
    }
    let text = |value: Option<Value<'_>>| value?.string().map(|text| text.into_owned());
    let runtime = |name: &str| text(head.runtime.and_then(|runtime| runtime.member(name)));
    let parts = Parts {
        id: text(head.run_id).unwrap_or_default(),
        producer: Producer {
            name: runtime("implementation"),
            version: runtime("version"),
            key_id: runtime("key_id"),
        },
        envelope: Span::of(head.envelope, bytes),
        index: index.finish(),
        files,
        tail,
        ..Parts::default()
    };
    Ok(match import {
        None => parts,
        Some(Import { format, context }) => {
            Parts { dialect: format.row().dialect, context, is_imported: true, ..parts }
        }
    })
}

/// What the first event says of the record that a run was imported from.
struct Import {
    /// The format, which may be a relative of the one whose words it is in.
    format: FormatId,
    context: Context,
}

impl Import {
    fn of(event: &EventView<'_>) -> Option<Self> {
        let import = event.payload?.member("import")?;
        let format = import.member("format")?.string()?;
        let format = super::of_import(&format)?;
        let context = import.member("document").map(|document| super::of(format).context(document));
        Some(Self { format, context: context.unwrap_or_default() })
    }
}

/// A file of a bundle that an event holds: the manifest lies in the first one.
fn file(event: &EventView<'_>) -> Option<(String, Vec<u8>)> {
    let import = event.payload.filter(|_| !event.is_redacted())?.member("import")?;
    let (name, body) = match import.member("document") {
        Some(manifest) => (MANIFEST.to_owned(), manifest),
        None => (import.member("name")?.string()?.into_owned(), import.member("body")?),
    };
    Some((name, body::plain("body", body).ok()?.into_owned()))
}

/// What is kept of an event.
fn found(event: &EventView<'_>, bytes: &[u8], import: Option<&Import>) -> Found {
    let named = event.event_type.and_then(EventType::of);
    let withheld = event.is_redacted();
    let payload = event.payload.filter(|payload| !withheld && !payload.is_null());
    let item = import.and_then(|import| Some((import.format, payload?.member("import")?)));
    let (kind, tie) = match item {
        Some((format, item)) => super::of(format).mark(named, item),
        None if withheld && let Some(import) = import => (named, super::mark_withheld(import.format, named)),
        None => (named, Tie::last(event.noted(Noted::StepId))),
    };
    Found {
        kind,
        name: Span::of(event.event_type, bytes),
        time: Span::of(event.timestamp, bytes),
        payload: Span::of(item.map(|(_, item)| item).or(payload), bytes),
        withheld,
        foreign: item.is_some(),
        tie,
    }
}

/// What was asked.
pub(crate) fn request<'v>(payload: Value<'v>, run: &'v Inner) -> Result<Request<'v>, Unreadable> {
    let called = ExchangeCalledView::read(payload);
    let http = HttpRequestView::read(called.http.needed()?);
    let provider = called.provider.needed_text()?;
    let method = http.method.needed_text()?;
    let path = http.path.needed_text()?;
    let named = called.endpoint.text()?.and_then(|name| Endpoint::of_name(&name));
    let found = || Endpoint::of(Vendor::of_name(&provider)?, &method, &path);
    Ok(Request {
        model: called.model.text()?,
        endpoint: named.or_else(found),
        headers: body::headers(http.headers.path(), http.headers.value())?,
        body: Body::Bytes(body::bytes(http.body.path(), http.body.needed()?, run)?),
        match_key: called.match_key.text()?,
        source: called.source.word(),
        provider,
        method,
        path,
    })
}

/// What was answered.
pub(crate) fn answer<'v>(payload: Value<'v>, run: &'v Inner) -> Result<Answer<'v>, Unreadable> {
    let returned = ExchangeReturnedView::read(payload);
    let status = returned.status.value().map(read_status).transpose()?;
    let mut answer = match returned.http.value() {
        Some(http) => read_http(http, run)?,
        // Nothing came at all.
        None if status.is_none() => Answer::nothing(),
        None => return Err(Unreadable::Missing { member: "http" }),
    };
    answer.status = status;
    answer.complete = returned.complete.flag()?.ok_or(Unreadable::Missing { member: "complete" })?;
    answer.ended_by = read_end(returned.ended_by)?;
    let delivered = returned.delivered;
    answer.delivered = delivered.value().map(|body| body::bytes(delivered.path(), body, run)).transpose()?;
    answer.ttft = returned.ttft_ms.milliseconds()?;
    answer.latency = returned.latency_ms.milliseconds()?;
    answer.source = returned.source.word();
    Ok(answer)
}

pub(super) fn read_status(status: Value<'_>) -> Result<u16, Unreadable> {
    let number = status.whole().and_then(|status| u16::try_from(status).ok());
    number
        .filter(|status| (100..=999).contains(status))
        .ok_or_else(|| mistyped("status", status, "an HTTP status"))
}

fn read_end(ended_by: Member<'_>) -> Result<EndedBy, Unreadable> {
    let end = ended_by.needed()?;
    Ok(EndedBy::of(end).ok_or_else(|| ended_by.mistyped(end, "one of eof, client, upstream and timeout"))?)
}

fn read_http<'v>(http: Value<'v>, run: &'v Inner) -> Result<Answer<'v>, Unreadable> {
    let http = HttpAnswerView::read(http);
    let body = match http.body.value() {
        Some(body) => body::bytes(http.body.path(), body, run)?,
        None => Cow::default(),
    };
    let list = |headers: Member<'_>| match headers.value() {
        Some(list) => body::headers(headers.path(), Some(list)),
        None => Ok(Headers::new()),
    };
    Ok(Answer {
        version: http.version.text()?,
        headers: list(http.headers)?,
        trailers: list(http.trailers)?,
        content_encoding: http.content_encoding.text()?,
        wire_sha256: http.wire_sha256.text()?,
        chunks: http.chunks.value().map_or(Ok(Vec::new()), |_| read_chunks(http.chunks, body.len()))?,
        body,
        ..Answer::nothing()
    })
}

/// `[[milliseconds, bytes], …]`, which must add up to the body.
fn read_chunks(chunks: Member<'_>, body: usize) -> Result<Vec<Chunk>, Unreadable> {
    let list = chunks.needed()?;
    if list.kind() != JsonKind::Array {
        return Err(chunks.mistyped(list, "an array").into());
    }
    let pair = |pair: Value<'_>| {
        Chunk::of(pair).ok_or_else(|| chunks.mistyped(pair, "milliseconds and bytes").into())
    };
    let read = list.elements().map(pair).collect::<Result<Vec<Chunk>, Unreadable>>()?;
    let sum = read.iter().fold(0_u64, |sum, chunk| sum.saturating_add(chunk.length as u64));
    if sum != body as u64 {
        return Err(Unreadable::Chunks { chunks: sum, body: body as u64 });
    }
    Ok(read)
}

/// What was asked of a tool.
pub(crate) fn tool_call(payload: Value<'_>) -> Result<ToolCall<'_>, Unreadable> {
    let called = ToolCalledView::read(payload);
    Ok(ToolCall {
        step_id: called.step_id.text()?,
        tool_call_id: called.tool_call_id.text()?,
        tool: called.tool.needed_text()?,
        input: called.input.value().map(Json::of),
        via: called.via.text()?,
        source: called.source.word(),
    })
}

/// What a tool gave.
pub(crate) fn tool_result(payload: Value<'_>) -> Result<ToolResult<'_>, Unreadable> {
    let returned = ToolReturnedView::read(payload);
    Ok(ToolResult {
        output: returned.output.value().map(Json::of),
        is_error: returned.is_error.flag()?.unwrap_or(false),
        latency: returned.latency_ms.milliseconds()?,
        source: returned.source.word(),
        ..ToolResult::default()
    })
}

/// The payloads that we write ourselves.
pub(crate) struct Rer;

impl Dialect for Rer {
    fn read(&self, bytes: &[u8], limits: &Limits) -> Result<Parts, NotARun> {
        read(bytes, limits)
    }

    fn mark(&self, named: Option<EventType>, item: Value<'_>) -> (Option<EventType>, Tie) {
        (named, Tie::last(item.member("step_id")))
    }

    fn place(&self, event: &Event<'_>) -> Place {
        Place::Item("$.events[", event.index(), "]".into())
    }

    fn around(&self, run: &Run, target: FormatId, losses: &mut Losses) {
        if run.envelope().is_some() {
            let is_bundle = target == FormatId::ReplayBundle;
            losses.add(Place::At("$.envelope".into()), if is_bundle { ONLY_ITS_HASH } else { NO_PLACE });
        }
        losses.add(Place::At("$.runtime".into()), NO_PLACE);
        losses.add(Place::At("$.runtime_signature".into()), SIGNS_THE_SOURCE);
    }

    fn step_id<'r>(&self, _: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>> {
        payload.member("step_id")?.string()
    }

    fn request<'v>(&self, item: Value<'v>, run: &'v Inner) -> Result<Request<'v>, Unreadable> {
        request(item, run)
    }

    fn answer<'v>(
        &self,
        item: Value<'v>,
        run: &'v Inner,
        _: Option<Endpoint>,
    ) -> Result<Answer<'v>, Unreadable> {
        answer(item, run)
    }

    fn tool_call<'v>(&self, item: Value<'v>) -> Result<ToolCall<'v>, Unreadable> {
        tool_call(item)
    }

    fn tool_result<'v>(&self, item: Value<'v>) -> Result<ToolResult<'v>, Unreadable> {
        tool_result(item)
    }

    fn outcome(&self, run: &Run) -> ReportedOutcome {
        let command = words(run.started().and_then(|started| RunStartedView::read(started).command.value()));
        let Some(ended) = run.ended().map(RunEndedView::read) else {
            return ReportedOutcome { command, ..ReportedOutcome::default() };
        };
        let reason = word(ended.reason.value());
        let exit_code = ended.exit_code.value().and_then(read_exit_code);
        let exit = exit_code.or_else(|| Exit::read_signal(reason.as_deref()?));
        ReportedOutcome { status: word(ended.status.value()), reason, exit, command }
    }
}
