//! Table of HTTP interfaces: one row for each, one folder for each vendor.
//!
//! All code that depends on an interface asks its row: for its paths, for the meaning of a request or an
//! answer, for the tool calls, for the last event of a stream, for the shape of an error, for an answer written
//! again. Start reading at `Protocol`, the trait of a row; [`Endpoint`] is a reference to a row.

pub(crate) mod anthropic;
pub(crate) mod gemini;
mod models;
pub(crate) mod openai;
pub(crate) mod reading;
pub(crate) mod toolless;
mod writing;

use core::fmt;

use reenact_json::Value;

use crate::error_reply::ErrorReply;
use crate::exchange::{ParsedRequest, string_text};
use crate::message::{ModelAnswer, ToolCall, Usage};
use crate::output_bound::OutputBound;
use crate::request_form::RequestForms;
use crate::request_parts::RequestParts;
use crate::request_path::ends_with_template;
use crate::sse::RawSseEvent;
use crate::tool_calls::{OpenCalls, ScannedAnswer, UnreadableAnswer};
use crate::vendor::{Vendor, path_without_query};

/// All interfaces that are parsed. Requests to others pass through, and are recorded as bytes.
///
/// Of two templates that fit a path the earlier row's counts.
pub const PROTOCOLS: [Endpoint; 18] = [
    Endpoint::CHAT_COMPLETIONS,
    Endpoint::RESPONSES,
    Endpoint::MESSAGE_TOKENS,
    Endpoint::MESSAGES,
    Endpoint::GENERATE_CONTENT,
    Endpoint::EMBEDDINGS,
    Endpoint::RERANK,
    Endpoint::MODERATIONS,
    Endpoint::INPUT_TOKENS,
    Endpoint::IMAGE_GENERATIONS,
    Endpoint::IMAGE_EDITS,
    Endpoint::SPEECH,
    Endpoint::TRANSCRIPTIONS,
    Endpoint::CONTENT_TOKENS,
    Endpoint::EMBED_CONTENT,
    Endpoint::BATCH_EMBED_CONTENTS,
    Endpoint::PREDICT,
    Endpoint::MODELS,
];

impl Endpoint {
    /// OpenAI `POST /chat/completions`.
    pub const CHAT_COMPLETIONS: Self = Self(&openai::chat::ChatCompletionsProtocol);
    /// OpenAI `POST /responses`.
    pub const RESPONSES: Self = Self(&openai::responses::ResponsesProtocol);
    /// Anthropic `POST /v1/messages`.
    pub const MESSAGES: Self = Self(&anthropic::messages::MessagesProtocol);
    /// Gemini `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent`.
    pub const GENERATE_CONTENT: Self = Self(&gemini::GenerateContentProtocol);
    /// OpenAI `POST /embeddings`.
    pub const EMBEDDINGS: Self = Self(&openai::toolless::EMBEDDINGS);
    /// `POST /rerank` of servers that speak OpenAI's interface.
    pub const RERANK: Self = Self(&openai::toolless::RERANK);
    /// OpenAI `POST /moderations`.
    pub const MODERATIONS: Self = Self(&openai::toolless::MODERATIONS);
    /// OpenAI `POST /responses/input_tokens`.
    pub const INPUT_TOKENS: Self = Self(&openai::toolless::INPUT_TOKENS);
    /// OpenAI `POST /images/generations`.
    pub const IMAGE_GENERATIONS: Self = Self(&openai::toolless::IMAGE_GENERATIONS);
    /// OpenAI `POST /images/edits` and `/images/variations`.
    pub const IMAGE_EDITS: Self = Self(&openai::toolless::IMAGE_EDITS);
    /// OpenAI `POST /audio/speech`.
    pub const SPEECH: Self = Self(&openai::toolless::SPEECH);
    /// OpenAI `POST /audio/transcriptions` and `/audio/translations`.
    pub const TRANSCRIPTIONS: Self = Self(&openai::toolless::TRANSCRIPTIONS);
    /// Anthropic `POST /v1/messages/count_tokens`.
    pub const MESSAGE_TOKENS: Self = Self(&anthropic::COUNT_TOKENS);
    /// Gemini `POST /v1beta/models/{model}:countTokens`.
    pub const CONTENT_TOKENS: Self = Self(&gemini::toolless::COUNT_TOKENS);
    /// Gemini `POST /v1beta/models/{model}:embedContent`.
    pub const EMBED_CONTENT: Self = Self(&gemini::toolless::EMBED_CONTENT);
    /// Gemini `POST /v1beta/models/{model}:batchEmbedContents`.
    pub const BATCH_EMBED_CONTENTS: Self = Self(&gemini::toolless::BATCH_EMBED_CONTENTS);
    /// Vertex AI `POST /v1/projects/…/models/{model}:predict`.
    pub const PREDICT: Self = Self(&gemini::toolless::PREDICT);
    /// `GET /models` of all vendors.
    pub const MODELS: Self = Self(&models::ModelsProtocol);
}

/// Row of the table: one HTTP interface.
///
/// To add an interface, implement this trait in the vendor's folder, and add a constant and a row to
/// [`PROTOCOLS`]. The default methods are right for an interface whose calls have no tools and no stream.
pub(crate) trait Protocol: Send + Sync {
    /// Returns the name that payloads carry, such as `chat.completions`.
    fn name(&self) -> &'static str;

    /// Returns the vendor; `None` if all vendors have the interface.
    fn vendor(&self) -> Option<Vendor>;

    /// Returns the method of requests of this interface.
    fn method(&self) -> &'static str {
        "POST"
    }

    /// Returns the templates of the interface's paths, without a leading slash. A segment `*` stands for a model, and so does the
    /// star of `*:verb`.
    fn paths(&self) -> &'static [&'static str];

    /// Returns true if a request of this interface calls a model.
    fn calls_a_model(&self) -> bool {
        true
    }

    /// Returns true if an answer can ask its client for tools.
    fn can_ask_for_tools(&self) -> bool {
        self.calls_a_model()
    }

    /// Returns true if requests cost nothing at this vendor, such as those that count tokens.
    fn is_free_at(&self, _vendor: Vendor) -> bool {
        false
    }

    /// Returns true if an answer is read for its text or its tokens, and so must be held in memory as a whole.
    fn is_answer_read(&self) -> bool {
        self.calls_a_model()
    }

    /// Returns true if requests may be forms in parts (`multipart/form-data`).
    fn takes_multipart(&self) -> bool {
        false
    }

    /// Returns the forms that a request may hold.
    fn request_forms(&self) -> &'static RequestForms;

    /// Parses a request. The path has its query.
    fn parse_request(&self, path: &str, document: Value<'_>) -> ParsedRequest;

    /// Returns the largest output that a request asks for, by the interface's own members.
    fn output_bound(&self, _document: Value<'_>) -> OutputBound {
        OutputBound::default()
    }

    /// Parses an answer in one document; `None` if the interface gives no answers of models.
    fn parse_answer(&self, _document: Value<'_>) -> Option<ModelAnswer> {
        None
    }

    /// Returns the model that a document or an event of a stream names as the one that answers; `None` if it names none.
    fn answering_model(&self, document: Value<'_>) -> Option<String> {
        string_text(document.member("model"))
    }

    /// Returns an assembler for one stream; `None` if no answers come as streams.
    fn stream_assembler(&self) -> Option<Box<dyn StreamAssembler>> {
        None
    }

    /// Returns true if clients wait for nothing after this event of a stream.
    fn ends_stream(&self, _event: RawSseEvent<'_>) -> bool {
        false
    }

    /// Returns true if this event ends a stream because the vendor failed, so that no count of tokens before it is
    /// the last one.
    fn ends_stream_by_error(&self, event: RawSseEvent<'_>) -> bool {
        event.name() == b"error"
    }

    /// Finds every tool call that a document asks its client for, in all alternatives, and the usage.
    fn scan_answer(&self, _document: Value<'_>) -> Result<ScannedAnswer, UnreadableAnswer> {
        Ok(ScannedAnswer::default())
    }

    /// Takes the next event of a stream, and returns the tool calls that it completes. `calls` holds the state between
    /// events.
    fn scan_event(
        &self,
        _event: Value<'_>,
        _name: &str,
        _calls: &mut OpenCalls,
    ) -> Result<Vec<ToolCall>, UnreadableAnswer> {
        Ok(Vec::new())
    }

    /// Writes an answer again; `None` if the interface gives no answers of models, or has no such delivery.
    /// `id` becomes part of the ids in the text.
    fn render(&self, _answer: &ModelAnswer, _delivery: Delivery, _id: &str) -> Option<String> {
        None
    }

    /// Returns the stop reason of an answer that ends normally.
    fn default_stop_reason(&self, _asks_for_tools: bool) -> &'static str {
        "completed"
    }

    /// Returns true if clients read the usage of every answer without a check for its presence.
    fn needs_usage(&self) -> bool {
        false
    }

    /// Returns true if a document has the members of every answer in one document.
    fn is_answer(&self, document: Value<'_>) -> bool;

    /// Returns true if a document looks like the data of an event of a stream.
    fn is_event(&self, _document: Value<'_>) -> bool {
        false
    }

    /// Writes an error as an event of a stream that has begun.
    fn error_event(&self, reply: &ErrorReply<'_>) -> String {
        format!("data: {}\n\n", (openai::VENDOR.error_body)(reply))
    }

    /// Returns the names of the request members that hold the conversation.
    fn conversation_members(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the parts of a request by who wrote them.
    fn request_parts<'d>(&self, _document: Value<'d>) -> RequestParts<'d> {
        RequestParts::default()
    }

    /// Returns the members of requests that change no answer and differ from run to run, as patterns of paths: marks of the
    /// prompt cache, and ids of users and sessions.
    fn varying_members(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns true if an agent may ask in any order, or not at all, and do the same: counts of tokens, lists of models.
    fn is_side_call(&self) -> bool {
        false
    }

    /// Returns the kind under which a Replay Bundle stores exchanges of the interface.
    fn cassette_kind(&self) -> &'static str {
        if self.calls_a_model() { "completions" } else { "other" }
    }
}

/// Returns true if the data of an event is the mark with which OpenAI ends chat streams; servers that imitate OpenAI end all their
/// streams with it. Blanks around the mark are ignored, as clients ignore them.
pub(crate) fn is_end_mark(data: &[u8]) -> bool {
    data.trim_ascii() == b"[DONE]"
}

/// Assembler of one answer from the events of its stream.
pub(crate) trait StreamAssembler: fmt::Debug + Send {
    /// Takes the data of an event before it is parsed, since an end mark such as `[DONE]` is not JSON. Returns true for the end mark.
    fn is_end(&mut self, _data: &str) -> bool {
        false
    }

    /// Takes the next event: its name and its parsed data.
    fn take(&mut self, name: &str, event: Value<'_>);

    /// Returns the tokens that the vendor counted so far, and the bytes of text and tool calls: those of the answer that
    /// [`Self::finish`] would return now.
    fn count(&self) -> (Option<Usage>, usize);

    /// Returns the answer, as far as it came.
    fn finish(self: Box<Self>) -> ModelAnswer;
}

/// Form in which an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Delivery {
    /// One JSON document.
    #[default]
    Document,
    /// Stream of server-sent events.
    Events,
    /// JSON list of documents that is sent element by element, as Gemini does.
    List,
}

impl Delivery {
    /// Returns the delivery for an interface that has documents and streams of events only.
    pub(crate) fn of(is_stream: bool) -> Self {
        if is_stream { Self::Events } else { Self::Document }
    }

    /// Returns the `content-type` of such an answer.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Document | Self::List => "application/json",
            Self::Events => "text/event-stream; charset=utf-8",
        }
    }
}

/// HTTP interface: a copyable reference to a row of [`PROTOCOLS`]. Two endpoints are equal if their names are.
#[derive(Clone, Copy)]
pub struct Endpoint(&'static dyn Protocol);

impl Endpoint {
    /// Returns the interface with this exact name.
    pub fn of_name(name: &str) -> Option<Self> {
        PROTOCOLS.into_iter().find(|endpoint| endpoint.name() == name)
    }

    /// Returns the interface of a request to a vendor, by method and path; a query does not matter. Paths are
    /// compared by their ends, because gateways and proxies add prefixes of their own.
    pub fn of(vendor: Vendor, method: &str, path: &str) -> Option<Self> {
        let path = path_without_query(path);
        let is_theirs = |endpoint: &Self| endpoint.vendor().is_none_or(|of| vendor.speaks(of));
        let is_here = |endpoint: &Self| {
            let (due, templates) = endpoint.paths();
            method == due && templates.iter().any(|template| ends_with_template(path, template))
        };
        PROTOCOLS.into_iter().filter(is_theirs).find(is_here)
    }

    /// Returns the method of the interface, and the templates of its paths.
    pub(crate) fn paths(self) -> (&'static str, &'static [&'static str]) {
        (self.0.method(), self.0.paths())
    }

    /// Returns the interface whose answers look like this document; for foreign records that do not name it.
    pub fn of_answer(document: Value<'_>) -> Option<Self> {
        let mut models = PROTOCOLS.into_iter().filter(|endpoint| endpoint.calls_a_model());
        models.find(|endpoint| endpoint.0.is_answer(document))
    }

    /// Returns the interface whose stream events look like this document; for foreign records that do not name
    /// it.
    pub fn of_event(document: Value<'_>) -> Option<Self> {
        PROTOCOLS.into_iter().find(|endpoint| endpoint.0.is_event(document))
    }

    /// Returns the name that payloads carry, such as `chat.completions`.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns the vendor whose interface it is; `None` if all vendors have it.
    pub fn vendor(self) -> Option<Vendor> {
        self.0.vendor()
    }

    /// Returns true if a request of the interface calls a model.
    pub fn calls_a_model(self) -> bool {
        self.0.calls_a_model()
    }

    /// Returns true if an answer can ask its client for tools.
    pub fn can_ask_for_tools(self) -> bool {
        self.0.can_ask_for_tools()
    }

    /// Returns true if requests cost nothing at this vendor, such as those that count tokens.
    pub fn is_free_at(self, vendor: Vendor) -> bool {
        self.0.is_free_at(vendor)
    }

    /// Returns true if an answer is read for its text or its tokens, and so must be held in memory as a whole.
    pub fn is_answer_read(self) -> bool {
        self.0.is_answer_read()
    }

    /// Returns true if an agent may ask in any order, or not at all, and do the same: counts of tokens, lists of models.
    pub fn is_side_call(self) -> bool {
        self.0.is_side_call()
    }

    /// Returns true if requests may be forms in parts (`multipart/form-data`).
    pub fn takes_multipart(self) -> bool {
        self.0.takes_multipart()
    }

    /// Returns true if clients wait for nothing after this event of a stream. They may send their next request
    /// before the stream is closed.
    pub fn ends_stream(self, event: RawSseEvent<'_>) -> bool {
        self.0.ends_stream(event)
    }

    /// Returns true if this event ends a stream because the vendor failed.
    pub fn ends_stream_by_error(self, event: RawSseEvent<'_>) -> bool {
        self.0.ends_stream_by_error(event)
    }

    /// Returns true if a document has the members of every answer of the interface.
    pub fn is_answer(self, document: Value<'_>) -> bool {
        self.0.is_answer(document)
    }

    /// Returns the kind under which a Replay Bundle stores exchanges of the interface.
    pub fn cassette_kind(self) -> &'static str {
        self.0.cassette_kind()
    }

    /// Returns the row.
    pub(crate) fn protocol(self) -> &'static dyn Protocol {
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
        assert_eq!(
            of(Vendor::ANTHROPIC, "POST", "/v1/messages/count_tokens"),
            Some(Endpoint::MESSAGE_TOKENS)
        );
        assert_eq!(of(Vendor::ANTHROPIC, "POST", "/v1/messages/batches"), None);
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
        assert_eq!(
            of(Vendor::GEMINI, "POST", "/v1beta/models/m:countTokens"),
            Some(Endpoint::CONTENT_TOKENS)
        );
        assert_eq!(of(Vendor::GEMINI, "POST", "/v1beta/models/m:batchGenerateContent"), None);
        assert_eq!(of(Vendor::GEMINI, "POST", "/v1beta/models/:generateContent"), None);
        assert_eq!(of(Vendor::GEMINI, "POST", "/v1beta/models/m%3AgenerateContent"), None);
        assert_eq!(of(Vendor::GEMINI, "POST", "/v1beta/agents/m:generateContent"), None);
        assert_eq!(of(Vendor::GEMINI, "GET", "/v1beta/models"), Some(Endpoint::MODELS));
        assert_eq!(of(Vendor::OPENAI, "POST", "/v1beta/models/m:generateContent"), None);
    }
}
