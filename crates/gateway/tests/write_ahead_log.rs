//! Write-ahead log: everything that an agent saw was logged before, and is recovered after the recorder was
//! killed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;

use reenact_capture::Recovered;
use reenact_record::Durability;
use reenact_testkit::{Script, ScriptedAnswer, ScriptedVendor};
use support::killed_run::KilledRun;
use support::trace::{StorageTrace, TracedOp};
use support::{LiveRun, chat};

const EVENTS: [&str; 3] = ["data: {\"choices\":[]}\n\n", "data: {\"choices\":[{}]}\n\n", "data: [DONE]\n\n"];

/// Returns a document, then a stream that waits before its second piece until the test goes on.
fn script() -> Script {
    Script::answering(move |request| match request.index {
        0 => ScriptedAnswer::json(200, "{\"choices\":[]}"),
        _ => ScriptedAnswer::events(EVENTS).wait_before(1, "second"),
    })
}

/// Waits until the recorder thread has written this many events.
async fn journal_has(run: &LiveRun, events: usize) {
    while run.types().len() < events {
        tokio::task::yield_now().await;
    }
}

/// Starts a run with an open stream, of which the client has the first piece.
async fn with_open_stream(vendor: &ScriptedVendor) -> Option<(LiveRun, support::client::ClientConnection)> {
    let run = LiveRun::start(vendor);
    run.logs.as_ref()?;
    let client = run.openai();
    client.post("/chat/completions", &chat("first", false)).await;
    journal_has(&run, 3).await;
    let mut connection = client.connect().await;
    let request = client.request("POST", "/chat/completions", &[], chat("second", true).as_bytes());
    connection.write(&request).await;
    connection.read_head().await.unwrap();
    assert_eq!(connection.read_chunk().await.unwrap(), EVENTS[0].as_bytes());
    journal_has(&run, 4).await;
    Some((run, connection))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_agent_has_seen_is_in_the_log_and_comes_back() {
    let vendor = ScriptedVendor::start(script()).unwrap();
    let Some((run, mut connection)) = with_open_stream(&vendor).await else { return };
    // The recorder thread writes in its own time.
    let killed = loop {
        let killed = KilledRun::copy_of(&run);
        if killed.entries().iter().any(|entry| entry == "0 journaled 3 ") {
            break killed;
        }
        tokio::task::yield_now().await;
    };
    let mut entries = killed.entries();
    let step = entries.iter().position(|entry| entry == "3 journaled 2 s2").unwrap();
    assert_eq!(entries[step + 1], "0 journaled 3 ", "what is new comes last");
    entries.drain(step..step + 2);
    // The first exchange is in the journal, and no longer in the log.
    assert_eq!(
        entries,
        ["0 journaled 2 ", "3 POST /v1/chat/completions", "3 head 200", "3 data: {\"choices\":[]}"]
    );
    let (recovered, sealed) = killed.recover(run.key());
    assert_eq!(recovered, Recovered { requests: 0, answers: 0, cut: 1 });
    assert_eq!(
        sealed.types(),
        [
            "rer.run.started",
            "rer.model.called",
            "rer.model.returned",
            "rer.model.called",
            "rer.capture.gap",
            "rer.capture.gap",
            "rer.model.returned",
            "rer.run.recovered",
            "rer.run.ended",
        ]
    );
    let returned = sealed.payloads("rer.model.returned")[1];
    assert_eq!(returned["http"]["body"]["text"], EVENTS[0]);
    assert_eq!((&returned["complete"], &returned["status"]), (&false.into(), &200.into()));
    let gaps: Vec<_> = sealed.payloads("rer.capture.gap").iter().map(|gap| gap["what"].clone()).collect();
    assert_eq!(gaps, ["recorder", "answer"]);
    assert_eq!(sealed.only_payload("rer.run.ended")["status"], "crashed");

    vendor.open_gate("second");
    while !connection.read_chunk().await.unwrap().is_empty() {}
    let place = run.logs.as_ref().unwrap().0.path().to_owned();
    let run_id = run.run_id().to_string();
    assert!(place.join(&run_id).exists());
    let stopped = run.gateway.stop().await;
    assert_eq!(stopped, Ok(()));
    assert!(!place.join(&run_id).exists(), "everything is in the journal");
}

/// Pieces that arrive together are one write to the log, and stay separate for the client and in the record.
#[tokio::test]
async fn what_comes_together_is_logged_together() {
    const PIECES: usize = 40;
    let events = || {
        let event = |number| format!("data: {{\"choices\":[],\"id\":\"{number}\"}}\n\n");
        (1..PIECES).map(event).chain(["data: [DONE]\n\n".to_owned()])
    };
    let vendor = ScriptedVendor::start(Script::answering(move |_| {
        ScriptedAnswer::events(events()).wait_before(1, "rest")
    }))
    .unwrap();
    let trace = StorageTrace::default();
    let Some(run) = LiveRun::start_traced(&vendor, Durability::Process, &trace) else { return };
    let client = run.openai();
    let mut connection = client.connect().await;
    let request = client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes());
    connection.write(&request).await;
    connection.read_head().await.unwrap();
    let mut response = vec![connection.read_chunk().await.unwrap()];
    vendor.open_gate("rest");
    while response.len() < PIECES {
        response.push(connection.read_chunk().await.unwrap());
    }
    let due: Vec<Vec<u8>> = events().map(String::into_bytes).collect();
    assert_eq!(response, due);
    let is_piece = |act: &&TracedOp| match act {
        TracedOp::Append(path, bytes) => {
            path.extension().is_some_and(|extension| extension == "wal")
                && bytes.windows(5).any(|part| part == b"data:")
        }
        _ => false,
    };
    let writes = trace.ops().iter().filter(is_piece).count();
    assert!(writes < PIECES / 2, "{writes} writes for {PIECES} pieces");
    assert!(connection.read_chunk().await.unwrap().is_empty());
    let sealed = run.seal().await;
    assert_eq!(sealed.only_payload("rer.model.returned")["http"]["chunks"].as_array().unwrap().len(), PIECES);
}

/// A kill can cut the log at any byte. Each complete observation is recovered once, and the record verifies.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_may_end_at_any_byte() {
    let vendor = ScriptedVendor::start(script()).unwrap();
    let Some((run, _connection)) = with_open_stream(&vendor).await else { return };
    let whole = fs::read(KilledRun::copy_of(&run).segment()).unwrap();
    let (mut asked, mut answered) = (0, 0);
    for length in 0..=whole.len() {
        let killed = KilledRun::copy_of(&run);
        fs::write(killed.segment(), &whole[..length]).unwrap();
        let entries = killed.entries();
        if entries.is_empty() {
            // The log does not even say how long the journal was, so the journal counts.
            continue;
        }
        let (_, sealed) = killed.recover(run.key());
        let called = sealed.payloads("rer.model.called").len();
        let bodies: Vec<&str> = sealed
            .payloads("rer.model.returned")
            .iter()
            .map(|returned| returned["http"]["body"]["text"].as_str().unwrap())
            .collect();
        let has_request = entries.iter().any(|entry| entry.starts_with("3 POST"));
        let has_piece = entries.iter().any(|entry| entry.starts_with("3 data:"));
        assert_eq!(called, 1 + usize::from(has_request), "{length}: {entries:?}");
        assert_eq!(bodies.len(), called, "{length}");
        if has_request {
            assert_eq!(bodies[1], if has_piece { EVENTS[0] } else { "" }, "{length}");
        }
        asked += usize::from(has_request);
        answered += usize::from(has_piece);
    }
    assert!(asked > answered && answered > 0, "{asked} {answered}");
    vendor.open_gate("second");
}

/// Makes a few calls. Each answer must be in the journal when its client has it.
async fn the_journal_is_waited_for(run: &LiveRun) {
    for turn in 1..4 {
        run.openai().post("/chat/completions", &chat("hi", turn == 2)).await;
        assert_eq!(run.types().len(), 1 + 2 * turn, "turn {turn}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_place_for_a_log_the_journal_is_waited_for() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start_without_log(&vendor);
    the_journal_is_waited_for(&run).await;
    assert_eq!(run.seal().await.stopped, Ok(()));
}

/// Nothing is lost if the log cannot be written.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_fails_is_left_behind() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let Some(run) = LiveRun::start_with_failed_log(&vendor) else { return };
    the_journal_is_waited_for(&run).await;
    assert!(run.gateway.has_lost_its_log());
    assert!(!run.logs.as_ref().unwrap().0.join(run.run_id().to_string()).exists());
    assert_eq!(run.seal().await.stopped, Ok(()));
}

/// Secrets are in memory only, and recovered events are masked as live ones. That includes credentials known
/// only from a request that is already in the journal.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_masked_is_never_on_the_disk() {
    let secret = "correct-horse-battery-9";
    let script = Script::answering(|request| {
        let echo = request.header("authorization").unwrap_or_default().to_owned();
        ScriptedAnswer::events([format!("data: {{\"echo\":\"{echo}\"}}\n\n"), "data: [DONE]\n\n".to_owned()])
            .wait_before(1, "second")
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = LiveRun::start(&vendor);
    let Some(logs) = &run.logs else { return };
    let client = run.openai();
    let mut connection = client.connect().await;
    let authorization = format!("Bearer {secret}");
    let headers = [("authorization", authorization.as_str())];
    let body = chat(&format!("my key is {secret}"), true);
    connection.write(&client.request("POST", "/chat/completions", &headers, body.as_bytes())).await;
    connection.read_head().await.unwrap();
    assert!(!connection.read_chunk().await.unwrap().is_empty());
    journal_has(&run, 2).await;
    let holds = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
    assert!(holds(&logs.0.bytes()), "the log holds what came, as it came");
    assert!(!holds(&run.dir.bytes()));
    let (recovered, sealed) = KilledRun::copy_of(&run).recover(run.key());
    assert_eq!(recovered.cut, 1);
    assert!(!holds(&sealed.dir.bytes()));
    let echoed = sealed.only_payload("rer.model.returned")["http"]["body"]["text"].as_str().unwrap();
    assert!(echoed.starts_with("data: {\"echo\":\"Bearer [masked:credential:"), "{echoed}");
    vendor.open_gate("second");
}
