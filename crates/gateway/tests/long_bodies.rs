//! Bodies that are too long for memory: recorded completely, masked, and never held in memory.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use reenact_gateway::{GatewayLimits, ReplayPace};
use reenact_testkit::fixture::TestDir;
use reenact_testkit::{Encoding, Script, ScriptStep, ScriptedAnswer, ScriptedVendor};
use sha2::{Digest, Sha256};
use support::killed_run::KilledRun;
use support::{LiveRun, SealedRun};

const MEGABYTE: usize = 1 << 20;
/// Fake token with the form of a real one.
const SECRET: &str = "ghp_1aB2cD3eF4gH5iJ6kL7mN8oP9qR0sT1uV2wX";
const MARK: &str = "[masked:github-token:1]";

/// Returns lines of text, with a secret across the end of each of the first parts.
fn text(length: usize) -> String {
    let mut text = String::with_capacity(length + 100);
    while text.len() < length {
        let edge = (text.len() / MEGABYTE + 1) * MEGABYTE - SECRET.len() / 2;
        while text.len() + 60 < edge {
            text += &format!("{{\"line\": {}, \"said\": \"nothing of note, é\"}}\n", text.len());
        }
        text += &" ".repeat(edge.saturating_sub(text.len()));
        text += SECRET;
        text.push('\n');
    }
    text
}

fn has(bytes: &[u8], what: &str) -> bool {
    bytes.windows(what.len()).any(|there| there == what.as_bytes())
}

fn returned(sealed: &SealedRun) -> &serde_json::Value {
    sealed.only_payload("rer.http.returned")
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_whole_however_it_is_compressed_and_wherever_the_log_is() {
    let long = text(MEGABYTE + 40_321);
    let masked = long.replace(SECRET, MARK);
    type Begin = fn(&ScriptedVendor) -> Option<LiveRun>;
    let flights: [(Begin, Option<Encoding>); 7] = [
        (|vendor| Some(LiveRun::start(vendor)), None),
        (|vendor| Some(LiveRun::start(vendor)), Some(Encoding::Gzip)),
        (|vendor| Some(LiveRun::start(vendor)), Some(Encoding::Brotli)),
        (|vendor| Some(LiveRun::start(vendor)), Some(Encoding::Zstd)),
        (|vendor| Some(LiveRun::start_without_log(vendor)), None),
        (|vendor| Some(LiveRun::start_durable(vendor)), Some(Encoding::Deflate)),
        (|vendor| LiveRun::start_with_failed_log(vendor), None),
    ];
    for (begin, encoding) in flights {
        let body = long.clone();
        let script = Script::answering(move |_| {
            let steps = body.as_bytes().chunks(100_000).map(|piece| ScriptStep::send(piece.to_vec()));
            let answer = ScriptedAnswer { steps: steps.collect(), ..ScriptedAnswer::empty(200) };
            if let Some(encoding) = encoding { answer.encoded(encoding) } else { answer }
        });
        let mut vendor = ScriptedVendor::start(script).unwrap();
        let Some(run) = begin(&vendor) else { continue };
        let response = run.openai().get("/files/file-1/content").await;
        assert!(response.is_whole && response.body == vendor.sent_answers()[0].body, "{encoding:?}");
        assert!(!has(&run.dir.bytes(), SECRET));
        let sealed = run.seal().await;
        assert_eq!(sealed.stopped, Ok(()));
        assert!(!has(&sealed.dir.bytes(), SECRET) && !has(&sealed.dir.bytes(), ".spool"));
        let said = returned(&sealed);
        let kept = said["http"]["body"]["text"].as_str().unwrap();
        let differs = kept.bytes().zip(masked.bytes()).position(|(one, other)| one != other);
        assert_eq!((kept.len(), differs), (masked.len(), None), "{encoding:?}");
        assert_eq!(said["complete"], true);
        assert_eq!(said["http"].get("content_encoding").is_some(), encoding.is_some());
        let hash: String = Sha256::digest(&response.body).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(said["http"]["wire_sha256"], hash.as_str());
        let chunks = said["http"]["chunks"].as_array().unwrap();
        assert_eq!(chunks.iter().map(|chunk| chunk[1].as_u64().unwrap()).sum::<u64>(), masked.len() as u64);
        assert!(sealed.payloads("rer.capture.gap").is_empty());
        // The replay serves the same body.
        vendor.stop();
        let replay = sealed.replay(ReplayPace::Instant);
        let played = replay.openai().get("/files/file-1/content").await;
        assert!(played.is_whole && played.text() == masked);
        replay.gateway.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_breaks_off_is_recorded_as_far_as_it_came() {
    let long = text(2 * MEGABYTE + 50_000);
    let body = long.clone();
    let script = Script::answering(move |_| {
        let steps = body.as_bytes().chunks(100_000).map(|piece| ScriptStep::send(piece.to_vec()));
        ScriptedAnswer { steps: steps.collect(), ..ScriptedAnswer::empty(200) }.wait_before(18, "the rest")
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let client = run.openai();
    let mut connection = client.connect().await;
    connection.write(&client.request("GET", "/files/file-1/content", &[], b"")).await;
    connection.read_head().await.unwrap();
    let (received, _) = connection.read_exactly(1_800_000).await;
    assert!(received == long.as_bytes()[..1_800_000]);
    // A kill at this point loses none of these bytes, and leaves no spool.
    let (name, killed) = ("rer.http.called", run.logs.is_some().then(|| KilledRun::copy_of(&run)));
    if let Some(killed) = killed {
        let (_, sealed) = killed.recover(run.key());
        let said = sealed.only_payload("rer.http.returned");
        assert!(said["http"]["body"]["text"] == long[..1_800_000].replace(SECRET, MARK));
        assert_eq!((&said["complete"], sealed.payloads(name).len()), (&false.into(), 1));
        assert!(!has(&sealed.dir.bytes(), ".spool"));
    }
    // The same holds for a client that disconnects.
    drop(connection);
    vendor.wait_async(reenact_testkit::WaitCondition::Ends(1)).await;
    let sealed = run.seal().await;
    let said = returned(&sealed);
    assert!(said["http"]["body"]["text"] == long[..1_800_000].replace(SECRET, MARK));
    assert_eq!((&said["complete"], &said["ended_by"]), (&false.into(), &"client".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_of_it_is_kept_than_a_record_takes() {
    let script = Script::answering(|_| {
        let steps = (0..30).map(|_| ScriptStep::send(vec![b'x'; 100_000])).collect();
        ScriptedAnswer { steps, ..ScriptedAnswer::empty(200) }
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let limits = GatewayLimits { max_answer_bytes: 2_050_000, ..GatewayLimits::default() };
    let run = LiveRun::start_with(support::routes(&vendor.root_url()), Default::default(), limits);
    assert_eq!(run.openai().get("/files/file-1/content").await.body.len(), 3_000_000);
    let sealed = run.seal().await;
    let said = returned(&sealed);
    let kept = said["http"]["body"]["text"].as_str().unwrap().len();
    assert!((1_000_000..=2_050_000).contains(&kept), "{kept}");
    assert_eq!(said["complete"], false);
    let why = format!("only its first {kept} bytes are kept");
    assert_eq!(sealed.only_payload("rer.capture.gap")["why"], why.as_str());
}

/// Masks see nothing in compressed bytes, so only decoded bytes are kept.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_kept_that_cannot_be_read() {
    let said = text(MEGABYTE).replace('é', "e");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(said.as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    assert!(has(&whole, SECRET), "it lies in it as it is");
    // Header of the second block.
    let mut damaged = whole.clone();
    damaged[10 + 5 + usize::from(u16::from_le_bytes([whole[11], whole[12]])) + 2] ^= 0xff;
    let unknown = [b"\xff".as_slice(), SECRET.as_bytes()].concat();
    let plain = format!("this is no gzip: {SECRET}");
    let bodies = [damaged.clone(), whole[..whole.len() - 4].to_vec(), unknown.clone(), plain.clone().into()];
    for path in ["/chat/completions", "/files"] {
        let answers = bodies.clone();
        let script = Script::answering(move |request| {
            let coding = if request.index == 2 { "snappy" } else { "gzip" };
            let steps = answers[request.index].chunks(50_000).map(|piece| ScriptStep::send(piece.to_vec()));
            ScriptedAnswer { steps: steps.collect(), ..ScriptedAnswer::empty(200) }
                .header("content-encoding", coding)
        });
        let vendor = ScriptedVendor::start(script).unwrap();
        let run = LiveRun::start(&vendor);
        for body in &bodies {
            let response =
                run.openai().send("POST", path, &[("content-encoding", "gzip")], body).await.unwrap();
            assert!(response.body == *body);
        }
        let sealed = run.seal().await;
        assert!(!has(&sealed.dir.bytes(), SECRET), "{path}");
        let returned = sealed.payloads("rer.model.returned");
        let text = |at: usize| returned[at]["http"]["body"]["text"].as_str().unwrap();
        // Bytes before the damage are kept. The torn body is complete except for its checksum.
        assert!(!text(0).is_empty() && said.replace(SECRET, MARK).starts_with(text(0)));
        assert!(text(1) == said.replace(SECRET, MARK), "{} {}", text(1).len(), said.len());
        assert_eq!((text(2), text(3)), ("", "this is no gzip: [masked:github-token:1]"));
        let complete: Vec<_> = returned.iter().map(|it| it["complete"].as_bool().unwrap()).collect();
        assert_eq!(complete, [false, false, false, true]);
        let gaps = sealed.payloads("rer.capture.gap");
        let whys: Vec<&str> = gaps.iter().map(|gap| gap["why"].as_str().unwrap()).collect();
        let kept = |fault: &str, at: usize| {
            format!(
                "{fault}: only what could be decoded is kept, {} bytes",
                [text(0).len(), said.len(), 0][at]
            )
        };
        assert_eq!(whys.len(), 8, "{whys:?}");
        assert!(whys.contains(&kept("ends before its content coding does", 1).as_str()), "{whys:?}");
        assert!(whys.contains(&kept("content coding not known", 2).as_str()), "{whys:?}");
        assert!(whys.contains(&"not what its content coding says"), "{whys:?}");
        // The same for requests.
        let called = sealed.payloads("rer.model.called");
        let asked = |at: usize| called[at]["http"]["body"]["text"].as_str().unwrap();
        assert!(said.replace(SECRET, MARK).starts_with(asked(0)));
        assert_eq!((asked(2), asked(3)), ("", "this is no gzip: [masked:github-token:1]"));
    }
}

/// Length in bytes of a body that must not be held in memory.
const HUGE: usize = 40 * MEGABYTE;

/// Largest growth of memory in KiB: windows, queues, buffers.
const FLAT: u64 = 30 << 10;

/// Returns a value of `/proc/self/status` in KiB.
fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn piece() -> Vec<u8> {
    b"{\"a line\": \"of a long file, with an escape: \\n\"}\n".repeat(1_300)
}

/// Serves the long body, without holding it in memory.
fn source(listener: TcpListener) {
    let (mut socket, _) = listener.accept().unwrap();
    let mut request = [0; 4096];
    assert!(socket.read(&mut request).unwrap() > 0);
    let piece = piece();
    let count = HUGE / piece.len();
    write!(socket, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", count * piece.len()).unwrap();
    (0..count).for_each(|_| socket.write_all(&piece).unwrap());
}

/// Reads an answer without keeping it, and returns its length.
fn sink(address: std::net::SocketAddr, request: &[u8]) -> usize {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.write_all(request).unwrap();
    let (mut buffer, mut length) = (vec![0; 64 << 10], 0);
    let due = HUGE / piece().len() * piece().len();
    while length < due {
        match socket.read(&mut buffer).unwrap() {
            0 => break,
            read => length += read,
        }
    }
    length
}

async fn peak_memory_of_run() -> u64 {
    let listener = support::listener();
    let root = format!("http://{}", listener.local_addr().unwrap());
    let vendor = std::thread::spawn(|| source(listener));
    let run = LiveRun::start_with(support::routes(&root), Default::default(), GatewayLimits::default());
    let client = run.openai();
    let request = client.request("GET", "/files/file-1/content", &[], b"");
    let address = run.gateway.address();
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = memory("VmRSS:");
    let length = tokio::task::spawn_blocking(move || sink(address, &request)).await.unwrap();
    assert!(length >= HUGE / piece().len() * piece().len());
    vendor.join().unwrap();
    run.gateway.stop().await.unwrap();
    let taken = memory("VmHWM:").saturating_sub(before);
    let place = &run.dir;
    assert!(place.bytes().len() > HUGE);
    taken
}

#[cfg(target_os = "linux")]
#[test]
fn it_is_never_held() {
    const CHILD: &str = "REENACT_TEST_LONG";
    if let Some(place) = std::env::var_os(CHILD) {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let taken = runtime.block_on(peak_memory_of_run());
        fs::write(PathBuf::from(&place).join("memory"), taken.to_string()).unwrap();
        return;
    }
    let place = TestDir::new();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "it_is_never_held"]).env(CHILD, place.path());
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let taken = fs::read_to_string(place.join("memory")).unwrap();
    println!("{taken} KiB for a body of {} KiB", HUGE >> 10);
    assert!(taken.parse::<u64>().unwrap() < FLAT, "{taken}");
}
