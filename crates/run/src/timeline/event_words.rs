//! Name and words of one event: what was asked or answered in it, for lists that show each event by itself.
//!
//! A timeline shows both ends of a call as one step; a list of the steps of an `.rpk` shows each end. Start reading at
//! [`Event::words`].

use reenact_json::{Limits, Value};
use reenact_wire::prompt;

use crate::reader;
use crate::{Event, EventType, ExchangeRequest, ExchangeRequestBody, UnreadablePayload};

/// Name and words of one event. Untrusted text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventWords {
    /// Model, tool, or method and path; `None` if the event names none.
    pub name: Option<String>,
    /// Beginning of what was asked or answered, at most [`MAX_WORDS_BYTES`] long.
    pub text: String,
}

/// Longest text of [`EventWords`], in bytes.
pub const MAX_WORDS_BYTES: usize = 4_096;

impl Event<'_> {
    /// Returns what was asked or answered in this event; the JSON of its content, where that is all that can be read.
    pub fn words(&self) -> EventWords {
        let read = match self.kind() {
            Some(EventType::ModelCalled | EventType::HttpCalled) => self.request_words(),
            Some(EventType::ModelReturned | EventType::HttpReturned) => self.answer_words(),
            Some(EventType::ToolCalled) => reader::read_tool_call(self).map(|call| EventWords {
                name: Some(call.tool.into_owned()),
                text: call.input.as_ref().map_or(String::new(), |input| lossy(input.text())),
            }),
            Some(EventType::ToolReturned) => self.result_words(),
            _ => Err(UnreadablePayload::NoExchange),
        };
        let EventWords { name, text } = match read {
            Ok(words) if !words.text.trim().is_empty() => words,
            read => EventWords { name: read.ok().and_then(|words| words.name), text: self.content_text() },
        };
        EventWords { name: name.filter(|name| !name.is_empty()), text: beginning(text) }
    }

    /// Returns the event at the other end of the action.
    fn partner_event(&self) -> Option<Self> {
        let at = self.partner()?;
        Some(Event::new(self.run, at, self.run.parts.entries.get(at)?))
    }

    /// Returns the request's name and the user's words in it.
    fn request_words(&self) -> Result<EventWords, UnreadablePayload> {
        let request = reader::read_request(self)?;
        Ok(EventWords { name: Some(request_name(&request)), text: asked_text(&request.body) })
    }

    /// Returns the name of the request that this event answers, and the words of the answer.
    fn answer_words(&self) -> Result<EventWords, UnreadablePayload> {
        let called = self.partner_event().unwrap_or(*self);
        let request = reader::read_request(&called).ok();
        let endpoint = request.as_ref().and_then(|request| request.endpoint);
        let answer = reader::read_answer(self, endpoint)?;
        let message = match (&answer.recorded_message, endpoint) {
            (Some(said), _) => Some(reenact_wire::ModelAnswer::clone(said)),
            (None, Some(endpoint)) => answer.message(endpoint),
            (None, None) => None,
        };
        let text = match message {
            None => lossy(&answer.body),
            Some(message) => {
                let calls =
                    message.tool_calls.iter().map(|call| format!("asks for {} {}", call.name, call.input));
                let said = (!message.text.trim().is_empty()).then(|| message.text.clone());
                said.into_iter().chain(calls).collect::<Vec<_>>().join("; ")
            }
        };
        Ok(EventWords { name: request.map(|request| request_name(&request)), text })
    }

    /// Returns the name of the tool that this event is the result of, and the result.
    fn result_words(&self) -> Result<EventWords, UnreadablePayload> {
        let result = reader::read_tool_result(self)?;
        let name = self
            .partner_event()
            .and_then(|called| Some(reader::read_tool_call(&called).ok()?.tool.into_owned()));
        Ok(EventWords {
            name,
            text: result.output.as_ref().map_or(String::new(), |output| lossy(output.text())),
        })
    }

    /// Returns the content as JSON: a single text as it reads.
    fn content_text(&self) -> String {
        let reader = reader::reader_of(self.payload_format());
        let content = self.payload().value().map(|payload| reader.content_part(payload));
        content.map_or(String::new(), |content| {
            let mut members = content.members();
            let only = match (members.next(), members.next()) {
                (Some((_, only)), None) => only.string(),
                _ => None,
            };
            only.map_or_else(|| lossy(content.text()), |text| text.into_owned())
        })
    }
}

/// Returns the model of a request, or else its method and path.
fn request_name(request: &ExchangeRequest<'_>) -> String {
    match &request.model {
        Some(model) => model.clone().into_owned(),
        None => format!("{} {}", request.method, request.path).trim().to_owned(),
    }
}

/// Returns the words of a request: the user's last, else what is recorded of the body.
fn asked_text(body: &ExchangeRequestBody<'_>) -> String {
    let limits = Limits { max_depth: Limits::MAX_DEPTH, max_bytes: Limits::MAX_BYTES };
    match body {
        ExchangeRequestBody::Hash(digest) => format!("sha256:{digest}"),
        body => Value::parse(body.bytes(), &limits)
            .ok()
            .and_then(prompt::last_user_text)
            .unwrap_or_else(|| lossy(body.bytes())),
    }
}

/// Returns the beginning of bytes as text.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..MAX_WORDS_BYTES).unwrap_or(bytes)).into_owned()
}

/// Returns the beginning of a text.
fn beginning(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_WORDS_BYTES));
    text
}
