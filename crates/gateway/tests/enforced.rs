//! Envelope on the wire: a denied request never reaches its vendor, its client gets an error in the vendor's
//! shape, and the record verifies.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use reenact_record::Durability;
use reenact_testkit::{Script, ScriptedAnswer, ScriptedReply, ScriptedVendor, VendorFailure, WaitCondition};
use reenact_verify::audit::AuditVerdict;
use reenact_wire::Usage;
use support::enforced::{EnforcedRun, ManualClock, ModelApi};
use support::{LiveRun, chat};

const DENIED: [&str; 2] = ["policy.evaluated", "policy.step_blocked"];
const ASKED: [&str; 4] = ["policy.evaluated", "model.called", "model.returned", "spend.counted"];

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_not_on_the_list() {
    for api in ModelApi::ALL {
        for more in ["", r#","stream":true"#] {
            let vendor = ScriptedVendor::start(Script::echo()).unwrap();
            let run = EnforcedRun::default().start(&vendor);
            let response = api.client(&run).post(api.path(), &api.body("o3", more)).await;
            let due =
                api.denial_body("permission_error", "allowed_models", "the model \"o3\" is not on the list");
            assert_eq!(
                (response.status(), response.text(), response.is_whole),
                (403, due.as_str(), true),
                "{api:?}{more}"
            );
            assert_eq!(response.header("content-type"), Some("application/json"));
            assert_eq!(api.ask(&run, more).await.status(), 200, "the others go on");
            assert_eq!(vendor.requests().len(), 1, "{api:?}: what is denied never leaves");
            let sealed = run.seal().await;
            assert_eq!(sealed.inner_event_types(), [&DENIED[..], &ASKED[..]].concat());
            assert_eq!(sealed.decisions(), [("o3", Some("allowed_models")), (api.model(), None)]);
            let evaluated = sealed.payloads("rer.policy.evaluated")[0];
            assert_eq!((&evaluated["action"], &evaluated["step_id"]), (&"model.call".into(), &"s1".into()));
            let blocked = sealed.only_payload("rer.policy.step_blocked");
            assert_eq!(blocked["reason"], "the model \"o3\" is not on the list");
            assert_eq!((&blocked["model"], &blocked["step_id"]), (&"o3".into(), &"s1".into()));
            assert_eq!(sealed.only_payload("rer.model.called")["step_id"], "s2");
            sealed.assert_rules_pass();
        }
    }
}

/// Requests that the gate cannot judge, or whose tools the vendor would run: unknown interfaces, stored
/// answers, no model.
#[tokio::test(flavor = "multi_thread")]
async fn requests_that_nobody_could_judge() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = EnforcedRun::default().start(&vendor);
    let unknown =
        |method, path| format!("{method} /v1{path} may ask for tools in a way that is not known here");
    let nameless = "the request does not tell which model it asks".to_owned();
    let cases = [
        ("POST", "/completions", r#"{"model":"gpt-5"}"#, "allowed_tools", unknown("POST", "/completions")),
        (
            "POST",
            "/threads/runs?a=/embeddings",
            r#"{"model":"gpt-5"}"#,
            "allowed_tools",
            unknown("POST", "/threads/runs"),
        ),
        ("DELETE", "/responses/resp_1", "", "allowed_tools", unknown("DELETE", "/responses/resp_1")),
        (
            "POST",
            "/responses/resp_1/cancel",
            "",
            "allowed_tools",
            unknown("POST", "/responses/resp_1/cancel"),
        ),
        // Stored answers could be fetched later, with their tool calls.
        ("GET", "/responses/resp_1?stream=true", "", "allowed_tools", unknown("GET", "/responses/resp_1")),
        (
            "GET",
            "/resp%6Fnses/resp_1",
            "",
            "unknown_form",
            "GET /v1/resp%6Fnses/resp_1 has a sign in its path or query that servers read in different ways (%, ;, .., // or the like)".to_owned(),
        ),
        ("GET", "/files/file_1/content", "", "allowed_tools", unknown("GET", "/files/file_1/content")),
        ("GET", "/chat/completions/1", "", "allowed_tools", unknown("GET", "/chat/completions/1")),
        ("POST", "/chat/completions", "", "allowed_models", nameless.clone()),
        ("POST", "/chat/completions", "{", "allowed_models", nameless.clone()),
        (
            "POST",
            "/chat/completions",
            r#"{"model":"o3","model":"gpt-5"}"#,
            "allowed_models",
            nameless.clone(),
        ),
        ("POST", "/chat/completions", r#"{"model":["gpt-5"]}"#, "allowed_models", nameless.clone()),
        (
            "POST",
            "/embeddings",
            r#"{"model":"embed"}"#,
            "allowed_models",
            "the model \"embed\" is not on the list".into(),
        ),
        (
            "POST",
            "/responses",
            r#"{"model":"gpt-5","input":"x","tools":[{"type":"function","name":"f"},{"type":"web_search"}]}"#,
            "allowed_tools",
            "the vendor's own tool \"web_search\" is not on the list".into(),
        ),
    ];
    for (method, path, body, rule, reason) in &cases {
        let response = run.openai().send(method, path, &[], body.as_bytes()).await.unwrap();
        let due = ModelApi::Chat.denial_body("permission_error", rule, reason);
        assert_eq!((response.status(), response.text()), (403, due.as_str()), "{method} {path} {body}");
    }
    assert_eq!(vendor.requests(), []);
    // These cannot return tool calls.
    assert_eq!(run.openai().get("/models").await.status(), 200);
    assert_eq!(run.openai().get("/models/gpt-5").await.body, vendor.sent_answers()[1].body);
    let sealed = run.seal().await;
    assert_eq!(sealed.payloads("rer.policy.step_blocked").len(), cases.len());
    assert_eq!(sealed.payloads("rer.http.called").len(), 2);
    sealed.assert_rules_pass();
}

#[tokio::test(flavor = "multi_thread")]
async fn vendors_tools_that_are_on_the_list_may_be_asked_for() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let enforced = EnforcedRun { tools: vec!["web_search", "mcp:git"], ..EnforcedRun::default() };
    let run = enforced.start(&vendor);
    let more =
        r#","tools":[{"type":"web_search_20250305","name":"web_search"}],"mcp_servers":[{"name":"git"}]"#;
    assert_eq!(ModelApi::Messages.ask(&run, more).await.status(), 200);
    let other = more.replace("git", "hub");
    let response = ModelApi::Messages.ask(&run, &other).await;
    let due = ModelApi::Messages.denial_body(
        "permission_error",
        "allowed_tools",
        "the vendor's own tool \"mcp:hub\" is not on the list",
    );
    assert_eq!((response.status(), response.text(), vendor.requests().len()), (403, due.as_str(), 1));
    run.seal().await.assert_rules_pass();
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_in_a_coding_is_read() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = EnforcedRun::default().start(&vendor);
    let client = run.openai();
    let (good, bad) = (gzip(&chat("hi", false)), gzip(&ModelApi::Chat.body("o3", "")));
    let torn = &good[..good.len() - 4];
    let list = |name: &str| ModelApi::Chat.denial_body("permission_error", "allowed_models", name);
    let nameless = list("the request does not tell which model it asks");
    for (coding, body, due) in [
        ("gzip", &bad[..], list("the model \"o3\" is not on the list")),
        ("gzip", torn, nameless.clone()),
        ("gzip, zstd", &good, nameless.clone()),
        ("snappy", &good, nameless.clone()),
        ("", &good, nameless),
    ] {
        let response =
            client.send("POST", "/chat/completions", &[("content-encoding", coding)], body).await.unwrap();
        assert_eq!((response.status(), response.text()), (403, due.as_str()), "{coding}");
    }
    assert_eq!(vendor.requests(), []);
    let response =
        client.send("POST", "/chat/completions", &[("Content-Encoding", "gzip")], &good).await.unwrap();
    assert_eq!((response.status(), vendor.requests()[0].body.to_vec()), (200, good), "it leaves as it came");
    run.seal().await.assert_rules_pass();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once_never_take_more_steps_than_there_are() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = EnforcedRun::with_limits(r#"{"max_steps":5}"#).start(&vendor);
    let client = run.openai();
    let asking = (0..16).map(|number| {
        let client = client.clone();
        tokio::spawn(async move { client.post("/chat/completions", &chat("hi", number % 2 == 0)).await })
    });
    let mut statuses = Vec::new();
    for asked in asking.collect::<Vec<_>>() {
        let response = asked.await.unwrap();
        if response.status() == 403 {
            let reason = "5 actions are allowed, and as many have begun";
            assert_eq!(response.text(), ModelApi::Chat.denial_body("permission_error", "max_steps", reason));
        }
        statuses.push(response.status());
    }
    statuses.sort();
    assert_eq!(statuses, [vec![200; 5], vec![403; 11]].concat());
    assert_eq!(vendor.requests().len(), 5);
    let sealed = run.seal().await;
    assert_eq!(
        (sealed.payloads("rer.model.called").len(), sealed.payloads("rer.policy.step_blocked").len()),
        (5, 11)
    );
    sealed.assert_rules_pass();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_is_kept_and_says_when_to_come_back() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let enforced = EnforcedRun::with_limits(r#"{"rate_limit_rpm":2}"#);
    let clock = enforced.clock.clone();
    let run = enforced.start(&vendor);
    let reason = "2 actions are allowed in 60 seconds, and as many have begun";
    let due = ModelApi::Messages.denial_body("rate_limit_error", "rate_limit_rpm", reason);
    let wait = |seconds: f64| clock.advance(Duration::from_secs_f64(seconds));
    assert_eq!(ModelApi::Messages.ask(&run, "").await.status(), 200);
    wait(20.0);
    assert_eq!(ModelApi::Messages.ask(&run, "").await.status(), 200);
    for (after, left) in [(0.0, "40"), (0.5, "40"), (39.0, "1")] {
        wait(after);
        let response = ModelApi::Messages.ask(&run, "").await;
        assert_eq!(
            (response.status(), response.text(), response.header("retry-after")),
            (429, due.as_str(), Some(left))
        );
    }
    wait(0.5);
    assert_eq!(ModelApi::Messages.ask(&run, "").await.status(), 200, "being sent away used nothing up");
    assert_eq!(ModelApi::Messages.ask(&run, "").await.header("retry-after"), Some("20"));
    assert_eq!(vendor.requests().len(), 3);
    run.seal().await.assert_rules_pass();
}

/// Usage that costs 0.00225 dollars with gpt-5.
const USAGE: Usage =
    Usage { input_tokens: 1000, output_tokens: 100, cached_input_tokens: 0, cache_write_tokens: 0 };

#[tokio::test(flavor = "multi_thread")]
async fn what_was_spent_is_counted_to_the_limit() {
    let script = Script::answering(|request| match request.index {
        0 => ScriptedReply::text("a").with_usage(USAGE).answer(request),
        // A failed request costs nothing, whatever usage it reports.
        1 => VendorFailure::new(503).answer(request),
        2 => ScriptedAnswer::json(400, r#"{"usage":{"prompt_tokens":9000000,"completion_tokens":1}}"#),
        // An answer without usage costs at least the estimate, and what was reserved for it stays reserved.
        3 => ScriptedAnswer::json(200, "{}"),
        _ => ScriptedReply::text("b").with_usage(USAGE).answer(request),
    });
    let vendor = ScriptedVendor::start(script).unwrap();
    let estimate = ModelApi::Chat.body("gpt-5", "").len().div_ceil(4) as u64 * 1_250_000;
    let micros = estimate.div_ceil(1_000_000);
    let reserved = (estimate + 9 * 10_000_000).div_ceil(1_000_000);
    let limit = 2 * 2250 + reserved;
    let run = EnforcedRun::with_limits(&format!(r#"{{"max_spend_usd":{limit}e-6}}"#)).start(&vendor);
    for status in [200, 503, 400, 200, 200] {
        assert_eq!(ModelApi::Chat.ask(&run, "").await.status(), status);
    }
    let response = ModelApi::Chat.ask(&run, "").await;
    let reason =
        "denied by max_spend_usd: 0.0045 USD are spent, a call whose cost was not told may have cost 0.000";
    assert!(response.text().contains(reason), "{}", response.text());
    assert_eq!((response.status(), vendor.requests().len()), (403, 5));
    let sealed = run.seal().await;
    let counted = sealed.payloads("rer.spend.counted");
    let spent: Vec<f64> = counted.iter().map(|spent| spent["spend_usd"].as_f64().unwrap()).collect();
    #[allow(clippy::cast_precision_loss, reason = "a small number")]
    let estimated = micros as f64 / 1e6;
    assert_eq!(spent, [0.00225, 0.0, 0.0, estimated, 0.00225]);
    let is_estimate: Vec<bool> = counted.iter().map(|spent| spent["is_estimate"] == true).collect();
    assert_eq!(is_estimate, [false, false, false, true, false]);
    assert_eq!(
        (&counted[0]["rates_usd"]["input"], &counted[0]["usage"]["input"]),
        (&1.25.into(), &1000.into())
    );
    assert!(
        (sealed.only_payload("rer.run.ended")["total_spend_usd"].as_f64().unwrap() * 1e6
            - (2 * 2250 + micros) as f64)
            .abs()
            < 1e-6
    );
    assert_eq!(sealed.verdict("max_spend_usd").0, AuditVerdict::Inconclusive);
    assert_eq!(sealed.verdict("event_order").0, AuditVerdict::Pass);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_costs_more_than_is_left_is_the_last() {
    let vendor =
        ScriptedVendor::start(Script::replying(|_| ScriptedReply::text("a").with_usage(USAGE))).unwrap();
    let run = EnforcedRun::with_limits(r#"{"max_spend_usd":0.002}"#).start(&vendor);
    assert_eq!(ModelApi::Responses.ask(&run, "").await.status(), 200);
    let response = ModelApi::Responses.ask(&run, "").await;
    let reason = "0.00225 USD are spent, and 0.002 USD are allowed";
    assert_eq!(response.text(), ModelApi::Responses.denial_body("permission_error", "max_spend_usd", reason));
    assert_eq!(vendor.requests().len(), 1);
    let sealed = run.seal().await;
    let due = (AuditVerdict::Fail, "0.00225 USD were spent, allowed were 0.002 USD");
    assert_eq!(sealed.verdict("max_spend_usd"), due, "nobody could know it before, and the record says so");
    assert_eq!(sealed.verdict("event_order").0, AuditVerdict::Pass);
}

/// The gate decides with the usage that the record has, in every form of an answer.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_counted_along_is_what_is_recorded() {
    for api in [ModelApi::Chat, ModelApi::Responses, ModelApi::Messages] {
        let usage = r#","stream":true,"stream_options":{"include_usage":true}"#;
        let stream = if api == ModelApi::Messages { r#","stream":true"# } else { usage };
        for more in ["", stream] {
            let vendor =
                ScriptedVendor::start(Script::replying(|_| ScriptedReply::text("a b c").with_usage(USAGE)))
                    .unwrap();
            let run = EnforcedRun::with_limits(r#"{"max_spend_usd":0.002}"#).start(&vendor);
            assert_eq!(api.ask(&run, more).await.status(), 200);
            let response = api.ask(&run, more).await;
            let sealed = run.seal().await;
            let counted = sealed.payloads("rer.spend.counted");
            let spent: f64 = counted.iter().map(|spent| spent["spend_usd"].as_f64().unwrap()).sum();
            assert!(
                response.text().contains(&format!(": {spent} USD are spent")),
                "{more} {spent}: {}",
                response.text()
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_spends_what_nobody_can_count() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let enforced =
        EnforcedRun { models: vec!["gpt-5", "odd"], ..EnforcedRun::with_limits(r#"{"max_spend_usd":1}"#) };
    let run = enforced.start(&vendor);
    let response =
        ModelApi::Chat.client(&run).post("/chat/completions", &ModelApi::Chat.body("odd", "")).await;
    let reason = "nobody knows what \"odd\" costs, and 1.00 USD are allowed; give it a price";
    let due = ModelApi::Chat.denial_body("permission_error", "max_spend_usd", reason);
    assert_eq!((response.status(), response.text(), vendor.requests().len()), (403, due.as_str(), 0));
    run.seal().await.assert_rules_pass();
    let run = EnforcedRun { models: vec!["odd"], ..EnforcedRun::default() }.start(&vendor);
    let response =
        ModelApi::Chat.client(&run).post("/chat/completions", &ModelApi::Chat.body("odd", "")).await;
    assert_eq!(response.status(), 200, "without a limit it need not be counted");
    let sealed = run.seal().await;
    assert_eq!(sealed.inner_event_types(), ASKED[..3]);
    sealed.assert_rules_pass();
}

#[tokio::test(flavor = "multi_thread")]
async fn it_expires_while_a_call_is_under_way() {
    let script = Script::echo().map(|_, answer| answer.wait_before(0, "answer"));
    let vendor = ScriptedVendor::start(script).unwrap();
    let mut enforced = EnforcedRun::default();
    enforced.envelope_limits += r#","expiry":"2026-05-13T12:00:10Z""#;
    let clock: ManualClock = enforced.clock.clone();
    let run = enforced.start(&vendor);
    clock.advance(Duration::from_micros(9_999_999));
    let client = run.openai();
    let asked = tokio::spawn(async move { client.post("/chat/completions", &chat("hi", false)).await });
    vendor.wait_async(WaitCondition::Requests(1)).await;
    clock.advance(Duration::from_micros(1));
    vendor.open_gate("answer");
    assert_eq!(asked.await.unwrap().status(), 200);
    let response = ModelApi::Chat.ask(&run, "").await;
    let due = ModelApi::Chat.denial_body("permission_error", "expiry", "the envelope has expired");
    assert_eq!((response.status(), response.text(), vendor.requests().len()), (403, due.as_str(), 1));
    let sealed = run.seal().await;
    assert_eq!(sealed.inner_event_types(), [&ASKED[..], &DENIED[..]].concat());
    sealed.assert_rules_pass();
}

/// The run's folder is gone, and another file is in the journal's place.
#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_is_lost_ends_an_enforced_run_and_no_other() {
    for is_enforced in [true, false] {
        let vendor = ScriptedVendor::start(Script::echo()).unwrap();
        let enforced = EnforcedRun { durability: Durability::Machine, ..EnforcedRun::default() };
        let run = if is_enforced { enforced.start(&vendor) } else { LiveRun::start_durable(&vendor) };
        let folder = run.dir.join(".reenact");
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::write(&folder, "").unwrap();
        for turn in 1..=2 {
            let response = ModelApi::Chat.ask(&run, "").await;
            if is_enforced {
                let reason = "the run cannot be recorded any more";
                let due = ModelApi::Chat.denial_body("permission_error", "event_order", reason);
                assert_eq!(
                    (response.status(), response.text(), vendor.requests().len()),
                    (403, due.as_str(), 0)
                );
            } else {
                assert_eq!((response.status(), vendor.requests().len()), (200, turn));
            }
        }
        assert!(run.gateway.unrecorded().is_some());
    }
}

/// The run's folder is removed. If it can be written again the run goes on, else it is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_removed_folder_is_noticed_while_the_run_goes_on() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let enforced = EnforcedRun::default();
    let clock = enforced.clock.clone();
    let run = enforced.start(&vendor);
    let folder = run.dir.join(".reenact");
    assert_eq!(ModelApi::Chat.ask(&run, "").await.status(), 200);
    std::fs::remove_dir_all(&folder).unwrap();
    clock.advance(Duration::from_secs(1));
    assert_eq!(ModelApi::Chat.ask(&run, "").await.status(), 200);
    // Wait until the journal is complete again, so that a kill would lose nothing.
    while !run.journal_path().exists() || run.types().len() < 1 + 2 * ASKED.len() {
        tokio::task::yield_now().await;
    }
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "").unwrap();
    clock.advance(Duration::from_secs(1));
    // An exchange that runs when the loss is noticed is still in the log, and may pass.
    ModelApi::Chat.ask(&run, "").await;
    while run.gateway.unrecorded().is_none() {
        tokio::task::yield_now().await;
    }
    let reached = vendor.requests().len();
    let response = ModelApi::Chat.ask(&run, "").await;
    let due =
        ModelApi::Chat.denial_body("permission_error", "event_order", "the run cannot be recorded any more");
    assert_eq!((response.status(), response.text(), vendor.requests().len()), (403, due.as_str(), reached));
}

/// Once anything is not recorded, no further action is allowed, whatever the reason.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_takes_no_more_ends_an_enforced_run() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = EnforcedRun::default().start(&vendor);
    let client = run.openai();
    let gateway = run.end_recorder();
    // An exchange that runs when the journal fails is still in the log, and may pass.
    client.post("/chat/completions", &chat("hi", false)).await;
    while gateway.unrecorded().is_none() {
        tokio::task::yield_now().await;
    }
    let reached = vendor.requests().len();
    assert_eq!(client.post("/chat/completions", &chat("hi", false)).await.status(), 403);
    assert_eq!(vendor.requests().len(), reached);
    assert!(gateway.stop().await.is_err());
}
