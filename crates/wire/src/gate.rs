//! The tools that an answer asks for, seen before its agent sees them.
//!
//! Whoever decides on tools must see every call that a client could act on, in every choice and every item, and must know where a
//! call begins in a stream: from there on nothing may be handed out until the call is whole and decided on. What cannot be
//! read is told, since a client may read it all the same.

use reenact_json::{Limits, Value};

use crate::call_ids::CallIds;
use crate::message::{ToolCall, Usage};
use crate::protocol::Endpoint;
use crate::sse::SseEvent;

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

/// Reads an answer in one piece.
pub fn told(endpoint: Endpoint, body: &[u8]) -> Result<Told, Unreadable> {
    endpoint.row().told(Value::parse(body, &Limits::default()).map_err(|_| Unreadable)?)
}

/// Watches a stream for the tools that it asks for.
#[derive(Debug)]
pub struct Gate {
    endpoint: Endpoint,
    call_ids: Option<CallIds>,
    calls: OpenCalls,
    /// Tokens that the answer took, as far as it has told.
    usage: Option<Usage>,
}

/// The calls of a stream, from their beginnings to their ends.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    /// Calls that have begun and are not whole, in the order in which they began.
    open: Vec<Begun>,
    /// Calls that were whole. One that grows all the same is open again, with what it had.
    closed: Vec<Begun>,
    /// Calls that were told of before, in streams that repeat them.
    told: Vec<ToolCall>,
}

/// A call that has begun.
#[derive(Debug, Default)]
pub(crate) struct Begun {
    /// By which its vendor ties its pieces together.
    pub(crate) key: String,
    pub(crate) call: ToolCall,
    /// The input that came with its beginning; it counts if no piece follows.
    pub(crate) first: String,
}

/// Bound on the calls of one answer; a hostile stream may begin as many as it likes.
const MAX_CALLS: usize = 1024;

impl Gate {
    /// For a stream of an interface.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, call_ids: None, calls: OpenCalls::default(), usage: None }
    }

    /// Gives ids to calls that come without one: those that the request of the stream has for them.
    pub fn identifying(self, call_ids: Option<CallIds>) -> Self {
        Self { call_ids, ..self }
    }

    /// What the answer took, as far as it has told: as [`crate::exchange::answer`] finds it in the whole of the stream.
    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// Whether a call has begun that is not whole yet: what has come since must be held back.
    pub fn is_open(&self) -> bool {
        !self.calls.open.is_empty()
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
            let mut calls = self.calls.close(|_| true);
            self.identify(&mut calls);
            return Ok(calls);
        }
        let value = Value::parse(data.as_bytes(), &Limits::default()).map_err(|_| Unreadable)?;
        // No client counts an event whose end never came.
        let mut usage = self.usage;
        let mut calls = self.endpoint.row().watch(value, &event.name, &mut self.calls, &mut usage)?;
        if event.complete {
            self.usage = usage;
        }
        self.identify(&mut calls);
        Ok(calls)
    }

    /// Ends the stream; gives the calls that never became whole, which a client may act on all the same.
    pub fn finish(mut self) -> Vec<ToolCall> {
        let mut calls = self.calls.close(|_| true);
        self.identify(&mut calls);
        calls
    }

    fn identify(&mut self, calls: &mut [ToolCall]) {
        if let Some(call_ids) = &mut self.call_ids {
            call_ids.fill(calls);
        }
    }
}

impl OpenCalls {
    /// Ends the calls whose keys are asked for, and gives them.
    pub(crate) fn close(&mut self, which: impl Fn(&str) -> bool) -> Vec<ToolCall> {
        let closing: Vec<Begun> = self.open.extract_if(.., |begun| which(&begun.key)).collect();
        let calls = closing.iter().map(Begun::whole).collect();
        self.closed.extend(closing);
        calls
    }

    /// Begins a call, whatever has the same key.
    pub(crate) fn begin(&mut self, begun: Begun) -> Result<(), Unreadable> {
        if self.open.len() + self.closed.len() >= MAX_CALLS {
            return Err(Unreadable);
        }
        self.open.push(begun);
        Ok(())
    }

    /// The call that a piece belongs to: the last of that key.
    pub(crate) fn growing(&mut self, key: &str) -> Option<&mut ToolCall> {
        if !self.open.iter().any(|begun| begun.key == key) {
            let closed = self.closed.iter().rposition(|begun| begun.key == key)?;
            let begun = self.closed.remove(closed);
            self.open.push(begun);
        }
        self.open.iter_mut().rfind(|begun| begun.key == key).map(|begun| &mut begun.call)
    }

    /// The call that a piece belongs to; one that is not known begins with the piece.
    pub(crate) fn grow(&mut self, key: &str) -> Result<&mut ToolCall, Unreadable> {
        if self.growing(key).is_none() {
            self.begin(Begun { key: key.to_owned(), ..Begun::default() })?;
        }
        self.growing(key).ok_or(Unreadable)
    }

    /// Begins a call that is whole already: what grows all the same grows from here, unless its beginning is known.
    pub(crate) fn begin_closed(&mut self, key: String, call: ToolCall) -> Result<(), Unreadable> {
        if !self.closed.iter().any(|closed| closed.key == key) {
            self.begin(Begun { key, call, first: String::new() })?;
            self.closed.extend(self.open.pop());
        }
        Ok(())
    }

    /// Of calls as they are at their end, those that were not told of before; and what was begun as something else, since a client
    /// may have taken it from there.
    pub(crate) fn news(
        &mut self,
        begun: Vec<ToolCall>,
        calls: Vec<ToolCall>,
    ) -> Result<Vec<ToolCall>, Unreadable> {
        let calls: Vec<ToolCall> = calls.into_iter().map(whole).collect();
        let begun = begun.into_iter().filter(|begun| !calls.iter().any(|call| is_of(begun, call)));
        let mut news = Vec::new();
        for call in begun.collect::<Vec<_>>().into_iter().chain(calls) {
            if !self.told.contains(&call) {
                if self.told.len() >= MAX_CALLS {
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

/// A number that ties pieces together. A value of another type ties them in a way that only some clients know.
pub(crate) fn number(value: Option<Value<'_>>) -> Result<Option<u64>, Unreadable> {
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

/// A tool without parameters streams no input at all; it means an empty object.
const NOTHING: &str = "{}";

fn whole(mut call: ToolCall) -> ToolCall {
    if call.input.is_empty() {
        call.input.push_str(NOTHING);
    }
    call
}
