//! A client that costs little and the same on every way: one connection that is kept alive, HTTP/1.1, no pool.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use reenact_gateway::Gateway;
use reenact_testkit::{Kind as Interface, Vendor};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::said;
use super::scene::CREDENTIAL;

/// Where calls go.
pub(super) struct Address {
    socket: SocketAddr,
    /// With everything that comes before it at a gateway.
    path: String,
    tls: Option<TlsConnector>,
}

impl Address {
    /// Straight to a vendor, through TLS if it is behind TLS.
    pub(super) fn of_vendor(vendor: &Vendor) -> Result<Arc<Self>, String> {
        let tls = vendor.authority_pem().map(trusting).transpose()?;
        Ok(Arc::new(Self { socket: vendor.address(), path: super::scene::PATH.to_owned(), tls }))
    }

    /// The same path at another address.
    pub(super) fn by_way_of(&self, socket: SocketAddr) -> Arc<Self> {
        Arc::new(Self { socket, path: self.path.clone(), tls: self.tls.clone() })
    }

    /// To the gateway's route of a vendor.
    pub(super) fn of_gateway(gateway: &Gateway) -> Result<Arc<Self>, String> {
        let base = gateway.base_url(Interface::OPENAI.name()).ok_or("the gateway has no such route")?;
        let root = format!("http://{}", gateway.address());
        let path = base.strip_prefix(&root).ok_or("the route is not at the gateway")?;
        let path = format!("{path}/chat/completions");
        Ok(Arc::new(Self { socket: gateway.address(), path, tls: None }))
    }

    /// A request for an answer, with a header that tells the vendor which one.
    fn request(&self, body: Bytes, header: Option<(&str, &str)>) -> Result<Request<Full<Bytes>>, String> {
        let mut request = Request::post(self.path.as_str())
            .header("host", self.socket.to_string())
            .header("authorization", CREDENTIAL)
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .header("user-agent", "OpenAI/Python 2.8.0");
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        request.body(Full::new(body)).map_err(said)
    }
}

/// TLS as clients speak it that trust this certificate.
fn trusting(authority_pem: &str) -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority_pem.as_bytes()).map_err(said)?).map_err(said)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(said)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// How long a call took, from just before its first byte was written.
#[derive(Clone, Copy)]
pub(super) struct Times {
    /// Until the first bytes of the body were there.
    pub(super) first: Duration,
    /// Until the end.
    pub(super) whole: Duration,
}

/// A connection.
pub(super) struct Line {
    address: Arc<Address>,
    sender: SendRequest<Full<Bytes>>,
}

impl Line {
    /// Connects. The connection lives on the runtime that is around this call.
    pub(super) async fn open(address: &Arc<Address>) -> Result<Self, String> {
        let socket = TcpStream::connect(address.socket).await.map_err(said)?;
        socket.set_nodelay(true).map_err(said)?;
        let sender = match &address.tls {
            None => {
                let (sender, connection) = handshake(TokioIo::new(socket)).await.map_err(said)?;
                tokio::spawn(connection);
                sender
            }
            Some(tls) => {
                let socket =
                    tls.connect(ServerName::from(address.socket.ip()), socket).await.map_err(said)?;
                let (sender, connection) = handshake(TokioIo::new(socket)).await.map_err(said)?;
                tokio::spawn(connection);
                sender
            }
        };
        Ok(Self { address: Arc::clone(address), sender })
    }

    /// Makes a call and reads its answer to the end; `at_first` is done when the first bytes of the body are there.
    pub(super) async fn call(
        &mut self,
        body: Bytes,
        header: Option<(&str, &str)>,
        at_first: impl FnOnce(),
    ) -> Result<Times, String> {
        let request = self.address.request(body, header)?;
        self.sender.ready().await.map_err(said)?;
        let begun = Instant::now();
        let answer = self.sender.send_request(request).await.map_err(said)?;
        let status = answer.status();
        let mut body = answer.into_body();
        let (mut first, mut at_first, mut said_no) = (None, Some(at_first), Vec::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(said)?;
            let piece = frame.data_ref().map(|piece| &piece[..]).unwrap_or_default();
            if !piece.is_empty()
                && let Some(at_first) = at_first.take()
            {
                first = Some(begun.elapsed());
                at_first();
            }
            if !status.is_success() {
                said_no.extend_from_slice(piece);
            }
        }
        let whole = begun.elapsed();
        if !status.is_success() {
            return Err(format!("a call was answered with {status}: {}", String::from_utf8_lossy(&said_no)));
        }
        Ok(Times { first: first.ok_or("a call was answered with nothing")?, whole })
    }
}
