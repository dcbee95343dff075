//! The vendors' own shapes, as they are sent: one folder for each vendor, one line in [`SHAPES`].

mod anthropic;
mod gemini;
mod openai;

use reenact_wire::Endpoint;

use crate::Kind;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::json::Json;
use crate::reply::Reply;
use crate::request::Request;

/// How each vendor speaks. A request is that of the first one that takes it for its own; OpenAI takes all.
static SHAPES: [(Kind, &dyn Shape); 3] = [
    (Kind::GEMINI, &gemini::Gemini),
    (Kind::ANTHROPIC, &anthropic::Anthropic),
    (Kind::OPENAI, &openai::OpenAi),
];

/// How a vendor speaks.
pub(crate) trait Shape: Sync {
    /// Returns true if a request speaks this vendor's interface.
    fn is_asked(&self, request: &Request) -> bool;

    /// The answer of a model of this interface; `None` if it calls none.
    fn answer(&self, endpoint: Endpoint, reply: &Reply, request: &Request) -> Option<Answer>;

    /// The answer to what asks no model: lists of models, counts of tokens. `None` if the vendor has nothing of this name.
    fn catalogue(&self, request: &Request) -> Option<Json>;

    /// The body of an error.
    fn failure(&self, failure: &Failure, request: &Request) -> Json;

    /// The same as the event of this number, from 0, in a stream that began well.
    fn failure_event(&self, failure: &Failure, request: &Request, number: usize) -> String;

    /// Adds the headers that the vendor puts on its answers.
    fn headers(&self, answer: Answer, request: &Request) -> Answer;
}

/// The vendor whose interface a request speaks.
pub(crate) fn kind(request: &Request) -> Kind {
    let found = SHAPES.iter().find(|(_, shape)| shape.is_asked(request));
    found.map_or(Kind::OPENAI, |(kind, _)| *kind)
}

/// How the vendor speaks that a request is to.
pub(crate) fn of(request: &Request) -> &'static dyn Shape {
    let kind = kind(request);
    SHAPES.iter().find(|(of, _)| *of == kind).map_or(&openai::OpenAi, |(_, shape)| *shape)
}

/// The answer to what asks no model; `None` if the vendor has nothing of this name.
pub(crate) fn catalogue(request: &Request) -> Option<Answer> {
    let shape = of(request);
    let body = shape.catalogue(request)?;
    Some(shape.headers(Answer::json(200, body.to_string()), request))
}

/// The id of the one model that a `GET` asks for.
fn asked_model(request: &Request) -> Option<&str> {
    let (before, last) = request.route().rsplit_once('/')?;
    (is_get(request) && before.ends_with("/models")).then_some(last)
}

/// Returns true if a `GET` asks for the list of models.
fn asks_for_models(request: &Request) -> bool {
    is_get(request) && request.route().ends_with("/models")
}

fn is_get(request: &Request) -> bool {
    matches!(request.method.as_str(), "GET" | "HEAD")
}

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
