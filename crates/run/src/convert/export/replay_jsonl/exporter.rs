//! Exporter of one run to REPLAY.jsonl: takes events one by one and writes the line of each at once.
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
//! Nothing here looks ahead, so that a run that is being recorded is written by the same code as one that is over. Start
//! reading at [`ReplayJsonlExporter::write_event`].

use std::collections::BTreeMap;

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::hash;
use reenact_formats::replay_jsonl::writer::{
    ReplayJsonlEvent as Line, ReplayJsonlSession, ReplayJsonlWriter, ReplayStore, SessionStatus, StepStatus,
};
use reenact_formats::rer::EventType;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Value, ValueKind};

use super::super::loss_notes::{
    UNREADABLE, WITHHELD, member_path, note_lost_event, note_other_members, source_path, widest_limits,
};
use super::super::object_builder::quoted;
use super::super::unique_ids::UniqueIds;
use super::pr_summary::PrSummary;
use crate::convert::error::ConvertError;
use crate::convert::event_time;
use crate::convert::loss::{Losses, SourcePath};
use crate::event::Event;
use crate::run::Run;
use crate::tool::{RecordedToolCall, RecordedToolResult, ToolUse};

/// Reason of outputs of tools.
const ONLY_THE_HASH: &str = "only the hash of the output is kept";
/// Reason of `output_hash`, if neither the output nor its hash is recorded.
const NO_OUTPUT: &str = "the source holds no output; the hash of null is written";
/// Reason of a result that is made up for a call without one.
const NO_RESULT: &str = "no result of it is recorded; one of which nothing is known is written";
/// Reason of an exit code that is made of a flag.
const ONLY_FAILED: &str = "the source tells only that it failed; 1 is written";
/// Reason of a utility of a step that no call is known to belong to.
const NO_CALL_OF_STEP: &str = "no tool call is known to belong to the step";
/// Reason of a default `step_utility`.
const UTILITY: &str = "the source tells no utility; 0 is written";
/// Reason of a default `policy_version`.
const POLICY: &str = "the source names no policy of this format; \"unknown\" is written";
/// Reason of a default `confidence`.
const CONFIDENCE: &str = "the source tells no confidence; 0 is written";
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
/// Reason of a default `latency_ms`.
const NO_LATENCY: &str = "the source tells no latency; 0 is written";

/// Members of an RER payload that a result keeps.
const RESULT_OF_RER: [&str; 9] =
    ["step_id", "tool_call_id", "tool", "output", "is_error", "exit_code", "latency_ms", "salt", "source"];
/// Members of a line of REPLAY.jsonl that a result keeps; lines of typed replays are shown as such.
const RESULT_OF_LINE: [&str; 8] =
    ["event", "t", "id", "output_hash", "exit_code", "step_utility", "latency_ms", "ok"];

/// Facts of a session that its first lines and its summary need.
pub(super) struct SessionFacts<'a> {
    /// Id that can name a folder.
    pub(super) session_id: String,
    /// Policy in force, if the source names one of this format.
    pub(super) policy: Option<String>,
    /// Confidence in the result, from 0 to 1, if the source tells one.
    pub(super) confidence: Option<f32>,
    /// Start of the session, as events have times.
    pub(super) started_at: String,
    /// Version of the program that writes.
    pub(super) version: &'a str,
}

/// Result of an export.
pub(super) struct WrittenReplay<W> {
    /// Replay, synced.
    pub(super) out: W,
    pub(super) receipt: Vec<u8>,
    pub(super) summary: String,
    pub(super) losses: Losses,
}

/// Call whose result was not written yet.
struct OpenCall {
    /// Id under which the call was written.
    id: String,
    /// Path of its event in the source.
    at: SourcePath,
}

/// Exporter of one run: writes a line for each event that has a place in the format.
pub(super) struct ReplayJsonlExporter<W> {
    replay: ReplayJsonlWriter<W>,
    started_at: String,
    session_id: String,
    confidence: Option<f32>,
    /// Time of the last event, which an event without a time takes over.
    last_time: String,
    /// Calls without a result, by the index of their event.
    open_calls: BTreeMap<usize, OpenCall>,
    has_plan: bool,
    ids: UniqueIds,
    hasher: Hasher,
    summary: PrSummary,
    losses: Losses,
}

impl<W: ReplayStore> ReplayJsonlExporter<W> {
    /// Writes the first two lines. `losses` are those of the source outside of its events.
    pub(super) fn start(
        out: W,
        session: &SessionFacts<'_>,
        mut losses: Losses,
    ) -> Result<Self, ConvertError> {
        if session.policy.is_none() {
            losses.add(SourcePath::At("policy_version".into()), POLICY);
        }
        if session.confidence.is_none() {
            losses.add(SourcePath::At("confidence".into()), CONFIDENCE);
        }
        let first = ReplayJsonlSession {
            producer: &format!("reenact@{}", session.version),
            session_id: &session.session_id,
            issue_number: None,
            policy: session.policy.as_deref().unwrap_or("unknown"),
            started_at: &session.started_at,
        };
        Ok(Self {
            replay: ReplayJsonlWriter::start(out, &first)?,
            started_at: session.started_at.clone(),
            session_id: session.session_id.clone(),
            confidence: session.confidence,
            last_time: session.started_at.clone(),
            open_calls: BTreeMap::new(),
            has_plan: false,
            ids: UniqueIds::default(),
            hasher: Hasher::new(),
            summary: PrSummary::default(),
            losses,
        })
    }

    /// Returns the losses so far.
    pub(super) fn losses(&mut self) -> &mut Losses {
        &mut self.losses
    }

    /// Writes the last line, and syncs the replay. A call without a result gets one of which nothing is known, since the
    /// format has no call without one. `ended` is the payload of the event that ended the run.
    pub(super) fn end(
        mut self,
        ended_at: Option<String>,
        status: SessionStatus,
        ended: Option<Value<'_>>,
    ) -> Result<WrittenReplay<W>, ConvertError> {
        for (_, OpenCall { id, at }) in std::mem::take(&mut self.open_calls) {
            self.losses.add(at, NO_RESULT);
            self.write_unknown_result(&id)?;
        }
        if !self.has_plan {
            self.losses.add(SourcePath::At("PlanStart".into()), NO_PLAN);
        }
        if let Some(files) = ended.and_then(|ended| ended.member("files")).filter(|files| !files.is_null()) {
            self.summary.set_files(files);
        }
        let Self { replay, started_at, session_id, confidence, last_time, summary, losses, .. } = self;
        let figures = replay.totals();
        let ended_at = ended_at.unwrap_or(last_time);
        let (out, receipt) = replay.end(&ended_at, status, confidence.unwrap_or(0.0))?;
        let summary =
            summary.to_markdown(&figures, &session_id, (&started_at, &ended_at), status, confidence);
        Ok(WrittenReplay { out, receipt, summary, losses })
    }

    /// Writes the line of an event, or adds the event to the losses. `utility` is that of a result, where the run that the event
    /// is in does not tell it.
    pub(super) fn write_event(
        &mut self,
        run: &Run,
        event: &Event<'_>,
        utility: Option<f32>,
    ) -> Result<(), ConvertError> {
        match event.time().as_deref().and_then(event_time::event_timestamp) {
            Some(time) => self.last_time = time,
            None if matches!(event.kind(), Some(EventType::ToolCalled | EventType::ToolReturned)) => {
                self.losses.add(source_path(run, event).child(".t"), NO_TIME);
            }
            None => {}
        }
        match event.kind() {
            Some(EventType::ToolCalled) => self.write_call(run, event),
            Some(EventType::ToolReturned) => self.write_return(run, event, utility),
            Some(EventType::PlanStarted) => self.write_plan(run, event),
            Some(EventType::StepCompleted) => self.write_step(run, event),
            Some(EventType::VerificationRan) => self.write_verifications(run, event),
            Some(EventType::RunStarted | EventType::RunEnded) if event.payload_format() == FormatId::Rer => {
                if let Some(payload) = event.payload().value() {
                    let exported = ["status", "salt", "source", "envelope_hash"];
                    note_other_members(
                        payload,
                        &exported,
                        &source_path(run, event).child(".payload"),
                        &mut self.losses,
                    );
                } else {
                    note_lost_event(run, event, &mut self.losses);
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
                    note_other_members(line, &exported, &source_path(run, event), &mut self.losses);
                }
                Ok(())
            }
            _ => {
                note_lost_event(run, event, &mut self.losses);
                Ok(())
            }
        }
    }

    /// Writes a tool call. An event that is both call and result gives two lines at once.
    fn write_call(&mut self, run: &Run, event: &Event<'_>) -> Result<(), ConvertError> {
        let at = source_path(run, event);
        let tool = ToolUse { called: *event, returned: None };
        let Ok(call) = tool.call() else {
            self.losses.add(at, if event.is_withheld() { WITHHELD } else { UNREADABLE });
            return Ok(());
        };
        let id = self.assign_id(run, event, &call);
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
            note_other_members(payload, &exported, &at.child(".payload"), &mut self.losses);
        }
        self.open_calls.insert(event.index(), OpenCall { id, at });
        if event.partner() == Some(event.index()) { self.write_return(run, event, None) } else { Ok(()) }
    }

    /// Returns a unique id for a call: its own one if that is free. Calls without an id are numbered `tc_001`
    /// and so on.
    fn assign_id(&mut self, run: &Run, event: &Event<'_>, call: &RecordedToolCall<'_>) -> String {
        let step_id = event.step_id();
        let own = call.tool_call_id.as_deref().filter(|id| !id.is_empty()).unwrap_or(&step_id);
        let numbered = format!("tc_{:03}", self.ids.len() + 1);
        let (id, is_free) = self.ids.assign(if own.is_empty() { &numbered } else { own }, event.index());
        if !is_free {
            self.losses.add(source_path(run, event), RENAMED);
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

    /// Writes the result of an open call. A result whose call was not written is lost; of one that is withheld or cannot be
    /// read nothing is known.
    fn write_return(
        &mut self,
        run: &Run,
        event: &Event<'_>,
        utility: Option<f32>,
    ) -> Result<(), ConvertError> {
        let Some(open) = event.partner().and_then(|called| self.open_calls.remove(&called)) else {
            note_lost_event(run, event, &mut self.losses);
            return Ok(());
        };
        let tool = ToolUse { called: *event, returned: Some(*event) };
        match tool.result() {
            Ok(result) => {
                let utility = result.utility.or(utility);
                self.write_result(run, event, &open.id, &RecordedToolResult { utility, ..result })
            }
            Err(_) => {
                let why = if event.is_withheld() { WITHHELD } else { UNREADABLE };
                self.losses.add(source_path(run, event), why);
                self.write_unknown_result(&open.id)
            }
        }
    }

    /// Writes a result of which nothing is known.
    fn write_unknown_result(&mut self, id: &str) -> Result<(), ConvertError> {
        let line =
            Line::ToolResult { id, output_hash: None, exit_code: None, step_utility: None, latency_ms: None };
        Ok(self.replay.emit(&self.last_time, &line)?)
    }

    /// Writes the result of a call; `event` holds it. The output is hashed by the rules of the format; without
    /// an output, a hash that the source carries is kept.
    fn write_result(
        &mut self,
        run: &Run,
        event: &Event<'_>,
        id: &str,
        result: &RecordedToolResult<'_>,
    ) -> Result<(), ConvertError> {
        let at = source_path(run, event);
        let carried = result
            .output_hash
            .as_deref()
            .and_then(|hash| Digest::from_hex(hash.strip_prefix("sha256:").unwrap_or(hash)));
        let output = result.output.as_ref().and_then(|output| output.value());
        let computed = output.and_then(|output| hash::digest(output, &mut self.hasher).ok());
        let output_hash = match (carried, computed) {
            (Some(carried), None) => Some(carried),
            (_, Some(computed)) => {
                self.losses.add(member_path(run, event, "output"), ONLY_THE_HASH);
                Some(computed)
            }
            (None, None) => {
                self.losses.add(member_path(run, event, "output"), NO_OUTPUT);
                None
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
        if result.exit_code.is_none() && result.is_error {
            self.losses.add(at.child(".exit_code"), ONLY_FAILED);
        }
        let exported: &[&str] = match event.payload_format() {
            FormatId::Rer => &RESULT_OF_RER,
            FormatId::ReplayJsonl => &RESULT_OF_LINE,
            _ => &[],
        };
        if let Some(payload) = event.payload().value().filter(|_| !exported.is_empty()) {
            note_other_members(payload, exported, &payload_path(run, event), &mut self.losses);
        }
        let latency = result.latency.map(|latency| u64::try_from(latency.as_millis()).unwrap_or(u64::MAX));
        let line = Line::ToolResult {
            id,
            output_hash,
            exit_code: exit_code.or_else(|| result.is_error.then_some(1)),
            step_utility: utility,
            latency_ms: latency,
        };
        Ok(self.replay.emit(&self.last_time, &line)?)
    }

    /// Writes the start of a plan: its hash and the number of its steps. A hash that the source carries is
    /// kept; else the list of steps is hashed.
    fn write_plan(&mut self, run: &Run, event: &Event<'_>) -> Result<(), ConvertError> {
        let Some(payload) = event.payload().value() else {
            note_lost_event(run, event, &mut self.losses);
            return Ok(());
        };
        self.has_plan = true;
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
                .add(member_path(run, event, "steps"), "only the hash and the number of steps are kept");
        }
        let at = payload_path(run, event);
        if payload.member("step_count").or(steps).is_none() {
            self.losses.add(at.child(".step_count"), NO_STEP_COUNT);
        }
        let plan_hash = carried.or_else(computed).unwrap_or_else(|| {
            self.losses.add(at.child(".plan_hash"), NO_PLAN_HASH);
            Digest::of(b"null")
        });
        let exported = ["event", "t", "plan_hash", "steps", "step_count", "salt", "source"];
        note_other_members(payload, &exported, &at, &mut self.losses);
        Ok(self.replay.emit(&self.last_time, &Line::PlanStart { plan_hash, step_count })?)
    }

    /// Writes the end of a plan's step. Words for a status that the format does not know become `Failed`, which
    /// is listed as a loss.
    fn write_step(&mut self, run: &Run, event: &Event<'_>) -> Result<(), ConvertError> {
        let Some(payload) = event.payload().value() else {
            note_lost_event(run, event, &mut self.losses);
            return Ok(());
        };
        let at = payload_path(run, event);
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
        let exported = ["event", "t", "step_id", "status", "iterations", "salt", "source", "utility"];
        let is_reported = payload.member("utility").is_some_and(|utility| !utility.is_null());
        if is_reported && !event.run.step_utilities().is_used(&step_id) {
            self.losses.add(at.child(".utility"), NO_CALL_OF_STEP);
        }
        note_other_members(payload, &exported, &at, &mut self.losses);
        let line = Line::StepComplete { step_id: &step_id, status, iterations: iterations.unwrap_or(1) };
        Ok(self.replay.emit(&self.last_time, &line)?)
    }

    /// Writes a verification: its commands, their exit codes, and the delta. Exit codes that are missing are
    /// written as 1.
    fn write_verifications(&mut self, run: &Run, event: &Event<'_>) -> Result<(), ConvertError> {
        let Some(payload) = event.payload().value() else {
            note_lost_event(run, event, &mut self.losses);
            return Ok(());
        };
        let at = payload_path(run, event);
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
        note_other_members(payload, &exported, &at, &mut self.losses);
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
