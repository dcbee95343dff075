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
use http_body_util::BodyExt;
use hyper::body::Incoming;
use reenact_record::warden::Refused;
use reenact_wire::gate::{self, Gate};
use reenact_wire::sse::{SseEvent, SseReader};
use reenact_wire::{Endpoint, ToolCall, refusal};
use tokio::sync::mpsc;

use super::exchange::{Exchange, Handle, Settled};
use super::guard::Guard;
use super::job::Ended;
use crate::line::{Busy, LineState};
use crate::outgoing::Cut;
use crate::upstream::Failure;

/// Everything that it takes to watch over one answer.
pub(super) struct Watch {
    pub(super) guard: Arc<Guard>,
    pub(super) upstream: Incoming,
    pub(super) exchange: Handle,
    pub(super) settled: Arc<Settled>,
    pub(super) endpoint: Endpoint,
    pub(super) idle: Duration,
}

/// Hands pieces to a client.
type Sender = mpsc::Sender<Result<Frame<Bytes>, Cut>>;

const GONE: &str = "the agent did not wait for the approval";

/// What came of an answer in one piece.
pub(super) enum Whole {
    /// It may be handed on.
    Allowed(Bytes),
    /// It may not.
    Refused(Refused),
}

/// The next frame, or why there is none.
async fn next(upstream: &mut Incoming, idle: Duration) -> Result<Option<Frame<Bytes>>, Failure> {
    match tokio::time::timeout(idle, upstream.frame()).await {
        Err(_) => Err(Failure::IdleTimeout),
        Ok(None) => Ok(None),
        Ok(Some(Ok(frame))) => Ok(Some(frame)),
        Ok(Some(Err(_))) => Err(Failure::Closed),
    }
}

impl Watch {
    /// Reads an answer to its end, and has it decided on. What broke off is not handed on at all: half a document is nothing.
    pub(super) async fn whole(mut self, decode: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Result<Whole, Cut> {
        let mut body = Vec::new();
        loop {
            match next(&mut self.upstream, self.idle).await {
                Ok(Some(frame)) => {
                    if let Some(piece) = frame.data_ref() {
                        self.exchange.with(|exchange| exchange.piece(piece));
                        body.extend_from_slice(piece);
                    } else if let Ok(trailers) = frame.into_trailers() {
                        self.exchange.with(|exchange| exchange.trailers(trailers));
                    }
                }
                Ok(None) => break,
                Err(failure) => {
                    finish(&self.exchange, failure.into()).await;
                    return Err(Cut);
                }
            }
        }
        let is_kept = self.exchange.with(|exchange| exchange.is_kept());
        let calls = decode(&body).filter(|_| is_kept).ok_or(gate::Unreadable);
        let calls = calls.and_then(|body| gate::calls(self.endpoint, &body));
        let ruling = match calls {
            Ok(calls) if calls.is_empty() => Ok(()),
            Ok(calls) => self.guard.admit_tools(&calls).await,
            Err(gate::Unreadable) => Err(Refused::unreadable()),
        };
        let whole = match ruling {
            Ok(()) => Whole::Allowed(Bytes::from(body)),
            Err(refused) => {
                let instead = super::refused_body(self.endpoint, &refused);
                self.exchange.with(|exchange| exchange.withhold(0, instead.as_bytes()));
                Whole::Refused(refused)
            }
        };
        finish(&self.exchange, Ended::Eof).await;
        Ok(whole)
    }

    /// Hands a stream on as it comes, from a task of its own.
    pub(super) fn stream(self, line: Arc<LineState>, busy: Busy) -> Guarded {
        // Few are in between: a client that does not read slows its vendor down, as it would without us.
        let (sender, pieces) = mpsc::channel(4);
        let mark = line.mark();
        tokio::spawn(self.run(sender));
        Guarded { pieces, line, mark, is_cut: false, _busy: busy }
    }

    async fn run(mut self, sender: Sender) {
        let mut reader = SseReader::new();
        let mut hold = Hold { gate: Gate::new(self.endpoint), held: Vec::new(), delivered: 0 };
        let mut sender = Some(sender);
        loop {
            let frame = match next(&mut self.upstream, self.idle).await {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(failure) => {
                    finish(&self.exchange, failure.into()).await;
                    if let Some(sender) = sender {
                        let _ = sender.send(Err(Cut)).await;
                    }
                    return;
                }
            };
            let Some(piece) = frame.data_ref() else {
                if let Ok(trailers) = frame.into_trailers() {
                    self.exchange.with(|exchange| exchange.trailers(trailers));
                }
                continue;
            };
            if self.exchange.with(|exchange| exchange.piece(piece)) && sender.is_some() {
                self.settled.add(&self.exchange.share());
            }
            // What is held back is read to its end all the same: the record has it, and its cost.
            if sender.is_some() {
                let events = reader.push(piece);
                let pass = self.pass(events, &mut hold, sender.as_ref()).await;
                self.hand_on(pass, &mut hold, &mut sender).await;
            }
            if sender.as_ref().is_some_and(mpsc::Sender::is_closed) {
                // The client has left, and the exchange with it.
                return;
            }
        }
        if sender.is_some() {
            let events = reader.finish();
            let mut pass = self.pass(events, &mut hold, sender.as_ref()).await;
            let open = std::mem::replace(&mut hold.gate, Gate::new(self.endpoint)).finish();
            if let (Ok(ready), false) = (&mut pass, open.is_empty()) {
                match self.decide(&open, sender.as_ref()).await {
                    Ok(()) => ready.append(&mut hold.held),
                    Err(refused) => pass = Err((std::mem::take(ready), refused)),
                }
            }
            self.hand_on(pass, &mut hold, &mut sender).await;
        }
        finish(&self.exchange, Ended::Eof).await;
    }

    /// What of the next events may be handed on; and why the rest may not.
    async fn pass(
        &self,
        events: Vec<SseEvent>,
        hold: &mut Hold,
        client: Option<&Sender>,
    ) -> Result<Vec<u8>, (Vec<u8>, Refused)> {
        let mut ready = Vec::new();
        for event in events {
            let calls = match hold.gate.take(&event) {
                Ok(calls) => calls,
                Err(gate::Unreadable) => return Err((ready, Refused::unreadable())),
            };
            hold.held.extend_from_slice(&event.raw);
            if !calls.is_empty()
                && let Err(refused) = self.decide(&calls, client).await
            {
                return Err((ready, refused));
            }
            if !hold.gate.is_open() {
                ready.append(&mut hold.held);
            }
        }
        Ok(ready)
    }

    /// Has tools decided on, as long as there is someone to call them.
    async fn decide(&self, calls: &[ToolCall], client: Option<&Sender>) -> Result<(), Refused> {
        let Some(client) = client else { return Err(Refused::unapproved(GONE.to_owned())) };
        tokio::select! {
            ruling = self.guard.admit_tools(calls) => ruling,
            () = client.closed() => Err(Refused::unapproved(GONE.to_owned())),
        }
    }

    /// Hands on what may be; ends the stream for its client where it may not go on.
    async fn hand_on(
        &self,
        pass: Result<Vec<u8>, (Vec<u8>, Refused)>,
        hold: &mut Hold,
        sender: &mut Option<Sender>,
    ) {
        let (ready, refused) = match pass {
            Ok(ready) => (ready, None),
            Err((ready, refused)) => (ready, Some(refused)),
        };
        let Some(to) = sender else { return };
        if !ready.is_empty() {
            hold.delivered += ready.len();
            let _ = to.send(Ok(Frame::data(Bytes::from(ready)))).await;
        }
        if let Some(refused) = refused {
            let (kind, message) = super::refused_words(&refused);
            let instead = refusal::event(self.endpoint, kind, super::DENIED, &message);
            self.exchange.with(|exchange| exchange.withhold(hold.delivered, instead.as_bytes()));
            let _ = to.send(Ok(Frame::data(Bytes::from(instead)))).await;
            *sender = None;
        }
    }
}

/// What of a stream is held back.
struct Hold {
    gate: Gate,
    held: Vec<u8>,
    /// How much was handed on.
    delivered: usize,
}

async fn finish(exchange: &Handle, ended: Ended) {
    if let Some(written) = exchange.with(|exchange: &mut Exchange| exchange.finish(ended)) {
        // A scribe that is gone has said so.
        let _ = written.await;
    }
}

/// A stream that is watched over, on its way to its client.
pub(crate) struct Guarded {
    pieces: mpsc::Receiver<Result<Frame<Bytes>, Cut>>,
    line: Arc<LineState>,
    /// Everything up to here has been handed out.
    mark: u64,
    /// It broke off: what came must leave first.
    is_cut: bool,
    _busy: Busy,
}

impl Body for Guarded {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let this = self.get_mut();
        if !this.is_cut {
            match ready!(this.pieces.poll_recv(cx)) {
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
