//! Limit on spending: what a call may cost is reserved before it, and counted after it, whatever the agent does to
//! keep the vendor's count from being seen. Each way is a row of [`WAYS`].
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::time::Duration;

use reenact_gateway::GatewayLimits;
use reenact_testkit::{Script, ScriptStep, ScriptedAnswer, ScriptedReply, ScriptedVendor, WaitCondition};
use reenact_verify::audit::AuditVerdict;
use reenact_wire::Usage;
use support::LiveRun;
use support::enforced::{EnforcedRun, ModelApi};

/// Tokens that each request asks for, and each answer takes: 0.10 dollars with gpt-5.
const TOKENS: u64 = 10_000;

const LIMIT: &str = r#"{"max_spend_usd":0.25}"#;

const ESTIMATE: &str =
    "the vendor did not tell what this call cost; it is an estimate, and it may have been more";

/// Way in which an agent asks, 50 times.
struct Way {
    name: &'static str,
    api: ModelApi,
    /// Members of the request, beside model, text and largest output.
    more: &'static str,
    /// Text of the stream after which the agent hangs up; `None` if it reads to the end.
    hang_up_after: Option<&'static str>,
    /// True if abandoned streams are read on.
    reads_on: bool,
    /// Requests that reach the vendor.
    let_through: usize,
    verdict: (AuditVerdict, &'static str),
    /// True if the costs are estimates.
    is_estimate: bool,
}

const KEPT: (AuditVerdict, &str) = (AuditVerdict::Pass, "the limit was kept");
const UNCLEAR: (AuditVerdict, &str) = (AuditVerdict::Inconclusive, ESTIMATE);
const WITH_USAGE: &str = r#","stream":true,"stream_options":{"include_usage":true}"#;
const STREAM: &str = r#","stream":true"#;

const WAYS: [Way; 9] = [
    Way { name: "control", api: ModelApi::Chat, more: "", ..Way::PLAIN },
    Way { name: "control, streamed", api: ModelApi::Chat, more: WITH_USAGE, ..Way::PLAIN },
    Way { name: "control, messages", api: ModelApi::Messages, more: STREAM, ..Way::PLAIN },
    Way { name: "no usage", api: ModelApi::Chat, more: STREAM, ..Way::UNTOLD },
    Way {
        name: "hang up before the usage",
        api: ModelApi::Chat,
        more: WITH_USAGE,
        hang_up_after: Some("\"finish_reason\":\"stop\""),
        ..Way::PLAIN
    },
    Way {
        name: "hang up before the usage, not read on",
        api: ModelApi::Chat,
        more: WITH_USAGE,
        hang_up_after: Some("\"finish_reason\":\"stop\""),
        reads_on: false,
        ..Way::UNTOLD
    },
    Way {
        name: "hang up before message_delta",
        api: ModelApi::Messages,
        more: STREAM,
        hang_up_after: Some("content_block_stop"),
        ..Way::PLAIN
    },
    Way {
        name: "hang up before message_delta, not read on",
        api: ModelApi::Messages,
        more: STREAM,
        hang_up_after: Some("content_block_stop"),
        reads_on: false,
        ..Way::UNTOLD
    },
    Way {
        name: "background",
        api: ModelApi::Responses,
        more: r#","background":true"#,
        let_through: 0,
        ..Way::PLAIN
    },
];

impl Way {
    /// Two calls fit into the limit, and are counted.
    const PLAIN: Self = Self {
        name: "",
        api: ModelApi::Chat,
        more: "",
        hang_up_after: None,
        reads_on: true,
        let_through: 2,
        verdict: KEPT,
        is_estimate: false,
    };

    /// Two calls fit into the limit, and nobody tells what they cost.
    const UNTOLD: Self = Self { verdict: UNCLEAR, is_estimate: true, ..Self::PLAIN };

    /// Returns the request.
    fn body(&self) -> String {
        self.api.body(self.api.model(), self.more).replace(":9,", &format!(":{},", self.tokens()))
    }

    /// Returns the output tokens that cost 0.10 dollars.
    fn tokens(&self) -> u64 {
        if self.api == ModelApi::Messages { TOKENS * 2 / 3 } else { TOKENS }
    }

    /// Returns a vendor whose answers take all tokens. Where the agent hangs up, the rest of an answer waits for a
    /// gate.
    fn vendor(&self) -> ScriptedVendor {
        let usage = Usage { input_tokens: 10, output_tokens: self.tokens(), ..Usage::default() };
        let reply = ScriptedReply::text("Yes.").with_usage(usage);
        let last_read = self.hang_up_after;
        let script = Script::replying(move |_| reply.clone()).map(move |request, answer| match last_read {
            Some(last_read) => {
                let has_it = |step: &ScriptStep| match step {
                    ScriptStep::Send(bytes) => String::from_utf8_lossy(bytes).contains(last_read),
                    ScriptStep::Wait(_) => false,
                };
                let at = answer.steps.iter().rposition(has_it).unwrap();
                answer.wait_before(at + 1, format!("rest {}", request.index))
            }
            None => answer,
        });
        ScriptedVendor::start(script).unwrap()
    }

    /// Asks once; returns the status.
    async fn ask(&self, run: &LiveRun, vendor: &ScriptedVendor, number: usize) -> u16 {
        let (client, body) = (self.api.client(run), self.body());
        let Some(last_read) = self.hang_up_after else {
            return client.post(self.api.path(), &body).await.status();
        };
        let mut connection = client.connect().await;
        connection.write(&client.request("POST", self.api.path(), &[], body.as_bytes())).await;
        let status = connection.read_head().await.unwrap().status();
        if status == 200 {
            let mut text = String::new();
            while !text.contains(last_read) {
                text += &String::from_utf8(connection.read_chunk().await.unwrap()).unwrap();
            }
            drop(connection);
            if self.reads_on {
                vendor.open_gate(&format!("rest {number}"));
                vendor.wait_async(WaitCondition::Ends(number + 1)).await;
            }
        }
        status
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_way_spends_more_than_the_limit_or_has_it_called_kept() {
    for way in WAYS {
        let vendor = way.vendor();
        let mut enforced = EnforcedRun::with_limits(LIMIT);
        if !way.reads_on {
            enforced.gateway_limits =
                GatewayLimits { abandoned_time: Duration::ZERO, ..enforced.gateway_limits };
        }
        let run = enforced.start(&vendor);
        let mut statuses = Vec::new();
        for number in 0..50 {
            statuses.push(way.ask(&run, &vendor, number).await);
        }
        let due = [vec![200; way.let_through], vec![403; 50 - way.let_through]].concat();
        assert_eq!(statuses, due, "{}", way.name);
        assert_eq!(vendor.requests().len(), way.let_through, "{}", way.name);
        let sealed = run.seal().await;
        assert_eq!(sealed.verdict("max_spend_usd"), way.verdict, "{}", way.name);
        let counted = sealed.payloads("rer.spend.counted");
        let estimates: Vec<bool> = counted.iter().map(|cost| cost["is_estimate"] == true).collect();
        assert_eq!(estimates, vec![way.is_estimate; way.let_through], "{}", way.name);
        let ended = sealed.only_payload("rer.run.ended");
        assert_eq!(ended.get("spend_partial").is_some(), way.is_estimate, "{}", way.name);
    }
}

/// The vendor counts less than was reserved: the rest is there for others.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_spent_is_free_again() {
    let usage = Usage { input_tokens: 10, output_tokens: 10, ..Usage::default() };
    let reply = ScriptedReply::text("a").with_usage(usage);
    let vendor = ScriptedVendor::start(Script::replying(move |_| reply.clone())).unwrap();
    let run = EnforcedRun::with_limits(LIMIT).start(&vendor);
    for _ in 0..50 {
        assert_eq!(
            ModelApi::Chat.client(&run).post("/chat/completions", &WAYS[0].body()).await.status(),
            200
        );
    }
    let sealed = run.seal().await;
    assert_eq!(sealed.only_payload("rer.run.ended")["total_spend_usd"], 50.0 * 0.000_113);
    sealed.assert_rules_pass();
}

/// Calls at the same time cannot pass together what they may not pass alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once_reserve_no_more_than_the_limit() {
    let script = Script::echo().map(|_, answer| answer.wait_before(0, "answer"));
    let vendor = ScriptedVendor::start(script).unwrap();
    let run = EnforcedRun::with_limits(LIMIT).start(&vendor);
    let client = run.openai();
    let (body, mut asked) = (WAYS[0].body(), tokio::task::JoinSet::new());
    for _ in 0..50 {
        let (client, body) = (client.clone(), body.clone());
        asked.spawn(async move { client.post("/chat/completions", &body).await });
    }
    for _ in 0..48 {
        let refused = asked.join_next().await.unwrap().unwrap();
        assert_eq!(refused.status(), 403);
        let advice = "it asks for up to 10000 tokens: lower max_completion_tokens, or raise the limit";
        assert!(refused.text().contains("max_spend_usd: 0.00 USD are spent, calls under way may cost 0.2"));
        assert!(refused.text().contains(advice), "{}", refused.text());
    }
    vendor.wait_async(WaitCondition::Requests(2)).await;
    vendor.open_gate("answer");
    while let Some(answered) = asked.join_next().await {
        assert_eq!(answered.unwrap().status(), 200);
    }
    assert_eq!(vendor.requests().len(), 2, "the others never left");
    let sealed = run.seal().await;
    assert_eq!(sealed.payloads("rer.policy.step_blocked").len(), 48);
    sealed.assert_rules_pass();
}

/// A request that limits nothing may cost as much as its model can write.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_worst_case_is_too_much_is_told_what_to_do() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = EnforcedRun::with_limits(r#"{"max_spend_usd":1}"#).start(&vendor);
    let body = r#"{"model":"gpt-5","input":"hi"}"#;
    let response = run.openai().post("/responses", body).await;
    let reason = "0.00 USD are spent, this one may cost 1.28001 USD, and 1.00 USD are allowed; it sets no \
        max_output_tokens, so that the model may write 128000 tokens: set it, or raise the limit";
    let due = ModelApi::Responses.denial_body("permission_error", "max_spend_usd", reason);
    assert_eq!((response.status(), response.text()), (403, due.as_str()));
    // Several answers cost several times as much.
    let body = r#"{"model":"gpt-5","max_tokens":50000,"n":2,"messages":[]}"#;
    let response = run.openai().post("/chat/completions", body).await;
    assert!(response.text().contains("it asks for 2 answers of up to 50000 tokens"), "{}", response.text());
    assert_eq!(vendor.requests().len(), 0);
    run.seal().await.assert_rules_pass();
}

/// Without a limit on spending an answer may be put off; what it costs is not told.
#[tokio::test(flavor = "multi_thread")]
async fn background_is_refused_under_a_limit_alone() {
    let queued = r#"{"id":"resp_1","object":"response","status":"queued","output":[],"usage":null}"#;
    let vendor =
        ScriptedVendor::start(Script::answering(move |_| ScriptedAnswer::json(200, queued))).unwrap();
    let more = r#","background":true"#;
    let run = EnforcedRun::with_limits(LIMIT).start(&vendor);
    let reason = "nobody could count what this call costs: `background` puts the answer off, so that its cost is \
        never seen";
    let due = ModelApi::Responses.denial_body("permission_error", "max_spend_usd", reason);
    let response = ModelApi::Responses.ask(&run, more).await;
    assert_eq!((response.status(), response.text(), vendor.requests().len()), (403, due.as_str(), 0));
    run.seal().await.assert_rules_pass();
    let run = EnforcedRun::default().start(&vendor);
    assert_eq!(ModelApi::Responses.ask(&run, more).await.status(), 200);
    let sealed = run.seal().await;
    assert_eq!(sealed.only_payload("rer.spend.counted")["is_estimate"], true);
    assert_eq!(sealed.only_payload("rer.run.ended")["spend_partial"], true);
    sealed.assert_rules_pass();
}

/// A vendor that cannot be reached charges nothing, and one that says nothing may have charged all.
#[tokio::test(flavor = "multi_thread")]
async fn requests_without_an_answer() {
    let vendor = ScriptedVendor::start(Script::answering(|_| ScriptedAnswer::hang_up())).unwrap();
    let run = EnforcedRun::with_limits(LIMIT).start(&vendor);
    let client = run.openai();
    for _ in 0..2 {
        assert!(client.send("POST", "/chat/completions", &[], WAYS[0].body().as_bytes()).await.is_none());
    }
    let refused = client.post("/chat/completions", &WAYS[0].body()).await;
    assert!(
        refused.text().contains("2 calls whose cost was not told may have cost 0.2000"),
        "{}",
        refused.text()
    );
    assert_eq!(run.seal().await.verdict("max_spend_usd"), UNCLEAR);

    let mut vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let run = EnforcedRun::with_limits(LIMIT).start(&vendor);
    vendor.stop();
    for _ in 0..5 {
        let asked = run.openai().send("POST", "/chat/completions", &[], WAYS[0].body().as_bytes()).await;
        assert!(asked.is_none());
    }
    let sealed = run.seal().await;
    assert_eq!(sealed.only_payload("rer.run.ended")["total_spend_usd"], 0);
    assert_eq!(sealed.verdict("max_spend_usd"), KEPT);
}

/// Counting tokens is free, also for models without a price.
#[tokio::test(flavor = "multi_thread")]
async fn counting_tokens_costs_nothing() {
    let vendor =
        ScriptedVendor::start(Script::answering(|_| ScriptedAnswer::json(200, r#"{"input_tokens":9}"#)))
            .unwrap();
    let enforced = EnforcedRun { models: vec!["odd"], ..EnforcedRun::with_limits(r#"{"max_spend_usd":0}"#) };
    let run = enforced.start(&vendor);
    let body = r#"{"model":"odd","messages":[]}"#;
    assert_eq!(run.anthropic().post("/v1/messages/count_tokens", body).await.status(), 200);
    let sealed = run.seal().await;
    assert_eq!(sealed.only_payload("rer.spend.counted")["is_estimate"], false);
    sealed.assert_rules_pass();
}
