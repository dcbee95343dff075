//! An answer under an envelope: what asks for a tool is held back until the tool is decided on.
//!
//! A stream goes on as it comes, but for what belongs to a tool's call; an answer in one piece is held until it is whole. A client
//! gets what was allowed, or its vendor's own shape of an error in its place.

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
use reenact_wire::{Endpoint, ToolCall, refusal};
use tokio::runtime::Handle as Runtime;
use tokio::sync::{mpsc, watch};

use super::ahead;
use super::flow::{Burst, Flow};
use super::observed::{failed, header_list};
use crate::line::{Busy, LineState};
use crate::outgoing::Cut;

/// Everything that it takes to watch over one answer.
pub(super) struct Watch {
    pub(super) gate: Arc<PolicyGate>,
    pub(super) upstream: Flow,
    pub(super) exchange: ExchangeHandle,
    pub(super) capture: Arc<Capture>,
    pub(super) endpoint: Endpoint,
    /// Closed when the gateway stops.
    pub(super) over: watch::Receiver<()>,
    /// How long what nobody gets is listened to after that.
    pub(super) linger: Duration,
}

/// Hands pieces to a client.
type Sender = mpsc::Sender<Piece>;

/// A piece, or that there will be no more though it is not over.
type Piece = Result<Frame<Bytes>, Cut>;

/// Why the rest of a stream is not handed on.
enum Stop {
    Refused(Refused),
    /// There is nobody any more who could get it.
    Gone,
}

/// What came of an answer in one piece.
pub(super) enum Whole {
    /// It may be handed on.
    Allowed(Bytes),
    /// It may not.
    Refused(Refused),
}

impl Watch {
    /// Reads an answer to its end, and has it decided on. What broke off is not handed on at all: half a document is nothing.
    pub(super) async fn whole(mut self, decode: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Result<Whole, Cut> {
        let unsent = Unsent(Some(&self.exchange));
        let mut body = Vec::new();
        let mut is_kept = true;
        // What no record takes nobody can decide on: its end is not waited for.
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
        let told = told.and_then(|body| gate::told(self.endpoint, &body));
        if let Ok(told) = &told {
            self.exchange.with(|exchange| exchange.counted(told.usage));
        }
        let ruling = match told {
            Ok(told) if told.calls.is_empty() => Ok(()),
            Ok(told) => {
                // What is decided on comes before the decision.
                self.exchange.with(ExchangeRecorder::log);
                self.gate.admit_tools(&told.calls).await
            }
            Err(gate::Unreadable) => Err(Refused::unreadable()),
        };
        unsent.forget();
        let whole = match ruling {
            Ok(()) => Whole::Allowed(Bytes::from(body)),
            Err(refused) => {
                let instead = super::refused_body(self.endpoint, &refused);
                self.exchange.with(|exchange| exchange.withhold(0, instead.as_bytes()));
                Whole::Refused(refused)
            }
        };
        finish(&self.exchange, EndCause::Eof).await;
        Ok(whole)
    }

    /// Hands a stream on as it comes, from its head on.
    pub(super) async fn stream(self, line: Arc<LineState>, busy: Busy) -> Guarded {
        // Few are in between: a client that does not read slows its vendor down, as it would without us.
        let (sender, pieces) = mpsc::channel(4);
        let mark = line.mark();
        let (exchange, is_at_hand) = (self.exchange.share(), self.upstream.is_at_hand());
        let watching: Option<Watching> = Some(Box::pin(self.run(sender)));
        let (ahead, runtime) = (None, Runtime::current());
        let mut stream = Guarded { watching, pieces, ahead, line, mark, is_cut: false, runtime, _busy: busy };
        stream.ahead = ahead::look(is_at_hand, |cx| stream.poll_piece(cx)).await;
        exchange.log();
        // The line may have been flushed meanwhile, with nothing on it: the head must leave yet.
        stream.mark = stream.line.mark();
        stream
    }

    async fn run(mut self, sender: Sender) {
        let mut reader = SseReader::new();
        let mut hold = Hold { filter: Gate::new(self.endpoint), held: Vec::new(), delivered: 0 };
        // What is held back is read to its end all the same, without anyone who gets it: the record has it, and its cost.
        let mut sender = Some(sender);
        let mut over = std::pin::pin!(over(self.over.clone(), self.linger));
        loop {
            let Burst { frames, end } = tokio::select! {
                // Whoever has left is noticed before anything that came meanwhile: nothing is decided for them, or said to have
                // reached them.
                biased;
                // The client has left, and the exchange with it.
                () = gone(sender.as_ref()) => return self.keep_back(&hold),
                () = &mut over => return self.keep_back(&hold),
                burst = self.upstream.next() => burst,
            };
            let mut events = Vec::new();
            let (settles, is_kept) = self.exchange.with(|exchange| {
                let mut settles = false;
                for frame in frames {
                    match frame.into_data() {
                        Ok(piece) => {
                            settles |= exchange.piece(&piece);
                            if sender.is_some() && exchange.is_kept() {
                                events.append(&mut reader.push(&piece));
                            }
                        }
                        Err(frame) => {
                            exchange.trailers(header_list(&frame.into_trailers().unwrap_or_default()));
                        }
                    }
                }
                // What is decided on comes before the decision, and what is handed on before it is.
                exchange.log();
                (settles, exchange.is_kept())
            });
            if let Some(client) = &sender {
                // What no record takes is not handed on.
                let (ready, stop) = match is_kept {
                    true => self.pass(events, &mut hold, client).await,
                    false => (Vec::new(), Some(Stop::Refused(Refused::unreadable()))),
                };
                if stop.is_none() {
                    self.exchange.with(|exchange| exchange.counted(hold.filter.usage()));
                    if settles {
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

    /// What of the next events may be handed on; and why the rest may not.
    async fn pass(&self, events: Vec<SseEvent>, hold: &mut Hold, client: &Sender) -> (Vec<u8>, Option<Stop>) {
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

    /// Has tools decided on, as long as there is someone to call them.
    async fn decide(&self, calls: &[ToolCall], client: &Sender) -> Result<(), Stop> {
        tokio::select! {
            biased;
            () = client.closed() => Err(Stop::Gone),
            ruling = self.gate.admit_tools(calls) => ruling.map_err(Stop::Refused),
        }
    }

    /// Hands on what may be; ends the stream for its client where it may not go on. False if the client has left.
    async fn hand_on(
        &self,
        ready: Vec<u8>,
        stop: Option<Stop>,
        hold: &mut Hold,
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
            let (kind, message) = super::refused_words(&refused);
            let instead = refusal::event(self.endpoint, kind, super::DENIED, &message);
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

    /// The record says how much of what came was handed on.
    fn keep_back(&self, hold: &Hold) {
        self.exchange.with(|exchange| exchange.withhold(hold.delivered, b""));
    }
}

/// When the client has left; never, if it has its last piece.
async fn gone(client: Option<&Sender>) {
    match client {
        Some(client) => client.closed().await,
        None => std::future::pending().await,
    }
}

/// When the run has been over for so long that no more is waited for.
async fn over(mut gateway: watch::Receiver<()>, linger: Duration) {
    // It never changes; it ends.
    let _ = gateway.changed().await;
    tokio::time::sleep(linger).await;
}

/// An answer of which its client has nothing: however it ends, the record says so.
struct Unsent<'e>(Option<&'e ExchangeHandle>);

impl Unsent<'_> {
    /// What becomes of it is told otherwise.
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

/// What of a stream is held back.
struct Hold {
    filter: Gate,
    held: Vec<u8>,
    /// How much was handed on.
    delivered: usize,
}

async fn finish(exchange: &ExchangeHandle, cause: EndCause<'static>) {
    if let Some(written) = exchange.with(|exchange| exchange.finish(cause)) {
        written.await;
    }
}

/// What watches over a stream, to its end.
type Watching = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A stream that is watched over, on its way to its client.
pub(crate) struct Guarded {
    /// Runs where its client is served, so that no piece has to go from one task to another. `None` when it has ended.
    watching: Option<Watching>,
    pieces: mpsc::Receiver<Piece>,
    /// What is there before the head has left.
    ahead: Option<Option<Piece>>,
    line: Arc<LineState>,
    /// Everything up to here has been handed out.
    mark: u64,
    /// It broke off: what came must leave first.
    is_cut: bool,
    runtime: Runtime,
    _busy: Busy,
}

impl Guarded {
    /// The next piece that may be handed on; nothing more is read while there is one.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        if let Some(piece) = self.ahead.take() {
            return Poll::Ready(piece);
        }
        let piece = self.pieces.poll_recv(cx);
        let Some(watching) = self.watching.as_mut().filter(|_| piece.is_pending()) else { return piece };
        if watching.as_mut().poll(cx).is_ready() {
            self.watching = None;
        }
        self.pieces.poll_recv(cx)
    }
}

/// The client has left, or has its last piece: what is still to be done is done without it.
impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some(watching) = self.watching.take() {
            self.pieces.close();
            self.runtime.spawn(watching);
        }
    }
}

impl Body for Guarded {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        let this = self.get_mut();
        if !this.is_cut {
            match ready!(this.poll_piece(cx)) {
                Some(Err(Cut)) => this.is_cut = true,
                piece => {
                    this.mark = this.line.mark();
                    return Poll::Ready(piece);
                }
            }
        }
        ready!(this.line.poll_left(this.mark, cx));
        Poll::Ready(Some(Err(Cut)))
    }
}
