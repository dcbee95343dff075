//! Reader of REPLAY.jsonl: tool calls, with hashes of their outputs.
//!
//! Two related formats are read here where they were imported: lines with `type` and `ts` (typed replays), and
//! the one-file timelines of sessions.
//!
//! A call and its result in the three formats:
//!
//! ```json
//! {"event":"ToolCall","t":"…","id":"c1","tool":"read","params":{},"step_id":"plan-1"}
//! {"event":"ToolResult","t":"…","id":"c1","output_hash":"sha256:…","exit_code":0,"latency_ms":57,"step_utility":0.8}
//! {"type":"ToolCall","ts":"…","step_id":"c1","tool":"read","params":{}}
//! {"type":"ToolResult","ts":"…","step_id":"c1","ok":true,"output_hash":"sha256:…"}
//! {"type":"tool_call","t":0,"tool":"read","data":{"input":{}}}
//! {"type":"tool_result","t":12,"tool":"read","data":{"result":{}}}
//! ```

use std::borrow::Cow;

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::field::is_placeholder;
use reenact_formats::replay_jsonl::{ReplayJsonlEventKind, ReplayJsonlField};
use reenact_formats::rer::{Callee, EventType};
use reenact_json::{Limits, Value, ValueKind};

use super::RunReader;
use crate::convert::loss::SourcePath;
use crate::event::Event;
use crate::event_index::{ByteSpan, EventIndexBuilder, Pairing, ScannedEvent, WithheldEnd};
use crate::open::NotARun;
use crate::reported_outcome::{ReportedOutcome, last_foreign_payload, owned_string};
use crate::run::{Producer, Run, RunParts};
use crate::tool::{JsonText, RecordedToolCall, RecordedToolResult};
use crate::unreadable::{
    UnreadablePayload, mistyped, optional_milliseconds, optional_text, pick_members, required_text,
};

/// Reads a replay: one event for each line. A line that is no JSON object is an event of which nothing is
/// known.
///
/// The run id is that of the first `SessionStart`; the producer is named by the first line, such as
/// `reenact@0.1.0`.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<RunParts, NotARun> {
    let mut index = EventIndexBuilder::default();
    let mut parts = RunParts { payload_format: FormatId::ReplayJsonl, ..RunParts::default() };
    for line in lines(bytes) {
        let value = Value::parse(line, limits).ok().filter(|line| line.kind() == ValueKind::Object);
        let Some(line) = value else {
            index.push(ScannedEvent::unknown());
            continue;
        };
        let [tag, time, session, producer] = pick_members(line, ["event", "t", "session_id", "producer"]);
        let (kind, tie) = classify_line(line);
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
        index.push(ScannedEvent {
            kind,
            name: ByteSpan::of(tag, bytes),
            time: ByteSpan::of(time, bytes),
            payload: ByteSpan::of(Some(line), bytes),
            pairing: tie,
            ..ScannedEvent::unknown()
        });
    }
    parts.entries = index.finish();
    Ok(parts)
}

/// Returns the lines that are not blank, without their line feeds.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

/// Returns the event type of a line, and its pairing: by `id`, in a typed replay by `step_id`, in a timeline by
/// tool and order.
pub(super) fn classify_line(line: Value<'_>) -> (Option<EventType>, Pairing) {
    let [tag, other_tag, id, step_id, tool] = pick_members(line, ["event", "type", "id", "step_id", "tool"]);
    let kind = match tag.or(other_tag).and_then(ReplayJsonlEventKind::of_tag) {
        Some(ReplayJsonlEventKind::SessionStart) => Some(EventType::RunStarted),
        Some(ReplayJsonlEventKind::PlanStart) => Some(EventType::PlanStarted),
        Some(ReplayJsonlEventKind::ToolCall) => Some(EventType::ToolCalled),
        Some(ReplayJsonlEventKind::ToolResult) => Some(EventType::ToolReturned),
        Some(ReplayJsonlEventKind::StepComplete) => Some(EventType::StepCompleted),
        Some(ReplayJsonlEventKind::Verification) => Some(EventType::VerificationRan),
        Some(ReplayJsonlEventKind::SessionEnd) => Some(EventType::RunEnded),
        Some(ReplayJsonlEventKind::ReplayHeader) => None,
        // An entry of a timeline, whose calls have no ids.
        None if other_tag.is_some_and(|tag| tag.is_string("tool_call")) => {
            return (Some(EventType::ToolCalled), pairing_by_tool(tool));
        }
        None if other_tag.is_some_and(|tag| tag.is_string("tool_result")) => {
            return (Some(EventType::ToolReturned), pairing_by_tool(tool));
        }
        None => None,
    };
    (kind, if tag.is_some() { Pairing::last_named(id) } else { Pairing::last_named(step_id) })
}

/// Returns the pairing of a timeline's entry: calls of one tool in their order.
fn pairing_by_tool(tool: Option<Value<'_>>) -> Pairing {
    Pairing::NamedOrInOrder(tool.and_then(|tool| tool.string_bytes()).unwrap_or_default().into_owned())
}

/// Returns the id of the call that a line is about, or else of the plan's step.
pub(super) fn step_id(line: Value<'_>) -> Option<Cow<'_, str>> {
    let [id, step] = pick_members(line, ["id", "step_id"]);
    id.or(step)?.string()
}

/// Reads a line of any of the three formats as a tool call.
pub(super) fn tool_call(line: Value<'_>) -> Result<RecordedToolCall<'_>, UnreadablePayload> {
    let [step_id, id, tool, params, data] = pick_members(line, ["step_id", "id", "tool", "params", "data"]);
    let params = params.or_else(|| data?.member("input"));
    Ok(RecordedToolCall {
        step_id: optional_text("step_id", step_id)?,
        tool_call_id: optional_text("id", id)?,
        tool: required_text("tool", tool)?,
        input: params.map(JsonText::of),
        via: None,
        source: None,
    })
}

/// Reads a line of any of the three formats as a tool result. A typed replay says `ok` instead of an exit code,
/// and only a timeline holds the output itself. Placeholders, which `unknown` lists, are left out.
pub(super) fn tool_result(line: Value<'_>) -> Result<RecordedToolResult<'_>, UnreadablePayload> {
    let [hash, exit_code, latency, utility, ok, data, unknown] = pick_members(
        line,
        ["output_hash", "exit_code", "latency_ms", "step_utility", "ok", "data", "unknown"],
    );
    let known = |value: Option<_>, member| value.filter(|_| !is_placeholder(unknown, member));
    let hash = known(hash, ReplayJsonlField::OutputHash);
    let latency = known(latency, ReplayJsonlField::LatencyMs);
    let utility = known(utility, ReplayJsonlField::StepUtility);
    let exit_code =
        exit_code.map(|code| parse_i64(code).ok_or_else(|| mistyped("exit_code", code, "an integer")));
    let exit_code = exit_code.transpose()?;
    Ok(RecordedToolResult {
        output: data.and_then(|data| data.member("result")).map(JsonText::of),
        output_hash: optional_text("output_hash", hash)?,
        previews: previews(line),
        is_error: exit_code.is_some_and(|code| code != 0) || ok.and_then(|ok| ok.boolean()) == Some(false),
        exit_code,
        utility: utility.and_then(finite_f32),
        latency: optional_milliseconds("latency_ms", latency)?,
        ..RecordedToolResult::default()
    })
}

/// Members of a result that are parts of its output for display. The document limits their length and names no event for them.
const PREVIEWS: [&str; 3] = ["output_preview", "stdout", "stderr"];

/// Returns the parts of an output that a result holds for display.
fn previews(line: Value<'_>) -> Vec<(&'static str, Cow<'_, str>)> {
    let found = pick_members(line, PREVIEWS);
    PREVIEWS.into_iter().zip(found).filter_map(|(name, text)| Some((name, text?.string()?))).collect()
}

/// Returns a finite number of 32 bits, as the format holds utilities.
pub(crate) fn finite_f32(value: Value<'_>) -> Option<f32> {
    let text = core::str::from_utf8(value.text()).ok().filter(|_| value.kind() == ValueKind::Number)?;
    text.parse().ok().filter(|number: &f32| number.is_finite())
}

/// Returns an integer, which may be negative.
fn parse_i64(value: Value<'_>) -> Option<i64> {
    core::str::from_utf8(value.text()).ok()?.parse().ok()
}

/// Reader of REPLAY.jsonl: items are lines.
pub(crate) struct ReplayJsonlRunReader;

impl RunReader for ReplayJsonlRunReader {
    fn read(&self, bytes: &[u8], limits: &Limits) -> Result<RunParts, NotARun> {
        read(bytes, limits)
    }

    fn classify(&self, _: Option<EventType>, item: Value<'_>) -> (Option<EventType>, Pairing) {
        classify_line(item)
    }

    /// Returns true for the header line, which names the producer of the file.
    fn is_framing(&self, item: Value<'_>) -> bool {
        item.member("event").is_some_and(|tag| tag.is_string("ReplayHeader"))
    }

    fn is_format_member(&self, name: &str) -> bool {
        matches!(name, "event" | "t")
    }

    fn classify_withheld(&self, callee: Callee, is_timeline: bool) -> Option<WithheldEnd> {
        let is_hidden = is_timeline && callee == Callee::Tool;
        is_hidden.then_some(WithheldEnd { callees: &[Callee::Tool], names_repeat: true })
    }

    fn source_path(&self, event: &Event<'_>) -> SourcePath {
        SourcePath::Item("$[", event.index(), "]".into())
    }

    fn step_id<'r>(&self, _: &Event<'r>, payload: Value<'r>) -> Option<Cow<'r, str>> {
        step_id(payload)
    }

    fn tool_call<'v>(&self, item: Value<'v>) -> Result<RecordedToolCall<'v>, UnreadablePayload> {
        tool_call(item)
    }

    fn tool_result<'v>(&self, item: Value<'v>) -> Result<RecordedToolResult<'v>, UnreadablePayload> {
        tool_result(item)
    }

    fn outcome(&self, run: &Run) -> ReportedOutcome {
        let status =
            owned_string(last_foreign_payload(run, EventType::RunEnded).and_then(|end| end.member("status")));
        ReportedOutcome { status, ..ReportedOutcome::default() }
    }
}
