//! OpenAI chat completions.

use reenact_wire::{Answer, Endpoint};

use super::{Dialect, SYSTEM};
use crate::agent::conversation::Ran;
use crate::json::{Json, object};
use crate::travel::Tool;

pub(super) struct OpenAi;

impl Dialect for OpenAi {
    fn endpoint(&self) -> Endpoint {
        Endpoint::CHAT_COMPLETIONS
    }

    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn begin(&self, task: &str) -> Vec<Json> {
        let message = |role: &str, content: &str| object! { "role": role, "content": content };
        vec![message("system", SYSTEM), message("user", task)]
    }

    fn tool(&self, tool: &Tool, schema: Json) -> Json {
        let function = object! { "name": tool.name, "description": tool.description, "parameters": schema };
        object! { "type": "function", "function": function }
    }

    fn body(&self, tools: Vec<Json>, messages: Vec<Json>) -> Json {
        object! {
            "model": "gpt-5",
            "stream": true,
            "stream_options": object! { "include_usage": true },
            "tools": tools,
            "messages": messages,
        }
    }

    fn answered(&self, answer: &Answer) -> Json {
        let text = Some(answer.text.as_str()).filter(|text| !text.is_empty());
        let calls = answer.tool_calls.iter().map(|call| {
            let function = object! { "name": call.name.as_str(), "arguments": call.input.as_str() };
            object! { "id": call.id.as_str(), "type": "function", "function": function }
        });
        let calls: Vec<Json> = calls.collect();
        object! { "role": "assistant", "content": text, "tool_calls": calls }
    }

    fn ran(&self, results: &[Ran<'_>]) -> Vec<Json> {
        let message = |ran: &Ran<'_>| object! { "role": "tool", "tool_call_id": ran.id, "content": ran.output.as_str() };
        results.iter().map(message).collect()
    }
}
