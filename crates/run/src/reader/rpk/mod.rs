//! Reader of `.rpk`: steps of one type each, in the shapes that the programs of the format write, and in
//! reenact's own.
//!
//! Start reading at `classify_step`; then `requests` and `answers`, which tell the shapes apart.
//!
//! | who wrote the step | request | answer |
//! |---|---|---|
//! | the listener | `input {provider, path, model, stream, headers, payload}` | `output {status_code, output, assembled_text, stream}` |
//! | one-shot captures | `input {model, input: {provider, url, payload, …}}` | `output {output: {response}}` or `{output: {chunks, assembled_text}}` |
//! | wrapped SDKs | `input {model, input}` | `output {output}` |
//! | wrapped HTTP clients | `input {method, url, headers, body}` | `output {status_code, headers, body}` |
//! | reenact | `input` is the payload of `rer.model.called` | `output` is that of `rer.model.returned` |

mod answers;
mod requests;
mod tools;

pub(super) use answers::answer;
pub(super) use requests::request;
pub(super) use tools::{tool_call, tool_result};

use std::borrow::Cow;

use reenact_formats::FormatId;
use reenact_formats::rer::{Callee, EventType};
use reenact_formats::rpk::{self, AGENT_COMMAND, RpkReadError, RpkStepView};
use reenact_json::{Limits, Value, ValueKind};
use reenact_wire::Endpoint;

use super::RunReader;
use super::replay_bundle::UrlTarget;
use crate::convert::export::loss_notes::{SIGNS_THE_SOURCE, document, note_other_members, widest_limits};
use crate::convert::loss::{self, Losses};
use crate::event::Event;
use crate::event_index::{ByteSpan, EventIndexBuilder, Pairing, ScannedEvent, WithheldEnd};
use crate::exchange::{ExchangeAnswer, ExchangeRequest};
use crate::open::NotARun;
use crate::reported_outcome::{
    ReportedOutcome, foreign_events, last_foreign_payload, owned_strings, read_exit_code,
};
use crate::run::{Run, RunInner, RunParts};
use crate::tool::{RecordedToolCall, RecordedToolResult};
use crate::unreadable::{UnreadablePayload, pick_members};

/// Reads an artifact: one event for each step.
///
/// # Errors
/// If the artifact is malformed, or has no list of steps.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<RunParts, NotARun> {
    let unreadable = |error: RpkReadError| {
        NotARun::Unreadable(match error {
            RpkReadError::Syntax(error) => error.describe(bytes),
            other => other.to_string(),
        })
    };
    let head = rpk::RpkHead::read(bytes, limits).map_err(unreadable)?;
    let steps = head.run_members.steps.filter(|steps| steps.kind() == ValueKind::Array);
    let mut index = EventIndexBuilder::default();
    for step in steps.ok_or(NotARun::NoEvents)?.elements() {
        if step.kind() != ValueKind::Object {
            index.push(ScannedEvent::unknown());
            continue;
        }
        let [name, time] = pick_members(step, ["type", "timestamp"]);
        let (kind, tie) = classify_step(step);
        index.push(ScannedEvent {
            kind,
            name: ByteSpan::of(name, bytes),
            time: ByteSpan::of(time, bytes),
            payload: ByteSpan::of(Some(step), bytes),
            pairing: tie,
            ..ScannedEvent::unknown()
        });
    }
    let run = head.run_members;
    Ok(RunParts {
        id: run.id.and_then(|id| id.string()).unwrap_or_default().into_owned(),
        environment: ByteSpan::of(run.environment_fingerprint, bytes),
        started_at: ByteSpan::of(run.timestamp, bytes),
        payload_format: FormatId::Rpk,
        entries: index.finish(),
        ..RunParts::default()
    })
}

/// Returns the event type of a step, and its pairing: by id if both steps have one, else in order.
///
/// A wrapped HTTP client records its requests as tool steps. These become model calls if the URL is that of a
/// model's endpoint, else exchanges over HTTP.
pub(super) fn classify_step(step: Value<'_>) -> (Option<EventType>, Pairing) {
    let view = RpkStepView::of(step);
    let step_type = view.step_type.and_then(|name| name.string()).unwrap_or_default();
    let (is_call, is_tool) = match &*step_type {
        "model.request" => (true, false),
        "model.response" => (false, false),
        "tool.request" => (true, true),
        "tool.response" => (false, true),
        "prompt.render" => return (Some(EventType::PromptRendered), Pairing::None),
        "error.event" => return (Some(EventType::ErrorRaised), Pairing::None),
        "output.final" => return (Some(EventType::OutputFinal), Pairing::None),
        _ => return (None, Pairing::None),
    };
    // A wrapped HTTP client calls its requests tools.
    let is_http = is_tool && is_http(&view);
    let kind = match (is_call, is_http, is_tool) {
        (true, true, _) if calls_a_model(&view) => Some(EventType::ModelCalled),
        (false, true, _) if calls_a_model(&view) => Some(EventType::ModelReturned),
        (true, true, _) => Some(EventType::HttpCalled),
        (false, true, _) => Some(EventType::HttpReturned),
        (true, false, true) => Some(EventType::ToolCalled),
        (false, false, true) => Some(EventType::ToolReturned),
        (true, false, false) => Some(EventType::ModelCalled),
        (false, false, false) => Some(EventType::ModelReturned),
    };
    (kind, Pairing::NamedOrInOrder(pairing_id(&view)))
}

/// Returns the id that both steps of an action carry: `step_id` of reenact, `call_id` or `request_id`; empty if
/// there is none.
fn pairing_id(view: &RpkStepView<'_>) -> Vec<u8> {
    const NAMES: [&str; 3] = ["step_id", "call_id", "request_id"];
    let within = |part: Option<Value<'_>>| {
        let found = part.map_or([None; 3], |part| pick_members(part, NAMES));
        found.into_iter().flatten().find_map(|id| id.string_bytes().map(|id| id.into_owned()))
    };
    let parts = [view.input, view.output, view.metadata];
    parts.into_iter().find_map(within).unwrap_or_default()
}

/// Returns true if a tool step is a request over HTTP or its answer.
fn is_http(view: &RpkStepView<'_>) -> bool {
    let [method, url, http] =
        view.input.map_or([None; 3], |input| pick_members(input, ["method", "url", "http"]));
    // Steps of reenact hold the exchange as it was recorded.
    let [ended_by] = view.output.map_or([None], |output| pick_members(output, ["ended_by"]));
    method.zip(url).or(http.zip(http)).or(ended_by.zip(ended_by)).is_some()
}

/// Returns true if the method and URL of a step are those of an endpoint that calls a model.
fn calls_a_model(view: &RpkStepView<'_>) -> bool {
    let [method, url] = view.input.map_or([None; 2], |input| pick_members(input, ["method", "url"]));
    let (Some(method), Some(url)) =
        (method.and_then(|method| method.string()), url.and_then(|url| url.string()))
    else {
        return false;
    };
    UrlTarget::of(&url).endpoint(&method).is_some_and(|endpoint| endpoint.calls_a_model())
}

/// Returns the first of these members that is there and not null.
fn first_member<'v, const N: usize>(object: Option<Value<'v>>, names: [&str; N]) -> Option<Value<'v>> {
    pick_members(object?, names).into_iter().flatten().next()
}

/// Returns true for the texts that the programs of the format write in place of omitted content.
fn is_omission_marker(text: &str) -> bool {
    matches!(text, "<omitted by policy>" | "<streaming response omitted>")
}

/// Reads headers as the programs of the format keep them: an object of strings. Other members are ignored.
fn headers(headers: Option<Value<'_>>) -> Vec<(String, String)> {
    let pair = |(name, value): (Value<'_>, Value<'_>)| {
        Some((name.string()?.into_owned(), value.string()?.into_owned()))
    };
    headers.into_iter().flat_map(|headers| headers.members()).filter_map(pair).collect()
}

/// Adds the parts of an `.rpk` outside of its steps that have no place in another format. `root` is the path of
/// the document.
fn note_run_losses(run: &Run, root: &loss::SourcePath, losses: &mut Losses) {
    let Ok(head) = rpk::RpkHead::read(document(run), &widest_limits()) else { return };
    if head.signature.is_some() {
        losses.add(root.child(".signature"), SIGNS_THE_SOURCE);
    }
    let at = root.child(".payload");
    if let Some(payload) = head.payload.filter(|payload| payload.kind() == ValueKind::Object) {
        note_other_members(payload, &["run"], &at, losses);
    }
    if let Some(of_run) = head.run.filter(|of_run| of_run.kind() == ValueKind::Object) {
        note_other_members(of_run, &["id", "timestamp", "steps"], &at.child(".run"), losses);
    }
    if let Some(metadata) = head.metadata {
        note_other_members(metadata, &["run_id", "created_at"], &root.child(".metadata"), losses);
    }
}

/// Reader of `.rpk`: items are steps.
pub(crate) struct RpkRunReader;

impl RunReader for RpkRunReader {
    fn read(&self, bytes: &[u8], limits: &Limits) -> Result<RunParts, NotARun> {
        read(bytes, limits)
    }

    fn classify(&self, _: Option<EventType>, item: Value<'_>) -> (Option<EventType>, Pairing) {
        classify_step(item)
    }

    fn content_part<'v>(&self, payload: Value<'v>) -> Value<'v> {
        let part = |name: &str| payload.member(name).filter(|part| part.members().next().is_some());
        part("output").or_else(|| part("input")).unwrap_or(payload)
    }

    fn has_step_ids(&self) -> bool {
        true
    }

    fn classify_withheld(&self, callee: Callee, _: bool) -> Option<WithheldEnd> {
        let actions: &[Callee] = match callee {
            Callee::Model => &[Callee::Model],
            // A wrapped HTTP client calls its requests tools.
            Callee::Tool => &[Callee::Tool, Callee::Http, Callee::Model],
            Callee::Http => return None,
        };
        Some(WithheldEnd { callees: actions, names_repeat: false })
    }

    fn source_path(&self, event: &Event<'_>) -> loss::SourcePath {
        loss::SourcePath::Item("$.payload.run.steps[", event.index(), "]".into())
    }

    fn note_document_losses(&self, run: &Run, _: FormatId, losses: &mut Losses) {
        note_run_losses(run, &loss::SourcePath::At("$".into()), losses);
    }

    fn step_id<'r>(&self, _: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>> {
        payload.member("id")?.string()
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
        endpoint: Option<Endpoint>,
    ) -> Result<ExchangeAnswer<'v>, UnreadablePayload> {
        answer(item, run, endpoint)
    }

    fn tool_call<'v>(&self, item: Value<'v>) -> Result<RecordedToolCall<'v>, UnreadablePayload> {
        tool_call(item)
    }

    fn tool_result<'v>(&self, item: Value<'v>) -> Result<RecordedToolResult<'v>, UnreadablePayload> {
        tool_result(item)
    }

    fn outcome(&self, run: &Run) -> ReportedOutcome {
        // The command of the agent and its exit code, if the agent was captured as a whole.
        let command = foreign_events(run).find(|event| event.name() == AGENT_COMMAND);
        let command = command.and_then(|event| event.payload().value()?.member("input")?.member("command"));
        let output = last_foreign_payload(run, EventType::OutputFinal)
            .and_then(|step| step.member("output")?.member("returncode"));
        ReportedOutcome {
            command: owned_strings(command),
            exit: output.and_then(read_exit_code),
            ..ReportedOutcome::default()
        }
    }
}
