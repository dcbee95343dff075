//! A client for one request at a time over HTTP/1.1: what the agent needs, and no more.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::http1::{Head, Http1Error};

/// No answer is larger.
const MOST: usize = 16 << 20;
/// How long nothing may come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why a model could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Only plain HTTP is spoken here.
    #[error("the base URL must begin with http:// and name a host")]
    Url,
    /// The socket failed.
    #[error("cannot reach the model: {0}")]
    Socket(#[from] io::Error),
    /// What came is not HTTP.
    #[error("not an answer: {0}")]
    Http(String),
    /// More came than an agent wants.
    #[error("the answer is larger than {} MiB", MOST >> 20)]
    Size,
    /// The connection ended too early.
    #[error("the answer broke off")]
    Cut,
}

impl From<Http1Error> for ClientError {
    fn from(error: Http1Error) -> Self {
        Self::Http(error.to_string())
    }
}

/// Where requests go.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Url {
    authority: String,
    path: String,
}

impl Url {
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

/// What came back.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) is_stream: bool,
    pub(super) body: Vec<u8>,
}

pub(super) fn post(
    url: &Url,
    path: &str,
    headers: &[(&str, String)],
    body: &str,
) -> Result<Response, ClientError> {
    let mut socket = TcpStream::connect(&url.authority)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let mut request = format!("POST {}{path} HTTP/1.1\r\nhost: {}\r\n", url.path, url.authority);
    for (name, value) in headers {
        // A value that would begin another header is none.
        if !value.contains(char::is_control) {
            request += &format!("{name}: {value}\r\n");
        }
    }
    request += &format!("content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    socket.write_all(request.as_bytes())?;

    let mut bytes = Vec::new();
    loop {
        if let Some(response) = response(&bytes, false)? {
            return Ok(response);
        }
        let mut buffer = [0; 16 << 10];
        let count = socket.read(&mut buffer)?;
        if count == 0 {
            return response(&bytes, true)?.ok_or(ClientError::Cut);
        }
        bytes.extend_from_slice(&buffer[..count]);
        if bytes.len() > MOST {
            return Err(ClientError::Size);
        }
    }
}

/// The response in these bytes, once it is whole. One that says nothing of its length is whole when the connection is.
fn response(bytes: &[u8], is_over: bool) -> Result<Option<Response>, ClientError> {
    let Some((head, length)) = Head::read(bytes)? else { return Ok(None) };
    let rest = &bytes[length..];
    let body = match head.framing()? {
        Some(framing) => framing.read(rest)?.map(|(body, _)| body),
        None => is_over.then(|| rest.to_vec()),
    };
    let Some(body) = body else { return Ok(None) };
    let status = head.start[1].parse().map_err(|_| Http1Error::Head)?;
    let is_stream = head.header("content-type").is_some_and(reenact_wire::exchange::is_stream);
    Ok(Some(Response { status, is_stream, body }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_plain_http() {
        let url = |authority: &str, path: &str| Url { authority: authority.into(), path: path.into() };
        assert_eq!(Url::parse("http://127.0.0.1:9/a/b/").unwrap(), url("127.0.0.1:9", "/a/b"));
        assert_eq!(Url::parse("http://localhost").unwrap(), url("localhost:80", ""));
        for bad in ["https://x", "http://", "http:///v1", "http://a/\r\nb", ""] {
            assert!(matches!(Url::parse(bad), Err(ClientError::Url)), "{bad:?}");
        }
    }

    #[test]
    fn responses_end_as_their_heads_say() {
        let read = |text: &str, is_over| response(text.as_bytes(), is_over);
        let body = |text: &str, is_over| read(text, is_over).unwrap().map(|response| response.body);
        assert_eq!(body("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab", false).unwrap(), b"ab");
        assert!(body("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na", true).is_none());
        assert!(body("HTTP/1.1 200 OK\r\n\r\na", false).is_none());
        assert_eq!(body("HTTP/1.1 200 OK\r\n\r\na", true).unwrap(), b"a");
        assert!(matches!(read("HTTP/1.1 x OK\r\n\r\na", true), Err(ClientError::Http(_))));
    }
}
