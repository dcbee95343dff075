//! One step of a run as text, with everything that was asked and answered.
//!
//! ```text
//! asked POST /v1/messages (anthropic)
//!   content-type: application/json
//!   { … }
//!
//! answered status 200, HTTP/1.1, first byte after 8 ms, all after 21 ms, ended by eof
//!   …
//! ```
//!
//! All text of the record is untrusted, and escaped before it is printed. `policy approve` prints its questions with
//! the same functions. Start reading at [`step`].

use std::borrow::Cow;
use std::fmt::Write as _;

use reenact_json::shown::is_unsafe;
use reenact_json::{Limits, Shown, Value, ValueKind};
use reenact_run::timeline::{StepAction, TimelineStep};
use reenact_run::tool::RecordedToolResult;
use reenact_run::{Event, EventPayload, Exchange, ExchangeRequestBody, ToolUse};
use reenact_verify::render::Tone;
use reenact_wire::ToolCall;

use super::selection::plan_step_of;
use super::tool_output::{self, ShortOutput};
use crate::output::paint;
use crate::quantity;

/// Length to which outputs of tools are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputLength {
    /// By the rule of REPLAY.jsonl.
    Shortened,
    /// All of it.
    Whole,
}

/// Line below an output that is not shown as a whole.
const SHORTENED: &str = "(shortened; --full shows all of it)";

/// Returns the pages of steps. If there are several, each is under the id of its step.
pub(super) fn pages(steps: &[&TimelineStep<'_>], length: OutputLength) -> String {
    if let [only] = steps {
        return step(only, length);
    }
    let page = |each: &&TimelineStep<'_>| {
        let id =
            if each.id.is_empty() { "event".to_owned() } else { format!("step {}", Shown::whole(&each.id)) };
        format!("{}\n{}", title(&format!("=== {id}")), step(each, length))
    };
    steps.iter().map(page).collect::<Vec<_>>().join("\n")
}

/// Returns a step as text.
pub(super) fn step(step: &TimelineStep<'_>, length: OutputLength) -> String {
    match &step.action {
        StepAction::Model(exchange) | StepAction::Http(exchange) => exchange_text(exchange),
        StepAction::Tool(tool) => tool_use_text(tool, plan_step_of(step).as_deref(), length),
        StepAction::Other(event) => event_text(event),
    }
}

/// Returns text in the style of a title.
fn title(text: &str) -> String {
    paint(Tone::Title, text)
}

/// Returns an HTTP exchange: request, answer, and for a stream also the message that its pieces make.
///
/// Formats without HTTP bytes show the text and the tool calls of the answer. If the gateway gave the agent
/// another body than the vendor's, such as a denial, that one follows.
fn exchange_text(exchange: &Exchange<'_>) -> String {
    let mut text = String::new();
    if let Some(asked) = exchange.foreign_call() {
        let request = exchange.request().ok();
        let mut words = vec![title("asked")];
        words.extend(
            request.as_ref().and_then(|request| Some(Shown::whole(request.model.as_deref()?).to_string())),
        );
        let provider = request.as_ref().map(|request| &*request.provider).filter(|name| !name.is_empty());
        words.extend(provider.map(|name| format!("({})", Shown::new(name))));
        let _ = writeln!(text, "{}", words.join(" "));
        push_value(asked.payload, &mut text);
        return text + &foreign_answer_text(exchange);
    }
    match exchange.request() {
        Ok(request) => {
            let mut words = vec![title("asked")];
            for word in [&request.method, &request.path].into_iter().filter(|word| !word.is_empty()) {
                words.push(Shown::whole(word).to_string());
            }
            if !request.provider.is_empty() {
                words.push(format!("({})", Shown::new(&request.provider)));
            }
            let _ = writeln!(text, "{}", words.join(" "));
            push_headers(&request.headers, &mut text);
            match &request.body {
                ExchangeRequestBody::Hash(digest) => {
                    let _ = writeln!(text, "  only the hash of the prompt is held: sha256:{digest}");
                }
                body => push_body(body.bytes(), &mut text),
            }
        }
        Err(why) => {
            let _ = writeln!(text, "{} {}", title("asked"), paint(Tone::Bad, &why.to_string()));
        }
    }
    text.push('\n');
    let answer = match exchange.answer() {
        Ok(answer) => answer,
        Err(why) => {
            let _ = writeln!(text, "{} {}", title("answered"), paint(Tone::Bad, &why.to_string()));
            return text;
        }
    };
    let mut facts = vec![answer.status.map_or("no answer".into(), |status| format!("status {status}"))];
    facts.extend(answer.version.as_ref().map(|version| format!("HTTP/{}", Shown::new(version))));
    facts.extend(answer.ttft.map(|ttft| format!("first byte after {}", quantity::duration(ttft))));
    facts.extend(answer.latency.map(|latency| format!("all after {}", quantity::duration(latency))));
    facts.push(format!("ended by {}", answer.ended_by.name()));
    if !answer.complete {
        facts.push(paint(Tone::Bad, "not complete"));
    }
    let _ = writeln!(text, "{} {}", title("answered"), facts.join(", "));
    push_headers(&answer.headers, &mut text);
    if let Some(message) = &answer.recorded_message {
        push_text(&message.text, &mut text);
        push_tool_calls(&message.tool_calls, &mut text);
        return text;
    }
    if answer.is_stream()
        && let Some(message) = exchange.message()
    {
        let _ = writeln!(text, "\n{}", title("put together"));
        push_text(&message.text, &mut text);
        push_tool_calls(&message.tool_calls, &mut text);
        let _ = writeln!(text, "\n{}", title("as it came"));
    }
    push_body(&answer.body, &mut text);
    if let Some(delivered) = &answer.delivered {
        let _ = writeln!(text, "\n{}", title("given to the agent instead"));
        push_body(delivered, &mut text);
    }
    text
}

/// Returns the answer to a request that another runtime recorded: its payload as it stands.
fn foreign_answer_text(exchange: &Exchange<'_>) -> String {
    let mut text = format!("\n{}", title("answered"));
    let latency = exchange.answer().ok().and_then(|answer| answer.latency);
    if let Some(latency) = latency {
        let _ = write!(text, " after {}", quantity::duration(latency));
    }
    match (exchange.foreign_return(), exchange.answer()) {
        (Some(answered), _) => {
            text.push('\n');
            push_value(answered.payload, &mut text);
        }
        (None, Err(why)) => {
            let _ = writeln!(text, " {}", paint(Tone::Bad, &why.to_string()));
        }
        (None, Ok(answer)) => {
            text.push('\n');
            push_body(&answer.body, &mut text);
        }
    }
    text
}

/// Appends the tool calls that a model asked for.
fn push_tool_calls(calls: &[ToolCall], text: &mut String) {
    for call in calls {
        let _ = writeln!(text, "  asks for {} {}", Shown::new(&call.name), Shown::whole(&call.input));
    }
}

/// Returns a tool call with its input and its output. Where the record holds only the hash of an output, the
/// hash is shown.
fn tool_use_text(tool: &ToolUse<'_>, plan_step: Option<&str>, length: OutputLength) -> String {
    let mut text = String::new();
    match tool.call() {
        Ok(call) => {
            let plan_step = plan_step.map(|id| format!(" (step {})", Shown::new(id))).unwrap_or_default();
            let _ = writeln!(text, "{} {}{plan_step}", title("called"), Shown::whole(&call.tool));
            if let Some(input) = call.input.as_ref().and_then(|input| input.value()) {
                push_value(input, &mut text);
            }
        }
        Err(why) => {
            let _ = writeln!(text, "{} {}", title("called"), paint(Tone::Bad, &why.to_string()));
        }
    }
    text.push('\n');
    match tool.result() {
        Ok(result) => {
            let failed = if result.is_error { paint(Tone::Bad, " an error") } else { String::new() };
            let facts = result_facts(&result).join(", ");
            let facts = if facts.is_empty() { facts } else { format!(" ({facts})") };
            let _ = writeln!(text, "{}{failed}{facts}", title("gave"));
            if let Some(output) = result.output.as_ref().and_then(|output| output.value()) {
                push_output(output, length, &mut text);
            } else if !result.previews.is_empty() {
                push_previews(&result, length, &mut text);
            } else if let Some(hash) = &result.output_hash {
                let _ = writeln!(text, "  only the hash of the output is held: {}", Shown::whole(hash));
            }
        }
        Err(why) => {
            let _ = writeln!(text, "{} {}", title("gave"), paint(Tone::Bad, &why.to_string()));
        }
    }
    text
}

/// Appends the parts of an output that a record holds beside the output's hash.
fn push_previews(result: &RecordedToolResult<'_>, length: OutputLength, text: &mut String) {
    if let Some(hash) = &result.output_hash {
        let hash = Shown::whole(hash);
        let _ = writeln!(text, "  the output itself is not held, only parts of it and its hash: {hash}");
    }
    let mut is_short = false;
    for (name, part) in &result.previews {
        let shown = match length {
            OutputLength::Shortened => tool_output::shortened_part(name, part),
            OutputLength::Whole => Cow::Borrowed(&**part),
        };
        is_short |= shown.len() != part.len();
        let _ = writeln!(text, "  {name}:");
        push_text(&shown, text);
    }
    if is_short {
        let _ = writeln!(text, "  {}", paint(Tone::Quiet, SHORTENED));
    }
}

/// Returns what is known of a result beside its output: latency, exit code, utility.
pub(super) fn result_facts(result: &RecordedToolResult<'_>) -> Vec<String> {
    let mut facts: Vec<String> = result.latency.map(quantity::duration).into_iter().collect();
    facts.extend(result.exit_code.map(|code| format!("exit {code}")));
    facts.extend(result.utility.map(|utility| format!("utility {utility}")));
    facts
}

/// Appends the output of a tool, and that it is shortened if it is.
fn push_output(output: Value<'_>, length: OutputLength, text: &mut String) {
    let short = tool_output::shortened(output).filter(|_| length == OutputLength::Shortened);
    match short {
        None => return push_value(output, text),
        Some(ShortOutput::Text(short)) => push_text(&short, text),
        Some(ShortOutput::Streams(members)) => {
            for (name, value, short) in members {
                let _ = writeln!(text, "  {}:", Shown::new(&name));
                match short {
                    Some(short) => push_text(&short, text),
                    None => push_value(value, text),
                }
            }
        }
    }
    let _ = writeln!(text, "  {}", paint(Tone::Quiet, SHORTENED));
}

/// Returns any other event: its name and its payload.
fn event_text(event: &Event<'_>) -> String {
    let mut text = format!("{}\n", title(&Shown::whole(&event.name()).to_string()));
    match event.payload() {
        EventPayload::Present(payload) => push_value(payload, &mut text),
        EventPayload::Withheld => text.push_str("  withheld\n"),
        EventPayload::None => {}
    }
    text
}

/// Appends headers, a line each.
fn push_headers(headers: &[(String, String)], text: &mut String) {
    for (name, value) in headers {
        let line = format!("{}: {}", Shown::whole(name), Shown::whole(value));
        let _ = writeln!(text, "  {}", paint(Tone::Quiet, &line));
    }
}

/// Appends a body: JSON indented, other text as it is, anything else as its size.
///
/// Bodies are never cut: this page is for reading all of one step.
fn push_body(bytes: &[u8], text: &mut String) {
    if bytes.is_empty() {
        text.push_str("  (empty)\n");
    } else if let Ok(document) = Value::parse(bytes, &Limits::default()) {
        push_value(document, text);
    } else if let Ok(body) = core::str::from_utf8(bytes) {
        push_text(body, text);
    } else {
        let size = quantity::size(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let _ = writeln!(text, "  ({size} that are not text)");
    }
}

/// Appends a value: a string as it reads, anything else indented.
///
/// A string that holds a JSON object or array is shown as JSON, because inputs and outputs of tools are often
/// JSON in a string.
fn push_value(value: Value<'_>, text: &mut String) {
    match value.string() {
        // A tool's input and output are often JSON in a string.
        Some(inner) => match Value::parse(inner.as_bytes(), &Limits::default()) {
            Ok(document) if matches!(document.kind(), ValueKind::Object | ValueKind::Array) => {
                push_indented(document, 1, text)
            }
            _ => return push_text(&inner, text),
        },
        None => {
            text.push_str("  ");
            push_indented(value, 1, text);
            text.push('\n');
            return;
        }
    }
    text.push('\n');
}

/// Appends text line by line, indented, with unsafe characters escaped.
pub(in crate::command) fn push_text(body: &str, text: &mut String) {
    for line in body.lines() {
        text.push_str("  ");
        // Backslashes are not escaped, so that people can compare these lines with what they sent.
        for character in line.chars() {
            match character {
                unsafe_one if is_unsafe(unsafe_one) => text.extend(unsafe_one.escape_unicode()),
                plain => text.push(plain),
            }
        }
        text.push('\n');
    }
}

/// Appends a JSON value over several lines. The first line is not indented, the others are by two spaces for each level.
pub(in crate::command) fn push_indented(value: Value<'_>, depth: usize, text: &mut String) {
    let new_line = |depth: usize, text: &mut String| {
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
    };
    match value.kind() {
        ValueKind::Object if value.members().next().is_some() => {
            text.push('{');
            for (at, (name, value)) in value.members().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                new_line(depth + 1, text);
                push_scalar(name, text);
                text.push_str(": ");
                push_indented(value, depth + 1, text);
            }
            new_line(depth, text);
            text.push('}');
        }
        ValueKind::Array if value.elements().next().is_some() => {
            text.push('[');
            for (at, value) in value.elements().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                new_line(depth + 1, text);
                push_indented(value, depth + 1, text);
            }
            new_line(depth, text);
            text.push(']');
        }
        _ => push_scalar(value, text),
    }
}

/// Appends a string with JSON escapes, or another scalar as it is spelled.
fn push_scalar(value: Value<'_>, text: &mut String) {
    match value.string() {
        Some(string) => reenact_json::print::write_string(&string, text),
        None => text.push_str(&String::from_utf8_lossy(value.text())),
    }
}
