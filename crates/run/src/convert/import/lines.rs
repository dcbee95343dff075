//! Import of REPLAY.jsonl and typed replays: each line is an event.
//!
//! | line | event |
//! |---|---|
//! | `PlanStart` | `rer.plan.started` |
//! | `ToolCall`, `ToolResult` | `rer.tool.called`, `rer.tool.returned` |
//! | `StepComplete` | `rer.step.completed` |
//! | `Verification` | `rer.verification.ran` |
//! | any other JSON object | `reenact.replay_jsonl.line` |
//! | anything else | `reenact.replay_jsonl.torn` |

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::ReplayJsonlEventKind;
use reenact_formats::rer::{Callee, EventType};
use reenact_json::{Limits, Value, ValueKind};

use super::{ItemEncoder, callee, import_member, string_member, write_body};
use crate::convert::artifact_builder::{
    CommonMembers, ImportContext, ImportedArtifactBuilder, ImportedStatus,
};
use crate::convert::error::ConvertError;
use crate::convert::source::ImportSource;
use crate::unreadable::pick_members;

/// Event type of a line that is no JSON object. Its bytes are kept as they are.
pub(crate) const TORN_LINE: &str = "reenact.replay_jsonl.torn";

/// Imports the lines of a replay. The status of the run is that of the line that ends the session.
///
/// The two formats name tag, time and id differently: `event`, `t` and `id`, or `type`, `ts` and `step_id`.
pub(in crate::convert) fn import(
    source: &ImportSource<'_>,
    context: &mut ImportContext<'_>,
) -> Result<Vec<u8>, ConvertError> {
    let is_typed = source.format == FormatId::TypedReplay;
    let (tag, time, id) = if is_typed { ("type", "ts", "step_id") } else { ("event", "t", "id") };
    let started_at = lines(source.main_file).take(2).filter_map(|line| line.ok()).find_map(|line| {
        [time, "created_at"].iter().find_map(|name| string_member(line, name)).map(|time| time.into_owned())
    });
    let mut builder =
        ImportedArtifactBuilder::begin(context, started_at.as_deref(), &import_member(source, b"{}"))?;
    // A truncated replay has no line that says how it ended.
    builder.status = ImportedStatus::Truncated;
    let mut items = ItemEncoder::new(source.format, "line");
    for (index, line) in lines(source.main_file).enumerate() {
        let line = match line {
            Ok(line) => line,
            Err(torn) => {
                let mut body = Vec::new();
                write_body(torn, &mut body);
                builder.append_item(TORN_LINE, None, &body, CommonMembers::default())?;
                continue;
            }
        };
        let [tag, time, id, tool, status] = pick_members(line, [tag, time, id, "tool", "status"]);
        let text = |value: Option<Value<'_>>| Some(value?.string()?.into_owned());
        let kind = tag.and_then(ReplayJsonlEventKind::of_tag);
        let event_type = event_type(kind);
        let is_tool = callee(event_type) == Some(Callee::Tool);
        let (step_id, tool) = (text(id.filter(|_| is_tool)), text(tool.filter(|_| is_tool)));
        let members = CommonMembers { model: None, step_id: step_id.as_deref(), tool: tool.as_deref() };
        if kind == Some(ReplayJsonlEventKind::SessionEnd) {
            builder.status = match text(status).unwrap_or_default().as_str() {
                "Failed" | "failure" => ImportedStatus::Failed,
                "Cancelled" | "cancelled" | "Timeout" => ImportedStatus::Aborted,
                "Success" | "success" => ImportedStatus::Completed,
                _ => ImportedStatus::Failed,
            };
        }
        builder.append_item(event_type, text(time).as_deref(), items.encode(index, line)?, members)?;
    }
    builder.seal(None)
}

/// Returns the lines that are not blank: a JSON object each, or the bytes of a line that is none.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = Result<Value<'_>, &[u8]>> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.trim_ascii().is_empty()).map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Value::parse(line, &Limits::default())
            .ok()
            .filter(|value| value.kind() == ValueKind::Object)
            .ok_or(line)
    })
}

/// Returns the event type of a line. Lines that begin and end the session have a type of their own, since the
/// artifact has events of its own for that.
fn event_type(kind: Option<ReplayJsonlEventKind>) -> &'static str {
    match kind {
        Some(ReplayJsonlEventKind::PlanStart) => EventType::PlanStarted.name(),
        Some(ReplayJsonlEventKind::ToolCall) => EventType::ToolCalled.name(),
        Some(ReplayJsonlEventKind::ToolResult) => EventType::ToolReturned.name(),
        Some(ReplayJsonlEventKind::StepComplete) => EventType::StepCompleted.name(),
        Some(ReplayJsonlEventKind::Verification) => EventType::VerificationRan.name(),
        _ => "reenact.replay_jsonl.line",
    }
}
