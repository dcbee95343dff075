//! Connections to a vendor: used again as long as that is safe, and no request is sent twice.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use reenact_gateway::{GatewayLimits, NetworkEnvironment};
use support::client::{TestClient, TestResponse};
use support::{LiveRun, routes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Vendor on a bare socket, driven by the test step by step.
struct RawVendor {
    listener: TcpListener,
}

/// Vendor's end of a connection.
struct VendorEnd(TcpStream);

impl RawVendor {
    async fn start() -> (Self, LiveRun) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let root = format!("http://{}", listener.local_addr().unwrap());
        let run = LiveRun::start_with(routes(&root), NetworkEnvironment::default(), GatewayLimits::default());
        (Self { listener }, run)
    }

    /// Accepts the next connection, and returns it with its first request.
    async fn accept(&self) -> (VendorEnd, String) {
        let mut end = VendorEnd(self.listener.accept().await.unwrap().0);
        let asked = end.request().await;
        (end, asked)
    }

    /// Returns the next request, which must come on this connection.
    async fn request_on(&self, end: &mut VendorEnd) -> String {
        tokio::select! {
            asked = end.request() => asked,
            _ = self.listener.accept() => panic!("a connection that is there was not used"),
        }
    }
}

impl VendorEnd {
    /// Returns the body of a request, or its path if it has no body.
    async fn request(&mut self) -> String {
        let head = self.head().await;
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let Some(length) = length else { return head.split(' ').nth(1).unwrap().to_owned() };
        let mut body = vec![0; length.parse().unwrap()];
        self.0.read_exact(&mut body).await.unwrap();
        String::from_utf8(body).unwrap()
    }

    async fn head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.0.read_u8().await.unwrap());
        }
        String::from_utf8(head).unwrap()
    }

    async fn write(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }
}

const DONE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

fn ask(client: &TestClient, body: &str) -> JoinHandle<Option<TestResponse>> {
    let (client, body) = (client.clone(), body.to_owned());
    tokio::spawn(async move { client.send("POST", "/responses", &[], body.as_bytes()).await })
}

async fn status(asking: JoinHandle<Option<TestResponse>>) -> Option<u16> {
    asking.await.unwrap().map(|response| response.status())
}

#[tokio::test(flavor = "multi_thread")]
async fn used_again_however_an_answer_ends() {
    let (vendor, run) = RawVendor::start().await;
    let client = run.openai();
    let asking = ask(&client, "first");
    let (mut end, asked) = vendor.accept().await;
    assert_eq!(asked, "first");
    end.write(DONE).await;
    assert_eq!(status(asking).await, Some(200));
    for (body, answer, said) in [
        ("chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200),
        ("trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nx-sum: 1\r\n\r\n", 200),
        ("nothing", "HTTP/1.1 204 No Content\r\n\r\n", 204),
        ("early words", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n", 429),
        ("last", DONE, 200),
    ] {
        let asking = ask(&client, body);
        assert_eq!(vendor.request_on(&mut end).await, body);
        end.write(answer).await;
        assert_eq!(status(asking).await, Some(said), "{body}");
    }
    assert_eq!(run.seal().await.payloads("rer.model.returned").len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_as_are_needed_at_a_time() {
    let (vendor, run) = RawVendor::start().await;
    let client = run.openai();
    let asking = [ask(&client, "one"), ask(&client, "two")];
    let (mut first, _) = vendor.accept().await;
    let (mut second, _) = vendor.accept().await;
    first.write(DONE).await;
    second.write(DONE).await;
    for asking in asking {
        assert_eq!(status(asking).await, Some(200));
    }
    // The next request uses either of the two connections.
    let asking = ask(&client, "three");
    tokio::select! {
        _ = first.request() => first.write(DONE).await,
        _ = second.request() => second.write(DONE).await,
        _ = vendor.listener.accept() => panic!("a connection that is there was not used"),
    }
    assert_eq!(status(asking).await, Some(200));
    run.seal().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn not_used_again_when_its_vendor_has_done_with_it() {
    const CLOSES: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
    const NO_END: &str = "HTTP/1.1 200 OK\r\n\r\n{}";
    // The vendor closes the connection; announces that it will; sends more than was asked for; or ends the
    // answer by closing.
    for (answer, more, is_closed) in
        [(DONE, "", true), (CLOSES, "", false), (DONE, "{}", false), (NO_END, "", true)]
    {
        let (vendor, run) = RawVendor::start().await;
        let client = run.openai();
        let asking = ask(&client, "first");
        let (mut end, _) = vendor.accept().await;
        end.write(answer).await;
        end.write(more).await;
        let kept = Some(end).filter(|_| !is_closed);
        assert_eq!(status(asking).await, Some(200));
        let asking = ask(&client, "second");
        let (mut end, asked) = vendor.accept().await;
        assert_eq!(asked, "second", "{answer}{more}");
        end.write(DONE).await;
        assert_eq!(status(asking).await, Some(200));
        drop(kept);
        let sealed = run.seal().await;
        assert!(sealed.payloads("rer.model.returned").iter().all(|returned| returned["complete"] == true));
    }
}

/// The vendor may have received the request, and charged for it.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_is_not_sent_again() {
    let (vendor, run) = RawVendor::start().await;
    let client = run.openai();
    let asking = ask(&client, "first");
    let (mut end, _) = vendor.accept().await;
    end.write(DONE).await;
    assert_eq!(status(asking).await, Some(200));
    let asking = ask(&client, "pay");
    assert_eq!(vendor.request_on(&mut end).await, "pay");
    drop(end);
    assert_eq!(status(asking).await, None);
    // The vendor's next request is the client's next one, not a repetition.
    let asking = ask(&client, "last");
    let (mut end, asked) = vendor.accept().await;
    assert_eq!(asked, "last");
    end.write(DONE).await;
    assert_eq!(status(asking).await, Some(200));
    let sealed = run.seal().await;
    assert_eq!(sealed.only_payload("rer.error.raised")["error_type"], "closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_when_its_client_leaves() {
    let (vendor, run) = RawVendor::start().await;
    let client = run.openai();
    let mut connection = client.connect().await;
    connection.write(&client.request("POST", "/responses", &[], b"first")).await;
    let (mut end, _) = vendor.accept().await;
    end.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").await;
    assert_eq!(connection.read_exactly(15).await.0, b"HTTP/1.1 200 OK");
    drop(connection);
    // By EOF, and by a reset.
    let mut rest = Vec::new();
    let _ = end.0.read_to_end(&mut rest).await;
    assert_eq!(rest, b"");
    let asking = ask(&client, "second");
    let (mut end, _) = vendor.accept().await;
    end.write(DONE).await;
    assert_eq!(status(asking).await, Some(200));
    run.seal().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_before_the_end_of_its_request() {
    let (vendor, run) = RawVendor::start().await;
    let client = run.openai();
    let asking = ask(&client, &"x".repeat(16 << 20));
    let (socket, _) = vendor.listener.accept().await.unwrap();
    let mut end = VendorEnd(socket);
    end.head().await;
    end.write("HTTP/1.1 413 Too Long\r\nContent-Length: 2\r\n\r\n{}").await;
    assert_eq!(status(asking).await, Some(413));
    // The rest of the first answer must not be taken for the second.
    let asking = ask(&client, "second");
    let (mut other, asked) = vendor.accept().await;
    assert_eq!(asked, "second");
    other.write(DONE).await;
    assert_eq!(status(asking).await, Some(200));
    run.seal().await;
}
