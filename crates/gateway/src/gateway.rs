//! The gateway itself: listener, connections, and shutdown.
//!
//! Start reading at [`Gateway::start`]; `Server::serve` handles one request.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use reenact_capture::{Capture, RecordingGuard, Unrecorded};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use crate::client_body::{AnswerAborted, ClientBody};
use crate::client_socket::{ClientSocket, ClientSocketState, EofPolicy};
use crate::config::{GatewayLimits, GatewayMode};
use crate::error::StartError;
use crate::inbound::{self, RequestGate};
use crate::recording::RecordingProxy;
use crate::rejection;
use crate::replay::Replayer;
use crate::route::VendorRoute;
use crate::token::GatewayToken;
use crate::upstream::UpstreamWarning;

/// Running gateway. Dropping it closes the listener; [`Self::stop`] also waits for the record.
pub struct Gateway {
    /// Address of the listener.
    address: SocketAddr,
    token: GatewayToken,
    /// Routes by which requests are accepted.
    routes: Vec<Arc<VendorRoute>>,
    warnings: Vec<UpstreamWarning>,
    /// Tells the accepting task to stop; dropping it has the same effect.
    stop: oneshot::Sender<()>,
    /// Task that accepts connections, and owns their tasks.
    accept_task: JoinHandle<()>,
    /// Receives nothing. Closed when no exchange can record anything any more.
    active_recordings: mpsc::Receiver<Infallible>,
    /// `None` in replay mode.
    capture: Option<Arc<Capture>>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Gateway {
    /// Starts to serve on a listener, which must be bound to a loopback address. Must be called within a tokio
    /// runtime.
    ///
    /// # Errors
    /// See [`StartError`]: the listener, a proxy setting, the certificates or the recorder thread cannot be
    /// used.
    pub fn start(listener: StdListener, token: GatewayToken, mode: GatewayMode) -> Result<Self, StartError> {
        let unusable = |error: std::io::Error| StartError::Listener(error.kind());
        listener.set_nonblocking(true).map_err(unusable)?;
        let listener = TcpListener::from_std(listener).map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let routes: Vec<Arc<VendorRoute>> = mode.routes().iter().cloned().map(Arc::new).collect();
        let gate = RequestGate { address, token: token.clone(), routes: routes.clone() };
        let mut notes = Vec::new();
        let (limits, job) = match mode {
            GatewayMode::Record(recording) => (
                recording.limits,
                RequestHandler::Record(Box::new(RecordingProxy::new(*recording, &mut notes)?)),
            ),
            GatewayMode::Replay(replaying) => {
                (replaying.limits, RequestHandler::Replay(Replayer::new(replaying)))
            }
        };
        let capture = match &job {
            RequestHandler::Record(recorder) => Some(Arc::clone(recorder.capture())),
            RequestHandler::Replay(_) => None,
        };
        let server = Arc::new(Server { gate, limits, handler: job });
        let (stop, stopping) = oneshot::channel();
        let (guard, ended) = mpsc::channel(1);
        let accepting = tokio::spawn(accept_connections(listener, server, stopping, guard));
        Ok(Self {
            address,
            token,
            routes,
            warnings: notes,
            stop,
            accept_task: accepting,
            active_recordings: ended,
            capture,
        })
    }

    /// Returns the address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the names of all routes, with the base address to configure in the clients of each.
    pub fn base_urls(&self) -> Vec<(String, String)> {
        self.routes
            .iter()
            .map(|route| (route.name.clone(), route.base_url(self.address, &self.token)))
            .collect()
    }

    /// Returns the base address to configure in a vendor's client; `None` if there is no route of that name.
    pub fn base_url(&self, route: &str) -> Option<String> {
        let route = self.routes.iter().find(|known| known.name == route)?;
        Some(route.base_url(self.address, &self.token))
    }

    /// Returns the address for an agent's reports about itself.
    pub fn report_url(&self) -> String {
        report_url(self.address, &self.token)
    }

    /// Returns warnings for the user about certificates.
    pub fn warnings(&self) -> &[UpstreamWarning] {
        &self.warnings
    }

    /// Returns true if the log cannot be written any more, so that everything waits for the journal.
    pub fn has_lost_its_log(&self) -> bool {
        self.capture.as_ref().is_some_and(|capture| capture.has_lost_its_log())
    }

    /// Returns the events that could not be recorded so far.
    pub fn unrecorded(&self) -> Option<Unrecorded> {
        self.capture.as_ref()?.unrecorded()
    }

    /// Stops the gateway. New connections are refused; running exchanges are cut and recorded as far as they
    /// came. Nothing is recorded after this returns.
    ///
    /// # Errors
    /// Returns all events that could not be recorded since the start.
    pub async fn stop(mut self) -> Result<(), Unrecorded> {
        // The task ends by itself only together with the runtime.
        let _ = self.stop.send(());
        let _ = self.accept_task.await;
        while self.active_recordings.recv().await.is_some() {}
        let Some(capture) = self.capture else { return Ok(()) };
        let finished = Arc::clone(&capture);
        // `finish` blocks on a thread. The blocking task ends early only with the whole process.
        let _ = tokio::task::spawn_blocking(move || finished.finish()).await;
        capture.unrecorded().map_or(Ok(()), Err)
    }
}

/// Returns the address for an agent's reports, for a gateway with this address and token.
pub fn report_url(address: SocketAddr, token: &GatewayToken) -> String {
    format!("http://{address}/{}/{}", token.as_str(), inbound::REPORT_PATH)
}

/// State that all connections share.
struct Server {
    /// Check of host, token and route.
    gate: RequestGate,
    limits: GatewayLimits,
    handler: RequestHandler,
}

/// Handler of accepted requests: one variant for each [`GatewayMode`].
enum RequestHandler {
    Record(Box<RecordingProxy>),
    Replay(Replayer),
}

/// Pause after an error of the listener itself, such as too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(20);

/// Accepts connections until the gateway stops, then aborts them.
async fn accept_connections(
    listener: TcpListener,
    server: Arc<Server>,
    mut stopping: oneshot::Receiver<()>,
    guard: RecordingGuard,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // Also ready when the gateway was dropped without `stop`.
            _ = &mut stopping => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    connections.spawn(serve_connection(socket, Arc::clone(&server), guard.clone()));
                }
                Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
            },
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Serves one connection, in HTTP/1.1 or HTTP/2.
async fn serve_connection(socket: TcpStream, server: Arc<Server>, guard: RecordingGuard) {
    // Without `TCP_NODELAY` a small piece, such as one token, waits for the next.
    let _ = socket.set_nodelay(true);
    let hang_up = match &server.handler {
        RequestHandler::Record(recorder) if !recorder.is_fork() => EofPolicy::AskSystem,
        RequestHandler::Record(_) | RequestHandler::Replay(_) => EofPolicy::AssumeWaiting,
    };
    let client_timeout = server.limits.client_timeout;
    // A client that sends nothing at all does not keep its descriptor.
    if !matches!(tokio::time::timeout(client_timeout, socket.readable()).await, Ok(Ok(()))) {
        return;
    }
    let socket = ClientSocket::new(socket, hang_up);
    let state = socket.state();
    let has_asked = Arc::new(AtomicBool::new(false));
    let asks = Arc::clone(&has_asked);
    let service = service_fn(move |request| {
        asks.store(true, Ordering::Relaxed);
        let (server, state, guard) = (Arc::clone(&server), Arc::clone(&state), guard.clone());
        async move { server.serve(request, state, guard).await }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    // `ClientSocket` decides on the client's EOF instead.
    builder
        .http1()
        .preserve_header_case(true)
        .auto_date_header(false)
        .half_close(false)
        .timer(TokioTimer::new())
        .header_read_timeout(client_timeout);
    builder.http2().auto_date_header(false).max_header_list_size(1 << 20);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(socket), service));
    // hyper's time limit for headers begins once it knows the version of HTTP, which a first byte `P` leaves open.
    let ended = tokio::time::timeout(client_timeout, &mut connection).await;
    // An error needs no handling: exchanges record their own end when they are dropped.
    if ended.is_err() && has_asked.load(Ordering::Relaxed) {
        let _ = connection.await;
    }
}

impl Server {
    /// Takes an agent's report about itself. In a replay the report is checked and not recorded.
    async fn serve_report(&self, body: Incoming) -> Result<Response<ClientBody>, AnswerAborted> {
        let refused = |why: &str| {
            rejection::text_response(StatusCode::BAD_REQUEST, &format!("reenact: no report: {why}"))
        };
        let Some(text) = inbound::read_report(body, self.limits.client_timeout).await else {
            return Ok(refused("it is longer than 1 MiB, or did not come whole"));
        };
        let taken = match &self.handler {
            RequestHandler::Record(recorder) => recorder.record_report(text).await,
            RequestHandler::Replay(_) => reenact_capture::agent_report::parse(&text, |_| ()),
        };
        if let Err(fault) = taken {
            return Ok(refused(&fault.to_string()));
        }
        let mut answer = Response::new(ClientBody::whole(bytes::Bytes::new()));
        *answer.status_mut() = StatusCode::NO_CONTENT;
        Ok(answer)
    }

    /// Serves one request, or answers why it is rejected.
    async fn serve(
        &self,
        request: Request<Incoming>,
        socket: Arc<ClientSocketState>,
        guard: RecordingGuard,
    ) -> Result<Response<ClientBody>, AnswerAborted> {
        let (head, body) = request.into_parts();
        let arrived = match self.gate.admit(head) {
            Ok(None) => return self.serve_report(body).await,
            Ok(Some(admitted)) => admitted.receive(body, &self.limits).await.ok_or(AnswerAborted)?,
            Err(refusal) => Err(refusal),
        };
        match (arrived, &self.handler) {
            (Ok(arrival), RequestHandler::Record(recorder)) => recorder.serve(arrival, socket, guard).await,
            (Ok(arrival), RequestHandler::Replay(replayer)) => replayer.serve(arrival, socket).await,
            (Err(refusal), RequestHandler::Record(recorder)) => {
                recorder.record_rejection(&refusal);
                Ok(refusal.response())
            }
            (Err(refusal), RequestHandler::Replay(_)) => Ok(refusal.response()),
        }
    }
}
