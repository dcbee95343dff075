//! The audit, rule by rule: just kept, just broken, and every way to be inconclusive.
#![allow(clippy::unwrap_used)]

mod audit_fixture;
mod support;

use audit_fixture::{
    Run, after_noon, assert_all_kept, assert_only, both_keys, compliant_run, envelope, kept_verdicts,
};
use reenact_verify::TargetOutcome;
use reenact_verify::audit::AuditVerdict::{self, Fail, Inconclusive, Pass};
use reenact_verify::audit::{Audit, RuleVerdict};
use reenact_verify::rer::SCHEMA_VALID;
use serde_json::{Value as Json, json};
use support::report_of;

#[test]
fn a_run_that_keeps_everything() {
    let run = compliant_run();
    assert_all_kept(&run);
    assert_eq!(run.ok(), Some(true));
    let report = run.report();
    assert_eq!(report.audit.as_ref().unwrap().count(Pass), 10);
    assert_all_kept(&Run::new(json!({})));
}

#[test]
fn allowed_models() {
    assert_all_kept(&Run::new(json!({})).model("s", "m", json!(null)));
    for other in ["M", "m ", "", "ｍ", "gpt"] {
        let reason = format!("the model \"{other}\" is not on the list");
        let run = Run::new(json!({})).model("s", "m", json!(0)).model("s", other, json!(0));
        assert_only(&run, &[("allowed_models", Fail, Some(5), &reason)]);
    }
    let none = Run::new(json!({"permissions": {"allowed_models": [], "allowed_tools": []}}));
    assert_only(
        &none.clone().model("s", "m", json!(0)),
        &[("allowed_models", Fail, Some(2), "the model \"m\" is not on the list")],
    );
    // A star is a name, not a pattern.
    let star = Run::new(json!({"permissions": {"allowed_models": ["*"], "allowed_tools": []}}));
    assert_all_kept(&star.clone().model("s", "*", json!(0)));
    assert_eq!(star.model("s", "m", json!(0)).rules()[0].verdict, Fail);
}

#[test]
fn allowed_tools() {
    assert_all_kept(&Run::new(json!({})).tool("s", "t"));
    for other in ["T", "t ", "t\u{200b}", "m"] {
        let run = Run::new(json!({})).tool("s", "t").tool("s", other);
        let rules = run.rules();
        assert_eq!((rules[1].verdict, rules[1].event), (Fail, Some(5)), "{other:?}");
        assert_eq!(run.ok(), Some(false));
    }
    let run = Run::new(json!({})).tool("s", "rm\u{1b}[2J");
    assert!(!run.rules()[1].reason.contains('\u{1b}'), "{}", run.rules()[1].reason);
}

#[test]
fn names_that_are_not_told() {
    const UNTOLD: &str = "it does not tell what was called";
    const WITHHELD: &str = "the payload is withheld, so it does not tell what was called";
    for name in [json!(7), json!(["m"]), json!(null), json!({"m": 1}), json!(true)] {
        let run = Run::new(json!({}))
            .allow("s", json!({}))
            .event("rer.model.called", json!({"step_id": "s", "model": name}))
            .event("rer.model.returned", json!({"step_id": "s"}));
        assert_only(&run, &[("allowed_models", Inconclusive, Some(2), UNTOLD)]);
    }
    let run = Run::new(json!({}))
        .allow("s", json!({}))
        .event("rer.tool.called", json!({"step_id": "s", "input": {"tool": "t"}}))
        .tool_returned("s");
    assert_only(&run, &[("allowed_tools", Inconclusive, Some(2), UNTOLD)]);
    // An inconclusive event does not hide a later breach.
    assert_only(
        &run.tool("s", "x"),
        &[("allowed_tools", Fail, Some(5), "the tool \"x\" is not on the list")],
    );
    let withheld =
        Run::new(json!({})).allow("s", json!({})).tool_called("s", "t").withheld().tool_returned("s");
    assert_only(
        &withheld,
        &[
            ("allowed_tools", Inconclusive, Some(2), WITHHELD),
            (
                "event_order",
                Inconclusive,
                Some(2),
                "the call does not tell its step, so no decision can be matched with it",
            ),
        ],
    );
    for payload in [None, Some("null"), Some("[]"), Some("\"m\""), Some("{}")] {
        let run = Run::new(json!({})).text("rer.model.called", payload).text("rer.model.returned", payload);
        assert_only(
            &run,
            &[
                ("allowed_models", Inconclusive, Some(1), UNTOLD),
                (
                    "event_order",
                    Inconclusive,
                    Some(1),
                    "the call does not tell its step, so no decision can be matched with it",
                ),
            ],
        );
    }
}

/// A sealed text is canonical, but it may be spelled differently without breaking a hash.
#[test]
fn a_name_spelled_with_escapes_hides_nothing() {
    let forbidden = Run::new(json!({})).model("s", "evil", json!(0));
    let text = String::from_utf8(forbidden.seal()).unwrap();
    for (from, to) in [
        ("\"model\":\"evil\"", "\"mod\\u0065l\":\"evil\""),
        ("\"model\":\"evil\"", "\"\\u006dodel\":\"\\u0065vil\""),
        ("\"model\":\"evil\"", "\"model\" : \"e\\u0076il\""),
        ("\"payload\":", "\"p\\u0061yload\":"),
        ("\"rer.model.called\"", "\"rer.mod\\u0065l.called\""),
        ("\"event_type\"", "\"event_\\u0074ype\""),
    ] {
        let spelled = text.replace(from, to);
        assert_ne!(spelled, text);
        let report = report_of(spelled.as_bytes(), &both_keys());
        assert!(report.pass(), "{to}: {:?}", report.reasons);
        assert_eq!(report.audit.unwrap().rules, forbidden.rules(), "{to}");
    }
}

#[test]
fn max_steps() {
    let two = Run::limited(json!({"max_steps": 2})).tool("1", "t").model("2", "m", json!(0));
    assert_all_kept(&two);
    let three = two.clone().tool("3", "t");
    assert_only(&three, &[("max_steps", Fail, Some(8), "this is action 3, allowed are 2")]);
    // The reason names the first action beyond the limit. Withheld actions count.
    let four = two.allow("3", json!({})).tool_called("3", "t").withheld().tool_returned("3").tool("4", "t");
    let rules = four.rules();
    assert_eq!((rules[2].verdict, rules[2].event), (Fail, Some(8)));
    let one = Run::limited(json!({"max_steps": 1})).tool("1", "t");
    assert_all_kept(&one);
    // A blocked step is no action.
    let blocked = one
        .event("rer.policy.evaluated", json!({"step_id": "2", "decision": "deny"}))
        .event("rer.policy.step_blocked", json!({"step_id": "2", "reason": "max_steps"}));
    assert_all_kept(&blocked);
}

#[test]
fn max_spend() {
    let capped = |limit: Json| Run::limited(json!({"max_spend_usd": limit}));
    let total = |run: Run, total: Json| run.ending(json!({"total_spend_usd": total}));
    assert_all_kept(&capped(json!(0.3)).model("1", "m", json!(0.1)).model("2", "m", json!(0.2)));
    assert_only(
        &capped(json!(0.3)).model("1", "m", json!(0.1)).model("2", "m", json!(0.200_000_000_001)),
        &[("max_spend_usd", Fail, Some(7), "0.300000000001 USD were spent, allowed were 0.30 USD")],
    );
    // The next call may begin if the limit is reached exactly, but not if it is exceeded.
    assert_all_kept(&capped(json!(0.1)).model("1", "m", json!(0.1)).model("2", "m", json!(0)));
    assert_only(
        &capped(json!(0.1)).model("1", "m", json!(0.11)).tool("2", "t"),
        &[("max_spend_usd", Fail, Some(5), "0.11 USD were spent already")],
    );
    assert_all_kept(&capped(json!(0)).model("1", "m", json!(0)).tool("2", "t"));
    assert_only(
        &capped(json!(0)).model("1", "m", json!(1e-300)),
        &[("max_spend_usd", Fail, Some(4), "0.000000000001 USD were spent, allowed were 0.00 USD")],
    );
    // The cost of a tool counts if it is stated.
    let tool = capped(json!(1)).allow("1", json!({})).tool_called("1", "t");
    let tool = tool.event("rer.tool.returned", json!({"step_id": "1", "spend_usd": 1.5}));
    assert_only(&tool, &[("max_spend_usd", Fail, Some(4), "1.50 USD were spent, allowed were 1.00 USD")]);
    // The larger of sum and total counts.
    let run = capped(json!(1)).model("1", "m", json!(0.9)).model("2", "m", json!(0.2));
    assert_only(
        &total(run, json!(0)),
        &[("max_spend_usd", Fail, Some(7), "1.10 USD were spent, allowed were 1.00 USD")],
    );
    assert_only(
        &total(capped(json!(1)).model("1", "m", json!(0.9)), json!(1.01)),
        &[("max_spend_usd", Fail, Some(4), "1.01 USD were spent, allowed were 1.00 USD")],
    );
    // A total does not tell what each call cost, or that any was left out.
    assert_only(
        &total(capped(json!(1)).model("1", "m", json!(null)), json!(1)),
        &[("max_spend_usd", Inconclusive, Some(2), "nothing tells what this call cost")],
    );
}

/// The cost of a model call in an event of its own: exact, an estimate, missing, or that of another call.
#[test]
fn costs_that_are_counted() {
    const ESTIMATE: &str =
        "the vendor did not tell what this call cost; it is an estimate, and it may have been more";
    const UNSTATED: &str = "nothing tells what this call cost";
    let asked = |step: &str| Run::limited(json!({"max_spend_usd": 1})).model(step, "m", json!(null));
    let counted = |run: Run, payload: Json| run.event("rer.spend.counted", payload);
    for payload in [
        json!({"step_id": "1", "spend_usd": 1, "is_estimate": false}),
        json!({"step_id": "1", "usd": 1, "estimated": false}),
    ] {
        assert_all_kept(&counted(asked("1"), payload));
    }
    for payload in [
        json!({"step_id": "1", "spend_usd": 0.1, "is_estimate": true}),
        json!({"step_id": "1", "usd": 0.1, "estimated": true}),
        json!({"step_id": "1", "usd": 0.1}),
        json!({"step_id": "1", "usd": 0.1, "estimated": "no"}),
    ] {
        assert_only(&counted(asked("1"), payload), &[("max_spend_usd", Inconclusive, Some(4), ESTIMATE)]);
    }
    // The least that was spent passes the limit.
    assert_only(
        &counted(asked("1"), json!({"step_id": "1", "usd": 1.5, "estimated": true})),
        &[("max_spend_usd", Fail, Some(5), "1.50 USD were spent, allowed were 1.00 USD")],
    );
    // A call is left out, whatever the total says, or another call is counted twice.
    let twice = json!({"step_id": "1", "usd": 0.1, "estimated": false});
    let run = counted(counted(asked("1"), twice.clone()), twice).model("2", "m", json!(null));
    let left_out = ("max_spend_usd", Inconclusive, Some(7), UNSTATED);
    assert_only(&run, &[left_out]);
    assert_only(&run.ending(json!({"total_spend_usd": 0.2})), &[left_out]);
    let exact = json!({"step_id": "1", "usd": 0.1, "estimated": false});
    assert_only(
        &counted(asked("1"), exact).ending(json!({"total_spend_usd": 0.1, "spend_partial": true})),
        &[("max_spend_usd", Inconclusive, Some(5), "it says that more may have been spent than it counts")],
    );
}

#[test]
fn spend_that_is_not_told() {
    const UNTOLD: &str = "nothing tells what this call cost, nor what the run did";
    const UNSTATED: &str = "nothing tells what this call cost";
    const NONSENSE: &str = "what it says of the cost is no amount of money";
    let capped = || Run::limited(json!({"max_spend_usd": 1}));
    assert_only(
        &capped().model("1", "m", json!(0.1)).model("2", "m", json!(null)),
        &[("max_spend_usd", Inconclusive, Some(5), UNSTATED)],
    );
    // A tool with a withheld payload may have a cost, too.
    let model = capped().model("1", "m", json!(0.1)).withheld();
    let order = "a payload is withheld, so it cannot be told which call returned";
    let order = ("event_order", Inconclusive, Some(3), order);
    assert_only(&model, &[("max_spend_usd", Inconclusive, Some(2), UNSTATED), order]);
    let tool = capped().tool("1", "t").withheld();
    assert_only(&tool, &[("max_spend_usd", Inconclusive, Some(3), UNTOLD), order]);
    assert_only(&tool.ending(json!({"total_spend_usd": 0.5})), &[order]);
    // An invalid amount stays inconclusive, whatever the end of the run states.
    for nonsense in [json!("0.50"), json!(-0.01), json!([0.1]), json!(true), json!({"usd": 1})] {
        let run = capped().model("1", "m", nonsense.clone()).ending(json!({"total_spend_usd": 0}));
        assert_only(&run, &[("max_spend_usd", Inconclusive, Some(3), NONSENSE)]);
        let run = capped().model("1", "m", json!(0)).ending(json!({"total_spend_usd": nonsense}));
        assert_only(&run, &[("max_spend_usd", Inconclusive, Some(4), NONSENSE)]);
    }
    // Without a limit the amount does not matter.
    assert_all_kept(&Run::new(json!({})).model("1", "m", json!("x")));
    // An invalid amount does not hide a breach.
    let run = capped().model("1", "m", json!("x")).model("2", "m", json!(2));
    assert_only(&run, &[("max_spend_usd", Fail, Some(7), "2.00 USD were spent, allowed were 1.00 USD")]);
}

/// Anyone may spell 0.5 as 0.50000000000000000001 without breaking a hash; the verdict must stay.
#[test]
fn another_spelling_of_an_amount_is_the_same_amount() {
    let half = Run::limited(json!({"max_spend_usd": 0.5})).model("1", "m", json!(0.5));
    let none = Run::limited(json!({"max_spend_usd": 0})).model("1", "m", json!(0.5));
    for (run, from, to) in [
        (&half, "\"spend_usd\":0.5", "\"spend_usd\":0.50000000000000000001"),
        (&half, "\"max_spend_usd\":0.5", "\"max_spend_usd\":0.49999999999999999999"),
        (&none, "\"max_spend_usd\":0", "\"max_spend_usd\":-1e-400"),
        (&none, "\"max_spend_usd\":0", "\"max_spend_usd\":-0"),
    ] {
        let text = String::from_utf8(run.seal()).unwrap();
        let spelled = text.replace(from, to);
        assert_ne!(spelled, text, "{to}");
        let report = report_of(spelled.as_bytes(), &both_keys());
        assert!(report.pass(), "{to}: {:?}", report.reasons);
        assert_eq!(report.audit.unwrap().rules, run.rules(), "{to}");
    }
    assert_eq!((half.ok(), none.ok()), (Some(true), Some(false)));
}

#[test]
fn rate_limit() {
    let rated = || Run::limited(json!({"rate_limit_rpm": 2})).tool("1", "t").tool("2", "t");
    // Calls began at 2 and 5 seconds; the first leaves the window 60 seconds later.
    assert_all_kept(&rated().clock(61).tool("3", "t"));
    let early = rated().clock(60).tool("3", "t");
    let reason = "2 actions had begun in the 60 seconds before";
    assert_only(&early, &[("rate_limit_rpm", Fail, Some(8), reason)]);
    let edge = |time: &str| {
        rated().clock(61).allow("3", json!({})).tool_called("3", "t").at(time).tool_returned("3")
    };
    assert_all_kept(&edge("2026-05-13T12:01:02.000000000Z"));
    assert_only(&edge("2026-05-13T12:01:01.999999999Z"), &[("rate_limit_rpm", Fail, Some(8), reason)]);
    let one = Run::limited(json!({"rate_limit_rpm": 1})).tool("1", "t");
    assert_all_kept(&one);
    let reason = "1 action had begun in the 60 seconds before";
    assert_only(&one.model("2", "m", json!(0)), &[("rate_limit_rpm", Fail, Some(5), reason)]);
}

#[test]
fn times_that_tell_no_rate() {
    const BACKWARDS: &str = "time runs backwards here, so no rate can be told";
    const NO_MOMENT: &str = "the timestamp names no moment";
    let rated = || Run::limited(json!({"rate_limit_rpm": 9})).tool("1", "t");
    let back =
        rated().clock(1).allow("2", json!({})).at(&after_noon(3)).tool_called("2", "t").at(&after_noon(2));
    assert_only(
        &back.clone().clock(4).tool_returned("2"),
        &[("rate_limit_rpm", Inconclusive, Some(5), BACKWARDS)],
    );
    // Any event that goes back shows that the clock cannot be trusted.
    assert_only(
        &rated().allow("2", json!({})).at(&after_noon(0)).tool_called("2", "t").tool_returned("2"),
        &[("rate_limit_rpm", Inconclusive, Some(4), BACKWARDS)],
    );
    for never in ["2026-02-30T12:00:00.0Z", "2026-05-13T25:00:00.0Z", "9999-99-99T99:99:99.9Z"] {
        let run = rated().allow("2", json!({})).tool_called("2", "t").at(never).tool_returned("2");
        assert_only(&run, &[("rate_limit_rpm", Inconclusive, Some(5), NO_MOMENT)]);
        // Times do not matter if no rule depends on them.
        assert_all_kept(&Run { envelope: envelope(json!({})), ..run });
        let mut started = rated();
        started.events[0].time = never.into();
        assert_only(&started, &[("rate_limit_rpm", Inconclusive, Some(0), NO_MOMENT)]);
    }
    // Equal times are no step back.
    let mut still = rated().tool("2", "t");
    still.events.iter_mut().for_each(|event| event.time = after_noon(0));
    assert_all_kept(&still);
}

#[test]
fn expiry() {
    let until = |expiry: &str| Run::new(json!({"expiry": expiry})).tool("1", "t");
    const LATE: &str = "it began after the envelope had expired";
    // The call is two seconds after noon.
    assert_all_kept(&until("2026-05-13T12:00:02.000000001Z"));
    assert_only(&until("2026-05-13T12:00:02Z"), &[("expiry", Fail, Some(2), LATE)]);
    assert_only(&until("2026-05-13T12:00:01.999999999Z"), &[("expiry", Fail, Some(2), LATE)]);
    // The same moments in other offsets.
    assert_all_kept(&until("2026-05-14T02:00:02.000000001+14:00"));
    assert_only(&until("2026-05-14T02:00:02+14:00"), &[("expiry", Fail, Some(2), LATE)]);
    assert_only(&until("2026-05-13T06:30:02-05:30"), &[("expiry", Fail, Some(2), LATE)]);
    let started = "the run began after the envelope had expired";
    assert_only(&until("2026-05-13T12:00:00Z"), &[("expiry", Fail, Some(0), started)]);
    // A call that began in time may return late, and blocks and the end may follow.
    let late = until("2026-05-13T12:00:03Z")
        .event("rer.policy.evaluated", json!({"step_id": "2", "decision": "deny"}))
        .event("rer.policy.step_blocked", json!({"step_id": "2"}));
    assert_all_kept(&late);
    // A leap second is the second after it.
    let leap = |time: &str| {
        let run = Run::new(json!({"expiry": "2026-05-13T12:01:00Z"})).allow("1", json!({}));
        run.tool_called("1", "t").at(time).clock(90).tool_returned("1")
    };
    assert_all_kept(&leap("2026-05-13T12:00:59.999Z"));
    assert_only(&leap("2026-05-13T12:00:60.000Z"), &[("expiry", Fail, Some(2), LATE)]);
}

#[test]
fn times_that_tell_no_expiry() {
    let run = || Run::new(json!({"expiry": "2026-05-13T12:00:30Z"}));
    let never =
        run().allow("1", json!({})).tool_called("1", "t").at("2026-02-30T12:00:00.0Z").tool_returned("1");
    assert_only(&never, &[("expiry", Inconclusive, Some(2), "the timestamp names no moment")]);
    // The clock is turned back past the expiry, so the call seems to be in time.
    let back = run().tool("1", "t").at(&after_noon(31)).allow("2", json!({})).at(&after_noon(32));
    let back = back.tool_called("2", "t").at(&after_noon(29)).clock(40).tool_returned("2");
    let reason = "time runs backwards here, from after the envelope had expired";
    assert_only(&back, &[("expiry", Inconclusive, Some(5), reason)]);
    // Turning it back before the expiry does no harm.
    let early = run()
        .tool("1", "t")
        .allow("2", json!({}))
        .tool_called("2", "t")
        .at(&after_noon(0))
        .tool_returned("2");
    assert_all_kept(&early);
}

#[test]
fn nothing_was_restricted() {
    for (word, reason) in [
        ("observe", "nothing was restricted (observe-only)"),
        ("imported", "nothing was restricted (imported from another format)"),
    ] {
        let run = Run::new(json!({"metadata": {"reenact": {"enforcement": word}}}))
            .event("rer.tool.called", json!({"tool": "anything", "step_id": "1"}))
            .event("rer.tool.returned", json!({"step_id": "1"}));
        let mut expected = kept_verdicts(&run.envelope);
        for rule in &mut expected[..8] {
            (rule.verdict, rule.reason) = (Inconclusive, reason.into());
        }
        let report = run.report();
        assert!(report.pass());
        assert_eq!(report.audit.clone().unwrap().rules, expected);
        assert_eq!(report.audit.unwrap().ok(), None);
        // A denial still counts.
        let denied = Run::new(json!({"metadata": {"reenact": {"enforcement": word}}}))
            .event("rer.policy.evaluated", json!({"step_id": "1", "decision": "deny"}))
            .tool_called("1", "t")
            .tool_returned("1");
        assert_eq!(denied.ok(), Some(false));
    }
}

#[test]
fn an_envelope_that_cannot_be_read() {
    let cases = [
        (
            json!({"limits": {"max_steps": 0}}),
            "$.envelope.limits.max_steps: must be a whole number of 1 or more",
        ),
        (json!({"limits": []}), "$.envelope.limits: must be an object, not an array"),
        (json!({"expiry": "soon"}), "$.envelope.expiry: must be an RFC 3339 timestamp"),
        (json!({"limit": {}}), "$.envelope: unknown member \"limit\""),
    ];
    for (more, fault) in cases {
        let run = Run::new(more).tool("1", "t");
        let report = run.report();
        assert_eq!(report.failed().collect::<Vec<_>>(), [SCHEMA_VALID]);
        let audit = report.audit.unwrap();
        let reason = format!("the envelope cannot be read: {fault}");
        for rule in &audit.rules[..8] {
            assert_eq!(
                (rule.verdict, rule.event, &rule.reason),
                (Inconclusive, None, &reason),
                "{}",
                rule.rule
            );
        }
        assert_eq!(audit.rules[8..], kept_verdicts(&run.envelope)[8..]);
        assert_eq!(audit.ok(), None);
    }
    // An impossible date of the right shape does not mean that there is no expiry.
    let never = Run::new(json!({"expiry": "2026-02-30T00:00:00Z"})).tool("1", "t");
    let report = never.report();
    assert!(report.pass());
    let reason = "the envelope cannot be read: $.envelope.expiry: must be a day that the calendar has";
    assert_eq!(report.audit.unwrap().rules[5].reason, reason);
}

#[test]
fn no_envelope_at_all() {
    let mut artifact: Json = serde_json::from_slice(&Run::new(json!({})).seal()).unwrap();
    artifact.as_object_mut().unwrap().remove("envelope");
    let audit = report_of(artifact.to_string().as_bytes(), &both_keys()).audit.unwrap();
    for at in [0, 1, 2, 3, 4, 5, 6, 7, 9] {
        let rule = &audit.rules[at];
        assert_eq!(
            (rule.verdict, rule.event, rule.reason.as_str()),
            (Inconclusive, None, "there is no envelope")
        );
    }
    assert_eq!(audit.rules[8].verdict, Pass);
}

#[test]
fn a_document_that_cannot_be_read() {
    let artifact = Run::new(json!({})).seal();
    for bytes in [&b""[..], b"[]", b"null", &artifact[..artifact.len() - 1], b"{\"envelope\":{}"] {
        let audit = report_of(bytes, &both_keys()).audit.unwrap();
        let rules: Vec<&str> = audit.rules.iter().map(|rule| rule.rule).collect();
        assert_eq!(rules, kept_verdicts(&json!({})).iter().map(|rule| rule.rule).collect::<Vec<_>>());
        for rule in &audit.rules {
            let found = (rule.verdict, rule.event, rule.reason.as_str());
            assert_eq!(found, (Inconclusive, None, "the document could not be read"));
        }
        assert_eq!(audit.ok(), None);
    }
    // An object that is no artifact has neither envelope nor events: nothing began, so nothing ended.
    let audit = report_of(b"{}", &both_keys()).audit.unwrap();
    assert_eq!(audit.ok(), Some(false));
    assert_eq!(audit.rules[8].reason, "the first event is not rer.run.started");
    assert_eq!(audit.rules[0].reason, "there is no envelope");
}

#[test]
fn ok() {
    let rule = |verdict| RuleVerdict { rule: "expiry", verdict, event: None, reason: String::new() };
    let ok = |verdicts: &[AuditVerdict]| {
        let rules = verdicts.iter().map(|verdict| rule(*verdict)).collect();
        Audit { rules, ..Audit::default() }.ok()
    };
    assert_eq!(ok(&[Pass, Pass]), Some(true));
    assert_eq!(ok(&[Pass, Inconclusive]), None);
    assert_eq!(ok(&[Inconclusive, Fail, Pass]), Some(false));
    assert_eq!(ok(&[Fail]), Some(false));
}

#[test]
fn the_shape_of_the_report() {
    let run = Run::limited(json!({"max_steps": 1})).tool("1", "t").tool("2", "a\"\n").unauthorised();
    let line = TargetOutcome::Report(run.report()).to_json("x");
    let audit = r#""audit":{"ok":false,"rules":[{"rule":"allowed_models","verdict":"pass","event":null,"reason":"every model that was called is on the list"},{"rule":"allowed_tools","verdict":"fail","event":5,"reason":"the tool \"a\"\\u{a}\" is not on the list"},{"rule":"max_steps","verdict":"fail","event":5,"reason":"this is action 2, allowed are 1"},{"rule":"max_spend_usd","verdict":"pass","event":null,"reason":"there is no limit"},{"rule":"rate_limit_rpm","verdict":"pass","event":null,"reason":"there is no limit"},{"rule":"expiry","verdict":"pass","event":null,"reason":"there is none"},{"rule":"required_approvals","verdict":"pass","event":null,"reason":"none is required"},{"rule":"required_signer_types","verdict":"pass","event":null,"reason":"none is required"},{"rule":"event_order","verdict":"pass","event":null,"reason":"every action was decided, began and returned in order"},{"rule":"authorization","verdict":"inconclusive","event":null,"reason":"self-authorised: only the runtime's own key signed the envelope"}]},"digests":{}}"#;
    assert!(line.ends_with(audit), "{line}");
    assert!(line.starts_with("{\"target\":\"x\",\"format\":\"rer-artifact/0.2\",\"pass\":true,"), "{line}");
    let line = TargetOutcome::Report(compliant_run().report()).to_json("x");
    assert!(line.contains("\"audit\":{\"ok\":true,\"rules\":["), "{line}");
    let line = TargetOutcome::Report(compliant_run().unauthorised().report()).to_json("x");
    assert!(line.contains("\"audit\":{\"ok\":null,\"rules\":["), "{line}");
}

/// In a run that only warned a denied action happened: its rule is broken, by the action or by the policy's word. In any
/// other run the order is broken, too.
#[test]
fn denials_without_effect() {
    let denied = |enforcement: &str, rule: &str| {
        Run::new(json!({}))
            .started(json!({"enforcement": enforcement}))
            .event(
                "rer.policy.evaluated",
                json!({"step_id": "s", "decision": "deny", "rule": rule, "action": "tool.call", "tool": "t"}),
            )
            .tool_called("s", "t")
            .tool_returned("s")
    };
    const DONE: &str = "the policy denied it, and the run only warned";
    const DENIED: &str = "the policy had denied this action";
    for (named, broken) in [
        ("allowed_models", "allowed_models"),
        ("allowed_tools", "allowed_tools"),
        ("unknown_form", "allowed_tools"),
        ("max_steps", "max_steps"),
        ("max_spend_usd", "max_spend_usd"),
        ("rate_limit_rpm", "rate_limit_rpm"),
        ("expiry", "expiry"),
        ("required_approvals", "required_approvals"),
    ] {
        assert_only(&denied("warn", named), &[(broken, Fail, Some(2), DONE)]);
        assert_only(&denied("enforce", named), &[("event_order", Fail, Some(2), DENIED)]);
    }
    assert_only(&denied("Warn", "expiry"), &[("event_order", Fail, Some(2), DENIED)]);
    // A decision that no action follows, such as on an answer that nobody could read.
    let alone = Run::new(json!({})).started(json!({"enforcement": "warn"})).event(
        "rer.policy.evaluated",
        json!({"step_id": "s", "decision": "deny", "rule": "allowed_tools", "tool": "unknown"}),
    );
    assert_only(&alone, &[("allowed_tools", Fail, Some(1), DONE)]);
}

/// An enforced run blocks what it denies, but for a model that answers in place of another: that it denies afterwards.
#[test]
fn a_denial_that_nothing_blocked() {
    let decided = |step: &str, decision: &str, rule: &str| {
        (
            "rer.policy.evaluated",
            json!({"step_id": step, "decision": decision, "rule": rule, "model": "gpt-4"}),
        )
    };
    let run = |events: &[(&str, Json)]| {
        events
            .iter()
            .fold(Run::new(json!({})).started(json!({"enforcement": "enforce"})), |run, (name, payload)| {
                run.event(name, payload.clone())
            })
    };
    const ANOTHER: &str = "a model answered that is not on the list";
    let denied = decided("s", "deny", "allowed_models");
    let other = decided("t", "deny", "allowed_models");
    let blocked = ("rer.policy.step_blocked", json!({"step_id": "s"}));
    assert_only(&run(std::slice::from_ref(&denied)), &[("allowed_models", Fail, Some(1), ANOTHER)]);
    assert_only(&run(&[denied.clone(), blocked.clone()]), &[]);
    assert_only(&run(&[other, denied.clone(), blocked]), &[("allowed_models", Fail, Some(1), ANOTHER)]);
    // A recorder that is killed right behind a denial has no time for the block.
    let recovered = ("rer.run.recovered", json!({"from": "journal"}));
    let verdicts =
        |run: &Run| run.report().audit.unwrap().rules.iter().map(|rule| rule.verdict).collect::<Vec<_>>();
    assert!(!verdicts(&run(&[denied.clone(), recovered.clone()])).contains(&Fail));
    let later = run(&[denied.clone(), decided("u", "allow", "allowed_models"), recovered]);
    assert_eq!(verdicts(&later)[0], Fail);
    // Decided again, and allowed this time.
    assert_only(&run(&[denied, decided("s", "allow", "allowed_models")]), &[]);
    assert_only(&run(&[decided("s", "deny", "max_steps")]), &[]);
}
