//! Programs that act and record themselves: denied actions do not happen, and each action returns once, on any thread.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use reenact_record::actor::{ActionError, Actor, ModelCall, OpenModelCall, OpenToolCall};
use reenact_record::policy_engine::Money;
use reenact_record::{
    CallCost, EventSource, RawRequest, RawToolCall, RecordError, Recorder, Recording, RunStart, ToolChannel,
};
use reenact_testkit::fixture::TestDir;
use reenact_verify::audit::AuditVerdict;
use support::{DONE, answer, events, key, run_id, runs, verify_artifact};

const REQUEST: RawRequest<'static> =
    RawRequest { provider: "openai", method: "POST", path: "/v1/responses", headers: &[], body: b"{}" };

const TOOL: RawToolCall<'static> = RawToolCall {
    tool_call_id: "call_1",
    tool: "lookup",
    input: "{}",
    via: ToolChannel::Sdk,
    source: EventSource::Reported,
};

fn begin(dir: &TestDir, limits: &str) -> Recorder<Recording> {
    let envelope = format!(
        r#"{{"envelope_version":"rer-envelope/0.2","limits":{limits},"metadata":{{}},"permissions":{{"allowed_models":["gpt-5"],"allowed_tools":["lookup"]}}}}"#
    );
    let start = RunStart { envelope: Some(envelope.as_bytes()), ..RunStart::new(run_id()) };
    Recorder::builder(&runs(dir), &key()).begin(&start).unwrap()
}

/// Ends the run and verifies it. Returns its model calls and tool calls, and whether all rules pass but that on
/// authorisation.
fn end(recorder: Recorder<Recording>) -> (u64, u64, bool) {
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    let report = verify_artifact(&sealed.path, &key());
    assert_eq!(report.reasons, [""; 0]);
    let rules = report.audit.unwrap().rules;
    let kept = rules
        .iter()
        .filter(|rule| rule.rule != "authorization")
        .all(|rule| rule.verdict == AuditVerdict::Pass);
    (sealed.counts.model_calls, sealed.counts.tool_calls, kept)
}

#[test]
fn they_go_where_tasks_go() {
    fn goes<T: Send + Sync + 'static>() {}
    goes::<Actor>();
    goes::<OpenModelCall>();
    goes::<OpenToolCall>();
}

#[test]
fn no_more_than_is_allowed_happens_on_sixteen_threads() {
    let dir = TestDir::new();
    let recorder = begin(&dir, r#"{"max_steps":5}"#);
    let actor = recorder.actor().unwrap();
    let (acted, denied) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..16 {
            // A second actor of the same run counts with the others.
            let (actor, acted, denied) = (recorder.actor().unwrap(), &acted, &denied);
            scope.spawn(move || match actor.model_call(&ModelCall::new(REQUEST, "gpt-5")) {
                Ok(call) => {
                    acted.fetch_add(1, Ordering::Relaxed);
                    call.finish(answer(b"{}"), None).unwrap();
                }
                Err(ActionError::Denied(refused)) => {
                    assert_eq!(refused.rule, "max_steps");
                    denied.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => panic!("{error}"),
            });
        }
    });
    assert_eq!((acted.into_inner(), denied.into_inner()), (5, 11));
    let refused = actor.tool_call(&TOOL).unwrap_err();
    assert_eq!(refused.to_string(), "denied by max_steps: 5 actions are allowed, and as many have begun");
    assert_eq!(end(recorder), (5, 0, true));
}

#[test]
fn what_is_dropped_returns_all_the_same() {
    let dir = TestDir::new();
    let recorder = begin(&dir, "{}");
    let actor = recorder.actor().unwrap();
    drop(actor.model_call(&ModelCall::new(REQUEST, "gpt-5")).unwrap());
    drop(actor.tool_call(&TOOL).unwrap());
    let journal = runs(&dir).journal_path(recorder.run_id());
    let types: Vec<String> = events(&journal).into_iter().map(|(event_type, _)| event_type).collect();
    assert_eq!(
        types,
        [
            "rer.run.started",
            "rer.policy.evaluated",
            "rer.model.called",
            "rer.model.returned",
            "rer.policy.evaluated",
            "rer.tool.called",
            "rer.tool.returned",
        ]
    );
    assert_eq!(end(recorder), (1, 1, true));
}

#[test]
fn what_it_cost_counts() {
    let dir = TestDir::new();
    let recorder = begin(&dir, r#"{"max_spend_usd":0.01}"#);
    let actor = recorder.actor().unwrap();
    let micro = |count: u128| Money::from_picodollars(count * 1_000_000);
    let call = |expected: u128| ModelCall {
        expected_cost: Some(micro(expected)),
        ..ModelCall::new(REQUEST, "gpt-5")
    };
    // The cost of this call is unknown.
    let unknown = actor.model_call(&ModelCall::new(REQUEST, "gpt-5")).unwrap_err();
    assert!(matches!(unknown, ActionError::Denied(refused) if refused.rule == "max_spend_usd"));
    let first = actor.model_call(&call(6_000)).unwrap();
    // While it runs, its expected cost is reserved.
    assert!(actor.model_call(&call(4_001)).is_err());
    let spent = CallCost {
        model: "gpt-5",
        amount: micro(2_000),
        is_estimate: false,
        rates: &[("input", 1_250_000)],
        usage: &[],
    };
    first.finish(answer(b"{}"), Some(&spent)).unwrap();
    actor
        .model_call(&call(8_000))
        .unwrap()
        .finish(answer(b"{}"), Some(&CallCost { amount: micro(8_000), ..spent }))
        .unwrap();
    // The limit is reached exactly: an action without cost is still allowed.
    assert!(actor.model_call(&call(1)).is_err());
    let free = CallCost { amount: micro(0), ..spent };
    actor.model_call(&call(0)).unwrap().finish(answer(b"{}"), Some(&free)).unwrap();
    assert_eq!(end(recorder), (3, 0, true));
}

/// A call whose cost is not told may have cost all that was expected.
#[test]
fn what_is_not_told_stays_reserved() {
    let dir = TestDir::new();
    let recorder = begin(&dir, r#"{"max_spend_usd":0.01}"#);
    let actor = recorder.actor().unwrap();
    let call = ModelCall {
        expected_cost: Some(Money::from_picodollars(4_000_000_000)),
        ..ModelCall::new(REQUEST, "gpt-5")
    };
    actor.model_call(&call).unwrap().finish(answer(b"{}"), None).unwrap();
    drop(actor.model_call(&call).unwrap());
    let refused = actor.model_call(&call).unwrap_err().to_string();
    let reason = "denied by max_spend_usd: 0.00 USD are spent, 2 calls whose cost was not told may have cost 0.008 USD, this one may cost 0.004 USD, and 0.01 USD are allowed";
    assert_eq!(refused, reason);
    assert_eq!(end(recorder), (2, 0, false), "nothing tells what the calls cost");
}

#[test]
fn without_an_envelope_nothing_is_denied() {
    let dir = TestDir::new();
    let recorder = Recorder::builder(&runs(&dir), &key()).begin(&RunStart::new(run_id())).unwrap();
    let call = recorder.actor().unwrap().model_call(&ModelCall::new(REQUEST, "anything")).unwrap();
    call.finish(answer(b"{}"), None).unwrap();
    drop(recorder.actor().unwrap().tool_call(&TOOL).unwrap());
    let sealed = recorder.end(&DONE).unwrap().seal(&key()).unwrap();
    assert_eq!((sealed.counts.model_calls, sealed.counts.tool_calls), (1, 1));
}

/// A resumed run has lost the history that its limits count, so nothing may act in it.
#[test]
fn nothing_acts_in_a_resumed_run() {
    let dir = TestDir::new();
    let begun = begin(&dir, r#"{"max_steps":1}"#);
    let id = begun.run_id();
    drop(begun);
    let resumed = Recorder::builder(&runs(&dir), &key()).resume(id, || None).unwrap();
    assert_eq!(resumed.actor().err(), Some(RecordError::Resumed));
}
