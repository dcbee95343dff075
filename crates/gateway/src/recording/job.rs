//! What there is to write down, as it came: an order to the scribe.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use reenact_record::EndedBy;
use reenact_record::wal::{self, ApprovalNews, Entry};
use reenact_record::warden::{Action, SignerType};
use reenact_wire::price::Rates;
use reenact_wire::{Endpoint, ToolResult, Vendor};

use super::notebook::pairs;
use crate::upstream::Failure;

/// When how much of a body had come.
pub(super) type Reads = Vec<(Duration, usize)>;

/// One thing to write down.
pub(super) enum Job {
    /// A request, which begins the exchange that has the job's own number.
    Request(Asked),
    /// The beginning of an answer's body, or more of it, where that is too long for memory.
    Part(Part),
    /// What came of one.
    Answer(Answered),
    /// Something that was not seen.
    Gap { what: String, why: String },
    /// A decision on an action that is no request that goes out.
    Decision(Decision),
    /// What came of a tool's call that was decided on.
    ToolResult { at: Duration, result: ToolResult },
    /// Something that the agent told of itself, as JSON.
    Reported(Bytes),
    /// Something about an approval.
    Approval(Approval),
}

/// Under which decision a request goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decided {
    /// Since 1970.
    pub(super) at: Duration,
    pub(super) approval_id: Option<String>,
    /// What its tokens cost; `None` if nobody knows.
    pub(super) rates: Option<Rates>,
    /// What it costs if its answer does not tell, in picodollars.
    pub(super) estimate: u64,
}

/// A decision on an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    /// Since 1970.
    pub(super) at: Duration,
    pub(super) action: Action,
    pub(super) name: String,
    /// The rule that says no, and why; `None` if it is allowed.
    pub(super) denial: Option<(String, String)>,
    pub(super) approval_id: Option<String>,
    /// Of a tool's call: its id and its input.
    pub(super) call: Option<(String, String)>,
}

/// Something about an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Approval {
    /// Since 1970.
    pub(super) at: Duration,
    pub(super) approval_id: String,
    pub(super) news: News,
}

/// What there is to say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum News {
    Requested {
        action: Action,
        name: String,
        input_hash: String,
        rule: String,
        signer_types: Vec<SignerType>,
    },
    Granted {
        token: String,
    },
    Denied {
        reason: String,
    },
    /// An answer came that does not hold.
    Refused {
        code: String,
        why: String,
    },
}

/// A request.
pub(super) struct Asked {
    pub(super) provider: String,
    pub(super) vendor: Vendor,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) has_trailers: bool,
    /// What was decided on it, where an envelope is enforced.
    pub(super) decided: Option<Decided>,
}

impl Asked {
    pub(super) fn endpoint(&self) -> Option<Endpoint> {
        Endpoint::of(self.vendor, &self.method, &self.path)
    }
}

/// A part of a body that is too long for memory.
pub(super) struct Part {
    /// The number of the job that was the request.
    pub(super) exchange: u64,
    pub(super) codings: Vec<String>,
    /// As it came.
    pub(super) body: Vec<u8>,
    /// When how much of the whole had come.
    pub(super) reads: Reads,
}

/// What came of a request.
pub(super) struct Answered {
    /// The number of the job that was the request.
    pub(super) exchange: u64,
    /// `None` if no answer ever came.
    pub(super) head: Option<Head>,
    /// As it came, as far as it is kept; behind its parts, if there were some.
    pub(super) body: Vec<u8>,
    /// When how much of the whole had come.
    pub(super) reads: Reads,
    pub(super) logged: Logged,
    pub(super) is_too_long: bool,
    pub(super) trailers: HeaderMap,
    /// What its client got instead.
    pub(super) withheld: Option<Withheld>,
    pub(super) ended: Ended,
    pub(super) latency: Duration,
}

/// How much of an answer is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Logged {
    pub(super) has_head: bool,
    /// How many of the reads that are kept.
    pub(super) reads: usize,
}

impl Logged {
    /// What of it is not there, in its order. The body is what is kept of the whole that the reads count.
    pub(super) fn missing<'a>(
        self,
        head: Option<&'a Head>,
        body: &'a [u8],
        reads: &[(Duration, usize)],
    ) -> Vec<Entry<'a>> {
        let mut missing = Vec::with_capacity(2 + reads.len() - self.reads.min(reads.len()));
        if !self.has_head {
            missing.extend(head.map(Head::entry));
        }
        let before = reads.last().map_or(0, |(_, end)| end - body.len());
        let last = self.reads.checked_sub(1).and_then(|last| reads.get(last));
        let mut start = last.map_or(0, |(_, end)| end - before);
        // Not from the beginning: a stream may have very many.
        for (at, end) in reads.iter().skip(self.reads) {
            let end = end - before;
            missing.push(Entry::Piece { at: *at, bytes: body.get(start..end).unwrap_or_default() });
            start = end;
        }
        missing
    }
}

/// What became of an answer that was held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Withheld {
    /// How many bytes of the body were handed on.
    pub(super) delivered: usize,
    /// What came behind them.
    pub(super) instead: Vec<u8>,
}

/// The head of an answer.
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) version: &'static str,
    pub(super) headers: HeaderMap,
}

impl Head {
    fn entry(&self) -> Entry<'_> {
        Entry::Head { status: self.status.as_u16(), version: self.version, headers: pairs(&self.headers) }
    }
}

/// How an exchange ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// The vendor's answer was over.
    Eof,
    /// The last event of a stream was handed out, and its client went on.
    Settled,
    /// The client left.
    Client,
    /// The vendor broke off, or never began.
    Upstream { by: EndedBy, error_type: String, message: String },
    /// The recorder was killed; what is known of it is from its log.
    Killed,
}

impl Ended {
    pub(super) fn by(&self) -> EndedBy {
        match self {
            Self::Eof | Self::Settled => EndedBy::Eof,
            // To the client it was as if it had let go itself: its connection was gone.
            Self::Client | Self::Killed => EndedBy::Client,
            Self::Upstream { by, .. } => *by,
        }
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Upstream {
            by: failure.ended_by(),
            error_type: failure.error_type().to_owned(),
            message: failure.to_string(),
        }
    }
}

impl Job {
    /// When it was decided on, where that is part of it.
    pub(super) fn decided_at(&self) -> Option<Duration> {
        match self {
            Self::Request(asked) => asked.decided.as_ref().map(|decided| decided.at),
            Self::Decision(decision) => Some(decision.at),
            Self::ToolResult { at, .. } => Some(*at),
            Self::Approval(approval) => Some(approval.at),
            Self::Part(_) | Self::Answer(_) | Self::Gap { .. } | Self::Reported(_) => None,
        }
    }

    /// How much memory it holds, more or less.
    pub(super) fn size(&self) -> usize {
        const FRAME: usize = 1 << 10;
        match self {
            Self::Request(asked) => FRAME + asked.body.len(),
            Self::Part(part) => FRAME + part.body.len() + 16 * part.reads.len(),
            Self::Answer(answered) => FRAME + answered.body.len() + 16 * answered.reads.len(),
            Self::Decision(decision) => {
                FRAME + decision.call.as_ref().map_or(0, |(id, input)| id.len() + input.len())
            }
            Self::ToolResult { result, .. } => FRAME + result.output.len(),
            Self::Reported(text) => FRAME + text.len(),
            Self::Gap { .. } | Self::Approval(_) => FRAME,
        }
    }
}

impl Decided {
    /// As the log takes it.
    pub(super) fn entry(&self) -> wal::Decided<'_> {
        let rates =
            self.rates.map(|rates| [rates.input, rates.cached_input, rates.cache_write, rates.output]);
        wal::Decided { at: self.at, approval_id: self.approval_id.as_deref(), rates, estimate: self.estimate }
    }

    /// From the log.
    pub(super) fn read(decided: &wal::Decided<'_>) -> Self {
        let rates = |[input, cached_input, cache_write, output]: [u64; 4]| Rates {
            input,
            cached_input,
            cache_write,
            output,
        };
        Self {
            at: decided.at,
            approval_id: decided.approval_id.map(str::to_owned),
            rates: decided.rates.map(rates),
            estimate: decided.estimate,
        }
    }
}

/// The job that a note in the log is about; `None` if the entry is no note.
pub(super) fn noted(entry: &Entry<'_>) -> Option<Job> {
    let action = |is_tool: bool| if is_tool { Action::Tool } else { Action::Model };
    let pair = |(first, second): (&str, &str)| (first.to_owned(), second.to_owned());
    Some(match entry {
        Entry::Reported { text } => Job::Reported(Bytes::copy_from_slice(text)),
        Entry::Gap { what, why } => Job::Gap { what: (*what).to_owned(), why: (*why).to_owned() },
        Entry::Decision(decision) => Job::Decision(Decision {
            at: decision.at,
            action: action(decision.is_tool),
            name: decision.name.to_owned(),
            denial: decision.denial.map(pair),
            approval_id: decision.approval_id.map(str::to_owned),
            call: decision.call.map(pair),
        }),
        Entry::ToolResult { at, tool_call_id, output, is_error } => {
            let (id, output) = pair((tool_call_id, output));
            Job::ToolResult { at: *at, result: ToolResult { id, output, is_error: *is_error } }
        }
        Entry::Approval { at, approval_id, news } => {
            let news = match news {
                ApprovalNews::Requested { is_tool, name, input_hash, rule, signer_types } => {
                    News::Requested {
                        action: action(*is_tool),
                        name: (*name).to_owned(),
                        input_hash: (*input_hash).to_owned(),
                        rule: (*rule).to_owned(),
                        signer_types: signer_types.split(' ').filter_map(signer_type).collect(),
                    }
                }
                ApprovalNews::Granted(token) => News::Granted { token: (*token).to_owned() },
                ApprovalNews::Denied(reason) => News::Denied { reason: (*reason).to_owned() },
                ApprovalNews::Refused(code, why) => {
                    News::Refused { code: (*code).to_owned(), why: (*why).to_owned() }
                }
            };
            Job::Approval(Approval { at: *at, approval_id: (*approval_id).to_owned(), news })
        }
        _ => return None,
    })
}

const SIGNER_TYPES: [SignerType; 3] = [SignerType::Human, SignerType::Delegate, SignerType::Automated];

fn signer_type(name: &str) -> Option<SignerType> {
    SIGNER_TYPES.into_iter().find(|known| known.name() == name)
}
