//! `.rpk`: steps of one type each, in the shapes that the programs of the format write, and in our own.
//!
//! | who wrote the step | request | answer |
//! |---|---|---|
//! | the listener | `input {provider, path, model, stream, headers, payload}` | `output {status_code, output, assembled_text, stream}` |
//! | one-shot captures | `input {model, input: {provider, url, payload, …}}` | `output {output: {response}}` or `{output: {chunks, assembled_text}}` |
//! | wrapped SDKs | `input {model, input}` | `output {output}` |
//! | wrapped HTTP clients | `input {method, url, headers, body}` | `output {status_code, headers, body}` |
//! | reenact | `input` is the payload of `rer.model.called` | `output` is that of `rer.model.returned` |

mod answered;
mod asked;
mod tools;

pub(super) use answered::answer;
pub(super) use asked::request;
pub(super) use tools::{tool_call, tool_result};

use std::borrow::Cow;

use reenact_formats::FormatId;
use reenact_formats::rer::{Callee, EventType};
use reenact_formats::rpk::{self, AGENT_COMMAND, ReadError, StepView};
use reenact_json::{Kind as JsonKind, Limits, Value};
use reenact_wire::Endpoint;

use super::Dialect;
use super::replay_bundle::Place;
use crate::convert::export::account::{SIGNS_THE_SOURCE, document, limits, others};
use crate::convert::loss::{self, Losses};
use crate::event::Event;
use crate::exchange::{Answer, Request};
use crate::index::{Found, Hidden, Index, Span, Tie};
use crate::open::NotARun;
use crate::outcome::{ReportedOutcome, items, last, read_exit_code, words};
use crate::run::{Inner, Parts, Run};
use crate::tool::{ToolCall, ToolResult};
use crate::unreadable::{Unreadable, pick};

/// Reads what a run keeps of an artifact: one event a step.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Parts, NotARun> {
    let unreadable = |error: ReadError| {
        NotARun::Unreadable(match error {
            ReadError::Syntax(error) => error.describe(bytes),
            other => other.to_string(),
        })
    };
    let head = rpk::Head::read(bytes, limits).map_err(unreadable)?;
    let steps = head.of_run.steps.filter(|steps| steps.kind() == JsonKind::Array);
    let mut index = Index::default();
    for step in steps.ok_or(NotARun::NoEvents)?.elements() {
        if step.kind() != JsonKind::Object {
            index.push(Found::nothing());
            continue;
        }
        let [name, time] = pick(step, ["type", "timestamp"]);
        let (kind, tie) = mark(step);
        index.push(Found {
            kind,
            name: Span::of(name, bytes),
            time: Span::of(time, bytes),
            payload: Span::of(Some(step), bytes),
            tie,
            ..Found::nothing()
        });
    }
    let run = head.of_run;
    Ok(Parts {
        id: run.id.and_then(|id| id.string()).unwrap_or_default().into_owned(),
        environment: Span::of(run.environment_fingerprint, bytes),
        began: Span::of(run.timestamp, bytes),
        dialect: FormatId::Rpk,
        index: index.finish(),
        ..Parts::default()
    })
}

/// What a step says has happened, and the id by which it finds its other end.
pub(super) fn mark(step: Value<'_>) -> (Option<EventType>, Tie) {
    let view = StepView::of(step);
    let step_type = view.step_type.and_then(|name| name.string()).unwrap_or_default();
    let (is_call, is_tool) = match &*step_type {
        "model.request" => (true, false),
        "model.response" => (false, false),
        "tool.request" => (true, true),
        "tool.response" => (false, true),
        "prompt.render" => return (Some(EventType::PromptRendered), Tie::None),
        "error.event" => return (Some(EventType::ErrorRaised), Tie::None),
        "output.final" => return (Some(EventType::OutputFinal), Tie::None),
        _ => return (None, Tie::None),
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
    (kind, Tie::InOrder(id(&view)))
}

/// The id that both steps of an action carry: ours, that of the call, or that of the request. Empty, if there is none.
fn id(view: &StepView<'_>) -> Vec<u8> {
    const NAMES: [&str; 3] = ["step_id", "call_id", "request_id"];
    let within = |part: Option<Value<'_>>| {
        let found = part.map_or([None; 3], |part| pick(part, NAMES));
        found.into_iter().flatten().find_map(|id| id.string_bytes().map(|id| id.into_owned()))
    };
    let parts = [view.input, view.output, view.metadata];
    parts.into_iter().find_map(within).unwrap_or_default()
}

fn is_http(view: &StepView<'_>) -> bool {
    let [method, url, http] = view.input.map_or([None; 3], |input| pick(input, ["method", "url", "http"]));
    // Ours have the exchange as it was recorded.
    let [ended_by] = view.output.map_or([None], |output| pick(output, ["ended_by"]));
    method.zip(url).or(http.zip(http)).or(ended_by.zip(ended_by)).is_some()
}

fn calls_a_model(view: &StepView<'_>) -> bool {
    let [method, url] = view.input.map_or([None; 2], |input| pick(input, ["method", "url"]));
    let (Some(method), Some(url)) =
        (method.and_then(|method| method.string()), url.and_then(|url| url.string()))
    else {
        return false;
    };
    Place::of(&url).endpoint(&method).is_some_and(|endpoint| endpoint.calls_a_model())
}

/// The first of these members that is there and no null.
fn first<'v, const N: usize>(object: Option<Value<'v>>, names: [&str; N]) -> Option<Value<'v>> {
    pick(object?, names).into_iter().flatten().next()
}

/// What the programs of the format write for what they leave out.
fn is_left_out(text: &str) -> bool {
    matches!(text, "<omitted by policy>" | "<streaming response omitted>")
}

/// Headers as the programs of the format keep them: an object of strings.
fn headers(headers: Option<Value<'_>>) -> Vec<(String, String)> {
    let pair = |(name, value): (Value<'_>, Value<'_>)| {
        Some((name.string()?.into_owned(), value.string()?.into_owned()))
    };
    headers.into_iter().flat_map(|headers| headers.members()).filter_map(pair).collect()
}

/// What an `.rpk` says beside its steps.
fn around_steps(run: &Run, root: &loss::Place, losses: &mut Losses) {
    let Ok(head) = rpk::Head::read(document(run), &limits()) else { return };
    if head.signature.is_some() {
        losses.add(root.inside(".signature"), SIGNS_THE_SOURCE);
    }
    let at = root.inside(".payload");
    if let Some(payload) = head.payload.filter(|payload| payload.kind() == JsonKind::Object) {
        others(payload, &["run"], &at, losses);
    }
    if let Some(of_run) = head.run.filter(|of_run| of_run.kind() == JsonKind::Object) {
        others(of_run, &["id", "timestamp", "steps"], &at.inside(".run"), losses);
    }
    if let Some(metadata) = head.metadata {
        others(metadata, &["run_id", "created_at"], &root.inside(".metadata"), losses);
    }
}

/// Steps.
pub(crate) struct Rpk;

impl Dialect for Rpk {
    fn read(&self, bytes: &[u8], limits: &Limits) -> Result<Parts, NotARun> {
        read(bytes, limits)
    }

    fn mark(&self, _: Option<EventType>, item: Value<'_>) -> (Option<EventType>, Tie) {
        mark(item)
    }

    fn telling_part<'v>(&self, payload: Value<'v>) -> Value<'v> {
        let part = |name: &str| payload.member(name).filter(|part| part.members().next().is_some());
        part("output").or_else(|| part("input")).unwrap_or(payload)
    }

    fn has_step_ids(&self) -> bool {
        true
    }

    fn mark_withheld(&self, callee: Callee, _: bool) -> Option<Hidden> {
        let actions: &[Callee] = match callee {
            Callee::Model => &[Callee::Model],
            // A wrapped HTTP client calls its requests tools.
            Callee::Tool => &[Callee::Tool, Callee::Http, Callee::Model],
            Callee::Http => return None,
        };
        Some(Hidden { actions, names_repeat: false })
    }

    fn place(&self, event: &Event<'_>) -> loss::Place {
        loss::Place::Item("$.payload.run.steps[", event.index(), "]".into())
    }

    fn around(&self, run: &Run, _: FormatId, losses: &mut Losses) {
        around_steps(run, &loss::Place::At("$".into()), losses);
    }

    fn step_id<'r>(&self, _: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>> {
        payload.member("id")?.string()
    }

    fn request<'v>(&self, item: Value<'v>, run: &'v Inner) -> Result<Request<'v>, Unreadable> {
        request(item, run)
    }

    fn answer<'v>(
        &self,
        item: Value<'v>,
        run: &'v Inner,
        endpoint: Option<Endpoint>,
    ) -> Result<Answer<'v>, Unreadable> {
        answer(item, run, endpoint)
    }

    fn tool_call<'v>(&self, item: Value<'v>) -> Result<ToolCall<'v>, Unreadable> {
        tool_call(item)
    }

    fn tool_result<'v>(&self, item: Value<'v>) -> Result<ToolResult<'v>, Unreadable> {
        tool_result(item)
    }

    fn outcome(&self, run: &Run) -> ReportedOutcome {
        // What an agent was run with, and how it ended, if it was captured as a whole.
        let command = items(run).find(|event| event.name() == AGENT_COMMAND);
        let command = command.and_then(|event| event.payload().value()?.member("input")?.member("command"));
        let output =
            last(run, EventType::OutputFinal).and_then(|step| step.member("output")?.member("returncode"));
        ReportedOutcome {
            command: words(command),
            exit: output.and_then(read_exit_code),
            ..ReportedOutcome::default()
        }
    }
}
