//! [`ScriptedVendor`]: a server on a loopback socket, with a log of exchanges and gates to wait at.
//!
//! The server has a thread and a runtime of its own, so that code without `async` can use it.
//! `serve` answers over HTTP, `raw` below it. Start reading at [`ScriptedVendor::start`].

mod body;
mod exchange_log;
mod raw;
mod serve;
#[cfg(feature = "tls")]
mod tls;
mod tracked_socket;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use self::exchange_log::ExchangeLog;
pub use self::exchange_log::{SentAnswer, SentEnd, WaitCondition, WaitError};
use crate::Vendor;
use crate::request::VendorRequest;
use crate::script::{AnswerFn, Script};

/// Time limit of the waiting methods. What takes longer on a loopback socket is not coming.
pub const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// Model vendor on a loopback socket. It stops on drop.
///
/// A test can hold an answer back at a gate, look at what was sent so far, and go on:
///
/// ```
/// use std::io::{Read, Write};
/// use reenact_testkit::{Script, ScriptedAnswer, ScriptedVendor, WaitCondition};
///
/// let script = Script::answering(|_| ScriptedAnswer::events(["one", "two"]).wait_before(1, "next"));
/// let vendor = ScriptedVendor::start(script)?;
/// let mut client = std::net::TcpStream::connect(vendor.address())?;
/// client.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
/// vendor.wait_for(WaitCondition::Gate("next".into())).map_err(std::io::Error::other)?;
/// assert_eq!(vendor.sent_answers()[0].body, "one");
/// vendor.open_gate("next");
/// let mut answer = String::new();
/// client.read_to_string(&mut answer)?;
/// assert!(answer.contains("two"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ScriptedVendor {
    /// Address of the listener.
    address: SocketAddr,
    /// Requests and sent bytes.
    log: Arc<ExchangeLog>,
    /// Certificate to trust; `None` for plain HTTP.
    authority_pem: Option<String>,
    /// Stop signal and thread, until the vendor is stopped.
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl ScriptedVendor {
    /// Starts a vendor on a free port that speaks HTTP/1.1, and HTTP/2 to clients that begin with
    /// it.
    ///
    /// # Errors
    /// If the socket, the runtime or the thread cannot be created.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_with(script, VendorTransport::Plain, None)
    }

    /// Starts a vendor behind TLS, which speaks both versions of HTTP; a client must trust
    /// [`ScriptedVendor::authority_pem`].
    ///
    /// # Errors
    /// If a certificate cannot be made, or as for [`ScriptedVendor::start`].
    #[cfg(feature = "tls")]
    pub fn start_tls(script: Script) -> io::Result<Self> {
        let tls::TlsIdentity { acceptor, authority_pem } = tls::generate_identity()?;
        Self::start_with(script, VendorTransport::Tls(acceptor), Some(authority_pem))
    }

    /// Binds a free port, and serves it on a new thread.
    fn start_with(
        script: Script,
        transport: VendorTransport,
        authority_pem: Option<String>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let log = ExchangeLog::new();
        let (stop, stopped) = oneshot::channel();
        let work = accept(listener, script, transport, Arc::clone(&log));
        let thread = std::thread::Builder::new().name("testkit-vendor".to_owned()).spawn(move || {
            // Tasks that still run when the vendor stops end with the runtime.
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    // Without a listener there is nothing to serve; clients notice.
                    _ = work => {}
                }
            });
        })?;
        Ok(Self { address, log, authority_pem, running: Some((stop, thread)) })
    }

    /// Returns the address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the vendor's URL without a path.
    pub fn root_url(&self) -> String {
        let scheme = if self.authority_pem.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Returns the base URL for clients of this vendor's interface.
    pub fn base_url(&self, kind: Vendor) -> String {
        format!("{}{}", self.root_url(), kind.base_path())
    }

    /// Returns the certificate that a client must trust; `None` for plain HTTP.
    pub fn authority_pem(&self) -> Option<&str> {
        self.authority_pem.as_deref()
    }

    /// Returns all requests received so far, in order.
    pub fn requests(&self) -> Vec<VendorRequest> {
        self.log.requests()
    }

    /// Returns the answers sent so far, one for each request.
    pub fn sent_answers(&self) -> Vec<SentAnswer> {
        self.log.sent_answers()
    }

    /// Opens a gate. It stays open, also for answers that come later.
    pub fn open_gate(&self, gate: &str) {
        self.log.open_gate(gate);
    }

    /// Waits until this many requests were received, and returns them; blocks the thread.
    ///
    /// # Errors
    /// [`WaitError`] after [`WAIT_LIMIT`].
    pub fn wait_for_requests(&self, count: usize) -> Result<Vec<VendorRequest>, WaitError> {
        self.wait_for(WaitCondition::Requests(count))?;
        Ok(self.requests())
    }

    /// Waits for a condition; blocks the thread.
    ///
    /// # Errors
    /// [`WaitError`] after [`WAIT_LIMIT`].
    pub fn wait_for(&self, condition: WaitCondition) -> Result<(), WaitError> {
        self.log.wait_blocking(condition, WAIT_LIMIT)
    }

    /// Waits for a condition without a limit of time; blocks no thread.
    pub async fn wait_async(&self, condition: WaitCondition) {
        self.log.wait_async(&condition).await;
    }

    /// Stops the vendor: closes the listener and all connections. Requests and sent bytes can still
    /// be read.
    pub fn stop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            // If the receiver is gone, the thread has ended already.
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

impl Drop for ScriptedVendor {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Layer between the socket and HTTP.
#[derive(Clone)]
enum VendorTransport {
    /// Plain HTTP.
    Plain,
    /// TLS with a generated certificate.
    #[cfg(feature = "tls")]
    Tls(tokio_rustls::TlsAcceptor),
}

/// Accepts connections, each served by a task of its own.
async fn accept(
    listener: TcpListener,
    script: Script,
    transport: VendorTransport,
    log: Arc<ExchangeLog>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        // Without Nagle's algorithm small pieces are sent at once. If the option fails, they are
        // only sent later.
        let _ = stream.set_nodelay(true);
        let (socket, line) = tracked_socket::TrackedSocket::new(stream);
        let (play, log, transport) = (script.answer_fn.clone(), Arc::clone(&log), transport.clone());
        tokio::spawn(async move {
            match transport {
                VendorTransport::Plain => serve_connection(socket, line, log, play).await,
                #[cfg(feature = "tls")]
                VendorTransport::Tls(acceptor) => {
                    // A failed handshake is the client's to report.
                    if let Ok(socket) = acceptor.accept(socket).await {
                        serve_connection(socket, line, log, play).await;
                    }
                }
            }
        });
    }
}

/// Serves one connection, over HTTP or below it.
async fn serve_connection<S>(
    socket: S,
    line: Arc<tracked_socket::ConnectionState>,
    log: Arc<ExchangeLog>,
    play: AnswerFn,
) where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    match play {
        AnswerFn::Http(decide) => serve::serve(socket, line, log, decide).await,
        AnswerFn::Raw(decide) => raw::serve(socket, line, log, decide).await,
    }
}
