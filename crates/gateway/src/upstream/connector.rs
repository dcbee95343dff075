//! Connections to a vendor: direct, or through the user's own proxy; with TLS where the address says so.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::header::HeaderValue;
use http::uri::Scheme;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::environment::Environment;
use super::failure::Failure;
use super::roots::Tls;
use super::socks::Socks;
use crate::error::StartError;

/// Makes connections.
#[derive(Clone)]
pub(super) struct Connector {
    shared: Arc<Shared>,
    /// HTTP/2 is asked for where the vendor has it.
    asks_for_h2: bool,
}

struct Shared {
    tcp: HttpConnector,
    /// `None` when no route needs it.
    tls: Option<Tls>,
    proxies: Matcher,
    timeout: Duration,
}

impl Connector {
    pub(super) fn new(
        environment: &Environment,
        tls: Option<Tls>,
        timeout: Duration,
    ) -> Result<Self, StartError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let shared = Arc::new(Shared { tcp, tls, proxies: proxies(environment)?, timeout });
        Ok(Self { shared, asks_for_h2: false })
    }

    /// Connects.
    pub(super) async fn connect(&self, destination: Uri) -> Result<Stream, Failure> {
        let connecting = self.shared.connect(destination, self.asks_for_h2);
        tokio::time::timeout(self.shared.timeout, connecting).await.unwrap_or(Err(Failure::ConnectTimeout))
    }

    /// The same, asking for HTTP/2 where the vendor has it.
    pub(super) fn with_h2(&self) -> Self {
        Self { asks_for_h2: true, ..self.clone() }
    }

    /// What a proxy that passes plain requests on wants to see with each of them.
    pub(super) fn proxy_authorization(&self, destination: &Uri) -> Option<HeaderValue> {
        let proxy = self.shared.proxies.intercept(destination)?;
        (destination.scheme() == Some(&Scheme::HTTP) && is_http(&proxy))
            .then(|| proxy.basic_auth().cloned())?
    }
}

/// Whether a proxy speaks HTTP, and not SOCKS.
fn is_http(proxy: &Intercept) -> bool {
    Socks::of(proxy).is_none()
}

/// The proxies that the environment names. One that cannot be understood is an error: going around it silently is not what
/// its user wants.
fn proxies(environment: &Environment) -> Result<Matcher, StartError> {
    let named = [
        ("https_proxy", &environment.https_proxy),
        ("http_proxy", &environment.http_proxy),
        ("all_proxy", &environment.all_proxy),
    ];
    let probe = Uri::from_static("https://vendor.invalid/");
    for (variable, value) in named {
        if let Some(value) = value
            && Matcher::builder().all(value.as_str()).build().intercept(&probe).is_none()
        {
            return Err(StartError::Proxy { variable });
        }
    }
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    Ok(Matcher::builder()
        .https(text(&environment.https_proxy))
        .http(text(&environment.http_proxy))
        .all(text(&environment.all_proxy))
        .no(text(&environment.no_proxy))
        .build())
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move { connector.connect(destination).await })
    }
}

impl Shared {
    async fn connect(&self, destination: Uri, asks_for_h2: bool) -> Result<Stream, Failure> {
        let is_https = destination.scheme() == Some(&Scheme::HTTPS);
        let (wire, is_proxied) = match self.proxies.intercept(&destination) {
            None => (self.tcp(destination.clone()).await?, false),
            Some(proxy) if is_http(&proxy) && !is_https => (self.to_proxy(proxy.uri().clone()).await?, true),
            Some(proxy) => (self.through(&proxy, destination.clone()).await?, false),
        };
        if !is_https {
            return Ok(Stream::new(wire, false, is_proxied));
        }
        let config =
            self.tls.as_ref().map(|tls| Arc::clone(if asks_for_h2 { &tls.http2 } else { &tls.http1 }));
        let (wire, is_h2) = encrypted(config, &destination, wire).await?;
        Ok(Stream::new(wire, is_h2, is_proxied))
    }

    async fn tcp(&self, destination: Uri) -> Result<Wire, Failure> {
        let stream = self.tcp.clone().call(destination).await;
        let stream: TokioIo<TcpStream> = stream.map_err(|error| Failure::of_connecting(&error))?;
        Ok(Box::new(stream.into_inner()))
    }

    /// A connection to a proxy itself.
    async fn to_proxy(&self, proxy: Uri) -> Result<Wire, Failure> {
        let is_https = proxy.scheme() == Some(&Scheme::HTTPS);
        let wire = self.tcp(proxy.clone()).await.map_err(|failure| Failure::Proxy(failure.to_string()))?;
        if !is_https {
            return Ok(wire);
        }
        // CONNECT is spoken there.
        let config = self.tls.as_ref().map(|tls| Arc::clone(&tls.http1));
        let encrypted = encrypted(config, &proxy, wire).await;
        encrypted.map(|(wire, _)| wire).map_err(|failure| Failure::Proxy(failure.to_string()))
    }

    /// A connection to the vendor that a proxy passes on byte for byte.
    async fn through(&self, proxy: &Intercept, destination: Uri) -> Result<Wire, Failure> {
        let wire = TokioIo::new(self.to_proxy(proxy.uri().clone()).await?);
        if let Some(socks) = Socks::of(proxy) {
            return Ok(socks.through(proxy, &destination, wire).await?.into_inner());
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), Ready::new(wire));
        if let Some(credentials) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(credentials.clone());
        }
        let wire = tunnel.call(destination).await.map_err(|error| Failure::Proxy(error.to_string()))?;
        Ok(wire.into_inner())
    }
}

async fn encrypted(
    config: Option<Arc<ClientConfig>>,
    destination: &Uri,
    wire: Wire,
) -> Result<(Wire, bool), Failure> {
    let config = config.ok_or_else(|| Failure::Tls("no certificates were loaded".to_owned()))?;
    let host = destination.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(host.to_owned()).map_err(|error| Failure::Tls(error.to_string()))?;
    let stream = TlsConnector::from(config).connect(name, wire).await;
    let stream = stream.map_err(|error| Failure::Tls(error.to_string()))?;
    let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    Ok((Box::new(stream), is_h2))
}

/// A byte stream, whatever it goes through.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Sync + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Duplex for T {}
pub(super) type Wire = Box<dyn Duplex>;

/// A connection that is there already, for those who want to make one themselves.
pub(super) struct Ready(Option<TokioIo<Wire>>);

impl Ready {
    pub(super) fn new(wire: TokioIo<Wire>) -> Self {
        Self(Some(wire))
    }
}

impl Service<Uri> for Ready {
    type Response = TokioIo<Wire>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<TokioIo<Wire>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        std::future::ready(self.0.take().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected)))
    }
}

/// A connection on which HTTP is spoken.
pub(super) struct Stream {
    wire: TokioIo<Wire>,
    /// How much was written to it.
    sent: Sent,
    is_h2: bool,
    /// Requests name their whole address: a proxy reads them.
    is_proxied: bool,
}

/// How much was written to a connection, for those who have given it away.
#[derive(Debug, Clone, Default)]
pub(super) struct Sent(Arc<AtomicU64>);

impl Sent {
    pub(super) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn count(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = written {
            self.0.fetch_add(count as u64, Ordering::Relaxed);
        }
        written
    }
}

impl Stream {
    fn new(wire: Wire, is_h2: bool, is_proxied: bool) -> Self {
        Self { wire: TokioIo::new(wire), sent: Sent::default(), is_h2, is_proxied }
    }

    pub(super) fn sent(&self) -> Sent {
        self.sent.clone()
    }

    pub(super) fn is_proxied(&self) -> bool {
        self.is_proxied
    }

    #[cfg(test)]
    pub(super) fn plain(wire: impl AsyncRead + AsyncWrite + Send + Sync + Unpin + 'static) -> Self {
        Self::new(Box::new(wire), false, false)
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().proxy(self.is_proxied);
        if self.is_h2 { connected.negotiated_h2() } else { connected }
    }
}

impl hyper::rt::Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_read(cx, buffer)
    }
}

impl hyper::rt::Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.wire).poll_write(cx, bytes);
        self.sent.count(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        hyper::rt::Write::is_write_vectored(&self.wire)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.wire).poll_write_vectored(cx, pieces);
        self.sent.count(written)
    }
}
