//! Trait for the source of replayed answers. It separates serving an answer from finding it: the gateway knows
//! nothing of recorded runs.

use std::fmt;
use std::time::Duration;

/// Source of answers that come without a vendor. The command line implements it with a recorded run.
pub trait AnswerSource: fmt::Debug + Send + Sync {
    /// Returns the answer to a request. May block: requests with long bodies are looked up on a blocking
    /// thread.
    fn answer(&self, request: &ServedRequest<'_>) -> ServedReply;
}

/// Source of answers for a run that goes on from another one: some of its requests have recorded answers, and the gateway records
/// the new run.
pub trait ForkSource: fmt::Debug + Send + Sync {
    /// Returns the treatment of a request. May block, as [`AnswerSource::answer`] may.
    fn answer(&self, request: &ServedRequest<'_>) -> ForkReply;
}

/// Treatment of a request of a run that goes on from another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForkReply {
    /// No vendor is asked.
    Served(ServedReply),
    /// The request goes to its vendor.
    Vendor,
}

/// Request as an agent sent it, decoded.
#[derive(Clone, Copy)]
pub struct ServedRequest<'a> {
    /// Name of the route, such as `openai`.
    pub provider: &'a str,
    /// HTTP method, such as `POST`.
    pub method: &'a str,
    /// Path at the vendor, with its query.
    pub path: &'a str,
    /// All headers, as names in lower case and raw values.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// Body without its content codings.
    pub body: &'a [u8],
}

/// Reply to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServedReply {
    /// Answer to serve.
    Answer(ServedAnswer),
    /// No answer was recorded. The client gets a 400 in its vendor's shape.
    Missing {
        /// Name of the fault, for programs.
        code: &'static str,
        /// Description of the fault, for people.
        message: String,
    },
}

/// Answer to serve.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServedAnswer {
    /// HTTP status; `None` closes the connection without an answer.
    pub status: Option<u16>,
    /// Headers, without those of one connection.
    pub headers: Vec<(String, String)>,
    /// Trailers, sent after the body.
    pub trailers: Vec<(String, String)>,
    /// Body as it is sent.
    pub body: Vec<u8>,
    /// Reads of the body, each with its time since the request and its length in bytes; empty if the body came
    /// at once.
    pub chunks: Vec<(Duration, usize)>,
    /// True if the connection breaks off after the body.
    pub is_cut: bool,
}
