//! Tool results in requests: of tools that were never allowed, or that no answer asked for.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::time::Duration;

use reenact_testkit::{Script, ScriptedAnswer, ScriptedReply, ScriptedVendor};
use serde_json::{Value, json};
use support::enforced::{EnforcedRun, ModelApi};

/// Reason of a denial of a result whose call nobody saw.
const UNSEEN: &str = "a result answers no call that was seen, so nobody knows which tool it is of";

/// Returns a request with the result of call `id`. With `tool` its history contains the call of that tool.
fn request_with_result(api: ModelApi, id: &str, tool: Option<&str>, output: &str) -> String {
    let (model, user) = (api.model(), json!({ "role": "user", "content": "hi" }));
    let mut items = vec![user];
    let call = |tool: &str| match api {
        ModelApi::Chat => {
            let call =
                json!({ "id": id, "type": "function", "function": { "name": tool, "arguments": "{}" } });
            json!({ "role": "assistant", "tool_calls": [call] })
        }
        ModelApi::Responses => {
            json!({ "type": "function_call", "call_id": id, "name": tool, "arguments": "{}" })
        }
        ModelApi::Messages => {
            json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": tool, "input": {} }] })
        }
    };
    items.extend(tool.map(call));
    items.push(match api {
        ModelApi::Chat => json!({ "role": "tool", "tool_call_id": id, "content": output }),
        ModelApi::Responses => json!({ "type": "function_call_output", "call_id": id, "output": output }),
        ModelApi::Messages => {
            json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": output }] })
        }
    });
    let list = if api == ModelApi::Responses { "input" } else { "messages" };
    json!({ "model": model, "max_tokens": 9, list: items }).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_tool_that_nobody_asked_for() {
    for api in ModelApi::ALL {
        for (tool, name) in [(None, "unknown"), (Some("rm"), "rm")] {
            let vendor = ScriptedVendor::start(Script::echo()).unwrap();
            let run = EnforcedRun::default().start(&vendor);
            let reason = match tool {
                Some(_) => format!("the tool \"{name}\" is not on the list"),
                None => UNSEEN.to_owned(),
            };
            let due = api.denial_body("permission_error", "allowed_tools", &reason);
            // Repeated requests stay denied, also with another result.
            for output in ["gone", "gone", "not gone"] {
                let response =
                    api.client(&run).post(api.path(), &request_with_result(api, "x", tool, output)).await;
                assert_eq!((response.status(), response.text()), (403, due.as_str()), "{api:?} {tool:?}");
            }
            assert_eq!(vendor.requests(), []);
            assert_eq!(api.ask(&run, "").await.status(), 200, "without it, it may go on");
            let sealed = run.seal().await;
            let (tool, model) = ((name, Some("allowed_tools")), (api.model(), Some("allowed_tools")));
            assert_eq!(sealed.decisions(), [tool, model, model, tool, model, (api.model(), None)]);
            assert_eq!(sealed.payloads("rer.tool.called"), Vec::<&Value>::new());
            sealed.assert_rules_pass();
        }
    }
}

/// The history contains a call that the run did not see, of an allowed tool. The agent says that it made the
/// call, and the call counts.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_tool_that_is_on_the_list() {
    for api in ModelApi::ALL {
        let vendor = ScriptedVendor::start(Script::echo()).unwrap();
        let run = EnforcedRun::with_limits(r#"{"max_steps":3}"#).start(&vendor);
        for _ in 0..2 {
            let response =
                api.client(&run).post(api.path(), &request_with_result(api, "x", Some("lookup"), "42")).await;
            assert_eq!(response.status(), 200, "{api:?}");
        }
        assert_eq!(api.ask(&run, "").await.status(), 403);
        let sealed = run.seal().await;
        let tool = ["policy.evaluated", "tool.called", "tool.returned"];
        assert_eq!(sealed.inner_event_types()[..3], tool, "once, however often it is told");
        assert_eq!(sealed.only_payload("rer.tool.returned")["output"], "42");
        assert_eq!((vendor.requests().len(), sealed.payloads("rer.model.called").len()), (2, 2));
        sealed.assert_rules_pass();
    }
}

/// The usual course: asked for, allowed, called, returned.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_tool_that_was_asked_for() {
    for api in ModelApi::ALL {
        let script = Script::replying(|request| match request.parsed().tool_results.len() {
            0 => ScriptedReply::call("lookup", "{}"),
            _ => ScriptedReply::text("done"),
        });
        let vendor = ScriptedVendor::start(script).unwrap();
        let run = EnforcedRun::default().start(&vendor);
        let asked: Value = serde_json::from_slice(&api.ask(&run, "").await.body).unwrap();
        let id = match api {
            ModelApi::Chat => &asked["choices"][0]["message"]["tool_calls"][0]["id"],
            ModelApi::Responses => &asked["output"][0]["call_id"],
            ModelApi::Messages => &asked["content"][0]["id"],
        };
        // The vendor stores the history, so the request has the result alone.
        let body = request_with_result(api, id.as_str().unwrap(), None, "42");
        assert_eq!(api.client(&run).post(api.path(), &body).await.status(), 200);
        let sealed = run.seal().await;
        let round = ["policy.evaluated", "model.called", "policy.evaluated", "tool.called", "model.returned"];
        assert_eq!(sealed.inner_event_types()[..5], round);
        assert_eq!(sealed.inner_event_types()[5..7], ["spend.counted", "tool.returned"], "{api:?}");
        let (called, returned) =
            (sealed.only_payload("rer.tool.called"), sealed.only_payload("rer.tool.returned"));
        assert_eq!((&called["step_id"], &returned["step_id"]), (&"s2".into(), &"s2".into()));
        assert_eq!((&returned["output"], &returned["is_error"]), (&"42".into(), &false.into()));
        sealed.assert_rules_pass();
    }
}

/// A result that was refused by a rate limit is accepted later.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_tool_for_which_there_is_no_room_yet() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let enforced = EnforcedRun::with_limits(r#"{"rate_limit_rpm":1}"#);
    let clock = enforced.clock.clone();
    let run = enforced.start(&vendor);
    assert_eq!(ModelApi::Chat.ask(&run, "").await.status(), 200);
    clock.advance(Duration::from_secs(30));
    let body = request_with_result(ModelApi::Chat, "x", Some("lookup"), "42");
    let send = || async { run.openai().post("/chat/completions", &body).await };
    for _ in 0..2 {
        let response = send().await;
        assert_eq!((response.status(), response.header("retry-after")), (429, Some("30")));
    }
    clock.advance(Duration::from_secs(30));
    let response = send().await;
    assert_eq!(
        (response.status(), response.header("retry-after")),
        (429, Some("60")),
        "now the tool has its place, and no more"
    );
    clock.advance(Duration::from_secs(60));
    assert_eq!(send().await.status(), 200);
    assert_eq!(vendor.requests().len(), 2);
    let sealed = run.seal().await;
    assert_eq!(sealed.payloads("rer.tool.called").len(), 1);
    sealed.assert_rules_pass();
}

/// The agent called the tool by itself, without an approval.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_tool_that_needed_an_approval() {
    let vendor = ScriptedVendor::start(Script::echo()).unwrap();
    let mut enforced = EnforcedRun::default();
    enforced.envelope_limits += r#","required_approvals":[{"action":"tool.call"}]"#;
    let run = enforced.start(&vendor);
    let response = run
        .openai()
        .post("/chat/completions", &request_with_result(ModelApi::Chat, "x", Some("lookup"), "42"))
        .await;
    let reason = "required_approvals[0] asks for an approval, and it was called without one";
    assert_eq!(response.text(), ModelApi::Chat.denial_body("permission_error", "required_approvals", reason));
    assert_eq!(vendor.requests(), []);
    run.seal().await.assert_rules_pass();
}

/// A list that has the word `unknown` allows no result of an unknown call.
#[tokio::test(flavor = "multi_thread")]
async fn of_no_call_at_all() {
    for api in ModelApi::ALL {
        let vendor = ScriptedVendor::start(Script::echo()).unwrap();
        let run = EnforcedRun { tools: vec!["lookup", "unknown"], ..EnforcedRun::default() }.start(&vendor);
        let whole: Value = serde_json::from_str(&request_with_result(api, "x", None, "42")).unwrap();
        for id in [json!(null), json!(7), json!(""), json!("never seen")] {
            let mut body = whole.clone();
            match api {
                ModelApi::Chat => body["messages"][1]["tool_call_id"] = id.clone(),
                ModelApi::Responses => body["input"][1]["call_id"] = id.clone(),
                ModelApi::Messages => body["messages"][1]["content"][0]["tool_use_id"] = id.clone(),
            }
            let response = api.client(&run).post(api.path(), &body.to_string()).await;
            let due = api.denial_body("permission_error", "allowed_tools", UNSEEN);
            assert_eq!((response.status(), response.text()), (403, due.as_str()), "{api:?} {id}");
        }
        assert_eq!(vendor.requests(), []);
        let sealed = run.seal().await;
        assert_eq!(sealed.payloads("rer.tool.called"), Vec::<&Value>::new());
        sealed.assert_rules_pass();
    }
}

/// The older calls of functions have no ids: the function's name and the order tie a result to its call.
#[tokio::test(flavor = "multi_thread")]
async fn of_functions_without_ids() {
    let answer = r#"{"id":"c","object":"chat.completion","created":1,"model":"gpt-5","choices":[{"index":0,"message":{"role":"assistant","content":null,"function_call":{"name":"lookup","arguments":"{}"}},"finish_reason":"function_call"}]}"#;
    let vendor =
        ScriptedVendor::start(Script::answering(|_| ScriptedAnswer::json(200, answer.as_bytes()))).unwrap();
    let run = EnforcedRun::default().start(&vendor);
    let body = |more: &str| {
        format!(
            r#"{{"model":"gpt-5","max_tokens":9,"functions":[{{"name":"lookup"}}],"messages":[{{"role":"user","content":"hi"}}{more}]}}"#
        )
    };
    let round = |output: &str| {
        format!(
            r#",{{"role":"assistant","content":null,"function_call":{{"name":"lookup","arguments":"{{}}"}}}},{{"role":"function","name":"lookup","content":"{output}"}}"#
        )
    };
    let client = run.openai();
    for history in [String::new(), round("1"), round("1") + &round("2")] {
        assert_eq!(client.post("/chat/completions", &body(&history)).await.status(), 200);
    }
    let extra = round("1") + r#",{"role":"function","name":"lookup","content":"3"}"#;
    assert_eq!(client.post("/chat/completions", &body(&extra)).await.status(), 403);
    let sealed = run.seal().await;
    let outputs: Vec<&Value> =
        sealed.payloads("rer.tool.returned").iter().map(|payload| &payload["output"]).collect();
    assert_eq!(outputs, ["1", "2", "the run ended before a result was seen"]);
    assert_eq!(sealed.payloads("rer.tool.called").len(), 3, "each call that was asked for, once");
    sealed.assert_rules_pass();
}
