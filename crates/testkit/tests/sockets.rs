//! Behaviour of a vendor on its socket: gates, cuts, resets, both versions of HTTP, and exact bytes
//! below it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use http_body_util::BodyExt;
use reenact_testkit::server::SentEnd;
use reenact_testkit::{
    AnswerEnding, RawBytesAnswer, Script, ScriptedAnswer, ScriptedVendor, Vendor, WaitCondition,
};
use support::{asking, begin, begin_http2_on, block_on, get, piece, rest};

#[test]
fn what_came_and_what_went() {
    let mut vendor = ScriptedVendor::start(Script::echo()).unwrap();
    assert_eq!(vendor.base_url(Vendor::OPENAI), format!("http://{}/v1", vendor.address()));
    assert_eq!(vendor.base_url(Vendor::ANTHROPIC), format!("http://{}", vendor.address()));
    let got: Vec<Vec<u8>> =
        asking("hi", true).iter().map(|(path, body)| get(&vendor, "POST", path, body).body).collect();
    vendor.wait_for(WaitCondition::Ends(3)).unwrap();
    vendor.stop();
    let sent = vendor.sent_answers();
    assert_eq!(sent.iter().map(|sent| sent.body.to_vec()).collect::<Vec<_>>(), got);
    assert!(sent.iter().all(|sent| sent.end == Some(SentEnd::Whole)));
    for (index, (request, (path, body))) in vendor.requests().iter().zip(asking("hi", true)).enumerate() {
        assert_eq!((request.index, request.method.as_str(), request.path.as_str()), (index, "POST", path));
        assert_eq!((request.body.as_ref(), request.version.as_str()), (body.as_bytes(), "HTTP/1.1"));
        assert_eq!(request.header("Host"), Some("localhost"));
    }
    assert_eq!(TcpStream::connect(vendor.address()).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn sixteen_at_once_get_their_own() {
    let vendor = Arc::new(ScriptedVendor::start(Script::echo().gated()).unwrap());
    let threads: Vec<_> = (0..16)
        .map(|number| {
            let vendor = Arc::clone(&vendor);
            std::thread::spawn(move || {
                let [(path, body), ..] = asking(&format!("number {number}."), true);
                (number, String::from_utf8(get(&vendor, "POST", path, &body).body).unwrap())
            })
        })
        .collect();
    // All requests are in flight before one gets its first byte.
    vendor.wait_for_requests(16).unwrap();
    for request in 0..16 {
        for piece in 0..16 {
            vendor.open_gate(&format!("{request}.{piece}"));
        }
    }
    for thread in threads {
        let (number, body) = thread.join().unwrap();
        assert!(body.contains(&format!(r#""content":"{number}. ""#)), "{body}");
    }
}

#[test]
fn a_gate_holds_what_comes_after_it() {
    let script = Script::answering(|_| {
        ScriptedAnswer::events(["one", "two", "three"]).gated("g").wait_before(9, "end")
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    block_on(async {
        vendor.open_gate("g0");
        let mut response = begin(&vendor, "POST", "/", "").await.unwrap();
        assert_eq!(piece(&mut response).await, b"one");
        vendor.wait_async(WaitCondition::Gate("g1".into())).await;
        assert_eq!(vendor.sent_answers()[0].body, "one");
        vendor.open_gate("g2");
        vendor.open_gate("g1");
        assert_eq!(piece(&mut response).await, b"two");
        assert_eq!(piece(&mut response).await, b"three");
        vendor.wait_async(WaitCondition::Gate("end".into())).await;
        assert_eq!(vendor.sent_answers()[0].end, None);
        vendor.open_gate("end");
        assert!(response.body_mut().frame().await.is_none());
    });
}

#[test]
fn a_client_that_leaves_is_noticed_at_the_gate() {
    let vendor = ScriptedVendor::start(Script::answering(|_| {
        ScriptedAnswer::events(["one", "two"]).wait_before(1, "never")
    }))
    .unwrap();
    block_on(async {
        let mut response = begin(&vendor, "POST", "/", "").await.unwrap();
        assert_eq!(piece(&mut response).await, b"one");
    });
    vendor.wait_for(WaitCondition::Ends(1)).unwrap();
    let sent = vendor.sent_answers();
    assert_eq!((sent[0].body.as_ref(), sent[0].end), (b"one".as_slice(), Some(SentEnd::ClientLeft)));
}

#[test]
fn a_cut_comes_where_the_script_says() {
    let vendor = ScriptedVendor::start(Script::cut_after(2)).unwrap();
    for (path, body) in asking("hello", true) {
        let got = get(&vendor, "POST", path, &body);
        assert!(!got.is_whole, "{path}");
        let sent = vendor.sent_answers().pop().unwrap();
        assert_eq!((got.body.as_slice(), sent.end), (sent.body.as_ref(), Some(SentEnd::Cut)), "{path}");
        // Two whole events, and half of a third.
        let text = String::from_utf8(got.body).unwrap().replace("\r\n", "\n");
        assert_eq!((text.matches("\n\n").count(), text.ends_with("\n\n")), (2, false), "{path}");
    }
}

#[test]
fn a_cut_loses_nothing_that_was_sent_before() {
    // More than all buffers on the way hold.
    let script = || Script::big(5_000_000).map(|_, answer| answer.ending(AnswerEnding::Closed));
    let vendor = ScriptedVendor::start(script()).unwrap();
    let [(path, body), ..] = asking("hello", false);
    let got = get(&vendor, "POST", path, &body);
    assert!(!got.is_whole);
    assert!(got.body == vendor.sent_answers()[0].body);
    let got = block_on(async {
        let socket = tokio::net::TcpStream::connect(vendor.address()).await.unwrap();
        rest(begin_http2_on(socket, "POST", path, &body).await.unwrap()).await
    });
    assert!(!got.is_whole);
    assert!(got.body == vendor.sent_answers()[1].body);
}

#[test]
fn resets_and_hang_ups() {
    let script = Script::answering(|request| match request.path.as_str() {
        "/reset" => ScriptedAnswer::events(["one"]).ending(AnswerEnding::Reset),
        "/reset-at-once" => ScriptedAnswer::hang_up().ending(AnswerEnding::Reset),
        _ => ScriptedAnswer::hang_up(),
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let ask = |path: &str| {
        let mut socket = TcpStream::connect(vendor.address()).unwrap();
        write!(socket, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut bytes = Vec::new();
        let end = socket.read_to_end(&mut bytes).map_err(|error| error.kind());
        (String::from_utf8(bytes).unwrap(), end)
    };
    let (bytes, end) = ask("/reset");
    assert!(bytes.ends_with("\r\n3\r\none\r\n"), "{bytes:?}");
    assert_eq!(end, Err(ErrorKind::ConnectionReset));
    assert_eq!(ask("/reset-at-once"), (String::new(), Err(ErrorKind::ConnectionReset)));
    assert_eq!(ask("/hang-up"), (String::new(), Ok(0)));
    vendor.wait_for(WaitCondition::Ends(3)).unwrap();
    assert!(vendor.sent_answers().iter().all(|sent| sent.end == Some(SentEnd::Cut)));
}

#[test]
fn http2_from_the_first_byte() {
    let vendor = ScriptedVendor::start(Script::echo().map(|_, answer| answer.trailer("x-sum", "7"))).unwrap();
    let [(path, body), ..] = asking("hi", true);
    let got = block_on(async {
        let socket = tokio::net::TcpStream::connect(vendor.address()).await.unwrap();
        rest(begin_http2_on(socket, "POST", path, &body).await.unwrap()).await
    });
    assert!(got.is_whole);
    assert_eq!(got.body, vendor.sent_answers()[0].body);
    assert_eq!(got.trailers.unwrap()["x-sum"], "7");
    let request = &vendor.requests()[0];
    assert_eq!((request.version.as_str(), request.path.as_str()), ("HTTP/2.0", path));
}

#[test]
fn trailers_lengths_and_empty_bodies() {
    let vendor = ScriptedVendor::start(Script::answering(|request| match request.path.as_str() {
        "/trailers" => ScriptedAnswer::json(200, "{}").trailer("x-sum", "7"),
        "/short" => ScriptedAnswer::json(200, "{}").header("content-length", "9"),
        "/empty" => ScriptedAnswer::empty(204),
        _ => ScriptedAnswer::json(200, "{}"),
    }))
    .unwrap();
    let got = get(&vendor, "GET", "/trailers", "");
    assert_eq!(
        (got.header("trailer"), got.trailers.as_ref().unwrap()["x-sum"].as_bytes()),
        ("x-sum", b"7".as_slice())
    );
    let got = get(&vendor, "GET", "/short", "");
    assert_eq!(
        (got.header("content-length"), got.body.as_slice(), got.is_whole),
        ("9", b"{}".as_slice(), false)
    );
    let got = get(&vendor, "GET", "/empty", "");
    assert_eq!((got.status, got.body.len(), got.is_whole), (204, 0, true));
    let got = get(&vendor, "GET", "/plain", "");
    assert_eq!((got.header("content-length"), got.header("date"), got.is_whole), ("2", "", true));
    vendor.wait_for(WaitCondition::Ends(4)).unwrap();
    assert!(vendor.sent_answers().iter().all(|sent| sent.end == Some(SentEnd::Whole)));
}

#[test]
fn below_http_every_byte_is_the_scripts() {
    let vendor = ScriptedVendor::start(Script::raw(|request| {
        let odd = b"HTTP/1.1 200 Fine, thanks\r\nX-oDD:  value\r\nContent-Length: 2\r\n\r\n";
        let raw = RawBytesAnswer::bytes(odd.as_slice()).then("o").wait("half").then("k");
        if request.index == 0 {
            raw.ending(AnswerEnding::Whole)
        } else {
            RawBytesAnswer::bytes("\0\r\nnot http")
        }
    }))
    .unwrap();
    let mut socket = TcpStream::connect(vendor.address()).unwrap();
    let chunked =
        "POST /x HTTP/1.1\r\nHOST: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    socket.write_all(chunked.as_bytes()).unwrap();
    vendor.wait_for(WaitCondition::Gate("half".into())).unwrap();
    // The next request arrives while the script waits.
    socket.write_all(b"GET /y HTTP/1.1\r\n\r\n").unwrap();
    vendor.open_gate("half");
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).unwrap();
    let first = b"HTTP/1.1 200 Fine, thanks\r\nX-oDD:  value\r\nContent-Length: 2\r\n\r\nok".as_slice();
    let second = b"\0\r\nnot http".as_slice();
    assert_eq!(bytes, [first, second].concat());
    let requests = vendor.requests();
    assert_eq!((requests[0].body.as_ref(), requests[0].headers[0].0.as_str()), (b"abc".as_slice(), "HOST"));
    assert_eq!((requests[1].method.as_str(), requests[1].path.as_str()), ("GET", "/y"));
    let sent = vendor.sent_answers();
    assert_eq!((sent[0].body.as_ref(), sent[0].end), (first, Some(SentEnd::Whole)));
    assert_eq!((sent[1].body.as_ref(), sent[1].end), (second, Some(SentEnd::Cut)));
}

#[test]
fn a_raw_cut_is_an_error_to_a_client() {
    let vendor = ScriptedVendor::start(Script::raw(|_| {
        RawBytesAnswer::bytes("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nda")
            .ending(AnswerEnding::Reset)
    }))
    .unwrap();
    let got = get(&vendor, "POST", "/v1/messages", "{}");
    assert_eq!((got.body.as_slice(), got.is_whole), (b"da".as_slice(), false));
}
