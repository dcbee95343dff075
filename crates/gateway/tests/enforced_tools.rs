//! Tool calls in answers: a client never sees a denied call, and an allowed one passes unchanged.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::time::Duration;

use reenact_gateway::GatewayLimits;
use reenact_testkit::{
    Encoding, Script, ScriptedAnswer, ScriptedReply, ScriptedVendor, SentEnd, WaitCondition,
};
use reenact_wire::Endpoint;
use reenact_wire::error_reply::{self, ErrorReply};
use serde_json::Value;
use support::SealedRun;
use support::enforced::{EnforcedRun, ModelApi};
use support::killed_run::KilledRun;

const STREAM: &str = r#","stream":true"#;
const NO: &str = "the tool \"pay_invoice\" is not on the list";
/// Last events of an answer with tool calls; the decisions on the calls come before.
const RETURNED: [&str; 2] = ["model.returned", "spend.counted"];
const CALLED: [&str; 2] = ["policy.evaluated", "model.called"];
const TOOL: [&str; 2] = ["policy.evaluated", "tool.called"];
const BLOCKED: [&str; 2] = ["policy.evaluated", "policy.step_blocked"];

fn endpoint(api: ModelApi) -> Endpoint {
    match api {
        ModelApi::Chat => Endpoint::CHAT_COMPLETIONS,
        ModelApi::Responses => Endpoint::RESPONSES,
        ModelApi::Messages => Endpoint::MESSAGES,
    }
}

fn wants_to_pay() -> ScriptedReply {
    ScriptedReply::text("One moment, please.").and_call("pay_invoice", r#"{"iban":"AT61"}"#)
}

/// Returns the event that ends a denied stream.
fn no_event(api: ModelApi, reason: &str) -> String {
    let message = format!("reenact: denied by allowed_tools: {reason}");
    let refusal =
        ErrorReply { status: 403, kind: "permission_error", code: "reenact_denied", message: &message };
    error_reply::error_event(endpoint(api), &refusal)
}

/// Returns the part of a stream before the first event that contains `mark`.
fn before<'s>(stream: &'s str, mark: &str) -> &'s str {
    let at = stream.find(mark).unwrap();
    let end = stream[..at].rfind("\n\n").unwrap() + 2;
    assert!(end > 20);
    &stream[..end]
}

fn sent(vendor: &ScriptedVendor) -> String {
    String::from_utf8(vendor.sent_answers()[0].body.to_vec()).unwrap()
}

/// Asserts that the record has all bytes of the vendor, and the bytes that the client got.
fn assert_withheld(sealed: &SealedRun, vendor: &ScriptedVendor, delivered: &str) {
    let returned = sealed.only_payload("rer.model.returned");
    assert_eq!(returned["http"]["body"]["text"], sent(vendor).as_str());
    assert_eq!(returned["delivered"]["text"], delivered);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_tool_in_a_plain_answer() {
    for api in ModelApi::ALL {
        let vendor = ScriptedVendor::start(Script::replying(|_| wants_to_pay())).unwrap();
        let run = EnforcedRun::default().start(&vendor);
        let response = api.ask(&run, "").await;
        let due = api.denial_body("permission_error", "allowed_tools", NO);
        assert_eq!(
            (response.status(), response.text(), response.is_whole),
            (403, due.as_str(), true),
            "{api:?}"
        );
        let sealed = run.seal().await;
        assert_eq!(sealed.inner_event_types(), [&CALLED[..], &BLOCKED[..], &RETURNED[..]].concat());
        assert_eq!(sealed.decisions(), [(api.model(), None), ("pay_invoice", Some("allowed_tools"))]);
        let returned = sealed.only_payload("rer.model.returned");
        assert_eq!((&returned["status"], &returned["complete"]), (&200.into(), &true.into()));
        assert_withheld(&sealed, &vendor, &due);
        sealed.assert_rules_pass();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_tool_in_a_stream() {
    for api in ModelApi::ALL {
        let vendor = ScriptedVendor::start(Script::replying(|_| wants_to_pay())).unwrap();
        let run = EnforcedRun::default().start(&vendor);
        let response = api.ask(&run, STREAM).await;
        assert_eq!((response.status(), response.is_whole), (200, true));
        // The stream was read to its end all the same.
        vendor.wait_async(WaitCondition::Ends(1)).await;
        let sent = sent(&vendor);
        let due = [before(&sent, "pay_invoice"), &no_event(api, NO)].concat();
        assert_eq!(response.text(), due, "{api:?}");
        assert!(due.contains("moment") && !due[..due.len() / 2].contains("pay_invoice"));
        assert!(!response.text().contains("iban"));
        let sealed = run.seal().await;
        assert_eq!(sealed.inner_event_types(), [&CALLED[..], &BLOCKED[..], &RETURNED[..]].concat());
        assert_withheld(&sealed, &vendor, &due);
        assert_eq!(sealed.only_payload("rer.spend.counted")["is_estimate"], api == ModelApi::Chat);
        sealed.assert_rules_pass();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_comes_at_once_and_calls_when_they_are_decided_on() {
    for (api, tool) in ModelApi::ALL.into_iter().flat_map(|api| [(api, "lookup"), (api, "pay_invoice")]) {
        let reply = ScriptedReply::text("One moment, please.").and_call(tool, r#"{"iban":"AT61"}"#);
        let script = Script::replying(move |_| reply.clone()).gated();
        let vendor = ScriptedVendor::start(script).unwrap();
        let run = EnforcedRun::default().start(&vendor);
        let client = api.client(&run);
        let mut connection = client.connect().await;
        let body = api.body(api.model(), STREAM);
        connection.write(&client.request("POST", api.path(), &[], body.as_bytes())).await;
        connection.read_head().await.unwrap();
        // Before the tool call each piece arrives before the vendor sends the next.
        let (mut response, mut piece) = (String::new(), 0);
        let is_over = loop {
            vendor.open_gate(&format!("0.{piece}"));
            piece += 1;
            vendor.wait_async(WaitCondition::Gate(format!("0.{piece}"))).await;
            let sent = sent(&vendor);
            if sent.contains(tool) {
                break false;
            }
            response += std::str::from_utf8(&connection.read_chunk().await.unwrap()).unwrap();
            assert_eq!(response, sent, "{api:?}");
        };
        assert!(!is_over && response.contains("moment") && response.contains("please"), "{response}");
        // From the call's first piece on nothing arrives until the call is complete.
        (piece..piece + 60).for_each(|piece| vendor.open_gate(&format!("0.{piece}")));
        let held = connection.read_chunk().await.unwrap();
        let held = std::str::from_utf8(&held).unwrap();
        let is_allowed = tool == "lookup";
        let events = held.matches("\n\n").count();
        assert_eq!(
            (held.contains("reenact_denied"), events > 2),
            (!is_allowed, is_allowed),
            "{api:?} {held}"
        );
        response += held;
        loop {
            let chunk = connection.read_chunk().await.unwrap();
            if chunk.is_empty() {
                break;
            }
            response += std::str::from_utf8(&chunk).unwrap();
        }
        vendor.wait_async(WaitCondition::Ends(1)).await;
        let sent = sent(&vendor);
        if is_allowed {
            assert_eq!(response, sent, "{api:?}");
        } else {
            assert_eq!(response, [before(&sent, tool), &no_event(api, NO)].concat());
        }
        let sealed = run.seal().await;
        let decided = if is_allowed { TOOL } else { BLOCKED };
        let told: &[&str] = if is_allowed { &["tool.returned"] } else { &[] };
        assert_eq!(sealed.inner_event_types(), [&CALLED[..], &decided[..], &RETURNED[..], told].concat());
        let returned = sealed.only_payload("rer.model.returned");
        assert_eq!(returned.get("delivered").is_none(), is_allowed);
        sealed.assert_rules_pass();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_tool_goes_its_way() {
    for (api, more) in ModelApi::ALL.into_iter().flat_map(|api| [(api, ""), (api, STREAM)]) {
        let script = Script::replying(|_| {
            ScriptedReply::call("lookup", r#"{"q":"x"}"#).and_call("lookup", r#"{"q":"y"}"#)
        });
        let vendor = ScriptedVendor::start(script).unwrap();
        let run = EnforcedRun::with_limits(r#"{"max_steps":3}"#).start(&vendor);
        let response = api.ask(&run, more).await;
        assert_eq!(
            (response.status(), response.body.clone()),
            (200, vendor.sent_answers()[0].body.to_vec()),
            "{api:?}"
        );
        let response = api.ask(&run, more).await;
        let due =
            api.denial_body("permission_error", "max_steps", "3 actions are allowed, and as many have begun");
        assert_eq!(
            (response.status(), response.text()),
            (403, due.as_str()),
            "a model and two tools are three"
        );
        let sealed = run.seal().await;
        let inputs: Vec<&Value> =
            sealed.payloads("rer.tool.called").iter().map(|called| &called["input"]["q"]).collect();
        assert_eq!(inputs, ["x", "y"]);
        assert_eq!(sealed.only_payload("rer.run.ended")["total_tool_calls"], 2);
        sealed.assert_rules_pass();
    }
}

/// A document is handed on completely or not at all; of a stream the calls before the denied one.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_tools_is_denied() {
    for (api, more) in ModelApi::ALL.into_iter().flat_map(|api| [(api, ""), (api, STREAM)]) {
        let reply =
            ScriptedReply::call("lookup", r#"{"q":"x"}"#).and_call("pay_invoice", r#"{"iban":"AT61"}"#);
        let vendor = ScriptedVendor::start(Script::replying(move |_| reply.clone())).unwrap();
        let run = EnforcedRun::default().start(&vendor);
        let response = api.ask(&run, more).await;
        assert_eq!(response.status(), if more.is_empty() { 403 } else { 200 });
        assert!(
            !response.text().contains("AT61")
                && !response.text().replace("\\\"pay_invoice\\\"", "").contains("pay_invoice")
        );
        vendor.wait_async(WaitCondition::Ends(1)).await;
        // Chat completes its calls only at the end, the other interfaces call by call.
        let first_passes = !more.is_empty() && api != ModelApi::Chat;
        assert_eq!(response.text().contains("lookup"), first_passes, "{api:?}{more}");
        let sealed = run.seal().await;
        let called = sealed.payloads("rer.tool.called").len();
        assert_eq!(called, usize::from(first_passes));
        assert_eq!(sealed.only_payload("rer.model.returned")["delivered"]["text"], response.text());
        sealed.assert_rules_pass();
    }
}

/// The vendor breaks off in the middle of a call. The client saw nothing of it, and no decision was made.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_cut_while_it_is_held() {
    for api in ModelApi::ALL {
        let whole = Script::replying(|_| wants_to_pay());
        let script = whole.map(|_, answer| {
            let body = String::from_utf8(answer.body()).unwrap();
            let pieces = before(&body, "pay_invoice").matches("\n\n").count();
            answer.cut_after(pieces + 2)
        });
        let vendor = ScriptedVendor::start(script).unwrap();
        let run = EnforcedRun::default().start(&vendor);
        let response = api.ask(&run, STREAM).await;
        let sent = sent(&vendor);
        let due = before(&sent, "pay_invoice");
        assert_eq!((response.text(), response.is_whole), (due, false), "{api:?}");
        let sealed = run.seal().await;
        assert_eq!(sealed.inner_event_types(), [&CALLED[..], &RETURNED[..]].concat());
        let returned = sealed.only_payload("rer.model.returned");
        assert_eq!((&returned["complete"], &returned["ended_by"]), (&false.into(), &"upstream".into()));
        assert_withheld(&sealed, &vendor, due);
    }
}

/// After the client disconnected, the vendor's connection is closed at once, whether bytes are held back or
/// not.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves() {
    for (api, is_held) in ModelApi::ALL.into_iter().flat_map(|api| [(api, true), (api, false)]) {
        let script = Script::replying(|_| wants_to_pay()).map(move |_, answer| {
            let body = String::from_utf8(answer.body()).unwrap();
            let text = before(&body, "pay_invoice").matches("\n\n").count();
            answer.wait_before(text + usize::from(is_held), "rest")
        });
        let vendor = ScriptedVendor::start(script).unwrap();
        let run = EnforcedRun::default().start(&vendor);
        let client = api.client(&run);
        let mut connection = client.connect().await;
        let body = api.body(api.model(), STREAM);
        connection.write(&client.request("POST", api.path(), &[], body.as_bytes())).await;
        connection.read_head().await.unwrap();
        vendor.wait_async(WaitCondition::Gate("rest".into())).await;
        let sent = sent(&vendor);
        let due = if is_held { before(&sent, "pay_invoice") } else { &sent };
        let mut response = Vec::new();
        while response.len() < due.len() {
            response.extend(connection.read_chunk().await.unwrap());
        }
        assert_eq!(response, due.as_bytes());
        // Wait until the log has the vendor's bytes.
        while is_held
            && run.logs.is_some()
            && !KilledRun::copy_of(&run).entries().iter().any(|entry| entry.contains("pay_invoice"))
        {
            tokio::task::yield_now().await;
        }
        drop(connection);
        vendor.wait_async(WaitCondition::Ends(1)).await;
        assert_eq!(vendor.sent_answers()[0].end, Some(SentEnd::ClientLeft), "{api:?} {is_held}");
        let sealed = run.seal().await;
        let returned = sealed.only_payload("rer.model.returned");
        assert_eq!((&returned["complete"], &returned["ended_by"]), (&false.into(), &"client".into()));
        if is_held {
            assert_withheld(&sealed, &vendor, due);
        } else {
            assert_eq!(returned.get("delivered"), None);
        }
        assert_eq!(sealed.payloads("rer.policy.step_blocked"), Vec::<&Value>::new());
    }
}

/// A denied stream is still read for the record; the end of the run does not wait for it.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_run_does_not_wait_for_what_nobody_gets() {
    let script =
        Script::replying(|_| wants_to_pay()).map(|_, answer| answer.wait_before(usize::MAX, "never"));
    let vendor = ScriptedVendor::start(script).unwrap();
    let gateway_limits = GatewayLimits { linger: Duration::from_millis(1), ..GatewayLimits::default() };
    let run = EnforcedRun { gateway_limits, ..EnforcedRun::default() }.start(&vendor);
    let response = ModelApi::Messages.ask(&run, STREAM).await;
    assert!(response.is_whole && response.text().ends_with(&no_event(ModelApi::Messages, NO)));
    vendor.wait_async(WaitCondition::Gate("never".into())).await;
    let sealed = run.seal().await;
    assert_eq!(sealed.only_payload("rer.model.returned")["delivered"]["text"], response.text());
    sealed.assert_rules_pass();
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_although_nobody_asked_for_it() {
    for encoding in Encoding::ALL {
        for (tool, more) in [("lookup", ""), ("pay_invoice", ""), ("lookup", STREAM), ("pay_invoice", STREAM)]
        {
            let script = Script::replying(move |_| ScriptedReply::call(tool, "{}")).encoded(encoding);
            let vendor = ScriptedVendor::start(script).unwrap();
            let run = EnforcedRun::default().start(&vendor);
            let body = ModelApi::Messages.body("claude-sonnet-4-5", more);
            let headers = [("accept-encoding", "gzip, br")];
            let client = run.anthropic();
            let response = client.send("POST", "/v1/messages", &headers, body.as_bytes()).await.unwrap();
            assert_eq!(vendor.requests()[0].header("accept-encoding"), Some("identity"));
            let what = format!("{encoding:?} {tool}{more}");
            if !more.is_empty() {
                // A content coding hides the pieces.
                let reason = "the answer cannot be read, so nobody knows which tools it asks for";
                let due = ModelApi::Messages.denial_body("permission_error", "allowed_tools", reason);
                assert_eq!((response.status(), response.text()), (403, due.as_str()), "{what}");
            } else if tool == "lookup" {
                assert_eq!(
                    (response.status(), response.body),
                    (200, vendor.sent_answers()[0].body.to_vec()),
                    "{what}"
                );
            } else {
                let due = ModelApi::Messages.denial_body("permission_error", "allowed_tools", NO);
                assert_eq!((response.status(), response.text()), (403, due.as_str()), "{what}");
            }
            run.seal().await;
        }
    }
}

/// Answers with hidden tool calls, as a document and as a stream.
#[tokio::test(flavor = "multi_thread")]
async fn other_ways_to_bring_a_tool() {
    let second = r#"{"choices":[{"index":0,"message":{"content":"hi"}},{"index":1,"message":{"tool_calls":[{"id":"c","function":{"name":"pay_invoice","arguments":"AT61"}}]}}]}"#;
    let of_before =
        r#"{"choices":[{"message":{"function_call":{"name":"pay_invoice","arguments":"AT61"}}}]}"#;
    let deltas = "data: {\"choices\":[{\"index\":1,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"pay_invoice\",\"arguments\":\"AT61\"}}]}}]}\n\n";
    let is_unreadable = "the answer cannot be read, so nobody knows which tools it asks for";
    let json = |body: &str| ScriptedAnswer::json(200, body.to_owned());
    let events = |body: &str| ScriptedAnswer::events([body.to_owned()]);
    let cases = [
        ("a second choice", json(second), NO),
        ("the way of before", json(of_before), NO),
        ("a stream that calls itself a document", json(deltas), is_unreadable),
        ("a document that calls itself a stream", events(second), is_unreadable),
        ("no type at all", ScriptedAnswer { headers: Vec::new(), ..json(deltas) }, is_unreadable),
        ("a name twice", json(r#"{"choices":[],"choices":[]}"#), is_unreadable),
        ("a stream without an end", events(deltas), NO),
        ("half an event", events(&deltas[..60]), is_unreadable),
        ("a length", events(deltas).header("content-length", deltas.len().to_string()), NO),
        ("one line end", events(deltas.trim_end()), NO),
    ];
    for (what, answer, reason) in cases {
        let is_stream = answer.is_stream();
        let vendor = ScriptedVendor::start(Script::answering(move |_| answer.clone())).unwrap();
        let run = EnforcedRun::default().start(&vendor);
        let response = ModelApi::Chat.ask(&run, "").await;
        let due = if is_stream {
            no_event(ModelApi::Chat, reason)
        } else {
            ModelApi::Chat.denial_body("permission_error", "allowed_tools", reason)
        };
        assert_eq!((response.text(), response.is_whole), (due.as_str(), true), "{what}");
        let sealed = run.seal().await;
        assert_withheld(&sealed, &vendor, &due);
        sealed.assert_rules_pass();
    }
}

/// An answer longer than the record's limit cannot be decided on, and its end is not waited for.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_too_long_for_the_record() {
    for more in ["", STREAM] {
        let script = Script::big(300_000).map(|_, answer| answer.wait_before(usize::MAX, "never"));
        let vendor = ScriptedVendor::start(script).unwrap();
        let gateway_limits = GatewayLimits { max_answer_bytes: 10_000, ..GatewayLimits::default() };
        let run = EnforcedRun { gateway_limits, ..EnforcedRun::default() }.start(&vendor);
        let response = ModelApi::Chat.ask(&run, more).await;
        let reason = "the answer cannot be read, so nobody knows which tools it asks for";
        if more.is_empty() {
            let due = ModelApi::Chat.denial_body("permission_error", "allowed_tools", reason);
            assert_eq!((response.status(), response.text()), (403, due.as_str()));
        } else {
            assert!(response.is_whole && response.text().ends_with(&no_event(ModelApi::Chat, reason)));
            assert!(response.body.len() < 11_000, "{}", response.body.len());
        }
        let sealed = run.seal().await;
        let returned = sealed.only_payload("rer.model.returned");
        assert_eq!(returned["delivered"]["text"], response.text());
        assert_eq!(returned["complete"], false);
    }
}
