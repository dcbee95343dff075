//! The gateway itself: a listener, its connections, and how they end.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use reenact_capture::{Capture, Running, Unrecorded};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use crate::arrival::{self, Door};
use crate::client_socket::{ClientSocket, ClientSocketState, HangUp};
use crate::error::StartError;
use crate::outgoing::{Cut, Outgoing};
use crate::recording::Recorder;
use crate::refusal;
use crate::replaying::Replayer;
use crate::route::Route;
use crate::token::Token;
use crate::upstream::Note;
use crate::work::Work;

/// A gateway that runs.
pub struct Gateway {
    address: SocketAddr,
    token: Token,
    routes: Vec<Arc<Route>>,
    notes: Vec<Note>,
    stop: oneshot::Sender<()>,
    accepting: JoinHandle<()>,
    /// Gives nothing; ends when nobody can record anything any more.
    running: mpsc::Receiver<Infallible>,
    capture: Option<Arc<Capture>>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Gateway {
    /// Begins to serve on a listener, which must be on a loopback address. Needs a tokio runtime around it.
    pub fn start(listener: StdListener, token: Token, work: Work) -> Result<Self, StartError> {
        let refused = |error: std::io::Error| StartError::Listener(error.kind());
        listener.set_nonblocking(true).map_err(refused)?;
        let listener = TcpListener::from_std(listener).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let routes: Vec<Arc<Route>> = work.routes().iter().cloned().map(Arc::new).collect();
        let door = Door { address, token: token.clone(), routes: routes.clone() };
        let mut notes = Vec::new();
        let (limit, job) = match work {
            Work::Record(recording) => (
                recording.limits.request_bytes,
                Job::Record(Box::new(Recorder::new(*recording, &mut notes)?)),
            ),
            Work::Replay(replaying) => {
                (replaying.limits.request_bytes, Job::Replay(Replayer::new(replaying)))
            }
        };
        let capture = match &job {
            Job::Record(recorder) => Some(Arc::clone(recorder.capture())),
            Job::Replay(_) => None,
        };
        let server = Arc::new(Server { door, limit, job });
        let (stop, stopping) = oneshot::channel();
        let (running, ended) = mpsc::channel(1);
        let accepting = tokio::spawn(accept(listener, server, stopping, running));
        Ok(Self { address, token, routes, notes, stop, accepting, running: ended, capture })
    }

    /// Returns the address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base address for a vendor's client; `None` if there is no route of that name.
    pub fn base_url(&self, route: &str) -> Option<String> {
        let route = self.routes.iter().find(|known| known.name == route)?;
        Some(route.base_url(self.address, &self.token))
    }

    /// Returns the address for an agent's reports of itself.
    pub fn report_url(&self) -> String {
        report_url(self.address, &self.token)
    }

    /// Returns notes for the user about proxies and certificates.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Returns true if the log cannot be written any more, so that everything waits for the journal.
    pub fn has_lost_its_log(&self) -> bool {
        self.capture.as_ref().is_some_and(|capture| capture.has_lost_its_log())
    }

    /// Returns the events that could not be recorded so far.
    pub fn unrecorded(&self) -> Option<Unrecorded> {
        self.capture.as_ref()?.unrecorded()
    }

    /// Ends it: no new connections; exchanges that run are broken off and recorded as far as they came. When this returns,
    /// nothing will be recorded any more. The error says what could not be recorded, in all this time.
    pub async fn stop(mut self) -> Result<(), Unrecorded> {
        // It ends by itself only together with the runtime.
        let _ = self.stop.send(());
        let _ = self.accepting.await;
        while self.running.recv().await.is_some() {}
        let Some(capture) = self.capture else { return Ok(()) };
        let finished = Arc::clone(&capture);
        // It waits for a thread. The task only ends early with the whole process.
        let _ = tokio::task::spawn_blocking(move || finished.finish()).await;
        capture.unrecorded().map_or(Ok(()), Err)
    }
}

/// Returns the address for reports of the agent of a gateway at that address.
pub fn report_url(address: SocketAddr, token: &Token) -> String {
    format!("http://{address}/{}/{}", token.as_str(), arrival::REPORT)
}

/// State that connections share.
struct Server {
    door: Door,
    limit: usize,
    job: Job,
}

enum Job {
    Record(Box<Recorder>),
    Replay(Replayer),
}

/// After an error of the listener itself, such as too many open files, the next attempt comes a little later.
const BREATH: Duration = Duration::from_millis(20);

async fn accept(
    listener: TcpListener,
    server: Arc<Server>,
    mut stopping: oneshot::Receiver<()>,
    running: Running,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // A gateway that was dropped instead of stopped ends as well.
            _ = &mut stopping => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    connections.spawn(connection(socket, Arc::clone(&server), running.clone()));
                }
                Err(_) => tokio::time::sleep(BREATH).await,
            },
        }
    }
    drop(listener);
    connections.shutdown().await;
}

async fn connection(socket: TcpStream, server: Arc<Server>, running: Running) {
    // Small pieces leave at once: without this a token waits for the one after it.
    let _ = socket.set_nodelay(true);
    let hang_up = match server.job {
        Job::Record(_) => HangUp::Noticed,
        Job::Replay(_) => HangUp::Ignored,
    };
    let socket = ClientSocket::new(socket, hang_up);
    let state = socket.state();
    let service = service_fn(move |request| {
        let (server, state, running) = (Arc::clone(&server), Arc::clone(&state), running.clone());
        async move { server.serve(request, state, running).await }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    // `ClientSocket` judges the end of a client's bytes.
    builder.http1().preserve_header_case(true).auto_date_header(false).half_close(false);
    builder.http2().auto_date_header(false).max_header_list_size(1 << 20);
    // However a connection ends, its exchanges have written what there was to write.
    let _ = builder.serve_connection(TokioIo::new(socket), service).await;
}

impl Server {
    /// Takes an agent's report of itself. In a replay it is heard and goes no further.
    async fn report(&self, body: Incoming) -> Result<Response<Outgoing>, Cut> {
        let refused =
            |why: &str| refusal::text(StatusCode::BAD_REQUEST, &format!("reenact: no report: {why}"));
        let Some(text) = arrival::report(body).await else {
            return Ok(refused("it is longer than 1 MiB, or did not come whole"));
        };
        let taken = match &self.job {
            Job::Record(recorder) => recorder.reported(text).await,
            Job::Replay(_) => reenact_capture::reported::read(&text, |_| ()),
        };
        if let Err(fault) = taken {
            return Ok(refused(&fault.to_string()));
        }
        let mut answer = Response::new(Outgoing::whole(bytes::Bytes::new()));
        *answer.status_mut() = StatusCode::NO_CONTENT;
        Ok(answer)
    }

    async fn serve(
        &self,
        request: Request<Incoming>,
        socket: Arc<ClientSocketState>,
        running: Running,
    ) -> Result<Response<Outgoing>, Cut> {
        let (head, body) = request.into_parts();
        let arrived = match self.door.admit(head) {
            Ok(None) => return self.report(body).await,
            Ok(Some(admitted)) => admitted.arrive(body, self.limit).await.ok_or(Cut)?,
            Err(refusal) => Err(refusal),
        };
        match (arrived, &self.job) {
            (Ok(arrival), Job::Record(recorder)) => recorder.serve(arrival, socket, running).await,
            (Ok(arrival), Job::Replay(replayer)) => replayer.serve(arrival, socket).await,
            (Err(refusal), Job::Record(recorder)) => {
                recorder.refused(&refusal);
                Ok(refusal.answer())
            }
            (Err(refusal), Job::Replay(_)) => Ok(refusal.answer()),
        }
    }
}
