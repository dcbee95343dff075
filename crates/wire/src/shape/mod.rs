//! An answer of which only the words are held, written anew in the shape that its vendor gives it: as a document, or as a stream.
//!
//! What is written is read back equal by [`crate::exchange::answer`]. Ids and times that no record holds are made up, the same each
//! time.

mod chat;
mod messages;
mod responses;

use reenact_json::print::Object;
use reenact_json::{Limits, Value};

use crate::endpoint::Endpoint;
use crate::message::{Answer, ToolCall, Usage};

/// A body, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shaped {
    /// Its `content-type`.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

impl Shaped {
    pub(crate) const JSON: &'static str = "application/json";
    pub(crate) const STREAM: &'static str = "text/event-stream; charset=utf-8";
}

/// Writes an answer; `id` is what it is called. `None` for an endpoint that gives no answers of models, and for an error, which
/// each vendor words in its own way.
pub fn shaped(endpoint: Endpoint, answer: &Answer, stream: bool, id: &str) -> Option<Shaped> {
    if answer.error.is_some() {
        return None;
    }
    let body = match (endpoint, stream) {
        (Endpoint::ChatCompletions, false) => chat::document(answer, id),
        (Endpoint::ChatCompletions, true) => chat::stream(answer, id),
        (Endpoint::Responses, false) => responses::document(answer, id),
        (Endpoint::Responses, true) => responses::stream(answer, id),
        (Endpoint::Messages, false) => messages::document(answer, id),
        (Endpoint::Messages, true) => messages::stream(answer, id),
        (Endpoint::Models, _) => return None,
    };
    let content_type = if stream { Shaped::STREAM } else { Shaped::JSON };
    Some(Shaped { content_type, body: body.into_bytes() })
}

/// An answer with what a vendor's client cannot do without: the model that was asked for, and why it ended.
pub fn completed(endpoint: Endpoint, mut answer: Answer, model: Option<&str>) -> Answer {
    let calls = !answer.tool_calls.is_empty();
    answer.model = answer.model.or_else(|| model.map(str::to_owned)).or_else(|| Some("unknown".into()));
    answer.stop_reason = answer.stop_reason.or_else(|| {
        let reason = match (endpoint, calls) {
            (Endpoint::ChatCompletions, true) => "tool_calls",
            (Endpoint::Messages, true) => "tool_use",
            (Endpoint::ChatCompletions, false) => "stop",
            (Endpoint::Messages, false) => "end_turn",
            (Endpoint::Responses | Endpoint::Models, _) => "completed",
        };
        Some(reason.into())
    });
    if endpoint == Endpoint::Messages {
        // Its clients read the counts without asking whether there are any.
        answer.usage.get_or_insert_default();
    }
    answer
}

/// Whether a text is the body of an answer of this endpoint, and not only what one said.
pub fn is_body(endpoint: Endpoint, text: &str) -> Option<bool> {
    let is_list = |document: Value<'_>, name: &str| {
        document.member(name).is_some_and(|list| list.text().starts_with(b"["))
    };
    if let Ok(document) = Value::parse(text.as_bytes(), &Limits::default()) {
        let is_one = match endpoint {
            Endpoint::ChatCompletions => is_list(document, "choices"),
            Endpoint::Responses => is_list(document, "output"),
            Endpoint::Messages => is_list(document, "content") && document.member("role").is_some(),
            Endpoint::Models => is_list(document, "data"),
        };
        return is_one.then_some(false);
    }
    let begins = text.starts_with("data:") || text.starts_with("event:");
    let read = begins.then(|| crate::exchange::answer(endpoint, true, text.as_bytes())).flatten()?;
    (read.complete || read.model.is_some()).then_some(true)
}

/// One event of a stream.
fn event(name: Option<&str>, data: &str, out: &mut String) {
    if let Some(name) = name {
        out.push_str("event: ");
        out.push_str(name);
        out.push('\n');
    }
    out.push_str("data: ");
    out.push_str(data);
    out.push_str("\n\n");
}

fn number(object: &mut Object<'_>, name: &str, number: u64) {
    object.name(name).push_str(&number.to_string());
}

/// OpenAI's usage; `names` are those of its interface for what was read and written, and for the details of the former.
fn openai_usage(usage: Usage, names: [&str; 3], out: &mut String) {
    let [read, written, details] = names;
    let mut object = Object::open(out);
    number(&mut object, read, usage.input_tokens);
    number(&mut object, written, usage.output_tokens);
    number(&mut object, "total_tokens", usage.input_tokens.saturating_add(usage.output_tokens));
    let mut inner = Object::open(object.name(details));
    number(&mut inner, "cached_tokens", usage.cached_input_tokens);
    inner.close();
    object.close();
}

/// The input of a call as JSON: what is none is a string.
fn input(call: &ToolCall, out: &mut String) {
    match Value::parse(call.input.as_bytes(), &Limits::default()) {
        Ok(_) => out.push_str(&call.input),
        Err(_) if call.input.is_empty() => out.push_str("{}"),
        Err(_) => reenact_json::print::string(&call.input, out),
    }
}
