//! Why a gateway did not start, and what it could not record.

use std::io;
use std::path::PathBuf;

use reenact_record::RecordError;

/// Why a gateway did not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The listener cannot be used.
    #[error("the gateway's socket cannot be used: {0}")]
    Listener(io::ErrorKind),
    /// A proxy of the environment that we cannot use. Its value is not shown: it may hold a password.
    #[error("{variable} is not the address of a proxy; write it as http://host:port")]
    Proxy {
        /// The variable, in lower case.
        variable: &'static str,
    },
    /// SSL_CERT_FILE or SSL_CERT_DIR names something without certificates.
    #[error("{}: no certificate could be read from it; set SSL_CERT_FILE and SSL_CERT_DIR right or unset them", .path.display())]
    Certificates {
        /// What the variable names.
        path: PathBuf,
    },
    /// No thread to write with.
    #[error("no thread could be started: {0}")]
    Thread(io::ErrorKind),
    /// The cryptography does not offer what TLS needs.
    #[error("TLS cannot be set up")]
    Tls,
}

/// Events that are missing from the record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{count} events could not be recorded: {first}")]
pub struct Unrecorded {
    /// How many.
    pub count: u64,
    /// Why the first of them could not.
    pub first: RecordError,
}
