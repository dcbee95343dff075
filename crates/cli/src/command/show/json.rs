//! A run and its steps as JSON, for programs.

use std::time::Duration;

use reenact_formats::replay_jsonl::Figures;
use reenact_formats::rer::envelope::money::Money;
use reenact_json::Value;
use reenact_json::print::{self, Object};
use reenact_run::timeline::{StepAction, TimelineStep};
use reenact_run::{Exchange, Exit, Payload, Source, ToolUse};
use reenact_wire::price::Table;

use crate::runs::Found;

/// Whether bodies and headers are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bodies {
    Left,
    Whole,
}

pub(super) fn run(found: &Found, steps: &[TimelineStep<'_>]) -> String {
    let prices = Table::standard();
    let summary = found.run.summary_at(&prices);
    let mut text = String::new();
    let mut object = Object::open(&mut text);
    object.string("run_id", found.run.id());
    object.string("format", found.run.format());
    object.string("imported_from", Some(found.run.dialect().name()).filter(|_| found.run.is_imported()));
    object.boolean("pass", found.report.pass());
    object.string("verdict", found.report.verdict.as_str());
    object.strings("reasons", &found.report.reasons);
    object.strings("command", &summary.command);
    object.string("started_at", found.run.started_at().as_deref());
    object.string("ended_at", found.run.ended_at().as_deref());
    milliseconds(&mut object, "duration_ms", summary.duration);
    object.string("status", summary.status.as_deref());
    object.string("reason", summary.reason.as_deref());
    number(&mut object, "exit_code", summary.exit.and_then(Exit::code));
    number(&mut object, "events", Some(summary.events));
    number(&mut object, "model_calls", Some(summary.model_calls));
    number(&mut object, "tool_calls", Some(summary.tool_calls));
    number(&mut object, "http_calls", Some(summary.http_calls));
    number(&mut object, "input_tokens", Some(summary.input_tokens()));
    number(&mut object, "output_tokens", Some(summary.output_tokens()));
    number(&mut object, "cost_usd", summary.cost().map(|cost| Money::from_picodollars(cost).decimal()));
    object.string("prices_of", summary.cost().map(|_| prices.date.as_str()));
    number(&mut object, "incomplete", Some(summary.incomplete));
    number(&mut object, "withheld", Some(summary.withheld));
    {
        let mut masked = Object::open(object.name("masked"));
        for (rule, values) in super::masked::of(&found.run).values() {
            number(&mut masked, rule, Some(values));
        }
        masked.close();
    }
    number(&mut object, "gaps", Some(summary.gaps));
    number(&mut object, "errors", Some(summary.errors));
    match &summary.figures {
        Some(found) => figures(found, object.name("figures")),
        None => object.string("figures", None),
    }
    print::list(steps, object.name("steps"), |step, out| out.push_str(&self::step(step, Bodies::Left)));
    object.close();
    text
}

pub(super) fn step(step: &TimelineStep<'_>, bodies: Bodies) -> String {
    let mut text = String::new();
    let mut object = Object::open(&mut text);
    object.string("step_id", (!step.id.is_empty()).then_some(&*step.id));
    milliseconds(&mut object, "at_ms", step.at);
    match &step.action {
        StepAction::Model(exchange) => asked(exchange, "model", bodies, &mut object),
        StepAction::Http(exchange) => asked(exchange, "http", bodies, &mut object),
        StepAction::Tool(tool) => tool_use(tool, &mut object),
        StepAction::Other(event) => {
            object.string("kind", "event");
            object.string("name", &*event.name());
            match event.payload() {
                Payload::Present(payload) => value(&mut object, "payload", Some(payload)),
                Payload::Withheld => object.boolean("withheld", true),
                Payload::None => object.string("payload", None),
            }
        }
    }
    object.close();
    text
}

fn asked(exchange: &Exchange<'_>, kind: &str, bodies: Bodies, object: &mut Object<'_>) {
    object.string("kind", kind);
    let facts = exchange.facts();
    match &facts.request {
        Ok(request) => {
            object.string("provider", &*request.provider);
            object.string("model", request.model.as_deref());
            object.string("endpoint", request.endpoint.map(|endpoint| endpoint.name()));
            object.string("method", &*request.method);
            object.string("path", &*request.path);
            if let Some(digest) = &request.body_hash {
                object.string("request_sha256", digest.to_string().as_str());
            } else if bodies == Bodies::Whole
                && let Ok(request) = exchange.request()
            {
                headers(object, "request_headers", &request.headers);
                body(object, "request_body", request.body.bytes());
            }
        }
        Err(why) => object.string("unreadable", why.to_string().as_str()),
    }
    match &facts.answer {
        Ok(answer) => {
            number(object, "status", answer.status);
            object.boolean("stream", answer.is_stream);
            object.boolean("complete", answer.complete);
            object.string("ended_by", answer.ended_by.name());
            milliseconds(object, "ttft_ms", answer.ttft);
            milliseconds(object, "latency_ms", answer.latency);
            if bodies == Bodies::Whole
                && let Ok(answer) = exchange.answer()
            {
                headers(object, "answer_headers", &answer.headers);
                body(object, "answer_body", &answer.body);
            }
        }
        Err(why) => object.string("unanswered", why.to_string().as_str()),
    }
    let Some(message) = &facts.message else { return };
    object.string("text", message.text.as_str());
    print::list(&message.tool_calls, object.name("tool_calls"), |call, out| {
        let mut object = Object::open(out);
        object.string("id", call.id.as_str());
        object.string("name", call.name.as_str());
        object.string("input", call.input.as_str());
        object.close();
    });
    number(object, "input_tokens", message.usage.map(|usage| usage.input_tokens));
    number(object, "output_tokens", message.usage.map(|usage| usage.output_tokens));
    if let Some(error) = &message.error {
        let mut inner = Object::open(object.name("error"));
        inner.string("type", error.kind.as_str());
        inner.string("message", error.message.as_str());
        inner.close();
    }
}

fn tool_use(tool: &ToolUse<'_>, object: &mut Object<'_>) {
    object.string("kind", "tool");
    match tool.call() {
        Ok(call) => {
            object.string("tool", &*call.tool);
            object.string("tool_call_id", call.tool_call_id.as_deref());
            object.string("source", call.source.map_or("", Source::name));
            value(object, "input", call.input.as_ref().and_then(|input| input.value()));
        }
        Err(why) => object.string("unreadable", why.to_string().as_str()),
    }
    match tool.result() {
        Ok(result) => {
            object.string("output_hash", result.output_hash.as_deref());
            number(object, "exit_code", result.exit_code);
            number(object, "utility", result.utility);
            value(object, "output", result.output.as_ref().and_then(|output| output.value()));
            object.boolean("is_error", result.is_error);
            milliseconds(object, "latency_ms", result.latency);
        }
        Err(why) => object.string("unanswered", why.to_string().as_str()),
    }
}

fn figures(figures: &Figures, out: &mut String) {
    let mut object = Object::open(out);
    number(&mut object, "tool_calls", Some(figures.tool_calls));
    number(&mut object, "total_latency_ms", figures.total_latency_ms());
    number(&mut object, "average_step_utility", figures.average_step_utility());
    object.close();
}

fn headers(object: &mut Object<'_>, name: &str, headers: &[(String, String)]) {
    print::list(headers, object.name(name), |(name, value), out| {
        print::list([name, value], out, |text, out| print::string(text, out));
    });
}

/// A body as text; what is no text, as its size.
fn body(object: &mut Object<'_>, name: &str, bytes: &[u8]) {
    match core::str::from_utf8(bytes) {
        Ok(text) => object.string(name, text),
        Err(_) => {
            let mut inner = Object::open(object.name(name));
            number(&mut inner, "bytes", Some(bytes.len()));
            inner.close();
        }
    }
}

/// A value of the record, written anew so that nothing in it acts on a terminal.
fn value(object: &mut Object<'_>, name: &str, value: Option<Value<'_>>) {
    match value {
        Some(value) => rewrite(value, object.name(name)),
        None => object.string(name, None),
    }
}

fn rewrite(value: Value<'_>, out: &mut String) {
    use reenact_json::Kind;
    match value.kind() {
        Kind::String => print::string(&value.string().unwrap_or_default(), out),
        Kind::Array => print::list(value.elements(), out, rewrite),
        Kind::Object => {
            let mut object = Object::open(out);
            for (name, value) in value.members() {
                rewrite(value, object.name(&name.string().unwrap_or_default()));
            }
            object.close();
        }
        _ => out.push_str(&String::from_utf8_lossy(value.text())),
    }
}

fn number(object: &mut Object<'_>, name: &str, number: Option<impl ToString>) {
    let text = number.map_or_else(|| "null".to_owned(), |number| number.to_string());
    object.name(name).push_str(&text);
}

fn milliseconds(object: &mut Object<'_>, name: &str, duration: Option<Duration>) {
    number(object, name, duration.map(|duration| duration.as_millis()));
}

#[cfg(test)]
mod tests {
    use reenact_json::Limits;

    use super::*;

    #[test]
    fn values_are_written_anew() {
        let text = "{\"a\":[1.50,\"\\u001b\u{202e}\",null],\"b\":{}}";
        let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
        let mut out = String::new();
        rewrite(value, &mut out);
        assert_eq!(out, "{\"a\":[1.50,\"\\u001b\\u202e\",null],\"b\":{}}");
    }
}
