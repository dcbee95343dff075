//! REPLAY.jsonl, in either dialect → RER: each line is an event.

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::EventKind;
use reenact_formats::rer::{Callee, EventType};
use reenact_json::{Kind, Limits, Value};

use super::{Items, callee, origin, word, write_body};
use crate::convert::fault::ConvertError;
use crate::convert::sealing::{Sealing, Status, Tape, Words};
use crate::convert::source::Source;
use crate::unreadable::pick;

/// A line that is no JSON. Its bytes are kept as they are.
pub(crate) const TORN: &str = "reenact.replay_jsonl.torn";

pub(in crate::convert) fn import(
    source: &Source<'_>,
    sealing: &mut Sealing<'_>,
) -> Result<Vec<u8>, ConvertError> {
    let is_typed = source.origin == FormatId::TypedReplay;
    let (tag, time, id) = if is_typed { ("type", "ts", "step_id") } else { ("event", "t", "id") };
    let started_at = lines(source.main).take(2).filter_map(|line| line.ok()).find_map(|line| {
        [time, "created_at"].iter().find_map(|name| word(line, name)).map(|time| time.into_owned())
    });
    let mut tape = Tape::begin(sealing, started_at.as_deref(), &origin(source, b"{}"))?;
    // A replay that is cut off has no line that says how it ended.
    tape.status = Status::CutOff;
    let mut items = Items::new(source.origin, "line");
    for (index, line) in lines(source.main).enumerate() {
        let line = match line {
            Ok(line) => line,
            Err(torn) => {
                let mut body = Vec::new();
                write_body(torn, &mut body);
                tape.item(TORN, None, &body, Words::default())?;
                continue;
            }
        };
        let [tag, time, id, tool, status] = pick(line, [tag, time, id, "tool", "status"]);
        let text = |value: Option<Value<'_>>| Some(value?.string()?.into_owned());
        let kind = tag.and_then(EventKind::of_tag);
        let event_type = event_type(kind);
        let is_tool = callee(event_type) == Some(Callee::Tool);
        let (step_id, tool) = (text(id.filter(|_| is_tool)), text(tool.filter(|_| is_tool)));
        let words = Words { model: None, step_id: step_id.as_deref(), tool: tool.as_deref() };
        if kind == Some(EventKind::SessionEnd) {
            tape.status = match text(status).unwrap_or_default().as_str() {
                "Failed" | "failure" => Status::Failed,
                "Cancelled" | "cancelled" | "Timeout" => Status::Aborted,
                "Success" | "success" => Status::Completed,
                _ => Status::Failed,
            };
        }
        tape.item(event_type, text(time).as_deref(), items.encode(index, line)?, words)?;
    }
    tape.end(None)
}

/// The lines that are not blank: JSON, or bytes that are none.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = Result<Value<'_>, &[u8]>> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.trim_ascii().is_empty()).map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Value::parse(line, &Limits::default()).ok().filter(|value| value.kind() == Kind::Object).ok_or(line)
    })
}

/// The event that a line is. Those that begin and end the session stand beside the ones that begin and end the record.
fn event_type(kind: Option<EventKind>) -> &'static str {
    match kind {
        Some(EventKind::PlanStart) => EventType::PlanStarted.name(),
        Some(EventKind::ToolCall) => EventType::ToolCalled.name(),
        Some(EventKind::ToolResult) => EventType::ToolReturned.name(),
        Some(EventKind::StepComplete) => EventType::StepCompleted.name(),
        Some(EventKind::Verification) => EventType::VerificationRan.name(),
        _ => "reenact.replay_jsonl.line",
    }
}
