//! Anthropic messages.

use reenact_wire::{Answer, Endpoint};

use super::{Dialect, SYSTEM};
use crate::agent::conversation::Ran;
use crate::json::{Json, object};
use crate::travel::Tool;

pub(super) struct Anthropic;

impl Dialect for Anthropic {
    fn endpoint(&self) -> Endpoint {
        Endpoint::MESSAGES
    }

    fn path(&self) -> &'static str {
        "/v1/messages"
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let version = ("anthropic-version", "2023-06-01".to_owned());
        [version].into_iter().chain(key.map(|key| ("x-api-key", key.to_owned()))).collect()
    }

    fn begin(&self, task: &str) -> Vec<Json> {
        vec![object! { "role": "user", "content": task }]
    }

    fn tool(&self, tool: &Tool, schema: Json) -> Json {
        object! { "name": tool.name, "description": tool.description, "input_schema": schema }
    }

    fn body(&self, tools: Vec<Json>, messages: Vec<Json>) -> Json {
        object! {
            "model": "claude-sonnet-4-5",
            "max_tokens": 1024_u64,
            "stream": true,
            "system": SYSTEM,
            "tools": tools,
            "messages": messages,
        }
    }

    fn answered(&self, answer: &Answer) -> Json {
        let text = Some(answer.text.as_str()).filter(|text| !text.is_empty());
        let text = text.map(|text| object! { "type": "text", "text": text });
        let calls = answer.tool_calls.iter().map(|call| {
            object! {
                "type": "tool_use",
                "id": call.id.as_str(),
                "name": call.name.as_str(),
                "input": Json::ready(&call.input),
            }
        });
        let blocks: Vec<Json> = text.into_iter().chain(calls).collect();
        object! { "role": "assistant", "content": blocks }
    }

    fn ran(&self, results: &[Ran<'_>]) -> Vec<Json> {
        let block = |ran: &Ran<'_>| {
            object! {
                "type": "tool_result",
                "tool_use_id": ran.id,
                "content": ran.output.as_str(),
                "is_error": ran.is_error,
            }
        };
        vec![object! { "role": "user", "content": results.iter().map(block).collect::<Vec<Json>>() }]
    }
}
