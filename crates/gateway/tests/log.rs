//! The write-ahead log: what an agent has seen was there before it saw it, and is recovered when the recorder is gone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;

use reenact_capture::Recovered;
use reenact_record::Durability;
use reenact_testkit::{Answer, Script, Vendor};
use support::trace::{Act, Trace};
use support::wreck::Wreck;
use support::{Flight, chat};

const EVENTS: [&str; 3] = ["data: {\"choices\":[]}\n\n", "data: {\"choices\":[{}]}\n\n", "data: [DONE]\n\n"];

/// A whole answer, then a stream that stands before its second piece until it is let go.
fn script() -> Script {
    Script::answering(move |request| match request.index {
        0 => Answer::json(200, "{\"choices\":[]}"),
        _ => Answer::events(EVENTS).wait_before(1, "second"),
    })
}

/// Waits until the scribe has written so many events.
async fn journal_has(flight: &Flight, events: usize) {
    while flight.types().len() < events {
        tokio::task::yield_now().await;
    }
}

/// A flight in which a stream stands after its first piece, which the client has.
async fn standing(vendor: &Vendor) -> Option<(Flight, support::client::Connection)> {
    let flight = Flight::to(vendor);
    flight.logs.as_ref()?;
    let client = flight.openai();
    client.post("/chat/completions", &chat("first", false)).await;
    journal_has(&flight, 3).await;
    let mut connection = client.connect().await;
    let request = client.request("POST", "/chat/completions", &[], chat("second", true).as_bytes());
    connection.write(&request).await;
    connection.head().await.unwrap();
    assert_eq!(connection.chunk().await.unwrap(), EVENTS[0].as_bytes());
    journal_has(&flight, 4).await;
    Some((flight, connection))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_agent_has_seen_is_in_the_log_and_comes_back() {
    let vendor = Vendor::start(script()).unwrap();
    let Some((flight, mut connection)) = standing(&vendor).await else { return };
    // The scribe comes to it when it comes to it.
    let wreck = loop {
        let wreck = Wreck::of(&flight);
        if wreck.entries().iter().any(|entry| entry == "0 journaled 3 ") {
            break wreck;
        }
        tokio::task::yield_now().await;
    };
    let mut entries = wreck.entries();
    let step = entries.iter().position(|entry| entry == "3 journaled 2 s2").unwrap();
    assert_eq!(entries[step + 1], "0 journaled 3 ", "what is new comes last");
    entries.drain(step..step + 2);
    // The first exchange is in the journal, and gone from the log.
    assert_eq!(
        entries,
        ["0 journaled 2 ", "3 POST /v1/chat/completions", "3 head 200", "3 data: {\"choices\":[]}"]
    );
    let (recovered, landed) = wreck.recover(flight.key());
    assert_eq!(recovered, Recovered { requests: 0, answers: 0, cut: 1 });
    assert_eq!(
        landed.types(),
        [
            "rer.run.started",
            "rer.model.called",
            "rer.model.returned",
            "rer.model.called",
            "rer.capture.gap",
            "rer.capture.gap",
            "rer.model.returned",
            "rer.run.ended",
        ]
    );
    let returned = landed.all("rer.model.returned")[1];
    assert_eq!(returned["http"]["body"]["text"], EVENTS[0]);
    assert_eq!((&returned["complete"], &returned["status"]), (&false.into(), &200.into()));
    let gaps: Vec<_> = landed.all("rer.capture.gap").iter().map(|gap| gap["what"].clone()).collect();
    assert_eq!(gaps, ["recorder", "answer"]);
    assert_eq!(landed.the("rer.run.ended")["status"], "crashed");

    vendor.open("second");
    while !connection.chunk().await.unwrap().is_empty() {}
    let place = flight.logs.as_ref().unwrap().0.path().to_owned();
    let run_id = flight.run_id().to_string();
    assert!(place.join(&run_id).exists());
    let stopped = flight.gateway.stop().await;
    assert_eq!(stopped, Ok(()));
    assert!(!place.join(&run_id).exists(), "everything is in the journal");
}

/// Pieces that come together are one write to the log, and stay pieces: for the client, and in the record.
#[tokio::test]
async fn what_comes_together_is_logged_together() {
    const PIECES: usize = 40;
    let events = || {
        let event = |number| format!("data: {{\"choices\":[],\"id\":\"{number}\"}}\n\n");
        (1..PIECES).map(event).chain(["data: [DONE]\n\n".to_owned()])
    };
    let vendor =
        Vendor::start(Script::answering(move |_| Answer::events(events()).wait_before(1, "rest"))).unwrap();
    let trace = Trace::default();
    let Some(flight) = Flight::traced(&vendor, Durability::Process, &trace) else { return };
    let client = flight.openai();
    let mut connection = client.connect().await;
    let request = client.request("POST", "/chat/completions", &[], chat("hi", true).as_bytes());
    connection.write(&request).await;
    connection.head().await.unwrap();
    let mut got = vec![connection.chunk().await.unwrap()];
    vendor.open("rest");
    while got.len() < PIECES {
        got.push(connection.chunk().await.unwrap());
    }
    let due: Vec<Vec<u8>> = events().map(String::into_bytes).collect();
    assert_eq!(got, due);
    let is_piece = |act: &&Act| match act {
        Act::Append(path, bytes) => {
            path.extension().is_some_and(|extension| extension == "wal")
                && bytes.windows(5).any(|part| part == b"data:")
        }
        _ => false,
    };
    let writes = trace.acts().iter().filter(is_piece).count();
    assert!(writes < PIECES / 2, "{writes} writes for {PIECES} pieces");
    assert!(connection.chunk().await.unwrap().is_empty());
    let landed = flight.land().await;
    assert_eq!(landed.the("rer.model.returned")["http"]["chunks"].as_array().unwrap().len(), PIECES);
}

/// A kill can cut the log anywhere. Whatever is whole comes back once, and what is made of it holds.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_may_end_at_any_byte() {
    let vendor = Vendor::start(script()).unwrap();
    let Some((flight, _connection)) = standing(&vendor).await else { return };
    let whole = fs::read(Wreck::of(&flight).segment()).unwrap();
    let (mut asked, mut answered) = (0, 0);
    for length in 0..=whole.len() {
        let wreck = Wreck::of(&flight);
        fs::write(wreck.segment(), &whole[..length]).unwrap();
        let entries = wreck.entries();
        if entries.is_empty() {
            // Not even how long the journal was: it stands for itself.
            continue;
        }
        let (_, landed) = wreck.recover(flight.key());
        let called = landed.all("rer.model.called").len();
        let bodies: Vec<&str> = landed
            .all("rer.model.returned")
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
    vendor.open("second");
}

/// Makes a few calls; each answer must be in the journal when its client has it.
async fn the_journal_is_waited_for(flight: &Flight) {
    for turn in 1..4 {
        flight.openai().post("/chat/completions", &chat("hi", turn == 2)).await;
        assert_eq!(flight.types().len(), 1 + 2 * turn, "turn {turn}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_place_for_a_log_the_journal_is_waited_for() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let flight = Flight::waiting(&vendor);
    the_journal_is_waited_for(&flight).await;
    assert_eq!(flight.land().await.stopped, Ok(()));
}

/// A log that cannot be written is no reason to lose anything.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_fails_is_left_behind() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let Some(flight) = Flight::with_failed_log(&vendor) else { return };
    the_journal_is_waited_for(&flight).await;
    assert!(flight.gateway.has_lost_its_log());
    assert!(!flight.logs.as_ref().unwrap().0.join(flight.run_id().to_string()).exists());
    assert_eq!(flight.land().await.stopped, Ok(()));
}

/// Secrets lie in memory only, and what is recovered is masked as it would have been: also with what is known to be a
/// credential from a request alone that is in the journal already.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_masked_is_never_on_the_disk() {
    let secret = "correct-horse-battery-9";
    let script = Script::answering(|request| {
        let echo = request.header("authorization").unwrap_or_default().to_owned();
        Answer::events([format!("data: {{\"echo\":\"{echo}\"}}\n\n"), "data: [DONE]\n\n".to_owned()])
            .wait_before(1, "second")
    });
    let vendor = Vendor::start(script).unwrap();
    let flight = Flight::to(&vendor);
    let Some(logs) = &flight.logs else { return };
    let client = flight.openai();
    let mut connection = client.connect().await;
    let authorization = format!("Bearer {secret}");
    let headers = [("authorization", authorization.as_str())];
    let body = chat(&format!("my key is {secret}"), true);
    connection.write(&client.request("POST", "/chat/completions", &headers, body.as_bytes())).await;
    connection.head().await.unwrap();
    assert!(!connection.chunk().await.unwrap().is_empty());
    journal_has(&flight, 2).await;
    let holds = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
    assert!(holds(&logs.0.bytes()), "the log holds what came, as it came");
    assert!(!holds(&flight.place.bytes()));
    let (recovered, landed) = Wreck::of(&flight).recover(flight.key());
    assert_eq!(recovered.cut, 1);
    assert!(!holds(&landed.place.bytes()));
    let echoed = landed.the("rer.model.returned")["http"]["body"]["text"].as_str().unwrap();
    assert!(echoed.starts_with("data: {\"echo\":\"Bearer [masked:credential:"), "{echoed}");
    vendor.open("second");
}
