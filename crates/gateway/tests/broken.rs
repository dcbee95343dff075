//! What goes wrong is passed on as it was, and recorded as what it was.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::time::Duration;

use reenact_gateway::{Environment, Limits};
use reenact_testkit::server::SentEnd;
use reenact_testkit::{Answer, Ending, Moment, Raw, Script, Vendor};
use serde_json::Value;
use support::{Flight, chat, listener, routes};

/// The only answer of a run, and what it says about its end.
fn end(landed: &support::Landed) -> (&Value, bool, &str) {
    let returned = landed.the("rer.model.returned");
    let (complete, ended_by) = (returned["complete"].as_bool(), returned["ended_by"].as_str());
    (returned, complete.unwrap(), ended_by.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_the_vendor_cuts() {
    for ending in [Ending::Closed, Ending::Reset] {
        let vendor = Vendor::start(Script::cut_after(2).map(move |_, answer| answer.ending(ending))).unwrap();
        let flight = Flight::to(&vendor);
        let got = flight.openai().post("/chat/completions", &chat("hi", true)).await;
        assert!(!got.is_whole);
        assert!(!got.body.is_empty());
        assert_eq!(got.body, vendor.sent()[0].body);
        let landed = flight.land().await;
        let (returned, complete, ended_by) = end(&landed);
        assert_eq!((complete, ended_by), (false, "upstream"));
        assert_eq!(returned["status"], 200);
        assert_eq!(returned["http"]["body"]["text"], got.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_the_vendor_cuts() {
    let script = Script::raw(|_| Raw::bytes("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half\":"));
    let vendor = Vendor::start(script).unwrap();
    let flight = Flight::to(&vendor);
    let got = flight.openai().post("/responses", "{}").await;
    assert_eq!((got.text(), got.is_whole, got.header("content-length")), ("{\"half\":", false, Some("100")));
    let landed = flight.land().await;
    let (returned, complete, ended_by) = end(&landed);
    assert_eq!((complete, ended_by), (false, "upstream"));
    assert_eq!(returned["http"]["body"]["text"], "{\"half\":");
}

/// Runs one request that gets no answer; gives the record of it.
async fn unanswered(flight: Flight) -> (Value, Value) {
    let got = flight.openai().send("POST", "/responses", &[], b"{}").await;
    assert_eq!(got, None);
    let landed = flight.land().await;
    let (returned, complete, _) = end(&landed);
    assert_eq!((&returned["status"], complete), (&Value::Null, false));
    let error = landed.the("rer.error.raised");
    assert_eq!(error["boundary"], "upstream");
    (error.clone(), returned.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_listens() {
    let nobody = listener().local_addr().unwrap();
    let routes = routes(&format!("http://{nobody}"));
    let flight = Flight::with(routes, Environment::default(), Limits::default());
    let (error, returned) = unanswered(flight).await;
    assert_eq!((&error["error_type"], &returned["ended_by"]), (&"refused".into(), &"upstream".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_nobody_has() {
    let flight = Flight::with(routes("http://vendor.invalid"), Environment::default(), Limits::default());
    let (error, returned) = unanswered(flight).await;
    assert_eq!((&error["error_type"], &returned["ended_by"]), (&"unreachable".into(), &"upstream".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_vendor_dies_before_its_answer() {
    let vendor = Vendor::start(Script::answering(|_| Answer::hang_up())).unwrap();
    let (error, returned) = unanswered(Flight::to(&vendor)).await;
    assert_eq!((&error["error_type"], &returned["ended_by"]), (&"closed".into(), &"upstream".into()));
    assert_eq!(vendor.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_vendor_does_not_speak_http() {
    let vendor = Vendor::start(Script::raw(|_| Raw::bytes("220 smtp.example ready\r\n\r\n"))).unwrap();
    let (error, returned) = unanswered(Flight::to(&vendor)).await;
    assert_eq!((&error["error_type"], &returned["ended_by"]), (&"protocol".into(), &"upstream".into()));
}

fn impatient() -> Limits {
    Limits { idle: Duration::from_millis(50), ..Limits::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_vendor_never_answers() {
    let script = Script::answering(|_| Answer::json(200, "{}").wait_before(0, "never"));
    let vendor = Vendor::start(Script::raw(|_| Raw::default().wait("never"))).unwrap();
    let flight = Flight::with(routes(&vendor.root_url()), Environment::default(), impatient());
    let (error, returned) = unanswered(flight).await;
    assert_eq!((&error["error_type"], &returned["ended_by"]), (&"idle_timeout".into(), &"timeout".into()));

    // Its head comes, however busy the machine is, and then nothing.
    let vendor = Vendor::start(script).unwrap();
    let patient = Limits { idle: Duration::from_secs(3), ..Limits::default() };
    let flight = Flight::with(routes(&vendor.root_url()), Environment::default(), patient);
    let got = flight.openai().post("/responses", "{}").await;
    assert_eq!((got.status(), got.is_whole, got.body.len()), (200, false, 0));
    let landed = flight.land().await;
    assert_eq!((end(&landed).1, end(&landed).2), (false, "timeout"));
}

/// A listener whose queue is full takes no more connections, and refuses none.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn no_connection_in_time() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(0).unwrap();
    let address = full.local_addr().unwrap();
    let _first = tokio::net::TcpStream::connect(address).await.unwrap();
    let limits = Limits { connect: Duration::from_millis(50), ..Limits::default() };
    let flight = Flight::with(routes(&format!("http://{address}")), Environment::default(), limits);
    let (error, returned) = unanswered(flight).await;
    assert_eq!((&error["error_type"], &returned["ended_by"]), (&"connect_timeout".into(), &"timeout".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_leaves_while_the_vendor_is_silent() {
    let vendor = Vendor::start(Script::echo().gated()).unwrap();
    let flight = Flight::to(&vendor);
    let client = flight.openai();

    // In the middle of a stream.
    let mut connection = client.connect().await;
    let request = client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes());
    connection.write(&request).await;
    connection.head().await.unwrap();
    vendor.open("0.0");
    let first = connection.chunk().await.unwrap();
    vendor.when(Moment::Gate("0.1".to_owned())).await;
    drop(connection);
    // The vendor learns of it although nothing is sent.
    vendor.when(Moment::Ends(1)).await;
    assert_eq!(vendor.sent()[0].end, Some(SentEnd::Left));

    let landed = flight.land().await;
    let (returned, complete, ended_by) = end(&landed);
    assert_eq!((complete, ended_by), (false, "client"));
    assert_eq!(returned["http"]["body"]["text"].as_str().unwrap().as_bytes(), first);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_leaves_before_the_answer() {
    let vendor = Vendor::start(Script::raw(|_| Raw::default().wait("never"))).unwrap();
    let flight = Flight::to(&vendor);
    let client = flight.openai();
    let mut connection = client.connect().await;
    connection.write(&client.request("POST", "/responses", &[], b"{}")).await;
    vendor.when(Moment::Requests(1)).await;
    drop(connection);
    vendor.when(Moment::Ends(1)).await;
    let landed = flight.land().await;
    let (returned, complete, ended_by) = end(&landed);
    assert_eq!((&returned["status"], complete, ended_by), (&Value::Null, false, "client"));
    assert!(landed.all("rer.error.raised").is_empty());
}

/// A client that closes its sending half has not left.
#[tokio::test(flavor = "multi_thread")]
async fn half_closed_is_not_gone() {
    let script = Script::answering(|_| Answer::events(["data: 1\n\n", "data: [DONE]\n\n"]).gated("g"));
    let vendor = Vendor::start(script).unwrap();
    let flight = Flight::to(&vendor);
    let client = flight.openai();
    let mut connection = client.connect().await;
    let request = client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes());
    connection.write(&request).await;
    tokio::io::AsyncWriteExt::shutdown(&mut connection.socket).await.unwrap();
    vendor.when(Moment::Gate("g0".to_owned())).await;
    vendor.open("g0");
    vendor.open("g1");
    let got = connection.answer("POST").await.unwrap();
    assert_eq!((got.text(), got.is_whole), ("data: 1\n\ndata: [DONE]\n\n", true));
    assert!(connection.is_closed().await);
    let landed = flight.land().await;
    assert_eq!((end(&landed).1, end(&landed).2), (true, "eof"));
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_ends_what_runs_and_records_it() {
    let vendor = Vendor::start(Script::echo().gated()).unwrap();
    let flight = Flight::to(&vendor);
    let client = flight.openai();
    let mut connections = Vec::new();
    for number in 0..4 {
        let mut connection = client.connect().await;
        let body = chat(&format!("{number}"), true);
        connection.write(&client.request("POST", "/chat/completions", &[], body.as_bytes())).await;
        connection.head().await.unwrap();
        connections.push(connection);
    }
    let address = client.address;
    let landed = flight.land().await;
    for mut connection in connections {
        assert!(connection.is_closed().await);
    }
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    let returned = landed.all("rer.model.returned");
    assert_eq!(returned.len(), 4);
    assert!(returned.iter().all(|it| it["ended_by"] == "client" && it["complete"] == false));
    assert_eq!(landed.stopped, Ok(()));
}

/// Streams of HTTP/2 are not the connection's own tasks; they end with it all the same.
#[tokio::test(flavor = "multi_thread")]
async fn stopping_ends_streams_of_http2() {
    use hyper_util::rt::{TokioExecutor, TokioIo};

    let vendor = Vendor::start(Script::echo().gated()).unwrap();
    let flight = Flight::to(&vendor);
    let client = flight.openai();
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
    let landed = flight.land().await;
    assert_eq!(landed.all("rer.model.returned").len(), 3);
    for mut body in bodies {
        let rest = http_body_util::BodyExt::frame(&mut body).await;
        assert!(rest.unwrap().is_err());
    }
}

/// The agent goes on when nothing can be recorded; in the end it is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_recorder_that_is_gone() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let flight = Flight::to(&vendor);
    let client = flight.openai();
    let gateway = flight.end_recorder();
    let got = client.post("/chat/completions", &chat("hi", true)).await;
    assert_eq!((got.status(), got.is_whole), (200, true));
    assert_eq!(got.body, vendor.sent()[0].body);
    let unrecorded = gateway.stop().await.unwrap_err();
    assert_eq!((unrecorded.count, unrecorded.first), (1, reenact_record::RecordError::Ended));
}
