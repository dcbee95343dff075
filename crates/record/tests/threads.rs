//! Many event writers on many threads, one journal: nothing is lost or out of order, and memory does not grow with the
//! run.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use reenact_json::{Limits, Value};
use reenact_record::{CallKind, EventWriter, ExchangeCall, RawRequest, Recorder, RunId, RunStart, RunStore};
use reenact_testkit::fixture::TestDir;
use support::{DONE, answer, key, runs, verify_artifact};

const THREADS: usize = 64;

/// Number of turns of each thread, in two parts. A turn is an exchange and two notes: four events.
const TURNS: [usize; 2] = [40, 352];

/// Number of events, with the first, the last, and the two of the long answer: a little more than 100,000.
const EVENTS: usize = THREADS * (TURNS[0] + TURNS[1]) * 4 + 4;

const PAYLOAD: usize = 50 << 20;

/// Memory, in KiB, that a run may add to that of its first tenth. All events together are more than three times as
/// large, the long answer twice.
const FLAT: u64 = 24 << 10;

fn id() -> RunId {
    "017f22e2-79b0-7cc3-98c4-dc0c0c07398f".parse().unwrap()
}

fn exchange(writer: &EventWriter, request: &[u8], answered: &[u8]) {
    let raw = RawRequest { provider: "openai", method: "POST", path: "/v1/x", headers: &[], body: request };
    let masked = writer.mask_request(&raw);
    let step = writer
        .record_call(&ExchangeCall { model: Some("m"), ..ExchangeCall::new(CallKind::Model, &masked) }, None)
        .unwrap();
    writer.record_return(&step, answer(answered)).unwrap();
}

/// Records the turns of every thread; each event names its thread and turn.
fn take_turns(writer: &EventWriter, from: usize, turns: usize) {
    thread::scope(|scope| {
        for number in 0..THREADS {
            let writer = writer.clone();
            scope.spawn(move || {
                for turn in from..from + turns {
                    let said = format!("{number}:{turn}");
                    writer.record_gap(&said, "before").unwrap();
                    exchange(&writer, said.as_bytes(), said.as_bytes());
                    writer.record_gap(&said, "after").unwrap();
                }
            });
        }
    });
}

/// Returns a number of KiB that the kernel keeps for this process.
fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Runs `act`, and returns how much more memory, in KiB, it took at its peak than was in use before.
fn peak_memory<T>(act: impl FnOnce() -> T) -> (T, u64) {
    // Resets the peak. Where that is not possible, only growth beyond the old peak is counted.
    let is_reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = memory(if is_reset { "VmRSS:" } else { "VmHWM:" });
    let done = act();
    (done, memory("VmHWM:").saturating_sub(before))
}

/// Records in a process of its own, so that no other memory is counted.
fn record(dir: &Path) -> String {
    let folder = RunStore::new(dir.join(RunStore::NAME));
    let recorder = Recorder::builder(&folder, &key()).begin(&RunStart::new(id())).unwrap();
    let writer = recorder.event_writer();
    take_turns(&writer, 0, TURNS[0]);
    let ((), many) = peak_memory(|| take_turns(&writer, TURNS[0], TURNS[1]));
    let payload = "0123456789abcde\n".repeat(PAYLOAD / 16).into_bytes();
    let ((), long) = peak_memory(|| exchange(&writer, b"long", &payload));
    drop(payload);
    let (ended, ending) = peak_memory(|| recorder.end(&DONE).unwrap());
    let (_, sealing) = peak_memory(|| ended.seal(&key()).unwrap());
    format!("{many} {long} {ending} {sealing}")
}

#[test]
fn sixty_four_threads_a_hundred_thousand_events_and_a_long_answer() {
    const CHILD: &str = "REENACT_TEST_THREADS";
    if let Some(dir) = std::env::var_os(CHILD) {
        fs::write(PathBuf::from(&dir).join("memory"), record(Path::new(&dir))).unwrap();
        return;
    }
    let dir = TestDir::new();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "sixty_four_threads_a_hundred_thousand_events_and_a_long_answer"]);
    assert!(child.env(CHILD, dir.path()).output().unwrap().status.success());

    let taken = fs::read_to_string(dir.join("memory")).unwrap();
    let taken: Vec<u64> = taken.split(' ').map(|number| number.parse().unwrap()).collect();
    let [many, long, ending, sealing] = taken[..] else { panic!("{taken:?}") };
    println!("KiB: {many} for many events, {long} for a long answer, {ending} to end, {sealing} to seal");
    // The caller holds the long answer; the recorder must not copy all of it.
    assert!(many < FLAT && long < FLAT && ending < FLAT && sealing < FLAT, "{taken:?}");

    let folder = runs(&dir);
    let report = verify_artifact(&folder.artifact_path(id()), &key());
    assert_eq!(report.reasons, [""; 0]);
    assert_in_order(&folder.journal_path(id()));
}

/// Asserts that each thread's events are complete and in the order in which it wrote them, that steps are numbered in
/// the order of the journal, and that time never goes back.
fn assert_in_order(journal: &Path) {
    let mut threads: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut events, mut called, mut latest) = (0, 0, String::new());
    let mut steps: BTreeMap<String, String> = BTreeMap::new();
    for line in BufReader::new(fs::File::open(journal).unwrap()).split(b'\n').skip(1) {
        let line = line.unwrap();
        let event = Value::parse(&line, &Limits::default()).unwrap();
        let text = |name| event.member(name).unwrap().string().unwrap().into_owned();
        let payload = event.member("payload").unwrap();
        let said = |name| payload.member(name).and_then(|it| it.string()).unwrap_or_default().into_owned();
        let body = || {
            let body = payload.member("http").unwrap().member("body").unwrap();
            body.member("text").unwrap().string().unwrap().into_owned()
        };
        events += 1;
        let time = text("timestamp");
        assert!(time >= latest, "{time} after {latest}");
        latest = time;
        let (who, what) = match text("event_type").as_str() {
            "rer.capture.gap" => (said("what"), said("why")),
            "rer.model.called" => {
                called += 1;
                assert_eq!(said("step_id"), format!("s{called}"));
                steps.insert(said("step_id"), body());
                (body(), "called".to_owned())
            }
            "rer.model.returned" => {
                let asked = steps.remove(&said("step_id")).unwrap();
                if asked == "long" {
                    assert!(body() == "0123456789abcde\n".repeat(PAYLOAD / 16));
                } else {
                    assert_eq!(body(), asked);
                }
                (asked, "returned".to_owned())
            }
            _ => continue,
        };
        let (thread, turn) = who.split_once(':').unwrap_or((&who, ""));
        threads.entry(thread.to_owned()).or_default().push(format!("{turn} {what}"));
    }
    assert_eq!((events, steps.len()), (EVENTS, 0));
    assert_eq!(threads.remove("long").unwrap(), [" called", " returned"]);
    assert_eq!(threads.len(), THREADS);
    let turns = (0..TURNS[0] + TURNS[1])
        .flat_map(|turn| ["before", "called", "returned", "after"].map(|what| format!("{turn} {what}")));
    let turns: Vec<String> = turns.collect();
    for (thread, took) in &threads {
        assert!(*took == turns, "{thread}");
    }
}
