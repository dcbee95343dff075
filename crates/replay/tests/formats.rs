//! Replay of records that hold less than whole exchanges: how a request is found in them, and the answer it
//! gets.
#![allow(clippy::unwrap_used)]

mod support;

use reenact_json::Digest;
use reenact_replay::{FoundBy, LoadError, MissCause, NotServed, Player, PlayerRequest};
use reenact_run::{Run, open, open_files};
use reenact_verify::{Keys, Options};
use reenact_wire::{Endpoint, ModelAnswer, ToolCall, exchange};
use support::{body_text, chat, hit, miss};

fn open_text(text: &str) -> Run {
    open(text.as_bytes().to_vec(), &Keys::default(), &Options::default()).run.unwrap()
}

fn rpk_player(steps: &str) -> Player {
    let text = format!(
        r#"{{"version":"1.0","metadata":{{}},"payload":{{"run":{{"id":"r","steps":[{steps}]}}}},"checksum":""}}"#
    );
    Player::load(&open_text(&text)).unwrap()
}

fn bundle_player(trace: &str, cassettes: &[&str]) -> Player {
    let mut files = vec![
        ("manifest.json".to_owned(), br#"{"trace_path":"files/t.jsonl"}"#.to_vec()),
        ("files/t.jsonl".to_owned(), trace.as_bytes().to_vec()),
    ];
    for (at, cassette) in cassettes.iter().enumerate() {
        files.push((format!("cassettes/{at}.json"), cassette.as_bytes().to_vec()));
    }
    Player::load(&open_files(files, &Keys::default(), &Options::default()).run.unwrap()).unwrap()
}

fn model_io_session(prompt: &str, response: &str) -> String {
    let mut text = String::new();
    reenact_json::print::write_string(response, &mut text);
    format!(
        r#"{{"model_io_schema_version":"1.0.0","adapter_id":"reenact/openai","model_id":"gpt-5","mode":"record","interactions":[{{"i":0,"prompt_hash":"sha256:{}","response_content":{text},"tokens_input":3,"tokens_output":4}}]}}"#,
        Digest::of(prompt.as_bytes())
    )
}

const BODY: &str = r#"{"model":"gpt-5","messages":[{"role":"user","content":"hello"}]}"#;
const STREAM: &str = r#"{"model":"gpt-5","stream":true,"messages":[{"role":"user","content":"hello"}]}"#;

fn read_answer(endpoint: Endpoint, stream: bool, body: &str) -> ModelAnswer {
    exchange::parse_answer(endpoint, stream, body.as_bytes()).unwrap()
}

#[test]
fn model_io_by_the_hash_of_the_body() {
    let player = Player::load(&open_text(&model_io_session(BODY, "Hi."))).unwrap();
    let answer = hit(&player, &chat(BODY));
    assert!(answer.is_rebuilt);
    assert_eq!((answer.status, answer.step_id.as_str()), (Some(200), "0"));
    assert_eq!(answer.headers, [("content-type".to_owned(), "application/json".to_owned())]);
    let read = read_answer(Endpoint::CHAT_COMPLETIONS, false, &body_text(&answer));
    assert_eq!(
        (read.text.as_str(), read.model.as_deref(), read.stop_reason.as_deref()),
        ("Hi.", Some("gpt-5"), Some("stop"))
    );
    assert_eq!(read.usage.unwrap().output_tokens, 4);
    // Each answer is served once.
    assert_eq!(miss(&player, &chat(BODY)).cause, MissCause::AskedMoreOften { recorded: 1 });
    assert_eq!(miss(&player, &chat("{}")).cause, MissCause::OnlyHashes { recorded: 1 });
    let outcome = player.outcome();
    assert_eq!((outcome.hits(), outcome.rebuilt, outcome.found_by), (1, 1, Some(FoundBy::BodyHash)));
}

#[test]
fn model_io_of_others_by_the_hash_of_the_prompt() {
    let player = Player::load(&open_text(&model_io_session("hello", "Hi."))).unwrap();
    let answer = hit(&player, &chat(STREAM));
    assert_eq!(answer.headers[0].1, "text/event-stream; charset=utf-8");
    let read = read_answer(Endpoint::CHAT_COMPLETIONS, true, &body_text(&answer));
    assert_eq!((read.text.as_str(), read.is_complete), ("Hi.", true));
}

#[test]
fn a_whole_body_that_was_kept_as_what_was_said() {
    let whole = r#"{"model":"gpt-5","choices":[{"message":{"content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"now","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let player = Player::load(&open_text(&model_io_session(BODY, whole))).unwrap();
    assert_eq!(body_text(&hit(&player, &chat(BODY))), whole);
    // The same answer as a stream, if the request asks for one.
    let player = Player::load(&open_text(&model_io_session(STREAM, whole))).unwrap();
    let answer = read_answer(Endpoint::CHAT_COMPLETIONS, true, &body_text(&hit(&player, &chat(STREAM))));
    assert_eq!(answer.tool_calls, [ToolCall { id: "c".into(), name: "now".into(), input: "{}".into() }]);
}

#[test]
fn other_vendors_and_what_has_no_shape() {
    let body = r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}]}"#;
    let claude = model_io_session("hello", "Hi.").replace("reenact/openai", "other/claude");
    let player = Player::load(&open_text(&claude)).unwrap();
    let messages = PlayerRequest { provider: "anthropic", path: "/v1/messages", ..chat(body) };
    let read_back = read_answer(Endpoint::MESSAGES, false, &body_text(&hit(&player, &messages)));
    assert_eq!((read_back.text.as_str(), read_back.stop_reason.as_deref()), ("Hi.", Some("end_turn")));
    let player = rpk_player(
        r#"{"id":"a","type":"model.request","input":{"provider":"openai","path":"/v1/completions","payload":{"prompt":"hello"}},"output":{},"metadata":{}},
           {"id":"b","type":"model.response","input":{},"output":{"output":"Hi."},"metadata":{}}"#,
    );
    let other = PlayerRequest { path: "/v1/completions?key=secret", ..chat(r#"{"prompt":"hello"}"#) };
    let without_query = PlayerRequest { path: "/v1/completions", ..other };
    let MissCause::NoAnswer { why, .. } = &miss(&player, &without_query).cause else { panic!() };
    assert_eq!(*why, NotServed::UnknownEndpoint("POST /v1/completions".into()));
    assert!(matches!(miss(&player, &other).cause, MissCause::Unknown(_)));
}

#[test]
fn another_vendor_method_or_place_is_another_request() {
    let cassette = |url: &str| {
        format!(
            r#"{{"schema_version":2,"fingerprint":"00","method":"POST","url":"{url}","request_body":{BODY},"status":200,"response_body":{{"choices":[]}}}}"#
        )
    };
    let load = |url: &str| bundle_player("", &[&cassette(url)]);
    let anthropic = |path| PlayerRequest { provider: "anthropic", path, ..chat(BODY) };
    let player = load("https://proxy.example/team/v1/chat/completions");
    miss(&player, &PlayerRequest { path: "/v1/responses", ..chat(BODY) });
    miss(&player, &PlayerRequest { path: "/v1/files", ..chat(BODY) });
    miss(&player, &PlayerRequest { method: "PUT", ..chat(BODY) });
    miss(&player, &anthropic("/v1/messages"));
    miss(&player, &anthropic("/v1/chat/completions"));
    hit(&player, &chat(BODY));
    let player = load("https://proxy.example/team/v1/files?x=1");
    miss(&player, &chat(BODY));
    miss(&player, &PlayerRequest { path: "/v1/files?x=2", ..chat(BODY) });
    miss(&player, &PlayerRequest { path: "/v1/files?x=1", method: "PUT", ..chat(BODY) });
    hit(&player, &PlayerRequest { path: "/v1/files?x=1", ..chat(BODY) });

    // A record without a destination is of a model call.
    let trace = "{\"schema_version\":1,\"type\":\"assay.trace\",\"request_id\":\"r\",\"prompt\":\"hello\",\"response\":\"Hi.\",\"meta\":{\"provider\":\"openai\"}}\n";
    let tokens = anthropic("/v1/messages/count_tokens");
    let files = PlayerRequest { path: "/v1/files", ..chat(BODY) };
    for (player, names_vendor) in [
        (bundle_player(trace, &[]), true),
        (bundle_player(&trace.replace("openai", "someone"), &[]), false),
        (Player::load(&open_text(&model_io_session("hello", "Hi."))).unwrap(), true),
        (Player::load(&open_text(&model_io_session(BODY, "Hi."))).unwrap(), true),
    ] {
        miss(&player, &tokens);
        miss(&player, &files);
        match names_vendor {
            true => drop(miss(&player, &anthropic("/v1/messages"))),
            false => drop(hit(&player, &anthropic("/v1/messages"))),
        }
        hit(&player, &chat(BODY));
    }
}

#[test]
fn nothing_is_found_by_nothing_but_in_its_place() {
    let player = Player::load(&open_text(&model_io_session("", "Hi."))).unwrap();
    miss(&player, &chat(""));
    miss(&player, &PlayerRequest { method: "GET", path: "/v1/models", ..chat("") });
    let player = rpk_player(
        r#"{"id":"a","type":"tool.request","input":{"method":"GET","url":"https://api.openai.com/v1/models"},"output":{},"metadata":{}},
           {"id":"b","type":"tool.response","input":{"method":"GET","url":"https://api.openai.com/v1/models"},"output":{"status_code":200,"body":{"data":[]}},"metadata":{}}"#,
    );
    let get = |path| PlayerRequest { method: "GET", path, ..chat("") };
    miss(&player, &get("/v1/files"));
    miss(&player, &PlayerRequest { method: "DELETE", ..get("/v1/models") });
    miss(&player, &PlayerRequest { provider: "anthropic", ..get("/v1/models") });
    assert_eq!(body_text(&hit(&player, &get("/v1/models"))), r#"{"data":[]}"#);
}

#[test]
fn a_prompt_that_was_answered_is_no_longer_asked() {
    let load = || Player::load(&open_text(&model_io_session("hello", "Hi."))).unwrap();
    let later = |more: &str| BODY.replace("}]", &format!("}},{more}]"));
    for more in [
        r#"{"role":"assistant","content":"Hi."}"#,
        r#"{"role":"tool","tool_call_id":"c","content":"4"}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"},{"type":"text","text":"hello"}]}"#,
    ] {
        miss(&load(), &chat(&later(more)));
    }
    hit(&load(), &chat(&later(r#"{"role":"user","content":"hello"}"#)));
}

#[test]
fn a_question_that_is_in_the_session_more_than_once_goes_on_behind_tools() {
    let hash = Digest::of(b"hello");
    let interaction = |i: usize, text: &str| {
        format!(r#"{{"i":{i},"prompt_hash":"sha256:{hash}","response_content":"{text}"}}"#)
    };
    let session = model_io_session("x", "y");
    let (head, _) = session.split_once("[").unwrap();
    let session = format!("{head}[{},{}]}}", interaction(0, "Let me see."), interaction(1, "Hi."));
    let player = Player::load(&open_text(&session)).unwrap();
    let behind_a_tool = BODY.replace("}]", r#"},{"role":"tool","tool_call_id":"c","content":"4"}]"#);
    miss(&player, &chat(&behind_a_tool));
    let said = |body: &str| {
        read_answer(Endpoint::CHAT_COMPLETIONS, false, &body_text(&hit(&player, &chat(body)))).text
    };
    assert_eq!(said(BODY), "Let me see.");
    assert_eq!(said(&behind_a_tool), "Hi.");
    assert_eq!(miss(&player, &chat(&behind_a_tool)).cause, MissCause::AskedMoreOften { recorded: 2 });
}

#[test]
fn answers_of_a_bundle_that_contradict_each_other_are_counted() {
    let line = |id: &str, prompt: &str, response: &str| {
        let mut text = String::new();
        reenact_json::print::write_string(prompt, &mut text);
        format!(
            "{{\"schema_version\":1,\"type\":\"assay.trace\",\"request_id\":\"{id}\",\"prompt\":{text},\"response\":\"{response}\"}}\n"
        )
    };
    let cassette = |message: &str| {
        format!(
            r#"{{"schema_version":2,"fingerprint":"00","method":"POST","url":"https://api.openai.com/v1/chat/completions","request_body":{BODY},"status":200,"response_body":{{"choices":[{{"message":{message}}}]}}}}"#
        )
    };
    let calls = r#"{"content":"Hi.","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let same = r#"{"content":"Hi."}"#;
    let error = cassette(same).replace("\"status\":200", "\"status\":429");
    let twice = |response| line("r1", BODY, "Hi.") + &line("r2", BODY, response);
    for (trace, cassettes, ambiguous) in [
        (twice("Hi."), vec![], 0),
        (twice("Ho."), vec![], 1),
        (line("r1", "hello", "Hi.") + &line("r2", "hello", "Ho."), vec![], 1),
        (line("r1", BODY, "Hi."), vec![cassette(same)], 0),
        (line("r1", BODY, "Hi."), vec![cassette(calls)], 0),
        (line("r1", BODY, "Ho."), vec![cassette(calls)], 1),
        (line("r1", BODY, "Hi."), vec![error], 1),
        (String::new(), vec![cassette(same), cassette(calls)], 1),
        (String::new(), vec![cassette(calls), cassette(&calls.replace("\"c\"", "\"d\""))], 0),
    ] {
        let cassettes: Vec<&str> = cassettes.iter().map(String::as_str).collect();
        let player = bundle_player(&trace, &cassettes);
        hit(&player, &chat(BODY));
        let outcome = player.outcome();
        assert_eq!((outcome.ambiguous, outcome.unused.len()), (ambiguous, 0), "{trace} {cassettes:?}");
    }
}

#[test]
fn rpk_of_the_listener_by_the_values_of_the_body() {
    let player = rpk_player(
        r#"{"id":"a","type":"model.request","input":{"provider":"openai","path":"/v1/responses","request_id":"q","model":"gpt-5","payload":{"input":"hi","model":"gpt-5"}},"output":{},"metadata":{}},
           {"id":"b","type":"model.response","input":{"request_id":"q"},"output":{"status_code":200,"assembled_text":"Hello","output":{"id":"r","object":"response","model":"gpt-5","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hello"}]}]}},"metadata":{}}"#,
    );
    // The same values in another spelling.
    let asked = PlayerRequest { path: "/v1/responses", ..chat(r#"{ "model": "gpt-5", "input": "hi" }"#) };
    let answer = hit(&player, &asked);
    assert!(body_text(&answer).starts_with(r#"{"id":"r","object":"response""#));
    assert_eq!(player.outcome().found_by, Some(FoundBy::JsonBody));
    let missed =
        miss(&player, &PlayerRequest { path: "/v1/responses", ..chat(r#"{"model":"gpt-5","input":"ho"}"#) });
    assert_eq!(
        missed.to_string(),
        "E_REPLAY_MISSING_DEPENDENCY: no recorded answer for POST /v1/responses (openai, gpt-5): the closest is step a (which was asked for already), it differs in 1 value; first at $.input: recorded \"hi\", asked \"ho\""
    );
}

#[test]
fn rpk_of_a_wrapped_sdk_by_model_and_messages() {
    let player = rpk_player(
        r#"{"id":"a","type":"model.request","input":{"model":"gpt-5","input":{"messages":[{"content":"hello","role":"user"}],"temperature":0.2}},"output":{},"metadata":{}},
           {"id":"b","type":"model.response","input":{"model":"gpt-5"},"output":{"output":{"content":"Hi."}},"metadata":{}}"#,
    );
    let missed = miss(&player, &chat(&BODY.replace("hello", "hullo")));
    let MissCause::Unknown(closest) = &missed.cause else { panic!("{missed}") };
    assert_eq!((closest.step_id.as_str(), closest.distance), ("a", 2));
    let answer = read_answer(Endpoint::CHAT_COMPLETIONS, false, &body_text(&hit(&player, &chat(BODY))));
    assert_eq!(answer.text, "Hi.");
    assert_eq!(player.outcome().found_by, Some(FoundBy::Conversation));
}

#[test]
fn rpk_that_was_ours_is_replayed_exactly() {
    let player = rpk_player(
        r#"{"id":"a","type":"model.request","input":{"step_id":"s1","provider":"openai","model":"gpt-5","http":{"method":"POST","path":"/v1/chat/completions","headers":[],"body":{"text":"{}"}},"source":"observed"},"output":{},"metadata":{}},
           {"id":"b","type":"model.response","input":{},"output":{"step_id":"s1","status":200,"complete":true,"ended_by":"eof","http":{"headers":[["x-own","1"]],"body":{"text":"as it was"}}},"metadata":{}}"#,
    );
    let answer = hit(&player, &chat("{}"));
    assert_eq!((body_text(&answer).as_str(), answer.is_rebuilt), ("as it was", false));
    assert_eq!(answer.headers, [("x-own".to_owned(), "1".to_owned())]);
    assert_eq!(player.outcome().found_by, Some(FoundBy::Request));
}

#[test]
fn traces_by_the_prompt_as_often_as_it_is_asked() {
    let player = bundle_player(
        "{\"type\":\"episode_start\",\"episode_id\":\"t1\",\"input\":{\"prompt\":\"hello\"}}\n{\"type\":\"episode_end\",\"episode_id\":\"t1\",\"final_output\":\"Hi.\"}\n{\"schema_version\":1,\"type\":\"assay.trace\",\"request_id\":\"r2\",\"prompt\":\"bye\",\"response\":\"Bye.\"}\n",
        &[],
    );
    for _ in 0..2 {
        assert_eq!(
            read_answer(Endpoint::CHAT_COMPLETIONS, false, &body_text(&hit(&player, &chat(BODY)))).text,
            "Hi."
        );
    }
    let outcome = player.outcome();
    assert_eq!((outcome.hits(), outcome.ambiguous, outcome.found_by), (2, 0, Some(FoundBy::Prompt)));
    assert_eq!(
        (outcome.unused.len(), outcome.unused[0].step_id.as_str(), outcome.unused[0].label.as_str()),
        (1, "r2", "\"bye\"")
    );
    let missed = miss(&player, &chat(&BODY.replace("hello", "hallo")));
    let MissCause::Unknown(closest) = &missed.cause else { panic!("{missed}") };
    assert_eq!(closest.differences[0].recorded.as_deref(), Some("\"hello\""));
}

#[test]
fn a_cassette_speaks_for_the_line_of_its_trace() {
    let mut prompt = String::new();
    reenact_json::print::write_string(BODY, &mut prompt);
    let trace = format!(
        "{{\"schema_version\":1,\"type\":\"assay.trace\",\"request_id\":\"r1\",\"prompt\":{prompt},\"response\":\"Hi.\"}}\n"
    );
    let answer = r#"{"choices":[{"message":{"content":"Hi."}}],"id":"kept"}"#;
    let cassette = format!(
        r#"{{"schema_version":2,"fingerprint":"00","method":"POST","url":"https://api.openai.com/v1/chat/completions","request_body":{BODY},"status":200,"response_body":{answer}}}"#
    );
    let player = bundle_player(&trace, &[&cassette]);
    assert_eq!(body_text(&hit(&player, &chat(BODY))), answer);
    let outcome = player.outcome();
    assert_eq!((outcome.unused.len(), outcome.found_by), (0, Some(FoundBy::JsonBody)));
}

#[test]
fn embeddings_come_from_cassettes_and_errors_as_they_were() {
    let cassette = |status: u16, body: &str, answer: &str| {
        format!(
            r#"{{"schema_version":2,"fingerprint":"00","method":"POST","url":"https://api.openai.com/v1/embeddings","request_body":{body},"status":{status},"response_body":{answer}}}"#
        )
    };
    let (one, two) = (
        cassette(200, r#"{"input":"x"}"#, r#"{"data":[1.0]}"#),
        cassette(429, r#"{"input":"y"}"#, r#"{"error":{"message":"slow"}}"#),
    );
    let player = bundle_player("", &[&one, &two]);
    let asked = |body| PlayerRequest { path: "/v1/embeddings", ..chat(body) };
    assert_eq!(body_text(&hit(&player, &asked(r#"{"input":"x"}"#))), r#"{"data":[1.0]}"#);
    let error = hit(&player, &asked(r#"{"input":"y"}"#));
    assert_eq!((error.status, body_text(&error).as_str()), (Some(429), r#"{"error":{"message":"slow"}}"#));
}

#[test]
fn a_replay_of_tools_holds_only_hashes() {
    let run = open_text("{\"event\":\"ReplayHeader\",\"replay_version\":1}\n{\"event\":\"SessionStart\"}\n");
    assert_eq!(Player::load(&run).unwrap_err(), LoadError::OnlyHashes);
}
