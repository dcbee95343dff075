//! One exchange while it runs. A front end reports the parts of the answer; they are logged at once, and
//! recorded as one event at the end.
//!
//! Start reading at [`ExchangeRecorder::take_piece`] and [`ExchangeRecorder::finish`].

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bytes::Bytes;
use reenact_record::PolicyMode;
use reenact_record::observation::{Admission, EndCause, ExchangeEnd, HeaderList, Observation};
use reenact_record::policy_engine::{Money, PolicyRefusal};
use reenact_wire::call_ids::CallIds;
use reenact_wire::{CostFacts, Endpoint, ToolCall, Usage, Vendor, exchange};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::charge::{AnswerCount, Charge};
use crate::decode;
use crate::event_builder::is_spooled;
use crate::parsed_body::{self, ParsedAnswerBody, ParsedBody, is_scanned, is_stream, is_success};
use crate::policy_gate::{AdmittedCall, AnswerCalls, PolicyGate};
use crate::queue::JobWritten;
use crate::recorder_thread::{RecorderThread, lock};
use crate::stream_end::StreamEndDetector;

/// Channel end that each request in progress holds, from its arrival until its last event is queued. Nothing is ever sent; a
/// front end that shuts down waits until all ends are dropped and the channel is closed.
pub type RecordingGuard = mpsc::Sender<std::convert::Infallible>;

/// Recorder of one exchange.
///
/// Each part of the answer is first pending here, then in the log ([`Self::flush_to_log`]), and only then may
/// it be handed on to the client.
pub struct ExchangeRecorder {
    recorder: Arc<RecorderThread>,
    /// Number of the request's job, which identifies the exchange.
    number: u64,
    /// Interface of the request, if it is known.
    endpoint: Option<Endpoint>,
    /// Time at which the request may leave for its vendor.
    started_at: Instant,
    /// Time for which the answer was held back while its tool calls were decided on.
    held: Duration,
    /// `None` before the head of the answer came.
    head: Option<AnswerHeadInfo>,
    /// Observations that are not in the log yet. They must be logged before the bytes are handed on.
    pending: Vec<Observation<'static>>,
    /// Bytes of the body that are kept so far.
    body_bytes: usize,
    /// Longest body that is kept, in bytes.
    max_body_bytes: usize,
    /// True if the body exceeded `max_body_bytes`; the rest of it is passed on and not kept.
    is_too_long: bool,
    /// `None` if no envelope is enforced, and after the cost was booked.
    enforced: Option<EnforcedExchange>,
    /// True if the client gets less than the vendor sent.
    is_withheld: bool,
    /// Detector of the last event, for streams.
    stream_end: Option<StreamEndDetector>,
    /// True once the end was recorded.
    is_over: bool,
    /// Completion of the end's job, if a stream was recorded as ended before its body ended.
    end_written: Option<JobWritten>,
    /// True if bytes came after the end was recorded. They are a capture gap, noted once.
    has_late_bytes: bool,
    _guard: RecordingGuard,
}

/// Facts from the head of an answer that decide how its body is treated.
struct AnswerHeadInfo {
    status: u16,
    is_stream: bool,
    /// Content codings in order of application.
    codings: Vec<String>,
    /// True if a long body goes to a spool, so that backpressure on the vendor is possible.
    is_spooled: bool,
}

/// Part of an exchange that exists only under an envelope.
struct EnforcedExchange {
    gate: Arc<PolicyGate>,
    /// Decision under which the request went out.
    admission: Admission<'static>,
    /// Cost that is reserved for the call.
    reserved: Money,
    vendor: Vendor,
    /// Ids for tool calls of the answer that come without one.
    call_ids: Option<CallIds>,
    /// Model that the request asks.
    model: String,
    /// Pieces of a model's answer, shared with the queue. They are parsed for their usage if the front end did
    /// not report it.
    pieces: Vec<Bytes>,
    /// Count of all bytes so far, if the front end read them on their way.
    counted: Option<CountSoFar>,
    /// Model that the answer named, if the front end read that.
    answering_model: Option<String>,
}

/// Count of an answer that the front end reads on its way.
#[derive(Clone, Copy)]
struct CountSoFar {
    usage: Option<Usage>,
    text_bytes: usize,
}

impl ExchangeRecorder {
    /// Begins the exchange of request `number`. Its times are counted from now on.
    pub(crate) fn new(
        recorder: Arc<RecorderThread>,
        number: u64,
        endpoint: Option<Endpoint>,
        max_body_bytes: usize,
        guard: RecordingGuard,
    ) -> Self {
        Self {
            recorder,
            number,
            endpoint,
            started_at: Instant::now(),
            held: Duration::ZERO,
            head: None,
            pending: Vec::new(),
            body_bytes: 0,
            max_body_bytes,
            is_too_long: false,
            enforced: None,
            is_withheld: false,
            stream_end: None,
            is_over: false,
            end_written: None,
            has_late_bytes: false,
            _guard: guard,
        }
    }

    /// Sets the decision under which the request goes out.
    pub(crate) fn enforce(&mut self, gate: Arc<PolicyGate>, admitted: AdmittedCall, vendor: Vendor) {
        let AdmittedCall { admission, reserved, call_ids, model } = admitted;
        self.enforced = Some(EnforcedExchange {
            gate,
            admission,
            reserved,
            vendor,
            call_ids,
            model,
            pieces: Vec::new(),
            counted: None,
            answering_model: None,
        });
    }

    /// Counts the times of the exchange from now on: the request leaves.
    pub(crate) fn restart_clock(&mut self) {
        self.started_at = Instant::now();
    }

    /// Returns the time since the request left, without the time for which the answer was held back.
    fn elapsed(&self) -> Duration {
        self.started_at.elapsed().saturating_sub(self.held)
    }

    /// Returns true if the vendor's last count of tokens matters so much that an answer which its client abandons is read
    /// on: the envelope limits spending, and the call has a price.
    pub fn needs_count(&self) -> bool {
        let needs = |admitted: &EnforcedExchange| {
            admitted.gate.limits_spending() && admitted.admission.rates.is_some_and(|rates| !rates.is_free())
        };
        let has_ended = self.stream_end.as_ref().is_some_and(StreamEndDetector::has_ended);
        !self.is_over && !has_ended && self.enforced.as_ref().is_some_and(needs)
    }

    /// Returns the ids for tool calls of the answer that come without one; `None` if the interface has ids for
    /// all calls, or no envelope is enforced.
    pub fn call_ids(&self) -> Option<CallIds> {
        self.enforced.as_ref()?.call_ids.clone()
    }

    /// Records that the rest of the answer is withheld: its client gets `instead` after the first `delivered`
    /// bytes of the body.
    ///
    /// Only the first call counts. A call that withholds nothing is ignored.
    pub fn withhold(&mut self, delivered: usize, instead: &[u8]) {
        let has_all = instead.is_empty() && delivered >= self.body_bytes;
        if has_all || self.is_over || std::mem::replace(&mut self.is_withheld, true) {
            return;
        }
        let instead = instead.to_vec().into();
        self.pending.push(Observation::Withheld { delivered: delivered as u64, instead });
        self.flush_to_log();
    }

    /// Sets the facts that were found in all bytes so far.
    pub fn set_facts(&mut self, facts: CostFacts<'_>) {
        if let Some(admitted) = &mut self.enforced {
            let CostFacts { model, usage, text_bytes } = facts;
            admitted.counted = Some(CountSoFar { usage, text_bytes });
            if admitted.answering_model.is_none() {
                admitted.answering_model = model.map(str::to_owned);
            }
        }
    }

    /// Marks the count as unknown, because bytes came that were not counted.
    pub fn clear_count(&mut self) {
        if let Some(admitted) = &mut self.enforced {
            admitted.counted = None;
        }
    }

    /// Returns true if all bytes so far are kept, that is, if the body is not longer than the limit.
    pub fn is_within_limit(&self) -> bool {
        !self.is_too_long
    }

    /// Takes the head of the answer. `version` is the HTTP version as records write it, such as `1.1`.
    pub fn take_head(&mut self, status: u16, version: &'static str, headers: HeaderList<'static>) {
        self.push_head(status, version, headers, false);
    }

    /// Takes the head of an answer that comes from the record of another run: no vendor was asked.
    pub fn take_recorded_head(&mut self, status: u16, headers: HeaderList<'static>) {
        self.push_head(status, "1.1", headers, true);
    }

    fn push_head(
        &mut self,
        status: u16,
        version: &'static str,
        headers: HeaderList<'static>,
        is_from_record: bool,
    ) {
        let (is_stream, codings) = (is_stream(&headers), decode::codings(&headers));
        if is_stream {
            self.stream_end = StreamEndDetector::new(self.endpoint, &codings, self.max_body_bytes);
        }
        let is_spooled = is_spooled(self.endpoint, self.enforced.is_some(), status, &headers);
        self.head = Some(AnswerHeadInfo { status, is_stream, codings, is_spooled });
        let version = version.into();
        self.pending.push(Observation::AnswerHead { status, version, headers, is_from_record });
    }

    /// Returns a future to wait for before more of the body is read; `None` if there is no need to wait.
    ///
    /// Only bodies that go to a spool wait, while the recorder thread does not keep up. Streams and successful
    /// answers of models never wait, because they stay in memory.
    pub fn backpressure(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let is_spooled = self.head.as_ref().is_some_and(|head| head.is_spooled);
        let recorder = (is_spooled && self.recorder.is_behind()).then(|| Arc::clone(&self.recorder))?;
        Some(async move { recorder.wait_until_caught_up().await })
    }

    /// Writes all pending observations to the log, by one write. The bytes may be handed on when this returns.
    pub fn flush_to_log(&mut self) {
        if !self.pending.is_empty() {
            self.recorder.enqueue_pieces(self.number, &mut self.pending);
        }
    }

    /// Takes a piece of the body. Returns true if it contains the last event of a stream, on which the client
    /// may act once the piece is handed on.
    pub fn take_piece(&mut self, piece: &Bytes) -> bool {
        if self.is_over {
            if !std::mem::replace(&mut self.has_late_bytes, true) {
                let (what, why) = ("answer body".into(), "it went on after its last event".into());
                self.recorder.enqueue(Observation::Gap { what, why });
            }
            return false;
        }
        if self.is_too_long {
            return false;
        }
        if piece.len() > self.max_body_bytes - self.body_bytes {
            self.is_too_long = true;
            return false;
        }
        self.body_bytes += piece.len();
        if let Some(admitted) = &mut self.enforced {
            admitted.counted = None;
            let is_scanned = admitted.gate.mode() == PolicyMode::Warn && is_scanned(self.endpoint);
            if is_scanned || self.endpoint.is_some_and(Endpoint::is_answer_read) {
                admitted.pieces.push(piece.clone());
            }
        }
        self.pending.push(Observation::Piece { at: self.elapsed(), bytes: piece.clone().into() });
        self.stream_end.as_mut().is_some_and(|stream| stream.push(piece))
    }

    /// Takes the trailers of the answer, and writes them to the log.
    pub fn take_trailers(&mut self, headers: HeaderList<'static>) {
        if !self.is_over {
            self.pending.push(Observation::Trailers { headers });
            self.flush_to_log();
        }
    }

    /// Queues the end of the exchange, unless that was done before. The recorder thread then writes its events.
    ///
    /// Returns the completion to wait for before the client may learn that the answer is over; `None` if the
    /// log already makes the end durable enough. Under an envelope the cost of the call is booked first, so
    /// that the client's next request is decided on with it.
    pub fn finish(&mut self, cause: EndCause<'static>) -> Option<JobWritten> {
        if std::mem::replace(&mut self.is_over, true) {
            return self.end_written.take();
        }
        self.note_tool_calls(&cause);
        let is_another = self.note_answering_model();
        let parsed_body = self.book_cost(&cause, is_another);
        // The queue sets the number of the job.
        let (job, latency) = (0, self.elapsed());
        let end = ExchangeEnd { job, cause, is_too_long: self.is_too_long, latency };
        self.recorder.enqueue_end(self.number, &mut self.pending, end, parsed_body)
    }

    /// Has the tool calls of an answer decided on that was handed on as it came, because denials are not enforced.
    fn note_tool_calls(&self, cause: &EndCause<'_>) {
        let Some(EnforcedExchange { gate, call_ids, pieces, .. }) = &self.enforced else { return };
        let (Some(head), Some(endpoint)) = (&self.head, self.endpoint) else { return };
        if gate.mode() != PolicyMode::Warn || !is_scanned(self.endpoint) {
            return;
        }
        let is_whole = matches!(cause, EndCause::Eof | EndCause::StreamDone);
        let body = decode::decode_whole(&head.codings, &pieces.concat(), !is_whole, self.max_body_bytes);
        let body = body.ok().filter(|_| !self.is_too_long);
        let call_ids = call_ids.clone();
        let (is_success, is_stream) = (is_success(head.status), head.is_stream);
        gate.note_answer(&AnswerCalls::scan(
            endpoint,
            is_success,
            is_stream,
            is_whole,
            body.as_deref(),
            call_ids,
        ));
    }

    /// Has the model judged that answered, if the answer of a model names one. Returns true if it is another than the one that was
    /// asked.
    fn note_answering_model(&self) -> bool {
        let Some(admitted) = &self.enforced else { return false };
        let EnforcedExchange { gate, vendor, model, pieces, counted, answering_model, .. } = admitted;
        let (Some(head), Some(endpoint)) = (&self.head, self.endpoint) else { return false };
        if !is_success(head.status) || !endpoint.calls_a_model() {
            return false;
        }
        let read_again = || {
            // What could be decoded of an answer that broke off may name the model, too.
            let body = decode::decode_whole(&head.codings, &pieces.concat(), true, self.max_body_bytes);
            exchange::answering_model(endpoint, head.is_stream, &body.unwrap_or_default())
        };
        let is_read = answering_model.is_some() || counted.is_some();
        let answering = if is_read { answering_model.clone() } else { read_again() };
        answering.is_some_and(|answering| {
            gate.note_answering_model(*vendor, model, &answering);
            !vendor.is_same_model(model, &answering)
        })
    }

    /// Books the cost of the call with the policy gate, so that it counts in the next decision. Returns the
    /// count for the record; `None` without an envelope. `is_another` is true if another model answered than was asked.
    fn book_cost(&mut self, cause: &EndCause<'_>, is_another: bool) -> Option<ParsedBody> {
        let EnforcedExchange { gate, admission, reserved, vendor, pieces, counted, .. } =
            self.enforced.take()?;
        let count = self.answer_count(cause, counted, &pieces);
        // Tokens of another model have prices of their own.
        let count = if is_another { count.as_estimate() } else { count };
        if let Some(charge) = Charge::of(&admission, vendor, self.endpoint, count) {
            gate.book_cost(reserved, &charge);
        }
        Some(ParsedBody::Answer(ParsedAnswerBody { count }))
    }

    /// Returns the tokens of the answer: as they were counted on the way, or else as its pieces tell.
    fn answer_count(
        &self,
        cause: &EndCause<'_>,
        counted: Option<CountSoFar>,
        pieces: &[Bytes],
    ) -> AnswerCount {
        let head = match &self.head {
            None if cause.is_unsent() => return AnswerCount::Nothing,
            None => return AnswerCount::UNANSWERED,
            // Vendors do not charge for requests that they refuse.
            Some(head) if !is_success(head.status) => return AnswerCount::Nothing,
            Some(head) => head,
        };
        // The end of a stream is its last event: the bytes may end before it.
        let is_whole = match head.is_stream {
            true => self.stream_end.as_ref().is_some_and(StreamEndDetector::is_whole),
            false => *cause == EndCause::Eof && !self.is_too_long,
        };
        if let Some(CountSoFar { usage, text_bytes }) = counted {
            return AnswerCount::of_parts(usage, text_bytes, is_whole);
        }
        let body = decode::decode_whole(&head.codings, &pieces.concat(), true, self.max_body_bytes);
        let body = body.unwrap_or_default();
        parsed_body::answer_count(self.endpoint, head.status, head.is_stream, is_whole, &body)
    }
}

/// Owner of a running exchange. If it is dropped before the exchange was ended, the client has disconnected,
/// and the record says so.
pub struct ExchangeHandle(Arc<Mutex<ExchangeRecorder>>);

impl ExchangeHandle {
    pub(crate) fn new(exchange: ExchangeRecorder) -> Self {
        Self(Arc::new(Mutex::new(exchange)))
    }

    /// Calls `act` with the locked recorder of the exchange.
    pub fn with<T>(&self, act: impl FnOnce(&mut ExchangeRecorder) -> T) -> T {
        act(&mut lock(&self.0))
    }

    /// Has the tool calls of the answer decided on. The time that this takes may be that of a person who is asked, and not the
    /// vendor's: it counts in no time of the record.
    ///
    /// # Errors
    /// Returns the refusal of the first call that may not be made.
    pub async fn admit_tools(&self, gate: &PolicyGate, calls: &[ToolCall]) -> Result<(), PolicyRefusal> {
        // Counted also if the client leaves meanwhile, and the future is dropped.
        let _hold = AnswerHold { exchange: &self.0, since: Instant::now() };
        gate.admit_tools(calls).await
    }

    /// Returns a second handle, which does not end the exchange when it is dropped.
    pub fn share(&self) -> SharedExchange {
        SharedExchange(Arc::clone(&self.0))
    }
}

impl Drop for ExchangeHandle {
    fn drop(&mut self) {
        // The client has disconnected, so no answer is delayed by the completion.
        let _ = lock(&self.0).finish(EndCause::ClientDisconnected);
    }
}

/// Answer that is held back. When this is dropped, its time is taken out of the exchange's.
struct AnswerHold<'e> {
    exchange: &'e Mutex<ExchangeRecorder>,
    since: Instant,
}

impl Drop for AnswerHold<'_> {
    fn drop(&mut self) {
        lock(self.exchange).held += self.since.elapsed();
    }
}

/// Handle of an exchange that another handle ends.
#[derive(Clone)]
pub struct SharedExchange(Arc<Mutex<ExchangeRecorder>>);

impl SharedExchange {
    /// Writes all pending observations to the log.
    pub fn flush_to_log(&self) {
        lock(&self.0).flush_to_log();
    }
}

/// Streams whose last event was handed out and whose body has not ended. Their clients may act on them already.
#[derive(Default)]
pub(crate) struct DoneStreams(Mutex<Vec<Weak<Mutex<ExchangeRecorder>>>>);

impl DoneStreams {
    /// Adds a stream.
    pub(crate) fn add(&self, exchange: &SharedExchange) {
        lock(&self.0).push(Arc::downgrade(&exchange.0));
    }

    /// Ends all of these streams. Called before a request is recorded, since the request may be a consequence
    /// of their last events.
    pub(crate) fn finish(&self) {
        let done = std::mem::take(&mut *lock(&self.0));
        for exchange in done.iter().filter_map(Weak::upgrade) {
            // The queue keeps the order, so the wait for the next job includes the wait for this one.
            let mut exchange = lock(&exchange);
            exchange.end_written = exchange.finish(EndCause::StreamDone);
        }
    }
}
