//! The vendor: sockets on the loopback, what came and went, and gates to wait at.
//!
//! It lives on a thread and a runtime of its own, so that it can be used from code that knows no `async`.

mod body;
mod ledger;
mod line;
mod raw;
mod serve;
#[cfg(feature = "tls")]
mod tls;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use self::ledger::Ledger;
pub use self::ledger::{Moment, Sent, SentEnd, WaitError};
use crate::Kind;
use crate::request::Request;
use crate::script::{Play, Script};

/// How long the waiting methods wait. What takes longer on a loopback socket is not coming.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A model vendor on a loopback socket. It stops when it is dropped.
#[derive(Debug)]
pub struct Vendor {
    address: SocketAddr,
    ledger: Arc<Ledger>,
    authority_pem: Option<String>,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Vendor {
    /// Starts a vendor that speaks HTTP/1.1, and HTTP/2 to clients that begin with it.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_with(script, Front::Plain, None)
    }

    /// Starts a vendor behind TLS, which speaks both; a client must trust [`Vendor::authority_pem`].
    #[cfg(feature = "tls")]
    pub fn start_tls(script: Script) -> io::Result<Self> {
        let tls::Identity { acceptor, authority_pem } = tls::identity()?;
        Self::start_with(script, Front::Tls(acceptor), Some(authority_pem))
    }

    fn start_with(script: Script, front: Front, authority_pem: Option<String>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let ledger = Ledger::new();
        let (stop, stopped) = oneshot::channel();
        let work = accept(listener, script, front, Arc::clone(&ledger));
        let thread = std::thread::Builder::new().name("testkit-vendor".to_owned()).spawn(move || {
            // Whatever still runs when the vendor stops ends with its runtime.
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    // Without a listener there is nothing to serve; clients see it.
                    _ = work => {}
                }
            });
        })?;
        Ok(Self { address, ledger, authority_pem, running: Some((stop, thread)) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address as a URL, without a path.
    pub fn root_url(&self) -> String {
        let scheme = if self.authority_pem.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// What a client of this kind takes as its base URL.
    pub fn base_url(&self, kind: Kind) -> String {
        format!("{}{}", self.root_url(), kind.base_path())
    }

    /// The certificate that a client must trust, if the vendor is behind TLS.
    pub fn authority_pem(&self) -> Option<&str> {
        self.authority_pem.as_deref()
    }

    /// All requests so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.ledger.requests()
    }

    /// What was sent so far, for each request.
    pub fn sent(&self) -> Vec<Sent> {
        self.ledger.sent()
    }

    /// Opens a gate. It stays open, also for those who have not come yet.
    pub fn open(&self, gate: &str) {
        self.ledger.open(gate);
    }

    /// Waits until this many requests have come; blocks the thread.
    pub fn wait_for_requests(&self, count: usize) -> Result<Vec<Request>, WaitError> {
        self.wait_for(Moment::Requests(count))?;
        Ok(self.requests())
    }

    /// Waits for a moment, at most [`PATIENCE`]; blocks the thread.
    pub fn wait_for(&self, moment: Moment) -> Result<(), WaitError> {
        self.ledger.wait(moment, PATIENCE)
    }

    /// Waits for a moment, for as long as it takes; blocks no thread.
    pub async fn when(&self, moment: Moment) {
        self.ledger.moment(&moment).await;
    }

    /// Stops: closes the listener and all connections. What came and went can still be read.
    pub fn stop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            // A vendor whose thread is gone has stopped already.
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

impl Drop for Vendor {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What stands between the socket and HTTP.
#[derive(Clone)]
enum Front {
    Plain,
    #[cfg(feature = "tls")]
    Tls(tokio_rustls::TlsAcceptor),
}

async fn accept(listener: TcpListener, script: Script, front: Front, ledger: Arc<Ledger>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        // Small pieces go out at once; where that cannot be set, they come later.
        let _ = stream.set_nodelay(true);
        let (socket, line) = line::Socket::new(stream);
        let (play, ledger, front) = (script.play.clone(), Arc::clone(&ledger), front.clone());
        tokio::spawn(async move {
            match front {
                Front::Plain => converse(socket, line, ledger, play).await,
                #[cfg(feature = "tls")]
                Front::Tls(acceptor) => {
                    // A client that does not trust us has said so to itself.
                    if let Ok(socket) = acceptor.accept(socket).await {
                        converse(socket, line, ledger, play).await;
                    }
                }
            }
        });
    }
}

async fn converse<S>(socket: S, line: Arc<line::Line>, ledger: Arc<Ledger>, play: Play)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    match play {
        Play::Http(decide) => serve::serve(socket, line, ledger, decide).await,
        Play::Raw(decide) => raw::serve(socket, line, ledger, decide).await,
    }
}
