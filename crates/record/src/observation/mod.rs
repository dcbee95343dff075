//! Observations: raw facts of a run, as a front end saw them and as the write-ahead log holds them.
//!
//! One type serves three places, so that no fact is described twice: front ends make observations, [`crate::wal`]
//! writes and reads them, and `reenact-capture` turns them into events. Values are borrowed while they are only written
//! or read, and owned while they wait in a queue. Nothing here is masked, so nothing here may reach a disk. Start
//! reading at [`Observation`].

mod bytes;
mod decision;
mod end;
mod headers;
mod position;
mod request;

use core::time::Duration;
use std::borrow::Cow;

pub use self::bytes::BodyBytes;
pub use self::decision::{ActionDecision, ApprovalUpdate};
pub use self::end::{EndCause, ExchangeEnd};
pub use self::headers::HeaderList;
pub use self::position::JournalPosition;
pub use self::request::{Admission, InboundRequest};
use crate::exchange::StepId;

/// One raw fact. The log and the queue store a number with it: the id of the exchange or note that it belongs
/// to. A *note* is an observation outside of all exchanges; see [`Observation::stands_alone`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation<'a> {
    /// A secret that is masked wherever it appears.
    KnownSecret {
        /// Rule under which the secret is masked.
        rule: Cow<'a, str>,
        /// Bytes of the secret.
        value: Cow<'a, [u8]>,
    },
    /// A request that is about to be sent. Begins an exchange.
    Request(Box<InboundRequest<'a>>),
    /// Status and headers of an answer.
    AnswerHead {
        /// Status code, such as 200.
        status: u16,
        /// Protocol version, such as `1.1`.
        version: Cow<'a, str>,
        /// Headers as they came.
        headers: HeaderList<'a>,
        /// True if the answer comes from the record of another run, and no vendor was asked.
        is_from_record: bool,
    },
    /// A piece of an answer's body.
    Piece {
        /// Time since the request.
        at: Duration,
        /// Bytes as they came, with their content encoding.
        bytes: BodyBytes<'a>,
    },
    /// Trailers of an answer.
    Trailers {
        /// Trailers as they came.
        headers: HeaderList<'a>,
    },
    /// The rest of an answer is held back from its client, who gets other bytes instead.
    Withheld {
        /// Number of bytes of the body that the client got.
        delivered: u64,
        /// Bytes that were sent behind them.
        instead: Cow<'a, [u8]>,
    },
    /// End of an exchange.
    End(ExchangeEnd<'a>),
    /// A capture gap. A note.
    Gap {
        /// Name of the missing thing.
        what: Cow<'a, str>,
        /// Reason in words.
        why: Cow<'a, str>,
    },
    /// A decision on an action that is no outgoing request. A note.
    Decision(Box<ActionDecision<'a>>),
    /// Result of a tool call that was decided on. A note.
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
    /// A report of the agent about itself, as JSON. A note.
    Reported {
        /// Text of the report.
        text: BodyBytes<'a>,
    },
    /// A change in the state of an approval. A note.
    Approval {
        /// Time of the change, since 1970.
        at: Duration,
        /// Id of the approval.
        approval_id: Cow<'a, str>,
        /// The new state.
        update: ApprovalUpdate<'a>,
    },
    /// Mark of the log itself: every job up to `job` is in the journal. Events of the journal beyond `position` belong to
    /// a job that was half written.
    Journaled {
        /// Number of the last job in the journal.
        job: u64,
        /// End of the journal at that time.
        position: JournalPosition,
        /// Step that the journal gave to this exchange since the last mark.
        step: Option<StepId>,
    },
    /// Mark of a recovery, which found the journal shorter than the marks before say: it goes on from `position`, with
    /// the jobs after `job`.
    JournalCut {
        /// Number of the last job that is not written again.
        job: u64,
        /// Position behind which the recovery writes.
        position: JournalPosition,
        /// Number of events that were in the journal and are in no log; `None` if unknown.
        lost: Option<u64>,
    },
}

impl Observation<'_> {
    /// Returns true if recovery cannot do without this observation: the log keeps it until its exchange or note is journaled.
    pub(crate) fn is_required(&self) -> bool {
        self.stands_alone() || matches!(self, Self::Request(_))
    }

    /// Returns true for a note: it belongs to no exchange, and is complete by itself.
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

    /// Returns the time of the decision in this observation, since 1970; `None` if there is no decision in it.
    pub fn decided_at(&self) -> Option<Duration> {
        match self {
            Self::Request(request) => request.admission.as_ref().map(|admission| admission.at),
            Self::Decision(decision) => Some(decision.at),
            Self::ToolResult { at, .. } | Self::Approval { at, .. } => Some(*at),
            _ => None,
        }
    }

    /// Returns the approximate number of bytes of memory that this takes.
    pub fn memory_bytes(&self) -> usize {
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

    /// Returns a copy that borrows nothing, so that it can wait in a queue.
    pub fn into_owned(self) -> Observation<'static> {
        match self {
            Self::KnownSecret { rule, value } => {
                Observation::KnownSecret { rule: owned_text(rule), value: owned_bytes(value) }
            }
            Self::Request(request) => Observation::Request(Box::new(request.into_owned())),
            Self::AnswerHead { status, version, headers, is_from_record } => Observation::AnswerHead {
                status,
                version: owned_text(version),
                headers: headers.into_owned(),
                is_from_record,
            },
            Self::Piece { at, bytes } => Observation::Piece { at, bytes: bytes.into_owned() },
            Self::Trailers { headers } => Observation::Trailers { headers: headers.into_owned() },
            Self::Withheld { delivered, instead } => {
                Observation::Withheld { delivered, instead: owned_bytes(instead) }
            }
            Self::End(end) => Observation::End(end.into_owned()),
            Self::Gap { what, why } => Observation::Gap { what: owned_text(what), why: owned_text(why) },
            Self::Decision(decision) => Observation::Decision(Box::new(decision.into_owned())),
            Self::ToolResult { at, tool_call_id, output, is_error } => Observation::ToolResult {
                at,
                tool_call_id: owned_text(tool_call_id),
                output: owned_text(output),
                is_error,
            },
            Self::Reported { text } => Observation::Reported { text: text.into_owned() },
            Self::Approval { at, approval_id, update: news } => {
                Observation::Approval { at, approval_id: owned_text(approval_id), update: news.into_owned() }
            }
            Self::Journaled { job, position, step } => Observation::Journaled { job, position, step },
            Self::JournalCut { job, position, lost } => Observation::JournalCut { job, position, lost },
        }
    }
}

fn owned_text(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

fn owned_bytes(bytes: Cow<'_, [u8]>) -> Cow<'static, [u8]> {
    Cow::Owned(bytes.into_owned())
}
