//! What the agent and its model have said, in the format of either vendor.

use reenact_wire::{Answer, Endpoint};

use crate::Kind;
use crate::json::{Json, object};
use crate::travel::{TOOLS, Tool, ToolError};

const SYSTEM: &str =
    "You are a travel agent. Book the flight that the user wants, and never go over the budget.";

/// All that was said so far.
pub(super) struct Conversation {
    kind: Kind,
    messages: Vec<Json>,
}

impl Conversation {
    pub(super) fn new(kind: Kind, task: &str) -> Self {
        let user = object! { "role": "user", "content": task };
        let messages = match kind {
            Kind::OpenAi => vec![object! { "role": "system", "content": SYSTEM }, user],
            Kind::Anthropic => vec![user],
        };
        Self { kind, messages }
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        match self.kind {
            Kind::OpenAi => Endpoint::ChatCompletions,
            Kind::Anthropic => Endpoint::Messages,
        }
    }

    /// After the base URL.
    pub(super) fn path(&self) -> &'static str {
        match self.kind {
            Kind::OpenAi => "/chat/completions",
            Kind::Anthropic => "/v1/messages",
        }
    }

    pub(super) fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "text/event-stream".to_owned()),
            ("user-agent", concat!("reenact-demo-agent/", env!("CARGO_PKG_VERSION")).to_owned()),
        ];
        match self.kind {
            Kind::OpenAi => headers.extend(key.map(|key| ("authorization", format!("Bearer {key}")))),
            Kind::Anthropic => {
                headers.push(("anthropic-version", "2023-06-01".to_owned()));
                headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
            }
        }
        headers
    }

    pub(super) fn body(&self) -> String {
        let tools: Vec<Json> = TOOLS.iter().map(|tool| self.tool(tool)).collect();
        let body = match self.kind {
            Kind::OpenAi => object! {
                "model": "gpt-5",
                "stream": true,
                "stream_options": object! { "include_usage": true },
                "tools": tools,
                "messages": self.messages.clone(),
            },
            Kind::Anthropic => object! {
                "model": "claude-sonnet-4-5",
                "max_tokens": 1024_u64,
                "stream": true,
                "system": SYSTEM,
                "tools": tools,
                "messages": self.messages.clone(),
            },
        };
        body.to_string()
    }

    fn tool(&self, tool: &Tool) -> Json {
        let texts = tool.parameters.iter().map(|name| (*name, object! { "type": "string" }));
        let schema = object! {
            "type": "object",
            "properties": Json::Object(texts.collect()),
            "required": tool.parameters.to_vec(),
            "additionalProperties": false,
        };
        match self.kind {
            Kind::OpenAi => {
                let function =
                    object! { "name": tool.name, "description": tool.description, "parameters": schema };
                object! { "type": "function", "function": function }
            }
            Kind::Anthropic => {
                object! { "name": tool.name, "description": tool.description, "input_schema": schema }
            }
        }
    }

    /// The model answered and asks for tools.
    pub(super) fn answered(&mut self, answer: &Answer) {
        let text = Some(answer.text.as_str()).filter(|text| !text.is_empty());
        let message = match self.kind {
            Kind::OpenAi => {
                let calls = answer.tool_calls.iter().map(|call| {
                    let function = object! { "name": call.name.as_str(), "arguments": call.input.as_str() };
                    object! { "id": call.id.as_str(), "type": "function", "function": function }
                });
                let calls: Vec<Json> = calls.collect();
                object! { "role": "assistant", "content": text, "tool_calls": calls }
            }
            Kind::Anthropic => {
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
        };
        self.messages.push(message);
    }

    /// The tools ran; each result with the id of its call.
    pub(super) fn ran(&mut self, results: &[(String, Result<String, ToolError>)]) {
        let results = results.iter().map(|(id, result)| {
            let output = result.as_ref().map_or_else(ToString::to_string, Clone::clone);
            (id.as_str(), output, result.is_err())
        });
        match self.kind {
            Kind::OpenAi => self
                .messages
                .extend(results.map(
                    |(id, output, _)| object! { "role": "tool", "tool_call_id": id, "content": output },
                )),
            Kind::Anthropic => {
                let blocks: Vec<Json> = results
                    .map(|(id, output, is_error)| {
                        object! {
                            "type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error,
                        }
                    })
                    .collect();
                self.messages.push(object! { "role": "user", "content": blocks });
            }
        }
    }
}
