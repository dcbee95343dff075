//! Export to `.rpk`: a step for each event that has a type there.
//!
//! Payloads of RER become the input or output of a step as they are, so that the `.rpk` replays as the run
//! does. Items of other formats are written in the shapes that the programs of the format write. Start reading
//! at `RpkExporter::write_event`.
//!
//! | event | step type | payload becomes |
//! |---|---|---|
//! | `rer.prompt.rendered` | `prompt.render` | `input` |
//! | `rer.model.called` | `model.request` | `input` |
//! | `rer.model.returned` | `model.response` | `output` |
//! | `rer.http.called`, `rer.tool.called` | `tool.request` | `input` |
//! | `rer.http.returned`, `rer.tool.returned` | `tool.response` | `output` |
//! | `rer.error.raised` | `error.event` | `output` |
//! | `rer.output.final` | `output.final` | `output` |
//! | `rer.run.started`, `rer.run.ended` | none | members of the document, as far as it has them |
//! | all others | none | lost |

use reenact_formats::FormatId;
use reenact_formats::Profile;
use reenact_formats::rer::EventType;
use reenact_formats::rpk::write::{NewRpkStep, RpkDocumentBuilder, RpkRunHeader};
use reenact_json::Value;
use reenact_json::diff::{DiffLimits, differences};

use super::ExportContext;
use super::loss_notes::{
    NO_EQUIVALENT, UNREADABLE, WITHHELD, note_lost_event, note_other_members, source_path, widest_limits,
};
use super::object_builder::{ObjectBuilder, quoted};
use super::replay_bundle::request_url;
use crate::body::header;
use crate::convert::error::ConvertError;
use crate::convert::event_time;
use crate::convert::loss::{Losses, SourcePath};
use crate::convert::rpk_indent;
use crate::convert::source::RecordFile;
use crate::event::Event;
use crate::exchange::{AnswerDetail, Exchange, ExchangeAnswer, ExchangeRequest, ExchangeRequestBody};
use crate::run::Run;
use crate::tool::ToolUse;

/// Reason of values that the canonical form of `.rpk` changes: long fractions, paths, times, line ends, the
/// order of sets.
const RESPELLED: &str = "the format writes it in another way";
/// Largest number of changes in one payload that are listed by their paths; further ones are counted.
const MAX_LISTED_CHANGES: usize = 1000;
/// Depth of nesting of a step's members in the document.
const STEP_MEMBER_DEPTH: usize = 5;

/// Writes a run as an `.rpk`, unsigned.
pub(in crate::convert) fn write(
    run: &Run,
    context: &ExportContext<'_>,
    losses: &mut Losses,
) -> Result<Vec<RecordFile>, ConvertError> {
    let mut exporter = RpkExporter {
        run,
        draft: RpkDocumentBuilder::new(),
        step_count: 0,
        indented_bytes: 0,
        compact_bytes: 0,
        losses,
    };
    for event in run.events() {
        exporter.write_event(&event)?;
    }
    let RpkExporter { draft, indented_bytes: bytes, compact_bytes: compact, .. } = exporter;
    let started_at = run.started_at().filter(|time| !time.is_empty());
    let started_at = started_at.or_else(|| event_time::event_timestamp(context.now)).unwrap_or_default();
    let environment = run.environment().filter(|value| value.kind() == reenact_json::ValueKind::Object);
    let environment = environment.map_or(b"{}".to_vec(), |environment| environment.text().to_vec());
    let (environment, _) = normalized_until_stable(&environment)?;
    let bytes = bytes.saturating_add(rpk_indent::indented_length(&environment, STEP_MEMBER_DEPTH));
    rpk_indent::check_growth(bytes, compact + environment.len())?;
    let versions = ObjectBuilder::new().string("reenact", context.version).close();
    let (format, digest) = context.source;
    let source =
        ObjectBuilder::new().string("digest", &format!("sha256:{digest}")).string("format", format).close();
    let header = RpkRunHeader {
        version: "1.0",
        id: if run.id().is_empty() { "run" } else { run.id() },
        timestamp: &started_at,
        environment_fingerprint: &environment,
        runtime_versions: &versions,
        extra_members: &[],
        metadata: &[("converted_from", &source)],
        created_at: &started_at,
    };
    Ok(vec![RecordFile { name: "run.rpk".into(), bytes: draft.finish(&header, None)? }])
}

/// Exporter of one run: appends steps to a draft.
///
/// Sizes are summed up on the way, so that a run that would grow out of proportion is refused before its
/// document is written.
struct RpkExporter<'w> {
    run: &'w Run,
    draft: RpkDocumentBuilder,
    /// Number of steps so far; step ids count from 1.
    step_count: usize,
    /// Size of the steps so far with indentation, in bytes.
    indented_bytes: usize,
    /// Size of the steps so far without indentation, in bytes.
    compact_bytes: usize,
    losses: &'w mut Losses,
}

/// Input, output and metadata of a step as JSON texts; absent ones are written as `{}`.
#[derive(Default)]
struct StepSides {
    input: Option<Vec<u8>>,
    output: Option<Vec<u8>>,
    metadata: Option<Vec<u8>>,
}

impl RpkExporter<'_> {
    /// Writes the steps of an event, or adds the event to the losses.
    ///
    /// A withheld or unreadable payload becomes a step without content, so that the other end of its action
    /// keeps its place.
    fn write_event(&mut self, event: &Event<'_>) -> Result<(), ConvertError> {
        let (step_type, is_answer) = match event.kind() {
            Some(EventType::PromptRendered) => ("prompt.render", false),
            Some(EventType::ModelCalled) => ("model.request", false),
            Some(EventType::ModelReturned) => ("model.response", true),
            Some(EventType::HttpCalled | EventType::ToolCalled) => ("tool.request", false),
            Some(EventType::HttpReturned | EventType::ToolReturned) => ("tool.response", true),
            Some(EventType::ErrorRaised) => ("error.event", true),
            Some(EventType::OutputFinal) => ("output.final", true),
            Some(EventType::RunStarted | EventType::RunEnded) => {
                self.note_frame_losses(event);
                return Ok(());
            }
            _ => {
                note_lost_event(self.run, event, self.losses);
                return Ok(());
            }
        };
        if event.payload_format() != FormatId::Rer {
            return self.write_foreign_event(event, step_type);
        }
        let at = source_path(self.run, event).child(".payload");
        let Some(payload) = event.payload().value() else {
            self.losses.add(at, if event.is_withheld() { WITHHELD } else { UNREADABLE });
            return self.append_step(event, step_type, StepSides::default());
        };
        let text = self.normalized(payload, &at)?;
        let mut step = match is_answer {
            true => StepSides { output: Some(text), ..StepSides::default() },
            false => StepSides { input: Some(text), ..StepSides::default() },
        };
        if matches!(event.kind(), Some(EventType::HttpCalled | EventType::HttpReturned)) {
            self.add_http_members(event, &mut step);
        }
        self.append_step(event, step_type, step)
    }

    /// Adds method and URL to a step of an exchange that is not with a model. The format keeps such exchanges
    /// as tool steps that both have these members.
    fn add_http_members(&self, event: &Event<'_>, step: &mut StepSides) {
        let begins = event.kind() == Some(EventType::HttpCalled);
        let called = if begins { Some(event.index()) } else { event.partner() };
        let request = called.and_then(|called| self.run.exchange(called)?.request().ok());
        let Some(request) = request else { return };
        let url = request_url(self.run, &request);
        let named = ObjectBuilder::new().string("method", &request.method).string("url", &url);
        step.metadata = Some(
            ObjectBuilder::new()
                .string("boundary", "http")
                .string("method", &request.method)
                .string("url", &url)
                .close(),
        );
        step.input = match step.input.take() {
            Some(input) => {
                let members = input.strip_prefix(b"{").and_then(|input| input.strip_suffix(b"}"));
                let mut whole = named.close();
                whole.pop();
                if let Some(members) = members.filter(|members| !members.is_empty()) {
                    whole.push(b',');
                    whole.extend_from_slice(members);
                }
                whole.push(b'}');
                Some(whole)
            }
            None => Some(named.close()),
        };
    }

    /// Adds the members of an event that begins or ends the run to the losses, except those that the document
    /// keeps.
    fn note_frame_losses(&mut self, event: &Event<'_>) {
        let at = source_path(self.run, event);
        match event.payload().value() {
            Some(payload) if event.payload_format() == FormatId::Rer => {
                let exported = ["environment", "envelope_hash", "salt", "source"];
                note_other_members(payload, &exported, &at.child(".payload"), self.losses);
            }
            Some(line)
                if event.payload_format() == FormatId::ReplayJsonl
                    && event.kind() == Some(EventType::RunStarted) =>
            {
                note_other_members(line, &["event", "session_id", "t"], &at, self.losses);
            }
            _ => note_lost_event(self.run, event, self.losses),
        }
    }

    /// Appends a step, and checks the size of the document so far.
    fn append_step(
        &mut self,
        event: &Event<'_>,
        step_type: &str,
        step: StepSides,
    ) -> Result<(), ConvertError> {
        self.step_count += 1;
        let id = format!("step-{:06}", self.step_count);
        let time = event.time();
        let [input, output, metadata] =
            [&step.input, &step.output, &step.metadata].map(|part| part.as_deref().unwrap_or(b"{}"));
        for part in [input, output, metadata] {
            self.indented_bytes =
                self.indented_bytes.saturating_add(rpk_indent::indented_length(part, STEP_MEMBER_DEPTH));
            self.compact_bytes += part.len();
        }
        rpk_indent::check_growth(self.indented_bytes, self.compact_bytes)?;
        self.draft.append(&NewRpkStep {
            id: &id,
            step_type,
            input,
            output,
            metadata,
            timestamp: time.as_deref(),
        })?;
        Ok(())
    }

    /// Returns a value in the format's canonical form; values that this changes are added to the losses.
    fn normalized(&mut self, value: Value<'_>, at: &SourcePath) -> Result<Vec<u8>, ConvertError> {
        let (written, changed) = normalized_until_stable(value.text())?;
        if changed && let Ok(parsed) = Value::parse(&written, &widest_limits()) {
            let found = differences(
                value,
                parsed,
                DiffLimits { max_listed: MAX_LISTED_CHANGES, max_counted: usize::MAX },
            );
            for difference in &found.listed {
                let path = difference.path.strip_prefix('$').unwrap_or_default();
                self.losses.add(at.child(path), RESPELLED);
            }
            self.losses.add_without_path(found.count.saturating_sub(found.listed.len()), RESPELLED);
        }
        Ok(written)
    }

    /// Writes an event whose payload is not RER, in the shapes that the programs of the format write. An event
    /// that is both ends of its action becomes two steps.
    fn write_foreign_event(
        &mut self,
        event: &Event<'_>,
        step_type: &'static str,
    ) -> Result<(), ConvertError> {
        let is_both = event.partner() == Some(event.index());
        let at = source_path(self.run, event);
        let answered_by = match step_type {
            "model.request" => "model.response",
            _ => "tool.response",
        };
        match event.kind() {
            Some(EventType::ToolCalled | EventType::ToolReturned) => {
                let returned =
                    Some(*event).filter(|_| is_both || event.kind() == Some(EventType::ToolReturned));
                let tool = ToolUse { called: *event, returned };
                if event.kind() == Some(EventType::ToolCalled) {
                    let step = self.tool_call_step(&tool, &at);
                    self.append_step(event, step_type, step)?;
                }
                if returned.is_some() && tool.result().is_ok() {
                    let step = self.tool_result_step(&tool, &at);
                    self.append_step(event, answered_by, step)?;
                } else if event.kind() == Some(EventType::ToolReturned) {
                    self.losses.add(at, if event.is_withheld() { WITHHELD } else { UNREADABLE });
                }
                Ok(())
            }
            Some(EventType::ModelCalled | EventType::ModelReturned)
            | Some(EventType::HttpCalled | EventType::HttpReturned) => {
                let begins = matches!(event.kind(), Some(EventType::ModelCalled | EventType::HttpCalled));
                if begins {
                    let exchange = self.run.exchange(event.index());
                    let step = self.request_step(exchange, &at);
                    self.append_step(event, step_type, step)?;
                }
                if is_both || !begins {
                    let called = if is_both { Some(event.index()) } else { event.partner() };
                    let exchange = called.and_then(|called| self.run.exchange(called));
                    let step = self.answer_step(exchange, &at);
                    self.append_step(event, answered_by, step)?;
                }
                Ok(())
            }
            _ => {
                note_lost_event(self.run, event, self.losses);
                Ok(())
            }
        }
    }

    /// Returns the step of a tool call. Members of the item that the step does not keep are added to the
    /// losses.
    fn tool_call_step(&mut self, tool: &ToolUse<'_>, at: &SourcePath) -> StepSides {
        let Ok(call) = tool.call() else {
            self.losses.add(at.clone(), UNREADABLE);
            return StepSides::default();
        };
        let step_id = tool.called.step_id();
        let input = call.input.as_ref().map(|input| input.text().to_vec());
        let input = ObjectBuilder::new()
            .string("step_id", &step_id)
            .optional_string("tool_call_id", call.tool_call_id.as_deref())
            .string("tool", &call.tool)
            .raw("input", input.as_deref().unwrap_or(b"null"))
            .optional_string("plan_step_id", call.step_id.as_deref().filter(|plan| **plan != step_id))
            .close();
        let exported = ["event", "t", "id", "tool", "params", "params_hash", "step_id"];
        let exported_of_trace =
            ["type", "tool_name", "args", "result", "error", "result_sha256", "episode_id"];
        if let Some(item) = tool.called.payload().value() {
            note_other_members(item, &[&exported[..], &exported_of_trace].concat(), at, self.losses);
        }
        self.normalized_step(&input, at, |input| StepSides { input: Some(input), ..StepSides::default() })
    }

    /// Returns the step of a tool result. A result of which only the hash is recorded has `output_hash` in
    /// place of `output`.
    fn tool_result_step(&mut self, tool: &ToolUse<'_>, at: &SourcePath) -> StepSides {
        let Ok(result) = tool.result() else { return StepSides::default() };
        let step_id = tool.returned.map_or_else(Default::default, |returned| returned.step_id());
        let output = result.output.as_ref().map(|output| output.text().to_vec());
        let mut object = ObjectBuilder::new().string("step_id", &step_id);
        if let Some(output) = &output {
            object = object.raw("output", output);
        }
        let output = object
            .optional_string("output_hash", result.output_hash.as_deref())
            .raw("is_error", if result.is_error { b"true" } else { b"false" })
            .optional_number("exit_code", result.exit_code)
            .optional_number("utility", result.utility.map(|utility| format!("{utility:?}")))
            .optional_number("latency_ms", result.latency.map(|latency| latency.as_millis()))
            .close();
        if let (Some(item), false) = (
            tool.returned.and_then(|event| event.payload().value()),
            tool.called.partner() == Some(tool.called.index()),
        ) {
            let exported = ["event", "t", "id", "output_hash", "exit_code", "step_utility", "latency_ms"];
            note_other_members(item, &exported, at, self.losses);
        }
        self.normalized_step(&output, at, |output| StepSides { output: Some(output), ..StepSides::default() })
    }

    /// Returns the step of a request. The metadata of a trace line (`meta`) become those of the step.
    fn request_step(&mut self, exchange: Option<Exchange<'_>>, at: &SourcePath) -> StepSides {
        let request = exchange.as_ref().map(|exchange| (exchange.step_id(), exchange.request()));
        let Some((step_id, Ok(request))) = request else {
            self.losses.add(at.clone(), UNREADABLE);
            return StepSides::default();
        };
        let meta = exchange.and_then(|exchange| exchange.called.payload().value()?.member("meta"));
        let meta = meta.filter(|meta| meta.kind() == reenact_json::ValueKind::Object);
        let input = request_input(&request, &step_id);
        let metadata = meta
            .map(|meta| meta.text().to_vec())
            .and_then(|meta| Some(normalized_until_stable(&meta).ok()?.0));
        self.normalized_step(&input, at, |input| StepSides { input: Some(input), output: None, metadata })
    }

    /// Returns the step of an answer. Members of a Model IO interaction that the step does not keep are added
    /// to the losses.
    fn answer_step(&mut self, exchange: Option<Exchange<'_>>, at: &SourcePath) -> StepSides {
        let answer = exchange.as_ref().map(|exchange| (exchange.step_id(), exchange.answer()));
        let Some((step_id, Ok(answer))) = answer else {
            self.losses.add(at.clone(), UNREADABLE);
            return StepSides::default();
        };
        if self.run.payload_format() == FormatId::ModelIo
            && let Some(item) = exchange.and_then(|exchange| exchange.called.payload().value())
        {
            let exported = [
                "i",
                "prompt_hash",
                "response_hash",
                "response_content",
                "tokens_input",
                "tokens_output",
                "latency_ms",
            ];
            note_other_members(item, &exported, at, self.losses);
        }
        let output = answer_output(&answer, &step_id);
        let latency = answer.latency.map(|latency| latency.as_millis());
        let metadata =
            latency.map(|latency| ObjectBuilder::new().optional_number("latency_ms", Some(latency)).close());
        self.normalized_step(&output, at, |output| StepSides { input: None, output: Some(output), metadata })
    }

    /// Makes a step of a text that was composed here, in the format's canonical form. A text that has no
    /// canonical form is added to the losses, and the step stays empty.
    fn normalized_step(
        &mut self,
        text: &[u8],
        at: &SourcePath,
        step: impl FnOnce(Vec<u8>) -> StepSides,
    ) -> StepSides {
        match normalized_until_stable(text) {
            Ok((written, changed)) => {
                // The composed text has no path in the source, so the loss is reported for the whole event.
                if changed && values_differ(text, &written) {
                    self.losses.add(at.clone(), RESPELLED);
                }
                step(written)
            }
            Err(_) => {
                self.losses.add(at.clone(), NO_EQUIVALENT);
                StepSides::default()
            }
        }
    }
}

/// Returns a request as a listener of this format keeps it.
///
/// A JSON body is the member `payload`; a prompt is `prompt`, and the hash of one is `prompt_hash`.
fn request_input(request: &ExchangeRequest<'_>, step_id: &str) -> Vec<u8> {
    let object =
        ObjectBuilder::new().string("step_id", step_id).optional_string("model", request.model.as_deref());
    let object = object.optional_string("provider", Some(&request.provider));
    match &request.body {
        ExchangeRequestBody::Prompt(prompt) => object.string("prompt", prompt).close(),
        ExchangeRequestBody::Hash(digest) => {
            object.string("prompt_hash", &format!("sha256:{digest}")).close()
        }
        ExchangeRequestBody::Json(text) | ExchangeRequestBody::Members(text) if !request.path.is_empty() => {
            object.string("path", &request.path).raw("payload", text).close()
        }
        ExchangeRequestBody::Json(text) | ExchangeRequestBody::Members(text) => {
            object.raw("payload", text).close()
        }
        ExchangeRequestBody::Bytes(bytes) => {
            let object = object
                .optional_string("path", Some(&request.path))
                .optional_string("method", Some(&request.method));
            match Value::parse(bytes, &widest_limits()) {
                Ok(body) => object.raw("payload", body.text()).close(),
                Err(_) => object.string("prompt", &String::from_utf8_lossy(bytes)).close(),
            }
        }
    }
}

/// Returns an answer as a listener of this format keeps it.
///
/// A message has `content`, `stop_reason` and `usage`; an answer over HTTP has `status_code`, `content_type`
/// and `body`, which is JSON if it can be.
fn answer_output(answer: &ExchangeAnswer<'_>, step_id: &str) -> Vec<u8> {
    let object = ObjectBuilder::new().string("step_id", step_id);
    if let (AnswerDetail::Message, Some(said)) = (answer.detail, &answer.recorded_message) {
        let usage = said.usage.map(|usage| {
            ObjectBuilder::new()
                .optional_number("input_tokens", Some(usage.input_tokens))
                .optional_number("output_tokens", Some(usage.output_tokens))
                .close()
        });
        let object =
            object.string("content", &said.text).optional_string("stop_reason", said.stop_reason.as_deref());
        return match usage {
            Some(usage) => object.raw("usage", &usage).close(),
            None => object.close(),
        };
    }
    let object = object.optional_number("status_code", answer.status);
    let object = object.optional_string("content_type", header(&answer.headers, "content-type"));
    match Value::parse(&answer.body, &widest_limits()) {
        Ok(body) => object.raw("body", body.text()).close(),
        Err(_) => object.raw("body", &quoted(&String::from_utf8_lossy(&answer.body))).close(),
    }
}

/// Returns true if two texts are different JSON values.
fn values_differ(one: &[u8], other: &[u8]) -> bool {
    match (Value::parse(one, &widest_limits()), Value::parse(other, &widest_limits())) {
        (Ok(one), Ok(other)) => {
            differences(one, other, DiffLimits { max_listed: 0, max_counted: 1 }).count > 0
        }
        _ => true,
    }
}

/// Returns a value in the format's canonical form, and true if it may be another value than before.
/// Normalisation is repeated until it changes nothing, at most 8 times: the paths of this format may change
/// more than once.
fn normalized_until_stable(text: &[u8]) -> Result<(Vec<u8>, bool), ConvertError> {
    const MAX_ROUNDS: usize = 8;
    let mut written = normalized_once(text)?;
    let mut changed = false;
    for _ in 0..MAX_ROUNDS {
        if written.1 {
            break;
        }
        changed = true;
        written = normalized_once(&written.0)?;
    }
    Ok((written.0, changed))
}

/// Normalises a value once; returns its text, and true if no value was changed.
fn normalized_once(text: &[u8]) -> Result<(Vec<u8>, bool), ConvertError> {
    let failed = |fault| ConvertError::Text { location: "a value of the source".into(), fault };
    let value = Value::parse(text, &widest_limits()).map_err(|error| failed(error.into()))?;
    let mut out = Vec::with_capacity(text.len());
    let at_rest =
        Profile::Rpk.write_reporting_stability(value, &mut out).map_err(|fault| failed(fault.into()))?;
    Ok((out, at_rest))
}
