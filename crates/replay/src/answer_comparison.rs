//! Comparison of several records of one answer.
//!
//! A Replay Bundle may hold an answer twice: as a line of its trace, which has the text alone, and as a
//! cassette, which has the whole body. They contradict each other only where both say something.

use reenact_json::{Digest, Jcs, Limits, Value, canonical};
use reenact_run::Exchange;
use reenact_wire::{Delivery, Endpoint, ModelAnswer, exchange, render};

/// Content of an answer as far as the records added so far hold it.
#[derive(Debug, Default)]
pub(crate) struct AnswerComparison {
    text: Option<String>,
    /// Name and input of each tool call. Ids are left out, since vendors make them up anew each time.
    tool_calls: Option<Vec<(String, String)>>,
    /// Status and canonical digest of a body that is an error or no answer of a model.
    document: Option<(Option<u16>, Digest)>,
}

impl AnswerComparison {
    /// Adds the answer of one more record, and returns true if it contradicts those before. `endpoint` is that
    /// of the request, if known.
    pub(crate) fn add_answer(&mut self, exchange: &Exchange<'_>, endpoint: Option<Endpoint>) -> bool {
        // An unreadable answer contradicts nothing.
        let Ok(answer) = exchange.answer() else { return false };
        let is_error = answer.status.is_some_and(|status| status >= 400);
        let message = exchange.message().filter(|_| !is_error);
        let Some(message) = message else {
            // The text of an answer cannot be found in a body that is not understood, so the two are not
            // compared. An error body is certainly no answer, so it is.
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

    /// Returns true if the known text is something else than a document with this canonical digest.
    fn text_differs_from(&self, document: &Digest) -> bool {
        self.text.as_ref().is_some_and(|text| canonical_digest(text.as_bytes()) != *document)
    }

    /// Adds a message, and returns true if it contradicts what is known. `holds_tool_calls` is false for
    /// records that keep the text alone: a message without tool calls then says nothing about them.
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

/// Parses a text that is the whole body of an answer, as a document or a stream; `None` if it is neither.
fn parse_body(endpoint: Endpoint, text: &str) -> Option<ModelAnswer> {
    let is_stream = render::detected_delivery(endpoint, text)? == Delivery::Events;
    exchange::parse_answer(endpoint, is_stream, text.as_bytes())
}

/// Returns the digest of JSON in RFC 8785 form, so that spelling does not matter; of other bytes, their digest.
fn canonical_digest(bytes: &[u8]) -> Digest {
    let text = Value::parse(bytes, &Limits::default()).ok();
    let text = text.and_then(|value| canonical::to_vec(value, Jcs).ok());
    Digest::of(text.as_deref().unwrap_or(bytes))
}
