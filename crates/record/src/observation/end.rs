//! The end of an exchange, and its cause.

use core::time::Duration;
use std::borrow::Cow;

use super::owned_text;
use crate::exchange::EndedBy;

/// End of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeEnd<'a> {
    /// Number of the job that journals the end.
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
    /// The answer came to its end.
    Eof,
    /// The last event of a stream was delivered and its client went on; the body's own end had not come.
    StreamDone,
    /// The client closed its connection.
    ClientDisconnected,
    /// The vendor closed its connection, timed out, or could not be reached.
    Upstream {
        /// Side that the record names as the cause.
        by: EndedBy,
        /// Type of the failure, for programs.
        error_type: Cow<'a, str>,
        /// Description of the failure, for people.
        message: Cow<'a, str>,
    },
}

/// Types of failures that come before a request leaves: no connection to the vendor could be made.
const UNSENT: [&str; 5] = ["connect_timeout", "proxy", "refused", "tls", "unreachable"];

impl EndCause<'_> {
    /// Returns true if the request never left, so that it cost nothing.
    pub fn is_unsent(&self) -> bool {
        matches!(self, Self::Upstream { error_type, .. } if UNSENT.contains(&&**error_type))
    }

    /// Returns the side that the record names as the cause.
    pub fn ended_by(&self) -> EndedBy {
        match self {
            Self::Eof | Self::StreamDone => EndedBy::Eof,
            Self::ClientDisconnected => EndedBy::Client,
            Self::Upstream { by, .. } => *by,
        }
    }

    /// Returns a copy that borrows nothing.
    pub fn into_owned(self) -> EndCause<'static> {
        match self {
            Self::Eof => EndCause::Eof,
            Self::StreamDone => EndCause::StreamDone,
            Self::ClientDisconnected => EndCause::ClientDisconnected,
            Self::Upstream { by, error_type, message } => {
                EndCause::Upstream { by, error_type: owned_text(error_type), message: owned_text(message) }
            }
        }
    }
}

impl ExchangeEnd<'_> {
    /// Returns a copy that borrows nothing.
    pub fn into_owned(self) -> ExchangeEnd<'static> {
        ExchangeEnd {
            job: self.job,
            cause: self.cause.into_owned(),
            is_too_long: self.is_too_long,
            latency: self.latency,
        }
    }
}
