//! Recording: a request is written down, goes to its vendor, and its answer comes back while a copy of it is kept.

mod exchange;
mod job;
mod notebook;
mod recovery;
mod scribe;
mod tee;

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, Version};
use http_body::Body;
use http_body_util::Full;

pub(crate) use self::exchange::Running;
use self::exchange::{Exchange, Handle, Settled};
use self::job::Asked;
pub(crate) use self::notebook::pairs;
pub use self::recovery::{Recovered, Remains};
pub(crate) use self::scribe::Scribe;
pub(crate) use self::tee::Tee;
use crate::arrival::Arrival;
use crate::error::StartError;
use crate::headers;
use crate::line::LineState;
use crate::outgoing::{Cut, Outgoing};
use crate::refusal::Refusal;
use crate::upstream::{Failure, Note, Upstream};
use crate::work::Recording;

/// Records exchanges with vendors.
pub(crate) struct Recorder {
    scribe: Arc<Scribe>,
    settled: Arc<Settled>,
    /// How much of an answer is kept.
    most: usize,
    upstream: Upstream,
    idle: Duration,
}

impl Recorder {
    pub(crate) fn new(recording: Recording, notes: &mut Vec<Note>) -> Result<Self, StartError> {
        let Recording { pen, log, durability, routes, environment, limits } = recording;
        let needs_tls = routes.iter().any(|route| route.upstream.is_https());
        let scribe = Scribe::new(pen, log, durability, limits.answer_bytes)
            .map_err(|error| StartError::Thread(error.kind()))?;
        Ok(Self {
            upstream: Upstream::new(&environment, needs_tls, &limits, notes)?,
            scribe: Arc::new(scribe),
            settled: Arc::default(),
            most: limits.answer_bytes,
            idle: limits.idle,
        })
    }

    pub(crate) fn scribe(&self) -> Arc<Scribe> {
        Arc::clone(&self.scribe)
    }

    /// A request that is not served because of what it asks for: the record says that something was asked.
    pub(crate) fn refused(&self, refusal: &Refusal) {
        match refusal {
            Refusal::Upgrade(route) => {
                self.scribe.gap(&format!("WebSocket to {}", route.name), "WebSockets cannot be recorded yet");
            }
            Refusal::TooLong(route, limit) => {
                let why = format!("it was longer than {limit} bytes and was refused");
                self.scribe.gap(&format!("request to {}", route.name), &why);
            }
            Refusal::Misdirected | Refusal::NoSuchAddress | Refusal::NoSuchRoute(_) => {}
        }
    }

    /// Serves one request. The error closes the connection without an answer, as the vendor's silence would have.
    pub(crate) async fn serve(
        &self,
        arrival: Arrival,
        line: Arc<LineState>,
        running: Running,
    ) -> Result<Response<Outgoing>, Cut> {
        let busy = line.busy();
        let exchange = self.begin(&arrival, running).await;
        let version = arrival.version;
        let answer = match request(arrival) {
            Some(request) => self.upstream.send(request, version).await,
            None => Err(Failure::Protocol("the request has no address".to_owned())),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(failure) => {
                if let Some(written) = exchange.with(|exchange| exchange.finish(failure.into())) {
                    let _ = written.await;
                }
                return Err(Cut);
            }
        };
        let (mut head, body) = answer.into_parts();
        let announced = body.size_hint().lower();
        let headers = headers::answer(&head.headers);
        let came = std::mem::replace(&mut head.headers, headers);
        exchange.with(|exchange| exchange.head(head.status, head.version, came, announced));
        // The connection to the client has a version of its own.
        head.version = Version::HTTP_11;
        let is_over = body.is_end_stream();
        let tee = Tee::new(body, exchange, Arc::clone(&self.settled), line, busy, self.idle);
        let tee = if is_over { tee.without_body().await } else { tee.look_ahead().await };
        Ok(Response::from_parts(head, Outgoing::Tee(Box::new(tee))))
    }

    /// Has a request written down before anything of it goes out.
    async fn begin(&self, arrival: &Arrival, running: Running) -> Handle {
        self.settled.finish();
        let asked = Asked {
            provider: arrival.route.name.clone(),
            vendor: arrival.route.vendor,
            method: arrival.method.as_str().to_owned(),
            path: arrival.path.as_str().to_owned(),
            headers: arrival.headers.clone(),
            body: arrival.body.clone(),
            has_trailers: arrival.has_trailers,
        };
        let endpoint = asked.endpoint();
        self.scribe.room().await;
        let (number, written) = self.scribe.asked(asked);
        let scribe = Arc::clone(&self.scribe);
        let handle = Handle::new(Exchange::new(scribe, number, endpoint, arrival.at, self.most, running));
        if let Some(written) = written {
            // A scribe that is gone has said so.
            let _ = written.await;
        }
        handle
    }
}

/// The request as it goes to the vendor.
fn request(arrival: Arrival) -> Option<Request<Full<bytes::Bytes>>> {
    let host = arrival.route.upstream.host()?;
    let mut request = Request::new(Full::new(arrival.body));
    *request.method_mut() = arrival.method;
    *request.uri_mut() = arrival.route.upstream.at(arrival.path)?;
    *request.headers_mut() = headers::request(&arrival.headers, host);
    *request.extensions_mut() = arrival.extensions;
    Some(request)
}
