//! Export to REPLAY.jsonl, with RECEIPT.json and PR_SUMMARY.md: tool calls, plans, steps and verifications. The
//! replay keeps the hashes of outputs.
//!
//! | event | line |
//! |---|---|
//! | `rer.run.started`, `rer.run.ended` | `SessionStart`, `SessionEnd` |
//! | `rer.plan.started` | `PlanStart` |
//! | `rer.tool.called`, `rer.tool.returned` | `ToolCall`, `ToolResult` |
//! | `rer.step.completed` | `StepComplete` |
//! | `rer.verification.ran` | `Verification` |
//! | all others | lost |
//!
//! The format requires values that few sources tell, such as utilities and a confidence. They are written with
//! a default, and each default is listed as a loss, so that a reader does not take it for a fact. Start reading
//! at `ReplayJsonlExporter::write_event`.

use std::collections::HashMap;

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::writer::{
    ReplayJsonlEvent as Line, ReplayJsonlSession, ReplayJsonlWriter, SessionStatus, StepStatus,
};
use reenact_formats::replay_jsonl::{RECEIPT, REPLAY, ReplayJsonlWriteError, SUMMARY, hash};
use reenact_formats::rer::EventType;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Value, ValueKind};

use super::ExportContext;
use super::loss_notes::{
    NO_ANSWER, UNREADABLE, WITHHELD, member_path, note_lost_event, note_other_members, source_path,
    widest_limits,
};
use super::object_builder::quoted;
use super::pr_summary::{self, PrSummary};
use super::unique_ids::UniqueIds;
use crate::convert::error::ConvertError;
use crate::convert::event_time;
use crate::convert::loss::{Losses, SourcePath};
use crate::convert::source::RecordFile;
use crate::event::Event;
use crate::reader::replay_jsonl::finite_f32;
use crate::run::Run;
use crate::tool::{RecordedToolCall, RecordedToolResult, ToolUse};

/// Reason of outputs of tools.
const ONLY_THE_HASH: &str = "only the hash of the output is kept";
/// Reason of `output_hash`, if neither the output nor its hash is recorded.
const NO_OUTPUT: &str = "the source holds no output; the hash of null is written";
/// Reason of a default `step_utility`.
const UTILITY: &str = "the source tells no utility; 0 is written";
/// Reason of a default `policy_version`.
const POLICY: &str = "the source names no policy of this format; \"unknown\" is written";
/// Reason of a default `confidence`.
const CONFIDENCE: &str = "the source tells no confidence; 0 is written";
/// Reason of a default `status`, if the source has none.
const NO_STATUS: &str = "the source does not tell how it ended; Failed is written";
/// Reason of a default `status`, if the source has another word.
const OTHER_STATUS: &str = "the format does not know the word for how it ended; Failed is written";
/// Reason of a default `plan_hash`.
const NO_PLAN_HASH: &str = "the source holds no plan to hash; the hash of null is written";
/// Reason of a default `step_count`.
const NO_STEP_COUNT: &str = "the source tells no number of steps; 0 is written";
/// Reason of exit codes that are out of range.
const EXIT_CODE: &str = "the format holds exit codes of 32 bits; it is left out";
/// Reason of a replay without a plan.
const NO_PLAN: &str = "the source has no plan, so that there is no PlanStart";
/// Reason of ids of calls that are not unique in the source.
const RENAMED: &str = "two calls have this id; another is written";
/// Reason of params that have no hash in this format.
const AS_TEXT: &str = "the format cannot write a number in it; it is written as a string";
/// Reason of tool calls and results without a time.
const NO_TIME: &str = "the source tells no time; that of the event before is written";
/// Reason of a session id that the format refuses.
const SESSION_ID: &str = "the id cannot name a folder; another is written";
/// Reason of a made-up session id.
const NO_ID: &str = "the source names no session; one is made up";
/// Reason of a default `latency_ms`.
const NO_LATENCY: &str = "the source tells no latency; 0 is written";

/// Members of an RER payload that a result keeps.
const RESULT_OF_RER: [&str; 8] =
    ["step_id", "tool_call_id", "tool", "output", "is_error", "latency_ms", "salt", "source"];
/// Members of a line of REPLAY.jsonl that a result keeps; lines of typed replays are shown as such.
const RESULT_OF_LINE: [&str; 8] =
    ["event", "t", "id", "output_hash", "exit_code", "step_utility", "latency_ms", "ok"];

/// Writes a run as a replay, with its receipt and summary. Values that the format requires and the source does
/// not tell are made up, and listed as losses.
///
/// # Errors
/// If the writer of the format refuses a value.
pub(in crate::convert) fn write(
    run: &Run,
    context: &ExportContext<'_>,
    losses: &mut Losses,
) -> Result<Vec<RecordFile>, ConvertError> {
    let now = event_time::event_timestamp(context.now).unwrap_or_default();
    let started_at = run.started_at().as_deref().and_then(event_time::event_timestamp).unwrap_or(now);
    let producer = format!("reenact@{}", context.version);
    // Only a typed replay, which is shown as a REPLAY.jsonl, has these members.
    let own = |value: Option<Value<'_>>, names: &[&str]| {
        let value = value.filter(|_| run.payload_format() == FormatId::ReplayJsonl)?;
        names.iter().find_map(|name| value.member(name)).map(|value| value.text().to_vec())
    };
    let policy = own(run.started(), &["policy_bundle_id", "policy_version"]);
    let policy =
        policy.and_then(|text| Some(Value::parse(&text, &widest_limits()).ok()?.string()?.into_owned()));
    let confidence = own(run.ended(), &["confidence"]);
    let confidence = confidence.and_then(|text| finite_f32(Value::parse(&text, &widest_limits()).ok()?));
    let confidence = confidence.filter(|confidence| (0.0..=1.0).contains(confidence));
    let session = ReplayJsonlSession {
        producer: &producer,
        session_id: run.id(),
        issue_number: None,
        policy: policy.as_deref().unwrap_or("unknown"),
        started_at: &started_at,
    };
    if policy.is_none() {
        losses.add(SourcePath::At("policy_version".into()), POLICY);
    }
    if confidence.is_none() {
        losses.add(SourcePath::At("confidence".into()), CONFIDENCE);
    }
    let mut made_up_id = String::new();
    let replay = match ReplayJsonlWriter::start(Vec::new(), &session) {
        Err(ReplayJsonlWriteError::SessionId) => {
            let (_, digest) = context.source;
            made_up_id.extend(digest.to_string().chars().take(16));
            let why = if run.id().is_empty() { NO_ID } else { SESSION_ID };
            losses.add(SourcePath::At("session_id".into()), why);
            ReplayJsonlWriter::start(Vec::new(), &ReplayJsonlSession { session_id: &made_up_id, ..session })?
        }
        started => started?,
    };
    let mut exporter = ReplayJsonlExporter {
        run,
        replay,
        last_time: started_at.clone(),
        open_calls: HashMap::new(),
        ids: UniqueIds::default(),
        hasher: Hasher::new(),
        summary: PrSummary::default(),
        losses,
    };
    for event in run.events() {
        exporter.write_event(&event)?;
    }
    if !run.events().any(|event| event.kind() == Some(EventType::PlanStarted)) {
        exporter.losses.add(SourcePath::At("PlanStart".into()), NO_PLAN);
    }
    let status = session_status(run, exporter.losses);
    let ended_at = run.ended_at().as_deref().and_then(event_time::event_timestamp);
    let ReplayJsonlExporter { replay, last_time: time, summary: told, .. } = exporter;
    let figures = replay.totals();
    let ended_at = ended_at.unwrap_or(time);
    let (bytes, receipt) = replay.end(&ended_at, status, confidence.unwrap_or(0.0))?;
    let session_id = if made_up_id.is_empty() { run.id() } else { &made_up_id };
    let summary =
        pr_summary::markdown(&told, &figures, session_id, (&started_at, &ended_at), status, confidence);
    Ok(vec![
        RecordFile { name: REPLAY.into(), bytes },
        RecordFile { name: RECEIPT.into(), bytes: receipt },
        RecordFile { name: SUMMARY.into(), bytes: summary.into_bytes() },
    ])
}

/// Returns the status of the run in the words of this format. An unknown status is no success.
fn session_status(run: &Run, losses: &mut Losses) -> SessionStatus {
    let said = run.ended().and_then(|ended| ended.member("status")?.string());
    match said.as_deref() {
        Some("completed" | "Success" | "success") => SessionStatus::Success,
        Some("failed" | "crashed" | "Failed" | "failure") => SessionStatus::Failed,
        Some("aborted" | "Cancelled" | "cancelled") => SessionStatus::Cancelled,
        Some("Timeout") => SessionStatus::Timeout,
        said => {
            let why = if said.is_some() { OTHER_STATUS } else { NO_STATUS };
            losses.add(SourcePath::At("status".into()), why);
            SessionStatus::Failed
        }
    }
}

/// Exporter of one run: writes a line for each event that has a place in the format.
struct ReplayJsonlExporter<'w> {
    run: &'w Run,
    replay: ReplayJsonlWriter<Vec<u8>>,
    /// Time of the last event, which an event without a time takes over.
    last_time: String,
    /// Ids under which open calls were written, by the index of their event.
    open_calls: HashMap<usize, String>,
    ids: UniqueIds,
    hasher: Hasher,
    summary: PrSummary,
    losses: &'w mut Losses,
}

impl ReplayJsonlExporter<'_> {
    /// Writes the line of an event, or adds the event to the losses.
    fn write_event(&mut self, event: &Event<'_>) -> Result<(), ConvertError> {
        match event.time().as_deref().and_then(event_time::event_timestamp) {
            Some(time) => self.last_time = time,
            None if matches!(event.kind(), Some(EventType::ToolCalled | EventType::ToolReturned)) => {
                self.losses.add(source_path(self.run, event).child(".t"), NO_TIME);
            }
            None => {}
        }
        match event.kind() {
            Some(EventType::ToolCalled) => self.write_call(event),
            Some(EventType::ToolReturned) => self.write_return(event),
            Some(EventType::PlanStarted) => self.write_plan(event),
            Some(EventType::StepCompleted) => self.write_step(event),
            Some(EventType::VerificationRan) => self.write_verifications(event),
            Some(EventType::RunStarted | EventType::RunEnded) if event.payload_format() == FormatId::Rer => {
                if let Some(payload) = event.payload().value() {
                    let exported = ["status", "salt", "source", "envelope_hash"];
                    note_other_members(
                        payload,
                        &exported,
                        &source_path(self.run, event).child(".payload"),
                        self.losses,
                    );
                } else {
                    note_lost_event(self.run, event, self.losses);
                }
                Ok(())
            }
            Some(EventType::RunStarted | EventType::RunEnded)
                if event.payload_format() == FormatId::ReplayJsonl =>
            {
                if let Some(line) = event.payload().value() {
                    let exported = [
                        "event",
                        "t",
                        "session_id",
                        "policy_bundle_id",
                        "policy_version",
                        "status",
                        "confidence",
                    ];
                    note_other_members(line, &exported, &source_path(self.run, event), self.losses);
                }
                Ok(())
            }
            _ => {
                note_lost_event(self.run, event, self.losses);
                Ok(())
            }
        }
    }

    /// Writes a tool call. A call without a result is lost, since the format requires both. An event that is
    /// both call and result gives two lines at once.
    fn write_call(&mut self, event: &Event<'_>) -> Result<(), ConvertError> {
        let at = source_path(self.run, event);
        let returned = event.partner().and_then(|partner| self.run.event(partner));
        let tool = ToolUse { called: *event, returned };
        let (call, result) = match (tool.call(), tool.result()) {
            (Ok(call), Ok(result)) => (call, result),
            (Err(_), _) => {
                self.losses.add(at, if event.is_withheld() { WITHHELD } else { UNREADABLE });
                return Ok(());
            }
            (_, Err(_)) => {
                self.losses.add(at, NO_ANSWER);
                return Ok(());
            }
        };
        let id = self.assign_id(event, &call);
        let params = match &call.input {
            Some(input) => self.writable_params(input.text(), &at),
            None => b"null".to_vec(),
        };
        let plan_step = call.step_id.as_deref().unwrap_or_default().to_owned();
        let line = Line::ToolCall { id: &id, tool: &call.tool, params: &params, step_id: &plan_step };
        self.replay.emit(&self.last_time, &line)?;
        self.summary.count_call(&call.tool);
        if event.payload_format() == FormatId::Rer
            && let Some(payload) = event.payload().value()
        {
            let exported = ["step_id", "tool_call_id", "tool", "input", "salt", "source"];
            note_other_members(payload, &exported, &at.child(".payload"), self.losses);
        }
        if event.partner() == Some(event.index()) {
            return self.write_result(event, &id, &result);
        }
        self.open_calls.insert(event.index(), id);
        Ok(())
    }

    /// Returns a unique id for a call: its own one if that is free. Calls without an id are numbered `tc_001`
    /// and so on.
    fn assign_id(&mut self, event: &Event<'_>, call: &RecordedToolCall<'_>) -> String {
        let step_id = event.step_id();
        let own = call.tool_call_id.as_deref().filter(|id| !id.is_empty()).unwrap_or(&step_id);
        let numbered = format!("tc_{:03}", self.ids.len() + 1);
        let (id, is_free) = self.ids.assign(if own.is_empty() { &numbered } else { own }, event.index());
        if !is_free {
            self.losses.add(source_path(self.run, event), RENAMED);
        }
        id
    }

    /// Returns params that the format can write. Params with a number that it cannot write become a string.
    fn writable_params(&mut self, text: &[u8], at: &SourcePath) -> Vec<u8> {
        let value = Value::parse(text, &widest_limits()).ok();
        if value.is_some_and(|value| hash::digest(value, &mut self.hasher).is_ok()) {
            return text.to_vec();
        }
        self.losses.add(at.child(".params"), AS_TEXT);
        quoted(&String::from_utf8_lossy(text))
    }

    /// Writes the result of an open call. A result whose call was not written is lost.
    fn write_return(&mut self, event: &Event<'_>) -> Result<(), ConvertError> {
        let id = event.partner().and_then(|called| self.open_calls.remove(&called));
        let tool = ToolUse { called: *event, returned: Some(*event) };
        match (id, tool.result()) {
            (Some(id), Ok(result)) => self.write_result(event, &id, &result),
            _ => {
                note_lost_event(self.run, event, self.losses);
                Ok(())
            }
        }
    }

    /// Writes the result of a call; `event` holds it. The output is hashed by the rules of the format; without
    /// an output, a hash that the source carries is kept.
    fn write_result(
        &mut self,
        event: &Event<'_>,
        id: &str,
        result: &RecordedToolResult<'_>,
    ) -> Result<(), ConvertError> {
        let at = source_path(self.run, event);
        let carried = result
            .output_hash
            .as_deref()
            .and_then(|hash| Digest::from_hex(hash.strip_prefix("sha256:").unwrap_or(hash)));
        let output = result.output.as_ref().and_then(|output| output.value());
        let computed = output.and_then(|output| hash::digest(output, &mut self.hasher).ok());
        let output_hash = match (carried, computed) {
            (Some(carried), None) => carried,
            (_, Some(computed)) => {
                self.losses.add(member_path(self.run, event, "output"), ONLY_THE_HASH);
                computed
            }
            (None, None) => {
                self.losses.add(member_path(self.run, event, "output"), NO_OUTPUT);
                Digest::of(b"null")
            }
        };
        let utility = result.utility.filter(|utility| (-1.0..=1.0).contains(utility));
        if utility.is_none() {
            self.losses.add(at.child(".step_utility"), UTILITY);
        }
        if result.latency.is_none() {
            self.losses.add(at.child(".latency_ms"), NO_LATENCY);
        }
        let exit_code = result.exit_code.and_then(|code| i32::try_from(code).ok());
        if exit_code.is_none() && result.exit_code.is_some() {
            self.losses.add(at.child(".exit_code"), EXIT_CODE);
        }
        let exported: &[&str] = match event.payload_format() {
            FormatId::Rer => &RESULT_OF_RER,
            FormatId::ReplayJsonl => &RESULT_OF_LINE,
            _ => &[],
        };
        if let Some(payload) = event.payload().value().filter(|_| !exported.is_empty()) {
            note_other_members(payload, exported, &payload_path(self.run, event), self.losses);
        }
        let latency = result.latency.map_or(0, |latency| latency.as_millis());
        let line = Line::ToolResult {
            id,
            output_hash,
            exit_code: exit_code.or_else(|| result.is_error.then_some(1)),
            step_utility: utility.unwrap_or(0.0),
            latency_ms: u64::try_from(latency).unwrap_or(u64::MAX),
        };
        Ok(self.replay.emit(&self.last_time, &line)?)
    }

    /// Writes the start of a plan: its hash and the number of its steps. A hash that the source carries is
    /// kept; else the list of steps is hashed.
    fn write_plan(&mut self, event: &Event<'_>) -> Result<(), ConvertError> {
        let Some(payload) = event.payload().value() else {
            note_lost_event(self.run, event, self.losses);
            return Ok(());
        };
        let steps = payload.member("steps");
        let carried = payload.member("plan_hash").and_then(|hash| hash.string());
        let carried =
            carried.and_then(|hash| Digest::from_hex(hash.strip_prefix("sha256:").unwrap_or(&hash)));
        let computed = || hash::digest(steps?, &mut Hasher::new()).ok();
        let step_count = payload.member("step_count").or(steps).map_or(0, |steps| match steps.kind() {
            ValueKind::Array => steps.elements().count() as u64,
            _ => steps.unsigned_integer().unwrap_or(0),
        });
        if steps.is_some_and(|steps| steps.kind() != ValueKind::Number) {
            self.losses
                .add(member_path(self.run, event, "steps"), "only the hash and the number of steps are kept");
        }
        let at = payload_path(self.run, event);
        if payload.member("step_count").or(steps).is_none() {
            self.losses.add(at.child(".step_count"), NO_STEP_COUNT);
        }
        let plan_hash = carried.or_else(computed).unwrap_or_else(|| {
            self.losses.add(at.child(".plan_hash"), NO_PLAN_HASH);
            Digest::of(b"null")
        });
        let exported = ["event", "t", "plan_hash", "steps", "step_count", "salt", "source"];
        note_other_members(payload, &exported, &at, self.losses);
        Ok(self.replay.emit(&self.last_time, &Line::PlanStart { plan_hash, step_count })?)
    }

    /// Writes the end of a plan's step. Words for a status that the format does not know become `Failed`, which
    /// is listed as a loss.
    fn write_step(&mut self, event: &Event<'_>) -> Result<(), ConvertError> {
        let Some(payload) = event.payload().value() else {
            note_lost_event(self.run, event, self.losses);
            return Ok(());
        };
        let at = payload_path(self.run, event);
        let said = payload.member("status").and_then(|status| status.string()).unwrap_or_default();
        let status = match said.to_lowercase().as_str() {
            "success" | "succeeded" | "completed" | "done" | "ok" | "passed" => StepStatus::Success,
            "skipped" => StepStatus::Skipped,
            "maxiterationsreached" | "max_iterations_reached" => StepStatus::MaxIterationsReached,
            "failed" | "failure" | "error" => StepStatus::Failed,
            _ => {
                self.losses.add(at.child(".status"), "the format does not know the word; Failed is written");
                StepStatus::Failed
            }
        };
        let iterations =
            payload.member("iterations").and_then(|count| u8::try_from(count.unsigned_integer()?).ok());
        if iterations.is_none() {
            self.losses.add(at.child(".iterations"), "the source tells none that fit; 1 is written");
        }
        let step_id = payload.member("step_id").and_then(|id| id.string()).unwrap_or_default();
        let exported = ["event", "t", "step_id", "status", "iterations", "salt", "source"];
        note_other_members(payload, &exported, &at, self.losses);
        let line = Line::StepComplete { step_id: &step_id, status, iterations: iterations.unwrap_or(1) };
        Ok(self.replay.emit(&self.last_time, &line)?)
    }

    /// Writes a verification: its commands, their exit codes, and the delta. Exit codes that are missing are
    /// written as 1.
    fn write_verifications(&mut self, event: &Event<'_>) -> Result<(), ConvertError> {
        let Some(payload) = event.payload().value() else {
            note_lost_event(self.run, event, self.losses);
            return Ok(());
        };
        let at = payload_path(self.run, event);
        let list = |name: &str| payload.member(name).into_iter().flat_map(|list| list.elements());
        let commands: Vec<String> =
            list("commands").filter_map(|command| command.string().map(|text| text.into_owned())).collect();
        let mut exit_codes: Vec<i32> = list("exit_codes").filter_map(parse_i32).collect();
        if exit_codes.len() != commands.len() {
            self.losses
                .add(at.child(".exit_codes"), "not one for each command; those that are missing are 1");
            exit_codes.resize(commands.len(), 1);
        }
        let delta = payload.member("verification_delta").or_else(|| payload.member("delta"));
        let number = delta.and_then(parse_i32);
        if number.is_none() {
            self.losses.add(at.child(".delta"), "it is no whole number; 0 is written");
        }
        let exported =
            ["event", "t", "commands", "exit_codes", "delta", "verification_delta", "salt", "source"];
        note_other_members(payload, &exported, &at, self.losses);
        let words: Vec<&str> = commands.iter().map(String::as_str).collect();
        self.summary.add_verifications(&commands, &exit_codes);
        let delta = number.unwrap_or(0);
        let line =
            Line::Verification { commands: &words, exit_codes: &exit_codes, verification_delta: delta };
        Ok(self.replay.emit(&self.last_time, &line)?)
    }
}

/// Returns the path of an event's payload in its source.
fn payload_path(run: &Run, event: &Event<'_>) -> SourcePath {
    let at = source_path(run, event);
    if event.payload_format() == FormatId::Rer { at.child(".payload") } else { at }
}

/// Returns an integer of 32 bits, which may be negative.
fn parse_i32(value: Value<'_>) -> Option<i32> {
    core::str::from_utf8(value.text()).ok()?.parse().ok()
}
