//! HTTP/1.1 on a bare socket: what is sent is written out, what comes is kept byte for byte.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Where a gateway listens, and the path that leads in.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    /// Before a vendor's path.
    pub(crate) base: String,
}

/// An answer as it came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Got {
    /// Such as `HTTP/1.1 200 OK`.
    pub(crate) line: String,
    /// As they were spelled, in their order.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The chunks of a chunked body.
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) trailers: Vec<(String, String)>,
    /// Whether the body came to its end.
    pub(crate) is_whole: bool,
}

impl Got {
    pub(crate) fn status(&self) -> u16 {
        self.line.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Names in lower case, sorted, without those that speak of a connection.
    pub(crate) fn message_headers(&self) -> Vec<(String, String)> {
        let ours = ["connection", "transfer-encoding", "content-length", "keep-alive"];
        let lower = self.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        let mut headers: Vec<_> = lower.filter(|(name, _)| !ours.contains(&name.as_str())).collect();
        headers.sort();
        headers
    }
}

impl Client {
    /// Of a base address such as `http://127.0.0.1:1/token/openai/v1`.
    pub(crate) fn of(base_url: &str) -> Self {
        let rest = base_url.strip_prefix("http://").unwrap();
        let (address, path) = rest.split_once('/').unwrap();
        Self { address: address.parse().unwrap(), base: format!("/{path}") }
    }

    /// The head and body of a request with more headers.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let mut text = format!("{method} {}{path} HTTP/1.1\r\nHost: {}\r\n", self.base, self.address);
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        [text.as_bytes(), body].concat()
    }

    pub(crate) async fn connect(&self) -> Connection {
        let socket = TcpStream::connect(self.address).await.unwrap();
        socket.set_nodelay(true).unwrap();
        Connection { socket, held: Vec::new() }
    }

    /// One exchange on a connection of its own; `None` if it was closed without an answer.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Option<Got> {
        let mut connection = self.connect().await;
        connection.write(&self.request(method, path, headers, body)).await;
        connection.answer(method).await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Got {
        self.send("POST", path, &[("Content-Type", "application/json")], body.as_bytes()).await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Got {
        self.send("GET", path, &[], b"").await.unwrap()
    }
}

/// A bare socket.
pub(crate) struct Connection {
    pub(crate) socket: TcpStream,
    held: Vec<u8>,
}

impl Connection {
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).await.unwrap();
    }

    /// Reads more; false at the end, however it came.
    async fn more(&mut self) -> bool {
        let mut buffer = vec![0; 64 << 10];
        match self.socket.read(&mut buffer).await {
            Ok(0) | Err(_) => false,
            Ok(read) => {
                self.held.extend_from_slice(&buffer[..read]);
                true
            }
        }
    }

    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.held.windows(2).position(|two| two == b"\r\n") {
                let line = String::from_utf8(self.held[..end].to_vec()).unwrap();
                self.held.drain(..end + 2);
                return Some(line);
            }
            if !self.more().await {
                return None;
            }
        }
    }

    /// So many bytes, or as many as came; and whether these are all.
    pub(crate) async fn take(&mut self, length: usize) -> (Vec<u8>, bool) {
        while self.held.len() < length {
            if !self.more().await {
                return (std::mem::take(&mut self.held), false);
            }
        }
        (self.held.drain(..length).collect(), true)
    }

    async fn fields(&mut self) -> Option<Vec<(String, String)>> {
        let mut fields = Vec::new();
        loop {
            let line = self.line().await?;
            if line.is_empty() {
                return Some(fields);
            }
            let (name, value) = line.split_once(':').unwrap();
            fields.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    /// The head of an answer; `None` if the connection is closed before it.
    pub(crate) async fn head(&mut self) -> Option<Got> {
        loop {
            let line = self.line().await?;
            let headers = self.fields().await?;
            if !line.starts_with("HTTP/1.1 100") {
                return Some(Got { line, headers, ..Got::default() });
            }
        }
    }

    /// The next chunk of a chunked body: empty at its end, `None` when it broke off. Then what came of it is in `rest`.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = usize::from_str_radix(&self.line().await?, 16).unwrap();
        if size == 0 {
            return Some(Vec::new());
        }
        let (chunk, is_whole) = self.take(size + 2).await;
        is_whole.then(|| chunk[..size].to_vec())
    }

    /// What follows the last chunk.
    pub(crate) async fn end_chunks(&mut self) -> Option<Vec<(String, String)>> {
        self.fields().await
    }

    /// A whole answer to a request of this method, or as much as came.
    pub(crate) async fn answer(&mut self, method: &str) -> Option<Got> {
        let mut got = self.head().await?;
        let is_empty = method == "HEAD" || matches!(got.status(), 204 | 304);
        if is_empty {
            got.is_whole = true;
        } else if got.header("transfer-encoding").is_some_and(|coding| coding == "chunked") {
            while let Some(chunk) = self.chunk().await {
                if chunk.is_empty() {
                    let trailers = self.fields().await;
                    got.is_whole = trailers.is_some();
                    got.trailers = trailers.unwrap_or_default();
                    break;
                }
                got.body.extend_from_slice(&chunk);
                got.chunks.push(chunk);
            }
        } else if let Some(length) = got.header("content-length") {
            let length = length.parse().unwrap();
            (got.body, got.is_whole) = self.take(length).await;
        } else {
            while self.more().await {}
            (got.body, got.is_whole) = (std::mem::take(&mut self.held), true);
        }
        Some(got)
    }

    /// Whether the other side has closed.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.held.is_empty() && !self.more().await
    }
}
