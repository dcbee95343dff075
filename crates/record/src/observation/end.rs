//! The end of an exchange.

use core::time::Duration;
use std::borrow::Cow;

use super::text;
use crate::exchange::EndedBy;

/// The end of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeEnd<'a> {
    /// Number of the job that writes the end into the journal.
    pub job: u64,
    /// Cause of the end.
    pub cause: EndCause<'a>,
    /// True if more of the body came than was kept.
    pub is_too_long: bool,
    /// Time since the request.
    pub latency: Duration,
}

/// Cause of an exchange's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndCause<'a> {
    /// The answer was over.
    Eof,
    /// The last event of a stream was handed out and its client went on; the end of the body had not come.
    StreamDone,
    /// The client left.
    ClientLeft,
    /// The vendor broke off, or never began.
    Upstream {
        /// Side that the record names.
        by: EndedBy,
        /// Name of the failure, for programs.
        error_type: Cow<'a, str>,
        /// The failure, for people.
        message: Cow<'a, str>,
    },
}

impl EndCause<'_> {
    /// Returns the side that the record names.
    pub fn ended_by(&self) -> EndedBy {
        match self {
            Self::Eof | Self::StreamDone => EndedBy::Eof,
            Self::ClientLeft => EndedBy::Client,
            Self::Upstream { by, .. } => *by,
        }
    }

    /// Returns the same with nothing borrowed.
    pub fn into_owned(self) -> EndCause<'static> {
        match self {
            Self::Eof => EndCause::Eof,
            Self::StreamDone => EndCause::StreamDone,
            Self::ClientLeft => EndCause::ClientLeft,
            Self::Upstream { by, error_type, message } => {
                EndCause::Upstream { by, error_type: text(error_type), message: text(message) }
            }
        }
    }
}

impl ExchangeEnd<'_> {
    /// Returns the same with nothing borrowed.
    pub fn into_owned(self) -> ExchangeEnd<'static> {
        ExchangeEnd {
            job: self.job,
            cause: self.cause.into_owned(),
            is_too_long: self.is_too_long,
            latency: self.latency,
        }
    }
}
