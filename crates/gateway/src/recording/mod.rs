//! Recording: a request is written down, goes to its vendor, and its answer comes back while a copy of it is kept.

mod exchange;
mod notebook;
mod tee;

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, Version};
use http_body::Body;
use http_body_util::Full;

pub(crate) use self::exchange::Running;
use self::exchange::{Ended, Exchange, Handle};
pub(crate) use self::notebook::{Notebook, pairs};
pub(crate) use self::tee::Tee;
use crate::arrival::Arrival;
use crate::error::StartError;
use crate::headers;
use crate::line::LineState;
use crate::outgoing::{Cut, Outgoing};
use crate::refusal::Refusal;
use crate::upstream::{Failure, Note, Upstream};
use crate::work::{Recording, SMALL};

/// Records exchanges with vendors.
pub(crate) struct Recorder {
    notebook: Arc<Notebook>,
    upstream: Upstream,
    idle: Duration,
}

impl Recorder {
    pub(crate) fn new(recording: Recording, notes: &mut Vec<Note>) -> Result<Self, StartError> {
        let Recording { pen, routes, environment, limits } = recording;
        let needs_tls = routes.iter().any(|route| route.upstream.is_https());
        Ok(Self {
            notebook: Arc::new(Notebook::new(pen, limits.answer_bytes)),
            upstream: Upstream::new(&environment, needs_tls, &limits, notes)?,
            idle: limits.idle,
        })
    }

    pub(crate) fn notebook(&self) -> Arc<Notebook> {
        Arc::clone(&self.notebook)
    }

    /// A request that is not served because of what it asks for: the record says that something was asked.
    pub(crate) fn refused(&self, refusal: &Refusal) {
        match refusal {
            Refusal::Upgrade(route) => {
                self.notebook
                    .gap(&format!("WebSocket to {}", route.name), "WebSockets cannot be recorded yet");
            }
            Refusal::TooLong(route, limit) => {
                let why = format!("it was longer than {limit} bytes and was refused");
                self.notebook.gap(&format!("request to {}", route.name), &why);
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
        let (exchange, arrival) = self.begin(arrival, running).await.ok_or(Cut)?;
        let answer = match request(arrival) {
            Some(request) => self.upstream.send(request).await,
            None => Err(Failure::Protocol("the request has no address".to_owned())),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(failure) => {
                exchange.with(|exchange| exchange.finish(&Ended::Upstream(failure)));
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
        let tee = Tee::new(body, exchange, self.notebook(), line, busy, self.idle);
        let tee = if is_over { tee.without_body().await } else { tee };
        Ok(Response::from_parts(head, Outgoing::Tee(Box::new(tee))))
    }

    /// Writes a request down before anything of it goes out.
    async fn begin(&self, arrival: Arrival, running: Running) -> Option<(Handle, Arrival)> {
        let notebook = self.notebook();
        let is_small = arrival.body.len() <= SMALL;
        let write = move || {
            let begun = notebook.begin(&arrival);
            (Handle::new(Exchange::new(notebook, begun, arrival.at, running)), arrival)
        };
        if is_small { Some(write()) } else { tokio::task::spawn_blocking(write).await.ok() }
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
