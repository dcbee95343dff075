//! HTTP client for tests of the vendor, which hides neither framing nor cuts.

#![allow(dead_code, reason = "each test uses its own part")]

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper::{HeaderMap, Response, body::Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use reenact_testkit::ScriptedVendor;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// Answer up to where it ended or broke off.
#[derive(Debug)]
pub(crate) struct ClientAnswer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Option<HeaderMap>,
    /// True if the body came to its end.
    pub(crate) is_whole: bool,
}

impl ClientAnswer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// Runs a future to its end on a runtime of its own.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn request(method: &str, uri: &str, body: &str) -> hyper::Request<Full<Bytes>> {
    hyper::Request::builder()
        .method(method)
        .uri(uri)
        .header("host", "localhost")
        .header("te", "trailers")
        .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
        .unwrap()
}

/// Begins an exchange over HTTP/1.1; the body of the answer is still to come.
pub(crate) async fn begin(
    vendor: &ScriptedVendor,
    method: &str,
    path: &str,
    body: &str,
) -> hyper::Result<Response<Incoming>> {
    let socket = TcpStream::connect(vendor.address()).await.unwrap();
    begin_on(socket, method, path, body).await
}

/// Begins an exchange over HTTP/1.1 on a given socket.
pub(crate) async fn begin_on<S>(
    socket: S,
    method: &str,
    path: &str,
    body: &str,
) -> hyper::Result<Response<Incoming>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    sender.send_request(request(method, path, body)).await
}

/// Begins an exchange over HTTP/2 on a given socket.
pub(crate) async fn begin_http2_on<S>(
    socket: S,
    method: &str,
    path: &str,
    body: &str,
) -> hyper::Result<Response<Incoming>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    sender.send_request(request(method, &format!("http://localhost{path}"), body)).await
}

/// Reads an answer to where it ends or breaks off.
pub(crate) async fn rest(response: Response<Incoming>) -> ClientAnswer {
    let (head, mut incoming) = response.into_parts();
    let (mut body, mut trailers, mut is_whole) = (Vec::new(), None, true);
    while let Some(frame) = incoming.frame().await {
        match frame.map(hyper::body::Frame::into_data) {
            Ok(Ok(data)) => body.extend_from_slice(&data),
            Ok(Err(frame)) => trailers = frame.into_trailers().ok(),
            Err(_) => {
                is_whole = false;
                break;
            }
        }
    }
    ClientAnswer { status: head.status.as_u16(), headers: head.headers, body, trailers, is_whole }
}

/// Runs one exchange over HTTP/1.1.
pub(crate) fn get(vendor: &ScriptedVendor, method: &str, path: &str, body: &str) -> ClientAnswer {
    block_on(async { rest(begin(vendor, method, path, body).await.unwrap()).await })
}

/// Returns the next piece of a body.
pub(crate) async fn piece(response: &mut Response<Incoming>) -> Vec<u8> {
    response.body_mut().frame().await.unwrap().unwrap().into_data().unwrap().to_vec()
}

/// Gemini's path for a document, and the one for a stream.
pub(crate) const GEMINI: &str = "/v1beta/models/gemini-2.5-flash:generateContent";
pub(crate) const GEMINI_STREAM: &str = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse";

/// Returns a request of a user with this text in every format: path and body.
pub(crate) fn asking(text: &str, stream: bool) -> [(&'static str, String); 4] {
    let text = serde_json::json!(text);
    [
        (
            "/v1/chat/completions",
            format!(
                r#"{{"model":"gpt-5","stream":{stream},"stream_options":{{"include_usage":true}},"messages":[{{"role":"user","content":{text}}}]}}"#
            ),
        ),
        ("/v1/responses", format!(r#"{{"model":"gpt-5","stream":{stream},"input":{text}}}"#)),
        (
            "/v1/messages",
            format!(
                r#"{{"model":"claude-sonnet-4-5","max_tokens":99,"stream":{stream},"messages":[{{"role":"user","content":{text}}}]}}"#
            ),
        ),
        (
            if stream { GEMINI_STREAM } else { GEMINI },
            format!(r#"{{"contents":[{{"role":"user","parts":[{{"text":{text}}}]}}]}}"#),
        ),
    ]
}
