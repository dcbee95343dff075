//! Secrets that are cut over the events of a stream: no event holds one, and none keeps a part.
#![allow(clippy::unwrap_used)]

mod support;

use reenact_secrets::{Redactor, RulePack};
use support::SeededRandom;

/// Returns a key that a rule finds, and no part of which it finds.
fn key() -> String {
    format!("sk-proj-{}", SeededRandom::new(7).letters("word", 40).replace('-', "x"))
}

fn redactor() -> Redactor {
    let mut redactor = Redactor::new(RulePack::standard());
    redactor.add_known("credential", b"correct-horse/battery");
    redactor
}

fn masked(text: &str) -> String {
    String::from_utf8(redactor().redact(text.as_bytes()).bytes.into_owned()).unwrap()
}

/// Streams a text in pieces, each in the place of `@`.
fn stream(template: &str, pieces: &[&str]) -> String {
    pieces.iter().map(|piece| template.replace('@', piece)).collect()
}

/// Asserts that the first piece gets the mark, that the rest of the last one stays, and that those
/// between are empty.
fn assert_masked(template: &str) {
    let key = key();
    let pieces = ["my ", &format!("key: {}", &key[..3]), "", &key[3..20], &format!("{}!", &key[20..]), " ok"];
    let expected = ["my ", "key: [masked:openai-key:1]", "", "", "!", " ok"];
    assert_eq!(masked(&stream(template, &pieces)), stream(template, &expected), "{template}");
}

#[test]
fn every_vendors_pieces_are_put_together() {
    for template in [
        // Chat completions: text, reasoning, the arguments of a tool.
        "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"@\"},\"finish_reason\":null}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"@\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"@\"}}]}}]}\n\n",
        // Responses.
        "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":7,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"@\",\"obfuscation\":\"aB3\"}\n\n",
        "event: response.function_call_arguments.delta\ndata: {\"delta\":\"@\",\"item_id\":\"fc_1\",\"output_index\":1,\"type\":\"response.function_call_arguments.delta\"}\n\n",
        "data: {\"type\":\"response.reasoning_summary_text.delta\",\"summary_index\":0,\"delta\":\"@\"}\n\n",
        // Messages.
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"@\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"@\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"@\"}}\n\n",
        // Others, known or not.
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"@\"}],\"role\":\"model\"}}]}\r\n\r\n",
        "{\"message\":{\"role\":\"assistant\",\"content\":\"@\"},\"done\":false}\n",
        "data: {\"type\":\"text-delta\",\"id\":\"0\",\"delta\":\"@\"}\n\n",
        "data: [\"@\"]\n\n",
        "data: \"@\"\n\n",
        "data: @\n\n",
        "data: {\"deeply\":{\"nested\":[[[{\"thing\":\"@\"}]]]}}\n\n",
    ] {
        assert_masked(template);
    }
}

#[test]
fn lines_may_end_and_events_may_be_spelled_in_any_way() {
    for template in [
        "data:{\"text\":\"@\"}\r\r",
        ": ping\r\n\r\nid: 7\r\ndata: {\"text\":\"@\"}\r\n\r\n",
        "data: {\ndata: \"text\": \"@\"\ndata: }\n\n",
        "retry: 10\ndata: { \"text\" : \"@\" , \"n\" : -1.5e3 }\n\n",
        "data: {\"text\":\"@\"}\n\ndata: not json {\"text\"\n\n",
        "data: {\"text\":\"@\"} trailing\n\n",
        "data: {\"a\":\"\\\\\",\"text\":\"@\"}\n\n",
        "data: {\"a\":\"\\\"\",\"text\":\"@\"}\n\ndata: [DONE]\n\n",
    ] {
        assert_masked(template);
    }
    let done = format!("{}data: [DONE]\n\n", stream("data: {\"t\":\"@\"}\n\n", &[&key()[..9], &key()[9..]]));
    assert_eq!(
        masked(&format!("\u{feff}\n{done}")),
        "\u{feff}\ndata: {\"t\":\"[masked:openai-key:1]\"}\n\ndata: {\"t\":\"\"}\n\ndata: [DONE]\n\n"
    );
}

#[test]
fn interleaved_texts_are_told_apart() {
    let key = key();
    let call = |index: usize, piece: &str| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"function\":{{\"arguments\":\"{piece}\"}},\"index\":{index}}}]}}}}]}}\n\n"
        )
    };
    let text = [
        call(0, &format!("{{\\\"key\\\":\\\"{}", &key[..12])),
        call(1, "{\\\"city\\\":\\\"Par"),
        call(0, &key[12..20]),
        call(1, "is\\\"}"),
        call(0, &format!("{}\\\"}}", &key[20..])),
    ];
    let expected = [
        call(0, "{\\\"key\\\":\\\"[masked:openai-key:1]"),
        call(1, "{\\\"city\\\":\\\"Par"),
        call(0, ""),
        call(1, "is\\\"}"),
        call(0, "\\\"}"),
    ];
    assert_eq!(masked(&text.concat()), expected.concat());

    // Told apart by an index beside, by an id beside, and by nothing but the type.
    for [one, two] in [
        [r#"{"index":0,"delta":{"text":"@"}}"#, r#"{"index":1,"delta":{"text":"@"}}"#],
        [r#"{"delta":"@","output_index":0}"#, r#"{"delta":"@","output_index":1}"#],
        [r#"{"delta":"@","item_id":"a"}"#, r#"{"delta":"@","item_id":"b"}"#],
        [r#"{"messageId":"a","delta":"@"}"#, r#"{"messageId":"b","delta":"@"}"#],
        [r#"{"type":"text","delta":"@"}"#, r#"{"type":"thought","delta":"@"}"#],
        [r#"{"a":{"delta":"@"}}"#, r#"{"b":{"delta":"@"}}"#],
    ] {
        let event = |template: &str, piece: &str| format!("data: {}\n\n", template.replace('@', piece));
        let text = [event(one, &key[..12]), event(two, "other"), event(one, &key[12..]), event(two, "words")];
        let expected =
            [event(one, "[masked:openai-key:1]"), event(two, "other"), event(one, ""), event(two, "words")];
        assert_eq!(masked(&text.concat()), expected.concat(), "{one}");
    }
}

#[test]
fn a_text_may_move_from_place_to_place() {
    let key = key();
    let event = |template: &str, piece: &str| format!("data: {}\n\n", template.replace('@', piece));
    for [start, delta] in [
        [
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"@"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"@"}}"#,
        ],
        // The first piece of a call has an id, the others do not.
        [
            r#"{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"@"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"@"}}]}"#,
        ],
        [r#"{"event_id":"e1","delta":"@"}"#, r#"{"event_id":"e2","delta":"@"}"#],
    ] {
        let text = event(start, &key[..12]) + &event(delta, &key[12..]);
        let expected = event(start, "[masked:openai-key:1]") + &event(delta, "");
        assert_eq!(masked(&text), expected, "{start}");
    }
    // A list of pieces.
    let text = format!("data: {{\"tokens\":[\"{}\",\"{}\",\"!\"]}}\n\n", &key[..12], &key[12..]);
    assert_eq!(masked(&text), "data: {\"tokens\":[\"[masked:openai-key:1]\",\"\",\"!\"]}\n\n");
}

#[test]
fn escapes_are_read_as_they_are_meant() {
    let key = key();
    let rest = &key[9..];
    let template = "data: {\"text\":\"@\"}\n\n";
    for pieces in [
        [r"a \u0073k\u002Dpro", &format!("j-{}{rest} b", &key[8..9])],
        ["a s", &format!(r"\u006B-proj-{} b", &key[8..])],
        // JSON inside of the text, with escapes of its own.
        [r#"a {\"k\":\"\\u0073k-p"#, &format!(r#"roj-{}\"}} b"#, &key[8..])],
        [r#"a {\"k\":\"\\u00"#, &format!(r#"73k-proj-{}\"}} b"#, &key[8..])],
    ] {
        let masked = masked(&stream(template, &pieces));
        assert!(masked.contains("[masked:openai-key:1]"), "{pieces:?} {masked}");
        assert!(
            !masked.contains("proj") && !masked.contains(&rest[..8]) && !masked.contains("u00"),
            "{masked}"
        );
        assert!(masked.contains("\"a ") && masked.contains(" b\"}"), "{masked}");
    }
}

#[test]
fn the_same_value_has_the_same_number_however_it_came() {
    let key = key();
    let mut redactor = redactor();
    let mut masked =
        |text: &str| String::from_utf8(redactor.redact(text.as_bytes()).bytes.into_owned()).unwrap();
    let other = key.replace("sk-proj-", "sk-proj-1");
    assert_eq!(masked(&other), "[masked:openai-key:1]");
    assert_eq!(
        masked(&stream("data: {\"t\":\"@\"}\n\n", &[&key[..30], &key[30..]])),
        stream("data: {\"t\":\"@\"}\n\n", &["[masked:openai-key:2]", ""])
    );
    assert_eq!(masked(&format!("\"{}\"", key.replacen('k', "\\u006b", 1))), "\"[masked:openai-key:2]\"");
    assert_eq!(masked(&key), "[masked:openai-key:2]");
    assert_eq!(
        masked(&stream("data: {\"t\":\"@\"}\n\n", &["correct-h", r"orse\/batt", "ery"])),
        stream("data: {\"t\":\"@\"}\n\n", &["[masked:credential:1]", "", ""])
    );
}

#[test]
fn a_stream_that_is_cut_keeps_no_part() {
    let key = key();
    let whole = stream("data: {\"t\":\"@\"}\n\n", &["a ", &key[..12], &key[12..40]]);
    // Enough of the key was sent to find it: after all of it, in its last event, and without the
    // event's end.
    for cut in [whole.len(), whole.len() - 4, whole.len() - 5, whole.len() - 9] {
        let masked = masked(&whole[..cut]);
        assert!(
            masked.starts_with(
                "data: {\"t\":\"a \"}\n\ndata: {\"t\":\"[masked:openai-key:1]\"}\n\ndata: {\"t\":\""
            ),
            "{masked}"
        );
        assert!(!masked.contains(&key[12..20]), "{masked}");
    }
    // A known value needs no rule: more than half of it is enough.
    let cut = "data: {\"t\":\"my correct-h\"}\n\ndata: {\"t\":\"orse";
    assert_eq!(masked(cut), "data: {\"t\":\"my [masked:credential:1]\"}\n\ndata: {\"t\":\"");
    // A stream that goes on was not cut there.
    let whole = "data: {\"t\":\"my correct-h\"}\n\ndata: {\"t\":\"orse\"}\n\ndata: [DONE]\n\n";
    assert_eq!(masked(whole), whole);
    let early = "data: {\"t\":\"my corr\"}\n\ndata: {\"t\":\"ect";
    assert_eq!(masked(early), early);
}

#[test]
fn what_no_event_tells_together_stays() {
    for text in [
        // Labels and ids that repeat.
        "data: {\"id\":\"chatcmpl-9fK2\",\"model\":\"gpt-5\",\"choices\":[{\"delta\":{\"content\":\"sk-\"}}]}\n\n".repeat(300),
        "event: ping\ndata: {\"type\":\"ping\"}\n\n".repeat(300),
        "data: {\"item_id\":\"msg_68a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5\",\"delta\":\"token\"}\n\n".repeat(300),
        "{\"a\":1}\n{\"a\":2}\n".into(),
        "data: [DONE]\n\ndata: [DONE]\n\n".into(),
        "data:\n\ndata\n\n:\n\n".into(),
    ] {
        assert_eq!(masked(&text), text);
    }
}

/// Repetitions are read in part only, unless something is found there.
#[test]
fn a_secret_that_repeats_itself_is_found_everywhere() {
    let mut redactor = Redactor::new(RulePack::standard());
    redactor.add_known("known", b"abcdabcd");
    let text = "data: {\"t\":\"abcd\"}\n\n".repeat(1000);
    let masked = redactor.redact(text.as_bytes()).bytes.into_owned();
    assert!(!String::from_utf8(masked).unwrap().contains("abcd"));
}

#[test]
fn cuts_and_positions_cover_what_was_removed() {
    let key = key();
    let text = stream("data: {\"t\":\"@\"}\n\n", &[&key[..9], &key[9..]]);
    let redacted = redactor().redact(text.as_bytes()).bytes.into_owned();
    let mut redactor = redactor();
    let result = redactor.redact(text.as_bytes());
    assert_eq!(result.bytes, redacted);
    let mark = "[masked:openai-key:1]".len();
    let places: Vec<_> = result
        .masked_spans
        .iter()
        .map(|cut| (&*cut.rule, cut.source_span.clone(), cut.result_span.clone()))
        .collect();
    let second = 12 + 9 + 4 + 12;
    assert_eq!(
        places,
        [
            ("openai-key", 12..21, 12..12 + mark),
            ("openai-key", second..second + key.len() - 9, 12 + mark + 16..12 + mark + 16)
        ]
    );
    assert_eq!(result.result_offset(second + 5), 12 + mark + 16);
    assert_eq!(result.result_offset(text.len()), result.bytes.len());
}

#[test]
fn an_announced_value_is_not_looked_for_in_what_came_in_between() {
    let event = |index: usize, text: &str| {
        format!("data: {{\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    };
    // A separator before the value belongs to the announcement, too.
    for (announcement, value) in [("curl -u ada:", "xbA9K3MgjU9q"), ("PASSWORD= ", "'xbA9K3MgjU9q'")] {
        let stream = |value: &str| {
            event(0, announcement) + &event(1, "9meanwhile3 ") + &event(0, &format!("{value} x"))
        };
        let mark = value.replace("xbA9K3MgjU9q", "[masked:password:1]");
        assert_eq!(masked(&stream(value)), stream(&mark));
    }
}
