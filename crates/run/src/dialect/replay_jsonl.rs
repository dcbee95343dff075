//! REPLAY.jsonl: tools that were called, with hashes of what they gave. Its dialect of `type` and `ts`, and timelines of sessions, are
//! read where they were imported.

use std::borrow::Cow;

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::EventKind;
use reenact_formats::rer::{Callee, EventType};
use reenact_json::{Kind as JsonKind, Limits, Value};

use super::Dialect;
use crate::convert::loss::Place;
use crate::event::Event;
use crate::index::{Found, Hidden, Index, Span, Tie};
use crate::open::NotARun;
use crate::outcome::{ReportedOutcome, last, word};
use crate::run::{Parts, Producer, Run};
use crate::tool::{Json, ToolCall, ToolResult};
use crate::unreadable::{Unreadable, milliseconds, mistyped, needed_text, pick, text};

/// Reads what a run keeps of a replay: one event a line. A line that is no event is one of which nothing is known.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Parts, NotARun> {
    let mut index = Index::default();
    let mut parts = Parts { dialect: FormatId::ReplayJsonl, ..Parts::default() };
    for line in lines(bytes) {
        let value = Value::parse(line, limits).ok().filter(|line| line.kind() == JsonKind::Object);
        let Some(line) = value else {
            index.push(Found::nothing());
            continue;
        };
        let [tag, time, session, producer] = pick(line, ["event", "t", "session_id", "producer"]);
        let (kind, tie) = mark(line);
        let word = |value: Option<Value<'_>>| value?.string().map(|text| text.into_owned());
        if kind == Some(EventType::RunStarted) && parts.id.is_empty() {
            parts.id = word(session).unwrap_or_default();
        }
        if index.len() == 0
            && let Some(producer) = word(producer)
        {
            // `reenact@0.1.0`
            let (name, version) = match producer.rsplit_once('@') {
                Some((name, version)) => (name.to_owned(), Some(version.to_owned())),
                None => (producer, None),
            };
            parts.producer = Producer { name: Some(name), version, key_id: None };
        }
        index.push(Found {
            kind,
            name: Span::of(tag, bytes),
            time: Span::of(time, bytes),
            payload: Span::of(Some(line), bytes),
            tie,
            ..Found::nothing()
        });
    }
    parts.index = index.finish();
    Ok(parts)
}

/// The lines that are not blank, without their ends.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

/// What a line says has happened.
pub(super) fn mark(line: Value<'_>) -> (Option<EventType>, Tie) {
    let [tag, other_tag, id, step_id, tool] = pick(line, ["event", "type", "id", "step_id", "tool"]);
    let kind = match tag.or(other_tag).and_then(EventKind::of_tag) {
        Some(EventKind::SessionStart) => Some(EventType::RunStarted),
        Some(EventKind::PlanStart) => Some(EventType::PlanStarted),
        Some(EventKind::ToolCall) => Some(EventType::ToolCalled),
        Some(EventKind::ToolResult) => Some(EventType::ToolReturned),
        Some(EventKind::StepComplete) => Some(EventType::StepCompleted),
        Some(EventKind::Verification) => Some(EventType::VerificationRan),
        Some(EventKind::SessionEnd) => Some(EventType::RunEnded),
        Some(EventKind::ReplayHeader | EventKind::Payment | EventKind::RuntimeEvent) => None,
        // A timeline, whose calls have no ids.
        None if other_tag.is_some_and(|tag| tag.is_string("tool_call")) => {
            return (Some(EventType::ToolCalled), in_order(tool));
        }
        None if other_tag.is_some_and(|tag| tag.is_string("tool_result")) => {
            return (Some(EventType::ToolReturned), in_order(tool));
        }
        None => None,
    };
    (kind, if tag.is_some() { Tie::last(id) } else { Tie::last(step_id) })
}

fn in_order(tool: Option<Value<'_>>) -> Tie {
    Tie::InOrder(tool.and_then(|tool| tool.string_bytes()).unwrap_or_default().into_owned())
}

/// The call of a line, or else the step of its plan.
pub(super) fn step_id(line: Value<'_>) -> Option<Cow<'_, str>> {
    let [id, step] = pick(line, ["id", "step_id"]);
    id.or(step)?.string()
}

pub(super) fn tool_call(line: Value<'_>) -> Result<ToolCall<'_>, Unreadable> {
    let [step_id, id, tool, params, data] = pick(line, ["step_id", "id", "tool", "params", "data"]);
    let params = params.or_else(|| data?.member("input"));
    Ok(ToolCall {
        step_id: text("step_id", step_id)?,
        tool_call_id: text("id", id)?,
        tool: needed_text("tool", tool)?,
        input: params.map(Json::of),
        via: None,
        source: None,
    })
}

pub(super) fn tool_result(line: Value<'_>) -> Result<ToolResult<'_>, Unreadable> {
    let [hash, exit_code, latency, utility, ok, data] =
        pick(line, ["output_hash", "exit_code", "latency_ms", "step_utility", "ok", "data"]);
    let exit_code =
        exit_code.map(|code| whole(code).ok_or_else(|| mistyped("exit_code", code, "an integer")));
    let exit_code = exit_code.transpose()?;
    Ok(ToolResult {
        output: data.and_then(|data| data.member("result")).map(Json::of),
        output_hash: text("output_hash", hash)?,
        is_error: exit_code.is_some_and(|code| code != 0) || ok.and_then(|ok| ok.boolean()) == Some(false),
        exit_code,
        utility: utility.and_then(single),
        latency: milliseconds("latency_ms", latency)?,
        ..ToolResult::default()
    })
}

/// A number as the format holds utilities.
pub(crate) fn single(value: Value<'_>) -> Option<f32> {
    let text = core::str::from_utf8(value.text()).ok().filter(|_| value.kind() == JsonKind::Number)?;
    text.parse().ok().filter(|number: &f32| number.is_finite())
}

fn whole(value: Value<'_>) -> Option<i64> {
    core::str::from_utf8(value.text()).ok()?.parse().ok()
}

/// Lines.
pub(crate) struct ReplayJsonl;

impl Dialect for ReplayJsonl {
    fn read(&self, bytes: &[u8], limits: &Limits) -> Result<Parts, NotARun> {
        read(bytes, limits)
    }

    fn mark(&self, _: Option<EventType>, item: Value<'_>) -> (Option<EventType>, Tie) {
        mark(item)
    }

    /// The line that says who wrote the file.
    fn is_frame(&self, item: Value<'_>) -> bool {
        item.member("event").is_some_and(|tag| tag.is_string("ReplayHeader"))
    }

    fn is_format_member(&self, name: &str) -> bool {
        matches!(name, "event" | "t")
    }

    fn mark_withheld(&self, callee: Callee, is_timeline: bool) -> Option<Hidden> {
        let is_hidden = is_timeline && callee == Callee::Tool;
        is_hidden.then_some(Hidden { actions: &[Callee::Tool], names_repeat: true })
    }

    fn place(&self, event: &Event<'_>) -> Place {
        Place::Item("$[", event.index(), "]".into())
    }

    fn step_id<'r>(&self, _: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>> {
        step_id(payload)
    }

    fn tool_call<'v>(&self, item: Value<'v>) -> Result<ToolCall<'v>, Unreadable> {
        tool_call(item)
    }

    fn tool_result<'v>(&self, item: Value<'v>) -> Result<ToolResult<'v>, Unreadable> {
        tool_result(item)
    }

    fn outcome(&self, run: &Run) -> ReportedOutcome {
        let status = word(last(run, EventType::RunEnded).and_then(|end| end.member("status")));
        ReportedOutcome { status, ..ReportedOutcome::default() }
    }
}
