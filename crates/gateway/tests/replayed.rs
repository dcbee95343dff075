//! What was recorded comes back: the same status, headers and body, chunk for chunk, and no vendor anywhere.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::time::Duration;

use reenact_gateway::Pace;
use reenact_testkit::{Answer, Encoding, Raw, Reply, Script, Step, Vendor};
use support::client::{Client, Got};
use support::{Flight, chat};

/// What a client can compare between a run and its replay. Whose account it was is masked before anything is written.
fn essence(got: &Got) -> (u16, Vec<(String, String)>, Vec<u8>, bool) {
    let mut headers = got.message_headers();
    for (name, value) in &mut headers {
        if ["openai-organization", "anthropic-organization-id"].contains(&name.as_str()) {
            *value = "[masked:account:1]".to_owned();
        }
    }
    (got.status(), headers, got.body.clone(), got.is_whole)
}

async fn ask(client: &Client, number: usize) -> Got {
    client.post("/chat/completions", &chat(&format!("number {number}"), number.is_multiple_of(2))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_answers_chunk_for_chunk() {
    let mut vendor = Vendor::start(Script::echo()).unwrap();
    let flight = Flight::to(&vendor);
    let mut recorded = Vec::new();
    for number in 0..4 {
        recorded.push(ask(&flight.openai(), number).await);
    }
    let messages =
        r#"{"model":"claude","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    recorded.push(flight.anthropic().post("/v1/messages", messages).await);
    recorded.push(flight.openai().get("/models").await);
    let landed = flight.land().await;
    vendor.stop();

    let replay = landed.replay(Pace::Instant);
    let mut played = Vec::new();
    // In another order: each answer to its own request.
    for number in [3, 1, 2, 0] {
        played.insert(0, (number, ask(&replay.openai(), number).await));
    }
    played.sort_by_key(|(number, _)| *number);
    let mut played: Vec<Got> = played.into_iter().map(|(_, got)| got).collect();
    played.push(replay.anthropic().post("/v1/messages", messages).await);
    played.push(replay.openai().get("/models").await);
    for (recorded, played) in recorded.iter().zip(&played) {
        assert_eq!(essence(recorded), essence(played));
        if recorded.header("content-type").unwrap().starts_with("text/event-stream") {
            assert!(played.chunks.len() > 1);
        }
    }
    // Read boundaries are the recorder's; each of them is a chunk again.
    for (returned, played) in landed.all("rer.model.returned").iter().zip(&played) {
        if let Some(chunks) = returned["http"]["chunks"].as_array() {
            let lengths: Vec<u64> = chunks.iter().map(|chunk| chunk[1].as_u64().unwrap()).collect();
            let came: Vec<u64> = played.chunks.iter().map(|chunk| chunk.len() as u64).collect();
            assert_eq!(came, lengths);
        }
    }
    let outcome = replay.player.conclude();
    assert_eq!((outcome.hits, outcome.misses.len(), outcome.unused.len()), (6, 0, 0));
    replay.gateway.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_answers_break_in_the_same_place() {
    let script = Script::answering(|request| match request.index {
        0 => Answer::events(["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"]).cut_after(2),
        1 => Answer::hang_up(),
        _ => Answer::json(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after", "7"),
    });
    let mut vendor = Vendor::start(script).unwrap();
    let flight = Flight::to(&vendor);
    let bodies = ["one", "two", "three"].map(|text| chat(text, true));
    let mut recorded = Vec::new();
    for body in &bodies {
        recorded.push(flight.openai().send("POST", "/chat/completions", &[], body.as_bytes()).await);
    }
    let landed = flight.land().await;
    vendor.stop();
    let replay = landed.replay(Pace::Instant);
    for (body, recorded) in bodies.iter().zip(&recorded) {
        let played = replay.openai().send("POST", "/chat/completions", &[], body.as_bytes()).await;
        assert_eq!(played.as_ref().map(essence), recorded.as_ref().map(essence));
    }
    assert!(!recorded[0].as_ref().unwrap().is_whole);
    assert_eq!(recorded[1], None);
    replay.gateway.stop().await.unwrap();
}

/// A head, and then nothing: that is what comes back too.
#[tokio::test(flavor = "multi_thread")]
async fn a_head_without_its_body() {
    let script = Script::raw(|_| Raw::bytes("HTTP/1.1 200 OK\r\nx-a: 1\r\ncontent-length: 5\r\n\r\n"));
    let mut vendor = Vendor::start(script).unwrap();
    let flight = Flight::to(&vendor);
    let recorded = flight.openai().post("/responses", "{}").await;
    let landed = flight.land().await;
    vendor.stop();
    let replay = landed.replay(Pace::Instant);
    let played = replay.openai().post("/responses", "{}").await;
    assert_eq!((played.status(), played.body.len(), played.is_whole), (200, 0, false));
    assert_eq!((recorded.status(), recorded.body.len(), recorded.is_whole), (200, 0, false));
    replay.gateway.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_compressed_comes_back_plain() {
    let mut vendor = Vendor::start(Script::echo().encoded(Encoding::Zstd)).unwrap();
    let flight = Flight::to(&vendor);
    ask(&flight.openai(), 0).await;
    let landed = flight.land().await;
    vendor.stop();
    let replay = landed.replay(Pace::Instant);
    let played = ask(&replay.openai(), 0).await;
    assert_eq!(played.header("content-encoding"), None);
    assert_eq!(landed.the("rer.model.returned")["http"]["body"]["text"], played.text());
    replay.gateway.stop().await.unwrap();
}

/// What only says that it is compressed was recorded as it came; of what could not be read there is nothing to come back.
#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_decoded() {
    let script = Script::answering(|request| {
        let body: &[u8] = if request.index == 0 { b"this is no gzip" } else { b"\x1f\x8b nor is this \xff" };
        Answer::json(200, body.to_vec()).header("content-encoding", "gzip")
    });
    let mut vendor = Vendor::start(script).unwrap();
    let flight = Flight::to(&vendor);
    let recorded = [ask(&flight.openai(), 1).await, ask(&flight.openai(), 3).await];
    let landed = flight.land().await;
    vendor.stop();
    let replay = landed.replay(Pace::Instant);
    let played = ask(&replay.openai(), 1).await;
    assert_eq!(essence(&played), essence(&recorded[0]));
    assert_eq!((played.text(), played.headers.len()), ("this is no gzip", recorded[0].headers.len()));
    let played = ask(&replay.openai(), 3).await;
    assert_eq!((played.status(), &played.body[..], played.is_whole), (200, &b""[..], false));
    replay.gateway.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_never_recorded() {
    let mut vendor = Vendor::start(Script::echo()).unwrap();
    let flight = Flight::to(&vendor);
    ask(&flight.openai(), 0).await;
    let landed = flight.land().await;
    vendor.stop();
    let replay = landed.replay(Pace::Instant);
    assert_eq!(ask(&replay.openai(), 0).await.status(), 200);
    for (number, word) in [(7, "closest"), (0, "once more")] {
        let missed = ask(&replay.openai(), number).await;
        assert_eq!((missed.status(), missed.header("content-type")), (404, Some("application/json")));
        let body: serde_json::Value = serde_json::from_str(missed.text()).unwrap();
        assert_eq!(body["error"]["code"], "E_REPLAY_MISSING_DEPENDENCY");
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains(word) && !message.contains('\n'), "{message}");
    }
    assert_eq!(replay.player.conclude().misses.len(), 2);
    replay.gateway.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_speaks_http2() {
    use http_body_util::BodyExt;
    use hyper_util::rt::{TokioExecutor, TokioIo};

    let events = ["data: 1\n\n", "data: 2\n\n", "data: [DONE]\n\n"];
    let script = Script::answering(move |_| Answer::events(events).gated("g"));
    let mut vendor = Vendor::start(script).unwrap();
    let flight = Flight::to(&vendor);
    let client = flight.openai();
    let mut connection = client.connect().await;
    connection.write(&client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes())).await;
    connection.head().await.unwrap();
    for piece in 0..events.len() {
        vendor.open(&format!("g{piece}"));
        connection.chunk().await.unwrap();
    }
    connection.chunk().await.unwrap();
    let landed = flight.land().await;
    vendor.stop();
    let replay = landed.replay(Pace::Instant);
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

/// The recorded times, on a clock that runs as fast as nobody waits.
#[tokio::test]
async fn at_the_recorded_pace() {
    let events = ["data: 1\n\n", "data: [DONE]\n\n"];
    let script = Script::answering(move |_| Answer::events(events).wait_before(1, "later"));
    let mut vendor = Vendor::start(script).unwrap();
    let flight = Flight::to(&vendor);
    let client = flight.openai();
    let mut connection = client.connect().await;
    connection.write(&client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes())).await;
    connection.head().await.unwrap();
    connection.chunk().await.unwrap();
    // Five minutes pass for the gateway, which measures on this clock.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(300)).await;
    tokio::time::resume();
    vendor.open("later");
    connection.chunk().await.unwrap();
    connection.chunk().await.unwrap();
    let landed = flight.land().await;
    vendor.stop();
    let second = landed.the("rer.model.returned")["http"]["chunks"][1][0].as_u64().unwrap();
    assert!(second >= 300_000, "{second}");

    let replay = landed.replay(Pace::Recorded);
    let client = replay.openai();
    let mut connection = client.connect().await;
    connection.write(&client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes())).await;
    connection.head().await.unwrap();
    assert_eq!(connection.chunk().await.unwrap(), events[0].as_bytes());
    let begun = tokio::time::Instant::now();
    tokio::time::pause();
    assert_eq!(connection.chunk().await.unwrap(), events[1].as_bytes());
    assert!(begun.elapsed() >= Duration::from_secs(299), "{:?}", begun.elapsed());
    replay.gateway.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn trailers_come_back() {
    let script = Script::in_order([
        reenact_testkit::Turn::from(Reply::text("first")),
        Answer { steps: vec![Step::send("{}")], ..Answer::empty(200) }
            .trailer("x-request-id", "req_1")
            .into(),
    ]);
    let mut vendor = Vendor::start(script).unwrap();
    let flight = Flight::to(&vendor);
    let te = [("TE", "trailers")];
    let mut recorded = Vec::new();
    for text in ["a", "b"] {
        let body = chat(text, false);
        recorded.push(flight.openai().send("POST", "/chat/completions", &te, body.as_bytes()).await.unwrap());
    }
    let landed = flight.land().await;
    vendor.stop();
    let replay = landed.replay(Pace::Instant);
    for (text, recorded) in ["a", "b"].iter().zip(&recorded) {
        let body = chat(text, false);
        let played = replay.openai().send("POST", "/chat/completions", &te, body.as_bytes()).await.unwrap();
        assert_eq!((essence(&played), &played.trailers), (essence(recorded), &recorded.trailers));
    }
    replay.gateway.stop().await.unwrap();
}
