//! Answer under an envelope: its tool calls are held back until they are decided on.
//!
//! A stream passes as it comes, except for the events of a tool call; a document is held until it is complete.
//! The client gets the allowed part, or an error in its vendor's own shape. The record gets all bytes of the
//! vendor, and a note of those that the client got.
//!
//! [`AnswerFilter`] does the work, and [`FilteredBody`] hands out the pieces. Start reading at
//! [`AnswerFilter::filter_stream`].

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use reenact_capture::observation::EndCause;
use reenact_capture::{Capture, ExchangeHandle, ExchangeRecorder, PolicyGate, PolicyRefusal};
use reenact_wire::sse::{SseEvent, SseReader};
use reenact_wire::tool_calls::{self, ToolCallScanner};
use reenact_wire::{Endpoint, ToolCall, Vendor};
use tokio::runtime::Handle as Runtime;
use tokio::sync::{mpsc, watch};

use super::body_batcher::{BodyBatcher, FrameBatch};
use super::first_frame;
use super::observations::{header_list, upstream_end};
use crate::client_body::AnswerAborted;
use crate::client_socket::{ClientSocketState, InFlight};

/// Filter for one answer.
pub(super) struct AnswerFilter {
    /// Gate that decides on tool calls.
    pub(super) gate: Arc<PolicyGate>,
    /// Body of the vendor's answer.
    pub(super) upstream: BodyBatcher,
    /// Exchange that records the answer.
    pub(super) exchange: ExchangeHandle,
    pub(super) capture: Arc<Capture>,
    /// Interface by whose rules tool calls are found.
    pub(super) endpoint: Endpoint,
    /// Closed when the gateway stops.
    pub(super) gateway_stopped: watch::Receiver<()>,
    /// Limits for reading an answer that its client does not get.
    pub(super) limits: UnreadLimits,
}

/// Limits for reading an answer that its client does not get, for the record and its cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnreadLimits {
    /// Time for which it is still read after the gateway stopped.
    pub(super) linger: Duration,
    /// Time for which it is still read after its client left.
    pub(super) abandoned_time: Duration,
    /// Bytes that are still read after its client left.
    pub(super) abandoned_bytes: usize,
}

/// Sender of pieces to the body.
type PieceSender = mpsc::Sender<FilteredPiece>;

/// Piece of the body, or an abort before its end.
type FilteredPiece = Result<Frame<Bytes>, AnswerAborted>;

/// Reason why the rest of a stream is not handed on.
enum StreamStop {
    /// The policy gate refused a tool call, or the stream cannot be parsed.
    Refused(PolicyRefusal),
    /// The client has disconnected.
    ClientGone,
}

/// Decision on a document.
pub(super) enum DocumentRuling {
    /// The document may be handed on.
    Allowed(Bytes),
    /// The document is withheld.
    Refused(PolicyRefusal),
}

impl AnswerFilter {
    /// Reads a document to its end, and has its tool calls decided on. With `is_success` false the document is an
    /// error, which need not be JSON. `decode` removes the content codings; `None` from it means that the body
    /// cannot be parsed.
    ///
    /// # Errors
    /// [`AnswerAborted`] if the answer broke off: nothing of it is handed on.
    pub(super) async fn filter_document(
        mut self,
        is_success: bool,
        decode: impl Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<DocumentRuling, AnswerAborted> {
        let unsent = WithholdOnDrop(Some(&self.exchange));
        let mut body = Vec::new();
        let mut is_within_limit = true;
        // A body longer than the record's limit cannot be decided on, so its end is not waited for.
        let mut end = None;
        while is_within_limit && end.is_none() {
            let batch = self.upstream.next().await;
            end = batch.end;
            is_within_limit = self.exchange.with(|exchange| {
                for frame in batch.frames {
                    match frame.into_data() {
                        Ok(piece) => {
                            exchange.take_piece(&piece);
                            body.extend_from_slice(&piece);
                        }
                        Err(frame) => {
                            exchange.take_trailers(header_list(&frame.into_trailers().unwrap_or_default()));
                        }
                    }
                }
                exchange.is_within_limit()
            });
        }
        if let Some(Err(failure)) = end {
            drop(unsent);
            finish(&self.exchange, upstream_end(&failure)).await;
            return Err(AnswerAborted);
        }
        let scanned = decode(&body).filter(|_| is_within_limit).ok_or(tool_calls::UnreadableAnswer);
        let scan = if is_success { tool_calls::scan_answer } else { tool_calls::scan_error_answer };
        let mut scanned = scanned.and_then(|body| scan(self.endpoint, &body));
        let call_ids = self.exchange.with(|exchange| exchange.call_ids());
        if let (Ok(scan), Some(mut call_ids)) = (&mut scanned, call_ids) {
            call_ids.fill(&mut scan.calls);
        }
        if let Ok(scan) = &scanned {
            self.exchange.with(|exchange| exchange.set_facts(scan.facts()));
        }
        let ruling = match scanned {
            Ok(scan) if scan.calls.is_empty() => Ok(()),
            Ok(scan) => {
                // The log has the calls before the decision on them.
                self.exchange.with(ExchangeRecorder::flush_to_log);
                self.exchange.admit_tools(&self.gate, &scan.calls).await
            }
            Err(tool_calls::UnreadableAnswer) => Err(PolicyRefusal::unreadable()),
        };
        unsent.disarm();
        let whole = match ruling {
            Ok(()) => DocumentRuling::Allowed(Bytes::from(body)),
            Err(refused) => {
                let vendor = self.endpoint.vendor().unwrap_or(Vendor::OPENAI);
                let instead = super::denial_reply(&refused).body(vendor);
                self.exchange.with(|exchange| exchange.withhold(0, instead.as_bytes()));
                DocumentRuling::Refused(refused)
            }
        };
        finish(&self.exchange, EndCause::Eof).await;
        Ok(whole)
    }

    /// Starts to filter a stream, and returns the body for its client.
    pub(super) async fn into_body(self, socket: Arc<ClientSocketState>, in_flight: InFlight) -> FilteredBody {
        // A short channel gives backpressure: a client that does not read slows its vendor down, as it would
        // without a gateway.
        let (sender, pieces) = mpsc::channel(4);
        let flushes = socket.flushes();
        let (exchange, is_polled_directly) = (self.exchange.share(), self.upstream.is_polled_directly());
        let filtering: Option<FilterFuture> = Some(Box::pin(self.filter_stream(sender)));
        let (ahead, runtime) = (None, Runtime::current());
        let mut stream = FilteredBody {
            filter: filtering,
            pieces,
            first_piece: ahead,
            socket,
            flushes,
            is_cut: false,
            runtime,
            _in_flight: in_flight,
        };
        stream.first_piece =
            first_frame::poll_first_frame(is_polled_directly, |cx| stream.poll_piece(cx)).await;
        exchange.flush_to_log();
        // The socket may have been flushed meanwhile without this answer's head, which must leave too.
        stream.flushes = stream.socket.flushes();
        stream
    }

    /// Filters a stream to its end, and sends the allowed pieces.
    ///
    /// Each batch is logged, scanned for tool calls and handed on up to the first incomplete call. When a call
    /// is complete it is decided on: an allowed call is released together with the bytes behind it, a denied
    /// one ends the stream for the client with an error event. A stream that its client abandons is read on if its cost
    /// matters, within [`UnreadLimits`].
    async fn filter_stream(mut self, sender: PieceSender) {
        let mut reader = SseReader::new();
        let call_ids = self.exchange.with(|exchange| exchange.call_ids());
        let filter = ToolCallScanner::new(self.endpoint).with_call_ids(call_ids);
        let mut held_back = HeldBack { scanner: filter, bytes: Vec::new(), delivered: 0 };
        // A stopped stream is still read to its end, for the record and its cost; `sender` is `None` then.
        let mut sender = Some(sender);
        let mut lingered =
            std::pin::pin!(lingered_after_stop(self.gateway_stopped.clone(), self.limits.linger));
        // Set when the client has left.
        let mut abandoned: Option<AbandonedStream> = None;
        loop {
            let FrameBatch { frames, end } = tokio::select! {
                // A client that disconnected is noticed before bytes that came meanwhile, so that no call is
                // decided for it or counted as delivered.
                biased;
                () = client_gone(sender.as_ref()) => {
                    if !self.reads_on(&held_back, &mut abandoned, &mut sender) {
                        return;
                    }
                    continue;
                }
                () = given_up(abandoned.as_mut()) => return self.record_delivered(&held_back),
                () = &mut lingered => return self.record_delivered(&held_back),
                burst = self.upstream.next() => burst,
            };
            let mut events = Vec::new();
            let came: usize = frames.iter().filter_map(Frame::data_ref).map(Bytes::len).sum();
            let (is_done, is_within_limit) = self.exchange.with(|exchange| {
                let mut is_done = false;
                for frame in frames {
                    match frame.into_data() {
                        Ok(piece) => {
                            is_done |= exchange.take_piece(&piece);
                            if sender.is_some() && exchange.is_within_limit() {
                                events.append(&mut reader.push(&piece));
                            }
                        }
                        Err(frame) => {
                            exchange.take_trailers(header_list(&frame.into_trailers().unwrap_or_default()));
                        }
                    }
                }
                // The log has the calls before the decision on them, and bytes before they are handed on.
                exchange.flush_to_log();
                (is_done, exchange.is_within_limit())
            });
            if let Some(client) = &sender {
                // Bytes beyond the record's limit are not handed on.
                let (ready, stop) = match is_within_limit {
                    true => self.scan_events(events, &mut held_back, client).await,
                    false => (Vec::new(), Some(StreamStop::Refused(PolicyRefusal::unreadable()))),
                };
                if stop.is_none() {
                    self.exchange.with(|exchange| exchange.set_facts(held_back.scanner.facts()));
                    if is_done {
                        self.capture.mark_stream_done(&self.exchange.share());
                    }
                }
                if !self.deliver(ready, stop, &mut held_back, &mut sender).await
                    && !self.reads_on(&held_back, &mut abandoned, &mut sender)
                {
                    return;
                }
            }
            if let Some(stream) = &mut abandoned {
                stream.bytes_left = stream.bytes_left.saturating_sub(came);
                // Nothing is waited for after the last event.
                if is_done || stream.bytes_left == 0 || !is_within_limit {
                    return self.record_delivered(&held_back);
                }
            }
            match end {
                None => {}
                Some(Ok(())) => break,
                Some(Err(failure)) => {
                    if let Some(sender) = sender {
                        self.record_delivered(&held_back);
                        finish(&self.exchange, upstream_end(&failure)).await;
                        let _ = sender.send(Err(AnswerAborted)).await;
                    } else {
                        if abandoned.is_some() {
                            self.record_delivered(&held_back);
                        }
                        finish(&self.exchange, upstream_end(&failure)).await;
                    }
                    return;
                }
            }
        }
        if let Some(client) = &sender {
            let rest = reader.finish();
            self.exchange.with(ExchangeRecorder::clear_count);
            let (mut ready, mut stop) = self.scan_events(rest, &mut held_back, client).await;
            if stop.is_none() {
                self.exchange.with(|exchange| exchange.set_facts(held_back.scanner.facts()));
            }
            let open =
                std::mem::replace(&mut held_back.scanner, ToolCallScanner::new(self.endpoint)).finish();
            if stop.is_none() && !open.is_empty() {
                match self.decide(&open, client).await {
                    Ok(()) => ready.append(&mut held_back.bytes),
                    Err(stopped) => stop = Some(stopped),
                }
            }
            if !self.deliver(ready, stop, &mut held_back, &mut sender).await {
                return;
            }
        }
        if abandoned.is_some() {
            // The record names the client as the cause of the end, as it would if nothing had been read on.
            return self.record_delivered(&held_back);
        }
        finish(&self.exchange, EndCause::Eof).await;
    }

    /// Notes that the client has left. Returns true if the stream is read on without it, because its last bytes tell its
    /// cost; the exchange ends with its client otherwise.
    fn reads_on(
        &self,
        held_back: &HeldBack,
        abandoned: &mut Option<AbandonedStream>,
        sender: &mut Option<PieceSender>,
    ) -> bool {
        self.record_delivered(held_back);
        *sender = None;
        let UnreadLimits { abandoned_time, abandoned_bytes, .. } = self.limits;
        let needs_count = self.exchange.with(|exchange| exchange.needs_count());
        if !needs_count || abandoned_bytes == 0 || abandoned_time.is_zero() {
            return false;
        }
        let deadline = Box::pin(tokio::time::sleep(abandoned_time));
        *abandoned = Some(AbandonedStream { deadline, bytes_left: abandoned_bytes });
        true
    }

    /// Returns the part of the next events that may be handed on, and the reason if the rest may not.
    async fn scan_events(
        &self,
        events: Vec<SseEvent>,
        held_back: &mut HeldBack,
        client: &PieceSender,
    ) -> (Vec<u8>, Option<StreamStop>) {
        let mut ready = Vec::new();
        for event in events {
            held_back.bytes.extend_from_slice(&event.raw);
            let calls = match held_back.scanner.scan_event(&event) {
                Ok(calls) => calls,
                Err(tool_calls::UnreadableAnswer) => {
                    return (ready, Some(StreamStop::Refused(PolicyRefusal::unreadable())));
                }
            };
            if !calls.is_empty()
                && let Err(stop) = self.decide(&calls, client).await
            {
                return (ready, Some(stop));
            }
            if !held_back.scanner.is_open() {
                ready.append(&mut held_back.bytes);
            }
        }
        (ready, None)
    }

    /// Has tool calls decided on, as long as the client is connected.
    async fn decide(&self, calls: &[ToolCall], client: &PieceSender) -> Result<(), StreamStop> {
        tokio::select! {
            biased;
            () = client.closed() => Err(StreamStop::ClientGone),
            ruling = self.exchange.admit_tools(&self.gate, calls) => ruling.map_err(StreamStop::Refused),
        }
    }

    /// Sends bytes to the client, and ends the stream for it if there is a reason to stop. Returns false if the
    /// client has disconnected.
    async fn deliver(
        &self,
        ready: Vec<u8>,
        stop: Option<StreamStop>,
        held_back: &mut HeldBack,
        sender: &mut Option<PieceSender>,
    ) -> bool {
        let Some(to) = sender else { return true };
        if matches!(stop, Some(StreamStop::ClientGone)) {
            self.record_delivered(held_back);
            return false;
        }
        let length = ready.len();
        if let Some(StreamStop::Refused(refused)) = stop {
            held_back.delivered += length;
            let instead = super::denial_reply(&refused).event(self.endpoint);
            self.exchange.with(|exchange| exchange.withhold(held_back.delivered, instead.as_bytes()));
            if !ready.is_empty() {
                let _ = to.send(Ok(Frame::data(Bytes::from(ready)))).await;
            }
            let _ = to.send(Ok(Frame::data(Bytes::from(instead)))).await;
            *sender = None;
        } else if length > 0 {
            if to.send(Ok(Frame::data(Bytes::from(ready)))).await.is_err() {
                self.record_delivered(held_back);
                return false;
            }
            held_back.delivered += length;
        }
        true
    }

    /// Records how many bytes of the body were handed on.
    fn record_delivered(&self, held_back: &HeldBack) {
        self.exchange.with(|exchange| exchange.withhold(held_back.delivered, b""));
    }
}

/// Ready when the client has disconnected; never if it already has its last piece.
async fn client_gone(client: Option<&PieceSender>) {
    match client {
        Some(client) => client.closed().await,
        None => std::future::pending().await,
    }
}

/// Stream whose client has left, and that is read on for its cost.
struct AbandonedStream {
    /// Fires when it is not read any longer.
    deadline: Pin<Box<tokio::time::Sleep>>,
    /// Bytes that may still be read.
    bytes_left: usize,
}

/// Ready when an abandoned stream was read for long enough; never for other streams.
async fn given_up(stream: Option<&mut AbandonedStream>) {
    match stream {
        Some(stream) => stream.deadline.as_mut().await,
        None => std::future::pending().await,
    }
}

/// Ready when the gateway has been stopped for `linger`.
async fn lingered_after_stop(mut gateway_stopped: watch::Receiver<()>, linger: Duration) {
    // No value is ever sent; the channel closes.
    let _ = gateway_stopped.changed().await;
    tokio::time::sleep(linger).await;
}

/// Guard for an answer of which its client has nothing yet. Records that when it is dropped, however the answer
/// ended.
struct WithholdOnDrop<'e>(Option<&'e ExchangeHandle>);

impl WithholdOnDrop<'_> {
    /// Drops the guard without recording anything.
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for WithholdOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(exchange) = self.0 {
            exchange.with(|exchange| exchange.withhold(0, b""));
        }
    }
}

/// Part of a stream that is held back, with the scanner that decides it.
struct HeldBack {
    scanner: ToolCallScanner,
    /// Events since the first one of an open call.
    bytes: Vec<u8>,
    /// Bytes handed on so far.
    delivered: usize,
}

/// Ends the exchange, and waits until that is recorded.
async fn finish(exchange: &ExchangeHandle, cause: EndCause<'static>) {
    if let Some(written) = exchange.with(|exchange| exchange.finish(cause)) {
        written.await;
    }
}

/// Work of a filter, to the end of its stream.
type FilterFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Filtered stream on its way to its client.
pub(crate) struct FilteredBody {
    /// Polled by the task that serves the client, so that no piece changes tasks. `None` when the filter has
    /// ended.
    filter: Option<FilterFuture>,
    pieces: mpsc::Receiver<FilteredPiece>,
    /// Piece that was ready before the head left.
    first_piece: Option<Option<FilteredPiece>>,
    socket: Arc<ClientSocketState>,
    /// Number of flushes when the last piece was handed out.
    flushes: u64,
    /// True if the stream broke off: pieces must be flushed before the connection is closed.
    is_cut: bool,
    /// Runtime on which the filter goes on after this body is dropped.
    runtime: Runtime,
    _in_flight: InFlight,
}

impl FilteredBody {
    /// Polls for the next piece. The filter is not polled while a piece is ready.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<FilteredPiece>> {
        if let Some(piece) = self.first_piece.take() {
            return Poll::Ready(piece);
        }
        let piece = self.pieces.poll_recv(cx);
        let Some(filtering) = self.filter.as_mut().filter(|_| piece.is_pending()) else { return piece };
        if filtering.as_mut().poll(cx).is_ready() {
            self.filter = None;
        }
        self.pieces.poll_recv(cx)
    }
}

/// The client has disconnected, or has its last piece: the rest of the filter's work goes on in a task of its
/// own.
impl Drop for FilteredBody {
    fn drop(&mut self) {
        if let Some(filtering) = self.filter.take() {
            self.pieces.close();
            self.runtime.spawn(filtering);
        }
    }
}

/// Hands out pieces. Before an abort it waits for the flush of the last piece, so that the client gets all
/// bytes.
impl Body for FilteredBody {
    type Data = Bytes;
    type Error = AnswerAborted;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<FilteredPiece>> {
        let this = self.get_mut();
        if !this.is_cut {
            match ready!(this.poll_piece(cx)) {
                Some(Err(AnswerAborted)) => this.is_cut = true,
                piece => {
                    this.flushes = this.socket.flushes();
                    return Poll::Ready(piece);
                }
            }
        }
        ready!(this.socket.poll_flushed_after(this.flushes, cx));
        Poll::Ready(Some(Err(AnswerAborted)))
    }
}
