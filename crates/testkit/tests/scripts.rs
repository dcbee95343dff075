//! Replies of every script, parsed by `reenact_wire`: the same in every format, as a document and
//! as a stream.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use reenact_testkit::{Script, ScriptedReply, ScriptedTurn, ScriptedVendor, VendorFailure};
use reenact_wire::exchange::{is_stream, parse_answer};
use reenact_wire::{Endpoint, ModelAnswer, ToolCall, Usage, VendorError};
use support::{ClientAnswer, GEMINI, GEMINI_STREAM, asking, get};

fn read_answer(path: &str, got: &ClientAnswer) -> ModelAnswer {
    let endpoint =
        reenact_wire::VENDORS.into_iter().find_map(|kind| Endpoint::of(kind, "POST", path)).unwrap();
    parse_answer(endpoint, is_stream(got.header("content-type")), &got.body).unwrap()
}

/// Asks in every format, for a document and for a stream; returns path, stream flag and answer.
fn ask_in_all_formats(script: Script, text: &str) -> Vec<(&'static str, bool, ClientAnswer)> {
    let vendor = ScriptedVendor::start(script).unwrap();
    let mut all = Vec::new();
    for stream in [false, true] {
        for (path, body) in asking(text, stream) {
            all.push((path, stream, get(&vendor, "POST", path, &body)));
        }
    }
    all
}

/// Returns the vendor's word for an ordinary end, or for one that calls tools.
fn stop_reason(path: &str, has_calls: bool) -> &'static str {
    match (path, has_calls) {
        ("/v1/chat/completions", false) => "stop",
        ("/v1/chat/completions", true) => "tool_calls",
        ("/v1/messages", false) => "end_turn",
        ("/v1/messages", true) => "tool_use",
        (GEMINI | GEMINI_STREAM, _) => "STOP",
        _ => "completed",
    }
}

#[test]
fn a_reply_says_the_same_in_every_format() {
    let usage = Usage { input_tokens: 11, output_tokens: 5, cached_input_tokens: 4, cache_write_tokens: 0 };
    let reply = ScriptedReply::thinking("hm, well")
        .and_text("Grüße, \"Welt\" 🦀\nand more")
        .and_call("lookup", r#"{"city":"Zürich","n":[1,2,3]}"#)
        .and_call("now", "{}")
        .with_usage(usage);
    for (path, stream, got) in ask_in_all_formats(Script::replying(move |_| reply.clone()), "hi") {
        let found = read_answer(path, &got);
        let names: Vec<(&str, &str)> =
            found.tool_calls.iter().map(|call| (call.name.as_str(), call.input.as_str())).collect();
        assert_eq!(names, [("lookup", r#"{"city":"Zürich","n":[1,2,3]}"#), ("now", "{}")], "{path}");
        let ids: Vec<&str> = found.tool_calls.iter().map(|call| call.id.as_str()).collect();
        assert!(ids[0] != ids[1] || matches!(path, GEMINI | GEMINI_STREAM), "{path}");
        let model = match path {
            "/v1/messages" => "claude-sonnet-4-5",
            GEMINI | GEMINI_STREAM => "gemini-2.5-flash",
            _ => "gpt-5",
        };
        let expected = ModelAnswer {
            model: Some(model.into()),
            text: "Grüße, \"Welt\" 🦀\nand more".into(),
            tool_calls: found.tool_calls.clone(),
            usage: Some(usage),
            stop_reason: Some(stop_reason(path, true).into()),
            error: None,
            is_complete: true,
        };
        assert_eq!(found, expected, "{path} {stream}");
        assert_eq!(is_stream(got.header("content-type")), stream);
        assert!(got.is_whole);
    }
}

#[test]
fn echo_says_it_back() {
    for (path, stream, got) in ask_in_all_formats(Script::echo(), "how are you? 🦀") {
        let found = read_answer(path, &got);
        assert!(found.text.starts_with("You said: how are you? 🦀 ["), "{path} {stream}: {}", found.text);
        assert_eq!(found.stop_reason.as_deref(), Some(stop_reason(path, false)));
        assert!(found.is_complete);
    }
}

#[test]
fn a_thought_is_shown_where_the_format_shows_it() {
    for (path, stream, got) in ask_in_all_formats(Script::thinking(), "hi") {
        assert!(read_answer(path, &got).text.starts_with("You said: hi ["), "{path} {stream}");
        let body = String::from_utf8(got.body).unwrap();
        let has_thought = ["thinking_delta", "\"thought\":true"].iter().any(|mark| body.contains(mark))
            || !stream && path == "/v1/messages";
        let shows = matches!(path, "/v1/messages" | GEMINI | GEMINI_STREAM);
        assert_eq!(has_thought, shows, "{path} {stream}");
    }
}

#[test]
fn the_tool_loop_asks_once_and_then_tells() {
    let vendor = ScriptedVendor::start(Script::tool_loop()).unwrap();
    for (path, body) in asking("the answer", true) {
        let found = read_answer(path, &get(&vendor, "POST", path, &body));
        let [ToolCall { id, name, input }] = found.tool_calls.as_slice() else { panic!("{found:?}") };
        assert_eq!((name.as_str(), input.as_str()), ("lookup", r#"{"query":"the answer"}"#));
        let next = match path {
            "/v1/chat/completions" => {
                format!(r#"{{"messages":[{{"role":"tool","tool_call_id":"{id}","content":"42"}}]}}"#)
            }
            "/v1/responses" => {
                format!(r#"{{"input":[{{"type":"function_call_output","call_id":"{id}","output":"42"}}]}}"#)
            }
            GEMINI_STREAM => {
                r#"{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"lookup","response":{"result":"42"}}}]}]}"#.to_owned()
            }
            _ => format!(
                r#"{{"messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"42"}}]}}]}}"#
            ),
        };
        let found = read_answer(path, &get(&vendor, "POST", path, &next));
        assert_eq!((found.text.as_str(), found.tool_calls.len()), ("The lookup says: 42", 0), "{path}");
    }
}

#[test]
fn tools_can_be_asked_for_side_by_side() {
    for (path, stream, got) in ask_in_all_formats(Script::parallel_tools(), "x") {
        let inputs: Vec<String> =
            read_answer(path, &got).tool_calls.into_iter().map(|call| call.input).collect();
        assert_eq!(inputs, [r#"{"query":"x"}"#, r#"{"query":"x, once more"}"#], "{path} {stream}");
    }
}

#[test]
fn failures_have_their_vendors_shapes() {
    let anthropic = [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (404, "not_found_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ];
    let openai = [
        (400, "invalid_request_error"),
        (401, "invalid_request_error"),
        (404, "invalid_request_error"),
        (429, "requests"),
        (500, "server_error"),
        (529, "server_error"),
    ];
    let gemini =
        ["INVALID_ARGUMENT", "UNAUTHENTICATED", "NOT_FOUND", "RESOURCE_EXHAUSTED", "INTERNAL", "UNAVAILABLE"];
    for (((status, anthropic), (_, openai)), gemini) in anthropic.into_iter().zip(openai).zip(gemini) {
        for (path, _, got) in ask_in_all_formats(Script::failing(status), "hi") {
            let kind = match path {
                "/v1/messages" => anthropic,
                GEMINI | GEMINI_STREAM => gemini,
                _ => openai,
            };
            let error = read_answer(path, &got).error.unwrap();
            assert_eq!((got.status, error.kind.as_str()), (status, kind), "{path}");
            assert_ne!(error.message, "");
            assert_eq!(got.header("retry-after"), if status == 429 { "1" } else { "" });
        }
    }
}

#[test]
fn a_stream_can_fail_in_the_middle() {
    for (path, stream, got) in ask_in_all_formats(Script::failing_after(4), "one two three") {
        let found = read_answer(path, &got);
        assert_eq!((got.status, found.is_complete), (if stream { 200 } else { 529 }, !stream), "{path}");
        let kind = match path {
            "/v1/messages" => "overloaded_error",
            GEMINI | GEMINI_STREAM => "UNAVAILABLE",
            _ => "server_error",
        };
        assert_eq!(found.error.map(|error| error.kind), Some(kind.to_owned()), "{path} {stream}");
    }
}

#[test]
fn several_choices() {
    let vendor =
        ScriptedVendor::start(Script::replying(|_| ScriptedReply::text("heads").or_text("or tails")))
            .unwrap();
    let ask = |stream: bool| {
        let body = format!(r#"{{"model":"gpt-5","n":3,"stream":{stream},"messages":[]}}"#);
        String::from_utf8(get(&vendor, "POST", "/v1/chat/completions", &body).body).unwrap()
    };
    let document: serde_json::Value = serde_json::from_str(&ask(false)).unwrap();
    let texts: Vec<&str> =
        (0..3).map(|at| document["choices"][at]["message"]["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["heads", "or tails", "heads"]);
    let mut texts = [const { String::new() }; 3];
    let stream = ask(true);
    for data in stream.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]")
    {
        let chunk: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(chunk.get("usage"), None, "nobody asked for it");
        for choice in chunk["choices"].as_array().unwrap() {
            let index = usize::try_from(choice["index"].as_u64().unwrap()).unwrap();
            texts[index] += choice["delta"]["content"].as_str().unwrap_or_default();
        }
    }
    assert_eq!(texts, ["heads", "or tails", "heads"]);
}

#[test]
fn answers_by_order_and_what_comes_after_the_last() {
    let turns: [ScriptedTurn; 3] = [
        VendorFailure::new(429).with_message("later").into(),
        ScriptedReply::text("now").into(),
        reenact_testkit::ScriptedAnswer::json(200, r#"{"model":"own bytes"}"#).into(),
    ];
    let vendor = ScriptedVendor::start(Script::in_order(turns)).unwrap();
    let [(path, body), ..] = asking("hi", false);
    let ask = || read_answer(path, &get(&vendor, "POST", path, &body));
    assert_eq!(ask().error, Some(VendorError { kind: "requests".into(), message: "later".into() }));
    assert_eq!(get(&vendor, "GET", "/v1/models", "").status, 200, "takes no turn");
    assert_eq!(ask().text, "now");
    assert_eq!(ask().model.as_deref(), Some("own bytes"));
    assert_eq!(ask().error.unwrap().message, "the script has no more turns");
}

#[test]
fn what_asks_no_model() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let json = |got: ClientAnswer| serde_json::from_slice::<serde_json::Value>(&got.body).unwrap();
    let models = json(get(&vendor, "GET", "/v1/models", ""));
    assert_eq!((&models["object"], &models["data"][0]["id"]), (&"list".into(), &"gpt-5".into()));
    assert_eq!(json(get(&vendor, "GET", "/v1/models/gpt-5", ""))["object"], "model");
    let count = json(get(&vendor, "POST", "/v1/messages/count_tokens", r#"{"messages":[]}"#));
    assert_eq!(count, serde_json::json!({ "input_tokens": 4 }));
    let unknown = get(&vendor, "POST", "/v1/embeddings", "{}");
    assert_eq!((unknown.status, &json(unknown)["error"]["code"]), (404, &"unknown_url".into()));
}

#[test]
fn a_big_answer_arrives_whole() {
    for (path, stream, got) in ask_in_all_formats(Script::big(200_000), "hi") {
        assert!(
            read_answer(path, &got).text == reenact_testkit::reply::long_text(200_000),
            "{path} {stream}"
        );
    }
    let vendor = ScriptedVendor::start(Script::big(5_000_000)).unwrap();
    let [.., (path, body)] = asking("hi", true);
    let got = get(&vendor, "POST", path, &body);
    assert!(got.is_whole && got.body.len() > 5_000_000);
    assert!(got.body == vendor.sent_answers()[0].body);
}

#[test]
fn the_same_requests_get_the_same_bytes() {
    let heads = |all: Vec<(&str, bool, ClientAnswer)>| -> Vec<(String, Vec<u8>)> {
        all.into_iter().map(|(_, _, got)| (format!("{:?}", got.headers), got.body)).collect()
    };
    let once = heads(ask_in_all_formats(Script::parallel_tools(), "again"));
    assert_eq!(once, heads(ask_in_all_formats(Script::parallel_tools(), "again")));
    assert_ne!(once, heads(ask_in_all_formats(Script::parallel_tools(), "other")));
}
