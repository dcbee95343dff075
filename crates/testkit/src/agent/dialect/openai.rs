//! The agent's requests to OpenAI's chat completions.

use reenact_wire::{Endpoint, ModelAnswer};

use super::{AgentDialect, SYSTEM};
use crate::agent::conversation::ToolOutcome;
use crate::json::{OrderedJson, object};
use crate::travel::TravelTool;

/// Chat messages; the system prompt is the first of them.
pub(super) struct OpenAiDialect;

impl AgentDialect for OpenAiDialect {
    fn endpoint(&self) -> Endpoint {
        Endpoint::CHAT_COMPLETIONS
    }

    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn first_messages(&self, task: &str) -> Vec<OrderedJson> {
        let message = |role: &str, content: &str| object! { "role": role, "content": content };
        vec![message("system", SYSTEM), message("user", task)]
    }

    fn tool(&self, tool: &TravelTool, schema: OrderedJson) -> OrderedJson {
        let function = object! { "name": tool.name, "description": tool.description, "parameters": schema };
        object! { "type": "function", "function": function }
    }

    fn body(&self, tools: Vec<OrderedJson>, messages: Vec<OrderedJson>) -> OrderedJson {
        object! {
            "model": "gpt-5",
            "stream": true,
            "stream_options": object! { "include_usage": true },
            "tools": tools,
            "messages": messages,
        }
    }

    fn answer_message(&self, answer: &ModelAnswer) -> OrderedJson {
        let text = Some(answer.text.as_str()).filter(|text| !text.is_empty());
        let calls = answer.tool_calls.iter().map(|call| {
            let function = object! { "name": call.name.as_str(), "arguments": call.input.as_str() };
            object! { "id": call.id.as_str(), "type": "function", "function": function }
        });
        let calls: Vec<OrderedJson> = calls.collect();
        object! { "role": "assistant", "content": text, "tool_calls": calls }
    }

    /// Returns one message for each result.
    fn result_messages(&self, results: &[ToolOutcome<'_>]) -> Vec<OrderedJson> {
        let message = |ran: &ToolOutcome<'_>| object! { "role": "tool", "tool_call_id": ran.id, "content": ran.output.as_str() };
        results.iter().map(message).collect()
    }
}
