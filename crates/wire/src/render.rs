//! Answers written again in their vendor's shape, as a document or as a stream.
//!
//! Some records hold only the words of an answer, not its bytes; a client still needs the vendor's shape.
//! [`crate::exchange::parse_answer`] parses the written text back to an equal answer. Ids and times that no
//! record holds are made up, the same each time. Start reading at [`render`].

use reenact_json::{Limits, Value};

use crate::message::ModelAnswer;
use crate::protocol::{Delivery, Endpoint};

/// Body of an answer together with its `content-type`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedAnswer {
    /// Value of the `content-type` header.
    pub content_type: &'static str,
    /// Body in the vendor's shape, UTF-8.
    pub body: Vec<u8>,
}

/// Writes an answer in the shape of `endpoint`. `id` becomes part of the ids in the body.
///
/// Returns `None` for an interface without answers of models, for a delivery that the interface does not have,
/// and for an answer with an error, since each vendor words errors in its own way.
pub fn render(
    endpoint: Endpoint,
    answer: &ModelAnswer,
    delivery: Delivery,
    id: &str,
) -> Option<RenderedAnswer> {
    if answer.error.is_some() {
        return None;
    }
    let body = endpoint.protocol().render(answer, delivery, id)?;
    Some(RenderedAnswer { content_type: delivery.content_type(), body: body.into_bytes() })
}

/// Returns the answer with the members that a vendor's client cannot do without: the model, which defaults to
/// `model`, the reason for the end, and for some interfaces the usage.
pub fn with_required_members(
    endpoint: Endpoint,
    mut answer: ModelAnswer,
    model: Option<&str>,
) -> ModelAnswer {
    let calls = !answer.tool_calls.is_empty();
    answer.model = answer.model.or_else(|| model.map(str::to_owned)).or_else(|| Some("unknown".into()));
    answer.stop_reason =
        answer.stop_reason.or_else(|| Some(endpoint.protocol().default_stop_reason(calls).into()));
    if endpoint.protocol().needs_usage() {
        answer.usage.get_or_insert_default();
    }
    answer
}

/// Returns the form of a text that is a whole body of an answer of this interface; `None` if the text is only
/// the words of an answer.
pub fn detected_delivery(endpoint: Endpoint, text: &str) -> Option<Delivery> {
    if let Ok(document) = Value::parse(text.as_bytes(), &Limits::default()) {
        let is_list = document.kind() == reenact_json::ValueKind::Array;
        let delivery = if is_list { Delivery::List } else { Delivery::Document };
        return endpoint.is_answer(document).then_some(delivery);
    }
    let begins = text.starts_with("data:") || text.starts_with("event:");
    let read = begins.then(|| crate::exchange::parse_answer(endpoint, true, text.as_bytes())).flatten()?;
    (read.is_complete || read.model.is_some()).then_some(Delivery::Events)
}
