//! Reader of RER artifacts and of the payloads that reenact writes.
//!
//! An artifact that was imported from another format is read here as well: the items in its payloads go to the
//! reader of their format.
//!
//! A request and its answer, as the payloads of `rer.model.called` and `rer.model.returned`:
//!
//! ```json
//! {"step_id":"s1","provider":"openai","model":"gpt-5","endpoint":"chat.completions","match_key":"…","source":"observed",
//!  "http":{"method":"POST","path":"/v1/chat/completions","headers":[["name","value"]],"body":{"text":"…"}}}
//! {"step_id":"s1","status":200,"complete":true,"ended_by":"eof","latency_ms":812,"source":"observed",
//!  "http":{"version":"1.1","headers":[],"trailers":[],"body":{"text":"…"},"chunks":[[4,2],[250,3]]}}
//! ```

use std::borrow::Cow;

use reenact_formats::FormatId;
use reenact_formats::replay_bundle::MANIFEST;
use reenact_formats::rer::artifact::RerReadError;
use reenact_formats::rer::payload::{
    Chunk, EndedBy, ExchangeCalledView, ExchangeReturnedView, HttpAnswerView, HttpRequestView, PayloadMember,
    PayloadWord, RunEndedView, RunStartedView, ToolCalledView, ToolReturnedView,
};
use reenact_formats::rer::{Callee, EventType};
use reenact_formats::rer::{IndexedMember, RerArtifactReader, RerEventItem, RerEventView};
use reenact_json::{Limits, Value, ValueKind};
use reenact_wire::{Endpoint, Vendor};

use super::{DocumentContext, RunReader, foreign_payload, replay_bundle};
use crate::body::{self, RecordedHeaders};
use crate::convert::export::loss_notes::{NO_EQUIVALENT, ONLY_ITS_HASH, SIGNS_THE_SOURCE};
use crate::convert::loss::{Losses, SourcePath};
use crate::event::Event;
use crate::event_index::{ByteSpan, EventIndexBuilder, Pairing, ScannedEvent};
use crate::exchange::{ExchangeAnswer, ExchangeRequest, ExchangeRequestBody};
use crate::exit::Exit;
use crate::open::NotARun;
use crate::reported_outcome::{ReportedOutcome, owned_string, owned_strings, read_exit_code};
use crate::run::{Producer, Run, RunInner, RunParts};
use crate::tool::{JsonText, RecordedToolCall, RecordedToolResult};
use crate::unreadable::{UnreadablePayload, mistyped};

/// Reads an artifact event by event, and indexes it.
///
/// A bundle that was imported lies file by file in the events. Its trace lines and cassettes become events
/// after those of the artifact.
///
/// # Errors
/// If the artifact is malformed, or `events` is no list.
pub(crate) fn read_artifact(bytes: &[u8], limits: &Limits) -> Result<RunParts, NotARun> {
    let unreadable = |error: RerReadError| {
        NotARun::Unreadable(match error {
            RerReadError::Syntax(error) => error.describe(bytes),
            other => other.to_string(),
        })
    };
    let mut reader = RerArtifactReader::open(bytes, limits).map_err(unreadable)?;
    let mut index = EventIndexBuilder::default();
    let mut import = None;
    let mut files = Vec::new();
    while let Some(item) = reader.next_event().map_err(|error| unreadable(error.into()))? {
        let RerEventItem::Event(event) = item else {
            index.push(ScannedEvent { in_payload_format: false, ..ScannedEvent::unknown() });
            continue;
        };
        if index.len() == 0 {
            import = ImportHeader::of(&event);
        }
        let of_item = import.as_ref().filter(|_| index.len() > 0);
        if import.as_ref().is_some_and(|import| import.format == FormatId::ReplayBundle) {
            files.extend(bundle_file(&event));
        }
        index.push(scanned_event(&event, bytes, of_item));
    }
    let (files, tail) = match files.is_empty() {
        true => (Vec::new(), Vec::new()),
        false => replay_bundle::read_imported(files, bytes.len(), limits, &mut index),
    };
    let head = reader.into_head();
    if head.events != Some(ValueKind::Array) {
        return Err(NotARun::NoEvents);
    }
    let text = |value: Option<Value<'_>>| value?.string().map(|text| text.into_owned());
    let runtime = |name: &str| text(head.runtime.and_then(|runtime| runtime.member(name)));
    let parts = RunParts {
        id: text(head.run_id).unwrap_or_default(),
        producer: Producer {
            name: runtime("implementation"),
            version: runtime("version"),
            key_id: runtime("key_id"),
        },
        envelope: ByteSpan::of(head.envelope, bytes),
        entries: index.finish(),
        files,
        appended_bytes: tail,
        ..RunParts::default()
    };
    Ok(match import {
        None => parts,
        Some(ImportHeader { format, context }) => {
            RunParts { payload_format: format.row().dialect, context, is_imported: true, ..parts }
        }
    })
}

/// Facts that the first event of an artifact gives about the record that it was imported from.
pub(crate) struct ImportHeader {
    /// Format of the record. Related formats share one payload format.
    format: FormatId,
    context: DocumentContext,
}

impl ImportHeader {
    /// Reads the member `import` of the first event; `None` if the artifact was not imported.
    fn of(event: &RerEventView<'_>) -> Option<Self> {
        let import = event.payload?.member("import")?;
        let format = import.member("format")?.string()?;
        let format = super::import_format(&format)?;
        let context = import.member("document").map(|document| super::reader_of(format).context(document));
        Some(Self { format, context: context.unwrap_or_default() })
    }
}

/// Returns the name and the content of the file of an imported bundle that an event holds. The first event
/// holds the manifest.
fn bundle_file(event: &RerEventView<'_>) -> Option<(String, Vec<u8>)> {
    let import = event.payload.filter(|_| !event.is_redacted())?.member("import")?;
    let (name, body) = match import.member("document") {
        Some(manifest) => (MANIFEST.to_owned(), manifest),
        None => (import.member("name")?.string()?.into_owned(), import.member("body")?),
    };
    Some((name, body::read_inline_bytes("body", body).ok()?.into_owned()))
}

/// Scans an event; `import` is given for the events of an imported artifact after the first. An imported event
/// has its item as payload, and is classified by the reader of its format. All others are paired by `step_id`.
pub(crate) fn scanned_event(
    event: &RerEventView<'_>,
    bytes: &[u8],
    import: Option<&ImportHeader>,
) -> ScannedEvent {
    let named = event.event_type.and_then(EventType::of);
    let withheld = event.is_redacted();
    let payload = event.payload.filter(|payload| !withheld && !payload.is_null());
    let item = import.and_then(|import| Some((import.format, payload?.member("import")?)));
    let (kind, tie) = match item {
        Some((format, item)) => super::reader_of(format).classify(named, item),
        None if withheld && let Some(import) = import => {
            (named, super::withheld_pairing(import.format, named))
        }
        None => (named, own_pairing(named, event, payload)),
    };
    ScannedEvent {
        kind,
        name: ByteSpan::of(event.event_type, bytes),
        time: ByteSpan::of(event.timestamp, bytes),
        payload: ByteSpan::of(item.map(|(_, item)| item).or(payload), bytes),
        withheld,
        in_payload_format: item.is_some(),
        pairing: tie,
    }
}

/// Returns the pairing of an event with a payload of RER: by `step_id`, which every recorder of reenact writes. Without one, calls of tools
/// are paired by `tool_call_id`, and other ends only with the sole call that is open.
fn own_pairing(named: Option<EventType>, event: &RerEventView<'_>, payload: Option<Value<'_>>) -> Pairing {
    let step_id = event.indexed_member(IndexedMember::StepId);
    if let Some(payload) = payload
        && step_id.is_none()
    {
        let callee = named.and_then(|named| named.role().callee());
        return match payload.member("tool_call_id").filter(|_| callee == Some(Callee::Tool)) {
            Some(id) => Pairing::last_named(Some(id)),
            None => Pairing::Sole,
        };
    }
    Pairing::last_named(step_id)
}

/// Reads the payload of a `…called` event as a request.
///
/// # Errors
/// If a required member is missing or has another type. A named endpoint that is unknown is found by provider,
/// method and path instead.
pub(crate) fn request<'v>(
    payload: Value<'v>,
    run: &'v RunInner,
) -> Result<ExchangeRequest<'v>, UnreadablePayload> {
    if foreign_payload::is_foreign_call(payload)
        && let Some(request) = foreign_payload::request(payload)
    {
        return Ok(request);
    }
    let called = ExchangeCalledView::read(payload);
    let http = HttpRequestView::read(called.http.required()?);
    let provider = called.provider.required_text()?;
    let method = http.method.required_text()?;
    let path = http.path.required_text()?;
    let named = called.endpoint.text()?.and_then(|name| Endpoint::of_name(&name));
    let found = || Endpoint::of(Vendor::of_name(&provider)?, &method, &path);
    Ok(ExchangeRequest {
        model: called.model.text()?,
        endpoint: named.or_else(found),
        headers: body::read_headers(http.headers.path(), http.headers.value())?,
        body: ExchangeRequestBody::Bytes(body::read_bytes(http.body.path(), http.body.required()?, run)?),
        match_key: called.match_key.text()?,
        source: called.source.word(),
        provider,
        method,
        path,
    })
}

/// Reads the payload of a `…returned` event as an answer.
///
/// # Errors
/// If a required member is missing or has another type, or the chunks do not add up to the body.
pub(crate) fn answer<'v>(
    payload: Value<'v>,
    run: &'v RunInner,
) -> Result<ExchangeAnswer<'v>, UnreadablePayload> {
    if foreign_payload::is_foreign_return(payload)
        && let Some(answer) = foreign_payload::answer(payload)
    {
        return Ok(answer);
    }
    let returned = ExchangeReturnedView::read(payload);
    let status = returned.status.value().map(read_status).transpose()?;
    let mut answer = match returned.http.value() {
        Some(http) => read_http(http, run)?,
        // No status and no HTTP: no answer ever came.
        None if status.is_none() => ExchangeAnswer::empty(),
        None => return Err(UnreadablePayload::Missing { member: "http" }),
    };
    answer.status = status;
    answer.complete = returned.complete.flag()?.ok_or(UnreadablePayload::Missing { member: "complete" })?;
    answer.ended_by = read_end(returned.ended_by)?;
    let delivered = returned.delivered;
    answer.delivered =
        delivered.value().map(|body| body::read_bytes(delivered.path(), body, run)).transpose()?;
    answer.ttft = returned.ttft_ms.milliseconds()?;
    answer.latency = returned.latency_ms.milliseconds()?;
    answer.source = returned.source.word();
    Ok(answer)
}

/// Reads an HTTP status, 100 to 999.
pub(super) fn read_status(status: Value<'_>) -> Result<u16, UnreadablePayload> {
    let number = status.unsigned_integer().and_then(|status| u16::try_from(status).ok());
    number
        .filter(|status| (100..=999).contains(status))
        .ok_or_else(|| mistyped("status", status, "an HTTP status"))
}

/// Reads the word that says what ended an answer.
fn read_end(ended_by: PayloadMember<'_>) -> Result<EndedBy, UnreadablePayload> {
    let end = ended_by.required()?;
    Ok(EndedBy::of(end).ok_or_else(|| ended_by.mistyped(end, "one of eof, client, upstream and timeout"))?)
}

/// Reads the member `http` of an answer: version, headers, body and chunks.
fn read_http<'v>(http: Value<'v>, run: &'v RunInner) -> Result<ExchangeAnswer<'v>, UnreadablePayload> {
    let http = HttpAnswerView::read(http);
    let body = match http.body.value() {
        Some(body) => body::read_bytes(http.body.path(), body, run)?,
        None => Cow::default(),
    };
    let list = |headers: PayloadMember<'_>| match headers.value() {
        Some(list) => body::read_headers(headers.path(), Some(list)),
        None => Ok(RecordedHeaders::new()),
    };
    Ok(ExchangeAnswer {
        version: http.version.text()?,
        headers: list(http.headers)?,
        trailers: list(http.trailers)?,
        content_encoding: http.content_encoding.text()?,
        wire_sha256: http.wire_sha256.text()?,
        chunks: http.chunks.value().map_or(Ok(Vec::new()), |_| read_chunks(http.chunks, body.len()))?,
        body,
        ..ExchangeAnswer::empty()
    })
}

/// Reads the chunks of a stream, `[[milliseconds, bytes], …]`, whose lengths must add up to `body` bytes.
fn read_chunks(chunks: PayloadMember<'_>, body: usize) -> Result<Vec<Chunk>, UnreadablePayload> {
    let list = chunks.required()?;
    if list.kind() != ValueKind::Array {
        return Err(chunks.mistyped(list, "an array").into());
    }
    let pair = |pair: Value<'_>| {
        Chunk::of(pair).ok_or_else(|| chunks.mistyped(pair, "milliseconds and bytes").into())
    };
    let read = list.elements().map(pair).collect::<Result<Vec<Chunk>, UnreadablePayload>>()?;
    let sum = read.iter().fold(0_u64, |sum, chunk| sum.saturating_add(chunk.length as u64));
    if sum != body as u64 {
        return Err(UnreadablePayload::ChunkLengths { chunks: sum, body: body as u64 });
    }
    Ok(read)
}

/// Reads the payload of `rer.tool.called`. Only the tool's name is required.
pub(crate) fn tool_call(payload: Value<'_>) -> Result<RecordedToolCall<'_>, UnreadablePayload> {
    let called = ToolCalledView::read(payload);
    if called.tool.value().is_none()
        && let Some(call) = foreign_payload::tool_call(payload)
    {
        return Ok(call);
    }
    Ok(RecordedToolCall {
        step_id: called.step_id.text()?,
        tool_call_id: called.tool_call_id.text()?,
        tool: called.tool.required_text()?,
        input: called.input.value().map(JsonText::of).or_else(|| foreign_payload::tool_input(payload)),
        via: called.via.text()?,
        source: called.source.word(),
    })
}

/// Reads the payload of `rer.tool.returned`. A result without `is_error` is no error. Our own payloads have no exit code; those
/// of other runtimes may.
pub(crate) fn tool_result(payload: Value<'_>) -> Result<RecordedToolResult<'_>, UnreadablePayload> {
    let returned = ToolReturnedView::read(payload);
    let result = RecordedToolResult {
        output: returned.output.value().map(JsonText::of),
        is_error: returned.is_error.flag()?.unwrap_or(false),
        exit_code: payload.member("exit_code").and_then(whole_number),
        latency: returned.latency_ms.milliseconds()?,
        source: returned.source.word(),
        ..RecordedToolResult::default()
    };
    Ok(foreign_payload::complete_tool_result(payload, result))
}

/// Returns an integer of 64 bits, which may be negative.
fn whole_number(value: Value<'_>) -> Option<i64> {
    core::str::from_utf8(value.text()).ok()?.parse().ok()
}

/// Reader of RER: items are the payloads that reenact writes.
pub(crate) struct RerRunReader;

impl RunReader for RerRunReader {
    fn read(&self, bytes: &[u8], limits: &Limits) -> Result<RunParts, NotARun> {
        read_artifact(bytes, limits)
    }

    fn classify(&self, named: Option<EventType>, item: Value<'_>) -> (Option<EventType>, Pairing) {
        (named, Pairing::last_named(item.member("step_id")))
    }

    fn source_path(&self, event: &Event<'_>) -> SourcePath {
        SourcePath::Item("$.events[", event.index(), "]".into())
    }

    fn note_document_losses(&self, run: &Run, target: FormatId, losses: &mut Losses) {
        if run.envelope().is_some() {
            let is_bundle = target == FormatId::ReplayBundle;
            losses.add(
                SourcePath::At("$.envelope".into()),
                if is_bundle { ONLY_ITS_HASH } else { NO_EQUIVALENT },
            );
        }
        losses.add(SourcePath::At("$.runtime".into()), NO_EQUIVALENT);
        losses.add(SourcePath::At("$.runtime_signature".into()), SIGNS_THE_SOURCE);
    }

    fn step_id<'r>(&self, _: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>> {
        payload.member("step_id")?.string()
    }

    fn request<'v>(
        &self,
        item: Value<'v>,
        run: &'v RunInner,
    ) -> Result<ExchangeRequest<'v>, UnreadablePayload> {
        request(item, run)
    }

    fn answer<'v>(
        &self,
        item: Value<'v>,
        run: &'v RunInner,
        _: Option<Endpoint>,
    ) -> Result<ExchangeAnswer<'v>, UnreadablePayload> {
        answer(item, run)
    }

    fn tool_call<'v>(&self, item: Value<'v>) -> Result<RecordedToolCall<'v>, UnreadablePayload> {
        tool_call(item)
    }

    fn tool_result<'v>(&self, item: Value<'v>) -> Result<RecordedToolResult<'v>, UnreadablePayload> {
        tool_result(item)
    }

    fn outcome(&self, run: &Run) -> ReportedOutcome {
        let command =
            owned_strings(run.started().and_then(|started| RunStartedView::read(started).command.value()));
        let Some(ended) = run.ended().map(RunEndedView::read) else {
            return ReportedOutcome { command, ..ReportedOutcome::default() };
        };
        let reason = owned_string(ended.reason.value());
        let exit_code = ended.exit_code.value().and_then(read_exit_code);
        let exit = exit_code.or_else(|| Exit::read_signal(reason.as_deref()?));
        ReportedOutcome { status: owned_string(ended.status.value()), reason, exit, command }
    }
}
