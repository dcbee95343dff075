//! A front end without sockets and without HTTP types: its observations are recorded, and recovered after a kill as if the recorder had
//! lived.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::fs;
use std::path::Path;

use bytes::Bytes;
use reenact_capture::observation::{EndCause, HeaderList, InboundRequest};
use reenact_capture::{Capture, DEFAULT_MAX_BODY_BYTES, LeftoverLog};
use reenact_keys::SecretKey;
use reenact_record::wal::WalDir;
use reenact_record::{Durability, Recorder, RunId, RunStart, RunStore};
use reenact_testkit::fixture::TestDir;
use serde_json::Value;
use tokio::sync::mpsc;

const EVENTS: [&str; 3] = ["data: {\"choices\":[]}\n\n", "data: {\"choices\":[{}]}\n\n", "data: [DONE]\n\n"];

fn request(turn: u32) -> InboundRequest<'static> {
    let body = format!(r#"{{"model":"gpt-5","messages":[{{"role":"user","content":"{turn}"}}]}}"#);
    InboundRequest {
        provider: "openai".into(),
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        headers: [("authorization", &b"Bearer not-a-real-credential"[..])].into_iter().collect(),
        has_trailers: false,
        admission: None,
        body: Bytes::from(body).into(),
    }
}

fn stream_head() -> HeaderList<'static> {
    [("content-type", &b"text/event-stream"[..])].into_iter().collect()
}

/// Returns the payloads of one type in a journal.
fn payloads(journal: &Path, event_type: &str) -> Vec<Value> {
    let text = fs::read_to_string(journal).unwrap();
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.filter(|event| event["event_type"] == event_type).map(|event| event["payload"].clone()).collect()
}

/// Run in a folder of its own, with its log in memory.
struct TestRun {
    dir: TestDir,
    logs: TestDir,
    id: RunId,
    key: SecretKey,
}

impl TestRun {
    /// Returns `None` on a machine without a file system in memory.
    fn new() -> Option<Self> {
        let (dir, logs) = (TestDir::new(), TestDir::in_memory());
        let run = Self { dir, logs, id: RunId::generate().unwrap(), key: SecretKey::generate().unwrap() };
        WalDir::open(&run.logs.join("log")).ok().map(|_| run)
    }

    fn folder(&self) -> RunStore {
        RunStore::new(self.dir.join(RunStore::NAME))
    }

    fn log_dir(&self) -> WalDir {
        WalDir::open(&self.logs.join("log")).unwrap()
    }

    fn copy_of_key(&self) -> SecretKey {
        SecretKey::from_jwk(self.key.to_jwk().as_bytes()).unwrap()
    }

    fn journal(&self) -> std::path::PathBuf {
        self.folder().journal_path(self.id)
    }
}

#[tokio::test]
async fn a_killed_recorder_leaves_what_a_live_one_writes() {
    let Some(run) = TestRun::new() else { return };
    let recorder = Recorder::builder(&run.folder(), &run.key).begin(&RunStart::new(run.id)).unwrap();
    let log = recorder.event_writer().create_wal(&run.log_dir(), run.id).unwrap();
    let policy = None;
    let capture = Capture::start(
        recorder.event_writer(),
        Some(log),
        Durability::Process,
        policy,
        DEFAULT_MAX_BODY_BYTES,
    );
    let capture = capture.unwrap();
    let (guard, _ended) = mpsc::channel(1);
    let exchange = capture.begin(request(1), "", None, guard.clone()).await.unwrap();
    exchange.with(|exchange| {
        exchange.take_head(200, "1.1", stream_head());
        assert!(!exchange.take_piece(&Bytes::from(EVENTS[0])), "more events follow");
        exchange.flush_to_log();
    });

    // The recorder is killed here: only its files are left, copied elsewhere.
    let killed =
        TestRun { dir: TestDir::new(), logs: TestDir::in_memory(), id: run.id, key: run.copy_of_key() };
    killed.log_dir();
    copy(run.dir.path(), killed.dir.path());
    copy(run.logs.path(), killed.logs.path());
    let leftover = LeftoverLog::read(&killed.log_dir(), killed.id).unwrap().unwrap();
    let resumed = Recorder::builder(&killed.folder(), &killed.key)
        .resume(killed.id, || Some(leftover.journal()))
        .unwrap();
    let recovered = leftover.recover_into(&resumed.event_writer(), []).unwrap();
    assert_eq!((recovered.answers, recovered.cut), (0, 1));
    let cut = payloads(&killed.journal(), "rer.model.returned");
    assert_eq!(cut.len(), 1);
    assert_eq!((&cut[0]["complete"], &cut[0]["ended_by"]), (&false.into(), &"client".into()));
    assert_eq!(cut[0]["http"]["body"]["text"], EVENTS[0]);

    // The live run goes on.
    exchange.with(|exchange| {
        exchange.take_piece(&Bytes::from(EVENTS[1]));
        assert!(exchange.take_piece(&Bytes::from(EVENTS[2])), "nothing that a client waits for follows");
        assert!(exchange.finish(EndCause::Eof).is_none(), "it is in the log: nobody waits");
    });
    capture.record_gap("sound", "nobody listens");
    capture.finish();
    assert_eq!(capture.unrecorded(), None);
    let returned = payloads(&run.journal(), "rer.model.returned");
    assert_eq!(returned.len(), 1);
    assert_eq!(returned[0]["http"]["body"]["text"], EVENTS.concat());
    assert_eq!((&returned[0]["complete"], &returned[0]["ended_by"]), (&true.into(), &"eof".into()));
    assert!(LeftoverLog::read(&run.log_dir(), run.id).unwrap().is_none(), "everything is in the journal");
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}
