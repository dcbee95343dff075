//! Answers of a vendor that means harm: a tool call is found wherever a client could find it, or the answer is refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use reenact_wire::sse::SseReader;
use reenact_wire::tool_calls::{ToolCallScanner, UnreadableAnswer, scan_answer, scan_error_answer};
use reenact_wire::{Endpoint, PROTOCOLS};

/// Returns the names of all calls in a stream.
fn stream_calls(endpoint: Endpoint, stream: &str) -> Result<Vec<String>, UnreadableAnswer> {
    let (mut reader, mut scanner) = (SseReader::new(), ToolCallScanner::new(endpoint));
    let mut events = reader.push(stream.as_bytes());
    events.extend(reader.finish());
    let mut calls = Vec::new();
    for event in &events {
        calls.extend(scanner.scan_event(event)?);
    }
    calls.extend(scanner.finish());
    Ok(calls.into_iter().map(|call| call.name).collect())
}

/// Answers of one interface that ask for the tool `rm`.
struct AskingForRm {
    endpoint: Endpoint,
    document: &'static str,
    /// Data of an event.
    event: &'static str,
    /// Changes that put an object where a list belongs, or the reverse: a text, and the text in its place.
    changes: &'static [(&'static str, &'static str)],
}

const ROWS: [AskingForRm; 4] = [
    AskingForRm {
        endpoint: Endpoint::CHAT_COMPLETIONS,
        document: r#"{"choices":[{"index":0,"message":{"tool_calls":[{"id":"c","function":{"name":"rm","arguments":"{}"}}]}}]}"#,
        event: r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"rm","arguments":"{}"}}]}}]}"#,
        changes: &[
            (r#""choices":[{"#, r#""choices":{"0":{"#),
            (r#""message":{"#, r#""message":[{"#),
            (r#""delta":{"#, r#""delta":[{"#),
            (r#""tool_calls":[{"#, r#""tool_calls":{"0":{"#),
            (r#""tool_calls":[{"#, r#""tool_calls":[[{"#),
            (r#""function":{"#, r#""function":[{"#),
            (r#""tool_calls":[{"#, r#""function_call":[{"#),
        ],
    },
    AskingForRm {
        endpoint: Endpoint::RESPONSES,
        document: r#"{"output":[{"type":"function_call","call_id":"c","name":"rm","arguments":"{}"}]}"#,
        event: r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"rm","arguments":"{}"}}"#,
        changes: &[
            (r#""output":[{"#, r#""output":{"0":{"#),
            (r#""output":[{"#, r#""output":[[{"#),
            (r#""item":{"#, r#""item":[{"#),
            (r#""item":{"#, r#""response":[{"#),
            (r#""item":{"#, r#""response":{"output":[]},"item":{"#),
            (r#""item":{"#, r#""response":{"output":{"#),
        ],
    },
    AskingForRm {
        endpoint: Endpoint::MESSAGES,
        document: r#"{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"rm","input":{}}]}"#,
        event: r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"rm","input":{}}}"#,
        changes: &[
            (r#""content":[{"#, r#""content":{"0":{"#),
            (r#""content":[{"#, r#""content":[[{"#),
            (r#""content_block":{"#, r#""content_block":[{"#),
            (r#""content_block_start","index":0,"content_block""#, r#""message_start","message":[],"x""#),
        ],
    },
    AskingForRm {
        endpoint: Endpoint::GENERATE_CONTENT,
        document: r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"rm","args":{}}}]}}]}"#,
        event: r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"rm","args":{}}}]}}]}"#,
        changes: &[
            (r#""candidates":[{"#, r#""candidates":{"0":{"#),
            (r#""content":{"#, r#""content":[{"#),
            (r#""parts":[{"#, r#""parts":{"0":{"#),
            (r#""functionCall":{"#, r#""functionCall":[{"#),
        ],
    },
];

/// A new interface needs a row.
#[test]
fn every_interface_that_asks_a_model_has_a_row() {
    let models = PROTOCOLS.into_iter().filter(|endpoint| endpoint.can_ask_for_tools());
    assert_eq!(ROWS.map(|row| row.endpoint).to_vec(), models.collect::<Vec<_>>());
}

#[test]
fn in_answers_with_the_status_of_an_error() {
    for AskingForRm { endpoint, document, .. } in ROWS {
        for body in [document.to_owned(), format!("[{document}]"), format!(" [{{}}, {document}]\n")] {
            let scanned = scan_error_answer(endpoint, body.as_bytes()).unwrap();
            assert_eq!(scanned.calls.len(), 1, "{endpoint:?} {body}");
            assert_eq!(scanned.calls[0].name, "rm");
        }
        let utf_16: Vec<u8> = document.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for hidden in [
            format!("\u{feff}{document}").as_bytes(),
            document.replacen('{', "{\"a\":NaN,", 1).as_bytes(),
            document.replacen('{', "{\"a\":1,\"a\":2,", 1).as_bytes(),
            format!("data: {document}\n\n").as_bytes(),
            format!("Oh no\r\ndata: {document}\r\n\r\n").as_bytes(),
            &utf_16,
        ] {
            let text = String::from_utf8_lossy(hidden);
            assert_eq!(scan_error_answer(endpoint, hidden), Err(UnreadableAnswer), "{endpoint:?} {text}");
        }
        for plain in [
            "",
            "<html>502</html>",
            "upstream connect error",
            "\"oh no\"",
            "null",
            r#"{"error":{"message":"busy"}}"#,
            r#"[{"error":{"code":429}}]"#,
        ] {
            assert_eq!(scan_error_answer(endpoint, plain.as_bytes()).unwrap().calls, [], "{plain}");
        }
    }
}

/// Clients that iterate over an object, or index a list by a name, differ in the result.
#[test]
fn in_objects_where_lists_belong_and_the_reverse() {
    for AskingForRm { endpoint, document, event, changes } in ROWS {
        assert_eq!(scan_answer(endpoint, document.as_bytes()).unwrap().calls.len(), 1);
        assert_eq!(stream_calls(endpoint, &format!("data: {event}\n\n")), Ok(vec!["rm".to_owned()]));
        for (from, to) in changes {
            let mut tried = 0;
            for (text, is_event) in [(document, false), (event, true)] {
                if !text.contains(from) {
                    continue;
                }
                tried += 1;
                let changed = balanced(&text.replacen(from, to, 1));
                if is_event {
                    let found = stream_calls(endpoint, &format!("data: {changed}\n\n"));
                    assert_eq!(found, Err(UnreadableAnswer), "{changed}");
                } else {
                    assert_eq!(scan_answer(endpoint, changed.as_bytes()), Err(UnreadableAnswer), "{changed}");
                    let failed = scan_error_answer(endpoint, changed.as_bytes());
                    assert_eq!(failed, Err(UnreadableAnswer), "{changed}");
                }
            }
            assert!(tried > 0, "{endpoint:?}: nothing to change: {from}");
        }
        for odd in ["[]", "[[]]", "1", "\"x\"", "null"] {
            let is_list_of_documents = endpoint == Endpoint::GENERATE_CONTENT && odd == "[]";
            assert_eq!(
                scan_answer(endpoint, odd.as_bytes()).is_ok(),
                is_list_of_documents,
                "{endpoint:?} {odd}"
            );
            assert_eq!(stream_calls(endpoint, &format!("data: {odd}\n\n")), Err(UnreadableAnswer), "{odd}");
        }
    }
}

/// Returns a text whose opening brackets were changed, with the closing brackets that fit.
fn balanced(text: &str) -> String {
    let (mut out, mut open) = (String::new(), Vec::new());
    let mut in_string = false;
    for letter in text.chars() {
        match letter {
            '"' => in_string = !in_string,
            '{' | '[' if !in_string => open.push(if letter == '{' { '}' } else { ']' }),
            '}' | ']' if !in_string => {
                out.extend(open.pop());
                continue;
            }
            _ => {}
        }
        out.push(letter);
    }
    out.extend(open.into_iter().rev());
    assert_json(&out);
    out
}

/// Stops a test whose change did not give JSON.
fn assert_json(text: &str) {
    let limits = reenact_json::Limits::default();
    assert!(reenact_json::Value::parse(text.as_bytes(), &limits).is_ok(), "not JSON: {text}");
}

/// Clients that split lines as Python's `str.splitlines` does see a second line behind these characters.
#[test]
fn behind_line_separators_that_some_clients_know() {
    for AskingForRm { endpoint, event, .. } in ROWS {
        for separator in ["\u{b}", "\u{c}", "\u{1c}", "\u{1d}", "\u{1e}", "\u{85}", "\u{2028}", "\u{2029}"] {
            for line in [": ping", "id: 1", "event: x", "retry: 1"] {
                let stream = format!("{line}{separator}data: {event}{separator}{separator}\n\n");
                assert_eq!(stream_calls(endpoint, &stream), Err(UnreadableAnswer), "{stream:?}");
            }
        }
        // Models write such characters, and JSON allows some of them in strings.
        let text = "data: {\"note\":\"one\u{2028}two\u{2029}\u{85}three: four\"}\n\n";
        assert_eq!(stream_calls(endpoint, text), Ok(Vec::new()));
    }
}

/// An input that is an object, as some servers send it, is what an approver gets to see.
#[test]
fn inputs_of_another_type_are_not_lost() {
    let chat = r#"{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"rm","arguments":{"all":1}}}]}}]}"#;
    let responses =
        r#"{"output":[{"type":"function_call","call_id":"c","name":"rm","arguments":{"all":1}}]}"#;
    for (endpoint, body) in [(Endpoint::CHAT_COMPLETIONS, chat), (Endpoint::RESPONSES, responses)] {
        assert_eq!(scan_answer(endpoint, body.as_bytes()).unwrap().calls[0].input, r#"{"all":1}"#);
    }
    let either = r#"{"candidates":[{"content":{"parts":[{"function_call":{"name":"rm"}}]}}]}"#;
    let scanned = scan_answer(Endpoint::GENERATE_CONTENT, either.as_bytes()).unwrap();
    assert_eq!(scanned.calls[0].name, "rm");
}
