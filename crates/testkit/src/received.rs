//! The part of an answer that a client's socket has received: what a record must hold at least.

use crate::http1::{Http1Framing, Http1Head};

/// Received part of an answer.
///
/// ```
/// use reenact_testkit::ReceivedAnswer;
///
/// let received = ReceivedAnswer::parse(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel");
/// assert_eq!((received.body, received.is_whole), (b"hel".to_vec(), false));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReceivedAnswer {
    /// Body without the head and without the framing of chunks.
    pub body: Vec<u8>,
    /// True if the end of the body was received, too.
    pub is_whole: bool,
}

impl ReceivedAnswer {
    /// Parses the answer at the beginning of these bytes. Bytes that are no HTTP/1.1 have no body.
    pub fn parse(bytes: &[u8]) -> Self {
        let Ok(Some((head, length))) = Http1Head::parse(bytes) else { return Self::default() };
        let rest = bytes.get(length..).unwrap_or_default();
        match head.framing() {
            Ok(Some(Http1Framing::Length(length))) => {
                Self { body: rest.to_vec(), is_whole: rest.len() >= length }
            }
            Ok(Some(Http1Framing::Chunked)) => Self::parse_chunked(rest),
            // The body ends with the connection, whose end is not known here.
            Ok(None) | Err(_) => Self { body: rest.to_vec(), is_whole: false },
        }
    }

    /// Parses as many chunks as there are, the last one also in part.
    fn parse_chunked(mut rest: &[u8]) -> Self {
        let mut received = Self::default();
        while let Some(line) = rest.windows(2).position(|two| two == b"\r\n") {
            let (size, behind) = rest.split_at(line);
            let size = str::from_utf8(size).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
            let Some(size) = size else { break };
            rest = behind.get(2..).unwrap_or_default();
            if size == 0 {
                received.is_whole = true;
                break;
            }
            received.body.extend_from_slice(rest.get(..size).unwrap_or(rest));
            rest = rest.get(size + 2..).unwrap_or_default();
        }
        received
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &str) -> (String, bool) {
        let ReceivedAnswer { body, is_whole } = ReceivedAnswer::parse(bytes.as_bytes());
        (String::from_utf8(body).unwrap(), is_whole)
    }

    #[test]
    fn as_far_as_it_came() {
        let answers = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "hello", "hello"),
            (
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
                "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
                "hello",
            ),
        ];
        for (head, sent, text) in answers {
            let whole = [head, sent].concat();
            assert_eq!(read(&whole), (text.to_owned(), true));
            for cut in 0..whole.len() {
                let (body, is_whole) = read(&whole[..cut]);
                // The last chunk is empty: its length alone ends the body.
                let has_end = sent.ends_with("0\r\n\r\n") && cut + 2 >= whole.len();
                assert_eq!(is_whole, has_end, "{cut}");
                assert!(text.starts_with(&body), "{cut}: {body}");
            }
        }
        assert_eq!(read("HTTP/1.1 200 OK\r\n\r\nuntil it closes"), ("until it closes".to_owned(), false));
        assert_eq!(read("no answer at all\r\n"), (String::new(), false));
        assert_eq!(
            read("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\nxyz\r\n"),
            ("he".to_owned(), false)
        );
    }
}
