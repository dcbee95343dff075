//! Google's Gemini API: `POST /v1beta/models/{model}:generateContent`, and `:streamGenerateContent` as events (`?alt=sse`) or as a
//! list of documents.
//!
//! The path names the model and the verb. Calls of tools come whole, and may have no ids. There is no last event: the chunk with a
//! `finishReason` is the last one with content, and the end of the body ends the stream.

mod read;
mod request;
mod vendor;
mod write;

use reenact_json::{Limits, Value};

pub(crate) use self::vendor::VENDOR;
use crate::exchange::Request;
use crate::gate::{OpenCalls, Told, Unreadable};
use crate::message::{Answer, ToolCall, Usage};
use crate::protocol::reading::is_list;
use crate::protocol::{Delivery, Protocol, Reassembly};
use crate::refusal::Refusal;
use crate::sse::RawEvent;
use crate::vendor::Vendor;

pub(crate) struct GenerateContent;

impl Protocol for GenerateContent {
    fn name(&self) -> &'static str {
        "generateContent"
    }

    fn vendor(&self) -> Option<Vendor> {
        Some(Vendor::GEMINI)
    }

    fn fits(&self, method: &str, path: &str) -> bool {
        let verb = vendor::model_and_verb(path).map(|(_, verb)| verb);
        method == "POST" && matches!(verb, Some("generateContent" | "streamGenerateContent"))
    }

    fn request(&self, path: &str, document: Value<'_>) -> Request {
        request::read(path, document)
    }

    fn answer(&self, document: Value<'_>) -> Option<Answer> {
        Some(read::answer(document))
    }

    fn reassembly(&self) -> Option<Box<dyn Reassembly>> {
        Some(Box::<read::Chunks>::default())
    }

    /// Few events have the word; only those are parsed.
    fn ends_stream(&self, event: RawEvent<'_>) -> bool {
        let has_word = |data: &[u8]| memchr::memmem::find(data, b"\"finishReason\"").is_some();
        if !event.data().any(has_word) {
            return false;
        }
        let data = event.data().collect::<Vec<_>>().join(&b'\n');
        Value::parse(&data, &Limits::default()).is_ok_and(read::is_last)
    }

    fn told(&self, document: Value<'_>) -> Result<Told, Unreadable> {
        let mut told = Told::default();
        for chunk in read::chunks(document) {
            told.calls.extend(read::asked_tools(chunk)?);
            read::measure(&mut told.usage, chunk);
        }
        Ok(told)
    }

    fn watch(
        &self,
        chunk: Value<'_>,
        _name: &str,
        _calls: &mut OpenCalls,
        usage: &mut Option<Usage>,
    ) -> Result<Vec<ToolCall>, Unreadable> {
        read::measure(usage, chunk);
        read::asked_tools(chunk)
    }

    fn write(&self, answer: &Answer, delivery: Delivery, id: &str) -> Option<String> {
        Some(match delivery {
            Delivery::Document => write::document(answer, id),
            Delivery::Events => write::events(answer, id),
            Delivery::List => write::list(answer, id),
        })
    }

    fn ordinary_stop(&self, _asks_for_tools: bool) -> &'static str {
        "STOP"
    }

    fn is_answer(&self, document: Value<'_>) -> bool {
        let mut chunks = read::chunks(document);
        chunks.any(|chunk| is_list(chunk, "candidates") || chunk.member("promptFeedback").is_some())
    }

    fn is_event(&self, document: Value<'_>) -> bool {
        is_list(document, "candidates")
    }

    fn error_event(&self, refusal: &Refusal<'_>) -> String {
        format!("data: {}\n\n", (VENDOR.error_body)(refusal))
    }

    fn conversation(&self) -> &'static [&'static str] {
        &["contents"]
    }
}
