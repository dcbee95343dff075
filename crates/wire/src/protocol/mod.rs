//! The table of interfaces: one row for each, one folder for each vendor.
//!
//! Whatever depends on an interface asks its row: which paths it has, what a request and an answer say, which tools an answer asks
//! for, which event is the last of a stream, how an error looks, how an answer is written anew. Start with `Protocol`, the
//! questions that a row answers; [`Endpoint`] is a reference to a row.

pub(crate) mod anthropic;
pub(crate) mod gemini;
mod models;
pub(crate) mod openai;
pub(crate) mod reading;
mod writing;

use core::fmt;

use reenact_json::Value;

use crate::exchange::Request;
use crate::gate::{OpenCalls, Told, Unreadable};
use crate::message::{Answer, ToolCall, Usage};
use crate::refusal::Refusal;
use crate::sse::RawEvent;
use crate::vendor::{Vendor, route};

/// All interfaces that are read. Others pass through, and are kept as they are.
pub const PROTOCOLS: [Endpoint; 5] = [
    Endpoint::CHAT_COMPLETIONS,
    Endpoint::RESPONSES,
    Endpoint::MESSAGES,
    Endpoint::GENERATE_CONTENT,
    Endpoint::MODELS,
];

impl Endpoint {
    /// OpenAI `POST /chat/completions`
    pub const CHAT_COMPLETIONS: Self = Self(&openai::chat::ChatCompletions);
    /// OpenAI `POST /responses`
    pub const RESPONSES: Self = Self(&openai::responses::Responses);
    /// Anthropic `POST /v1/messages`
    pub const MESSAGES: Self = Self(&anthropic::messages::Messages);
    /// Gemini `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent`
    pub const GENERATE_CONTENT: Self = Self(&gemini::GenerateContent);
    /// `GET /models`, of all vendors
    pub const MODELS: Self = Self(&models::Models);
}

/// The questions that a row answers. Defaults are those of an interface that calls no model.
pub(crate) trait Protocol: Send + Sync {
    /// Returns the name that payloads carry.
    fn name(&self) -> &'static str;

    /// Returns the vendor; `None` if all vendors have the interface.
    fn vendor(&self) -> Option<Vendor>;

    /// Returns true for requests of this interface. The path has no query, and no slash at its end.
    fn fits(&self, method: &str, path: &str) -> bool;

    /// Returns true if a request calls a model.
    fn calls_a_model(&self) -> bool {
        true
    }

    /// Reads a request. The path has its query.
    fn request(&self, path: &str, document: Value<'_>) -> Request;

    /// Reads an answer in one piece.
    fn answer(&self, _document: Value<'_>) -> Option<Answer> {
        None
    }

    /// Begins to put a stream together; `None` if no answers come as streams.
    fn reassembly(&self) -> Option<Box<dyn Reassembly>> {
        None
    }

    /// Returns true if a client waits for nothing behind this event of a stream.
    fn ends_stream(&self, _event: RawEvent<'_>) -> bool {
        false
    }

    /// Finds every tool that an answer in one piece asks its client for, in all of its alternatives.
    fn told(&self, _document: Value<'_>) -> Result<Told, Unreadable> {
        Ok(Told::default())
    }

    /// Finds the tools that are whole with the next event of a stream, and keeps count of what the answer takes.
    fn watch(
        &self,
        _event: Value<'_>,
        _name: &str,
        _calls: &mut OpenCalls,
        _usage: &mut Option<Usage>,
    ) -> Result<Vec<ToolCall>, Unreadable> {
        Ok(Vec::new())
    }

    /// Writes an answer anew; `None` if the interface gives no answers of models, or has no such delivery.
    fn write(&self, _answer: &Answer, _delivery: Delivery, _id: &str) -> Option<String> {
        None
    }

    /// Returns why an answer ends that ends as it should.
    fn ordinary_stop(&self, _asks_for_tools: bool) -> &'static str {
        "completed"
    }

    /// Returns true if clients read the usage of every answer without asking whether there is one.
    fn needs_usage(&self) -> bool {
        false
    }

    /// Returns true if a document has what every answer in one piece has.
    fn is_answer(&self, document: Value<'_>) -> bool;

    /// Returns true if a document looks like an event of a stream.
    fn is_event(&self, _document: Value<'_>) -> bool {
        false
    }

    /// Writes an error as an event of a stream that has begun.
    fn error_event(&self, refusal: &Refusal<'_>) -> String {
        format!("data: {}\n\n", (openai::VENDOR.error_body)(refusal))
    }

    /// Returns the members of a request that hold what is asked.
    fn conversation(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the kind under which a Replay Bundle keeps exchanges.
    fn cassette_kind(&self) -> &'static str {
        if self.calls_a_model() { "completions" } else { "other" }
    }
}

/// A stream that is being put together.
pub(crate) trait Reassembly {
    /// Takes the data of an event that may not be JSON. Returns true if it is the end of the stream.
    fn is_end(&mut self, _data: &str) -> bool {
        false
    }

    /// Takes the next event, by the name of the event and its data.
    fn take(&mut self, name: &str, event: Value<'_>);

    /// Returns the answer, as far as it came.
    fn finish(self: Box<Self>) -> Answer;
}

/// The form in which an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Delivery {
    /// One document.
    #[default]
    Document,
    /// A stream of server-sent events.
    Events,
    /// A list of documents that is sent piece by piece, as JSON.
    List,
}

impl Delivery {
    /// The delivery of an interface that has documents and streams of events.
    pub(crate) fn of(is_stream: bool) -> Self {
        if is_stream { Self::Events } else { Self::Document }
    }

    /// The `content-type` of such an answer.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Document | Self::List => "application/json",
            Self::Events => "text/event-stream; charset=utf-8",
        }
    }
}

/// An interface: a reference to its row.
#[derive(Clone, Copy)]
pub struct Endpoint(&'static dyn Protocol);

impl Endpoint {
    /// The interface of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        PROTOCOLS.into_iter().find(|endpoint| endpoint.name() == name)
    }

    /// The interface of a request to a vendor, by method and path; a query does not matter. Paths are compared by their ends,
    /// since gateways and proxies put their own prefixes before them.
    pub fn of(vendor: Vendor, method: &str, path: &str) -> Option<Self> {
        let path = route(path);
        let is_theirs = |endpoint: &Self| endpoint.vendor().is_none_or(|of| of == vendor);
        PROTOCOLS.into_iter().filter(is_theirs).find(|endpoint| endpoint.0.fits(method, path))
    }

    /// The interface whose answers look like this document.
    pub fn of_answer(document: Value<'_>) -> Option<Self> {
        let mut models = PROTOCOLS.into_iter().filter(|endpoint| endpoint.calls_a_model());
        models.find(|endpoint| endpoint.0.is_answer(document))
    }

    /// The interface whose streams have events like this document.
    pub fn of_event(document: Value<'_>) -> Option<Self> {
        PROTOCOLS.into_iter().find(|endpoint| endpoint.0.is_event(document))
    }

    /// The name that payloads carry.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The vendor whose interface it is; `None` if all vendors have it.
    pub fn vendor(self) -> Option<Vendor> {
        self.0.vendor()
    }

    /// Returns true if a request calls a model.
    pub fn calls_a_model(self) -> bool {
        self.0.calls_a_model()
    }

    /// Returns true if a client waits for nothing behind this event of a stream.
    pub fn ends_stream(self, event: RawEvent<'_>) -> bool {
        self.0.ends_stream(event)
    }

    /// Returns true if a document has what every answer of the interface has.
    pub fn is_answer(self, document: Value<'_>) -> bool {
        self.0.is_answer(document)
    }

    /// The kind under which a Replay Bundle keeps exchanges of the interface.
    pub fn cassette_kind(self) -> &'static str {
        self.0.cassette_kind()
    }

    pub(crate) fn row(self) -> &'static dyn Protocol {
        self.0
    }
}

impl PartialEq for Endpoint {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Endpoint {}

impl core::hash::Hash for Endpoint {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Endpoint({})", self.name())
    }
}

/// Returns true if a path is this end, or has it behind a slash.
fn ends(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_again() {
        for endpoint in PROTOCOLS {
            assert_eq!(Endpoint::of_name(endpoint.name()), Some(endpoint));
        }
        assert_eq!(Endpoint::of_name(""), None);
    }

    #[test]
    fn by_method_and_the_end_of_the_path() {
        let of = Endpoint::of;
        assert_eq!(of(Vendor::OPENAI, "POST", "/v1/chat/completions"), Some(Endpoint::CHAT_COMPLETIONS));
        assert_eq!(of(Vendor::OPENAI, "POST", "/v1/responses?x=1"), Some(Endpoint::RESPONSES));
        assert_eq!(of(Vendor::OPENAI, "POST", "/v1/responses/resp_1/cancel"), None);
        assert_eq!(of(Vendor::OPENAI, "GET", "/v1/chat/completions"), None);
        assert_eq!(of(Vendor::ANTHROPIC, "POST", "/v1/messages/"), Some(Endpoint::MESSAGES));
        assert_eq!(of(Vendor::ANTHROPIC, "POST", "/v1/messages/count_tokens"), None);
        assert_eq!(of(Vendor::ANTHROPIC, "POST", "/v1/chat/completions"), None);
        assert_eq!(of(Vendor::ANTHROPIC, "GET", "/v1/models"), Some(Endpoint::MODELS));
        assert_eq!(of(Vendor::OPENAI, "POST", "/notresponses"), None);
        let content = Some(Endpoint::GENERATE_CONTENT);
        assert_eq!(of(Vendor::GEMINI, "POST", "/v1beta/models/gemini-2.5-flash:generateContent"), content);
        assert_eq!(of(Vendor::GEMINI, "POST", "/v1/tunedModels/x:streamGenerateContent?alt=sse"), content);
        assert_eq!(
            of(Vendor::GEMINI, "POST", "/v1/projects/p/publishers/google/models/m:generateContent"),
            content
        );
        assert_eq!(of(Vendor::GEMINI, "POST", "/v1beta/models/m:countTokens"), None);
        assert_eq!(of(Vendor::GEMINI, "POST", "/v1beta/models/:generateContent"), None);
        assert_eq!(of(Vendor::GEMINI, "POST", "/v1beta/models/m%3AgenerateContent"), None);
        assert_eq!(of(Vendor::GEMINI, "POST", "/v1beta/agents/m:generateContent"), None);
        assert_eq!(of(Vendor::GEMINI, "GET", "/v1beta/models"), Some(Endpoint::MODELS));
        assert_eq!(of(Vendor::OPENAI, "POST", "/v1beta/models/m:generateContent"), None);
    }
}
