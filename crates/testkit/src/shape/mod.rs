//! The vendors' own shapes, as they are sent.

pub(crate) mod catalogue;
pub(crate) mod chat;
pub(crate) mod messages;
pub(crate) mod responses;

use crate::Kind;
use crate::answer::Answer;
use crate::json::Json;
use crate::request::Request;

/// When everything was made: 2026-01-01T00:00:00Z. A script has no clock.
const MADE_AT: u64 = 1_767_225_600;

/// An id that follows from the request alone: two in flight at the same time get their own, whichever comes first.
pub(crate) fn id(prefix: &str, request: &Request, number: usize) -> String {
    format!("{prefix}{:016x}{number:04x}", request.fingerprint())
}

/// The model that the request names.
fn model(request: &Request) -> String {
    request.reading().model.unwrap_or_default()
}

/// A text in pieces that end after words, at most a few hundred of them however long it is.
fn pieces(text: &str) -> Vec<&str> {
    let least = text.len() / 256;
    let (mut pieces, mut from, mut to) = (Vec::new(), 0, 0);
    for word in text.split_inclusive(' ') {
        to += word.len();
        if to - from > least {
            pieces.push(&text[from..to]);
            from = to;
        }
    }
    if from < to {
        pieces.push(&text[from..]);
    }
    pieces
}

/// An input in pieces that end anywhere but inside a character.
fn fragments(input: &str) -> Vec<&str> {
    let size = 12.max(input.len() / 256);
    let (mut fragments, mut rest) = (Vec::new(), input);
    while !rest.is_empty() {
        let (head, tail) = rest.split_at(rest.ceil_char_boundary(size));
        fragments.push(head);
        rest = tail;
    }
    fragments
}

/// An event with its name.
fn named(name: &str, data: &Json) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// The headers that the vendor puts on its answers.
pub(crate) fn headers(answer: Answer, request: &Request) -> Answer {
    match request.kind() {
        Kind::OpenAi => openai_headers(answer, request),
        Kind::Anthropic => anthropic_headers(answer, request),
    }
}

fn openai_headers(answer: Answer, request: &Request) -> Answer {
    answer
        .header("x-request-id", id("req_", request, 0))
        .header("openai-organization", "testkit")
        .header("openai-processing-ms", "42")
        .header("openai-version", "2020-10-01")
}

fn anthropic_headers(answer: Answer, request: &Request) -> Answer {
    answer
        .header("request-id", id("req_", request, 0))
        .header("anthropic-organization-id", "00000000-0000-0000-0000-000000000000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_text() {
        assert_eq!(pieces("You said: hi"), ["You ", "said: ", "hi"]);
        assert_eq!(pieces(""), Vec::<&str>::new());
        let long = crate::reply::long_text(5_000_000);
        assert_eq!(pieces(&long).concat(), long);
        assert!(pieces(&long).len() <= 256);
        assert_eq!(fragments("{\"città\":\"Zürich\"}"), ["{\"città\":\"Z", "ürich\"}"]);
        assert!(fragments(&"ü".repeat(100_000)).len() <= 257);
    }
}
