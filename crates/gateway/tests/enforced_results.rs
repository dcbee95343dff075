//! Results that an agent brings: of tools that it was never allowed to call, or that nobody asked it to.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::time::Duration;

use reenact_testkit::{Reply, Script, Vendor};
use serde_json::{Value, json};
use support::enforced::{Door, Law};

/// A request that brings the result of a call with this id; of this tool, if its history has the call.
fn bringing(door: Door, id: &str, tool: Option<&str>, output: &str) -> String {
    let (model, user) = (door.model(), json!({ "role": "user", "content": "hi" }));
    let mut items = vec![user];
    let call = |tool: &str| match door {
        Door::Chat => {
            let call =
                json!({ "id": id, "type": "function", "function": { "name": tool, "arguments": "{}" } });
            json!({ "role": "assistant", "tool_calls": [call] })
        }
        Door::Responses => json!({ "type": "function_call", "call_id": id, "name": tool, "arguments": "{}" }),
        Door::Messages => {
            json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": tool, "input": {} }] })
        }
    };
    items.extend(tool.map(call));
    items.push(match door {
        Door::Chat => json!({ "role": "tool", "tool_call_id": id, "content": output }),
        Door::Responses => json!({ "type": "function_call_output", "call_id": id, "output": output }),
        Door::Messages => {
            json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": output }] })
        }
    });
    let list = if door == Door::Responses { "input" } else { "messages" };
    json!({ "model": model, "max_tokens": 9, list: items }).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_tool_that_nobody_asked_for() {
    for door in Door::ALL {
        for (tool, name) in [(None, "unknown"), (Some("rm"), "rm")] {
            let vendor = Vendor::start(Script::echo()).unwrap();
            let flight = Law::default().over(&vendor);
            let reason = format!("the tool \"{name}\" is not on the list");
            let due = door.no("permission_error", "allowed_tools", &reason);
            // Again and again, and with another result.
            for output in ["gone", "gone", "not gone"] {
                let got = door.client(&flight).post(door.path(), &bringing(door, "x", tool, output)).await;
                assert_eq!((got.status(), got.text()), (403, due.as_str()), "{door:?} {tool:?}");
            }
            assert_eq!(vendor.requests(), []);
            assert_eq!(door.ask(&flight, "").await.status(), 200, "without it, it may go on");
            let landed = flight.land().await;
            let (tool, model) = ((name, Some("allowed_tools")), (door.model(), Some("allowed_tools")));
            assert_eq!(landed.decisions(), [tool, model, model, tool, model, (door.model(), None)]);
            assert_eq!(landed.all("rer.tool.called"), Vec::<&Value>::new());
            landed.is_kept();
        }
    }
}

/// A history that the run did not see, of a tool that is on the list: the agent says that it called it, and that counts.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_tool_that_is_on_the_list() {
    for door in Door::ALL {
        let vendor = Vendor::start(Script::echo()).unwrap();
        let flight = Law::limiting(r#"{"max_steps":3}"#).over(&vendor);
        for _ in 0..2 {
            let got =
                door.client(&flight).post(door.path(), &bringing(door, "x", Some("lookup"), "42")).await;
            assert_eq!(got.status(), 200, "{door:?}");
        }
        assert_eq!(door.ask(&flight, "").await.status(), 403);
        let landed = flight.land().await;
        let tool = ["policy.evaluated", "tool.called", "tool.returned"];
        assert_eq!(landed.course()[..3], tool, "once, however often it is told");
        assert_eq!(landed.the("rer.tool.returned")["output"], "42");
        assert_eq!((vendor.requests().len(), landed.all("rer.model.called").len()), (2, 2));
        landed.is_kept();
    }
}

/// The whole way round: asked for, allowed, called, returned.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_tool_that_was_asked_for() {
    for door in Door::ALL {
        let script = Script::replying(|request| match request.reading().tool_results.len() {
            0 => Reply::call("lookup", "{}"),
            _ => Reply::text("done"),
        });
        let vendor = Vendor::start(script).unwrap();
        let flight = Law::default().over(&vendor);
        let asked: Value = serde_json::from_slice(&door.ask(&flight, "").await.body).unwrap();
        let id = match door {
            Door::Chat => &asked["choices"][0]["message"]["tool_calls"][0]["id"],
            Door::Responses => &asked["output"][0]["call_id"],
            Door::Messages => &asked["content"][0]["id"],
        };
        // The vendor keeps the history: only the result is sent.
        let body = bringing(door, id.as_str().unwrap(), None, "42");
        assert_eq!(door.client(&flight).post(door.path(), &body).await.status(), 200);
        let landed = flight.land().await;
        let round = ["policy.evaluated", "model.called", "policy.evaluated", "tool.called", "model.returned"];
        assert_eq!(landed.course()[..5], round);
        assert_eq!(landed.course()[5..7], ["spend.counted", "tool.returned"], "{door:?}");
        let (called, returned) = (landed.the("rer.tool.called"), landed.the("rer.tool.returned"));
        assert_eq!((&called["step_id"], &returned["step_id"]), (&"s2".into(), &"s2".into()));
        assert_eq!((&returned["output"], &returned["is_error"]), (&"42".into(), &false.into()));
        landed.is_kept();
    }
}

/// What only came too early may come later.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_tool_for_which_there_is_no_room_yet() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let law = Law::limiting(r#"{"rate_limit_rpm":1}"#);
    let clock = law.clock.clone();
    let flight = law.over(&vendor);
    assert_eq!(Door::Chat.ask(&flight, "").await.status(), 200);
    clock.pass(Duration::from_secs(30));
    let body = bringing(Door::Chat, "x", Some("lookup"), "42");
    let send = || async { flight.openai().post("/chat/completions", &body).await };
    for _ in 0..2 {
        let got = send().await;
        assert_eq!((got.status(), got.header("retry-after")), (429, Some("30")));
    }
    clock.pass(Duration::from_secs(30));
    let got = send().await;
    assert_eq!(
        (got.status(), got.header("retry-after")),
        (429, Some("60")),
        "now the tool has its place, and no more"
    );
    clock.pass(Duration::from_secs(60));
    assert_eq!(send().await.status(), 200);
    assert_eq!(vendor.requests().len(), 2);
    let landed = flight.land().await;
    assert_eq!(landed.all("rer.tool.called").len(), 1);
    landed.is_kept();
}

/// Who called it out of our sight had no approval.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_tool_that_needed_an_approval() {
    let vendor = Vendor::start(Script::echo()).unwrap();
    let mut law = Law::default();
    law.limits += r#","required_approvals":[{"action":"tool.call"}]"#;
    let flight = law.over(&vendor);
    let got =
        flight.openai().post("/chat/completions", &bringing(Door::Chat, "x", Some("lookup"), "42")).await;
    let reason = "required_approvals[0] asks for an approval, and it was called without one";
    assert_eq!(got.text(), Door::Chat.no("permission_error", "required_approvals", reason));
    assert_eq!(vendor.requests(), []);
    flight.land().await.is_kept();
}
