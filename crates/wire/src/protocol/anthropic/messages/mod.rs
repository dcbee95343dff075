//! Anthropic messages: `POST /v1/messages`.

mod read;
mod write;

use reenact_json::Value;

use crate::exchange::{Request, text};
use crate::gate::{Begun, OpenCalls, Told, Unreadable, number};
use crate::message::{Answer, ToolCall, Usage};
use crate::protocol::reading::{is_list, kind};
use crate::protocol::{Delivery, Protocol, Reassembly, ends};
use crate::refusal::Refusal;
use crate::sse::RawEvent;
use crate::vendor::Vendor;

pub(crate) struct Messages;

impl Protocol for Messages {
    fn name(&self) -> &'static str {
        "messages"
    }

    fn vendor(&self) -> Option<Vendor> {
        Some(Vendor::ANTHROPIC)
    }

    fn fits(&self, method: &str, path: &str) -> bool {
        method == "POST" && ends(path, "messages")
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
        matches!(event.name(), b"message_stop" | b"error")
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
        let key = number(event.member("index"))?.unwrap_or_default().to_string();
        match kind.as_str() {
            "content_block_start" => {
                let block = event.member("content_block");
                if let Some(mut call) = block.and_then(read::asked_tool) {
                    // What stands here is an empty object, in the place of the pieces that follow.
                    let first = std::mem::take(&mut call.input);
                    calls.begin(Begun { key, call, first })?;
                }
            }
            "content_block_delta" => {
                let piece = event.member("delta").and_then(|delta| text(delta.member("partial_json")));
                if let (Some(piece), Some(call)) = (piece, calls.growing(&key)) {
                    call.input += &piece;
                }
            }
            "content_block_stop" => return Ok(calls.close(|open| open == key)),
            "message_start" => {
                return Ok(event.member("message").map(read::told).unwrap_or_default().calls);
            }
            "message_stop" => return Ok(calls.close(|_| true)),
            _ => {}
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

    fn ordinary_stop(&self, asks_for_tools: bool) -> &'static str {
        if asks_for_tools { "tool_use" } else { "end_turn" }
    }

    fn needs_usage(&self) -> bool {
        true
    }

    fn is_answer(&self, document: Value<'_>) -> bool {
        is_list(document, "content") && document.member("role").is_some()
    }

    /// Every event has a type; those of other interfaces are told apart before.
    fn is_event(&self, document: Value<'_>) -> bool {
        document.member("type").is_some_and(|kind| kind.string().is_some())
    }

    fn error_event(&self, refusal: &Refusal<'_>) -> String {
        format!("event: error\ndata: {}\n\n", (super::VENDOR.error_body)(refusal))
    }

    fn conversation(&self) -> &'static [&'static str] {
        &["messages"]
    }
}
