//! Exchanges through a gateway reach the client unchanged, and are in the record.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use reenact_testkit::{Script, ScriptStep, ScriptedAnswer, ScriptedReply, ScriptedVendor, WaitCondition};
use support::{LiveRun, chat};

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_exchange() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let body = chat("hi", false);
    let response = run.openai().post("/chat/completions", &body).await;
    assert_eq!(response.status(), 200);
    assert!(response.is_whole);
    assert_eq!(response.body, vendor.sent_answers()[0].body);
    let asked = &vendor.requests()[0];
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(asked.body, body);
    assert_eq!(asked.header("host"), Some(vendor.address().to_string().as_str()));

    let sealed = run.seal().await;
    assert_eq!(sealed.stopped, Ok(()));
    let types = ["rer.run.started", "rer.model.called", "rer.model.returned", "rer.run.ended"];
    assert_eq!(sealed.types(), types);
    let called = sealed.only_payload("rer.model.called");
    assert_eq!(called["provider"], "openai");
    assert_eq!(called["model"], "gpt-5");
    assert_eq!(called["endpoint"], "chat.completions");
    assert_eq!(called["step_id"], "s1");
    assert_eq!(called["http"]["method"], "POST");
    assert_eq!(called["http"]["path"], "/v1/chat/completions");
    assert_eq!(called["http"]["body"]["text"], body.as_str());
    assert_eq!(called["match_key"].as_str().unwrap().len(), 64);
    let returned = sealed.only_payload("rer.model.returned");
    assert_eq!(returned["status"], 200);
    assert_eq!(returned["step_id"], "s1");
    assert_eq!(returned["complete"], true);
    assert_eq!(returned["ended_by"], "eof");
    assert_eq!(returned["http"]["version"], "1.1");
    assert_eq!(returned["http"]["body"]["text"], response.text());
    assert_eq!(returned["http"].get("chunks"), None);
    assert_eq!(returned["http"].get("content_encoding"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_vendors_and_what_asks_no_model() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let body = r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    assert_eq!(run.anthropic().post("/v1/messages?beta=true", body).await.status(), 200);
    assert_eq!(run.openai().get("/models").await.status(), 200);
    let unknown = run.openai().post("/batches", r#"{"model":"embed-1","input":"x"}"#).await;
    assert_eq!(unknown.body, vendor.sent_answers()[2].body);
    let sealed = run.seal().await;
    let called = sealed.payloads("rer.model.called");
    assert_eq!(called[0]["provider"], "anthropic");
    assert_eq!(called[0]["endpoint"], "messages");
    assert_eq!(called[0]["http"]["path"], "/v1/messages?beta=true");
    assert_eq!(called[1]["endpoint"], serde_json::Value::Null);
    assert_eq!(called[1]["model"], "embed-1");
    let listed = sealed.only_payload("rer.http.called");
    assert_eq!((&listed["model"], &listed["endpoint"]), (&serde_json::Value::Null, &"models".into()));
    assert_eq!(sealed.only_payload("rer.http.returned")["status"], 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_comes_piece_by_piece() {
    let vendor = ScriptedVendor::start(Script::echo().gated()).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let mut connection = client.connect().await;
    let request = client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes());
    connection.write(&request).await;
    let head = connection.read_head().await.unwrap();
    assert_eq!(head.header("content-type"), Some("text/event-stream; charset=utf-8"));
    // The vendor waits before each piece until the client has the one before.
    let (mut chunks, mut piece): (Vec<Vec<u8>>, _) = (Vec::new(), 0);
    loop {
        vendor.open_gate(&format!("0.{piece}"));
        let chunk = connection.read_chunk().await.unwrap();
        if chunk.is_empty() {
            break;
        }
        assert_eq!([&chunks.concat()[..], &chunk].concat(), vendor.sent_answers()[0].body);
        chunks.push(chunk);
        piece += 1;
    }
    assert!(chunks.len() > 3);
    let sealed = run.seal().await;
    let returned = sealed.only_payload("rer.model.returned");
    let recorded: Vec<u64> = returned["http"]["chunks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|chunk| chunk[1].as_u64().unwrap())
        .collect();
    let came: Vec<u64> = chunks.iter().map(|chunk| chunk.len() as u64).collect();
    assert_eq!(recorded, came);
    assert_eq!(returned["http"]["body"]["text"].as_str().unwrap().as_bytes(), chunks.concat());
    assert_eq!(returned["complete"], true);
}

/// A client may act on the last event before its stream ends; the record has the answer before the next
/// request.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_request_comes_after_the_answer_it_acts_on() {
    let events = ["data: {\"choices\":[]}\n\n", "data: [DONE]\n\n"];
    let script = Script::answering(move |request| match request.index {
        0 => ScriptedAnswer::events(events).wait_before(2, "end"),
        _ => ScriptedAnswer::json(200, "{}"),
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start_without_log(&vendor);
    let client = run.openai();
    let mut connection = client.connect().await;
    let request = client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes());
    connection.write(&request).await;
    connection.read_head().await.unwrap();
    assert_eq!(connection.read_chunk().await.unwrap(), events[0].as_bytes());
    assert_eq!(connection.read_chunk().await.unwrap(), events[1].as_bytes());
    client.post("/chat/completions", &chat("next", false)).await;
    let types = [
        "rer.run.started",
        "rer.model.called",
        "rer.model.returned",
        "rer.model.called",
        "rer.model.returned",
    ];
    assert_eq!(run.types(), types);
    vendor.open_gate("end");
    assert_eq!(connection.read_chunk().await.unwrap(), b"");
    let sealed = run.seal().await;
    assert_eq!(sealed.types()[..5], types);
    let first = sealed.payloads("rer.model.returned")[0];
    assert_eq!((&first["complete"], &first["step_id"]), (&true.into(), &"s1".into()));
    assert_eq!(first["http"]["body"]["text"], events.concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn called_before_the_first_byte_and_returned_before_the_last() {
    let script = Script::answering(|_| {
        ScriptedAnswer {
            steps: vec![ScriptStep::send("{"), ScriptStep::wait("last"), ScriptStep::send("}")],
            ..ScriptedAnswer::empty(200)
        }
        .header("content-length", "2")
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start_without_log(&vendor);
    let client = run.openai();
    let mut connection = client.connect().await;
    connection.write(&client.request("POST", "/responses", &[], b"{}")).await;
    vendor.wait_async(WaitCondition::Requests(1)).await;
    assert_eq!(run.types(), ["rer.run.started", "rer.model.called"]);
    vendor.open_gate("last");
    let response = connection.read_answer("POST").await.unwrap();
    assert_eq!(response.text(), "{}");
    assert_eq!(run.types(), ["rer.run.started", "rer.model.called", "rer.model.returned"]);
    run.seal().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once() {
    for parallel in [16, 64] {
        let vendor = ScriptedVendor::start(Script::echo()).unwrap();
        let run = LiveRun::start(&vendor);
        let client = run.openai();
        let asking = (0..parallel).map(|number| {
            let client = client.clone();
            tokio::spawn(async move {
                let is_stream = number % 2 == 0;
                let response =
                    client.post("/chat/completions", &chat(&format!("number {number}."), is_stream)).await;
                assert!(response.is_whole);
                assert!(response.status() == 200, "{}", response.text());
                (number, response)
            })
        });
        let mut response = Vec::new();
        for asked in asking.collect::<Vec<_>>() {
            response.push(asked.await.unwrap());
        }
        let sealed = run.seal().await;
        let (called, returned) = (sealed.payloads("rer.model.called"), sealed.payloads("rer.model.returned"));
        assert_eq!((called.len(), returned.len()), (parallel, parallel));
        // Each answer belongs to its own request.
        for (number, response) in response {
            let mine = format!("number {number}.");
            let called =
                called.iter().find(|it| it["http"]["body"]["text"].as_str().unwrap().contains(&mine));
            let step = &called.unwrap()["step_id"];
            let returned = returned.iter().find(|it| &it["step_id"] == step).unwrap();
            assert_eq!(returned["http"]["body"]["text"], response.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_inferred_when_their_results_appear() {
    let vendor = ScriptedVendor::start(Script::tool_loop()).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    for is_stream in [true, false] {
        let id = if is_stream { "streamed" } else { "whole" };
        let first = client.post("/chat/completions", &chat(&format!("look up {id}"), is_stream)).await;
        let answer = reenact_wire::exchange::parse_answer(
            reenact_wire::Endpoint::CHAT_COMPLETIONS,
            is_stream,
            &first.body,
        );
        let [call] = &answer.unwrap().tool_calls[..] else { panic!("one call") };
        let next = serde_json::json!({"model": "gpt-5", "messages": [
            {"role": "user", "content": "look up"},
            {"role": "assistant", "tool_calls": [{"id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": call.input}}]},
            {"role": "tool", "tool_call_id": call.id, "content": "42"}]});
        client.post("/chat/completions", &next.to_string()).await;
        // The history is sent repeatedly; the tool was called once.
        client.post("/chat/completions", &next.to_string()).await;
    }
    let sealed = run.seal().await;
    let round = [
        "rer.model.called",
        "rer.model.returned",
        "rer.tool.called",
        "rer.tool.returned",
        "rer.model.called",
        "rer.model.returned",
        "rer.model.called",
        "rer.model.returned",
    ];
    assert_eq!(sealed.types(), [&["rer.run.started"][..], &round, &round, &["rer.run.ended"]].concat());
    let called = sealed.payloads("rer.tool.called")[0];
    assert_eq!(called["tool"], "lookup");
    assert_eq!(called["source"], "inferred");
    assert_eq!(called["via"], "conversation");
    assert_eq!(called["step_id"], "s2");
    let returned = sealed.payloads("rer.tool.returned")[0];
    assert_eq!((&returned["output"], &returned["is_error"]), (&"42".into(), &false.into()));
    assert_eq!(returned["tool_call_id"], called["tool_call_id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_pass_untouched() {
    for status in [400, 401, 429, 500, 529] {
        let vendor = ScriptedVendor::start(Script::failing(status)).unwrap();
        let run = LiveRun::start(&vendor);
        let response = run.anthropic().post("/v1/messages", r#"{"model":"m","messages":[]}"#).await;
        assert_eq!(response.status(), status);
        assert_eq!(response.body, vendor.sent_answers()[0].body);
        let sealed = run.seal().await;
        let returned = sealed.only_payload("rer.model.returned");
        assert_eq!(returned["status"], status);
        assert_eq!(returned["complete"], true);
        assert_eq!(returned["http"]["body"]["text"], response.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_passed_on() {
    let script =
        Script::answering(|_| ScriptedAnswer::empty(307).header("location", "http://elsewhere.invalid/v1"));
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let response = run.openai().post("/responses", "{}").await;
    assert_eq!((response.status(), response.header("location")), (307, Some("http://elsewhere.invalid/v1")));
    assert_eq!(vendor.requests().len(), 1);
    let sealed = run.seal().await;
    assert_eq!(sealed.only_payload("rer.model.returned")["status"], 307);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_five_megabytes() {
    let answer = vec![b'a'; 5 << 20];
    let script =
        Script::answering(move |request| ScriptedAnswer::json(200, [&request.body[..10], &answer].concat()));
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let body = format!("\"{}\"", "b".repeat(5 << 20));
    let response = run.openai().post("/files", &body).await;
    assert_eq!(response.body.len(), (5 << 20) + 10);
    assert_eq!(vendor.requests()[0].body, body);
    let sealed = run.seal().await;
    assert_eq!(sealed.only_payload("rer.model.called")["http"]["body"]["text"], body.as_str());
    assert_eq!(sealed.only_payload("rer.model.returned")["http"]["body"]["text"], response.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_without_a_body() {
    let script = Script::answering(|request| match request.method.as_str() {
        "HEAD" => {
            ScriptedAnswer::empty(200).header("content-length", "1234").header("content-encoding", "gzip")
        }
        _ => ScriptedAnswer::empty(204),
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start_without_log(&vendor);
    let head = run.openai().send("HEAD", "/models", &[], b"").await.unwrap();
    assert_eq!((head.status(), head.header("content-length")), (200, Some("1234")));
    let deleted = run.openai().send("DELETE", "/files/1", &[], b"").await.unwrap();
    assert_eq!(deleted.status(), 204);
    let types =
        ["rer.run.started", "rer.http.called", "rer.http.returned", "rer.model.called", "rer.model.returned"];
    assert_eq!(run.types(), types);
    let sealed = run.seal().await;
    let returned = sealed.only_payload("rer.http.returned");
    assert_eq!((&returned["http"]["body"]["text"], &returned["complete"]), (&"".into(), &true.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_serves_many_requests() {
    let vendor = ScriptedVendor::start(Script::replying(|_| ScriptedReply::text("yes"))).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let mut connection = client.connect().await;
    for number in 0..5 {
        let body = chat(&format!("{number}"), number % 2 == 0);
        connection.write(&client.request("POST", "/chat/completions", &[], body.as_bytes())).await;
        assert_eq!(connection.read_answer("POST").await.unwrap().status(), 200);
    }
    assert_eq!(run.seal().await.payloads("rer.model.returned").len(), 5);
}
