//! A run → `.rpk`: a step for each event that has a type there. What we recorded goes into input and output as it is, so that the
//! `.rpk` replays as the run does; what others recorded is written as the programs of the format write it.

use reenact_formats::FormatId;
use reenact_formats::Profile;
use reenact_formats::rer::EventType;
use reenact_formats::rpk::write::{Draft, NewStep, RunHeader};
use reenact_json::Value;
use reenact_json::leaves::{Bounds, differences};

use super::Exporting;
use super::account::{NO_PLACE, UNREADABLE, WITHHELD, limits, lost, others, place};
use super::json::{Object, quoted};
use super::replay_bundle::url;
use crate::body::header;
use crate::convert::fault::ConvertError;
use crate::convert::layout;
use crate::convert::loss::{Losses, Place};
use crate::convert::moment;
use crate::convert::source::File;
use crate::event::Event;
use crate::exchange::{Answer, Body, Exchange, Held, Request};
use crate::run::Run;
use crate::tool::ToolUse;

/// What the form changes: long fractions, paths, times, line ends, the order of sets.
const RESPELLED: &str = "the format writes it in another way";
/// So many differences of one payload are told by their paths; the rest is told by its number.
const LISTED: usize = 1000;
/// How deep the members of a step lie in a document.
const DEPTH: usize = 5;

pub(in crate::convert) fn write(
    run: &Run,
    how: &Exporting<'_>,
    losses: &mut Losses,
) -> Result<Vec<File>, ConvertError> {
    let mut writer = Writer { run, draft: Draft::new(), count: 0, bytes: 0, compact: 0, losses };
    for event in run.events() {
        writer.event(&event)?;
    }
    let Writer { draft, bytes, compact, .. } = writer;
    let started_at = run.started_at().filter(|time| !time.is_empty());
    let started_at = started_at.or_else(|| moment::of_event(how.now)).unwrap_or_default();
    let environment = run.environment().filter(|value| value.kind() == reenact_json::Kind::Object);
    let environment = environment.map_or(b"{}".to_vec(), |environment| environment.text().to_vec());
    let (environment, _) = stable(&environment)?;
    let bytes = bytes.saturating_add(layout::length(&environment, DEPTH));
    layout::must_fit(bytes, compact + environment.len())?;
    let versions = Object::new().text("reenact", how.version).close();
    let (format, digest) = how.source;
    let source = Object::new().text("digest", &format!("sha256:{digest}")).text("format", format).close();
    let header = RunHeader {
        version: "1.0",
        id: if run.id().is_empty() { "run" } else { run.id() },
        timestamp: &started_at,
        environment_fingerprint: &environment,
        runtime_versions: &versions,
        more: &[],
        metadata: &[("converted_from", &source)],
        created_at: &started_at,
    };
    Ok(vec![File { name: "run.rpk".into(), bytes: draft.finish(&header, None)? }])
}

struct Writer<'w> {
    run: &'w Run,
    draft: Draft,
    count: usize,
    /// What the steps come to, on lines and without them.
    bytes: usize,
    compact: usize,
    losses: &'w mut Losses,
}

/// The two sides of a step.
#[derive(Default)]
struct Step {
    input: Option<Vec<u8>>,
    output: Option<Vec<u8>>,
    metadata: Option<Vec<u8>>,
}

impl Writer<'_> {
    fn event(&mut self, event: &Event<'_>) -> Result<(), ConvertError> {
        let (step_type, is_answer) = match event.kind() {
            Some(EventType::PromptRendered) => ("prompt.render", false),
            Some(EventType::ModelCalled) => ("model.request", false),
            Some(EventType::ModelReturned) => ("model.response", true),
            Some(EventType::HttpCalled | EventType::ToolCalled) => ("tool.request", false),
            Some(EventType::HttpReturned | EventType::ToolReturned) => ("tool.response", true),
            Some(EventType::ErrorRaised) => ("error.event", true),
            Some(EventType::OutputFinal) => ("output.final", true),
            Some(EventType::RunStarted | EventType::RunEnded) => {
                self.frame(event);
                return Ok(());
            }
            _ => {
                lost(self.run, event, self.losses);
                return Ok(());
            }
        };
        if event.dialect() != FormatId::Rer {
            return self.foreign(event, step_type);
        }
        let at = place(self.run, event).inside(".payload");
        let Some(payload) = event.payload().value() else {
            self.losses.add(at, if event.is_withheld() { WITHHELD } else { UNREADABLE });
            return self.append(event, step_type, Step::default());
        };
        let text = self.respelled(payload, &at)?;
        let mut step = match is_answer {
            true => Step { output: Some(text), ..Step::default() },
            false => Step { input: Some(text), ..Step::default() },
        };
        if matches!(event.kind(), Some(EventType::HttpCalled | EventType::HttpReturned)) {
            self.name_http(event, &mut step);
        }
        self.append(event, step_type, step)
    }

    /// The format knows requests over HTTP that are not to a model as tools, by a method and a URL on both steps.
    fn name_http(&self, event: &Event<'_>, step: &mut Step) {
        let begins = event.kind() == Some(EventType::HttpCalled);
        let called = if begins { Some(event.index()) } else { event.partner() };
        let request = called.and_then(|called| self.run.exchange(called)?.request().ok());
        let Some(request) = request else { return };
        let url = url(self.run, &request);
        let named = Object::new().text("method", &request.method).text("url", &url);
        step.metadata = Some(
            Object::new().text("boundary", "http").text("method", &request.method).text("url", &url).close(),
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

    /// What begins or ends the run has its place in the run's own members, as far as those are known.
    fn frame(&mut self, event: &Event<'_>) {
        let at = place(self.run, event);
        match event.payload().value() {
            Some(payload) if event.dialect() == FormatId::Rer => {
                let kept = ["environment", "envelope_hash", "salt", "source"];
                others(payload, &kept, &at.inside(".payload"), self.losses);
            }
            Some(line)
                if event.dialect() == FormatId::ReplayJsonl
                    && event.kind() == Some(EventType::RunStarted) =>
            {
                others(line, &["event", "session_id", "t"], &at, self.losses);
            }
            _ => lost(self.run, event, self.losses),
        }
    }

    fn append(&mut self, event: &Event<'_>, step_type: &str, step: Step) -> Result<(), ConvertError> {
        self.count += 1;
        let id = format!("step-{:06}", self.count);
        let time = event.time();
        let [input, output, metadata] =
            [&step.input, &step.output, &step.metadata].map(|part| part.as_deref().unwrap_or(b"{}"));
        for part in [input, output, metadata] {
            self.bytes = self.bytes.saturating_add(layout::length(part, DEPTH));
            self.compact += part.len();
        }
        layout::must_fit(self.bytes, self.compact)?;
        self.draft.append(&NewStep {
            id: &id,
            step_type,
            input,
            output,
            metadata,
            timestamp: time.as_deref(),
        })?;
        Ok(())
    }

    /// A value as the format writes it, at rest; what that changes is noted.
    fn respelled(&mut self, value: Value<'_>, at: &Place) -> Result<Vec<u8>, ConvertError> {
        let (written, changed) = stable(value.text())?;
        if changed && let Ok(parsed) = Value::parse(&written, &limits()) {
            let found = differences(value, parsed, Bounds { listed: LISTED, counted: usize::MAX });
            for difference in &found.listed {
                let path = difference.path.strip_prefix('$').unwrap_or_default();
                self.losses.add(at.inside(path), RESPELLED);
            }
            self.losses.add_more(found.count.saturating_sub(found.listed.len()), RESPELLED);
        }
        Ok(written)
    }

    /// An event of another format, in the shapes that the programs of this one write.
    fn foreign(&mut self, event: &Event<'_>, step_type: &'static str) -> Result<(), ConvertError> {
        let is_both = event.partner() == Some(event.index());
        let at = place(self.run, event);
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
                    let step = self.tool_call(&tool, &at);
                    self.append(event, step_type, step)?;
                }
                if returned.is_some() && tool.result().is_ok() {
                    let step = self.tool_result(&tool, &at);
                    self.append(event, answered_by, step)?;
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
                    let step = self.asked(exchange, &at);
                    self.append(event, step_type, step)?;
                }
                if is_both || !begins {
                    let called = if is_both { Some(event.index()) } else { event.partner() };
                    let exchange = called.and_then(|called| self.run.exchange(called));
                    let step = self.answered(exchange, &at);
                    self.append(event, answered_by, step)?;
                }
                Ok(())
            }
            _ => {
                lost(self.run, event, self.losses);
                Ok(())
            }
        }
    }

    fn tool_call(&mut self, tool: &ToolUse<'_>, at: &Place) -> Step {
        let Ok(call) = tool.call() else {
            self.losses.add(at.clone(), UNREADABLE);
            return Step::default();
        };
        let step_id = tool.called.step_id();
        let input = call.input.as_ref().map(|input| input.text().to_vec());
        let input = Object::new()
            .text("step_id", &step_id)
            .word("tool_call_id", call.tool_call_id.as_deref())
            .text("tool", &call.tool)
            .raw("input", input.as_deref().unwrap_or(b"null"))
            .word("plan_step_id", call.step_id.as_deref().filter(|plan| **plan != step_id))
            .close();
        let kept = ["event", "t", "id", "tool", "params", "params_hash", "step_id"];
        let kept_of_trace = ["type", "tool_name", "args", "result", "error", "result_sha256", "episode_id"];
        if let Some(item) = tool.called.payload().value() {
            others(item, &[&kept[..], &kept_of_trace].concat(), at, self.losses);
        }
        self.side(&input, at, |input| Step { input: Some(input), ..Step::default() })
    }

    fn tool_result(&mut self, tool: &ToolUse<'_>, at: &Place) -> Step {
        let Ok(result) = tool.result() else { return Step::default() };
        let step_id = tool.returned.map_or_else(Default::default, |returned| returned.step_id());
        let output = result.output.as_ref().map(|output| output.text().to_vec());
        let mut object = Object::new().text("step_id", &step_id);
        if let Some(output) = &output {
            object = object.raw("output", output);
        }
        let output = object
            .word("output_hash", result.output_hash.as_deref())
            .raw("is_error", if result.is_error { b"true" } else { b"false" })
            .number("exit_code", result.exit_code)
            .number("utility", result.utility.map(|utility| format!("{utility:?}")))
            .number("latency_ms", result.latency.map(|latency| latency.as_millis()))
            .close();
        if let (Some(item), false) = (
            tool.returned.and_then(|event| event.payload().value()),
            tool.called.partner() == Some(tool.called.index()),
        ) {
            let kept = ["event", "t", "id", "output_hash", "exit_code", "step_utility", "latency_ms"];
            others(item, &kept, at, self.losses);
        }
        self.side(&output, at, |output| Step { output: Some(output), ..Step::default() })
    }

    fn asked(&mut self, exchange: Option<Exchange<'_>>, at: &Place) -> Step {
        let request = exchange.as_ref().map(|exchange| (exchange.step_id(), exchange.request()));
        let Some((step_id, Ok(request))) = request else {
            self.losses.add(at.clone(), UNREADABLE);
            return Step::default();
        };
        let meta = exchange.and_then(|exchange| exchange.called.payload().value()?.member("meta"));
        let meta = meta.filter(|meta| meta.kind() == reenact_json::Kind::Object);
        let input = asked(&request, &step_id);
        let metadata = meta.map(|meta| meta.text().to_vec()).and_then(|meta| Some(stable(&meta).ok()?.0));
        self.side(&input, at, |input| Step { input: Some(input), output: None, metadata })
    }

    fn answered(&mut self, exchange: Option<Exchange<'_>>, at: &Place) -> Step {
        let answer = exchange.as_ref().map(|exchange| (exchange.step_id(), exchange.answer()));
        let Some((step_id, Ok(answer))) = answer else {
            self.losses.add(at.clone(), UNREADABLE);
            return Step::default();
        };
        if self.run.dialect() == FormatId::ModelIo
            && let Some(item) = exchange.and_then(|exchange| exchange.called.payload().value())
        {
            let kept = [
                "i",
                "prompt_hash",
                "response_hash",
                "response_content",
                "tokens_input",
                "tokens_output",
                "latency_ms",
            ];
            others(item, &kept, at, self.losses);
        }
        let output = answered(&answer, &step_id);
        let latency = answer.latency.map(|latency| latency.as_millis());
        let metadata = latency.map(|latency| Object::new().number("latency_ms", Some(latency)).close());
        self.side(&output, at, |output| Step { input: None, output: Some(output), metadata })
    }

    /// A side that was put together here, as the format writes it.
    fn side(&mut self, text: &[u8], at: &Place, step: impl FnOnce(Vec<u8>) -> Step) -> Step {
        match stable(text) {
            Ok((written, changed)) => {
                // Where in the source a leaf of this shape came from is not known any more.
                if changed && differ(text, &written) {
                    self.losses.add(at.clone(), RESPELLED);
                }
                step(written)
            }
            Err(_) => {
                self.losses.add(at.clone(), NO_PLACE);
                Step::default()
            }
        }
    }
}

/// A request, as a listener of this format keeps it.
fn asked(request: &Request<'_>, step_id: &str) -> Vec<u8> {
    let object = Object::new().text("step_id", step_id).word("model", request.model.as_deref());
    let object = object.word("provider", Some(&request.provider));
    match &request.body {
        Body::Prompt(prompt) => object.text("prompt", prompt).close(),
        Body::Hash(digest) => object.text("prompt_hash", &format!("sha256:{digest}")).close(),
        Body::Json(text) | Body::Members(text) if !request.path.is_empty() => {
            object.text("path", &request.path).raw("payload", text).close()
        }
        Body::Json(text) | Body::Members(text) => object.raw("payload", text).close(),
        Body::Bytes(bytes) => {
            let object = object.word("path", Some(&request.path)).word("method", Some(&request.method));
            match Value::parse(bytes, &limits()) {
                Ok(body) => object.raw("payload", body.text()).close(),
                Err(_) => object.text("prompt", &String::from_utf8_lossy(bytes)).close(),
            }
        }
    }
}

/// An answer, as a listener of this format keeps it.
fn answered(answer: &Answer<'_>, step_id: &str) -> Vec<u8> {
    let object = Object::new().text("step_id", step_id);
    if let (Held::Said, Some(said)) = (answer.held, &answer.said) {
        let usage = said.usage.map(|usage| {
            Object::new()
                .number("input_tokens", Some(usage.input_tokens))
                .number("output_tokens", Some(usage.output_tokens))
                .close()
        });
        let object = object.text("content", &said.text).word("stop_reason", said.stop_reason.as_deref());
        return match usage {
            Some(usage) => object.raw("usage", &usage).close(),
            None => object.close(),
        };
    }
    let object = object.number("status_code", answer.status);
    let object = object.word("content_type", header(&answer.headers, "content-type"));
    match Value::parse(&answer.body, &limits()) {
        Ok(body) => object.raw("body", body.text()).close(),
        Err(_) => object.raw("body", &quoted(&String::from_utf8_lossy(&answer.body))).close(),
    }
}

/// Whether two texts are two values.
fn differ(one: &[u8], other: &[u8]) -> bool {
    match (Value::parse(one, &limits()), Value::parse(other, &limits())) {
        (Ok(one), Ok(other)) => differences(one, other, Bounds { listed: 0, counted: 1 }).count > 0,
        _ => true,
    }
}

/// A value as the format writes it, until that changes nothing more: its paths are not at rest after one turn. Says also whether it
/// may be another value than it was.
fn stable(text: &[u8]) -> Result<(Vec<u8>, bool), ConvertError> {
    const TURNS: usize = 8;
    let mut written = turned(text)?;
    let mut changed = false;
    for _ in 0..TURNS {
        if written.1 {
            break;
        }
        changed = true;
        written = turned(&written.0)?;
    }
    Ok((written.0, changed))
}

/// A value as the format writes it, and whether that changed no value.
fn turned(text: &[u8]) -> Result<(Vec<u8>, bool), ConvertError> {
    let failed = |fault| ConvertError::Text { place: "a value of the source".into(), fault };
    let value = Value::parse(text, &limits()).map_err(|error| failed(error.into()))?;
    let mut out = Vec::with_capacity(text.len());
    let at_rest = Profile::Rpk.write_noting(value, &mut out).map_err(|fault| failed(fault.into()))?;
    Ok((out, at_rest))
}
