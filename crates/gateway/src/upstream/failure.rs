//! Why a vendor gave no answer, or not all of it.

use std::error::Error;
use std::io;

use reenact_capture::EndedBy;

/// Why a vendor gave no answer. The texts hold no secrets: hosts and the system's own words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("the vendor refused the connection")]
    Refused,
    #[error("the vendor cannot be reached: {0}")]
    Unreachable(String),
    #[error("no connection to the vendor in time")]
    ConnectTimeout,
    #[error("no trusted connection to the vendor: {0}")]
    Tls(String),
    #[error("the proxy does not lead to the vendor: {0}")]
    Proxy(String),
    #[error("the vendor closed the connection without an answer")]
    Closed,
    #[error("the vendor's answer is not HTTP: {0}")]
    Protocol(String),
    #[error("the vendor was silent for too long")]
    IdleTimeout,
}

impl Failure {
    /// The name that programs go by.
    pub(crate) fn error_type(&self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unreachable(_) => "unreachable",
            Self::ConnectTimeout => "connect_timeout",
            Self::Tls(_) => "tls",
            Self::Proxy(_) => "proxy",
            Self::Closed => "closed",
            Self::Protocol(_) => "protocol",
            Self::IdleTimeout => "idle_timeout",
        }
    }

    /// What the record says ended the answer.
    pub(crate) fn ended_by(&self) -> EndedBy {
        match self {
            Self::ConnectTimeout | Self::IdleTimeout => EndedBy::Timeout,
            _ => EndedBy::Upstream,
        }
    }

    /// What a connection attempt's own error means.
    pub(super) fn of_connecting(error: &(dyn Error + 'static)) -> Self {
        match find::<io::Error>(error).map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => Self::Refused,
            Some(io::ErrorKind::TimedOut) => Self::ConnectTimeout,
            _ => Self::Unreachable(innermost(error)),
        }
    }

    /// What the client's error means.
    pub(super) fn of_request(error: &hyper_util::client::legacy::Error) -> Self {
        if let Some(failure) = find::<Self>(error) {
            return failure.clone();
        }
        if error.is_connect() {
            return Self::of_connecting(error);
        }
        find::<hyper::Error>(error).map_or(Self::Closed, Self::of_http)
    }

    /// What an error of a connection means that was made.
    pub(super) fn of_http(error: &hyper::Error) -> Self {
        if error.is_parse() { Self::Protocol(innermost(error)) } else { Self::Closed }
    }
}

/// The first error of a type in a chain of causes.
fn find<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    causes(error).find_map(|cause| cause.downcast_ref::<E>())
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'e (dyn Error + 'static)| (*error).source())
}
