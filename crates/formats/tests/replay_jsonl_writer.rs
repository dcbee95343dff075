//! Writer of REPLAY.jsonl: its output is canonical and exact, events without a place in the format are refused, and a
//! store that failed is not written to again.
#![allow(clippy::unwrap_used)]

use std::io::{self, Write};

use reenact_formats::replay_jsonl::writer::{
    ReplayJsonlEvent, ReplayJsonlSession, ReplayJsonlWriteError, ReplayJsonlWriter, ReplayStore,
    SessionStatus, StepStatus,
};
use reenact_json::{CanonicalFault, Digest, NumberFault};
use reenact_testkit::fixture::TestDir;

const T: &str = "2026-01-13T10:00:00Z";

const SESSION: ReplayJsonlSession<'_> = ReplayJsonlSession {
    producer: "test@1",
    session_id: "sess_1",
    issue_number: None,
    policy: "unknown",
    started_at: T,
};

fn writer() -> ReplayJsonlWriter<Vec<u8>> {
    ReplayJsonlWriter::start(Vec::new(), &SESSION).unwrap()
}

fn call<'a>(id: &'a str, params: &'a [u8]) -> ReplayJsonlEvent<'a> {
    ReplayJsonlEvent::ToolCall { id, tool: "read", params, step_id: "s" }
}

fn result(id: &str) -> ReplayJsonlEvent<'_> {
    ReplayJsonlEvent::ToolResult {
        id,
        output_hash: Some(Digest::of(b"null")),
        exit_code: Some(-1),
        step_utility: Some(0.8),
        latency_ms: Some(5),
    }
}

#[test]
fn every_line_to_the_byte() {
    let mut writer = writer();
    let plan = Digest::of(b"plan");
    writer.emit(T, &ReplayJsonlEvent::PlanStart { plan_hash: plan, step_count: 1 }).unwrap();
    writer.emit(T, &call("tc\u{1b}", br#"{ "b": 1e16, "a\"": [] }"#)).unwrap();
    writer.emit(T, &result("tc\u{1b}")).unwrap();
    let step = ReplayJsonlEvent::StepComplete {
        step_id: "s",
        status: StepStatus::MaxIterationsReached,
        iterations: 255,
    };
    writer.emit(T, &step).unwrap();
    let ran =
        ReplayJsonlEvent::Verification { commands: &["a", "b"], exit_codes: &[0, 1], verification_delta: -1 };
    writer.emit(T, &ran).unwrap();
    assert_eq!(writer.totals().tool_calls, 1);
    assert_eq!(writer.totals().total_latency_ms(), Some(5));
    let (replay, receipt) = writer.end(T, SessionStatus::Failed, 0.0).unwrap();
    let params_hash = Digest::of(br#"{"a\"":[],"b":1e16}"#);
    let output_hash = Digest::of(b"null");
    let expected = format!(
        r#"{{"created_at":"{T}","event":"ReplayHeader","producer":"test@1","replay_version":1}}
{{"event":"SessionStart","issue_number":null,"policy_version":"unknown","session_id":"sess_1","t":"{T}"}}
{{"event":"PlanStart","plan_hash":"sha256:{plan}","step_count":1,"t":"{T}"}}
{{"event":"ToolCall","id":"tc\u001b","params":{{"a\"":[],"b":1e16}},"params_hash":"sha256:{params_hash}","step_id":"s","t":"{T}","tool":"read"}}
{{"event":"ToolResult","exit_code":-1,"id":"tc\u001b","latency_ms":5,"output_hash":"sha256:{output_hash}","step_utility":0.8,"t":"{T}"}}
{{"event":"StepComplete","iterations":255,"status":"MaxIterationsReached","step_id":"s","t":"{T}"}}
{{"commands":["a","b"],"event":"Verification","exit_codes":[0,1],"t":"{T}","verification_delta":-1}}
{{"confidence":0.0,"event":"SessionEnd","status":"Failed","t":"{T}","total_latency_ms":5,"total_tool_calls":1}}
"#
    );
    assert_eq!(String::from_utf8(replay).unwrap(), expected);
    let receipt: serde_json::Value = serde_json::from_slice(&receipt).unwrap();
    assert_eq!(receipt["replay_hash"], format!("sha256:{}", Digest::of(expected.as_bytes())));
    assert_eq!(receipt["tool_calls"][0]["params_hash"], format!("sha256:{params_hash}"));
    assert_eq!(receipt["verification"]["exit_codes"], serde_json::json!([0, 1]));
    assert_eq!(receipt["plan_hash"], format!("sha256:{plan}"));
}

#[test]
fn what_is_unknown_is_a_placeholder_and_says_so() {
    let mut writer = writer();
    let unknown = |id| ReplayJsonlEvent::ToolResult {
        id,
        output_hash: None,
        exit_code: None,
        step_utility: None,
        latency_ms: None,
    };
    writer.emit(T, &call("a", b"1")).unwrap();
    writer.emit(T, &unknown("a")).unwrap();
    writer.emit(T, &call("b", b"1")).unwrap();
    writer.emit(T, &result("b")).unwrap();
    assert_eq!(writer.totals().utility_text(), "average utility 0.800 (1 of 2 calls)");
    let (replay, receipt) = writer.end(T, SessionStatus::Success, 1.0).unwrap();
    let null = Digest::of(b"null");
    let line = format!(
        r#"{{"event":"ToolResult","exit_code":null,"id":"a","latency_ms":0,"output_hash":"sha256:{null}","step_utility":0.0,"t":"{T}","unknown":["latency_ms","output_hash","step_utility"]}}"#
    );
    let replay = String::from_utf8(replay).unwrap();
    assert!(replay.lines().any(|written| written == line), "{replay}");
    assert_eq!(replay.matches("unknown\":[").count(), 1, "{replay}");
    let receipt: serde_json::Value = serde_json::from_slice(&receipt).unwrap();
    let calls = receipt["tool_calls"].as_array().unwrap();
    assert_eq!(calls[0]["unknown"], serde_json::json!(["latency_ms", "output_hash", "step_utility"]));
    assert!(calls[1].get("unknown").is_none());
}

#[test]
fn what_has_no_place_is_refused_and_nothing_is_written() {
    let mut writer = writer();
    writer.emit(T, &call("open", b"{}")).unwrap();
    let utility = |step_utility| ReplayJsonlEvent::ToolResult {
        id: "open",
        output_hash: Some(Digest::of(b"")),
        exit_code: None,
        step_utility: Some(step_utility),
        latency_ms: Some(1),
    };
    let number = ReplayJsonlWriteError::Number { member: "step_utility", min: -1, max: 1 };
    for bad in [f32::NAN, f32::INFINITY, -1.5] {
        assert_eq!(writer.emit(T, &utility(bad)), Err(number.clone()), "{bad}");
    }
    assert_eq!(writer.emit(T, &result("other")), Err(ReplayJsonlWriteError::ResultWithoutCall));
    assert_eq!(writer.emit(T, &call("open", b"{}")), Err(ReplayJsonlWriteError::CallRepeated));
    assert_eq!(
        writer.emit("yesterday", &result("open")),
        Err(ReplayJsonlWriteError::Time { text: "yesterday".into() })
    );
    let ran = ReplayJsonlEvent::Verification { commands: &["a"], exit_codes: &[], verification_delta: 0 };
    assert_eq!(writer.emit(T, &ran), Err(ReplayJsonlWriteError::VerificationLengths));
    assert!(matches!(
        writer.emit(T, &call("x", b"{\"a\":1,\"a\":2}")),
        Err(ReplayJsonlWriteError::Params(_))
    ));
    let overflow =
        CanonicalFault::Number { path: "$[0]".into(), literal: "1e999".into(), fault: NumberFault::Overflow };
    assert_eq!(writer.emit(T, &call("x", b"[1e999]")), Err(ReplayJsonlWriteError::Canonical(overflow)));
    let deep = format!("{}{}", "[".repeat(512), "]".repeat(512));
    assert!(matches!(writer.emit(T, &call("x", deep.as_bytes())), Err(ReplayJsonlWriteError::Params(_))));
    // None of this left a trace: the call is still open, and one result closes it.
    writer.emit(T, &result("open")).unwrap();
    assert_eq!(writer.emit(T, &result("open")), Err(ReplayJsonlWriteError::ResultWithoutCall));
    let (replay, _) = writer.end(T, SessionStatus::Success, 1.0).unwrap();
    assert_eq!(replay.iter().filter(|byte| **byte == b'\n').count(), 5);
}

#[test]
fn sessions_that_cannot_end_or_begin() {
    for session_id in ["", ".", "..", "a/b", "a\\b", "a\0"] {
        let session = ReplayJsonlSession { session_id, ..SESSION };
        assert_eq!(
            ReplayJsonlWriter::start(Vec::new(), &session).err(),
            Some(ReplayJsonlWriteError::SessionId),
            "{session_id:?}"
        );
    }
    let mut open = writer();
    open.emit(T, &call("a", b"null")).unwrap();
    assert_eq!(
        open.end(T, SessionStatus::Success, 1.0).err(),
        Some(ReplayJsonlWriteError::OpenCalls { count: 1 })
    );
    let number = ReplayJsonlWriteError::Number { member: "confidence", min: 0, max: 1 };
    assert_eq!(writer().end(T, SessionStatus::Success, f32::NAN).err(), Some(number));
}

/// Store that records the calls it gets, and fails when it is full.
struct RecordingStore {
    operations: Vec<&'static str>,
    free_bytes: usize,
}

impl Write for RecordingStore {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.free_bytes {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.free_bytes -= bytes.len();
        self.operations.push("write");
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.operations.push("flush");
        Ok(())
    }
}

impl ReplayStore for RecordingStore {
    fn sync(&mut self) -> io::Result<()> {
        self.operations.push("sync");
        Ok(())
    }
}

#[test]
fn each_line_is_flushed_and_the_end_is_synced() {
    let store = RecordingStore { operations: Vec::new(), free_bytes: usize::MAX };
    let writer = ReplayJsonlWriter::start(store, &SESSION).unwrap();
    let (store, _) = writer.end(T, SessionStatus::Cancelled, 0.5).unwrap();
    assert_eq!(store.operations, ["write", "flush", "write", "flush", "write", "flush", "sync"]);
}

#[test]
fn a_store_that_failed_is_left_alone() {
    let store = RecordingStore { operations: Vec::new(), free_bytes: 250 };
    let mut writer = ReplayJsonlWriter::start(store, &SESSION).unwrap();
    let full = writer.emit(T, &call("a", b"null"));
    assert!(matches!(full, Err(ReplayJsonlWriteError::Io { kind: io::ErrorKind::StorageFull, .. })));
    let step = ReplayJsonlEvent::StepComplete { step_id: "", status: StepStatus::Skipped, iterations: 0 };
    assert_eq!(writer.emit(T, &step), Err(ReplayJsonlWriteError::Broken));
    assert_eq!(writer.end(T, SessionStatus::Success, 1.0).err(), Some(ReplayJsonlWriteError::Broken));
}

#[test]
fn a_file_that_is_there_is_not_written_over() {
    let folder = TestDir::new();
    let path = folder.join("REPLAY.jsonl");
    let open = || std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
    let writer = ReplayJsonlWriter::start(open().unwrap(), &SESSION).unwrap();
    writer.end(T, SessionStatus::Success, 1.0).unwrap();
    assert_eq!(open().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
}
