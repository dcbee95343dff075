//! Replay: requests are answered by an [`AnswerSource`], piece for piece as the answers were recorded. Nothing
//! here can open a connection.
//!
//! Start reading at [`Replayer::serve`].

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TRAILER};
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use reenact_capture::decode;
use reenact_wire::{Vendor, exchange};
use tokio::time::{Instant, Sleep};

use crate::answers::{AnswerSource, ServedAnswer, ServedReply, ServedRequest};
use crate::client_body::{AnswerAborted, ClientBody};
use crate::client_socket::{ClientSocketState, InFlight};
use crate::config::{INLINE_BODY_BYTES, ReplayConfig, ReplayPace};
use crate::inbound::ReceivedRequest;
use crate::recording::header_list;
use crate::rejection;

/// Server of recorded answers.
pub(crate) struct Replayer {
    answers: Arc<dyn AnswerSource>,
    pace: ReplayPace,
    /// Longest request body that is decoded, in bytes.
    max_body_bytes: usize,
}

impl Replayer {
    /// Makes a server from its settings.
    pub(crate) fn new(replaying: ReplayConfig) -> Self {
        let ReplayConfig { answers, pace, limits, .. } = replaying;
        Self { answers, pace, max_body_bytes: limits.max_answer_bytes }
    }

    /// Serves one request.
    ///
    /// # Errors
    /// [`AnswerAborted`] closes the connection without an answer, as it was recorded.
    pub(crate) async fn serve(
        &self,
        arrival: ReceivedRequest,
        socket: Arc<ClientSocketState>,
    ) -> Result<Response<ClientBody>, AnswerAborted> {
        let in_flight = socket.in_flight();
        let (vendor, at) = (arrival.route.vendor, arrival.received_at);
        match self.look_up(arrival).await.ok_or(AnswerAborted)? {
            ServedReply::Missing { code, message } => Ok(missing_response(vendor, code, &message)),
            ServedReply::Answer(answer) => {
                replay_response(answer, self.pace, at, socket, in_flight).ok_or(AnswerAborted)
            }
        }
    }

    /// Looks up the reply to a request, on a blocking thread if the body is long. Returns `None` if that thread
    /// panicked.
    async fn look_up(&self, arrival: ReceivedRequest) -> Option<ServedReply> {
        let answers = Arc::clone(&self.answers);
        look_up(&arrival, self.max_body_bytes, move |request| answers.answer(request)).await
    }
}

/// Calls `answer` with a request, decoded; on a blocking thread if the body is long. Returns `None` if that thread panicked.
pub(crate) async fn look_up<T: Send + 'static>(
    arrival: &ReceivedRequest,
    max_body_bytes: usize,
    answer: impl FnOnce(&ServedRequest<'_>) -> T + Send + 'static,
) -> Option<T> {
    let (route, method, path) = (Arc::clone(&arrival.route), arrival.method.clone(), arrival.path.clone());
    let (headers, body) = (header_list(&arrival.headers), arrival.body.clone());
    let is_small = body.len() <= INLINE_BODY_BYTES;
    let look_up = move || {
        // Bytes that could not be decoded were not recorded, and are not looked up.
        let readable = decode::decode_readable(&decode::codings(&headers), &body, false, max_body_bytes);
        answer(&ServedRequest {
            provider: &route.name,
            method: method.as_str(),
            path: path.as_str(),
            headers: &headers.pairs(),
            body: &readable.body,
        })
    };
    if is_small { Some(look_up()) } else { tokio::task::spawn_blocking(look_up).await.ok() }
}

/// Makes the response to a request without a recorded answer.
pub(crate) fn missing_response(vendor: Vendor, code: &str, message: &str) -> Response<ClientBody> {
    // Agents show the message of a 400 and stop. They take a 404 for a wrong model name, and repeat what fails otherwise.
    rejection::vendor_error(vendor, StatusCode::BAD_REQUEST, "invalid_request_error", code, message)
}

/// Makes a response of a recorded answer; `None` if the recorded request got none.
pub(crate) fn replay_response(
    recorded: ServedAnswer,
    pace: ReplayPace,
    started_at: Instant,
    socket: Arc<ClientSocketState>,
    in_flight: InFlight,
) -> Option<Response<ClientBody>> {
    let status = recorded.status.and_then(|status| StatusCode::from_u16(status).ok())?;
    let mut headers = header_map(&recorded.headers);
    let trailers = header_map(&recorded.trailers);
    if !trailers.is_empty() {
        let names: Vec<&str> = trailers.keys().map(HeaderName::as_str).collect();
        if let Ok(names) = HeaderValue::from_str(&names.join(", ")) {
            headers.insert(TRAILER, names);
        }
    }
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_stream = content_type.is_some_and(exchange::is_stream);
    // A body of known length is sent with `content-length`; a stream, and a body that will break off, without.
    let has_length = !is_stream && !recorded.is_cut && trailers.is_empty();
    let body = ReplayedBody::new(recorded, trailers, has_length, pace, started_at, socket, in_flight);
    let mut response = Response::new(ClientBody::Replayed(Box::new(body)));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Some(response)
}

/// Converts recorded headers. Pairs that are not valid headers, which a recorder never writes, are dropped.
pub(crate) fn header_map(headers: &[(String, String)]) -> HeaderMap {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        // A recorded header is valid, unless the record was made elsewhere.
        if let (Ok(name), Ok(value)) =
            (HeaderName::try_from(name.as_str()), HeaderValue::try_from(value.as_str()))
        {
            map.append(name, value);
        }
    }
    map
}

/// Recorded body that is served piece for piece.
pub(crate) struct ReplayedBody {
    /// Pieces that are left, each with the time at which it is due.
    pieces: VecDeque<(Instant, Bytes)>,
    /// Rest of the body in bytes, if the length was announced.
    remaining_bytes: Option<u64>,
    trailers: Option<HeaderMap>,
    /// True if the connection breaks off after the last piece.
    is_cut: bool,
    pace: ReplayPace,
    /// Timer for the next piece.
    timer: Option<Pin<Box<Sleep>>>,
    socket: Arc<ClientSocketState>,
    /// Number of flushes when the last piece was handed out; `None` if that piece is known to have left.
    flushes_before: Option<u64>,
    /// True once nothing is left to send.
    is_over: bool,
    _in_flight: InFlight,
}

impl ReplayedBody {
    /// Cuts a recorded body at its recorded reads. Each piece is due at its recorded time, counted from
    /// `started_at`.
    fn new(
        recorded: ServedAnswer,
        trailers: HeaderMap,
        has_length: bool,
        pace: ReplayPace,
        started_at: Instant,
        socket: Arc<ClientSocketState>,
        in_flight: InFlight,
    ) -> Self {
        let remaining_bytes = has_length.then_some(recorded.body.len() as u64);
        let mut rest = Bytes::from(recorded.body);
        let mut pieces = VecDeque::with_capacity(recorded.chunks.len() + 1);
        let mut at = started_at;
        for (since, length) in recorded.chunks {
            at = started_at + since;
            let piece = rest.split_to(length.min(rest.len()));
            if !piece.is_empty() {
                pieces.push_back((at, piece));
            }
        }
        if !rest.is_empty() {
            pieces.push_back((at, rest));
        }
        let is_cut = recorded.is_cut;
        Self {
            is_over: pieces.is_empty() && trailers.is_empty() && !is_cut,
            pieces,
            remaining_bytes,
            trailers: (!trailers.is_empty()).then_some(trailers),
            is_cut,
            pace,
            timer: None,
            // The head must leave even if the answer breaks off before its body.
            flushes_before: is_cut.then(|| socket.flushes()),
            socket,
            _in_flight: in_flight,
        }
    }

    /// Ready when a piece is due.
    fn poll_due(&mut self, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
        if self.pace == ReplayPace::Recorded {
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
            ready!(timer.as_mut().poll(cx));
            self.timer = None;
        }
        Poll::Ready(())
    }
}

/// Hands out a piece only after the one before was flushed, so that the client's reads see the recorded
/// boundaries.
impl Body for ReplayedBody {
    type Data = Bytes;
    type Error = AnswerAborted;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerAborted>>> {
        let this = self.get_mut();
        if this.is_over {
            return Poll::Ready(None);
        }
        if let Some(flushes) = this.flushes_before {
            ready!(this.socket.poll_flushed_after(flushes, cx));
            this.flushes_before = None;
        }
        if let Some(&(at, _)) = this.pieces.front() {
            ready!(this.poll_due(at, cx));
            let piece = this.pieces.pop_front().map(|(_, piece)| piece).unwrap_or_default();
            this.remaining_bytes =
                this.remaining_bytes.map(|length| length.saturating_sub(piece.len() as u64));
            this.is_over = this.pieces.is_empty() && this.trailers.is_none() && !this.is_cut;
            this.flushes_before = Some(this.socket.flushes());
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        this.is_over = true;
        match this.trailers.take() {
            _ if this.is_cut => Poll::Ready(Some(Err(AnswerAborted))),
            Some(trailers) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }

    fn size_hint(&self) -> SizeHint {
        self.remaining_bytes.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
