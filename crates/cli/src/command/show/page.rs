//! One step, with all that was asked and answered.

use std::fmt::Write as _;

use reenact_json::shown::is_unsafe;
use reenact_json::{Kind, Limits, Shown, Value};
use reenact_run::timeline::{StepAction, TimelineStep};
use reenact_run::{Body, Event, Exchange, Payload, ToolUse};
use reenact_verify::render::Tone;
use reenact_wire::ToolCall;

use crate::output::paint;
use crate::quantity;

pub(super) fn step(step: &TimelineStep<'_>) -> String {
    match &step.action {
        StepAction::Model(exchange) | StepAction::Http(exchange) => asked(exchange),
        StepAction::Tool(tool) => tool_use(tool),
        StepAction::Other(event) => other(event),
    }
}

fn title(text: &str) -> String {
    paint(Tone::Title, text)
}

fn asked(exchange: &Exchange<'_>) -> String {
    let mut text = String::new();
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
            headers(&request.headers, &mut text);
            match &request.body {
                Body::Hash(digest) => {
                    let _ = writeln!(text, "  only the hash of the prompt is held: sha256:{digest}");
                }
                held => body(held.bytes(), &mut text),
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
    headers(&answer.headers, &mut text);
    if let Some(said) = &answer.said {
        plain(&said.text, &mut text);
        calls(&said.tool_calls, &mut text);
        return text;
    }
    if answer.is_stream()
        && let Some(message) = exchange.message()
    {
        let _ = writeln!(text, "\n{}", title("put together"));
        plain(&message.text, &mut text);
        calls(&message.tool_calls, &mut text);
        let _ = writeln!(text, "\n{}", title("as it came"));
    }
    body(&answer.body, &mut text);
    if let Some(delivered) = &answer.delivered {
        let _ = writeln!(text, "\n{}", title("given to the agent instead"));
        body(delivered, &mut text);
    }
    text
}

fn calls(calls: &[ToolCall], text: &mut String) {
    for call in calls {
        let _ = writeln!(text, "  asks for {} {}", Shown::new(&call.name), Shown::whole(&call.input));
    }
}

fn tool_use(tool: &ToolUse<'_>) -> String {
    let mut text = String::new();
    match tool.call() {
        Ok(call) => {
            let _ = writeln!(text, "{} {}", title("called"), Shown::whole(&call.tool));
            if let Some(input) = call.input.as_ref().and_then(|input| input.value()) {
                value(input, &mut text);
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
            let _ = writeln!(text, "{}{failed}", title("gave"));
            if let Some(output) = result.output.as_ref().and_then(|output| output.value()) {
                value(output, &mut text);
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

fn other(event: &Event<'_>) -> String {
    let mut text = format!("{}\n", title(&Shown::whole(&event.name()).to_string()));
    match event.payload() {
        Payload::Present(payload) => value(payload, &mut text),
        Payload::Withheld => text.push_str("  withheld\n"),
        Payload::None => {}
    }
    text
}

fn headers(headers: &[(String, String)], text: &mut String) {
    for (name, value) in headers {
        let line = format!("{}: {}", Shown::whole(name), Shown::whole(value));
        let _ = writeln!(text, "  {}", paint(Tone::Quiet, &line));
    }
}

/// A body: JSON indented, other text as it is, anything else by its size.
fn body(bytes: &[u8], text: &mut String) {
    if bytes.is_empty() {
        text.push_str("  (empty)\n");
    } else if let Ok(document) = Value::parse(bytes, &Limits::default()) {
        value(document, text);
    } else if let Ok(body) = core::str::from_utf8(bytes) {
        plain(body, text);
    } else {
        let size = quantity::size(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let _ = writeln!(text, "  ({size} that are not text)");
    }
}

/// A string as it reads, anything else indented.
fn value(value: Value<'_>, text: &mut String) {
    match value.string() {
        // A tool's input and output are often JSON in a string.
        Some(inner) => match Value::parse(inner.as_bytes(), &Limits::default()) {
            Ok(document) if matches!(document.kind(), Kind::Object | Kind::Array) => {
                indented(document, 1, text)
            }
            _ => return plain(&inner, text),
        },
        None => {
            text.push_str("  ");
            indented(value, 1, text);
            text.push('\n');
            return;
        }
    }
    text.push('\n');
}

/// A text as it reads, a line each.
pub(in crate::command) fn plain(body: &str, text: &mut String) {
    for line in body.lines() {
        text.push_str("  ");
        // Backslashes stand as they are: people compare these lines with what they sent.
        for character in line.chars() {
            match character {
                unsafe_one if is_unsafe(unsafe_one) => text.extend(unsafe_one.escape_unicode()),
                plain => text.push(plain),
            }
        }
        text.push('\n');
    }
}

/// A value over several lines, from the second on indented.
pub(in crate::command) fn indented(value: Value<'_>, depth: usize, text: &mut String) {
    let new_line = |depth: usize, text: &mut String| {
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
    };
    match value.kind() {
        Kind::Object if value.members().next().is_some() => {
            text.push('{');
            for (at, (name, value)) in value.members().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                new_line(depth + 1, text);
                scalar(name, text);
                text.push_str(": ");
                indented(value, depth + 1, text);
            }
            new_line(depth, text);
            text.push('}');
        }
        Kind::Array if value.elements().next().is_some() => {
            text.push('[');
            for (at, value) in value.elements().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                new_line(depth + 1, text);
                indented(value, depth + 1, text);
            }
            new_line(depth, text);
            text.push(']');
        }
        _ => scalar(value, text),
    }
}

fn scalar(value: Value<'_>, text: &mut String) {
    match value.string() {
        Some(string) => reenact_json::print::string(&string, text),
        None => text.push_str(&String::from_utf8_lossy(value.text())),
    }
}
