//! HTTP/1.1 client for one request at a time: what the agent needs, and no more.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::http1::{Http1Error, Http1Head};

/// Largest answer, in bytes, head included.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// Longest time that a read or a write of the socket may block.
const SOCKET_TIMEOUT: Duration = Duration::from_secs(60);

/// Reason why a model could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The base URL is not plain HTTP, or names no host.
    #[error("the base URL must begin with http:// and name a host")]
    Url,
    /// The socket failed.
    #[error("cannot reach the model: {0}")]
    Socket(#[from] io::Error),
    /// The answer is not HTTP/1.1.
    #[error("not an answer: {0}")]
    Http(String),
    /// The answer is larger than the client accepts.
    #[error("the answer is larger than {} MiB", MAX_ANSWER_BYTES >> 20)]
    Size,
    /// The connection ended before the answer did.
    #[error("the answer broke off")]
    Cut,
}

impl From<Http1Error> for ClientError {
    fn from(error: Http1Error) -> Self {
        Self::Http(error.to_string())
    }
}

/// Base URL of requests.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HttpUrl {
    /// Host and port.
    authority: String,
    /// Path without a trailing slash.
    path: String,
}

impl HttpUrl {
    /// Parses an `http://` URL. The port is 80 if none is given.
    pub(super) fn parse(url: &str) -> Result<Self, ClientError> {
        let rest = url.strip_prefix("http://").ok_or(ClientError::Url)?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.is_empty() || url.contains(|character: char| character.is_control() || character == ' ')
        {
            return Err(ClientError::Url);
        }
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let authority = if has_port { authority.to_owned() } else { format!("{authority}:80") };
        Ok(Self { authority, path: path.trim_end_matches('/').to_owned() })
    }
}

/// Answer to a request.
#[derive(Debug)]
pub(super) struct ClientResponse {
    /// HTTP status code.
    pub(super) status: u16,
    /// True if the content type is that of server-sent events.
    pub(super) is_stream: bool,
    /// Body without the framing of HTTP.
    pub(super) body: Vec<u8>,
}

/// Sends a POST request over a new connection and reads the whole answer.
///
/// # Errors
/// A [`ClientError`] if the socket fails, or if the answer is no HTTP, too large or cut off.
pub(super) fn post(
    url: &HttpUrl,
    path: &str,
    headers: &[(&str, String)],
    body: &str,
) -> Result<ClientResponse, ClientError> {
    let mut socket = TcpStream::connect(&url.authority)?;
    socket.set_read_timeout(Some(SOCKET_TIMEOUT))?;
    socket.set_write_timeout(Some(SOCKET_TIMEOUT))?;
    let mut request = format!("POST {}{path} HTTP/1.1\r\nhost: {}\r\n", url.path, url.authority);
    for (name, value) in headers {
        // A value with a line break would begin another header.
        if !value.contains(char::is_control) {
            request += &format!("{name}: {value}\r\n");
        }
    }
    request += &format!("content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    socket.write_all(request.as_bytes())?;

    let mut bytes = Vec::new();
    loop {
        if let Some(response) = parse_response(&bytes, false)? {
            return Ok(response);
        }
        let mut buffer = [0; 16 << 10];
        let count = socket.read(&mut buffer)?;
        if count == 0 {
            return parse_response(&bytes, true)?.ok_or(ClientError::Cut);
        }
        bytes.extend_from_slice(&buffer[..count]);
        if bytes.len() > MAX_ANSWER_BYTES {
            return Err(ClientError::Size);
        }
    }
}

/// Parses the answer in these bytes; `None` while it is incomplete.
///
/// An answer without a stated length ends with the connection, which `is_eof` tells.
fn parse_response(bytes: &[u8], is_eof: bool) -> Result<Option<ClientResponse>, ClientError> {
    let Some((head, length)) = Http1Head::parse(bytes)? else { return Ok(None) };
    let rest = &bytes[length..];
    let body = match head.framing()? {
        Some(framing) => framing.parse_body(rest)?.map(|(body, _)| body),
        None => is_eof.then(|| rest.to_vec()),
    };
    let Some(body) = body else { return Ok(None) };
    let status = head.start_line[1].parse().map_err(|_| Http1Error::Head)?;
    let is_stream = head.header("content-type").is_some_and(reenact_wire::exchange::is_stream);
    Ok(Some(ClientResponse { status, is_stream, body }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_plain_http() {
        let url = |authority: &str, path: &str| HttpUrl { authority: authority.into(), path: path.into() };
        assert_eq!(HttpUrl::parse("http://127.0.0.1:9/a/b/").unwrap(), url("127.0.0.1:9", "/a/b"));
        assert_eq!(HttpUrl::parse("http://localhost").unwrap(), url("localhost:80", ""));
        for bad in ["https://x", "http://", "http:///v1", "http://a/\r\nb", ""] {
            assert!(matches!(HttpUrl::parse(bad), Err(ClientError::Url)), "{bad:?}");
        }
    }

    #[test]
    fn responses_end_as_their_heads_say() {
        let read = |text: &str, is_over| parse_response(text.as_bytes(), is_over);
        let body = |text: &str, is_over| read(text, is_over).unwrap().map(|response| response.body);
        assert_eq!(body("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab", false).unwrap(), b"ab");
        assert!(body("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na", true).is_none());
        assert!(body("HTTP/1.1 200 OK\r\n\r\na", false).is_none());
        assert_eq!(body("HTTP/1.1 200 OK\r\n\r\na", true).unwrap(), b"a");
        assert!(matches!(read("HTTP/1.1 x OK\r\n\r\na", true), Err(ClientError::Http(_))));
    }
}
