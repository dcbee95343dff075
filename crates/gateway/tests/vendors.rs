//! Vendors and their addresses: paths with and without the vendor's version, deployments, and servers of a user's own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use reenact_gateway::ReplayPace;
use reenact_testkit::{Script, ScriptedVendor};
use support::client::TestClient;
use support::enforced::EnforcedRun;
use support::{LiveRun, SealedRun};

const MESSAGE: &str =
    r#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;

/// Returns a client of the root of a route, below which the path of the base address stands.
fn client_of_root(base_url: &str, route: &str) -> TestClient {
    let at = base_url.find(&format!("/{route}")).unwrap();
    TestClient::of(&base_url[..at + route.len() + 1])
}

/// Returns the paths of all recorded requests.
fn recorded_paths(sealed: &SealedRun) -> Vec<String> {
    let called = sealed.payloads("rer.model.called").into_iter().chain(sealed.payloads("rer.http.called"));
    called.map(|called| called["http"]["path"].as_str().unwrap().to_owned()).collect()
}

/// The AI SDK asks below what it takes for the base address, which has the version; Anthropic's own clients add it.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_version_is_added_and_a_second_one_taken_out() {
    let mut vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = LiveRun::start(&vendor);
    let anthropic = client_of_root(&run.gateway.base_url("anthropic").unwrap(), "anthropic");
    let openai = client_of_root(&run.gateway.base_url("openai").unwrap(), "openai");
    for path in ["/messages", "/v1/messages", "/v1/v1/messages", "/messages/count_tokens?beta=true"] {
        assert_eq!(anthropic.post(path, MESSAGE).await.status(), 200, "{path}");
    }
    assert_eq!(openai.post("/responses", r#"{"model":"gpt-5","input":"hi"}"#).await.status(), 200);
    assert_eq!(anthropic.get("/models").await.status(), 200);
    let sent: Vec<String> = vendor.requests().into_iter().map(|request| request.path).collect();
    let due = [
        "/v1/messages",
        "/v1/messages",
        "/v1/messages",
        "/v1/messages/count_tokens?beta=true",
        "/v1/responses",
        "/v1/models",
    ];
    assert_eq!(sent, due);
    let sealed = run.seal().await;
    assert_eq!(recorded_paths(&sealed), due);

    vendor.stop();
    let replay = sealed.replay(ReplayPace::Instant);
    let anthropic = client_of_root(&replay.gateway.base_url("anthropic").unwrap(), "anthropic");
    assert_eq!(anthropic.post("/messages", MESSAGE).await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_envelope_judges_the_path_that_is_sent() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = EnforcedRun { models: vec!["claude-sonnet-4-5"], ..EnforcedRun::default() }.start(&vendor);
    let anthropic = client_of_root(&run.gateway.base_url("anthropic").unwrap(), "anthropic");
    assert_eq!(anthropic.post("/messages", MESSAGE).await.status(), 200);
    for path in ["/messages%2f..%2fbatches", "/messages/batches", "/v1/x/messages"] {
        let response = anthropic.post(path, MESSAGE).await;
        assert_eq!(response.status(), 403, "{path}: {}", response.text());
    }
    assert_eq!(vendor.requests().len(), 1);
    run.seal().await.assert_rules_pass();
}
