//! Secrets in every place at once: while the agent runs, a thread reads every file in the state folder again and
//! again and finds none of them, nor does a search at the end.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base64ct::{Base64, Encoding as _};
use flate2::Compression;
use flate2::write::GzEncoder;
use reenact_testkit::{Encoding, Script, ScriptedAnswer};

use super::project::{API_KEY, TestProject};

// Without a recognisable shape: masked because of the place where they stand.
const HEADER: &str = "correct-horse-in-a-header-0001";
const OTHER_HEADER: &str = "correct-horse-in-another-00002";
const COOKIE: &str = "correct-horse-in-a-cookie-0003";
const QUERY: &str = "correct-horse-in-a-query-00004";
const ARGUMENT: &str = "correct-horse-in-an-argument-5";
const GLUED: &str = "correct-horse-glued-to-its-name";
const PASSWORD: &str = "correct-horse-in-a-url-0000007";

// Masked because of their shape alone.
const BODY: &str = concat!("ghp", "_", "0123456789abcdefghijABCDEFGHIJ012345");
const STREAM: &str = concat!("ghp", "_", "5432109876jihgfedcbaJIHGFEDCBA543210");
const ZIPPED: &str = concat!("ghp", "_", "aaaaa12345bbbbb67890CCCCC12345DDDDD6");
const ZIPPED_ANSWER: &str = concat!("ghp", "_", "eeeee54321fffff09876GGGGG54321HHHHH0");

/// Returns all texts that must not be found. Known values must not be found in base64 either.
fn needles() -> Vec<Vec<u8>> {
    let plain = [
        HEADER,
        OTHER_HEADER,
        COOKIE,
        QUERY,
        ARGUMENT,
        GLUED,
        PASSWORD,
        BODY,
        STREAM,
        ZIPPED,
        ZIPPED_ANSWER,
        API_KEY,
    ];
    let mut needles: Vec<Vec<u8>> = plain.iter().map(|secret| secret.as_bytes().to_vec()).collect();
    // The first and last letters of base64 depend on the neighbouring bytes.
    needles.push(Base64::encode_string(HEADER.as_bytes()).as_bytes()[4..36].to_vec());
    for zipped in [gzipped_request(), gzipped(&plain_gzip_answer())] {
        needles.push(Base64::encode_string(&zipped).as_bytes()[32..64].to_vec());
    }
    needles
}

fn gzipped(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn gzipped_request() -> Vec<u8> {
    gzipped(&chat(&format!("{ZIPPED} and {HEADER}"), false))
}

fn plain_gzip_answer() -> String {
    format!("{{\"choices\":[],\"echo\":\"{ZIPPED_ANSWER} and {HEADER}\"}}")
}

fn chat(text: &str, is_stream: bool) -> String {
    format!(r#"{{"model":"gpt-5","stream":{is_stream},"messages":[{{"role":"user","content":"{text}"}}]}}"#)
}

/// Returns a model that repeats the secrets in its answers.
fn script() -> Script {
    Script::answering(|request| {
        let encoded = Base64::encode_string(HEADER.as_bytes());
        match request.index % 3 {
            0 => ScriptedAnswer::json(
                200,
                format!("{{\"choices\":[],\"echo\":\"{HEADER} {encoded} {BODY} {COOKIE}\"}}"),
            ),
            1 => ScriptedAnswer::events([
                format!("data: {{\"choices\":[],\"echo\":\"{STREAM}\"}}\n\n"),
                format!("data: {{\"choices\":[],\"echo\":\"{HEADER} {QUERY} {API_KEY}\"}}\n\n"),
                "data: [DONE]\n\n".to_owned(),
            ]),
            _ => ScriptedAnswer::json(200, plain_gzip_answer()).encoded(Encoding::Gzip),
        }
        .header("set-cookie", format!("session={COOKIE}; HttpOnly"))
    })
}

/// Sends one request on a connection of its own.
fn ask(url: &str, query: &str, more: &str, body: &[u8]) -> Vec<u8> {
    let (address, path) = url.split_once('/').unwrap();
    let head = format!(
        "POST /{path}/chat/completions{query} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nauthorization: Bearer {HEADER}\r\nx-api-key: {OTHER_HEADER}\r\ncookie: session={COOKIE}\r\n{more}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let mut line = TcpStream::connect(address).unwrap();
    line.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut answer = Vec::new();
    line.read_to_end(&mut answer).unwrap();
    answer
}

fn has(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|part| part == needle)
}

/// Returns every file below a folder that still exists when its turn comes.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = fs::read(&path) {
                found.push((path, bytes));
            }
        }
    }
    found
}

/// Panics if a file contains a needle; returns how many bytes were searched.
fn search(folder: &Path, needles: &[Vec<u8>]) -> usize {
    let files = files(folder);
    for (path, bytes) in &files {
        for needle in needles {
            let needle_text = String::from_utf8_lossy(needle);
            assert!(!has(bytes, needle), "{needle_text} is in {}", path.display());
        }
    }
    files.iter().map(|(_, bytes)| bytes.len()).sum()
}

#[test]
fn nothing_that_was_planted_is_ever_on_the_disk() {
    let project = TestProject::new(script());
    let script = "printf '%s\\n' \"$OPENAI_BASE_URL\"; exec cat";
    let address = format!("https://someone:{PASSWORD}@host.invalid/?access_token={QUERY}");
    let glued = format!("--auth-token={GLUED}");
    let command = ["sh", "-c", script, "agent", "--api-key", ARGUMENT, &glued, BODY, &address];
    let mut recorder = project
        .command(&[&["record", "-q", "--"], &command[..]].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(recorder.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let url = url.trim().strip_prefix("http://").unwrap().to_owned();

    let (is_over, searches) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let watcher = {
        let (is_over, searches) = (Arc::clone(&is_over), Arc::clone(&searches));
        let (folder, needles) = (project.folder.state(), needles());
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Acquire) {
                search(&folder, &needles);
                searches.fetch_add(1, Ordering::AcqRel);
            }
        })
    };
    let encoded = Base64::encode_string(HEADER.as_bytes());
    let body = chat(&format!("{BODY}, {HEADER}, {OTHER_HEADER}, {ARGUMENT}, {encoded}"), false);
    for turn in 0..30 {
        let before = searches.load(Ordering::Acquire);
        let query = format!("?api_key={QUERY}&turn={turn}");
        assert!(has(&ask(&url, &query, "", body.as_bytes()), BODY.as_bytes()), "the agent sees what came");
        let streamed = ask(&url, &query, "", chat(COOKIE, true).as_bytes());
        assert!(has(&streamed, STREAM.as_bytes()));
        ask(&url, "", "content-encoding: gzip\r\naccept-encoding: gzip\r\n", &gzipped_request());
        // Between the turns, too.
        while searches.load(Ordering::Acquire) == before && !watcher.is_finished() {
            std::thread::yield_now();
        }
    }
    drop(recorder.stdin.take());
    let ended = recorder.wait_with_output().unwrap();
    is_over.store(true, Ordering::Release);
    watcher.join().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8(ended.stderr).unwrap()), (Some(0), String::new()));

    // The vendor got everything as it was.
    let requests = project.vendor.requests();
    assert!(
        requests.len() == 90
            && has(&requests[0].body, BODY.as_bytes())
            && requests[2].body == gzipped_request()
    );
    assert!(requests[0].path.contains(QUERY) && requests[0].header("cookie").unwrap().contains(COOKIE));

    assert!(search(&project.folder.state(), &needles()) > 100_000);
    project.run(&["verify", "last"]).expect(0, "...\n", "");
    let artifact = fs::read_to_string(project.artifact()).unwrap();
    for rule in ["credential", "parameter", "github-token", "argument", "environment"] {
        assert!(artifact.contains(&format!("[masked:{rule}:1]")), "{rule}");
    }
    // The compressed bodies are recorded decompressed and masked.
    assert!(artifact.contains(" and [masked:credential:"));
}
