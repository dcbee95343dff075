//! HTTP/1.1 by hand, as little as it takes: heads, and bodies with a length or in chunks.
//!
//! For the two ends that must see or send exact bytes: the vendor below HTTP, and the agent's
//! client.

/// Reason why bytes are not HTTP/1.1 as this module reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Http1Error {
    #[error("the head is not HTTP/1.1")]
    Head,
    #[error("the head is larger than {} bytes", MAX_HEAD_BYTES)]
    HeadSize,
    #[error("the chunks of the body are not well-formed")]
    Chunk,
    #[error("the body is larger than {} bytes", MAX_BODY_BYTES)]
    BodySize,
}

/// Largest head, in bytes.
pub(crate) const MAX_HEAD_BYTES: usize = 64 << 10;
/// Largest body, in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 256 << 20;

/// Start line and headers of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Http1Head {
    /// Three words of the first line: method, path and version, or version, status and reason.
    pub(crate) start_line: [String; 3],
    /// Headers in their order; names in their case, values without blanks around them.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
}

impl Http1Head {
    /// Parses the head at the beginning of `bytes`; returns it with its length, or `None` if it is
    /// incomplete.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Http1Error> {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return if bytes.len() > MAX_HEAD_BYTES { Err(Http1Error::HeadSize) } else { Ok(None) };
        };
        let mut lines =
            bytes[..end].split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let start = lines.next().and_then(|line| str::from_utf8(line).ok()).ok_or(Http1Error::Head)?;
        let mut words = start.splitn(3, ' ').map(str::to_owned);
        let (Some(first), Some(second)) = (words.next(), words.next()) else { return Err(Http1Error::Head) };
        // An answer may have no reason phrase after its status.
        let start = [first, second, words.next().unwrap_or_default()];
        let mut headers = Vec::new();
        for line in lines {
            let colon = line.iter().position(|byte| *byte == b':').ok_or(Http1Error::Head)?;
            let name = str::from_utf8(&line[..colon]).map_err(|_| Http1Error::Head)?;
            headers.push((name.to_owned(), line[colon + 1..].trim_ascii().to_vec()));
        }
        Ok(Some((Self { start_line: start, headers }, end + 4)))
    }

    /// Returns the first value of a header, if it is UTF-8.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name))?;
        str::from_utf8(value).ok()
    }

    /// Returns the framing of the body that follows this head; `None` if the body ends with the connection.
    ///
    /// # Errors
    /// If the length is no number, or larger than the limit.
    pub(crate) fn framing(&self) -> Result<Option<Http1Framing>, Http1Error> {
        if self.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            return Ok(Some(Http1Framing::Chunked));
        }
        let Some(length) = self.header("content-length") else { return Ok(None) };
        let length: usize = length.parse().map_err(|_| Http1Error::Head)?;
        if length > MAX_BODY_BYTES {
            Err(Http1Error::BodySize)
        } else {
            Ok(Some(Http1Framing::Length(length)))
        }
    }
}

/// Framing of a body: how its end is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Http1Framing {
    /// By `content-length`, in bytes.
    Length(usize),
    /// By its last chunk.
    Chunked,
}

impl Http1Framing {
    /// Parses the body at the beginning of `bytes`; returns it with the number of bytes it took, or
    /// `None` if it is incomplete.
    pub(crate) fn parse_body(self, bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Http1Error> {
        match self {
            Self::Length(length) => Ok(bytes.get(..length).map(|body| (body.to_vec(), length))),
            Self::Chunked => chunked(bytes),
        }
    }
}

/// Parses a chunked body with its trailers.
fn chunked(bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Http1Error> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let Some(line) = line_at(bytes, at) else { return Ok(None) };
        at += line.len() + 2;
        let size = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let size = str::from_utf8(size).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.ok_or(Http1Error::Chunk)?;
        if size == 0 {
            break;
        }
        if size > MAX_BODY_BYTES - body.len() {
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
        let Some(line) = line_at(bytes, at) else { return Ok(None) };
        at += line.len() + 2;
        if line.is_empty() {
            return Ok(Some((body, at)));
        }
    }
}

/// Returns the line at `at` without its CRLF; `None` if the line is incomplete.
fn line_at(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let rest = bytes.get(at..)?;
    rest.windows(2).position(|two| two == b"\r\n").map(|end| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_keep_case_and_order() {
        let text = b"POST /x?y HTTP/1.1\r\nHost: a\r\nX-Odd:b \r\nx-odd: c\r\n\r\nrest";
        let (head, length) = Http1Head::parse(text).unwrap().unwrap();
        assert_eq!(&text[length..], b"rest");
        assert_eq!(head.start_line, ["POST", "/x?y", "HTTP/1.1"].map(str::to_owned));
        let headers = [("Host", "a"), ("X-Odd", "b"), ("x-odd", "c")];
        assert_eq!(head.headers, headers.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())));
        assert_eq!(head.framing(), Ok(None));
        for end in 0..length {
            assert_eq!(Http1Head::parse(&text[..end]), Ok(None));
        }
    }

    #[test]
    fn bodies_end_where_they_say() {
        assert_eq!(Http1Framing::Length(3).parse_body(b"abcd"), Ok(Some((b"abc".to_vec(), 3))));
        assert_eq!(Http1Framing::Length(5).parse_body(b"abcd"), Ok(None));
        let text = b"3\r\nabc\r\nA;x=1\r\n0123456789\r\n0\r\ntrailer: t\r\n\r\nrest";
        let (body, length) = Http1Framing::Chunked.parse_body(text).unwrap().unwrap();
        assert_eq!((body.as_slice(), &text[length..]), (b"abc0123456789".as_slice(), b"rest".as_slice()));
        for end in 0..length {
            assert_eq!(Http1Framing::Chunked.parse_body(&text[..end]), Ok(None));
        }
    }

    #[test]
    fn what_is_not_http_is_refused() {
        assert_eq!(Http1Head::parse(b"hello\r\n\r\n"), Err(Http1Error::Head));
        assert_eq!(Http1Head::parse(b"GET / HTTP/1.1\r\nno colon\r\n\r\n"), Err(Http1Error::Head));
        assert_eq!(Http1Head::parse(&[b'a'; MAX_HEAD_BYTES + 1]), Err(Http1Error::HeadSize));
        assert_eq!(Http1Framing::Chunked.parse_body(b"zz\r\n"), Err(Http1Error::Chunk));
        assert_eq!(Http1Framing::Chunked.parse_body(b"1\r\nabc"), Err(Http1Error::Chunk));
        assert_eq!(Http1Framing::Chunked.parse_body(b"fffffff0\r\n"), Err(Http1Error::BodySize));
    }
}
