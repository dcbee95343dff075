//! The tools that an answer asks for, seen before its agent sees them.
//!
//! Whoever decides on tools must see every call that a client could act on, in every choice and every item, and must know where a
//! call begins in a stream: from there on nothing may be handed out until the call is whole and decided on. What cannot be
//! read is told, since a client may read it all the same.

use reenact_json::{Kind, Limits, Value};

use crate::endpoint::Endpoint;
use crate::exchange::text;
use crate::message::{ToolCall, Usage};
use crate::sse::SseEvent;
use crate::vendor::{self, chat, messages, responses};

/// The answer cannot be read, so that nobody knows what it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

/// What whoever decides must know of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told {
    /// Every tool that it asks for.
    pub calls: Vec<ToolCall>,
    /// What it took, as [`crate::exchange::answer`] finds it.
    pub usage: Option<Usage>,
}

/// What an answer in one piece tells.
pub fn told(endpoint: Endpoint, body: &[u8]) -> Result<Told, Unreadable> {
    let document = Value::parse(body, &Limits::default()).map_err(|_| Unreadable)?;
    Ok(match endpoint {
        Endpoint::ChatCompletions => chat::told(document),
        Endpoint::Messages => messages::told(document),
        Endpoint::Responses => responses::told(document),
        Endpoint::Models => Told::default(),
    })
}

/// Watches a stream for the tools that it asks for.
#[derive(Debug)]
pub struct Gate {
    endpoint: Endpoint,
    /// Calls that have begun and are not whole, in the order in which they began.
    open: Vec<Begun>,
    /// Calls that were whole. What grows all the same is open again, with what it had.
    closed: Vec<Begun>,
    /// What a stream of responses repeats: calls that were told of before.
    told: Vec<ToolCall>,
    /// What the answer took, as far as it has told.
    usage: Option<Usage>,
}

/// A call that has begun.
#[derive(Debug, Default)]
struct Begun {
    /// What its vendor ties its pieces together with.
    key: String,
    call: ToolCall,
    /// The input that came with its beginning; it counts if no piece follows.
    first: String,
}

/// A hostile stream may begin as many calls as it likes; no answer has more.
const MOST: usize = 1024;

impl Gate {
    /// For a stream of an endpoint.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, open: Vec::new(), closed: Vec::new(), told: Vec::new(), usage: None }
    }

    /// What the answer took, as far as it has told: as [`crate::exchange::answer`] finds it in the whole of the stream.
    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// Whether a call has begun that is not whole yet: what has come since must be held back.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Takes the next event; gives the calls that are whole with it.
    pub fn take(&mut self, event: &SseEvent) -> Result<Vec<ToolCall>, Unreadable> {
        if !has_known_fields(&event.raw) {
            return Err(Unreadable);
        }
        // Without data nothing is dispatched (HTML, section 9.2.6).
        let Some(data) = event.data.as_deref().filter(|data| !data.is_empty()) else { return Ok(Vec::new()) };
        // OpenAI ends its chats so, and those who speak like it end all their streams so.
        if data.trim() == "[DONE]" {
            return Ok(self.close(|_| true));
        }
        let value = Value::parse(data.as_bytes(), &Limits::default()).map_err(|_| Unreadable)?;
        // No client counts an event whose end never came.
        let mut usage = self.usage;
        let calls = self.take_value(value, &event.name, &mut usage);
        if event.complete {
            self.usage = usage;
        }
        calls
    }

    fn take_value(
        &mut self,
        value: Value<'_>,
        name: &str,
        usage: &mut Option<Usage>,
    ) -> Result<Vec<ToolCall>, Unreadable> {
        if self.endpoint == Endpoint::ChatCompletions {
            return self.chat(value, usage);
        }
        let kind = vendor::kind(value, name);
        match self.endpoint {
            Endpoint::Messages => {
                messages::measure(usage, &kind, value);
                self.messages(&kind, value)
            }
            Endpoint::Responses => {
                responses::measure(usage, &kind, value);
                self.responses(&kind, value)
            }
            Endpoint::ChatCompletions | Endpoint::Models => Ok(Vec::new()),
        }
    }

    /// The stream has ended; gives the calls that never became whole, which a client may act on all the same.
    pub fn finish(mut self) -> Vec<ToolCall> {
        self.close(|_| true)
    }

    fn close(&mut self, which: impl Fn(&str) -> bool) -> Vec<ToolCall> {
        let closing: Vec<Begun> = self.open.extract_if(.., |begun| which(&begun.key)).collect();
        let calls = closing.iter().map(Begun::whole).collect();
        self.closed.extend(closing);
        calls
    }

    /// A call begins, whatever has the same key.
    fn begin(&mut self, begun: Begun) -> Result<(), Unreadable> {
        if self.open.len() + self.closed.len() >= MOST {
            return Err(Unreadable);
        }
        self.open.push(begun);
        Ok(())
    }

    /// The call that a piece belongs to: the last of that key.
    fn growing(&mut self, key: &str) -> Option<&mut ToolCall> {
        if !self.open.iter().any(|begun| begun.key == key) {
            let closed = self.closed.iter().rposition(|begun| begun.key == key)?;
            let begun = self.closed.remove(closed);
            self.open.push(begun);
        }
        self.open.iter_mut().rfind(|begun| begun.key == key).map(|begun| &mut begun.call)
    }

    /// The same; one that is not known begins with the piece.
    fn grow(&mut self, key: &str) -> Result<&mut ToolCall, Unreadable> {
        if self.growing(key).is_none() {
            self.begin(Begun { key: key.to_owned(), ..Begun::default() })?;
        }
        self.growing(key).ok_or(Unreadable)
    }

    fn chat(&mut self, chunk: Value<'_>, sum: &mut Option<Usage>) -> Result<Vec<ToolCall>, Unreadable> {
        let mut whole = Vec::new();
        let [choices, usage] = chunk.pick(["choices", "usage"]);
        chat::measure(sum, usage);
        for choice in choices.into_iter().flat_map(|choices| choices.elements()) {
            let [index, delta, message, reason] = choice.pick(["index", "delta", "message", "finish_reason"]);
            let prefix = format!("{}/", number(index)?.unwrap_or_default());
            // Some send whole messages where others send differences.
            for message in [delta, message].into_iter().flatten() {
                let [calls, function] = message.pick(["tool_calls", "function_call"]);
                let pieces = calls.into_iter().flat_map(|calls| calls.elements());
                for (place, piece) in (0..).zip(pieces) {
                    let index = number(piece.member("index"))?.unwrap_or(place);
                    chat::grow(self.grow(&format!("{prefix}{index}"))?, piece);
                }
                if let Some(function) = function.filter(is_object) {
                    let call = self.grow(&format!("{prefix}function"))?;
                    call.name += &text(function.member("name")).unwrap_or_default();
                    call.input += &text(function.member("arguments")).unwrap_or_default();
                }
            }
            if reason.is_some_and(|reason| !reason.is_null()) {
                whole.extend(self.close(|key| key.starts_with(&prefix)));
            }
        }
        Ok(whole)
    }

    fn messages(&mut self, kind: &str, event: Value<'_>) -> Result<Vec<ToolCall>, Unreadable> {
        let key = number(event.member("index"))?.unwrap_or_default().to_string();
        match kind {
            "content_block_start" => {
                let block = event.member("content_block");
                if let Some(mut call) = block.and_then(messages::asked_tool) {
                    // What stands here is an empty object, in the place of the pieces that follow.
                    let first = std::mem::take(&mut call.input);
                    self.begin(Begun { key, call, first })?;
                }
            }
            "content_block_delta" => {
                let piece = event.member("delta").and_then(|delta| text(delta.member("partial_json")));
                if let (Some(piece), Some(call)) = (piece, self.growing(&key)) {
                    call.input += &piece;
                }
            }
            "content_block_stop" => return Ok(self.close(|open| open == key)),
            "message_start" => {
                return Ok(event.member("message").map(messages::told).unwrap_or_default().calls);
            }
            "message_stop" => return Ok(self.close(|_| true)),
            _ => {}
        }
        Ok(Vec::new())
    }

    fn responses(&mut self, kind: &str, event: Value<'_>) -> Result<Vec<ToolCall>, Unreadable> {
        if let Some(response) = event.member("response").filter(is_object) {
            let is_last = responses::is_last(kind);
            let begun = self.close(|_| is_last);
            return self.news(begun, responses::told(response).calls);
        }
        number(event.member("output_index"))?;
        let key = responses::key(event);
        if let Some(mut call) = event.member("item").and_then(responses::asked_tool) {
            if kind == "response.output_item.added" {
                let first = std::mem::take(&mut call.input);
                self.begin(Begun { key, call, first })?;
                return Ok(Vec::new());
            }
            // An event that only some clients know ends nothing for the others.
            let is_end = kind == "response.output_item.done";
            let begun = self.close(|open| is_end && open == key);
            let news = self.news(begun, vec![call.clone()])?;
            // What grows all the same grows from its beginning, as with clients that gather pieces, or from here if it had none.
            if !self.closed.iter().any(|closed| closed.key == key) {
                self.begin(Begun { key, call, first: String::new() })?;
                self.closed.extend(self.open.pop());
            }
            return Ok(news);
        }
        if let Some(piece) = responses::piece_of_input(kind, event) {
            piece.add_to(&mut self.grow(&key)?.input);
        }
        Ok(Vec::new())
    }

    /// Of calls as they are at their end, those that were not told of before; and what was begun as something else, since a client
    /// may have taken it from there.
    fn news(&mut self, begun: Vec<ToolCall>, calls: Vec<ToolCall>) -> Result<Vec<ToolCall>, Unreadable> {
        let calls: Vec<ToolCall> = calls.into_iter().map(whole).collect();
        let begun = begun.into_iter().filter(|begun| !calls.iter().any(|call| is_of(begun, call)));
        let mut news = Vec::new();
        for call in begun.collect::<Vec<_>>().into_iter().chain(calls) {
            if !self.told.contains(&call) {
                if self.told.len() >= MOST {
                    return Err(Unreadable);
                }
                self.told.push(call.clone());
                news.push(call);
            }
        }
        Ok(news)
    }
}

impl Begun {
    fn whole(&self) -> ToolCall {
        let mut call = self.call.clone();
        if call.input.is_empty() {
            call.input.clone_from(&self.first);
        }
        whole(call)
    }
}

/// Whether a call is what a beginning became. Some begin without saying all.
fn is_of(begun: &ToolCall, call: &ToolCall) -> bool {
    let fits = |begun: &str, whole: &str| begun.is_empty() || begun == whole;
    fits(&begun.id, &call.id)
        && fits(&begun.name, &call.name)
        && (begun.input == NOTHING || begun.input == call.input)
}

/// A number that ties pieces together. One that is none ties them in a way that only some clients know.
fn number(value: Option<Value<'_>>) -> Result<Option<u64>, Unreadable> {
    value.filter(|value| !value.is_null()).map(|value| value.whole().ok_or(Unreadable)).transpose()
}

/// Whether every line is a field of an event, or a comment. Something else may be a document under a wrong name, which a client
/// would read.
fn has_known_fields(raw: &[u8]) -> bool {
    let raw = raw.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(raw);
    let mut lines = raw.split(|byte| matches!(byte, b'\r' | b'\n'));
    lines.all(|line| {
        let field = line.split(|byte| *byte == b':').next().unwrap_or_default();
        matches!(field, b"" | b"data" | b"event" | b"id" | b"retry")
    })
}

fn is_object(value: &Value<'_>) -> bool {
    value.kind() == Kind::Object
}

/// A tool without parameters streams no input at all; it means an empty object.
const NOTHING: &str = "{}";

fn whole(mut call: ToolCall) -> ToolCall {
    if call.input.is_empty() {
        call.input.push_str(NOTHING);
    }
    call
}
