//! Recording: a request is recorded, goes to its vendor, and the answer comes back with a copy for the record.
//!
//! HTTP becomes observations in `observed`; `reenact-capture` makes events of them. Start with [`Recorder::serve`].

mod body_batcher;
mod filtered_body;
mod first_frame;
mod observed;
mod recorded_body;

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HeaderValue};
use http::response::Parts;
use http::{Request, Response, Version};
use http_body_util::Full;
use reenact_capture::observation::InboundRequest;
use reenact_capture::{Capture, Refused, ReportFault, Running, decode, is_stream};
use reenact_wire::{Endpoint, Vendor, refusal, vendor};
use tokio::sync::watch;

use self::body_batcher::BodyBatcher;
pub(crate) use self::filtered_body::FilteredBody;
use self::filtered_body::{AnswerFilter, Whole};
pub(crate) use self::observed::header_list;
use self::observed::{failed, inbound_request, version_name};
pub(crate) use self::recorded_body::RecordedBody;
use crate::arrival::Arrival;
use crate::client_socket::{ClientSocketState, InFlight};
use crate::error::StartError;
use crate::headers;
use crate::outgoing::{Cut, Outgoing};
use crate::refusal::{Refusal, answer};
use crate::upstream::{Note, Upstream};
use crate::work::Recording;

/// Records exchanges with vendors.
pub(crate) struct Recorder {
    capture: Arc<Capture>,
    /// Longest answer body that is kept, in bytes.
    max_body_bytes: usize,
    upstream: Upstream,
    linger: Duration,
    /// Dropped with the last connection: filters that still read an answer for the record stop soon after.
    over: watch::Sender<()>,
}

impl Recorder {
    pub(crate) fn new(recording: Recording, notes: &mut Vec<Note>) -> Result<Self, StartError> {
        let Recording { pen, log, durability, policy, routes, environment, limits } = recording;
        let needs_tls = routes.iter().any(|route| route.upstream.is_https());
        let capture = Capture::start(pen, log, durability, policy, limits.answer_bytes)
            .map_err(|error| StartError::Thread(error.kind()))?;
        Ok(Self {
            upstream: Upstream::new(&environment, needs_tls, &limits, notes)?,
            capture: Arc::new(capture),
            max_body_bytes: limits.answer_bytes,
            linger: limits.linger,
            over: watch::Sender::new(()),
        })
    }

    pub(crate) fn capture(&self) -> &Arc<Capture> {
        &self.capture
    }

    /// Records that a request was refused for what it asks for.
    pub(crate) fn refused(&self, refusal: &Refusal) {
        match refusal {
            Refusal::Upgrade(route) => {
                self.capture
                    .gap(&format!("WebSocket to {}", route.name), "WebSockets cannot be recorded yet");
            }
            Refusal::TooLong(route, limit) => {
                let why = format!("it was longer than {limit} bytes and was refused");
                self.capture.gap(&format!("request to {}", route.name), &why);
            }
            Refusal::Misdirected | Refusal::NoSuchAddress | Refusal::NoSuchRoute(_) => {}
        }
    }

    /// Records what an agent tells of itself; returns why the text is no report.
    pub(crate) async fn reported(&self, text: bytes::Bytes) -> Result<(), ReportFault> {
        self.capture.reported(text).await
    }

    /// Serves one request. The error closes the connection without an answer, as the vendor's silence would have.
    pub(crate) async fn serve(
        &self,
        arrival: Arrival,
        socket: Arc<ClientSocketState>,
        running: Running,
    ) -> Result<Response<Outgoing>, Cut> {
        let in_flight = socket.in_flight();
        let gate = self.capture.gate().filter(|_| {
            let asks_model = !matches!(arrival.method.as_str(), "GET" | "HEAD" | "OPTIONS");
            asks_model || vendor::fetches_answers(arrival.path.as_str())
        });
        let endpoint = Endpoint::of(arrival.route.vendor, arrival.method.as_str(), arrival.path.as_str());
        let (route, version, at) = (Arc::clone(&arrival.route), arrival.version, arrival.at);
        let (mut request, inbound) = split(arrival);
        let exchange = match self.capture.begin(inbound, at, gate, running).await {
            Ok(exchange) => exchange,
            Err(refused) => return Ok(refused_answer(route.vendor, &refused)),
        };
        if gate.is_some() {
            // A stream is judged piece by piece: a coding would hide the pieces.
            request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        let answer = match self.upstream.send(&route, request, version).await {
            Ok(answer) => answer,
            Err(failure) => {
                if let Some(written) = exchange.with(|exchange| exchange.finish(failed(&failure))) {
                    written.await;
                }
                return Err(Cut);
            }
        };
        let (mut head, body) = answer.into_parts();
        let is_over = body.is_over();
        let upstream = BodyBatcher::new(body);
        let headers = headers::answer(&head.headers);
        let came = std::mem::replace(&mut head.headers, headers);
        let (status, version) = (head.status.as_u16(), version_name(head.version));
        exchange.with(|exchange| exchange.head(status, version, header_list(&came)));
        // The connection to the client has a version of its own.
        head.version = Version::HTTP_11;
        if let (Some(gate), Some(endpoint)) = (gate, endpoint)
            && head.status.is_success()
        {
            let filter = AnswerFilter {
                gate: Arc::clone(gate),
                upstream,
                exchange,
                capture: Arc::clone(&self.capture),
                endpoint,
                over: self.over.subscribe(),
                linger: self.linger,
            };
            return Box::pin(self.filtered(filter, head, socket, in_flight)).await;
        }
        let body = RecordedBody::new(upstream, exchange, Arc::clone(&self.capture), socket, in_flight);
        let body = if is_over { body.without_body().await } else { body.look_ahead().await };
        Ok(Response::from_parts(head, Outgoing::Recorded(Box::new(body))))
    }

    /// Hands an answer on as far as the envelope allows.
    async fn filtered(
        &self,
        filter: AnswerFilter,
        mut head: Parts,
        socket: Arc<ClientSocketState>,
        in_flight: InFlight,
    ) -> Result<Response<Outgoing>, Cut> {
        // By the headers that the client gets: it will read the body by those.
        let headers = header_list(&head.headers);
        let (is_stream, codings) = (is_stream(&headers), decode::codings(&headers));
        if is_stream && codings.is_empty() {
            // Bytes may be held back, and others sent instead.
            head.headers.remove(CONTENT_LENGTH);
            let stream = filter.stream(socket, in_flight).await;
            return Ok(Response::from_parts(head, Outgoing::Filtered(Box::new(stream))));
        }
        let endpoint = filter.endpoint;
        let max_body_bytes = self.max_body_bytes;
        let whole = filter.whole(|body| {
            // A stream that hides its pieces though it was asked not to is not waited for.
            if is_stream { None } else { decode::whole(&codings, body, false, max_body_bytes).ok() }
        });
        match whole.await? {
            Whole::Allowed(body) => Ok(Response::from_parts(head, Outgoing::whole(body))),
            Whole::Refused(refused) => {
                Ok(refused_answer(endpoint.vendor().unwrap_or(Vendor::OPENAI), &refused))
            }
        }
    }
}

/// What an agent is told instead of an answer that an envelope forbids.
fn denial(refused: &Refused) -> refusal::Denial {
    refusal::Denial::new(refused.rule, &refused.reason, refused.retry_after)
}

/// The same as an answer.
fn refused_answer(vendor: Vendor, refused: &Refused) -> Response<Outgoing> {
    let denial = denial(refused);
    answer(denial.status(), &denial.headers(), denial.body(vendor))
}

/// Returns the request as it goes to the vendor, and as it came.
fn split(arrival: Arrival) -> (Request<Full<bytes::Bytes>>, InboundRequest<'static>) {
    let inbound = inbound_request(&arrival);
    let Arrival { route, method, path, headers, extensions, body, .. } = arrival;
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = path.into();
    *request.headers_mut() = headers::request(&headers, route.upstream.host().clone());
    *request.extensions_mut() = extensions;
    (request, inbound)
}
