//! An answer means the same as a document and as a stream; a cut stream means less, and never something else.

use reenact_wire::conversation::Conversation;
use reenact_wire::exchange::{ParsedRequest, is_stream, parse_answer, parse_request};
use reenact_wire::output_bound::OutputBound;
use reenact_wire::{Delivery, Endpoint, ModelAnswer, ToolCall, ToolResult, Usage, VendorError};

struct Case {
    endpoint: Endpoint,
    document: &'static str,
    stream: &'static str,
    expected: ModelAnswer,
}

fn call(id: &str, name: &str, input: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), input: input.into() }
}

fn cases() -> Vec<Case> {
    vec![
        Case {
            endpoint: Endpoint::CHAT_COMPLETIONS,
            document: r#"{"id":"chatcmpl-1","object":"chat.completion","model":"gpt-5","choices":[{"index":0,"message":{"role":"assistant","content":"Grüße 🦀","tool_calls":[{"id":"call_1","type":"function","function":{"name":"lookup","arguments":"{\"n\": 7}"}},{"id":"call_2","type":"function","function":{"name":"now","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":11,"completion_tokens":5,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":4}}}"#,
            stream: concat!(
                "data: {\"model\":\"gpt-5\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Gr\"},\"finish_reason\":null}],\"usage\":null}\n\n",
                ": keep-alive\n\n",
                "data: {\"model\":\"gpt-5\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"üße 🦀\"}}]}\r\n\r\n",
                "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"lookup\",\"arguments\":\"\"}}]}}]}\n\n",
                "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"call_2\",\"type\":\"function\",\"function\":{\"name\":\"now\",\"arguments\":\"{}\"}},{\"index\":0,\"function\":{\"arguments\":\"{\\\"n\\\": \"}}]}}]}\n\n",
                "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"7}\"}}]}},{\"index\":1,\"delta\":{\"content\":\"another choice\"}}]}\n\n",
                "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
                "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":5,\"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\n",
                "data: [DONE]\n\n",
            ),
            expected: ModelAnswer {
                model: Some("gpt-5".into()),
                text: "Grüße 🦀".into(),
                tool_calls: vec![call("call_1", "lookup", "{\"n\": 7}"), call("call_2", "now", "{}")],
                usage: Some(Usage {
                    input_tokens: 11,
                    output_tokens: 5,
                    cached_input_tokens: 4,
                    cache_write_tokens: 0,
                }),
                stop_reason: Some("tool_calls".into()),
                error: None,
                is_complete: true,
            },
        },
        Case {
            endpoint: Endpoint::MESSAGES,
            document: r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Let me look."},{"type":"tool_use","id":"toolu_1","name":"lookup","input":{"n":7}},{"type":"tool_use","id":"toolu_2","name":"now","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":30,"cache_read_input_tokens":100,"cache_creation_input_tokens":20}}"#,
            stream: concat!(
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-sonnet-4-5\",\"content\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":1,\"cache_read_input_tokens\":100,\"cache_creation_input_tokens\":20}}}\n\n",
                "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n",
                "event: ping\ndata: {\"type\":\"ping\"}\n\n",
                "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"Let me\"}}\n\n",
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\" look.\"}}\n\n",
                "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"lookup\",\"input\":{}}}\n\n",
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"n\\\"\"}}\n\n",
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\":7}\"}}\n\n",
                "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_2\",\"name\":\"now\",\"input\":{}}}\n\n",
                "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":30}}\n\n",
                "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
            ),
            expected: ModelAnswer {
                model: Some("claude-sonnet-4-5".into()),
                text: "Let me look.".into(),
                tool_calls: vec![call("toolu_1", "lookup", "{\"n\":7}"), call("toolu_2", "now", "{}")],
                usage: Some(Usage {
                    input_tokens: 9,
                    output_tokens: 30,
                    cached_input_tokens: 100,
                    cache_write_tokens: 20,
                }),
                stop_reason: Some("tool_use".into()),
                error: None,
                is_complete: true,
            },
        },
        Case {
            endpoint: Endpoint::RESPONSES,
            document: r#"{"id":"resp_1","object":"response","status":"completed","model":"gpt-5","output":[{"type":"reasoning","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"},{"type":"output_text","text":" there"}]},{"type":"function_call","id":"fc_1","call_id":"call_9","name":"lookup","arguments":"{\"n\":7}"}],"usage":{"input_tokens":20,"output_tokens":8,"input_tokens_details":{"cached_tokens":2}},"error":null}"#,
            stream: concat!(
                "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"model\":\"gpt-5\",\"status\":\"in_progress\"}}\n\n",
                "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"delta\":\"Hello\"}\n\n",
                "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"delta\":\" there\"}\n\n",
                "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_9\",\"name\":\"lookup\",\"arguments\":\"\"}}\n\n",
                "event: response.function_call_arguments.delta\ndata: {\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc_1\",\"delta\":\"{\\\"n\\\":7}\"}\n\n",
                "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"object\":\"response\",\"status\":\"completed\",\"model\":\"gpt-5\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hello\"},{\"type\":\"output_text\",\"text\":\" there\"}]},{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_9\",\"name\":\"lookup\",\"arguments\":\"{\\\"n\\\":7}\"}],\"usage\":{\"input_tokens\":20,\"output_tokens\":8,\"input_tokens_details\":{\"cached_tokens\":2}}}}\n\n",
            ),
            expected: ModelAnswer {
                model: Some("gpt-5".into()),
                text: "Hello there".into(),
                tool_calls: vec![call("call_9", "lookup", "{\"n\":7}")],
                usage: Some(Usage {
                    input_tokens: 20,
                    output_tokens: 8,
                    cached_input_tokens: 2,
                    cache_write_tokens: 0,
                }),
                stop_reason: Some("completed".into()),
                error: None,
                is_complete: true,
            },
        },
    ]
}

#[test]
fn documents_and_streams_say_the_same() {
    for case in cases() {
        let expected = Some(case.expected);
        assert_eq!(
            parse_answer(case.endpoint, false, case.document.as_bytes()),
            expected,
            "{:?}",
            case.endpoint
        );
        assert_eq!(
            parse_answer(case.endpoint, true, case.stream.as_bytes()),
            expected,
            "{:?}",
            case.endpoint
        );
    }
}

#[test]
fn a_cut_stream_says_less_and_never_something_else() {
    for case in cases() {
        let whole = &case.expected;
        for end in 0..case.stream.len() {
            let cut = parse_answer(case.endpoint, true, &case.stream.as_bytes()[..end]).unwrap();
            assert!(whole.text.starts_with(&cut.text), "{:?} at {end}: {:?}", case.endpoint, cut.text);
            // Chat ends with `[DONE]`, which adds nothing; the others end with the event that completes them.
            assert!(!cut.is_complete, "{:?} at {end}", case.endpoint);
            for (cut, whole) in cut.tool_calls.iter().zip(&whole.tool_calls) {
                assert!(
                    cut.input == "{}" || whole.input.starts_with(&cut.input),
                    "{:?} at {end}",
                    case.endpoint
                );
            }
        }
    }
}

#[test]
fn errors_in_documents_and_streams() {
    let error = |kind: &str, message: &str| Some(VendorError { kind: kind.into(), message: message.into() });
    let openai = r#"{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#;
    let anthropic = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let read = |endpoint, stream, body: &str| parse_answer(endpoint, stream, body.as_bytes()).unwrap().error;
    assert_eq!(read(Endpoint::CHAT_COMPLETIONS, false, openai), error("requests", "Rate limit reached"));
    assert_eq!(read(Endpoint::RESPONSES, false, openai), error("requests", "Rate limit reached"));
    assert_eq!(read(Endpoint::MESSAGES, false, anthropic), error("overloaded_error", "Overloaded"));
    let stream = format!("event: error\ndata: {anthropic}\n\n");
    assert_eq!(read(Endpoint::MESSAGES, true, &stream), error("overloaded_error", "Overloaded"));
    let stream =
        "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"oops\"}\n\n";
    assert_eq!(read(Endpoint::RESPONSES, true, stream), error("server_error", "oops"));
}

#[test]
fn the_last_count_counts_even_if_it_is_the_only_one() {
    let stream = concat!(
        "data: {\"type\":\"message_start\",\"message\":{\"model\":\"m\"}}\n\n",
        "data: {\"type\":\"message_delta\",\"usage\":{\"input_tokens\":4,\"output_tokens\":9}}\n\n",
    );
    let usage = parse_answer(Endpoint::MESSAGES, true, stream.as_bytes()).unwrap().usage;
    assert_eq!(usage, Some(Usage { input_tokens: 4, output_tokens: 9, ..Usage::default() }));
}

#[test]
fn what_is_no_json_is_no_answer() {
    for endpoint in [Endpoint::CHAT_COMPLETIONS, Endpoint::RESPONSES, Endpoint::MESSAGES] {
        for body in ["", "<html>502</html>", "[", "{\"a\":1,\"a\":2}"] {
            assert_eq!(parse_answer(endpoint, false, body.as_bytes()), None);
            assert_eq!(parse_request(endpoint, "", body.as_bytes()), None);
        }
        let odd = parse_answer(endpoint, false, b"[1,{},null]").unwrap();
        assert_eq!(odd, ModelAnswer { is_complete: true, ..ModelAnswer::default() });
        // Events that cannot be parsed are skipped.
        let answer =
            parse_answer(endpoint, true, b"data: nonsense\n\ndata: {\"choices\":7,\"type\":[]}\n\n").unwrap();
        assert_eq!(answer, ModelAnswer::default());
    }
    assert_eq!(parse_answer(Endpoint::MODELS, false, b"{}"), None);
}

#[test]
fn streams_are_known_by_their_type() {
    assert!(is_stream("text/event-stream; charset=utf-8"));
    assert!(is_stream("Text/Event-Stream"));
    assert!(!is_stream("application/json"));
    assert!(!is_stream("text/event-streams"));
}

/// Returns requests with tool results, for each vendor.
fn requests() -> [(Endpoint, &'static str); 3] {
    [
        (
            Endpoint::CHAT_COMPLETIONS,
            r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"lookup","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"found"},{"role":"tool","tool_call_id":"c9","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}"#,
        ),
        (
            Endpoint::MESSAGES,
            r#"{"model":"m","stream":true,"max_tokens":1,"messages":[{"role":"user","content":"?"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"lookup","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"found"},{"type":"tool_result","tool_use_id":"c9","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}]}"#,
        ),
        (
            Endpoint::RESPONSES,
            r#"{"model":"m","stream":true,"input":[{"role":"user","content":"?"},{"type":"function_call","call_id":"c1","name":"lookup","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"found"},{"type":"function_call_output","call_id":"c9","output":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}]}"#,
        ),
    ]
}

#[test]
fn requests_tell_earlier_calls_and_results() {
    for (endpoint, body) in requests() {
        let result =
            |id: &str, output: &str| ToolResult { id: id.into(), output: output.into(), is_error: false };
        let expected = ParsedRequest {
            model: Some("m".into()),
            other_models: Vec::new(),
            delivery: Delivery::Events,
            earlier_calls: vec![call("c1", "lookup", "{}")],
            tool_results: vec![result("c1", "found"), result("c9", "ab")],
            call_ids: None,
            output: OutputBound::default(),
        };
        let parsed = parse_request(endpoint, "", body.as_bytes()).unwrap();
        assert_eq!(parsed.output.max_tokens, (endpoint == Endpoint::MESSAGES).then_some(1));
        assert_eq!(ParsedRequest { output: OutputBound::default(), ..parsed }, expected, "{endpoint:?}");
    }
}

#[test]
fn each_result_is_inferred_once() {
    for (endpoint, body) in requests() {
        let mut conversation = Conversation::default();
        conversation.add_answer(&ModelAnswer {
            tool_calls: vec![call("c0", "later", "{}")],
            ..ModelAnswer::default()
        });
        let request = parse_request(endpoint, "", body.as_bytes()).unwrap();
        let inferred = conversation.add_request(&request);
        assert_eq!(inferred.len(), 2);
        assert_eq!(inferred[0].call, Some(call("c1", "lookup", "{}")));
        assert_eq!(inferred[0].result.output, "found");
        // A result counts even if its call was never seen.
        assert_eq!((&inferred[1].call, inferred[1].result.id.as_str()), (&None, "c9"));
        // The same history, sent again, reports nothing new; another result for the same call is reported.
        assert_eq!(conversation.add_request(&request), []);
        let mut changed = request.clone();
        changed.tool_results[0].output = "found more".into();
        assert_eq!(conversation.add_request(&changed).len(), 1);
        assert_eq!(
            conversation.calls_without_result().map(|call| call.id.as_str()).collect::<Vec<_>>(),
            ["c0"]
        );
    }
}
