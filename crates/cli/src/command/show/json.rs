//! A run and its steps as JSON, for programs.
//!
//! `show --json` prints one object for the run, with its steps in `steps`; `show --step N --json` prints one
//! step with headers and bodies. A member whose value is not known is `null`; it is not left out, so that
//! programs can rely on the names.
//!
//! The JSON is written anew from the parsed record, so that no character of it can act on a terminal. Start
//! reading at [`run`] and [`step`].

use std::time::Duration;

use reenact_formats::replay_jsonl::ReplayTotals;
use reenact_formats::rer::envelope::money::Money;
use reenact_json::Value;
use reenact_json::print::{self, PrintObjectWriter};
use reenact_run::timeline::{StepAction, TimelineStep};
use reenact_run::{BundledOutcome, EventPayload, EventSource, Exchange, Exit, Run, ToolUse};
use reenact_verify::Report;
use reenact_wire::price::PriceTable;

use super::selection::plan_step_of;
use super::surroundings;
use crate::runs::OpenedRun;

/// Extent to which bodies and headers of HTTP messages are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bodies {
    /// Neither bodies nor headers.
    Omitted,
    /// All bodies and headers that the record holds.
    Included,
}

/// Returns a run as one JSON object: verdict, summary, and the steps that are to be shown, of `total`, without bodies.
///
/// Costs are those of the built-in price table; `prices_of` names its day.
pub(super) fn run(found: &OpenedRun, steps: &[&TimelineStep<'_>], total: usize) -> String {
    let mut text = String::new();
    let mut object = PrintObjectWriter::open(&mut text);
    write_facts(&found.run, &found.report, &PriceTable::list_prices(), &mut object);
    print::write_list(steps, object.name("steps"), |step, out| {
        out.push_str(&self::step(step, Bodies::Omitted))
    });
    write_number(&mut object, "steps_in_all", Some(total));
    object.close();
    text
}

/// Appends the verdict and the summary of a run to an object: all that does not belong to one step.
pub(in crate::command) fn write_facts(
    run: &Run,
    report: &Report,
    prices: &PriceTable,
    object: &mut PrintObjectWriter<'_>,
) {
    let summary = run.summary_at(prices);
    object.string("run_id", run.id());
    object.string("format", run.format());
    object.string("imported_from", Some(run.payload_format().name()).filter(|_| run.is_imported()));
    object.boolean("pass", report.pass());
    object.string("verdict", report.verdict().name());
    object.string("summary", report.summary.as_str());
    object.strings("reasons", &report.reasons);
    object.strings("command", &summary.command);
    surroundings::write_members(run, object);
    object.string("started_at", run.started_at().as_deref());
    object.string("ended_at", run.ended_at().as_deref());
    write_milliseconds(object, "duration_ms", summary.duration);
    object.string("status", summary.status.as_deref());
    object.string("reason", summary.reason.as_deref());
    write_number(object, "exit_code", summary.exit.and_then(Exit::code));
    if let Some(outcome) = BundledOutcome::of(run) {
        outcome.write_json(object.name("outcome"));
    }
    write_number(object, "events", Some(summary.events));
    write_number(object, "model_calls", Some(summary.model_calls));
    write_number(object, "tool_calls", Some(summary.tool_calls));
    write_number(object, "http_calls", Some(summary.http_calls));
    write_number(object, "input_tokens", Some(summary.input_tokens()));
    write_number(object, "output_tokens", Some(summary.output_tokens()));
    let cost = summary.cost();
    write_number(object, "cost_usd", cost.map(|cost| Money::from_picodollars(cost.picodollars).decimal()));
    object.boolean("cost_partial", summary.uncounted_calls() > 0);
    object.string("prices_of", cost.map(|_| prices.date.as_str()));
    write_number(object, "incomplete", Some(summary.incomplete));
    write_number(object, "withheld", Some(summary.withheld));
    {
        let mut masked = PrintObjectWriter::open(object.name("masked"));
        for (rule, values) in super::masked::mask_tally(run).counts() {
            write_number(&mut masked, rule, Some(values));
        }
        masked.close();
    }
    write_number(object, "gaps", Some(summary.capture_gaps));
    write_number(object, "errors", Some(summary.errors));
    match &summary.figures {
        Some(found) => write_figures(found, object.name("figures")),
        None => object.string("figures", None),
    }
}

/// Returns a step as one JSON object. `step_id` is the step by the record's word, `id` the name by which `--step` finds it; they are the same
/// but for REPLAY.jsonl, where a step of the plan makes several calls. `kind` is `model`, `http`, `tool` or `event`, which decides about
/// the other members.
pub(super) fn step(step: &TimelineStep<'_>, bodies: Bodies) -> String {
    let mut text = String::new();
    let mut object = PrintObjectWriter::open(&mut text);
    let id = (!step.id.is_empty()).then_some(&*step.id);
    object.string("step_id", plan_step_of(step).as_deref().or(id));
    object.string("id", id);
    write_milliseconds(&mut object, "at_ms", step.at);
    match &step.action {
        StepAction::Model(exchange) => write_exchange(exchange, "model", bodies, &mut object),
        StepAction::Http(exchange) => write_exchange(exchange, "http", bodies, &mut object),
        StepAction::Tool(tool) => write_tool_use(tool, &mut object),
        StepAction::Other(event) => {
            object.string("kind", "event");
            object.string("name", &*event.name());
            match event.payload() {
                EventPayload::Present(payload) => write_member(&mut object, "payload", Some(payload)),
                EventPayload::Withheld => object.boolean("withheld", true),
                EventPayload::None => object.string("payload", None),
            }
        }
    }
    object.close();
    text
}

/// Writes the members of an HTTP exchange: request, answer, and the message that a model's answer holds.
///
/// A request that cannot be read has `unreadable` with the reason, an answer that is missing has `unanswered`.
fn write_exchange(exchange: &Exchange<'_>, kind: &str, bodies: Bodies, object: &mut PrintObjectWriter<'_>) {
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
            } else if bodies == Bodies::Included
                && exchange.foreign_call().is_none()
                && let Ok(request) = exchange.request()
            {
                write_headers(object, "request_headers", &request.headers);
                write_body(object, "request_body", request.body.bytes());
            }
        }
        Err(_) if exchange.foreign_call().is_some() => {}
        Err(why) => object.string("unreadable", why.to_string().as_str()),
    }
    // What another runtime wrote has no headers and bodies, and where nothing of it is known it stands here as it is.
    if let Some(asked) =
        exchange.foreign_call().filter(|_| bodies == Bodies::Included || facts.request.is_err())
    {
        write_member(object, "request_payload", Some(asked.payload));
    }
    let answered = exchange.foreign_return();
    if let Some(answered) = answered.filter(|_| bodies == Bodies::Included || facts.answer.is_err()) {
        write_member(object, "answer_payload", Some(answered.payload));
    }
    match &facts.answer {
        Ok(answer) => {
            write_number(object, "status", answer.status.filter(|_| answered.is_none()));
            object.boolean("stream", answer.is_stream);
            object.boolean("complete", answer.complete);
            object.boolean("from_record", exchange.is_answered_from_record());
            object.string("ended_by", answer.ended_by.name());
            write_milliseconds(object, "ttft_ms", answer.ttft);
            write_milliseconds(object, "latency_ms", answer.latency);
            if bodies == Bodies::Included
                && answered.is_none()
                && let Ok(answer) = exchange.answer()
            {
                write_headers(object, "answer_headers", &answer.headers);
                write_body(object, "answer_body", &answer.body);
            }
        }
        Err(_) if answered.is_some() => {}
        Err(why) => object.string("unanswered", why.to_string().as_str()),
    }
    let Some(message) = &facts.message else { return };
    object.string("text", message.text.as_str());
    print::write_list(&message.tool_calls, object.name("tool_calls"), |call, out| {
        let mut object = PrintObjectWriter::open(out);
        object.string("id", call.id.as_str());
        object.string("name", call.name.as_str());
        object.string("input", call.input.as_str());
        object.close();
    });
    write_number(object, "input_tokens", message.usage.map(|usage| usage.input_tokens));
    write_number(object, "output_tokens", message.usage.map(|usage| usage.output_tokens));
    if let Some(error) = &message.error {
        let mut inner = PrintObjectWriter::open(object.name("error"));
        inner.string("type", error.kind.as_str());
        inner.string("message", error.message.as_str());
        inner.close();
    }
}

/// Writes the members of a tool call and its result. A call that cannot be read has `unreadable` with the
/// reason, a result that is missing has `unanswered`.
fn write_tool_use(tool: &ToolUse<'_>, object: &mut PrintObjectWriter<'_>) {
    object.string("kind", "tool");
    match tool.call() {
        Ok(call) => {
            object.string("tool", &*call.tool);
            object.string("tool_call_id", call.tool_call_id.as_deref());
            object.string("source", call.source.map_or("", EventSource::name));
            write_member(object, "input", call.input.as_ref().and_then(|input| input.value()));
        }
        Err(why) => object.string("unreadable", why.to_string().as_str()),
    }
    match tool.result() {
        Ok(result) => {
            object.string("output_hash", result.output_hash.as_deref());
            write_number(object, "exit_code", result.exit_code);
            write_number(object, "utility", result.utility);
            write_member(object, "output", result.output.as_ref().and_then(|output| output.value()));
            object.boolean("is_error", result.is_error);
            write_milliseconds(object, "latency_ms", result.latency);
        }
        Err(why) => object.string("unanswered", why.to_string().as_str()),
    }
}

/// Writes the figures of a REPLAY.jsonl: tool calls, total latency in milliseconds, and average utility of a step.
fn write_figures(figures: &ReplayTotals, out: &mut String) {
    let mut object = PrintObjectWriter::open(out);
    write_number(&mut object, "tool_calls", Some(figures.tool_calls));
    write_number(&mut object, "total_latency_ms", figures.known_latency_ms());
    write_number(&mut object, "average_step_utility", figures.average_step_utility());
    object.close();
}

/// Writes headers as a list of `[name, value]` pairs, since a name may occur more than once and the order is
/// part of the record.
fn write_headers(object: &mut PrintObjectWriter<'_>, name: &str, headers: &[(String, String)]) {
    print::write_list(headers, object.name(name), |(name, value), out| {
        print::write_list([name, value], out, |text, out| print::write_string(text, out));
    });
}

/// Writes a body as a string; one that is not UTF-8 as an object with its size in bytes.
fn write_body(object: &mut PrintObjectWriter<'_>, name: &str, bytes: &[u8]) {
    match core::str::from_utf8(bytes) {
        Ok(text) => object.string(name, text),
        Err(_) => {
            let mut inner = PrintObjectWriter::open(object.name(name));
            write_number(&mut inner, "bytes", Some(bytes.len()));
            inner.close();
        }
    }
}

/// Writes a value of the record as a member; `null` if there is none. Withheld payloads have a member
/// `withheld` of their own.
fn write_member(object: &mut PrintObjectWriter<'_>, name: &str, value: Option<Value<'_>>) {
    match value {
        Some(value) => write_value(value, object.name(name)),
        None => object.string(name, None),
    }
}

/// Writes a value of the record in one line, with characters escaped that act on a terminal. Numbers keep
/// their spelling: `1.50` must not become `1.5`.
fn write_value(value: Value<'_>, out: &mut String) {
    use reenact_json::ValueKind;
    match value.kind() {
        ValueKind::String => print::write_string(&value.string().unwrap_or_default(), out),
        ValueKind::Array => print::write_list(value.elements(), out, write_value),
        ValueKind::Object => {
            let mut object = PrintObjectWriter::open(out);
            for (name, value) in value.members() {
                write_value(value, object.name(&name.string().unwrap_or_default()));
            }
            object.close();
        }
        _ => out.push_str(&String::from_utf8_lossy(value.text())),
    }
}

/// Writes a number as a member; `null` if there is none.
fn write_number(object: &mut PrintObjectWriter<'_>, name: &str, number: Option<impl ToString>) {
    let text = number.map_or_else(|| "null".to_owned(), |number| number.to_string());
    object.name(name).push_str(&text);
}

/// Writes a duration as a member, in whole milliseconds.
fn write_milliseconds(object: &mut PrintObjectWriter<'_>, name: &str, duration: Option<Duration>) {
    write_number(object, name, duration.map(|duration| duration.as_millis()));
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
        write_value(value, &mut out);
        assert_eq!(out, "{\"a\":[1.50,\"\\u001b\\u202e\",null],\"b\":{}}");
    }
}
