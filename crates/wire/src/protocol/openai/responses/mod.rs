//! OpenAI responses: `POST /responses`.

mod read;
mod write;

use reenact_json::Value;
use reenact_json::print::Object;

use crate::exchange::{Request, text};
use crate::gate::{Begun, OpenCalls, Told, Unreadable, number};
use crate::message::{Answer, ToolCall, Usage};
use crate::protocol::reading::{is_list, is_object, kind};
use crate::protocol::{Delivery, Protocol, Reassembly, ends};
use crate::refusal::Refusal;
use crate::sse::RawEvent;
use crate::vendor::Vendor;

pub(crate) struct Responses;

impl Protocol for Responses {
    fn name(&self) -> &'static str {
        "responses"
    }

    fn vendor(&self) -> Option<Vendor> {
        Some(Vendor::OPENAI)
    }

    fn fits(&self, method: &str, path: &str) -> bool {
        method == "POST" && ends(path, "responses")
    }

    fn request(&self, _path: &str, document: Value<'_>) -> Request {
        read::request(document)
    }

    fn answer(&self, document: Value<'_>) -> Option<Answer> {
        Some(read::answer(document))
    }

    fn reassembly(&self) -> Option<Box<dyn Reassembly>> {
        Some(Box::<read::Stream>::default())
    }

    fn ends_stream(&self, event: RawEvent<'_>) -> bool {
        let name = event.name();
        name == b"error" || core::str::from_utf8(name).is_ok_and(read::is_last)
    }

    fn told(&self, document: Value<'_>) -> Result<Told, Unreadable> {
        Ok(read::told(document))
    }

    fn watch(
        &self,
        event: Value<'_>,
        name: &str,
        calls: &mut OpenCalls,
        usage: &mut Option<Usage>,
    ) -> Result<Vec<ToolCall>, Unreadable> {
        let kind = kind(event, name);
        read::measure(usage, &kind, event);
        if let Some(response) = event.member("response").filter(is_object) {
            let is_last = read::is_last(&kind);
            let begun = calls.close(|_| is_last);
            return calls.news(begun, read::told(response).calls);
        }
        number(event.member("output_index"))?;
        let key = read::key(event);
        if let Some(mut call) = event.member("item").and_then(read::asked_tool) {
            if kind == "response.output_item.added" {
                let first = std::mem::take(&mut call.input);
                calls.begin(Begun { key, call, first })?;
                return Ok(Vec::new());
            }
            // An event that only some clients know ends nothing for the others.
            let is_end = kind == "response.output_item.done";
            let begun = calls.close(|open| is_end && open == key);
            let news = calls.news(begun, vec![call.clone()])?;
            // What grows all the same grows from its beginning, as with clients that gather pieces, or from here if it had none.
            calls.begin_closed(key, call)?;
            return Ok(news);
        }
        if let Some(piece) = read::piece_of_input(&kind, event) {
            piece.add_to(&mut calls.grow(&key)?.input);
        }
        Ok(Vec::new())
    }

    fn write(&self, answer: &Answer, delivery: Delivery, id: &str) -> Option<String> {
        match delivery {
            Delivery::Document => Some(write::document(answer, id)),
            Delivery::Events => Some(write::stream(answer, id)),
            Delivery::List => None,
        }
    }

    fn is_answer(&self, document: Value<'_>) -> bool {
        is_list(document, "output")
    }

    fn is_event(&self, document: Value<'_>) -> bool {
        text(document.member("type")).is_some_and(|kind| kind.starts_with("response."))
    }

    /// Clients raise what has an `error`, and know the rest from the documentation.
    fn error_event(&self, refusal: &Refusal<'_>) -> String {
        let mut data = String::new();
        let mut object = Object::open(&mut data);
        object.string("type", "error");
        object.string("code", refusal.code);
        object.string("message", refusal.message);
        object.string("param", None);
        super::write_error(refusal, object.name("error"));
        object.close();
        format!("event: error\ndata: {data}\n\n")
    }

    fn conversation(&self) -> &'static [&'static str] {
        &["input", "prompt"]
    }
}
