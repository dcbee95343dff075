//! OpenAI chat completions: `POST /chat/completions`.

mod read;
mod write;

use reenact_json::Value;

use crate::exchange::{Request, text};
use crate::gate::{OpenCalls, Told, Unreadable, number};
use crate::message::{Answer, ToolCall, Usage};
use crate::protocol::reading::{is_list, is_object};
use crate::protocol::{Delivery, Protocol, Reassembly, ends};
use crate::sse::RawEvent;
use crate::vendor::Vendor;

pub(crate) struct ChatCompletions;

impl Protocol for ChatCompletions {
    fn name(&self) -> &'static str {
        "chat.completions"
    }

    fn vendor(&self) -> Option<Vendor> {
        Some(Vendor::OPENAI)
    }

    fn fits(&self, method: &str, path: &str) -> bool {
        method == "POST" && ends(path, "chat/completions")
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
        event.data().map(<[u8]>::trim_ascii).eq([b"[DONE]"])
    }

    fn told(&self, document: Value<'_>) -> Result<Told, Unreadable> {
        Ok(read::told(document))
    }

    fn watch(
        &self,
        chunk: Value<'_>,
        _name: &str,
        calls: &mut OpenCalls,
        sum: &mut Option<Usage>,
    ) -> Result<Vec<ToolCall>, Unreadable> {
        let mut whole = Vec::new();
        let [choices, usage] = chunk.pick(["choices", "usage"]);
        read::measure(sum, usage);
        for choice in choices.into_iter().flat_map(|choices| choices.elements()) {
            let [index, delta, message, reason] = choice.pick(["index", "delta", "message", "finish_reason"]);
            let prefix = format!("{}/", number(index)?.unwrap_or_default());
            // Some send whole messages where others send differences.
            for message in [delta, message].into_iter().flatten() {
                let [tool_calls, function] = message.pick(["tool_calls", "function_call"]);
                let pieces = tool_calls.into_iter().flat_map(|calls| calls.elements());
                for (place, piece) in (0..).zip(pieces) {
                    let index = number(piece.member("index"))?.unwrap_or(place);
                    read::grow(calls.grow(&format!("{prefix}{index}"))?, piece);
                }
                if let Some(function) = function.filter(is_object) {
                    let call = calls.grow(&format!("{prefix}function"))?;
                    call.name += &text(function.member("name")).unwrap_or_default();
                    call.input += &text(function.member("arguments")).unwrap_or_default();
                }
            }
            if reason.is_some_and(|reason| !reason.is_null()) {
                whole.extend(calls.close(|key| key.starts_with(&prefix)));
            }
        }
        Ok(whole)
    }

    fn write(&self, answer: &Answer, delivery: Delivery, id: &str) -> Option<String> {
        match delivery {
            Delivery::Document => Some(write::document(answer, id)),
            Delivery::Events => Some(write::stream(answer, id)),
            Delivery::List => None,
        }
    }

    fn ordinary_stop(&self, asks_for_tools: bool) -> &'static str {
        if asks_for_tools { "tool_calls" } else { "stop" }
    }

    fn is_answer(&self, document: Value<'_>) -> bool {
        is_list(document, "choices")
    }

    fn is_event(&self, document: Value<'_>) -> bool {
        document.member("choices").is_some()
    }

    fn conversation(&self) -> &'static [&'static str] {
        &["messages"]
    }

    fn cassette_kind(&self) -> &'static str {
        "judge"
    }
}
