//! Failures of vendors: no answer, or only a part of it.

use std::error::Error;
use std::io;

use reenact_capture::EndedBy;

/// Reason why a vendor gave no complete answer. The texts hold no secrets, only hosts and messages of the
/// system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UpstreamFailure {
    /// TCP connection refused.
    #[error("the vendor refused the connection")]
    Refused,
    /// No TCP connection: name resolution or routing failed.
    #[error("the vendor cannot be reached: {0}")]
    Unreachable(String),
    /// No connection within the connect timeout.
    #[error("no connection to the vendor in time")]
    ConnectTimeout,
    /// TLS handshake failed, for example because the certificate is not trusted.
    #[error("no trusted connection to the vendor: {0}")]
    Tls(String),
    /// The proxy cannot be reached, or refuses to connect to the vendor.
    #[error("the proxy does not lead to the vendor: {0}")]
    Proxy(String),
    /// Connection closed before the end of the answer.
    #[error("the vendor closed the connection without an answer")]
    Closed,
    /// Bytes that are not HTTP.
    #[error("the vendor's answer is not HTTP: {0}")]
    Protocol(String),
    /// No byte within the idle timeout.
    #[error("the vendor was silent for too long")]
    IdleTimeout,
}

impl UpstreamFailure {
    /// Returns the name of the failure for programs, as recorded.
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

    /// Returns the cause of the answer's end, as recorded.
    pub(crate) fn ended_by(&self) -> EndedBy {
        match self {
            Self::ConnectTimeout | Self::IdleTimeout => EndedBy::Timeout,
            _ => EndedBy::Upstream,
        }
    }

    /// Converts the error of a connection attempt.
    pub(super) fn from_connect_error(error: &(dyn Error + 'static)) -> Self {
        match find_cause::<io::Error>(error).map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => Self::Refused,
            Some(io::ErrorKind::TimedOut) => Self::ConnectTimeout,
            _ => Self::Unreachable(root_cause_text(error)),
        }
    }

    /// Converts an error of the HTTP/2 client.
    pub(super) fn from_client_error(error: &hyper_util::client::legacy::Error) -> Self {
        if let Some(failure) = find_cause::<Self>(error) {
            return failure.clone();
        }
        if error.is_connect() {
            return Self::from_connect_error(error);
        }
        find_cause::<hyper::Error>(error).map_or(Self::Closed, Self::from_http_error)
    }

    /// Converts an error of an established connection.
    pub(super) fn from_http_error(error: &hyper::Error) -> Self {
        if error.is_parse() { Self::Protocol(root_cause_text(error)) } else { Self::Closed }
    }
}

/// Returns the first error of type `E` in a chain of causes.
fn find_cause<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    causes(error).find_map(|cause| cause.downcast_ref::<E>())
}

/// Returns the text of the innermost cause.
fn root_cause_text(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

/// Returns an error and all its causes, outermost first.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'e (dyn Error + 'static)| (*error).source())
}
