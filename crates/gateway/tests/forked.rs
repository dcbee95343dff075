//! Runs that go on from others: recorded answers are served and recorded as such, other requests go to their vendor.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use reenact_gateway::{ForkReply, ForkSource, ServedAnswer, ServedReply, ServedRequest};
use reenact_testkit::{Script, ScriptedVendor};
use support::{LiveRun, chat};

/// Source that decides by what the user says.
#[derive(Debug)]
struct ByWords;

impl ForkSource for ByWords {
    fn answer(&self, request: &ServedRequest<'_>) -> ForkReply {
        let says = |words: &str| String::from_utf8_lossy(request.body).contains(words);
        let json = ServedAnswer {
            status: Some(200),
            headers: vec![("content-type".into(), "application/json".into())],
            body: b"{}".to_vec(),
            ..ServedAnswer::default()
        };
        ForkReply::Served(match () {
            () if says("in pieces") => ServedReply::Answer(ServedAnswer {
                headers: vec![("content-type".into(), "text/event-stream".into())],
                body: b"data: {\"a\":1}\n\ndata: [DONE]\n\n".to_vec(),
                chunks: vec![(Duration::ZERO, 15), (Duration::from_secs(60), 14)],
                ..json
            }),
            () if says("cut") => ServedReply::Answer(ServedAnswer { is_cut: true, ..json }),
            () if says("none") => ServedReply::Answer(ServedAnswer { status: None, ..json }),
            () if says("missing") => ServedReply::Missing { code: "E_X", message: "no answer".into() },
            () if says("live") => return ForkReply::Vendor,
            () => ServedReply::Answer(json),
        })
    }
}

/// The journal names the source of each answer: those of the vendor were observed, the others came from elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn answers_are_recorded_as_what_they_are() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start_fork(&vendor, Arc::new(ByWords));
    let client = run.openai();
    let ask = async |words: &str, stream: bool| client.post("/chat/completions", &chat(words, stream)).await;
    let recorded = ask("recorded", false).await;
    assert_eq!((recorded.status(), recorded.text()), (200, "{}"));
    let stream = ask("in pieces", true).await;
    assert_eq!((stream.text(), stream.chunks.len()), ("data: {\"a\":1}\n\ndata: [DONE]\n\n", 2));
    assert_eq!(ask("live", false).await.status(), 200);
    let missing = ask("missing", false).await;
    assert!(missing.status() == 400 && missing.text().contains("E_X"), "{}", missing.text());
    assert!(!ask("cut", false).await.is_whole);
    let none = client.send("POST", "/chat/completions", &[], chat("none", false).as_bytes()).await;
    assert!(none.is_none());
    assert_eq!(vendor.requests().len(), 1);
    let sealed = run.seal().await;
    assert_eq!(sealed.stopped, Ok(()));
    let of = |kind: &str, member: &str| -> Vec<String> {
        let events = sealed.events.iter().filter(|(name, _)| name == kind);
        events.map(|(_, payload)| payload[member].to_string().replace('"', "")).collect()
    };
    assert_eq!(of("rer.model.called", "source"), ["observed"; 4]);
    assert_eq!(of("rer.model.returned", "source"), ["imported", "imported", "observed", "imported"]);
    assert_eq!(of("rer.model.returned", "complete"), ["true", "true", "true", "false"]);
    assert_eq!(of("rer.capture.gap", "what"), ["request to openai"; 2]);
    assert_eq!(of("rer.capture.gap", "why").iter().filter(|why| why.starts_with("E_X: ")).count(), 1);
    let summary = sealed.run.summary();
    assert_eq!((summary.model_calls, summary.from_record, summary.incomplete), (4, 3, 1));
}
