//! Failures of vendors and clients: passed on unchanged, and recorded with their cause.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::time::Duration;

use reenact_gateway::{GatewayLimits, NetworkEnvironment};
use reenact_testkit::server::SentEnd;
use reenact_testkit::{AnswerEnding, RawBytesAnswer, Script, ScriptedAnswer, ScriptedVendor, WaitCondition};
use serde_json::Value;
use support::{LiveRun, chat, listener, routes};

/// Returns the only answer of a run, `complete` and `ended_by`.
fn end(sealed: &support::SealedRun) -> (&Value, bool, &str) {
    let returned = sealed.only_payload("rer.model.returned");
    let (complete, ended_by) = (returned["complete"].as_bool(), returned["ended_by"].as_str());
    (returned, complete.unwrap(), ended_by.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_the_vendor_cuts() {
    for ending in [AnswerEnding::Closed, AnswerEnding::Reset] {
        let vendor =
            ScriptedVendor::start(Script::cut_after(2).map(move |_, answer| answer.ending(ending))).unwrap();
        let run = LiveRun::start(&vendor);
        let response = run.openai().post("/chat/completions", &chat("hi", true)).await;
        assert!(!response.is_whole);
        assert!(!response.body.is_empty());
        assert_eq!(response.body, vendor.sent_answers()[0].body);
        let sealed = run.seal().await;
        let (returned, complete, ended_by) = end(&sealed);
        assert_eq!((complete, ended_by), (false, "upstream"));
        assert_eq!(returned["status"], 200);
        assert_eq!(returned["http"]["body"]["text"], response.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_the_vendor_cuts() {
    let script =
        Script::raw(|_| RawBytesAnswer::bytes("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half\":"));
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let response = run.openai().post("/responses", "{}").await;
    assert_eq!(
        (response.text(), response.is_whole, response.header("content-length")),
        ("{\"half\":", false, Some("100"))
    );
    let sealed = run.seal().await;
    let (returned, complete, ended_by) = end(&sealed);
    assert_eq!((complete, ended_by), (false, "upstream"));
    assert_eq!(returned["http"]["body"]["text"], "{\"half\":");
}

/// Sends one request that gets no answer. Returns the recorded error and return.
async fn unanswered(run: LiveRun) -> (Value, Value) {
    let response = run.openai().send("POST", "/responses", &[], b"{}").await;
    assert_eq!(response, None);
    let sealed = run.seal().await;
    let (returned, complete, _) = end(&sealed);
    assert_eq!((&returned["status"], complete), (&Value::Null, false));
    let error = sealed.only_payload("rer.error.raised");
    assert_eq!(error["boundary"], "upstream");
    (error.clone(), returned.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_listens() {
    let nobody = listener().local_addr().unwrap();
    let routes = routes(&format!("http://{nobody}"));
    let run = LiveRun::start_with(routes, NetworkEnvironment::default(), GatewayLimits::default());
    let (error, returned) = unanswered(run).await;
    assert_eq!((&error["error_type"], &returned["ended_by"]), (&"refused".into(), &"upstream".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_nobody_has() {
    let run = LiveRun::start_with(
        routes("http://vendor.invalid"),
        NetworkEnvironment::default(),
        GatewayLimits::default(),
    );
    let (error, returned) = unanswered(run).await;
    assert_eq!((&error["error_type"], &returned["ended_by"]), (&"unreachable".into(), &"upstream".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_vendor_dies_before_its_answer() {
    let vendor = ScriptedVendor::start(Script::answering(|_| ScriptedAnswer::hang_up())).unwrap();
    let (error, returned) = unanswered(LiveRun::start(&vendor)).await;
    assert_eq!((&error["error_type"], &returned["ended_by"]), (&"closed".into(), &"upstream".into()));
    assert_eq!(vendor.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_vendor_does_not_speak_http() {
    let vendor =
        ScriptedVendor::start(Script::raw(|_| RawBytesAnswer::bytes("220 smtp.example ready\r\n\r\n")))
            .unwrap();
    let (error, returned) = unanswered(LiveRun::start(&vendor)).await;
    assert_eq!((&error["error_type"], &returned["ended_by"]), (&"protocol".into(), &"upstream".into()));
}

fn impatient() -> GatewayLimits {
    GatewayLimits { idle_timeout: Duration::from_millis(50), ..GatewayLimits::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_vendor_never_answers() {
    let script = Script::answering(|_| ScriptedAnswer::json(200, "{}").wait_before(0, "never"));
    let vendor = ScriptedVendor::start(Script::raw(|_| RawBytesAnswer::default().wait("never"))).unwrap();
    let run = LiveRun::start_with(routes(&vendor.root_url()), NetworkEnvironment::default(), impatient());
    let (error, returned) = unanswered(run).await;
    assert_eq!((&error["error_type"], &returned["ended_by"]), (&"idle_timeout".into(), &"timeout".into()));

    // The head arrives, however busy the machine is, and then nothing.
    let vendor = ScriptedVendor::start(script).unwrap();
    let patient = GatewayLimits { idle_timeout: Duration::from_secs(3), ..GatewayLimits::default() };
    let run = LiveRun::start_with(routes(&vendor.root_url()), NetworkEnvironment::default(), patient);
    let response = run.openai().post("/responses", "{}").await;
    assert_eq!((response.status(), response.is_whole, response.body.len()), (200, false, 0));
    let sealed = run.seal().await;
    assert_eq!((end(&sealed).1, end(&sealed).2), (false, "timeout"));
}

/// A listener with a full backlog neither accepts nor refuses connections.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn no_connection_in_time() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(0).unwrap();
    let address = full.local_addr().unwrap();
    let _first = tokio::net::TcpStream::connect(address).await.unwrap();
    let limits = GatewayLimits { connect_timeout: Duration::from_millis(50), ..GatewayLimits::default() };
    let run =
        LiveRun::start_with(routes(&format!("http://{address}")), NetworkEnvironment::default(), limits);
    let (error, returned) = unanswered(run).await;
    assert_eq!((&error["error_type"], &returned["ended_by"]), (&"connect_timeout".into(), &"timeout".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_leaves_while_the_vendor_is_silent() {
    let vendor = ScriptedVendor::start(Script::echo().gated()).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();

    // The client disconnects in the middle of a stream.
    let mut connection = client.connect().await;
    let request = client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes());
    connection.write(&request).await;
    connection.read_head().await.unwrap();
    vendor.open_gate("0.0");
    let first = connection.read_chunk().await.unwrap();
    vendor.wait_async(WaitCondition::Gate("0.1".to_owned())).await;
    drop(connection);
    // The vendor learns of it, although the stream is silent.
    vendor.wait_async(WaitCondition::Ends(1)).await;
    assert_eq!(vendor.sent_answers()[0].end, Some(SentEnd::ClientLeft));

    let sealed = run.seal().await;
    let (returned, complete, ended_by) = end(&sealed);
    assert_eq!((complete, ended_by), (false, "client"));
    assert_eq!(returned["http"]["body"]["text"].as_str().unwrap().as_bytes(), first);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_leaves_before_the_answer() {
    let vendor = ScriptedVendor::start(Script::raw(|_| RawBytesAnswer::default().wait("never"))).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let mut connection = client.connect().await;
    connection.write(&client.request("POST", "/responses", &[], b"{}")).await;
    vendor.wait_async(WaitCondition::Requests(1)).await;
    drop(connection);
    vendor.wait_async(WaitCondition::Ends(1)).await;
    let sealed = run.seal().await;
    let (returned, complete, ended_by) = end(&sealed);
    assert_eq!((&returned["status"], complete, ended_by), (&Value::Null, false, "client"));
    assert!(sealed.payloads("rer.error.raised").is_empty());
}

/// A client that closes its sending half is still connected.
#[tokio::test(flavor = "multi_thread")]
async fn half_closed_is_not_gone() {
    let script =
        Script::answering(|_| ScriptedAnswer::events(["data: 1\n\n", "data: [DONE]\n\n"]).gated("g"));
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let mut connection = client.connect().await;
    let request = client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes());
    connection.write(&request).await;
    tokio::io::AsyncWriteExt::shutdown(&mut connection.socket).await.unwrap();
    vendor.wait_async(WaitCondition::Gate("g0".to_owned())).await;
    vendor.open_gate("g0");
    vendor.open_gate("g1");
    let response = connection.read_answer("POST").await.unwrap();
    assert_eq!((response.text(), response.is_whole), ("data: 1\n\ndata: [DONE]\n\n", true));
    assert!(connection.is_closed().await);
    let sealed = run.seal().await;
    assert_eq!((end(&sealed).1, end(&sealed).2), (true, "eof"));
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_ends_what_runs_and_records_it() {
    let vendor = ScriptedVendor::start(Script::echo().gated()).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let mut connections = Vec::new();
    for number in 0..4 {
        let mut connection = client.connect().await;
        let body = chat(&format!("{number}"), true);
        connection.write(&client.request("POST", "/chat/completions", &[], body.as_bytes())).await;
        connection.read_head().await.unwrap();
        connections.push(connection);
    }
    let address = client.address;
    let sealed = run.seal().await;
    for mut connection in connections {
        assert!(connection.is_closed().await);
    }
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    let returned = sealed.payloads("rer.model.returned");
    assert_eq!(returned.len(), 4);
    assert!(returned.iter().all(|it| it["ended_by"] == "client" && it["complete"] == false));
    assert_eq!(sealed.stopped, Ok(()));
}

/// Streams of HTTP/2 run in tasks of their own; they end with the connection all the same.
#[tokio::test(flavor = "multi_thread")]
async fn stopping_ends_streams_of_http2() {
    use hyper_util::rt::{TokioExecutor, TokioIo};

    let vendor = ScriptedVendor::start(Script::echo().gated()).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let socket = tokio::net::TcpStream::connect(client.address).await.unwrap();
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let mut bodies = Vec::new();
    for number in 0..3 {
        let address = format!("http://{}{}/chat/completions", client.address, client.base);
        let body = http_body_util::Full::new(bytes::Bytes::from(chat(&format!("{number}"), true)));
        let request = hyper::Request::post(address).body(body).unwrap();
        bodies.push(sender.send_request(request).await.unwrap().into_body());
    }
    let sealed = run.seal().await;
    assert_eq!(sealed.payloads("rer.model.returned").len(), 3);
    for mut body in bodies {
        let rest = http_body_util::BodyExt::frame(&mut body).await;
        assert!(rest.unwrap().is_err());
    }
}

/// Without an envelope the agent goes on when nothing can be recorded; the end of the run reports it.
#[tokio::test(flavor = "multi_thread")]
async fn a_recorder_that_is_gone() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let gateway = run.end_recorder();
    let response = client.post("/chat/completions", &chat("hi", true)).await;
    assert_eq!((response.status(), response.is_whole), (200, true));
    assert_eq!(response.body, vendor.sent_answers()[0].body);
    let unrecorded = gateway.stop().await.unwrap_err();
    assert_eq!((unrecorded.count, unrecorded.first), (1, reenact_record::RecordError::Ended));
}
