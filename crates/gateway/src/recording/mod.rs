//! Recording: a request is recorded and sent to its vendor; the answer comes back, with a copy for the record.
//!
//! Without an envelope the answer passes through a [`RecordedBody`]. Under an envelope an answer of a known interface whose answers can ask
//! for tools, also one with the status of an error, passes through an [`AnswerFilter`] instead. HTTP types become observations in `observations`;
//! `reenact-capture` makes events of them. Start reading at [`RecordingProxy::serve`].

mod body_batcher;
mod filtered_body;
mod first_frame;
mod forked;
mod observations;
mod recorded_body;

use std::sync::Arc;

use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HeaderValue};
use http::response::Parts;
use http::{Request, Response, Version};
use http_body_util::Full;
use reenact_capture::observation::InboundRequest;
use reenact_capture::{
    AgentReportFault, Capture, PolicyMode, PolicyRefusal, RecordingGuard, decode, is_scanned, is_stream,
};
use reenact_wire::{Endpoint, Vendor, error_reply};
use tokio::sync::watch;

use self::body_batcher::BodyBatcher;
pub(crate) use self::filtered_body::FilteredBody;
use self::filtered_body::{AnswerFilter, DocumentRuling, UnreadLimits};
pub(crate) use self::observations::header_list;
use self::observations::{inbound_request, upstream_end, version_name};
pub(crate) use self::recorded_body::RecordedBody;
use crate::answers::{ForkReply, ForkSource};
use crate::client_body::{AnswerAborted, ClientBody};
use crate::client_socket::{ClientSocketState, InFlight};
use crate::config::RecordingConfig;
use crate::error::StartError;
use crate::headers;
use crate::inbound::ReceivedRequest;
use crate::rejection::{RejectedRequest, response};
use crate::upstream::{UpstreamClient, UpstreamWarning};

/// Proxy between clients and vendors that records exchanges, and enforces the envelope of the run if there is
/// one.
pub(crate) struct RecordingProxy {
    /// Recorder of the run.
    capture: Arc<Capture>,
    /// Longest answer body that is kept, in bytes.
    max_body_bytes: usize,
    /// Client for the vendors.
    upstream: UpstreamClient,
    /// Limits for reading answers that their clients do not get.
    limits: UnreadLimits,
    /// Recorded answers of the run that this one goes on from.
    fork: Option<Arc<dyn ForkSource>>,
    /// Dropped with the last connection: filters that still read an answer for the record then stop after
    /// `linger`.
    stop_signal: watch::Sender<()>,
}

impl RecordingProxy {
    /// Starts the recorder thread, and prepares the connections to vendors. Warnings for the user are added to
    /// `warnings`.
    pub(crate) fn new(
        recording: RecordingConfig,
        warnings: &mut Vec<UpstreamWarning>,
    ) -> Result<Self, StartError> {
        let RecordingConfig { writer, log, durability, policy, routes, environment, limits, fork } =
            recording;
        let needs_tls = routes.iter().any(|route| route.upstream.is_https());
        let capture = Capture::start(writer, log, durability, policy, limits.max_answer_bytes)
            .map_err(|error| StartError::Thread(error.kind()))?;
        Ok(Self {
            upstream: UpstreamClient::new(&environment, needs_tls, &limits, warnings)?,
            capture: Arc::new(capture),
            max_body_bytes: limits.max_answer_bytes,
            fork,
            limits: UnreadLimits {
                linger: limits.linger,
                abandoned_time: limits.abandoned_time,
                abandoned_bytes: limits.abandoned_bytes,
            },
            stop_signal: watch::Sender::new(()),
        })
    }

    /// Returns true if the run goes on from another one.
    pub(crate) fn is_fork(&self) -> bool {
        self.fork.is_some()
    }

    /// Returns the recorder of the run.
    pub(crate) fn capture(&self) -> &Arc<Capture> {
        &self.capture
    }

    /// Records a capture gap for a rejected request, if it was one of the agent's: a WebSocket, or a request
    /// that was too long.
    pub(crate) fn record_rejection(&self, refusal: &RejectedRequest) {
        match refusal {
            RejectedRequest::Upgrade(route) => {
                let why = "it was refused with status 426, because WebSockets are not relayed; what its client then sent over HTTP is recorded";
                self.capture.record_gap(&format!("WebSocket to {}", route.name), why);
            }
            RejectedRequest::TooLong(route, limit) => {
                let why = format!("it was longer than {limit} bytes and was refused");
                self.capture.record_gap(&format!("request to {}", route.name), &why);
            }
            RejectedRequest::Misdirected
            | RejectedRequest::NoSuchAddress
            | RejectedRequest::NoSuchRoute(_) => {}
        }
    }

    /// Records an agent's report about itself.
    ///
    /// # Errors
    /// Returns the fault if the text is not a report.
    pub(crate) async fn record_report(&self, text: bytes::Bytes) -> Result<(), AgentReportFault> {
        self.capture.record_report(text).await
    }

    /// Serves one request: records it, sends it to its vendor, and returns the answer's head with a body that
    /// records itself.
    ///
    /// The policy gate decides on every request but those that are known to call no model, such as lists of
    /// models. Under an enforced envelope the vendor is asked for an answer without content coding.
    ///
    /// # Errors
    /// [`AnswerAborted`] closes the connection without an answer, as the failure of the vendor would have.
    pub(crate) async fn serve(
        &self,
        arrival: ReceivedRequest,
        socket: Arc<ClientSocketState>,
        guard: RecordingGuard,
    ) -> Result<Response<ClientBody>, AnswerAborted> {
        let in_flight = socket.in_flight();
        if let Some(fork) = &self.fork
            && let ForkReply::Served(reply) = self.look_up(fork, &arrival).await.ok_or(AnswerAborted)?
        {
            return self.serve_recorded(reply, arrival, socket, in_flight, guard).await;
        }
        let (vendor, base) = (arrival.route.judged_as(), arrival.route.upstream.base_path());
        let gate = self
            .capture
            .gate()
            .filter(|gate| !gate.lets_pass(vendor, base, arrival.method.as_str(), arrival.path.as_str()));
        let endpoint = Endpoint::of(vendor, arrival.method.as_str(), arrival.path.as_str());
        let (route, version) = (Arc::clone(&arrival.route), arrival.version);
        let (mut request, inbound) = split_request(arrival);
        let exchange = match self.capture.begin(inbound, route.upstream.base_path(), gate, guard).await {
            Ok(exchange) => exchange,
            Err(refused) => return Ok(denial_response(vendor, &refused)),
        };
        let filtering = gate.filter(|gate| gate.mode() == PolicyMode::Enforce);
        if filtering.is_some() {
            // A stream is judged piece by piece, and a content coding would hide the pieces.
            request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        let answer = match self.upstream.send(&route, request, version).await {
            Ok(answer) => answer,
            Err(failure) => {
                if let Some(written) = exchange.with(|exchange| exchange.finish(upstream_end(&failure))) {
                    written.await;
                }
                return Err(AnswerAborted);
            }
        };
        let (mut head, body) = answer.into_parts();
        let is_over = body.is_over();
        let upstream = BodyBatcher::new(body);
        let headers = headers::for_client(&head.headers);
        let came = std::mem::replace(&mut head.headers, headers);
        let (status, version) = (head.status.as_u16(), version_name(head.version));
        exchange.with(|exchange| exchange.take_head(status, version, header_list(&came)));
        // The connection to the client has an HTTP version of its own.
        head.version = Version::HTTP_11;
        if let (Some(gate), Some(endpoint)) = (filtering, endpoint.filter(|_| is_scanned(endpoint))) {
            let filter = AnswerFilter {
                gate: Arc::clone(gate),
                upstream,
                exchange,
                capture: Arc::clone(&self.capture),
                endpoint,
                gateway_stopped: self.stop_signal.subscribe(),
                limits: self.limits,
            };
            return Box::pin(self.serve_filtered(filter, head, socket, in_flight)).await;
        }
        let body = RecordedBody::new(upstream, exchange, Arc::clone(&self.capture), socket, in_flight);
        let body = if is_over { body.finish_empty().await } else { body.with_first_frame().await };
        Ok(Response::from_parts(head, ClientBody::Recorded(Box::new(body))))
    }

    /// Hands an answer on as far as the envelope allows.
    async fn serve_filtered(
        &self,
        filter: AnswerFilter,
        mut head: Parts,
        socket: Arc<ClientSocketState>,
        in_flight: InFlight,
    ) -> Result<Response<ClientBody>, AnswerAborted> {
        // The client parses the body by the headers that it gets, so those count here.
        let headers = header_list(&head.headers);
        let (is_stream, codings) = (is_stream(&headers), decode::codings(&headers));
        if is_stream && codings.is_empty() {
            // The length may change: bytes may be withheld, and others sent instead.
            head.headers.remove(CONTENT_LENGTH);
            let stream = filter.into_body(socket, in_flight).await;
            return Ok(Response::from_parts(head, ClientBody::Filtered(Box::new(stream))));
        }
        let endpoint = filter.endpoint;
        let (max_body_bytes, is_success) = (self.max_body_bytes, head.status.is_success());
        let whole = filter.filter_document(is_success, |body| {
            // A stream with a content coding, in spite of `identity`, is not waited for.
            if is_stream { None } else { decode::decode_whole(&codings, body, false, max_body_bytes).ok() }
        });
        match whole.await? {
            DocumentRuling::Allowed(body) => Ok(Response::from_parts(head, ClientBody::whole(body))),
            DocumentRuling::Refused(refused) => {
                Ok(denial_response(endpoint.vendor().unwrap_or(Vendor::OPENAI), &refused))
            }
        }
    }
}

/// Returns the reply for an action that the envelope forbids.
fn denial_reply(refused: &PolicyRefusal) -> error_reply::DenialReply {
    error_reply::DenialReply::new(refused.rule, &refused.reason, refused.retry_after)
}

/// Returns that reply as an HTTP response.
fn denial_response(vendor: Vendor, refused: &PolicyRefusal) -> Response<ClientBody> {
    let denial = denial_reply(refused);
    response(denial.status(), &denial.headers(), denial.body(vendor))
}

/// Returns the request for the vendor, and the same request as it is recorded.
fn split_request(arrival: ReceivedRequest) -> (Request<Full<bytes::Bytes>>, InboundRequest<'static>) {
    let inbound = inbound_request(&arrival);
    let ReceivedRequest { route, method, path, headers, extensions, body, .. } = arrival;
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = path.into();
    *request.headers_mut() = headers::for_vendor(&headers, route.upstream.host_header().clone());
    *request.extensions_mut() = extensions;
    (request, inbound)
}
