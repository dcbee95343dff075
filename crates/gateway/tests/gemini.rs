//! Gemini through the gateway: recorded, replayed, and under an envelope. What it has that others have not: models in paths, calls
//! without ids, streams without a last event, lists of documents.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use reenact_gateway::Pace;
use reenact_testkit::{Reply, Script, Vendor};
use reenact_wire::Endpoint;
use reenact_wire::refusal::Denial;
use serde_json::Value;
use support::enforced::Law;
use support::{Flight, Landed};

const MODEL: &str = "gemini-2.5-flash";
const HELLO: &str = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#;
/// What an agent sends that has run the tool which it was asked for.
const RAN: &str = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"lookup","args":{"n":1}}}]},{"role":"user","parts":[{"functionResponse":{"name":"lookup","response":{"result":"42"}}}]}]}"#;
/// A document, a stream of events, a list.
const VERBS: [&str; 3] = ["generateContent", "streamGenerateContent?alt=sse", "streamGenerateContent"];

fn path(verb: &str) -> String {
    format!("/v1beta/models/{MODEL}:{verb}")
}

fn law() -> Law {
    Law { models: vec![MODEL], ..Law::default() }
}

/// Asks for `tool`, and is content with any result.
fn asking_for(tool: &'static str) -> Script {
    Script::replying(move |request| match request.reading().tool_results.len() {
        0 => Reply::text("One moment.").and_call(tool, r#"{"n":1}"#),
        _ => Reply::text("done"),
    })
}

/// Each tool: its id, name and input, and what came of it.
fn tools(landed: &Landed) -> Vec<(String, String, String)> {
    let called = landed.all("rer.tool.called").into_iter().zip(landed.all("rer.tool.returned"));
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    called
        .map(|(called, returned)| (text(&called["tool"]), text(&called["input"]), text(&returned["output"])))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_and_replayed_in_every_form() {
    let mut vendor = Vendor::start(asking_for("lookup")).unwrap();
    let flight = Flight::to(&vendor);
    let mut recorded = Vec::new();
    for verb in VERBS {
        for body in [HELLO, RAN] {
            recorded.push(flight.gemini().post(&path(verb), body).await);
        }
    }
    recorded.push(flight.gemini().post(&path("countTokens"), HELLO).await);
    recorded.push(flight.gemini().get("/v1beta/models").await);
    let landed = flight.land().await;
    vendor.stop();

    let called = landed.all("rer.model.called");
    assert!(called.iter().all(|called| called["model"] == MODEL), "{called:?}");
    assert!(called[..6].iter().all(|called| called["endpoint"] == "generateContent"));
    // The same conversation in three forms: its one call is told once.
    assert_eq!(tools(&landed), [("lookup".into(), r#"{"n":1}"#.into(), "42".into())]);

    let replay = landed.replay(Pace::Instant);
    let mut played = Vec::new();
    for verb in VERBS {
        for body in [HELLO, RAN] {
            played.push(replay.gemini().post(&path(verb), body).await);
        }
    }
    played.push(replay.gemini().post(&path("countTokens"), HELLO).await);
    played.push(replay.gemini().get("/v1beta/models").await);
    for (recorded, played) in recorded.iter().zip(&played) {
        assert_eq!((recorded.status(), recorded.text()), (played.status(), played.text()));
        assert_eq!(recorded.header("content-type"), played.header("content-type"));
    }
    let miss = replay.gemini().post(&path("generateContent"), "{}").await;
    let error: Value = serde_json::from_slice(&miss.body).unwrap();
    assert_eq!((&error["error"]["code"], &error["error"]["status"]), (&404.into(), &"NOT_FOUND".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_in_queries_and_headers_are_masked() {
    const KEY: &str = "AIzaSyA-0123456789abcdefghijklmnopqrstu";
    let vendor = Vendor::start(Script::echo()).unwrap();
    let flight = Flight::to(&vendor);
    let asked = format!("{}?key={KEY}", path("generateContent"));
    assert_eq!(flight.gemini().post(&asked, HELLO).await.status(), 200);
    let other = "not-of-a-shape-that-anyone-knows";
    let asked = format!("{}?alt=sse&key={other}", path("streamGenerateContent"));
    let headers = [("x-goog-api-key", KEY)];
    let client = flight.gemini();
    assert_eq!(client.send("POST", &asked, &headers, HELLO.as_bytes()).await.unwrap().status(), 200);
    assert_eq!(vendor.requests()[1].header("x-goog-api-key"), Some(KEY));
    let landed = flight.land().await;
    let bytes = String::from_utf8_lossy(&landed.place.bytes()).into_owned();
    assert!(!bytes.contains(KEY) && !bytes.contains(other));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_caches_are_no_calls_of_models() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let flight = Flight::to(&vendor);
    flight.gemini().post("/v1beta/cachedContents", r#"{"model":"models/m"}"#).await;
    let landed = flight.land().await;
    assert_eq!(landed.the("rer.http.called")["http"]["path"], "/v1beta/cachedContents");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_tool_is_seen_in_no_form() {
    let reason = "the tool \"pay_invoice\" is not on the list";
    let denial = Denial::new("allowed_tools", reason, None);
    for verb in VERBS {
        let vendor = Vendor::start(asking_for("pay_invoice")).unwrap();
        let flight = law().over(&vendor);
        let got = flight.gemini().post(&path(verb), HELLO).await;
        let is_stream = verb.ends_with("sse");
        if is_stream {
            let event = denial.event(Endpoint::GENERATE_CONTENT);
            assert!(got.text().contains("One ") && got.text().ends_with(&event), "{}", got.text());
        } else {
            let body = denial.body(reenact_wire::Vendor::GEMINI);
            assert_eq!((got.status(), got.text()), (403, body.as_str()), "{verb}");
        }
        assert!(!got.text().contains("functionCall"), "{verb}");
        let landed = flight.land().await;
        assert_eq!(landed.decisions(), [(MODEL, None), ("pay_invoice", Some("allowed_tools"))], "{verb}");
        landed.is_kept();
        // It is denied again when it is played.
        let played = landed.replay(Pace::Instant).gemini().post(&path(verb), HELLO).await;
        assert_eq!((played.status(), played.text()), (got.status(), got.text()), "{verb}");
    }
}

/// Asked for, allowed, called, returned: a call without an id is the same call all the way.
#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_tool_goes_round_once() {
    for verb in VERBS {
        let vendor = Vendor::start(asking_for("lookup")).unwrap();
        let flight = law().over(&vendor);
        for body in [HELLO, RAN] {
            let got = flight.gemini().post(&path(verb), body).await;
            assert_eq!((got.status(), got.is_whole), (200, true), "{verb}");
        }
        let landed = flight.land().await;
        assert_eq!(tools(&landed), [("lookup".into(), r#"{"n":1}"#.into(), "42".into())], "{verb}");
        assert_eq!(landed.decisions(), [(MODEL, None), ("lookup", None), (MODEL, None)], "{verb}");
        landed.is_kept();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_envelope_lets_out() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let flight = law().over(&vendor);
    let client = flight.gemini();
    let status = async |path: &str, body: &str| client.post(path, body).await.status();
    assert_eq!(status(&path("generateContent"), HELLO).await, 200);
    assert_eq!(status(&path("countTokens"), HELLO).await, 200);
    assert_eq!(status(&path("embedContent"), r#"{"content":{}}"#).await, 200);
    // Another model, a tool of the vendor's, what the vendor keeps, and what nobody knows.
    assert_eq!(status("/v1beta/models/gemini-2.5-pro:generateContent", HELLO).await, 403);
    assert_eq!(status("/v1beta/models/gemini-2.5-pro:countTokens", HELLO).await, 403);
    assert_eq!(
        status(&path("generateContent"), r#"{"contents":[],"tools":[{"googleSearch":{}}]}"#).await,
        403
    );
    assert_eq!(status(&path("generateContent"), r#"{"contents":[],"cachedContent":"c"}"#).await, 403);
    assert_eq!(status("/v1beta/cachedContents", r#"{"model":"models/gemini-2.5-flash"}"#).await, 403);
    assert_eq!(status(&path("batchGenerateContent"), HELLO).await, 403);
    assert_eq!(status(&path("generateContent").replace(':', "%3A"), HELLO).await, 403);
    assert_eq!(client.get("/v1beta/interactions/x").await.status(), 403);
    assert_eq!(client.get("/v1beta/models").await.status(), 200);
    assert_eq!(vendor.requests().len(), 4);
    flight.land().await.is_kept();
}
