//! Gemini's contents.

use reenact_wire::{Answer, Endpoint, ToolCall};

use super::{Dialect, SYSTEM};
use crate::agent::conversation::Ran;
use crate::json::{Json, object};
use crate::travel::Tool;

pub(super) struct Gemini;

impl Dialect for Gemini {
    fn endpoint(&self) -> Endpoint {
        Endpoint::GENERATE_CONTENT
    }

    fn path(&self) -> &'static str {
        "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect()
    }

    fn begin(&self, task: &str) -> Vec<Json> {
        vec![content("user", vec![object! { "text": task }])]
    }

    fn tool(&self, tool: &Tool, schema: Json) -> Json {
        object! { "name": tool.name, "description": tool.description, "parametersJsonSchema": schema }
    }

    fn body(&self, tools: Vec<Json>, messages: Vec<Json>) -> Json {
        object! {
            "contents": messages,
            "systemInstruction": object! { "parts": vec![object! { "text": SYSTEM }] },
            "tools": vec![object! { "functionDeclarations": tools }],
        }
    }

    fn answered(&self, answer: &Answer) -> Json {
        let text = Some(answer.text.as_str()).filter(|text| !text.is_empty());
        let text = text.map(|text| object! { "text": text });
        let call = |call: &ToolCall| {
            let function = object! { "name": call.name.as_str(), "args": Json::ready(&call.input) };
            object! { "functionCall": function }
        };
        content("model", text.into_iter().chain(answer.tool_calls.iter().map(call)).collect())
    }

    fn ran(&self, results: &[Ran<'_>]) -> Vec<Json> {
        let part = |ran: &Ran<'_>| {
            let name = if ran.is_error { "error" } else { "result" };
            let response = Json::Object(vec![(name, Json::from(ran.output.as_str()))]);
            object! { "functionResponse": object! { "name": ran.name, "response": response } }
        };
        vec![content("user", results.iter().map(part).collect())]
    }
}

fn content(role: &str, parts: Vec<Json>) -> Json {
    object! { "role": role, "parts": parts }
}
