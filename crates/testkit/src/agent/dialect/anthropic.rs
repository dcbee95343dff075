//! The agent's requests to Anthropic's messages endpoint.

use reenact_wire::{Endpoint, ModelAnswer};

use super::{AgentDialect, SYSTEM};
use crate::agent::conversation::ToolOutcome;
use crate::json::{OrderedJson, object};
use crate::travel::TravelTool;

/// Messages with content blocks; the system prompt is a member of its own.
pub(super) struct AnthropicDialect;

impl AgentDialect for AnthropicDialect {
    fn endpoint(&self) -> Endpoint {
        Endpoint::MESSAGES
    }

    fn path(&self) -> &'static str {
        "/v1/messages"
    }

    /// Adds the API version, which Anthropic demands, and `x-api-key`.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let version = ("anthropic-version", "2023-06-01".to_owned());
        [version].into_iter().chain(key.map(|key| ("x-api-key", key.to_owned()))).collect()
    }

    fn first_messages(&self, task: &str) -> Vec<OrderedJson> {
        vec![object! { "role": "user", "content": task }]
    }

    fn tool(&self, tool: &TravelTool, schema: OrderedJson) -> OrderedJson {
        object! { "name": tool.name, "description": tool.description, "input_schema": schema }
    }

    fn body(&self, tools: Vec<OrderedJson>, messages: Vec<OrderedJson>) -> OrderedJson {
        object! {
            "model": "claude-sonnet-4-5",
            "max_tokens": 1024_u64,
            "stream": true,
            "system": SYSTEM,
            "tools": tools,
            "messages": messages,
        }
    }

    fn answer_message(&self, answer: &ModelAnswer) -> OrderedJson {
        let text = Some(answer.text.as_str()).filter(|text| !text.is_empty());
        let text = text.map(|text| object! { "type": "text", "text": text });
        let calls = answer.tool_calls.iter().map(|call| {
            object! {
                "type": "tool_use",
                "id": call.id.as_str(),
                "name": call.name.as_str(),
                "input": OrderedJson::raw_or_empty_object(&call.input),
            }
        });
        let blocks: Vec<OrderedJson> = text.into_iter().chain(calls).collect();
        object! { "role": "assistant", "content": blocks }
    }

    /// Returns one user message with all results: Anthropic wants them together.
    fn result_messages(&self, results: &[ToolOutcome<'_>]) -> Vec<OrderedJson> {
        let block = |ran: &ToolOutcome<'_>| {
            object! {
                "type": "tool_result",
                "tool_use_id": ran.id,
                "content": ran.output.as_str(),
                "is_error": ran.is_error,
            }
        };
        vec![object! { "role": "user", "content": results.iter().map(block).collect::<Vec<OrderedJson>>() }]
    }
}
