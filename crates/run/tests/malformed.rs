//! Records that verify, but whose payloads are not what their event types promise: every fault has its error.
#![allow(clippy::unwrap_used)]

mod support;

use proptest::prelude::*;
use reenact_json::Digest;
use reenact_run::UnreadablePayload;
use reenact_testkit::fixture::{ModelRequest, RunBuilder, text_body};
use support::OpenRun as _;

fn mistyped(member: &'static str, found: &'static str, wanted: &'static str) -> UnreadablePayload {
    UnreadablePayload::Mistyped { member, found, wanted }
}

fn missing(member: &'static str) -> UnreadablePayload {
    UnreadablePayload::Missing { member }
}

#[test]
fn requests() {
    let read = |payload: &str| {
        let run = RunBuilder::started().event("rer.model.called", payload).run();
        run.exchanges().next().unwrap().request().unwrap_err()
    };
    let good = ModelRequest::CHAT.payload("s1");
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        read(&good.replace(from, to))
    };
    assert_eq!(read("[]"), mistyped("the payload", "an array", "an object"));
    assert_eq!(read("{}"), missing("http"));
    assert_eq!(with("\"provider\":\"openai\",", ""), missing("provider"));
    assert_eq!(with("\"POST\"", "null"), missing("http.method"));
    assert_eq!(with("\"POST\"", "[]"), mistyped("http.method", "an array", "a string"));
    assert_eq!(with("\"/v1/chat/completions\"", "7"), mistyped("http.path", "a number", "a string"));
    assert_eq!(with("\"gpt-5\"", "{}"), mistyped("model", "an object", "a string"));
    assert_eq!(
        with("[[\"content-type\",\"application/json\"]]", "{}"),
        mistyped("http.headers", "an object", "an array")
    );
    for header in ["[\"a\"]", "[\"a\",\"b\",\"c\"]", "[\"a\",1]", "[]"] {
        let expected = mistyped("http.headers", "an array", "a name and a value");
        assert_eq!(with("[\"content-type\",\"application/json\"]", header), expected);
    }
    assert_eq!(
        with("[\"content-type\",\"application/json\"]", "0"),
        mistyped("http.headers", "a number", "a name and a value")
    );
    let member = "http.body";
    assert_eq!(with(&text_body(""), "\"text\""), mistyped(member, "a string", "an object"));
    assert_eq!(with(&text_body(""), "{}"), UnreadablePayload::UnknownBodyForm { member });
    assert_eq!(with(&text_body(""), "{\"text\":[]}"), mistyped(member, "an array", "a text"));
    assert_eq!(with(&text_body(""), "{\"base64\":\"?\"}"), UnreadablePayload::InvalidBase64 { member });
    assert_eq!(with(&text_body(""), "{\"base64\":\"/wD\"}"), UnreadablePayload::InvalidBase64 { member });
    assert_eq!(with(&text_body(""), "{\"base64\":{}}"), UnreadablePayload::InvalidBase64 { member });
    assert_eq!(
        with(&text_body(""), "{\"blob\":\"../../etc/passwd\",\"size\":1}"),
        UnreadablePayload::UnknownBodyForm { member }
    );
    let digest = Digest::of(b"large");
    assert_eq!(
        with(&text_body(""), &format!("{{\"blob\":\"{digest}\",\"size\":5}}")),
        UnreadablePayload::BlobMissing { member, digest }
    );
}

#[test]
fn answers() {
    let read = |payload: &str| {
        let run = RunBuilder::started()
            .called("s1", &ModelRequest::CHAT)
            .event("rer.model.returned", payload)
            .run();
        run.exchanges().next().unwrap().answer().map(|_| ()).unwrap_err()
    };
    let good = r#"{"step_id":"s1","status":200,"http":{"version":"1.1","headers":[],"body":{"text":"abc"},"chunks":[[1,3]]},"complete":true,"ended_by":"eof","ttft_ms":1,"latency_ms":2}"#;
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        read(&good.replace(from, to))
    };
    assert_eq!(read("{\"step_id\":\"s1\",\"status\":200}"), missing("http"));
    for status in ["99", "1000", "200.5", "\"200\"", "1e400", "-200"] {
        let kind = if status.starts_with('"') { "a string" } else { "a number" };
        // A number that is too large for a double has no canonical form, so no artifact holds it.
        if status != "1e400" {
            assert_eq!(with("200", status), mistyped("status", kind, "an HTTP status"));
        }
    }
    assert_eq!(with("true", "\"yes\""), mistyped("complete", "a string", "true or false"));
    assert_eq!(with("\"complete\":true,", ""), missing("complete"));
    assert_eq!(
        with("\"eof\"", "\"magic\""),
        mistyped("ended_by", "a string", "one of eof, client, upstream and timeout")
    );
    assert_eq!(with("[[1,3]]", "[[1,4]]"), UnreadablePayload::ChunkLengths { chunks: 4, body: 3 });
    assert_eq!(
        with("[[1,3]]", "[[1,9007199254740991],[1,9007199254740991]]"),
        UnreadablePayload::ChunkLengths { chunks: 18_014_398_509_481_982, body: 3 }
    );
    assert_eq!(with("[[1,3]]", "7"), mistyped("http.chunks", "a number", "an array"));
    for chunk in ["[1]", "[1,3,5]", "[-1,3]", "[1,-3]", "[1e300,3]", "[null,3]", "[1,2.5]"] {
        assert_eq!(
            with("[1,3]", chunk),
            mistyped("http.chunks", "an array", "milliseconds and bytes"),
            "{chunk}"
        );
    }
    assert_eq!(
        with("\"latency_ms\":2", "\"latency_ms\":-1"),
        mistyped("latency_ms", "a number", "a number of milliseconds")
    );
    assert_eq!(
        with("\"ttft_ms\":1", "\"ttft_ms\":[]"),
        mistyped("ttft_ms", "an array", "a number of milliseconds")
    );
    assert_eq!(
        with("\"ttft_ms\":1", "\"delivered\":{}"),
        UnreadablePayload::UnknownBodyForm { member: "delivered" }
    );
}

#[test]
fn withheld_absent_and_tools() {
    let run = RunBuilder::started()
        .withheld("rer.model.called", &ModelRequest::CHAT.payload("s1"))
        .bare("rer.model.called")
        .event("rer.tool.called", "{\"step_id\":\"s1\",\"tool\":[]}")
        .withheld("rer.tool.returned", "{\"step_id\":\"s1\"}")
        .run();
    let errors: Vec<_> = run.exchanges().map(|exchange| exchange.request().unwrap_err()).collect();
    assert_eq!(errors, [UnreadablePayload::Withheld, UnreadablePayload::NoPayload]);
    assert_eq!(run.exchanges().map(|exchange| exchange.step_id().into_owned()).collect::<Vec<_>>(), ["", ""]);
    let tool = run.tool_calls().next().unwrap();
    assert_eq!(tool.call().unwrap_err(), mistyped("tool", "an array", "a string"));
    // A withheld payload does not tell its step.
    assert_eq!(tool.result().unwrap_err(), UnreadablePayload::NoAnswer);
    assert_eq!(UnreadablePayload::Withheld.to_string(), "the payload is withheld");
}

/// Returns a strategy for payloads that have the names that are read, with values of any shape.
fn nonsense() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec![
        "0", "-1.5", "null", "true", "\"\"", "\"s1\"", "\"eof\"", "\"/w==\"", "200",
    ]);
    scalar.prop_map(str::to_owned).prop_recursive(4, 40, 6, |inner| {
        let name = prop::sample::select(vec![
            "step_id",
            "http",
            "status",
            "body",
            "text",
            "base64",
            "blob",
            "headers",
            "chunks",
            "complete",
            "ended_by",
            "provider",
            "method",
            "path",
            "model",
            "delivered",
            "command",
            "exit_code",
            "trailers",
            "tool",
            "output",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::btree_map(name, inner, 0..8).prop_map(|members| {
                let members = members.iter().map(|(name, value)| format!("\"{name}\":{value}"));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_payload_is_a_reason_to_panic(payloads in prop::collection::vec(nonsense(), 9)) {
        let types = ["run.started", "model.called", "model.returned", "http.called", "http.returned", "tool.called",
            "tool.returned", "policy.evaluated", "run.ended"];
        let tape = types.iter().zip(&payloads).fold(RunBuilder::empty(), |tape, (name, payload)| {
            tape.event(&format!("rer.{name}"), payload)
        });
        let run = tape.run();
        prop_assert_eq!(run.summary().events, 9);
        for exchange in run.exchanges() {
            let _ = (exchange.request(), exchange.answer(), exchange.message());
        }
        for tool in run.tool_calls() {
            let _ = (tool.call(), tool.result());
        }
    }
}
