//! Tool call scanner: no call that a client could act on is missed, and nothing of a call passes before it is
//! complete.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use reenact_wire::error_reply::{self, ErrorReply};
use reenact_wire::exchange::{self, parse_request};
use reenact_wire::sse::{SseEvent, SseReader};
use reenact_wire::tool_calls::{ToolCallScanner, UnreadableAnswer, scan_answer};
use reenact_wire::{CostFacts, Endpoint, PROTOCOLS, ToolCall, Usage};

/// The scanner counts the same usage as the parser of the whole stream.
#[test]
fn what_a_stream_took_is_counted_along() {
    let chat = stream(&[
        r#"{"choices":[{"delta":{"content":"a"}}],"usage":null}"#,
        r#"{"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3}},"choices":[]}"#,
        "[DONE]",
    ]);
    let messages = stream(&[
        r#"{"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1,"cache_read_input_tokens":4}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#,
        r#"{"type":"message_delta","usage":{"input_tokens":3,"output_tokens":8}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    // The event's name serves as type if the data has none.
    let named = "event: message_delta\ndata: {\"usage\":{\"output_tokens\":5}}\n\n".to_owned();
    let responses = stream(&[
        r#"{"type":"response.created","response":{"usage":null}}"#,
        r#"{"type":"response.completed","response":{"usage":{"input_tokens":5,"output_tokens":6}}}"#,
    ]);
    let cut = stream(&[r#"{"choices":[],"usage":{"prompt_tokens":1}}"#])
        + "data: {\"usage\":{\"prompt_tokens\":2}}\n";
    let count = |input, output, cached| {
        let (input_tokens, output_tokens, cached_input_tokens) = (input, output, cached);
        Some(Usage { input_tokens, output_tokens, cached_input_tokens, cache_write_tokens: 0 })
    };
    for (endpoint, stream, due) in [
        (Endpoint::CHAT_COMPLETIONS, chat, count(7, 2, 3)),
        (Endpoint::CHAT_COMPLETIONS, cut, count(1, 0, 0)),
        (Endpoint::MESSAGES, messages, count(9, 8, 4)),
        (Endpoint::MESSAGES, named, count(0, 5, 0)),
        (Endpoint::RESPONSES, responses, count(5, 6, 0)),
    ] {
        let mut gate = ToolCallScanner::new(endpoint);
        for event in events(&stream) {
            gate.scan_event(&event).unwrap();
        }
        let read = exchange::parse_answer(endpoint, true, stream.as_bytes()).unwrap();
        let due = CostFacts { model: read.model.as_deref(), usage: due, text_bytes: read.text_bytes() };
        assert_eq!((gate.facts(), read.usage), (due, due.usage), "{stream}");
    }
}

/// Found by fuzzing: a call that grew after its end was returned without its name, so that no rule for that
/// name applied. The record has the call as it was at its end.
#[test]
fn a_call_that_grows_after_its_end_keeps_its_name() {
    let item = r#"{"type":"function_call","id":"i","call_id":"c","name":"pay","arguments":"{}"}"#;
    let stream = stream(&[
        &format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#),
        r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"i","delta":"{\"all\":1}"}"#,
    ]);
    let call = |input: &str| ToolCall { id: "c".into(), name: "pay".into(), input: input.into() };
    let mut gate = ToolCallScanner::new(Endpoint::RESPONSES);
    let given: Vec<ToolCall> =
        events(&stream).iter().flat_map(|event| gate.scan_event(event).unwrap()).collect();
    assert_eq!(given, [call("{}")]);
    assert!(gate.is_open());
    assert_eq!(gate.finish(), [call("{}{\"all\":1}")]);
    let read = exchange::parse_answer(Endpoint::RESPONSES, true, stream.as_bytes()).unwrap();
    assert_eq!(read.tool_calls, given);
}

/// Found by fuzzing: clients that do not know the event have only the beginning of the call.
#[test]
fn what_an_unknown_event_ends_goes_on_for_some() {
    let item = |input| {
        format!(r#"{{"type":"function_call","id":"i","call_id":"c","name":"look","arguments":"{input}"}}"#)
    };
    let event = |kind, input| format!(r#"{{"type":"{kind}","output_index":0,"item":{}}}"#, item(input));
    let stream =
        stream(&[&event("response.output_item.added", ""), &event("response.output_item.finished", "1")]);
    let call = |input: &str| ToolCall { id: "c".into(), name: "look".into(), input: input.into() };
    let mut gate = ToolCallScanner::new(Endpoint::RESPONSES);
    let given: Vec<_> = events(&stream).iter().map(|event| gate.scan_event(event)).collect();
    assert_eq!(given, [Ok(vec![]), Ok(vec![call("1")])]);
    assert_eq!(gate.finish(), [call("{}")]);
}

/// The index ties the events of an item together, because the ids of some vendors differ from event to event.
/// An input may come at once, without pieces.
#[test]
fn what_the_gate_gives_is_what_the_record_reads() {
    let item = r#"{"type":"function_call","id":"one","call_id":"c","name":"look","arguments":""}"#;
    let added = format!(r#"{{"type":"response.output_item.added","output_index":1,"item":{item}}}"#);
    let delta = r#"{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"other","delta":"{\"at\":1}"}"#;
    let done = r#"{"type":"response.function_call_arguments.done","output_index":1,"item_id":"third","arguments":"{\"at\":1}"}"#;
    let due = [ToolCall { id: "c".into(), name: "look".into(), input: r#"{"at":1}"#.into() }];
    for said in [vec![added.as_str(), delta], vec![&added, done], vec![&added, delta, done]] {
        let stream = stream(&said);
        let mut gate = ToolCallScanner::new(Endpoint::RESPONSES);
        events(&stream).iter().for_each(|event| assert_eq!(gate.scan_event(event), Ok(vec![])));
        assert_eq!(gate.finish(), due);
        let read = exchange::parse_answer(Endpoint::RESPONSES, true, stream.as_bytes()).unwrap();
        assert_eq!(read.tool_calls, due);
    }
}

/// The scanner counts the same usage as the parser of a document.
#[test]
fn what_a_document_took_is_told() {
    let openai = r#"{"choices":[],"output":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}"#;
    let anthropic =
        r#"{"content":[],"usage":{"input_tokens":7,"output_tokens":2,"cache_creation_input_tokens":5}}"#;
    for (endpoint, document, cache_write_tokens) in [
        (Endpoint::CHAT_COMPLETIONS, openai, 0),
        (Endpoint::RESPONSES, openai, 0),
        (Endpoint::MESSAGES, anthropic, 5),
    ] {
        let read = exchange::parse_answer(endpoint, false, document.as_bytes()).unwrap().usage;
        let due = Usage { input_tokens: 7, output_tokens: 2, cached_input_tokens: 0, cache_write_tokens };
        let told = scan_answer(endpoint, document.as_bytes()).unwrap().usage;
        assert_eq!((told, read), (Some(due), Some(due)), "{endpoint:?}");
    }
}

fn calls(endpoint: Endpoint, body: &[u8]) -> Result<Vec<ToolCall>, UnreadableAnswer> {
    scan_answer(endpoint, body).map(|told| told.calls)
}

fn call(id: &str, name: &str, input: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), input: input.into() }
}

fn events(stream: &str) -> Vec<SseEvent> {
    let mut reader = SseReader::new();
    let mut events = reader.push(stream.as_bytes());
    events.extend(reader.finish());
    events
}

/// Returns a stream with one event for each text.
fn stream(data: &[&str]) -> String {
    data.iter().map(|data| format!("data: {data}\n\n")).collect()
}

/// Returns for each event the number of calls that it completed, and true if bytes must be held back after it;
/// and all calls.
fn watched(endpoint: Endpoint, stream: &str) -> (Vec<(usize, bool)>, Vec<ToolCall>) {
    let mut gate = ToolCallScanner::new(endpoint);
    let (mut steps, mut given) = (Vec::new(), Vec::new());
    for event in events(stream) {
        let calls = gate.scan_event(&event).unwrap();
        steps.push((calls.len(), gate.is_open()));
        given.extend(calls);
    }
    given.extend(gate.finish());
    (steps, given)
}

fn given(endpoint: Endpoint, data: &[&str]) -> Vec<ToolCall> {
    watched(endpoint, &stream(data)).1
}

/// Returns the index of the event at which a stream is refused.
fn refused_at(endpoint: Endpoint, stream: &str) -> Option<usize> {
    let mut gate = ToolCallScanner::new(endpoint);
    events(stream).iter().position(|event| gate.scan_event(event) == Err(UnreadableAnswer))
}

const CHAT: [&str; 7] = [
    r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"Well"},"finish_reason":null}]}"#,
    r#"{"choices":[{"index":1,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"pay","arguments":""}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"n\":"}}]}}]}"#,
    r#"{"choices":[{"index":1,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}},{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"up","arguments":"7}"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"{"choices":[{"index":1,"delta":{},"finish_reason":"tool_calls"}]}"#,
    "[DONE]",
];

#[test]
fn choices_and_calls_side_by_side() {
    let (steps, given) = watched(Endpoint::CHAT_COMPLETIONS, &stream(&CHAT));
    assert_eq!(
        steps,
        [(0, false), (0, true), (0, true), (0, true), (1, true), (1, false), (0, false)],
        "the first choice is whole while the second is not, and nothing passes until both are"
    );
    assert_eq!(given, [call("a", "lookup", r#"{"n":7}"#), call("b", "pay", "{}")]);
}

#[test]
fn a_call_that_never_ends_is_given_at_the_end() {
    let (steps, given) = watched(Endpoint::CHAT_COMPLETIONS, &stream(&CHAT[..3]));
    assert_eq!(steps, [(0, false), (0, true), (0, true)]);
    assert_eq!(given, [call("b", "pay", "{}"), call("a", "look", r#"{"n":"#)]);
    let (steps, given) = watched(Endpoint::CHAT_COMPLETIONS, &stream(&[CHAT[1], "[DONE]"]));
    assert_eq!((steps, given), (vec![(0, true), (1, false)], vec![call("b", "pay", "{}")]));
}

#[test]
fn other_ways_to_ask_in_a_chat() {
    let finish = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let cases: [(&str, Vec<&str>, Vec<ToolCall>); 6] = [
        (
            "the way of before",
            vec![
                r#"{"choices":[{"delta":{"function_call":{"name":"pa","arguments":"{"}}}]}"#,
                r#"{"choices":[{"delta":{"function_call":{"name":"y","arguments":"}"}}}]}"#,
                r#"{"choices":[{"delta":{"function_call":null}}]}"#,
                finish,
            ],
            vec![call("", "pay", "{}")],
        ),
        (
            "a custom tool",
            vec![
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"custom","custom":{"name":"sh","input":"rm "}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"custom":{"input":"-r"}}]}}]}"#,
                finish,
            ],
            vec![call("c", "sh", "rm -r")],
        ),
        (
            "a whole message",
            vec![
                r#"{"choices":[{"index":0,"message":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"1"}},{"id":"b","function":{"name":"y","arguments":"2"}}]},"finish_reason":"tool_calls"}]}"#,
            ],
            vec![call("a", "x", "1"), call("b", "y", "2")],
        ),
        (
            "one that goes on after its end",
            vec![
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{"}}]},"finish_reason":"stop"}]}"#,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"up","arguments":"}"}}]}}]}"#,
                "[DONE]",
            ],
            vec![call("a", "look", "{"), call("a", "lookup", "{}")],
        ),
        (
            "eleven choices, of which the second ends",
            vec![
                r#"{"choices":[{"index":10,"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"ten"}}]}},{"index":1,"delta":{"tool_calls":[{"index":0,"id":"o","function":{"name":"one"}}]},"finish_reason":"stop"}]}"#,
            ],
            vec![call("o", "one", "{}"), call("t", "ten", "{}")],
        ),
        (
            "none",
            vec![r#"{"choices":[{"index":0,"delta":{"tool_calls":null,"content":"hi"}}]}"#, finish],
            vec![],
        ),
    ];
    for (what, data, expected) in cases {
        assert_eq!(given(Endpoint::CHAT_COMPLETIONS, &data), expected, "{what}");
    }
}

const TOOL_USE: &str = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"pay","input":{}}}"#;
const TOOL_MORE: &str =
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"n\""}}"#;
const TOOL_LAST: &str =
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":7}"}}"#;
const TOOL_STOP: &str = r#"{"type":"content_block_stop","index":1}"#;
const TEXT: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hm"}}"#;

#[test]
fn blocks_of_a_message() {
    let data = [TEXT, TOOL_USE, TOOL_MORE, TEXT, TOOL_LAST, TOOL_STOP, TEXT, r#"{"type":"message_stop"}"#];
    let (steps, given) = watched(Endpoint::MESSAGES, &stream(&data));
    assert_eq!(
        steps,
        [(0, false), (0, true), (0, true), (0, true), (0, true), (1, false), (0, false), (0, false)]
    );
    assert_eq!(given, [call("t1", "pay", r#"{"n":7}"#)]);
}

#[test]
fn other_ways_to_ask_in_a_message() {
    let second = TOOL_USE.replace("t1", "t2").replace("pay", "ship");
    let whole = TOOL_USE.replace("{}}}", r#"{"n":8}}}"#);
    let untyped = TOOL_USE.replace(r#""type":"content_block_start","#, "");
    let cases: [(&str, Vec<&str>, Vec<ToolCall>); 6] = [
        ("no end", vec![TOOL_USE, TOOL_MORE], vec![call("t1", "pay", r#"{"n""#)]),
        (
            "two under one number",
            vec![TOOL_USE, &second, TOOL_MORE, TOOL_LAST, TOOL_STOP],
            vec![call("t1", "pay", "{}"), call("t2", "ship", r#"{"n":7}"#)],
        ),
        ("its input at the beginning", vec![&whole, TOOL_STOP], vec![call("t1", "pay", r#"{"n":8}"#)]),
        (
            "one that goes on after its end",
            vec![TOOL_USE, TOOL_MORE, TOOL_STOP, TOOL_LAST],
            vec![call("t1", "pay", r#"{"n""#), call("t1", "pay", r#"{"n":7}"#)],
        ),
        (
            "a message that begins with it",
            vec![
                r#"{"type":"message_start","message":{"content":[{"type":"tool_use","id":"t0","name":"rm","input":{}}]}}"#,
            ],
            vec![call("t0", "rm", "{}")],
        ),
        (
            "a kind that nobody knows yet",
            vec![
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"remote_tool_use","id":"r","name":"rm"}}"#,
            ],
            vec![call("r", "rm", "{}")],
        ),
    ];
    for (what, data, expected) in cases {
        assert_eq!(given(Endpoint::MESSAGES, &data), expected, "{what}");
    }
    // Clients take the name of the event if the data has no type.
    let named = format!("event: content_block_start\ndata: {untyped}\n\n");
    assert_eq!(watched(Endpoint::MESSAGES, &named), (vec![(0, true)], vec![call("t1", "pay", "{}")]));
}

#[test]
fn what_the_vendor_runs_is_not_judged() {
    for kind in ["server_tool_use", "mcp_tool_use", "web_search_tool_result", "text", "thinking"] {
        let start = TOOL_USE.replace("tool_use", kind).replace(&format!("server_{kind}"), kind);
        let (steps, given) = watched(Endpoint::MESSAGES, &stream(&[&start, TOOL_MORE, TOOL_LAST, TOOL_STOP]));
        assert_eq!((steps, given), (vec![(0, false); 4], vec![]), "{kind}");
        let document =
            format!(r#"{{"content":[{{"type":"{kind}","id":"x","name":"web_search","input":{{}}}}]}}"#);
        assert_eq!(calls(Endpoint::MESSAGES, document.as_bytes()), Ok(vec![]), "{kind}");
    }
    for kind in ["web_search_call", "file_search_call", "mcp_call", "code_interpreter_call", "message"] {
        let item = format!(r#"{{"id":"i","type":"{kind}","name":"x","arguments":"{{}}"}}"#);
        let added = format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{item}}}"#);
        let more =
            r#"{"type":"response.mcp_call_arguments.delta","output_index":0,"item_id":"i","delta":"{"}"#;
        let done = added.replace("added", "done");
        let last = format!(r#"{{"type":"response.completed","response":{{"output":[{item}]}}}}"#);
        let (steps, given) = watched(Endpoint::RESPONSES, &stream(&[&added, more, &done, &last]));
        assert_eq!((steps, given), (vec![(0, false); 4], vec![]), "{kind}");
    }
}

const ADDED: &str = r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"c1","name":"pay","arguments":""}}"#;
const ARGUMENTS: &str = r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_1","delta":"{\"n\":7}"}"#;
const ARGUED: &str = r#"{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc_1","arguments":"{\"n\":7}"}"#;
const DONE: &str = r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"c1","name":"pay","arguments":"{\"n\":7}"}}"#;
const COMPLETED: &str = r#"{"type":"response.completed","response":{"output":[{"id":"m","type":"message","content":[]},{"id":"fc_1","type":"function_call","call_id":"c1","name":"pay","arguments":"{\"n\":7}"}]}}"#;

#[test]
fn items_of_a_response_are_told_once() {
    let (steps, given) = watched(Endpoint::RESPONSES, &stream(&[ADDED, ARGUMENTS, ARGUED, DONE, COMPLETED]));
    assert_eq!(steps, [(0, true), (0, true), (0, true), (1, false), (0, false)]);
    assert_eq!(given, [call("c1", "pay", r#"{"n":7}"#)]);
}

#[test]
fn a_response_that_changes_its_mind_is_told_again() {
    let seven = call("c1", "pay", r#"{"n":7}"#);
    let as_ship = call("c1", "ship", r#"{"n":7}"#);
    let ship = |event: &str| event.replace("\"pay\"", "\"ship\"");
    let with_call = r#"{"type":"response.in_progress","response":{"output":[{"type":"function_call","call_id":"c9","name":"rm","arguments":""}]}}"#;
    let cases: [(&str, Vec<String>, Vec<ToolCall>); 10] = [
        (
            "another tool at the end",
            vec![ADDED.into(), DONE.into(), ship(COMPLETED)],
            vec![seven.clone(), as_ship.clone()],
        ),
        (
            "another input at the end",
            vec![ADDED.into(), DONE.into(), COMPLETED.replace('7', "8")],
            vec![seven.clone(), call("c1", "pay", r#"{"n":8}"#)],
        ),
        (
            "another tool than was begun: some clients have its name from there",
            vec![ADDED.into(), ARGUMENTS.into(), ship(DONE)],
            vec![seven.clone(), as_ship.clone()],
        ),
        (
            "begun, and ended with the whole",
            vec![ADDED.into(), ARGUMENTS.into(), ship(COMPLETED)],
            vec![seven.clone(), as_ship],
        ),
        ("only at the end", vec![COMPLETED.into()], vec![seven.clone()]),
        ("only done", vec![DONE.into(), COMPLETED.into()], vec![seven.clone()]),
        ("cut", vec![ADDED.into(), ARGUMENTS.into()], vec![seven.clone()]),
        ("cut before its input", vec![ADDED.into()], vec![call("c1", "pay", "{}")]),
        ("pieces of what was never begun", vec![ARGUMENTS.into()], vec![call("", "", r#"{"n":7}"#)]),
        ("in what is only on its way", vec![with_call.into()], vec![call("c9", "rm", "{}")]),
    ];
    for (what, data, expected) in cases {
        let data: Vec<&str> = data.iter().map(String::as_str).collect();
        assert_eq!(given(Endpoint::RESPONSES, &data), expected, "{what}");
    }
    // Without indexes the ids tie events together; two items without either stay two.
    let loose = |event: &str| event.replace(r#""output_index":0,"#, "");
    let bare = loose(ADDED).replace(r#""id":"fc_1","#, "");
    let other = bare.replace("c1", "c2").replace("pay", "rm");
    assert_eq!(given(Endpoint::RESPONSES, &[&loose(ADDED), &loose(ARGUMENTS), &loose(DONE)]), [seven]);
    assert_eq!(
        given(Endpoint::RESPONSES, &[&bare, &other]),
        [call("c1", "pay", "{}"), call("c2", "rm", "{}")]
    );
}

#[test]
fn tools_that_a_vendor_gave_their_form() {
    for (item, name, input) in [
        (
            r#"{"type":"local_shell_call","call_id":"c","action":{"command":["rm"]}}"#,
            "local_shell",
            r#"{"command":["rm"]}"#,
        ),
        (
            r#"{"type":"computer_call","call_id":"c","action":{"type":"click"}}"#,
            "computer",
            r#"{"type":"click"}"#,
        ),
        (r#"{"type":"custom_tool_call","call_id":"c","name":"sql","input":"DROP"}"#, "sql", "DROP"),
        (r#"{"type":"apply_patch_call","call_id":"c"}"#, "apply_patch", ""),
    ] {
        let document = format!(r#"{{"output":[{item}]}}"#);
        assert_eq!(calls(Endpoint::RESPONSES, document.as_bytes()), Ok(vec![call("c", name, input)]));
        let done = format!(r#"{{"type":"response.output_item.done","output_index":2,"item":{item}}}"#);
        let input = if input.is_empty() { "{}" } else { input };
        assert_eq!(given(Endpoint::RESPONSES, &[&done]), [call("c", name, input)]);
    }
}

#[test]
fn documents() {
    let chat = r#"{"choices":[{"index":0,"message":{"content":"x","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}},{"id":"b","type":"custom","custom":{"name":"sql","input":"DROP"}}]}},{"index":1,"message":{"function_call":{"name":"old","arguments":"{}"}}}]}"#;
    assert_eq!(
        calls(Endpoint::CHAT_COMPLETIONS, chat.as_bytes()),
        Ok(vec![call("a", "x", "{}"), call("b", "sql", "DROP"), call("", "old", "{}")])
    );
    let message = r#"{"content":[{"type":"text","text":"x"},{"type":"tool_use","id":"t","name":"pay","input":{"n": 7}}]}"#;
    assert_eq!(calls(Endpoint::MESSAGES, message.as_bytes()), Ok(vec![call("t", "pay", r#"{"n": 7}"#)]));
    for endpoint in PROTOCOLS {
        assert_eq!(calls(endpoint, b"{}"), Ok(vec![]));
        for broken in ["", "{", "data: {}\n\n", r#"{"choices":[],"choices":[]}"#, "\u{FEFF}{}"] {
            assert_eq!(calls(endpoint, broken.as_bytes()), Err(UnreadableAnswer), "{broken}");
        }
    }
}

#[test]
fn what_cannot_be_read_does_not_pass() {
    let text = r#"{"choices":[{"index":0,"delta":{"content":"x"}}]}"#;
    for broken in [
        "data: {\n\n",
        "data: {\"a\":1,\"a\":2}\n\n",
        "data: {}{}\n\n",
        "data: [DONE] x\n\n",
        "data: {\"choices\":[{\"index\":\"1\",\"delta\":{}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0.5}]}}]}\n\n",
        // A document with the `content-type` of a stream.
        "{\"choices\":[{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"rm\"}}]}}]}",
        "dаta: {}\n\n",
    ] {
        assert_eq!(
            refused_at(Endpoint::CHAT_COMPLETIONS, &format!("data: {text}\n\n{broken}")),
            Some(1),
            "{broken}"
        );
    }
    assert_eq!(
        refused_at(Endpoint::MESSAGES, "data: {\"type\":\"content_block_stop\",\"index\":-1}\n\n"),
        Some(0)
    );
    let added = ADDED.replace("\"output_index\":0", "\"output_index\":\"0\"");
    assert_eq!(refused_at(Endpoint::RESPONSES, &stream(&[&added])), Some(0));
}

#[test]
fn what_says_nothing_passes() {
    let quiet = "\u{FEFF}: ping\r\n\r\nretry: 3\nid: 7\n\nevent: ping\n\ndata\n\ndata: [DONE]\r\r: x";
    for endpoint in PROTOCOLS {
        let (steps, given) = watched(endpoint, quiet);
        assert_eq!((steps, given), (vec![(0, false); 6], vec![]), "{endpoint:?}");
    }
    // All kinds of line ends, and data over several lines.
    for end in ["\n", "\r", "\r\n"] {
        let lines = CHAT.map(|data| data.replace("{\"choices\"", "{\n\"choices\"").replace('\n', "\ndata: "));
        let text = stream(&lines.each_ref().map(String::as_str)).replace('\n', end);
        assert_eq!(watched(Endpoint::CHAT_COMPLETIONS, &text).1.len(), 2, "{end:?}");
    }
}

/// Each stream has this many calls, one after the other or at once.
#[test]
fn a_thousand_calls_and_no_more() {
    let chat = |count: usize| -> String {
        let one =
            |at| format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{at},"id":"{at}"}}]}}}}]}}"#);
        (0..count).map(|at| format!("data: {}\n\n", one(at))).collect()
    };
    let messages = |count: usize| -> String {
        (0..count).map(|_| format!("data: {TOOL_USE}\n\ndata: {TOOL_STOP}\n\n")).collect()
    };
    let responses = |count: usize| -> String {
        let one = |at: usize| DONE.replace("c1", &format!("c{at}"));
        (0..count).map(|at| format!("data: {}\n\n", one(at))).collect()
    };
    for (endpoint, most, more, last) in [
        (Endpoint::CHAT_COMPLETIONS, chat(1024), chat(1025), 1024),
        (Endpoint::MESSAGES, messages(1024), messages(1025), 2048),
        (Endpoint::RESPONSES, responses(1024), responses(1025), 1024),
    ] {
        assert_eq!(watched(endpoint, &most).1.len(), 1024, "{endpoint:?}");
        assert_eq!(refused_at(endpoint, &more), Some(last), "{endpoint:?}");
    }
}

#[test]
fn errors_in_the_shape_of_each_stream() {
    let refusal =
        ErrorReply { status: 403, kind: "permission_error", code: "reenact_denied", message: "no \"x\"\n" };
    let event = |endpoint| error_reply::error_event(endpoint, &refusal);
    assert_eq!(
        event(Endpoint::CHAT_COMPLETIONS),
        "data: {\"error\":{\"message\":\"no \\\"x\\\"\\n\",\"type\":\"permission_error\",\"param\":null,\"code\":\"reenact_denied\"}}\n\n"
    );
    assert_eq!(
        event(Endpoint::MESSAGES),
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"permission_error\",\"message\":\"no \\\"x\\\"\\n\",\"code\":\"reenact_denied\"}}\n\n"
    );
    assert_eq!(
        event(Endpoint::RESPONSES),
        "event: error\ndata: {\"type\":\"error\",\"code\":\"reenact_denied\",\"message\":\"no \\\"x\\\"\\n\",\"param\":null,\"error\":{\"message\":\"no \\\"x\\\"\\n\",\"type\":\"permission_error\",\"param\":null,\"code\":\"reenact_denied\"}}\n\n"
    );
    // Each message stays one event: no text in it can end the event early.
    for endpoint in PROTOCOLS {
        let found = events(&event(endpoint));
        assert_eq!((found.len(), found[0].is_complete), (1, true), "{endpoint:?}");
    }
}

/// A result is found whatever kind of tool it comes from.
#[test]
fn results_of_every_kind_of_tool_are_seen() {
    let body = r#"{"input":[{"type":"custom_tool_call","call_id":"c1","name":"sql","input":"DROP"},{"type":"custom_tool_call_output","call_id":"c1","output":"gone"},{"type":"local_shell_call_output","call_id":"c2","output":"x"}]}"#;
    let read = parse_request(Endpoint::RESPONSES, "", body.as_bytes()).unwrap();
    assert_eq!(read.earlier_calls, [call("c1", "sql", "DROP")]);
    let ids: Vec<&str> = read.tool_results.iter().map(|result| result.id.as_str()).collect();
    assert_eq!(ids, ["c1", "c2"]);
    let body = r#"{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"name":"sql","input":"DROP"}}]},{"role":"tool","tool_call_id":"c","content":"gone"}]}"#;
    assert_eq!(
        parse_request(Endpoint::CHAT_COMPLETIONS, "", body.as_bytes()).unwrap().earlier_calls,
        [call("c", "sql", "DROP")]
    );
}
