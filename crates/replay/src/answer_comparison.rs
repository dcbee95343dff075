//! What several records of one answer say, as far as it can be compared: one may hold the words alone, another all of it.

use reenact_json::{Digest, Jcs, Limits, Value, canonical};
use reenact_run::Exchange;
use reenact_wire::{Delivery, Endpoint, ModelAnswer, exchange, render};

/// What was told so far of an answer.
#[derive(Debug, Default)]
pub(crate) struct AnswerComparison {
    text: Option<String>,
    /// Name and input of each: their ids are made up anew each time.
    tool_calls: Option<Vec<(String, String)>>,
    /// Of what is no answer of a model, or an error: its status, and its values.
    document: Option<(Option<u16>, Digest)>,
}

impl AnswerComparison {
    /// Takes note of what one more record says, and whether that is something else. `endpoint` is where it was asked, if that is known.
    pub(crate) fn add_answer(&mut self, exchange: &Exchange<'_>, endpoint: Option<Endpoint>) -> bool {
        // What cannot be read says nothing.
        let Ok(answer) = exchange.answer() else { return false };
        let is_error = answer.status.is_some_and(|status| status >= 400);
        let message = exchange.message().filter(|_| !is_error);
        let Some(message) = message else {
            // The words of an answer cannot be found in a document that is not understood; but an error is none.
            let document = (answer.status, canonical_digest(&answer.body));
            let differs = self.document.is_some_and(|known| known != document)
                || (is_error && self.text_differs_from(&document.1));
            self.document.get_or_insert(document);
            return differs;
        };
        if let Some(said) = &answer.recorded_message {
            let whole = endpoint.and_then(|endpoint| parse_body(endpoint, &said.text));
            return match whole {
                Some(whole) => self.add_message(&whole, true),
                None => self.add_message(&message, !message.tool_calls.is_empty()),
            };
        }
        self.add_message(&message, true)
    }

    /// Whether the words that are known are not this document.
    fn text_differs_from(&self, document: &Digest) -> bool {
        self.text.as_ref().is_some_and(|text| canonical_digest(text.as_bytes()) != *document)
    }

    fn add_message(&mut self, message: &ModelAnswer, holds_tool_calls: bool) -> bool {
        let is_error = self.document.is_some_and(|(status, document)| {
            status.is_some_and(|status| status >= 400)
                && canonical_digest(message.text.as_bytes()) != document
        });
        let calls = message.tool_calls.iter().map(|call| (call.name.clone(), call.input.clone())).collect();
        let calls: Option<Vec<_>> = holds_tool_calls.then_some(calls);
        let other_text = self.text.as_ref().is_some_and(|text| *text != message.text);
        let other_calls = matches!((&self.tool_calls, &calls), (Some(known), Some(calls)) if known != calls);
        self.text.get_or_insert_with(|| message.text.clone());
        self.tool_calls = self.tool_calls.take().or(calls);
        is_error || other_text || other_calls
    }
}

/// What a text says that is the whole body of an answer.
fn parse_body(endpoint: Endpoint, text: &str) -> Option<ModelAnswer> {
    let is_stream = render::detected_delivery(endpoint, text)? == Delivery::Events;
    exchange::parse_answer(endpoint, is_stream, text.as_bytes())
}

/// The digest of the values of a document, whatever its spelling; of other bytes, of these.
fn canonical_digest(bytes: &[u8]) -> Digest {
    let text = Value::parse(bytes, &Limits::default()).ok();
    let text = text.and_then(|value| canonical::to_vec(value, Jcs).ok());
    Digest::of(text.as_deref().unwrap_or(bytes))
}
