//! Replay: recorded answers come back with the same status, headers and body, chunk for chunk, without a
//! vendor.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::time::Duration;

use reenact_gateway::ReplayPace;
use reenact_testkit::{
    Encoding, RawBytesAnswer, Script, ScriptStep, ScriptedAnswer, ScriptedReply, ScriptedVendor,
};
use support::client::{TestClient, TestResponse};
use support::{LiveRun, chat};

/// Returns the parts of a response that are the same in a run and its replay. Values of account headers are
/// replaced by the mask that the record has for them.
fn essence(response: &TestResponse) -> (u16, Vec<(String, String)>, Vec<u8>, bool) {
    let mut headers = response.message_headers();
    for (name, value) in &mut headers {
        if ["openai-organization", "anthropic-organization-id"].contains(&name.as_str()) {
            *value = "[masked:account:1]".to_owned();
        }
    }
    (response.status(), headers, response.body.clone(), response.is_whole)
}

async fn ask(client: &TestClient, number: usize) -> TestResponse {
    client.post("/chat/completions", &chat(&format!("number {number}"), number.is_multiple_of(2))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_answers_chunk_for_chunk() {
    let mut vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let mut recorded = Vec::new();
    for number in 0..4 {
        recorded.push(ask(&run.openai(), number).await);
    }
    let messages =
        r#"{"model":"claude","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    recorded.push(run.anthropic().post("/v1/messages", messages).await);
    recorded.push(run.openai().get("/models").await);
    let sealed = run.seal().await;
    vendor.stop();

    let replay = sealed.replay(ReplayPace::Instant);
    let mut played = Vec::new();
    // In another order: each answer still goes to its own request.
    for number in [3, 1, 2, 0] {
        played.insert(0, (number, ask(&replay.openai(), number).await));
    }
    played.sort_by_key(|(number, _)| *number);
    let mut played: Vec<TestResponse> = played.into_iter().map(|(_, response)| response).collect();
    played.push(replay.anthropic().post("/v1/messages", messages).await);
    played.push(replay.openai().get("/models").await);
    for (recorded, played) in recorded.iter().zip(&played) {
        assert_eq!(essence(recorded), essence(played));
        if recorded.header("content-type").unwrap().starts_with("text/event-stream") {
            assert!(played.chunks.len() > 1);
        }
    }
    // The recorder keeps the boundaries of reads; each read is a chunk again.
    for (returned, played) in sealed.payloads("rer.model.returned").iter().zip(&played) {
        if let Some(chunks) = returned["http"]["chunks"].as_array() {
            let lengths: Vec<u64> = chunks.iter().map(|chunk| chunk[1].as_u64().unwrap()).collect();
            let came: Vec<u64> = played.chunks.iter().map(|chunk| chunk.len() as u64).collect();
            assert_eq!(came, lengths);
        }
    }
    let outcome = replay.player.outcome();
    assert_eq!((outcome.hits(), outcome.misses.len(), outcome.unused.len()), (6, 0, 0));
    replay.gateway.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_answers_break_in_the_same_place() {
    let script = Script::answering(|request| match request.index {
        0 => ScriptedAnswer::events(["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"]).cut_after(2),
        1 => ScriptedAnswer::hang_up(),
        _ => ScriptedAnswer::json(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after", "7"),
    });
    let mut vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let bodies = ["one", "two", "three"].map(|text| chat(text, true));
    let mut recorded = Vec::new();
    for body in &bodies {
        recorded.push(run.openai().send("POST", "/chat/completions", &[], body.as_bytes()).await);
    }
    let sealed = run.seal().await;
    vendor.stop();
    let replay = sealed.replay(ReplayPace::Instant);
    for (body, recorded) in bodies.iter().zip(&recorded) {
        let played = replay.openai().send("POST", "/chat/completions", &[], body.as_bytes()).await;
        assert_eq!(played.as_ref().map(essence), recorded.as_ref().map(essence));
    }
    assert!(!recorded[0].as_ref().unwrap().is_whole);
    assert_eq!(recorded[1], None);
    replay.gateway.stop().await.unwrap();
}

/// The vendor sent a head and no body; the replay serves the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_head_without_its_body() {
    let script =
        Script::raw(|_| RawBytesAnswer::bytes("HTTP/1.1 200 OK\r\nx-a: 1\r\ncontent-length: 5\r\n\r\n"));
    let mut vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let recorded = run.openai().post("/responses", "{}").await;
    let sealed = run.seal().await;
    vendor.stop();
    let replay = sealed.replay(ReplayPace::Instant);
    let played = replay.openai().post("/responses", "{}").await;
    assert_eq!((played.status(), played.body.len(), played.is_whole), (200, 0, false));
    assert_eq!((recorded.status(), recorded.body.len(), recorded.is_whole), (200, 0, false));
    replay.gateway.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_compressed_comes_back_plain() {
    let mut vendor = ScriptedVendor::start(Script::echo().encoded(Encoding::Zstd)).unwrap();
    let run = LiveRun::start(&vendor);
    ask(&run.openai(), 0).await;
    let sealed = run.seal().await;
    vendor.stop();
    let replay = sealed.replay(ReplayPace::Instant);
    let played = ask(&replay.openai(), 0).await;
    assert_eq!(played.header("content-encoding"), None);
    assert_eq!(sealed.only_payload("rer.model.returned")["http"]["body"]["text"], played.text());
    replay.gateway.stop().await.unwrap();
}

/// A body that only claims a coding was recorded as it came. Of a body that could not be decoded nothing comes
/// back.
#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_decoded() {
    let script = Script::answering(|request| {
        let body: &[u8] = if request.index == 0 { b"this is no gzip" } else { b"\x1f\x8b nor is this \xff" };
        ScriptedAnswer::json(200, body.to_vec()).header("content-encoding", "gzip")
    });
    let mut vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let recorded = [ask(&run.openai(), 1).await, ask(&run.openai(), 3).await];
    let sealed = run.seal().await;
    vendor.stop();
    let replay = sealed.replay(ReplayPace::Instant);
    let played = ask(&replay.openai(), 1).await;
    assert_eq!(essence(&played), essence(&recorded[0]));
    assert_eq!((played.text(), played.headers.len()), ("this is no gzip", recorded[0].headers.len()));
    let played = ask(&replay.openai(), 3).await;
    assert_eq!((played.status(), &played.body[..], played.is_whole), (200, &b""[..], false));
    replay.gateway.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_never_recorded() {
    let mut vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    ask(&run.openai(), 0).await;
    let sealed = run.seal().await;
    vendor.stop();
    let replay = sealed.replay(ReplayPace::Instant);
    assert_eq!(ask(&replay.openai(), 0).await.status(), 200);
    for (number, word) in [(7, "closest"), (0, "once more")] {
        let missed = ask(&replay.openai(), number).await;
        assert_eq!((missed.status(), missed.header("content-type")), (400, Some("application/json")));
        let body: serde_json::Value = serde_json::from_str(missed.text()).unwrap();
        assert_eq!(
            (&body["error"]["code"], &body["error"]["type"]),
            (&"E_REPLAY_MISSING_DEPENDENCY".into(), &"invalid_request_error".into())
        );
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains(word) && !message.contains('\n'), "{message}");
    }
    assert_eq!(replay.player.outcome().misses.len(), 2);
    replay.gateway.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_speaks_http2() {
    use http_body_util::BodyExt;
    use hyper_util::rt::{TokioExecutor, TokioIo};

    let events = ["data: 1\n\n", "data: 2\n\n", "data: [DONE]\n\n"];
    let script = Script::answering(move |_| ScriptedAnswer::events(events).gated("g"));
    let mut vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let mut connection = client.connect().await;
    connection.write(&client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes())).await;
    connection.read_head().await.unwrap();
    for piece in 0..events.len() {
        vendor.open_gate(&format!("g{piece}"));
        connection.read_chunk().await.unwrap();
    }
    connection.read_chunk().await.unwrap();
    let sealed = run.seal().await;
    vendor.stop();
    let replay = sealed.replay(ReplayPace::Instant);
    let client = replay.openai();
    let socket = tokio::net::TcpStream::connect(client.address).await.unwrap();
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let request = hyper::Request::post(format!("http://{}{}/chat/completions", client.address, client.base))
        .body(http_body_util::Full::new(bytes::Bytes::from(chat("hi", true))))
        .unwrap();
    let mut body = sender.send_request(request).await.unwrap().into_body();
    let mut pieces = Vec::new();
    while let Some(frame) = body.frame().await {
        pieces.extend(frame.unwrap().into_data());
    }
    assert_eq!(pieces.into_iter().filter(|piece| !piece.is_empty()).collect::<Vec<_>>(), events);
    replay.gateway.stop().await.unwrap();
}

/// The recorded times, on a paused clock that advances when all tasks wait.
#[tokio::test]
async fn at_the_recorded_pace() {
    let events = ["data: 1\n\n", "data: [DONE]\n\n"];
    let script = Script::answering(move |_| ScriptedAnswer::events(events).wait_before(1, "later"));
    let mut vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let mut connection = client.connect().await;
    connection.write(&client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes())).await;
    connection.read_head().await.unwrap();
    connection.read_chunk().await.unwrap();
    // Five minutes pass on the gateway's clock.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(300)).await;
    tokio::time::resume();
    vendor.open_gate("later");
    connection.read_chunk().await.unwrap();
    connection.read_chunk().await.unwrap();
    let sealed = run.seal().await;
    vendor.stop();
    let second = sealed.only_payload("rer.model.returned")["http"]["chunks"][1][0].as_u64().unwrap();
    assert!(second >= 300_000, "{second}");

    let replay = sealed.replay(ReplayPace::Recorded);
    let client = replay.openai();
    let mut connection = client.connect().await;
    connection.write(&client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes())).await;
    connection.read_head().await.unwrap();
    assert_eq!(connection.read_chunk().await.unwrap(), events[0].as_bytes());
    let begun = tokio::time::Instant::now();
    tokio::time::pause();
    assert_eq!(connection.read_chunk().await.unwrap(), events[1].as_bytes());
    assert!(begun.elapsed() >= Duration::from_secs(299), "{:?}", begun.elapsed());
    replay.gateway.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn trailers_come_back() {
    let script = Script::in_order([
        reenact_testkit::ScriptedTurn::from(ScriptedReply::text("first")),
        ScriptedAnswer { steps: vec![ScriptStep::send("{}")], ..ScriptedAnswer::empty(200) }
            .trailer("x-request-id", "req_1")
            .into(),
    ]);
    let mut vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let te = [("TE", "trailers")];
    let mut recorded = Vec::new();
    for text in ["a", "b"] {
        let body = chat(text, false);
        recorded.push(run.openai().send("POST", "/chat/completions", &te, body.as_bytes()).await.unwrap());
    }
    let sealed = run.seal().await;
    vendor.stop();
    let replay = sealed.replay(ReplayPace::Instant);
    for (text, recorded) in ["a", "b"].iter().zip(&recorded) {
        let body = chat(text, false);
        let played = replay.openai().send("POST", "/chat/completions", &te, body.as_bytes()).await.unwrap();
        assert_eq!((essence(&played), &played.trailers), (essence(recorded), &recorded.trailers));
    }
    replay.gateway.stop().await.unwrap();
}
