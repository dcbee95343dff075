//! Fidelity: headers, encodings, trailers and versions as each side sees them, and as they are recorded.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use reenact_gateway::{GatewayLimits, NetworkEnvironment};
use reenact_testkit::fixture::TestDir;
use reenact_testkit::{Encoding, RawBytesAnswer, Script, ScriptStep, ScriptedAnswer, ScriptedVendor};
use support::{LiveRun, chat};

#[tokio::test(flavor = "multi_thread")]
async fn header_names_keep_their_spelling_and_order() {
    let script = Script::raw(|_| {
        RawBytesAnswer::bytes(
            "HTTP/1.1 200 Fine\r\nX-First: 1\r\nContent-Type: application/json\r\nx-SECOND: 2\r\n\
             Connection: close, X-Hop\r\nX-Hop: gone\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\
             Content-Length: 2\r\n\r\n{}",
        )
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let headers = [
        ("Authorization", "Bearer sk-test-0123456789abcdef"),
        ("x-Custom-CASE", "kept"),
        ("Connection", "keep-alive, X-Mine"),
        ("X-Mine", "gone"),
        ("Expect", "100-continue"),
        ("Accept-Encoding", "gzip, br"),
    ];
    let response = client.send("POST", "/responses", &headers, b"{}").await.unwrap();
    let sent = vendor.requests();
    let names: Vec<&str> = sent[0].headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Host", "Authorization", "x-Custom-CASE", "Accept-Encoding", "Content-Length"]);
    assert_eq!(response.line, "HTTP/1.1 200 Fine");
    let pairs = [
        ("X-First", "1"),
        ("Content-Type", "application/json"),
        ("x-SECOND", "2"),
        ("Set-Cookie", "a=1"),
        ("Set-Cookie", "b=2"),
        ("Content-Length", "2"),
    ];
    assert_eq!(response.headers, pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
    run.seal().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_encoding_passes_untouched_and_is_recorded_decoded() {
    for encoding in Encoding::ALL {
        for is_stream in [false, true] {
            let plain = ScriptedVendor::start(Script::echo()).unwrap();
            let vendor = ScriptedVendor::start(Script::echo().encoded(encoding)).unwrap();
            let run = LiveRun::start(&vendor);
            let body = chat("hi", is_stream);
            let response = run.openai().post("/chat/completions", &body).await;
            assert_eq!(response.header("content-encoding"), Some(encoding.name()));
            assert_eq!(response.body, vendor.sent_answers()[0].body);
            let sealed = run.seal().await;
            let http = &sealed.only_payload("rer.model.returned")["http"];
            let direct = LiveRun::start(&plain);
            let expected = direct.openai().post("/chat/completions", &body).await;
            assert_eq!(http["body"]["text"], expected.text(), "{encoding:?}");
            assert_eq!(http["content_encoding"], encoding.name());
            let wire = reenact_json_digest(&response.body);
            assert_eq!(http["wire_sha256"], wire);
            if is_stream {
                let chunks = http["chunks"].as_array().unwrap();
                let sum: u64 = chunks.iter().map(|chunk| chunk[1].as_u64().unwrap()).sum();
                assert_eq!(sum, expected.body.len() as u64);
            }
            direct.seal().await;
        }
    }
}

fn reenact_json_digest(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pieces_of_a_compressed_stream_keep_their_boundaries() {
    let events = ["data: {\"a\":1}\n\n", "data: {\"b\":2}\n\n", "data: [DONE]\n\n"];
    for encoding in Encoding::ALL {
        let script = Script::answering(move |_| ScriptedAnswer::events(events).encoded(encoding).gated("g"));
        let vendor = ScriptedVendor::start(script).unwrap();
        let run = LiveRun::start(&vendor);
        let client = run.openai();
        let mut connection = client.connect().await;
        let request = client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes());
        connection.write(&request).await;
        connection.read_head().await.unwrap();
        let mut came = 0;
        for piece in 0..events.len() {
            vendor.open_gate(&format!("g{piece}"));
            came += connection.read_chunk().await.unwrap().len();
        }
        let rest = connection.read_chunk().await.unwrap();
        came += rest.len();
        assert_eq!(came, vendor.sent_answers()[0].body.len(), "{encoding:?}");
        let sealed = run.seal().await;
        let http = &sealed.only_payload("rer.model.returned")["http"];
        let lengths: Vec<u64> =
            http["chunks"].as_array().unwrap().iter().map(|chunk| chunk[1].as_u64().unwrap()).collect();
        assert_eq!(lengths, events.map(|event| event.len() as u64), "{encoding:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_encodings_and_damaged_ones() {
    let script = Script::answering(|request| match request.index {
        0 => ScriptedAnswer::json(200, "{\"a\":1}").encoded(Encoding::Gzip).encoded(Encoding::Brotli),
        _ => ScriptedAnswer::json(200, "this is no gzip at all").header("content-encoding", "gzip"),
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    assert_eq!(client.post("/responses", "{}").await.body, vendor.sent_answers()[0].body);
    assert_eq!(client.post("/responses", "{}").await.text(), "this is no gzip at all");
    let sealed = run.seal().await;
    let [first, second] = sealed.payloads("rer.model.returned")[..] else { panic!("two answers") };
    assert_eq!(first["http"]["content_encoding"], "gzip, br");
    assert_eq!(first["http"]["body"]["text"], "{\"a\":1}");
    assert_eq!(second["http"].get("content_encoding"), None);
    let kept = serde_json::json!(["content-encoding", "gzip"]);
    assert!(second["http"]["headers"].as_array().unwrap().contains(&kept), "{second}");
    assert_eq!(sealed.only_payload("rer.capture.gap")["why"], "not what its content coding says");
}

#[tokio::test(flavor = "multi_thread")]
async fn trailers() {
    let script = Script::answering(|_| {
        ScriptedAnswer { steps: vec![ScriptStep::send("{}")], ..ScriptedAnswer::empty(200) }
            .trailer("x-sum", "42")
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let response = run.openai().send("POST", "/responses", &[("TE", "trailers")], b"{}").await.unwrap();
    assert_eq!(response.trailers, [("x-sum".to_owned(), "42".to_owned())]);
    let sealed = run.seal().await;
    assert_eq!(sealed.only_payload("rer.model.returned")["http"]["body"]["text"], "{}");
}

/// Sends a request in HTTP/2 with prior knowledge, without TLS. Returns status, content type and pieces of the
/// body.
pub(crate) async fn h2c(address: SocketAddr, path: &str, body: &str) -> (u16, String, Vec<Bytes>) {
    let socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let request = hyper::Request::post(format!("http://{address}{path}"))
        .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
        .unwrap();
    let response = sender.send_request(request).await.unwrap();
    let (head, mut body) = response.into_parts();
    let mut pieces = Vec::new();
    while let Some(frame) = body.frame().await {
        pieces.extend(frame.unwrap().into_data());
    }
    let content_type = head.headers.get("content-type").map_or("", |value| value.to_str().unwrap());
    (head.status.as_u16(), content_type.to_owned(), pieces)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_speaks_http2() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let path = format!("{}/chat/completions", client.base);
    for is_stream in [false, true] {
        let (status, _, pieces) = h2c(client.address, &path, &chat("hi", is_stream)).await;
        assert_eq!(status, 200);
        assert_eq!(pieces.concat(), vendor.sent_answers().last().unwrap().body);
    }
    assert_eq!(vendor.requests()[0].version, "HTTP/1.1");
    assert_eq!(vendor.requests()[0].header("host"), Some(vendor.address().to_string().as_str()));
    assert_eq!(run.seal().await.payloads("rer.model.returned").len(), 2);
}

/// HTTP/2 clients reach their vendor in HTTP/2, if the vendor has it.
#[tokio::test(flavor = "multi_thread")]
async fn http2_on_both_sides() {
    let (place, vendor) = (TestDir::new(), ScriptedVendor::start_tls(Script::echo()).unwrap());
    let ssl_cert_file = Some(place.write("ca.pem", vendor.authority_pem().unwrap()));
    let environment = NetworkEnvironment { ssl_cert_file, ..NetworkEnvironment::default() };
    let run = LiveRun::start_with(support::routes(&vendor.root_url()), environment, GatewayLimits::default());
    let client = run.openai();
    let path = format!("{}/chat/completions", client.base);
    for is_stream in [false, true] {
        let (status, _, pieces) = h2c(client.address, &path, &chat("hi", is_stream)).await;
        assert_eq!((status, pieces.concat()), (200, vendor.sent_answers().last().unwrap().body.to_vec()));
    }
    assert_eq!(
        vendor.requests().iter().map(|request| request.version.as_str()).collect::<Vec<_>>(),
        ["HTTP/2.0"; 2]
    );
    let sealed = run.seal().await;
    let versions: Vec<&str> = sealed
        .payloads("rer.model.returned")
        .iter()
        .filter_map(|returned| returned["http"]["version"].as_str())
        .collect();
    assert_eq!(versions, ["2"; 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_longer_than_a_record_takes() {
    let script = Script::answering(|_| ScriptedAnswer::json(200, "x".repeat(5000)));
    let vendor = ScriptedVendor::start(script).unwrap();
    let limits = GatewayLimits { max_answer_bytes: 1000, ..GatewayLimits::default() };
    let run = LiveRun::start_with(support::routes(&vendor.root_url()), Default::default(), limits);
    let response = run.openai().post("/responses", "{}").await;
    assert_eq!(response.body.len(), 5000);
    let sealed = run.seal().await;
    assert_eq!(sealed.only_payload("rer.model.returned")["complete"], false);
    assert_eq!(sealed.only_payload("rer.capture.gap")["what"], "answer body");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_reaches_the_disk() {
    let secrets = [
        "sk-proj-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
        "query-secret-0123456789",
        "cookie-secret-9876543210",
    ];
    let said = secrets[0].to_owned();
    let script = Script::answering(move |_| {
        let half = said.len() / 2;
        // A vendor that echoes the request in two pieces.
        ScriptedAnswer::events([format!("data: {}", &said[..half]), format!("{}\n\n", &said[half..])])
            .header("set-cookie", "session=cookie-secret-9876543210")
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let headers =
        [("Authorization", format!("Bearer {}", secrets[0])), ("Cookie", format!("s={}", secrets[2]))];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let body = chat(&format!("my key is {}", secrets[0]), true);
    let path = format!("/chat/completions?api_key={}", secrets[1]);
    let response = run.openai().send("POST", &path, &headers, body.as_bytes()).await.unwrap();
    assert!(response.text().contains(secrets[0]));
    let seen = |bytes: &[u8]| {
        secrets.iter().any(|secret| bytes.windows(secret.len()).any(|window| window == secret.as_bytes()))
    };
    assert!(seen(&vendor.requests()[0].body));
    assert!(!seen(&run.dir.bytes()));
    let sealed = run.seal().await;
    assert!(!seen(&sealed.dir.bytes()));
}
