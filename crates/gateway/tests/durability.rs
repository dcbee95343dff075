//! Record that survives the machine: an answer is in the journal, and the journal on the disk, before its
//! client learns of its end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::sync::{Arc, Mutex};

use reenact_testkit::{Script, ScriptedAnswer, ScriptedVendor};
use support::{LiveRun, chat};

/// Returns the number of answers in the journal.
fn returned(run: &LiveRun) -> usize {
    run.journal().iter().filter(|(name, _)| name == "rer.model.returned").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_in_the_journal_before_it_leaves() {
    let seen: Arc<Mutex<Vec<usize>>> = Arc::default();
    let journal: Arc<Mutex<Option<std::path::PathBuf>>> = Arc::default();
    let (at_vendor, path) = (Arc::clone(&seen), Arc::clone(&journal));
    let script = Script::answering(move |_| {
        let path = path.lock().unwrap().clone().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        at_vendor.lock().unwrap().push(text.matches("\"event_type\":\"rer.model.called\"").count());
        ScriptedAnswer::json(200, "{}")
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start_durable(&vendor);
    *journal.lock().unwrap() = Some(run.journal_path());
    for turn in 1..=3 {
        let response = run.openai().post("/chat/completions", &chat(&format!("turn {turn}"), false)).await;
        assert_eq!(response.status(), 200);
        // The client knows that the answer is over, so the journal must have it.
        assert_eq!(returned(&run), turn);
    }
    assert_eq!(*seen.lock().unwrap(), [1, 2, 3]);
    run.seal().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start_durable(&vendor);
    let client = run.openai();
    let asking = (0..32).map(|number| {
        let client = client.clone();
        tokio::spawn(async move {
            for is_stream in [false, true] {
                let response = client.post("/chat/completions", &chat(&format!("{number}"), is_stream)).await;
                assert_eq!((response.status(), response.is_whole), (200, true));
            }
        })
    });
    for task in asking.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(returned(&run), 64);
    assert_eq!(run.seal().await.payloads("rer.model.returned").len(), 64);
}
