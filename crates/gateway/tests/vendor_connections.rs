//! Connections to a vendor: used again as long as that is safe, and nothing said twice.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use reenact_gateway::{Environment, Limits};
use support::client::{Client, Got};
use support::{Flight, routes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A vendor that does what the test says, step by step.
struct Bare {
    listener: TcpListener,
}

/// A vendor's end of a connection.
struct End(TcpStream);

impl Bare {
    async fn start() -> (Self, Flight) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let root = format!("http://{}", listener.local_addr().unwrap());
        let flight = Flight::with(routes(&root), Environment::default(), Limits::default());
        (Self { listener }, flight)
    }

    /// The next connection, and what is asked for on it first.
    async fn accept(&self) -> (End, String) {
        let mut end = End(self.listener.accept().await.unwrap().0);
        let asked = end.request().await;
        (end, asked)
    }

    /// The next request, which must come on a connection that is there.
    async fn on(&self, end: &mut End) -> String {
        tokio::select! {
            asked = end.request() => asked,
            _ = self.listener.accept() => panic!("a connection that is there was not used"),
        }
    }
}

impl End {
    /// The body of a request, or its path where there is none.
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

    async fn say(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }
}

const DONE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

fn ask(client: &Client, body: &str) -> JoinHandle<Option<Got>> {
    let (client, body) = (client.clone(), body.to_owned());
    tokio::spawn(async move { client.send("POST", "/responses", &[], body.as_bytes()).await })
}

async fn status(asking: JoinHandle<Option<Got>>) -> Option<u16> {
    asking.await.unwrap().map(|got| got.status())
}

#[tokio::test(flavor = "multi_thread")]
async fn used_again_however_an_answer_ends() {
    let (vendor, flight) = Bare::start().await;
    let client = flight.openai();
    let asking = ask(&client, "first");
    let (mut end, asked) = vendor.accept().await;
    assert_eq!(asked, "first");
    end.say(DONE).await;
    assert_eq!(status(asking).await, Some(200));
    for (body, answer, said) in [
        ("chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200),
        ("trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nx-sum: 1\r\n\r\n", 200),
        ("nothing", "HTTP/1.1 204 No Content\r\n\r\n", 204),
        ("early words", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n", 429),
        ("last", DONE, 200),
    ] {
        let asking = ask(&client, body);
        assert_eq!(vendor.on(&mut end).await, body);
        end.say(answer).await;
        assert_eq!(status(asking).await, Some(said), "{body}");
    }
    assert_eq!(flight.land().await.all("rer.model.returned").len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_as_are_needed_at_a_time() {
    let (vendor, flight) = Bare::start().await;
    let client = flight.openai();
    let asking = [ask(&client, "one"), ask(&client, "two")];
    let (mut first, _) = vendor.accept().await;
    let (mut second, _) = vendor.accept().await;
    first.say(DONE).await;
    second.say(DONE).await;
    for asking in asking {
        assert_eq!(status(asking).await, Some(200));
    }
    // Whichever of the two it is.
    let asking = ask(&client, "three");
    tokio::select! {
        _ = first.request() => first.say(DONE).await,
        _ = second.request() => second.say(DONE).await,
        _ = vendor.listener.accept() => panic!("a connection that is there was not used"),
    }
    assert_eq!(status(asking).await, Some(200));
    flight.land().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn not_used_again_when_its_vendor_has_done_with_it() {
    const CLOSES: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
    const NO_END: &str = "HTTP/1.1 200 OK\r\n\r\n{}";
    // It closes it; it says that it will; it says more than it was asked for; nothing but the close ends the answer.
    for (answer, more, is_closed) in
        [(DONE, "", true), (CLOSES, "", false), (DONE, "{}", false), (NO_END, "", true)]
    {
        let (vendor, flight) = Bare::start().await;
        let client = flight.openai();
        let asking = ask(&client, "first");
        let (mut end, _) = vendor.accept().await;
        end.say(answer).await;
        end.say(more).await;
        let kept = Some(end).filter(|_| !is_closed);
        assert_eq!(status(asking).await, Some(200));
        let asking = ask(&client, "second");
        let (mut end, asked) = vendor.accept().await;
        assert_eq!(asked, "second", "{answer}{more}");
        end.say(DONE).await;
        assert_eq!(status(asking).await, Some(200));
        drop(kept);
        let landed = flight.land().await;
        assert!(landed.all("rer.model.returned").iter().all(|returned| returned["complete"] == true));
    }
}

/// It may have been heard, and may have cost money.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_is_not_sent_again() {
    let (vendor, flight) = Bare::start().await;
    let client = flight.openai();
    let asking = ask(&client, "first");
    let (mut end, _) = vendor.accept().await;
    end.say(DONE).await;
    assert_eq!(status(asking).await, Some(200));
    let asking = ask(&client, "pay");
    assert_eq!(vendor.on(&mut end).await, "pay");
    drop(end);
    assert_eq!(status(asking).await, None);
    // The next that the vendor hears is the next that was asked for.
    let asking = ask(&client, "last");
    let (mut end, asked) = vendor.accept().await;
    assert_eq!(asked, "last");
    end.say(DONE).await;
    assert_eq!(status(asking).await, Some(200));
    let landed = flight.land().await;
    assert_eq!(landed.the("rer.error.raised")["error_type"], "closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_when_its_client_leaves() {
    let (vendor, flight) = Bare::start().await;
    let client = flight.openai();
    let mut connection = client.connect().await;
    connection.write(&client.request("POST", "/responses", &[], b"first")).await;
    let (mut end, _) = vendor.accept().await;
    end.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").await;
    assert_eq!(connection.take(15).await.0, b"HTTP/1.1 200 OK");
    drop(connection);
    // Whether by an end or by a reset.
    let mut rest = Vec::new();
    let _ = end.0.read_to_end(&mut rest).await;
    assert_eq!(rest, b"");
    let asking = ask(&client, "second");
    let (mut end, _) = vendor.accept().await;
    end.say(DONE).await;
    assert_eq!(status(asking).await, Some(200));
    flight.land().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_before_the_end_of_its_request() {
    let (vendor, flight) = Bare::start().await;
    let client = flight.openai();
    let asking = ask(&client, &"x".repeat(16 << 20));
    let (socket, _) = vendor.listener.accept().await.unwrap();
    let mut end = End(socket);
    end.head().await;
    end.say("HTTP/1.1 413 Too Long\r\nContent-Length: 2\r\n\r\n{}").await;
    assert_eq!(status(asking).await, Some(413));
    // What is left of the first must not come before the second.
    let asking = ask(&client, "second");
    let (mut other, asked) = vendor.accept().await;
    assert_eq!(asked, "second");
    other.say(DONE).await;
    assert_eq!(status(asking).await, Some(200));
    flight.land().await;
}
