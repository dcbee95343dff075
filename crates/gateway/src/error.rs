//! Error for a gateway that did not start.

use std::io;
use std::path::PathBuf;

/// Reason why a gateway did not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The listener cannot be used.
    #[error("the gateway's socket cannot be used: {0}")]
    Listener(io::ErrorKind),
    /// A proxy setting of the environment cannot be used. Its value is not shown, because it may contain a
    /// password.
    #[error("{variable} is not the address of a proxy; write it as http://host:port")]
    Proxy {
        /// Name of the environment variable, in lower case.
        variable: &'static str,
    },
    /// `SSL_CERT_FILE` or `SSL_CERT_DIR` names a path without certificates.
    #[error("{}: no certificate could be read from it; set SSL_CERT_FILE and SSL_CERT_DIR right or unset them", .path.display())]
    Certificates {
        /// Path in the variable.
        path: PathBuf,
    },
    /// The recorder thread cannot be started.
    #[error("no thread could be started: {0}")]
    Thread(io::ErrorKind),
    /// The cryptography library does not offer the TLS versions that are needed.
    #[error("TLS cannot be set up")]
    Tls,
}
