//! The vendor as a program: its first line, its end, and the log that it writes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use reenact_testkit::fixture::TestDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_reenact-testkit-vendor");

#[test]
fn serves_until_its_input_closes() {
    let folder = TestDir::new();
    let file = folder.join("requests.jsonl");
    let mut child = Command::new(PROGRAM)
        .args(["cut-after:0", "--requests"])
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let address = first.trim_end().strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).unwrap();
    socket.write_all(b"POST /v1/messages?x=1 HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\n\xff{").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let written = std::fs::read_to_string(&file).unwrap();
    let line: serde_json::Value = serde_json::from_str(&written).unwrap();
    let sent = line["sent"]["text"].as_str().unwrap();
    assert!(answer.contains(sent) && sent.starts_with("{\"id\":\"msg_"), "{answer}");
    assert_eq!(
        (&line["method"], &line["path"], &line["version"], &line["end"]),
        (&"POST".into(), &"/v1/messages?x=1".into(), &"HTTP/1.1".into(), &"cut".into())
    );
    assert_eq!(line["body"], serde_json::json!({ "hex": "ff7b" }));
    assert_eq!(line["headers"], serde_json::json!([["host", "h"], ["content-length", "2"]]));
}

#[test]
fn says_how_it_is_used() {
    for arguments in
        [&[][..], &["sing"], &["failing:99"], &["echo", "--encoding", "rot13"], &["echo", "--tls"]]
    {
        let output = Command::new(PROGRAM).args(arguments).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
        assert!(
            String::from_utf8(output.stderr).unwrap().starts_with("usage: reenact-testkit-vendor SCRIPT")
        );
    }
}
