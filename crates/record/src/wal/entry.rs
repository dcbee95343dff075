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
        /// What was decided on it, if anything was: that it may go.
        decided: Option<Decided<'a>>,
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
    /// The answer was held back from here on: its client got less of it, and something else instead.
    Withheld {
        /// How many bytes of the body were handed on.
        delivered: u64,
        /// What came behind them.
        instead: &'a [u8],
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
    /// A decision on an action that is no request that goes out. It begins and ends by itself.
    Decision(Decision<'a>),
    /// The result of a tool's call that was decided on. It begins and ends by itself.
    ToolResult {
        /// When it was seen.
        at: Duration,
        /// Of which call.
        tool_call_id: &'a str,
        /// What came of it.
        output: &'a str,
        /// Whether that is an error.
        is_error: bool,
    },
    /// Something that the agent told of itself, as JSON. It begins and ends by itself.
    Reported {
        /// The report.
        text: &'a [u8],
    },
    /// Something about an approval. It begins and ends by itself.
    Approval {
        /// When.
        at: Duration,
        /// Which approval.
        approval_id: &'a str,
        /// What.
        news: ApprovalNews<'a>,
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

/// Under which decision a request goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decided<'a> {
    /// When it was decided.
    pub at: Duration,
    /// The approval that was needed.
    pub approval_id: Option<&'a str>,
    /// What the model's tokens cost, in picodollars: read, from a cache, to a cache, written; `None` if nobody knows.
    pub rates: Option<[u64; 4]>,
    /// What it costs if the answer does not tell.
    pub estimate: u64,
}

/// A decision on an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision<'a> {
    /// When it was decided.
    pub at: Duration,
    /// Whether it is about a tool, and not about a model.
    pub is_tool: bool,
    /// Which model or tool.
    pub name: &'a str,
    /// The rule that says no, and why; `None` if it is allowed.
    pub denial: Option<(&'a str, &'a str)>,
    /// The approval that was needed.
    pub approval_id: Option<&'a str>,
    /// Of a tool's call: its id and its input.
    pub call: Option<(&'a str, &'a str)>,
}

/// What there is to say of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalNews<'a> {
    /// It is asked for.
    Requested {
        /// Whether for a tool, and not for a model.
        is_tool: bool,
        /// Which model or tool.
        name: &'a str,
        /// SHA-256 of the input, in hexadecimal.
        input_hash: &'a str,
        /// The rule that asks for it.
        rule: &'a str,
        /// Who may approve, by blanks.
        signer_types: &'a str,
    },
    /// It was granted, by this token.
    Granted(&'a str),
    /// It was not, for this reason.
    Denied(&'a str),
    /// An answer came that does not hold: a word for it, and why.
    Refused(&'a str, &'a str),
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
        self.stands_alone() || matches!(self, Self::Request { .. })
    }

    /// Whether it is a note beside all exchanges, which begins and ends by itself.
    pub fn stands_alone(&self) -> bool {
        matches!(
            self,
            Self::Gap { .. }
                | Self::Reported { .. }
                | Self::Decision(_)
                | Self::ToolResult { .. }
                | Self::Approval { .. }
        )
    }
}
