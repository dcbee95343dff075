//! What is written in a vendor's shape is read back equal, as a document and as a stream.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use reenact_wire::shape::{body_delivery, completed, shaped};
use reenact_wire::{Answer, Delivery, Endpoint, ToolCall, Usage, VendorError, exchange};

const MODELS: [Endpoint; 4] =
    [Endpoint::CHAT_COMPLETIONS, Endpoint::RESPONSES, Endpoint::MESSAGES, Endpoint::GENERATE_CONTENT];

fn answers() -> impl Strategy<Value = Answer> {
    let call = (
        "[a-z0-9_]{1,12}",
        "[a-z_]{1,12}",
        prop::sample::select(vec!["{}", "{\"a\":1}", "{\"b\":[\"\u{202e}\",null]}"]),
    )
        .prop_map(|(id, name, input)| ToolCall { id, name, input: input.into() });
    let usage = (0_u64..1_000_000, 0_u64..1_000_000, 0_u64..1000).prop_map(
        |(input_tokens, output_tokens, cached_input_tokens)| Usage {
            input_tokens,
            output_tokens,
            cached_input_tokens,
            cache_write_tokens: 0,
        },
    );
    (
        any::<String>(),
        prop::collection::vec(call, 0..4),
        prop::option::of(usage),
        prop::option::of("[a-z_]{1,10}"),
        prop::option::of("[a-z0-9.-]{1,20}"),
    )
        .prop_map(|(text, tool_calls, usage, stop_reason, model)| Answer {
            model,
            text,
            tool_calls,
            usage,
            stop_reason,
            error: None,
            complete: true,
        })
}

fn deliveries() -> impl Strategy<Value = Delivery> {
    prop::sample::select(vec![Delivery::Document, Delivery::Events])
}

proptest! {
    #[test]
    fn read_back_equal(answer in answers(), at in 0_usize..4, delivery in deliveries(), id in "[a-z0-9]{0,8}") {
        let endpoint = MODELS[at];
        let stream = delivery == Delivery::Events;
        // What ends a stream of Gemini is that it says why.
        let reason = answer.stop_reason.clone().or((endpoint == Endpoint::GENERATE_CONTENT).then(|| "STOP".into()));
        let answer = Answer { stop_reason: reason, ..answer };
        let shaped = shaped(endpoint, &answer, delivery, &id).unwrap();
        prop_assert_eq!(exchange::is_stream(shaped.content_type), stream);
        prop_assert_eq!(exchange::answer(endpoint, stream, &shaped.body).unwrap(), answer);
    }

    #[test]
    fn what_was_shaped_is_a_body(answer in answers(), at in 0_usize..4, delivery in deliveries()) {
        let endpoint = MODELS[at];
        let answer = completed(endpoint, answer, Some("m"));
        let shaped = shaped(endpoint, &answer, delivery, "x").unwrap();
        let text = String::from_utf8(shaped.body).unwrap();
        prop_assert_eq!(body_delivery(endpoint, &text), Some(delivery));
        prop_assert_eq!(body_delivery(endpoint, &answer.text), None);
    }
}

#[test]
fn a_list_of_documents() {
    let call = ToolCall { id: String::new(), name: "look".into(), input: "{\"at\":1}".into() };
    let answer = Answer {
        text: "hi".into(),
        model: Some("m".into()),
        tool_calls: vec![call],
        stop_reason: Some("STOP".into()),
        complete: true,
        ..Answer::default()
    };
    let list = shaped(Endpoint::GENERATE_CONTENT, &answer, Delivery::List, "s1").unwrap();
    assert_eq!(list.content_type, "application/json");
    let text = String::from_utf8(list.body).unwrap();
    assert!(text.starts_with("[{") && text.ends_with("}]"));
    assert_eq!(exchange::answer(Endpoint::GENERATE_CONTENT, false, text.as_bytes()).unwrap(), answer);
    assert_eq!(body_delivery(Endpoint::GENERATE_CONTENT, &text), Some(Delivery::List));
    assert_eq!(shaped(Endpoint::MESSAGES, &answer, Delivery::List, "s1"), None);
}

#[test]
fn a_chat_completion() {
    let answer = Answer {
        text: "hi".into(),
        model: Some("m".into()),
        stop_reason: Some("stop".into()),
        complete: true,
        ..Answer::default()
    };
    let body = String::from_utf8(
        shaped(Endpoint::CHAT_COMPLETIONS, &answer, Delivery::Document, "s1").unwrap().body,
    )
    .unwrap();
    assert_eq!(
        body,
        r#"{"id":"chatcmpl-s1","object":"chat.completion","created":0,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi","refusal":null},"logprobs":null,"finish_reason":"stop"}]}"#
    );
    let body =
        String::from_utf8(shaped(Endpoint::CHAT_COMPLETIONS, &answer, Delivery::Events, "s1").unwrap().body)
            .unwrap();
    assert!(body.ends_with("\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"), "{body}");
}

#[test]
fn what_a_client_needs() {
    let calls = vec![ToolCall { id: "c".into(), name: "t".into(), input: "{}".into() }];
    let with = |endpoint, calls: &[ToolCall]| {
        let answer =
            completed(endpoint, Answer { tool_calls: calls.to_vec(), ..Answer::default() }, Some("m"));
        (answer.stop_reason.unwrap(), answer.usage.is_some(), answer.model.unwrap())
    };
    assert_eq!(with(Endpoint::CHAT_COMPLETIONS, &[]), ("stop".into(), false, "m".into()));
    assert_eq!(with(Endpoint::CHAT_COMPLETIONS, &calls), ("tool_calls".into(), false, "m".into()));
    assert_eq!(with(Endpoint::MESSAGES, &[]), ("end_turn".into(), true, "m".into()));
    assert_eq!(with(Endpoint::MESSAGES, &calls), ("tool_use".into(), true, "m".into()));
    assert_eq!(with(Endpoint::RESPONSES, &calls), ("completed".into(), false, "m".into()));
}

#[test]
fn what_has_no_shape() {
    let error = Some(VendorError { kind: "x".into(), message: "y".into() });
    assert_eq!(
        shaped(Endpoint::MESSAGES, &Answer { error, ..Answer::default() }, Delivery::Document, ""),
        None
    );
    assert_eq!(shaped(Endpoint::MODELS, &Answer::default(), Delivery::Document, ""), None);
}

#[test]
fn input_that_is_no_json() {
    let calls = vec![ToolCall { id: "c".into(), name: "t".into(), input: "{\"a\":".into() }];
    let answer = Answer { tool_calls: calls, complete: true, ..Answer::default() };
    for delivery in [Delivery::Events, Delivery::Document] {
        let stream = delivery == Delivery::Events;
        let body = shaped(Endpoint::MESSAGES, &answer, delivery, "").unwrap().body;
        let read = exchange::answer(Endpoint::MESSAGES, stream, &body).unwrap().tool_calls.remove(0).input;
        assert_eq!(read, if stream { "{\"a\":" } else { "\"{\\\"a\\\":\"" });
    }
}
