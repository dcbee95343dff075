//! A record that survives the machine: what is acknowledged is in the journal before, and the journal is flushed to the disk.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::sync::{Arc, Mutex};

use reenact_testkit::{Answer, Script, Vendor};
use support::{Flight, chat};

/// How many answers are in the journal now.
fn returned(flight: &Flight) -> usize {
    flight.journal().iter().filter(|(name, _)| name == "rer.model.returned").count()
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
        Answer::json(200, "{}")
    });
    let vendor = Vendor::start(script).unwrap();
    let flight = Flight::durable(&vendor);
    *journal.lock().unwrap() = Some(flight.journal_path());
    for turn in 1..=3 {
        let got = flight.openai().post("/chat/completions", &chat(&format!("turn {turn}"), false)).await;
        assert_eq!(got.status(), 200);
        // The agent knows that the answer is over: it is in the journal.
        assert_eq!(returned(&flight), turn);
    }
    assert_eq!(*seen.lock().unwrap(), [1, 2, 3]);
    flight.land().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let flight = Flight::durable(&vendor);
    let client = flight.openai();
    let asking = (0..32).map(|number| {
        let client = client.clone();
        tokio::spawn(async move {
            for is_stream in [false, true] {
                let got = client.post("/chat/completions", &chat(&format!("{number}"), is_stream)).await;
                assert_eq!((got.status(), got.is_whole), (200, true));
            }
        })
    });
    for task in asking.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(returned(&flight), 64);
    assert_eq!(flight.land().await.all("rer.model.returned").len(), 64);
}
