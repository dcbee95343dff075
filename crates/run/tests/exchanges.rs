//! Requests and answers, read from payloads as the recorder writes them.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use reenact_run::summary::{ModelUse, RunCost};
use reenact_run::{
    Chunk, EndedBy, EventSource, EventType, ExchangeKind as About, ExchangeRequestBody, Exit,
    UnreadablePayload,
};
use reenact_testkit::fixture::{ModelRequest, RunBuilder, returned_payload, text_body};
use reenact_wire::price::PriceTable;
use reenact_wire::{Endpoint, ToolCall};
use support::OpenRun as _;

const REQUEST: &str = r#"{"model":"gpt-5","messages":[]}"#;
const ANSWER: &str = r#"{"model":"gpt-5-2026","choices":[{"message":{"content":"hi","tool_calls":[{"id":"c1","function":{"name":"now","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}"#;

#[test]
fn a_request_and_its_answer() {
    let key = "ab".repeat(32);
    let asked = ModelRequest { body: REQUEST, match_key: &key, ..ModelRequest::CHAT };
    let run = RunBuilder::started().called("s1", &asked).returned("s1", ANSWER).run();
    let [exchange] = run.exchanges().collect::<Vec<_>>()[..] else { unreachable!() };
    assert_eq!((exchange.kind, exchange.step_id().as_ref()), (About::Model, "s1"));
    assert_eq!((exchange.called.index(), exchange.returned.map(|event| event.index())), (1, Some(2)));
    let request = exchange.request().unwrap();
    assert_eq!((&*request.provider, request.model.as_deref()), ("openai", Some("gpt-5")));
    assert_eq!((&*request.method, &*request.path), ("POST", "/v1/chat/completions"));
    assert_eq!(request.endpoint, Some(Endpoint::CHAT_COMPLETIONS));
    assert_eq!(request.headers, [("content-type".to_owned(), "application/json".to_owned())]);
    assert_eq!(request.body, ExchangeRequestBody::Bytes(REQUEST.as_bytes().into()));
    assert_eq!(request.match_key.as_deref(), Some(key.as_str()));
    assert_eq!(request.source, Some(EventSource::Observed));
    let answer = exchange.answer().unwrap();
    assert_eq!((answer.status, answer.version.as_deref()), (Some(200), Some("1.1")));
    assert_eq!((answer.complete, answer.ended_by), (true, EndedBy::Eof));
    assert_eq!(
        (answer.ttft, answer.latency),
        (Some(Duration::from_millis(3)), Some(Duration::from_micros(12_500)))
    );
    assert_eq!(answer.body, ANSWER.as_bytes());
    let message = exchange.message().unwrap();
    assert_eq!((message.text.as_str(), message.model.as_deref()), ("hi", Some("gpt-5-2026")));
    assert_eq!(message.tool_calls, [ToolCall { id: "c1".into(), name: "now".into(), input: "{}".into() }]);
}

#[test]
fn a_stream_with_its_chunks() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"hé\"}}]}\n\ndata: [DONE]\n\n";
    let http = format!(
        r#"{{"version":"2","headers":[["Content-Type","text/event-stream"]],"trailers":[["x","y"]],"body":{},"chunks":[[5,49],[9.25,0],[11,14]]}}"#,
        text_body(body)
    );
    let run = RunBuilder::started()
        .called("s1", &ModelRequest { body: REQUEST, ..ModelRequest::CHAT })
        .event(
            "rer.model.returned",
            &returned_payload("s1", &http, r#""status":200,"complete":true,"ended_by":"client""#),
        )
        .run();
    let exchange = run.exchanges().next().unwrap();
    let answer = exchange.answer().unwrap();
    let chunk = |at, length| Chunk { at: Duration::from_micros(at), length };
    assert_eq!(answer.chunks, [chunk(5_000, 49), chunk(9_250, 0), chunk(11_000, 14)]);
    assert_eq!(answer.trailers, [("x".to_owned(), "y".to_owned())]);
    assert_eq!((answer.is_stream(), answer.ended_by), (true, EndedBy::Client));
    let message = exchange.message().unwrap();
    assert_eq!((message.text.as_str(), message.is_complete), ("hé", true));
}

#[test]
fn bytes_that_are_no_text_and_no_answer_at_all() {
    let http = r#"{"version":"1.1","headers":[],"body":{"base64":"/wD+"},"wire_sha256":"x"}"#;
    let none = r#"{"step_id":"s2","status":null,"http":null,"complete":false,"ended_by":"timeout","ttft_ms":null,"latency_ms":8}"#;
    let run = RunBuilder::started()
        .called("s1", &ModelRequest::CHAT)
        .called("s2", &ModelRequest::CHAT)
        .event("rer.model.returned", none)
        .event(
            "rer.model.returned",
            &returned_payload("s1", http, r#""status":502,"complete":false,"ended_by":"upstream""#),
        )
        .called("s3", &ModelRequest::CHAT)
        .run();
    let answers: Vec<_> = run.exchanges().map(|exchange| exchange.answer()).collect();
    let cut = answers[0].as_ref().unwrap();
    assert_eq!((cut.status, &*cut.body, cut.ended_by), (Some(502), &[0xFF, 0, 0xFE][..], EndedBy::Upstream));
    let nothing = answers[1].as_ref().unwrap();
    assert_eq!((nothing.status, nothing.complete, nothing.ended_by), (None, false, EndedBy::Timeout));
    assert_eq!(nothing.latency, Some(Duration::from_millis(8)));
    assert_eq!(answers[2], Err(UnreadablePayload::NoAnswer));
}

#[test]
fn steps_are_paired_within_their_kind() {
    let tool = r#"{"step_id":"s1","tool_call_id":"c1","tool":"now","input":{"zone":"UTC"},"via":"conversation","source":"inferred"}"#;
    let result = r#"{"step_id":"s1","tool_call_id":"c1","tool":"now","output":"12:00","is_error":true,"latency_ms":4,"source":"inferred"}"#;
    let list = ModelRequest::CHAT.payload("s1").replace("POST", "GET").replace("chat/completions", "models");
    let run = RunBuilder::started()
        .called("s1", &ModelRequest::CHAT)
        .event("rer.tool.called", tool)
        .event("rer.http.called", &list)
        .event("rer.tool.returned", result)
        .returned("s1", "{}")
        .returned("s1", "{}")
        .run();
    let pairs: Vec<_> = run.events().map(|event| event.partner()).collect();
    assert_eq!(pairs, [None, Some(5), Some(4), None, Some(2), Some(1), None]);
    let [tool] = run.tool_calls().collect::<Vec<_>>()[..] else { unreachable!() };
    let call = tool.call().unwrap();
    assert_eq!(
        (&*call.tool, call.tool_call_id.as_deref(), call.via.as_deref()),
        ("now", Some("c1"), Some("conversation"))
    );
    assert_eq!(
        (call.input.unwrap().text(), call.source),
        (&br#"{"zone":"UTC"}"#[..], Some(EventSource::Inferred))
    );
    let result = tool.result().unwrap();
    assert_eq!((result.output.unwrap().text(), result.is_error), (&b"\"12:00\""[..], true));
    assert_eq!(result.latency, Some(Duration::from_millis(4)));
    let about: Vec<About> = run.exchanges().map(|exchange| exchange.kind).collect();
    assert_eq!(about, [About::Model, About::Http]);
    assert!(run.exchange(2).is_none() && run.exchange(5).is_none());
    assert_eq!(run.exchange(3).unwrap().request().unwrap().endpoint, Some(Endpoint::CHAT_COMPLETIONS));
}

#[test]
fn the_endpoint_is_found_where_it_is_not_named() {
    let find = |provider, path, endpoint| {
        let run = RunBuilder::started()
            .called("s1", &ModelRequest { provider, path, endpoint, ..ModelRequest::CHAT })
            .run();
        run.exchanges().next().unwrap().request().unwrap().endpoint
    };
    assert_eq!(find("anthropic", "/v1/messages?beta=true", None), Some(Endpoint::MESSAGES));
    assert_eq!(find("openai", "/v1/embeddings", None), Some(Endpoint::EMBEDDINGS));
    assert_eq!(find("my-proxy", "/x", Some("responses")), Some(Endpoint::RESPONSES));
    assert_eq!(find("openai", "/v1/responses", Some("made.up")), Some(Endpoint::RESPONSES));
}

#[test]
fn a_summary_counts_what_happened() {
    let list = ModelRequest::CHAT
        .payload("s9")
        .replace("POST", "GET")
        .replace("\"model\":\"gpt-5\"", "\"model\":null");
    let error = format!(
        r#"{{"headers":[],"body":{}}}"#,
        text_body(r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#)
    );
    let run = RunBuilder::started()
        .called("s1", &ModelRequest::CHAT)
        .returned("s1", ANSWER)
        .called("s2", &ModelRequest::CHAT)
        .event(
            "rer.model.returned",
            &returned_payload("s2", &error, r#""status":429,"complete":true,"ended_by":"eof""#),
        )
        .called("s3", &ModelRequest::CHAT)
        .event("rer.http.called", &list)
        .withheld("rer.http.returned", r#"{"step_id":"s9"}"#)
        .withheld("rer.model.called", "{}")
        .event("rer.tool.called", r#"{"step_id":"s4","tool":"now"}"#)
        .event("rer.capture.gap", r#"{"what":"a body","why":"too large"}"#)
        .event("rer.error.raised", r#"{"boundary":"upstream"}"#)
        .ended(-3)
        .run();
    let summary = run.summary();
    assert_eq!(summary.events, 13);
    assert_eq!(summary.kinds.get(&Some(EventType::ModelCalled)), Some(&4));
    assert_eq!((summary.model_calls, summary.http_calls, summary.tool_calls), (4, 1, 1));
    let asked = ModelUse {
        calls: 3,
        with_usage: 1,
        errors: 1,
        input_tokens: 7,
        output_tokens: 2,
        priced: 1,
        cost_picodollars: 7 * 1_250_000 + 2 * 10_000_000,
        // The one without an answer. An error costs nothing.
        uncounted: 1,
        ..ModelUse::default()
    };
    let withheld = ModelUse { calls: 1, uncounted: 1, ..ModelUse::default() };
    assert_eq!(summary.models, BTreeMap::from([("gpt-5".to_owned(), asked), (String::new(), withheld)]));
    assert_eq!((summary.input_tokens(), summary.output_tokens()), (7, 2));
    assert_eq!(summary.cost(), Some(RunCost { picodollars: 28_750_000, uncounted_calls: 2 }));
    assert_eq!(summary.models["gpt-5"].cost(), Some(RunCost { picodollars: 28_750_000, uncounted_calls: 1 }));
    let unpriced = run.summary_at(&PriceTable::new("2026-01-01"));
    assert_eq!((unpriced.cost(), unpriced.uncounted_calls()), (None, 3));
    assert_eq!((summary.incomplete, summary.withheld), (3, 2));
    assert_eq!((summary.capture_gaps, summary.errors), (1, 1));
    assert_eq!(summary.duration, Some(Duration::from_secs(12)));
    assert_eq!((summary.status.as_deref(), summary.exit), (Some("completed"), Some(Exit::Code(-3))));
    assert_eq!(summary.reason.as_deref(), Some("exit"));
    assert_eq!(summary.command, ["python", "agent.py"]);
}

#[test]
fn a_cost_is_partial_where_a_call_is_not_counted() {
    let usage = r#""usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}"#;
    let cost_after = |request: &str, usage: &str, end: &str| {
        let message = r#""choices":[{"message":{"role":"assistant","content":"yes"}}]"#;
        let body = text_body(&format!("{{{message}{usage}}}"));
        let answer = format!(r#"{{"headers":[["content-type","application/json"]],"body":{body}}}"#);
        let run = RunBuilder::started()
            .called("s1", &ModelRequest::CHAT)
            .returned("s1", ANSWER)
            .event("rer.model.called", request)
            .event("rer.model.returned", &returned_payload("s2", &answer, end))
            .ended(0)
            .run();
        let cost = run.summary().cost().unwrap();
        (cost.picodollars / 28_750_000, cost.uncounted_calls, cost.is_partial())
    };
    let chat = ModelRequest::CHAT.payload("s2");
    let whole = r#""status":200,"complete":true,"ended_by":"eof""#;
    let counted = format!(",{usage}");
    assert_eq!(cost_after(&chat, &counted, whole), (2, 0, false));
    let unpriced = chat.replace("gpt-5", "made-up");
    assert_eq!(cost_after(&unpriced, &counted, whole), (1, 1, true), "a model without a price");
    assert_eq!(cost_after(&chat, "", whole), (1, 1, true), "an answer without a count");
    let cut = r#""status":200,"complete":false,"ended_by":"client_gone""#;
    assert_eq!(cost_after(&chat, &counted, cut), (1, 1, true), "an answer that broke off");
    let refused = r#""status":400,"complete":true,"ended_by":"eof""#;
    assert_eq!(cost_after(&chat, "", refused), (1, 0, false), "a refusal is free");
    let counting = ModelRequest {
        provider: "anthropic",
        path: "/v1/messages/count_tokens",
        endpoint: None,
        ..ModelRequest::CHAT
    };
    assert_eq!(cost_after(&counting.payload("s2"), "", whole), (1, 0, false), "counting tokens is free");
}
