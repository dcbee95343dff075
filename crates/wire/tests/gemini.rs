//! Gemini's interface: models in paths, calls without ids, streams without a last event.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use reenact_wire::conversation::Conversation;
use reenact_wire::exchange::{ParsedRequest, parse_answer, parse_request, parse_request_to};
use reenact_wire::prompt::user_prompts;
use reenact_wire::sse::SseReader;
use reenact_wire::tool_calls::{ToolCallScanner, UnreadableAnswer, scan_answer};
use reenact_wire::{Delivery, Endpoint, ModelAnswer, ToolCall, Usage, Vendor, VendorError};

const CONTENT: Endpoint = Endpoint::GENERATE_CONTENT;
const PATH: &str = "/v1beta/models/gemini-2.5-flash:generateContent";
const STREAM: &str = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse";

/// Answer with a thought, text, and two tool calls, one of them with an id.
const DOCUMENT: &str = r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"Grüße 🦀"},{"functionCall":{"name":"lookup","args":{"n": 7}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"fc2","name":"now"}}],"role":"model"},"finishReason":"STOP","index":0},{"index":1,"content":{"parts":[{"functionCall":{"name":"other","args":{}}}]}}],"usageMetadata":{"promptTokenCount":11,"candidatesTokenCount":5,"thoughtsTokenCount":3,"toolUsePromptTokenCount":2,"cachedContentTokenCount":4,"totalTokenCount":21},"modelVersion":"gemini-2.5-flash","responseId":"r"}"#;

fn call(id: &str, name: &str, input: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), input: input.into() }
}

fn expected() -> ModelAnswer {
    ModelAnswer {
        model: Some("gemini-2.5-flash".into()),
        text: "Grüße 🦀".into(),
        tool_calls: vec![call("", "lookup", "{\"n\": 7}"), call("fc2", "now", "{}")],
        usage: Some(Usage {
            input_tokens: 13,
            output_tokens: 8,
            cached_input_tokens: 4,
            cache_write_tokens: 0,
        }),
        stop_reason: Some("STOP".into()),
        error: None,
        is_complete: true,
    }
}

/// Returns the same answer in four chunks.
fn chunks() -> [&'static str; 4] {
    [
        r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":11},"modelVersion":"gemini-2.5-flash"}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"Grüße "}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"🦀"},{"functionCall":{"name":"lookup","args":{"n": 7}}}]},"index":0},{"index":1,"content":{"parts":[{"functionCall":{"name":"other"}}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"fc2","name":"now"}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":11,"candidatesTokenCount":5,"thoughtsTokenCount":3,"toolUsePromptTokenCount":2,"cachedContentTokenCount":4}}"#,
    ]
}

fn events(chunks: &[&str]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect()
}

#[test]
fn a_document_a_stream_and_a_list_mean_the_same() {
    assert_eq!(parse_answer(CONTENT, false, DOCUMENT.as_bytes()).unwrap(), expected());
    assert_eq!(parse_answer(CONTENT, true, events(&chunks()).as_bytes()).unwrap(), expected());
    let list = format!("[{}\n]", chunks().join("\n,\r\n"));
    assert_eq!(parse_answer(CONTENT, false, list.as_bytes()).unwrap(), expected());
    let cut = parse_answer(CONTENT, true, events(&chunks()[..3]).as_bytes()).unwrap();
    assert_eq!((cut.is_complete, cut.stop_reason, cut.tool_calls.len()), (false, None, 1));
}

#[test]
fn refusals_and_errors() {
    let blocked = r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4},"modelVersion":"m"}"#;
    for read in [
        parse_answer(CONTENT, false, blocked.as_bytes()).unwrap(),
        parse_answer(CONTENT, true, events(&[blocked]).as_bytes()).unwrap(),
    ] {
        assert_eq!((read.stop_reason.as_deref(), read.is_complete), (Some("SAFETY"), true));
    }
    let failed = r#"{"error":{"code":429,"message":"Slow down.","status":"RESOURCE_EXHAUSTED"}}"#;
    let error = Some(VendorError { kind: "RESOURCE_EXHAUSTED".into(), message: "Slow down.".into() });
    assert_eq!(parse_answer(CONTENT, false, failed.as_bytes()).unwrap().error, error);
    assert_eq!(parse_answer(CONTENT, false, format!("[{failed}]").as_bytes()).unwrap().error, error);
    let stream = events(&[chunks()[0], failed]);
    let broken = parse_answer(CONTENT, true, stream.as_bytes()).unwrap();
    assert_eq!((broken.error, broken.is_complete), (error, false));
}

#[test]
fn what_is_no_answer() {
    for body in ["", "[", "{\"a\":1,\"a\":2}"] {
        assert_eq!(parse_answer(CONTENT, false, body.as_bytes()), None);
        assert_eq!(parse_request(CONTENT, PATH, body.as_bytes()), None);
    }
    let odd =
        br#"[1,null,{"candidates":{"x":1}},{"candidates":[7,{"content":[],"index":"a"}],"usageMetadata":3}]"#;
    assert_eq!(
        parse_answer(CONTENT, false, odd).unwrap(),
        ModelAnswer { is_complete: true, ..ModelAnswer::default() }
    );
    assert_eq!(scan_answer(CONTENT, odd), Err(UnreadableAnswer));
}

/// The scanner finds the calls of every candidate, with the ids that the next request has for them.
#[test]
fn the_gate_sees_every_call() {
    let asked =
        parse_request(CONTENT, STREAM, br#"{"contents":[{"role":"user","parts":[{"text":"?"}]}]}"#).unwrap();
    let mut gate = ToolCallScanner::new(CONTENT).with_call_ids(asked.call_ids.clone());
    let (mut reader, mut given, mut before) = (SseReader::new(), Vec::new(), Vec::new());
    for event in reader.push(events(&chunks()).as_bytes()) {
        given.extend(gate.scan_event(&event).unwrap());
        before.push(given.len());
        assert!(!gate.is_open());
    }
    assert_eq!((gate.facts().usage, gate.facts().text_bytes), (expected().usage, expected().text_bytes()));
    assert_eq!(before, [0, 0, 2, 3]);
    let names: Vec<&str> = given.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["lookup", "other", "now"]);
    assert!(given[0].id.starts_with("lookup-1-") && given[2].id == "fc2", "{given:?}");

    let mut whole = scan_answer(CONTENT, DOCUMENT.as_bytes()).unwrap();
    asked.call_ids.unwrap().fill(&mut whole.calls);
    let ids = |calls: &[ToolCall]| {
        let mut ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&whole.calls), ids(&given));
    assert_eq!(whole.usage, expected().usage);
}

#[test]
fn arguments_in_pieces_cannot_be_read() {
    let pieces = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"pay","partialArgs":[],"willContinue":true}}]}}]}"#;
    assert_eq!(scan_answer(CONTENT, pieces.as_bytes()), Err(UnreadableAnswer));
}

#[test]
fn the_last_chunk_is_the_one_that_says_why() {
    let mut ends = Vec::new();
    let stream = events(&chunks())
        + &events(&[r#"{"note":"\"finishReason\""}"#, r#"{"candidates":[{"finishReason":null}]}"#]);
    SseReader::new().for_each_event(stream.as_bytes(), |event| ends.push(CONTENT.ends_stream(event)));
    assert_eq!(ends, [false, false, false, true, false, false]);
}

#[test]
fn paths_name_the_model_and_the_form() {
    let read = |path: &str| {
        let ParsedRequest { model, delivery, .. } =
            parse_request(CONTENT, path, b"{\"model\":\"in the body\"}").unwrap();
        (model.unwrap(), delivery)
    };
    assert_eq!(read(PATH), ("gemini-2.5-flash".into(), Delivery::Document));
    assert_eq!(read(STREAM), ("gemini-2.5-flash".into(), Delivery::Events));
    assert_eq!(
        read("/v1/tunedModels/mine:streamGenerateContent?key=k"),
        ("tunedModels/mine".into(), Delivery::List)
    );
    assert_eq!(read("/v1/models/m:streamGenerateContent?key=k&alt=SSE"), ("m".into(), Delivery::Events));
    let count = parse_request_to(Vendor::GEMINI, None, "/v1beta/models/m:countTokens?key=k", b"{}").unwrap();
    assert_eq!(count.model.as_deref(), Some("m"));
    let cached =
        parse_request_to(Vendor::GEMINI, None, "/v1beta/cachedContents", b"{\"model\":\"models/m\"}")
            .unwrap();
    assert_eq!(cached.model.as_deref(), Some("models/m"));
}

/// Conversation that calls one tool twice without ids, and another with an id.
const CONVERSATION: &str = r#"{"contents":[{"role":"user","parts":[{"text":"?"}]},{"role":"model","parts":[{"functionCall":{"name":"look","args":{"at":1}}},{"functionCall":{"name":"look","args":{"at":2}}},{"function_call":{"id":"own","name":"pay"}}]},{"role":"user","parts":[{"functionResponse":{"name":"look","response":{"result":"one"}}},{"functionResponse":{"name":"look","response":{"lines":[2]}}},{"function_response":{"id":"own","name":"pay","response":{"error":"no money"}}},{"functionResponse":{"name":"ghost","response":{}}}]}]}"#;

#[test]
fn results_are_paired_by_name_and_order() {
    let read = parse_request(CONTENT, PATH, CONVERSATION.as_bytes()).unwrap();
    let mut conversation = Conversation::default();
    let inferred = conversation.add_request(&read);
    let seen: Vec<(Option<&str>, &str, bool)> = inferred
        .iter()
        .map(|pair| {
            let input = pair.call.as_ref().map(|call| call.input.as_str());
            (input, pair.result.output.as_str(), pair.result.is_error)
        })
        .collect();
    assert_eq!(
        seen,
        [
            (Some("{\"at\":1}"), "one", false),
            (Some("{\"at\":2}"), "{\"lines\":[2]}", false),
            (Some("{}"), "{\"error\":\"no money\"}", true),
            (None, "{}", false),
        ]
    );
    // Agents repeat their whole history: nothing is reported twice.
    assert_eq!(conversation.add_request(&read), []);
}

/// A call has the same id in its answer and in the history of the next request, and another one in another
/// conversation.
#[test]
fn a_call_keeps_its_id() {
    let first = r#"{"contents":[{"role":"user","parts":[{"text":"?"}]}]}"#;
    let mut calls = vec![call("", "look", "{\"at\":1}"), call("", "look", "{\"at\":2}")];
    parse_request(CONTENT, PATH, first.as_bytes()).unwrap().call_ids.unwrap().fill(&mut calls);
    let history = parse_request(CONTENT, PATH, CONVERSATION.as_bytes()).unwrap().earlier_calls;
    assert_eq!(calls, history[..2]);
    let spaced = CONVERSATION.replacen("{\"text\":\"?\"}", "{ \"text\" : \"?\" }", 1);
    assert_eq!(parse_request(CONTENT, PATH, spaced.as_bytes()).unwrap().earlier_calls, history);
    let other = CONVERSATION.replacen("\"?\"", "\"!\"", 1);
    assert_ne!(parse_request(CONTENT, PATH, other.as_bytes()).unwrap().earlier_calls[0].id, history[0].id);
}

#[test]
fn the_last_words_of_the_user() {
    let words = |body: &str| {
        user_prompts(reenact_json::Value::parse(body.as_bytes(), &reenact_json::Limits::default()).unwrap())
    };
    let asked = r#"{"contents":[{"role":"user","parts":[{"text":"a"},{"text":"b"}]}]}"#;
    assert_eq!(words(asked), ["ab"]);
    assert_eq!(words(CONVERSATION), Vec::<String>::new());
}
