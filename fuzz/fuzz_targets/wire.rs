//! Whatever a vendor or an agent says: as it comes, and as a script that edits a real stream, event by event.
//!
//! Pieces do not matter and no byte is lost; the gate gives every tool's call that a client finds, and counts what the record will;
//! what was read is written anew and read as the same; a result is inferred once.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reenact_wire::conversation::Conversation;
use reenact_wire::gate::{self, Gate};
use reenact_wire::shape::shaped;
use reenact_wire::sse::{SseEvent, SseReader};
use reenact_wire::{Answer, Delivery, Endpoint, PROTOCOLS, ToolCall, Usage, exchange};

/// A path that names a model, and the form of its answer.
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

/// A stream, cut into pieces and whole.
fn stream(endpoint: Endpoint, piece: usize, body: &[u8]) {
    let events = read(body, body.len().max(1));
    assert_eq!(read(body, piece), events);
    assert_eq!(events.iter().flat_map(|event| event.raw.iter().copied()).collect::<Vec<_>>(), body);
    assert!(events.iter().rev().skip(1).all(|event| event.complete));

    let Some(answer) = exchange::answer(endpoint, true, body) else { return };
    let mut gate = Gate::new(endpoint);
    let mut given = Vec::new();
    for event in &events {
        match gate.take(event) {
            Ok(calls) => given.extend(calls),
            // Nothing of it is handed on.
            Err(gate::Unreadable) => return,
        }
    }
    assert_eq!(gate.usage(), answer.usage);
    given.extend(gate.finish());
    must_have(&given, &answer);
}

fn read(body: &[u8], piece: usize) -> Vec<SseEvent> {
    let mut reader = SseReader::new();
    let mut events: Vec<SseEvent> = body.chunks(piece).flat_map(|piece| reader.push(piece)).collect();
    events.extend(reader.finish());
    events
}

/// An answer in one piece.
fn document(endpoint: Endpoint, body: &[u8]) {
    let told = gate::told(endpoint, body);
    let Some(answer) = exchange::answer(endpoint, false, body) else { return };
    let Ok(told) = told else {
        // Gemini's calls in pieces are refused whole.
        assert_eq!(endpoint, Endpoint::GENERATE_CONTENT, "a client reads what the gate does not");
        return;
    };
    assert_eq!(told.usage, answer.usage);
    must_have(&told.calls, &answer);
    for delivery in [Delivery::Document, Delivery::Events, Delivery::List] {
        let Some(written) = shaped(endpoint, &answer, delivery, "x") else { continue };
        let is_stream = delivery == Delivery::Events;
        let again = exchange::answer(endpoint, is_stream, &written.body).expect("what we wrote can be read");
        assert_eq!((&again.text, again.tool_calls.len()), (&answer.text, answer.tool_calls.len()));
    }
}

/// A client takes no input for an empty one.
fn must_have(given: &[ToolCall], answer: &Answer) {
    for call in &answer.tool_calls {
        let mut call = call.clone();
        if call.input.is_empty() {
            call.input.push_str("{}");
        }
        assert!(given.contains(&call), "a client finds {call:?}, and these were given: {given:?}");
    }
}

fn request(endpoint: Endpoint, body: &[u8]) {
    let Some(request) = exchange::request(endpoint, PATH, body) else { return };
    let mut conversation = Conversation::default();
    let inferred = conversation.requested(&request);
    assert!(inferred.len() <= request.tool_results.len());
}

/// A stream in which two tools are called, as a script leaves it: each three bytes of it say what is done, to which event, and where.
fn edited(endpoint: Endpoint, script: &[u8]) -> Option<Vec<u8>> {
    let call = |id: &str, name: &str, input: &str| ToolCall {
        id: id.into(),
        name: name.into(),
        input: input.into(),
    };
    let answer = Answer {
        model: Some("m".into()),
        text: "Two things.".into(),
        tool_calls: vec![call("a", "look", "{\"at\":[1,2]}"), call("b", "pay", "{}")],
        usage: Some(Usage { input_tokens: 7, output_tokens: 9, ..Usage::default() }),
        stop_reason: Some("tool_use".into()),
        error: None,
        complete: true,
    };
    let whole = shaped(endpoint, &answer, Delivery::Events, "x")?.body;
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
