//! A run that only warns: nothing is denied, held back or asked for, and the record says what would have been.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use reenact_record::PolicyMode;
use reenact_testkit::{Script, ScriptedReply, ScriptedVendor};
use reenact_verify::audit::AuditVerdict::{Fail, Pass};
use support::enforced::{EnforcedRun, ModelApi};
use support::killed_run::KilledRun;

fn wants_to_pay() -> ScriptedReply {
    ScriptedReply::text("One moment, please.").and_call("pay_invoice", r#"{"iban":"AT61"}"#)
}

fn warned(run: EnforcedRun) -> EnforcedRun {
    EnforcedRun { policy_mode: PolicyMode::Warn, ..run }
}

#[tokio::test(flavor = "multi_thread")]
async fn denied_models_and_tools_pass_and_break_their_rules() {
    for (api, more) in ModelApi::ALL.into_iter().flat_map(|api| [(api, ""), (api, r#","stream":true"#)]) {
        let vendor = ScriptedVendor::start(Script::replying(|_| wants_to_pay())).unwrap();
        let run = warned(EnforcedRun::default()).start(&vendor);
        let paid = api.ask(&run, more).await;
        let other = api.client(&run).post(api.path(), &api.body("other", more)).await;
        let sent = vendor.sent_answers();
        for (response, sent) in [&paid, &other].into_iter().zip(&sent) {
            assert_eq!((response.status(), response.text().as_bytes()), (200, &*sent.body), "{api:?}{more}");
        }
        // What the log holds is recovered as it was decided.
        let recovered = run.logs.is_some().then(|| KilledRun::copy_of(&run).recover(run.key()).1);
        let sealed = run.seal().await;
        let decisions = [
            (api.model(), None),
            ("pay_invoice", Some("allowed_tools")),
            ("other", Some("allowed_models")),
            ("pay_invoice", Some("allowed_tools")),
        ];
        assert_eq!(sealed.decisions(), decisions, "{api:?}{more}");
        assert_eq!(sealed.payloads("rer.policy.step_blocked"), [] as [&serde_json::Value; 0]);
        assert_eq!(sealed.payloads("rer.model.returned").len(), 2);
        assert!(sealed.payloads("rer.model.returned").iter().all(|it| it.get("delivered").is_none()));
        assert_eq!(sealed.only_payload("rer.run.started")["enforcement"], "warn");
        let not_listed = |what: &str| format!("{what} is not on the list");
        assert_eq!(sealed.verdict("allowed_models"), (Fail, &*not_listed("the model \"other\"")));
        assert_eq!(sealed.verdict("allowed_tools"), (Fail, &*not_listed("the tool \"pay_invoice\"")));
        // A call whose result never came is no breach of the order in any mode.
        assert_eq!(sealed.verdict("max_steps").0, Pass);
        if let Some(recovered) = recovered {
            assert_eq!(recovered.decisions(), decisions, "{api:?}{more}");
            assert_eq!(recovered.payloads("rer.policy.step_blocked"), [] as [&serde_json::Value; 0]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_and_no_limit_stops_a_run() {
    let vendor = ScriptedVendor::start(Script::replying(|_| ScriptedReply::text("Hello."))).unwrap();
    let limits = r#"{"max_steps":1,"max_spend_usd":0,"rate_limit_rpm":1},"expiry":"2001-01-01T00:00:00Z""#;
    let limits = format!(r#"{limits},"required_approvals":[{{"action":"model.call"}}]"#);
    let run = warned(EnforcedRun::with_limits(&limits)).start(&vendor);
    for _ in 0..3 {
        assert_eq!(ModelApi::Chat.ask(&run, "").await.status(), 200);
    }
    let sealed = run.seal().await;
    assert_eq!(sealed.decisions(), [("gpt-5", Some("expiry")); 3]);
    assert_eq!(sealed.payloads("rer.approval.requested"), [] as [&serde_json::Value; 0]);
    for rule in ["max_steps", "max_spend_usd", "rate_limit_rpm", "expiry", "required_approvals"] {
        assert_eq!(sealed.verdict(rule).0, Fail, "{rule}");
    }
    assert_eq!(sealed.verdict("event_order").0, Pass);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_the_policy_sees_fails_by_its_word() {
    let vendor = ScriptedVendor::start(Script::replying(|_| ScriptedReply::text("Hello."))).unwrap();
    let run = warned(EnforcedRun::default()).start(&vendor);
    let more = r#","tools":[{"type":"web_search"}]"#;
    assert_eq!(ModelApi::Responses.ask(&run, more).await.status(), 200);
    let sealed = run.seal().await;
    let denied: Vec<_> =
        sealed.decisions().into_iter().filter_map(|(name, rule)| rule.map(|_| name)).collect();
    assert_eq!(denied, ["gpt-5"]);
    assert_eq!(sealed.verdict("allowed_tools"), (Fail, "the policy denied it, and the run only warned"));
}

/// Calls whose cost nobody could count, and those that may cost more than is left, are denied before they cost anything. Where
/// they happen all the same, the limit is called broken by the policy's word, and what they cost is counted.
#[tokio::test(flavor = "multi_thread")]
async fn uncountable_and_dear_calls_pass_with_their_rule() {
    let dear = r#","max_output_tokens":128000"#;
    for (limits, more, rule) in [
        (r#"{"max_spend_usd":0.5}"#, r#","background":true"#, "max_spend_usd"),
        (r#"{"max_spend_usd":0.5}"#, dear, "max_spend_usd"),
        ("{}", r#","new_member":{}"#, "unknown_form"),
    ] {
        let vendor = ScriptedVendor::start(Script::replying(|_| ScriptedReply::text("Hello."))).unwrap();
        let run = warned(EnforcedRun::with_limits(limits)).start(&vendor);
        let body = format!(r#"{{"model":"gpt-5","input":"hi"{more}}}"#);
        for _ in 0..2 {
            assert_eq!(ModelApi::Responses.client(&run).post("/responses", &body).await.status(), 200);
        }
        let sealed = run.seal().await;
        assert_eq!(sealed.decisions(), [("gpt-5", Some(rule)); 2], "{more}");
        let broken = if rule == "unknown_form" { "allowed_tools" } else { rule };
        let due = (Fail, "the policy denied it, and the run only warned");
        assert_eq!(sealed.verdict(broken), due, "{more}");
    }
}
