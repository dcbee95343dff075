//! HTTP/1.1 client that costs little, and the same on every route: one keep-alive connection, no
//! pool.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use reenact_gateway::Gateway;
use reenact_testkit::{ScriptedVendor, Vendor as Interface};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::calls::CREDENTIAL;
use super::error_text;

/// Target of calls.
pub(super) struct CallTarget {
    /// Address to connect to.
    socket: SocketAddr,
    /// Path, with the prefix of the route at a gateway.
    path: String,
    /// TLS settings; `None` for plain HTTP.
    tls: Option<TlsConnector>,
}

impl CallTarget {
    /// Returns the target of direct calls to a vendor, over TLS if the vendor is behind TLS.
    pub(super) fn of_vendor(vendor: &ScriptedVendor) -> Result<Arc<Self>, String> {
        let tls = vendor.authority_pem().map(tls_connector).transpose()?;
        Ok(Arc::new(Self { socket: vendor.address(), path: super::calls::PATH.to_owned(), tls }))
    }

    /// Returns the same path at another address.
    pub(super) fn via(&self, socket: SocketAddr) -> Arc<Self> {
        Arc::new(Self { socket, path: self.path.clone(), tls: self.tls.clone() })
    }

    /// Returns the target of a vendor's route at the gateway.
    pub(super) fn of_gateway(gateway: &Gateway) -> Result<Arc<Self>, String> {
        let base = gateway.base_url(Interface::OPENAI.name()).ok_or("the gateway has no such route")?;
        let root = format!("http://{}", gateway.address());
        let path = base.strip_prefix(&root).ok_or("the route is not at the gateway")?;
        let path = format!("{path}/chat/completions");
        Ok(Arc::new(Self { socket: gateway.address(), path, tls: None }))
    }

    /// Builds a request, with a header that tells the scripted vendor what to answer.
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
        request.body(Full::new(body)).map_err(error_text)
    }
}

/// Returns TLS settings that trust this certificate.
fn tls_connector(authority_pem: &str) -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(authority_pem.as_bytes()).map_err(error_text)?)
        .map_err(error_text)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(error_text)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Times of a call, from just before its first byte is written.
#[derive(Clone, Copy)]
pub(super) struct CallTimes {
    /// Time to the first bytes of the body.
    pub(super) first: Duration,
    /// Time to the end of the body.
    pub(super) whole: Duration,
}

/// Open connection to a target.
pub(super) struct HttpConnection {
    /// Target of the connection.
    address: Arc<CallTarget>,
    /// hyper's end of the connection.
    sender: SendRequest<Full<Bytes>>,
}

impl HttpConnection {
    /// Connects. The connection's task runs on the current runtime.
    ///
    /// # Errors
    /// If the target refuses the connection or the TLS handshake.
    pub(super) async fn open(address: &Arc<CallTarget>) -> Result<Self, String> {
        let socket = TcpStream::connect(address.socket).await.map_err(error_text)?;
        socket.set_nodelay(true).map_err(error_text)?;
        let sender = match &address.tls {
            None => {
                let (sender, connection) = handshake(TokioIo::new(socket)).await.map_err(error_text)?;
                tokio::spawn(connection);
                sender
            }
            Some(tls) => {
                let socket =
                    tls.connect(ServerName::from(address.socket.ip()), socket).await.map_err(error_text)?;
                let (sender, connection) = handshake(TokioIo::new(socket)).await.map_err(error_text)?;
                tokio::spawn(connection);
                sender
            }
        };
        Ok(Self { address: Arc::clone(address), sender })
    }

    /// Makes a call and reads its answer to the end; `at_first` is called at the first bytes of the
    /// body.
    ///
    /// # Errors
    /// If the connection fails, or if the answer is not a success or has no body.
    pub(super) async fn call(
        &mut self,
        body: Bytes,
        header: Option<(&str, &str)>,
        at_first: impl FnOnce(),
    ) -> Result<CallTimes, String> {
        let request = self.address.request(body, header)?;
        self.sender.ready().await.map_err(error_text)?;
        let begun = Instant::now();
        let answer = self.sender.send_request(request).await.map_err(error_text)?;
        let status = answer.status();
        let mut body = answer.into_body();
        let (mut first, mut at_first, mut error_body) = (None, Some(at_first), Vec::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(error_text)?;
            let piece = frame.data_ref().map(|piece| &piece[..]).unwrap_or_default();
            if !piece.is_empty()
                && let Some(at_first) = at_first.take()
            {
                first = Some(begun.elapsed());
                at_first();
            }
            if !status.is_success() {
                error_body.extend_from_slice(piece);
            }
        }
        let whole = begun.elapsed();
        if !status.is_success() {
            return Err(format!(
                "a call was answered with {status}: {}",
                String::from_utf8_lossy(&error_body)
            ));
        }
        Ok(CallTimes { first: first.ok_or("a call was answered with nothing")?, whole })
    }
}
