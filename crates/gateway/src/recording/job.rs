//! What there is to write down, as it came: an order to the scribe.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use reenact_record::EndedBy;
use reenact_wire::{Endpoint, Vendor};

use crate::upstream::Failure;

/// When how much of a body had come.
pub(super) type Reads = Vec<(Duration, usize)>;

/// One thing to write down.
pub(super) enum Job {
    /// A request, which begins the exchange that has the job's own number.
    Request(Asked),
    /// What came of one.
    Answer(Answered),
    /// Something that was not seen.
    Gap { what: String, why: String },
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
}

impl Asked {
    pub(super) fn endpoint(&self) -> Option<Endpoint> {
        Endpoint::of(self.vendor, &self.method, &self.path)
    }
}

/// What came of a request.
pub(super) struct Answered {
    /// The number of the job that was the request.
    pub(super) exchange: u64,
    /// `None` if no answer ever came.
    pub(super) head: Option<Head>,
    /// As it came, as far as it is kept.
    pub(super) body: Vec<u8>,
    /// When how much of it had come.
    pub(super) reads: Reads,
    pub(super) is_too_long: bool,
    pub(super) trailers: HeaderMap,
    pub(super) ended: Ended,
    pub(super) latency: Duration,
}

/// The head of an answer.
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) version: &'static str,
    pub(super) headers: HeaderMap,
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
    /// How much memory it holds, more or less.
    pub(super) fn size(&self) -> usize {
        const FRAME: usize = 1 << 10;
        match self {
            Self::Request(asked) => FRAME + asked.body.len(),
            Self::Answer(answered) => FRAME + answered.body.len() + 16 * answered.reads.len(),
            Self::Gap { .. } => FRAME,
        }
    }
}
