//! HTTP/1.1 client on a bare socket: requests are written out by hand, and answers are kept byte for byte.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Address of a gateway, and the path of a route in it.
#[derive(Debug, Clone)]
pub(crate) struct TestClient {
    pub(crate) address: SocketAddr,
    /// Path before the vendor's path.
    pub(crate) base: String,
}

/// Answer as it came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TestResponse {
    /// Status line, such as `HTTP/1.1 200 OK`.
    pub(crate) line: String,
    /// Headers in their original spelling and order.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Chunks of a chunked body.
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) trailers: Vec<(String, String)>,
    /// True if the body came to its end.
    pub(crate) is_whole: bool,
}

impl TestResponse {
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

    /// Returns the headers with names in lower case, sorted, without those of the connection.
    pub(crate) fn message_headers(&self) -> Vec<(String, String)> {
        let ours = ["connection", "transfer-encoding", "content-length", "keep-alive"];
        let lower = self.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        let mut headers: Vec<_> = lower.filter(|(name, _)| !ours.contains(&name.as_str())).collect();
        headers.sort();
        headers
    }
}

impl TestClient {
    /// Makes a client of a base address such as `http://127.0.0.1:1/token/openai/v1`.
    pub(crate) fn of(base_url: &str) -> Self {
        let rest = base_url.strip_prefix("http://").unwrap();
        let (address, path) = rest.split_once('/').unwrap();
        Self { address: address.parse().unwrap(), base: format!("/{path}") }
    }

    /// Returns the bytes of a request with these additional headers.
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

    pub(crate) async fn connect(&self) -> ClientConnection {
        let socket = TcpStream::connect(self.address).await.unwrap();
        socket.set_nodelay(true).unwrap();
        ClientConnection { socket, buffer: Vec::new() }
    }

    /// Runs one exchange on a new connection; `None` if the connection was closed without an answer.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Option<TestResponse> {
        let mut connection = self.connect().await;
        connection.write(&self.request(method, path, headers, body)).await;
        connection.read_answer(method).await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> TestResponse {
        self.send("POST", path, &[("Content-Type", "application/json")], body.as_bytes()).await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, &[], b"").await.unwrap()
    }
}

/// Socket with the bytes that were read and not used yet.
pub(crate) struct ClientConnection {
    pub(crate) socket: TcpStream,
    buffer: Vec<u8>,
}

impl ClientConnection {
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).await.unwrap();
    }

    /// Reads more bytes; false at the end, also after an error.
    async fn read_more(&mut self) -> bool {
        let mut buffer = vec![0; 64 << 10];
        match self.socket.read(&mut buffer).await {
            Ok(0) | Err(_) => false,
            Ok(read) => {
                self.buffer.extend_from_slice(&buffer[..read]);
                true
            }
        }
    }

    async fn read_line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\r\n") {
                let line = String::from_utf8(self.buffer[..end].to_vec()).unwrap();
                self.buffer.drain(..end + 2);
                return Some(line);
            }
            if !self.read_more().await {
                return None;
            }
        }
    }

    /// Returns `length` bytes and true, or fewer and false if the connection ended.
    pub(crate) async fn read_exactly(&mut self, length: usize) -> (Vec<u8>, bool) {
        while self.buffer.len() < length {
            if !self.read_more().await {
                return (std::mem::take(&mut self.buffer), false);
            }
        }
        (self.buffer.drain(..length).collect(), true)
    }

    async fn read_fields(&mut self) -> Option<Vec<(String, String)>> {
        let mut fields = Vec::new();
        loop {
            let line = self.read_line().await?;
            if line.is_empty() {
                return Some(fields);
            }
            let (name, value) = line.split_once(':').unwrap();
            fields.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    /// Returns the head of an answer; `None` if the connection is closed before it.
    pub(crate) async fn read_head(&mut self) -> Option<TestResponse> {
        loop {
            let line = self.read_line().await?;
            let headers = self.read_fields().await?;
            if !line.starts_with("HTTP/1.1 100") {
                return Some(TestResponse { line, headers, ..TestResponse::default() });
            }
        }
    }

    /// Returns the next chunk of a chunked body: empty at the end, `None` if the body broke off.
    pub(crate) async fn read_chunk(&mut self) -> Option<Vec<u8>> {
        let size = usize::from_str_radix(&self.read_line().await?, 16).unwrap();
        if size == 0 {
            return Some(Vec::new());
        }
        let (chunk, is_whole) = self.read_exactly(size + 2).await;
        is_whole.then(|| chunk[..size].to_vec())
    }

    /// Returns the trailers after the last chunk.
    pub(crate) async fn read_trailers(&mut self) -> Option<Vec<(String, String)>> {
        self.read_fields().await
    }

    /// Returns the answer to a request of this method, as far as it came.
    pub(crate) async fn read_answer(&mut self, method: &str) -> Option<TestResponse> {
        let mut got = self.read_head().await?;
        let is_empty = method == "HEAD" || matches!(got.status(), 204 | 304);
        if is_empty {
            got.is_whole = true;
        } else if got.header("transfer-encoding").is_some_and(|coding| coding == "chunked") {
            while let Some(chunk) = self.read_chunk().await {
                if chunk.is_empty() {
                    let trailers = self.read_fields().await;
                    got.is_whole = trailers.is_some();
                    got.trailers = trailers.unwrap_or_default();
                    break;
                }
                got.body.extend_from_slice(&chunk);
                got.chunks.push(chunk);
            }
        } else if let Some(length) = got.header("content-length") {
            let length = length.parse().unwrap();
            (got.body, got.is_whole) = self.read_exactly(length).await;
        } else {
            while self.read_more().await {}
            (got.body, got.is_whole) = (std::mem::take(&mut self.buffer), true);
        }
        Some(got)
    }

    /// Returns true if the gateway has closed the connection.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && !self.read_more().await
    }
}
