//! HTTP/1.1 by hand, as little as it takes: heads, and bodies with a length or in chunks.
//!
//! For both ends that must see or send exact bytes: the vendor below HTTP, and the agent's client.

/// Why something is not HTTP/1.1 that we read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Http1Error {
    #[error("the head is not HTTP/1.1")]
    Head,
    #[error("the head is larger than {} bytes", MOST_HEAD)]
    HeadSize,
    #[error("the chunks of the body are not well-formed")]
    Chunk,
    #[error("the body is larger than {} bytes", MOST_BODY)]
    BodySize,
}

/// No head is larger.
pub(crate) const MOST_HEAD: usize = 64 << 10;
/// No body is larger.
pub(crate) const MOST_BODY: usize = 256 << 20;

/// The first line and the headers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) start: [String; 3],
    pub(crate) headers: Vec<(String, Vec<u8>)>,
}

impl Head {
    /// Reads a head from the beginning of `bytes`; gives it and its length, or `None` if its end has not come.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, Http1Error> {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return if bytes.len() > MOST_HEAD { Err(Http1Error::HeadSize) } else { Ok(None) };
        };
        let mut lines =
            bytes[..end].split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let start = lines.next().and_then(|line| str::from_utf8(line).ok()).ok_or(Http1Error::Head)?;
        let mut words = start.splitn(3, ' ').map(str::to_owned);
        let (Some(first), Some(second)) = (words.next(), words.next()) else { return Err(Http1Error::Head) };
        // An answer may have no words after its status.
        let start = [first, second, words.next().unwrap_or_default()];
        let mut headers = Vec::new();
        for line in lines {
            let colon = line.iter().position(|byte| *byte == b':').ok_or(Http1Error::Head)?;
            let name = str::from_utf8(&line[..colon]).map_err(|_| Http1Error::Head)?;
            headers.push((name.to_owned(), line[colon + 1..].trim_ascii().to_vec()));
        }
        Ok(Some((Self { start, headers }, end + 4)))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name))?;
        str::from_utf8(value).ok()
    }

    /// How the body is told from what comes after it.
    pub(crate) fn framing(&self) -> Result<Option<Body>, Http1Error> {
        if self.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            return Ok(Some(Body::Chunked));
        }
        let Some(length) = self.header("content-length") else { return Ok(None) };
        let length: usize = length.parse().map_err(|_| Http1Error::Head)?;
        if length > MOST_BODY { Err(Http1Error::BodySize) } else { Ok(Some(Body::Length(length))) }
    }
}

/// How a body is told from what comes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    Length(usize),
    Chunked,
}

impl Body {
    /// Reads a body from the beginning of `bytes`; gives it and what it took, or `None` if its end has not come.
    pub(crate) fn read(self, bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Http1Error> {
        match self {
            Self::Length(length) => Ok(bytes.get(..length).map(|body| (body.to_vec(), length))),
            Self::Chunked => chunked(bytes),
        }
    }
}

fn chunked(bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Http1Error> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let Some(line) = line(bytes, at) else { return Ok(None) };
        at += line.len() + 2;
        let size = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let size = str::from_utf8(size).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.ok_or(Http1Error::Chunk)?;
        if size == 0 {
            break;
        }
        if size > MOST_BODY - body.len() {
            return Err(Http1Error::BodySize);
        }
        let Some(chunk) = bytes.get(at..at + size + 2) else { return Ok(None) };
        let (chunk, end) = chunk.split_at(size);
        if end != b"\r\n" {
            return Err(Http1Error::Chunk);
        }
        body.extend_from_slice(chunk);
        at += size + 2;
    }
    // Trailers, until an empty line.
    loop {
        let Some(line) = line(bytes, at) else { return Ok(None) };
        at += line.len() + 2;
        if line.is_empty() {
            return Ok(Some((body, at)));
        }
    }
}

/// The line that begins here, without its end.
fn line(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let rest = bytes.get(at..)?;
    rest.windows(2).position(|two| two == b"\r\n").map(|end| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_keep_case_and_order() {
        let text = b"POST /x?y HTTP/1.1\r\nHost: a\r\nX-Odd:b \r\nx-odd: c\r\n\r\nrest";
        let (head, length) = Head::read(text).unwrap().unwrap();
        assert_eq!(&text[length..], b"rest");
        assert_eq!(head.start, ["POST", "/x?y", "HTTP/1.1"].map(str::to_owned));
        let headers = [("Host", "a"), ("X-Odd", "b"), ("x-odd", "c")];
        assert_eq!(head.headers, headers.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())));
        assert_eq!(head.framing(), Ok(None));
        for end in 0..length {
            assert_eq!(Head::read(&text[..end]), Ok(None));
        }
    }

    #[test]
    fn bodies_end_where_they_say() {
        assert_eq!(Body::Length(3).read(b"abcd"), Ok(Some((b"abc".to_vec(), 3))));
        assert_eq!(Body::Length(5).read(b"abcd"), Ok(None));
        let text = b"3\r\nabc\r\nA;x=1\r\n0123456789\r\n0\r\ntrailer: t\r\n\r\nrest";
        let (body, length) = Body::Chunked.read(text).unwrap().unwrap();
        assert_eq!((body.as_slice(), &text[length..]), (b"abc0123456789".as_slice(), b"rest".as_slice()));
        for end in 0..length {
            assert_eq!(Body::Chunked.read(&text[..end]), Ok(None));
        }
    }

    #[test]
    fn what_is_not_http_is_refused() {
        assert_eq!(Head::read(b"hello\r\n\r\n"), Err(Http1Error::Head));
        assert_eq!(Head::read(b"GET / HTTP/1.1\r\nno colon\r\n\r\n"), Err(Http1Error::Head));
        assert_eq!(Head::read(&[b'a'; MOST_HEAD + 1]), Err(Http1Error::HeadSize));
        assert_eq!(Body::Chunked.read(b"zz\r\n"), Err(Http1Error::Chunk));
        assert_eq!(Body::Chunked.read(b"1\r\nabc"), Err(Http1Error::Chunk));
        assert_eq!(Body::Chunked.read(b"fffffff0\r\n"), Err(Http1Error::BodySize));
    }
}
