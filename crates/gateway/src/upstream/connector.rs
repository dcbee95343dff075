//! Connector: opens connections to vendors, directly or through the user's own proxy, with TLS if the address
//! asks for it.
//!
//! | destination | without proxy | HTTP proxy | SOCKS proxy |
//! |---|---|---|---|
//! | `http` | TCP | requests name their absolute address | forwarded |
//! | `https` | TCP, TLS | CONNECT, TLS | forwarded, TLS |
//!
//! Start reading at [`Connector::connect`].

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

use super::environment::NetworkEnvironment;
use super::failure::UpstreamFailure;
use super::roots::TlsConfigs;
use super::socks::SocksProxy;
use crate::error::StartError;

/// Opens connections.
#[derive(Clone)]
pub(super) struct Connector {
    shared: Arc<ConnectorShared>,
    /// True if TLS offers HTTP/2.
    asks_for_h2: bool,
}

/// Settings that clones share.
struct ConnectorShared {
    tcp: HttpConnector,
    /// `None` if no route needs TLS.
    tls: Option<TlsConfigs>,
    /// Proxies of the environment, with the hosts that need none.
    proxies: Matcher,
    /// Longest time for all steps of a connection together.
    connect_timeout: Duration,
}

impl Connector {
    /// Makes a connector. `tls` is `None` if no connection needs TLS.
    ///
    /// # Errors
    /// [`StartError::Proxy`] if a proxy of the environment cannot be parsed.
    pub(super) fn new(
        environment: &NetworkEnvironment,
        tls: Option<TlsConfigs>,
        timeout: Duration,
    ) -> Result<Self, StartError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let shared = Arc::new(ConnectorShared {
            tcp,
            tls,
            proxies: proxy_matcher(environment)?,
            connect_timeout: timeout,
        });
        Ok(Self { shared, asks_for_h2: false })
    }

    /// Opens a connection to the host of `destination`.
    ///
    /// # Errors
    /// [`UpstreamFailure::ConnectTimeout`] after the timeout; other failures as they occur.
    pub(super) async fn connect(&self, destination: Uri) -> Result<VendorStream, UpstreamFailure> {
        let connecting = self.shared.connect(destination, self.asks_for_h2);
        tokio::time::timeout(self.shared.connect_timeout, connecting)
            .await
            .unwrap_or(Err(UpstreamFailure::ConnectTimeout))
    }

    /// Returns a connector that offers HTTP/2.
    pub(super) fn with_h2(&self) -> Self {
        Self { asks_for_h2: true, ..self.clone() }
    }

    /// Returns the `proxy-authorization` for requests that a proxy reads, that is, those without TLS.
    pub(super) fn proxy_authorization(&self, destination: &Uri) -> Option<HeaderValue> {
        let proxy = self.shared.proxies.intercept(destination)?;
        (destination.scheme() == Some(&Scheme::HTTP) && is_http_proxy(&proxy))
            .then(|| proxy.basic_auth().cloned())?
    }
}

/// Returns true if a proxy speaks HTTP, and not SOCKS.
fn is_http_proxy(proxy: &Intercept) -> bool {
    SocksProxy::of(proxy).is_none()
}

/// Returns the proxies that the environment names.
///
/// # Errors
/// A proxy that cannot be parsed is an error: going around it silently is not what its user wants.
fn proxy_matcher(environment: &NetworkEnvironment) -> Result<Matcher, StartError> {
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
    type Response = VendorStream;
    type Error = UpstreamFailure;
    type Future = Pin<Box<dyn Future<Output = Result<VendorStream, UpstreamFailure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), UpstreamFailure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move { connector.connect(destination).await })
    }
}

impl ConnectorShared {
    /// Opens a connection, without the timeout.
    async fn connect(&self, destination: Uri, asks_for_h2: bool) -> Result<VendorStream, UpstreamFailure> {
        let is_https = destination.scheme() == Some(&Scheme::HTTPS);
        let (wire, is_proxied) = match self.proxies.intercept(&destination) {
            None => (self.connect_tcp(destination.clone()).await?, false),
            Some(proxy) if is_http_proxy(&proxy) && !is_https => {
                (self.connect_to_proxy(proxy.uri().clone()).await?, true)
            }
            Some(proxy) => (self.connect_through_proxy(&proxy, destination.clone()).await?, false),
        };
        if !is_https {
            return Ok(VendorStream::new(wire, false, is_proxied));
        }
        let config =
            self.tls.as_ref().map(|tls| Arc::clone(if asks_for_h2 { &tls.http2 } else { &tls.http1 }));
        let (wire, is_h2) = tls_handshake(config, &destination, wire).await?;
        Ok(VendorStream::new(wire, is_h2, is_proxied))
    }

    /// Opens a TCP connection.
    async fn connect_tcp(&self, destination: Uri) -> Result<BoxedStream, UpstreamFailure> {
        let stream = self.tcp.clone().call(destination).await;
        let stream: TokioIo<TcpStream> =
            stream.map_err(|error| UpstreamFailure::from_connect_error(&error))?;
        Ok(Box::new(stream.into_inner()))
    }

    /// Opens a connection to a proxy itself.
    async fn connect_to_proxy(&self, proxy: Uri) -> Result<BoxedStream, UpstreamFailure> {
        let is_https = proxy.scheme() == Some(&Scheme::HTTPS);
        let wire = self
            .connect_tcp(proxy.clone())
            .await
            .map_err(|failure| UpstreamFailure::Proxy(failure.to_string()))?;
        if !is_https {
            return Ok(wire);
        }
        // HTTP/1 only, for the CONNECT request.
        let config = self.tls.as_ref().map(|tls| Arc::clone(&tls.http1));
        let encrypted = tls_handshake(config, &proxy, wire).await;
        encrypted.map(|(wire, _)| wire).map_err(|failure| UpstreamFailure::Proxy(failure.to_string()))
    }

    /// Opens a connection to the vendor that a proxy forwards byte for byte, by SOCKS or CONNECT.
    async fn connect_through_proxy(
        &self,
        proxy: &Intercept,
        destination: Uri,
    ) -> Result<BoxedStream, UpstreamFailure> {
        let wire = TokioIo::new(self.connect_to_proxy(proxy.uri().clone()).await?);
        if let Some(socks) = SocksProxy::of(proxy) {
            return Ok(socks.connect_through(proxy, &destination, wire).await?.into_inner());
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), ReadyConnector::new(wire));
        if let Some(credentials) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(credentials.clone());
        }
        let wire =
            tunnel.call(destination).await.map_err(|error| UpstreamFailure::Proxy(error.to_string()))?;
        Ok(wire.into_inner())
    }
}

/// Starts TLS on a connection. Returns the stream, and true if HTTP/2 was negotiated.
async fn tls_handshake(
    config: Option<Arc<ClientConfig>>,
    destination: &Uri,
    wire: BoxedStream,
) -> Result<(BoxedStream, bool), UpstreamFailure> {
    let config = config.ok_or_else(|| UpstreamFailure::Tls("no certificates were loaded".to_owned()))?;
    let host = destination.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let name =
        ServerName::try_from(host.to_owned()).map_err(|error| UpstreamFailure::Tls(error.to_string()))?;
    let stream = TlsConnector::from(config).connect(name, wire).await;
    let stream = stream.map_err(|error| UpstreamFailure::Tls(error.to_string()))?;
    let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    Ok((Box::new(stream), is_h2))
}

/// Byte stream in both directions: TCP, TLS, or a tunnel.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Sync + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Duplex for T {}
/// Byte stream of any kind.
pub(super) type BoxedStream = Box<dyn Duplex>;

/// Connection that exists already, for libraries that want to open one themselves.
pub(super) struct ReadyConnector(Option<TokioIo<BoxedStream>>);

impl ReadyConnector {
    /// Makes a connector that hands out `wire` once.
    pub(super) fn new(wire: TokioIo<BoxedStream>) -> Self {
        Self(Some(wire))
    }
}

impl Service<Uri> for ReadyConnector {
    type Response = TokioIo<BoxedStream>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<TokioIo<BoxedStream>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        std::future::ready(self.0.take().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected)))
    }
}

/// Connection on which HTTP is spoken.
pub(super) struct VendorStream {
    wire: TokioIo<BoxedStream>,
    /// Bytes written so far.
    sent_bytes: SentBytes,
    is_h2: bool,
    /// True if a proxy reads the requests, which must then name their absolute address.
    is_proxied: bool,
}

/// Counter of bytes written to a connection, readable after the connection was moved away.
#[derive(Debug, Clone, Default)]
pub(super) struct SentBytes(Arc<AtomicU64>);

impl SentBytes {
    /// Returns the number of bytes written so far.
    pub(super) fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts the bytes of a completed write, and returns its result.
    fn add_written(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = written {
            self.0.fetch_add(count as u64, Ordering::Relaxed);
        }
        written
    }
}

impl VendorStream {
    /// Wraps an open connection.
    fn new(wire: BoxedStream, is_h2: bool, is_proxied: bool) -> Self {
        Self { wire: TokioIo::new(wire), sent_bytes: SentBytes::default(), is_h2, is_proxied }
    }

    /// Returns the counter of bytes written.
    pub(super) fn sent_bytes(&self) -> SentBytes {
        self.sent_bytes.clone()
    }

    /// Returns true if a proxy reads the requests.
    pub(super) fn is_proxied(&self) -> bool {
        self.is_proxied
    }

    #[cfg(test)]
    pub(super) fn plain(wire: impl AsyncRead + AsyncWrite + Send + Sync + Unpin + 'static) -> Self {
        Self::new(Box::new(wire), false, false)
    }
}

impl Connection for VendorStream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().proxy(self.is_proxied);
        if self.is_h2 { connected.negotiated_h2() } else { connected }
    }
}

impl hyper::rt::Read for VendorStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_read(cx, buffer)
    }
}

impl hyper::rt::Write for VendorStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.wire).poll_write(cx, bytes);
        self.sent_bytes.add_written(written)
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
        self.sent_bytes.add_written(written)
    }
}
