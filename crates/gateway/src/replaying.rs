//! Replaying: requests are answered by [`Answers`], piece for piece as the answers were recorded. Nothing here can reach out.

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
use reenact_wire::exchange;
use tokio::time::{Instant, Sleep};

use crate::answers::{Answers, ServedAnswer, ServedReply, ServedRequest};
use crate::arrival::Arrival;
use crate::client_socket::{ClientSocketState, InFlight};
use crate::outgoing::{Cut, Outgoing};
use crate::recording::header_list;
use crate::refusal;
use crate::work::{Pace, Replaying, SMALL};

/// Serves answers without a vendor.
pub(crate) struct Replayer {
    answers: Arc<dyn Answers>,
    pace: Pace,
    /// Longest request body that is decoded, in bytes.
    max_body_bytes: usize,
}

impl Replayer {
    pub(crate) fn new(replaying: Replaying) -> Self {
        let Replaying { answers, pace, limits, .. } = replaying;
        Self { answers, pace, max_body_bytes: limits.answer_bytes }
    }

    /// Serves one request. The error closes the connection without an answer, as it was recorded.
    pub(crate) async fn serve(
        &self,
        arrival: Arrival,
        socket: Arc<ClientSocketState>,
    ) -> Result<Response<Outgoing>, Cut> {
        let in_flight = socket.in_flight();
        let (vendor, at) = (arrival.route.vendor, arrival.at);
        match self.look_up(arrival).await.ok_or(Cut)? {
            ServedReply::Missing { code, message } => {
                Ok(refusal::in_shape(vendor, StatusCode::NOT_FOUND, "not_found_error", code, &message))
            }
            ServedReply::Answer(answer) => played(answer, self.pace, at, socket, in_flight).ok_or(Cut),
        }
    }

    async fn look_up(&self, arrival: Arrival) -> Option<ServedReply> {
        let (answers, max_body_bytes) = (Arc::clone(&self.answers), self.max_body_bytes);
        let is_small = arrival.body.len() <= SMALL;
        let look_up = move || {
            let headers = header_list(&arrival.headers);
            // Bytes that could not be decoded were not recorded, and are not looked for.
            let readable = decode::readable(&decode::codings(&headers), &arrival.body, false, max_body_bytes);
            answers.answer(&ServedRequest {
                provider: &arrival.route.name,
                method: arrival.method.as_str(),
                path: arrival.path.as_str(),
                headers: &headers.pairs(),
                body: &readable.body,
            })
        };
        if is_small { Some(look_up()) } else { tokio::task::spawn_blocking(look_up).await.ok() }
    }
}

/// A recorded answer as a response; `None` if there was none.
fn played(
    recorded: ServedAnswer,
    pace: Pace,
    begun: Instant,
    socket: Arc<ClientSocketState>,
    in_flight: InFlight,
) -> Option<Response<Outgoing>> {
    let status = recorded.status.and_then(|status| StatusCode::from_u16(status).ok())?;
    let mut headers = map(&recorded.headers);
    let trailers = map(&recorded.trailers);
    if !trailers.is_empty() {
        let names: Vec<&str> = trailers.keys().map(HeaderName::as_str).collect();
        if let Ok(names) = HeaderValue::from_str(&names.join(", ")) {
            headers.insert(TRAILER, names);
        }
    }
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_stream = content_type.is_some_and(exchange::is_stream);
    // A whole body says how long it is; a stream, and what will break off, does not.
    let has_length = !is_stream && !recorded.is_cut && trailers.is_empty();
    let body = Played::new(recorded, trailers, has_length, pace, begun, socket, in_flight);
    let mut response = Response::new(Outgoing::Played(Box::new(body)));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Some(response)
}

fn map(headers: &[(String, String)]) -> HeaderMap {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        // What was once a header is one; a record that says otherwise loses the line.
        if let (Ok(name), Ok(value)) =
            (HeaderName::try_from(name.as_str()), HeaderValue::try_from(value.as_str()))
        {
            map.append(name, value);
        }
    }
    map
}

/// A recorded body, served piece for piece.
pub(crate) struct Played {
    pieces: VecDeque<(Instant, Bytes)>,
    /// Rest of the body in bytes, if its length is told.
    length: Option<u64>,
    trailers: Option<HeaderMap>,
    is_cut: bool,
    pace: Pace,
    timer: Option<Pin<Box<Sleep>>>,
    socket: Arc<ClientSocketState>,
    /// The piece before was handed out and has perhaps not left.
    waiting: Option<u64>,
    is_over: bool,
    _in_flight: InFlight,
}

impl Played {
    fn new(
        recorded: ServedAnswer,
        trailers: HeaderMap,
        has_length: bool,
        pace: Pace,
        begun: Instant,
        socket: Arc<ClientSocketState>,
        in_flight: InFlight,
    ) -> Self {
        let length = has_length.then_some(recorded.body.len() as u64);
        let mut rest = Bytes::from(recorded.body);
        let mut pieces = VecDeque::with_capacity(recorded.chunks.len() + 1);
        let mut at = begun;
        for (since, length) in recorded.chunks {
            at = begun + since;
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
            length,
            trailers: (!trailers.is_empty()).then_some(trailers),
            is_cut,
            pace,
            timer: None,
            // The head of an answer that breaks off before its body must leave as well.
            waiting: is_cut.then(|| socket.flushes()),
            socket,
            _in_flight: in_flight,
        }
    }

    fn poll_time(&mut self, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
        if self.pace == Pace::Recorded {
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
            ready!(timer.as_mut().poll(cx));
            self.timer = None;
        }
        Poll::Ready(())
    }
}

impl Body for Played {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let this = self.get_mut();
        if this.is_over {
            return Poll::Ready(None);
        }
        if let Some(mark) = this.waiting {
            ready!(this.socket.poll_flushed_after(mark, cx));
            this.waiting = None;
        }
        if let Some(&(at, _)) = this.pieces.front() {
            ready!(this.poll_time(at, cx));
            let piece = this.pieces.pop_front().map(|(_, piece)| piece).unwrap_or_default();
            this.length = this.length.map(|length| length.saturating_sub(piece.len() as u64));
            this.is_over = this.pieces.is_empty() && this.trailers.is_none() && !this.is_cut;
            this.waiting = Some(this.socket.flushes());
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        this.is_over = true;
        match this.trailers.take() {
            _ if this.is_cut => Poll::Ready(Some(Err(Cut))),
            Some(trailers) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
