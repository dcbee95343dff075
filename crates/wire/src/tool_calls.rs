//! Tool calls of an answer, found before the agent sees them.
//!
//! The policy gate must see every call that any client could act on, in every choice and every item. In a
//! stream it must also know where a call begins: from there on nothing may be handed out until the call is
//! complete and decided on. An answer that cannot be parsed is an error, since some client may parse it all the
//! same. Start reading at [`ToolCallScanner::scan_event`] for streams and [`scan_answer`] for documents.

use reenact_json::{Limits, Value, ValueKind};

use crate::call_ids::CallIds;
use crate::exchange::{model_of_document, named_model};
use crate::line_check::has_same_lines;
use crate::message::{CostFacts, ToolCall, Usage};
use crate::protocol::{Endpoint, StreamAssembler, is_end_mark};
use crate::sse::SseEvent;

/// Error for an answer that cannot be parsed, so that its tool calls are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadableAnswer;

/// Tool calls and usage of an answer in one document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScannedAnswer {
    /// Every tool call in every alternative of the answer.
    pub calls: Vec<ToolCall>,
    /// Tokens that the answer took, the same as [`crate::exchange::parse_answer`] finds.
    pub usage: Option<Usage>,
    /// Model that answered; see [`CostFacts::model`].
    pub model: Option<String>,
    /// See [`CostFacts::text_bytes`].
    pub text_bytes: usize,
}

impl ScannedAnswer {
    /// Returns the facts of the answer.
    pub fn facts(&self) -> CostFacts<'_> {
        CostFacts { model: self.model.as_deref(), usage: self.usage, text_bytes: self.text_bytes }
    }
}

/// Finds the tool calls of an answer in one document.
///
/// # Errors
/// [`UnreadableAnswer`] if the body is not JSON, or if the interface cannot list all calls in it.
pub fn scan_answer(endpoint: Endpoint, body: &[u8]) -> Result<ScannedAnswer, UnreadableAnswer> {
    let document = Value::parse(body, &Limits::default()).map_err(|_| UnreadableAnswer)?;
    let scanned = endpoint.protocol().scan_answer(document)?;
    let text_bytes = match scanned.usage {
        Some(_) => 0,
        None => endpoint.protocol().parse_answer(document).map_or(0, |answer| answer.text_bytes()),
    };
    Ok(ScannedAnswer { model: model_of_document(endpoint, document), text_bytes, ..scanned })
}

/// Finds the tool calls of an answer with the status of an error, for clients that do not look at the status.
///
/// Errors need not be JSON: proxies send pages and plain text. A text in which no client finds a document or an event
/// has no calls. A list of documents, as some servers send errors, has the calls of all of them.
///
/// # Errors
/// [`UnreadableAnswer`] if a client may find tool calls where this function cannot list them.
pub fn scan_error_answer(endpoint: Endpoint, body: &[u8]) -> Result<ScannedAnswer, UnreadableAnswer> {
    let Ok(document) = Value::parse(body, &Limits::default()) else {
        return if may_be_read(body) { Err(UnreadableAnswer) } else { Ok(ScannedAnswer::default()) };
    };
    let one = (document.kind() != ValueKind::Array).then_some(document);
    let mut calls = Vec::new();
    for document in one.into_iter().chain(document.elements()) {
        if matches!(document.kind(), ValueKind::Object | ValueKind::Array) {
            calls.extend(endpoint.protocol().scan_answer(document)?.calls);
        }
    }
    Ok(ScannedAnswer { calls, ..ScannedAnswer::default() })
}

/// Returns true if some client may find a document or an event in a text that is not JSON: laxer readers take JSON
/// with errors in it, behind a byte order mark, and in UTF-16 or UTF-32.
fn may_be_read(body: &[u8]) -> bool {
    let mut lines = body.split(|byte| matches!(byte, b'\r' | b'\n'));
    matches!(body.trim_ascii_start().first(), Some(b'{' | b'[' | 0x00 | 0xEF | 0xFE | 0xFF))
        || lines.any(|line| line.starts_with(b"data:"))
}

/// Finds the tool calls in a stream of events, and tells when bytes must be held back.
///
/// Feed it each event before the event is handed out. While [`Self::is_open`] returns true, the events since
/// the beginning of the open call must wait; when `scan_event` returns a call, the call is complete and can be
/// decided on.
#[derive(Debug)]
pub struct ToolCallScanner {
    endpoint: Endpoint,
    call_ids: Option<CallIds>,
    /// Calls that have begun so far.
    calls: OpenCalls,
    /// Answer that the complete events make so far; `None` if the interface has no streams of models.
    answer: Option<Box<dyn StreamAssembler>>,
    /// Model that answers, once an event named it.
    model: Option<String>,
}

/// Calls of a stream, from their first piece to their last.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    /// Calls that have begun and are incomplete, in the order of their first pieces.
    open: Vec<PartialCall>,
    /// Calls that were complete. If a further piece of one arrives, that call is open again with its input so
    /// far.
    finished: Vec<PartialCall>,
    /// Calls that were returned before, for streams that repeat them.
    reported: Vec<ToolCall>,
}

/// Call that has begun.
#[derive(Debug, Default)]
pub(crate) struct PartialCall {
    /// Key by which the vendor ties the pieces of the call together.
    pub(crate) key: String,
    /// Call as far as its pieces have come.
    pub(crate) call: ToolCall,
    /// Input that came with the first piece; it counts only if no further input follows.
    pub(crate) initial_input: String,
}

/// Largest number of calls in one answer; a hostile stream could begin any number.
const MAX_CALLS: usize = 1024;

impl ToolCallScanner {
    /// Makes a scanner for a stream of this interface.
    pub fn new(endpoint: Endpoint) -> Self {
        let answer = endpoint.protocol().stream_assembler();
        Self { endpoint, call_ids: None, calls: OpenCalls::default(), answer, model: None }
    }

    /// Sets the ids for calls that come without one; the request of the stream provides them.
    pub fn with_call_ids(self, call_ids: Option<CallIds>) -> Self {
        Self { call_ids, ..self }
    }

    /// Returns the facts of the answer so far. After the last event these are those that [`crate::exchange::parse_answer`]
    /// and [`crate::exchange::answering_model`] find in the whole stream.
    pub fn facts(&self) -> CostFacts<'_> {
        let (usage, text_bytes) = self.answer.as_ref().map_or((None, 0), |answer| answer.count());
        CostFacts { model: self.model.as_deref(), usage, text_bytes }
    }

    /// Returns true if a call has begun and is incomplete: bytes from its first event on must be held back.
    pub fn is_open(&self) -> bool {
        !self.calls.open.is_empty()
    }

    /// Takes the next event, and returns the calls that it completes.
    ///
    /// # Errors
    /// [`UnreadableAnswer`] if the event has an unknown field or one that only some clients see, if its data is not
    /// JSON or has a value of another type where calls are looked for, or if the stream has more than 1,024 calls.
    pub fn scan_event(&mut self, event: &SseEvent) -> Result<Vec<ToolCall>, UnreadableAnswer> {
        if !has_same_lines(&event.raw) {
            return Err(UnreadableAnswer);
        }
        // Clients dispatch no event without data (HTML, section 9.2.6).
        let Some(data) = event.data.as_deref().filter(|data| !data.is_empty()) else { return Ok(Vec::new()) };
        if is_end_mark(data.as_bytes()) {
            let mut calls = self.calls.close(|_| true);
            self.fill_call_ids(&mut calls);
            return Ok(calls);
        }
        let value = Value::parse(data.as_bytes(), &Limits::default()).map_err(|_| UnreadableAnswer)?;
        let mut calls = self.endpoint.protocol().scan_event(value, &event.name, &mut self.calls)?;
        // Clients drop an event whose terminating blank line never came, so its counts do not apply.
        if let Some(answer) = self.answer.as_mut().filter(|_| event.is_complete) {
            answer.take(&event.name, value);
        }
        if self.model.is_none() {
            self.model = named_model(self.endpoint, value);
        }
        self.fill_call_ids(&mut calls);
        Ok(calls)
    }

    /// Ends the stream, and returns the calls that never became complete: a client may act on them all the
    /// same.
    pub fn finish(mut self) -> Vec<ToolCall> {
        let mut calls = self.calls.close(|_| true);
        self.fill_call_ids(&mut calls);
        calls
    }

    /// Gives ids to calls that have none, if the interface needs that.
    fn fill_call_ids(&mut self, calls: &mut [ToolCall]) {
        if let Some(call_ids) = &mut self.call_ids {
            call_ids.fill(calls);
        }
    }
}

impl OpenCalls {
    /// Finishes the open calls whose keys satisfy `which`, and returns them.
    pub(crate) fn close(&mut self, which: impl Fn(&str) -> bool) -> Vec<ToolCall> {
        let closing: Vec<PartialCall> = self.open.extract_if(.., |begun| which(&begun.key)).collect();
        let calls = closing.iter().map(PartialCall::finished_call).collect();
        self.finished.extend(closing);
        calls
    }

    /// Opens a call, even if another call has the same key.
    ///
    /// # Errors
    /// [`UnreadableAnswer`] if there are [`MAX_CALLS`] calls already.
    pub(crate) fn begin(&mut self, begun: PartialCall) -> Result<(), UnreadableAnswer> {
        if self.open.len() + self.finished.len() >= MAX_CALLS {
            return Err(UnreadableAnswer);
        }
        self.open.push(begun);
        Ok(())
    }

    /// Returns the last call with this key, to append a piece to it. A finished call is opened again.
    pub(crate) fn reopen(&mut self, key: &str) -> Option<&mut ToolCall> {
        if !self.open.iter().any(|begun| begun.key == key) {
            let closed = self.finished.iter().rposition(|begun| begun.key == key)?;
            let begun = self.finished.remove(closed);
            self.open.push(begun);
        }
        self.open.iter_mut().rfind(|begun| begun.key == key).map(|begun| &mut begun.call)
    }

    /// Returns the last call with this key; opens an empty one if there is none.
    pub(crate) fn reopen_or_begin(&mut self, key: &str) -> Result<&mut ToolCall, UnreadableAnswer> {
        if self.reopen(key).is_none() {
            self.begin(PartialCall { key: key.to_owned(), ..PartialCall::default() })?;
        }
        self.reopen(key).ok_or(UnreadableAnswer)
    }

    /// Adds a call that is complete from the start, so that later pieces append to it. Does nothing if a
    /// finished call with this key exists: pieces append to that one.
    pub(crate) fn begin_finished(&mut self, key: String, call: ToolCall) -> Result<(), UnreadableAnswer> {
        if !self.finished.iter().any(|closed| closed.key == key) {
            self.begin(PartialCall { key, call, initial_input: String::new() })?;
            self.finished.extend(self.open.pop());
        }
        Ok(())
    }

    /// Returns the calls that were not reported before, and remembers them.
    ///
    /// `calls` are calls in their final form. `begun` are the same calls as their pieces formed them. One that
    /// does not fit any of `calls` is returned too, since a client that assembles pieces would act on it.
    pub(crate) fn take_unreported(
        &mut self,
        begun: Vec<ToolCall>,
        calls: Vec<ToolCall>,
    ) -> Result<Vec<ToolCall>, UnreadableAnswer> {
        let calls: Vec<ToolCall> = calls.into_iter().map(with_default_input).collect();
        let begun = begun.into_iter().filter(|begun| !calls.iter().any(|call| is_continuation(begun, call)));
        let mut news = Vec::new();
        for call in begun.collect::<Vec<_>>().into_iter().chain(calls) {
            if !self.reported.contains(&call) {
                if self.reported.len() >= MAX_CALLS {
                    return Err(UnreadableAnswer);
                }
                self.reported.push(call.clone());
                news.push(call);
            }
        }
        Ok(news)
    }
}

impl PartialCall {
    /// Returns the call with its final input.
    fn finished_call(&self) -> ToolCall {
        let mut call = self.call.clone();
        if call.input.is_empty() {
            call.input.clone_from(&self.initial_input);
        }
        with_default_input(call)
    }
}

/// Returns true if `call` is the final form of `begun`. Some vendors leave out the id or name at the beginning.
fn is_continuation(begun: &ToolCall, call: &ToolCall) -> bool {
    let fits = |begun: &str, whole: &str| begun.is_empty() || begun == whole;
    fits(&begun.id, &call.id)
        && fits(&begun.name, &call.name)
        && (begun.input == EMPTY_INPUT || begun.input == call.input)
}

/// Returns an index that ties pieces together; `None` if the member is missing or null.
///
/// # Errors
/// [`UnreadableAnswer`] for a value of another type: clients differ in how they tie such pieces together.
pub(crate) fn part_index(value: Option<Value<'_>>) -> Result<Option<u64>, UnreadableAnswer> {
    value
        .filter(|value| !value.is_null())
        .map(|value| value.unsigned_integer().ok_or(UnreadableAnswer))
        .transpose()
}

/// Input of a tool without parameters: a stream sends none at all, and an empty object is meant.
pub(crate) const EMPTY_INPUT: &str = "{}";

/// Returns the call, with [`EMPTY_INPUT`] in place of an empty input.
fn with_default_input(mut call: ToolCall) -> ToolCall {
    if call.input.is_empty() {
        call.input.push_str(EMPTY_INPUT);
    }
    call
}
