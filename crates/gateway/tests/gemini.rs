//! Gemini through the gateway: recorded, replayed, and under an envelope. It differs from other interfaces in
//! four ways: models in paths, calls without ids, streams without a last event, and lists of documents.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use reenact_gateway::ReplayPace;
use reenact_testkit::{Script, ScriptedReply, ScriptedVendor};
use reenact_wire::Endpoint;
use reenact_wire::error_reply::DenialReply;
use serde_json::Value;
use support::enforced::EnforcedRun;
use support::{LiveRun, SealedRun};

const MODEL: &str = "gemini-2.5-flash";
const HELLO: &str = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#;
/// Request of an agent that ran the tool of the last answer.
const RAN: &str = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"lookup","args":{"n":1}}}]},{"role":"user","parts":[{"functionResponse":{"name":"lookup","response":{"result":"42"}}}]}]}"#;
/// Verbs for a document, a stream of events, and a list.
const VERBS: [&str; 3] = ["generateContent", "streamGenerateContent?alt=sse", "streamGenerateContent"];

fn path(verb: &str) -> String {
    format!("/v1beta/models/{MODEL}:{verb}")
}

fn enforced_run() -> EnforcedRun {
    EnforcedRun { models: vec![MODEL], ..EnforcedRun::default() }
}

/// Returns a script that calls `tool`, and accepts any result.
fn asking_for(tool: &'static str) -> Script {
    Script::replying(move |request| match request.parsed().tool_results.len() {
        0 => ScriptedReply::text("One moment.").and_call(tool, r#"{"n":1}"#),
        _ => ScriptedReply::text("done"),
    })
}

/// Returns name, input and output of each tool call.
fn tools(sealed: &SealedRun) -> Vec<(String, String, String)> {
    let called = sealed.payloads("rer.tool.called").into_iter().zip(sealed.payloads("rer.tool.returned"));
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    called
        .map(|(called, returned)| (text(&called["tool"]), text(&called["input"]), text(&returned["output"])))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_and_replayed_in_every_form() {
    let mut vendor = ScriptedVendor::start(asking_for("lookup")).unwrap();
    let run = LiveRun::start(&vendor);
    let mut recorded = Vec::new();
    for verb in VERBS {
        for body in [HELLO, RAN] {
            recorded.push(run.gemini().post(&path(verb), body).await);
        }
    }
    recorded.push(run.gemini().post(&path("countTokens"), HELLO).await);
    recorded.push(run.gemini().get("/v1beta/models").await);
    let sealed = run.seal().await;
    vendor.stop();

    let called = sealed.payloads("rer.model.called");
    assert!(called.iter().all(|called| called["model"] == MODEL), "{called:?}");
    assert!(called[..6].iter().all(|called| called["endpoint"] == "generateContent"));
    // The same conversation in three forms: its one call is recorded once.
    assert_eq!(tools(&sealed), [("lookup".into(), r#"{"n":1}"#.into(), "42".into())]);

    let replay = sealed.replay(ReplayPace::Instant);
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
    assert_eq!(miss.status(), 400);
    assert_eq!(
        (&error["error"]["code"], &error["error"]["status"]),
        (&400.into(), &"INVALID_ARGUMENT".into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_in_queries_and_headers_are_masked() {
    const KEY: &str = "AIzaSyA-0123456789abcdefghijklmnopqrstu";
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let asked = format!("{}?key={KEY}", path("generateContent"));
    assert_eq!(run.gemini().post(&asked, HELLO).await.status(), 200);
    let other = "not-of-a-shape-that-anyone-knows";
    let asked = format!("{}?alt=sse&key={other}", path("streamGenerateContent"));
    let headers = [("x-goog-api-key", KEY)];
    let client = run.gemini();
    assert_eq!(client.send("POST", &asked, &headers, HELLO.as_bytes()).await.unwrap().status(), 200);
    assert_eq!(vendor.requests()[1].header("x-goog-api-key"), Some(KEY));
    let sealed = run.seal().await;
    let bytes = String::from_utf8_lossy(&sealed.dir.bytes()).into_owned();
    assert!(!bytes.contains(KEY) && !bytes.contains(other));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_caches_are_no_calls_of_models() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    run.gemini().post("/v1beta/cachedContents", r#"{"model":"models/m"}"#).await;
    let sealed = run.seal().await;
    assert_eq!(sealed.only_payload("rer.http.called")["http"]["path"], "/v1beta/cachedContents");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_tool_is_seen_in_no_form() {
    let reason = "the tool \"pay_invoice\" is not on the list";
    let denial = DenialReply::new("allowed_tools", reason, None);
    for verb in VERBS {
        let vendor = ScriptedVendor::start(asking_for("pay_invoice")).unwrap();
        let run = enforced_run().start(&vendor);
        let response = run.gemini().post(&path(verb), HELLO).await;
        let is_stream = verb.ends_with("sse");
        if is_stream {
            let event = denial.event(Endpoint::GENERATE_CONTENT);
            assert!(
                response.text().contains("One ") && response.text().ends_with(&event),
                "{}",
                response.text()
            );
        } else {
            let body = denial.body(reenact_wire::Vendor::GEMINI);
            assert_eq!((response.status(), response.text()), (403, body.as_str()), "{verb}");
        }
        assert!(!response.text().contains("functionCall"), "{verb}");
        let sealed = run.seal().await;
        assert_eq!(sealed.decisions(), [(MODEL, None), ("pay_invoice", Some("allowed_tools"))], "{verb}");
        sealed.assert_rules_pass();
        // The replay serves the denial again.
        let played = sealed.replay(ReplayPace::Instant).gemini().post(&path(verb), HELLO).await;
        assert_eq!((played.status(), played.text()), (response.status(), response.text()), "{verb}");
    }
}

/// Asked for, allowed, called, returned: a call without an id is the same call at each step.
#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_tool_goes_round_once() {
    for verb in VERBS {
        let vendor = ScriptedVendor::start(asking_for("lookup")).unwrap();
        let run = enforced_run().start(&vendor);
        for body in [HELLO, RAN] {
            let response = run.gemini().post(&path(verb), body).await;
            assert_eq!((response.status(), response.is_whole), (200, true), "{verb}");
        }
        let sealed = run.seal().await;
        assert_eq!(tools(&sealed), [("lookup".into(), r#"{"n":1}"#.into(), "42".into())], "{verb}");
        assert_eq!(sealed.decisions(), [(MODEL, None), ("lookup", None), (MODEL, None)], "{verb}");
        sealed.assert_rules_pass();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_envelope_lets_out() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let flight = enforced_run().start(&vendor);
    let client = flight.gemini();
    let status = async |path: &str, body: &str| client.post(path, body).await.status();
    assert_eq!(status(&path("generateContent"), HELLO).await, 200);
    assert_eq!(status(&path("countTokens"), HELLO).await, 200);
    assert_eq!(status(&path("embedContent"), r#"{"content":{}}"#).await, 200);
    // Another model, a tool of the vendor, stored content, and an unknown verb.
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
    flight.seal().await.assert_rules_pass();
}
