//! Records of other runtimes: what their payloads mean is read from the names of their members, and nothing is guessed.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::Duration;

use reenact_run::timeline::StepAction;
use reenact_run::{AnswerDetail, ExchangeRequestBody, Timeline, UnreadablePayload};
use reenact_testkit::fixture::RunBuilder;
use support::OpenRun as _;

#[test]
fn a_model_call_by_its_members() {
    let run = RunBuilder::started()
        .event("rer.model.called", r#"{"step_id":"s1","model":"m-1","input":"What is 2+2?"}"#)
        .event(
            "rer.model.returned",
            r#"{"step_id":"s1","output":"4","usage":{"input_tokens":9,"output_tokens":1},"duration_ms":12}"#,
        )
        .run();
    let exchange = run.exchanges().next().unwrap();
    let request = exchange.request().unwrap();
    assert_eq!(request.model.as_deref(), Some("m-1"));
    assert_eq!(request.body, ExchangeRequestBody::Prompt("What is 2+2?".into()));
    let answer = exchange.answer().unwrap();
    assert_eq!((answer.detail, answer.latency), (AnswerDetail::Message, Some(Duration::from_millis(12))));
    let message = exchange.message().unwrap();
    assert_eq!((message.text.as_str(), message.usage.unwrap().input_tokens), ("4", 9));
    let summary = run.summary();
    assert_eq!((summary.incomplete, summary.unreadable), (0, 0));
    let used = summary.models["m-1"];
    assert_eq!((used.calls, used.input_tokens, used.output_tokens), (1, 9, 1));
}

#[test]
fn what_says_nothing_known_is_no_exchange() {
    let run = RunBuilder::started()
        .event("rer.model.called", r#"{"step_id":"s1","question":"why?"}"#)
        .event("rer.model.returned", r#"{"step_id":"s1","verdict":"because"}"#)
        .run();
    let exchange = run.exchanges().next().unwrap();
    assert_eq!(exchange.request().unwrap_err(), UnreadablePayload::Missing { member: "http" });
    assert!(exchange.answer().is_err());
    let (asked, answered) = (exchange.foreign_call().unwrap(), exchange.foreign_return().unwrap());
    assert!(asked.content.is_none() && answered.content.is_none());
    assert!(answered.payload.member("verdict").unwrap().is_string("because"));
}

/// Half a payload of reenact is a fault, not another runtime's.
#[test]
fn a_damaged_payload_of_ours_is_not_foreign() {
    let run = RunBuilder::started()
        .event("rer.model.called", r#"{"step_id":"s1","model":"m","prompt":"p","match_key":null,"http":{}}"#)
        .event("rer.model.returned", r#"{"step_id":"s1","output":"o","complete":true}"#)
        .run();
    let exchange = run.exchanges().next().unwrap();
    assert!(exchange.foreign_call().is_none() && exchange.foreign_return().is_none());
    assert!(exchange.request().is_err() && exchange.answer().is_err());
}

#[test]
fn an_error_of_another_runtime() {
    let run = RunBuilder::started()
        .event("rer.model.called", r#"{"step_id":"s1","model":"m"}"#)
        .event("rer.model.returned", r#"{"step_id":"s1","error":{"code":"overloaded","message":"later"}}"#)
        .run();
    let error = run.exchanges().next().unwrap().message().unwrap().error.unwrap();
    assert_eq!((error.kind.as_str(), error.message.as_str()), ("overloaded", "later"));
    assert_eq!(run.summary().models["m"].errors, 1);
}

#[test]
fn ends_without_ids() {
    let run = RunBuilder::started()
        .event("rer.model.called", r#"{"model":"a","input":"1"}"#)
        .event("rer.model.returned", r#"{"output":"one"}"#)
        .event("rer.tool.called", r#"{"tool_name":"now","args":{"tz":"UTC"}}"#)
        .event("rer.tool.returned", r#"{"result":"12:00","duration_ms":3}"#)
        .event("rer.model.called", r#"{"model":"a","input":"2"}"#)
        .event("rer.model.called", r#"{"model":"a","input":"3"}"#)
        .event("rer.model.returned", r#"{"output":"of which?"}"#)
        .run();
    let answered: Vec<bool> = run.exchanges().map(|exchange| exchange.returned.is_some()).collect();
    assert_eq!(answered, [true, false, false]);
    let tool = run.tool_calls().next().unwrap();
    let (call, result) = (tool.call().unwrap(), tool.result().unwrap());
    assert_eq!(call.tool, "now");
    assert_eq!(call.input.unwrap().text(), br#"{"tz":"UTC"}"#);
    assert_eq!(result.output.unwrap().text(), br#""12:00""#);
    assert_eq!(result.latency, Some(Duration::from_millis(3)));
    let timeline = Timeline::of(&run);
    assert!(matches!(timeline.steps[0].action, StepAction::Model(_)));
}

#[test]
fn tools_by_the_id_of_their_call() {
    let run = RunBuilder::started()
        .event("rer.tool.called", r#"{"tool":"a","tool_call_id":"c1"}"#)
        .event("rer.tool.called", r#"{"tool":"b","tool_call_id":"c2"}"#)
        .event("rer.tool.returned", r#"{"tool_call_id":"c2","error":"no such file"}"#)
        .event("rer.tool.returned", r#"{"tool_call_id":"c1","output":1}"#)
        .run();
    let results: Vec<(String, bool)> = run
        .tool_calls()
        .map(|tool| {
            let result = tool.result().unwrap();
            (String::from_utf8_lossy(result.output.unwrap().text()).into_owned(), result.is_error)
        })
        .collect();
    assert_eq!(results, [("1".into(), false), ("\"no such file\"".into(), true)]);
}
