//! The tools that an answer asks for, seen before its agent sees them.
//!
//! Whoever decides on tools must see every call that a client could act on, in every choice and every item, and must know where a
//! call begins in a stream: from there on nothing may be handed out until the call is whole and decided on. What cannot be
//! read is told, since a client may read it all the same.

use std::collections::BTreeMap;

use reenact_json::{Kind, Limits, Value};

use crate::endpoint::Endpoint;
use crate::exchange::text;
use crate::message::ToolCall;
use crate::sse::SseEvent;
use crate::vendor::{chat, messages, responses};

/// The answer cannot be read, so that nobody knows what it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

/// Every tool that the body of an answer asks for.
pub fn calls(endpoint: Endpoint, body: &[u8]) -> Result<Vec<ToolCall>, Unreadable> {
    let document = Value::parse(body, &Limits::default()).map_err(|_| Unreadable)?;
    Ok(match endpoint {
        Endpoint::ChatCompletions => chat::asked_tools(document),
        Endpoint::Messages => messages::asked_tools(document),
        Endpoint::Responses => responses::asked_tools(document),
        Endpoint::Models => Vec::new(),
    })
}

/// Watches a stream for the tools that it asks for.
#[derive(Debug)]
pub struct Gate {
    endpoint: Endpoint,
    /// Calls that have begun and are not whole, by what their vendor ties their pieces together with.
    open: BTreeMap<String, ToolCall>,
    /// What the last event of a stream of responses repeats: calls that were told of before.
    told: Vec<ToolCall>,
}

/// A hostile stream may begin as many calls as it likes; no answer has more.
const MOST: usize = 1024;

impl Gate {
    /// For a stream of an endpoint.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, open: BTreeMap::new(), told: Vec::new() }
    }

    /// Whether a call has begun that is not whole yet: what has come since must be held back.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Takes the next event; gives the calls that are whole with it.
    pub fn take(&mut self, event: &SseEvent) -> Result<Vec<ToolCall>, Unreadable> {
        let Some(data) = &event.data else { return Ok(Vec::new()) };
        if self.endpoint == Endpoint::ChatCompletions && data.trim() == "[DONE]" {
            return Ok(self.close(|_| true));
        }
        let value = Value::parse(data.as_bytes(), &Limits::default()).map_err(|_| Unreadable)?;
        let calls = match self.endpoint {
            Endpoint::ChatCompletions => self.chat(value)?,
            Endpoint::Messages => self.messages(value)?,
            Endpoint::Responses => self.responses(value)?,
            Endpoint::Models => Vec::new(),
        };
        Ok(calls)
    }

    /// The stream has ended; gives the calls that never became whole, which a client may act on all the same.
    pub fn finish(mut self) -> Vec<ToolCall> {
        self.close(|_| true)
    }

    fn close(&mut self, which: impl Fn(&str) -> bool) -> Vec<ToolCall> {
        let closed = self.open.extract_if(.., |key, _| which(key));
        closed.map(|(_, call)| call).map(whole).collect()
    }

    fn grow(&mut self, key: String) -> Result<&mut ToolCall, Unreadable> {
        if self.open.len() >= MOST && !self.open.contains_key(&key) {
            return Err(Unreadable);
        }
        Ok(self.open.entry(key).or_default())
    }

    fn chat(&mut self, chunk: Value<'_>) -> Result<Vec<ToolCall>, Unreadable> {
        let mut whole = Vec::new();
        for choice in chunk.member("choices").into_iter().flat_map(|choices| choices.elements()) {
            let number = |value: Option<Value<'_>>| value.and_then(|index| index.whole()).unwrap_or_default();
            let prefix = format!("{}/", number(choice.member("index")));
            // Some send whole messages where others send differences.
            for message in ["delta", "message"].into_iter().filter_map(|name| choice.member(name)) {
                for piece in message.member("tool_calls").into_iter().flat_map(|calls| calls.elements()) {
                    let call = self.grow(format!("{prefix}{}", number(piece.member("index"))))?;
                    if let Some(id) = text(piece.member("id")) {
                        call.id = id;
                    }
                    // Tools of a vendor's own making have their members under another name.
                    for function in ["function", "custom"].into_iter().filter_map(|name| piece.member(name)) {
                        call.name += &text(function.member("name")).unwrap_or_default();
                        call.input += &text(function.member("arguments")).unwrap_or_default();
                        call.input += &text(function.member("input")).unwrap_or_default();
                    }
                }
                if let Some(function) = message.member("function_call").filter(is_object) {
                    let call = self.grow(format!("{prefix}function"))?;
                    call.name += &text(function.member("name")).unwrap_or_default();
                    call.input += &text(function.member("arguments")).unwrap_or_default();
                }
            }
            if choice.member("finish_reason").is_some_and(|reason| !reason.is_null()) {
                whole.extend(self.close(|key| key.starts_with(&prefix)));
            }
        }
        Ok(whole)
    }

    fn messages(&mut self, event: Value<'_>) -> Result<Vec<ToolCall>, Unreadable> {
        let kind = text(event.member("type")).unwrap_or_default();
        let index = event.member("index").and_then(|index| index.whole()).unwrap_or_default().to_string();
        match kind.as_str() {
            "content_block_start" => {
                let block = event.member("content_block");
                if let Some(begun) = block.and_then(messages::asked_tool) {
                    // Its input comes in pieces, and what stands here is an empty object in its place.
                    *self.grow(index)? = ToolCall { input: String::new(), ..begun };
                }
            }
            "content_block_delta" => {
                let piece = event.member("delta").and_then(|delta| text(delta.member("partial_json")));
                if let (Some(piece), Some(call)) = (piece, self.open.get_mut(&index)) {
                    call.input += &piece;
                }
            }
            "content_block_stop" => return Ok(self.close(|key| key == index)),
            "message_stop" => return Ok(self.close(|_| true)),
            _ => {}
        }
        Ok(Vec::new())
    }

    fn responses(&mut self, event: Value<'_>) -> Result<Vec<ToolCall>, Unreadable> {
        let kind = text(event.member("type")).unwrap_or_default();
        let item = event.member("item");
        let key = |item: Value<'_>| text(item.member("id")).unwrap_or_default();
        match kind.as_str() {
            "response.output_item.added" => {
                if let Some((item, call)) = item.and_then(|item| Some((item, responses::asked_tool(item)?))) {
                    *self.grow(key(item))? = call;
                }
                Ok(Vec::new())
            }
            "response.output_item.done" => {
                let Some((item, call)) = item.and_then(|item| Some((item, responses::asked_tool(item)?)))
                else {
                    return Ok(Vec::new());
                };
                self.open.remove(&key(item));
                Ok(self.news(vec![call]))
            }
            "response.completed" | "response.failed" | "response.incomplete" => {
                let repeated = event.member("response").map(responses::asked_tools).unwrap_or_default();
                let mut calls = self.close(|_| true);
                calls.retain(|call| !repeated.iter().any(|whole| whole.id == call.id));
                calls.extend(repeated);
                Ok(self.news(calls))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Those that were not told of before, exactly as they are.
    fn news(&mut self, calls: Vec<ToolCall>) -> Vec<ToolCall> {
        let mut news = Vec::new();
        for call in calls.into_iter().map(whole) {
            if !self.told.contains(&call) {
                self.told.push(call.clone());
                news.push(call);
            }
        }
        news
    }
}

fn is_object(value: &Value<'_>) -> bool {
    value.kind() == Kind::Object
}

/// A tool without parameters streams no input at all; it means an empty object.
fn whole(mut call: ToolCall) -> ToolCall {
    if call.input.is_empty() {
        call.input.push_str("{}");
    }
    call
}
