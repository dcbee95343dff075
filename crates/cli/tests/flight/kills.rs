//! SIGKILL at random moments under load: what each client's socket had received is in what is recovered, byte for byte, and
//! so is every request that a vendor had.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use reenact_run::{Opened, open};
use reenact_testkit::reply::long_text;
use reenact_testkit::{Received, Reply, Script};
use reenact_verify::{Keys, Options};

use super::airport::Airport;

/// How many agents talk at the same time.
const AGENTS: usize = 4;

/// What came for each question, as it came from the socket.
type Streams = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// When the recorder is killed.
#[derive(Debug)]
struct When {
    /// When its agents have so many bytes; none if it is killed while it starts.
    bytes: Option<usize>,
    /// So many looks at the clock later.
    later: usize,
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes {
            None => write!(f, "while it starts, ")?,
            Some(bytes) => write!(f, "{bytes} bytes received, ")?,
        }
        write!(f, "{} looks at the clock later", self.later)
    }
}

/// Numbers that look like chance and are the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap() % end
    }

    /// One in ten while it starts; the others from the first byte to the hundredth answer, most of them early.
    fn when(&mut self) -> When {
        let later = self.below(3_000);
        match self.below(10) {
            0 => When { bytes: None, later: later * 10 },
            1..5 => When { bytes: Some(self.below(20_000)), later },
            _ => When { bytes: Some(self.below(400_000)), later },
        }
    }
}

/// Records under load, kills, recovers, compares; gives how many bytes the agents had.
fn kill(when: &When) -> usize {
    let airport = Airport::new(Script::replying(|_| Reply::text(long_text(2_000))));
    // The command tells where its gateway is, and stays; the agents are threads of this test.
    let script = "printf '%s\\n' \"$OPENAI_BASE_URL\"; exec cat";
    let mut recorder = airport
        .command(&["record", "-q", "--", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (received, total) = (Streams::default(), Arc::new(AtomicUsize::new(0)));
    let mut agents = Vec::new();
    if let Some(bytes) = when.bytes {
        let mut url = String::new();
        BufReader::new(recorder.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let url = url.trim().strip_prefix("http://").unwrap().to_owned();
        for agent in 0..AGENTS {
            let (url, received, total) = (url.clone(), Arc::clone(&received), Arc::clone(&total));
            agents.push(std::thread::spawn(move || talk(agent, &url, &received, &total)));
        }
        while total.load(Ordering::Acquire) < bytes {
            std::thread::yield_now();
        }
    }
    for _ in 0..when.later {
        std::hint::black_box(std::time::Instant::now());
    }
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    agents.into_iter().for_each(|agent| agent.join().unwrap());
    let received = std::mem::take(&mut *received.lock().unwrap());
    let recovered = airport.fly(&["recover"]);
    if received.is_empty() && airport.vendor.requests().is_empty() {
        // It may not have got far enough to leave anything.
        assert!(matches!(recovered.code, Some(0 | 2)), "{recovered:?}");
        return 0;
    }
    assert_eq!(recovered.code, Some(0), "{recovered:?}");
    airport.fly(&["verify", "last"]).expect(0, "...\n", "");
    compare(&airport, &received);
    total.load(Ordering::Acquire)
}

fn compare(airport: &Airport, received: &BTreeMap<String, Vec<u8>>) {
    let Opened { run, .. } =
        open(fs::read(airport.artifact()).unwrap(), &Keys::default(), &Options::default());
    let run = run.unwrap();
    let mut recorded = BTreeMap::new();
    for exchange in run.exchanges() {
        let answer = exchange.answer().unwrap();
        let answer = (answer.complete, answer.body.into_owned());
        assert_eq!(
            recorded.insert(name(exchange.request().unwrap().body.bytes()), answer),
            None,
            "recorded once"
        );
    }
    for request in airport.vendor.requests() {
        let name = name(&request.body);
        assert!(recorded.contains_key(&name), "the vendor has {name}, which is not recorded");
    }
    for (name, received) in received {
        let Received { body, is_whole } = Received::read(received);
        let Some((complete, answer)) = recorded.get(name) else { panic!("{name} is not recorded") };
        assert!(
            answer.starts_with(&body),
            "{name}: {} bytes were received, {} recorded",
            body.len(),
            answer.len()
        );
        if is_whole {
            assert_eq!((answer.len(), complete), (body.len(), &true), "{name}");
        }
    }
}

/// The name of a question.
fn name(body: &[u8]) -> String {
    let text = std::str::from_utf8(body).unwrap();
    text.split("turn ").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

/// Asks one question after the other until the line is dead, and keeps what comes: plain answers and streams, on lines that
/// stay open and on lines of their own.
fn talk(agent: usize, url: &str, received: &Streams, total: &AtomicUsize) {
    let (address, path) = url.split_once('/').unwrap();
    let stays = agent.is_multiple_of(2);
    let mut line = None;
    for turn in 0.. {
        let name = format!("{agent}-{turn}");
        let (is_stream, connection) = (turn % 3 != 0, if stays { "keep-alive" } else { "close" });
        let body = format!(
            r#"{{"model":"gpt-5","stream":{is_stream},"messages":[{{"role":"user","content":"turn {name}"}}]}}"#
        );
        let Some(mut open) = line.take().or_else(|| TcpStream::connect(address).ok()) else { return };
        let head = format!(
            "POST /{path}/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: {connection}\r\n\r\n",
            body.len()
        );
        if open.write_all([head, body].concat().as_bytes()).is_err() {
            return;
        }
        let mut buffer = [0; 4096];
        loop {
            match open.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(length) => {
                    let mut received = received.lock().unwrap();
                    let so_far = received.entry(name.clone()).or_default();
                    so_far.extend(&buffer[..length]);
                    total.fetch_add(length, Ordering::AcqRel);
                    if Received::read(so_far).is_whole {
                        break;
                    }
                }
            }
        }
        line = stays.then_some(open);
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A few moments here; `cargo xtask kill` takes hundreds.
#[test]
fn a_kill_at_any_moment_loses_nothing_that_was_seen() {
    let (kills, seed) = (setting("REENACT_KILLS").unwrap_or(20), setting("REENACT_SEED").unwrap_or(7));
    let (mut chance, mut bytes) = (Chance(seed | 1 << 40), 0);
    for number in 1..=kills {
        let when = chance.when();
        println!("kill {number} of {kills}, seed {seed}: {when}");
        bytes += kill(&when);
    }
    println!("{kills} kills; {bytes} bytes were received before, and all of them are recorded");
    assert!(bytes > 0);
}
