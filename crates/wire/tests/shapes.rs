//! Answers written in a vendor's shape parse back to equal answers, as a document and as a stream.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use reenact_wire::render::{detected_delivery, render, with_required_members};
use reenact_wire::{Delivery, Endpoint, ModelAnswer, ToolCall, Usage, VendorError, exchange};

const MODELS: [Endpoint; 4] =
    [Endpoint::CHAT_COMPLETIONS, Endpoint::RESPONSES, Endpoint::MESSAGES, Endpoint::GENERATE_CONTENT];

fn answers() -> impl Strategy<Value = ModelAnswer> {
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
        .prop_map(|(text, tool_calls, usage, stop_reason, model)| ModelAnswer {
            model,
            text,
            tool_calls,
            usage,
            stop_reason,
            error: None,
            is_complete: true,
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
        // A Gemini stream is complete if it has a stop reason.
        let reason = answer.stop_reason.clone().or((endpoint == Endpoint::GENERATE_CONTENT).then(|| "STOP".into()));
        let answer = ModelAnswer { stop_reason: reason, ..answer };
        let shaped = render(endpoint, &answer, delivery, &id).unwrap();
        prop_assert_eq!(exchange::is_stream(shaped.content_type), stream);
        prop_assert_eq!(exchange::parse_answer(endpoint, stream, &shaped.body).unwrap(), answer);
    }

    #[test]
    fn what_was_shaped_is_a_body(answer in answers(), at in 0_usize..4, delivery in deliveries()) {
        let endpoint = MODELS[at];
        let answer = with_required_members(endpoint, answer, Some("m"));
        let shaped = render(endpoint, &answer, delivery, "x").unwrap();
        let text = String::from_utf8(shaped.body).unwrap();
        prop_assert_eq!(detected_delivery(endpoint, &text), Some(delivery));
        prop_assert_eq!(detected_delivery(endpoint, &answer.text), None);
    }
}

#[test]
fn a_list_of_documents() {
    let call = ToolCall { id: String::new(), name: "look".into(), input: "{\"at\":1}".into() };
    let answer = ModelAnswer {
        text: "hi".into(),
        model: Some("m".into()),
        tool_calls: vec![call],
        stop_reason: Some("STOP".into()),
        is_complete: true,
        ..ModelAnswer::default()
    };
    let list = render(Endpoint::GENERATE_CONTENT, &answer, Delivery::List, "s1").unwrap();
    assert_eq!(list.content_type, "application/json");
    let text = String::from_utf8(list.body).unwrap();
    assert!(text.starts_with("[{") && text.ends_with("}]"));
    assert_eq!(exchange::parse_answer(Endpoint::GENERATE_CONTENT, false, text.as_bytes()).unwrap(), answer);
    assert_eq!(detected_delivery(Endpoint::GENERATE_CONTENT, &text), Some(Delivery::List));
    assert_eq!(render(Endpoint::MESSAGES, &answer, Delivery::List, "s1"), None);
}

#[test]
fn a_chat_completion() {
    let answer = ModelAnswer {
        text: "hi".into(),
        model: Some("m".into()),
        stop_reason: Some("stop".into()),
        is_complete: true,
        ..ModelAnswer::default()
    };
    let body = String::from_utf8(
        render(Endpoint::CHAT_COMPLETIONS, &answer, Delivery::Document, "s1").unwrap().body,
    )
    .unwrap();
    assert_eq!(
        body,
        r#"{"id":"chatcmpl-s1","object":"chat.completion","created":0,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi","refusal":null},"logprobs":null,"finish_reason":"stop"}]}"#
    );
    let body =
        String::from_utf8(render(Endpoint::CHAT_COMPLETIONS, &answer, Delivery::Events, "s1").unwrap().body)
            .unwrap();
    assert!(body.ends_with("\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"), "{body}");
}

/// The end mark is the same for the record and for the gate, with blanks around it or not.
#[test]
fn an_end_mark_with_blanks_ends_a_chat() {
    for (mark, is_complete) in [("[DONE]", true), ("  [DONE] \t", true), ("[DONE", false)] {
        let stream = format!("data: {{\"choices\":[]}}\n\ndata: {mark}\n\n");
        let answer = exchange::parse_answer(Endpoint::CHAT_COMPLETIONS, true, stream.as_bytes()).unwrap();
        assert_eq!(answer.is_complete, is_complete, "{mark:?}");
    }
}

#[test]
fn what_a_client_needs() {
    let calls = vec![ToolCall { id: "c".into(), name: "t".into(), input: "{}".into() }];
    let with = |endpoint, calls: &[ToolCall]| {
        let answer = with_required_members(
            endpoint,
            ModelAnswer { tool_calls: calls.to_vec(), ..ModelAnswer::default() },
            Some("m"),
        );
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
        render(Endpoint::MESSAGES, &ModelAnswer { error, ..ModelAnswer::default() }, Delivery::Document, ""),
        None
    );
    assert_eq!(render(Endpoint::MODELS, &ModelAnswer::default(), Delivery::Document, ""), None);
}

#[test]
fn input_that_is_no_json() {
    let calls = vec![ToolCall { id: "c".into(), name: "t".into(), input: "{\"a\":".into() }];
    let answer = ModelAnswer { tool_calls: calls, is_complete: true, ..ModelAnswer::default() };
    for delivery in [Delivery::Events, Delivery::Document] {
        let stream = delivery == Delivery::Events;
        let body = render(Endpoint::MESSAGES, &answer, delivery, "").unwrap().body;
        let read =
            exchange::parse_answer(Endpoint::MESSAGES, stream, &body).unwrap().tool_calls.remove(0).input;
        assert_eq!(read, if stream { "{\"a\":" } else { "\"{\\\"a\\\":\"" });
    }
}
