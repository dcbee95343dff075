//! The trait by which requests are answered in the place of vendors: serving answers needs nothing of how they are found.

use std::fmt;
use std::time::Duration;

/// Answers requests without a vendor. The command fills this from a recorded run.
pub trait Answers: fmt::Debug + Send + Sync {
    /// Returns the answer to a request. May block: long requests are asked on a thread of their own.
    fn answer(&self, request: &ServedRequest<'_>) -> ServedReply;
}

/// A request as an agent made it.
#[derive(Clone, Copy)]
pub struct ServedRequest<'a> {
    /// Name of the route, such as `openai`.
    pub provider: &'a str,
    /// Method, such as `POST`.
    pub method: &'a str,
    /// Path at the vendor, with its query.
    pub path: &'a str,
    /// All headers.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// Body without its content codings.
    pub body: &'a [u8],
}

/// A reply to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServedReply {
    /// An answer to serve.
    Answer(ServedAnswer),
    /// No answer: the client is told so by a 404 in its vendor's shape.
    Missing {
        /// Name of the fault, for programs.
        code: &'static str,
        /// The fault, for people.
        message: String,
    },
}

/// An answer to serve.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServedAnswer {
    /// Status code; `None` closes the connection without an answer.
    pub status: Option<u16>,
    /// Headers, without those of one connection.
    pub headers: Vec<(String, String)>,
    /// Trailers.
    pub trailers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// Reads of the body, each with its time since the request and its length in bytes; empty if the body came at once.
    pub chunks: Vec<(Duration, usize)>,
    /// True if the connection breaks off behind the body.
    pub is_cut: bool,
}
