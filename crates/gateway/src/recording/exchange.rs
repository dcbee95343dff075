//! One exchange while it runs: what came of the answer, and when. Whoever ends it first has it written down, once.

use std::sync::{Arc, Mutex};

use http::{HeaderMap, StatusCode, Version};
use reenact_record::wal::Entry;
use reenact_record::warden::Money;
use reenact_wire::call_ids::CallIds;
use reenact_wire::sse::SseReader;
use reenact_wire::{Endpoint, Usage, Vendor};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::guard::Guard;
use super::job::{Answered, Decided, Ended, Head, Logged, Part, Reads, Withheld};
use super::notebook::{cost, is_stream, pairs, read};
use super::scribe::{Scribe, Written, lock};
use crate::decode::{self, Decoder};

/// Held by whatever may still record something; the gateway waits until nobody holds one.
pub(crate) type Running = mpsc::Sender<std::convert::Infallible>;

/// How much of a long body is held before it goes to the scribe.
const PART: usize = 1 << 20;

/// One exchange.
pub(crate) struct Exchange {
    scribe: Arc<Scribe>,
    number: u64,
    endpoint: Option<Endpoint>,
    begun: Instant,
    head: Option<Head>,
    /// The answer's body as it came, as far as it is kept, and was not given to the scribe in parts.
    body: Vec<u8>,
    reads: Reads,
    /// How much of it is in the log, as everything must be that is handed on.
    logged: Logged,
    /// How much came and is kept.
    kept: usize,
    /// Whether it goes to the scribe in parts.
    is_parted: bool,
    /// How much of a body is kept.
    most: usize,
    is_too_long: bool,
    trailers: HeaderMap,
    /// Who decided on it, and what.
    decided: Option<(Arc<Guard>, Decided, Vendor)>,
    /// Ids for tool calls of the answer that come without one.
    call_ids: Option<CallIds>,
    /// What its client got instead of the rest.
    withheld: Option<Withheld>,
    stream: Option<Stream>,
    counted: Counted,
    is_over: bool,
    /// What the end of a settled answer must wait for.
    settling: Option<Written>,
    /// Bytes came after the exchange was over.
    is_late: bool,
    _running: Running,
}

/// Whether somebody has counted along what an answer took.
enum Counted {
    /// It must be read for that when it is over.
    Not,
    /// So much, in all that has come.
    Along(Option<Usage>),
}

/// A stream of events while it comes.
struct Stream {
    /// `None` when there is no coding.
    decoder: Option<Decoder>,
    events: SseReader,
    /// Whether its last event has come.
    has_settled: bool,
}

impl Exchange {
    pub(super) fn new(
        scribe: Arc<Scribe>,
        number: u64,
        endpoint: Option<Endpoint>,
        begun: Instant,
        most: usize,
        running: Running,
    ) -> Self {
        Self {
            scribe,
            number,
            endpoint,
            begun,
            head: None,
            body: Vec::new(),
            reads: Vec::new(),
            logged: Logged::default(),
            kept: 0,
            is_parted: false,
            most,
            is_too_long: false,
            trailers: HeaderMap::new(),
            decided: None,
            call_ids: None,
            withheld: None,
            stream: None,
            counted: Counted::Not,
            is_over: false,
            settling: None,
            is_late: false,
            _running: running,
        }
    }

    /// It goes out under a decision.
    pub(super) fn decided(
        &mut self,
        guard: Arc<Guard>,
        decided: Decided,
        vendor: Vendor,
        call_ids: Option<CallIds>,
    ) {
        self.decided = Some((guard, decided, vendor));
        self.call_ids = call_ids;
    }

    /// Ids for tool calls of the answer that come without one.
    pub(super) fn call_ids(&self) -> Option<CallIds> {
        self.call_ids.clone()
    }

    /// The rest of the answer is held back: its client gets something else behind what it has.
    pub(super) fn withhold(&mut self, delivered: usize, instead: &[u8]) {
        let has_all = instead.is_empty() && delivered >= self.body.len();
        if has_all || self.is_over || self.withheld.is_some() {
            return;
        }
        self.log();
        self.scribe.comes(self.number, &[Entry::Withheld { delivered: delivered as u64, instead }]);
        self.withheld = Some(Withheld { delivered, instead: instead.to_vec() });
    }

    /// Who reads it anyway has counted what it took so far, to its last piece.
    pub(super) fn counted(&mut self, usage: Option<Usage>) {
        self.counted = Counted::Along(usage);
    }

    /// There is more than was counted.
    pub(super) fn uncounted(&mut self) {
        self.counted = Counted::Not;
    }

    /// Whether all that came so far is kept.
    pub(super) fn is_kept(&self) -> bool {
        !self.is_too_long
    }

    /// The answer's head has come. `announced` is how long the body says it will be.
    pub(super) fn head(&mut self, status: StatusCode, version: Version, headers: HeaderMap, announced: u64) {
        let version = name(version);
        if is_stream(&headers) {
            let codings = decode::codings(&headers);
            let decoder =
                if codings.is_empty() { Ok(None) } else { Decoder::new(&codings, self.most).map(Some) };
            // One that cannot be decoded is passed on, and noted when it ends.
            self.stream =
                decoder.ok().map(|decoder| Stream { decoder, events: SseReader::new(), has_settled: false });
        }
        self.body.reserve(usize::try_from(announced).unwrap_or(0).min(self.most).min(PART));
        self.head = Some(Head { status, version, headers });
    }

    /// Lets the body go to the scribe in parts, if it need not be read as a whole: a model's answer must be, and so must a
    /// stream, in which a secret may be cut into pieces that lie apart.
    pub(super) fn may_part(&mut self) {
        let is_read = self.head.as_ref().is_none_or(|head| {
            is_stream(&head.headers)
                || head.status.is_success() && self.endpoint.is_some_and(Endpoint::calls_a_model)
        });
        self.is_parted = !is_read;
    }

    /// What must be waited for before more of the body is asked for.
    pub(super) fn is_behind(&self) -> Option<Arc<Scribe>> {
        (self.is_parted && self.scribe.is_behind()).then(|| Arc::clone(&self.scribe))
    }

    /// What came is about to be handed on: it is in the log then.
    pub(super) fn log(&mut self) {
        let missing = self.logged.missing(self.head.as_ref(), &self.body, &self.reads);
        if !missing.is_empty() {
            self.scribe.comes(self.number, &missing);
        }
        self.logged = Logged { has_head: true, reads: self.reads.len() };
    }

    /// A piece of the body has come. Says whether it ends a stream whose client may act on it once it is handed on.
    pub(super) fn piece(&mut self, piece: &[u8]) -> bool {
        if self.is_over {
            if !std::mem::replace(&mut self.is_late, true) {
                self.scribe.gap("answer body", "it went on after its last event");
            }
            return false;
        }
        if self.is_too_long {
            return false;
        }
        if piece.len() > self.most - self.kept {
            self.is_too_long = true;
            return false;
        }
        let at = self.begun.elapsed();
        self.body.extend_from_slice(piece);
        self.uncounted();
        self.kept += piece.len();
        self.reads.push((at, self.kept));
        if self.is_parted && self.body.len() >= PART {
            self.part();
        }
        let Some(stream) = &mut self.stream else { return false };
        let settles = !stream.has_settled && stream.take(self.endpoint, piece);
        stream.has_settled |= settles;
        settles
    }

    /// Gives what there is of the body to the scribe.
    fn part(&mut self) {
        self.log();
        let Some(head) = &self.head else { return };
        self.scribe.part(Part {
            exchange: self.number,
            codings: decode::codings(&head.headers),
            body: std::mem::take(&mut self.body),
            reads: std::mem::take(&mut self.reads),
        });
        self.logged.reads = 0;
        self.body.reserve(PART);
    }

    pub(super) fn trailers(&mut self, trailers: HeaderMap) {
        self.log();
        self.scribe.comes(self.number, &[Entry::Trailers { headers: pairs(&trailers) }]);
        self.trailers = trailers;
    }

    /// Has the exchange written down, unless that was done; gives what must be waited for.
    pub(super) fn finish(&mut self, ended: Ended) -> Option<Written> {
        if std::mem::replace(&mut self.is_over, true) {
            return self.settling.take();
        }
        self.settle();
        self.scribe.answered(Answered {
            exchange: self.number,
            head: self.head.take(),
            body: std::mem::take(&mut self.body),
            reads: std::mem::take(&mut self.reads),
            logged: self.logged,
            is_too_long: self.is_too_long,
            trailers: std::mem::take(&mut self.trailers),
            withheld: self.withheld.take(),
            ended,
            latency: self.begun.elapsed(),
        })
    }
}

impl Exchange {
    /// Tells the guard what it cost. What comes next is decided on with that.
    fn settle(&self) {
        let Some((guard, decided, vendor)) = &self.decided else { return };
        let actual = match &self.head {
            None => cost(decided, *vendor, None),
            // What a vendor refuses it does not charge for.
            Some(head) if !head.status.is_success() => Money::default(),
            Some(head) => {
                if let Counted::Along(usage) = self.counted {
                    return guard.settle(decided, cost(decided, *vendor, usage));
                }
                let codings = decode::codings(&head.headers);
                let body = decode::whole(&codings, &self.body, true, self.most).unwrap_or_default();
                let answer = read(self.endpoint, head, is_stream(&head.headers), &body);
                cost(decided, *vendor, answer.and_then(|answer| answer.usage))
            }
        };
        guard.settle(decided, actual);
    }
}

impl Stream {
    /// Takes a piece; says whether it brings the last event.
    fn take(&mut self, endpoint: Option<Endpoint>, piece: &[u8]) -> bool {
        let mut decoded = Vec::new();
        let piece = match &mut self.decoder {
            None => piece,
            Some(decoder) => {
                // Damage is noted when the answer ends.
                let _ = decoder.push(piece, &mut decoded);
                &decoded
            }
        };
        let mut is_last = false;
        self.events
            .each(piece, |event| is_last |= endpoint.is_some_and(|endpoint| endpoint.ends_stream(event)));
        is_last
    }
}

fn name(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "0.9",
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        Version::HTTP_3 => "3",
        _ => "1.1",
    }
}

/// A hold on an exchange. When it is let go before the exchange was ended, the client has left.
pub(super) struct Handle(Arc<Mutex<Exchange>>);

impl Handle {
    pub(super) fn new(exchange: Exchange) -> Self {
        Self(Arc::new(Mutex::new(exchange)))
    }

    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Exchange) -> T) -> T {
        act(&mut lock(&self.0))
    }

    pub(super) fn share(&self) -> Arc<Mutex<Exchange>> {
        Arc::clone(&self.0)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // The client is gone: nobody waits.
        let _ = lock(&self.0).finish(Ended::Client);
    }
}

/// Streams whose last event was handed out and whose end has not come. Their clients may act on them.
#[derive(Default)]
pub(super) struct Settled(Mutex<Vec<std::sync::Weak<Mutex<Exchange>>>>);

impl Settled {
    pub(super) fn add(&self, exchange: &Arc<Mutex<Exchange>>) {
        lock(&self.0).push(Arc::downgrade(exchange));
    }

    /// Whoever acts on an answer has seen it: what it saw comes before what it does.
    pub(super) fn finish(&self) {
        let settled = std::mem::take(&mut *lock(&self.0));
        for exchange in settled.iter().filter_map(std::sync::Weak::upgrade) {
            // The scribe keeps the order; whoever waits for what comes next waits for this too.
            let mut exchange = lock(&exchange);
            exchange.settling = exchange.finish(Ended::Settled);
        }
    }
}
