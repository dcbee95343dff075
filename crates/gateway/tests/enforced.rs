//! An envelope on the wire: a request that it denies never reaches its vendor, its client hears why in words that it knows, and
//! the record tells, and holds.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use reenact_record::Durability;
use reenact_testkit::{Answer, Failure, Moment, Reply, Script, Vendor};
use reenact_verify::audit::Verdict;
use reenact_wire::Usage;
use support::enforced::{Door, Law, Noon};
use support::{Flight, chat};

const DENIED: [&str; 2] = ["policy.evaluated", "policy.step_blocked"];
const ASKED: [&str; 4] = ["policy.evaluated", "model.called", "model.returned", "spend.counted"];

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_not_on_the_list() {
    for door in Door::ALL {
        for more in ["", r#","stream":true"#] {
            let vendor = Vendor::start(Script::echo()).unwrap();
            let flight = Law::default().over(&vendor);
            let got = door.client(&flight).post(door.path(), &door.body("o3", more)).await;
            let due = door.no("permission_error", "allowed_models", "the model \"o3\" is not on the list");
            assert_eq!((got.status(), got.text(), got.is_whole), (403, due.as_str(), true), "{door:?}{more}");
            assert_eq!(got.header("content-type"), Some("application/json"));
            assert_eq!(door.ask(&flight, more).await.status(), 200, "the others go on");
            assert_eq!(vendor.requests().len(), 1, "{door:?}: what is denied never leaves");
            let landed = flight.land().await;
            assert_eq!(landed.course(), [&DENIED[..], &ASKED[..]].concat());
            assert_eq!(landed.decisions(), [("o3", Some("allowed_models")), (door.model(), None)]);
            let evaluated = landed.all("rer.policy.evaluated")[0];
            assert_eq!((&evaluated["action"], &evaluated["step_id"]), (&"model.call".into(), &"s1".into()));
            let blocked = landed.the("rer.policy.step_blocked");
            assert_eq!(blocked["reason"], "the model \"o3\" is not on the list");
            assert_eq!((&blocked["model"], &blocked["step_id"]), (&"o3".into(), &"s1".into()));
            assert_eq!(landed.the("rer.model.called")["step_id"], "s2");
            landed.is_kept();
        }
    }
}

/// What is asked by which nobody could see what is asked for.
#[tokio::test(flavor = "multi_thread")]
async fn requests_that_nobody_could_judge() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let flight = Law::default().over(&vendor);
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
        // What a model asked for can be fetched as well as heard.
        ("GET", "/responses/resp_1?stream=true", "", "allowed_tools", unknown("GET", "/responses/resp_1")),
        ("GET", "/resp%6Fnses/resp_1", "", "allowed_tools", unknown("GET", "/resp%6Fnses/resp_1")),
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
        let got = flight.openai().send(method, path, &[], body.as_bytes()).await.unwrap();
        let due = Door::Chat.no("permission_error", rule, reason);
        assert_eq!((got.status(), got.text()), (403, due.as_str()), "{method} {path} {body}");
    }
    assert_eq!(vendor.requests(), []);
    // These ask for nothing.
    assert_eq!(flight.openai().get("/models").await.status(), 200);
    assert_eq!(flight.openai().get("/models/gpt-5").await.body, vendor.sent()[1].body);
    let landed = flight.land().await;
    assert_eq!(landed.all("rer.policy.step_blocked").len(), cases.len());
    assert_eq!(landed.all("rer.http.called").len(), 2);
    landed.is_kept();
}

#[tokio::test(flavor = "multi_thread")]
async fn vendors_tools_that_are_on_the_list_may_be_asked_for() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let law = Law { tools: vec!["web_search", "mcp:git"], ..Law::default() };
    let flight = law.over(&vendor);
    let more =
        r#","tools":[{"type":"web_search_20250305","name":"web_search"}],"mcp_servers":[{"name":"git"}]"#;
    assert_eq!(Door::Messages.ask(&flight, more).await.status(), 200);
    let other = more.replace("git", "hub");
    let got = Door::Messages.ask(&flight, &other).await;
    let due = Door::Messages.no(
        "permission_error",
        "allowed_tools",
        "the vendor's own tool \"mcp:hub\" is not on the list",
    );
    assert_eq!((got.status(), got.text(), vendor.requests().len()), (403, due.as_str(), 1));
    flight.land().await.is_kept();
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_in_a_coding_is_read() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let flight = Law::default().over(&vendor);
    let client = flight.openai();
    let (good, bad) = (gzip(&chat("hi", false)), gzip(&Door::Chat.body("o3", "")));
    let torn = &good[..good.len() - 4];
    let list = |name: &str| Door::Chat.no("permission_error", "allowed_models", name);
    let nameless = list("the request does not tell which model it asks");
    for (coding, body, due) in [
        ("gzip", &bad[..], list("the model \"o3\" is not on the list")),
        ("gzip", torn, nameless.clone()),
        ("gzip, zstd", &good, nameless.clone()),
        ("snappy", &good, nameless.clone()),
        ("", &good, nameless),
    ] {
        let got =
            client.send("POST", "/chat/completions", &[("content-encoding", coding)], body).await.unwrap();
        assert_eq!((got.status(), got.text()), (403, due.as_str()), "{coding}");
    }
    assert_eq!(vendor.requests(), []);
    let got = client.send("POST", "/chat/completions", &[("Content-Encoding", "gzip")], &good).await.unwrap();
    assert_eq!((got.status(), vendor.requests()[0].body.to_vec()), (200, good), "it leaves as it came");
    flight.land().await.is_kept();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once_never_take_more_steps_than_there_are() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let flight = Law::limiting(r#"{"max_steps":5}"#).over(&vendor);
    let client = flight.openai();
    let asking = (0..16).map(|number| {
        let client = client.clone();
        tokio::spawn(async move { client.post("/chat/completions", &chat("hi", number % 2 == 0)).await })
    });
    let mut statuses = Vec::new();
    for asked in asking.collect::<Vec<_>>() {
        let got = asked.await.unwrap();
        if got.status() == 403 {
            let reason = "5 actions are allowed, and as many have begun";
            assert_eq!(got.text(), Door::Chat.no("permission_error", "max_steps", reason));
        }
        statuses.push(got.status());
    }
    statuses.sort();
    assert_eq!(statuses, [vec![200; 5], vec![403; 11]].concat());
    assert_eq!(vendor.requests().len(), 5);
    let landed = flight.land().await;
    assert_eq!((landed.all("rer.model.called").len(), landed.all("rer.policy.step_blocked").len()), (5, 11));
    landed.is_kept();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_is_kept_and_says_when_to_come_back() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let law = Law::limiting(r#"{"rate_limit_rpm":2}"#);
    let clock = law.clock.clone();
    let flight = law.over(&vendor);
    let reason = "2 actions are allowed in 60 seconds, and as many have begun";
    let due = Door::Messages.no("rate_limit_error", "rate_limit_rpm", reason);
    let wait = |seconds: f64| clock.pass(Duration::from_secs_f64(seconds));
    assert_eq!(Door::Messages.ask(&flight, "").await.status(), 200);
    wait(20.0);
    assert_eq!(Door::Messages.ask(&flight, "").await.status(), 200);
    for (after, left) in [(0.0, "40"), (0.5, "40"), (39.0, "1")] {
        wait(after);
        let got = Door::Messages.ask(&flight, "").await;
        assert_eq!((got.status(), got.text(), got.header("retry-after")), (429, due.as_str(), Some(left)));
    }
    wait(0.5);
    assert_eq!(Door::Messages.ask(&flight, "").await.status(), 200, "being sent away used nothing up");
    assert_eq!(Door::Messages.ask(&flight, "").await.header("retry-after"), Some("20"));
    assert_eq!(vendor.requests().len(), 3);
    flight.land().await.is_kept();
}

/// 0.00225 dollars of gpt-5.
const USAGE: Usage =
    Usage { input_tokens: 1000, output_tokens: 100, cached_input_tokens: 0, cache_write_tokens: 0 };

#[tokio::test(flavor = "multi_thread")]
async fn what_was_spent_is_counted_to_the_limit() {
    let script = Script::answering(|request| match request.index {
        0 => Reply::text("a").with_usage(USAGE).answer(request),
        // What fails costs nothing, whatever it says.
        1 => Failure::new(503).answer(request),
        2 => Answer::json(400, r#"{"usage":{"prompt_tokens":9000000,"completion_tokens":1}}"#),
        // What does not tell is counted as it was expected.
        3 => Answer::json(200, "{}"),
        _ => Reply::text("b").with_usage(USAGE).answer(request),
    });
    let vendor = Vendor::start(script).unwrap();
    let estimate = Door::Chat.body("gpt-5", "").len().div_ceil(4) as u64 * 1_250_000;
    let micros = estimate.div_ceil(1_000_000);
    let limit = 2 * 2250 + micros;
    let flight = Law::limiting(&format!(r#"{{"max_spend_usd":{limit}e-6}}"#)).over(&vendor);
    for status in [200, 503, 400, 200, 200] {
        assert_eq!(Door::Chat.ask(&flight, "").await.status(), status);
    }
    let got = Door::Chat.ask(&flight, "").await;
    assert!(got.text().contains("denied by max_spend_usd: 0.00"), "{}", got.text());
    assert_eq!((got.status(), vendor.requests().len()), (403, 5));
    let landed = flight.land().await;
    let counted = landed.all("rer.spend.counted");
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
        (landed.the("rer.run.ended")["total_spend_usd"].as_f64().unwrap() * 1e6 - limit as f64).abs() < 1e-6
    );
    landed.is_kept();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_costs_more_than_is_left_is_the_last() {
    let vendor = Vendor::start(Script::replying(|_| Reply::text("a").with_usage(USAGE))).unwrap();
    let flight = Law::limiting(r#"{"max_spend_usd":0.002}"#).over(&vendor);
    assert_eq!(Door::Responses.ask(&flight, "").await.status(), 200);
    let got = Door::Responses.ask(&flight, "").await;
    let reason = "0.00225 USD are spent, and 0.002 USD are allowed";
    assert_eq!(got.text(), Door::Responses.no("permission_error", "max_spend_usd", reason));
    assert_eq!(vendor.requests().len(), 1);
    let landed = flight.land().await;
    let due = (Verdict::Fail, "0.00225 USD were spent, allowed were 0.002 USD");
    assert_eq!(landed.verdict("max_spend_usd"), due, "nobody could know it before, and the record says so");
    assert_eq!(landed.verdict("event_order").0, Verdict::Pass);
}

/// What is decided with is what the record says, however an answer tells what it took.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_counted_along_is_what_is_recorded() {
    for door in [Door::Chat, Door::Responses, Door::Messages] {
        for more in ["", r#","stream":true,"stream_options":{"include_usage":true}"#] {
            let vendor = Vendor::start(Script::replying(|_| Reply::text("a b c").with_usage(USAGE))).unwrap();
            let flight = Law::limiting(r#"{"max_spend_usd":0.002}"#).over(&vendor);
            assert_eq!(door.ask(&flight, more).await.status(), 200);
            let got = door.ask(&flight, more).await;
            let landed = flight.land().await;
            let counted = landed.all("rer.spend.counted");
            let spent: f64 = counted.iter().map(|spent| spent["spend_usd"].as_f64().unwrap()).sum();
            assert!(
                got.text().contains(&format!(": {spent} USD are spent")),
                "{more} {spent}: {}",
                got.text()
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_spends_what_nobody_can_count() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let law = Law { models: vec!["gpt-5", "odd"], ..Law::limiting(r#"{"max_spend_usd":1}"#) };
    let flight = law.over(&vendor);
    let got = Door::Chat.client(&flight).post("/chat/completions", &Door::Chat.body("odd", "")).await;
    let reason = "nobody knows what \"odd\" costs, and 1.00 USD are allowed; give it a price";
    let due = Door::Chat.no("permission_error", "max_spend_usd", reason);
    assert_eq!((got.status(), got.text(), vendor.requests().len()), (403, due.as_str(), 0));
    flight.land().await.is_kept();
    let flight = Law { models: vec!["odd"], ..Law::default() }.over(&vendor);
    let got = Door::Chat.client(&flight).post("/chat/completions", &Door::Chat.body("odd", "")).await;
    assert_eq!(got.status(), 200, "without a limit it need not be counted");
    let landed = flight.land().await;
    assert_eq!(landed.course(), ASKED[..3]);
    landed.is_kept();
}

#[tokio::test(flavor = "multi_thread")]
async fn it_expires_while_a_call_is_under_way() {
    let script = Script::echo().map(|_, answer| answer.wait_before(0, "answer"));
    let vendor = Vendor::start(script).unwrap();
    let mut law = Law::default();
    law.limits += r#","expiry":"2026-05-13T12:00:10Z""#;
    let clock: Noon = law.clock.clone();
    let flight = law.over(&vendor);
    clock.pass(Duration::from_micros(9_999_999));
    let client = flight.openai();
    let asked = tokio::spawn(async move { client.post("/chat/completions", &chat("hi", false)).await });
    vendor.when(Moment::Requests(1)).await;
    clock.pass(Duration::from_micros(1));
    vendor.open("answer");
    assert_eq!(asked.await.unwrap().status(), 200);
    let got = Door::Chat.ask(&flight, "").await;
    let due = Door::Chat.no("permission_error", "expiry", "the envelope has expired");
    assert_eq!((got.status(), got.text(), vendor.requests().len()), (403, due.as_str(), 1));
    let landed = flight.land().await;
    assert_eq!(landed.course(), [&ASKED[..], &DENIED[..]].concat());
    landed.is_kept();
}

/// The folder is gone, and something else is where the journal is to be found.
#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_is_lost_ends_an_enforced_run_and_no_other() {
    for is_enforced in [true, false] {
        let vendor = Vendor::start(Script::echo()).unwrap();
        let law = Law { durability: Durability::Machine, ..Law::default() };
        let flight = if is_enforced { law.over(&vendor) } else { Flight::durable(&vendor) };
        let folder = flight.place.join(".reenact");
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::write(&folder, "").unwrap();
        for turn in 1..=2 {
            let got = Door::Chat.ask(&flight, "").await;
            if is_enforced {
                let reason = "the run cannot be recorded any more";
                let due = Door::Chat.no("permission_error", "event_order", reason);
                assert_eq!((got.status(), got.text(), vendor.requests().len()), (403, due.as_str(), 0));
            } else {
                assert_eq!((got.status(), vendor.requests().len()), (200, turn));
            }
        }
        assert!(flight.gateway.unrecorded().is_some());
    }
}

/// The folder is removed: what was recorded is written anew, and the run goes on. Where that cannot be, it is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_removed_folder_is_noticed_while_the_run_goes_on() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let law = Law::default();
    let clock = law.clock.clone();
    let flight = law.over(&vendor);
    let folder = flight.place.join(".reenact");
    assert_eq!(Door::Chat.ask(&flight, "").await.status(), 200);
    std::fs::remove_dir_all(&folder).unwrap();
    clock.pass(Duration::from_secs(1));
    assert_eq!(Door::Chat.ask(&flight, "").await.status(), 200);
    // Whoever kills the recorder now finds all of it.
    while !flight.journal_path().exists() || flight.types().len() < 1 + 2 * ASKED.len() {
        tokio::task::yield_now().await;
    }
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "").unwrap();
    clock.pass(Duration::from_secs(1));
    // What is on its way when that is noticed is in the log.
    Door::Chat.ask(&flight, "").await;
    while flight.gateway.unrecorded().is_none() {
        tokio::task::yield_now().await;
    }
    let reached = vendor.requests().len();
    let got = Door::Chat.ask(&flight, "").await;
    let due = Door::Chat.no("permission_error", "event_order", "the run cannot be recorded any more");
    assert_eq!((got.status(), got.text(), vendor.requests().len()), (403, due.as_str(), reached));
}

/// However it comes that something is not recorded: nothing happens behind it.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_takes_no_more_ends_an_enforced_run() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let flight = Law::default().over(&vendor);
    let client = flight.openai();
    let gateway = flight.end_recorder();
    // With a log, what is on its way when the journal fails is in there.
    client.post("/chat/completions", &chat("hi", false)).await;
    while gateway.unrecorded().is_none() {
        tokio::task::yield_now().await;
    }
    let reached = vendor.requests().len();
    assert_eq!(client.post("/chat/completions", &chat("hi", false)).await.status(), 403);
    assert_eq!(vendor.requests().len(), reached);
    assert!(gateway.stop().await.is_err());
}
