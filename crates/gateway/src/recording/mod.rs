//! Recording: a request is written down, goes to its vendor, and its answer comes back while a copy of it is kept.

mod ahead;
mod exchange;
mod flow;
mod guard;
mod guarded;
mod job;
mod notebook;
mod parts;
mod recovery;
mod scribe;
mod tee;
mod unpacking;

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HeaderValue};
use http::response::Parts;
use http::{Request, Response, Version};
use http_body_util::Full;
use reenact_record::reported::{self, ReportFault};
use reenact_record::warden::Refused;
use reenact_wire::{Endpoint, Vendor, refusal, vendor};
use tokio::sync::watch;
use tokio::time::Instant;

pub(crate) use self::exchange::Running;
use self::exchange::{Exchange, Handle, Settled};
use self::flow::Flow;
use self::guard::Guard;
pub(crate) use self::guarded::Guarded;
use self::guarded::{Watch, Whole};
use self::job::Asked;
pub(crate) use self::notebook::pairs;
pub use self::recovery::{Recovered, Remains};
pub(crate) use self::scribe::Scribe;
pub(crate) use self::tee::Tee;
use crate::arrival::Arrival;
use crate::decode;
use crate::error::StartError;
use crate::headers;
use crate::line::{Busy, LineState};
use crate::outgoing::{Cut, Outgoing};
use crate::refusal::{Refusal, answer};
use crate::upstream::{Note, Upstream};
use crate::work::Recording;

/// Records exchanges with vendors.
pub(crate) struct Recorder {
    scribe: Arc<Scribe>,
    settled: Arc<Settled>,
    /// How much of an answer is kept.
    most: usize,
    upstream: Upstream,
    linger: Duration,
    /// Who decides, where an envelope is enforced.
    guard: Option<Arc<Guard>>,
    /// Dropped with the last connection: whoever still listens to a vendor for the record's sake stops soon after.
    over: watch::Sender<()>,
}

impl Recorder {
    pub(crate) fn new(recording: Recording, notes: &mut Vec<Note>) -> Result<Self, StartError> {
        let Recording { pen, log, durability, policy, routes, environment, limits } = recording;
        let needs_tls = routes.iter().any(|route| route.upstream.is_https());
        let scribe = Scribe::new(pen, log, durability, limits.answer_bytes)
            .map_err(|error| StartError::Thread(error.kind()))?;
        let scribe = Arc::new(scribe);
        let guard = policy.map(|policy| {
            let scribe = Arc::clone(&scribe);
            Arc::new(Guard::new(scribe, policy, limits.answer_bytes))
        });
        Ok(Self {
            upstream: Upstream::new(&environment, needs_tls, &limits, notes)?,
            scribe,
            guard,
            settled: Arc::default(),
            most: limits.answer_bytes,
            linger: limits.linger,
            over: watch::Sender::new(()),
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

    /// Takes what an agent tells of itself; why not, if it is no report.
    pub(crate) async fn reported(&self, text: bytes::Bytes) -> Result<(), ReportFault> {
        reported::read(&text, |_| ())?;
        self.scribe.room().await;
        if let Some(written) = self.scribe.reported(text) {
            // A scribe that is gone has said so.
            let _ = written.await;
        }
        Ok(())
    }

    /// Serves one request. The error closes the connection without an answer, as the vendor's silence would have.
    pub(crate) async fn serve(
        &self,
        arrival: Arrival,
        line: Arc<LineState>,
        running: Running,
    ) -> Result<Response<Outgoing>, Cut> {
        let busy = line.busy();
        let guard = self.guard.as_ref().filter(|_| {
            let asks_model = !matches!(arrival.method.as_str(), "GET" | "HEAD" | "OPTIONS");
            asks_model || vendor::fetches_answers(arrival.path.as_str())
        });
        let endpoint = Endpoint::of(arrival.route.vendor, arrival.method.as_str(), arrival.path.as_str());
        let (route, version, at) = (Arc::clone(&arrival.route), arrival.version, arrival.at);
        let (mut request, asked) = split(arrival);
        let exchange = match self.begin(asked, endpoint, at, guard, running).await {
            Ok(exchange) => exchange,
            Err(refused) => return Ok(refused_answer(route.vendor, &refused)),
        };
        if guard.is_some() {
            // What comes in pieces is looked at as it comes: it must not be in one that hides them.
            request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        let answer = match self.upstream.send(&route, request, version).await {
            Ok(answer) => answer,
            Err(failure) => {
                if let Some(written) = exchange.with(|exchange| exchange.finish(failure.into())) {
                    let _ = written.await;
                }
                return Err(Cut);
            }
        };
        let (mut head, body) = answer.into_parts();
        let (announced, is_over) = (body.size_hint().lower(), body.is_over());
        let upstream = Flow::new(body);
        let headers = headers::answer(&head.headers);
        let came = std::mem::replace(&mut head.headers, headers);
        exchange.with(|exchange| exchange.head(head.status, head.version, came, announced));
        // The connection to the client has a version of its own.
        head.version = Version::HTTP_11;
        if let (Some(guard), Some(endpoint)) = (guard, endpoint)
            && head.status.is_success()
        {
            let watch = Watch {
                guard: Arc::clone(guard),
                upstream,
                exchange,
                settled: Arc::clone(&self.settled),
                endpoint,
                over: self.over.subscribe(),
                linger: self.linger,
            };
            return Box::pin(self.watched(watch, head, line, busy)).await;
        }
        let tee = Tee::new(upstream, exchange, Arc::clone(&self.settled), line, busy);
        let tee = if is_over { tee.without_body().await } else { tee.look_ahead().await };
        Ok(Response::from_parts(head, Outgoing::Tee(Box::new(tee))))
    }

    /// Hands an answer on as far as the envelope allows.
    async fn watched(
        &self,
        watch: Watch,
        mut head: Parts,
        line: Arc<LineState>,
        busy: Busy,
    ) -> Result<Response<Outgoing>, Cut> {
        let codings = decode::codings(&head.headers);
        if notebook::is_stream(&head.headers) && codings.is_empty() {
            // What is held back may make it shorter, and what comes instead longer.
            head.headers.remove(CONTENT_LENGTH);
            let stream = watch.stream(line, busy).await;
            return Ok(Response::from_parts(head, Outgoing::Guarded(Box::new(stream))));
        }
        let endpoint = watch.endpoint;
        let most = self.most;
        let is_stream = notebook::is_stream(&head.headers);
        let whole = watch.whole(|body| {
            // A stream that hides its pieces though it was asked not to is not waited for.
            if is_stream { None } else { decode::whole(&codings, body, false, most).ok() }
        });
        match whole.await? {
            Whole::Allowed(body) => Ok(Response::from_parts(head, Outgoing::whole(body))),
            Whole::Refused(refused) => {
                Ok(refused_answer(endpoint.vendor().unwrap_or(Vendor::OPENAI), &refused))
            }
        }
    }

    /// Has a request written down before anything of it goes out; or why it may not.
    async fn begin(
        &self,
        asked: Asked,
        endpoint: Option<Endpoint>,
        at: Instant,
        guard: Option<&Arc<Guard>>,
        running: Running,
    ) -> Result<Handle, Refused> {
        self.settled.finish();
        let vendor = asked.vendor;
        self.scribe.room().await;
        let (decided, (number, written)) = match guard {
            None => (None, self.scribe.asked(asked)),
            Some(guard) => {
                let (decided, taken, call_ids) = Box::pin(guard.admit(asked)).await?;
                (Some((Arc::clone(guard), decided, vendor, call_ids)), taken)
            }
        };
        let scribe = Arc::clone(&self.scribe);
        let mut exchange = Exchange::new(scribe, number, endpoint, at, self.most, running);
        if let Some((guard, decided, vendor, call_ids)) = decided {
            exchange.decided(guard, decided, vendor, call_ids);
        }
        let handle = Handle::new(exchange);
        if let Some(written) = written {
            // A scribe that is gone has said so.
            let _ = written.await;
            if guard.is_some() && self.scribe.has_lost_something() {
                return Err(Refused::unrecorded());
            }
        }
        Ok(handle)
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

/// The request as it goes to the vendor, and as it came.
fn split(arrival: Arrival) -> (Request<Full<bytes::Bytes>>, Asked) {
    let Arrival { route, method, path, headers, extensions, body, has_trailers, .. } = arrival;
    let asked = Asked {
        provider: route.name.clone(),
        vendor: route.vendor,
        method: method.as_str().to_owned(),
        path: path.as_str().to_owned(),
        headers,
        body,
        has_trailers,
        decided: None,
    };
    let mut request = Request::new(Full::new(asked.body.clone()));
    *request.method_mut() = method;
    *request.uri_mut() = path.into();
    *request.headers_mut() = headers::request(&asked.headers, route.upstream.host().clone());
    *request.extensions_mut() = extensions;
    (request, asked)
}
