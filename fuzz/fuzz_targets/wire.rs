//! Any bytes as the messages of a vendor or an agent, and as a script that edits a real stream
//! event by event.
//!
//! The division into pieces does not matter and no byte is lost; the filter of tool calls reports
//! every call that a client finds, and counts the same tokens as the record; an answer that was
//! read, written and read again is the same; a result is inferred once.
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use reenact_wire::conversation::Conversation;
use reenact_wire::render::render;
use reenact_wire::request_form::FormFindings;
use reenact_wire::sse::{SseEvent, SseReader};
use reenact_wire::tool_calls::{self, ToolCallScanner};
use reenact_wire::{Delivery, Endpoint, ModelAnswer, PROTOCOLS, ToolCall, Usage, exchange, request_form};

/// Path that names a model and the delivery of its answer.
const PATH: &str = "/v1beta/models/m:streamGenerateContent?alt=sse";

fuzz_target!(|input: &[u8]| {
    let [which, length, body @ ..] = input else { return };
    let endpoint = PROTOCOLS[usize::from(*which) % PROTOCOLS.len()];
    let piece = usize::from(length % 64) + 1;
    stream(endpoint, piece, body);
    document(endpoint, body);
    request(endpoint, body);
    if let Some(edited) = edited(endpoint, body) {
        stream(endpoint, piece, &edited);
    }
});

/// Checks a stream, in pieces and as a whole.
fn stream(endpoint: Endpoint, piece: usize, body: &[u8]) {
    let events = read(body, body.len().max(1));
    assert_eq!(read(body, piece), events);
    assert_eq!(events.iter().flat_map(|event| event.raw.iter().copied()).collect::<Vec<_>>(), body);
    assert!(events.iter().rev().skip(1).all(|event| event.is_complete));

    let Some(answer) = exchange::parse_answer(endpoint, true, body) else { return };
    let mut scanner = ToolCallScanner::new(endpoint);
    let mut given = Vec::new();
    for event in &events {
        match scanner.scan_event(event) {
            Ok(calls) => given.extend(calls),
            // Nothing of an unreadable stream is passed on.
            Err(tool_calls::UnreadableAnswer) => return,
        }
    }
    assert_eq!(scanner.facts().usage, answer.usage);
    given.extend(scanner.finish());
    must_have(&given, &answer);
}

fn read(body: &[u8], piece: usize) -> Vec<SseEvent> {
    let mut reader = SseReader::new();
    let mut events: Vec<SseEvent> = body.chunks(piece).flat_map(|piece| reader.push(piece)).collect();
    events.extend(reader.finish());
    events
}

/// Checks an answer in one piece.
fn document(endpoint: Endpoint, body: &[u8]) {
    let told = tool_calls::scan_answer(endpoint, body);
    let Some(answer) = exchange::parse_answer(endpoint, false, body) else { return };
    let Ok(told) = told else {
        // Gemini's calls in pieces are refused as a whole.
        assert_eq!(endpoint, Endpoint::GENERATE_CONTENT, "a client reads what the scanner does not");
        return;
    };
    assert_eq!(told.usage, answer.usage);
    must_have(&told.calls, &answer);
    for delivery in [Delivery::Document, Delivery::Events, Delivery::List] {
        let Some(written) = render(endpoint, &answer, delivery, "x") else { continue };
        let is_stream = delivery == Delivery::Events;
        let again =
            exchange::parse_answer(endpoint, is_stream, &written.body).expect("what we wrote can be read");
        assert_eq!((&again.text, again.tool_calls.len()), (&answer.text, answer.tool_calls.len()));
    }
}

/// Checks that every call of the answer was given. A client takes a missing input for an empty one.
fn must_have(given: &[ToolCall], answer: &ModelAnswer) {
    for call in &answer.tool_calls {
        let mut call = call.clone();
        if call.input.is_empty() {
            call.input.push_str("{}");
        }
        assert!(given.contains(&call), "a client finds {call:?}, and these were given: {given:?}");
    }
}

fn request(endpoint: Endpoint, body: &[u8]) {
    let found = request_form::check(endpoint, body, &BTreeSet::new());
    assert!(found.unknown.len() <= FormFindings::MAX_UNKNOWN && found.allowed.is_empty());
    // What is allowed by its path hides no tool.
    let allowed: BTreeSet<String> = found.unknown.iter().cloned().collect();
    let again = request_form::check(endpoint, body, &allowed);
    assert!(found.vendor_tools.iter().all(|tool| again.vendor_tools.contains(tool)));
    let Some(request) = exchange::parse_request(endpoint, PATH, body) else { return };
    let mut conversation = Conversation::default();
    let inferred = conversation.add_request(&request);
    assert!(inferred.len() <= request.tool_results.len());
}

/// Returns a stream with two tool calls, edited by a script: each three bytes give the action, the
/// event and the offset.
fn edited(endpoint: Endpoint, script: &[u8]) -> Option<Vec<u8>> {
    let call = |id: &str, name: &str, input: &str| ToolCall {
        id: id.into(),
        name: name.into(),
        input: input.into(),
    };
    let answer = ModelAnswer {
        model: Some("m".into()),
        text: "Two things.".into(),
        tool_calls: vec![call("a", "look", "{\"at\":[1,2]}"), call("b", "pay", "{}")],
        usage: Some(Usage { input_tokens: 7, output_tokens: 9, ..Usage::default() }),
        stop_reason: Some("tool_use".into()),
        error: None,
        is_complete: true,
    };
    let whole = render(endpoint, &answer, Delivery::Events, "x")?.body;
    let mut events: Vec<Vec<u8>> = read(&whole, whole.len()).into_iter().map(|event| event.raw).collect();
    for edit in script.chunks_exact(3).take(64) {
        let at = usize::from(edit[1]) % events.len().max(1);
        let Some(event) = events.get_mut(at) else { break };
        let place = usize::from(edit[2]) % event.len().max(1);
        match edit[0] % 6 {
            0 => drop(events.remove(at)),
            1 => events.insert(at, events[at].clone()),
            2 => events.swap(at, 0),
            3 => event.truncate(place),
            4 => event.insert(place, edit[0]),
            _ => event.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= 1 << (edit[0] % 8)),
        }
    }
    Some(events.concat())
}
