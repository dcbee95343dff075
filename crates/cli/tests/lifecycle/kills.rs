//! SIGKILL at random moments under load: the recovered run has every byte that a client's socket had
//! received, and every request that a vendor had.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use reenact_run::{OpenedRecord, open};
use reenact_testkit::reply::long_text;
use reenact_testkit::{ReceivedAnswer, Script, ScriptedReply};
use reenact_verify::{Keys, Options};

use super::project::TestProject;

/// Number of agents that send requests at the same time.
const AGENTS: usize = 4;

/// Bytes that came from the socket for each request, by the name of its turn.
type Streams = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// Moment at which the recorder is killed.
#[derive(Debug)]
struct KillMoment {
    /// Number of bytes that the agents have received by then; `None` if the recorder is killed while it starts.
    bytes: Option<usize>,
    /// Number of clock reads to wait after that: a delay without sleeping.
    clock_reads: usize,
}

impl fmt::Display for KillMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes {
            None => write!(f, "while it starts, ")?,
            Some(bytes) => write!(f, "{bytes} bytes received, ")?,
        }
        write!(f, "{} looks at the clock later", self.clock_reads)
    }
}

/// Pseudo-random numbers, the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap() % end
    }

    /// Returns a moment: one in ten during the start; the others from the first byte to the hundredth answer,
    /// most of them early.
    fn next_moment(&mut self) -> KillMoment {
        let later = self.below(3_000);
        match self.below(10) {
            0 => KillMoment { bytes: None, clock_reads: later * 10 },
            1..5 => KillMoment { bytes: Some(self.below(20_000)), clock_reads: later },
            _ => KillMoment { bytes: Some(self.below(400_000)), clock_reads: later },
        }
    }
}

/// Records under load, kills, recovers and compares; returns how many bytes the agents had received.
fn kill_and_recover(when: &KillMoment) -> usize {
    let project = TestProject::new(Script::replying(|_| ScriptedReply::text(long_text(2_000))));
    // The command prints the address of its gateway and stays; the agents are threads of this test.
    let script = "printf '%s\\n' \"$OPENAI_BASE_URL\"; exec cat";
    let mut recorder = project
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
            agents.push(std::thread::spawn(move || send_requests(agent, &url, &received, &total)));
        }
        while total.load(Ordering::Acquire) < bytes {
            std::thread::yield_now();
        }
    }
    for _ in 0..when.clock_reads {
        std::hint::black_box(std::time::Instant::now());
    }
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    agents.into_iter().for_each(|agent| agent.join().unwrap());
    let received = std::mem::take(&mut *received.lock().unwrap());
    let recovered = project.run(&["runs", "recover"]);
    if received.is_empty() && project.vendor.requests().is_empty() {
        // The recorder may not have got far enough to leave anything.
        assert!(matches!(recovered.code, Some(0 | 2)), "{recovered:?}");
        return 0;
    }
    assert_eq!(recovered.code, Some(0), "{recovered:?}");
    project.run(&["verify", "last"]).expect(0, "...\n", "");
    compare(&project, &received);
    total.load(Ordering::Acquire)
}

fn compare(project: &TestProject, received: &BTreeMap<String, Vec<u8>>) {
    let OpenedRecord { run, .. } =
        open(fs::read(project.artifact()).unwrap(), &Keys::default(), &Options::default());
    let run = run.unwrap();
    let mut recorded = BTreeMap::new();
    for exchange in run.exchanges() {
        let answer = exchange.answer().unwrap();
        let answer = (answer.complete, answer.body.into_owned());
        assert_eq!(
            recorded.insert(turn_name(exchange.request().unwrap().body.bytes()), answer),
            None,
            "recorded once"
        );
    }
    for request in project.vendor.requests() {
        let name = turn_name(&request.body);
        assert!(recorded.contains_key(&name), "the vendor has {name}, which is not recorded");
    }
    for (name, received) in received {
        let ReceivedAnswer { body, is_whole } = ReceivedAnswer::parse(received);
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

/// Returns the name of the turn from a request's body.
fn turn_name(body: &[u8]) -> String {
    let text = std::str::from_utf8(body).unwrap();
    text.split("turn ").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

/// Sends requests one after the other until the connection breaks, and keeps the answers: plain ones and
/// streams, on kept-alive connections and on new ones.
fn send_requests(agent: usize, url: &str, received: &Streams, total: &AtomicUsize) {
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
                    if ReceivedAnswer::parse(so_far).is_whole {
                        break;
                    }
                }
            }
        }
        line = stays.then_some(open);
    }
}

fn env_number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Twenty moments here; `cargo xtask kill` takes hundreds.
#[test]
fn a_kill_at_any_moment_loses_nothing_that_was_seen() {
    let (kills, seed) = (env_number("REENACT_KILLS").unwrap_or(20), env_number("REENACT_SEED").unwrap_or(7));
    let (mut chance, mut bytes) = (Random(seed | 1 << 40), 0);
    for number in 1..=kills {
        let when = chance.next_moment();
        println!("kill {number} of {kills}, seed {seed}: {when}");
        bytes += kill_and_recover(&when);
    }
    println!("{kills} kills; {bytes} bytes were received before, and all of them are recorded");
    assert!(bytes > 0);
}
