//! Views of records of import-only formats as runs, so that they can be exported.
//!
//! A view is a document of a format that has a reader. It is never written to disk, is not signed and proves
//! nothing. It holds what has a place in other formats; what it leaves out is added to the losses. Start
//! reading at [`view`].
//!
//! | format | item | view |
//! |---|---|---|
//! | recording session | `interactions[]`: `prompt`, `prompt_hash`, `result.content`, … | RER artifact, or Model IO if that is the target |
//! | session timeline | `timeline[]`: `t` (ms), `type`, `tool`, `data` | RER artifact |
//! | typed replay | lines: `type`, `ts`, `step_id`, … | REPLAY.jsonl |

use std::borrow::Cow;

use reenact_formats::FormatId;
use reenact_formats::rer::EventType;
use reenact_json::{Digest, Limits, Value, ValueKind};
use reenact_verify::{Keys, Options, verify};

use super::error::ConvertError;
use super::event_time;
use super::export::object_builder::ObjectBuilder;
use super::import::lines::lines;
use super::import::timeline::OpenToolCalls;
use super::loss::{Losses, SourcePath};
use super::route::{FormatDocument, route};
use crate::open::open_with;
use crate::run::Run;

/// Reason of members that no target holds.
const NO_EQUIVALENT: &str = "the format has no place for it";

/// Returns a run with the content of a record, as far as `target` can hold it; the rest is added to the losses.
///
/// # Errors
/// [`ConvertError::NotATarget`] if the format has a reader and needs no view; else if the record cannot be
/// read.
pub(super) fn view(
    origin: FormatId,
    main: &[u8],
    target: FormatId,
    losses: &mut Losses,
) -> Result<Run, ConvertError> {
    let view = route(origin)?.view.ok_or(ConvertError::NotATarget)?;
    let (format, text) = (view.write)(main, target, losses)?;
    let options = Options { format: Some(format), ..Options::default() };
    let opened = open_with(text, &options, |bytes| verify(bytes, &Keys::default(), &options));
    opened.run.map_err(|error| ConvertError::Unreadable(error.to_string()))
}

/// Writes a recording session as a Model IO session if that is the target, else as an artifact of prompts and
/// answers.
pub(super) fn recording_session(
    main: &[u8],
    target: FormatId,
    losses: &mut Losses,
) -> Result<FormatDocument, ConvertError> {
    if target == FormatId::ModelIo {
        return Ok((FormatId::ModelIo, recording_as_model_io(main, losses)?));
    }
    Ok((FormatId::Rer, recording_as_artifact(main, losses)?))
}

/// Writes the timeline of a session as an artifact.
pub(super) fn session_timeline(
    main: &[u8],
    _: FormatId,
    losses: &mut Losses,
) -> Result<FormatDocument, ConvertError> {
    Ok((FormatId::Rer, timeline_as_artifact(main, losses)?))
}

/// Writes a typed replay, whose lines have `type` and `ts`, as a REPLAY.jsonl.
pub(super) fn typed_replay(
    main: &[u8],
    _: FormatId,
    losses: &mut Losses,
) -> Result<FormatDocument, ConvertError> {
    Ok((FormatId::ReplayJsonl, typed_as_replay_jsonl(main, losses)?))
}

/// Paths that exporters report as lost from every artifact. A view has none of these parts, so their losses are
/// dropped.
const NOT_IN_VIEWS: [&str; 3] = ["$.runtime_signature", "$.envelope", "$.runtime"];

/// Returns the losses of a view's export, at their paths in the record itself. Losses inside of an event are
/// reported for its whole item, since the members of a view are not those of the record.
pub(super) fn relocated(losses: &Losses, origin: FormatId) -> Losses {
    let items = route(origin).ok().and_then(|route| route.view?.items);
    let mut moved = Losses::new();
    for loss in losses.iter() {
        if loss.count_without_path() > 0 {
            moved.add_without_path(loss.count_without_path(), loss.reason);
            continue;
        }
        for path in loss.source_paths() {
            let path = match (path, items) {
                (SourcePath::Item("$.events[", at, _), Some((list, events))) => {
                    SourcePath::Item(list, at / events, "]".into())
                }
                // A view is not signed, so no signature is lost.
                (SourcePath::At(path), _) if NOT_IN_VIEWS.contains(&path.as_str()) => continue,
                (path, _) => path,
            };
            moved.add(path, loss.reason);
        }
    }
    moved
}

/// Parses a document of the record.
fn parse(text: &[u8]) -> Result<Value<'_>, ConvertError> {
    Value::parse(text, &Limits::default()).map_err(|error| ConvertError::Unreadable(error.describe(text)))
}

/// Returns a member that is a string.
fn string_member<'a>(object: Value<'a>, name: &str) -> Option<Cow<'a, str>> {
    object.member(name)?.string()
}

/// Adds the members of an object that a view does not keep to the losses.
fn note_other_members(object: Value<'_>, exported: &[&str], at: &SourcePath, losses: &mut Losses) {
    for (name, _) in
        object.members().filter(|(name, _)| !exported.iter().any(|exported| name.is_string(exported)))
    {
        losses.add(
            at.child(&format!(".{}", reenact_json::Shown::new(&name.string().unwrap_or_default()))),
            NO_EQUIVALENT,
        );
    }
}

/// Writer of an unsigned artifact, for views.
struct UnsignedArtifactWriter {
    text: Vec<u8>,
}

impl UnsignedArtifactWriter {
    /// Begins an artifact.
    fn new(run_id: &str) -> Self {
        let mut text = ObjectBuilder::new()
            .string("artifact_version", "rer-artifact/0.2")
            .string("run_id", run_id)
            .close();
        text.pop();
        text.extend_from_slice(b",\"events\":[");
        Self { text }
    }

    /// Appends an event.
    fn push(&mut self, event_type: &str, time: Option<&str>, payload: Option<Vec<u8>>) {
        if !self.text.ends_with(b"[") {
            self.text.push(b',');
        }
        let event = ObjectBuilder::new().string("event_type", event_type).optional_string("timestamp", time);
        let event = match payload {
            Some(payload) => event.raw("payload", &payload),
            None => event,
        };
        self.text.extend_from_slice(&event.close());
    }

    /// Ends the artifact, and returns its text.
    fn close(mut self) -> Vec<u8> {
        self.text.extend_from_slice(b"]}");
        self.text
    }
}

/// Returns true if a value is a string.
fn is_string(value: Value<'_>) -> bool {
    value.kind() == ValueKind::String
}

/// Adds a number of a result to the losses if it is not an integer, since only integers are written.
fn note_non_integer(result: Option<Value<'_>>, name: &str, at: &SourcePath, losses: &mut Losses) {
    let value = result.and_then(|result| result.member(name));
    if value.is_some_and(|value| value.kind() != ValueKind::Null && value.unsigned_integer().is_none()) {
        losses.add(at.child(&format!(".result.{name}")), "it is no whole number; it is left out");
    }
}

/// Members of a recording session that views keep.
const KEPT_RECORDING_MEMBERS: [&str; 4] = ["format_version", "interactions", "model_id", "started_at"];

/// Returns the interactions of a recording session.
fn interactions(session: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    session.member("interactions").into_iter().flat_map(|list| list.elements())
}

/// Returns a recording session as an artifact of requests and answers.
///
/// An interaction becomes a call and a return with the step id `interaction-000000` and so on. The prompt is
/// the body of the request; an interaction without a prompt has a call without a payload.
fn recording_as_artifact(main: &[u8], losses: &mut Losses) -> Result<Vec<u8>, ConvertError> {
    let session = parse(main)?;
    note_other_members(session, &KEPT_RECORDING_MEMBERS, &SourcePath::At("$".into()), losses);
    let model = string_member(session, "model_id").unwrap_or_default();
    let mut events = UnsignedArtifactWriter::new("");
    for (index, interaction) in interactions(session).enumerate() {
        let at = SourcePath::Item("$.interactions[", index, "]".into());
        note_other_members(interaction, &["sequence", "prompt", "result", "recorded_at"], &at, losses);
        let step_id = format!("interaction-{index:06}");
        let time = string_member(interaction, "recorded_at");
        let body = |text: &str| ObjectBuilder::new().string("text", text).close();
        // A recorder that keeps no prompts writes this instead.
        let prompt = string_member(interaction, "prompt").filter(|prompt| prompt != "[REDACTED]");
        let called = prompt.map(|prompt| {
            let http = ObjectBuilder::new()
                .string("method", "POST")
                .string("path", "")
                .raw("headers", b"[]")
                .raw("body", &body(&prompt))
                .close();
            ObjectBuilder::new()
                .string("step_id", &step_id)
                .string("provider", "recording")
                .optional_string("model", Some(&model))
                .raw("http", &http)
                .close()
        });
        events.push(EventType::ModelCalled.name(), time.as_deref(), called);
        let result = interaction.member("result");
        if let Some(result) = result {
            note_other_members(result, &["content", "latency_ms"], &at.child(".result"), losses);
        }
        note_non_integer(result, "latency_ms", &at, losses);
        let returned = result.and_then(|result| string_member(result, "content")).map(|content| {
            let http = ObjectBuilder::new().raw("headers", b"[]").raw("body", &body(&content)).close();
            let latency = result.and_then(|result| result.member("latency_ms")?.unsigned_integer());
            ObjectBuilder::new()
                .string("step_id", &step_id)
                .raw("status", b"200")
                .raw("http", &http)
                .raw("complete", b"true")
                .string("ended_by", "eof")
                .optional_number("latency_ms", latency)
                .close()
        });
        events.push(EventType::ModelReturned.name(), time.as_deref(), returned);
    }
    Ok(events.close())
}

/// Returns a recording session as a Model IO session.
///
/// Hashes of responses are computed, and interactions are numbered by their place in the list.
fn recording_as_model_io(main: &[u8], losses: &mut Losses) -> Result<Vec<u8>, ConvertError> {
    let session = parse(main)?;
    note_other_members(
        session,
        &[&KEPT_RECORDING_MEMBERS[..], &["ended_at"]].concat(),
        &SourcePath::At("$".into()),
        losses,
    );
    let mut items = b"[".to_vec();
    for (index, interaction) in interactions(session).enumerate() {
        let at = SourcePath::Item("$.interactions[", index, "]".into());
        if interaction.kind() != ValueKind::Object {
            losses.add(at.clone(), "it is no JSON object; an empty interaction is written");
        }
        note_other_members(interaction, &["sequence", "prompt_hash", "result"], &at, losses);
        if interaction
            .member("sequence")
            .is_some_and(|sequence| sequence.unsigned_integer() != Some(index as u64))
        {
            losses.add(at.child(".sequence"), "the format counts from 0; the place in the list is written");
        }
        let result = interaction.member("result");
        let is_said = result.and_then(|result| result.member("content")).is_some_and(is_string);
        if !is_said {
            losses.add(at.child(".result.content"), "it is no text; an empty one is written");
        }
        if !interaction.member("prompt_hash").is_some_and(is_string) {
            losses.add(at.child(".prompt_hash"), "it is no text; an empty one is written");
        }
        for name in ["latency_ms", "tokens_input", "tokens_output"] {
            note_non_integer(result, name, &at, losses);
        }
        if let Some(result) = result {
            note_other_members(
                result,
                &["content", "latency_ms", "tokens_input", "tokens_output"],
                &at.child(".result"),
                losses,
            );
        }
        let content = result.and_then(|result| string_member(result, "content")).unwrap_or_default();
        let number = |name: &str| result.and_then(|result| result.member(name)?.unsigned_integer());
        if items.len() > 1 {
            items.push(b',');
        }
        let hash = string_member(interaction, "prompt_hash").unwrap_or_default();
        let hash = hash.strip_prefix("sha256:").unwrap_or(&hash);
        let item = ObjectBuilder::new()
            .optional_number("i", Some(index))
            .string("prompt_hash", &format!("sha256:{hash}"))
            .string("response_content", &content)
            .string("response_hash", &format!("sha256:{}", Digest::of(content.as_bytes())))
            .optional_number("tokens_input", number("tokens_input"))
            .optional_number("tokens_output", number("tokens_output"))
            .optional_number("latency_ms", number("latency_ms"));
        items.extend_from_slice(&item.close());
    }
    items.push(b']');
    let time = |name: &str| string_member(session, name).and_then(|time| event_time::event_timestamp(&time));
    Ok(ObjectBuilder::new()
        .string("model_io_schema_version", reenact_formats::model_io::VERSION)
        .string("adapter_id", "reenact/recording")
        .string("model_id", &string_member(session, "model_id").unwrap_or_default())
        .string("mode", "record")
        .optional_string("created_at_utc", time("started_at").as_deref())
        .optional_string("ended_at_utc", time("ended_at").as_deref())
        .raw("interactions", &items)
        .close())
}

/// Returns a timeline as an artifact of tool calls. Times of entries count from the beginning of the session.
///
/// Entries other than calls and results become events without a payload, which exporters list as lost.
fn timeline_as_artifact(main: &[u8], losses: &mut Losses) -> Result<Vec<u8>, ConvertError> {
    let session = parse(main)?;
    let id = string_member(session, "id").unwrap_or_default();
    note_other_members(
        session,
        &["version", "id", "created_at", "timeline"],
        &SourcePath::At("$".into()),
        losses,
    );
    let start =
        string_member(session, "created_at").and_then(|time| reenact_formats::rer::time::instant(&time));
    let mut events = UnsignedArtifactWriter::new(id.strip_prefix("replay_").unwrap_or(&id));
    let mut calls = OpenToolCalls::default();
    let entries = session.member("timeline").into_iter().flat_map(|list| list.elements());
    for (index, entry) in entries.enumerate() {
        let at = SourcePath::Item("$.timeline[", index, "]".into());
        let elapsed = entry.member("t").and_then(|t| t.unsigned_integer()).map(|t| i128::from(t) * 1_000_000);
        let time = start
            .zip(elapsed)
            .and_then(|(start, elapsed)| event_time::timestamp_of_nanoseconds(start + elapsed));
        let tool = string_member(entry, "tool").unwrap_or_default();
        let data = entry.member("data").filter(|data| data.kind() == ValueKind::Object);
        let part = |name: &str| data.and_then(|data| data.member(name)).or(data);
        match string_member(entry, "type").unwrap_or_default().as_ref() {
            "tool_call" => {
                note_tool_entry_losses(entry, data, "input", &at, losses);
                let id = calls.open(&tool);
                let input = part("input").map_or(b"null".as_slice(), |input| input.text());
                let call = ObjectBuilder::new()
                    .string("step_id", &id)
                    .string("tool", &tool)
                    .raw("input", input)
                    .close();
                events.push(EventType::ToolCalled.name(), time.as_deref(), Some(call));
            }
            "tool_result" => {
                note_tool_entry_losses(entry, data, "result", &at, losses);
                let output = part("result").map_or(b"null".as_slice(), |output| output.text());
                let result = ObjectBuilder::new()
                    .optional_string("step_id", calls.close(&tool).as_deref())
                    .string("tool", &tool)
                    .raw("output", output)
                    .raw("is_error", b"false")
                    .close();
                events.push(EventType::ToolReturned.name(), time.as_deref(), Some(result));
            }
            _ => events.push("reenact.session_timeline.entry", time.as_deref(), None),
        }
    }
    Ok(events.close())
}

/// Adds the members of a timeline's entry to the losses, except its tool and the part of its data that is kept.
fn note_tool_entry_losses(
    entry: Value<'_>,
    data: Option<Value<'_>>,
    exported: &str,
    at: &SourcePath,
    losses: &mut Losses,
) {
    note_other_members(entry, &["t", "type", "tool", "data"], at, losses);
    match data {
        // Data without that part is kept as a whole.
        Some(data) if data.member(exported).is_some() => {
            note_other_members(data, &[exported], &at.child(".data"), losses)
        }
        Some(_) => {}
        None if entry.member("data").is_some() => losses.add(at.child(".data"), "it is no JSON object"),
        None => {}
    }
}

/// Returns the members of a typed line that are kept, as pairs of their name in REPLAY.jsonl and their name in
/// the typed replay; `None` for lines whose members all stay as they are.
fn renamed_members(tag: &str) -> Option<&'static [(&'static str, &'static str)]> {
    Some(match tag {
        "ToolCall" => {
            &[("id", "step_id"), ("tool", "tool"), ("params", "params"), ("params_hash", "params_hash")]
        }
        "ToolResult" => &[
            ("id", "step_id"),
            ("output_hash", "output_hash"),
            ("latency_ms", "latency_ms"),
            ("step_utility", "step_utility"),
        ],
        "Verification" => &[("verification_delta", "verification_delta")],
        _ => return None,
    })
}

/// Returns a typed replay as the lines of a REPLAY.jsonl.
fn typed_as_replay_jsonl(main: &[u8], losses: &mut Losses) -> Result<Vec<u8>, ConvertError> {
    let mut out = Vec::new();
    for (index, line) in lines(main).enumerate() {
        let at = SourcePath::Item("$[", index, "]".into());
        let Ok(line) = line else {
            losses.add(at, "it is no JSON object");
            out.extend_from_slice(b"{}\n");
            continue;
        };
        out.extend_from_slice(&typed_line(line, &at, losses));
        out.push(b'\n');
    }
    Ok(out)
}

/// Returns one line of a typed replay as a line of REPLAY.jsonl. `ok: false` becomes the exit code 1, and the
/// one command of a verification becomes a list.
fn typed_line(line: Value<'_>, at: &SourcePath, losses: &mut Losses) -> Vec<u8> {
    let tag = string_member(line, "type").unwrap_or_default();
    let mut object = ObjectBuilder::new().string("event", &tag);
    if let Some(time) = string_member(line, "ts") {
        object = object.string("t", &time);
    }
    let Some(names) = renamed_members(&tag) else {
        let rest = line.members().filter(|(name, _)| !name.is_string("type") && !name.is_string("ts"));
        return rest
            .fold(object, |object, (name, value)| {
                object.raw(&name.string().unwrap_or_default(), value.text())
            })
            .close();
    };
    let mut exported = vec!["type", "ts"];
    for (name, from) in names {
        exported.push(from);
        if let Some(value) = line.member(from) {
            object = object.raw(name, value.text());
        }
    }
    match tag.as_ref() {
        "ToolResult" => {
            let is_error = line.member("ok").and_then(|ok| ok.boolean()) == Some(false);
            object = object.raw("exit_code", if is_error { b"1" } else { b"null" });
            exported.extend(["ok", "tool"]);
        }
        "Verification" => {
            let list = |name: &str| match line.member(name) {
                Some(value) => [b"[", value.text(), b"]"].concat(),
                None => b"[]".to_vec(),
            };
            object = object.raw("commands", &list("command")).raw("exit_codes", &list("exit_code"));
            exported.extend(["command", "exit_code"]);
        }
        _ => {}
    }
    note_other_members(line, &exported, at, losses);
    object.close()
}
