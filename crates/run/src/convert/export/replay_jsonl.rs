//! A run → REPLAY.jsonl, with RECEIPT.json and PR_SUMMARY.md: tools that were called, plans, steps and verifications. Of an output
//! the hash is kept.

use std::collections::HashMap;

use reenact_formats::FormatId;
use reenact_formats::replay_jsonl::writer::{
    Event as Line, ReplayWriter, Session, SessionStatus, StepStatus,
};
use reenact_formats::replay_jsonl::{RECEIPT, REPLAY, SUMMARY, WriteError, hash};
use reenact_formats::rer::EventType;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Kind as JsonKind, Value};

use super::Exporting;
use super::account::{NO_ANSWER, UNREADABLE, WITHHELD, limits, lost, member_of, others, place};
use super::ids::Ids;
use super::json::quoted;
use super::summary::{self, Told};
use crate::convert::fault::ConvertError;
use crate::convert::loss::{Losses, Place};
use crate::convert::moment;
use crate::convert::source::File;
use crate::dialect::replay_jsonl::single;
use crate::event::Event;
use crate::run::Run;
use crate::tool::{ToolCall, ToolResult, ToolUse};

const ONLY_THE_HASH: &str = "only the hash of the output is kept";
const NO_OUTPUT: &str = "the source holds no output; the hash of null is written";
const UTILITY: &str = "the source tells no utility; 0 is written";
const POLICY: &str = "the source names no policy of this format; \"unknown\" is written";
const CONFIDENCE: &str = "the source tells no confidence; 0 is written";
const NO_STATUS: &str = "the source does not tell how it ended; Failed is written";
const OTHER_STATUS: &str = "the format does not know the word for how it ended; Failed is written";
const NO_PLAN_HASH: &str = "the source holds no plan to hash; the hash of null is written";
const NO_STEP_COUNT: &str = "the source tells no number of steps; 0 is written";
const EXIT_CODE: &str = "the format holds exit codes of 32 bits; it is left out";
const NO_PLAN: &str = "the source has no plan, so that there is no PlanStart";
const RENAMED: &str = "two calls have this id; another is written";
const AS_TEXT: &str = "the format cannot write a number in it; it is written as a string";
const NO_TIME: &str = "the source tells no time; that of the event before is written";
const SESSION_ID: &str = "the id cannot name a folder; another is written";
const NO_ID: &str = "the source names no session; one is made up";
const NO_LATENCY: &str = "the source tells no latency; 0 is written";

/// What a result keeps of an event that we recorded, and of a line of this format's other dialect.
const RESULT_OF_RER: [&str; 8] =
    ["step_id", "tool_call_id", "tool", "output", "is_error", "latency_ms", "salt", "source"];
const RESULT_OF_LINE: [&str; 8] =
    ["event", "t", "id", "output_hash", "exit_code", "step_utility", "latency_ms", "ok"];

pub(in crate::convert) fn write(
    run: &Run,
    how: &Exporting<'_>,
    losses: &mut Losses,
) -> Result<Vec<File>, ConvertError> {
    let now = moment::of_event(how.now).unwrap_or_default();
    let started_at = run.started_at().as_deref().and_then(moment::of_event).unwrap_or(now);
    let producer = format!("reenact@{}", how.version);
    // Only the other dialect of this format has these.
    let own = |value: Option<Value<'_>>, names: &[&str]| {
        let value = value.filter(|_| run.dialect() == FormatId::ReplayJsonl)?;
        names.iter().find_map(|name| value.member(name)).map(|value| value.text().to_vec())
    };
    let policy = own(run.started(), &["policy_bundle_id", "policy_version"]);
    let policy = policy.and_then(|text| Some(Value::parse(&text, &limits()).ok()?.string()?.into_owned()));
    let confidence = own(run.ended(), &["confidence"]);
    let confidence = confidence.and_then(|text| single(Value::parse(&text, &limits()).ok()?));
    let confidence = confidence.filter(|confidence| (0.0..=1.0).contains(confidence));
    let given = Session {
        producer: &producer,
        session_id: run.id(),
        issue_number: None,
        policy: policy.as_deref().unwrap_or("unknown"),
        started_at: &started_at,
    };
    if policy.is_none() {
        losses.add(Place::At("policy_version".into()), POLICY);
    }
    if confidence.is_none() {
        losses.add(Place::At("confidence".into()), CONFIDENCE);
    }
    let mut other_id = String::new();
    let replay = match ReplayWriter::start(Vec::new(), &given) {
        Err(WriteError::SessionId) => {
            let (_, digest) = how.source;
            other_id.extend(digest.to_string().chars().take(16));
            let why = if run.id().is_empty() { NO_ID } else { SESSION_ID };
            losses.add(Place::At("session_id".into()), why);
            ReplayWriter::start(Vec::new(), &Session { session_id: &other_id, ..given })?
        }
        started => started?,
    };
    let mut writer = Writer {
        run,
        replay,
        time: started_at.clone(),
        open: HashMap::new(),
        ids: Ids::default(),
        hasher: Hasher::new(),
        told: Told::default(),
        losses,
    };
    for event in run.events() {
        writer.event(&event)?;
    }
    if !run.events().any(|event| event.kind() == Some(EventType::PlanStarted)) {
        writer.losses.add(Place::At("PlanStart".into()), NO_PLAN);
    }
    let status = status(run, writer.losses);
    let ended_at = run.ended_at().as_deref().and_then(moment::of_event);
    let Writer { replay, time, told, .. } = writer;
    let figures = replay.figures();
    let ended_at = ended_at.unwrap_or(time);
    let (bytes, receipt) = replay.end(&ended_at, status, confidence.unwrap_or(0.0))?;
    let session_id = if other_id.is_empty() { run.id() } else { &other_id };
    let summary = summary::text(&told, &figures, session_id, (&started_at, &ended_at), status, confidence);
    Ok(vec![
        File { name: REPLAY.into(), bytes },
        File { name: RECEIPT.into(), bytes: receipt },
        File { name: SUMMARY.into(), bytes: summary.into_bytes() },
    ])
}

/// How the run ended, in the words of this format.
/// What is not known is no success.
fn status(run: &Run, losses: &mut Losses) -> SessionStatus {
    let said = run.ended().and_then(|ended| ended.member("status")?.string());
    match said.as_deref() {
        Some("completed" | "Success" | "success") => SessionStatus::Success,
        Some("failed" | "crashed" | "Failed" | "failure") => SessionStatus::Failed,
        Some("aborted" | "Cancelled" | "cancelled") => SessionStatus::Cancelled,
        Some("Timeout") => SessionStatus::Timeout,
        said => {
            let why = if said.is_some() { OTHER_STATUS } else { NO_STATUS };
            losses.add(Place::At("status".into()), why);
            SessionStatus::Failed
        }
    }
}

struct Writer<'w> {
    run: &'w Run,
    replay: ReplayWriter<Vec<u8>>,
    time: String,
    /// The ids under which calls were written, by the place of their event.
    open: HashMap<usize, String>,
    ids: Ids,
    hasher: Hasher,
    told: Told,
    losses: &'w mut Losses,
}

impl Writer<'_> {
    fn event(&mut self, event: &Event<'_>) -> Result<(), ConvertError> {
        match event.time().as_deref().and_then(moment::of_event) {
            Some(time) => self.time = time,
            None if matches!(event.kind(), Some(EventType::ToolCalled | EventType::ToolReturned)) => {
                self.losses.add(place(self.run, event).inside(".t"), NO_TIME);
            }
            None => {}
        }
        match event.kind() {
            Some(EventType::ToolCalled) => self.called(event),
            Some(EventType::ToolReturned) => self.returned(event),
            Some(EventType::PlanStarted) => self.plan(event),
            Some(EventType::StepCompleted) => self.step(event),
            Some(EventType::VerificationRan) => self.verification(event),
            Some(EventType::RunStarted | EventType::RunEnded) if event.dialect() == FormatId::Rer => {
                if let Some(payload) = event.payload().value() {
                    let kept = ["status", "salt", "source", "envelope_hash"];
                    others(payload, &kept, &place(self.run, event).inside(".payload"), self.losses);
                } else {
                    lost(self.run, event, self.losses);
                }
                Ok(())
            }
            Some(EventType::RunStarted | EventType::RunEnded) if event.dialect() == FormatId::ReplayJsonl => {
                if let Some(line) = event.payload().value() {
                    let kept = [
                        "event",
                        "t",
                        "session_id",
                        "policy_bundle_id",
                        "policy_version",
                        "status",
                        "confidence",
                    ];
                    others(line, &kept, &place(self.run, event), self.losses);
                }
                Ok(())
            }
            _ => {
                lost(self.run, event, self.losses);
                Ok(())
            }
        }
    }

    fn called(&mut self, event: &Event<'_>) -> Result<(), ConvertError> {
        let at = place(self.run, event);
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
        let id = self.id(event, &call);
        let params = match &call.input {
            Some(input) => self.params(input.text(), &at),
            None => b"null".to_vec(),
        };
        let plan_step = call.step_id.as_deref().unwrap_or_default().to_owned();
        let line = Line::ToolCall { id: &id, tool: &call.tool, params: &params, step_id: &plan_step };
        self.replay.emit(&self.time, &line)?;
        self.told.call(&call.tool);
        if event.dialect() == FormatId::Rer
            && let Some(payload) = event.payload().value()
        {
            let kept = ["step_id", "tool_call_id", "tool", "input", "salt", "source"];
            others(payload, &kept, &at.inside(".payload"), self.losses);
        }
        if event.partner() == Some(event.index()) {
            return self.result(event, &id, &result);
        }
        self.open.insert(event.index(), id);
        Ok(())
    }

    /// What the call is known by, if nothing else is; another id if something is.
    fn id(&mut self, event: &Event<'_>, call: &ToolCall<'_>) -> String {
        let step_id = event.step_id();
        let own = call.tool_call_id.as_deref().filter(|id| !id.is_empty()).unwrap_or(&step_id);
        let numbered = format!("tc_{:03}", self.ids.len() + 1);
        let (id, is_free) = self.ids.give(if own.is_empty() { &numbered } else { own }, event.index());
        if !is_free {
            self.losses.add(place(self.run, event), RENAMED);
        }
        id
    }

    /// Params that the format can write: what it cannot becomes a string.
    fn params(&mut self, text: &[u8], at: &Place) -> Vec<u8> {
        let value = Value::parse(text, &limits()).ok();
        if value.is_some_and(|value| hash::digest(value, &mut self.hasher).is_ok()) {
            return text.to_vec();
        }
        self.losses.add(at.inside(".params"), AS_TEXT);
        quoted(&String::from_utf8_lossy(text))
    }

    fn returned(&mut self, event: &Event<'_>) -> Result<(), ConvertError> {
        let id = event.partner().and_then(|called| self.open.remove(&called));
        let tool = ToolUse { called: *event, returned: Some(*event) };
        match (id, tool.result()) {
            (Some(id), Ok(result)) => self.result(event, &id, &result),
            _ => {
                lost(self.run, event, self.losses);
                Ok(())
            }
        }
    }

    fn result(&mut self, event: &Event<'_>, id: &str, result: &ToolResult<'_>) -> Result<(), ConvertError> {
        let at = place(self.run, event);
        let carried = result
            .output_hash
            .as_deref()
            .and_then(|hash| Digest::from_hex(hash.strip_prefix("sha256:").unwrap_or(hash)));
        let output = result.output.as_ref().and_then(|output| output.value());
        let computed = output.and_then(|output| hash::digest(output, &mut self.hasher).ok());
        let output_hash = match (carried, computed) {
            (Some(carried), None) => carried,
            (_, Some(computed)) => {
                self.losses.add(member_of(self.run, event, "output"), ONLY_THE_HASH);
                computed
            }
            (None, None) => {
                self.losses.add(member_of(self.run, event, "output"), NO_OUTPUT);
                Digest::of(b"null")
            }
        };
        let utility = result.utility.filter(|utility| (-1.0..=1.0).contains(utility));
        if utility.is_none() {
            self.losses.add(at.inside(".step_utility"), UTILITY);
        }
        if result.latency.is_none() {
            self.losses.add(at.inside(".latency_ms"), NO_LATENCY);
        }
        let exit_code = result.exit_code.and_then(|code| i32::try_from(code).ok());
        if exit_code.is_none() && result.exit_code.is_some() {
            self.losses.add(at.inside(".exit_code"), EXIT_CODE);
        }
        let kept: &[&str] = match event.dialect() {
            FormatId::Rer => &RESULT_OF_RER,
            FormatId::ReplayJsonl => &RESULT_OF_LINE,
            _ => &[],
        };
        if let Some(payload) = event.payload().value().filter(|_| !kept.is_empty()) {
            others(payload, kept, &payload_place(self.run, event), self.losses);
        }
        let latency = result.latency.map_or(0, |latency| latency.as_millis());
        let line = Line::ToolResult {
            id,
            output_hash,
            exit_code: exit_code.or_else(|| result.is_error.then_some(1)),
            step_utility: utility.unwrap_or(0.0),
            latency_ms: u64::try_from(latency).unwrap_or(u64::MAX),
        };
        Ok(self.replay.emit(&self.time, &line)?)
    }

    fn plan(&mut self, event: &Event<'_>) -> Result<(), ConvertError> {
        let Some(payload) = event.payload().value() else {
            lost(self.run, event, self.losses);
            return Ok(());
        };
        let steps = payload.member("steps");
        let carried = payload.member("plan_hash").and_then(|hash| hash.string());
        let carried =
            carried.and_then(|hash| Digest::from_hex(hash.strip_prefix("sha256:").unwrap_or(&hash)));
        let computed = || hash::digest(steps?, &mut Hasher::new()).ok();
        let step_count = payload.member("step_count").or(steps).map_or(0, |steps| match steps.kind() {
            JsonKind::Array => steps.elements().count() as u64,
            _ => steps.whole().unwrap_or(0),
        });
        if steps.is_some_and(|steps| steps.kind() != JsonKind::Number) {
            self.losses
                .add(member_of(self.run, event, "steps"), "only the hash and the number of steps are kept");
        }
        let at = payload_place(self.run, event);
        if payload.member("step_count").or(steps).is_none() {
            self.losses.add(at.inside(".step_count"), NO_STEP_COUNT);
        }
        let plan_hash = carried.or_else(computed).unwrap_or_else(|| {
            self.losses.add(at.inside(".plan_hash"), NO_PLAN_HASH);
            Digest::of(b"null")
        });
        let kept = ["event", "t", "plan_hash", "steps", "step_count", "salt", "source"];
        others(payload, &kept, &at, self.losses);
        Ok(self.replay.emit(&self.time, &Line::PlanStart { plan_hash, step_count })?)
    }

    fn step(&mut self, event: &Event<'_>) -> Result<(), ConvertError> {
        let Some(payload) = event.payload().value() else {
            lost(self.run, event, self.losses);
            return Ok(());
        };
        let at = payload_place(self.run, event);
        let said = payload.member("status").and_then(|status| status.string()).unwrap_or_default();
        let status = match said.to_lowercase().as_str() {
            "success" | "succeeded" | "completed" | "done" | "ok" | "passed" => StepStatus::Success,
            "skipped" => StepStatus::Skipped,
            "maxiterationsreached" | "max_iterations_reached" => StepStatus::MaxIterationsReached,
            "failed" | "failure" | "error" => StepStatus::Failed,
            _ => {
                self.losses.add(at.inside(".status"), "the format does not know the word; Failed is written");
                StepStatus::Failed
            }
        };
        let iterations = payload.member("iterations").and_then(|count| u8::try_from(count.whole()?).ok());
        if iterations.is_none() {
            self.losses.add(at.inside(".iterations"), "the source tells none that fit; 1 is written");
        }
        let step_id = payload.member("step_id").and_then(|id| id.string()).unwrap_or_default();
        let kept = ["event", "t", "step_id", "status", "iterations", "salt", "source"];
        others(payload, &kept, &at, self.losses);
        let line = Line::StepComplete { step_id: &step_id, status, iterations: iterations.unwrap_or(1) };
        Ok(self.replay.emit(&self.time, &line)?)
    }

    fn verification(&mut self, event: &Event<'_>) -> Result<(), ConvertError> {
        let Some(payload) = event.payload().value() else {
            lost(self.run, event, self.losses);
            return Ok(());
        };
        let at = payload_place(self.run, event);
        let list = |name: &str| payload.member(name).into_iter().flat_map(|list| list.elements());
        let commands: Vec<String> =
            list("commands").filter_map(|command| command.string().map(|text| text.into_owned())).collect();
        let mut exit_codes: Vec<i32> = list("exit_codes").filter_map(integer).collect();
        if exit_codes.len() != commands.len() {
            self.losses
                .add(at.inside(".exit_codes"), "not one for each command; those that are missing are 1");
            exit_codes.resize(commands.len(), 1);
        }
        let delta = payload.member("verification_delta").or_else(|| payload.member("delta"));
        let number = delta.and_then(integer);
        if number.is_none() {
            self.losses.add(at.inside(".delta"), "it is no whole number; 0 is written");
        }
        let kept = ["event", "t", "commands", "exit_codes", "delta", "verification_delta", "salt", "source"];
        others(payload, &kept, &at, self.losses);
        let words: Vec<&str> = commands.iter().map(String::as_str).collect();
        self.told.verification(&commands, &exit_codes);
        let delta = number.unwrap_or(0);
        let line =
            Line::Verification { commands: &words, exit_codes: &exit_codes, verification_delta: delta };
        Ok(self.replay.emit(&self.time, &line)?)
    }
}

/// Where an event's payload lies in its source.
fn payload_place(run: &Run, event: &Event<'_>) -> Place {
    let at = place(run, event);
    if event.dialect() == FormatId::Rer { at.inside(".payload") } else { at }
}

fn integer(value: Value<'_>) -> Option<i32> {
    core::str::from_utf8(value.text()).ok()?.parse().ok()
}
