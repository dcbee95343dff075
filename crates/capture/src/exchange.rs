//! One exchange while it runs: a front end tells what came of the answer; this logs it, and has it recorded once.

use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use reenact_record::observation::{Admission, EndCause, ExchangeEnd, HeaderList, Observation};
use reenact_record::warden::Money;
use reenact_wire::call_ids::CallIds;
use reenact_wire::{Endpoint, Usage, Vendor};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::decode;
use crate::event_builder::{cost, is_spooled};
use crate::policy_gate::PolicyGate;
use crate::queue::Written;
use crate::reading::{self, AnswerReading, Reading, is_stream, is_success};
use crate::recorder_thread::{RecorderThread, lock};
use crate::stream_end::StreamEnd;

/// Held by everything that may still record something; a front end waits until nobody holds one.
pub type Running = mpsc::Sender<std::convert::Infallible>;

/// Records one exchange.
pub struct ExchangeRecorder {
    recorder: Arc<RecorderThread>,
    number: u64,
    endpoint: Option<Endpoint>,
    begun: Instant,
    head: Option<Head>,
    /// Observations that are not in the log yet, as all must be before they are handed on.
    pending: Vec<Observation<'static>>,
    /// Bytes of the body that are kept.
    kept: usize,
    /// Longest body that is kept, in bytes.
    max_body_bytes: usize,
    is_too_long: bool,
    admitted: Option<Admitted>,
    is_withheld: bool,
    stream: Option<StreamEnd>,
    is_over: bool,
    /// The wait that the end of a stream inherits if it was recorded before its end came.
    ending: Option<Written>,
    /// True if bytes came after the exchange was over.
    is_late: bool,
    _running: Running,
}

/// The facts of a head that matter here.
struct Head {
    status: u16,
    is_stream: bool,
    codings: Vec<String>,
    /// True if a long body goes to a spool, so that its vendor may have to wait.
    is_spooled: bool,
}

/// An exchange under an envelope.
struct Admitted {
    gate: Arc<PolicyGate>,
    admission: Admission<'static>,
    vendor: Vendor,
    /// Ids for tool calls of the answer that come without one.
    call_ids: Option<CallIds>,
    /// Pieces of a model's answer, shared with the queue, for the case that nobody counts along.
    pieces: Vec<Bytes>,
    usage: UsageSoFar,
}

/// The tokens of an answer that was read on its way.
enum UsageSoFar {
    /// More has come than was counted.
    Unknown,
    /// All that has come is counted.
    Counted(Option<Usage>),
}

impl ExchangeRecorder {
    pub(crate) fn new(
        recorder: Arc<RecorderThread>,
        number: u64,
        endpoint: Option<Endpoint>,
        begun: Instant,
        max_body_bytes: usize,
        running: Running,
    ) -> Self {
        Self {
            recorder,
            number,
            endpoint,
            begun,
            head: None,
            pending: Vec::new(),
            kept: 0,
            max_body_bytes,
            is_too_long: false,
            admitted: None,
            is_withheld: false,
            stream: None,
            is_over: false,
            ending: None,
            is_late: false,
            _running: running,
        }
    }

    /// Sets the decision under which the request goes out.
    pub(crate) fn admit(
        &mut self,
        gate: Arc<PolicyGate>,
        admission: Admission<'static>,
        vendor: Vendor,
        call_ids: Option<CallIds>,
    ) {
        let (pieces, usage) = (Vec::new(), UsageSoFar::Unknown);
        self.admitted = Some(Admitted { gate, admission, vendor, call_ids, pieces, usage });
    }

    /// Returns the ids for tool calls of the answer that come without one.
    pub fn call_ids(&self) -> Option<CallIds> {
        self.admitted.as_ref()?.call_ids.clone()
    }

    /// Tells that the rest of the answer is held back: its client gets `instead` behind `delivered` bytes of the body.
    pub fn withhold(&mut self, delivered: usize, instead: &[u8]) {
        let has_all = instead.is_empty() && delivered >= self.kept;
        if has_all || self.is_over || std::mem::replace(&mut self.is_withheld, true) {
            return;
        }
        let instead = instead.to_vec().into();
        self.pending.push(Observation::Withheld { delivered: delivered as u64, instead });
        self.log();
    }

    /// Tells the usage in all that came so far.
    pub fn counted(&mut self, usage: Option<Usage>) {
        if let Some(admitted) = &mut self.admitted {
            admitted.usage = UsageSoFar::Counted(usage);
        }
    }

    /// Tells that there is more than was counted.
    pub fn uncounted(&mut self) {
        if let Some(admitted) = &mut self.admitted {
            admitted.usage = UsageSoFar::Unknown;
        }
    }

    /// Returns true if all that came so far is kept.
    pub fn is_kept(&self) -> bool {
        !self.is_too_long
    }

    /// Takes the head of the answer.
    pub fn head(&mut self, status: u16, version: &'static str, headers: HeaderList<'static>) {
        let (is_stream, codings) = (is_stream(&headers), decode::codings(&headers));
        if is_stream {
            self.stream = StreamEnd::new(self.endpoint, &codings, self.max_body_bytes);
        }
        let is_spooled = is_spooled(self.endpoint, self.admitted.is_some(), status, &headers);
        self.head = Some(Head { status, is_stream, codings, is_spooled });
        self.pending.push(Observation::Head { status, version: version.into(), headers });
    }

    /// Returns the wait before more of the body is asked for, if the record does not keep up with a long one.
    pub fn backpressure(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let is_spooled = self.head.as_ref().is_some_and(|head| head.is_spooled);
        let recorder = (is_spooled && self.recorder.is_behind()).then(|| Arc::clone(&self.recorder))?;
        Some(async move { recorder.caught_up().await })
    }

    /// Writes all that came into the log. It may be handed on when this returns.
    pub fn log(&mut self) {
        if !self.pending.is_empty() {
            self.recorder.observe(self.number, &mut self.pending);
        }
    }

    /// Takes a piece of the body. Returns true if it ends a stream whose client may act on it once it is handed on.
    pub fn piece(&mut self, piece: &Bytes) -> bool {
        if self.is_over {
            if !std::mem::replace(&mut self.is_late, true) {
                let (what, why) = ("answer body".into(), "it went on after its last event".into());
                self.recorder.job(Observation::Gap { what, why });
            }
            return false;
        }
        if self.is_too_long {
            return false;
        }
        if piece.len() > self.max_body_bytes - self.kept {
            self.is_too_long = true;
            return false;
        }
        self.kept += piece.len();
        if let Some(admitted) = &mut self.admitted {
            admitted.usage = UsageSoFar::Unknown;
            if self.endpoint.is_some_and(Endpoint::calls_a_model) {
                admitted.pieces.push(piece.clone());
            }
        }
        self.pending.push(Observation::Piece { at: self.begun.elapsed(), bytes: piece.clone().into() });
        self.stream.as_mut().is_some_and(|stream| stream.take(piece))
    }

    /// Takes the trailers of the answer.
    pub fn trailers(&mut self, headers: HeaderList<'static>) {
        if !self.is_over {
            self.pending.push(Observation::Trailers { headers });
            self.log();
        }
    }

    /// Has the exchange recorded, unless that was done. Returns the wait before its client may know that it is over.
    pub fn finish(&mut self, cause: EndCause<'static>) -> Option<Written> {
        if std::mem::replace(&mut self.is_over, true) {
            return self.ending.take();
        }
        let reading = self.book_cost();
        // The number of the job is given by the queue.
        let (job, latency) = (0, self.begun.elapsed());
        let end = ExchangeEnd { job, cause, is_too_long: self.is_too_long, latency };
        self.recorder.end(self.number, &mut self.pending, end, reading)
    }

    /// Tells the policy gate the cost of the call: it counts in the next decision. Returns the usage for the record.
    fn book_cost(&mut self) -> Option<Reading> {
        let Admitted { gate, admission, vendor, pieces, usage, .. } = self.admitted.take()?;
        let Some(head) = &self.head else {
            gate.book_cost(&admission, cost(&admission, vendor, None));
            return None;
        };
        if !is_success(head.status) {
            // Vendors do not charge for requests that they refuse.
            gate.book_cost(&admission, Money::default());
            return None;
        }
        let usage = match usage {
            UsageSoFar::Counted(usage) => usage,
            UsageSoFar::Unknown => {
                let body = decode::whole(&head.codings, &pieces.concat(), true, self.max_body_bytes);
                let body = body.unwrap_or_default();
                let answer = reading::answer(self.endpoint, head.status, head.is_stream, &body);
                answer.and_then(|answer| answer.usage)
            }
        };
        gate.book_cost(&admission, cost(&admission, vendor, usage));
        Some(Reading::Answer(AnswerReading { usage }))
    }
}

/// A shared hold on an exchange. If it is dropped before the exchange was ended, the client has left.
pub struct ExchangeHandle(Arc<Mutex<ExchangeRecorder>>);

impl ExchangeHandle {
    pub(crate) fn new(exchange: ExchangeRecorder) -> Self {
        Self(Arc::new(Mutex::new(exchange)))
    }

    /// Calls `act` with the exchange.
    pub fn with<T>(&self, act: impl FnOnce(&mut ExchangeRecorder) -> T) -> T {
        act(&mut lock(&self.0))
    }

    /// Returns a second hold, which does not end the exchange when it is dropped.
    pub fn share(&self) -> SharedExchange {
        SharedExchange(Arc::clone(&self.0))
    }
}

impl Drop for ExchangeHandle {
    fn drop(&mut self) {
        // The client is gone, so nobody waits.
        let _ = lock(&self.0).finish(EndCause::ClientLeft);
    }
}

/// A hold on an exchange that someone else ends.
#[derive(Clone)]
pub struct SharedExchange(Arc<Mutex<ExchangeRecorder>>);

impl SharedExchange {
    /// Writes all that came into the log.
    pub fn log(&self) {
        lock(&self.0).log();
    }
}

/// Streams whose last event was handed out and whose end has not come. Their clients may act on them already.
#[derive(Default)]
pub(crate) struct DoneStreams(Mutex<Vec<Weak<Mutex<ExchangeRecorder>>>>);

impl DoneStreams {
    /// Adds a stream.
    pub(crate) fn add(&self, exchange: &SharedExchange) {
        lock(&self.0).push(Arc::downgrade(&exchange.0));
    }

    /// Ends all of them. Called before a request is recorded, since it may follow from them.
    pub(crate) fn finish(&self) {
        let done = std::mem::take(&mut *lock(&self.0));
        for exchange in done.iter().filter_map(Weak::upgrade) {
            // The queue keeps the order; a wait for the next job is a wait for this one, too.
            let mut exchange = lock(&exchange);
            exchange.ending = exchange.finish(EndCause::StreamDone);
        }
    }
}
