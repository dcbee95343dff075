//! Tools that a model asks for: what an envelope denies, no client ever sees; what it allows passes as it came.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::time::Duration;

use reenact_gateway::Limits;
use reenact_testkit::{Answer, Encoding, Moment, Reply, Script, SentEnd, Vendor};
use reenact_wire::Endpoint;
use reenact_wire::refusal::{self, Refusal};
use serde_json::Value;
use support::Landed;
use support::enforced::{Door, Law};
use support::wreck::Wreck;

const STREAM: &str = r#","stream":true"#;
const NO: &str = "the tool \"pay_invoice\" is not on the list";
/// Ends as the answer does that brings tools; each of them was decided on before.
const RETURNED: [&str; 2] = ["model.returned", "spend.counted"];
const CALLED: [&str; 2] = ["policy.evaluated", "model.called"];
const TOOL: [&str; 2] = ["policy.evaluated", "tool.called"];
const BLOCKED: [&str; 2] = ["policy.evaluated", "policy.step_blocked"];

fn endpoint(door: Door) -> Endpoint {
    match door {
        Door::Chat => Endpoint::CHAT_COMPLETIONS,
        Door::Responses => Endpoint::RESPONSES,
        Door::Messages => Endpoint::MESSAGES,
    }
}

fn wants_to_pay() -> Reply {
    Reply::text("One moment, please.").and_call("pay_invoice", r#"{"iban":"AT61"}"#)
}

/// The event that ends a stream which may not go on.
fn no_event(door: Door, reason: &str) -> String {
    let message = format!("reenact: denied by allowed_tools: {reason}");
    let refusal =
        Refusal { status: 403, kind: "permission_error", code: "reenact_denied", message: &message };
    refusal::event(endpoint(door), &refusal)
}

/// What of a stream comes before the first event that has this in it.
fn before<'s>(stream: &'s str, mark: &str) -> &'s str {
    let at = stream.find(mark).unwrap();
    let end = stream[..at].rfind("\n\n").unwrap() + 2;
    assert!(end > 20);
    &stream[..end]
}

fn sent(vendor: &Vendor) -> String {
    String::from_utf8(vendor.sent()[0].body.to_vec()).unwrap()
}

/// The record has all that came, and says what of it was handed on.
fn has_both(landed: &Landed, vendor: &Vendor, delivered: &str) {
    let returned = landed.the("rer.model.returned");
    assert_eq!(returned["http"]["body"]["text"], sent(vendor).as_str());
    assert_eq!(returned["delivered"]["text"], delivered);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_tool_in_a_plain_answer() {
    for door in Door::ALL {
        let vendor = Vendor::start(Script::replying(|_| wants_to_pay())).unwrap();
        let flight = Law::default().over(&vendor);
        let got = door.ask(&flight, "").await;
        let due = door.no("permission_error", "allowed_tools", NO);
        assert_eq!((got.status(), got.text(), got.is_whole), (403, due.as_str(), true), "{door:?}");
        let landed = flight.land().await;
        assert_eq!(landed.course(), [&CALLED[..], &BLOCKED[..], &RETURNED[..]].concat());
        assert_eq!(landed.decisions(), [(door.model(), None), ("pay_invoice", Some("allowed_tools"))]);
        let returned = landed.the("rer.model.returned");
        assert_eq!((&returned["status"], &returned["complete"]), (&200.into(), &true.into()));
        has_both(&landed, &vendor, &due);
        landed.is_kept();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_tool_in_a_stream() {
    for door in Door::ALL {
        let vendor = Vendor::start(Script::replying(|_| wants_to_pay())).unwrap();
        let flight = Law::default().over(&vendor);
        let got = door.ask(&flight, STREAM).await;
        assert_eq!((got.status(), got.is_whole), (200, true));
        // It has read to its end all the same.
        vendor.when(Moment::Ends(1)).await;
        let sent = sent(&vendor);
        let due = [before(&sent, "pay_invoice"), &no_event(door, NO)].concat();
        assert_eq!(got.text(), due, "{door:?}");
        assert!(due.contains("moment") && !due[..due.len() / 2].contains("pay_invoice"));
        assert!(!got.text().contains("iban"));
        let landed = flight.land().await;
        assert_eq!(landed.course(), [&CALLED[..], &BLOCKED[..], &RETURNED[..]].concat());
        has_both(&landed, &vendor, &due);
        assert_eq!(landed.the("rer.spend.counted")["is_estimate"], door == Door::Chat);
        landed.is_kept();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_comes_at_once_and_calls_when_they_are_decided_on() {
    for (door, tool) in Door::ALL.into_iter().flat_map(|door| [(door, "lookup"), (door, "pay_invoice")]) {
        let reply = Reply::text("One moment, please.").and_call(tool, r#"{"iban":"AT61"}"#);
        let script = Script::replying(move |_| reply.clone()).gated();
        let vendor = Vendor::start(script).unwrap();
        let flight = Law::default().over(&vendor);
        let client = door.client(&flight);
        let mut connection = client.connect().await;
        let body = door.body(door.model(), STREAM);
        connection.write(&client.request("POST", door.path(), &[], body.as_bytes())).await;
        connection.head().await.unwrap();
        // As long as nothing asks for a tool, each piece comes before the vendor sends the next.
        let (mut got, mut piece) = (String::new(), 0);
        let is_over = loop {
            vendor.open(&format!("0.{piece}"));
            piece += 1;
            vendor.when(Moment::Gate(format!("0.{piece}"))).await;
            let sent = sent(&vendor);
            if sent.contains(tool) {
                break false;
            }
            got += std::str::from_utf8(&connection.chunk().await.unwrap()).unwrap();
            assert_eq!(got, sent, "{door:?}");
        };
        assert!(!is_over && got.contains("moment") && got.contains("please"), "{got}");
        // Then nothing comes until all of the call is there.
        (piece..piece + 60).for_each(|piece| vendor.open(&format!("0.{piece}")));
        let held = connection.chunk().await.unwrap();
        let held = std::str::from_utf8(&held).unwrap();
        let is_allowed = tool == "lookup";
        let events = held.matches("\n\n").count();
        assert_eq!(
            (held.contains("reenact_denied"), events > 2),
            (!is_allowed, is_allowed),
            "{door:?} {held}"
        );
        got += held;
        loop {
            let chunk = connection.chunk().await.unwrap();
            if chunk.is_empty() {
                break;
            }
            got += std::str::from_utf8(&chunk).unwrap();
        }
        vendor.when(Moment::Ends(1)).await;
        let sent = sent(&vendor);
        if is_allowed {
            assert_eq!(got, sent, "{door:?}");
        } else {
            assert_eq!(got, [before(&sent, tool), &no_event(door, NO)].concat());
        }
        let landed = flight.land().await;
        let decided = if is_allowed { TOOL } else { BLOCKED };
        let told: &[&str] = if is_allowed { &["tool.returned"] } else { &[] };
        assert_eq!(landed.course(), [&CALLED[..], &decided[..], &RETURNED[..], told].concat());
        let returned = landed.the("rer.model.returned");
        assert_eq!(returned.get("delivered").is_none(), is_allowed);
        landed.is_kept();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_tool_goes_its_way() {
    for (door, more) in Door::ALL.into_iter().flat_map(|door| [(door, ""), (door, STREAM)]) {
        let script =
            Script::replying(|_| Reply::call("lookup", r#"{"q":"x"}"#).and_call("lookup", r#"{"q":"y"}"#));
        let vendor = Vendor::start(script).unwrap();
        let flight = Law::limiting(r#"{"max_steps":3}"#).over(&vendor);
        let got = door.ask(&flight, more).await;
        assert_eq!((got.status(), got.body.clone()), (200, vendor.sent()[0].body.to_vec()), "{door:?}");
        let got = door.ask(&flight, more).await;
        let due = door.no("permission_error", "max_steps", "3 actions are allowed, and as many have begun");
        assert_eq!((got.status(), got.text()), (403, due.as_str()), "a model and two tools are three");
        let landed = flight.land().await;
        let inputs: Vec<&Value> =
            landed.all("rer.tool.called").iter().map(|called| &called["input"]["q"]).collect();
        assert_eq!(inputs, ["x", "y"]);
        assert_eq!(landed.the("rer.run.ended")["total_tool_calls"], 2);
        landed.is_kept();
    }
}

/// All of an answer, or nothing of it; of a stream, what was whole before.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_tools_is_denied() {
    for (door, more) in Door::ALL.into_iter().flat_map(|door| [(door, ""), (door, STREAM)]) {
        let reply = Reply::call("lookup", r#"{"q":"x"}"#).and_call("pay_invoice", r#"{"iban":"AT61"}"#);
        let vendor = Vendor::start(Script::replying(move |_| reply.clone())).unwrap();
        let flight = Law::default().over(&vendor);
        let got = door.ask(&flight, more).await;
        assert_eq!(got.status(), if more.is_empty() { 403 } else { 200 });
        assert!(
            !got.text().contains("AT61")
                && !got.text().replace("\\\"pay_invoice\\\"", "").contains("pay_invoice")
        );
        vendor.when(Moment::Ends(1)).await;
        // A chat tells only at its end that its calls are whole; the others call by call.
        let first_passes = !more.is_empty() && door != Door::Chat;
        assert_eq!(got.text().contains("lookup"), first_passes, "{door:?}{more}");
        let landed = flight.land().await;
        let called = landed.all("rer.tool.called").len();
        assert_eq!(called, usize::from(first_passes));
        assert_eq!(landed.the("rer.model.returned")["delivered"]["text"], got.text());
        landed.is_kept();
    }
}

/// The vendor breaks off in the middle of a call: nobody saw it, and it was never decided on.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_cut_while_it_is_held() {
    for door in Door::ALL {
        let whole = Script::replying(|_| wants_to_pay());
        let script = whole.map(|_, answer| {
            let body = String::from_utf8(answer.body()).unwrap();
            let pieces = before(&body, "pay_invoice").matches("\n\n").count();
            answer.cut_after(pieces + 2)
        });
        let vendor = Vendor::start(script).unwrap();
        let flight = Law::default().over(&vendor);
        let got = door.ask(&flight, STREAM).await;
        let sent = sent(&vendor);
        let due = before(&sent, "pay_invoice");
        assert_eq!((got.text(), got.is_whole), (due, false), "{door:?}");
        let landed = flight.land().await;
        assert_eq!(landed.course(), [&CALLED[..], &RETURNED[..]].concat());
        let returned = landed.the("rer.model.returned");
        assert_eq!((&returned["complete"], &returned["ended_by"]), (&false.into(), &"upstream".into()));
        has_both(&landed, &vendor, due);
    }
}

/// Who has left wants nothing more: the vendor is let go at once, whether something is held or not.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves() {
    for (door, is_held) in Door::ALL.into_iter().flat_map(|door| [(door, true), (door, false)]) {
        let script = Script::replying(|_| wants_to_pay()).map(move |_, answer| {
            let body = String::from_utf8(answer.body()).unwrap();
            let text = before(&body, "pay_invoice").matches("\n\n").count();
            answer.wait_before(text + usize::from(is_held), "rest")
        });
        let vendor = Vendor::start(script).unwrap();
        let flight = Law::default().over(&vendor);
        let client = door.client(&flight);
        let mut connection = client.connect().await;
        let body = door.body(door.model(), STREAM);
        connection.write(&client.request("POST", door.path(), &[], body.as_bytes())).await;
        connection.head().await.unwrap();
        vendor.when(Moment::Gate("rest".into())).await;
        let sent = sent(&vendor);
        let due = if is_held { before(&sent, "pay_invoice") } else { &sent };
        let mut got = Vec::new();
        while got.len() < due.len() {
            got.extend(connection.chunk().await.unwrap());
        }
        assert_eq!(got, due.as_bytes());
        // What the vendor has sent has come, too, as far as it is looked at before the client leaves.
        while is_held
            && flight.logs.is_some()
            && !Wreck::of(&flight).entries().iter().any(|entry| entry.contains("pay_invoice"))
        {
            tokio::task::yield_now().await;
        }
        drop(connection);
        vendor.when(Moment::Ends(1)).await;
        assert_eq!(vendor.sent()[0].end, Some(SentEnd::Left), "{door:?} {is_held}");
        let landed = flight.land().await;
        let returned = landed.the("rer.model.returned");
        assert_eq!((&returned["complete"], &returned["ended_by"]), (&false.into(), &"client".into()));
        if is_held {
            has_both(&landed, &vendor, due);
        } else {
            assert_eq!(returned.get("delivered"), None);
        }
        assert_eq!(landed.all("rer.policy.step_blocked"), Vec::<&Value>::new());
    }
}

/// A stream that was denied goes on for the record alone: the end of the run does not wait for it.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_run_does_not_wait_for_what_nobody_gets() {
    let script =
        Script::replying(|_| wants_to_pay()).map(|_, answer| answer.wait_before(usize::MAX, "never"));
    let vendor = Vendor::start(script).unwrap();
    let most = Limits { linger: Duration::from_millis(1), ..Limits::default() };
    let flight = Law { most, ..Law::default() }.over(&vendor);
    let got = Door::Messages.ask(&flight, STREAM).await;
    assert!(got.is_whole && got.text().ends_with(&no_event(Door::Messages, NO)));
    vendor.when(Moment::Gate("never".into())).await;
    let landed = flight.land().await;
    assert_eq!(landed.the("rer.model.returned")["delivered"]["text"], got.text());
    landed.is_kept();
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_although_nobody_asked_for_it() {
    for encoding in Encoding::ALL {
        for (tool, more) in [("lookup", ""), ("pay_invoice", ""), ("lookup", STREAM), ("pay_invoice", STREAM)]
        {
            let script = Script::replying(move |_| Reply::call(tool, "{}")).encoded(encoding);
            let vendor = Vendor::start(script).unwrap();
            let flight = Law::default().over(&vendor);
            let body = Door::Messages.body("claude-sonnet-4-5", more);
            let headers = [("accept-encoding", "gzip, br")];
            let client = flight.anthropic();
            let got = client.send("POST", "/v1/messages", &headers, body.as_bytes()).await.unwrap();
            assert_eq!(vendor.requests()[0].header("accept-encoding"), Some("identity"));
            let what = format!("{encoding:?} {tool}{more}");
            if !more.is_empty() {
                // Its pieces cannot be looked at one by one.
                let reason = "the answer cannot be read, so nobody knows which tools it asks for";
                let due = Door::Messages.no("permission_error", "allowed_tools", reason);
                assert_eq!((got.status(), got.text()), (403, due.as_str()), "{what}");
            } else if tool == "lookup" {
                assert_eq!((got.status(), got.body), (200, vendor.sent()[0].body.to_vec()), "{what}");
            } else {
                let due = Door::Messages.no("permission_error", "allowed_tools", NO);
                assert_eq!((got.status(), got.text()), (403, due.as_str()), "{what}");
            }
            flight.land().await;
        }
    }
}

/// Answers that only look harmless, in one piece and as a stream.
#[tokio::test(flavor = "multi_thread")]
async fn other_ways_to_bring_a_tool() {
    let second = r#"{"choices":[{"index":0,"message":{"content":"hi"}},{"index":1,"message":{"tool_calls":[{"id":"c","function":{"name":"pay_invoice","arguments":"AT61"}}]}}]}"#;
    let of_before =
        r#"{"choices":[{"message":{"function_call":{"name":"pay_invoice","arguments":"AT61"}}}]}"#;
    let deltas = "data: {\"choices\":[{\"index\":1,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"pay_invoice\",\"arguments\":\"AT61\"}}]}}]}\n\n";
    let is_unreadable = "the answer cannot be read, so nobody knows which tools it asks for";
    let json = |body: &str| Answer::json(200, body.to_owned());
    let events = |body: &str| Answer::events([body.to_owned()]);
    let cases = [
        ("a second choice", json(second), NO),
        ("the way of before", json(of_before), NO),
        ("a stream that calls itself a document", json(deltas), is_unreadable),
        ("a document that calls itself a stream", events(second), is_unreadable),
        ("no type at all", Answer { headers: Vec::new(), ..json(deltas) }, is_unreadable),
        ("a name twice", json(r#"{"choices":[],"choices":[]}"#), is_unreadable),
        ("a stream without an end", events(deltas), NO),
        ("half an event", events(&deltas[..60]), is_unreadable),
        ("a length", events(deltas).header("content-length", deltas.len().to_string()), NO),
        ("one line end", events(deltas.trim_end()), NO),
    ];
    for (what, answer, reason) in cases {
        let is_stream = answer.is_stream();
        let vendor = Vendor::start(Script::answering(move |_| answer.clone())).unwrap();
        let flight = Law::default().over(&vendor);
        let got = Door::Chat.ask(&flight, "").await;
        let due = if is_stream {
            no_event(Door::Chat, reason)
        } else {
            Door::Chat.no("permission_error", "allowed_tools", reason)
        };
        assert_eq!((got.text(), got.is_whole), (due.as_str(), true), "{what}");
        let landed = flight.land().await;
        has_both(&landed, &vendor, &due);
        landed.is_kept();
    }
}

/// What no record takes nobody can decide on, and nobody waits for.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_too_long_for_the_record() {
    for more in ["", STREAM] {
        let script = Script::big(300_000).map(|_, answer| answer.wait_before(usize::MAX, "never"));
        let vendor = Vendor::start(script).unwrap();
        let most = Limits { answer_bytes: 10_000, ..Limits::default() };
        let flight = Law { most, ..Law::default() }.over(&vendor);
        let got = Door::Chat.ask(&flight, more).await;
        let reason = "the answer cannot be read, so nobody knows which tools it asks for";
        if more.is_empty() {
            let due = Door::Chat.no("permission_error", "allowed_tools", reason);
            assert_eq!((got.status(), got.text()), (403, due.as_str()));
        } else {
            assert!(got.is_whole && got.text().ends_with(&no_event(Door::Chat, reason)));
            assert!(got.body.len() < 11_000, "{}", got.body.len());
        }
        let landed = flight.land().await;
        let returned = landed.the("rer.model.returned");
        assert_eq!(returned["delivered"]["text"], got.text());
        assert_eq!(returned["complete"], false);
    }
}
