//! Observations: the raw facts of a run, as a front end saw them and as the write-ahead log holds them.
//!
//! One type serves three places, so that no fact has to be told twice: front ends make observations, [`crate::wal`] writes
//! and reads them, `reenact-capture` makes events of them. Values are borrowed where they are only written or read, and owned
//! where they wait in a queue. Nothing here is masked, so nothing here may reach a disk. Start with [`Observation`].

mod bytes;
mod decision;
mod end;
mod headers;
mod request;

use core::time::Duration;
use std::borrow::Cow;

pub use self::bytes::BodyBytes;
pub use self::decision::{ApprovalNews, PolicyDecision};
pub use self::end::{EndCause, ExchangeEnd};
pub use self::headers::HeaderList;
pub use self::request::{Admission, InboundRequest};
use crate::exchange::StepId;

/// One raw fact. The number beside it, in the log and in the queue, names the exchange or the note that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation<'a> {
    /// A value that is masked wherever it appears.
    Known {
        /// Rule under which it is masked.
        rule: Cow<'a, str>,
        /// The secret.
        value: Cow<'a, [u8]>,
    },
    /// A request that is about to go out. Begins an exchange.
    Request(Box<InboundRequest<'a>>),
    /// The head of an answer.
    Head {
        /// Status code, such as 200.
        status: u16,
        /// Protocol version, such as `1.1`.
        version: Cow<'a, str>,
        /// Headers as they came.
        headers: HeaderList<'a>,
    },
    /// A piece of an answer's body.
    Piece {
        /// Time since the request.
        at: Duration,
        /// Bytes as they came, with their content coding.
        bytes: BodyBytes<'a>,
    },
    /// The trailers of an answer.
    Trailers {
        /// Trailers as they came.
        headers: HeaderList<'a>,
    },
    /// An answer that was held back from here on: its client got less of it, and something else instead.
    Withheld {
        /// Number of bytes of the body that were handed on.
        delivered: u64,
        /// Bytes sent behind them.
        instead: Cow<'a, [u8]>,
    },
    /// The end of an exchange.
    End(ExchangeEnd<'a>),
    /// Something that was not seen. Stands alone.
    Gap {
        /// Name of the missing thing.
        what: Cow<'a, str>,
        /// Reason.
        why: Cow<'a, str>,
    },
    /// A decision on an action that is no request that goes out. Stands alone.
    Decision(Box<PolicyDecision<'a>>),
    /// The result of a tool's call that was decided on. Stands alone.
    ToolResult {
        /// Time at which the result was seen, since 1970.
        at: Duration,
        /// Id of the call.
        tool_call_id: Cow<'a, str>,
        /// Output of the tool.
        output: Cow<'a, str>,
        /// True if the output is an error.
        is_error: bool,
    },
    /// Something that the agent told of itself, as JSON. Stands alone.
    Reported {
        /// The report.
        text: BodyBytes<'a>,
    },
    /// News of an approval. Stands alone.
    Approval {
        /// Time of the news, since 1970.
        at: Duration,
        /// Id of the approval.
        approval_id: Cow<'a, str>,
        /// The news.
        news: ApprovalNews<'a>,
    },
    /// A mark of the log itself: every job up to `job` is in the journal. Bytes of the journal beyond `bytes` belong to a job
    /// that was half written.
    Journaled {
        /// Number of the last job in the journal.
        job: u64,
        /// Bytes of events in the journal.
        bytes: u64,
        /// Step that the journal gave to this exchange since the last mark.
        step: Option<StepId>,
    },
}

impl Observation<'_> {
    /// Returns true if a log must keep this until its exchange or note is in the journal.
    pub(crate) fn begins(&self) -> bool {
        self.stands_alone() || matches!(self, Self::Request(_))
    }

    /// Returns true for a note beside all exchanges, which begins and ends by itself.
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

    /// Returns the time at which this was decided, since 1970, where a decision is part of it.
    pub fn decided_at(&self) -> Option<Duration> {
        match self {
            Self::Request(request) => request.admission.as_ref().map(|admission| admission.at),
            Self::Decision(decision) => Some(decision.at),
            Self::ToolResult { at, .. } | Self::Approval { at, .. } => Some(*at),
            _ => None,
        }
    }

    /// Returns the bytes of memory that this holds, roughly.
    pub fn size(&self) -> usize {
        const FIXED: usize = 1 << 10;
        match self {
            Self::Piece { bytes, .. } => 128 + bytes.len(),
            Self::Request(request) => FIXED + request.body.len(),
            Self::Decision(decision) => {
                FIXED + decision.call.as_ref().map_or(0, |(id, input)| id.len() + input.len())
            }
            Self::ToolResult { output, .. } => FIXED + output.len(),
            Self::Reported { text } => FIXED + text.len(),
            Self::Withheld { instead, .. } => FIXED + instead.len(),
            _ => FIXED,
        }
    }

    /// Returns the same with nothing borrowed.
    pub fn into_owned(self) -> Observation<'static> {
        match self {
            Self::Known { rule, value } => Observation::Known { rule: text(rule), value: bytes_of(value) },
            Self::Request(request) => Observation::Request(Box::new(request.into_owned())),
            Self::Head { status, version, headers } => {
                Observation::Head { status, version: text(version), headers: headers.into_owned() }
            }
            Self::Piece { at, bytes } => Observation::Piece { at, bytes: bytes.into_owned() },
            Self::Trailers { headers } => Observation::Trailers { headers: headers.into_owned() },
            Self::Withheld { delivered, instead } => {
                Observation::Withheld { delivered, instead: bytes_of(instead) }
            }
            Self::End(end) => Observation::End(end.into_owned()),
            Self::Gap { what, why } => Observation::Gap { what: text(what), why: text(why) },
            Self::Decision(decision) => Observation::Decision(Box::new(decision.into_owned())),
            Self::ToolResult { at, tool_call_id, output, is_error } => Observation::ToolResult {
                at,
                tool_call_id: text(tool_call_id),
                output: text(output),
                is_error,
            },
            Self::Reported { text } => Observation::Reported { text: text.into_owned() },
            Self::Approval { at, approval_id, news } => {
                Observation::Approval { at, approval_id: text(approval_id), news: news.into_owned() }
            }
            Self::Journaled { job, bytes, step } => Observation::Journaled { job, bytes, step },
        }
    }
}

fn text(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

fn bytes_of(bytes: Cow<'_, [u8]>) -> Cow<'static, [u8]> {
    Cow::Owned(bytes.into_owned())
}
