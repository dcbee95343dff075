//! The agent's requests to Gemini's `streamGenerateContent`.

use reenact_wire::{Endpoint, ModelAnswer, ToolCall};

use super::{AgentDialect, SYSTEM};
use crate::agent::conversation::ToolOutcome;
use crate::json::{OrderedJson, object};
use crate::travel::TravelTool;

/// Contents with parts; calls and results are matched by the tool's name.
pub(super) struct GeminiDialect;

impl AgentDialect for GeminiDialect {
    fn endpoint(&self) -> Endpoint {
        Endpoint::GENERATE_CONTENT
    }

    /// Returns the path, which names the model and the delivery.
    fn path(&self) -> &'static str {
        "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect()
    }

    fn first_messages(&self, task: &str) -> Vec<OrderedJson> {
        vec![content("user", vec![object! { "text": task }])]
    }

    fn tool(&self, tool: &TravelTool, schema: OrderedJson) -> OrderedJson {
        object! { "name": tool.name, "description": tool.description, "parametersJsonSchema": schema }
    }

    fn body(&self, tools: Vec<OrderedJson>, messages: Vec<OrderedJson>) -> OrderedJson {
        object! {
            "contents": messages,
            "systemInstruction": object! { "parts": vec![object! { "text": SYSTEM }] },
            "tools": vec![object! { "functionDeclarations": tools }],
        }
    }

    fn answer_message(&self, answer: &ModelAnswer) -> OrderedJson {
        let text = Some(answer.text.as_str()).filter(|text| !text.is_empty());
        let text = text.map(|text| object! { "text": text });
        let call = |call: &ToolCall| {
            let function =
                object! { "name": call.name.as_str(), "args": OrderedJson::raw_or_empty_object(&call.input) };
            object! { "functionCall": function }
        };
        content("model", text.into_iter().chain(answer.tool_calls.iter().map(call)).collect())
    }

    fn result_messages(&self, results: &[ToolOutcome<'_>]) -> Vec<OrderedJson> {
        let part = |ran: &ToolOutcome<'_>| {
            let name = if ran.is_error { "error" } else { "result" };
            let response = OrderedJson::Object(vec![(name, OrderedJson::from(ran.output.as_str()))]);
            object! { "functionResponse": object! { "name": ran.name, "response": response } }
        };
        vec![content("user", results.iter().map(part).collect())]
    }
}

/// Returns a content of this role.
fn content(role: &str, parts: Vec<OrderedJson>) -> OrderedJson {
    object! { "role": role, "parts": parts }
}
