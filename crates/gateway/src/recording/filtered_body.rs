//! An answer under an envelope: the calls of tools in it are held back until they are decided on.
//!
//! A stream passes as it comes, but for the events of a call; a document is held until it is whole. The client gets what was
//! allowed, or an error in its vendor's own shape. [`AnswerFilter`] does the work, [`FilteredBody`] hands out the pieces.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use reenact_capture::observation::EndCause;
use reenact_capture::{Capture, ExchangeHandle, ExchangeRecorder, PolicyGate, Refused};
use reenact_wire::gate::{self, Gate};
use reenact_wire::sse::{SseEvent, SseReader};
use reenact_wire::{Endpoint, ToolCall, Vendor};
use tokio::runtime::Handle as Runtime;
use tokio::sync::{mpsc, watch};

use super::body_batcher::{BodyBatcher, FrameBatch};
use super::first_frame;
use super::observed::{failed, header_list};
use crate::client_socket::{ClientSocketState, InFlight};
use crate::outgoing::Cut;

/// Filters one answer.
pub(super) struct AnswerFilter {
    pub(super) gate: Arc<PolicyGate>,
    pub(super) upstream: BodyBatcher,
    pub(super) exchange: ExchangeHandle,
    pub(super) capture: Arc<Capture>,
    pub(super) endpoint: Endpoint,
    /// Closed when the gateway stops.
    pub(super) over: watch::Receiver<()>,
    /// Time for which an answer that nobody gets is still read after that.
    pub(super) linger: Duration,
}

/// Sends pieces to the body.
type Sender = mpsc::Sender<Piece>;

/// A piece, or a break before the end.
type Piece = Result<Frame<Bytes>, Cut>;

/// Reason why the rest of a stream is not handed on.
enum Stop {
    Refused(Refused),
    /// The client has left.
    Gone,
}

/// The decision on a document.
pub(super) enum Whole {
    /// The document may be handed on.
    Allowed(Bytes),
    /// The document may not be handed on.
    Refused(Refused),
}

impl AnswerFilter {
    /// Reads a document to its end, and has it decided on. One that broke off is not handed on at all.
    pub(super) async fn whole(mut self, decode: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Result<Whole, Cut> {
        let unsent = Unsent(Some(&self.exchange));
        let mut body = Vec::new();
        let mut is_kept = true;
        // A body that the record does not take cannot be decided on: its end is not waited for.
        let mut end = None;
        while is_kept && end.is_none() {
            let burst = self.upstream.next().await;
            end = burst.end;
            is_kept = self.exchange.with(|exchange| {
                for frame in burst.frames {
                    match frame.into_data() {
                        Ok(piece) => {
                            exchange.piece(&piece);
                            body.extend_from_slice(&piece);
                        }
                        Err(frame) => {
                            exchange.trailers(header_list(&frame.into_trailers().unwrap_or_default()));
                        }
                    }
                }
                exchange.is_kept()
            });
        }
        if let Some(Err(failure)) = end {
            drop(unsent);
            finish(&self.exchange, failed(&failure)).await;
            return Err(Cut);
        }
        let told = decode(&body).filter(|_| is_kept).ok_or(gate::Unreadable);
        let mut told = told.and_then(|body| gate::told(self.endpoint, &body));
        let call_ids = self.exchange.with(|exchange| exchange.call_ids());
        if let (Ok(told), Some(mut call_ids)) = (&mut told, call_ids) {
            call_ids.fill(&mut told.calls);
        }
        if let Ok(told) = &told {
            self.exchange.with(|exchange| exchange.counted(told.usage));
        }
        let ruling = match told {
            Ok(told) if told.calls.is_empty() => Ok(()),
            Ok(told) => {
                // The log has the calls before the decision on them.
                self.exchange.with(ExchangeRecorder::log);
                self.gate.admit_tools(&told.calls).await
            }
            Err(gate::Unreadable) => Err(Refused::unreadable()),
        };
        unsent.forget();
        let whole = match ruling {
            Ok(()) => Whole::Allowed(Bytes::from(body)),
            Err(refused) => {
                let vendor = self.endpoint.vendor().unwrap_or(Vendor::OPENAI);
                let instead = super::denial(&refused).body(vendor);
                self.exchange.with(|exchange| exchange.withhold(0, instead.as_bytes()));
                Whole::Refused(refused)
            }
        };
        finish(&self.exchange, EndCause::Eof).await;
        Ok(whole)
    }

    /// Starts to hand a stream on.
    pub(super) async fn stream(self, socket: Arc<ClientSocketState>, in_flight: InFlight) -> FilteredBody {
        // A short channel: a client that does not read slows its vendor down, as it would without us.
        let (sender, pieces) = mpsc::channel(4);
        let flushes = socket.flushes();
        let (exchange, is_at_hand) = (self.exchange.share(), self.upstream.is_at_hand());
        let filtering: Option<Filtering> = Some(Box::pin(self.run(sender)));
        let (ahead, runtime) = (None, Runtime::current());
        let mut stream = FilteredBody {
            filtering,
            pieces,
            ahead,
            socket,
            flushes,
            is_cut: false,
            runtime,
            _in_flight: in_flight,
        };
        stream.ahead = first_frame::poll_first_frame(is_at_hand, |cx| stream.poll_piece(cx)).await;
        exchange.log();
        // The socket may have been flushed meanwhile, with nothing on it: the head must leave yet.
        stream.flushes = stream.socket.flushes();
        stream
    }

    async fn run(mut self, sender: Sender) {
        let mut reader = SseReader::new();
        let call_ids = self.exchange.with(|exchange| exchange.call_ids());
        let filter = Gate::new(self.endpoint).identifying(call_ids);
        let mut hold = HeldBack { filter, held: Vec::new(), delivered: 0 };
        // A stream that was stopped is read to its end all the same, for the record and its cost; `sender` is `None` then.
        let mut sender = Some(sender);
        let mut over = std::pin::pin!(over(self.over.clone(), self.linger));
        loop {
            let FrameBatch { frames, end } = tokio::select! {
                // A client that left is noticed before anything that came meanwhile: nothing is decided for it, or said to have
                // reached it.
                biased;
                // The client has left, and the exchange with it.
                () = gone(sender.as_ref()) => return self.keep_back(&hold),
                () = &mut over => return self.keep_back(&hold),
                burst = self.upstream.next() => burst,
            };
            let mut events = Vec::new();
            let (is_done, is_kept) = self.exchange.with(|exchange| {
                let mut is_done = false;
                for frame in frames {
                    match frame.into_data() {
                        Ok(piece) => {
                            is_done |= exchange.piece(&piece);
                            if sender.is_some() && exchange.is_kept() {
                                events.append(&mut reader.push(&piece));
                            }
                        }
                        Err(frame) => {
                            exchange.trailers(header_list(&frame.into_trailers().unwrap_or_default()));
                        }
                    }
                }
                // The log has the calls before the decision on them, and bytes before they are handed on.
                exchange.log();
                (is_done, exchange.is_kept())
            });
            if let Some(client) = &sender {
                // Bytes that the record does not take are not handed on.
                let (ready, stop) = match is_kept {
                    true => self.pass(events, &mut hold, client).await,
                    false => (Vec::new(), Some(Stop::Refused(Refused::unreadable()))),
                };
                if stop.is_none() {
                    self.exchange.with(|exchange| exchange.counted(hold.filter.usage()));
                    if is_done {
                        self.capture.stream_done(&self.exchange.share());
                    }
                }
                if !self.hand_on(ready, stop, &mut hold, &mut sender).await {
                    return;
                }
            }
            match end {
                None => {}
                Some(Ok(())) => break,
                Some(Err(failure)) => {
                    if let Some(sender) = sender {
                        self.keep_back(&hold);
                        finish(&self.exchange, failed(&failure)).await;
                        let _ = sender.send(Err(Cut)).await;
                    } else {
                        finish(&self.exchange, failed(&failure)).await;
                    }
                    return;
                }
            }
        }
        if let Some(client) = &sender {
            let rest = reader.finish();
            self.exchange.with(ExchangeRecorder::uncounted);
            let (mut ready, mut stop) = self.pass(rest, &mut hold, client).await;
            if stop.is_none() {
                self.exchange.with(|exchange| exchange.counted(hold.filter.usage()));
            }
            let open = std::mem::replace(&mut hold.filter, Gate::new(self.endpoint)).finish();
            if stop.is_none() && !open.is_empty() {
                match self.decide(&open, client).await {
                    Ok(()) => ready.append(&mut hold.held),
                    Err(stopped) => stop = Some(stopped),
                }
            }
            if !self.hand_on(ready, stop, &mut hold, &mut sender).await {
                return;
            }
        }
        finish(&self.exchange, EndCause::Eof).await;
    }

    /// Returns the part of the next events that may be handed on, and why the rest may not.
    async fn pass(
        &self,
        events: Vec<SseEvent>,
        hold: &mut HeldBack,
        client: &Sender,
    ) -> (Vec<u8>, Option<Stop>) {
        let mut ready = Vec::new();
        for event in events {
            hold.held.extend_from_slice(&event.raw);
            let calls = match hold.filter.take(&event) {
                Ok(calls) => calls,
                Err(gate::Unreadable) => return (ready, Some(Stop::Refused(Refused::unreadable()))),
            };
            if !calls.is_empty()
                && let Err(stop) = self.decide(&calls, client).await
            {
                return (ready, Some(stop));
            }
            if !hold.filter.is_open() {
                ready.append(&mut hold.held);
            }
        }
        (ready, None)
    }

    /// Has tools decided on, as long as the client is there to call them.
    async fn decide(&self, calls: &[ToolCall], client: &Sender) -> Result<(), Stop> {
        tokio::select! {
            biased;
            () = client.closed() => Err(Stop::Gone),
            ruling = self.gate.admit_tools(calls) => ruling.map_err(Stop::Refused),
        }
    }

    /// Hands bytes on, and ends the stream for its client if it is stopped. Returns false if the client has left.
    async fn hand_on(
        &self,
        ready: Vec<u8>,
        stop: Option<Stop>,
        hold: &mut HeldBack,
        sender: &mut Option<Sender>,
    ) -> bool {
        let Some(to) = sender else { return true };
        if matches!(stop, Some(Stop::Gone)) {
            self.keep_back(hold);
            return false;
        }
        let length = ready.len();
        if let Some(Stop::Refused(refused)) = stop {
            hold.delivered += length;
            let instead = super::denial(&refused).event(self.endpoint);
            self.exchange.with(|exchange| exchange.withhold(hold.delivered, instead.as_bytes()));
            if !ready.is_empty() {
                let _ = to.send(Ok(Frame::data(Bytes::from(ready)))).await;
            }
            let _ = to.send(Ok(Frame::data(Bytes::from(instead)))).await;
            *sender = None;
        } else if length > 0 {
            if to.send(Ok(Frame::data(Bytes::from(ready)))).await.is_err() {
                self.keep_back(hold);
                return false;
            }
            hold.delivered += length;
        }
        true
    }

    /// Records how much of the body was handed on.
    fn keep_back(&self, hold: &HeldBack) {
        self.exchange.with(|exchange| exchange.withhold(hold.delivered, b""));
    }
}

/// Ready when the client has left; never if it has its last piece.
async fn gone(client: Option<&Sender>) {
    match client {
        Some(client) => client.closed().await,
        None => std::future::pending().await,
    }
}

/// Ready when the run has been over for `linger`.
async fn over(mut gateway: watch::Receiver<()>, linger: Duration) {
    // The value never changes; the channel closes.
    let _ = gateway.changed().await;
    tokio::time::sleep(linger).await;
}

/// An answer of which its client has nothing. Records that when it is dropped, however the answer ended.
struct Unsent<'e>(Option<&'e ExchangeHandle>);

impl Unsent<'_> {
    /// Leaves the record as it is.
    fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        if let Some(exchange) = self.0 {
            exchange.with(|exchange| exchange.withhold(0, b""));
        }
    }
}

/// The part of a stream that is held back.
struct HeldBack {
    filter: Gate,
    held: Vec<u8>,
    /// Bytes handed on so far.
    delivered: usize,
}

async fn finish(exchange: &ExchangeHandle, cause: EndCause<'static>) {
    if let Some(written) = exchange.with(|exchange| exchange.finish(cause)) {
        written.await;
    }
}

/// The work of a filter, to the end of its stream.
type Filtering = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A filtered stream on its way to its client.
pub(crate) struct FilteredBody {
    /// Runs in the task that serves the client, so that no piece goes from one task to another. `None` when it has ended.
    filtering: Option<Filtering>,
    pieces: mpsc::Receiver<Piece>,
    /// The piece that was there before the head left.
    ahead: Option<Option<Piece>>,
    socket: Arc<ClientSocketState>,
    /// Number of flushes when the last piece was handed out.
    flushes: u64,
    /// True if the stream broke off: pieces must be flushed first.
    is_cut: bool,
    runtime: Runtime,
    _in_flight: InFlight,
}

impl FilteredBody {
    /// Polls for the next piece. Nothing more is read while there is one.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        if let Some(piece) = self.ahead.take() {
            return Poll::Ready(piece);
        }
        let piece = self.pieces.poll_recv(cx);
        let Some(filtering) = self.filtering.as_mut().filter(|_| piece.is_pending()) else { return piece };
        if filtering.as_mut().poll(cx).is_ready() {
            self.filtering = None;
        }
        self.pieces.poll_recv(cx)
    }
}

/// The client has left, or has its last piece: the rest of the work goes on in a task of its own.
impl Drop for FilteredBody {
    fn drop(&mut self) {
        if let Some(filtering) = self.filtering.take() {
            self.pieces.close();
            self.runtime.spawn(filtering);
        }
    }
}

impl Body for FilteredBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        let this = self.get_mut();
        if !this.is_cut {
            match ready!(this.poll_piece(cx)) {
                Some(Err(Cut)) => this.is_cut = true,
                piece => {
                    this.flushes = this.socket.flushes();
                    return Poll::Ready(piece);
                }
            }
        }
        ready!(this.socket.poll_flushed_after(this.flushes, cx));
        Poll::Ready(Some(Err(Cut)))
    }
}
