//! Answer formats of the vendors: one folder for each vendor, one row in [`VENDOR_FORMATS`].

mod anthropic;
mod gemini;
mod openai;

use reenact_wire::Endpoint;

use crate::Vendor;
use crate::answer::ScriptedAnswer;
use crate::failure::VendorFailure;
use crate::json::OrderedJson;
use crate::reply::ScriptedReply;
use crate::request::VendorRequest;

/// Format of each vendor. The first one that accepts a request answers it; OpenAI accepts all.
static VENDOR_FORMATS: [(Vendor, &dyn VendorFormat); 3] = [
    (Vendor::GEMINI, &gemini::GeminiFormat),
    (Vendor::ANTHROPIC, &anthropic::AnthropicFormat),
    (Vendor::OPENAI, &openai::OpenAiFormat),
];

/// Answer format of one vendor.
pub(crate) trait VendorFormat: Sync {
    /// Returns true if a request speaks this vendor's interface.
    fn accepts(&self, request: &VendorRequest) -> bool;

    /// Renders a reply of the model; `None` if the endpoint calls no model.
    fn answer(
        &self,
        endpoint: Endpoint,
        reply: &ScriptedReply,
        request: &VendorRequest,
    ) -> Option<ScriptedAnswer>;

    /// Returns the answer to a request that calls no model: lists of models, counts of tokens.
    /// `None` if the vendor has no such path.
    fn catalogue(&self, request: &VendorRequest) -> Option<OrderedJson>;

    /// Returns the body of an error.
    fn failure(&self, failure: &VendorFailure, request: &VendorRequest) -> OrderedJson;

    /// Returns an error as the event of this index, counted from 0, in a stream that began well.
    fn failure_event(&self, failure: &VendorFailure, request: &VendorRequest, number: usize) -> String;

    /// Adds the headers that the vendor puts on its answers.
    fn headers(&self, answer: ScriptedAnswer, request: &VendorRequest) -> ScriptedAnswer;
}

/// Returns the vendor whose interface a request speaks.
pub(crate) fn vendor_of(request: &VendorRequest) -> Vendor {
    let found = VENDOR_FORMATS.iter().find(|(_, shape)| shape.accepts(request));
    found.map_or(Vendor::OPENAI, |(kind, _)| *kind)
}

/// Returns the format of the vendor whose interface a request speaks.
pub(crate) fn format_of(request: &VendorRequest) -> &'static dyn VendorFormat {
    let kind = vendor_of(request);
    VENDOR_FORMATS.iter().find(|(of, _)| *of == kind).map_or(&openai::OpenAiFormat, |(_, shape)| *shape)
}

/// Returns the answer to a request that calls no model; `None` if the vendor has no such path.
pub(crate) fn catalogue(request: &VendorRequest) -> Option<ScriptedAnswer> {
    let shape = format_of(request);
    let body = shape.catalogue(request)?;
    Some(shape.headers(ScriptedAnswer::json(200, body.to_string()), request))
}

/// Returns the id of the model that a `GET` asks for.
fn requested_model(request: &VendorRequest) -> Option<&str> {
    let (before, last) = request.path_without_query().rsplit_once('/')?;
    (is_get(request) && before.ends_with("/models")).then_some(last)
}

/// Returns true if a `GET` asks for the list of models.
fn asks_for_models(request: &VendorRequest) -> bool {
    is_get(request) && request.path_without_query().ends_with("/models")
}

fn is_get(request: &VendorRequest) -> bool {
    matches!(request.method.as_str(), "GET" | "HEAD")
}

/// Time at which everything was made, in seconds since 1970: 2026-01-01T00:00:00Z. A script has no
/// clock.
const CREATED_AT: u64 = 1_767_225_600;

/// Returns an id that depends on the request and `number` alone, so that requests in flight at the
/// same time get the same ids in every run.
pub(crate) fn deterministic_id(prefix: &str, request: &VendorRequest, number: usize) -> String {
    format!("{prefix}{:016x}{number:04x}", request.fingerprint())
}

/// Returns the model that the request names; empty if it names none.
fn model(request: &VendorRequest) -> String {
    request.parsed().model.unwrap_or_default()
}

/// Splits a text behind words, into at most a few hundred pieces however long it is.
fn word_pieces(text: &str) -> Vec<&str> {
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

/// Splits an input anywhere but inside of a character, into at most a few hundred pieces.
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

/// Returns a server-sent event with a name.
fn named_event(name: &str, data: &OrderedJson) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_text() {
        assert_eq!(word_pieces("You said: hi"), ["You ", "said: ", "hi"]);
        assert_eq!(word_pieces(""), Vec::<&str>::new());
        let long = crate::reply::long_text(5_000_000);
        assert_eq!(word_pieces(&long).concat(), long);
        assert!(word_pieces(&long).len() <= 256);
        assert_eq!(fragments("{\"città\":\"Zürich\"}"), ["{\"città\":\"Z", "ürich\"}"]);
        assert!(fragments(&"ü".repeat(100_000)).len() <= 257);
    }
}
