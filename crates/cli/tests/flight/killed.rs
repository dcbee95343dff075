//! A recorder that is killed: what its agent had seen is recovered, to the byte.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use reenact_run::{Opened, open};
use reenact_testkit::reply::long_text;
use reenact_testkit::{Reply, Script};
use reenact_verify::{Keys, Options};

use super::airport::{Airport, REENACT};

/// How many agents talk at the same time.
const AGENTS: usize = 4;

/// A recorder under load that is killed when its agents have that many bytes: what each of them has of its last answer must
/// be in the record.
fn kill_after(airport: &Airport, most: usize) {
    // The command tells where its gateway is, and stays; the agents are threads of this test.
    let script = "printf '%s\\n' \"$OPENAI_BASE_URL\"; exec cat";
    let mut recorder = airport
        .command(&["record", "-q", "--", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut words = std::io::BufReader::new(recorder.stdout.take().unwrap());
    let mut url = String::new();
    std::io::BufRead::read_line(&mut words, &mut url).unwrap();
    let url = url.trim().strip_prefix("http://").unwrap().to_owned();
    let received = Arc::new(Mutex::new(BTreeMap::<String, Vec<u8>>::new()));
    let total = Arc::new(AtomicUsize::new(0));
    let agents: Vec<_> = (0..AGENTS)
        .map(|agent| {
            let (url, received, total) = (url.clone(), Arc::clone(&received), Arc::clone(&total));
            std::thread::spawn(move || talk(agent, &url, &received, &total))
        })
        .collect();
    while total.load(Ordering::Acquire) < most {
        std::thread::yield_now();
    }
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    agents.into_iter().for_each(|agent| agent.join().unwrap());
    let recovered = airport.fly(&["recover"]);
    assert_eq!(recovered.code, Some(0), "{}{}", recovered.stdout, recovered.stderr);
    airport.fly(&["verify", "last"]).expect(0, "...\n", "");
    let path = airport.kept().into_iter().rfind(|path| path.ends_with("artifact.rer.json")).unwrap();
    let Opened { run, .. } = open(fs::read(path).unwrap(), &Keys::default(), &Options::default());
    let run = run.unwrap();
    let mut recorded = BTreeMap::new();
    for exchange in run.exchanges() {
        let body = String::from_utf8(exchange.request().unwrap().body.bytes().to_vec()).unwrap();
        let name = body.split("turn ").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let answer = exchange.answer().unwrap().body.into_owned();
        assert_eq!(recorded.insert(name, answer), None, "recorded once");
    }
    for (name, received) in received.lock().unwrap().iter() {
        let body = unchunked(received);
        let recorded = recorded.get(name).map(Vec::as_slice).unwrap_or_default();
        assert!(
            recorded.starts_with(&body),
            "{name}: {} bytes were received, {} recorded",
            body.len(),
            recorded.len()
        );
    }
}

/// Asks one question after the other until the line is dead, and keeps what comes.
fn talk(agent: usize, url: &str, received: &Mutex<BTreeMap<String, Vec<u8>>>, total: &AtomicUsize) {
    let (address, path) = url.split_once('/').unwrap();
    for turn in 0.. {
        let name = format!("{agent}-{turn}");
        let body = format!(
            r#"{{"model":"gpt-5","stream":true,"messages":[{{"role":"user","content":"turn {name}"}}]}}"#
        );
        let Ok(mut line) = TcpStream::connect(address) else { return };
        let head = format!(
            "POST /{path}/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        if line.write_all(head.as_bytes()).and_then(|()| line.write_all(body.as_bytes())).is_err() {
            return;
        }
        let mut buffer = [0; 4096];
        loop {
            match line.read(&mut buffer) {
                Ok(0) => break,
                Err(_) => return,
                Ok(length) => {
                    received.lock().unwrap().entry(name.clone()).or_default().extend(&buffer[..length]);
                    total.fetch_add(length, Ordering::AcqRel);
                }
            }
        }
    }
}

/// The body of an answer, as far as it came.
fn unchunked(received: &[u8]) -> Vec<u8> {
    let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") else { return Vec::new() };
    let (mut rest, mut body) = (&received[end + 4..], Vec::new());
    while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        rest = &rest[line + 2..];
        body.extend_from_slice(&rest[..length.min(rest.len())]);
        rest = rest.get(length + 2..).unwrap_or_default();
    }
    body
}

/// A few moments here; `REENACT_KILLS` says how many others.
#[test]
fn a_kill_at_any_moment_loses_nothing_that_was_seen() {
    let kills = std::env::var("REENACT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(12);
    let airport = Airport::new(Script::replying(|_| Reply::text(long_text(2_000))));
    let mut moment: usize = 7;
    for _ in 0..kills {
        // Spread over the first answers and the hundredth.
        moment = (moment * 7_919 + 12_345) % 600_000;
        kill_after(&airport, moment);
    }
}

#[test]
fn what_was_killed_is_sealed_and_said_to_be() {
    let airport = Airport::new(Script::travel().gated());
    for piece in 0..40 {
        airport.vendor.open(&format!("0.{piece}"));
    }
    let mut recorder = airport
        .command(&["record", "--", REENACT, "demo-agent"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The second request waits for its answer.
    airport.vendor.wait_for_requests(2).unwrap();
    airport.fly(&["recover"]).expect(0, "nothing to recover: every run of this folder is sealed\n", "");
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    airport.fly(&["show", "last"]).expect(
        2,
        "",
        "reenact: run [..] has no artifact here: it was not sealed (seal it with: reenact recover), or its artifact was written elsewhere\n",
    );
    airport.fly(&["recover"]).expect(
        0,
        "recovered [..]: 2 model calls and 1 tool call[..]; 1 answer broke off\nsealed: .reenact/runs/[..]/artifact.rer.json ([..])\n",
        "",
    );
    airport.fly(&["recover", "last"]).expect(0, "[..] is sealed: .reenact/runs/[..]\n", "");
    airport.fly(&["verify", "last"]).expect(0, "...\n  PASS  [..]\n", "");
    airport.fly(&["show", "last"]).expect(
        0,
        "PASS  [..]\n...\ntime    began [..], took [..], crashed (its recorder did not come to the end)\n...\n",
        "",
    );
    for piece in 0..40 {
        airport.vendor.open(&format!("1.{piece}"));
    }
}

#[test]
fn what_lies_where_a_killed_run_was_to_be_is_left_alone() {
    let airport = Airport::new(Script::travel().gated());
    let record = ["record", "--force", "--out", "run.rer.json", "--", REENACT, "demo-agent"];
    let mut recorder = airport.command(&record).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    airport.vendor.wait_for_requests(1).unwrap();
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let out = airport.folder.path().join("run.rer.json");
    fs::write(&out, "someone else's").unwrap();
    airport.fly(&["recover"]).expect(
        0,
        "recovered [..]: 1 model call and 0 tool calls[..]; 1 answer broke off\nsealed: .reenact/runs/[..]/artifact.rer.json ([..])\n",
        "",
    );
    assert_eq!(fs::read_to_string(&out).unwrap(), "someone else's");
    airport.fly(&["verify", "last"]).expect(0, "...\n", "");
}
