//! What is written ahead: enough to write every event that would have followed.

use core::time::Duration;

use crate::exchange::{EndedBy, StepId};

/// Header names and values.
pub type Pairs<'a> = Vec<(&'a str, &'a [u8])>;

/// One entry. The id beside it says which exchange it is about, or which note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A value that is masked wherever it appears.
    Known {
        /// Under which name.
        rule: &'a str,
        /// The value.
        value: &'a [u8],
    },
    /// A request is about to go out. It begins an exchange.
    Request {
        /// The route's name.
        provider: &'a str,
        /// GET, POST.
        method: &'a str,
        /// With the query.
        path: &'a str,
        /// As they came.
        headers: Pairs<'a>,
        /// Whether it had trailers.
        has_trailers: bool,
        /// As it came.
        body: &'a [u8],
    },
    /// The head of its answer.
    Head {
        /// 200, 404.
        status: u16,
        /// Such as `1.1`.
        version: &'a str,
        /// As they came.
        headers: Pairs<'a>,
    },
    /// A piece of the answer's body.
    Piece {
        /// Since the request.
        at: Duration,
        /// As it came.
        bytes: &'a [u8],
    },
    /// The answer's trailers.
    Trailers {
        /// As they came.
        headers: Pairs<'a>,
    },
    /// The exchange is over.
    End(Ending<'a>),
    /// Something that is noted beside all exchanges. It begins and ends by itself.
    Gap {
        /// What was not seen.
        what: &'a str,
        /// Why.
        why: &'a str,
    },
    /// Everything up to `job` is in the journal, whose events have that many bytes. What the journal has beyond them is half of
    /// the next job.
    Journaled {
        /// The last job that is.
        job: u64,
        /// Bytes of events in the journal.
        bytes: u64,
        /// The step that this exchange has there, if it was given one just now.
        step: Option<StepId>,
    },
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending<'a> {
    /// Which of the jobs it is to write that down.
    pub job: u64,
    /// Who ended it.
    pub by: EndedBy,
    /// Whether a stream's last event was seen though its end was not.
    pub is_settled: bool,
    /// Whether the body is not all that came.
    pub is_too_long: bool,
    /// Since the request.
    pub latency: Duration,
    /// What went wrong, if the vendor ended it: a name and a text.
    pub error: Option<(&'a str, &'a str)>,
}

impl Entry<'_> {
    /// Whether it opens something that must be kept until it is over.
    pub(super) fn begins(&self) -> bool {
        matches!(self, Self::Request { .. } | Self::Gap { .. })
    }
}
