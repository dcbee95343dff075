//! Requests that are accepted, and the answers to others. Rejected requests leave no trace in the record.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::time::Duration;

use reenact_gateway::{GatewayLimits, NetworkEnvironment};
use reenact_testkit::{Script, ScriptedVendor};
use reenact_wire::{VENDORS, Vendor};
use support::{LiveRun, routes};

async fn ask(run: &LiveRun, request: String) -> (u16, String) {
    let mut connection = run.openai().connect().await;
    connection.write(request.as_bytes()).await;
    let response = connection.read_answer("GET").await.unwrap();
    (response.status(), response.text().trim_end().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn only_ours_come_in() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let (port, base) = (client.address.port(), client.base.clone());
    let get = |path: &str, host: &str| format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let ours = format!("localhost:{port}");

    let misdirected = (421, "reenact: this address serves 127.0.0.1 and localhost only".to_owned());
    for host in
        ["api.openai.com", "127.0.0.1", "localhost", "evil.example:80", "127.0.0.1:1", "0.0.0.0:80", ""]
    {
        assert_eq!(ask(&run, get(&format!("{base}/models"), host)).await, misdirected, "{host}");
    }
    let absolute = format!("GET http://api.openai.com{base}/models HTTP/1.1\r\nHost: {ours}\r\n\r\n");
    assert_eq!(ask(&run, absolute).await, misdirected);
    let twice = format!("GET {base}/models HTTP/1.1\r\nHost: {ours}\r\nHost: evil.example\r\n\r\n");
    assert_eq!(ask(&run, twice).await, misdirected);

    let nothing = (404, "reenact: nothing is served at this address".to_owned());
    let wrong = format!("/{}/openai/v1/models", "0".repeat(32));
    for path in ["/", "/models", "/v1/models", "/openai/v1/models", "//openai/v1/models", wrong.as_str()] {
        assert_eq!(ask(&run, get(path, &ours)).await, nothing, "{path}");
    }
    let token = base.split('/').nth(1).unwrap();
    let (status, words) = ask(&run, get(&format!("/{token}/acme/v1/models"), &ours)).await;
    let names = VENDORS.map(Vendor::name);
    assert_eq!(
        (status, words.as_str()),
        (404, format!("reenact: no route of that name; there is: {}", names.join(", ")).as_str())
    );

    for host in [format!("127.0.0.1:{port}"), ours, format!("[::1]:{port}")] {
        assert_eq!(ask(&run, get(&format!("{base}/models"), &host)).await.0, 200, "{host}");
    }
    assert_eq!(vendor.requests().len(), 3);
    let sealed = run.seal().await;
    assert_eq!(sealed.payloads("rer.http.called").len(), 3);
    assert_eq!(sealed.events.len(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_are_the_vendors() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let (port, token) = (client.address.port(), client.base.split('/').nth(1).unwrap().to_owned());
    for path in ["", "?a=1", "/", "/other/%2e%2e/x?y=%20", "/v1//models"] {
        let get = format!("GET /{token}/openai{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
        ask(&run, get).await;
    }
    let asked: Vec<String> = vendor.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(asked, ["/", "/?a=1", "/", "/other/%2e%2e/x?y=%20", "/v1//models"]);
    run.seal().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_half_a_request_is_cut_off() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let limits = GatewayLimits { client_timeout: Duration::from_millis(20), ..GatewayLimits::default() };
    let run = LiveRun::start_with(routes(&vendor.root_url()), NetworkEnvironment::default(), limits);
    let client = run.openai();
    let (base, host) = (&client.base, client.address);
    let head = format!("POST {base}/responses HTTP/1.1\r\nHost: {host}\r\nContent-Length: 10\r\n\r\n");
    for sent in ["", "P", &head[..head.len() - 2], &head, &format!("{head}01234")] {
        let mut connection = client.connect().await;
        connection.write(sent.as_bytes()).await;
        // Waits for the end of the connection, whenever it comes.
        assert!(connection.is_closed().await, "{sent:?}");
    }
    assert_eq!(vendor.requests().len(), 0);
    assert_eq!(run.seal().await.payloads("rer.http.called").len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_idle_connections_stop_no_call() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let mut idle = Vec::new();
    for number in 0..400 {
        let mut connection = client.connect().await;
        if number % 2 == 0 {
            connection.write(b"POST /").await;
        }
        idle.push(connection);
    }
    assert_eq!(run.ask_model().await, 200);
    drop(idle);
    run.seal().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_too_long() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let limits = GatewayLimits { max_request_bytes: 10, ..GatewayLimits::default() };
    let run = LiveRun::start_with(routes(&vendor.root_url()), NetworkEnvironment::default(), limits);
    let client = run.openai();
    let response = client.send("POST", "/responses", &[], b"0123456789a").await.unwrap();
    let shape = r#"{"error":{"message":"reenact: the request is longer than 10 bytes","type":"request_too_large","param":null,"code":"reenact_request_too_large"}}"#;
    assert_eq!((response.status(), response.text()), (413, shape));
    let mut connection = client.connect().await;
    let head = client.request("POST", "/responses", &[("Transfer-Encoding", "chunked")], b"");
    connection.write(&[&head[..], b"6\r\n012345\r\n6\r\n012345\r\n0\r\n\r\n"].concat()).await;
    assert_eq!(connection.read_answer("POST").await.unwrap().status(), 413);
    assert_eq!(vendor.requests().len(), 0);
    let sealed = run.seal().await;
    assert_eq!(sealed.payloads("rer.capture.gap").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunked_request_is_passed_on_whole() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let mut connection = client.connect().await;
    let head = client.request("POST", "/responses", &[("Transfer-Encoding", "chunked")], b"");
    connection.write(&[&head[..], b"6\r\n{\"a\":1\r\n1\r\n}\r\n0\r\n\r\n"].concat()).await;
    assert!(connection.read_answer("POST").await.is_some());
    assert_eq!(vendor.requests()[0].body, "{\"a\":1}");
    assert_eq!(vendor.requests()[0].header("content-length"), Some("7"));
    run.seal().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn websockets_are_refused_and_noted() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let headers = [("Connection", "Upgrade"), ("Upgrade", "websocket")];
    let response = run.openai().send("GET", "/realtime", &headers, b"").await.unwrap();
    // Codex turns to HTTP at once on this status, and only after several attempts on others.
    assert_eq!((response.status(), response.header("upgrade")), (426, Some("HTTP/1.1")));
    assert!(response.text().contains("WebSockets are not relayed"), "{}", response.text());
    // A server may ignore an offer of HTTP/2.
    let offer = [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "")];
    assert_eq!(run.openai().send("GET", "/models", &offer, b"").await.unwrap().status(), 200);
    assert_eq!(vendor.requests().len(), 1);
    assert_eq!(vendor.requests()[0].header("upgrade"), None);
    let sealed = run.seal().await;
    let gap = sealed.only_payload("rer.capture.gap");
    assert_eq!(gap["what"], "WebSocket to openai");
    let why = "it was refused with status 426, because WebSockets are not relayed; what its client then sent over HTTP is recorded";
    assert_eq!(gap["why"], why);
}

/// A request with an incomplete body is not recorded.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_breaks_off() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let mut connection = client.connect().await;
    connection.write(&client.request("POST", "/responses", &[("Content-Length", "100")], b"")).await;
    connection.write(b"half").await;
    tokio::io::AsyncWriteExt::shutdown(&mut connection.socket).await.unwrap();
    assert!(connection.is_closed().await);
    assert_eq!(run.seal().await.types(), ["rer.run.started", "rer.run.ended"]);
    assert_eq!(vendor.requests().len(), 0);
}
