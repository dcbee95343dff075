//! An answer of which only the words are held, written anew in the shape that its vendor gives it: as a document, or as a stream.
//!
//! What is written is read back equal by [`crate::exchange::answer`]. Ids and times that no record holds are made up, the same each
//! time.

use reenact_json::{Limits, Value};

use crate::message::Answer;
use crate::protocol::{Delivery, Endpoint};

/// A body with its `content-type`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shaped {
    /// Its `content-type`.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

/// Writes an answer; `id` is what it is called. `None` for an interface that gives no answers of models, and for an error, which
/// each vendor words in its own way.
pub fn shaped(endpoint: Endpoint, answer: &Answer, delivery: Delivery, id: &str) -> Option<Shaped> {
    if answer.error.is_some() {
        return None;
    }
    let body = endpoint.row().write(answer, delivery, id)?;
    Some(Shaped { content_type: delivery.content_type(), body: body.into_bytes() })
}

/// An answer with what a vendor's client cannot do without: the model that was asked for, and why it ended.
pub fn completed(endpoint: Endpoint, mut answer: Answer, model: Option<&str>) -> Answer {
    let calls = !answer.tool_calls.is_empty();
    answer.model = answer.model.or_else(|| model.map(str::to_owned)).or_else(|| Some("unknown".into()));
    answer.stop_reason = answer.stop_reason.or_else(|| Some(endpoint.row().ordinary_stop(calls).into()));
    if endpoint.row().needs_usage() {
        answer.usage.get_or_insert_default();
    }
    answer
}

/// Returns the form of a text that is the whole body of an answer of this interface, and not only what one said.
pub fn body_delivery(endpoint: Endpoint, text: &str) -> Option<Delivery> {
    if let Ok(document) = Value::parse(text.as_bytes(), &Limits::default()) {
        let is_list = document.kind() == reenact_json::Kind::Array;
        let delivery = if is_list { Delivery::List } else { Delivery::Document };
        return endpoint.is_answer(document).then_some(delivery);
    }
    let begins = text.starts_with("data:") || text.starts_with("event:");
    let read = begins.then(|| crate::exchange::answer(endpoint, true, text.as_bytes())).flatten()?;
    (read.complete || read.model.is_some()).then_some(Delivery::Events)
}
